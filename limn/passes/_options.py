"""Ranges of the passes' options: a number that makes no sense is refused by name, before anything is rewritten."""

from __future__ import annotations

from xdsl.passes import ModulePass


def at_least(owner: ModulePass, **least: int) -> None:
    """Refuse options of ``owner`` below their least value.

    Raises:
        ValueError: naming the option, its value and the least one.
    """
    for name, bound in least.items():
        value = getattr(owner, name)
        if value < bound:
            option = name.replace("_", "-")
            raise ValueError(f"option {option} is {value}; it must be {bound} or more")
