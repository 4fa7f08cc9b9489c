"""Test answers to an experiment's questions, from clause to result: judged expectations and filled tables."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
from run_folders import RunBuilder, factor

from zlang.check.check import Overrides
from zlang.check.questions import Clause, Expectation
from zlang.diagnostics import ProgramError, Severity
from zlang.errors import RunError
from zlang.metrics import Metric
from zlang.pipeline import programs
from zlang.plan.plan import Scalar
from zlang.plan.schedule import Schedule
from zlang.readers.reading import merge, percentiles
from zlang.report import answer, answers, judging, known_runs, stopping
from zlang.report.formulas import Trials
from zlang.report.judging import Verdict
from zlang.report.summary import Estimate
from zlang.source import Source
from zlang.store.ingest import ingest

pytestmark = pytest.mark.usefixtures("judged_by_print")

PROGRAM = """
import fio
dir here {{ path = "." }}
let target = file on here {{ size = 1MiB  label = "plain" }}
           | file on here {{ size = 1MiB  content = zeros | compressible(50%)  label = "soft" }}
fio rand {{ rw = randread  bs = 4KiB | 64KiB  rwmixread = 70% | 90% }}
experiment e {{ on = target  run = rand  repeat = 2
  {clause}
}}
"""
FACTORS = (
    factor("target", "word", "target"),
    factor("content", "word", "target.soft.content"),
    factor("bs", "size"),
    factor("rwmixread", "share"),
)
PLAIN: dict[str, Scalar] = {"target": "plain", "content": None}
ZEROS: dict[str, Scalar] = {"target": "soft", "content": "zeros"}
HALF: dict[str, Scalar] = {"target": "soft", "content": "compressible(50%)"}
# read_iops by target, block size and share of reads; NaN marks a failed trial.
MEASURED = (
    (PLAIN, 4096, 70, (100.0, 110.0)),
    (PLAIN, 65536, 70, (10.0, 14.0)),
    (PLAIN, 4096, 90, (120.0, 140.0)),
    (ZEROS, 4096, 70, (200.0, 210.0)),
    (ZEROS, 65536, 70, (20.0, None)),
    (HALF, 4096, 70, (90.0, 94.0)),
    (HALF, 65536, 70, (None, None)),
)


READS = Metric("read_iops", "iops", "1/s", needs="reads")


def clause_of(text: str) -> Clause:
    checked = programs.check(Source("program.zexp", PROGRAM.format(clause=text)), Overrides())
    assert [f.message for f in checked.findings if f.code.severity is Severity.ERROR] == []
    (clause,) = checked.program.experiments["e"].clauses
    return clause


Measured = Sequence[tuple[dict[str, Scalar], int, int, tuple[float | None, ...]]]


def answered(text: str, tmp_path: Path, measured: Measured = MEASURED) -> Trials:
    """Judge the trials of a run of that experiment."""
    return all_answered([text], tmp_path, measured)


def all_answered(texts: Sequence[str], tmp_path: Path, measured: Measured = MEASURED) -> Trials:
    """Judge the trials of a run of an experiment with several clauses."""
    clauses = tuple(map(clause_of, texts))
    run = RunBuilder(tmp_path / "runs" / "r", experiment="e", factors=FACTORS, clauses=clauses)
    for i, (target, bs, share, values) in enumerate(measured):
        levels = {**target, "bs": bs, "rwmixread": share}
        for replicate, value in enumerate(values, 1):
            if value is None:
                run.failed(f"p{i}", replicate, levels, "no space")
                continue
            printed = {"metrics": {"read_iops": value, "read_bw": value * bs, "read_clat_p99": 5e6, "usr_cpu": 40}}
            bins = {"1000000": 98, f"{bs * 1000}": 2 if replicate == 1 else 1}
            run.measured(f"p{i}", replicate, levels, orjson.dumps({**printed, "latency": [["read_clat", bins]]}))
    run.done()
    ingest(tmp_path / "runs", tmp_path / "db")
    return known_runs.trials_of(tmp_path / "db", None)


P, F, C = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
JUDGED = {
    "median(read_iops where bs == 4KiB) > median(read_iops where bs == 64KiB)": [C, P, C, C],
    "median(read_iops where bs == 4KiB) > 5 * median(read_iops where bs == 64KiB)": [C, C, C, C],
    "median(read_iops where bs == 4KiB and rwmixread == 70%) > 130/s": [C, C, P],
    "median(read_iops where bs == 4KiB and rwmixread == 70%) > 1000/s": [F, F, F],
    "median(read_iops where bs == 4KiB) != 1000/s": [P, P, P, P],
    "overall (median(read_iops where target is soft) > median(read_iops where target is plain))": [C],
    "overall (max(read_iops where content is compressible or content == zeros) == 210/s)": [P],
    "overall (median(read_iops where content == zeros and bs == 64KiB) > 1/s)": [C],
    "overall (count(read_iops where content == zeros and bs == 64KiB) >= 2)": [F],
    "overall (median(read_bw) / median(read_iops) >= 4KiB and not (mean(usr_cpu) > 40%))": [P],
    "overall (2 * median(usr_cpu) == 80% and median(usr_cpu) < 1.5 * median(usr_cpu))": [P],
    "overall (max(read_clat_p99) <= 5ms and stddev(read_clat_p99) < 1ns)": [P],
    "overall (p98(read_clat where bs == 4KiB) <= 1ms and p99(read_clat where bs == 4KiB) > 4ms)": [P],
    "overall (median(write_iops) > 1/s)": [C],
    "overall (median(read_iops where content in [zeros] and bs == 4KiB) > 50% of max(read_iops))": [P],
}


def test_an_expectation_is_judged_in_each_combination(tmp_path: Path) -> None:
    """The verdict does not depend on the experiment's other expectations."""
    trials = all_answered([f'expect "so" {condition}' for condition in JUDGED], tmp_path)
    for (condition, expected), judged in zip(JUDGED.items(), judging.judge(trials), strict=True):
        assert judged.expectation.text == f'expect "so" {condition}'
        verdicts = [finding.verdict for finding in judged.findings]
        assert sorted(verdicts) == sorted(expected), condition
        assert judged.verdict == (F if F in verdicts else C if C in verdicts else P), condition
        assert all(bool(finding.why) == (finding.verdict is C) for finding in judged.findings), condition


