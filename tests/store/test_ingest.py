"""Test `ingest`: measurements are stored with types and names, and trials that do not count with their reasons."""

from __future__ import annotations

import math
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

import duckdb
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_folders import MakeRun, RunBuilder, factor

from zlang.errors import RunError
from zlang.plan.plan import Action, Reader, Setup, Step
from zlang.run.events import Begin, Commit, Fail, Interrupt, Recorded, Session, Start
from zlang.store.ingest import ingest
from zlang.store.query import Result, run_query
from zlang.store.staging import Staging

pytestmark = pytest.mark.usefixtures("judged_by_print")

TABLES = ("runs", "columns", "all_trials", "all_metrics", "histograms", "samples", "steps", "facts", "problems")


def printed(**metrics: float) -> bytes:
    return orjson.dumps({"metrics": metrics})


def ask(db: Path, sql: str) -> list[tuple[object, ...]]:
    return list(run_query(db, sql).rows)


def everything(db: Path) -> list[Result]:
    return [run_query(db, f'SELECT * FROM "{table}"') for table in TABLES]


def column(db: Path, sql: str) -> list[object]:
    return [row[0] for row in ask(db, sql)]


@pytest.fixture
def sweep(make_run: MakeRun) -> RunBuilder:
    run = make_run(facts={"kernel": "Linux 6.1\n"})
    for n, (bs, depth) in enumerate([(4096, 1), (131072, 1), (4096, 32)]):
        for replicate in (1, 2):
            text = printed(read_iops=100.0 * (n + 1) + replicate, read_clat_p99=5e6)
            run.measured(f"p{n}", replicate, {"bs": bs, "iodepth": depth}, text)
    return run


def test_the_question_of_the_readme(sweep: RunBuilder, runs: Path, db: Path) -> None:
    sweep.done()
    counts = ingest(runs, db)
    assert (counts.runs, counts.trials, counts.valid, counts.problems) == (1, 6, 6, 1)  # it is not sealed
    answer = run_query(db, "select bs, iodepth, median(read_iops) from trials group by all order by all")
    assert answer.columns == ("bs", "iodepth", "median(read_iops)")
    assert answer.types == ("BIGINT", "BIGINT", "DOUBLE")
    assert answer.rows == ((4096, 1, 101.5), (4096, 32, 301.5), (131072, 1, 201.5))


def test_factor_columns_come_first_and_are_catalogued(sweep: RunBuilder, runs: Path, db: Path) -> None:
    sweep.done()
    ingest(runs, db)
    names = list(run_query(db, "from quickstart.trials").columns)
    assert names[:4] == ["bs", "iodepth", "run", "trial"]
    assert names[-2:] == ["read_iops", "read_clat_p99"]
    assert column(db, 'select name from "columns" order by position') == names
    units = ask(db, "select name, unit from \"columns\" where unit != '' and role != 'trial'")
    assert units == [("bs", "bytes"), ("read_iops", "1/s"), ("read_clat_p99", "ns")]


