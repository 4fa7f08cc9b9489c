"""Walls that import-linter cannot see: what a start costs, where tools are named, what the pure stages may touch."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from zlang.check import library
from zlang.lint.rules import RULES
from zlang.syntax import tables

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "zlang"
MODULES = sorted(PACKAGE.rglob("*.py"))

HEAVY = {"covertable", "duckdb", "jinja2", "lark", "numpy", "pydantic", "rich", "scipy"}

TOOLS = {
    "arcstat", "blktrace", "btrfs", "dmsetup", "ext4", "fallocate", "fincore", "fio", "fstrim", "iostat", "lvm",
    "mdadm", "mkfs", "mpstat", "nvme", "sar", "smartctl", "vmstat", "vmtouch", "xfs", "zdb", "zfs", "zpool",
}  # fmt: skip
NAMES_OF_RULES = {rule.lint.name for rule in RULES}
PURE = ("syntax", "check", "space", "plan", "emit")
IMPURE = {
    "asyncio", "datetime", "http", "multiprocessing", "os", "random", "secrets", "select", "shutil", "signal", "socket",
    "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
DRAWS_BY_A_SEED = {"zlang/plan/order.py", "zlang/space/faults.py", "zlang/space/space.py"}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_start_imports_nothing_heavy(command: str) -> None:
    tables.load()
    library.load()
    program = (
        "import sys; from zlang.cli.app import guarded; "
        f"code = guarded([{command!r}, 'examples/quickstart.zexp']); "
        f"print(code, sorted({HEAVY!r} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == "0 []\n"
    assert "quickstart" in done.stdout


def spoken(path: Path) -> Iterator[tuple[int, str]]:
    """All identifiers and strings of a module but its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in silent:
                yield node.lineno, text
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.FunctionDef(name=text) | ast.ClassDef(name=text):
                yield node.lineno, text
            case ast.arg(arg=text):
                yield node.lineno, text
            case ast.keyword(arg=str(text)):
                yield node.value.lineno, text


def words(text: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", text.lower()))


def test_storage_tools_are_named_only_where_their_output_is_read() -> None:
    of_readers = set((PACKAGE / "readers").rglob("*.py"))
    named = [
        f"{name(path)}:{line}: {tool}"
        for path in MODULES
        if path not in of_readers
        for line, text in spoken(path)
        if text not in NAMES_OF_RULES
        for tool in sorted(TOOLS & words(text))
    ]
    assert named == []


def imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield node.lineno, module.partition(".")[0]


def test_the_stages_up_to_emit_see_no_clock_no_environment_and_no_chance() -> None:
    found = [
        f"{name(path)}:{line}: {module}"
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] in PURE
        for line, module in imported(path)
        if module in IMPURE and not (module == "random" and name(path) in DRAWS_BY_A_SEED)
    ]
    assert found == []


@pytest.mark.parametrize("path", sorted(DRAWS_BY_A_SEED))
def test_what_is_drawn_is_drawn_by_a_seed(path: str) -> None:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "random"]
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="random"), attr=attribute):
                assert attribute == "Random", f"{path}:{node.lineno}: random.{attribute} has no seed"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="random"), attr="Random")):
                assert node.args, f"{path}:{node.lineno}: random.Random() has no seed"


def test_every_emitter_is_among_those_that_import_linter_keeps_apart() -> None:
    apart = set(re.findall(r"zlang\.emit\.(\w+)", (ROOT / "pyproject.toml").read_text("utf-8")))
    assert apart == {path.stem for path in (PACKAGE / "emit").glob("*.py")} - {"__init__", "base", "registry"}


def test_commands_are_started_only_by_run() -> None:
    starters = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp"}
    found = [
        f"{name(path)}:{node.lineno}: os.{node.attr}"
        for path in MODULES
        if not path.is_relative_to(PACKAGE / "run")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
        if node.attr in starters
    ]
    assert found == []
