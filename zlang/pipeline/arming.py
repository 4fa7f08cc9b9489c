"""The conditions for carrying out a plan: what must exist, and what a person must allow."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from zlang.check.values import quote
from zlang.errors import RunError
from zlang.frozen import replace
from zlang.hints import TYPE_CHECKING
from zlang.suggest import did_you_mean

if TYPE_CHECKING:
    from zlang.check.program import Program
    from zlang.plan.plan import Guarded, Header
    from zlang.run.arming import Armed
    from zlang.run.folder import Folder
    from zlang.run.machine import ToolSearch


def search_tools(tools: Mapping[str, str]) -> ToolSearch:
    """Begin a search of this machine for tools, privileges (`root`) and commands, each with how to get it."""
    from zlang.run import machine

    return machine.ToolSearch(tools)


def own_commands(program: Program) -> set[str]:
    """The commands that the program's own kinds require: only a run executes them, as they are not the library's."""
    from zlang.run import machine

    tools = {tool for kind in program.kinds.values() if kind.is_own for tool, _ in kind.requires}
    return {tool for tool in tools if machine.is_command(tool)}


def without(tools: Mapping[str, str], commands: Container[str]) -> dict[str, str]:
    """The requirements other than these commands."""
    return {tool: hint for tool, hint in tools.items() if tool not in commands}


def required_commands(header: Header) -> Iterator[tuple[str, str, str]]:
    """The commands that must succeed before a run starts: the host (empty: here), the command, and what to do."""
    from zlang.run import machine

    for host, tools in (("", header.tools), *header.machines.items()):
        yield from ((host, tool, hint) for tool, hint in tools.items() if machine.is_command(tool))


def require_tools(tools: Mapping[str, str]) -> None:
    """Raise RunError if something that a plan needs is missing."""
    from zlang.plan.plan import ROOT

    with search_tools(tools) as search:
        missing = search.missing()
    if ROOT in missing:
        raise RunError("this plan must be run by root", f"{missing[ROOT]}: type `sudo zlang …`")
    for tool, hint in missing.items():
        raise RunError(lack(tool), f"{hint}; `zlang doctor` lists everything that is missing")


def lack(tool: str) -> str:
    """The sentence about a requirement that is not met."""
    from zlang.run import machine

    return f"`{tool}` fails" if machine.is_command(tool) else f"`{tool}` is not installed"


def inspect_targets(header: Header, wipe: Sequence[str] = ()) -> Iterator[tuple[Guarded, list[str], list[str]]]:
    """Each device that the run did not make and will write to: its content, and the part that prevents writing."""
    from zlang.run import machine

    for guarded_thing in header.guarded:
        answers = [machine.look(step.command, Path.cwd(), " ".join(wipe)) for step in guarded_thing.steps]
        yield (
            guarded_thing,
            [line for output, _ in answers for line in output],
            [line for _, against in answers for line in against],
        )


def arm_options(header: Header) -> str:
    """The command-line options that arm everything to which a plan writes."""
    return _options(header.armed)


def _options(names: Iterable[str]) -> str:
    return " ".join(f"--arm {quote(name)}" for name in names)


def arm(header: Header, armed: Armed, line: str) -> None:
    """Raise RunError unless exactly the devices that will be written to are armed; `line` is what to type."""
    _require_armed(header.armed, armed, line)


def share(wanted: Sequence[Sequence[str]], armed: Armed, line: str) -> list[Armed]:
    """The armed devices that each plan may write to; `wanted` has the devices of each plan.

    Raises RunError unless exactly these devices are armed; `line` is what to type.
    """
    _require_armed(list(dict.fromkeys(name for names in wanted for name in names)), armed, line)
    return [
        replace(
            armed,
            names=tuple(name for name in armed.names if name in names),
            wipe=tuple(name for name in armed.wipe if name in names),
        )
        for names in wanted
    ]


def _require_armed(wanted: Sequence[str], armed: Armed, line: str) -> None:
    """Raise RunError unless exactly these devices are armed."""
    require_named(wanted, armed)
    if set(wanted) - set(armed.names):
        wiped = "".join(f" --wipe {quote(name)}" for name in armed.wipe)
        message = "the plan writes to devices that the run did not create: " + ", ".join(wanted)
        raise RunError(message, f"if everything on them may be lost, type: {line} {_options(wanted)}{wiped}")


def require_named(wanted: Sequence[str], armed: Armed) -> None:
    """Raise RunError if an armed name is not among those of a plan's devices."""
    foreign = [name for name in (*armed.names, *armed.wipe) if name not in wanted]
    if foreign:
        hint = did_you_mean(foreign[0], wanted) or (
            "it writes to " + ", ".join(wanted) if wanted else "omit `--arm` and `--wipe`"
        )
        raise RunError(f"the plan does not write to {foreign[0]}", hint)


def require_clear(header: Header, armed: Armed) -> None:
    """Raise RunError if something prevents writing to a device that the run did not make."""
    against = [line for _, _, lines in inspect_targets(header, armed.wipe) for line in lines]
    if against:
        raise RunError("; ".join(against), "the run did not start, and nothing was written")


def rearm(folder: Folder, text: Armed, line: str) -> bool:
    """Arm the devices that a run writes to, as requested now or since the machine started; return whether any is armed.

    Raises RunError.
    """
    from zlang.run import arming, machine

    header, boot = folder.read_plan().header, machine.boot()
    armed = text if text.names or text.wipe else arming.load(folder.path, header.plan, boot)
    if header.armed or armed.names or armed.wipe:
        arm(header, armed, line)
        arming.save(folder.path, armed, header.plan, boot)
        return True
    return False
