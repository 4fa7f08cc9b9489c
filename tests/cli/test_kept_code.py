"""Test the file with the code of modules: what is taken from it, and that nothing else depends on it."""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import atexit, sys
def report():
    places = {name: getattr(module, "__cached__", None) or "" for name, module in sys.modules.items()}
    print(*[name for name, place in places.items() if place.endswith(".bin")], file=sys.stderr)
atexit.register(report)
from zlang.cli.app import main
main()
"""
"""Run a command, and write the names of the modules whose code was in the file to standard error."""
CHECK = ["check", str(ROOT / "examples/quickstart.zexp")]
CHECKED = f"{CHECK[1]}: quickstart: 8 points, 24 trials\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a directory with zlang as a wheel has it, compiled as far as `check` loads it."""
    site = tmp_path_factory.mktemp("compiled")
    shutil.copytree(ROOT / "zlang", site / "zlang", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "stdlib", site / "zlang/stdlib")
    run(site)
    file_of(site).unlink()
    return site


@pytest.fixture
def site(compiled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled, tmp_path / "site"))


def run(site: Path, words: list[str] = CHECK, *options: str, code: int = 0, **settings: str) -> tuple[str, set[str]]:
    """Run a command; return its output and the modules whose code was in the file."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *options, "-c", PROGRAM, *words],
        cwd=site.parent,
        env={**environment, "PYTHONPATH": str(site), **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, set(done.stderr.splitlines()[-1].split())


def file_of(site: Path) -> Path:
    return site / f"zlang/cli/__pycache__/kept_code.{sys.implementation.cache_tag}.bin"


def test_the_code_of_a_start_is_kept_for_the_next(site: Path) -> None:
    assert run(site) == (CHECKED, set())
    out, kept = run(site)
    assert out == CHECKED
    assert {"zlang.check", "zlang.check.check", "zlang.lint.rules", "zlang.syntax.tree"} <= kept
    before = file_of(site).stat()
    run(site)
    assert file_of(site).stat().st_mtime_ns == before.st_mtime_ns  # nothing new was loaded
    assert "zlang.cli.explaining" not in run(site, ["explain", "E101"])[1]
    assert "zlang.cli.explaining" in run(site, ["explain", "E101"])[1]
    assert run(site)[1] == kept


def test_the_code_that_a_child_process_loads_is_kept_too(site: Path) -> None:
    query = ["sql", "select 1", "--db", "absent.duckdb"]
    run(site, query, code=1)
    run(site, query, code=1)
    assert b"zlang.cli.querying" in file_of(site).read_bytes()
    assert b"zlang.store.query" in file_of(site).read_bytes()


@pytest.mark.parametrize("line", ['print("changed")\n', "#" * 16 + "\n"])
def test_a_changed_source_is_loaded(site: Path, line: str) -> None:
    """The second line has the size of the first, which replaces it."""
    source = site / "zlang/check/check.py"
    original = source.read_text("utf-8")
    source.write_text(original + "#" * 16 + "\n", "utf-8")
    run(site)
    time = source.stat().st_mtime
    source.write_text(original + line, "utf-8")
    os.utime(source, (time + 1, time + 1))
    shown = CHECKED if line.startswith("#") else f"changed\n{CHECKED}"
    out, kept = run(site)
    assert out == shown
    assert "zlang.check.check" not in kept
    assert "zlang.check.module" in kept
    out, kept = run(site)
    assert out == shown
    assert "zlang.check.check" in kept


def test_a_removed_source_is_missed_as_ever(site: Path) -> None:
    run(site)
    (site / "zlang/check/settings.py").unlink()
    assert run(site, code=1)[0] == ""


def of_another_python(content: bytes) -> bytes:
    length = int.from_bytes(content[:4], "big")
    (version, package), entries = marshal.loads(content[4 : 4 + length])
    index = marshal.dumps(((version.replace("3.", "4."), package), entries))
    return len(index).to_bytes(4, "big") + index + content[4 + length :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:3],
        lambda content: content[:100],
        lambda content: content[: len(content) // 2],
        lambda content: content[:4] + bytes(len(content)),
        lambda content: b"\xff" * len(content),
        lambda _: marshal.dumps(({}, {})),
        of_another_python,
    ],
)
def test_a_damaged_file_is_written_again(site: Path, damage: Callable[[bytes], bytes]) -> None:
    run(site)
    whole = file_of(site).read_bytes()
    file_of(site).write_bytes(damage(whole))
    assert run(site)[0] == CHECKED
    assert file_of(site).stat().st_size == len(whole)
    assert run(site)[0] == CHECKED


def test_a_file_that_cannot_be_read_or_written_does_no_harm(site: Path) -> None:
    file_of(site).mkdir()
    assert run(site) == (CHECKED, set())
    assert [path.name for path in file_of(site).parent.iterdir() if "zlang-new" in path.name] == []


def test_it_is_not_written_where_python_writes_no_code(site: Path) -> None:
    run(site, PYTHONDONTWRITEBYTECODE="1")
    run(site, CHECK, "-B")
    assert not file_of(site).exists()
    elsewhere = site.parent / "elsewhere"
    run(site, PYTHONPYCACHEPREFIX=str(elsewhere))
    assert not file_of(site).exists()
    assert [path.suffix for path in elsewhere.rglob("kept_code*.bin")] == [".bin"]


def test_a_read_only_installation_is_unchanged(site: Path) -> None:
    cache = file_of(site).parent
    before = sorted(cache.iterdir())
    cache.chmod(0o555)
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [*powerless, sys.executable, "-c", PROGRAM, *CHECK],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    cache.chmod(0o755)
    assert (done.returncode, done.stdout, done.stderr) == (0, CHECKED, "\n")
    assert sorted(cache.iterdir()) == before


def test_it_has_the_permissions_of_compiled_code(site: Path) -> None:
    old = os.umask(0)
    try:
        run(site)
    finally:
        os.umask(old)
    compiled = file_of(site).with_suffix(".pyc")
    assert file_of(site).stat().st_mode == compiled.stat().st_mode


def test_code_without_assertions_is_kept_apart(site: Path) -> None:
    run(site)
    run(site, CHECK, "-O")
    assert "zlang.check.check" in run(site, CHECK, "-O")[1]
    assert len(list(file_of(site).parent.glob("kept_code*.bin"))) == 2


def test_a_package_that_was_moved_is_loaded_from_its_new_place(site: Path) -> None:
    run(site)
    moved = Path(shutil.copytree(site, site.parent / "moved"))
    shutil.rmtree(site)
    assert run(moved) == (CHECKED, set())


def test_several_starts_at_once_write_whole_files(site: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": ""}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for words in (CHECK, ["explain", "E101"], CHECK, ["kinds"])
    ]
    assert [process.communicate(timeout=120)[0] != b"" for process in started] == [True] * 4
    assert [process.returncode for process in started] == [0] * 4
    assert run(site)[0] == CHECKED
    assert "zlang.check.check" in run(site)[1]


def test_a_checkout_has_none() -> None:
    run(ROOT)
    assert not list((ROOT / "zlang").rglob("kept_code*.bin"))
