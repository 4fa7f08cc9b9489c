"""The plan of an experiment: its setups, each trial, and the plan in every format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from types import MappingProxyType

from zlang.check import hosts
from zlang.check.afresh import AFRESH, Afresh, SubjectResult
from zlang.check.check import Checked, Overrides
from zlang.check.instances import Frame, chain
from zlang.check.program import Experiment, Instance
from zlang.check.values import show
from zlang.diagnostics import Diagnostic, Lint, ProgramError, Severity
from zlang.errors import RunError, suppress
from zlang.hints import TYPE_CHECKING
from zlang.pipeline.programs import levels, lint
from zlang.record import Record
from zlang.suggest import did_you_mean
from zlang.syntax.tree import KindDef
from zlang.text import as_unicode
from zlang.units import Quantity, show_rounded

if TYPE_CHECKING:
    from zlang.emit.registry import EmitFormat
    from zlang.plan.build import Builder
    from zlang.plan.estimate import Outlook
    from zlang.plan.plan import Finding, Plan, Setup, Trial
    from zlang.plan.schedule import Schedule

DEFAULT_SEED = 1


class Planned(Record):
    """An experiment with its order of trials and its plan."""

    experiment: Experiment
    schedule: Schedule
    plan: Plan
    builder: Builder


def plan(
    checked: Checked,
    experiment: Experiment,
    seed: int,
    overrides: Overrides,
    host: str | None = None,
    order: str | None = None,
    reached: Iterable[str] = (),
) -> Planned:
    """The plan for all hosts or for one of them, as a stream; `reached` are the hosts reached from here.

    Raises ProgramError, RunError.
    """
    from zlang.check import used_kinds
    from zlang.plan import build
    from zlang.plan.order import Order
    from zlang.plan.schedule import Schedule

    findings = findings_of(checked, experiment)
    kinds = used_kinds.resolve_used_kinds(checked.program, experiment)
    settings = dict(overrides.values) | ({"--profile": overrides.profile} if overrides.profile else {})
    how = Order(order or Order.PLANNED)
    if experiment.kept is not None and not how.has_plots:
        message = f"`--order {how}` writes the data again before most trials, but `{experiment.name}` keeps them"
        raise RunError(message, "omit `--order`, or use `--order blocked`")
    schedule = Schedule(experiment, seed, host, how, reached=frozenset(reached))
    if host is not None and host not in schedule.hosts:
        candidates = [name for name in schedule.hosts if name]
        near = did_you_mean(host, candidates) or (
            "its trials are on " + ", ".join(candidates) if candidates else "its trials name no host: omit `--host`"
        )
        raise RunError(f"`{experiment.name}` has no trials on a host `{host}`", near)
    builder = build.Builder(schedule)
    return Planned(experiment, schedule, build.plan(checked.program, kinds, builder, settings, findings), builder)


def cut(planned: Planned, most: int) -> list[Planned]:
    """Cut a plan into at most `most` parts for interchangeable machines: each has complete whole plots."""
    from zlang.plan.build import Builder
    from zlang.plan.plan import Plan

    header = planned.plan.header
    builders = [Builder(share, planned.builder) for share in planned.schedule.shares(most)]
    return [
        Planned(
            planned.experiment,
            builder.schedule,
            Plan(header.limited_to(str(builder.schedule.share), builder.schedule.trials), builder.items),
            builder,
        )
        for builder in builders
    ]


def findings_of(checked: Checked, experiment: Experiment, here: Instance | None = None) -> tuple[Finding, ...]:
    """The findings of the rules about an experiment: on any machine, or on this one if `here` is given."""
    return tuple(_lint_findings(checked, experiment, here))


def _lint_findings(checked: Checked, experiment: Experiment, here: Instance | None) -> Iterator[Finding]:
    from zlang.lint import lint as rules
    from zlang.plan.plan import Finding

    for result, allowed in rules.judged(checked.program, experiment, levels(checked, {}), here):
        line, column = result.span.source.position(result.span.start)
        place = f"{as_unicode(result.span.source.name)}:{line}:{column}"
        code = result.code
        name = code.name if isinstance(code, Lint) else ""
        yield Finding(
            code=code.id,
            name=name,
            severity=code.severity.value,
            message=result.message,
            hint=result.hint,
            place=place,
            allowed=allowed,
        )


def finding_of_machine(sentence: str) -> Finding:
    """The finding for a contradiction between a program and a machine, without a rule or a place in the program."""
    from zlang.plan.plan import Finding

    return Finding(code="", name="", severity=Severity.WARNING.value, message=sentence, hint="", place="", allowed="")


def all_findings(checked: Checked, work: Afresh = AFRESH) -> tuple[list[Diagnostic], str]:
    """Find the problems of a program, also at single points of its experiments; and the counts of their points."""
    from zlang.space import faults

    if not checked.is_sound:
        return list(checked.findings), ""
    findings, counts = faults.of(checked.program.experiments.values(), DEFAULT_SEED, work)
    return [*checked.findings, *findings], "; ".join(counts) or "no experiments, no problems"


def report(
    checked: Checked, options: Mapping[str, list[str]] = MappingProxyType({}), work: Afresh = AFRESH
) -> tuple[list[Diagnostic], str, RunError | None]:
    """The findings of `zlang check`: errors, or else pitfalls; counts of points; and why it did not look for pitfalls.

    `options` are the rules that the command line denies, warns of or allows. `work` is passed on to the check.
    """
    findings, counts = all_findings(checked, work)
    if not is_wrong(findings):
        findings += _without_commands(checked, work)
    if is_wrong(findings):
        return findings, counts, None
    try:
        return findings + lint(checked, options, work=work), counts, None
    except RunError as error:
        return findings, counts, error


def _without_commands(checked: Checked, work: Afresh) -> Iterator[Diagnostic]:
    """Find points at which a program's own kinds have no commands; those of the library have them everywhere."""
    if not any(isinstance(entry, KindDef) for program_tree in checked.program.trees for entry in program_tree.entries):
        return
    from zlang.check import used_kinds
    from zlang.plan import build

    for experiment in checked.program.experiments.values():

        def find(experiment: Experiment = experiment) -> SubjectResult:
            if not used_kinds.has_own_kinds(checked.program, experiment):
                return (), ""
            kinds = used_kinds.resolve_used_kinds(checked.program, experiment)
            findings: dict[tuple[object, object], Diagnostic] = {}
            for finding in build.unplanned(experiment, kinds):
                findings.setdefault((finding.code, finding.span), finding)
            return tuple(findings.values()), ""

        yield from work.findings(experiment, "commands", find)[0]


