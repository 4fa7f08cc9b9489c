"""Test `cache = warm`: runner and script repeat a workload until it is steady by SNIA's rule."""

from __future__ import annotations

import json
import statistics
import subprocess
from fractions import Fraction

import pytest
from command_line import Zlang
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from zlang.plan.plan import Action, Reader, Step
from zlang.readers.registry import READERS

MEASURE = Step("measure", Action.MEASURE, "", "", 1)

# Rounds give a known series of results: it falls to 100 and stays there, or goes up and down.
COUNTED = """
kind counted: workload {
  needs dir as at
  property falls: bool { required = on }
  run {
    sh \"\"\"
      cd -- {at.dir} && pwd -P >>"${{OUT%/trials/*}}"/leaves && echo x >>rounds && echo {seed}
    \"\"\" { why = "one round more" }
  }
  round {
    sh \"\"\"
      awk -v falls={falls} 'END {{ print "depth", 100 + (falls ? int(400 / NR ^ 2) : NR % 2 * 50) }}' {at.dir}/rounds
    \"\"\"
  }
}
dir here { path = "." }
counted rounds { falls = FALLS }
experiment rehearsed { on = here  run = rounds  cache = warm { metric = METRIC  ceiling = 12 }
  expect "soon" max(rounds) <= 10
}
""".replace('\\"\\"\\"', '"""')

FALLS = COUNTED.replace("FALLS", "on").replace("METRIC", '"depth"')
ROUNDS = [500, 200, 144, 125, 116, 111, 108, 106, 104, 104]
"""Until the last five lie within 20 %, and their line of best fit within 10 %: worked out by hand."""


def test_a_rehearsal_ends_when_steady_in_a_script_too(zlang: Zlang) -> None:
    assert "✓ pass: soon" in zlang.run(FALLS).out
    query = "select cache_state, cache_evidence, rounds from all_trials"
    series = "select value from samples where metric = 'depth' order by t"
    rehearsal = zlang.rows(query), [row["value"] for row in zlang.rows(series)]
    assert rehearsal == ([{"cache_state": "warm", "cache_evidence": "depth steady", "rounds": 10}], ROUNDS)
    assert [row["value"] for row in zlang.rows("select value from samples where metric = 'steady' order by t")] == [
        *[0] * 9,
        1,
    ]
    # Each round, and the measurement after them, uses another seed.
    seeds = {path.read_text() for path in zlang.folder().glob("trials/*/*/a1/**/measure.out")}
    assert len(seeds) == 11
    (zlang.at / "plan.sh").write_text(zlang("plan", "program.zexp", "--emit", "sh", "--seed", "1").out, "utf-8")
    subprocess.run(["dash", "plan.sh", "script"], cwd=zlang.at, check=True, capture_output=True, timeout=60)
    zlang("ingest", "script", "--db", "results.duckdb")
    assert (zlang.rows(query), [row["value"] for row in zlang.rows(series)]) == rehearsal


def test_a_trial_that_never_becomes_steady_does_not_count(zlang: Zlang) -> None:
    zlang.run(COUNTED.replace("FALLS", "off").replace("METRIC", '"depth"'), code=1)
    (row,) = zlang.rows("select valid, rounds, cache_state, why_not from all_trials")
    assert row == {
        "valid": False,
        "rounds": 12,
        "cache_state": "not warm",
        "why_not": "cache not warm: `depth unsteady`, not `depth steady`",
    }


def test_a_metric_missing_from_the_rounds_fails_the_trial(zlang: Zlang) -> None:
    ended = zlang.run(FALLS.replace('metric = "depth"', "metric = read_iops"), code=1)
    assert "a round of the workload does not say its read_iops, only hit_ratio elapsed depth" in ended.err


# -- the rule

SERIES = st.lists(st.integers(1, 10_000), min_size=1, max_size=8)
NEARLY = st.integers(100, 10_000).flatmap(
    lambda middle: st.lists(st.integers(middle - middle // 10, middle + middle // 8), min_size=4, max_size=8)
)


@pytest.fixture(scope="module")
def rule(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rule as the plan's command has it."""
    zlang = Zlang(tmp_path_factory.mktemp("rule"))
    (zlang.at / "program.zexp").write_text(FALLS, "utf-8")
    items = [json.loads(line) for line in zlang("plan", "program.zexp", "--emit", "json").out.splitlines()]
    steps = [step for item in items for step in item.get("trial", {}).get("steps", ())]
    command = str(next(step["command"] for step in steps if step["name"].startswith("rehearse")))
    return command[command.index("{ y[NR]") : command.index("}')\n") + 1]


@given(SERIES | NEARLY, st.integers(2, 6), st.booleans())
@settings(max_examples=150)
def test_the_rule_is_that_of_snia(rule: str, series: list[int], window: int, points: bool) -> None:
    options = [f"-v{name}={value}" for name, value in {"window": window, "range": 20, "slope": 10}.items()]
    output = subprocess.run(
        ["awk", *options, f"-vpoints={int(points)}", rule],
        input="".join(f"{value}\n" for value in series),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    seen = series[-window:]
    if len(seen) < window:
        assert output == "begun\n"
        return
    mean = 100 if points else Fraction(sum(seen), window)
    line = statistics.linear_regression(range(window), seen)
    ends = abs(line.slope * (window - 1) / float(mean))
    assume(abs(ends - 0.1) > 1e-9)
    apart = Fraction(max(seen) - min(seen)) / mean
    assert output.split()[0] == ("steady" if apart <= Fraction(20, 100) and ends <= 0.1 else "unsteady")


def test_a_round_of_fio_prints_the_figures_of_its_report(zlang: Zlang) -> None:
    """A round reports the figures that the fio reader finds in the same report."""
    zlang.run(
        """
    import fio
    dir here { path = "." }
    file data on here { size = 1MiB }
    fio reads { rw = randrw  bs = 4KiB }
    experiment fios { on = data  run = reads  cache = warm { window = 2  range = 100%  slope = 100%  ceiling = 2 } }
    """
    )
    (round_,) = zlang.folder().glob("trials/*/*/a1/*.2")
    by_rule = dict(line.split() for line in (round_ / "said").read_text().splitlines())
    reading = READERS["fio"](round_, Reader("fio", "fio.json", {}), MEASURE, None)
    by_reader = {name: value for name, value in reading.metrics.items() if name in by_rule}
    assert {"read_iops", "read_bw", "write_clat_mean", "write_clat_p99"} <= by_reader.keys()
    assert {name: float(by_rule[name]) for name in by_reader} == pytest.approx(by_reader)
