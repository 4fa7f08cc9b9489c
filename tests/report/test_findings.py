"""Check that every rule of results finds the fault built into simulated data, and finds nothing in clean data."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import orjson
import pytest
from designs import Levels, simulated
from run_folders import MakeRun, factor

from zlang.cli import answering, explaining
from zlang.cli.app import guarded
from zlang.diagnostics import Lint
from zlang.lint.after import AFTER
from zlang.pipeline import results
from zlang.plan.plan import Finding
from zlang.report import design, findings, known_runs
from zlang.report.design import Design, Row
from zlang.report.findings import examples, order, search
from zlang.report.findings.rule import Results
from zlang.report.summary import TableColumn
from zlang.run.folder import Folder

FACTORS = (("bs", ("4k", "8k", "16k")), ("rw", ("read", "write")))
TRAITS = {"workers": 4, "depth": 8, "paced": False, "random": True, "seeks": 2000}
Log = Callable[[Levels, int, int], float]


def codes_of(design: Design) -> set[str]:
    return {finding.lint.id for finding in findings.find(Results(design, ()))}


def test_every_named_rule_exists() -> None:
    assert explaining.after_a_run() == list(AFTER.values()), (
        "each has a function, and after.py has them in the order of ids"
    )


@pytest.mark.parametrize("lint", explaining.after_a_run(), ids=lambda lint: lint.id)
def test_a_page_has_data_in_which_it_is_found_and_data_in_which_nothing_is(lint: Lint) -> None:
    page = explaining.page_of_data(lint)
    assert [finding.lint for finding in findings.find(examples.results(page.observed))] == [lint], (
        "if nothing is found: a column is a metric only if its name is declared in stdlib, "
        "and the rule knows it only by its meaning there (`means = …`), not by its name"
    )
    assert findings.find(examples.results(page.clean)) == []


CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("lint", explaining.after_a_run(), ids=lambda lint: lint.id)
def test_a_rule_on_data_that_it_was_not_written_with(lint: Lint) -> None:
    """`corpus/ID.txt` has two tables with the finding and two without, besides those of its page."""
    parts = re.split(r"^#! (found|silent)\n", (CORPUS / f"{lint.id}.txt").read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert min(parts.count("found"), parts.count("silent")) >= 2
    for expected, table in zip(parts[::2], parts[1::2], strict=True):
        codes = {finding.lint.id for finding in findings.find(examples.results(table))}
        assert (lint.id in codes) is (expected == "found"), table


@pytest.mark.parametrize("repeat", [3, 5, 10])
def test_hardly_any_is_found_in_clean_data(repeat: int) -> None:
    designs = (simulated(FACTORS, repeat, lambda levels, *_: len(str(levels)) / 3, seed) for seed in range(60))
    assert sum(bool(codes_of(design)) for design in designs) <= 4


@pytest.mark.parametrize(
    ("code", "log"),
    [
        ("R101", lambda _levels, _replicate, place: -0.01 * place),
        ("R102", lambda _levels, _replicate, place: 0.5 * (place == 17)),
        ("R103", lambda levels, replicate, _place: 0.3 * ((replicate + levels.count("read")) % 2)),
        ("R104", lambda _levels, replicate, _place: 0.3 * (replicate > 1)),
    ],
)
def test_findings_in_simulated_runs(code: str, log: Log) -> None:
    assert code in codes_of(simulated(FACTORS, 6, log))


def test_few_repetitions_and_levels_in_their_order() -> None:
    assert codes_of(simulated(FACTORS, 2, lambda *_: 0.0)) == {"R105"}
    assert codes_of(simulated(FACTORS, 3, lambda *_: 0.0, whole=1, shuffled=False)) == {"R106"}


def test_trials_that_were_planned_but_do_not_count_are_measured_again() -> None:
    """Also if no point has its third trial, such as where another tool's results were imported in part."""
    design = simulated(FACTORS, 2, lambda *_: 0.0)
    advice = {repeat: [f.message for f in findings.find(Results(design, (), repeat=repeat))] for repeat in (2, 3)}
    assert "write `repeat = 3`" in advice[2][0]
    assert "zlang resume --failed" in advice[3][0]


def test_blocks_and_setups_that_differ_by_chance_do_not_drift() -> None:
    """Blocks and setups contribute half the noise of 200 runs; 5 % of runs may have a finding."""
    for how in ({}, {"is_blocked": True}):
        codes_of_runs = [codes_of(blocks_differ(seed, **how)) for seed in range(200)]
        assert sum("R101" in codes_of_run for codes_of_run in codes_of_runs) <= 10
        assert sum("R104" in codes_of_run for codes_of_run in codes_of_runs) <= 10


