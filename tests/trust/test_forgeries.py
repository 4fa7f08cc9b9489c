"""Check that a forged run folder does no harm and its figures carry a warning: a subset of `forge_run.py`."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from command_line import Zlang
from forge_run import FORGERIES, KEYS, forge

from zlang.run import hashes, journal
from zlang.run.events import Session
from zlang.run.unverified import UNVERIFIED

PROGRAM = """
let n = 1 | 2
dir here { path = "." }
shell io { command = "echo speed={n}000"  metrics = [regex("speed: count=speed=([0-9]+)")]  writes = off }
experiment e { on = here  run = io  repeat = 2  expect median(speed) < 5000  table median(speed) by n }
"""
COMMANDS = (
    ["table"],
    ["expect"],
    ["findings"],
    ["effects"],
    ["compare", "1", "2", "--by", "n"],
    ["plot", "speed over n"],
    ["report"],
    ["status", "RUN"],
    ["resume"],
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Zlang:
    zlang = Zlang(tmp_path_factory.mktemp("measured"))
    zlang.run(PROGRAM)
    return zlang


def test_forged_folders_are_harmless_and_do_not_count(tmp_path: Path) -> None:
    score = forge(1, len(FORGERIES), place=tmp_path)
    assert score.wrong == []
    assert set(score.tried) == set(KEYS)


def test_an_unchanged_folder_has_no_warning(measured: Zlang) -> None:
    for words in COMMANDS:
        ended = measured(*(measured.folder().name if word == "RUN" else word for word in words))
        assert UNVERIFIED not in ended.out + ended.err, words


def test_queries_of_forged_figures_have_a_warning(measured: Zlang) -> None:
    run = measured.folder()
    before = (run / "journal.jsonl").read_bytes()
    written = b""
    for line in before.splitlines(keepends=True):
        members = orjson.loads(line)
        if members["event"] == "commit":
            output = run / members["out"] / "measure.out"
            output.write_text(output.read_text().replace("000", "999"))
            files = hashes.of_directory(run / members["out"])
            body = line.rpartition(b',"crc":')[0].replace(members["files"].encode(), files.encode())
            line = b'%b,"crc":%d}\n' % (body, journal.cksum(body))  # noqa: PLW2901
        written += line
    (run / "journal.jsonl").write_bytes(written)
    assert "1 problem (table" in measured("ingest").out
    for words in COMMANDS:
        ended = measured(*(run.name if word == "RUN" else word for word in words))
        assert "999" in ended.out or words[0] not in {"table", "resume"}
        why = f"{UNVERIFIED}: 4 lines of its journal were not written by zlang as this user on this machine"
        assert why in ended.out + ended.err, words
    assert f"results of {run.name} are not used: 4 lines" in measured("plan", "program.zexp").err


def test_members_behind_the_signature_are_not_believed() -> None:
    """The last of duplicate members counts, so one after the signature would replace a signed one."""

    def sign(body: bytes) -> str:
        return f"{journal.cksum(body):032x}"

    whole = journal.encode(Session(1.0, "one", ""), 1, sign)
    assert journal.is_signed(whole, sign)
    body = whole.rpartition(b',"crc":')[0] + b',"run":"other"'
    forged = b'%b,"crc":%d}\n' % (body, journal.cksum(body))
    assert journal.decode(forged) == (1, Session(1.0, "other", ""))
    assert not journal.is_signed(forged, sign)
