"""The data of a plot, before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from zlang.check.questions import FactorRef, Plot
from zlang.report.summary import Cell, Estimate

WIDEST_BAR = 2
"""The largest value times this is the end of an axis; longer intervals are cut there."""
WIDEST_ON_LOG = 100
"""The same of a logarithmic axis, which has more room, and for the smallest value downwards."""
EMPTY = "no trial that counts has a value for this plot"
"""The reason why there is nothing to draw."""


class Form(Enum):
    """A form of plot: points joined by lines, points alone, curves of many points, or a heat map."""

    LINES = "lines"
    POINTS = "points"
    CURVES = "curves"
    FIELDS = "fields"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The data of a plot: each row has the levels of `columns`, then an estimate for each measure.

    `middle` names the statistic of the estimates if they do not name it themselves. `ends` are those of an axis that
    several plots share. `note` says what a point represents if that is not one trial or level.
    """

    plot: Plot
    title: str
    columns: tuple[FactorRef, ...]
    rows: tuple[tuple[Cell, ...], ...]
    form: Form = Form.LINES
    middle: str = ""
    ends: tuple[float, float] | None = None
    note: str = ""
    marks: tuple[tuple[Cell, float, str], ...] = ()

    @property
    def has_values(self) -> bool:
        """Whether there is anything to draw."""
        return any(isinstance(cell, Estimate) and cell.value is not None for row in self.rows for cell in row)

    @property
    def has_intervals(self) -> bool:
        """Whether it draws an interval."""
        estimates = [cell for row in self.rows for cell in row if isinstance(cell, Estimate)]
        return self.form is not Form.FIELDS and any(estimate.low is not None for estimate in estimates)
