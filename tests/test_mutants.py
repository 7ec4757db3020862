"""The tests themselves, tested: faults planted in limn's source must each be caught by a named test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import MUTANTS

HERE = Path(__file__).parent


def run(mutant: str | None, *tests: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    environment.pop("LIMN_MUTANT", None)
    if mutant is not None:
        environment["LIMN_MUTANT"] = mutant
    command = [sys.executable, "-m", "pytest", "-p", "mutants", "-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
    command += ["-m", "not full and not fuzz", *(str(HERE / test) for test in tests)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=HERE.parent, check=False)


@pytest.mark.full
@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_fault_is_caught(name: str) -> None:
    result = run(name, MUTANTS[name].caught_by)
    assert result.returncode == 1, f"{MUTANTS[name].caught_by} does not catch {name}:\n{result.stdout[-3000:]}"
    assert "failed" in result.stdout, result.stdout[-3000:]


@pytest.mark.full
def test_the_catching_tests_pass_on_the_sound_source() -> None:
    result = run(None, *sorted({mutant.caught_by for mutant in MUTANTS.values()}))
    assert result.returncode == 0, result.stdout[-3000:]