def is_wrong(findings: Iterable[Diagnostic]) -> bool:
    """Whether any finding is an error."""
    return any(finding.code.severity is Severity.ERROR for finding in findings)


def contradictions(planned: Planned) -> list[str]:
    """Facts of the host in the program that this machine contradicts."""
    from zlang.run import machine

    names = planned.plan.header.hosts
    here = planned.schedule.part or (names[0] if len(names) == 1 else "")
    return contradictions_of(planned, here, machine.answer)


def contradictions_of(planned: Planned, here: str, answer: Callable[[str], str]) -> list[str]:
    """Facts of a host in the program that contradict its machine; `answer` runs a command there."""
    stated_hosts = {host.digest: host for _, host in hosts.used_by(planned.experiment) if host and host.label == here}
    if len(stated_hosts) != 1:  # no host is named, or it occurs in several states
        return []
    (host,) = stated_hosts.values()
    probes = {name: command for name, command in hosts.probes().items() if name in host.values}
    host_facts = hosts.facts({name: answer(command) for name, command in probes.items()})
    return [
        f"`{here}` has {name} = {show(value)} in the program, and this machine has "
        f"{show_rounded(other) if isinstance(other, Quantity) else show(other)}"
        for name, value, other in hosts.contradicted(host, host_facts)
    ]


def examinations(planned: Planned) -> dict[str, list[str]]:
    """The commands that print why a thing does not suit the cache state of its trials, if it does not, by host.

    Those of the program's own kinds are left out: `doctor` does not execute what is not the library's.
    """
    from zlang.plan.action_steps import steps_of
    from zlang.plan.plan import Action
    from zlang.space.trial_config import trial_config

    result: dict[str, dict[str, None]] = {}
    for point in hosts.each_choice(planned.experiment, planned.experiment.axes):
        with suppress(ProgramError):  # reported at the point itself, if it is one
            config = trial_config(planned.experiment, point)
            for thing in (thing for target in config.targets for thing in chain(target)):
                action = None if thing.kind.is_own else hosts.action_of(thing, "examine", config.cache_state)
                if action:
                    steps = steps_of(action, Action.VERIFY, "examine", Frame(thing), None)
                    machine = hosts.host_of(thing)
                    commands = result.setdefault(machine.label if machine else "", {})
                    commands |= dict.fromkeys(step.command for step in steps)
    return {host: list(commands) for host, commands in result.items()}


def shared_devices(planned: Planned) -> list[str]:
    """Names of disks in the program that lead to the same device of this machine, or to a device and its partition."""
    from zlang.check import naming
    from zlang.run import machine

    named = {
        (each.thing.label, name): machine.block_device(name)
        for each in naming.devices_of(planned.experiment)
        for name in each.names
    }
    present = [(label, name, device) for (label, name), device in named.items() if device]
    return [
        f"`{label}` ({name}) and `{other_label}` ({other_name}) are "
        + ("the same device" if device == other else "a device and its partition")
        + f" ({', '.join(dict.fromkeys((device[0], other[0])))}): no trial can write to both"
        for (label, name, device), (other_label, other_name, other) in combinations(present, 2)
        if name != other_name and (device[0] in other or other[0] in device)
    ]


def named_by_node(planned: Planned) -> list[str]:
    """Texts with the node of a device of this machine, such as `/dev/sdb`, if the program declares a link to it."""
    from zlang.check import naming
    from zlang.run import machine

    nodes = [
        naming.GuardedThing(each.thing, (f"/dev/{device[0]}",), ())
        for each in naming.devices_of(planned.experiment)
        for name in each.names
        if (device := machine.block_device(name)) and name != f"/dev/{device[0]}"
    ]
    named = naming.named_by_node(planned.experiment, nodes)
    return list(dict.fromkeys(f"`{each.by.label}` names `{each.thing.label}` by its node in /dev" for each in named))


