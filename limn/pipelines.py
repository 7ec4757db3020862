"""The pipelines: which passes take a module from one stage to the next, as strings in one place.

These are the very strings that the JIT runs and that `limn-opt --list-pipelines` prints, so

    limn-opt model.mlir --pass "$(the pipeline c)" --target c

gives the C text that `set_device("c")` compiles. Each stage's pipeline begins with that of the stage before.
"""

from functools import lru_cache
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.printer import Printer

from limn.passes import all_passes
from limn.universe import make_context

SCHEDULE = "expand-custom,fuse,split-reduce,order,dedupe"
NEST = f"{SCHEDULE},lower"
C = f"{NEST},contract,expand-math,split-pads,plan-memory,parallelize"

PIPELINES: dict[str, tuple[str, str]] = {
    "graph": ("", "primitives on tensors, as the frontend traced them"),
    "schedule": (SCHEDULE, "fused kernels in the order they run"),
    "nest": (NEST, "plain loop nests, the same on every machine"),
    "c": (C, "what the c device prints and compiles"),
}
"""From a pipeline's name, a stage or a device, to its passes and one line on what comes out."""


@lru_cache(maxsize=64)
def parse_pipeline(pipeline: str) -> PassPipeline:
    """The passes that a pipeline string such as `"fuse{max-ops=8},order"` names.

    Raises ValueError for an unknown pass or option.
    """
    return PassPipeline.parse_spec(all_passes(), pipeline)


def run_pipeline(module: ModuleOp, pipeline: str, ctx: Context | None = None) -> None:
    """Apply the passes of a pipeline string to `module` in place, without verifying in between.

    Tests and `limn-opt` verify between passes; the JIT does not, because verifying costs about as much as
    the passes.
    """
    parse_pipeline(pipeline).apply(ctx or make_context(), module)


def module_text(module: ModuleOp) -> str:
    """A module as text that parses back, with a line end."""
    out = StringIO()
    Printer(stream=out).print_op(module)
    return out.getvalue() + "\n"
