"""Translation of fio's options to properties of its kind, and of its files to targets.

In: options as another tool's file has them. Out: lines of a program, with a remark at each place where it cannot.
Rule: the library defines the translation: its property has the option's name, type and unit, and `without` says why
an option has no property. Nothing is dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import PurePosixPath

from zlang import units
from zlang.check import library
from zlang.check.program import Kind, PropertyDef, Symbol, Value
from zlang.importing import fio_numbers, writing
from zlang.importing.job_file import Option
from zlang.importing.study import Target
from zlang.units import Quantity

NAME = "fio"
PATTERN = "rw"
_INSTEAD = re.compile(r"write `([\w-]+)(?: = ([\w-]*))?`")
_LEAVE_OUT = "leave "
_TARGET = ("filename", "directory", "size")
ORDER = ("stonewall", "wait_for")
"""Options after which a job begins when those before it have ended."""
NOT_WRITTEN = (*_TARGET, *ORDER, "name", "description", "pre_read", "invalidate", "new_group", "kb_base")
"""Options that the program says in another place, or in other words."""
_MOST_BYTES = 2**63
_ENOUGH = 2**30
"""The size of a file if the options state none."""
_DECIDED = (PATTERN, "readwrite", "filename", "directory", "exec_", "ioengine")
"""Beginnings of options that say where the data are, what is done to them, by which engine, or what else is run."""
_PLAIN_NAME = re.compile(r"\w[\w-]*")
_MICROSECOND = Fraction(1, 10**6)
_DIGITS = re.compile("[0-9]+")
_UNIT = re.compile(r"(?<=[0-9])([kmgtp])(ib|i|b)?(?![a-z0-9])", re.IGNORECASE)
_IN_SEQUENCE, _AT_RANDOM = SUFFIXES = ("rw_skip", "rw_batch")
"""The part of a pattern behind its colon."""


@cache
def kind() -> Kind:
    """The library's kind for fio."""
    return library.load().kind(NAME)


def own_name(name: str) -> str:
    """The name under which the library has an option."""
    instead = _INSTEAD.fullmatch(kind().without.get(name, ""))
    return instead[1] if instead and name not in kind().properties else name


def effective(options: Iterable[Option]) -> dict[str, Option]:
    """The options that apply to a job, by name; a later value overrides an earlier one."""
    result: dict[str, Option] = {}
    for option in map(_in_binary, map(_affirmed, options)):
        name = own_name(option.name)
        for replaced in (name, *SUFFIXES) if name == PATTERN else (name,):
            result.pop(replaced, None)
        pattern, colon, suffix = (option.value or "").partition(":")
        if name == PATTERN and colon:
            result[name] = option.replace(value=pattern)
            result[_suffix_name(pattern)] = option.replace(value=suffix, comments=())
        else:
            result[name] = option
    return result


def _suffix_name(pattern: str) -> str:
    """The property for the suffix of a pattern after its colon."""
    return _AT_RANDOM if pattern.startswith("rand") else _IN_SEQUENCE


def _in_binary(option: Option) -> Option:
    """Rewrite sizes for fio without `kb_base=1000`: `4k` becomes `4kib`, and the reverse."""
    definition = kind().properties.get(own_name(option.name))
    is_other = own_name(option.name) in NOT_WRITTEN and option.name != "size"
    if (
        not option.is_decimal
        or option.value is None
        or is_other
        or (definition and "duration" in definition.type.scalars)
    ):
        return option
    other = _UNIT.sub(lambda unit: unit[1] + ("" if (unit[2] or "").lower() == "ib" else "ib"), option.value)
    return option.replace(value=other)


def _affirmed(option: Option) -> Option:
    """Rewrite `buffered=0` as `direct=1`."""
    return (
        option.replace(name="direct", value="1" if option.value == "0" else "0")
        if option.name == "buffered"
        else option
    )


