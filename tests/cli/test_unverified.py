"""Check that `ingest` and `sql` name the runs with unverifiable results, on standard error only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Zlang
from run_folders import RunBuilder, factor

from zlang.run import seal

WHY = "its results cannot be verified: it has no seal, or a damaged one"
QUERY = "select count(*) as trials from trials"


def _runs(directory: Path, count: int) -> Zlang:
    for number in range(count):
        run = RunBuilder(directory / "runs" / f"run{number}", experiment="e", factors=(factor("bs", "size"),))
        run.measured("p", 1, {"bs": 4096 + number}, b'{"metrics": {"read_iops": 5.0}}')
        run.done()
    return Zlang(directory)


def test_a_few_runs_are_named_and_the_others_counted(tmp_path: Path) -> None:
    zlang = _runs(tmp_path, 5)
    named = [f"warning: run{number}: {WHY}" for number in range(3)]
    for words in (("ingest", "runs"), ("sql", QUERY, "--format", "csv")):
        *runs, more = zlang(*words).err.splitlines()
        assert runs == named
        assert more.startswith("warning: and 2 more: ")
    query = more.split(": ", 2)[2].removeprefix("zlang sql ").strip('"')
    assert zlang("sql", query, "--format", "csv").out.count(WHY) == 5


def test_all_of_three_runs_are_named(tmp_path: Path) -> None:
    lines = _runs(tmp_path, 3)("ingest", "runs").err.splitlines()
    assert lines == [f"warning: run{number}: {WHY}" for number in range(3)]


@pytest.mark.parametrize("form", ["table", "json", "csv", "parquet"])
def test_sql_warns_on_standard_error_only(tmp_path: Path, form: str) -> None:
    zlang = _runs(tmp_path, 1)
    zlang("ingest", "runs")
    out = ("--out", "out.parquet") if form == "parquet" else ()
    ended = zlang("sql", QUERY, "--format", form, *out)
    assert f"warning: run0: {WHY}\n" in ended.err
    assert WHY not in ended.out
    if form == "json":
        assert json.loads(ended.out) == [{"trials": 1}]


def test_a_query_cannot_hide_the_warning(tmp_path: Path) -> None:
    zlang = _runs(tmp_path, 1)
    zlang("ingest", "runs")
    assert WHY in zlang("sql", "--write", "delete from problems").err
    zlang("sql", "--write", "drop table problems")
    assert zlang("sql", QUERY, "--format", "csv").out == "trials\n1\n"


def test_ingest_notices_a_new_seal_and_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal is the same, so nothing else would make `ingest` read the run again."""
    zlang = _runs(tmp_path, 1)
    assert WHY in zlang("ingest", "runs").err
    seal.write(tmp_path / "runs" / "run0", "run0")
    assert WHY not in zlang("ingest", "runs").err
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of another user"))
    assert "it was sealed by another user or on another machine" in zlang("ingest", "runs").err
