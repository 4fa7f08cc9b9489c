"""Verdicts that a plan cannot give, determined before it is run."""

from __future__ import annotations

from itertools import groupby, islice

from zlang.cache import by_object
from zlang.hints import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zlang.pipeline.plans import Planned
    from zlang.plan.schedule import Schedule, Slot
    from zlang.report.design import Design, Row

_MOST = 2000
"""The most trials whose setups are computed; for a longer plan, the first of each whole plot and block."""
_LONGEST = 20_000
"""The most trials of a plan that is examined: a longer one would not finish in a day."""


def limits_of_one_setup(planned: Planned) -> tuple[str, ...]:
    """The expectations about a limit, if the plan sets everything up once: `expect` gives no verdict on them."""
    expectations = planned.plan.header.expectations
    if not expectations:
        return ()
    from zlang.check.questions import INFERRED, aggregates

    texts = []
    for item in expectations:
        of = [term for term in aggregates(item.term) if term.op in INFERRED]
        if len(of) == 1:
            texts.append(item.title or item.text)
    return tuple(texts) if texts and _is_one_setup(planned) else ()


def is_removed_by_blocks(planned: Planned) -> bool:
    """Whether `--order blocked` would set up every level more than once."""
    from zlang.plan.order import Order

    if len(planned.schedule.rounds) * planned.schedule.repeat == 1:
        return False  # there is one block
    blocked = planned.replace(schedule=planned.schedule.ordered(Order.BLOCKED))
    return not set_up_once(blocked) and not _is_one_setup(blocked)


def confounded_with_order(planned: Planned) -> tuple[str, ...]:
    """The factors that the order does not mix, except those of `set_up_once`, which have the same problem."""
    from zlang.plan.order import Order

    schedule = planned.schedule
    is_mixed = schedule.order in {Order.BLOCKED, Order.RANDOM} or (
        schedule.order is Order.PLANNED and not schedule.whole
    )
    design = None if is_mixed or schedule.trials > _LONGEST else _design(planned)
    if design is None:
        return ()
    from zlang.report.findings.order import confounded

    once, whole = set_up_once(planned), schedule.whole
    is_planned = schedule.order is Order.PLANNED  # mixed factors may still be in an unlucky order by chance
    return tuple(name for name in confounded(design) if name not in once and (name in whole or not is_planned))


def _is_one_setup(planned: Planned) -> bool:
    """Whether all trials of each point use the same setup."""
    design = _design(planned) if planned.schedule.trials <= _LONGEST else None
    stood: dict[str, list[set[int]]] = {}
    for row in design.rows if design is not None else ():
        stood.setdefault(row.trial, []).append({*row.setups})
    return bool(stood) and all(set.intersection(*made) for made in stood.values())


def _find_set_up_once(planned: Planned) -> tuple[str, ...]:
    from zlang.check import streams

    schedule = planned.schedule
    # Streams have their own targets, so any factor may decide which setups are needed.
    is_any = streams.have_targets(schedule.experiment)
    if not (schedule.whole or is_any) or schedule.trials > _LONGEST:
        return ()
    from zlang.report import compare

    design = _design(planned)
    if design is None:
        return ()
    names = [factor.name for factor in design.factors if is_any or factor.name in schedule.whole]
    return tuple(name for name in names if compare.is_set_up_once(design, name))


set_up_once = by_object(_find_set_up_once, most=2)
"""The factors with a level that the plan sets up only once: `compare` gives no verdict on them."""


def _compute_design(planned: Planned) -> Design | None:
    """The plan as a design with random values, as its results will be read; None if it is too long."""
    from zlang.report.design import Design
    from zlang.report.summary import TableColumn

    schedule = planned.schedule
    is_short = schedule.trials <= _MOST
    slots = list(islice(schedule.slots() if is_short else _first_of_each(schedule.slots()), _MOST + 1))
    if len(slots) > _MOST:
        return None
    rows = list(_rows(planned, schedule, slots))
    header = planned.plan.header
    levels = [tuple(dict.fromkeys(row.levels[i] for row in rows)) for i in range(len(header.factors))]
    there = [tuple(level for level in of if level is not None) for of in levels]
    varied = [i for i, of in enumerate(there) if len(of) > 1]
    return Design(
        "elapsed",
        "s",
        tuple(TableColumn(header.factors[i].name, "word", "") for i in varied),
        tuple(there[i] for i in varied),
        tuple(_with_levels(row, varied) for row in rows),
    )


_design = by_object(_compute_design, most=2)
"""The design of a plan, about which several questions are asked."""


def _with_levels(row: Row, places: Iterable[int]) -> Row:
    from dataclasses import replace

    return replace(row, levels=tuple(row.levels[i] for i in places))


def _first_of_each(slots: Iterator[Slot]) -> Iterator[Slot]:
    for _, together in groupby(slots, key=lambda slot: (slot.block, slot.whole_plot)):
        first, *others = together
        yield first._replace(ends_block=any(slot.ends_block for slot in (first, *others)))


def _rows(planned: Planned, schedule: Schedule, slots: Iterable[Slot]) -> Iterator[Row]:
    """Each trial as a row of the design, with the numbers of the makings of its setups."""
    import random

    from zlang.check import hosts
    from zlang.plan.build import Builder
    from zlang.plan.state import Make, Unmake, Walk
    from zlang.report.design import Row

    builder, walk = Builder(schedule, planned.builder), Walk()
    draw, standing, makings = random.Random(1), dict[str, int](), 0  # noqa: S311 - placeholder values
    for position, slot in enumerate(slots, 1):
        config, setups, stale = builder.state(slot)
        for change in walk.enter(setups):
            if isinstance(change, Make):
                makings += 1
                standing[change.setup.key] = makings
            elif isinstance(change, Unmake):
                standing.pop(change.setup.key, None)
        made = tuple(standing[setup.key] for setup in setups if setup.is_a_unit)
        levels = tuple(schedule.factors(slot.point).values())
        yield Row(
            trial=f"{config.key} {slot.point[schedule.kept.path]}" if schedule.kept else config.key,
            run="",
            replicate=slot.replicate,
            position=position,
            block=slot.block,
            host="+".join(hosts.names_of(config.streams)),
            levels=levels,
            log=draw.gauss(0, 1),
            setups=made,
        )
        walk.leave(stale)
