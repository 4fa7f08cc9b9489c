"""`zlang hosts`: the hosts of a program, or of the project file, and how each is reached."""

from __future__ import annotations

import json
from pathlib import Path

from zlang.check.check import Overrides
from zlang.cli import checking, render
from zlang.pipeline import machines
from zlang.run.transport import reach as reaching
from zlang.run.transport.reach import Reach


def hosts(file: str | None, reach: list[str], *, as_json: bool) -> int:
    """List hosts; return 1 if nothing says how to reach a host of the program."""
    entries: dict[str, Reach | None] = {}
    misspelt: dict[str, None] = {}
    nodes = 0
    if file is None:
        entries |= reaching.read(Path.cwd(), reach)
    else:
        checked = checking.sound(file, Overrides())
        for experiment in checked.program.experiments.values():
            reached = machines.reached(checked, experiment, reach)
            entries |= {name: reached.get(name) for name in machines.hosts_of(experiment)}
            misspelt |= dict.fromkeys(machines.misspelt(checked, experiment, reached))
            nodes = max(nodes, machines.wanted_nodes(checked, experiment, reached))
    if as_json:
        print(json.dumps([_row(name, entry) for name, entry in entries.items()]))
    else:
        width = max(map(len, entries), default=0)
        for name, entry in entries.items():
            print(f"{name:{width}}  {render.visible(reached_text(name, entry, nodes))}")
        for sentence in misspelt:
            print(render.visible(sentence))
        if not entries:
            print("no hosts: declare them in the program, and say in [hosts.NAME] of zlang.toml how to reach each")
    return 1 if None in entries.values() else 0


def reached_text(name: str, entry: Reach | None, nodes: int = 0) -> str:
    """The way to a host, in words; `nodes` is how many Slurm has to allocate."""
    if entry is None and nodes:
        return f"no node of Slurm: begin the command with `salloc --nodes={nodes}`"
    if entry is None:
        return f"no address: write [hosts.{name}] in zlang.toml, or add --reach {name}=USER@HOST"
    if entry.address is None:
        return "this machine"
    root = ", as root through sudo" if entry.sudo else ""
    return f"ssh {entry.address}, in {entry.directory}{root}"


def _row(name: str, entry: Reach | None) -> dict[str, object]:
    if entry is None:
        return {"host": name, "reached": False}
    place = {"ssh": str(entry.address), "directory": entry.directory, "wait": entry.wait} if entry.address else {}
    place |= {"sudo": True} if entry.sudo else {}
    return {"host": name, "reached": True, "local": entry.is_local, **place, "source": entry.source}
