"""From declared things to setups: the states in which they are made, and the commands that make them.

In: what a target stands on, with itself, parents first, at a point. Out: `Setup`s, and the steps of any action.
Rule: two things have one signature exactly where the same commands bring them into being and what was set on them since
is the same, whatever came before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from zlang.check import values
from zlang.check.program import Absent, ActionDef, Expr, Instance, ReaderDef, Symbol, Value
from zlang.check.resolve import Frame, shell_text
from zlang.plan.plan import Action, Reader, Setup, Step
from zlang.units import Quantity

_DEFAULT_TIMEOUT = 3600
_KEPT = 4096


class Setups:
    """The setups of a plan; what many trials share is worked out once."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[str, Setup] = {}

    def of(self, resources: Sequence[Instance], treatment: Instance | None) -> tuple[Setup, ...]:
        """The setups of resources, each standing on the one before; the last gets the treatment."""
        carried = (*resources[1:], None)
        setups = [self._setup(one, above) for one, above in zip(resources, carried, strict=True)]
        if treatment is not None:
            setups[-1] = self._treated(setups[-1], treatment, resources[-1])
        return tuple(setups)

    def _setup(self, instance: Instance, carried: Instance | None) -> Setup:
        """A resource in its state; what carries one thing at a time is another for each state of that."""
        decisive = [instance.digest, instance.key]
        if instance.kind.carries_one and carried is not None:
            decisive += [carried.digest, carried.key]
        signature = values.digest(*decisive)[:12]
        known = self._known.get(signature)
        if known is not None:
            return known
        frame = Frame(instance)
        make = instance.kind.action("present" if instance.is_given else "create")
        unmake = None if instance.is_given else instance.kind.action("destroy")
        parent = instance.parent if instance.parent and instance.parent.kind.role == "resource" else None
        offers = [offer.value(frame) for offer in instance.kind.offers.values()]
        offered = [offer if isinstance(offer, str) else values.show(offer) for offer in offers]
        setup = Setup(
            signature=signature,
            key=instance.key,
            parent=parent.key if parent else None,
            creates="" if instance.is_given else f"{instance.kind.name} {instance.label} ({'/'.join(offered)})",
            make=tuple(steps_of(make, Action.PREPARE, f"create-{instance.key}", frame)) if make else (),
            unmake=tuple(steps_of(unmake, Action.TIDY, f"destroy-{instance.key}", frame)) if unmake else (),
        )
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[signature] = setup
        return setup

    def _treated(self, setup: Setup, treatment: Instance, on: Instance) -> Setup:
        """The target's setup, followed by what puts it into the wanted state: made anew, it is treated anew."""
        action = treatment.kind.action("apply" if treatment.kind.role == "treatment" else "run")
        assert action is not None, f"BUG: {treatment.kind.name} has nothing to do"
        signature = values.digest(setup.signature, treatment.digest)[:12]
        frame = drawn_frame(treatment, on, values.digest(str(self._seed), signature))
        steps = steps_of(action, Action.PREPARE, f"before-{treatment.key}", frame)
        said = [replace(step, why=f"before the measurement: {step.why}") for step in steps]
        return replace(setup, signature=signature, make=(*setup.make, *said))


def drawn_frame(workload: Instance, on: Instance | None, drawn: str) -> Frame:
    """A frame whose seed is drawn from a hash, of 31 bits as fio takes it."""
    return Frame(workload, on, {"seed": Quantity(Fraction(int(drawn[:8], 16) & 0x7FFFFFFF))})


def steps_of(action: ActionDef, verb: Action, name: str, frame: Frame) -> list[Step]:
    """The commands of an action with their values filled in."""
    steps = []
    reader = _reader(action.readers[0], frame) if action.readers else None
    for i, command in enumerate(action.commands, start=1):
        timeout = command.timeout.value(frame) if command.timeout else None
        steps.append(
            Step(
                name=name if len(action.commands) == 1 else f"{name}-{i}",
                action=verb,
                command=shell_text(command.text, frame),
                why=command.why,
                timeout=_seconds(timeout),
                expect=None if command.expect is None else filled(command.expect, frame),
                reader=reader if i == len(action.commands) else None,
            )
        )
    return steps


def filled(parts: tuple[str | Expr, ...], frame: Frame) -> str:
    """A text of a kind with its values filled in, as it is, without quotes."""
    return "".join(part if isinstance(part, str) else _lines(part.value(frame)) for part in parts)


def _lines(value: Value) -> str:
    """The text of a value; a list is a line for each."""
    return "\n".join(map(_lines, value)) if isinstance(value, tuple) else values.plain(value)


def _seconds(value: Value) -> int:
    if not isinstance(value, Quantity):
        return _DEFAULT_TIMEOUT
    return max(1, -(-value.amount.numerator // value.amount.denominator))


def _reader(definition: ReaderDef, frame: Frame) -> Reader:
    arguments: dict[str, object] = {}
    for name, expr in definition.arguments:
        value = expr.value(frame)
        if not isinstance(value, Absent):
            arguments[name] = _argument(value)
    return Reader(definition.reader, filled(definition.artefact, frame), arguments)


def _argument(value: Value) -> object:
    if isinstance(value, tuple):
        return [_argument(item) for item in value]
    if isinstance(value, Symbol):
        return [value.name] if value.argument is None else [value.name, _argument(value.argument)]
    return values.cell(value)
