"""The C compiler: which one, what it can do, and running it.

`find_compiler` looks for the one that CC names, else cc, gcc or clang, and tries it on a small file with all the flags;
what is learnt is kept in the cache by the compiler's path, size and date, so that a later process starts none.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from limn.runtime.cache import Cache
from limn.runtime.threads import patient_threads

SEMANTIC_FLAGS = ("-ffp-contract=off", "-fwrapv")
SPEED_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math")
# gcc 12.2 threads jumps through selections whose conditions depend on each other, and then gives the vectorised loop
# wrong predicates: elements of neither branch come out as 0 (tests/test_c_device.py)
SAFETY_FLAGS = ("-fno-thread-jumps",)
LIBRARY_FLAGS = ("-shared", "-fPIC", "-w")
NATIVE_FLAGS = (("-march=native", "-mprefer-vector-width=512"), ("-march=native",), ("-mcpu=native",), ())
OPENMP_FLAGS = (("-fopenmp",), ())

PROBE = """\
#ifdef _OPENMP
#include <omp.h>
int limn_probe(int *restrict count) { return *count = omp_get_max_threads(); }
#else
int limn_probe(int *restrict count) { return *count = 1; }
#endif
#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
const int limn_fma = 1;
#else
const int limn_fma = 0;
#endif
"""
"""C, and not C++, which has no restrict. Whether the processor has the fused multiply-add is the compiler's word."""


class CompilerError(RuntimeError):
    """No C compiler works here, or it refused a text of ours."""


@dataclass(frozen=True)
class Compiler:
    """A command with its flags, what it calls itself, and the processor it compiles for."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    version: str
    processor: str
    fma: bool = False

    @property
    def identity(self) -> str:
        """All that the meaning of an object file depends on beside its source."""
        return json.dumps(asdict(self))

    @property
    def has_openmp(self) -> bool:
        return "-fopenmp" in self.flags

    def start(self, source: Path, target: Path, optimize: bool = True) -> subprocess.Popen[str]:
        """Begin to compile a C file to an object file, quickly if it need not be fast."""
        level = () if optimize else ("-O0",)
        return self._start([*self.flags, *level, "-c", str(source), "-o", str(target)])

    def link(self, objects: Sequence[Path], target: Path) -> None:
        """Make a shared library of object files."""
        self.finish(self._start([*self.flags, *map(str, objects), "-o", str(target), "-lm"]))

    def _start(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace"
        )

    def finish(self, process: subprocess.Popen[str]) -> None:
        """Wait for the compiler.

        Raises:
            CompilerError: with its first message, if it failed.
        """
        _, messages = process.communicate()
        if process.returncode != 0:
            shown = _first_error(messages) or f"exit status {process.returncode}"
            raise CompilerError(f"{self.command[0]} could not compile a kernel: {shown}")


def find_compiler(cache: Cache) -> Compiler:
    """The first compiler that works.

    Raises:
        CompilerError: saying what was tried and what to do.
    """
    asked = os.environ.get("CC", "").strip()
    candidates = [asked] if asked else ["cc", "gcc", "clang"]
    reasons: list[str] = []
    for candidate in candidates:
        try:
            command = shlex.split(candidate)
        except ValueError as error:
            reasons.append(f"CC={candidate}: {error}")
            continue
        found = shutil.which(command[0])
        if found is None:
            reasons.append(f"{command[0] or candidate} is not on the PATH")
            continue
        try:
            return _known(cache, (found, *command[1:])) or _try(cache, (found, *command[1:]))
        except (CompilerError, OSError) as error:
            reasons.append(f"{candidate}: {error}")
    way_out = "correct CC" if asked else "install gcc or clang, or name one in CC"
    raise CompilerError(f"no C compiler works here ({'; '.join(reasons)}); {way_out}, or use set_device('numpy')")


def _try(cache: Cache, command: tuple[str, ...]) -> Compiler:
    """Find the flags that a compiler takes, and remember them."""
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, errors="replace", check=False)
    source = cache.workshop() / "probe.c"
    source.write_text(PROBE)
    refusals: list[CompilerError] = []
    for openmp in OPENMP_FLAGS:
        for native in NATIVE_FLAGS:
            flags = (*SPEED_FLAGS, *SAFETY_FLAGS, *SEMANTIC_FLAGS, *native, *openmp, *LIBRARY_FLAGS)
            compiler = Compiler(command, flags, version.stdout.split("\n")[0], processor())
            try:
                compiler = replace(compiler, fma=_check(compiler, source, cache.workshop() / "probe.so"))
            except CompilerError as error:
                refusals.append(error)
                continue
            cache.put(_probe_name(command), json.dumps(asdict(compiler)).encode())
            return compiler
    raise refusals[-1]


def _check(compiler: Compiler, source: Path, target: Path) -> bool:
    """Compile and load a small library: a compiler for another machine succeeds at the one, not at the other. Gives
    whether there is a fused multiply-add."""
    compiler.link([source], target)
    try:
        with patient_threads():
            return ctypes.c_int.in_dll(ctypes.CDLL(str(target)), "limn_fma").value == 1
    except OSError as error:
        raise CompilerError(f"{compiler.command[0]} makes no library that loads here: {error}") from None


def _known(cache: Cache, command: tuple[str, ...]) -> Compiler | None:
    """What an earlier process found out about the same compiler."""
    text = cache.text(_probe_name(command))
    if text is None:
        return None
    fields = json.loads(text)
    return Compiler(
        tuple(fields["command"]), tuple(fields["flags"]), fields["version"], fields["processor"], fields["fma"]
    )


def _probe_name(command: tuple[str, ...]) -> str:
    status = os.stat(command[0])
    facts = (
        command,
        os.path.realpath(command[0]),
        status.st_size,
        status.st_mtime_ns,
        processor(),
        SPEED_FLAGS,
        SAFETY_FLAGS,
        PROBE,
    )
    return f"compiler-{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"


def processor() -> str:
    """A digest of what decides the meaning of "native": the architecture and the processor's features."""
    facts = [platform.system(), platform.machine()]
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").split("\n\n")[0].split("\n")
        wanted = ("flags", "Features", "model", "cpu family", "vendor_id", "CPU part", "CPU implementer", "isa")
        facts += [line for line in lines if line.split("\t")[0].split(":")[0].strip() in wanted]
    except OSError:
        facts.append(platform.processor())
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def _first_error(messages: str) -> str:
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "")
