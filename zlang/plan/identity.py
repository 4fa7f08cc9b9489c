"""The identity of a measurement: the hash of the commands, and of the values that they use.

In: the setups and the steps of a trial, rendered with names by position and one seed for all. Out: its identity. Rule:
two trials with one identity run the same commands, which must print the same, and their output is read in the same way.
docs/identity.md lists what it covers, and when it may change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from zlang.cache import by_object
from zlang.check import digests
from zlang.check.instances import with_parts
from zlang.check.program import Instance
from zlang.plan.plan import Action, Reader, Setup, Step
from zlang.record import Record

FORMAT = 1
"""Increased when the hashed content changes, so no result is reused whose identity meant something else."""
SEED = "00000001"
"""The hash from which every seed in the hashed content is drawn."""
_LENGTH = 12
_WORDS = {None: "null", True: "true", False: "false"}
_ESCAPED, _LARGE = frozenset('"\\'), 1 << 63


class Neutral(Record):
    """Things named by position, so that their names in the program do not matter, and the hash of their values.

    Things that had the same name get the same new name.
    """

    things: tuple[Instance | None, ...]
    values: str


def neutral(things: Iterable[Instance | None]) -> Neutral:
    """Rename things by position."""
    names: dict[str, str] = {}
    renamed = tuple([_with_neutral_name(thing, names) for thing in things])
    return Neutral(renamed, digests.digest(*[word for thing in renamed for word in values_of(thing)]))


def _with_neutral_name(thing: Instance | None, names: dict[str, str]) -> Instance | None:
    if thing is None:
        return None
    thing = with_parts(thing, lambda part: _with_neutral_name(part, names) or part)
    parent, origin = _with_neutral_name(thing.parent, names), _with_neutral_name(thing.origin, names)
    alias = names.setdefault(thing.key, f"thing{len(names)}")
    under = tuple([wrapper for item in thing.under if (wrapper := _with_neutral_name(item, names)) is not None])
    return thing.replace(alias=alias, parent=parent, origin=origin, under=under)


def values_of(thing: Instance | None) -> list[str]:
    """The kind and the values of a thing and of everything below it; for a machine, its name."""
    if thing is None:
        return ["-"]
    before, after = words_around_properties(thing)
    return [*before, *words_of_properties(thing), *after]


def words_of_properties(thing: Instance) -> list[str]:
    """The values of the properties of a thing."""
    return [*map(word, thing.property_texts)]


def words_around_properties(thing: Instance) -> tuple[list[str], list[str]]:
    """The other words in the values of a thing, before and after those of its properties."""
    # Measurements on two machines differ, even if nothing distinguishes the machines in the program.
    name = thing.label if thing.kind.role == "machine" else ""
    under = [word for wrapper in thing.under for word in ("under", *values_of(wrapper))]
    before = [thing.kind.name, name, "replay" if thing.replays else "", str(len(thing.property_texts))]
    return before, [*under, *values_of(thing.origin), *values_of(thing.parent)]


def of_setups(setups: Iterable[Setup]) -> str:
    """The hash of how resources are made, altered and removed."""
    return digests.digest(*(part for setup in setups for part in _of_setup(setup)))


def of_steps(steps: Iterable[Step]) -> str:
    """The hash of what steps do, must print and read."""
    return digests.digest(*map(_encoded, steps))


def of_parts(parts: Iterable[Sequence[Step]]) -> str:
    """The same hash of steps in several parts. Many trials share parts that are tuples."""
    return digests.digest(
        *[_encoded_part(part) if isinstance(part, tuple) else "\0".join(map(_encoded, part)) for part in parts if part]
    )


def joined(*parts: str) -> str:
    """Hash these parts into the identity."""
    return digests.digest(str(FORMAT), *parts)[:_LENGTH]


def _of_setup(setup: Setup) -> Iterator[str]:
    for name, steps in (
        ("make", setup.make),
        *((setting.name, setting.steps) for setting in setup.settings),
        ("", setup.unmake),
    ):
        yield word(name)
        yield word(str(len(steps)))
        yield from map(_encoded, steps)


@by_object
def _encoded_part(steps: Sequence[Step]) -> str:
    return "\0".join(map(_encoded, steps))


def _encoded(step: Step) -> str:
    # For a manual step, the text for the person takes the place of the command.
    text = step.why if step.action is Action.ASK else step.command
    reads = "-" if step.reader is None else _encoded_reader(step.reader)
    return f"{_VERBS[step.action]}\0{len(text)}:{text}\0{word(step.expect)}\0{reads}"


@by_object
def _encoded_reader(reader: Reader) -> str:
    return "\0".join(map(word, (reader.name, reader.artefact, canonical_json(reader.args))))


def canonical_json(value: object) -> str:
    """A value as JSON, as orjson writes it with sorted keys. Plain values, the most common, avoid its import (5 ms)."""
    try:
        return _plain_json(value)
    except _NotPlain:
        import orjson

        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str).decode()


class _NotPlain(Exception):
    """A value that may need escapes or a special number format."""


def _plain_json(value: object) -> str:
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if type(value) is int and abs(value) < _LARGE:
        return str(value)
    if type(value) is str and value.isprintable() and not _ESCAPED & set(value):
        return f'"{value}"'
    if type(value) is list or type(value) is tuple:
        return f"[{','.join(map(_plain_json, value))}]"
    if type(value) is dict and all(type(name) is str for name in value):
        return f"{{{','.join(f'{_plain_json(name)}:{_plain_json(value[name])}' for name in sorted(value))}}}"
    raise _NotPlain


def word(part: str | None) -> str:
    """Encode a part so that it cannot be confused with two parts, or with a missing one."""
    return "-" if part is None else f"{len(part)}:{part}"


_VERBS = {action: word(action.value) for action in Action}
