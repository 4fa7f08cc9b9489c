"""The machines of a program: which of its hosts are reached and how, and their state."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from zlang import project
from zlang.check import hosts
from zlang.check.check import Checked
from zlang.check.program import Experiment
from zlang.errors import RunError, joined, suppress
from zlang.frozen import replace
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import arming, plans, programs
from zlang.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from zlang.pipeline.plans import Planned
    from zlang.run.transport.machines import Visit
    from zlang.run.transport.reach import Reach


def hosts_of(experiment: Experiment) -> list[str]:
    """The hosts that an experiment uses: those of its resources, and those that its loads come from."""
    used = [host.label for _, host in hosts.used_by(experiment) if host]
    return list(dict.fromkeys(name for name in (*hosts.names(experiment), *used) if name))


def reached(checked: Checked, experiment: Experiment, options: Sequence[str] = ()) -> dict[str, Reach]:
    """The ways to reach the hosts of an experiment that `zlang.toml` or an option names. Raises RunError."""
    names = hosts_of(experiment)
    if not names and not options and project.find(programs.directory(checked)) is None:
        return {}
    from zlang.run.transport import reach

    for option in options:
        name, equals, _ = option.partition("=")
        if name and equals and name not in names:
            near = did_you_mean(name, names) or ("its hosts are " + ", ".join(names) if names else "omit `--reach`")
            raise RunError(f"`{experiment.name}` uses no host `{name}`", near)
    entries = reach.read(programs.directory(checked), options)
    if reach.engine(programs.directory(checked)) == reach.SLURM:
        from zlang.run import slurm

        entries = reach.with_nodes(entries, names, *slurm.nodes())
    result = {name: entries[name] for name in names if name in entries}
    reach.require_different_machines(result.values())
    return result


def misspelt(checked: Checked, experiment: Experiment, reached_hosts: Mapping[str, Reach]) -> list[str]:
    """Entries of `zlang.toml` that may be meant for hosts that are not reached, one sentence each. Raises RunError."""
    path = project.find(programs.directory(checked))
    unreached = [name for name in hosts_of(experiment) if name not in reached_hosts]
    if path is None or not unreached:
        return []
    from zlang.run.transport import reach

    declared = {name for each in checked.program.experiments.values() for name in hosts_of(each)}
    others = [name for name in reach.read(programs.directory(checked)) if name not in declared]
    return [
        f"{path} has [hosts.{name}], but the program has no host `{name}`: did you mean [hosts.{meant[0]}]?"
        for name in others
        if (meant := nearest(name, unreached))
    ]


def wanted_nodes(checked: Checked, experiment: Experiment, reached_hosts: Mapping[str, Reach]) -> int:
    """The nodes that an allocation must have, if Slurm assigns hosts and some are not reached; otherwise 0."""
    names = hosts_of(experiment)
    if all(name in reached_hosts for name in names):
        return 0
    from zlang.run.transport import reach

    if reach.engine(programs.directory(checked)) != reach.SLURM:
        return 0
    return sum(name not in reached_hosts or reached_hosts[name].source == reach.NODES for name in names)


def require_nodes(checked: Checked, experiment: Experiment, reached_hosts: Mapping[str, Reach], command: str) -> None:
    """Raise RunError if Slurm assigns hosts, and this is not an allocation with enough nodes."""
    if count := wanted_nodes(checked, experiment, reached_hosts):
        names = [name for name in hosts_of(experiment) if name not in reached_hosts]
        message = "no node of Slurm is allocated for " + ", ".join(f"`{name}`" for name in names)
        raise RunError(message, f"type: salloc --nodes={count} {command}")


def require_reached(planned: Planned, reached_hosts: Mapping[str, Reach]) -> None:
    """Raise RunError if hosts have trials but no address."""
    names = [name for name in planned.schedule.hosts if name and name not in reached_hosts]
    if names:
        first = names[0]
        hint = f'write [hosts.{first}] in zlang.toml and, below it, ssh = "USER@HOST"; or add --reach {first}=USER@HOST'
        ways = f"{hint}; and so on for each" if len(names) > 1 else hint
        raise RunError("zlang does not know how to reach " + ", ".join(f"`{name}`" for name in names), ways)


def contradictions(planned: Planned, visits: Iterable[Visit]) -> list[str]:
    """Facts of hosts in the program that contradict their machines, and what does not suit, one sentence each."""
    commands = {command: name for name, command in hosts.probes().items()}
    result: list[str] = []
    for visited in visits:
        answers = {command: visited.answers[name] for command, name in commands.items()}
        result += plans.contradictions_of(planned, visited.host, answers.__getitem__)
        result += [f"on `{visited.host}`, {text}" for text in visited.objections]
    return result


def visit(
    planned: Planned, reached_hosts: Mapping[str, Reach], without: Container[str] = (), *, is_strict: bool
) -> list[Visit]:
    """Connect to the machines of a plan and examine them, but for requirements in `without`.

    Raises RunError, if strict, where one is lacking.
    """
    from zlang.run.executor import LocalExecutor
    from zlang.run.transport.machines import Machines

    run = f"visit-{os.urandom(4).hex()}"
    local = LocalExecutor(run, Path.cwd())
    reached = [replace(reach, wait=0) for reach in reached_hosts.values()]  # do not wait for a machine that is lost now
    with Machines(reached, run, Path.cwd(), local) as machines:
        problems = machines.connect()
        needed = {name: arming.without(tools, without) for name, tools in planned.plan.header.machines.items()}
        visits = machines.look(needed, hosts.probes(), plans.examinations(planned))
        with suppress(RunError):  # a machine that is lost by now removes the folder of a visit itself
            machines.forget()
    lacking = [*problems, *(problem for visited in visits for problem in _lacking(visited))]
    if is_strict and lacking:
        raise joined(lacking)
    return visits


def _lacking(visited: Visit) -> Iterator[RunError]:
    """The reasons why a machine cannot carry out its part."""
    if visited.problem:
        yield RunError(visited.problem, visited.hint)
    for tool in visited.tools:
        if tool.path is None:
            message = "zlang must run as root" if tool.name == "root" else arming.lack(tool.name)
            yield RunError(f"on `{visited.host}`, {message}", tool.hint)