def test_a_verdict_that_contradicts_the_figures_shown_is_inconclusive(tmp_path: Path) -> None:
    """In 90 % of combinations it is twice as fast; the median of all trials is from the one in which it is slower."""
    speeds = ((PLAIN, 1.0, 10.0), (ZEROS, 100.0, 95.0), (HALF, 1000.0, 1000.0))
    measured = [
        (target, 4096, share, (speed, 1.01 * speed))
        for target, *pair in speeds
        for share, speed in zip((70, 90), pair, strict=True)
    ]
    text = "median(read_iops where rwmixread == 90%) > median(read_iops where rwmixread == 70%)"
    (judged,) = judging.judge(answered(f'expect "so" overall({text})', tmp_path, measured))
    (finding,) = judged.findings
    assert judged.verdict is C
    assert [round(side.value or 0) for side in finding.sides] == [95, 100]
    assert finding.margin.startswith("rwmixread=90% / rwmixread=70% = 2.12 ")
    assert "all trials together say the opposite" in judging.sentence(judged, finding)


MARGINS = {
    "median(read_iops where bs == 4KiB) > median(read_iops where bs == 64KiB)": "bs=4KiB / bs=64KiB = 8.86 ",
    "median(read_iops where bs == 4KiB) > 5 * median(read_iops where bs == 64KiB)": (
        "bs=4KiB / (5 * bs=64KiB) = 1.77 "
    ),
    "median(read_iops where bs == 4KiB and rwmixread == 70%) > 1000/s": (
        "median(read_iops where bs == 4KiB and rwmixread == 70%) / (1000/s) = 0.105 "
    ),
    "overall (p99(read_clat where bs == 4KiB) < 5ms)": "p99(read_clat where bs == 4KiB) / 5ms = 0.819 ",
    "overall (mean(usr_cpu) > 50%)": "mean(usr_cpu) / 50% = 0.8 ",
    "overall (median(read_bw) / median(read_iops) >= 4KiB)": "(median(read_bw) / median(read_iops)) / 4096 = ",
    "overall (median(read_iops where target is soft) > median(read_iops where target is plain))": "",
}


