"""fio's job files as programs.

In: a job file. Out: a program that measures the same loads, with a remark at each place where it cannot.
Rule: what an option becomes is asked of the library: its property there has the option's name, its type and its unit,
and `without` says why an option has none. Nothing is dropped unsaid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import groupby
from pathlib import PurePosixPath

from zlang import units
from zlang.check import library
from zlang.check.program import Kind, PropertyDef, Symbol, Value
from zlang.errors import RunError
from zlang.importing import fio_numbers, job_file, writing
from zlang.importing.job_file import JobSection, Option
from zlang.record import Record
from zlang.units import Quantity

_NAME = "fio"
_INSTEAD = re.compile(r"write `([\w-]+)(?: = ([\w-]*))?`")
_LEAVE_OUT = "leave "
_PATTERN = "rw"
_TARGET = ("filename", "directory", "size")
_ORDER = ("stonewall", "wait_for")
"""Options after which a job begins when those before it have ended."""
_UNSAID = (*_TARGET, *_ORDER, "name", "description", "pre_read", "invalidate", "new_group")
"""Options that the program says in another place, or in other words."""
_SIZE_NOT_SAID = "1GiB"
_PLAIN_NAME = re.compile(r"\w[\w-]*")
_MICROSECOND = Fraction(1, 10**6)


class _Target(Record):
    """The target of a job: a directory and the name of a file there, or a device, and its size in bytes."""

    directory: str
    file: str
    size: str
    remarks: tuple[str, ...]


class _Job(Record):
    """A job in the program: its name, the lines of its properties, and comments on it."""

    name: str
    title: str
    comments: tuple[str, ...]
    lines: tuple[str, ...]
    every_line: tuple[str, ...]
    target: _Target
    cache: str
    begins_alone: bool
    verifies: bool
    obstacle: str


def program(
    text: str, name: str, variables: Mapping[str, str], keywords: Mapping[str, str], read: job_file.Read
) -> str:
    """The program for a job file. Raises RunError."""
    jobs_of_file = job_file.parse(text, name, variables, keywords, read)
    if not jobs_of_file.sections:
        raise RunError(f"{name} has no jobs", "a job is a section: `[NAME]` and options below it")
    return _Writer(name, jobs_of_file).program()


# -- options and properties


@cache
def _kind() -> Kind:
    return library.load().kind(_NAME)


def _own_name(name: str) -> str:
    """The name under which the library has an option."""
    instead = _INSTEAD.fullmatch(_kind().without.get(name, ""))
    return instead[1] if instead and name not in _kind().properties else name


def _options(options: Iterable[Option]) -> dict[str, Option]:
    """The options that apply to a job, by name: of two values the later one."""
    result: dict[str, Option] = {}
    for option in map(_affirmed, options):
        name = _own_name(option.name)
        result.pop(name, None)
        result[name] = option
    return result


def _affirmed(option: Option) -> Option:
    """`buffered=0` as `direct=1`."""
    return (
        option.replace(name="direct", value="1" if option.value == "0" else "0")
        if option.name == "buffered"
        else option
    )


def _line(option: Option) -> str | None:
    """An option as a property, or None where no property says it."""
    name = _own_name(option.name)
    definition = _kind().properties.get(name)
    if definition is None:
        return None
    value = _value(definition, option.value)
    if value is None or not writing.takes(definition, value):
        return None
    return f"{name} = {writing.literal(value)}"


def _value(definition: PropertyDef, words: str | None) -> Value:
    """The value of a property that fio reads from this text; None where it is none of the property's type."""
    type_, words = definition.type, "1" if words is None else words
    instead = _INSTEAD.fullmatch(_kind().without.get(f"{definition.name}={words}", ""))
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
    return None if amount is None else Quantity(amount / 100, units.SHARE)


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


# -- jobs


def _remark(option: Option) -> list[str]:
    """Why an option is not in the program."""
    if option.missing:
        return writing.comment(f"{option.written}: the environment has no {', '.join(option.missing)}")
    for name in (_own_name(option.name), _engine(option)):
        if name in _kind().without:
            return writing.comment(f"{option.written}: {_kind().without[name]}")
    return writing.comment(f"{option.written}: this is not an option of {_NAME}")


def _job_lines(options: Mapping[str, Option], every: Mapping[str, Option]) -> Iterator[str]:
    """The properties of a job, each with the comments that stood above it, and at the end what is only passed on.

    `every` has what holds for the job from elsewhere as well.
    """
    for name, option in options.items():
        yield from (line for comment in option.comments for line in writing.comment(comment))
        if name in _UNSAID or _is_passed_on(name, option):
            continue
        if option.missing:
            yield from _remark(option)
        elif name == "time_based" and "runtime" not in every:
            yield from writing.comment(f"{option.written}: fio ignores this without a runtime")
        elif name == _PATTERN:
            yield from _pattern(option)
        elif (line := _line(option)) is not None:
            yield line
        elif not _kind().without.get(f"{name}={option.value}", "").startswith(_LEAVE_OUT):
            yield from _remark(option)
    if any(_is_passed_on(name, option) for name, option in options.items()):
        passed_on = [option for name, option in every.items() if _is_passed_on(name, option)]
        yield "# passed on as it is"
        yield f"extra = [{', '.join(map(_as_written, passed_on))}]"


