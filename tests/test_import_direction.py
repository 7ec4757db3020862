"""Imports run one way, from the frontend down to the view algebra, imports inside functions included.

The ruff.toml of each package says the same to the linter; this also covers the single files beside the packages.
"""

import ast
from pathlib import Path

import pytest

LIMN = Path(__file__).parents[1] / "limn"

MAY_IMPORT = {
    "dtypes": set(),
    "view": set(),
    "core": {"dtypes"},
    "dialects": {"dtypes", "view"},
    "analysis": {"dtypes", "view", "dialects"},
    "passes": {"dtypes", "view", "dialects", "analysis"},
    "targets": {"dtypes", "view", "dialects", "analysis"},
    "interpreters": {"dtypes", "view", "core", "dialects", "analysis"},
    "universe": {"dialects", "passes", "targets"},
    "pipelines": {"universe", "passes"},
    "runtime": {"dtypes", "view", "core", "dialects", "passes", "targets", "interpreters", "universe", "pipelines"},
    "tools": {"dialects", "passes", "targets", "interpreters", "universe", "pipelines"},
    "data": set(),
}
"""What a part of limn may import besides itself. The frontend's files, which are not listed, may import everything."""

FRONTEND = {"functions"}
"""The packages of the frontend."""


def imports(path: Path) -> set[str]:
    """The parts of limn that a file imports; `from limn import x` counts as x."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            names = [f"{node.module}.{alias.name}" if node.module == "limn" else node.module for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] if "." in name else "limn" for name in names if name.split(".")[0] == "limn"}
    return found


FILES = sorted(
    path
    for path in LIMN.rglob("*.py")
    if (path.parent != LIMN or path.stem in MAY_IMPORT) and path.relative_to(LIMN).parts[0] not in FRONTEND
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(LIMN)))
def test_a_file_imports_only_what_lies_below_it(path):
    part = path.relative_to(LIMN).parts[0].removesuffix(".py")
    assert part in MAY_IMPORT, f"limn/{part} has no place in the order of imports; give it one in MAY_IMPORT"
    assert imports(path) <= MAY_IMPORT[part] | {part}


def test_no_file_uses_relative_imports():
    for path in LIMN.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path


def files_imported(path: Path) -> set[Path]:
    """The files that one names in its imports, those for the type checker left out."""
    tree = ast.parse(path.read_text())
    unseen = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    named: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in unseen:
            continue
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in inner if file_of(name)}
            named |= modules if len(modules) == len(inner) else modules | {node.module}
    return {file for name in named if (file := file_of(name)) is not None}


def file_of(name: str) -> Path | None:
    """The file of a module of limn."""
    place = LIMN.parent / name.replace(".", "/")
    return next(
        (p for p in (place.with_suffix(".py"), place / "__init__.py") if p.exists() and LIMN in p.parents), None
    )


def test_no_file_imports_itself_by_way_of_others():
    graph = {path: files_imported(path) for path in LIMN.rglob("*.py")}
    assert len(graph) > 80
    assert LIMN / "tensor.py" in graph[LIMN / "functions" / "free.py"]
    while leaves := [path for path, others in graph.items() if not others & graph.keys()]:
        for path in leaves:
            del graph[path]
    assert not graph, sorted(str(path.relative_to(LIMN)) for path in graph)
