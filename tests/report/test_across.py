"""Test expectations that compare an experiment with another one, or with its previous run."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest
from run_folders import RunBuilder, factor

from zlang.check.check import Overrides
from zlang.check.questions import Clause
from zlang.diagnostics import Severity
from zlang.pipeline import programs, results
from zlang.report import known_runs
from zlang.report.judging import Judged, Verdict
from zlang.source import Source
from zlang.store.ingest import ingest

pytestmark = pytest.mark.usefixtures("judged_by_print")
PROGRAM = """
import fio
dir here { path = "." }
file data on here { size = 64MiB }
fio reads { rw = randread  bs = 4KiB | 64KiB }
experiment base { on = data  run = reads  cache = cold  repeat = 4 }
experiment other { on = data  run = reads  cache = as_is | hot  repeat = 4
  CLAUSE
}
"""
FACTORS = {
    "base": (factor("bs", "size", "reads.bs"),),
    "other": (factor("bs", "size", "reads.bs"), factor("cache", "word", "other.cache")),
}
CACHES = {"base": (None,), "other": ("as_is", "hot")}


def findings(clause: str) -> list[str]:
    checked = programs.check(Source("program.zexp", PROGRAM.replace("CLAUSE", clause)), Overrides())
    return [f"{f.message} ({f.hint})" for f in checked.findings if f.code.severity is Severity.ERROR]


def clause_of(text: str) -> Clause:
    assert findings(text) == []
    checked = programs.check(Source("program.zexp", PROGRAM.replace("CLAUSE", text)), Overrides())
    (clause,) = checked.program.experiments["other"].clauses
    return clause


def a_run(
    runs: Path, name: str, experiment: str, speed: Mapping[str | None, float], *clauses: Clause, seed: int, began: float
) -> None:
    """Simulate a run in which 64 KiB are twice as fast as 4 KiB, and each protocol has its own speed."""
    draw = random.Random(seed)
    run = RunBuilder(runs / name, experiment=experiment, factors=FACTORS[experiment], clauses=clauses, began=began)
    for replicate in range(1, 5):
        for cache in CACHES[experiment]:
            for bs in (4096, 65536):
                levels = {"bs": bs} if cache is None else {"bs": bs, "cache": cache}
                iops = 1000 * speed[cache] * (2 if bs > 4096 else 1) * math.exp(draw.gauss(0, 0.02))
                run.measured(
                    f"{experiment}{cache}{bs}", replicate, levels, orjson.dumps({"metrics": {"read_iops": iops}})
                )
    run.done()


def judged(tmp_path: Path, text: str, against: str | None = None, hot: float = 3.0) -> Judged:
    clause, runs = clause_of(f'expect "so" {text}'), tmp_path / "runs"
    a_run(runs, "b1", "base", {None: 9.0}, seed=1, began=1e9)
    a_run(runs, "b2", "base", {None: 1.0}, seed=2, began=2e9)
    a_run(runs, "o1", "other", {"as_is": 1.0, "hot": 3.0}, clause, seed=3, began=3e9)
    a_run(runs, "o2", "other", {"as_is": 1.0, "hot": hot}, clause, seed=4, began=4e9)
    ingest(runs, tmp_path / "db")
    (result,) = results.judge(tmp_path / "db", "o2", against)
    return result


P, F, C = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def test_each_level_is_compared_with_the_latest_run_of_the_other(tmp_path: Path) -> None:
    result = judged(tmp_path, "median(read_iops) > 2 * median(base.read_iops)")
    assert {finding.levels: finding.verdict for finding in result.findings} == {
        (4096, "as_is"): F, (65536, "as_is"): F, (4096, "hot"): P, (65536, "hot"): P,
    }  # fmt: skip
    assert result.verdict is F
    assert all("against b2" in finding.margin for finding in result.findings)


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ("median(read_iops where cache == hot) > 2 * median(base.read_iops)", P),
        ("2 * median(base.read_iops) < median(read_iops where cache == hot)", P),
        ("median(base.read_iops) / 50% < median(other.read_iops where cache == hot)", P),
        ("median(read_iops where bs == 4KiB) < 80% of median(base.read_iops where bs == 64KiB)", F),
        ("median(read_iops where cache == as_is) > median(base.read_iops)", C),
        ("overall(median(read_iops where cache == hot) > 2.5 * median(base.read_iops))", P),
    ],
)
def test_a_ratio_is_judged_whichever_way_it_is_written(tmp_path: Path, condition: str, verdict: Verdict) -> None:
    assert judged(tmp_path, condition).verdict is verdict


def test_a_run_is_compared_with_the_one_before_or_the_one_named(tmp_path: Path) -> None:
    result = judged(tmp_path, "median(read_iops) > 90% of median(previous.read_iops)", hot=2.0)
    assert {finding.levels[1]: finding.verdict for finding in result.findings} == {"as_is": P, "hot": F}
    assert all("against o1" in finding.margin for finding in result.findings)
    (first,) = results.judge(tmp_path / "db", "o1")
    assert [finding.why for finding in first.findings] == ["there is no earlier run of `other`"]
    (named,) = results.judge(tmp_path / "db", "o1", "o2")
    assert all("against o2" in f"{finding.margin}{finding.why}" for finding in named.findings)


def test_the_ratio_is_that_of_compare(tmp_path: Path) -> None:
    """The verdict on whole runs uses the ratio that `zlang compare` gives for the same two runs."""
    result = judged(tmp_path, "overall(median(read_iops) > 90% of median(previous.read_iops))")
    ((compared,), *_) = results.compare(tmp_path / "db", ("o1", "o2"), None, None, "read_iops")
    assert compared.ratio is not None
    low, high = compared.ratio.interval() or (0, 0)
    (finding,) = result.findings
    ratio = math.exp(compared.ratio.log)
    assert finding.margin == f"ratio of geometric means = {ratio:.3g} [{low:.3g} … {high:.3g}] against o1"


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        (
            "expect median(read_iops) > median(bas.read_iops)",
            "unknown name `bas.read_iops` (did you mean `base.read_iops`?)",
        ),
        ("expect median(read_iops) > median(base.reads_iops)", "unknown name `reads_iops`"),
        ("expect median(read_iops) > median(base.read_iops where depths == 1)", "unknown name `depths`"),
        ("expect median(read_iops) > median(base.elapsed)", "cannot compare"),
        (
            "expect median(read_iops) - median(base.read_iops) > 100/s",
            "expected one comparison with another experiment",
        ),
        ("expect median(read_iops) == median(base.read_iops)", "expected one comparison with another experiment"),
        ("expect median(base.read_iops) > 100/s", "expected one comparison with another experiment"),
        ("expect mean(read_iops) > median(base.read_iops)", "expected a median or a percentile"),
        ("expect median(read_iops) > 0 * median(base.read_iops)", "expected one comparison"),
        ("expect median(read_iops / base.read_iops) > 1", "expected a metric or a factor of this experiment"),
        ("expect read_iops > base.read_iops", "has a value for each trial"),
        ("table base.read_iops by bs", "expected a metric or a factor of this experiment"),
    ],
)
def test_impossible_comparisons_are_refused(clause: str, message: str) -> None:
    messages = findings(clause)
    assert bool(messages) == bool(message)
    assert message in "".join(messages)


def test_an_experiment_below_is_not_measured_yet() -> None:
    text = PROGRAM.replace("repeat = 4 }", "repeat = 4\n expect median(read_iops) > median(other.read_iops) }", 1)
    checked = programs.check(Source("program.zexp", text.replace("CLAUSE", "")), Overrides())
    assert [f.hint for f in checked.findings if f.code.severity is Severity.ERROR] == [
        "experiments run in order: declare `other` above `base`"
    ]


def test_the_clause_is_kept_as_it_was_written(tmp_path: Path) -> None:
    result = judged(tmp_path, "median(read_iops) > median(base.read_iops)")
    assert result.expectation == clause_of('expect "so" median(read_iops) > median(base.read_iops)')
    assert known_runs.trials_of(tmp_path / "db", "o2").run == "o2"