def test_a_few_blocks_that_differ_are_not_two_modes() -> None:
    """Two of three blocks are often close to each other; 16 blocks in two groups are no chance."""
    for repeat, expected in ((3, set()), (5, set()), (20, {"R103"})):
        run = simulated(FACTORS, repeat, lambda _levels, replicate, _place: 0.3 * (replicate % 3 == 2), is_blocked=True)
        assert codes_of(run) & {"R103"} == expected


def blocks_differ(seed: int, *, is_blocked: bool = False) -> Design:
    draw = random.Random(seed)
    of_blocks = [draw.gauss(0, 0.1) for _ in range(50)]
    of_setups = [draw.gauss(0, 0.1) for _ in range(50)]
    clean = simulated(FACTORS, 5, lambda *_: 0.0, seed, noise=0.1, whole=1, is_blocked=is_blocked)
    rows = [
        replace(row, log=row.log + of_blocks[row.block] + sum(of_setups[setup] for setup in row.setups))
        for row in clean.rows
    ]
    return replace(clean, rows=tuple(rows))


def test_trials_that_were_measured_again_later_are_not_in_the_trend() -> None:
    """They have setups of their own, which may be slower than those of their block."""
    run = simulated([("pool", ["a", "b"]), ("bs", [4, 64])], 5, lambda *_: 0.0, whole=1)
    again = tuple(replace(row, position=row.position + 100, setups=(9,), log=row.log - 1) for row in run.rows[2:6])
    assert order.trend([*run.rows, *again]) == order.trend(run.rows)
    assert "R101" not in codes_of(replace(run, rows=(*run.rows, *again)))


def test_drift_of_one_point_is_a_line() -> None:
    """The slope and its p-value are those of scipy."""
    from scipy.stats import linregress

    draw = random.Random(5)
    for _ in range(20):
        values = [draw.gauss(0.1 * n, 1) for n in range(30)]
        rows = [Row("p", "r", n + 1, n, 1, "", (), value) for n, value in enumerate(values)]
        expected = linregress(range(30), values)
        slope, p = order.trend(rows)
        assert (slope, p) == pytest.approx((expected.slope, min(1.0, 2 * expected.pvalue)))


def test_three_trials_of_one_level_before_three_of_another_go_with_the_order() -> None:
    def design(places: list[int], replicates: list[int]) -> Design:
        rows = [
            Row(level, "r", replicates[place], place, 1, "", (level,), 7.0 + 0.01 * (place % 2))
            for level, place in zip(["zstd"] * 3 + ["none"] * 3, places, strict=True)
        ]
        return Design(
            "read_iops",
            "1/s",
            (TableColumn("compression", "word", ""),),
            (("zstd", "none"),),
            tuple(rows),
            better="higher",
        )

    in_turn = [1, 2, 3, 1, 2, 3]
    assert codes_of(design([0, 1, 2, 3, 4, 5], in_turn)) == {"R106"}
    assert codes_of(design([0, 3, 4, 1, 2, 5], [1, 1, 2, 2, 3, 3])) == set()
    # A random order does that in one of ten runs.
    assert codes_of(design([0, 1, 2, 3, 4, 5], [3, 1, 2, 1, 3, 2])) == set()


# -- through the database

SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
Printed = Callable[[int, int, int], dict[str, object]]


def measure(
    make_run: MakeRun, name: str, order: list[tuple[int, int]], printed: Printed, before: tuple[Finding, ...] = ()
) -> None:
    """Simulate a run of several block sizes in this order of sizes and replicates; two hosts share the sizes."""
    run = make_run(name, factors=(factor("bs", "size"),), findings=before)
    run.traits = TRAITS
    for place, (bs, replicate) in enumerate(order):
        run.host = "old" if name == "bad" and bs < 8192 else "new"
        run.measured(f"p{bs}", replicate, {"bs": bs}, orjson.dumps(printed(bs, replicate, place)))
    run.done()


