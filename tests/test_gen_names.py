"""Names that are words of C, of its library, or of the printer: as symbols and as arguments of a text on its way to C.

Each either computes x + 1, compiled and run, or is refused by limn-opt with the place and the name; the C compiler
never gets to complain.
"""

import re

import numpy as np
import pytest
from c_text import COMPILER, Program

from limn.pipelines import C
from limn.tools.limn_opt import main

NAMES = [
    *("int", "float", "register", "restrict", "inline", "double", "exp", "log", "sqrt", "main", "free", "errno"),
    *("I", "NAN", "INFINITY", "in0", "out", "buf0", "i0", "r2", "v1", "_Bool", "blockIdx", "warpSize"),
    *("a-b", "1x", "layer1.weight", "naïve", "", "x" * 300),
    *("buffers", "error", "kernel_k0", "plan_main", "arena", "begin", "turns", "limn_error", "int64_t", "__x", "a$b"),
]

MODULE = """func.func {symbol}({argument}: tensor<2xf32>) -> tensor<2xf32> {{
  %one = graph.const 1.0 : tensor<2xf32>
  %sum = graph.add {argument}, %one : tensor<2xf32>
  func.return %sum : tensor<2xf32>
}}
"""

SOME = [n if i % 3 == 0 else pytest.param(n, marks=pytest.mark.full) for i, n in enumerate(NAMES)]
"""All of them, a third in the quick tier."""

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")


def quoted(name: str) -> str:
    """The name as an MLIR string."""
    return '"' + "".join(chr(b) if 32 <= b < 127 else f"\\{b:02X}" for b in name.encode()) + '"'


@needs_compiler
@pytest.mark.parametrize("name", SOME, ids=lambda name: name[:20] or "empty")
@pytest.mark.parametrize("place", ["symbol", "argument"])
def test_a_name_computes_x_plus_1_or_is_refused_by_name(name, place, tmp_path, capsys):
    symbol = "@" + quoted(name) if place == "symbol" else "@main"
    argument = "%" + name if place == "argument" else "%x"
    file = tmp_path / "names.mlir"
    file.write_text(MODULE.format(symbol=symbol, argument=argument))
    status = main([str(file), "--pass", C, "--target", "c"])
    text, message = capsys.readouterr()
    if status == 0:
        assert Program(text, tmp_path)(np.array([1, 2]))[0].tolist() == [2, 3]
        return
    assert text == ""
    assert re.match(rf"{re.escape(str(file))}:\d+:\d+: error: ", message)
    assert "Traceback" not in message
    assert argument in message or name in message
    # What C can spell must not be refused.
    assert not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII), message


@needs_compiler
def test_two_names_that_look_alike_in_c_stay_two(tmp_path, capsys):
    first = MODULE.format(symbol='@"a.b"', argument="%x")
    second = first.replace("1.0", "5.0").replace('@"a.b"', '@"a_b"')
    file = tmp_path / "names.mlir"
    file.write_text(first + second)
    status = main([str(file), "--pass", C, "--target", "c"])
    text, message = capsys.readouterr()
    if status:
        assert "a.b" in message or "a_b" in message
    else:
        assert len(set(re.findall(r"^int (plan_\w*)\(", text, re.MULTILINE))) == 2
