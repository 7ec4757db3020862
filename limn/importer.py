"""From the trace to a `graph` module, and the key under which a plan for it is found again.

`record` walks the nodes behind some outputs once, without recursion, and writes down their structure: op
classes, indices of sources, attributes, the shapes and dtypes of what is read. Equal structures have equal
keys whatever the buffers hold. Buffers and users' numbers are listed in order of first use: the arguments a
plan takes. `build` makes the module, which is only needed when no plan has that key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from limn.dialects.graph import ELEMENT_TYPES, AssignOp, CastOp, ConstOp, MaxOp, MulOp, ScatterOp, SumOp, ViewOp
from limn.dtypes import BY_MLIR, DType
from limn.runtime.buffers import Buffer
from limn.trace import BufferTag, Node, ScalarTag
from limn.view import View

ELEMENT: dict[DType, Attribute] = {BY_MLIR[str(element)]: element for element in ELEMENT_TYPES}


@dataclass(slots=True)
class Record:
    """The structure behind some outputs.

    key        equal for equal structures
    nodes      sources before users
    buffers    what the plan reads, in order of first use, with the shape it is read as
    scalars    users' numbers in order of first use, with their dtypes
    slots      position of a buffer or scalar node in those lists
    results    outputs that are returned
    commits    assigns that the plan commits, in order
    """

    key: tuple[object, ...]
    nodes: list[Node]
    buffers: list[tuple[Buffer, tuple[int, ...]]]
    scalars: list[tuple[float | int | bool, DType]]
    slots: dict[Node, int]
    results: list[Node]
    commits: list[Node]


def sources_first(outputs: Iterable[Node]) -> list[Node]:
    """The nodes needed for `outputs`, each after its sources; realized nodes have none."""
    order: list[Node] = []
    done: set[Node] = set()
    stack = list(outputs)[::-1]
    while stack:
        node = stack[-1]
        if node not in done and node.realized is None:
            missing = [s for s in node.srcs if s not in done]
            if missing:
                stack.extend(reversed(missing))
                continue
        stack.pop()
        if node not in done:
            done.add(node)
            order.append(node)
    return order


def record(outputs: list[Node]) -> Record:
    """Write down the structure behind `outputs`, none of which is realized."""
    nodes = sources_first(outputs)
    commits = _commits(nodes)
    committed = set(commits)
    index: dict[Node, int] = {}
    slots: dict[Node, int] = {}
    buffers: dict[tuple[int, tuple[int, ...]], int] = {}
    scalars: dict[tuple[int, DType], int] = {}
    inputs: list[tuple[Buffer, tuple[int, ...]]] = []
    numbers: list[tuple[float | int | bool, DType]] = []
    key: list[object] = []
    for node in nodes:
        index[node] = len(index)
        op = node.op
        if node.realized is not None:
            slot = buffers.setdefault((id(node.realized), node.shape), len(buffers))
            if slot == len(inputs):
                inputs.append((node.realized, node.shape))
            slots[node] = slot
            key += (BufferTag, slot, node.shape, node.dtype)
        elif op is ScalarTag:
            # one Python object used in many places (a learning rate) is one number
            slot = scalars.setdefault((id(node.arg), node.dtype), len(scalars))
            if slot == len(numbers):
                numbers.append((node.arg, node.dtype))
            slots[node] = slot
            key += (ScalarTag, slot, node.shape, node.dtype)
        elif op is ConstOp:
            key += (ConstOp, repr(node.arg), node.shape, node.dtype)
        else:
            key.append(op)
            for src in node.srcs:
                key.append(index[src])
            key.append(node in committed if op is AssignOp else node.arg)
    results = [node for node in outputs if node not in committed]
    key += ("results", *(index[node] for node in results))
    return Record(tuple(key), nodes, inputs, numbers, slots, results, commits)


def _commits(nodes: list[Node]) -> list[Node]:
    """The assigns that give their buffer its next version: the last of several on one buffer. The others are
    values like any."""
    last: dict[int, Node] = {}
    for node in nodes:
        if node.op is AssignOp and node.realized is None:
            before = last.get(id(node.srcs[0].realized))
            if before is None or node.arg > before.arg:
                last[id(node.srcs[0].realized)] = node
    chosen = set(last.values())
    return [node for node in nodes if node in chosen]


def tensor_type(dtype: DType, shape: tuple[int, ...]) -> TensorType[Attribute]:
    """The type in IR of a tensor of this dtype and shape."""
    return TensorType(ELEMENT[dtype], list(shape))


def build(found: Record, operands: Collection[int] = ()) -> ModuleOp:
    """The module with one function `main`: arguments are the buffers, then those users' numbers whose
    positions are in `operands`, 0-d, ascending; results are the record's results. Other numbers are written
    as constants."""
    varying = sorted(operands)
    kinds = [tensor_type(buffer.dtype, shape) for buffer, shape in found.buffers]
    kinds += [tensor_type(found.scalars[position][1], ()) for position in varying]
    block = Block(arg_types=kinds)
    at = {position: block.args[len(found.buffers) + k] for k, position in enumerate(varying)}
    builder = Builder(InsertPoint.at_end(block))
    constants: dict[tuple[str, tuple[int, ...], DType], SSAValue] = {}
    values: dict[Node, SSAValue] = {}
    committed = set(found.commits)

    def constant(value: float | int | bool, node: Node) -> SSAValue:
        known = (repr(value), node.shape, node.dtype)
        if known not in constants:
            constants[known] = builder.insert(ConstOp(value, tensor_type(node.dtype, node.shape))).result
        return constants[known]

    for node in found.nodes:
        sources = [values[s] for s in node.srcs] if node.realized is None else []
        if node.realized is not None:
            values[node] = block.args[found.slots[node]]
        elif node.op is ConstOp or (node.op is ScalarTag and found.slots[node] not in at):
            values[node] = constant(node.arg, node)
        elif node.op is ScalarTag:
            number = at[found.slots[node]]
            spread = [0] * len(node.shape)
            values[node] = builder.insert(ViewOp(number, node.shape, spread)).result if node.shape else number
        elif node.op is AssignOp and node not in committed:
            values[node] = sources[1]
        elif node.op is ViewOp and node.shape == node.srcs[0].shape and node.arg.is_contiguous:
            values[node] = sources[0]
        else:
            values[node] = builder.insert(_op(node, sources)).results[0]
    builder.insert(ReturnOp(*[values[node] for node in found.results]))
    outputs = [values[node].type for node in found.results]
    return ModuleOp([FuncOp("main", FunctionType.from_lists(kinds, outputs), Region(block))])


def _op(node: Node, sources: list[SSAValue]) -> Operation:
    """The graph op of a node that computes something."""
    op, arg = node.op, node.arg
    if op is ViewOp:
        assert isinstance(arg, View)
        return ViewOp(sources[0], arg.shape, arg.strides, arg.offset, arg.mask)
    if op is CastOp:
        return CastOp(sources[0], ELEMENT[arg])
    if op is SumOp or op is MaxOp:
        return op(sources[0], arg)
    if op is MulOp:
        return MulOp(*sources, recip=arg)
    if op is ScatterOp:
        return ScatterOp(*sources, arg)
    return op(*sources)
