"""`zlang doctor` for a program with remote hosts: what each machine has, and what it lacks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from zlang.check import hosts
from zlang.check.check import Checked, Overrides
from zlang.cli import render
from zlang.cli.hosting import reached_text
from zlang.pipeline import arming, machines, plans
from zlang.pipeline.plans import Planned
from zlang.run import machine
from zlang.run.transport.machines import Visit
from zlang.run.transport.reach import Reach


@dataclass(frozen=True, slots=True)
class VisitedHost:
    """A host, how it is reached, and the facts found there, if it is reached."""

    name: str
    reach: Reach | None = None
    visit: Visit = field(default_factory=lambda: Visit("", "it has no address"))
    contradictions: tuple[str, ...] = ()

    @property
    def missing(self) -> list[machine.Tool]:
        """The tools that the host lacks."""
        return [tool for tool in self.visit.tools if tool.path is None]

    @property
    def is_ready(self) -> bool:
        """Whether the host has everything that the program needs."""
        return not (self.visit.problem or self.missing or self.contradictions)


def visit(checked: Checked, reach: list[str], *, as_json: bool) -> int | None:
    """Visit the machines of a program; return the exit code, or None if none of its hosts is reached."""
    visited: dict[str, VisitedHost] = {}
    misspelt: dict[str, None] = {}
    nodes = 0
    for experiment in checked.program.experiments.values():
        reached = machines.reached(checked, experiment, reach)
        visited |= {name: VisitedHost(name) for name in machines.hosts_of(experiment) if name not in reached}
        misspelt |= dict.fromkeys(machines.misspelt(checked, experiment, reached))
        nodes = max(nodes, machines.wanted_nodes(checked, experiment, reached))
        if reached:
            planned = plans.plan(checked, experiment, plans.DEFAULT_SEED, Overrides(), reached=reached)
            untried = arming.own_commands(checked.program)
            for each in machines.visit(planned, reached, untried, is_strict=False):
                visited[each.host] = VisitedHost(each.host, reached[each.host], each, _contradictions(planned, each))
    if not as_json:
        print("".join(f"{render.visible(sentence)}\n" for sentence in misspelt), end="")
    if not any(host.reach for host in visited.values()):
        if len(visited) > 1 and not as_json:
            print("".join(f"{name}  {reached_text(name, None, nodes)}\n" for name in visited) + "\nthis machine")
        return None
    lacking = sum(not host.is_ready for host in visited.values())
    if as_json:
        print(json.dumps({"machines": [_row(host) for host in visited.values()]}))
    else:
        for host in visited.values():
            _show(host, nodes)
        verb = "is" if lacking == 1 else "are"
        unready = f"{lacking} of {len(visited)} machines {verb} not ready for this program"
        print(unready if lacking else "nothing is missing")
    return 1 if lacking else 0


def _contradictions(planned: Planned, visit: Visit) -> tuple[str, ...]:
    """The facts in the program that a machine contradicts, and the features that its versions lack."""
    if visit.problem:
        return ()
    instance = hosts.machine_instance(visit.host, hosts.facts(visit.answers))
    used = [thing for thing, host in hosts.used_by(planned.experiment) if host and host.label == visit.host]
    lacking = [finding.message for thing in used for finding in hosts.lacking(thing, instance)]
    return tuple(dict.fromkeys([*machines.contradictions(planned, [visit]), *lacking]))


def _row(host: VisitedHost) -> dict[str, object]:
    visit = host.visit
    row: dict[str, object] = {"host": host.name, "reached": not visit.problem, "problem": visit.problem}
    if visit.problem:
        return {**row, "hint": visit.hint or reached_text(host.name, host.reach)}
    tools = [{"tool": t.name, "path": t.path, "version": t.version, "hint": t.hint} for t in visit.tools]
    row |= {"clock": {"ahead": visit.offset, "error": visit.error}, "tools": tools}
    return {**row, "missing": [tool.name for tool in host.missing], "contradictions": list(host.contradictions)}


def _show(host: VisitedHost, nodes: int) -> None:
    print(f"{host.name}  {render.visible(reached_text(host.name, host.reach, nodes))}")
    visit = host.visit
    if visit.problem:
        if host.reach:
            print(f"  {render.visible(visit.problem)}")
        print(f"  help: {render.visible(visit.hint)}\n" if visit.hint else "")
        return
    if host.reach and not host.reach.is_local:
        way = "ahead" if visit.offset >= 0 else "behind"
        print(f"  {'clock':10} {1000 * abs(visit.offset):,.1f} ms {way} (± {1000 * visit.error:.1f} ms)")
    for tool in visit.tools:
        if tool.path:
            print(f"  {tool.name:10} {render.visible(tool.path)}  {render.visible(tool.version)}")
        else:
            print(f"  {tool.name:10} {'fails' if machine.is_command(tool.name) else 'missing'}: {tool.hint}")
    for sentence in host.contradictions:
        print(f"  {render.visible(sentence)}")
    print()
