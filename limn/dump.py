"""LIMN_DUMP_DIR: each graph that is compiled, written down as a file that `limn-opt` reads.

A training step is one such file; `limn-opt FILE --pass PIPELINE --target c` makes of it what the c device runs.
"""

import hashlib
import os
from itertools import count
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from limn.pipelines import module_text

_dumped = count(1)


def dump(module: ModuleOp) -> None:
    """Write a graph module that is about to be compiled into the folder that LIMN_DUMP_DIR names, if it names one.

    Files are called `0001-<digest of the text>.mlir` in the order of compilation. OSError where the folder cannot be
    written: who asks for a dump wants to know.
    """
    folder = os.environ.get("LIMN_DUMP_DIR")
    if not folder:
        return
    text = module_text(module)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{next(_dumped):04d}-{digest}.mlir").write_text(text)
    except OSError as error:
        raise OSError(error.errno, f"LIMN_DUMP_DIR={folder}: {error.strerror}", error.filename) from None
