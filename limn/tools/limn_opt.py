"""limn-opt: read a module of any stage, run passes on it, print it as MLIR text or as C.

It is xDSL's driver with limn's dialects, passes and targets, and with a promise about mistakes: whatever
the user gets wrong (the text, the command line, a module that a pass or target refuses) ends in one message
with its place, exit status 1, and nothing on the standard output. So the output is held back until
everything has succeeded; the price is that a long pipeline shows nothing before its end.
"""

import argparse
import difflib
import os
import sys
import time
from collections.abc import Callable, Sequence
from errno import EBADF
from importlib.metadata import version
from io import StringIO
from typing import IO, NoReturn, TextIO, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.universe import XDSL_UNIVERSE
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ShrinkException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from limn.passes import MODULES, pass_help
from limn.pipelines import PIPELINES, module_text
from limn.tools.source import Source, SourceError, one_line, parse_source, verify_source
from limn.universe import LIMN_UNIVERSE, UPSTREAM_PASSES, all_dialects

UPSTREAM_HELP = {
    "canonicalize": "xDSL's folding and canonicalisation patterns, to a fixed point",
    "cse": "xDSL's common subexpression elimination",
    "dce": "xDSL's removal of operations whose results nobody uses",
}


class LimnOpt(xDSLOptMain):
    """The driver: xDSL's flags, `--pass` as another name of `-p`, and the two lists."""

    version_format = f"limn-opt {version('limn')} on xDSL {{xdsl_version}}"

    def register_all_dialects(self) -> None:
        for name, factory in all_dialects().items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        for name in UPSTREAM_PASSES:
            self.register_pass(name, XDSL_UNIVERSE.all_passes[name])
        for name, factory in LIMN_UNIVERSE.all_passes.items():
            self.register_pass(name, factory)

    def register_all_targets(self) -> None:
        self.available_targets["mlir"] = XDSL_UNIVERSE.all_targets["mlir"]
        self.available_targets.update(LIMN_UNIVERSE.all_targets)

    def register_all_frontends(self) -> None:
        self.available_frontends["mlir"] = XDSL_UNIVERSE.all_frontends["mlir"]

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.prog = "limn-opt"
        arg_parser.allow_abbrev = False
        arg_parser.error = usage_error
        add = arg_parser.add_argument
        add("--pass", dest="lists", metavar="PASSES", action="append", default=[], help="as -p; several are joined")
        add("--list-passes", action="store_true", help="list the passes, one line each")
        add("--list-pipelines", action="store_true", help="list the pipelines of the stages")
        add("--traceback", action="store_true", help="show the Python traceback of an error")

    def setup_pipeline(self) -> None:
        if self.args.lists and self.args.passes:
            usage_error("passes stand after -p and after --pass; give them after one of the two")
        self.passes = parse_passes(self.available_passes, ",".join(self.args.lists) or self.args.passes)
        self.target = self.parse_target()

    def parse_target(self) -> Target:
        """The target of `-t` with its options; the flags about MLIR text become options of target `mlir`."""
        spec = parse_spec(self.args.target)
        if spec.name == "mlir":
            flags = {
                "print_generic_format": self.args.print_op_generic,
                "print_properties_as_attributes": self.args.print_no_properties,
                "print_debuginfo": self.args.print_debuginfo,
                "syntax_highlight": self.args.syntax_highlight,
            }
            given = {name: (True,) for name, value in flags.items() if value}
            spec = ArgSpec("mlir", given | spec.parameters)
        factory = cast(Callable[[], type[Target]], self.available_targets[spec.name])
        try:
            return factory().from_spec(spec)
        except ValueError as error:
            raise SourceError(f"limn-opt: error: target '{spec.name}': {one_line(error)}") from error

    def read_sources(self) -> list[Source]:
        """The input text, cut at `// -----` if that was asked for."""
        asked = self.args.input_file
        name = "<stdin>" if asked in (None, "-") else asked
        try:
            if name == asked:
                with open(name, "rb") as file:
                    data = file.read()
            else:
                data = opened(sys.stdin).buffer.read()
        except OSError as error:
            raise SourceError(f"{name}: error: {error.strerror}") from error
        data = data.removeprefix(b"\xef\xbb\xbf")  # the byte order mark that some editors write
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            source = Source(data.decode("utf-8", "replace"), name)
            position = len(data[: error.start].decode("utf-8"))
            raise source.error_at(position, f"byte 0x{data[error.start]:02x} is not UTF-8 text") from error
        if not self.args.split_input_file:
            return [Source(text, name)]
        sources: list[Source] = []
        line = 0
        for chunk in text.split("// -----"):
            sources.append(Source(chunk, name, line))
            line += chunk.count("\n")
        return sources

    def run(self) -> None:
        """Do all of the work, then write the output."""
        if self.args.list_passes or self.args.list_pipelines:
            self.write((self.args.list_passes and list_passes()) or list_pipelines())
            return
        outputs = [self.process(source) for source in self.read_sources()]
        self.write("// -----\n".join(outputs))

    def write(self, text: str) -> None:
        """Put the text where `-o` says."""
        asked = self.args.output_file
        name = "<stdout>" if asked in (None, "-") else asked
        try:
            if name == asked:
                with open(name, "w", encoding="utf-8", newline="") as file:
                    file.write(text)
            else:
                opened(sys.stdout).write(text)
                sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            if name != asked:
                discard_output()  # or Python complains once more at exit
            raise SourceError(f"{name}: error: {error.strerror}") from error

    def process(self, source: Source) -> str:
        """What one module of the input gives; with the two diagnostics flags, the message of its error."""
        out = StringIO()
        try:
            try:
                module = parse_source(self.ctx, source, not self.args.no_implicit_module)
            except SourceError as error:
                if self.args.parsing_diagnostics or self.args.verify_diagnostics:
                    return f"{error}\n"
                raise
            try:
                self.transform(module, source, out)
            except SourceError as error:
                if self.args.verify_diagnostics:
                    return f"{error}\n"
                raise
        except SourceError:
            sys.stderr.write(out.getvalue())  # what --print-between-passes had shown so far
            raise
        return out.getvalue().rstrip("\n") + "\n"

    def transform(self, module: ModuleOp, source: Source, out: IO[str]) -> None:
        """Verify, run the passes with a check after each, print."""
        verify = (lambda: None) if self.args.disable_verify else (lambda: verify_source(module, source))
        verify()
        shown = module_text(module) if self.args.print_between_passes else ""
        for applied in self.passes:
            start = time.perf_counter()
            who = f"pass '{applied.name}'"
            with_place(lambda applied=applied: applied.apply(self.ctx, module), source, who)
            if self.args.time_passes:
                print(f"{applied.name}: {(time.perf_counter() - start) * 1e3:.2f} ms", file=sys.stderr)
            try:
                verify()
            except SourceError as error:
                raise SourceError(f"{error}\nafter the pass '{applied.name}'") from error
            if self.args.print_between_passes:
                before, shown = shown, module_text(module)
                out.write(f"// IR after {applied.name}: (unchanged)\n" if shown == before else "")
                out.write(f"// IR after {applied.name}:\n{shown}\n" if shown != before else "")
        with_place(lambda: self.target.emit(self.ctx, module, out), source, f"target '{self.target.name}'")