def test_a_margin_names_its_sides(tmp_path: Path) -> None:
    trials = all_answered([f"expect {condition}" for condition in MARGINS], tmp_path)
    for (condition, margin), judged in zip(MARGINS.items(), judging.judge(trials), strict=True):
        shown = judged.findings[0].margin
        assert shown.startswith(margin)
        assert bool(shown) == bool(margin)
        assert not shown or shown.endswith(" (by means)" if "mean(" in condition else " (by geometric means)")


def test_a_factor_that_one_side_lacks_matches_each_of_its_levels(tmp_path: Path) -> None:
    condition = "median(read_iops where target == soft) > median(read_iops where target == plain)"
    (judged,) = judging.judge(answered(f"expect {condition}", tmp_path))
    assert judged.expectation.title == condition
    assert [factor.name for factor in judged.expectation.by] == ["content", "bs", "rwmixread"]
    assert {finding.levels: (finding.verdict, finding.why) for finding in judged.findings} == {
        ("zeros", 4096, 70.0): (P, ""),
        ("zeros", 65536, 70.0): (C, "1 of 2 trials has a value for median(read_iops where target == soft)"),
        ("compressible(50%)", 4096, 70.0): (C, "target=soft / target=plain = 0.877 [0.7 … 1.1] (by geometric means)"),
        ("compressible(50%)", 65536, 70.0): (
            C,
            "none of 2 trials has a value for median(read_iops where target == soft)",
        ),
        (None, 4096, 90.0): (C, "no trial was carried out for median(read_iops where target == soft)"),
    }


def test_a_table_has_a_row_for_each_combination_of_its_factors(tmp_path: Path) -> None:
    text = "table read_iops, p99(read_clat), max(usr_cpu), read_bw / read_iops by run.bs, target"
    (table,) = answers.tables(answered(text, tmp_path))
    assert [(c.name, c.type, c.unit) for c in table.columns] == [
        ("run.bs", "size", ""),
        ("target", "word", ""),
        ("n", "count", ""),
        ("read_iops", "estimate", "1/s"),
        ("p99(read_clat)", "estimate", "s"),
        ("max(usr_cpu)", "estimate", "%"),
        ("read_bw / read_iops", "estimate", "bytes"),
    ]
    assert [row[:3] for row in table.rows] == [
        (4096, "plain", 4),
        (4096, "soft", 4),
        (65536, "plain", 2),
        (65536, "soft", 1),
    ]
    assert (table.trials, table.valid) == (14, 11)
    iops, tail, cpu, size = table.rows[0][3:]
    assert isinstance(iops, Estimate)
    assert (iops.n, iops.statistic) == (4, "geomean")
    assert iops.value == pytest.approx(statistics.geometric_mean((100, 110, 120, 140)))
    assert iops.low is not None
    merged = merge([{1_000_000: 98, 4_096_000: 2}, {1_000_000: 98, 4_096_000: 1}] * 2)
    assert tail == Estimate(4, percentiles(merged, [990])[0] / 1e9, None, None)
    assert cpu == Estimate(4, 40.0, None, None)
    assert isinstance(size, Estimate)
    assert size.value == pytest.approx(4096)
    assert table.rows[3][3] == Estimate(1, 20.0, None, None)


def test_missing_values_are_named_in_a_note(tmp_path: Path) -> None:
    trials = answered("table count(read_iops where target == soft), write_bw", tmp_path)
    (table,) = answers.tables(trials)
    assert table.rows == ((5, Estimate(5, 5.0, None, None), Estimate(0, None, None, None)),)
    assert table.note.endswith("no trial has a value for `write_bw`")
    assert judging.judge(trials) == []
    with pytest.raises(RunError, match="there is no run `s`"):
        known_runs.trials_of(tmp_path / "db", "s")


