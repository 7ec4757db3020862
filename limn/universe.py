"""What limn offers to every xDSL tool, and what limn's own tools take from xDSL.

`LIMN_UNIVERSE` is found through the entry point `xdsl.universe`, so stock `xdsl-opt` knows limn's dialects,
passes and targets as soon as limn is installed. Each entry is a factory that imports on first use: a tool
that only lists names loads none of limn's code.
"""

from collections.abc import Callable

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.universe import XDSL_UNIVERSE, Universe
from xdsl.utils.target import Target

from limn.passes import all_passes


def _graph() -> Dialect:
    from limn.dialects.graph import Graph

    return Graph


def _schedule() -> Dialect:
    from limn.dialects.schedule import Schedule

    return Schedule


def _nest() -> Dialect:
    from limn.dialects.nest import Nest

    return Nest


def _c() -> type[Target]:
    from limn.targets.c import CTarget

    return CTarget


LIMN_UNIVERSE = Universe(
    all_dialects={"graph": _graph, "schedule": _schedule, "nest": _nest},
    all_passes=dict(all_passes()),
    all_targets={"c": _c},
)

UPSTREAM_DIALECTS = ("builtin", "func", "arith", "affine", "cf", "math", "memref", "scf", "tensor", "test")
"""The dialects of xDSL that may stand beside limn's in a module."""

UPSTREAM_PASSES = ("canonicalize", "cse", "dce")
"""The passes of xDSL that are right and useful on limn's dialects."""


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Every dialect that limn's tools read, by name: limn's and the chosen ones of xDSL."""
    return LIMN_UNIVERSE.all_dialects | {name: XDSL_UNIVERSE.all_dialects[name] for name in UPSTREAM_DIALECTS}


def make_context() -> Context:
    """A context in which all those dialects are known and none is loaded yet."""
    ctx = Context()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx
