"""What readers yield has the names that programs may use, and no reader is unknown there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import reader_samples as samples

from zlang import metrics
from zlang.readers import about
from zlang.readers.registry import READERS

CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("fio", "single.json", {}),
    ("fio", "unified.json", {}),
    ("fio", "four_jobs.json", {}),
    ("diskstats", "diskstats.txt", {}),
    ("arcstats", "arcstats-2.1.txt", {}),
    ("arcstats", "arcstats-2.3.txt", {}),
]


def test_every_reader_says_what_it_can_yield() -> None:
    assert set(metrics.OF_READERS) == set(READERS)


@pytest.mark.parametrize(("tool", "artefact", "args"), CASES, ids=[artefact for _, artefact, _ in CASES])
def test_every_metric_is_known(tool: str, artefact: str, args: dict[str, Any]) -> None:
    reading = samples.read(samples.DATA, tool, artefact, **args)
    assert reading.metrics
    assert set(reading.metrics) <= set(metrics.of(tool, args))
    assert {f"{h.direction}_{h.kind}" for h in reading.latency} <= set(metrics.distributions(tool))


def test_a_command_has_the_metrics_that_it_declares(tmp_path: Path) -> None:
    (tmp_path / "out").write_text('n = 5\n{"hits": {"l2.arc": 7}}\n')
    (tmp_path / "times.txt").write_text("0m0.00s 0m0.00s\n0m1.50s 0m0.25s\n")
    asked = {"metrics": ["time", ["regex", "n=n = (.*)"], ["json", 'l2.hits=hits["l2.arc"]']]}
    reading = samples.read(tmp_path, "shell", "out", (1.0, 3.0), **asked)
    assert reading.problems == ()
    assert dict(reading.metrics) == {"elapsed": 2.0, "user_s": 1.5, "sys_s": 0.25, "n": 5, "l2.hits": 7}
    assert set(metrics.of("shell", asked)) == set(reading.metrics)
    assert metrics.column("l2.hits") == "l2_hits"


def test_every_metric_is_described() -> None:
    every = [name for names in metrics.OF_READERS.values() for name in names]
    assert [name for name in every if not about.metric(name)] == []
    assert about.metric("read_clat_p999") == "read latency from submission to completion, percentile 99.9"
    assert about.metric("score") == ""
