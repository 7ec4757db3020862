"""Reading modules from text so that every later complaint can say where: file, line and column.

xDSL's parser builds operations without their place in the text, lets errors of attribute constructors
escape as bare exceptions, and reports an undefined value at the end of the file. `LocatedParser` gives each
operation a location (as `mlir-opt` does), so that a verifier's or pass's error on it can be shown at its
line; it turns what goes wrong while one operation is read into a parse error at that operation.
"""

from bisect import bisect_right

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl.dominance import DominanceInfo
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from limn.dialects import legality

STAGES = {"graph", "schedule", "nest"}


class SourceError(Exception):
    """One message for the user; `str` gives it whole, with its place and the line of text where known."""


class Source:
    """The text of one module, the name its messages carry, and the number of lines of the file before it."""

    def __init__(self, text: str, name: str, lines_before: int = 0):
        self.text = text
        self.name = name
        self.lines_before = lines_before
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def place(self, position: int) -> tuple[int, int]:
        """The line and column, both from 1, of a position in the text."""
        line = min(bisect_right(self._starts, position), len(self._starts) - 1)
        return line + self.lines_before, position - self._starts[line - 1] + 1

    def describe(self, line: int, column: int, message: str) -> str:
        """`file:line:column: error: message`, then that line of the text with a caret under the column."""
        lines = self.text.split("\n")
        index = max(1, min(line - self.lines_before, len(lines))) - 1
        shown = lines[index].rstrip("\r").replace("\t", " ")
        start = max(0, column - 60)
        shown = printable(shown[start : start + 110])
        caret = " " * (column - 1 - start) + "^"
        return f"{self.name}:{line}:{column}: error: {message}\n{shown}\n{caret}"

    def error_at(self, position: int, message: str) -> SourceError:
        """An error that shows the place of a position in the text."""
        return SourceError(self.describe(*self.place(position), message))

    def error_on(self, op: Operation | None, message: str) -> SourceError:
        """An error about `op`, shown where it stands in the text if it came from there."""
        while op is not None and not isinstance(op.location, FileLineColLoc):
            op = op.parent_op()
        if op is None or not isinstance(location := op.location, FileLineColLoc):
            return SourceError(f"{self.name}: error: {message}")
        if location.filename.data != self.name:
            place = f"{location.filename.data}:{location.line.data}:{location.column.data}"
            return SourceError(f"{place}: error: {message}")
        return SourceError(self.describe(location.line.data, location.column.data, message))


class LocatedParser(Parser):
    """xDSL's parser, giving every operation the place of its first token as its location."""

    def __init__(self, ctx: Context, source: Source):
        super().__init__(ctx, source.text, source.name)
        self.source = source
        self.first_uses: dict[str, Span[str]] = {}

    def parse_operation(self) -> Operation:
        start = self._current_token.span
        try:
            op = super().parse_operation()
        except (ParseError, RecursionError):
            raise
        except Exception as error:  # an attribute's constructor or an op's own parser refused its input
            raise ParseError(start, one_line(error)) from error
        if isinstance(op.location, UnknownLoc):
            line, column = self.source.place(start.start)
            op.location = FileLineColLoc(StringAttr(self.source.name), IntAttr(line), IntAttr(column))
        return op

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:
        if operand.operand_name not in self.ssa_values:
            self.first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as error:
            missing = [name for name in self.forward_ssa_references if name in self.first_uses]
            if missing and error.msg.startswith("values used but not defined"):
                span = self.first_uses[missing[0]]
                raise ParseError(span, f"%{missing[0]} is used but not defined") from error
            raise


def printable(text: str) -> str:
    """The text with a question mark for each character that would garble a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def one_line(error: BaseException) -> str:
    """An exception's message as one line; its class stands first where the message alone says nothing."""
    text = " ".join(str(error).split())
    if isinstance(error, (DiagnosticException, ValueError)) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def parse_source(ctx: Context, source: Source, implicit_module: bool = True) -> ModuleOp:
    """The module that a text describes; a text without any operation is an empty module.

    Raises SourceError with the place of what cannot be read.
    """
    try:
        if MLIRLexer(Input(source.text, source.name)).lex().kind is MLIRTokenKind.EOF:
            return ModuleOp([])
        return LocatedParser(ctx, source).parse_module(implicit_module)
    except ParseError as error:
        message = printable(" ".join(error.msg.split()))
        if message == "Could not parse entire input!":
            message = "an operation is expected here"
        wants_more = "expected" in message.lower() or message.startswith("in ")
        if wants_more and error.span.start >= len(source.text.rstrip()):
            message = f"the text ends before it is complete: {message}"
        raise source.error_at(error.span.start, message) from error
    except RecursionError as error:
        raise SourceError(f"{source.name}: error: the text nests too deeply to be read") from error


def verify_source(module: ModuleOp, source: Source) -> None:
    """Verify a module: definitions before uses, then every operation, innermost first, then limn's legality table.

    Raises SourceError that shows the operation at fault.
    """
    verify_order(module, source)
    for op in module.walk(region_first=True):
        try:
            op.verify(verify_nested_ops=False)
            for region in op.regions:
                for block in region.blocks:
                    if block.is_empty:
                        block.verify()
        except VerifyException as error:
            raise source.error_on(op, one_line(error)) from error
    used = {op.name.split(".")[0] for op in module.walk()}
    if not used - {"builtin", "func", *STAGES} and used & STAGES:  # with other dialects in it, it is on its way
        try:
            legality.check(module, legality.level_of(module))
        except VerifyException as error:
            raise source.error_on(getattr(error, "op", None), one_line(error)) from error


def verify_order(module: ModuleOp, source: Source) -> None:
    """Raise SourceError where an operation uses a value whose definition does not come before it.

    xDSL leaves this out, and `limn.dialects.dominance` covers limn's own single-block ops; this covers
    whatever else a module holds, regions of several blocks included.
    """
    position: dict[Operation, int] = {}
    for op in module.walk():
        for region in op.regions:
            for block in region.blocks:
                position.update((inner, i) for i, inner in enumerate(block.ops))
    dominance: dict[Block, DominanceInfo] = {}
    for op in module.walk():
        for index, operand in enumerate(op.operands):
            if isinstance(operand, ForwardDeclaredValue):  # what xDSL leaves of `nest.for %r = %r to 8`
                raise source.error_on(op, f"operand {index} of '{op.name}' is not defined before it")
            owner = operand.owner
            block = owner if isinstance(owner, Block) else owner.parent_block()
            user: Operation | None = op
            while user is not None and block is not None and user.parent_region() is not block.parent:
                user = user.parent_op()
            here = user.parent_block() if user is not None else None
            if user is None or block is None or here is None:
                visible = False
            elif here is block:
                visible = isinstance(owner, Block) or position[owner] < position[user]
            else:
                region = block.parent
                assert region is not None
                info = dominance.get(block) or dominance.setdefault(block, DominanceInfo(region))
                visible = info.dominates(block, here)
            if not visible:
                name = f"%{operand.name_hint}" if operand.name_hint else "a value"
                end = (
                    f" before the '{owner.name}' that defines it"
                    if isinstance(owner, Operation)
                    else " out of its reach"
                )
                message = f"operand {index} of '{op.name}' uses {name}{end}; move the definition up"
                raise source.error_on(op, message)
