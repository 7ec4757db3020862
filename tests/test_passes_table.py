"""The table of passes ties each name to a module, a line of help, and a lit file."""

import ast
from importlib import import_module
from pathlib import Path

import pytest
from xdsl.passes import get_pass_option_infos

from limn import pipelines
from limn.passes import MODULES, all_passes, load_pass, pass_help
from limn.pipelines import PIPELINES, parse_pipeline

ROOT = Path(__file__).parents[1]
MOST_LINES = 200


@pytest.mark.parametrize("name", MODULES)
def test_a_pass_has_its_module_docstring_and_lit_file(name):
    kind = load_pass(name)
    assert kind.name == name
    assert kind.__module__ == MODULES[name] == f"limn.passes.{name.replace('-', '_')}"
    assert all_passes()[name]() is kind
    help_line = pass_help(name)
    assert 10 < len(help_line) <= 110
    assert "pass" not in help_line.lower().split()[:2], "say what it does, not that it is a pass"
    lit_file = ROOT / "lit_tests" / "passes" / f"{name}.mlir"
    assert lit_file.exists(), f"{lit_file} is missing"
    assert "CHECK" in lit_file.read_text()


@pytest.mark.parametrize("name", MODULES)
def test_the_options_of_a_pass_survive_as_text(name):
    kind = load_pass(name)
    assert all(info.default_value is not None for info in get_pass_option_infos(kind)), "options need defaults"
    default = kind()
    assert parse_pipeline(str(default)).passes == (default,)


@pytest.mark.parametrize("name", MODULES)
def test_a_pass_can_be_read_in_one_sitting(name):
    lines = Path(import_module(MODULES[name]).__file__).read_text().splitlines()
    assert len(lines) <= MOST_LINES


def test_every_pass_module_is_in_the_table():
    files = {p.stem for p in (ROOT / "limn" / "passes").glob("*.py") if not p.stem.startswith("_")}
    assert files == {module.rsplit(".", 1)[1] for module in MODULES.values()}


def test_pipelines_name_every_pass_and_build_on_each_other():
    used = [p.name for p in parse_pipeline(PIPELINES["c"][0]).passes]
    assert used == list(MODULES)
    assert pipelines.C.startswith(pipelines.NEST)
    assert pipelines.NEST.startswith(pipelines.SCHEDULE)


def test_no_pipeline_stands_anywhere_else():
    for path in (ROOT / "limn").rglob("*.py"):
        if path.name == "pipelines.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not ("," in node.value and set(node.value.split(",")) <= set(MODULES)), path