def require_guarded_nodes(planned: Planned) -> None:
    """Raise RunError if a command names a device by its node, so that no guard covers it."""
    for sentence in named_by_node(planned):
        raise RunError(sentence, "write the place that its declaration offers, so zlang guards it")


def setups_by_branch(planned: Planned) -> list[Setup]:
    """The setups of every branch of every choice, each once."""
    from zlang.plan import build

    return list({setup.signature: setup for setup in build.setups_by_branch(planned.builder)}.values())


def trial(planned: Planned, number: int) -> tuple[Trial, tuple[Setup, ...]]:
    """The trial with a number, and the setups that it needs, parents first. Raises ProgramError."""
    return planned.builder.trial(planned.schedule.slot(number))


def page(pieces: Iterator[str]) -> bool:
    """Show text in the user's pager; return whether there is one."""
    from zlang.run import pager

    return pager.page(pieces)


def require_one_host(planned: Planned, hint: str = "") -> None:
    """Raise RunError for a plan of several machines: each can carry out only its own part. The hint has a default."""
    hosts = planned.schedule.hosts
    if planned.schedule.part is not None or planned.schedule.reached or len(hosts) == 1:
        return
    named = [name for name in hosts if name]
    if len(named) < len(hosts):
        everywhere = "add `on HOST` to everything, with `host HOST` declared"
        raise RunError(f"some trials are on {', '.join(named)}, and others on no host", everywhere)
    message = f"the trials are on {len(named)} hosts: {', '.join(named)}"
    entry = f'write [hosts.{named[0]}] in zlang.toml and, below it, ssh = "USER@HOST"'
    reach = f"{entry}, or add --reach {named[0]}=USER@HOST; and so on for each"
    raise RunError(message, hint or f"{reach}; or say which one this machine is: --host {named[0]}")


def require_no_devices(planned: Planned) -> None:
    """Raise RunError where a plan of several machines writes to devices: each is armed on its own machine."""
    if planned.plan.header.armed:
        name = next(iter(planned.plan.header.machines))
        raise RunError(
            "devices are overwritten only by a run on their own machine: " + ", ".join(planned.plan.header.armed),
            f"on each machine, type: zlang run FILE --host {name}",
        )


def require_distinct(planned: Planned) -> None:
    """Raise RunError if two trials are the same measurement, although their factors differ: nothing uses these."""
    from zlang.plan import trial_keys

    twins = trial_keys.twins(planned.schedule)
    if twins is not None:
        message = f"trials {twins[0]:,} and {twins[1]:,} are the same measurement: their levels change nothing"
        raise RunError(message, "write each level once; `zlang plan --trial N` shows what a trial does")


def formats() -> Mapping[str, EmitFormat]:
    """The formats in which a plan can be emitted."""
    from zlang.emit.registry import EMITTERS

    return EMITTERS


def emit(planned: Planned, form: str) -> Iterator[str]:
    """The plan in one of the formats. Raises RunError."""
    if form == "sh":
        require_script(planned)
        require_one_host(planned, "add `--out DIR`: it writes a script for each")
    return formats()[form].emit(planned.plan)


def require_script(planned: Planned) -> None:
    """Raise RunError if a script without zlang cannot carry out a plan."""
    if planned.schedule.kept is not None:
        message = "a script cannot repeat earlier trials, which `layout = keep` needs after a failure"
        raise RunError(message, "`zlang run` can; `--emit markdown` writes a runbook")


def scripts(planned: Planned) -> Iterator[tuple[str, Iterator[str]]]:
    """The script of each machine, by name, for a plan of several machines. Raises RunError."""
    from zlang.emit import shell

    require_no_devices(planned)
    require_script(planned)
    for machine in planned.plan.header.machines:
        yield machine, shell.emit_for(planned.plan, machine)


def lines(planned: Planned, outlook: Outlook) -> Iterator[str]:
    """The plan as JSON lines, with the outlook for this machine."""
    from zlang.plan import wire

    return (line.decode() for line in wire.dump(planned.plan, outlook))


def job_forms(planned: Planned) -> set[str]:
    """The tools for which the first trial can be written as a job file."""
    from zlang.plan import jobs

    slot = next(planned.schedule.slots())
    made = jobs.job(slot, planned.schedule)
    return {made[0]} if made else set()


def job_files(planned: Planned) -> Iterator[tuple[str, str]]:
    """Each trial as the job file of its own tool: names and texts. Raises ProgramError, RunError."""
    from zlang.plan import jobs

    for slot in planned.schedule.slots():
        made = jobs.job(slot, planned.schedule)
        if made is None:
            raise RunError("the workload has no job files", "`zlang plan --emit sh` writes it as a script")
        ending, text = made
        yield f"{slot.number:06d}-{slot.replicate}.{ending}", text
