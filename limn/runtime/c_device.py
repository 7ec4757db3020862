"""The c device: the passes, the C printer, the C compiler, and plans that run as one native call.

A plan's kernels are compiled by as many compiler processes as there are cores and linked to one library. Each kernel
is a function named by the digest of its own text, and the cache knows which object file holds it: a model that changes
in one layer compiles the kernels of that layer, and a plan seen before compiles nothing.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import struct
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from limn.dialects import nest
from limn.dialects.legality import check
from limn.dtypes import BY_MLIR, DType, int8
from limn.pipelines import C, run_pipeline
from limn.runtime.buffers import Buffer
from limn.runtime.cache import Cache
from limn.runtime.compiler import Compiler, find_compiler
from limn.runtime.threads import patient_threads, survive_forks, thread_count
from limn.targets import c


class _Error(ctypes.Structure):
    """`limn_error` of the printed text."""

    _fields_ = [(name, ctypes.c_int64) for name in ("failed", "check", "position", "row", "bound")]


class _Workspace:
    """What one call of a plan needs for itself: the table of buffers and the error. Calls at the same time from
    several Python threads have one each."""

    def __init__(self, entries: int):
        self.table = (ctypes.c_void_p * max(entries, 1))()
        self.error = _Error()
        self.addresses = (ctypes.addressof(self.table), ctypes.addressof(self.error))


class CPlan:
    """A compiled plan."""

    def __init__(self, plan: nest.PlanOp, function: Any, arenas: _Arenas):
        self.function, self.arenas = function, arenas
        types = [
            (BY_MLIR[str(kind.element_type)], kind.get_shape()[0]) for kind in map(nest.memref_of, plan.block.args)
        ]
        count = plan.input_count
        self.inputs: list[tuple[DType, int]] = types[:count]
        self.outputs: list[tuple[DType, int]] = types[count : count + plan.output_count]
        self.arena_bytes = types[-1][1] if plan.arena_argument is not None else None
        self.pack = struct.Struct(f"{len(types)}P").pack_into
        self.entries = len(types)
        self.workspaces: list[_Workspace] = []

    def run(self, inputs: list[Buffer]) -> list[Buffer]:
        """New buffers: the function's results, then the new version for each assign in their order.
        IndexError for a bad row."""
        outputs = [Buffer(dtype, size) for dtype, size in self.outputs]
        entries = [buffer.address for buffer in inputs]
        entries += [buffer.address for buffer in outputs]
        try:
            workspace = self.workspaces.pop()
        except IndexError:
            workspace = _Workspace(self.entries)
        arena = None
        if self.arena_bytes is not None:
            arena = self.arenas.take(self.arena_bytes)
            entries.append(arena.address)
        self.pack(workspace.table, 0, *entries)
        failed = self.function(*workspace.addresses)
        error = (workspace.error.row, workspace.error.bound) if failed else None
        if arena is not None:
            self.arenas.give(arena)
        self.workspaces.append(workspace)
        if error is not None:
            row, bound = error
            raise IndexError(f"row {row} is outside the table, which has rows 0 to {bound - 1}")
        return outputs


class _Arenas:
    """Arenas that no call uses at the moment. All plans share them, so there are as many as calls at one time, each as
    large as the largest plan it has served."""

    def __init__(self) -> None:
        self.free: list[Buffer] = []

    def take(self, size: int) -> Buffer:
        try:
            arena = self.free.pop()
        except IndexError:
            return Buffer(int8, size)
        return arena if arena.size >= size else Buffer(int8, size)

    def give(self, arena: Buffer) -> None:
        self.free.append(arena)


class CDevice:
    """Compiles graph modules to native plans.

    Raises:
        CompilerError: if no C compiler works.
    """

    name = "c"

    def __init__(self) -> None:
        self.cache = Cache()
        self.compiler: Compiler = find_compiler(self.cache)
        # Without the instruction a fused multiply-add is a call of the C library, many times slower than both steps.
        self.pipeline = C if self.compiler.fma else C.replace("contract", "contract{fma=false}")
        self.threads = thread_count()
        self.arenas = _Arenas()
        self.libraries: dict[str, ctypes.CDLL] = {}
        self.building = threading.Lock()
        if hasattr(os, "register_at_fork"):  # whoever holds the lock at a fork does not live in the child
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        self.building = threading.Lock()

    def compile(self, module: ModuleOp) -> CPlan:
        """The plan of a graph module, which the passes rewrite in place."""
        run_pipeline(module, self.pipeline)
        return self.load(module)

    def load(self, module: ModuleOp) -> CPlan:
        """The plan of a nest module that is legal for C."""
        check(module, "c")
        kernels = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, nest.KernelOp)}
        plan = next(op for op in module.body.block.ops if isinstance(op, nest.PlanOp))
        texts: dict[str, str] = {}
        callees: dict[str, str] = {}
        for symbol, kernel in kernels.items():
            text = c.kernel_text(kernel, "kernel")
            name = f"kernel_{self._digest(text)}"
            callees[symbol] = name
            texts[name] = re.sub(r"\bkernel(?=\b|_)", name, text)
        text = c.plan_text(plan, "plan", kernels, callees)
        entry = f"plan_{self._digest(text)}"
        with self.building:
            library = self._library(entry, re.sub(r"\bplan\b", entry, text), texts)
        function = getattr(library, entry)
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        return CPlan(plan, function, self.arenas)

    def set_threads(self, count: int) -> None:
        """Run parallel loops on ``count`` threads from now on."""
        self.threads = count
        for library in self.libraries.values():
            ctypes.c_int.in_dll(library, "limn_threads").value = count

    def _digest(self, text: str) -> str:
        return hashlib.sha256(f"{self.compiler.identity}\n{text}".encode()).hexdigest()[:32]

    # ------------------------------------------------------------------------------------------------------- building

    def _library(self, entry: str, plan: str, kernels: dict[str, str]) -> ctypes.CDLL:
        """The library with a plan and its kernels: loaded already, in the cache, or built now."""
        if entry in self.libraries:
            return self.libraries[entry]
        path = self.cache.get(f"{entry}.so") or self._build(entry, plan, kernels)
        with patient_threads():
            try:
                library = ctypes.CDLL(str(path))
            except OSError:  # made on another system that shares the folder, say
                library = ctypes.CDLL(str(self._build(entry, plan, kernels)))
        survive_forks(library)
        ctypes.c_int.in_dll(library, "limn_threads").value = self.threads
        self.libraries[entry] = library
        return library

    def _build(self, entry: str, plan: str, kernels: dict[str, str]) -> Path:
        """Compile what no object file holds yet, and link. The plan has an object file of its own: in one with kernels
        it would come along whenever another plan needs those, and want its own kernels."""
        holders = {name: self._holder(name) for name in kernels}
        missing = {name: text for name, text in kernels.items() if holders[name] is None}
        running = [(group, *self._start(group.values())) for group in _groups(missing, os.cpu_count() or 1)]
        running.append(({entry: plan}, *self._start([plan], optimize=False)))  # nothing but calls: no gain in it
        objects: set[Path] = set()
        for group, path, process in running:
            self.compiler.finish(process)
            objects.add(path)
            if entry not in group:
                self.cache.put(path.name, path.read_bytes())
                for name in group:
                    self.cache.put(f"{name}.in", path.name.encode())
        objects.update(path for path in holders.values() if path is not None)
        library = self.cache.workshop() / f"{entry}.new.so"
        self.compiler.link(sorted(objects), library)
        return self.cache.put(f"{entry}.so", library.read_bytes())

    def _start(self, texts: Iterable[str], optimize: bool = True) -> tuple[Path, subprocess.Popen[str]]:
        """Begin to compile some texts to one object file."""
        text = c.c_file(texts)
        source = self.cache.workshop() / f"group_{self._digest(text)}.c"
        source.write_text(text)
        target = source.with_suffix(".o")
        return target, self.compiler.start(source, target, optimize)

    def _holder(self, kernel: str) -> Path | None:
        """The object file that holds a kernel."""
        name = self.cache.text(f"{kernel}.in")
        return self.cache.get(name) if name else None


def _groups(texts: dict[str, str], count: int) -> list[dict[str, str]]:
    """Texts in at most ``count`` groups of about the same length, longest first."""
    groups: list[dict[str, str]] = [{} for _ in range(min(count, len(texts)))]
    lengths = [0] * len(groups)
    for name in sorted(texts, key=lambda name: (-len(texts[name]), name)):
        place = lengths.index(min(lengths))
        groups[place][name] = texts[name]
        lengths[place] += len(texts[name]) + 1
    return groups