@pytest.mark.parametrize(
    ("columns", "mixed"),
    [
        ("read_iops", True),
        ("p99(read_clat) by bs", True),
        ("read_iops by target", False),
        ("read_iops by content", False),
        ("median(read_iops where target == soft), p99(read_clat where target == soft) by bs", False),
    ],
)
def test_a_table_notes_rows_that_mix_trials_with_and_without_a_factor(
    columns: str, mixed: bool, tmp_path: Path
) -> None:
    (table,) = answers.tables(answered(f"table {columns}", tmp_path))
    assert ("that have `content` with trials that do not" in table.note) == mixed


@pytest.mark.parametrize(
    ("columns", "lacks"),
    [
        ("read_iops by target, bs", True),
        ("read_iops by target, bs, rwmixread", False),
        ("median(read_iops where rwmixread == 70%) by target, bs", False),
        ("read_iops", False),
    ],
)
def test_rows_that_pool_different_levels_have_a_note(columns: str, lacks: bool, tmp_path: Path) -> None:
    note = "the rows also differ in `rwmixread`, because not all rows have all levels"
    trials = answered(f"table {columns}", tmp_path)
    (table,) = answers.tables(trials)
    assert (note in table.note) == lacks
    if lacks:
        (plot,) = answers.new_plots(trials, columns.replace("by target, bs", "over bs by target"))
        assert "; the points also differ in `rwmixread`" in plot.note


def test_a_clause_of_several_lines_is_shown_on_one(tmp_path: Path) -> None:
    (judgement,) = judging.judge(
        answered('expect "so" median(\n    read_iops where target == soft\n  ) > 1/s', tmp_path)
    )
    assert judgement.expectation.text == 'expect "so" median(read_iops where target == soft) > 1/s'


def test_a_typed_table_equals_a_declared_one(tmp_path: Path) -> None:
    text = "read_iops, count(read_iops where rwmixread == 70%) by target, bs"
    trials = answered(f"table {text}", tmp_path)
    assert answers.table_now(trials, text) == answers.tables(trials)[0]
    with pytest.raises(ProgramError, match="unknown name `read_iop`"):
        answers.table_now(trials, "read_iop by bs")
    with pytest.raises(ProgramError, match="expected a name, found nothing") as unfinished:
        answers.table_now(trials, "read_iops by")
    assert unfinished.value.diagnostic.hint == ""


def test_a_typed_plot_equals_a_declared_one(tmp_path: Path) -> None:
    text = "read_iops, p99(read_clat where rwmixread == 70%) over bs by target, facet content"
    trials = answered(f"plot {text}", tmp_path)
    (drawn,) = answers.plots(trials)
    assert [column.name for column in drawn.columns] == ["bs", "target", "content"]
    assert [row[:3] for row in drawn.rows][:2] == [(4096, "plain", None), (4096, "soft", "compressible(50%)")]
    (now,) = answers.new_plots(trials, text)
    assert (now.rows, now.columns, now.plot) == (drawn.rows, drawn.columns, drawn.plot)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("read_iops over bs, log", ["bs"]),
        ("read_iops over bs by target, log", ["bs", "target"]),
        ("read_iops over bs by target, facet content, log", ["bs", "target", "content"]),
    ],
)
def test_a_plot_with_the_last_word_log_has_that_axis_and_no_factor_more(
    text: str, columns: list[str], tmp_path: Path
) -> None:
    (drawn,) = answers.plots(answered(f"plot {text}", tmp_path))
    assert drawn.plot.is_log
    assert [factor.name for factor in drawn.columns] == columns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("read_iosp over bs", "unknown name `read_iosp`"),
        ("read_iops over bss", "`bss` is not a factor of this experiment"),
        ("read_iops", "expected `over` and a factor, found nothing"),
        ("median(read_iops where target == harrd) over bs", "unknown name `harrd`"),
        ("cache over bs", "unknown name `cache`"),
    ],
)
def test_errors_in_a_typed_plot(text: str, message: str, tmp_path: Path) -> None:
    trials = answered("table read_iops", tmp_path)
    with pytest.raises(ProgramError) as raised:
        answers.new_plots(trials, text)
    assert raised.value.diagnostic.message == message


