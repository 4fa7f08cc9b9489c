"""Check that given resources are verified and measured but never changed."""

from __future__ import annotations

import pytest
from command_line import Tools, Zlang

PROGRAM = """
import fio

given dir archive { path = "archive" }
given file old on archive { called = "old one.dat"  size = SIZE }
file fresh on archive { size = 64KiB }
let target = old | fresh
fio reads { rw = read  bs = 4KiB }
experiment e { on = target  run = reads  cache = hot }
"""


@pytest.fixture
def archive(zlang: Zlang) -> dict[str, bytes]:
    """Create a directory with foreign files, one of them named like a file that the run creates."""
    (zlang.at / "archive").mkdir()
    files = {"old one.dat": bytes(65536), "fresh": b"mine"}
    for name, content in files.items():
        (zlang.at / "archive" / name).write_bytes(content)
    return files


def contents(zlang: Zlang) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (zlang.at / "archive").iterdir()}


def test_given_files_are_measured_and_kept(zlang: Zlang, archive: dict[str, bytes]) -> None:
    zlang("run", zlang.program(PROGRAM.replace("SIZE", "64KiB")))
    counted = zlang.rows("select target, cache_state, read_bytes > 0 as has_read from trials order by 1")
    assert [tuple(row.values()) for row in counted] == [("old", "hot", True), ("fresh", "hot", True)]
    assert contents(zlang) == archive


def test_a_given_file_of_another_size_is_refused(zlang: Zlang, archive: dict[str, bytes]) -> None:
    ended = zlang("run", zlang.program(PROGRAM.replace("SIZE", "128KiB")), code=1)
    assert "has 65536 bytes, not 131072" in ended.out + ended.err
    assert contents(zlang) == archive


@pytest.mark.parametrize("field", ["run = writes", "run = reads  before = writes", "run = reads  during = writes"])
def test_nothing_writes_to_it(zlang: Zlang, archive: dict[str, bytes], field: str) -> None:
    text = PROGRAM.replace("SIZE", "64KiB").replace("on = target  run = reads  cache = hot", f"on = old  {field}")
    ended = zlang("plan", zlang.program(f"{text}fio writes {{ rw = write }}\n"), code=1)
    assert "would change `old`, which is `given`" in ended.err
    assert contents(zlang) == archive


@pytest.mark.parametrize(
    "options",
    [
        "filesize = 128KiB",
        "file_append = on",
        "ioengine = filedelete",
        'extra = ["mem=mmap:x"]',
    ],
)
def test_a_load_that_reads_but_lets_fio_remove_files_is_refused(
    zlang: Zlang, archive: dict[str, bytes], options: str
) -> None:
    text = PROGRAM.replace("SIZE", "64KiB").replace("bs = 4KiB", f"bs = 4KiB  {options}")
    ended = zlang("run", zlang.program(text), code=1)
    assert "would change `old`, which is `given`" in ended.err
    assert contents(zlang) == archive


@pytest.mark.parametrize("run", ["reads", "[reads, more]"])
def test_a_given_file_truncated_during_a_run_is_not_removed(zlang: Zlang, archive: dict[str, bytes], run: str) -> None:
    """Fio would remove the file and lay it out again."""
    old = zlang.at / "archive" / "old one.dat"
    Tools(zlang).wrap("fio", f"case $* in *--rw=read*) truncate -s 4096 '{old}' ;; esac; exec {{real}} \"$@\"")
    text = PROGRAM.replace("SIZE", "64KiB").replace("on = target  run = reads", f"on = old  run = {run}")
    zlang("run", zlang.program(f"{text}fio more {{ rw = read }}\n"), code=1)
    assert contents(zlang) == {**archive, old.name: bytes(4096)}
