"""Kernels that read the same memory and run over the same dims become one with several results.

Two elementwise groups that share an input of their own size, neither of which needs the other's results, read it once
instead of twice: a pass over memory, and a launch, are saved.
"""

from __future__ import annotations

import math

from xdsl.ir import BlockArgument

from limn.analysis.grouping import Group, Grouping, reaches
from limn.analysis.nodes import Node, base_shape

CANDIDATES = 4
"""How many earlier groups over one input are tried; a bound, so that a thousand readers of one buffer stay cheap."""


def merge_siblings(grouping: Grouping, nodes: list[Node]) -> None:
    """Merge the elementwise groups of ``grouping`` that share an input; ``nodes`` are in program order."""
    position = {node: place for place, node in enumerate(nodes)}
    users: dict[Group, set[Group]] = {group: set() for group in grouping.groups}
    for group in grouping.groups:
        for earlier in group.after:
            users[earlier].add(group)
    kept: list[Group] = []
    readers: dict[tuple[BlockArgument | Node, tuple[int, ...]], list[Group]] = {}
    for group in grouping.groups:
        keys = _shared_keys(group)
        near = dict.fromkeys(g for key in keys for g in readers.get(key, [])[-CANDIDATES:])
        host = next((g for g in near if _fit(g, group, grouping)), None)
        if host is None:
            kept.append(group)
            host = group
        else:
            _merge(host, group, users, position)
            grouping.home.update((node, host) for node, _ in group.results)
        for key in keys:
            if host not in readers.setdefault(key, []):
                readers[key].append(host)
    grouping.groups[:] = kept


def _shared_keys(group: Group) -> list[tuple[BlockArgument | Node, tuple[int, ...]]]:
    """The inputs that are as large as the kernel, with its extents; none if it is not elementwise."""
    if group.rows is not None or group.scatters:
        return []
    extents, size = tuple(group.extents), math.prod(group.extents)
    return [(base, extents) for base in group.inputs if math.prod(base_shape(base)) == size]


def _fit(host: Group, group: Group, grouping: Grouping) -> bool:
    limits = grouping.limits
    if len(host.inputs | group.inputs) > limits.inputs or len({*host.members, *group.members}) > limits.ops:
        return False
    return not reaches(host, group) and not reaches(group, host)


def _merge(host: Group, group: Group, users: dict[Group, set[Group]], position: dict[Node, int]) -> None:
    members = {*host.members, *group.members}
    host.members = sorted(members, key=lambda member: (-position[member[0]], member[1]))
    host.results += group.results
    host.inputs |= group.inputs
    host.after |= group.after
    for user in users.pop(group):
        user.after.discard(group)
        user.after.add(host)
        users[host].add(user)
    for earlier in group.after:
        users[earlier].discard(group)
        users[earlier].add(host)
