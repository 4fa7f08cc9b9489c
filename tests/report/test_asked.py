"""Test which metric is used for a question that names none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from run_folders import MakeRun, factor

from zlang.check.questions import Clause, Expectation, FactorRef, Measure, Plot, Search, Table, Term, Until
from zlang.metrics import Metric
from zlang.pipeline import results
from zlang.report.summary import Estimate
from zlang.run.folder import Folder

pytestmark = pytest.mark.usefixtures("judged_by_print")
BS = FactorRef("bs", ("rand.bs",), "size")
P99 = Term("percentile", name="p99(read_clat)", value=0.99, paths=("read_clat",), type="duration")
OLDER = replace(P99, paths=("read", "clat"))  # as plans had it before histograms had the name of their distribution
USED = Term("median", (Term("metric", name="used"),), "median(used)", type="size")
SLOW = Expectation("it is short", "p99(read_clat) < 1s", Term("<", (P99, Term("value", value=1.0))), (BS,))
SLOW_BEFORE = replace(SLOW, term=Term("<", (OLDER, Term("value", value=1.0))))
NAMED = Measure("used", USED, "size")
OPERATIONS = Term("distribution", name="read_clat", paths=("read_clat",))
LATENCIES = FactorRef("latency", (), "duration")
CURVES = Plot("plot read_clat over latency", (Measure("read_clat", OPERATIONS, "share"),), LATENCIES, (), None)
PRECISE = Until("until ci(used) < 5%", 3, USED, 0.05)
FIND = Search("find bs maximising used", "bs", "rand.bs", 2, SLOW.term, NAMED, maximises=True)


@pytest.mark.parametrize(
    ("clauses", "metrics", "expected"),
    [
        ((), {"made": 2001, "elapsed": 0}, "elapsed"),
        ((), {"read_iops": 100, "used": 5}, "read_iops"),
        ((SLOW,), {"read_iops": 100, "read_clat_p99": 7}, "read_clat_p99"),
        ((SLOW_BEFORE,), {"read_iops": 100, "read_clat_p99": 7}, "read_clat_p99"),
        ((Table("table used", (NAMED,), (BS,)),), {"read_iops": 100, "used": 5}, "used"),
        ((Plot("plot used", (NAMED,), BS, (), None),), {"read_iops": 9, "used": 5}, "used"),
        ((CURVES, replace(CURVES, measures=(NAMED,))), {"used": 5, "read_clat_p99": 7}, "read_clat_p99"),
        (
            (Table("table made", (Measure("made", USED, "size"),), (BS,)),),
            {"read_iops": 100, "made": 2001},
            "read_iops",
        ),
        ((PRECISE,), {"read_iops": 100, "used": 5}, "used"),
        ((FIND,), {"read_iops": 100, "used": 5, "read_clat_p99": 7}, "used"),
    ],
    ids=[
        "time",
        "usual",
        "expected",
        "expected in an older plan",
        "tabled",
        "plotted",
        "plotted as a distribution",
        "constant",
        "precise",
        "sought",
    ],
)
def test_the_primary_metric_and_factors_come_from_the_experiment(
    make_run: MakeRun,
    runs: Path,
    db: Path,
    monkeypatch: pytest.MonkeyPatch,
    clauses: tuple[Clause | Search | Until, ...],
    metrics: dict[str, int],
    expected: str,
) -> None:
    run = make_run("r", factors=(factor("bs", "size", levels=(4096, 8192)),), clauses=clauses)
    for n in range(6):
        printed = {name: value * (1 if name == "made" else 1 + n / 100) for name, value in metrics.items() if value}
        tick = run.tick
        monkeypatch.setattr(run, "tick", lambda tick=tick, n=n: tick() + n * (run.clock % 1))
        run.measured(f"p{n % 2}", n // 2 + 1, {"bs": 4096 * (1 + n % 2)}, orjson.dumps({"metrics": printed}))
    run.done()
    results.ingest(runs, db)
    assert {row.metric for row in results.compare(db, (), None, "r", None)[0]} == {expected}
    columns = results.conclude(Folder(runs / "r"), db).summary.columns
    assert next(column.name for column in columns if column.type == "estimate") == expected


def test_an_example_names_a_factor_of_the_run(make_run: MakeRun, runs: Path, db: Path) -> None:
    """Another program has an experiment of the same name."""
    for name, factors in (("a", (factor("first", "count"),)), ("b", (factor("same", "count"), factor("bs", "size")))):
        run = make_run(name, factors=factors, began=1_790_000_000.0 + (name == "b"))
        for n in range(4):
            levels = {"first": n} if name == "a" else {"same": 1, "bs": 4096 << n % 2}
            run.measured(f"{name}{n % 2}", n // 2 + 1, levels, orjson.dumps({"metrics": {"read_iops": n + 1}}))
        run.done()
    results.ingest(runs, db)
    assert results.example(db) == ("read_iops", "bs")


def test_a_metric_of_the_program_is_known_although_no_trial_counts(make_run: MakeRun, runs: Path, db: Path) -> None:
    own = Metric("speed", "rate", "B/s", better="higher")
    run = make_run("r", factors=(factor("bs", "size", levels=(4096, 8192)),), metrics=(own,))
    run.failed("p", 1, {"bs": 4096}, "no space").done()
    results.ingest(runs, db)
    (table,) = results.tables(db, None, "speed by bs")
    assert [row[-1].n for row in table.rows if isinstance(row[-1], Estimate)] == [0]
