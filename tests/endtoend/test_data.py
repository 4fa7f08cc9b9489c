"""Check that data are laid out as requested, and that a cold cache is really cold."""

from __future__ import annotations

import gzip
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from command_line import COMMAND, IN_MEMORY, REPOSITORY, Tools, Zlang, file_system

MIB = 1 << 20

CONTENTS = """
import fio
dir here {{ path = "." }}
file data on here {{ size = 2MiB  content = {content} }}
shell keep {{ command = "cp --sparse=never data ../kept; stat -c '%b' data > ../blocks; cp data $OUT/"  writes = off }}
experiment contents {{ on = data  run = keep }}
"""

CACHES = """
import fio
dir here {{ path = {place} }}
file data on here {{ size = 1MiB }}
fio reads {{ rw = read  bs = 64KiB  {more} }}
experiment caches {{ on = data  run = reads  cache = {cache}  repeat = 2 }}
"""


def share_left(data: bytes) -> float:
    """Return the compressed share of the data, in blocks as file systems compress them."""
    block = 128 << 10
    pieces = [data[at : at + block] for at in range(0, len(data), block)]
    return sum(len(gzip.compress(piece, 6)) for piece in pieces) / len(data)


@pytest.mark.parametrize(
    ("content", "least", "most"),
    [
        # fio fills a block by multiplying its seed on: as many low bits as are 0 in the seed are 0 in every word of the
        # block. Measured over 300 files: 0.94 to 1.00.
        ("random", 0.85, 1.01),
        ("compressible(50%)", 0.45, 0.58),
        ("compressible(80%)", 0.15, 0.30),
        ("zeros", 0.0, 0.01),
    ],
)
def test_content(zlang: Zlang, content: str, least: float, most: float) -> None:
    zlang.run(CONTENTS.format(content=content))
    data = (zlang.at / "kept").read_bytes()
    assert len(data) == 2 * MIB
    assert least <= share_left(data) <= most
    if content == "zeros":
        assert data.count(0) == len(data)
    if content == "random":
        assert len({data[at : at + 4096] for at in range(0, len(data), 4096)}) == 512
    if content != "zeros":
        assert int((zlang.at / "blocks").read_text()) * 512 >= len(data), "no holes"


def test_two_files_do_not_hold_the_same(zlang: Zlang) -> None:
    zlang.run(CONTENTS.format(content="random").replace("writes = off", "writes = on") + "\n")
    first = (zlang.at / "kept").read_bytes()
    zlang("run", "program.zexp", "--again")
    assert (zlang.at / "kept").read_bytes() != first


def test_any_size(zlang: Zlang) -> None:
    """A size need not be a multiple of the block with which data are laid out."""
    zlang.run(
        """
dir here { path = "." }
file data on here { size = 1B | 4KiB | 1500KiB | 3000001B  content = random | compressible(50%) }
shell look { command = "stat -c '%s %b' data && tail -c 1 data | od -An -tu1 && cp data $OUT/"  writes = off }
experiment sizes { on = data  run = look }
"""
    )
    sizes = []
    for trial in zlang.trials():
        out = zlang.folder() / trial.place / "a1"
        size, blocks = map(int, (out / "measure.out").read_text().split()[:2])
        assert size == trial.factors["size"]
        assert blocks * 512 >= size
        tail = (out / "data").read_bytes()[-4096:]
        assert size < 4096 or trial.factors["content"] != "random" or tail.count(0) < 1024
        sizes.append(size)
    assert sorted(sizes) == sorted(2 * [1, 4096, 1_536_000, 3_000_001])


def test_cold_on_a_disk(zlang: Zlang) -> None:
    zlang.run(CACHES.format(place='"."', cache="cold", more=""))
    states = zlang.rows("select distinct cache, cache_state, cache_evidence, valid from all_trials")
    assert states == [{"cache": "cold", "cache_state": "cold", "cache_evidence": "0 bytes resident", "valid": True}]
    (io,) = zlang.rows("select min(read_bytes) as bytes from trials")
    assert io["bytes"] == MIB


def test_without_the_flush_the_cache_is_not_cold(zlang: Zlang) -> None:
    """As a control, pages of a buffered read are cached just before the flush and gone just after it."""
    tools = Tools(zlang)
    look = 'case $* in *count=0*) {fincore} >>"$OUT/before.txt" ;; esac'.format(
        fincore='fincore --bytes --noheadings --output RES -- "${1#if=}"'
    )
    tools.wrap("dd", f'{look}\nexec {{real}} "$@"')
    zlang.run(CACHES.format(place='"."', cache="cold", more=""))
    second = zlang.trials()[1]
    out = zlang.folder() / second.place / "a1"
    assert (out / "before.txt").read_text().split() == [str(MIB)]
    (verify,) = (step for step in second.steps if step.action == "verify")
    assert (out / f"{verify.name}.out").read_text().split() == ["0"]


