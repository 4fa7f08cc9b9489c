"""Test `zlang compare` and `zlang effects` from the command line."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import orjson
import pytest
from run_folders import MakeRun, factor

from zlang.cli.app import guarded
from zlang.store.ingest import ingest

pytestmark = pytest.mark.usefixtures("judged_by_print")


@pytest.fixture
def built(make_run: MakeRun, runs: Path, db: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build two runs of four points: reads are 20 % faster than writes, and the second run is 10 % slower."""
    draw = random.Random(3)
    for name, by, began in (("r1", 1.0, 1_790_000_000.0), ("r2", 0.9, 1_790_009_000.0)):
        run = make_run(name, factors=(factor("bs", "size"), factor("rw", "word")), began=began)
        for replicate in (1, 2, 3):
            for n, (bs, rw) in enumerate([(b, w) for b in (4096, 131072) for w in ("write", "read")]):
                noise = draw.gauss(0, 0.01)
                iops = 1000 * by * (1.2 if rw == "read" else 1) * math.exp(noise)
                metrics = {"read_iops": iops, "write_iops": 2 * iops}
                run.measured(f"p{n}", replicate, {"bs": bs, "rw": rw}, orjson.dumps({"metrics": metrics}))
        run.done()
    ingest(runs, db)
    monkeypatch.chdir(db.parent)
    return db


def output(capsys: pytest.CaptureFixture[str], db: Path, *words: str, code: int = 0) -> str:
    assert guarded([*words, "--db", str(db)]) == code
    printed = capsys.readouterr()
    return printed.err if code else printed.out


def test_levels(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, built, "compare")
    assert "slower" in next(line for line in out.splitlines() if line.startswith("rw"))
    assert "no significant difference" in next(line for line in out.splitlines() if line.startswith("bs"))
    rows = json.loads(output(capsys, built, "compare", "write", "read", "--by", "rw", "--format", "json"))
    assert [(row["level"], row["baseline"], row["n"]) for row in rows] == [("read", "write", 6)]
    assert rows[0]["low"] < 1.2 < rows[0]["high"]
    assert "128KiB" in output(capsys, built, "compare", "4KiB", "128KiB", "--by", "bs")


def test_the_factor_of_two_levels_need_not_be_named(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, built, "compare", "4KiB", "131072") == output(
        capsys, built, "compare", "4KiB", "128KiB", "--by", "bs"
    )
    wrong = output(capsys, built, "compare", "4KB", "128KiB", code=1)
    assert "no factor has the levels `4KB` and `128KiB`" in wrong
    assert "did you mean `4KiB`?" in wrong


def test_the_end_of_the_name_of_a_factor_is_enough(
    make_run: MakeRun, runs: Path, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run("r1", factors=(factor("reads_cache", "word"), factor("one_bs", "size"), factor("two_bs", "size")))
    for n, (cache, first, two) in enumerate([(c, o, t) for c in ("cold", "hot") for o in (1, 2) for t in (1, 2)]):
        levels: dict[str, str | int | float | bool | None] = {"reads_cache": cache, "one_bs": first, "two_bs": two}
        for replicate in (1, 2):
            run.measured(f"p{n}", replicate, levels, orjson.dumps({"metrics": {"read_iops": 100.0 + n + replicate}}))
    run.done()
    ingest(runs, db)
    (row,) = json.loads(output(capsys, db, "compare", "--by", "cache", "--format", "json"))
    assert row["factor"] == "reads_cache"
    assert "there is no factor `ache` with two levels" in output(capsys, db, "compare", "--by", "ache", code=1)
    assert "`bs` could be one_bs or two_bs" in output(capsys, db, "compare", "--by", "bs", code=1)


def test_a_very_wide_interval_has_no_digits_that_mean_nothing(
    make_run: MakeRun, runs: Path, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run("r1", factors=(factor("bs", "size"),))
    for bs, values in ((4096, (10.0, 90_000.0)), (8192, (70_000.0, 20.0))):
        for replicate, iops in enumerate(values, 1):
            run.measured(f"p{bs}", replicate, {"bs": bs}, orjson.dumps({"metrics": {"read_iops": iops}}))
    run.done()
    ingest(runs, db)
    out = output(capsys, db, "compare", "--by", "bs")
    assert "[< 0.001 … > 1,000,000]" in out
    assert "inconclusive: not even a 100-fold difference was detectable" in out


def test_groups_of_trials_are_named_by_several_levels(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compare", "write, 4KiB", "rw=read, bs=128KiB", "--format", "json")
    (row,) = json.loads(output(capsys, built, *words))
    assert (row["factor"], row["baseline"], row["level"], row["n"]) == (
        "rw, bs",
        "write, 4KiB",
        "rw=read, bs=128KiB",
        3,
    )
    (level,) = json.loads(output(capsys, built, "compare", "rw=write", "rw=read", "--format", "json"))
    (same,) = json.loads(output(capsys, built, "compare", "write", "read", "--format", "json"))
    assert [level[name] for name in ("ratio", "low", "high", "n")] == [
        same[name] for name in ("ratio", "low", "high", "n")
    ]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("write, 5KiB", "read"), "no factor has the level `5KiB`"),
        (("write, bz=4KiB", "read"), "there is no factor `bz` with two levels"),
        (("write, bs=5KiB", "read"), "`bs` has no level `5KiB`"),
        (("bs=4KiB", "write"), "some trials are both `bs=4KiB` and `write`"),
    ],
)
def test_errors_in_groups_of_trials(
    built: Path, capsys: pytest.CaptureFixture[str], pair: tuple[str, str], message: str
) -> None:
    assert message in output(capsys, built, "compare", *pair, code=1)


