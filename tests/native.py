"""For tests: nest modules printed as C, compiled, and run beside the nest interpreter."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from limn.dialects import nest
from limn.dtypes import BY_MLIR
from limn.interpreters.nest import run_kernel
from limn.targets.c import has_checks, print_c, symbol_names
from limn.universe import make_context

Array = np.ndarray[Any, Any]
FLAGS = ("-O2", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv", "-w")


class Error(ctypes.Structure):
    """`limn_error` of the printed text."""

    _fields_ = [(name, ctypes.c_int64) for name in ("failed", "check", "position", "row", "bound")]


def parse(text: str) -> ModuleOp:
    """A verified nest module from its text."""
    module = Parser(make_context(), text).parse_module()
    module.verify()
    return module


def build(text: str, folder: Path, *flags: str, name: str = "text") -> ctypes.CDLL:
    """Compile a C text to a library and load it."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    command = ["cc", *FLAGS, *(flags or ("-fopenmp",)), "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def numpy_of(kind: Any) -> np.dtype[Any]:
    """The numpy dtype of an element type; i64 is no tensor's element, but some values'."""
    return np.dtype(np.int64) if str(kind) == "i64" else BY_MLIR[str(kind)].numpy


def poisoned(size: int, dtype: np.dtype[Any]) -> Array:
    """An array in which a cell that nobody writes shows: NaN where there is one, else odd bits."""
    return np.full(size * dtype.itemsize, 0xAB if dtype.kind in "ib" else 0xFF, np.uint8).view(dtype)


def arrays_for(kernel: nest.KernelOp, inputs: dict[str, Array]) -> list[Array]:
    """Arrays for a kernel's arguments: the inputs by name, the others poisoned."""
    found: list[Array] = []
    for argument in kernel.block.args:
        kind = nest.memref_of(argument)
        dtype, size = numpy_of(kind.element_type), kind.get_shape()[0]
        given = inputs.get(argument.name_hint or "")
        found.append(poisoned(size, dtype) if given is None else np.ascontiguousarray(given, dtype).copy())
        assert found[-1].size == size
    return found


def kernels_of(module: ModuleOp) -> list[nest.KernelOp]:
    return [op for op in module.body.block.ops if isinstance(op, nest.KernelOp)]


def launch(library: ctypes.CDLL, name: str, arrays: list[Array], checked: bool = False) -> Error:
    """Call a kernel of a library."""
    error = Error()
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    library[name](*pointers, *([ctypes.byref(error)] if checked else []))
    return error


def same_bits(got: Array, want: Array) -> bool:
    """Equal bits, where any NaN equals any other: which one an operation gives is not fixed, not even in C."""
    if got.dtype.kind in "ib":
        return bool(np.array_equal(got, want))
    wide = np.float32 if got.dtype in (np.float16, ml_dtypes.bfloat16) else got.dtype
    nan_got, nan_want = np.isnan(got.astype(wide)), np.isnan(want.astype(wide))
    bits = np.dtype(f"u{got.dtype.itemsize}")
    equal = got.view(bits) == want.view(bits)
    return bool(np.array_equal(nan_got, nan_want) and np.all(equal | nan_got))


def compare(module: ModuleOp, inputs: dict[str, Array], folder: Path, *flags: str) -> None:
    """Run each kernel of a module in C and in the interpreter, and hold them to equal bits."""
    library, names = build(print_c(module), folder, *flags), symbol_names(module)
    for kernel in kernels_of(module):
        symbol = kernel.sym_name.data
        got, want = arrays_for(kernel, inputs), arrays_for(kernel, inputs)
        launch(library, names[symbol], got, has_checks(kernel))
        with np.errstate(all="ignore"):
            run_kernel(kernel, want)
        for argument, mine, theirs in zip(kernel.block.args, got, want):
            if not same_bits(mine, theirs):
                where = np.flatnonzero(mine.view(np.uint8) != theirs.view(np.uint8))[0] // mine.itemsize
                what = f"@{symbol}, %{argument.name_hint}[{where}]"
                raise AssertionError(f"{what}: C has {mine[where]!r}, the interpreter {theirs[where]!r}")
