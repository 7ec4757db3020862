"""limn-opt: a mistake gives one message with its place, exit status 1, nothing on the standard output."""

import io
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from limn.passes import MODULES
from limn.pipelines import PIPELINES
from limn.tools.limn_opt import main

FUNCTION = "builtin.module {{\n  func.func @f() {{\n{}    func.return\n  }}\n}}\n"
MODULE = "builtin.module {\n  func.func @f(%a: i32) -> i32 {\n    func.return %a : i32\n  }\n}\n"
ADD = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.add %a, %a : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
"""


class Outcome:
    """What one run of limn-opt gave: `status`, `out` and `err`."""

    def __init__(self, status: int, out: str, err: str):
        self.status, self.out, self.err = status, out, err


@pytest.fixture
def opt(capsys, monkeypatch):
    """Run limn-opt in this process on a text given as its standard input."""

    def run(text: str | bytes, *arguments: str) -> Outcome:
        data = text.encode() if isinstance(text, str) else text
        stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stdin)
        status = main(arguments)
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


BAD_TEXTS = {
    "unclosed": ("builtin.module {\n  func.func @f() {\n    func.return\n  }\n", "5:1", "ends"),
    "stray_brace": ("builtin.module {\n}\n}\n", "3:1", "an operation is expected"),
    "undefined_value": (FUNCTION.format("    %b = arith.addi %a, %a : i32\n"), "3:21", "%a"),
    "defined_twice": (
        FUNCTION.format("    %a = arith.constant 1 : i32\n    %a = arith.constant 2 : i32\n"),
        "4:5",
        "already defined",
    ),
    "used_before": (
        FUNCTION.format("    %b = arith.addi %a, %a : i32\n    %a = arith.constant 1 : i32\n"),
        "3:5",
        "before",
    ),
    "used_before_in_graph": (
        ADD.replace("%0 = graph.add %a, %a", "%0 = graph.neg %1 : tensor<4xf32>\n  %1 = graph.add %a, %a"),
        "2:3",
        "before",
    ),
    "loop_bound_is_its_own_index": (
        "nest.kernel @k() {\n  nest.for %r = %r to 8 {\n  }\n}\n",
        "2:3",
        "not defined before it",
    ),
    "unknown_op": (FUNCTION.format('    "nosuch.op"() : () -> ()\n'), "3:", "nosuch.op"),
    "unknown_type": (FUNCTION.format('    %a = "test.op"() : () -> !nosuch.type\n'), "4:5", "nosuch.type"),
    "string_for_int": (
        FUNCTION.format('    %a = "arith.constant"() {value = "one"} : () -> i32\n'),
        "3:5",
        "one",
    ),
    "type_mismatch": (
        FUNCTION.format('    %a = arith.constant 1 : i32\n    %b = "arith.addi"(%a, %a) : (i32, i32) -> i64\n'),
        "4:5",
        "i64",
    ),
    "too_big_for_i8": (FUNCTION.format("    %a = arith.constant 300 : i8\n"), "3:5", "300"),
    "missing_result_type": (
        FUNCTION.format('    %a = "arith.constant"() {value = 1 : i32} : ()\n'),
        "4:5",
        "->",
    ),
    "duplicate_symbol": (
        "builtin.module {\n  func.func @f() {\n    func.return\n  }\n  func.func @f() {\n    func.return\n  }\n}\n",
        "1:1",
        '"f"',
    ),
    "no_terminator": (
        "builtin.module {\n  func.func @f() -> i32 {\n    %a = arith.constant 1 : i32\n  }\n}\n",
        "3:5",
        "terminator",
    ),
    "returns_nothing": (
        "builtin.module {\n  func.func @f() -> i32 {\n    func.return\n  }\n}\n",
        "3:5",
        "i32",
    ),
    "binary_junk": ("\x00\x01\x7fELF not a module", "1:1", "character"),
    "unterminated_string": ('builtin.module attributes {a = "oops} {\n}\n', "1:32", "string"),
    "wrong_shape": (ADD.replace("%a, %a : tensor<4xf32>", "%a, %a : tensor<5xf32>"), "2:", "tensor<4xf32>"),
    "deep_nesting": ("builtin.module {" * 3000 + "}" * 3000, "", "nests too deeply"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_text_gets_one_message_with_its_place(opt, name):
    text, place, word = BAD_TEXTS[name]
    start = time.perf_counter()
    outcome = opt(text)
    assert outcome.status == 1
    assert outcome.out == ""
    assert outcome.err.startswith("<stdin>:" + place), outcome.err
    assert word in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.err.count("error:") == 1
    assert len(outcome.err.splitlines()) <= 3
    assert outcome.err.rstrip("\n").isprintable() or "\n" in outcome.err
    assert time.perf_counter() - start < 2


def test_text_that_is_not_utf8_names_the_byte(opt):
    outcome = opt(b"// ok\n  \xff\xfe junk")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("<stdin>:2:3: error: byte 0xff is not UTF-8 text")


@pytest.mark.parametrize(
    "text",
    [
        MODULE.encode(),
        MODULE.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + MODULE.encode(),
        MODULE.rstrip("\n").encode(),
        MODULE.replace("  ", "\t").encode(),
        ("// größe λ\n" + MODULE).encode(),
    ],
    ids=["plain", "crlf", "bom", "no_final_newline", "tabs", "comment_unicode"],
)
def test_unusual_files_print_the_same_module(opt, text):
    outcome = opt(text)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == MODULE


@pytest.mark.parametrize("text", ["", "// nothing here\n", "builtin.module {\n}\n", "\ufeff"])
def test_a_text_without_operations_is_an_empty_module(opt, text):
    outcome = opt(text)
    assert (outcome.status, outcome.err, outcome.out) == (0, "", "builtin.module {\n}\n")


def test_strings_keep_their_bytes(opt):
    note = 'grüße 日本 😀 "q" \\ tab\t end'
    escaped = "".join(f"\\{byte:02X}" for byte in note.encode())
    first = opt(f'builtin.module attributes {{note = "{escaped}"}} {{\n}}\n')
    assert first.status == 0
    again = opt(first.out)
    assert (again.status, again.out) == (0, first.out)
    text = re.search(r'note = "(.*)"', first.out)
    assert text is not None
    data = re.sub(rb"\\([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), text[1].encode())
    assert data.replace(b'\\"', b'"').replace(b"\\\\", b"\\").decode() == note


def test_nested_modules_may_use_the_same_function_name(opt):
    inner = "builtin.module @inner {\n    func.func @f() {\n      func.return\n    }\n  }"
    text = f"builtin.module {{\n  {inner}\n  func.func @f() {{\n    func.return\n  }}\n}}\n"
    outcome = opt(text)
    assert (outcome.status, outcome.out) == (0, text)


BAD_COMMANDS = {
    "unknown_pass": (["-p", "nosuchpass"], ["nosuchpass", "fuse"]),
    "near_miss": (["-p", "canonicalise"], ["canonicalise", "did you mean 'canonicalize'"]),
    "unknown_option": (["-p", "canonicalize{foo=1}"], ["foo", "canonicalize"]),
    "option_below_its_range": (["-p", "fuse{max-ops=-1}"], ["fuse", "max-ops is -1", "1 or more"]),
    "both_pass_flags": (["-p", "canonicalize", "--pass", "cse"], ["-p", "--pass", "one of the two"]),
    "option_of_zero": (["-p", "plan-memory{align=0}"], ["plan-memory", "align is 0", "1 or more"]),
    "option_without_value": (["-p", "canonicalize{foo}"], ["foo"]),
    "unclosed_brace": (["-p", "canonicalize{"], ["canonicalize{"]),
    "blank_after_comma": (["-p", "cse, dce"], ["cse, dce"]),
    "empty_name": (["-p", ",canonicalize"], [",canonicalize"]),
    "missing_file": (["MISSING.mlir"], ["MISSING.mlir", "No such file"]),
    "directory": (["."], [".:", "directory"]),
    "unknown_flag": (["--nosuchflag"], ["--nosuchflag"]),
    "abbreviated_flag": (["--split"], ["--split"]),
    "unknown_target": (["-t", "nosuchtarget"], ["nosuchtarget", "mlir"]),
    "unclosed_target": (["-t", "mlir{"], ["limn-opt: error:"]),
    "unknown_target_option": (["-t", "mlir{foo=1}"], ["foo"]),
    "unknown_frontend": (["-f", "nosuch"], ["nosuch"]),
    "flag_without_value": (["-p"], ["-p"]),
    "output_in_no_directory": (["-o", "no/such/directory/out.mlir"], ["no/such/directory/out.mlir"]),
}


@pytest.mark.parametrize("name", BAD_COMMANDS)
def test_wrong_command_line_gets_one_line_that_names_the_bad_part(opt, name):
    arguments, words = BAD_COMMANDS[name]
    outcome = opt(MODULE, *arguments)
    assert (outcome.status, outcome.out) == (1, "")
    assert len(outcome.err.splitlines()) == 1
    for word in words:
        assert word in outcome.err


def test_trailing_comma_is_accepted(opt):
    assert opt(MODULE, "-p", "canonicalize,").out == MODULE


def test_pass_is_another_name_of_p(opt):
    unused = ADD.replace("  func.return", "  %1 = graph.neg %0 : tensor<4xf32>\n  func.return")
    assert opt(unused, "--pass", "dce").out == opt(unused, "-p", "dce").out == opt(ADD).out


def test_list_passes_has_one_line_for_each(opt):
    outcome = opt("", "--list-passes")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert [line.split()[0] for line in lines[: len(MODULES)]] == list(MODULES)
    assert {line.split()[0] for line in lines[len(MODULES) :]} == {"canonicalize", "cse", "dce"}
    assert all(len(line.split(None, 1)[1]) > 10 and len(line) <= 130 for line in lines)


def test_list_pipelines_prints_the_strings_that_run(opt):
    outcome = opt("", "--list-pipelines")
    assert outcome.status == 0
    for line, (name, (passes, _)) in zip(outcome.out.splitlines(), PIPELINES.items(), strict=True):
        assert line.split()[0] == name
        assert passes in line


def test_each_pipeline_runs_on_a_graph(opt):
    for name, (passes, _) in PIPELINES.items():
        outcome = opt(ADD, "--pass", passes)
        assert (outcome.status, outcome.err) == (0, ""), name
        again = opt(outcome.out)
        assert again.out == outcome.out, name


def test_print_between_passes_marks_what_a_pass_left_alone(opt):
    unused = ADD.replace("  func.return", "  %1 = graph.neg %0 : tensor<4xf32>\n  func.return")
    outcome = opt(unused, "--pass", "cse,dce", "--print-between-passes")
    assert outcome.status == 0
    after_cse, after_dce = outcome.out.split("// IR after dce:")
    # cse drops the unused op, so nothing is left for dce to change.
    assert after_cse.startswith("// IR after cse:\nbuiltin.module")
    assert after_dce.startswith(" (unchanged)\nbuiltin.module")
    assert opt(ADD, "--pass", "dce", "--print-between-passes").out.startswith("// IR after dce: (unchanged)\n")


def test_split_input_file_works_on_each_piece_and_counts_lines_on(opt):
    outcome = opt(MODULE + "// -----\n" + ADD, "--split-input-file")
    first, second = outcome.out.split("// -----\n")
    assert (first, second.count("graph.add")) == (MODULE, 1)
    bad = opt(MODULE + "// -----\n" + BAD_TEXTS["stray_brace"][0], "--split-input-file")
    assert (bad.status, bad.out) == (1, "")
    assert bad.err.startswith("<stdin>:9:1: error:")


def test_verify_diagnostics_prints_each_message_and_goes_on(opt):
    text = BAD_TEXTS["type_mismatch"][0] + "// -----\n" + MODULE
    outcome = opt(text, "--split-input-file", "--verify-diagnostics")
    assert outcome.status == 0
    assert outcome.out.startswith("<stdin>:4:5: error:")
    assert outcome.out.endswith("// -----\n" + MODULE)


def test_output_file_is_written_only_when_all_succeeded(opt, tmp_path):
    out = tmp_path / "out.mlir"
    assert opt(MODULE, "-o", str(out)).out == ""
    assert out.read_text() == MODULE
    out.write_text("before")
    assert opt(MODULE + "// -----\n}\n", "--split-input-file", "-o", str(out)).status == 1
    assert out.read_text() == "before"


def test_messages_name_the_file_as_it_was_given(opt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad input.txt").write_text(BAD_TEXTS["stray_brace"][0])
    assert opt("", "bad input.txt").err.startswith("bad input.txt:3:1: error:")


def test_target_c_refuses_what_no_pass_has_lowered(opt):
    outcome = opt(ADD, "--target", "c")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("<stdin>:")
    assert "Traceback" not in outcome.err


def test_a_place_that_the_text_claims_does_not_break_the_message(opt):
    claimed = '    func.return loc("<stdin>":9999:77)\n  }\n}\n'
    text = "builtin.module {\n  func.func @f() -> i32 {\n" + claimed
    outcome = opt(text)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("<stdin>:9999:77: error:")


def test_the_command_itself_and_a_reader_that_leaves():
    command = [sys.executable, "-m", "limn.tools.limn_opt"]
    done = subprocess.run(command, input=MODULE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, MODULE, "")
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert version.stdout.startswith("limn-opt 0.")
    big = "".join(ADD.replace("@main", f"@f{i}") for i in range(300))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as p:
        assert p.stdin is not None
        assert p.stdout is not None
        assert p.stderr is not None
        p.stdout.close()  # as `| head` does
        p.stdin.write(big)
        p.stdin.close()
        assert "Traceback" not in p.stderr.read()


@pytest.mark.full
@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        ("<&-", "<stdin>: error: Bad file descriptor"),
        (">&-", "<stdout>: error: Bad file descriptor"),
        (">/dev/full", "<stdout>: error: No space left on device"),
    ],
)
def test_streams_that_are_closed_or_full(redirection, message):
    command = f'echo "builtin.module {{}}" | (exec "$0" -m limn.tools.limn_opt {redirection})'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message + "\n")


def test_a_dash_names_the_standard_streams(opt):
    assert opt(ADD, "-", "-o", "-").out == opt(ADD).out


def test_stock_xdsl_opt_knows_the_dialects_and_passes():
    command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "-p", "canonicalize"]
    done = subprocess.run(command, input=ADD, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "graph.add" in done.stdout
    listed = subprocess.run([*command[:3], "--help"], capture_output=True, text=True, check=False)
    assert "fuse" in listed.stdout


def test_passes_given_one_by_one_are_joined(tmp_path, capsys):
    file = tmp_path / "input.mlir"
    file.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %x : tensor<4xf32>\n}\n")
    printed = []
    for words in (["--pass", "fuse,lower"], ["--pass", "fuse", "--pass", "lower"], ["-p", "fuse,lower"]):
        assert main([str(file), *words]) == 0
        printed.append(capsys.readouterr().out)
    assert "nest.plan" in printed[0] and printed[0] == printed[1] == printed[2]
