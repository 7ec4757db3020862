"""Planted faults: each is one edit of limn's source, made while a child process imports it.

``python -m pytest -p mutants TEST`` with ``LIMN_MUTANT=NAME`` runs a test against the fault NAME; tests/test_mutants.py
does so for every fault and demands that the named test fails. The edit is in memory: nothing on disk changes.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One edit of one module, and the test that has to notice."""

    module: str
    before: str
    after: str
    caught_by: str


MUTANTS: dict[str, Mutant] = {}


class _Loader(importlib.machinery.SourceFileLoader):
    mutant: Mutant

    def get_code(self, fullname: str):
        # never the cached bytecode: it is that of the sound source
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def get_data(self, path: str) -> bytes:
        source = super().get_data(path).decode()
        if source.count(self.mutant.before) != 1:
            raise SystemExit(f"mutant of {self.mutant.module}: its text stands {source.count(self.mutant.before)} times")
        return source.replace(self.mutant.before, self.mutant.after).encode()


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutant: Mutant):
        self.mutant = mutant

    def find_spec(self, fullname, path, target=None):
        if fullname != self.mutant.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        loader = _Loader(fullname, spec.origin)
        loader.mutant = self.mutant
        spec.loader = loader
        return spec


if name := os.environ.get("LIMN_MUTANT"):
    sys.meta_path.insert(0, _Finder(MUTANTS[name]))
