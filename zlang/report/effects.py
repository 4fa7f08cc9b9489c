"""What the variance of a metric comes from: main effects, interactions of two factors, the rest, and repetitions.

In: a `Design`. Out: `Effect`s whose shares are of the whole sum of squares of logarithms. Rules: each effect is what it
adds to a model that has all others of its order (type II, so combinations may lack); what whole plots differ in is
tested against plots, everything else against repetitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zlang.errors import RunError
from zlang.report.design import Design, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEAST = 0.0005
"""A share that is shown."""
_LARGEST = 2000
"""Parameters of a model: beyond that it takes too long."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A source of variance: its share of it, its degrees of freedom, and how likely chance gives as much."""

    metric: str
    name: str
    share: float
    df: int
    p: float | None
    is_whole_plot: bool = False


def effects(design: Design) -> list[Effect]:
    """All sources of variance, the greatest first, those that are no effect at the end. Raises RunError."""
    names = [one.name for one in design.factors]
    if not names:
        raise RunError("no factor has two levels", "`zlang compare RUN RUN` compares runs")
    model = _Model(design.rows, len(names))
    total = model.residual(())[0]
    if not total:
        raise RunError(f"`{design.metric}` does not vary", "name another with --metric")
    mains: list[tuple[int, ...]] = [(i,) for i in range(len(names))]
    pairs = list(itertools.combinations(range(len(names)), 2))
    rest, rest_df = model.residual((*mains, *pairs))
    within, within_df = model.within()
    plots = _of_plots(design)
    found = []
    for term, others in [*((t, mains) for t in mains), *((t, [*mains, *pairs]) for t in pairs)]:
        least, least_df = model.residual(tuple(others))
        more, more_df = model.residual(tuple(one for one in others if one != term))
        df = more_df - least_df
        if not df:
            continue
        squares = max(more - least, 0.0)
        is_whole = all(i in design.whole for i in term)
        p = plots.get(term) if is_whole else _tail(squares, df, within, within_df)
        found.append(Effect(design.metric, " × ".join(names[i] for i in term), squares / total, df, p, is_whole))
    found.sort(key=lambda one: -one.share)
    if rest_df > within_df:
        higher = max(rest - within, 0.0)
        p = _tail(higher, rest_df - within_df, within, within_df)
        found.append(Effect(design.metric, "interactions of more", higher / total, rest_df - within_df, p))
    shared = 1 - sum(one.share for one in found) - within / total
    if shared > _LEAST:
        # Where combinations lack, what two factors explain alike is no one's own.
        found.append(Effect(design.metric, "several factors alike", shared, 0, None))
    found.append(Effect(design.metric, "repetitions", within / total, within_df, None))
    return found


def _of_plots(design: Design) -> dict[tuple[int, ...], float | None]:
    """How likely chance gives as much as each whole-plot factor's main effect, by how plots differ besides."""
    dear = sorted(design.whole)
    if not dear:
        return {}
    plots: dict[tuple[object, ...], list[Row]] = {}
    for row in design.rows:
        plots.setdefault((row.run, *(row.levels[i] for i in dear)), []).append(row)
    means = []
    for rows in plots.values():
        first = rows[0]
        log = sum(row.log for row in rows) / len(rows)
        levels = tuple(first.levels[i] for i in dear)
        means.append(Row(first.trial, first.run, 1, 0, first.block, first.host, levels, log))
    model = _Model(means, len(dear))
    mains = tuple((i,) for i in range(len(dear)))
    rest, rest_df = model.residual(mains)
    found: dict[tuple[int, ...], float | None] = {}
    for i, factor in enumerate(dear):
        more, more_df = model.residual(tuple(one for one in mains if one != (i,)))
        found[factor,] = _tail(more - rest, more_df - rest_df, rest, rest_df)
    return found


def _tail(squares: float, df: int, error: float, error_df: int) -> float | None:
    if not df or not error_df or error <= 0:
        return None
    from scipy.special import fdtrc

    return float(fdtrc(df, error_df, (squares / df) / (error / error_df)))


class _Model:
    """Sums of squares that are left when some effects are taken out of the logarithms."""

    def __init__(self, rows: Sequence[Row], factors: int) -> None:
        import numpy as np

        self._rows = rows
        self._logs = np.array([row.log for row in rows])
        self._codes = [self._dummies([row.levels[i] for row in rows]) for i in range(factors)]
        self._known: dict[tuple[tuple[int, ...], ...], tuple[float, int]] = {}

    @staticmethod
    def _dummies(levels: Sequence[object]) -> NDArray[np.float64]:
        import numpy as np

        distinct = sorted(set(levels), key=str)
        return np.array([[float(level == one) for one in distinct[1:]] for level in levels])

    def residual(self, terms: tuple[tuple[int, ...], ...]) -> tuple[float, int]:
        """What these effects leave, and its degrees of freedom."""
        import numpy as np

        if terms not in self._known:
            columns = [np.ones((len(self._rows), 1))]
            for term in terms:
                made = self._codes[term[0]]
                for i in term[1:]:
                    made = np.einsum("ra,rb->rab", made, self._codes[i]).reshape(len(self._rows), -1)
                columns.append(made)
            matrix = np.hstack(columns)
            if matrix.shape[1] > _LARGEST:
                raise RunError(f"the model has {matrix.shape[1]:,} parameters", f"{_LARGEST:,} are the most")
            solved, _, rank, _ = np.linalg.lstsq(matrix, self._logs, rcond=None)
            left = self._logs - matrix @ solved
            self._known[terms] = float(left @ left), len(self._rows) - int(rank)
        return self._known[terms]

    def within(self) -> tuple[float, int]:
        """What repetitions of the same combination differ by, and its degrees of freedom."""
        groups: dict[tuple[object, ...], list[float]] = {}
        for row, log in zip(self._rows, self._logs, strict=True):
            groups.setdefault(row.levels, []).append(float(log))
        means = {levels: sum(logs) / len(logs) for levels, logs in groups.items()}
        squares = sum((log - means[levels]) ** 2 for levels, logs in groups.items() for log in logs)
        return squares, len(self._rows) - len(groups)
