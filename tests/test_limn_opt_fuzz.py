"""Damaged texts: whatever is cut or changed in a module, limn-opt prints a module or one message with its place."""

import random
import re
from pathlib import Path

import pytest

from limn.pipelines import SCHEDULE, C
from limn.tools.limn_opt import main

ROOT = Path(__file__).parents[1]
TOKEN = re.compile(r'"[^"\n]*"|[%@^#!]?[\w.$-]+|->|\s+|.', re.DOTALL)
REST = C.removeprefix(SCHEDULE + ",")


def modules() -> list[tuple[str, str]]:
    """The functions and kernels of the dialects' round trips, each a module, with the passes that may follow it."""
    found = []
    for dialect, passes in [("graph", C), ("schedule", REST), ("nest", "")]:
        text = (ROOT / "lit_tests" / "dialects" / dialect / "roundtrip.mlir").read_text()
        parts = re.sub(r"^//.*\n", "", text, flags=re.MULTILINE).split("\n\n")
        found += [(part, passes) for part in parts if part.strip()]
        found.append(("\n".join(parts), passes))
    return found


MODULES = modules()


def kind(token: str) -> str:
    """What a token is: a name of a value, a number, an op, a type, or itself."""
    for name, pattern in [("value", r"%.*"), ("number", r"\d+"), ("op", r"\w+\.\w+"), ("type", r"\w*x?[fi]\d+")]:
        if re.fullmatch(pattern, token):
            return name
    return token


def damage(text: str, rng: random.Random) -> str:
    """The text with one or two tokens dropped, doubled, swapped, replaced, or changed into another of their kind."""
    tokens = TOKEN.findall(text)
    solid = [i for i, token in enumerate(tokens) if token.strip()]
    for _ in range(rng.randint(1, 2)):
        i, j = rng.choice(solid), rng.choice(solid)
        match rng.randrange(12):
            case 0:
                tokens[i] = ""
            case 1:
                tokens[i] += " " + tokens[i]
            case 2:
                tokens[i], tokens[j] = tokens[j], tokens[i]
            case 3:
                tokens[i] = rng.choice(
                    ["-1", "0", "99999999999999999999", "f32", "i1", "tensor<?xf32>", "[]", "é", "{"]
                )
            case 4 | 5 | 6 if kind(tokens[i]) == "number":
                tokens[i] = str(int(tokens[i]) + rng.choice([-1, 1, 7]))
            case _:
                same = [k for k in solid if kind(tokens[k]) == kind(tokens[i])]
                tokens[i] = tokens[rng.choice(same)]
    return "".join(tokens)


def check(seed: int, tmp_path, capsys) -> None:
    rng = random.Random(seed)
    text, passes = rng.choice(MODULES)
    damaged = damage(text, rng)
    file = tmp_path / "damaged.mlir"
    file.write_text(damaged)
    arguments = [str(file), "--pass", passes] if passes and rng.random() < 0.5 else [str(file)]
    status = main(arguments)
    out, err = capsys.readouterr()
    if status == 0:
        assert err == ""
        assert out.startswith("builtin.module")
    else:
        assert status == 1
        assert out == ""
        assert "a fault in limn itself" not in err, f"{err}\n{damaged}"
        assert err.startswith(f"{file}:"), f"{err}\n{damaged}"
        assert len(err.splitlines()) <= 4


@pytest.mark.parametrize("block", [*range(3), *(pytest.param(b, marks=pytest.mark.full) for b in range(3, 10))])
def test_damaged_texts_get_one_message(block, tmp_path, capsys):
    for seed in range(30 * block, 30 * (block + 1)):
        check(seed, tmp_path, capsys)


@pytest.mark.fuzz
def test_many_damaged_texts_get_one_message(tmp_path, capsys):
    for seed in range(1000, 20_000):
        check(seed, tmp_path, capsys)
