"""The road from `x @ w` to C can be read in one sitting: its code stays within a budget of lines.

A line counts if it holds code: blank lines, comments and docstrings do not, since they are there to be read.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

import pytest

from limn.passes import MODULES

ROOT = Path(__file__).parent.parent / "limn"

ROAD = [
    "tensor.py",
    "autograd.py",
    "trace.py",
    "view.py",
    "dialects/graph.py",
    "dialects/schedule.py",
    "dialects/nest.py",
    "dialects/affine.py",
    "analysis/nodes.py",
    "analysis/grouping.py",
    "analysis/merging.py",
    "passes/fuse.py",
    "passes/_build_kernel.py",
    "passes/_keep_row.py",
    "passes/order.py",
    "passes/lower.py",
    "passes/_nest_kernel.py",
    "passes/_nest_elements.py",
    "passes/_nest_values.py",
    "targets/c.py",
    "runtime/c_device.py",
]

SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of_code(path: Path) -> int:
    source = path.read_text()
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SKIPPED:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def test_the_road_stays_under_five_thousand_lines() -> None:
    counted = {name: lines_of_code(ROOT / name) for name in ROAD}
    assert sum(counted.values()) < 5000, counted


@pytest.mark.parametrize("name", MODULES)
def test_a_pass_stays_under_two_hundred_lines(name: str) -> None:
    assert lines_of_code(ROOT.parent / (MODULES[name].replace(".", "/") + ".py")) < 200