def is_property(option: Option) -> bool:
    """Whether a property can express this option."""
    return _line(option) is not None and own_name(option.name) not in NOT_WRITTEN


def obstacle(options: Mapping[str, Option]) -> str:
    """The reason why a job cannot be measured; empty if it can."""
    option = options.get("ioengine")
    if option is None or option.missing or _line(option) is not None:
        return ""
    engine = (option.value or "").partition(":")[0]
    return kind().without.get(f"ioengine={engine}", f"zlang does not know where the engine `{engine}` writes")


class Settings:
    """Options of fio equivalent to those of another tool, in order, with remarks on options without an equivalent."""

    def __init__(self) -> None:
        self.options: dict[str, Option] = {}
        self._choices: list[str] = []
        self._remarks: list[str] = []

    def put(self, name: str, value: str, written: str) -> None:
        """Set an option; `written` is the text in the other tool's file."""
        if name in kind().properties and name not in (*NOT_WRITTEN, PATTERN) and levels(name, [value]) is None:
            self.remark(f"{written}: this is not a value of `{name}`")
            return
        self.options.pop(name, None)
        self.options[name] = Option(name, value, written, tuple(self._remarks), ())
        self._remarks.clear()

    def choose(self, name: str, values: Iterable[str], written: str) -> None:
        """Set an option to one value, or to several that are levels of a choice."""
        values = list(dict.fromkeys(values))
        if len(values) == 1:
            self.put(name, values[0], written)
            return
        literals = levels(name, values)
        if not literals:
            self.remark(f"{written}: not all of these are values of `{name}`")
        else:
            self.expression(name, " | ".join(dict.fromkeys(literals)))

    def expression(self, name: str, text: str) -> None:
        """Set an option to an expression of the program."""
        self._choices.append(f"{name} = {text}")

    def has(self, name: str) -> bool:
        """Whether an option is set."""
        return name in self.options or any(line.startswith(f"{name} = ") for line in self._choices)

    def remark(self, text: str) -> None:
        """Add a remark about the other tool's file at this place."""
        self._remarks.append(text)

    def lines(self) -> tuple[str, ...]:
        """The lines of a load."""
        unplaced = [line for remark in self._remarks for line in writing.comment(remark)]
        return (*lines_of(self.options, self.options), *self._choices, *unplaced)


def levels(name: str, values: Iterable[str]) -> list[str] | None:
    """The values of an option as literals; None if the option cannot have one of them."""
    lines = [_line(Option(name, value, value, (), ())) for value in values]
    return None if None in lines else [line.partition(" = ")[2] for line in lines if line]


def _line(option: Option) -> str | None:
    """The line for an option as a property; None if no property can express it."""
    name = own_name(option.name)
    definition = kind().properties.get(name)
    if definition is None:
        return None
    value = _value(definition, option.value)
    if value is None or not writing.takes(definition, value):
        return None
    return f"{name} = {writing.literal(value)}"


def _value(definition: PropertyDef, words: str | None) -> Value:
    """The value that fio reads from this text; None if it is not of the property's type."""
    type_, words = definition.type, "1" if words is None else words
    instead = _INSTEAD.fullmatch(kind().without.get(f"{definition.name}={words}", ""))
    word = instead[2] if instead and instead[2] else words
    if any(variant.name == word for variant in type_.words):
        return Symbol(word)
    scalar = next(iter(type_.scalars), "")
    return _READERS[scalar](words, definition) if scalar in _READERS else None


def _bool(words: str, _: PropertyDef) -> Value:
    amount = fio_numbers.size(words)
    return None if amount is None else amount != 0


def _quantity(dimension: units.Dimension) -> Callable[[str, PropertyDef], Value]:
    def read(words: str, _: PropertyDef) -> Value:
        amount = fio_numbers.size(words)
        return None if amount is None or amount.denominator != 1 else Quantity(amount, dimension)

    return read


def _share(words: str, _: PropertyDef) -> Value:
    amount = fio_numbers.size(words.removesuffix("%"))
    return None if amount is None or amount.denominator != 1 else Quantity(amount / 100, units.SHARE)