def _engine(option: Option) -> str:
    """The name under which the library says why it leaves an engine out."""
    return f"the engine {(option.value or '').partition(':')[0]}" if option.name == "ioengine" else ""


def _is_passed_on(name: str, option: Option) -> bool:
    """Whether fio gets an option as it was written: no property says it, and no reason is known why none does."""
    is_known = name in _UNSAID or name == _PATTERN or name in _kind().without or option.missing
    is_left_out = f"{name}={option.value}" in _kind().without or _engine(option) in _kind().without
    return not is_known and not is_left_out and bool(_PLAIN_NAME.fullmatch(option.name)) and _line(option) is None


def _as_written(option: Option) -> str:
    return writing.quoted(option.name + ("" if option.value is None else f"={option.value}"))


def _pattern(option: Option) -> Iterator[str]:
    """The pattern without what may follow its colon: how often it goes on at another place."""
    pattern, colon, sequence = (option.value or "").partition(":")
    line = _line(option.replace(value=pattern))
    if line is None:
        yield from writing.comment(f"{option.written}: the pattern is unknown, so `read` stands here")
    elif colon:
        yield from writing.comment(f"{option.written}: only the pattern is taken over, not `:{sequence}`")
    yield line or f"{_PATTERN} = read"


def _target(options: Mapping[str, Option]) -> _Target:
    remarks: list[str] = []
    directory = _value_of(options, "directory") or "."
    file = _value_of(options, "filename")
    if ":" in directory.replace("\\:", ""):
        directory, _, others = directory.partition(":")
        remarks.append(f"fio spreads its files over {directory} and {others}: here they are in the first of them")
    elsewhere = file.startswith("/dev/") or "\\:" in file or "://" in file
    if ":" in file and not elsewhere:
        remarks.append(f"fio measures several files or devices at once: {file}")
        file = file.partition(":")[0]
    if file.startswith("/dev/"):
        remarks.append(f"fio measures {file}: to do so, declare each device as a `disk`, and write `on` that disk")
    elif elsewhere:
        remarks.append(f"fio measures {file}, which is not a file of this machine")
    elif "/" in file:
        path = PurePosixPath(directory, file)
        directory, file = str(path.parent), path.name
    size, problem = _size(options)
    remarks += [problem] if problem else []
    if not file and _value_of(options, "numjobs") not in {"", "1"}:
        remarks.append("fio gives each of its workers a file of its own: here they share one")
    return _Target("." if elsewhere else directory, file, size, tuple(remarks))


def _value_of(options: Mapping[str, Option], name: str) -> str:
    option = options.get(name)
    return "" if option is None or option.missing else option.value or ""


def _size(options: Mapping[str, Option]) -> tuple[str, str]:
    """How large the file is, and what is to be said of that."""
    for name in ("size", "filesize"):
        words = _value_of(options, name)
        amount = fio_numbers.size(words)
        if amount is not None and amount > 0 and amount.denominator == 1:
            return writing.literal(Quantity(amount, units.SIZE)), ""
        if words:
            return _SIZE_NOT_SAID, f"{options[name].written}: say how large the file is"
    return _SIZE_NOT_SAID, "the job file does not say how large the file is"


def _cache(options: Mapping[str, Option]) -> str:
    """The cache protocol of a job. By default fio drops the pages of the file before it begins."""
    if _value_of(options, "pre_read") not in {"", "0"}:
        return "hot"
    return "as_is" if _value_of(options, "invalidate") == "0" else "cold"


# -- the program


