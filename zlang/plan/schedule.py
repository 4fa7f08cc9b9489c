"""The schedule of an experiment: the order of its trials, before their steps are known.

In: an experiment, a seed, an order. Out: `Slot`s, lazily. Rule: the same input gives the same schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby, islice, pairwise, product
from operator import mul

from zlang.cache import Cache
from zlang.check import digests, hosts, streams, values
from zlang.check.instances import chain
from zlang.check.program import (
    Experiment,
    FactorDef,
    Instance,
)
from zlang.diagnostics import ProgramError
from zlang.errors import suppress
from zlang.frozen import frozen
from zlang.hints import NamedTuple, TypeVar
from zlang.plan.order import Layout, Order, Place, Rounds, order, sampled, sampled_neighbours, written
from zlang.plan.plan import Here, Scalar
from zlang.plan.setups import Setups
from zlang.space import bisection, points
from zlang.space.designs import Plots
from zlang.space.space import Space
from zlang.space.trial_config import treatment

_LOOKED_AT = 100_000


K = TypeVar("K")
T = TypeVar("T")


class Slot(NamedTuple):
    """One trial before its steps are known: its position and its point.

    `ends_block` if everything is made again after it, because the order says so at the end of a block. `previous` is
    the trial whose changes to the data it finds, which `follows` so many others; `is_kept` if the next trial finds its
    changes.
    """

    number: int
    block: int
    replicate: int
    point: Mapping[str, int]
    whole_plot: int
    ends_block: bool = False
    previous: Slot | None = None
    follows: int = 0
    is_kept: bool = False

    @property
    def draw(self) -> str:
        """The text for which random choices are drawn; they differ from those of all trials on the same data."""
        return f"{self.replicate}.{self.follows}" if self.previous is not None else str(self.replicate)

    def earlier(self) -> Iterator[Slot]:
        """The trials whose changes to the data it finds, the latest first."""
        slot = self.previous
        while slot is not None:
            yield slot
            slot = slot.previous


@frozen
class Share:
    """One of several consecutive shares of a schedule, `3/16`: the trials from number `first` to number `last`."""

    number: int
    of: int
    first: int
    last: int

    def __str__(self) -> str:
        """The name of the share, as it appears in plans and results."""
        return f"{self.number}/{self.of}"


class Schedule:
    """The order of trials: the points that the design of an experiment selects from its space, by whole plots."""

    def __init__(
        self,
        experiment: Experiment,
        seed: int,
        part: str | None = None,
        order: Order = Order.PLANNED,
        like: Schedule | None = None,
        rounds: Rounds | None = None,
        reached: frozenset[str] = frozenset(),
    ) -> None:
        self.share: Share | None = None
        self.reached: frozenset[str] = like.reached if like else reached
        self.experiment, self.seed, self.part, self.order = experiment, seed, part, order
        self.space: Space = like.space if like else points.without_added(experiment)
        self.search, self.kept = experiment.search, experiment.kept
        levels = (tuple(range(self.kept.passes)),) if self.kept else ((0,),)
        self.rounds = rounds or (bisection.rounds(self.search.levels) if self.search else levels)
        reads = (expr.reads for expr in (experiment.on, experiment.before) if expr)
        decisive = streams.placed_by(experiment).union(*reads)
        costs = {path: factor.cost or "create" for path, factor in experiment.factors.items()}
        self.hard_to_change = sorted(path for path in decisive if costs.get(path) not in {"none", "live"})
        self.taken: list[dict[str, int]] | None = like.taken if like else points.chosen(experiment, self.space, seed)
        has_same_plots = like is not None and (like.order.has_plots == order.has_plots or not self.hard_to_change)
        hard = self.hard_to_change if order.has_plots else ()
        self.plots: Plots = like.plots if like and has_same_plots else points.plots(self.space, self.taken, hard)
        self._plot_states = _remembering(self._states)
        self._cells = [(factor.path, _Cells(factor)) for factor in experiment.factors.values()]
        self.repeats: dict[tuple[int, int], int] = like.repeats if like and has_same_plots else {}
        counts = like.points_by_repeat if like else points.replicates(experiment, self.space, self.taken)
        self.points_by_repeat: Counter[int] = counts
        self.repeat, self.least_repeat = max(counts), min(counts)
        self.trials = sum(map(len, self.rounds)) * sum(times * some for times, some in counts.items())
        self.hosts: tuple[str, ...] = like.hosts if like else self._hosts()
        self.setups: Setups = like.setups if like else Setups(self.draw, self.here)
        if like is not None and rounds is None:
            self.trials = like.trials
        elif part is not None:
            self.trials = sum(1 for _ in self.slots())

    @property
    def here(self) -> Here:
        """The host of this part, or the reached hosts, or the only host; None for a schedule of several hosts."""
        if self.reached:
            return self.reached
        if self.part is None and len(self.hosts) == 1:
            return self.hosts[0]
        return self.part

    def draw(self, *drawn_for: str) -> str:
        """The hash from which the seed of a given thing is drawn."""
        return digests.digest(str(self.seed), *drawn_for)

    def _hosts(self) -> tuple[str, ...]:
        """The hosts that have trials; if there are too many to examine, those that may have some."""
        names = hosts.names(self.experiment)
        if len(names) == 1 or self.trials > _LOOKED_AT:
            return names
        there: set[str] = set()
        for plot in range(self.plots.count):
            for point, levels in product(range(self.plots.size(plot)), self.rounds):
                for level in levels:
                    slot = self._slot(0, Place(1, plot, 1, point, level), 0)
                    there.update(hosts.names_at(self.experiment, slot.point))
        return tuple(name for name in names if name in there)

    def slots(self) -> Iterator[Slot]:
        """Every trial of the planned part, in order."""
        if self.share is not None:
            return islice(self._every_slot(), self.share.first - 1, self.share.last)
        if self.part is None or self.hosts == (self.part,):
            return self._every_slot()
        return (slot for slot in self._every_slot() if self.part in hosts.names_at(self.experiment, slot.point))

    def shares(self, most: int) -> list[Schedule]:
        """Cut the schedule between whole plots into at most `most` shares with about the same number of whole plots."""
        begins: list[int] = []
        last = None
        for slot in self.slots():
            if (slot.block, slot.whole_plot) != last:
                begins.append(slot.number)
                last = slot.block, slot.whole_plot
        count = min(most, len(begins))
        cuts = [*(begins[len(begins) * number // count] for number in range(count)), self.trials + 1]
        shares = [Share(n, count, first, after - 1) for n, (first, after) in enumerate(pairwise(cuts), start=1)]
        return [self._limited_to(share) for share in shares]

    def _limited_to(self, share: Share) -> Schedule:
        result = self.ordered(self.order)
        result.share, result.trials = share, share.last - share.first + 1
        return result

    def _every_slot(self) -> Iterator[Slot]:
        slots = self._in_blocks() if self.order is Order.BLOCKED else self._in_plots()
        return self._with_histories(slots) if self.kept else slots

    def _in_blocks(self) -> Iterator[Slot]:
        """Every trial in order, with the ends of blocks."""
        if len(self.hosts) > 1 and self.trials <= _LOOKED_AT:
            for _, block in groupby(self._in_plots(), key=lambda slot: slot.block):
                yield from self._with_ends(list(block))
            return
        before: Slot | None = None
        for slot in self._in_plots():
            if before is not None:
                yield before._replace(ends_block=before.block != slot.block)
            before = slot
        if before is not None:
            yield before

    def _with_ends(self, block: Sequence[Slot]) -> Iterator[Slot]:
        """The trials of a block; on each host, the last trial there ends it."""
        ends: set[int] = set()
        ended: set[str] = set()
        for slot in reversed(block):
            machines = hosts.names_at(self.experiment, slot.point)
            if ended.isdisjoint(machines):
                ends.add(slot.number)
            ended.update(machines)
        yield from (slot._replace(ends_block=slot.number in ends) for slot in block)

    def _in_plots(self) -> Iterator[Slot]:
        """Every trial in order, with the whole plots numbered."""
        plot, last, has_plots = 0, None, self.order.has_plots
        for number, place in enumerate(self._places(), start=1):
            slot = self._slot(number, place, plot)
            whole = place.plot if has_plots else tuple(map(slot.point.get, self.hard_to_change))
            if whole != last:
                plot, last = plot + 1, whole
                slot = slot._replace(whole_plot=plot)
            yield slot

    def _with_histories(self, slots: Iterator[Slot]) -> Iterator[Slot]:
        """Add to each trial those before it on the same data: each block of a whole plot lays them out again."""
        for _, together in groupby(slots, key=lambda slot: (slot.block, slot.whole_plot)):
            *earlier, last = together
            previous = None
            for number, slot in enumerate([*earlier, last]):
                previous = slot._replace(previous=previous, follows=number, is_kept=number < len(earlier))
                yield previous

    def _places(self) -> Iterator[Place]:
        """The place of every trial in order."""
        if self.is_uneven and self.search is None:
            return iter(self._uneven_places)
        places = order(self._layout, self.order)
        return self._of_repeated(places) if self.is_uneven else places

    @cached_property
    def _uneven_places(self) -> tuple[Place, ...]:
        """The places of all trials if points have different replicates: at most `points.MOST_UNEVEN`."""
        return tuple(self._of_repeated(order(self._layout, self.order)))

    def _of_repeated(self, places: Iterator[Place]) -> Iterator[Place]:
        """Drop the places beyond each point's own number of replicates; blocks without trials are not numbered."""
        blocks: dict[int, int] = {}
        repeats = self.repeats
        for place in places:
            key = place.plot, place.point
            if key not in repeats:
                repeats[key] = points.repeat_at(self.experiment, self.plots.at(*key))
            if place.replicate <= repeats[key]:
                yield place._replace(block=blocks.setdefault(place.block, len(blocks) + 1))

    @property
    def is_uneven(self) -> bool:
        """Whether some points have more replicates than others."""
        return self.least_repeat < self.repeat

    @property
    def blocks(self) -> int:
        """The number of blocks, in an order with whole plots."""
        if self.is_uneven:
            return max(place.block for place in self._uneven_places)
        return self._layout.passes * (self.plots.count if self.order is Order.PLANNED else 1)

    def slot(self, number: int) -> Slot:
        """The trial with a number; far from the start of an order without plots, its whole plot is 0."""
        if number <= _LOOKED_AT or self.part is not None or self.is_uneven:
            return next(islice(self.slots(), number - 1, None))
        place = next(order(self._layout, self.order, number - 1))
        counted = (
            1 + (place.block - 1) // self._layout.passes
            if self.order is Order.PLANNED
            else 0
            if self.hard_to_change
            else 1
        )
        return self._slot(number, place, counted)

    @property
    def _layout(self) -> Layout:
        keys = self._plot_states if self.plots.count > 2 else None  # noqa: PLR2004 - there is nothing to sort
        return Layout(
            plots=self.plots.count,
            points=self.plots.size,
            repeat=self.repeat,
            seed=self.seed,
            keys=keys,
            rounds=self.rounds,
            is_in_passes=self.kept is not None,
        )

    def _slot(self, number: int, place: Place, plot: int) -> Slot:
        point = self.plots.at(place.plot, place.point)
        if self.experiment.added is not None:
            point = {**point, self.experiment.added: place.level}
        return Slot(number, place.block, place.replicate, point, plot)

    def sampled(self, count: int) -> Iterator[tuple[float, Slot | None, Slot]]:
        """Draw trials from the order: the number of trials each represents, the one before it, and the trial itself."""
        if self.is_uneven:
            drawn = sampled_neighbours(self._uneven_places, self._whole_plot_of, self.seed, count)
        elif self.order is Order.AS_WRITTEN:
            counts = self.space.counts if self.taken is None else ()
            drawn = written(self._layout, tuple(accumulate(reversed(counts[1:]), mul)), count)
        else:
            drawn = sampled(self._layout, self.order, count)
        for weight, before, place in drawn:
            yield weight, self._slot(0, before, 0) if before else None, self._slot(0, place, 0)

    def _whole_plot_of(self, place: Place) -> object:
        """The key that distinguishes the whole plot of a place from those before and after it."""
        if self.order.has_plots:
            return place.plot
        return tuple(map(self.plots.at(place.plot, place.point).get, self.hard_to_change))

    def carried_out(self) -> Schedule:
        """The schedule of the trials that are carried out: at most as many rounds as a search may need."""
        if self.search is None:
            return self
        rounds = [(level,) for level in bisection.longest(self.search.levels)]
        return Schedule(
            experiment=self.experiment, seed=self.seed, part=self.part, order=self.order, like=self, rounds=rounds
        )

    def ordered(self, how: Order) -> Schedule:
        """The same trials in another order."""
        return Schedule(self.experiment, self.seed, self.part, how, self)

    @property
    def whole(self) -> tuple[str, ...]:
        """The names of the hard-to-change factors."""
        hard_to_change = [factor for path, factor in self.experiment.factors.items() if path in self.hard_to_change]
        return tuple(name for factor in hard_to_change for name in factor.columns)

    def _states(self, plot: int) -> tuple[Hashable, ...]:
        """The states that a plot needs of its resources, parents first: those made, then those rewritten."""
        states: list[Hashable] = []
        with suppress(ProgramError):  # reported when the plot is planned
            point = self.plots.at(plot, 0)
            before = treatment(self.experiment, point)
            for on in streams.targets(streams.at(self.experiment, point)):
                states += self.setups.states(resources_of(on), before)
        return tuple(states)

    def factors(self, point: Mapping[str, int]) -> dict[str, Scalar]:
        """The columns of a point; a factor that does not exist in it is None."""
        row: dict[str, Scalar] = {}
        for path, cells in self._cells:
            row |= cells[point.get(path)]
        return row


class _Cells(Cache[int | None, dict[str, Scalar]]):
    """The columns of each level of a factor, computed on demand."""

    def __init__(self, factor: FactorDef) -> None:
        super().__init__()
        self._factor = factor

    def __missing__(self, index: int | None) -> dict[str, Scalar]:
        columns = self._factor.columns
        level = (None,) * len(columns) if index is None else map(values.cell, self._factor.level(index))
        cells = self[index] = dict(zip(columns, level, strict=True))
        return cells


def _remembering(function: Callable[[K], T]) -> Callable[[K], T]:
    cached = Cache[K, T]()

    def look(key: K) -> T:
        result = cached.get(key)
        if result is None:
            result = cached[key] = function(key)
        return result

    return look


def resources_of(thing: Instance) -> list[Instance]:
    """The resources in the chain below a thing, including the thing itself if it is a resource."""
    return [instance for instance in chain(thing) if instance.kind.role == "resource"]
