"""Every stage is text: an edit by hand in a printed stage shows in the C, and a training step runs without Python."""

import re
import subprocess
from itertools import count

import numpy as np
import pytest
from c_text import COMPILER, FROM_SCHEDULE, Program, compile_c, limn_opt
from xdsl.dialects.builtin import ModuleOp

import limn
from limn import Tensor
from limn.dump import dump
from limn.pipelines import NEST, SCHEDULE, C

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler on this machine")

A = np.arange(20, dtype=np.float32).reshape(4, 5) - 7
B = np.arange(15, dtype=np.float32).reshape(5, 3) * 0.5


def replace(text: str, old: str, new: str) -> str:
    """The text with its only occurrence of `old` replaced."""
    assert text.count(old) == 1, f"{text.count(old)} times {old!r} in\n{text}"
    return text.replace(old, new)


def test_a_constant_edited_in_the_graph_shows_in_the_c(tmp_path):
    text = limn.ir(Tensor(A) * 2.0)
    program = Program(limn_opt(text, tmp_path, "--pass", C, "--target", "c"), tmp_path)
    assert np.array_equal(program(A)[0], (A * 2).reshape(-1))
    edited = replace(text, "graph.const 2.000000e+00", "graph.const -0.25")
    program = Program(limn_opt(edited, tmp_path, "--pass", C, "--target", "c"), tmp_path)
    assert np.array_equal(program(A)[0], (A * -0.25).reshape(-1))


def test_an_axis_edited_in_the_graph_shows_in_the_c(tmp_path):
    text = limn.ir(Tensor(A).sum(1, keepdim=True))
    program = Program(limn_opt(text, tmp_path, "--pass", C, "--target", "c"), tmp_path)
    assert np.array_equal(program(A)[0], A.sum(1))
    edited = replace(text, "axes [1]", "axes [0]").replace("tensor<4x1xf32>", "tensor<1x5xf32>")
    program = Program(limn_opt(edited, tmp_path, "--pass", C, "--target", "c"), tmp_path)
    assert np.array_equal(program(A)[0], A.sum(0))


def test_a_loop_order_edited_in_the_schedule_shows_in_the_c(tmp_path):
    text = limn.ir(Tensor(A) @ Tensor(B), stage="schedule")
    order = re.search(r"order \[0, 2, 1\]", text)
    assert order is not None, text

    def loops(program: str) -> list[str]:
        """The dims of the loops around the product, outermost first."""
        found = re.findall(r"for \(int64_t (\w+) =", program)
        return found[-3:]

    results = []
    for new in ("order [0, 2, 1]", "order [0, 1, 2]", "order [1, 0, 2]"):
        c = limn_opt(replace(text, order[0], new), tmp_path, "--pass", FROM_SCHEDULE, "--target", "c")
        names = [name[0] + name[1:].lstrip("_") for name in loops(c)]
        wanted = [["i0", "i1", "r2"][int(d)] for d in re.findall(r"\d", new)]
        assert names == wanted or names[1:] == wanted[1:], c  # the outermost may have become a function of its turns
        results.append(Program(c, tmp_path)(A, B)[0])
    assert all(np.array_equal(r, (A @ B).reshape(-1)) for r in results)


def test_a_constant_edited_in_the_schedule_shows_in_the_c(tmp_path):
    text = limn.ir(Tensor(A) * 2.0, stage="schedule")
    edited = replace(text, "graph.const 2.000000e+00", "graph.const 0.5")
    program = Program(limn_opt(edited, tmp_path, "--pass", FROM_SCHEDULE, "--target", "c"), tmp_path)
    assert np.array_equal(program(A)[0], (A * 0.5).reshape(-1))


def test_an_axis_edited_in_the_schedule_shows_in_the_c(tmp_path):
    """A kernel that sums over both dims becomes by hand one that sums over the second."""
    text = limn.ir(Tensor(A).sum(keepdim=True), stage="schedule")
    program = Program(limn_opt(text, tmp_path, "--pass", FROM_SCHEDULE, "--target", "c"), tmp_path)
    assert np.array_equal(program(A)[0], [A.sum()])
    edited = replace(replace(text, "axes [0, 1]", "axes [1]"), "r0 = 4", "i0 = 4")
    program = Program(
        limn_opt(edited.replace("1x1x", "4x1x"), tmp_path, "--pass", FROM_SCHEDULE, "--target", "c"), tmp_path
    )
    assert np.array_equal(program(A)[0], A.sum(1))


@pytest.mark.parametrize("stage", ["graph", "schedule", "nest", "final"])
def test_the_text_of_every_stage_goes_on_to_the_same_c(stage, tmp_path):
    x = Tensor(A, requires_grad=True)
    loss = ((x @ Tensor(B)).softmax(1) * Tensor(B[:4])).sum()
    results = [loss, *limn.grad(loss, [x])]
    done = {"graph": "", "schedule": SCHEDULE, "nest": NEST, "final": C}[stage]
    before = limn.get_device().name
    limn.set_device("c")
    try:
        text, want = limn.ir(*results, stage=stage), limn.ir(*results, stage="c")
    finally:
        limn.set_device(before)
    rest = C.removeprefix(done).removeprefix(",")
    assert limn_opt(text, tmp_path, "--pass", rest, "--target", "c") == want