class _Writer:
    def __init__(self, name: str, file: job_file.JobFile) -> None:
        self.file, self.name = file, name
        self.stem = PurePosixPath(name).stem
        every = _kind().properties
        words = {word.name for name in (_PATTERN, "ioengine") for word in every[name].type.words}
        self.names = writing.FreeNames({*words, *every})
        self.place = self.names.free("here", "here")
        self.targets: dict[tuple[str, str, str], str] = {}
        self.directories: dict[str, str] = {}

    def program(self) -> str:
        """The text of the program."""
        shared = self._shared()
        jobs = [self._job(section, shared) for section in self.file.sections]
        measured = [job for job in jobs if not job.obstacle]
        lines = writing.comment(f"Imported from {self.name}: what this program cannot say is a comment at its place.")
        lines += [line for comment in self.file.head for line in (writing.comment(comment) or [""])]
        lines += ["", f"import {_NAME}", "", *self._target_lines(measured)]
        if shared:
            base = self.names.free("common", "common")
            lines += writing.block(f"{_NAME} {base} {{", tuple(_job_lines(_options(shared), self._everywhere())))
        groups = _groups(measured)
        elsewhere = {id(job) for group in groups for job in group if job.target != group[0].target}
        for job in jobs:
            lines += [line for comment in job.comments for line in writing.comment(comment)]
            if job.obstacle:
                lines += [*writing.comment(f"[{job.title}] is left out: {job.obstacle}"), ""]
            elif id(job) in elsewhere:
                lines += writing.block(f"{_NAME} {job.name} on {self._data(job)} {{", job.every_line)
            else:
                head = f"let {job.name} = {base} with {{" if shared else f"{_NAME} {job.name} {{"
                lines += writing.block(head, job.lines)
        lines += self._experiments(groups)
        lines += [line for comment in self.file.tail for line in writing.comment(comment)]
        return writing.program(lines)

    def _shared(self) -> tuple[Option, ...]:
        """The options that all jobs have from `[global]`, where several have the same ones."""
        sections = self.file.sections
        inherited = {section.inherited for section in sections}
        is_worth_it = len(sections) > 1 and len(inherited) == 1
        result = sections[0].inherited if is_worth_it else ()
        return result if any(_line(option) and _own_name(option.name) not in _UNSAID for option in result) else ()

    def _everywhere(self) -> dict[str, Option]:
        """The options that every job has, though each may give them another value."""
        of_jobs = [_options(section.options()) for section in self.file.sections]
        everywhere = {name for name in of_jobs[0] if all(name in options for options in of_jobs)}
        shared = _options(self._shared())
        return {name: shared.get(name, option) for name, option in of_jobs[0].items() if name in everywhere}

    def _job(self, section: JobSection, shared: tuple[Option, ...]) -> _Job:
        options = _options(section.options())
        written = _options(section.own if shared else section.options())
        engine = _value_of(options, "ioengine")
        alone = any(_value_of(options, name) != "0" for name in _ORDER if name in options)
        return _Job(
            name=self.names.free(section.name, "job"),
            title=section.name,
            comments=(*section.comments, *self._description(options)),
            lines=tuple(_job_lines(written, options)),
            every_line=tuple(_job_lines(options, options)),
            target=_target(options),
            cache=_cache(options),
            begins_alone=alone,
            verifies="verify" in options and "write" not in _value_of(options, _PATTERN).replace("readwrite", "rw"),
            obstacle=_kind().without.get(f"the engine {engine.partition(':')[0]}", ""),
        )

    def _description(self, options: Mapping[str, Option]) -> tuple[str, ...]:
        words = _value_of(options, "description")
        return (words,) if words else ()

    def _target_lines(self, jobs: Iterable[_Job]) -> Iterator[str]:
        for job in jobs:
            target = job.target
            if target.directory not in self.directories:
                name = self.names.free("here", "here") if self.directories else self.place
                self.directories[target.directory] = name
                yield f"dir {name} {{ path = {writing.quoted(target.directory)} }}"
            key = (target.directory, target.file, target.size)
            if key not in self.targets:
                self.targets[key] = self.names.free("data", "data")
                yield from (line for remark in target.remarks for line in writing.comment(remark))
                yield f"file {self.targets[key]} on {self.directories[target.directory]} {{ size = {target.size} }}"
        yield ""

    def _experiments(self, groups: list[list[_Job]]) -> Iterator[str]:
        """An experiment for all groups that run one after the other on the same data; a group's jobs are streams."""
        measured = [list(same) for _, same in groupby(groups, lambda group: (group[0].cache, group[0].target))]
        for members in measured:
            first = members[0][0]
            if any(job.verifies for group in members for job in group):
                yield from writing.comment(
                    "fio verifies what an earlier job has written: here each job has data of its own"
                )
            name = self.names.free(self.stem if len(measured) == 1 else first.name, "experiment")
            levels = [_together(group) for group in members]
            run = levels[0]
            if len(levels) > 1:
                run = self.names.free("load", "load")
                yield f"let {run} = {' | '.join(levels)}"
            yield f"experiment {name} {{"
            yield from (f"on = {self._data(first)}", f"run = {run}", f"cache = {first.cache}", "}", "")

    def _data(self, job: _Job) -> str:
        """The name of what a job measures."""
        return self.targets[job.target.directory, job.target.file, job.target.size]


def _groups(jobs: Iterable[_Job]) -> list[list[_Job]]:
    """The jobs that run at the same time, in the order of the file."""
    groups: list[list[_Job]] = []
    for job in jobs:
        if job.begins_alone or not groups:
            groups.append([])
        groups[-1].append(job)
    return groups


def _together(group: list[_Job]) -> str:
    return group[0].name if len(group) == 1 else f"[{', '.join(job.name for job in group)}]"
