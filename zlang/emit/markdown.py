"""A plan as a runbook for people: what is made and removed, what is needed, and every command with its purpose.

Rules: commands are in fences longer than any run of backticks in them, at the margin, so that no command can end its
fence; all other text is a single line in which every character with a meaning in Markdown or HTML is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from zlang.emit.base import NOT_DECIDED, one_line, point
from zlang.plan.plan import Action, Header, Plan, Setup, Step, Trial
from zlang.plan.state import Alter, Change, Make, Unmake, Walk
from zlang.text import LAYOUT, visible

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&:@])")
_SHORTEST_FENCE = 3


def emit(plan: Plan) -> Iterator[str]:
    """Yield the runbook."""
    yield from _head(plan.header)
    yield from _inventory(plan)
    yield from _facts(plan.header.facts)
    yield from _trials(plan)


def _head(header: Header) -> Iterator[str]:
    yield f"# {_escape(header.title or header.experiment)}\n\n"
    yield (
        f"{header.counts}. "
        + (f"{NOT_DECIDED.format(trials=header.trials)} " if header.is_sequential else "")
        + f"Plan `{header.plan}`, seed {header.seed}.\n\n"
    )
    yield (
        "`sh -c` runs every command in the directory where the run was started. "
        "`RUN` is the name of the run, `OUT` the directory for the output of the step (absolute), `CDPATH` is empty, "
        "`LC_ALL` is `C`.\n\n"
    )
    if header.tools:
        yield "## Tools needed\n\n"
        for tool, hint in header.tools.items():
            yield f"- {_escape(tool)}" + (f": {_escape(hint)}\n" if hint else "\n")
        yield "\n"


def _inventory(plan: Plan) -> Iterator[str]:
    yield "## Resources that the run creates and removes\n\n"
    nothing = True
    for item in plan.items():
        if isinstance(item, Setup):
            nothing = False
            on = f", on {_escape(' and '.join(reversed(item.beneath)))}" if item.beneath else ""
            yield f"- {_escape(item.key)}{on}: {_escape(item.creates)}\n"
    yield "Nothing.\n\n" if nothing else "\n"


def _facts(facts: Sequence[Step]) -> Iterator[str]:
    if facts:
        yield "## Facts about the machine\n\n"
        yield from _commands([("", step) for step in facts])


def _trials(plan: Plan) -> Iterator[str]:
    walk, setups = Walk(), dict[str, Setup]()
    for item in plan.items():
        if isinstance(item, Setup):
            setups[item.signature] = item
            continue
        yield f"## Trial {item.number}: {_escape(point(item))}\n\n"
        where = f", on {_escape(item.host)}" if item.host else ""
        yield f"Replicate {item.replicate} of `{item.identity}`{where}, block {item.block}, "
        yield f"cache {_escape(item.cache)}.\n\n"
        changes: list[tuple[str, Step]] = []
        for change in walk.enter([setups[signature] for signature in item.setups]):
            changes.extend(_labelled(change))
        yield from _commands([*changes, *(("", step) for step in _in_order(item))])
        walk.leave(item.invalidates)
    if walk.state.standing:
        yield "## At the end\n\n"
        yield from _commands([pair for undo in walk.state.teardown() for pair in _labelled(undo)])


def _labelled(change: Change) -> Iterator[tuple[str, Step]]:
    match change:
        case Make():
            verb = "make"
        case Alter():
            verb = "change"
        case Unmake():
            verb = "unmake"
    return ((f"{verb} {change.setup.key}: ", step) for step in change.steps)


def _in_order(trial: Trial) -> list[Step]:
    return sorted(trial.steps, key=lambda step: step.action is Action.TIDY)


def _commands(steps: Sequence[tuple[str, Step]]) -> Iterator[str]:
    for number, (label, step) in enumerate(steps, 1):
        yield f"**{number}.** {_escape(label + step.why)} _({_escape(step.name)}, {_limits(step)})_\n\n"
        if step.command:
            yield _fenced(visible(step.command, LAYOUT))
        if step.expect is not None and step.action is not Action.ASK:
            yield f"It must print:\n\n{_fenced(visible(step.expect, LAYOUT))}"


def _limits(step: Step) -> str:
    where = "" if step.host == "local" else f" on {_escape(step.host)}"
    if step.action is Action.ASK:
        return f"manual step{where}"
    if step.action is Action.COLLECT:
        return f"in the background until the measurement is over{where}"
    return f"at most {step.timeout} s{where}"


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    return f"{fence}sh\n{text}\n{fence}\n\n"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", one_line(text))