@pytest.mark.parametrize("text", ["read_iops over bs where bs == 8KiB", "read_iops where bs == 8KiB over bs"])
def test_a_where_at_the_end_of_a_typed_plot_has_a_hint(text: str, tmp_path: Path) -> None:
    trials = answered("table read_iops", tmp_path)
    with pytest.raises(ProgramError) as raised:
        answers.new_plots(trials, text)
    assert raised.value.diagnostic.hint.startswith("write the condition after the metric: ")


def test_a_metric_of_which_no_trial_has_a_value_is_not_unknown(tmp_path: Path) -> None:
    trials = answered("table read_iops", tmp_path)
    with pytest.raises(RunError, match="no trial of `e` has a value of `write_clat`"):
        answers.new_plots(trials, "p99(write_clat) over bs")


@pytest.mark.parametrize(
    ("verdicts", "holds_below", "ends"),
    [
        ({1: P, 4: P, 6: C, 8: F, 16: F}, True, (4, 8)),
        ({1: F, 4: F, 6: C, 8: P, 16: P}, False, (4, 8)),
        ({1: P, 4: C, 8: C}, True, (1, None)),
        ({1: C, 4: C, 8: P}, False, (None, 8)),
        ({1: C, 4: C, 8: C}, True, (None, None)),
    ],
)
def test_a_search_changes_between_the_nearest_levels_that_are_decided(
    verdicts: dict[float, Verdict], holds_below: bool, ends: tuple[float | None, float | None]
) -> None:
    assert stopping.knee(verdicts, holds_below=holds_below) == ends


def test_a_plain_median_and_one_that_is_named(tmp_path: Path) -> None:
    """A row that pools factors is the mean of its combinations, unless the user asks for the median by name."""
    (table,) = answers.tables(answered("table read_iops, median(read_iops) by target", tmp_path))
    plain = next(row for row in table.rows if row[0] == "plain")
    pooled, named = plain[2:]
    assert isinstance(pooled, Estimate)
    assert isinstance(named, Estimate)
    means = [statistics.geometric_mean(values) for values in ((100, 110), (10, 14), (120, 140))]
    assert pooled.value == pytest.approx(statistics.geometric_mean(means))
    assert pooled.low is not None
    assert pooled.low > min(means)
    assert (named.value, named.low, named.statistic) == (105.0, None, "median")


def test_phases_are_levels_of_tables_and_plots(tmp_path: Path) -> None:
    """Phases are in trial order, wherever `phase` is written; a combination without a phase has no row for it."""
    run = RunBuilder(tmp_path / "runs" / "r", experiment="e", factors=(factor("bs", "size"),))
    for bs, rates in ((4096, {"after": 90, "scrub": 50, "quiet": 100}), (65536, {"quiet": 10, "after": 9})):
        metrics = {"read_iops": 80, **{f"phase.{name}.read_iops": rate for name, rate in rates.items()}}
        run.measured(f"p{bs}", 1, {"bs": bs}, orjson.dumps({"metrics": metrics}))
    run.done()
    ingest(tmp_path / "runs", tmp_path / "db")
    trials = known_runs.trials_of(tmp_path / "db", None)
    assert [row[:3] for row in answers.table_now(trials, "read_iops by bs, phase").rows] == [
        (4096, "quiet", 1),
        (4096, "scrub", 1),
        (4096, "after", 1),
        (65536, "quiet", 1),
        (65536, "after", 1),
    ]
    (over,) = answers.new_plots(trials, "read_iops over phase by bs")
    expected = [
        ("quiet", 4096, 100),
        ("quiet", 65536, 10),
        ("scrub", 4096, 50),
        ("after", 4096, 90),
        ("after", 65536, 9),
    ]
    values = [(*row[:2], row[2].value) for row in over.rows if isinstance(row[2], Estimate)]
    assert sorted(values, key=str) == sorted(expected, key=str)
    assert list(dict.fromkeys(row[0] for row in over.rows)) == ["quiet", "scrub", "after"]
    (lines,) = answers.new_plots(trials, "read_iops over bs by phase")
    assert [row[:2] for row in lines.rows][:2] == [(4096, "quiet"), (4096, "scrub")]