def test_trials_that_do_not_count_are_stored_with_their_reason(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run()
    levels = {"bs": 4096, "iodepth": 1}
    run.measured("p0", 1, levels, printed(read_iops=100.0))
    run.measured("p0", 2, levels, printed(read_iops=9000.0), resident="4096")
    run.failed("p0", 3, levels, "fio: laying out\nfio: Disk quota exceeded\n\n")
    run.failed("p0", 4, levels, "", rc=124)
    run.failed("p0", 5, levels, " \n", rc=3)
    run.measured("p0", 6, levels, orjson.dumps({"problems": ["fio: job a: error 122", "fio: no bytes"]}))
    run.measured("p0", 7, levels, "not JSON")
    run.done()
    counts = ingest(runs, db)
    assert (counts.trials, counts.valid) == (7, 1)
    assert ask(db, "select median(read_iops), count(*) from trials") == [(100.0, 1)]
    assert ask(db, "select replicate, why_not, read_iops from all_trials where not valid order by 1")[:5] == [
        (2, "cache not cold: 4096 bytes resident", 9000.0),
        (3, "measure: fio: Disk quota exceeded", None),
        (4, "measure: timed out after 0 s", None),
        (5, "measure: exited with 3", None),
        (6, "fio: job a: error 122; fio: no bytes", None),
    ]
    assert "cannot be read" in str(column(db, "select why_not from all_trials where replicate = 7"))
    assert column(db, "select problem from problems where replicate = 6") == ["fio: job a: error 122; fio: no bytes"]
    assert ask(db, "select done, valid, invalid, planned from runs") == [(7, 1, 6, 7)]
    assert column(db, "select value from metrics") == [100.0]
    assert column(db, "select value from all_metrics order by 1") == [100.0, 9000.0]


def test_the_last_finished_attempt_is_used(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run()
    levels = {"bs": 4096, "iodepth": 1}
    run.failed("p0", 1, levels, "no")
    run.measured("p0", 1, levels, printed(read_iops=1.0), attempt="a2")
    run.measured("p0", 1, levels, printed(read_iops=2.0), attempt="a3")
    run.measured("p1", 1, levels, printed(read_iops=3.0))
    run.failed("p1", 1, levels, "no", attempt="a2")
    run.done()
    ingest(runs, db)
    assert ask(db, "select read_iops, valid from all_trials order by trial") == [(2.0, True), (None, False)]
    counted = ask(db, "select \"out\", counted from steps where step = 'measure' and trial = 'p0' order by position")
    assert counted == [(f"trials/p0/1/a{n}", n == 3) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("later", "why"),
    [
        ([], "did not finish: it was killed, or is still running"),
        ([Interrupt(2e9)], "interrupted: it started and did not finish"),
        ([Session(2e9, "r", "boot")], "interrupted: it started and did not finish"),
        ([Session(2e9, "r", "boot"), Commit(2e9, "p1", 1, "trials/p1/1/a1")], "the journal has no line for its start"),
        ([Commit(2e9, "p1", 1, "trials/p1/1/a1")], ""),
        ([Fail(2e9, "p1", 1, "trials/p1/1/a1", "measure")], "measure: out of space"),
    ],
)
def test_a_trial_that_was_begun_is_a_row(
    make_run: MakeRun, runs: Path, db: Path, later: list[Recorded], why: str
) -> None:
    run = make_run(finished=False)
    run.measured("p0", 1, {"bs": 4096, "iodepth": 1}, printed(read_iops=1.0))
    trial = run.trial("p1", 1, {"bs": 8192, "iodepth": 1})
    out = f"{trial.place}/a1"
    run.write(f"{out}/cold.out", "0\n")
    run.write(f"{out}/measure.out", printed(read_iops=2.0))
    run.write(f"{out}/measure.err", "out of space\n")
    run.events += [Begin(run.tick(), "p1", 1, trial.number, out), Start(run.tick(), "measure", out), *later]
    run.done()
    ingest(runs, db)
    assert ask(db, "select bs, valid, why_not from all_trials order by bs") == [(4096, True, ""), (8192, not why, why)]


def test_a_trial_is_failed_by_the_setup_it_needs(make_run: MakeRun, runs: Path, db: Path) -> None:
    make = Step("write", Action.PREPARE, "dd", "lay out the data", 10)
    run = make_run(setups=(Setup("sig", "file", None, "a file", (make,), ()),))
    trial = run.trial("p0", 1, {"bs": 4096, "iodepth": 1})
    run.events.append(Begin(run.tick(), "p0", 1, trial.number, f"{trial.place}/a1"))
    run.write("setups/sig/a1/write.err", "dd: No space left on device\n")
    run.ran("write", "setups/sig/a1", 1)
    run.events.append(Fail(run.tick(), "p0", 1, "setups/sig/a1", "write"))
    run.done()
    ingest(runs, db)
    assert ask(db, "select valid, why_not from all_trials") == [(False, "write: dd: No space left on device")]
    assert ask(db, 'select step, "action", why, rc, elapsed from steps') == [
        ("write", "prepare", "lay out the data", 1, 0.5)
    ]


def test_steps_facts_latency_and_samples(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run(facts={"kernel": "Linux\n", "odd": "\xff\0"})
    text = orjson.dumps(
        {
            "latency": [["read_clat", {"2000": 3, "1000": 2}], ["write_clat", {}]],
            "samples": [[1.5e9, "vda", "util", 5], [1.5e9 + 1, "vda", "util", 6], [1.5e9, "", "free", 7]],
        }
    )
    run.measured("p0", 1, {"bs": 1, "iodepth": 1}, text)
    run.ran("kernel", "facts", 0)
    run.done()
    ingest(runs, db)
    bins = ask(db, "select metric, ns, count from latency")
    assert bins == [("read_clat", 1000, 2), ("read_clat", 2000, 3)]
    assert ask(db, "select metric, total from histograms") == [("read_clat", 5), ("write_clat", 0)]
    assert ask(db, "select source, metric, epoch(t), value from samples") == [
        ("vda", "util", 1.5e9, 5.0),
        ("vda", "util", 1.5e9 + 1, 6.0),
        ("", "free", 1.5e9, 7.0),
    ]
    assert ask(db, "from facts select name, value order by name") == [
        ("kernel", "Linux"),
        ("odd", "\xff\0"),
        ("tool fio", "3.33"),
    ]
    assert ask(db, 'select step, trial, "action" from steps') == [
        ("cold", "p0", "verify"),
        ("measure", "p0", "measure"),
        ("kernel", None, "fact"),
    ]


def test_position_is_the_order_carried_out(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run()
    for name in ("p0", "p1", "p2"):
        run.trial(name, 1, {"bs": 1, "iodepth": 1})
    for name in ("p2", "p0"):
        run.measured(name, 1, {"bs": 1, "iodepth": 1}, printed(read_iops=1.0))
    run.finished = False
    run.done()
    ingest(runs, db)
    assert ask(db, "select trial, number, position, elapsed from trials order by number") == [
        ("p0", 1, 2, 0.5),
        ("p2", 3, 1, 0.5),
    ]
    assert ask(db, "select planned, done, finished, epoch(started) from runs") == [(3, 2, False, 1.79e9)]


def test_numbers_that_json_has_no_word_for(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run()
    metrics = '{"metrics": {"a": "nan", "b": "inf", "c": "-inf"}}'
    run.measured("p0", 1, {"bs": 2**63, "iodepth": 1}, metrics).done()
    ingest(runs, db)
    ((a, b, c, bs),) = ask(db, "select a, b, c, bs from trials")
    assert isinstance(a, float)
    assert math.isnan(a)
    assert (b, c, bs) == (math.inf, -math.inf, 2.0**63)


# Names and types ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "levels", "sql", "expected"),
    [
        ("size", (4096, 8192), "BIGINT", [4096, 8192]),
        ("duration", (1, 2.5), "DOUBLE", [1.0, 2.5]),
        ("share", (10, 50.5), "DOUBLE", [10.0, 50.5]),
        ("bool", (True, False), "BOOLEAN", [True, False]),
        ("word", ("all", None), "VARCHAR", ["all", None]),
        ("string", ("4096", 4096), "VARCHAR", ["4096", "4096"]),
        ("count", (1, "auto"), "VARCHAR", ["1", "auto"]),
        ("count", (1, 1.5), "DOUBLE", [1.0, 1.5]),
        ("count", (1, True), "VARCHAR", ["1", "true"]),
        ("no such type", (1, "x"), "VARCHAR", ["1", "x"]),
    ],
)
def test_types_of_factors(
    make_run: MakeRun, runs: Path, db: Path, type_: str, levels: Sequence[int], sql: str, expected: list[object]
) -> None:
    run = make_run(factors=(factor("x", type_),))
    for n, level in enumerate(levels):
        run.measured(f"p{n}", 1, {"x": level}, printed())
    run.done()
    ingest(runs, db)
    answer = run_query(db, "select x from trials order by number")
    assert answer.types == (sql,)
    assert [x for (x,) in answer.rows] == expected


def test_names_that_collide(make_run: MakeRun, runs: Path, db: Path) -> None:
    names = [("run", "a.run"), ("cache", "cache"), ("order", "x.order"), ("q\"u'o", "x.q")]
    names += [("read_iops", "y.read_iops")]
    names += [("r.bs", "run.r.bs"), ("BS", "b.BS"), ("bs", "a.bs"), ("Metric", "m"), ("value", "v")]
    run = make_run(factors=tuple(factor(name, "count", path) for name, path in names))
    levels = {name: n for n, (name, _) in enumerate(names)}
    run.measured("p0", 1, levels, printed(read_iops=7, valid=8, value=9)).done()
    ingest(runs, db)
    answer = run_query(db, "from trials")
    assert answer.columns[:10] == (
        "a_run", "factor_cache", "order", 'q"u\'o', "y_read_iops", "r_bs", "BS", "a_bs", "Metric", "v"
    )  # fmt: skip
    assert answer.rows[0][:10] == tuple(range(10))
    assert ask(db, "select read_iops, measured_valid, value from trials") == [(7.0, 8.0, 9.0)]
    assert ask(db, "select metric, value from metrics") == [("read_iops", 7.0), ("measured_valid", 8.0), ("value", 9.0)]
    meaning = "the factor `run`; the column `run` is another one (name of the run)"
    described = "select path, description from \"columns\" where name = 'a_run'"
    assert ask(db, described) == [("a.run", meaning)]


@pytest.mark.parametrize(
    "name", ["main", "select", "temp", "Main", 'a"b', "it's", "results", "information_schema", "trials", "", "x.y", "é"]
)
def test_names_of_experiments(make_run: MakeRun, runs: Path, db: Path, name: str) -> None:
    make_run(experiment=name).measured("p0", 1, {"bs": 1, "iodepth": 2}, printed(read_iops=3)).done()
    ingest(runs, db)
    assert ask(db, "select bs, iodepth, read_iops from trials") == [(1, 2, 3.0)]
    ((schema,),) = ask(db, 'select distinct "schema" from "columns"')
    quoted = '"' + str(schema).replace('"', '""') + '"'
    assert ask(db, f"select count(*) from {quoted}.trials") == [(1,)]
    copy = db.with_name(f"{schema}.duckdb" if "/" not in str(schema) else "x.duckdb")
    shutil.copy(db, copy)
    assert ask(copy, f"select count(*) from {quoted}.trials") == [(1,)]


def test_experiments_live_side_by_side_and_the_newest_is_the_default(make_run: MakeRun, runs: Path, db: Path) -> None:
    make_run("one", experiment="Same").measured("p0", 1, {"bs": 1, "iodepth": 1}, printed(a=1)).done()
    newer = make_run("two", experiment="same", began=1.8e9)
    newer.measured("p0", 1, {"bs": 2, "iodepth": 1}, printed(b=2)).done()
    ingest(runs, db)
    assert ask(db, "select bs, b from trials") == [(2, 2.0)]
    assert ask(db, 'select bs, a from "Same".trials') == [(1, 1.0)]
    assert ask(db, "select bs, b from experiment_same.all_trials") == [(2, 2.0)]
    assert column(db, "select experiment from runs") == ["Same", "same"]
    # A later session of the older experiment makes that one the default.
    resumed = RunBuilder(runs / "three", experiment="Same", began=1.7e9)
    resumed.events.append(Session(1.9e9, "three", "boot"))
    resumed.done()
    ingest(runs, db)
    assert ask(db, "select bs, a from trials") == [(1, 1.0)]


def test_imported_tables_are_those_of_the_run_worked_on_last(make_run: MakeRun, runs: Path, db: Path) -> None:
    old = {"program.zexp": "", "lab/iops.csv": "bs,iops\n4096,1\n", "only.csv": "a,b\n1,x\n"}
    make_run("one", sources=old).done()
    ingest(runs, db)
    odd = "a,b\n" + "1,2\n" * 30_000 + "1,2,3\n"
    make_run("two", sources={"iops.csv": "bs,iops\n4096,2.5\n", "odd.csv": odd}, began=1.8e9).done()
    for _ in range(2):
        ingest(runs, db)
        assert ask(db, "from imported.only") == [(1, "x")]
        assert ask(db, "from imported.iops") == [(4096, 2.5)]
        assert ask(db, "select run from problems where problem like 'the imported table odd cannot%'") == [("two",)]
    (run_folder,) = [path for path in runs.iterdir() if path.name == "two"]
    shutil.rmtree(run_folder)
    ingest(runs, db)
    assert ask(db, "from imported.iops") == [(4096, 1)]


def test_runs_of_one_experiment_with_other_factors_are_joined(make_run: MakeRun, runs: Path, db: Path) -> None:
    make_run("one").measured("p0", 1, {"bs": 4096, "iodepth": 1}, printed(read_iops=1)).done()
    other = make_run("two", factors=(factor("rand.bs", "word", "rand.bs"), factor("rw", "word")), began=1.8e9)
    other.measured("p1", 1, {"rand.bs": "auto", "rw": "read"}, printed(write_iops=2)).done()
    ingest(runs, db)
    answer = run_query(db, "select rand_bs, iodepth, rw, read_iops, write_iops from trials order by run")
    assert answer.rows == (("4096", 1, None, 1.0, None), ("auto", None, "read", None, 2.0))


@pytest.fixture
def words(make_run: MakeRun, runs: Path, db: Path) -> Path:
    run = make_run(factors=(factor("fs", "word", levels=("xfs", "ext4", "it's")), factor("bs", "size")))
    for n, fs in enumerate(("ext4", "it's", "xfs", None)):
        run.measured(f"p{n}", 1, {"fs": fs, "bs": 4096}, printed(read_iops=n))
    run.done()
    ingest(runs, db)
    return db


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select fs from trials order by fs nulls last", ["xfs", "ext4", "it's", None]),
        ("select fs from trials where fs = 'ntfs'", []),
        ("select fs from trials where fs in ('ntfs', 'xfs')", ["xfs"]),
        ("select fs || '!' from trials where fs like 'e%'", ["ext4!"]),
        ("select coalesce(fs, 'none') as a from trials order by a", ["ext4", "it's", "none", "xfs"]),
        ("select v.n from trials t join (values ('xfs', 7), ('zfs', 8)) v(fs, n) on t.fs = v.fs", [7]),
        ("select levels from factors where name = 'fs'", [3]),
    ],
)
def test_words_sort_in_the_order_of_their_declaration(words: Path, sql: str, rows: list[object]) -> None:
    assert column(words, sql) == rows


@pytest.mark.parametrize(
    ("before", "now", "order"),
    [
        (("a", "b"), ("b", "a"), ["b", "a"]),
        (("a", "b", "c"), ("b",), ["a", "b", "c"]),
        (("a", "b"), ("b", "c"), ["a", "b", "c"]),
        (("c", "a"), ("a", "b"), ["c", "a", "b"]),
        (("c", "a"), ("b",), ["c", "a", "b"]),
        ((), ("b",), ["a", "b", "c"]),
    ],
)
def test_words_of_several_runs_keep_their_order(
    make_run: MakeRun, runs: Path, db: Path, before: tuple[str, ...], now: tuple[str, ...], order: list[str]
) -> None:
    for n, levels in enumerate((before, now)):
        run = make_run(f"r{n}", factors=(factor("fs", "word", levels=levels),), began=1.7e9 + n)
        for i, fs in enumerate(levels or ("c", "a")):
            run.measured(f"p{i}", 1, {"fs": fs}, printed(read_iops=1))
        run.done()
    ingest(runs, db)
    assert column(db, "select distinct fs from quickstart.trials order by fs") == order


# Truth and repetition ----------------------------------------------------------------------------------------------


def test_ingest_is_idempotent_wherever_the_folders_are(
    sweep: RunBuilder, make_run: MakeRun, runs: Path, db: Path, tmp_path: Path
) -> None:
    sweep.done()
    make_run("zz", began=1.7e9, experiment="other").measured("p9", 1, {"bs": 1, "iodepth": 1}, printed(a=1)).done()
    ingest(runs, db)
    once = everything(db)
    ingest(runs, db)
    assert everything(db) == once
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep" / "a").mkdir(parents=True)
    (runs / "zz").rename(elsewhere / "renamed")
    sweep.path.rename(elsewhere / "deep" / "a" / "zzz")
    ingest(elsewhere, db)
    assert everything(db) == once
    assert sorted(p.name for p in tmp_path.iterdir()) == ["elsewhere", "results.duckdb", "runs"]


def test_rows_that_were_loaded_do_not_take_others_with_them(tmp_path: Path) -> None:
    with Staging(tmp_path) as staging:
        staging.add("first", {"x": 1})
        staging.add("second", {"x": 2})
        staging.discard("first")
        staging.add("third", {"x": 3})
        read = [staging.source(table, {"x": "BIGINT"}) for table in ("second", "third")]
        assert duckdb.sql(" union all ".join(f"from {path}" for path in read)).fetchall() == [(2,), (3,)]


def test_trials_that_are_judged_in_parallel_give_the_same_rows(
    make_run: MakeRun, runs: Path, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    for n in range(400):
        run.measured(f"p{n}", 1, {"bs": n}, b"no report" if n % 7 == 3 else printed(**{f"m{n % 30}": float(n)}))
    run.done()
    rows = []
    for processors in (1, 3):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, count=processors: set(range(count)))
        ingest(runs, db.with_name(f"{processors}.duckdb"))
        rows.append(everything(db.with_name(f"{processors}.duckdb")))
    assert rows[0] == rows[1]
    assert len(rows[0][-1].rows) == 58


def test_a_run_folder_itself_is_taken(sweep: RunBuilder, db: Path) -> None:
    ingest(sweep.done(), db)
    assert ask(db, "select count(*) from trials") == [(6,)]


def test_a_copy_of_a_run_is_counted_once(sweep: RunBuilder, runs: Path, db: Path) -> None:
    shutil.copytree(sweep.done(), runs / "a-copy")
    assert ingest(runs, db).trials == 6
    assert "copy" in str(column(db, "select problem from problems")[0])


def test_damage_is_reported_and_other_runs_are_loaded(
    sweep: RunBuilder, make_run: MakeRun, runs: Path, db: Path
) -> None:
    path = sweep.done()
    with (path / "journal.jsonl").open("ab") as file:
        file.write(b'{"t":1,"event":"commit","trial":"p0","replicate":9,"out":"x","crc":1}\n{"t":2,"ev')
    make_run("no-plan").measured("p0", 1, {"bs": 1, "iodepth": 1}, printed())
    (runs / "no-plan" / "journal.jsonl").write_bytes(b"")
    cut = make_run("cut", began=1.8e9)
    for name in ("p0", "p1"):
        cut.measured(name, 1, {"bs": 1, "iodepth": 1}, printed())
    cut.done()
    lines = (cut.path / "plan.jsonl").read_bytes().splitlines(keepends=True)
    (cut.path / "plan.jsonl").write_bytes(lines[0] + lines[1] + lines[2][:40])
    assert ingest(runs, db).trials == 7
    problems = " | ".join(map(str, column(db, "select problem from problems")))
    assert "2 damaged lines" in problems
    assert "no-plan cannot be read" in problems
    assert "the plan is damaged" in problems
    assert "the plan does not have it" in problems
    assert column(db, "select damaged_lines from runs order by run") == [0, 2]


def test_a_journal_does_not_point_out_of_its_folder(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run()
    for n, out in enumerate(("/etc", "../x", "trials/../../x", "")):
        run.trial(f"p{n}", 1, {"bs": 1, "iodepth": 1})
        run.events.append(Commit(run.tick(), f"p{n}", 1, out))
    run.done()
    ingest(runs, db)
    assert column(db, "select why_not from all_trials") == ["the journal has no line for its start"]
    missing = "lines 2 to 4 of the journal are missing or broken"
    assert missing in column(db, "select problem from problems")


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_factors_and_metrics_give_the_same_rows_twice(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    tmp = tmp_path_factory.mktemp("any")
    names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    paths = data.draw(st.lists(names, unique=True, max_size=4))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    level = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | numbers | names
    metrics = data.draw(st.dictionaries(names, numbers, max_size=4))
    run = RunBuilder(tmp / "runs" / "r", factors=tuple(factor(p, "word", p) for p in paths))
    for n in range(2):
        run.measured(f"p{n}", 1, {p: data.draw(level) for p in paths}, orjson.dumps({"metrics": metrics}))
    run.done()
    ingest(tmp / "runs", tmp / "a.duckdb")
    ingest(tmp / "runs", tmp / "b.duckdb")
    assert everything(tmp / "a.duckdb") == everything(tmp / "b.duckdb")
    assert len(run_query(tmp / "a.duckdb", "from trials").rows) == 2


# Obstacles to ingest -----------------------------------------------------------------------------------------------


def test_no_runs(runs: Path, db: Path) -> None:
    with pytest.raises(RunError, match="there are no runs"):
        ingest(runs, db)
    with pytest.raises(RunError, match="there is no directory"):
        ingest(runs / "none", db)
    assert not db.exists()


def test_a_file_that_is_not_ours_is_not_replaced(sweep: RunBuilder, runs: Path, db: Path) -> None:
    sweep.done()
    db.write_text("my thesis")
    with pytest.raises(RunError, match="is not a database, so it is not replaced"):
        ingest(runs, db)
    assert db.read_text() == "my thesis"
    db.unlink()
    with duckdb.connect(str(db)) as connection:
        connection.execute("CREATE TABLE mine (a INTEGER)")
    with pytest.raises(RunError, match="is not a results database"):
        ingest(runs, db)
    db.unlink()
    db.mkdir()
    with pytest.raises(RunError, match="is not a file"):
        ingest(runs, db)


def test_a_database_of_another_version_is_replaced(sweep: RunBuilder, runs: Path, db: Path) -> None:
    sweep.done()
    ingest(runs, db)
    with duckdb.connect(str(db)) as connection:
        connection.execute("UPDATE about SET value = '0'")
    with pytest.raises(RunError, match="another version"):
        run_query(db, "from trials")
    db.with_name(db.name + ".wal").write_bytes(b"left behind")
    ingest(runs, db)
    assert ask(db, "select count(*) from trials") == [(6,)]
    assert not db.with_name(db.name + ".wal").exists()


def test_a_log_without_its_database_is_not_removed(sweep: RunBuilder, runs: Path, db: Path) -> None:
    sweep.done()
    log = db.with_name(db.name + ".wal")
    log.write_bytes(b"mine")
    with pytest.raises(RunError, match="belongs to a database that does not exist"):
        ingest(runs, db)
    assert log.read_bytes() == b"mine"


def test_a_new_database_has_the_attributes_of_the_old_one_also_behind_a_link(
    sweep: RunBuilder, runs: Path, db: Path, tmp_path: Path
) -> None:
    sweep.done()
    ingest(runs, db)
    db.chmod(0o600)
    link = tmp_path / "link.duckdb"
    link.symlink_to(db)
    before = db.stat()
    ingest(runs, link)
    assert link.is_symlink()
    assert (db.stat().st_ino != before.st_ino, stat.S_IMODE(db.stat().st_mode)) == (True, 0o600)


def test_a_missing_directory(sweep: RunBuilder, runs: Path, tmp_path: Path) -> None:
    sweep.done()
    with pytest.raises(RunError, match=r"cannot build .*: no such file"):
        ingest(runs, tmp_path / "none" / "results.duckdb")


def test_progress(sweep: RunBuilder, runs: Path, db: Path) -> None:
    sweep.done()
    steps: list[tuple[str, int, int]] = []
    ingest(runs, db, lambda *step: steps.append(step))
    assert steps == [(sweep.path.name, 6, 6)]


def test_a_real_report_of_fio(make_run: MakeRun, runs: Path, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    report = (Path(__file__).parent / "fio.json").read_bytes()
    run = make_run(reader=Reader("fio", "fio.json", {"jobs": 1, "runtime": 3}))
    run.measured("p0", 1, {"bs": 4096, "iodepth": 1}, report, artefact="fio.json")
    run.measured("p0", 2, {"bs": 4096, "iodepth": 1}, report[:9000], artefact="fio.json")
    run.measured("p0", 3, {"bs": 4096, "iodepth": 1}, report, artefact="fio.json", resident="8192")
    run.done()
    ingest(runs, db)
    job = orjson.loads(report)["jobs"][0]
    ((iops, p99),) = ask(db, "select read_iops, read_clat_p99 from trials")
    assert (iops, p99) == (job["read"]["iops"], job["read"]["clat_ns"]["percentile"]["99.000000"])
    (bins,) = ask(db, "select count(*), sum(count) from latency where metric = 'read_clat'")
    assert bins == (len(job["read"]["clat_ns"]["bins"]), job["read"]["total_ios"])
    reasons = [str(why) for why in column(db, "select why_not from all_trials where not valid order by replicate")]
    assert "incomplete or damaged" in reasons[0]
    assert reasons[1] == "cache not cold: 8192 bytes resident"
