"""The steps of an action: its commands with their values filled in.

In: an action of a kind, and frames that differ in the values of some properties and in their seeds. Out: `Step`s. Rule:
what the frames have in common is filled in once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from zlang.cache import Cache
from zlang.check import hosts, values
from zlang.check.instances import Frame, Levels
from zlang.check.program import Command, Expr, Instance, KindAction, ReaderDef, Value
from zlang.check.remembered import Family, Member, Same
from zlang.check.rendering import shell_text
from zlang.diagnostics import Code, ProgramError
from zlang.frozen import replace
from zlang.plan.plan import LOCAL, Action, Here, Reader, Step
from zlang.units import Quantity

_DEFAULT_TIMEOUT = 3600
_WRAPPED = ("run", "together", "wait")
"""The actions of a workload or an event that its wrappers start."""


class ActionSteps:
    """The steps of an action in all frames of a family.

    `here` is the machine that carries the plan out (empty if it has no name); commands for any other machine become
    manual steps. If several machines are reached, or the machine is unknown, each step names its own.
    """

    def __init__(self, action: KindAction, verb: Action, name: str, family: Family, here: Here) -> None:
        frame: Frame = family.first
        assert frame.instance is not None, f"BUG: {name} is of nothing"
        machine = frame.instance.origin or hosts.host_of(frame.target or frame.instance)
        place = machine.label if machine else ""
        is_here = here is None or not place or place == here or (not isinstance(here, str) and place in here)
        self._name, self._elsewhere, self._names_host = name, "" if is_here else place, not isinstance(here, str)
        self._host = place if self._names_host and place else LOCAL
        self._action, self._verb, self._family = action, verb, family
        last = len(action.commands)
        reader = self._reader(f"{self._step_name(last)}.out")
        self._steps = [
            self._step(number, command, frame, reader if number == last else Same(None))
            for number, command in enumerate(action.commands, start=1)
        ]

    def at(self, frame: Frame, levels: Levels = ()) -> list[Step]:
        """Return the steps in a frame of the family."""
        steps = [step(frame, levels) for step in self._steps]
        if not self._elsewhere or not steps:
            return steps
        return [_request_on_host(steps, self._name, self._elsewhere, self._host)]

    def _step_name(self, number: int) -> str:
        return self._name if len(self._action.commands) == 1 else f"{self._name}-{number}"

    def _reader(self, output: str) -> Member[Reader | None]:
        """The reader of the output, extended by the metrics of wrappers."""
        readers, action = self._action.readers, self._action
        reads = readers[0].reads if readers else frozenset[str]()

        def reader(frame: Frame) -> Reader | None:
            return with_wrappers(reader_of(readers[0], frame, output) if readers else None, action, frame, output)

        return self._family.once(reader, reads)

    def _step(self, number: int, command: Command, first: Frame, reader: Member[Reader | None]) -> Member[Step]:
        """One step."""
        name, host, verb = self._step_name(number), self._host, self._verb
        text: Member[str] = Same("")
        why: Member[str] = Same(command.why)
        timeout: Member[int] = Same(0)
        expect: Member[str | None] = Same(None)
        if command.request is not None:
            # A person who is asked to verify something vouches for it.
            verb, why = Action.ASK, self._family.text(command.request, _unquoted)
            expect = Same("" if self._action.name.startswith("verify") else None)
        else:
            text = _wrapped(self._family.command(command.text), self._action, first)
            timeout = Same(_DEFAULT_TIMEOUT)
            if (limit := command.timeout) is not None:
                timeout = self._family.once(lambda frame: _seconds(limit.value(frame)), limit.reads)
            if command.expect is not None:
                expect = self._family.text(command.expect, _unquoted)

        def step(frame: Frame, levels: Levels) -> Step:
            return Step(
                name=name,
                action=verb,
                command=text(frame, levels),
                why=why(frame, levels),
                timeout=timeout(frame, levels),
                host=host,
                expect=expect(frame, levels),
                reader=reader(frame, levels),
            )

        if not (
            isinstance(why, Same)
            and isinstance(timeout, Same)
            and isinstance(expect, Same)
            and isinstance(reader, Same)
        ):
            return step
        if isinstance(text, Same):
            return Same(step(first, ()))
        reason, seconds, printed, read_by = why.value, timeout.value, expect.value, reader.value
        return lambda frame, levels: Step(
            name=name,
            action=verb,
            command=text(frame, levels),
            why=reason,
            timeout=seconds,
            host=host,
            expect=printed,
            reader=read_by,
        )


def steps_of(action: KindAction, verb: Action, name: str, frame: Frame, here: Here) -> list[Step]:
    """The steps of an action in one frame; workloads of one family in the same place share what is filled in."""
    thing = frame.instance
    if thing is None or thing.kind.role != "workload" or not thing.family or type(thing.values) is not dict:
        return ActionSteps(action, verb, name, Family(frame), here).at(frame)
    places = thing.parent, thing.origin, thing.under, frame.target, frame.name, frame.context.get("gate")
    key = (thing.family, tuple(thing.values), *places, id(action), verb, name, here)
    shared = _SHARED.get(key)
    if shared is None:
        family = Family(frame, thing.varying)
        shared = _SHARED[key] = action, family, ActionSteps(action, verb, name, family, here)
    _, family, steps = shared
    return steps.at(frame, family.levels(frame))


_SHARED = Cache[object, tuple[KindAction, Family, ActionSteps]](512)
"""The steps of actions of workloads; the action is kept, so that no other gets its memory address."""


def _request_on_host(steps: Sequence[Step], name: str, place: str, host: str) -> Step:
    """The manual step that replaces commands on another machine; `host` keeps that machine from serving two trials."""
    shown = "\n".join(_shown_command(step) for step in steps)
    why = "; ".join(dict.fromkeys(step.why for step in steps if step.why))
    expect = "\n".join(step.expect for step in steps if step.expect is not None)
    is_claim = any(step.expect is not None for step in steps)
    return Step(
        name, Action.ASK, shown, f"on {place}: {why or name}", 0, host=host, expect=expect if is_claim else None
    )


def _shown_command(step: Step) -> str:
    if step.expect is None:
        return step.command
    printed = "\n".join(f"# {line}" for line in step.expect.splitlines()) or "# nothing"
    return f"{step.command}\n# which has to print:\n{printed}"


def _wraps(action: KindAction, frame: Frame) -> Iterator[tuple[Instance, KindAction]]:
    """The wrappers of a workload, the outermost first, each with its action on the platform."""
    workload = frame.instance
    for wrapper in workload.under if workload is not None and action.name in _WRAPPED else ():
        wrap = hosts.action_of(wrapper, "wrap", at=workload.origin if workload and workload.origin else frame.target)
        assert wrap is not None, f"BUG: {wrapper.key} starts nothing on this platform"
        yield wrapper, wrap


def with_wrappers(reader: Reader | None, action: KindAction, frame: Frame, output: str) -> Reader | None:
    """The reader of a workload, extended by the metrics of its wrappers."""
    counts: list[object] = []
    for wrapper, wrap in _wraps(action, frame):
        for definition in wrap.readers:
            metrics = definition.fill(Frame(wrapper, frame.target))["found"]
            assert isinstance(metrics, list | tuple), f"BUG: {wrapper.key} has no list of metrics"
            counts += metrics
    if not counts:
        return reader
    if reader is None:
        return Reader("shell", output, {"found": counts})
    return replace(reader, args={**reader.args, "under": counts})


def _wrapped(command: Member[str], action: KindAction, first: Frame) -> Member[str]:
    """The command of a workload inside its wrappers, the outermost first."""
    wraps = [*_wraps(action, first)]
    if not wraps:
        return command

    def wrapped(frame: Frame, levels: Levels) -> str:
        text = command(frame, levels)
        for wrapper, wrap in reversed(wraps):
            text = shell_text(wrap.commands[0].text, Frame(wrapper, frame.target, {"command": ("sh", "-c", text)}))
        return text

    return wrapped


def filled(parts: Iterable[str | Expr], frame: Frame) -> str:
    """Fill in the values of a kind's text, without quoting. Raises ProgramError."""
    return "".join([part if isinstance(part, str) else _unquoted(part, frame) for part in parts])


def _unquoted(part: Expr, frame: Frame) -> str:
    try:
        return _text_lines(part.value(frame))
    except values.ValueProblem as problem:
        raise ProgramError(Code.NO_VALUE.at(part.span, message=str(problem))) from None


def _text_lines(value: Value) -> str:
    """The text of a value; a list has one line for each element."""
    return "\n".join(map(_text_lines, value)) if isinstance(value, tuple) else values.plain(value)


def _seconds(value: Value) -> int:
    if not isinstance(value, Quantity):
        return _DEFAULT_TIMEOUT
    return max(1, -(-value.amount.numerator // value.amount.denominator))


def reader_of(definition: ReaderDef, frame: Frame, output: str) -> Reader:
    """The reader of a step; without an artefact of its own it reads the step's output."""
    return Reader(definition.reader, filled(definition.artefact, frame) or output, definition.fill(frame))
