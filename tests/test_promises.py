"""docs/promises.md says of every promise which test or command shows it, or that nothing does yet."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COUNT = 38

ROWS = {
    int(number): (promise, shown)
    for number, promise, shown in re.findall(
        r"^\| (\d+) \| (.*?) \| (.*?) \|$", (ROOT / "docs" / "promises.md").read_text(), re.MULTILINE
    )
}


def test_no_promise_is_missing():
    assert list(ROWS) == list(range(1, COUNT + 1))


@pytest.mark.parametrize("number", ROWS)
def test_what_is_named_exists(number):
    promise, shown = ROWS[number]
    assert promise
    named = re.findall(r"`([^`]+)`", shown)
    assert named or "not yet" in shown
    makefile = (ROOT / "Makefile").read_text()
    for name in named:
        if name.startswith("make "):
            assert re.search(rf"^{name.split()[1]}:", makefile, re.MULTILINE), name
        elif "::" in name:
            path, test = name.split("::")
            assert re.search(rf"^def {test}\(", (ROOT / path).read_text(), re.MULTILINE), name
        else:
            assert (ROOT / name).exists(), name
