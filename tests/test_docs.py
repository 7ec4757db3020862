"""What README and docs say is true: their code runs, their commands work, their paths and tables match the code.

A `python` block runs as a program, on numpy and on c; a `text` block right after it is what it prints. An `mlir`
block parses, and becomes the file that its first line names. Of a `sh` block, `limn-opt` lines run beside those
files, and `make` lines name targets.
"""

import importlib
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from xdsl.parser import Parser

from limn.pipelines import module_text
from limn.tools.limn_opt import main
from limn.universe import make_context

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def all_blocks() -> list:
    """For each fenced block of the pages: its kind, its text, and the (kind, text) of the block after it."""
    found = []
    for page in PAGES:
        text = page.read_text()
        matches = list(BLOCK.finditer(text))
        for position, match in enumerate(matches):
            following = matches[position + 1].groups() if position + 1 < len(matches) else ("", "")
            line = text[: match.start()].count("\n") + 1
            found.append(pytest.param(match[1], match[2], following, id=f"{page.name}:{line}"))
    return found


BLOCKS = all_blocks()


def blocks(kind: str) -> list:
    return [p for p in BLOCKS if p.values[0] == kind]


def files_in(folder: Path) -> None:
    """Put the modules of all pages that name themselves into a folder."""
    for parameters in blocks("mlir"):
        code = parameters.values[1]
        if name := re.match(r"// (\S+\.mlir)\n", code):
            (folder / name[1]).write_text(code)


def test_every_block_says_what_it_is():
    assert {p.values[0] for p in BLOCKS} <= {"python", "text", "mlir", "sh", "c", "mermaid"}


@pytest.mark.parametrize("device", ["numpy", pytest.param("c", marks=pytest.mark.full)])
@pytest.mark.parametrize(("kind", "code", "following"), blocks("python"))
def test_python_blocks_run_and_print_what_the_page_says(kind, code, following, device, tmp_path):
    environment = {**os.environ, "LIMN_DEVICE": device}
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    if following[0] == "text":
        assert done.stdout == following[1]


@pytest.mark.parametrize(("kind", "code", "following"), blocks("mlir"))
def test_mlir_blocks_parse(kind, code, following, tmp_path, capsys):
    file = tmp_path / "block.mlir"
    file.write_text(code)
    assert main([str(file)]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(("kind", "code", "following"), blocks("sh"))
def test_commands_exist(kind, code, following, tmp_path, monkeypatch, capsys):
    files_in(tmp_path)
    monkeypatch.chdir(tmp_path)
    makefile = (ROOT / "Makefile").read_text()
    for line in code.splitlines():
        words = shlex.split(line)
        if words[:1] == ["make"]:
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), line
        elif words[:1] == ["limn-opt"]:
            assert main(words[1:]) == 0, capsys.readouterr().err
        for word in words:
            if re.match(r"(examples|benchmarks|tests|lit_tests)\b", word):
                assert (ROOT / word).exists(), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_exist(page):
    text = page.read_text()
    named = re.findall(r"`((?:limn|tests|lit_tests|docs|examples|benchmarks)(?:/[\w./-]*)?)`", text)
    named += re.findall(r"(limn/[\w/]+\.py|limn/\w+/)", text)
    for path in set(named) - {"limn"}:
        assert (ROOT / path).exists(), path
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("https://") or (page.parent / link).exists(), link


def test_the_table_of_primitives_is_the_dialect():
    from limn.dialects.graph import Graph

    text = (ROOT / "README.md").read_text().split("### Primitives")[1].split("###")[0]
    assert set(re.findall(r"`(graph\.\w+)`", text)) == {op.name for op in Graph.operations}


def test_the_table_of_devices_is_what_set_device_takes():
    import limn

    text = (ROOT / "README.md").read_text().split("### Devices")[1].split("###")[0]
    named = set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE))
    with pytest.raises(ValueError, match="nosuch") as refusal:
        limn.set_device("nosuch")
    assert all(name in str(refusal.value) for name in named)


def test_environment_variables_are_listed():
    used = set()
    for path in (ROOT / "limn").rglob("*.py"):
        used |= set(re.findall(r"""["'](LIMN_[A-Z_]+)["']""", path.read_text()))
    text = (ROOT / "README.md").read_text()
    assert used <= set(re.findall(r"^\| `(LIMN_\w+)`", text, re.MULTILINE))


def test_every_test_file_named_in_a_docstring_or_page_exists():
    for path in [*(ROOT / "limn").rglob("*.py"), *PAGES]:
        for name in re.findall(r"(?<![\w/])((?:tests|lit_tests)/[\w/.-]+\.(?:py|mlir))", path.read_text()):
            assert (ROOT / name).exists(), f"{path}: {name}"


def test_the_architecture_page_lists_every_file():
    text = (ROOT / "docs" / "architecture.md").read_text().split("## Files")[1]
    listed = re.findall(r"^\| `(limn/[\w/]+\.py)` \|", text, re.MULTILINE)
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "limn").rglob("*.py")}
    assert set(listed) == files
    assert len(listed) == len(files)


@pytest.mark.parametrize("dialect", ["graph", "schedule", "nest"])
def test_the_examples_of_a_dialects_docstring_print_as_they_stand(dialect):
    page = importlib.import_module(f"limn.dialects.{dialect}").__doc__
    blocks = [textwrap.dedent(block).strip() for block in re.findall(r"(?:^    .*\n|^\n(?=    ))+", page, re.MULTILINE)]
    examples = [block for block in blocks if block and ":=" not in block]
    assert examples
    for text in examples:
        launched = "nest.kernel @k0(%a: memref<4xf32>, %b: memref<12xf32>, %c: memref<4xf32>) {\n}\n"
        module = Parser(make_context(), (launched if "nest.launch" in text else "") + text).parse_module()
        module.verify()
        assert textwrap.indent(text, "  ") in module_text(module)
