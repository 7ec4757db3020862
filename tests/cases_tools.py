"""The cases about the command line, names, threads and files, for cases_adapter.py, which imports this file last."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from c_text import Program
from cases_adapter import case
from test_gen_names import MODULE, quoted

from limn.pipelines import C
from limn.tools.limn_opt import main


def limn_opt(*arguments: str) -> str | Exception:
    """What the command prints, or a RuntimeError with its message; an AssertionError if it breaks its own rules."""
    out, messages = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(messages):
        try:
            status = main(list(arguments))
        except SystemExit as end:
            status = end.code
    if status == 0:
        return out.getvalue()
    clean = status == 1 and not out.getvalue() and messages.getvalue() and "Traceback" not in messages.getvalue()
    return RuntimeError(messages.getvalue()) if clean else AssertionError(f"{status}: {messages.getvalue()}")


def outcome(printed: str | Exception) -> Any:
    return np.array(0) if isinstance(printed, str) else printed


def placed(printed: str | Exception, file: Path) -> Any:
    """A refusal must begin with FILE:LINE:COL."""
    if isinstance(printed, RuntimeError) and not str(printed).startswith(f"{file}:"):
        return AssertionError(f"no place: {printed}")
    return outcome(printed)


@case("GEN-01")
def _(i):
    answers: dict[str, Any] = {}
    for name in map(str, i["names"]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "names.mlir"
            answer: Any = i["x"] + 1
            for symbol, argument in ((quoted(name), "x"), (quoted("main"), name)):
                file.write_text(MODULE.format(symbol=f"@{symbol}", argument=f"%{argument}"))
                printed = limn_opt(str(file), "--pass", C, "--target", "c")
                if isinstance(printed, str):
                    if Program(printed, Path(folder))(i["x"])[0].tolist() != (i["x"] + 1).tolist():
                        answer = None
                elif isinstance(printed, AssertionError) or "cc" in str(printed):
                    answer = printed
            answers["300_letters" if len(name) > 99 else name or "empty"] = answer
    return answers


@case("DRV-01")
def _(i):
    answers: dict[str, Any] = {}
    for key, text in i.items():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "input.mlir"
            file.write_bytes(text.tobytes())
            answers[key] = placed(limn_opt(str(file)), file)
    return answers


@case("DRV-02")
def _(i):
    printed: dict[str, str | Exception] = {}
    for key, text in i.items():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "input.mlir"
            file.write_bytes(text.tobytes())
            printed[key] = limn_opt(str(file))
    same = {
        f"same_output_{key}": np.array(int(printed[key] == printed["plain"]))
        for key in ("crlf", "no_final_newline", "tabs", "comment_unicode")
    }
    return {key: outcome(text) for key, text in printed.items()} | same


@case("DRV-03")
def _(i):
    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "input.mlir"
        file.write_bytes(i["text"].tobytes())
        for key in i.keys() - {"text"}:
            words = str(i[key]).split()
            if key == "missing_file":
                words = [str(Path(folder) / "MISSING.mlir")]
            elif key == "directory":
                words = [folder]
            else:
                words = [str(file), *words]
            answers[key] = outcome(limn_opt(*words))
    return answers


FORKED = """
import os, sys, numpy as np
from limn import Tensor, set_device
set_device(sys.argv[1])
array = np.load(sys.argv[2])
x = Tensor(array)
parent = (x @ x).numpy()
child = os.fork()
if child == 0:
    y = x @ x
    np.savez(sys.argv[3], child=y.numpy(), child_new_kernel=(y + 1).sum(0).numpy())
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
np.savez(sys.argv[4], parent=parent, parent_after=(x @ x).numpy())
"""


def fresh(program: str, *arguments: str, environment: dict[str, str | None] | None = None, limit: float = 120) -> None:
    """Run a program in a process of its own; a RuntimeError with its last line if it fails."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    for name, value in (environment or {}).items():
        kept.pop(name, None)
        if value is not None:
            kept[name] = value
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env=kept,
        timeout=limit,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else str(done.returncode))


@case("THR-01")
def _(i):
    import limn

    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("x.npy", "child.npz", "parent.npz")]
        np.save(paths[0], i["x"])
        fresh(FORKED, limn.get_device().name, *paths, limit=float(i["limit_s"]))
        return {**np.load(paths[1]), **np.load(paths[2])}


CACHED = """
import sys, warnings, numpy as np
from limn import Tensor, set_device
warnings.simplefilter("ignore")
set_device(sys.argv[1])
np.save(sys.argv[3], (Tensor(np.load(sys.argv[2])) * 3 + 1).numpy())
"""


@case("THR-02")
def _(i):
    import limn

    answers: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        read_only, other, plain, disk = (root / n for n in ("read_only", "other", "plain", "disk"))
        read_only.mkdir(0o500)
        other.mkdir()
        plain.write_text("")
        disk.mkdir()
        where: dict[str, dict[str, str | None]] = {
            "read_only": {"LIMN_CACHE_DIR": str(read_only)},
            "parent_missing": {"LIMN_CACHE_DIR": str(root / "no" / "such")},
            "home_unset": {"LIMN_CACHE_DIR": None, "HOME": None},
            "home_nonexistent": {"LIMN_CACHE_DIR": None, "HOME": "/nonexistent"},
            "path_is_file": {"LIMN_CACHE_DIR": str(plain)},
        }
        if os.getuid() == 0:  # else these two cannot be brought about
            os.chown(other, 12345, 12345)
            where["other_owner"] = {"LIMN_CACHE_DIR": str(other)}
            mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
            if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
                where["disk_full"] = {"LIMN_CACHE_DIR": str(disk)}
                (disk / "filler").write_bytes(bytes(60 * 1024))
        try:
            np.save(root / "x.npy", i["x"])
            for key, environment in where.items():
                target = str(root / f"{key}.npy")
                try:
                    fresh(
                        CACHED, limn.get_device().name, str(root / "x.npy"), target, environment=environment, limit=120
                    )
                    answers[key] = np.load(target)
                except RuntimeError as problem:
                    answers[key] = problem
        finally:
            if "disk_full" in where:
                subprocess.run(["umount", str(disk)], check=True)
    return answers