def test_the_metric_is_named(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, built, "compare").startswith("read_iops, with 95 % intervals\n")
    assert output(capsys, built, "effects").startswith("sources of the variance of read_iops\n")
    for words in (("compare",), ("compare", "r1", "r2"), ("effects",)):
        assert "--metric write_iops" in output(capsys, built, *words)
        assert "--metric" not in output(capsys, built, *words, "--metric", "write_iops")
    assert "did you mean `write_iops`?" in output(capsys, built, "compare", "--metric", "write", code=1)
    assert output(capsys, built, "effects", "--format", "csv").startswith("metric,effect,")


def test_runs(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, built, "compare", "r1", "r2")
    assert "10–12 % slower" in out
    assert "each run was made only once" in out


def test_effects(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(output(capsys, built, "effects", "r1", "--format", "json"))
    assert rows[0]["effect"] == "rw"
    assert rows[0]["share %"] > 95
    assert sum(row["share %"] for row in rows) == pytest.approx(100)
    assert "replicates" in output(capsys, built, "effects")


def test_a_metric_of_ones_own_and_a_run_of_which_nothing_counts(
    make_run: MakeRun, runs: Path, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run("r1", factors=(factor("bs", "size"),))
    for replicate in (1, 2, 3):
        for bs in (1, 2):
            score = 10.0 * bs + replicate
            run.measured(f"p{bs}", replicate, {"bs": bs}, orjson.dumps({"metrics": {"score": score}}))
    run.done()
    ingest(runs, db)
    assert "% higher" in output(capsys, db, "compare")
    make_run("r2", began=1_790_009_000.0).failed("p0", 1, {"bs": 1, "iodepth": 1}, "broken").done()
    ingest(runs, db)
    for words in (("compare",), ("compare", "--by", "bs"), ("effects",)):
        assert "no trial that counts has a value of `elapsed`" in output(capsys, db, *words, code=1)


def test_trials_with_zero_are_not_left_out_of_a_ratio(
    make_run: MakeRun, runs: Path, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the zeros, the level with the fewest errors would appear to have the most."""
    for name, began in (("r1", 1_790_000_000.0), ("r2", 1_790_009_000.0)):
        run = make_run(name, factors=(factor("fs", "word"), factor("bs", "size")), began=began)
        for replicate in (1, 2, 3, 4):
            for fs, errors in (("ext4", 3.0), ("xfs", 9.0 if replicate > 2 else 0.0)):
                for bs in (1, 2):
                    metrics = {"errors": errors + 0.1 * replicate * (errors > 0)}
                    run.measured(f"{fs}{bs}", replicate, {"fs": fs, "bs": bs}, orjson.dumps({"metrics": metrics}))
        run.done()
    ingest(runs, db)
    rows = json.loads(output(capsys, db, "compare", "--format", "json"))
    told_of = {row["factor"]: row["verdict"] for row in rows}
    assert told_of["fs"] == "inconclusive: 4 of 8 values of xfs are not positive, so there is no ratio"
    assert told_of["bs"].startswith("inconclusive: 2 of 8 values of 1B and 2 of 8 values of 2B are not positive")
    assert [row["ratio"] for row in rows] == [None, None]
    assert "R105" not in output(capsys, db, "compare")
    (between,) = json.loads(output(capsys, db, "compare", "r1", "r2", "--format", "json"))
    assert between["verdict"].startswith("inconclusive: 4 of 16 values of r1 and 4 of 16 values of r2 are not positive")
    assert "4 of 16 values of `errors` are not positive" in output(capsys, db, "effects", code=1)
    plot = output(capsys, db, "plot", "errors over factors")
    assert "left out: levels with values of errors that are not positive" in plot
    by_bs = output(capsys, db, "table", "errors by bs")
    assert "errors (median)" in by_bs
    assert output(capsys, db, "table", "errors", "by", "bs") == by_bs


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("compare", "--by", "rx"), "`rw`"),
        (("compare", "--metric", "read_iop"), "`read_iops`"),
        (("compare", "writ", "read", "--by", "rw"), "`write`"),
        (("compare", "r1", "r3"), "`r1`"),
    ],
)
def test_misspelt_names_have_a_suggestion(
    built: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], hint: str
) -> None:
    assert hint in output(capsys, built, *words, code=1)
