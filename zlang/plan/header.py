"""The header of a plan: everything that holds for all its trials.

In: a checked program, the schedule of one of its experiments, and the settings of the command line. Out: `Header`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from zlang.check import digests, hosts, streams, values
from zlang.check.instances import Frame
from zlang.check.program import Experiment, FactorDef, Instance, Kind, Program
from zlang.check.questions import Expectation, Plot, Table
from zlang.check.rendering import shell_text
from zlang.diagnostics import ProgramError
from zlang.errors import suppress
from zlang.frozen import replace
from zlang.plan import footprint
from zlang.plan.exposure import Exposure
from zlang.plan.order import Order
from zlang.plan.plan import Action, Device, Factor, Header, Here, Scalar, Step
from zlang.plan.schedule import Schedule
from zlang.text import as_unicode

_SHOWN_LEVELS = 1000


def header(
    program: Program, kinds: Sequence[Kind], schedule: Schedule, settings: Mapping[str, str], exposure: Exposure
) -> Header:
    """Build the header. `settings` are the values of `--set` and `--profile`, for the hash of the plan."""
    experiment, here = schedule.experiment, schedule.here
    sources = {as_unicode(source.name): source.text for source in program.sources}
    assignments = [f"{name}={text}" for name, text in sorted(settings.items())]
    texts = [f"{name}\0{text}" for name, text in sorted(sources.items())]
    ordered = [f"order={schedule.order}"] if schedule.order is not Order.PLANNED else []
    templates = sorted(digests.template_digest(kind) for kind in kinds)
    hashed = digests.digest(experiment.name, str(schedule.seed), *ordered, *assignments, *texts, *templates)
    factors = tuple(
        Factor(name, factor.column_path(i), factor.types[i], _levels(factor, i), factor.size)
        for factor in experiment.factors.values()
        for i, name in enumerate(factor.columns)
    )
    tools, facts = needs(experiment, kinds, here)
    machines = {name: needs(experiment, kinds, name) for name in sorted(schedule.reached)}
    used = hosts.used_by(experiment) if machines else ()
    reached = [host for _, host in used if host and host.label in machines]
    return Header(
        experiment=experiment.name,
        title=experiment.title,
        plan=hashed,
        seed=schedule.seed,
        points=schedule.plots.points,
        repeat=schedule.repeat,
        least_repeat=schedule.least_repeat if schedule.is_uneven else 0,
        trials=schedule.trials,
        factors=factors,
        sources=sources,
        facts=tuple(_facts_of(machines)) if machines else facts,
        tools={} if machines else tools,
        design=values.show(experiment.design.value({})),
        left_out=schedule.space.count - schedule.plots.points,
        expectations=tuple(clause for clause in experiment.clauses if isinstance(clause, Expectation)),
        tables=tuple(clause for clause in experiment.clauses if isinstance(clause, Table)),
        plots=tuple(clause for clause in experiment.clauses if isinstance(clause, Plot)),
        hosts=tuple(name for name in schedule.hosts if name),
        part=schedule.part or "",
        guarded=tuple(exposure.guarded()) if any(kind.armed for kind in kinds) else (),
        order=schedule.order,
        whole_plot_factors=schedule.whole,
        devices=tuple(_devices(experiment)),
        settings=settings,
        until=experiment.until,
        search=experiment.search,
        passes=experiment.kept.passes if experiment.kept else 1,
        metrics=experiment.metrics,
        machines={name: needed for name, (needed, _) in machines.items()},
        shared=_shared(reached),
        groups=_groups(reached),
    )


def needs(experiment: Experiment, kinds: Sequence[Kind], here: Here) -> tuple[dict[str, str], tuple[Step, ...]]:
    """The tools that a machine needs, with how to get them, and the steps that check its requirements.

    Raises ProgramError where one of these commands names a device.
    """
    away = _kinds_elsewhere(experiment, here)
    platform = _platform(experiment, here)
    at_hand = [kind for kind in kinds if kind.name not in away]
    tools = {tool: hint for kind in at_hand for tool, hint in hosts.tools_of(kind, platform)}
    steps = tuple(step for kind in at_hand for step in _facts(kind, platform))
    Exposure(experiment, here).require_unnamed((*tools, *(step.command for step in steps)))
    return tools, steps


def _facts_of(machines: Mapping[str, tuple[object, tuple[Step, ...]]]) -> Iterator[Step]:
    """The commands that record facts of each machine, under the name of its host."""
    for name, (_, steps) in machines.items():
        for step in steps:
            yield replace(step, name=f"{name}.{step.name}", host=name, why=f"{name}: {step.why}")


def _shared(reached: Iterable[Instance]) -> dict[str, str]:
    """The resources that each of these machines shares with others, by machine."""
    used = {host.label: host.values.get("shares") for host in reached}
    return {name: text for name, text in used.items() if isinstance(text, str)}


def _groups(reached: Iterable[Instance]) -> dict[str, str]:
    """The group of each of these machines that is a member of one."""
    groups = {host.label: host.key.removesuffix(f".{host.label}") for host in reached}
    return {name: group for name, group in groups.items() if group != name}


def _devices(experiment: Experiment) -> Iterator[Device]:
    """The lowest devices that are one choice away from the first point."""
    devices: dict[str, Device] = {}
    for point in hosts.each_choice(experiment, streams.target_axes(experiment)):
        with suppress(ProgramError):  # reported at the point itself, if it is one
            targets = streams.targets(streams.at(experiment, point))
            for on in (target for target in targets if target.kind.role == "resource"):
                under = footprint.device_of(on)
                offers = under.kind.offers
                place = offers["dir"].value(Frame(under)) if "dir" in offers else ""
                device = footprint.device(under, place if isinstance(place, str) else values.show(place))
                devices.setdefault(device.name, device)
    yield from devices.values()


def _kinds_elsewhere(experiment: Experiment, here: Here) -> set[str]:
    """The kinds that are used only on machines other than the one that carries the plan out.

    Things without a host may be used on every machine: only some points are examined.
    """
    used = list(hosts.used_by(experiment))
    present = {
        thing.kind.name
        for thing, host in used
        if here is None or host is None or host.label == here or (thing.kind.role != "resource" and not thing.origin)
    }
    return {thing.kind.name for thing, _ in used} - present


def _platform(experiment: Experiment, here: Here) -> str:
    """The platform of the machine that carries the plan out."""
    used = (host for _, host in hosts.used_by(experiment) if host and here in {None, host.label})
    return hosts.platform_of(next(used, None))


def _facts(kind: Kind, platform: str) -> Iterator[Step]:
    action = kind.action("fact", platform)
    if action is None:
        return
    frame = Frame(Instance(kind, kind.name, kind.name, {}, None, is_given=True, digest=""))
    for command in action.commands:
        name = values.safe_name((command.why or kind.name,))
        yield Step(name, Action.FACT, shell_text(command.text, frame), command.why, 60)


def _levels(factor: FactorDef, column: int) -> tuple[Scalar, ...]:
    if factor.size > _SHOWN_LEVELS:
        return ()
    return tuple(values.cell(factor.level(i)[column]) for i in range(factor.size))
