"""The printed C under the address and undefined-behaviour sanitizers: every plan of the corpus and odd nests, run by a
generated C main on heap buffers of exactly the stated sizes, on several threads, outputs poisoned before."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from corpus import CASES
from native import numpy_of, parse
from test_c_target import LOOPS, PLAN
from xdsl.dialects.builtin import ModuleOp

from limn.dialects import nest
from limn.pipelines import PIPELINES, run_pipeline
from limn.targets.c import print_c, symbol_names

SANITIZE = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -ffp-contract=off -fwrapv -fopenmp -w"
PIPELINE = PIPELINES["c"][0].replace("parallelize", "parallelize{grain=1}")


def _sanitizers_work() -> bool:
    if shutil.which("cc") is None:
        return False
    program = "int main(void) { return 0; }"
    command = ["cc", "-fsanitize=address,undefined", "-fopenmp", "-xc", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=program, text=True, capture_output=True, check=False).returncode == 0


pytestmark = [pytest.mark.full, pytest.mark.skipif(not _sanitizers_work(), reason="cc has no sanitizers here")]

HELPER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *filled(size_t size, const char *file, long offset) {
  char *memory = malloc(size ? size : 1);
  memset(memory, 0xff, size);
  FILE *input = file ? fopen(file, "rb") : 0;
  if (input && (fseek(input, offset, SEEK_SET) || fread(memory, 1, size, input) != size)) exit(8);
  if (input) fclose(input);
  return memory;
}
"""


def main_of(calls: list[tuple[str, list[tuple[int, int | None]], bool, bool]], data: str) -> str:
    """A C main that makes calls of (function, (bytes, offset of the content) of each buffer, takes a table?, takes an
    error?)."""
    lines = ["limn_threads = 3;"]
    for place, (function, sizes, table, checked) in enumerate(calls):
        lines.append(f"void *b{place}[{len(sizes) or 1}];")
        for k, (size, offset) in enumerate(sizes):
            source = f'"{data}", {offset}' if offset is not None else "0, 0"
            lines.append(f"b{place}[{k}] = filled({size}, {source});")
        given = [f"b{place}"] if table else [f"b{place}[{k}]" for k in range(len(sizes))]
        lines.append(f"{function}({', '.join([*given, '&error'] if checked or table else given)});")
        lines += [f"free(b{place}[{k}]);" for k in range(len(sizes))]
    body = "\n  ".join(lines)
    return f"{HELPER}\nint main(void) {{\n  limn_error error = {{0}};\n  {body}\n  return 0;\n}}\n"


def check(text: str, main: str, folder: Path) -> None:
    """Compile and run; any report of a sanitizer fails."""
    (folder / "main.c").write_text(text + main)
    command = ["cc", *SANITIZE.split(), str(folder / "main.c"), "-o", str(folder / "main"), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    options = {"ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run([str(folder / "main")], capture_output=True, text=True, check=False, env=options)
    assert done.returncode == 0, done.stderr[:3000]


def entry(plan: nest.PlanOp) -> list[int]:
    return [nest.byte_size(nest.memref_of(argument)) for argument in plan.block.args]


@pytest.mark.parametrize("name", CASES)
def test_the_corpus_touches_only_its_buffers(name, tmp_path):
    case = CASES[name]()
    inputs = [np.ascontiguousarray(array).reshape(-1) for array in case.inputs()]
    run_pipeline(case.module, PIPELINE)
    plan = next(op for op in case.module.body.block.ops if isinstance(op, nest.PlanOp))
    offsets = np.cumsum([0, *(array.nbytes for array in inputs)]).tolist()
    (tmp_path / "data").write_bytes(b"".join(array.tobytes() for array in inputs))
    sizes = [(size, offsets[k] if k < len(inputs) else None) for k, size in enumerate(entry(plan))]
    function = symbol_names(case.module)[plan.sym_name.data]
    check(print_c(case.module), main_of([(function, sizes, True, True)], str(tmp_path / "data")), tmp_path)


def run_kernels(module: ModuleOp, arrays: dict[str, np.ndarray], folder: Path) -> None:
    """All kernels of a module, each on its own buffers."""
    names, calls, data = symbol_names(module), [], b""
    for kernel in module.body.block.ops:
        assert isinstance(kernel, nest.KernelOp)
        sizes: list[tuple[int, int | None]] = []
        for argument in kernel.block.args:
            kind = nest.memref_of(argument)
            given = arrays.get(argument.name_hint or "")
            sizes.append((nest.byte_size(kind), None if given is None else len(data)))
            if given is not None:
                data += given.astype(numpy_of(kind.element_type)).tobytes()
        checked = any(isinstance(op, nest.CheckRowOp) for op in kernel.walk())
        calls.append((names[kernel.sym_name.data], sizes, False, checked))
    (folder / "data").write_bytes(data)
    check(print_c(module), main_of(calls, str(folder / "data")), folder)


@pytest.mark.parametrize("kind", ["", "parallel"])
def test_loops_with_pads_and_guards_touch_only_their_buffers(kind, tmp_path):
    run_kernels(parse(LOOPS.replace("KIND", kind)), {"x": np.arange(37.0)}, tmp_path)


def test_casts_of_any_float_are_defined(tmp_path):
    from test_c_target import ALL_KINDS, FLOAT_EDGES, elementwise

    count = len(FLOAT_EDGES)
    texts = [
        elementwise(f"{s}_to_{t}", t, [("x", s)], f"%r = nest.cast %a0 : {s} to {t}", count)
        for s in ("f64", "f32")
        for t in ALL_KINDS
    ]
    with np.errstate(all="ignore"):
        run_kernels(parse("\n".join(texts)), {"x": np.array(FLOAT_EDGES)}, tmp_path)


def test_bad_rows_touch_nothing_outside_the_table(tmp_path):
    text = """nest.kernel @k(%t: memref<15xf32>, %i: memref<6xi32>, %out: memref<18xf32>) {
  nest.for %p = 0 to 6 parallel {
    %n = nest.load %i[%p] : i32
    %row = nest.check_row %n below 5 at [%p] : i32
    nest.for %j = 0 to 3 {
      %v = nest.load %t[%row * 3 + %j] : f32
      nest.store %v, %out[%p * 3 + %j] : f32
    }
  }
}"""
    index = np.array([4, -1, 5, 2**31 - 1, -(2**31), 0])
    run_kernels(parse(text), {"t": np.arange(15.0), "i": index}, tmp_path)


def test_the_sanitizers_would_notice(tmp_path):
    """A load one element past its buffer is caught, so that the tests above mean something."""
    # a remainder is beyond what the printer proves, so it does not refuse the text first
    text = "nest.kernel @k(%x: memref<4xf32>, %out: memref<4xf32>) { nest.for %i = 0 to 4 {\n"
    text += "%v = nest.load %x[%i mod 7 + 1] : f32\n nest.store %v, %out[%i] : f32 } }"
    with pytest.raises(AssertionError, match="heap-buffer-overflow"):
        run_kernels(parse(text), {"x": np.arange(4.0)}, tmp_path)


def test_a_plan_with_an_arena_and_commits(tmp_path):
    module = parse(PLAN)
    plan = next(op for op in module.body.block.ops if isinstance(op, nest.PlanOp))
    (tmp_path / "data").write_bytes(np.arange(8, dtype=np.float32).tobytes() + np.array([2], np.int32).tobytes())
    offsets = [0, 16, 32, None, None, None]
    calls = [("plan_main", list(zip(entry(plan), offsets)), True, True)]
    check(print_c(module), main_of(calls, str(tmp_path / "data")), tmp_path)