def _duration(words: str, definition: PropertyDef) -> Value:
    unit = definition.unit.amount if definition.unit else Fraction(1)
    amount = fio_numbers.microseconds(words, unit / _MICROSECOND)
    return None if amount is None else Quantity(amount * _MICROSECOND, units.DURATION)


def _number(words: str, _: PropertyDef) -> Value:
    return Quantity(Fraction(words)) if re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", words) else None


def _text(words: str, _: PropertyDef) -> Value:
    return words


_READERS: Mapping[str, Callable[[str, PropertyDef], Value]] = {
    "bool": _bool,
    "size": _quantity(units.SIZE),
    "rate": _quantity(units.RATE),
    "iops": _quantity(units.FREQUENCY),
    "count": _quantity(units.NUMBER),
    "share": _share,
    "duration": _duration,
    "number": _number,
    "string": _text,
}


def _remark(option: Option) -> list[str]:
    """The reason why an option is not in the program."""
    if option.missing:
        return writing.comment(f"{option.written}: the environment has no {', '.join(option.missing)}")
    name = own_name(option.name)
    if name in kind().without:
        return writing.comment(f"{option.written}: {kind().without[name]}")
    return writing.comment(f"{option.written}: this is not an option of {NAME}")


def lines_of(
    options: Mapping[str, Option], every: Mapping[str, Option], inherited: Mapping[str, Option] | None = None
) -> Iterator[str]:
    """The properties of a job, each with the comments above it, and finally the options that are passed on as written.

    `every` also has the options that the job inherits; `inherited` are those that another declaration already has.
    """
    for name, option in options.items():
        yield from (line for comment in option.comments for line in writing.comment(comment))
        if name in NOT_WRITTEN or _is_passed_on(name, option):
            continue
        if option.missing:
            yield from _remark(option)
        elif name == "time_based" and ("runtime" not in every or _line(every["runtime"]) is None):
            yield from writing.comment(f"{option.written}: fio ignores this without a runtime")
        elif name == PATTERN:
            yield from _pattern(option)
        elif name in SUFFIXES:
            yield from _suffix(name, option)
        elif (line := _line(option)) is not None:
            yield line
        elif not kind().without.get(f"{name}={option.value}", "").startswith(_LEAVE_OUT):
            yield from _remark(option)
    passed_on = _passed_on(every if inherited else options)
    if passed_on != _passed_on(inherited or {}):
        if passed_on:
            yield "# unknown to zlang: passed to fio unchanged"
        yield f"extra = [{', '.join(passed_on)}]"


def _passed_on(options: Mapping[str, Option]) -> list[str]:
    return [_as_written(option) for name, option in options.items() if _is_passed_on(name, option)]


def _is_passed_on(name: str, option: Option) -> bool:
    """Whether an option is passed to fio as written: there is no property for it, and no reason why not."""
    is_known = name in NOT_WRITTEN or name in kind().without or option.missing or name.startswith(_DECIDED)
    is_left_out = f"{name}={option.value}" in kind().without
    return not is_known and not is_left_out and bool(_PLAIN_NAME.fullmatch(option.name)) and _line(option) is None


def _as_written(option: Option) -> str:
    return writing.quoted(own_name(option.name) + ("" if option.value is None else f"={option.value}"))


def _pattern(option: Option) -> Iterator[str]:
    """The pattern of a job; `read` if fio knows no such pattern."""
    line = _line(option)
    if line is None:
        yield from writing.comment(f"{option.written}: the pattern is unknown, so zlang wrote `read`")
    yield line or f"{PATTERN} = read"


def _suffix(name: str, option: Option) -> Iterator[str]:
    """The suffix of a pattern. fio reads a size after a sequential one, and only digits after a random one."""
    digits = _DIGITS.match(option.value or "")
    line = _line(option.replace(name=name, value=digits[0] if digits and name == _AT_RANDOM else option.value))
    if line is None:
        yield from writing.comment(f"{option.written}: only the pattern is taken over, not `:{option.value}`")
    else:
        yield line


