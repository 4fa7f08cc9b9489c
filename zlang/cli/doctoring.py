"""`zlang doctor`: the tools and facts of this machine, and what a program needs that it lacks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from zlang.check import hosts, library
from zlang.check.check import Checked, Overrides
from zlang.check.program import Value
from zlang.check.values import cell, show
from zlang.cli import checking, render
from zlang.cli.importing import write_new
from zlang.diagnostics import Diagnostic
from zlang.pipeline import arming, importing, plans
from zlang.plan.plan import ROOT
from zlang.run import machine
from zlang.units import Quantity, show_rounded


def doctor(file: str | None, save: Path | None, reach: list[str], *, as_json: bool) -> int:
    """Look for the tools that a program, or the whole library, needs, and for the needs of its properties."""
    checked = None if file is None else checking.sound(file, Overrides())
    if checked is not None and save is None:
        from zlang.cli import visiting

        code = visiting.visit(checked, reach, as_json=as_json)
        if code is not None:
            return code
    facts = hosts.facts({name: machine.answer(command) for name, command in hosts.probes().items()})
    untried = arming.own_commands(checked.program) if checked else set()
    tools = machine.tools(arming.without(_wanted(checked, facts), untried))
    missing = [tool for tool in tools if tool.path is None]
    lacking = _missing_on_machine(checked, facts) if checked else []
    objections = list(dict.fromkeys(_objections(checked))) if checked else []
    if save is not None:
        write_new(save, importing.import_host())
    if as_json:
        shown = {
            "tools": [{"tool": t.name, "path": t.path, "version": t.version, "hint": t.hint} for t in tools],
            "root": machine.is_root(),
            "untried": sorted(untried),
            "missing": [tool.name for tool in missing],
            "facts": {name: cell(value) for name, value in facts.items()},
            "lacking": [*(finding.message for finding in lacking), *objections],
        }
        print(json.dumps(shown))
        return 1 if missing or lacking or objections else 0
    for tool in tools:
        if tool.path:
            print(f"  {tool.name:10} {render.visible(tool.path)}  {render.visible(tool.version)}")
        else:
            state = "fails" if machine.is_command(tool.name) else "missing"
            print(f"  {tool.name:10} {state}: {tool.hint}")
    for command in sorted(untried):
        print(f"  {render.visible(command)}: required, and tried by `run` only")
    print(
        f"  {'privileges':10} "
        + ("root" if machine.is_root() else "not root: only files and directories can be measured")
    )
    fact_texts = {
        name: show_rounded(fact) if isinstance(fact, Quantity) else show(fact) for name, fact in facts.items()
    }
    print("\n" + "".join(f"  {name:10} {render.visible(text)}\n" for name, text in fact_texts.items()))
    for finding in lacking:
        print(render.diagnostic(finding, colour=False) + "\n")
    for sentence in objections:
        print(f"{render.visible(sentence)}\n")
    count = len(missing) + len(lacking)
    if count or not objections:
        print(f"{count} missing" if count else "nothing is missing")
    if save is not None:
        print(f"written: {render.visible(str(save))}")
    return 1 if missing or lacking or objections else 0


def _objections(checked: Checked) -> Iterator[str]:
    """Objections to the trials of a program on this machine, one sentence each."""
    for experiment in checked.program.experiments.values():
        planned = plans.plan(checked, experiment, plans.DEFAULT_SEED, Overrides())
        for commands in plans.examinations(planned).values():
            yield from filter(None, map(machine.answer, commands))


def _wanted(checked: Checked | None, facts: Mapping[str, Value]) -> dict[str, str]:
    if checked is None:
        shipped = library.load()
        platform = hosts.platform_of(hosts.machine_instance("this machine", facts))
        kinds = [shipped.kind(name) for name in shipped.names()]
        every = {tool: hint for kind in kinds for tool, hint in hosts.tools_of(kind, platform)}
        return {tool: hint for tool, hint in every.items() if tool != ROOT}
    result: dict[str, str] = {}
    for experiment in checked.program.experiments.values():
        result |= plans.plan(checked, experiment, plans.DEFAULT_SEED, Overrides()).plan.header.tools
    return result


def _missing_on_machine(checked: Checked, facts: Mapping[str, Value]) -> list[Diagnostic]:
    """Findings about tools that a program uses and this machine lacks."""
    here = hosts.machine_instance("this machine", facts)
    things = [thing for experiment in checked.program.experiments.values() for thing, _ in hosts.used_by(experiment)]
    result = {(finding.span, finding.message): finding for thing in things for finding in hosts.lacking(thing, here)}
    return list(result.values())