def test_a_list_of_events_is_the_phase_in_which_all_of_them_go_on(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "runs" / "r", experiment="e", factors=(factor("bs", "size"),))
    rates = {"scrub": 50, "hog+scrub": 20, "hog": 70}
    metrics = {"read_iops": 80, **{f"phase.{name}.read_iops": rate for name, rate in rates.items()}}
    run.measured("p", 1, {"bs": 4096}, orjson.dumps({"metrics": metrics})).done()
    ingest(tmp_path / "runs", tmp_path / "db")
    trials = known_runs.trials_of(tmp_path / "db", None)
    for phase, rate in (("[scrub, hog]", 20), ("[hog, scrub]", 20), ("[hog]", 70), ("scrub", 50)):
        ((*_, estimate),) = answers.table_now(trials, f"median(read_iops where phase == {phase}) by bs").rows
        assert isinstance(estimate, Estimate)
        assert estimate.value == rate


def of_readers_and_writers(text: str, tmp_path: Path, *, every: bool = False) -> Trials:
    """Create trials of which those with large blocks do not read (nor do the others, if `every`)."""
    folder = tmp_path / "runs" / "r"
    run = RunBuilder(folder, experiment="e", factors=FACTORS[2:], clauses=(clause_of(text),), metrics=(READS,))
    for bs in (4096, 65536):
        is_reader = bs == 4096 and not every
        run.traits = {"reads": is_reader}
        for replicate, value in enumerate((100.0, 101.0, 102.0), 1):
            metrics = {"read_iops": value if is_reader else None, "usr_cpu": 40}
            printed = {"metrics": {name: number for name, number in metrics.items() if number is not None}}
            run.measured(f"p{bs}", replicate, {"bs": bs, "rwmixread": 70}, orjson.dumps(printed))
    run.done()
    ingest(tmp_path / "runs", tmp_path / "db")
    return known_runs.trials_of(tmp_path / "db", None)


def test_combinations_that_cannot_have_a_metric_are_left_out_and_counted(tmp_path: Path) -> None:
    (judged,) = judging.judge(of_readers_and_writers("expect median(read_iops) > 90/s", tmp_path))
    assert (judged.verdict, judged.left_out, len(judged.findings)) == (Verdict.PASS, 1, 1)
    assert judging.omission(judged) == "left out: 1 combination that cannot have median(read_iops)"


def test_a_metric_that_no_combination_can_have_gives_no_verdict(tmp_path: Path) -> None:
    (judged,) = judging.judge(of_readers_and_writers("expect median(read_iops) > 90/s", tmp_path, every=True))
    assert judged.verdict is Verdict.INCONCLUSIVE


def test_n_is_the_number_of_values(tmp_path: Path) -> None:
    trials = of_readers_and_writers("table read_iops by bs", tmp_path)
    (by_bs,) = answers.tables(trials)
    assert [row[:2] for row in by_bs.rows] == [(4096, 3), (65536, 0)]
    pooled = answers.table_now(trials, "read_iops, usr_cpu")
    assert [column.name for column in pooled.columns] == ["n(read_iops)", "read_iops", "n(usr_cpu)", "usr_cpu"]
    assert pooled.rows[0][::2] == (3, 6)


@pytest.mark.parametrize(("metric", "note"), [("read_iops", ""), ("usr_cpu", "pooled over `bs`")])
def test_a_plot_pools_only_levels_that_have_a_value(metric: str, note: str, tmp_path: Path) -> None:
    trials = of_readers_and_writers("table read_iops by bs", tmp_path)
    (plot,) = answers.new_plots(trials, f"{metric} over rwmixread")
    assert plot.note == note