MAIN = """\
#include <stdio.h>
#include <stdlib.h>
typedef struct {{ long long failed, check, position, row, bound; }} limn_error;
int plan_main(void **buffers, limn_error *error);

static const size_t bytes[] = {{ {bytes} }};  /* of each buffer of the plan */
static const int batch[] = {{ {batch} }};     /* buffers that hold another part of the data in each step */
static const int kept[] = {{ {kept} }};       /* buffers that a step changes */

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

int main(int argc, char **argv) {{
  void *buffers[COUNT(bytes)];
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  if (argc != 3 || !in || !out) return 2;
  for (size_t i = 0; i < COUNT(bytes); i++) buffers[i] = aligned_alloc(64, (bytes[i] + 63) / 64 * 64);
  for (size_t i = 0; i < COUNT(kept); i++)
    if (fread(buffers[kept[i]], 1, bytes[kept[i]], in) != bytes[kept[i]]) return 3;
  for (int step = 0; step < {steps}; step++) {{
    for (size_t i = 0; i < COUNT(batch); i++)
      if (fread(buffers[batch[i]], 1, bytes[batch[i]], in) != bytes[batch[i]]) return 4;
    if (plan_main(buffers, NULL)) return 5;
  }}
  for (size_t i = 0; i < COUNT(kept); i++) fwrite(buffers[kept[i]], 1, bytes[kept[i]], out);
  return fclose(out);
}}
"""
STEPS = 10


def test_ten_training_steps_from_text_alone_end_in_limns_own_bits(tmp_path, monkeypatch):
    assert len(MAIN.splitlines()) <= 30
    generator = np.random.default_rng(3)
    # Sizes that differ, so that the buffers of the plan can be told apart.
    shapes = {"w1": (6, 5), "b1": (5,), "w2": (5, 3), "b2": (3,)}
    start = {name: generator.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    images = generator.normal(size=(STEPS, 8, 6)).astype(np.float32)
    labels = generator.normal(size=(STEPS, 8, 3)).astype(np.float32)

    before = limn.get_device().name
    limn.set_device("c")
    monkeypatch.setenv("LIMN_DUMP_DIR", str(tmp_path / "dump"))
    try:
        weights = {name: Tensor(array.copy(), requires_grad=True) for name, array in start.items()}
        for x, y in zip(images, labels, strict=True):
            hidden = (Tensor(x) @ weights["w1"] + weights["b1"]).relu()
            scores = (hidden @ weights["w2"] + weights["b2"]).log_softmax()
            loss = -(scores * Tensor(y)).sum() / 8
            loss.backward()
            updates = [w.assign(w.detach() - w.grad * 0.1) for w in weights.values()]
            for w in weights.values():
                w.grad = None
            limn.realize(loss, *updates)
        want = {name: tensor.numpy() for name, tensor in weights.items()}
    finally:
        limn.set_device(before)

    (step,) = [f for f in (tmp_path / "dump").iterdir() if "graph.assign" in f.read_text()]
    c = limn_opt(step.read_text(), tmp_path, "--pass", C, "--target", "c")
    (tmp_path / "step.c").write_text(c)
    program = Program(c, tmp_path)
    sizes = [size * np.dtype(kind).itemsize for _, size, kind in program.buffers]
    place = {size: i for i, (role, size, _) in enumerate(program.buffers) if role == "in"}
    kept = {name: place[array.size] for name, array in start.items()}
    assert sorted(target for _, target in program.swaps) == sorted(kept.values())
    numbers = {
        "bytes": ", ".join(map(str, sizes)),
        "batch": f"{place[48]}, {place[24]}",
        "kept": ", ".join(map(str, kept.values())),
        "steps": STEPS,
    }
    (tmp_path / "main.c").write_text(MAIN.format(**numbers))
    executable = compile_c(tmp_path / "main.c", tmp_path / "step.c", output=tmp_path / "train")
    data = b"".join(array.tobytes() for array in start.values())
    data += b"".join(x.tobytes() + y.tobytes() for x, y in zip(images, labels, strict=True))
    (tmp_path / "in.bin").write_bytes(data)
    subprocess.run([executable, tmp_path / "in.bin", tmp_path / "out.bin"], check=True)
    got, at = (tmp_path / "out.bin").read_bytes(), count()
    flat = np.frombuffer(got, np.float32)
    for name, array in want.items():
        first = sum(a.size for a in list(want.values())[: next(at)])
        part = flat[first : first + array.size]
        assert part.tobytes() == array.tobytes(), name
        assert not np.array_equal(part, start[name].reshape(-1)), name


def test_a_folder_for_dumps_that_cannot_be_made_is_an_error_that_names_the_variable(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LIMN_DUMP_DIR", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"LIMN_DUMP_DIR=.*file: File exists"):
        dump(ModuleOp([]))
