"""The work of several machines: what is carried out in order -> stretches, and what each machine does in each.

Rules: loads of one trial begin together. Other work of the members of one group is done at the same time, by each in
the planned order, because they are alike: none is meant to wait for another. Any other machine works alone, because a
program may rely on the order. Actions of different kinds are apart: no cache is verified while another one is flushed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from zlang.hints import TypeVar
from zlang.plan.plan import Action, Step
from zlang.plan.state import Change

T = TypeVar("T")
_ALONE = {Action.ASK, Action.COLLECT}


def stretches_of_changes(changes: Iterable[Change], groups: Mapping[str, str]) -> Iterator[list[list[Change]]]:
    """Divide changes into stretches, each with the changes of each machine; `groups` has the group of each member."""
    return _stretches(changes, _machine_of, lambda change, others: _are_members([change, others[0]], groups))


def stretches_of_steps(steps: Iterable[Step], groups: Mapping[str, str]) -> Iterator[list[list[Step]]]:
    """Divide the steps of a trial into stretches, each with the steps of each machine: of a load, one each."""

    def may_join(step: Step, others: list[Step]) -> bool:
        first = others[0]
        if step.action is not first.action or step.action in _ALONE:
            return False
        if is_load(step) or is_load(first):
            return all(map(is_load, (step, *others))) and step.host not in {each.host for each in others}
        return step.host in groups and groups[step.host] == groups.get(first.host)

    return _stretches(steps, lambda step: step.host, may_join)


def is_load(step: Step) -> bool:
    """Whether a step runs workloads: of the steps that treat caches, only the output of a rehearsal is read."""
    return step.action is Action.MEASURE or (step.action is Action.FLUSH and step.reader is not None)


def _machine_of(change: Change) -> str:
    """The only machine on which a change is made; empty if there are several, or none."""
    machines = {step.host for step in change.steps}
    return machines.pop() if len(machines) == 1 else ""


def _are_members(changes: Iterable[Change], groups: Mapping[str, str]) -> bool:
    """Whether changes are made on members of one group."""
    (group, *others) = {groups.get(_machine_of(change)) for change in changes}
    return group is not None and not others


def _stretches(
    items: Iterable[T], machine_of: Callable[[T], str], may_join: Callable[[T, list[T]], bool]
) -> Iterator[list[list[T]]]:
    together: list[T] = []
    for item in items:
        if together and not may_join(item, together):
            yield _by_machine(together, machine_of)
            together = []
        together.append(item)
    if together:
        yield _by_machine(together, machine_of)


def _by_machine(items: Iterable[T], machine_of: Callable[[T], str]) -> list[list[T]]:
    result: dict[str, list[T]] = {}
    for item in items:
        result.setdefault(machine_of(item), []).append(item)
    return list(result.values())