def test_a_plot_notes_trials_without_its_factor(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "runs" / "r", experiment="e", factors=(factor("amount", "size"),))
    for place, amount in enumerate((4096, 65536, None)):
        run.measured(f"p{place}", 1, {"amount": amount}, orjson.dumps({"metrics": {"read_iops": 100.0}}))
    run.done()
    ingest(tmp_path / "runs", tmp_path / "db")
    (plot,) = answers.new_plots(known_runs.trials_of(tmp_path / "db", None), "read_iops over amount")
    assert [row[0] for row in plot.rows] == [4096, 65536]
    assert plot.note == "trials without `amount` are not in it"


def test_the_figures_beside_a_ratio_are_those_of_the_ratio(tmp_path: Path) -> None:
    """Both medians are 100, so the displayed figures must be those whose ratio is displayed."""
    measured = [(PLAIN, 4096, 70, (100.0, 100.0, 800.0)), (PLAIN, 65536, 70, (100.0, 100.0, 100.0))]
    text = "median(read_iops where bs == 4KiB) > 2 * median(read_iops where bs == 64KiB)"
    (judged,) = judging.judge(answered(f'expect "so" {text}', tmp_path, measured))
    (finding,) = judged.findings
    shown = judging.sentence(judged, finding)
    assert (
        "geomean(read_iops where bs == 4KiB) = 200 (n = 3), geomean(read_iops where bs == 64KiB) = 100 (n = 3)" in shown
    )
    assert "bs=4KiB / (2 * bs=64KiB) = 1 [" in shown
    assert [side.value for side in finding.sides] == [100, 100]


def test_a_ratio_over_common_combinations_has_a_note(tmp_path: Path) -> None:
    measured = [
        (PLAIN, 4096, 70, (100.0, 101.0)), (PLAIN, 65536, 70, (50.0, 51.0)), (PLAIN, 4096, 90, (900.0, 901.0)),
    ]  # fmt: skip
    text = "median(read_iops where bs == 4KiB) > median(read_iops where bs == 64KiB)"
    (judged,) = judging.judge(answered(f'expect "so" overall({text})', tmp_path, measured))
    assert judged.findings[0].margin.endswith("(by geometric means of what both sides have)")


@pytest.mark.parametrize("command", ["true", "true {n}"])
@pytest.mark.parametrize(
    "condition", ["what == quick", "what is quick", 'what == "the quick one"', 'what in ["the quick one"]']
)
def test_a_declaration_with_a_label_is_named_as_it_is_declared(condition: str, command: str) -> None:
    text = f"""
dir here {{ path = "." }}
let n = 1 | 2
shell quick {{ command = "{command}"  label = "the quick one" }}
shell slow {{ command = "sleep 1" }}
let what = quick | slow
experiment e {{ on = here  run = what  where what == quick  expect median(elapsed where {condition}) > 0s }}
"""
    checked = programs.check(Source("p.zexp", text), Overrides())
    assert not [finding for finding in checked.findings if finding.code.severity is Severity.ERROR]
    experiment = checked.program.experiments["e"]
    (clause,) = experiment.clauses
    assert '"the quick one"' in orjson.dumps(clause).decode()
    assert Schedule(experiment, 1).trials == (1 if command == "true" else 2)


def test_a_field_depends_only_on_the_factors_that_change_it() -> None:
    """Otherwise an expectation about `run` would pool the levels of factors in the commands of its workloads."""
    text = """
dir here { path = "." }
let n = 1 | 2
shell quick { command = "true {n}" }
shell slow { command = "sleep {n}" }
let what = quick | slow
experiment e { on = here  run = what  expect median(elapsed where run == quick) < median(elapsed where run == slow) }
"""
    checked = programs.check(Source("p.zexp", text), Overrides())
    (clause,) = checked.program.experiments["e"].clauses
    assert isinstance(clause, Expectation)
    assert [item.name for item in clause.by] == ["n"]


def test_an_answer_without_an_interval_shows_the_figure(tmp_path: Path) -> None:
    (judged,) = judging.judge(answered('expect "so" overall(max(read_iops where bs == 4KiB) > 1/s)', tmp_path))
    assert answer.outcome(judged).startswith("so: pass, max(read_iops where bs == 4KiB) = ")