def test_a_file_on_tmpfs_is_never_cold(zlang: Zlang, memory: Path) -> None:
    ended = zlang.run(CACHES.format(place=f'"{memory}"', cache="cold", more=""), code=1)
    assert "0 of 2 trials count" in ended.out
    why = "cache not cold: the file is on tmpfs, so it is in memory and never cold: choose another path"
    assert why in ended.err
    states = zlang.rows("select distinct cache_state, valid, why_not from all_trials")
    assert states == [{"cache_state": "not cold", "valid": False, "why_not": why}]
    assert zlang.rows("from trials") == []
    assert list(memory.iterdir()) == []


def test_hot(zlang: Zlang) -> None:
    zlang.run(CACHES.format(place='"."', cache="hot", more=""))
    assert zlang.rows("select distinct cache_state, cache_evidence from trials") == [
        {"cache_state": "hot", "cache_evidence": "1048576 bytes resident"}
    ]


LEAVES_FILES = """
import fio

kind left: collector {
  doc = "What is left of the target in the page cache."
  needs file as at
  look {
    sh "printf 'resident ' && fincore --bytes --noheadings --output RES -- {at.dir}/{at.file}" { why = "what is left" }
    reads shell "{name}-after.out" { metrics = [["regex", "left_bytes=^resident *([0-9]+)"]] }
  }
}
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = randread  bs = 4KiB  io_size = 16KiB }
experiment heat { on = data  run = reads  cache = hot  collect = [left {}] }
"""


def test_fio_throws_nothing_away(zlang: Zlang) -> None:
    """By default, fio would drop the file's pages when it starts, and read cached data from the disk."""
    zlang.run(LEAVES_FILES)
    assert zlang.rows("select left_bytes > 500000 as hot from trials") == [{"hot": True}]


def test_a_cache_that_is_emptied_again_is_not_hot(zlang: Zlang) -> None:
    Tools(zlang).wrap(
        "cat", '{real} "$@" && case $* in */data) exec dd if="$2" iflag=nocache count=0 status=none ;; esac'
    )
    ended = zlang.run(CACHES.format(place='"."', cache="hot", more=""), code=1)
    assert "not hot" in ended.err


def test_fio_never_makes_the_file_itself(zlang: Zlang) -> None:
    """If the data were missing, fio would lay out its own file and measure that."""
    Tools(zlang).wrap("sync", 'case $* in */data) rm -f "$2" ;; esac; exit 0')
    text = CACHES.format(place='"."', cache="cold", more="").replace("repeat = 2", "repeat = 1")
    zlang.run(text, code=1)
    assert zlang.rows("from trials") == []


def test_without_privileges(zlang: Zlang) -> None:
    """The quickstart needs no root to lay out data, to evict them from the cache, or to count cached pages."""
    if os.geteuid() != 0:
        pytest.skip("the other tests show it")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="zlang-test-") as name:
        if file_system(Path(name)) in IN_MEMORY:
            pytest.skip("/var/tmp is not on a disk")
        elsewhere = Zlang(Path(name))
        elsewhere.at.chmod(0o777)
        program = elsewhere.program(CACHES.format(place='"."', cache="cold", more=""))
        elsewhere("plan", program, "--emit", "sh", "--out", "script")
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "script/plan.sh"]
        done = subprocess.run(nobody, cwd=name, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        elsewhere("ingest", "runs")
        assert elsewhere.rows("select distinct cache_state from trials") == [{"cache_state": "cold"}]


def test_run_without_privileges(zlang: Zlang) -> None:
    """Follow the quickstart as another user: the run, the database and medians; nothing is left behind."""
    if os.geteuid() != 0:
        pytest.skip("the other tests show it")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="zlang-test-") as name:
        if file_system(Path(name)) in IN_MEMORY:
            pytest.skip("/var/tmp is not on a disk")
        elsewhere = Zlang(Path(name), {"HOME": name})
        elsewhere.at.chmod(0o777)
        text = (REPOSITORY / "examples" / "quickstart.zexp").read_text("utf-8").replace("repeat = 3", "repeat = 1")
        # The checkout and its Python may lie in a home directory: to read is all that it may more than other users.
        reads = ["--inh-caps=-all,+dac_read_search", "--ambient-caps=+dac_read_search"]
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reads]
        run = [*nobody, *COMMAND, "run", elsewhere.program(text), "--set", "size=2MiB", "--set", "time=1s", "--yes"]
        done = subprocess.run(run, env=elsewhere.variables(), cwd=name, capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, done.stderr
        assert elsewhere.folder().stat().st_uid == 65534
        assert elsewhere.rows("select distinct valid from all_trials") == [{"valid": True}]
        assert elsewhere.names() == {"program.zexp", "runs", "results.duckdb"}
