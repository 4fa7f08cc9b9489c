"""The kinds that an experiment uses, with their commands and traits: the stage between checking and planning.

In: a checked program and one of its experiments. Out: its kinds. Rule: after this, planning resolves nothing; it only
fills in values. Kinds of the library are resolved in parts (`KindAction.commands`, `Kind.traits`), since an experiment
uses few of the parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zlang.check import library
from zlang.check.program import PLATFORMS, Experiment, Kind, Program
from zlang.check.traits import TRAITS

_MACHINE = "host"
"""The kind of a machine, which every experiment uses."""
_PLANNED = frozenset(name for name, trait in TRAITS.items() if trait.is_kept or trait.is_planned)


def resolve_used_kinds(program: Program, experiment: Experiment) -> tuple[Kind, ...]:
    """Resolve the commands and traits that the experiment's plan can need; return its kinds and that of the machine."""
    names = _names(experiment)
    kinds = tuple(_with_parents(program, names | {_MACHINE}))
    has_machines = any(kind.role == "machine" and kind.name in names for kind in kinds)
    platforms = PLATFORMS if has_machines else PLATFORMS[:1]
    for kind in (*kinds, *_protocols(experiment)):
        for name, state, _ in kind.actions:
            for platform in platforms:  # where an action is written for it, no plan uses the one for all platforms
                if (action := kind.action(name, platform, state)) is not None:
                    _ = action.commands
        for name in kind.scheduled:
            _ = kind.properties[name]
        for name in {*kind.own_traits, *(_PLANNED & kind.traits.keys())}:
            _ = kind.traits[name]
    return kinds


def has_own_kinds(program: Program, experiment: Experiment) -> bool:
    """Whether the experiment can use kinds of a user: their commands may have no value at some points."""
    return any(kind.is_own for kind in (*_with_parents(program, _names(experiment)), *_protocols(experiment)))


def _protocols(experiment: Experiment) -> list[Kind]:
    """Return the protocols that the experiment names by a word."""
    return [experiment.protocols[word.name] for word in experiment.cache.type.words]


def _names(experiment: Experiment) -> set[str]:
    """Return the names of the kinds of everything that the experiment's fields can be, and of what that is on."""
    fields = (
        *(experiment.on, experiment.with_, experiment.before, experiment.during),
        *(experiment.run, experiment.collect, experiment.cache),
    )
    return {name for field in fields if field is not None for name in field.type.every_kind}


def _with_parents(program: Program, names: Iterable[str]) -> Iterator[Kind]:
    """Yield the kinds of these names, and all kinds that they can be built on."""
    shipped, pending, seen = library.load(), sorted(names), set[str]()
    while pending:
        name = pending.pop(0)
        kind = program.kinds.get(name) or (shipped.kind(name) if shipped.module_of(name) else None)
        if kind is not None and name not in seen:
            seen.add(name)
            pending += kind.parents
            yield kind
