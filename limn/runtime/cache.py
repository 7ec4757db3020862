"""Files that outlive the process: compiled programs by the digest of all that they depend on.

The folder is LIMN_CACHE_DIR, else `limn` in XDG_CACHE_HOME or ~/.cache. Several processes may share it: a file appears
whole, by a rename, and ends with the digest of its content, so one cut short by a crash or a full disk is no entry. A
folder that cannot be used (read-only, somebody else's, a plain file, a full disk) costs the cache, never the answer:
there is one warning, and the files live in a temporary folder until the process ends.

Beyond LIMN_CACHE_MB megabytes (512) the files not used for longest go.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

DEFAULT_MEGABYTES = 512
_DIGEST = hashlib.sha256().digest_size


class Cache:
    """Entries by name. ``get`` gives the path of an entry, ``put`` makes one from a file or bytes."""

    def __init__(self, folder: Path | None = None):
        self.folder: Path | None = folder or default_folder()
        self.private: Path | None = None
        self.owner = 0
        self.puts = 0
        if self.folder is not None:
            try:
                _check_owner(self.folder)
            except OSError as error:
                self._give_up(error)

    def get(self, name: str) -> Path | None:
        """The file of an entry, marked as used; None where there is none or it is damaged."""
        for folder in (self.folder, self.private):
            if folder is None:
                continue
            path = folder / name
            try:
                content = path.read_bytes()
            except OSError:
                continue
            if hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]:
                with suppress(OSError):
                    os.utime(path)
                return path
            with suppress(OSError):
                path.unlink()
        return None

    def text(self, name: str) -> str | None:
        """The content of a small entry."""
        path = self.get(name)
        try:
            return None if path is None else path.read_bytes()[:-_DIGEST].decode()
        except OSError:
            return None

    def put(self, name: str, content: bytes) -> Path:
        """Keep an entry and give its path.

        Raises:
            OSError: if the temporary folder cannot take it either.
        """
        whole = content + hashlib.sha256(content).digest()
        if self.folder is not None:
            try:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                path = _write(self.folder / name, whole)
                self._prune()
                return path
            except OSError as error:
                self._give_up(error)
        return _write(self.workshop() / name, whole)

    def workshop(self) -> Path:
        """A folder of this process alone, removed when it ends. A forked child makes its own."""
        if self.private is None or self.owner != os.getpid():
            self.owner = os.getpid()
            self.private = Path(tempfile.mkdtemp(prefix="limn-"))
            atexit.register(_remove, self.private, self.owner)
        return self.private

    def _give_up(self, error: OSError) -> None:
        warnings.warn(
            f"limn keeps no compiled programs: its cache folder {self.folder} cannot be used"
            f" ({error.strerror or error}); set LIMN_CACHE_DIR to a folder of your own",
            stacklevel=2,
        )
        self.folder = None

    def _prune(self) -> None:
        """Remove the files not used for longest when the folder is too large; looked at now and then."""
        self.puts += 1
        if self.puts % 64 != 1 or self.folder is None:
            return
        files: list[tuple[float, int, str]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat()
                    files.append((status.st_mtime, status.st_size, entry.path))
        excess = sum(size for _, size, _ in files) - _megabytes() * 2**20
        for _, size, path in sorted(files):
            if excess <= 0:
                break
            with suppress(OSError):
                os.unlink(path)
            excess -= size


def default_folder() -> Path | None:
    """Where entries go; None where no home is known."""
    if asked := os.environ.get("LIMN_CACHE_DIR"):
        return Path(asked)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "limn"
    try:
        return Path.home() / ".cache" / "limn"
    except RuntimeError:
        return None


def _megabytes() -> float:
    try:
        asked = float(os.environ.get("LIMN_CACHE_MB", ""))
    except ValueError:
        return DEFAULT_MEGABYTES
    return asked if asked >= 0 else DEFAULT_MEGABYTES  # nan is neither


def _check_owner(folder: Path) -> None:
    """Refuse another user's folder: what lies in it is run."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise PermissionError(None, "it belongs to another user")


def _write(path: Path, content: bytes) -> Path:
    """Write a file that others see whole or not at all."""
    handle, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return path


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child leaves its parent's files alone
        shutil.rmtree(folder, ignore_errors=True)
