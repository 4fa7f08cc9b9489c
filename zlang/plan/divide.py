"""One machine's share of a plan for several: setups and trials -> the steps of that machine.

In: items of a plan in which each step names its machine. Out: the same items with only the steps of one machine, or
nothing. Rule: a machine may wait for an instant, but not for another machine.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace

from zlang.errors import RunError
from zlang.plan.plan import LOCAL, Action, Plan, Setup, Step, Trial


def steps_of(steps: Iterable[Step], machine: str) -> tuple[Step, ...]:
    """The steps of a machine. Raises RunError if a step names no machine."""
    result = []
    for step in steps:
        if step.host == LOCAL and step.action is not Action.ASK:
            raise RunError(
                f"step {step.name} is on no host, so no machine's script has it", "declare every resource `on` a host"
            )
        if step.host in {machine, LOCAL}:
            result.append(replace(step, host=LOCAL))
    return tuple(result)


def setup_of(setup: Setup, machine: str) -> Setup | None:
    """The steps of a setup that a machine carries out; None if there are none."""
    settings = tuple(replace(setting, steps=steps_of(setting.steps, machine)) for setting in setup.settings)
    own = replace(setup, make=steps_of(setup.make, machine), unmake=steps_of(setup.unmake, machine), settings=settings)
    has_steps = own.make or own.unmake or any(setting.steps for setting in settings)
    return own if has_steps else None


def trials_of(plan: Plan, machine: str) -> int:
    """The number of trials in which a machine takes part."""
    own: set[str] = set()
    count = 0
    for item in plan.items():
        if isinstance(item, Setup):
            own |= {item.signature} if setup_of(item, machine) else set()
        else:
            count += takes_part(item, machine, own)
    return count


def takes_part(trial: Trial, machine: str, own: Container[str]) -> bool:
    """Whether a machine takes part in a trial, even if only through one of its `own` setups."""
    return any(signature in own for signature in trial.setups) or bool(steps_of(trial.steps, machine))


def has_meetings(plan: Plan) -> bool:
    """Whether any trial involves several machines."""
    setups: dict[str, set[str]] = {}
    for item in plan.items():
        if isinstance(item, Setup):
            settings = (step for setting in item.settings for step in setting.steps)
            setups[item.signature] = _machines((*item.make, *item.unmake, *settings))
        elif len(_machines(item.steps).union(*(setups.get(each, set()) for each in item.setups))) > 1:
            return True
    return False


def _machines(steps: Iterable[Step]) -> set[str]:
    return {step.host for step in steps if step.host != LOCAL}