def unset_suffixes(shared: Mapping[str, Option], options: Mapping[str, Option]) -> tuple[str, ...]:
    """The lines that unset the suffix of the shared pattern for a job whose own pattern lacks it."""
    return tuple(f"{name} = none" for name in SUFFIXES if name in shared and name not in options)


def target(options: Mapping[str, Option], tool: str = NAME) -> Target:
    """The target of a job: the file that its options name, or a file as a substitute for a device."""
    remarks: list[str] = []
    directory = value_of(options, "directory") or "."
    file = value_of(options, "filename")
    if ":" in directory.replace("\\:", ""):
        directory, _, others = directory.partition(":")
        remarks.append(f"{tool} spreads its files over {directory} and {others}: here they are in the first of them")
    elsewhere = file.startswith("/dev/") or "\\:" in file or "://" in file
    if ":" in file and not elsewhere:
        count = file.replace("\\:", "").count(":") + 1
        remarks.append(f"{tool} measures {count} files or devices at once: here only the first of them")
        file = file.partition(":")[0]
    if file.startswith("/dev/"):
        remarks.append(
            f"{tool} measures {file}: to measure a device, declare it as a `disk`, and name that disk in `on`"
        )
    elif elsewhere:
        remarks.append(f"{tool} measures {file}, which is not a file of this machine")
    elif "/" in file:
        path = PurePosixPath(directory, file)
        directory, file = str(path.parent), path.name
    size, problem = _size(options, is_device=elsewhere)
    remarks += [problem] if problem else []
    if not file and value_of(options, "numjobs") not in {"", "1"}:
        remarks.append(f"{tool} gives each of its workers a file of its own: here they share one")
    return Target("." if elsewhere else directory, file, size, tuple(remarks))


def value_of(options: Mapping[str, Option], name: str) -> str:
    """The value of an option; empty if it has none."""
    option = options.get(name)
    return "" if option is None or option.missing else option.value or ""


def _size(options: Mapping[str, Option], *, is_device: bool) -> tuple[str, str]:
    """The size of the file, and a comment about it."""
    problem = "the size is not stated: change it"
    size = next((options[name] for name in ("size", "filesize") if value_of(options, name)), None)
    amount = _bytes_of(size.value) if size else None
    if size and not amount:
        problem = f"{size.written}: write how large the file is"
    past, block = _reach(options), _bytes_of(value_of(options, "bs") or value_of(options, "blocksize")) or 1
    if size and amount and amount < block:
        return _size_literal(past + block), f"{size.written}: less than one block"
    if amount:
        return _size_literal(amount + past if is_device or past >= amount else amount), ""
    reach = past + (_bytes_of(value_of(options, "io_size")) or _ENOUGH)
    return _size_literal(reach), problem


def _size_literal(amount: int) -> str:
    return writing.literal(Quantity(Fraction(amount), units.SIZE))


def _reach(options: Mapping[str, Option]) -> int:
    """The offset of the last worker, in bytes from the start of the file."""
    workers = _bytes_of(value_of(options, "numjobs")) or 1
    return (_bytes_of(value_of(options, "offset")) or 0) + (workers - 1) * (
        _bytes_of(value_of(options, "offset_increment")) or 0
    )


def _bytes_of(words: str | None) -> int | None:
    amount = fio_numbers.size(words or "")
    return int(amount) if amount is not None and 0 < amount < _MOST_BYTES and amount.denominator == 1 else None


def cache_protocol(options: Mapping[str, Option]) -> str:
    """The cache protocol of a job. By default fio drops the file's pages from the cache before it starts."""
    if value_of(options, "pre_read") not in {"", "0"}:
        return "hot"
    return "as_is" if value_of(options, "invalidate") == "0" else "cold"