def confounded(bs: int, replicate: int, place: int) -> dict[str, object]:
    """Simulate rising values, cached except for the first of a point, with a load other than requested."""
    iops = 60_000 * (1 if replicate == 1 else 2) * math.exp(0.003 * place)
    return {
        "metrics": {
            "read_iops": iops,
            "read_lat_mean": (60 if bs == 4096 else 2) / iops * 1e9,
            "read_clat_p99": 200_000,
            "read_bytes": 800_000_000,
            "device_read_bytes": 1_000_000,
            "usr_cpu": 30,
            "start_skew": 0.04,
            "sys_cpu": 68,
        },
        "latency": [["read_clat", {"100000": 99_990, "900000000": 10}]],
    }


def clean(_bs: int, replicate: int, place: int) -> dict[str, object]:
    iops = 1500 * math.exp(0.002 * ((replicate * 7 + place * 3) % 5))
    return {
        "metrics": {
            "read_iops": iops,
            "read_lat_mean": 31 / iops * 1e9,
            "read_clat_p99": 30_000_000,
            "read_bytes": 2**30,
            "device_read_bytes": 2**30 + 4096,
            "usr_cpu": 3,
            "sys_cpu": 8,
        },
        "latency": [["read_clat", {"20000000": 99_000, "30000000": 1_000}]],
    }


FOUND_IN_THEM = {
    "R101", "R102", "R103", "R104", "R105", "R106", "R107", "R109", "R110", "R111", "ZL044", "ZL045", "ZL076",
}  # fmt: skip
"""The rules that find something in these data; a new rule need not."""


