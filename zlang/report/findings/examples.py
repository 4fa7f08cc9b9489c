"""The data in a rule's page: a table as text -> `Results`.

A line is a point. A cell with several values has one for each of its trials, in turn; all other cells hold for all.
The columns are metrics, `place` in the order (else all points in turn, again and again), `host`,
`cache`, traits of workloads (`depth`), and factors.
"""

from __future__ import annotations

import csv
import math

from zlang.check import library
from zlang.check.traits import TRAITS
from zlang.metrics import Metric, in_trials
from zlang.report.design import Design, Row
from zlang.report.findings.rule import OF_TIME, MeasuredTrial, Results
from zlang.report.summary import TableColumn

RUN = "the run"
_OWN = ("place", "host", "cache")


def _meanings() -> dict[str, Metric]:
    """The metrics of the library, also the percentiles of time, which rules work out."""
    declared_metrics = [metric for declared in library.load().readers.values() for metric in in_trials(declared)]
    of_time = [item.replace(name=item.name + OF_TIME, means=item.means + OF_TIME) for item in declared_metrics]
    return {metric.name: metric for metric in (*declared_metrics, *of_time)}


def results(text: str) -> Results:
    """The results that a table holds."""
    metrics = _meanings()
    points = [{name: cell.split() for name, cell in point.items()} for point in csv.DictReader(text.splitlines())]
    named = [name for name in points[0] if name not in {*metrics, *TRAITS, *_OWN}]
    usual = next(metrics[name] for name in points[0] if name in metrics)
    rows: list[Row] = []
    measured: list[MeasuredTrial] = []
    for replicate in range(max(len(cell) for point in points for cell in point.values())):
        for number, point in enumerate(points):
            if replicate and all(len(cell) <= replicate for cell in point.values()):
                continue
            shown = {name: cell[min(replicate, len(cell) - 1)] for name, cell in point.items()}
            levels = {name: shown[name] for name in named}
            position = int(shown.get("place", len(rows) + 1))
            by_metric: dict[str, float] = {}
            for name in (name for name in shown if name in metrics):
                means = metrics[name].means or name
                by_metric[means] = by_metric.get(means, 0.0) + float(shown[name])
            traits = {name: float(value) for name, value in shown.items() if name in TRAITS}
            measured.append(
                MeasuredTrial(
                    run=RUN,
                    position=position,
                    cache_state=shown.get("cache", ""),
                    levels=levels,
                    traits=traits,
                    metrics=by_metric,
                )
            )
            rows.append(
                Row(
                    trial=f"{number}",
                    run=RUN,
                    replicate=replicate + 1,
                    position=position,
                    block=replicate + 1,
                    host=shown.get("host", ""),
                    levels=tuple(levels.values()),
                    log=math.log(float(shown[usual.name])),
                )
            )
    factors = tuple(TableColumn(name, "word", "") for name in named)
    levels_of = tuple(tuple(dict.fromkeys(row.levels[i] for row in rows)) for i in range(len(named)))
    return Results(Design(usual.name, usual.unit, factors, levels_of, tuple(rows)), tuple(measured))
