"""The data in a rule's page: a table as text -> `Results`.

A line is a point. A cell with several values has one for each of its trials, in turn; all other cells hold for all.
The columns are `read_iops` and other metrics, `place` in the order (else all points in turn, again and again), `host`,
`cache`, natures of workloads (`depth`), and factors.
"""

from __future__ import annotations

import csv
import math

from zlang import metrics
from zlang.check.traits import TRAITS
from zlang.report.design import Design, Row, whole_plots
from zlang.report.findings.rule import Measured, Results
from zlang.report.summary import Column

RUN = "the run"
_METRICS = {name for names in metrics.OF_READERS.values() for name in names} | {"read_clat_p99_of_time"}
_OWN = ("place", "host", "cache")


def results(text: str) -> Results:
    """The results that a table holds."""
    points = [{name: cell.split() for name, cell in point.items()} for point in csv.DictReader(text.splitlines())]
    named = [name for name in points[0] if name not in {*_METRICS, *TRAITS, *_OWN}]
    rows: list[Row] = []
    measured: list[Measured] = []
    for replicate in range(max(len(cell) for point in points for cell in point.values())):
        for number, point in enumerate(points):
            if replicate and all(len(cell) <= replicate for cell in point.values()):
                continue
            told = {name: cell[min(replicate, len(cell) - 1)] for name, cell in point.items()}
            levels = {name: told[name] for name in named}
            position = int(told.get("place", len(rows) + 1))
            known = {name: float(value) for name, value in told.items() if name in _METRICS}
            natures = {name: float(value) for name, value in told.items() if name in TRAITS}
            measured.append(Measured(RUN, position, told.get("cache", ""), levels, natures, known))
            log = math.log(known["read_iops"])
            own = (f"{number}", RUN, replicate + 1, position, replicate + 1, told.get("host", ""))
            rows.append(Row(*own, tuple(levels.values()), log))
    factors = tuple(Column(name, "word", "") for name in named)
    levels_of = tuple(tuple(dict.fromkeys(row.levels[i] for row in rows)) for i in range(len(named)))
    return Results(Design("read_iops", "1/s", factors, levels_of, tuple(rows), whole_plots(rows)), tuple(measured))