@pytest.mark.usefixtures("judged_by_print")
def test_a_confounded_drifting_cached_run_has_all_findings(
    make_run: MakeRun, runs: Path, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order = [(bs, replicate) for bs in SIZES for replicate in (1, 2, 3, 4)]
    measure(make_run, "bad", [*order, (65536, 1), (65536, 2)], confounded)
    results.ingest(runs, db)
    codes = sorted({finding.lint.id for finding in results.findings(db, "bad")})
    assert set(codes) >= FOUND_IN_THEM
    assert guarded(["findings", "bad", "--json", "--db", str(db)]) == 0
    assert sorted({json.loads(line)["code"] for line in capsys.readouterr().out.splitlines()}) == codes
    for command in ("compare", "effects"):
        assert guarded([command, "--format", "json", "--db", str(db)]) == 0
        assert json.loads(capsys.readouterr().out)[0]["findings"].split() == codes


@pytest.mark.usefixtures("judged_by_print")
def test_allowed_findings_are_not_reported(make_run: MakeRun, runs: Path, db: Path) -> None:
    allowed = Finding("ZL045", "roofline", "warning", "it may be found", "", "program.zexp:1:1", "the cache is meant")
    measure(make_run, "bad", [(bs, 1) for bs in SIZES], confounded, before=(allowed,))
    results.ingest(runs, db)
    assert {finding.lint.name for finding in results.findings(db, "bad")} >= {"littles-law", "generator-limited"}
    assert "roofline" not in {finding.lint.name for finding in results.findings(db, "bad")}
    assert "roofline" not in {finding.lint.name for finding in results.compare(db, (), None, "bad", None)[1]}


@pytest.mark.usefixtures("judged_by_print")
def test_denied_findings_fail_the_run(make_run: MakeRun, runs: Path, db: Path) -> None:
    denied = Finding("ZL076", "littles-law", "error", "it is looked for", "", "program.zexp:1:1", "")
    measure(make_run, "bad", [(bs, 1) for bs in SIZES], confounded, before=(denied,))
    results.ingest(runs, db)
    assert [finding.lint.name for finding in results.findings(db, "bad") if finding.is_denied] == ["littles-law"]
    assert guarded(["findings", "bad", "--db", str(db)]) == 1
    assert answering.close(results.conclude(Folder(runs / "bad"), db), failures=0, is_whole=True) == 1


@pytest.mark.usefixtures("judged_by_print")
def test_a_clean_run_has_no_findings_and_unread_runs_keep_theirs(make_run: MakeRun, runs: Path, db: Path) -> None:
    measure(make_run, "bad", [(bs, replicate) for bs in SIZES for replicate in (1, 2)], confounded)
    results.ingest(runs, db)
    before = results.findings(db, "bad")
    order = [(bs, replicate) for replicate in (1, 2, 3, 4, 5) for bs in random.Random(replicate).sample(SIZES, 6)]
    measure(make_run, "good", order, clean)
    assert results.ingest(runs, db).kept == 1
    assert results.findings(db, "good") == []
    assert results.findings(db, "bad") == before != []


@pytest.mark.usefixtures("judged_by_print")
def test_the_busiest_of_several_machines_limits_the_load(make_run: MakeRun, runs: Path, db: Path) -> None:
    """Processor utilization is not added up across machines, so the trial itself has none."""
    measure(make_run, "one", [(bs, 1) for bs in SIZES], clean)
    results.ingest(runs, db)
    with duckdb.connect(str(db)) as store:
        for stream, (user, system) in {"reads.1": (10, 20), "reads.2": (30, 65)}.items():
            store.execute(
                "INSERT INTO stream_metrics BY NAME SELECT run, trial, replicate, valid, ? AS stream, "
                "unnest(['usr_cpu', 'sys_cpu']) AS metric, unnest([?, ?]) AS value FROM all_trials WHERE bs = 4096",
                [stream, user, system],
            )
    trials = known_runs.trials_of(db, "one")
    sentences = [
        finding.message for finding in search.find_in_run(trials, design.read(trials)) if finding.lint.id == "ZL044"
    ]
    (sentence,) = sentences
    assert sentence.startswith("each worker of the load used 95 % of a processor, in 1 of 6 trials, where `bs` is 4KiB")
    with duckdb.connect(str(db)) as store:
        store.execute("UPDATE \"columns\" SET means = 'pressure' WHERE name = 'sys_cpu'")
        store.execute("UPDATE stream_metrics SET stream = NULL, host = 'c' || stream WHERE metric = 'sys_cpu'")
    (sentence,) = [
        finding.message for finding in search.find_in_run(trials, design.read(trials)) if finding.lint.id == "ZL044"
    ]
    assert sentence.startswith("tasks waited for a processor for 65 % of the time, in 1 of 6 trials")


@pytest.mark.usefixtures("judged_by_print")
def test_workers_that_take_all_processors_of_a_machine_limit_the_load(make_run: MakeRun, runs: Path, db: Path) -> None:
    """Four workers take 48 % of a processor each: all of a machine with two processors, half of one with four."""
    measure(make_run, "one", [(bs, 1) for bs in SIZES], clean)
    results.ingest(runs, db)
    with duckdb.connect(str(db)) as store:
        for machine, count in {"c1": 2, "c2": 4}.items():
            lines = "".join(f"processor\t: {number}\nmodel name\t: of two processors\n" for number in range(count))
            store.execute("INSERT INTO facts VALUES ('one', 'one', ?, ?)", [f"{machine}.cpu", lines])
            store.execute(
                "INSERT INTO stream_metrics BY NAME SELECT run, trial, replicate, valid, ? AS stream, ? AS host, "
                "unnest(['usr_cpu', 'sys_cpu']) AS metric, unnest([18, 30]) AS value FROM all_trials WHERE bs = ?",
                [f"reads.{machine}", machine, 4096 if machine == "c1" else 8192],
            )
    trials = known_runs.trials_of(db, "one")
    (sentence,) = [
        finding.message for finding in search.find_in_run(trials, design.read(trials)) if finding.lint.id == "ZL044"
    ]
    assert sentence.startswith(
        "the load used 96 % of all processors of a machine, in 1 of 2 trials, where `bs` is 4KiB"
    )


@pytest.mark.parametrize(("levels", "repeat"), [((2, 2), 2), ((3, 1), 2), ((4, 2), 2), ((2, 4), 1), ((5, 1), 3)])
def test_a_random_order_rarely_confounds_a_factor(levels: tuple[int, int], repeat: int) -> None:
    """Every order of trials is equally likely, with the replicates of a point in any order."""
    draw = random.Random(1)
    factors = [(name, tuple(f"{name}{n}" for n in range(count))) for name, count in zip("ab", levels, strict=True)]
    design = simulated(factors, repeat, lambda *_: 0.0)
    kept = [i for i, count in enumerate(levels) if count > 1]
    confounded = 0
    for _ in range(400):
        places = draw.sample(range(len(design.rows)), len(design.rows))
        rows = [
            replace(row, position=n, levels=tuple(row.levels[i] for i in kept), block=1)
            for n, row in zip(places, design.rows, strict=True)
        ]
        mixed = replace(
            design,
            rows=tuple(rows),
            factors=tuple(design.factors[i] for i in kept),
            levels=tuple(design.levels[i] for i in kept),
        )
        confounded += bool(list(order.confounded(mixed)))
    assert confounded <= 0.05 * 400 + 11, "5 %, and what chance allows"
