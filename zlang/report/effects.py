"""Analysis of variance of a metric: main effects, two-factor interactions, higher interactions, and replication.

In: a `Design`. Out: `Effect`s, each with its share of the total sum of squares of logarithms. Rules: an effect is what
a term adds to a model of all others that do not contain it (type II, so combinations may be missing). It is tested
against the variance between the units to which it was applied (setups, blocks or trials), without the differences
between the groups that contain these units. A factor that exists only under some levels of another is nested in them.
`bench/verdicts.py` measures how often p is too small.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from zlang.errors import RunError
from zlang.hints import TYPE_CHECKING
from zlang.intervals import LEVEL
from zlang.report import wording
from zlang.report.design import Design, groups, without_factors
from zlang.report.strata import MOST, components
from zlang.report.summary import Cell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEAST = 0.0005
"""The smallest share that is shown as a number."""
_UNLIKELY = 0.001
_SMALL_SHARE, _TIMES_LARGER = 0.005, 3
_LARGEST = 2000
"""Parameters of a model: beyond that it takes too long."""
_SMALL = 1e-10
_SWEEPS = 1000
_HALF = 0.5
_TIMES = " × "
_MOST_PAIRS = 6
"""Most pairs of factors that a note names."""
CONFOUNDED, REPLICATES = "confounded factors", "replicates"

_Term = tuple[int, ...]
"""The factors whose interaction it is, or the one whose main effect."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A source of variance: its share, its degrees of freedom, and the probability that chance alone gives as much.

    `share_tested` is what it explains in its test, in which the groups that contain its units have no differences.
    """

    metric: str
    name: str
    share: float
    df: int
    p: float | None
    is_of_setups: bool = False
    factors: tuple[str, ...] = ()
    share_tested: float = 0.0

    @property
    def is_hidden(self) -> bool:
        """Whether it is significant although its share is next to nothing, since other differences hide it."""
        is_small = self.share < _SMALL_SHARE and self.share_tested > _TIMES_LARGER * self.share
        return self.p is not None and self.p < 1 - LEVEL and is_small

    @property
    def tested_against(self) -> str:
        """The variance against which the effect is tested; empty if it is not tested."""
        return "setups" if self.is_of_setups else "replicates" if self.p is not None else ""


def effects(design: Design) -> list[Effect]:
    """All sources of variance: effects from the largest to the smallest, then the other sources. Raises RunError."""
    names = [factor.name for factor in design.factors]
    if not names:
        raise without_factors(design, "the program needs a choice, `a | b`")
    if design.not_positive:
        counts = f"{len(design.not_positive):,} of {len(design.counting):,} values of `{design.metric}`"
        raise RunError(
            f"{counts} are not positive, and effects are computed from logarithms", "choose another one with --metric"
        )
    mains: list[_Term] = [(i,) for i in range(len(names))]
    terms = [*mains, *itertools.combinations(range(len(names)), 2)]
    model = _Model([row.levels for row in design.rows], [row.log for row in design.rows], terms)
    if any(model.added(main, terms)[1] < model.added(main, mains)[1] for main in mains):
        terms = mains  # with few combinations, interactions would explain variance that belongs to a single factor
    total = model.residual(())[0]
    if not total:
        raise RunError(f"`{design.metric}` does not vary", "choose another one with --metric")
    remaining, rest_df = model.residual(tuple(terms))
    cells, cells_df = model.within(())
    within, within_df = model.within(_removed_blocks(groups(design.rows)))
    strata = _Strata(design, terms)
    result = []
    for term in terms:
        squares, df = model.added(term, terms)
        if df:
            p, is_of_setups, tested = strata.chance(term)
            factors = tuple(names[i] for i in term)
            result.append(
                Effect(
                    metric=design.metric,
                    name=_TIMES.join(factors),
                    share=squares / total,
                    df=df,
                    p=p,
                    is_of_setups=is_of_setups,
                    factors=factors,
                    share_tested=tested / total,
                )
            )
    result.sort(key=lambda item: -item.share)
    if rest_df > cells_df:
        higher = max(remaining - cells, 0.0)
        p = strata.chance_of_others()
        name = "interactions" if terms is mains else "interactions of three or more"
        result.append(Effect(design.metric, name, higher / total, rest_df - cells_df, p))
    shared = 1 - sum(item.share for item in result) - cells / total
    if shared > _LEAST:
        # If combinations are missing, variance that either of two factors could explain is attributed to neither.
        result.append(Effect(design.metric, CONFOUNDED, shared, 0, None))
    if cells_df > within_df:
        result.append(Effect(design.metric, "blocks", max(cells - within, 0.0) / total, cells_df - within_df, None))
    result.append(Effect(design.metric, REPLICATES, within / total, within_df, None))
    return result


def percent(share: float) -> str:
    """A share in percent; one that is not zero is not shown as zero."""
    return "< 0.1" if 0 < share < _LEAST else f"{100 * share:.1f}"


def chance(p: float) -> str:
    """A probability in words."""
    return "< 0.001" if p < _UNLIKELY else f"{p:.3f}"


def notes(design: Design, all_effects: Sequence[Effect]) -> list[str]:
    """Notes on the gaps in an analysis of variance, and what to type to fill them."""
    result = []
    once = [item.name for item in all_effects if item.is_of_setups and item.p is None]
    if not any(item.df for item in all_effects if item.name == REPLICATES):
        result.append("nothing was repeated, so an interaction may be chance; write `repeat = 3`")
    elif once:
        result.append(f"{', '.join(f'`{name}`' for name in once)}: set up once, so not tested; {wording.SET_UP_AGAIN}")
    is_crossed = len(design.factors) > 1 and not any(level is None for row in design.rows for level in row.levels)
    if is_crossed and not any(len(item.factors) > 1 for item in all_effects):
        why = "these combinations cannot show more; `design = full` measures all"
        result.append(f"each factor is tested as if it had the same effect at all levels of the others: {why}")
    excess = math.fsum(item.share for item in all_effects) - 1
    if excess > _LEAST:
        result.append(
            f"the shares add up to {100 * (1 + excess):.1f} %: points or trials are missing, so factors partly hide "
            "each other; a share is what its factor adds to all others"
        )
    for item in all_effects:
        if item.is_hidden:
            tested = f"its p compares within groups of trials, where it explains {100 * item.share_tested:.1f} %"
            result.append(f"`{item.name}`: {tested}; differences between these groups hide it from its share")
    if any(item.name == CONFOUNDED for item in all_effects):
        levels = [row.levels for row in design.rows]
        lacking = _confounded(design, list(dict.fromkeys(levels)))
        pairs = lacking or _confounded(design, levels)
        shown = ", ".join(f"{first} and {second}" for first, second in pairs[:_MOST_PAIRS])
        more = f", and {len(pairs) - _MOST_PAIRS:,} more pairs" if len(pairs) > _MOST_PAIRS else ""
        why = (
            "combinations are missing; `design = full` measures all"
            if lacking
            else "some points have fewer trials that count"
        )
        result.append(f"{CONFOUNDED}: variance that both factors of a pair explain equally well: {shown}{more} ({why})")
    return result


def _confounded(design: Design, levels: Sequence[tuple[Cell, ...]]) -> list[tuple[str, str]]:
    """The pairs of factors whose levels do not occur with each other as often as they would independently."""
    result = []
    for i, j in itertools.combinations(range(len(design.factors)), 2):
        both = [(own[i], own[j]) for own in levels if own[i] is not None and own[j] is not None]
        counts, firsts, seconds = (
            Counter(both),
            Counter(first for first, _ in both),
            Counter(second for _, second in both),
        )
        if any(counts[a, b] * len(both) != firsts[a] * seconds[b] for a in firsts for b in seconds):
            result.append((design.factors[i].name, design.factors[j].name))
    return result


class _Strata:
    """The strata of a design: the units to which each term was applied, with a model of their means."""

    def __init__(self, design: Design, terms: Sequence[_Term]) -> None:
        self._design, self._terms = design, terms
        self._own = groups(design.rows)
        self._levels = [row.levels for row in design.rows]
        self._kinds = range(len(self._own[0]))
        self._models: dict[tuple[int, ...], tuple[_Model, list[int], list[tuple[Hashable, ...]]]] = {}
        self._partial = {i for levels in self._levels for i, level in enumerate(levels) if level is None}
        self._within_branches: dict[frozenset[int], _Strata] = {}

    def chance(self, term: _Term) -> tuple[float | None, bool, float]:
        """The probability that chance alone explains as much as a term, whether setups are the units, and the squares.

        Trials without one of its factors are left out: they have no information about it, and may have other units.
        """
        if partial := frozenset(self._partial.intersection(term)):
            rows = tuple(row for row in self._design.rows if all(row.levels[i] is not None for i in partial))
            if rows and partial not in self._within_branches:
                self._within_branches[partial] = _Strata(replace(self._design, rows=rows), self._terms)
            return self._within_branches[partial].chance(term) if rows else (None, False, 0.0)
        kinds = tuple(kind for kind in self._kinds if all(_is_constant(self._levels, self._own, kind, i) for i in term))
        model, upper, own = self._models.get(kinds) or self._models.setdefault(kinds, self._model(kinds))
        placed = [tuple(upper.index(i) for i in item) for item in self._terms if {*item} <= {*upper}]
        here = tuple(upper.index(i) for i in term)
        if any(kinds) and len(term) == 1 and model.has_single(*here):
            return None, True, 0.0
        removed = _removed(own, model.levels)
        squares, df = model.added(here, placed, removed)
        error = model.within(removed)
        if not error[1] and len(term) == 1 and kinds:
            # Each combination was set up once, so the remaining variance between combinations is the only error term.
            placed = [item for item in placed if len(item) == 1]
            squares, df = model.added(here, placed, removed)
            error = model.residual(tuple(placed), removed)
        trials = len(self._levels) / len(model.levels)
        return _p_value(squares, df, *error), any(kinds), squares * trials

    def chance_of_others(self) -> float | None:
        """The probability that chance alone explains as much as the interactions of more factors than any term has."""
        model, _, own = self._models.get(()) or self._models.setdefault((), self._model(()))
        removed = _removed(own, model.levels)
        (remaining, df), (error, error_df) = model.residual(tuple(self._terms), removed), model.within(removed)
        return _p_value(max(remaining - error, 0.0), df - error_df, error, error_df)

    def _model(self, kinds: tuple[int, ...]) -> tuple[_Model, list[int], list[tuple[Hashable, ...]]]:
        """The model of units in which groups of these kinds are one; its factors; the groups that units are within."""
        units: dict[int, list[int]] = {}
        for n, unit in enumerate(components(self._own, kinds)):
            units.setdefault(unit, []).append(n)
        members, levels = list(units.values()), self._levels
        upper = [i for i in range(len(levels[0])) if all(len({levels[n][i] for n in ones}) == 1 for ones in members)]
        means = [math.fsum(self._design.rows[n].log for n in ones) / len(ones) for ones in members]
        within = [
            kind
            for kind in self._kinds
            if kind not in kinds and all(len({self._own[n][kind] for n in ones}) == 1 for ones in members)
        ]
        own = [tuple(self._own[ones[0]][kind] for kind in within) for ones in members]
        placed = [tuple(upper.index(i) for i in item) for item in self._terms if {*item} <= {*upper}]
        return _Model([tuple(levels[ones[0]][i] for i in upper) for ones in members], means, placed), upper, own


def _removed(own: Sequence[tuple[Hashable, ...]], levels: Sequence[tuple[Cell, ...]]) -> Sequence[Hashable]:
    """Return the smallest groups within which units are compared: most units share theirs with another unit.

    If many units would be alone in their group, larger groups in which all combinations occur give more information.
    """
    result: Sequence[Hashable] = []
    for depth in range(len(own[0]), 0, -1):
        some = [kinds[:depth] for kinds in own]
        if all(group is None for kinds in some for group in kinds):
            break
        sizes = Counter(some)
        share = sum(sizes[group] > 1 for group in some) / len(some)
        if share >= MOST and (not result or _have_same_levels(some, levels)):
            return some
        if not result and share > _HALF:
            result = some
    return result


def _have_same_levels(own: Sequence[Hashable], levels: Sequence[tuple[Cell, ...]]) -> bool:
    """Whether the factors that vary within groups have the same combinations in each group."""
    members: dict[Hashable, list[tuple[Cell, ...]]] = {}
    for group, cells in zip(own, levels, strict=True):
        members.setdefault(group, []).append(cells)
    varying = {i for ones in members.values() for cells in ones for i in range(len(cells)) if cells[i] != ones[0][i]}
    combinations = (Counter(tuple(cells[i] for i in sorted(varying)) for cells in ones) for ones in members.values())
    first = next(combinations)
    return all(each == first for each in combinations)


def _removed_blocks(own: Sequence[tuple[Hashable, ...]]) -> list[Hashable]:
    """The blocks whose differences are removed; empty if there are no blocks."""
    return [pair[0] for pair in own] if any(pair[0] is not None for pair in own) else []


def _is_constant(
    levels: Sequence[tuple[Cell, ...]], own: Sequence[tuple[Hashable, ...]], kind: int, factor: int
) -> bool:
    """Whether a factor has only one level within each group of a kind."""
    cells: dict[Hashable, Cell] = {}
    return any(item[kind] is not None for item in own) and all(
        cells.setdefault(item[kind], level[factor]) == level[factor]
        for item, level in zip(own, levels, strict=True)
        if item[kind] is not None
    )


def _p_value(squares: float, df: int, error: float, error_df: int) -> float | None:
    if not df or not error_df or error <= 0:
        return None
    from scipy.special import fdtrc

    return float(fdtrc(df, error_df, (squares / df) / (error / error_df)))


@dataclass(frozen=True, slots=True)
class _Triangle:
    """Effects and logarithms after removal of the means of `blocks`; `columns` are those of each term."""

    effects: NDArray[np.float64]
    logs: NDArray[np.float64]
    columns: Mapping[_Term, range]
    blocks: int


class _Model:
    """A linear model of the logarithms, which gives the sums of squares that remain after some effects are removed."""

    def __init__(self, levels: Sequence[tuple[Cell, ...]], logs: Sequence[float], terms: Sequence[_Term]) -> None:
        import numpy as np

        self.levels = levels
        self._logs = np.array(logs)
        self._terms = terms
        self._triangles: dict[bool, _Triangle] = {}
        self._within: dict[bool, tuple[float, int]] = {}
        self._residuals: dict[tuple[tuple[_Term, ...], bool], tuple[float, int]] = {}

    def has_single(self, factor: int) -> bool:
        """Whether a factor has a level that occurs once, and another that occurs more often."""
        counts = {*Counter(levels[factor] for levels in self.levels).values()}
        return 1 in counts and len(counts) > 1

    @staticmethod
    def _coded(levels: Sequence[Cell]) -> NDArray[np.float64]:
        """Code levels as deviations from the mean of trials that have the factor; having it is another's effect."""
        import numpy as np

        distinct = sorted({level for level in levels if level is not None}, key=str)
        there = np.array([[float(level is not None)] for level in levels])
        made = np.array([[float(level == item) for item in distinct[1:]] for level in levels])
        made = made.reshape(len(levels), len(distinct) - 1)
        centred: NDArray[np.float64] = made - there * made.sum(axis=0) / there.sum()
        return centred

    def added(self, term: _Term, terms: Sequence[_Term], blocks: Sequence[Hashable] = ()) -> tuple[float, int]:
        """The squares that a term adds to all others that do not contain it (type II), and its degrees of freedom."""
        others = tuple(item for item in terms if not {*term} <= {*item})
        less, less_df = self.residual(others, blocks)
        more, more_df = self.residual((*others, term), blocks)
        return max(less - more, 0.0), less_df - more_df

    def residual(self, terms: tuple[_Term, ...], blocks: Sequence[Hashable] = ()) -> tuple[float, int]:
        """The residual sum of squares after these effects and blocks, and its degrees of freedom."""
        import numpy as np

        place = (terms, bool(blocks))
        if place not in self._residuals:
            result = self._triangle(blocks)
            columns = [column for term in terms for column in result.columns[term]]
            solved, _, rank, _ = np.linalg.lstsq(result.effects[:, columns], result.logs, rcond=_SMALL)
            errors = result.logs - result.effects[:, columns] @ solved
            self._residuals[place] = float(errors @ errors), len(self._logs) - int(rank) - result.blocks
        return self._residuals[place]

    def _triangle(self, blocks: Sequence[Hashable]) -> _Triangle:
        """Reduce all effects and the logarithms, less the means of blocks, to a few rows (QR).

        Sums of squares are unchanged, so no model has to process the trials again.
        """
        import numpy as np

        if bool(blocks) not in self._triangles:
            codes = [self._coded([item[i] for item in self.levels]) for i in range(len(self.levels[0]))]
            made = [np.empty((len(self._logs), 0))]
            columns, count = {}, 0
            for term in self._terms:
                product = codes[term[0]]
                for i in term[1:]:
                    product = np.einsum("ra,rb->rab", product, codes[i]).reshape(len(self._logs), -1)
                columns[term] = range(count, count + product.shape[1])
                count += product.shape[1]
                if count > _LARGEST:
                    raise RunError(f"the model has more than {_LARGEST:,} parameters", "compare factors: zlang compare")
                made.append(product)
            numbers = _numbered(blocks or [0] * len(self._logs))
            whole = np.hstack([*made, self._logs[:, None]])
            matrix = _without_group_means(whole, numbers)
            # Columns that are constant in every block are only rounding errors now, which would count as parameters.
            sizes, remaining = (np.linalg.norm(each, axis=0) for each in (whole, matrix))
            matrix[:, remaining < _SMALL * sizes] = 0
            reduced = np.asarray(np.linalg.qr(matrix, mode="r"))
            self._triangles[bool(blocks)] = _Triangle(
                effects=reduced[:, :-1], logs=reduced[:, -1], columns=columns, blocks=int(numbers.max()) + 1
            )
        return self._triangles[bool(blocks)]

    def within(self, blocks: Sequence[Hashable]) -> tuple[float, int]:
        """The sum of squares within combinations, adjusted for blocks, and its degrees of freedom."""
        if bool(blocks) not in self._within:
            self._within[bool(blocks)] = self._pure_error(blocks)
        return self._within[bool(blocks)]

    def _pure_error(self, blocks: Sequence[Hashable]) -> tuple[float, int]:
        import numpy as np

        cells = _numbered(self.levels)
        if not blocks:
            remaining = _without_group_means(self._logs, cells)
            return float(remaining @ remaining), len(remaining) - int(cells.max()) - 1
        numbers = _numbered(blocks)
        remaining = self._logs
        for _ in range(_SWEEPS):
            before, remaining = remaining, _without_group_means(_without_group_means(remaining, cells), numbers)
            if np.allclose(before, remaining, rtol=0, atol=_SMALL):
                break
        linked = components(list(zip(cells.tolist(), numbers.tolist(), strict=True)), (0, 1))
        parameters = int(cells.max()) + 1 + int(numbers.max()) + 1 - len(set(linked))
        return float(remaining @ remaining), len(remaining) - parameters


def _numbered(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    """Number the keys; equal keys have the same number."""
    import numpy as np

    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys])


def _without_group_means(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """The values less the means of their groups."""
    import numpy as np

    sums = np.zeros((int(places.max()) + 1, *values.shape[1:]))
    np.add.at(sums, places, values)
    counts = np.bincount(places).reshape(-1, *([1] * (values.ndim - 1)))
    return values - (sums / counts)[places]
