"""limn's passes: one table from a pass's name to the module that holds it.

A pass is added by writing its module and one line here; `limn-opt`, the JIT's pipelines and stock
`xdsl-opt` all read this table, and nothing is imported before a pass is asked for. A module holds one pass,
and the first line of its docstring is the pass's help text.
"""

from collections.abc import Callable
from importlib import import_module

from xdsl.passes import ModulePass

MODULES: dict[str, str] = {
    # graph -> graph
    "expand-custom": "limn.passes.expand_custom",
    # graph -> schedule, schedule -> schedule
    "fuse": "limn.passes.fuse",
    "split-reduce": "limn.passes.split_reduce",
    "order": "limn.passes.order",
    "dedupe": "limn.passes.dedupe",
    # schedule -> nest
    "lower": "limn.passes.lower",
    # nest -> nest
    "contract": "limn.passes.contract",
    "expand-math": "limn.passes.expand_math",
    "split-pads": "limn.passes.split_pads",
    "plan-memory": "limn.passes.plan_memory",
    "parallelize": "limn.passes.parallelize",
}


def load_pass(name: str) -> type[ModulePass]:
    """The pass class called `name`.

    Raises KeyError for a name that is not in the table, and TypeError if its module does not hold that pass.
    """
    module = import_module(MODULES[name])
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, ModulePass) and getattr(value, "name", None) == name:
            return value
    raise TypeError(f"{MODULES[name]} holds no pass called '{name}'")


def pass_help(name: str) -> str:
    """The first line of the docstring of the module that holds the pass `name`, without its full stop."""
    return (import_module(MODULES[name]).__doc__ or "").strip().split("\n")[0].rstrip(".")


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """The table in the form that xDSL's tools take: name to a factory that imports the pass on first use."""

    def factory(name: str) -> Callable[[], type[ModulePass]]:
        return lambda: load_pass(name)

    return {name: factory(name) for name in MODULES}
