"""Each sentence with which a dialect refuses something stands in that dialect's invalid.mlir, and none is left out."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DIALECTS = ("graph", "schedule", "nest")


def refusals(path: Path) -> list[str]:
    """For each `raise VerifyException(...)` and `parser.raise_error(...)`: a pattern for its message."""
    patterns = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call, names = node.exc, ("VerifyException",)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            call, names = node, ("raise_error",)
        else:
            continue
        called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        if called not in names or not call.args:
            continue
        message = call.args[0]
        parts = message.values if isinstance(message, ast.JoinedStr) else [message]
        pattern = "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".*" for p in parts)
        if pattern.strip(".*"):
            patterns.append(pattern)
    return patterns


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_refusal_of_a_dialect_has_a_check_line(dialect):
    checks = (ROOT / "lit_tests" / "dialects" / dialect / "invalid.mlir").read_text()
    lines = [line.split("error: ", 1)[1] for line in checks.splitlines() if line.startswith("// CHECK: error: ")]
    patterns = refusals(ROOT / "limn" / "dialects" / f"{dialect}.py")
    assert len(patterns) > 10
    missing = [p for p in patterns if not any(re.search(p, line) for line in lines)]
    assert not missing
    assert len(lines) == checks.count("// -----") + 1
