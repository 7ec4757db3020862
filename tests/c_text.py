"""From the text of a module to numbers by the command line alone: limn-opt makes C, cc a library, ctypes calls it."""

import ctypes
import os
import re
import shutil
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from itertools import count
from pathlib import Path

import numpy as np

from limn.pipelines import SCHEDULE, C
from limn.targets.c import FLAGS
from limn.tools.limn_opt import main

COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
FROM_SCHEDULE = C.removeprefix(SCHEDULE + ",")
"""The passes that take a schedule to C."""

DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8, "i1": np.bool_}


def limn_opt(text: str, folder: Path, *arguments: str) -> str:
    """What limn-opt prints for a text; AssertionError where it refuses."""
    file = folder / "input.mlir"
    file.write_text(text)
    out = StringIO()
    with redirect_stdout(out):
        assert main([str(file), *arguments]) == 0
    return out.getvalue()


def compile_c(*sources: Path, output: Path, shared: bool = False) -> Path:
    """Compile with the flags that the C text asks for, warnings being errors."""
    command = [COMPILER, *FLAGS.split(), "-Wall", "-Werror", "-Wno-unused", "-Wno-unknown-pragmas"]
    command += ["-shared", "-fPIC"] if shared else []
    done = subprocess.run(
        [*map(str, command), "-o", str(output), *map(str, sources), "-lm"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return output


_programs = count()


class Program:
    """A compiled C text with one plan. `buffers` are (role, size, dtype) as the comment at its top says."""

    def __init__(self, text: str, folder: Path):
        # The loader gives the old library for a path it has seen.
        source = folder / f"program{next(_programs)}.c"
        source.write_text(text)
        library = ctypes.CDLL(str(compile_c(source, output=source.with_suffix(".so"), shared=True)))
        (name,) = re.findall(r"^int (plan_\w*)\(void \*\*buffers, limn_error \*error\) \{", text, re.MULTILINE)
        self.plan = library[name]
        rows = re.findall(r"buffers\[\d+\]\s+(in|out|arena)\s+(\d+) x (\w+), ", text)
        self.buffers = [(role, int(size), DTYPES[kind]) for role, size, kind in rows]
        self.swaps = [(int(a), int(b)) for a, b in re.findall(r"buffers\[(\d+)\] and buffers\[(\d+)\] change", text)]

    def __call__(self, *inputs: np.ndarray) -> list[np.ndarray]:
        """The outputs, flat, poisoned before the run so that a cell nobody writes shows."""
        given = iter(inputs)
        arrays = [
            np.ascontiguousarray(next(given), kind).reshape(-1) if role == "in" else np.full(size, 77, kind)
            for role, size, kind in self.buffers
        ]
        assert next(given, None) is None
        table = (ctypes.c_void_p * max(len(arrays), 1))(*(a.ctypes.data for a in arrays))
        error = (ctypes.c_int64 * 5)()
        assert self.plan(table, error) == 0
        return [a for a, (role, _, _) in zip(arrays, self.buffers, strict=True) if role == "out"]