def with_place(action: Callable[[], None], source: Source, who: str) -> None:
    """Run a pass or target; what it refuses becomes one message, at the op it names in `error.op` if any."""
    try:
        action()
    except (DiagnosticException, ValueError, RecursionError) as error:
        raise source.error_on(getattr(error, "op", None), f"{who}: {one_line(error)}") from error


def opened(stream: TextIO | None) -> TextIO:
    """A standard stream; Python has None for one that the shell has closed."""
    if stream is None:
        raise OSError(EBADF, os.strerror(EBADF))
    return stream


def discard_output() -> None:
    """Let what is still to be written to the standard output go nowhere."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def usage_error(message: str) -> NoReturn:
    """What argparse calls for a wrong command line: one line instead of its usage text and exit status 2."""
    raise SourceError(f"limn-opt: error: {message}")


def parse_passes(available: dict[str, Callable[[], type[ModulePass]]], pipeline: str) -> tuple[ModulePass, ...]:
    """The passes that a pipeline string names.

    Raises SourceError that names the wrong part, with the passes or options there are.
    """
    try:
        specs = list(parse_pipeline(pipeline))
    except ArgSpecParseError as error:
        reason = str(error).strip().split("\n")[-1].strip()
        raise SourceError(f"limn-opt: error: cannot read the pipeline '{pipeline}': {reason}") from error
    except (StopIteration, RuntimeError) as error:
        raise SourceError(f"limn-opt: error: the pipeline '{pipeline}' ends too early") from error
    passes: list[ModulePass] = []
    for spec in specs:
        if spec.name not in available:
            close = difflib.get_close_matches(spec.name, available, n=1)
            names = ", ".join(sorted(available))
            hint = f", did you mean '{close[0]}'?" if close else ";"
            raise SourceError(f"limn-opt: error: unknown pass '{spec.name}'{hint} known: {names}")
        kind = available[spec.name]()
        infos = get_pass_option_infos(kind)
        options = ", ".join(f"{i.name.replace('_', '-')} ({i.expected_type})" for i in infos) or "none"
        unknown = spec.normalize_parameter_names().parameters.keys() - {i.name for i in infos}
        if unknown:
            raise SourceError(
                f"limn-opt: error: pass '{spec.name}' has no option '{min(unknown)}'; its options: {options}"
            )
        try:
            passes.append(kind.from_spec(spec))
        except ValueError as error:
            raise SourceError(
                f"limn-opt: error: pass '{spec.name}': {one_line(error)}; its options: {options}"
            ) from error
    return tuple(passes)


def list_passes() -> str:
    """One line for each pass: its name and what it does."""
    rows = {name: pass_help(name) for name in MODULES}
    rows |= {name: UPSTREAM_HELP[name] for name in UPSTREAM_PASSES}
    width = max(map(len, rows))
    return "".join(f"{name:<{width}}  {text}\n" for name, text in rows.items())


def list_pipelines() -> str:
    """One line for each pipeline: its name, its passes and what comes out."""
    width = max(map(len, PIPELINES))
    rows = PIPELINES.items()
    return "".join(f"{name:<{width}}  {passes or '(no pass)'}  # {text}\n" for name, (passes, text) in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: returns the exit status, 0 or 1."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        LimnOpt("Run limn's passes on a module and print the result", arguments).run()
    except SourceError as error:
        if "--traceback" in arguments:
            raise
        print(error, file=sys.stderr)
        return 1
    except ArgSpecParseError as error:
        print(f"limn-opt: error: {str(error).strip().splitlines()[-1].strip()}", file=sys.stderr)
        return 1
    except ShrinkException:
        print("Success, can shrink")  # the text and status that shrinkray looks for
        return 0
    except BrokenPipeError:
        discard_output()  # its reader has gone (`limn-opt ... | head`); or Python complains at exit
        return 1
    except Exception as error:
        if "--traceback" in arguments:
            raise
        print(
            f"limn-opt: error: a fault in limn itself: {one_line(error)}; --traceback shows where",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
