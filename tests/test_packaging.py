"""What a newcomer meets: the package's metadata, the wheel, the Makefile's targets and the repository's hooks."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_dev_group_is_the_dev_extra():
    extra = PROJECT["project"]["optional-dependencies"]["dev"]
    assert PROJECT["dependency-groups"]["dev"] == extra
    assert "torch==2.13.0" in extra


def test_xdsl_is_pinned_to_the_minor_release_that_runs():
    pin = next(d for d in PROJECT["project"]["dependencies"] if d.startswith("xdsl"))
    wanted = re.fullmatch(r"xdsl~=(\d+\.\d+)\.0", pin)
    assert wanted is not None
    assert version("xdsl").startswith(wanted[1] + ".")


def test_limn_is_found_as_a_command_and_by_xdsl():
    assert any(e.value == "limn.tools.limn_opt:main" for e in entry_points(group="console_scripts", name="limn-opt"))
    (plugin,) = entry_points(group="xdsl.universe", name="limn")
    assert set(plugin.load().all_dialects) == {"graph", "schedule", "nest"}


def test_every_package_has_an_init_file():
    for path in (ROOT / "limn").rglob("*.py"):
        assert (path.parent / "__init__.py").exists(), path.parent


@pytest.mark.full
def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("limn-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    files = {str(p.relative_to(ROOT)) for p in (ROOT / "limn").rglob("*.py")} | {"limn/py.typed"}
    assert {n for n in names if ".dist-info/" not in n} == files
    assert any(n.endswith("licenses/LICENSE") for n in names)


@pytest.mark.parametrize(
    ("message", "accepted"),
    [
        ("feat: a pass", True),
        ("speedup: fewer loads\n\nbecause", True),
        ("chore: x", True),
        ("a pass", False),
        ("feature: a pass", False),
        ("fix:no blank", False),
        ("fix: ", False),
    ],
)
def test_commit_messages_have_a_type_and_a_subject(tmp_path, message, accepted):
    file = tmp_path / "message"
    file.write_text(message + "\n")
    done = subprocess.run([ROOT / ".githooks" / "commit-msg", file], capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == accepted
    assert accepted or "type: subject" in done.stderr


def test_hooks_and_ci_can_be_run_and_call_make():
    for script, target in [(".githooks/pre-push", "make quick"), (".ci/run", "make test")]:
        path = ROOT / script
        assert path.stat().st_mode & 0o111
        assert target in path.read_text()


def test_the_makefile_has_the_promised_targets():
    text = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "check", "test-full", "bench"):
        assert re.search(rf"^{target}:", text, re.MULTILINE)
