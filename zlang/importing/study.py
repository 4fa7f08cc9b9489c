"""The program for another tool's loads: targets, loads, and an experiment for the loads that share a target.

In: loads and trials, as an importer understood them. Out: the text of a program.
Rule: each name is used once, and a load that cannot be measured becomes a comment with the reason.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping

from zlang.check import library
from zlang.importing import writing
from zlang.record import Record


class Target(Record):
    """The target of a load: a directory and a file name in it, or a device, and the size in bytes."""

    directory: str
    file: str
    size: str
    remarks: tuple[str, ...]


class Load(Record):
    """A load: its name in the program and in the file, its comments, and its lines, with or without the shared ones.

    `obstacle` is the reason why it cannot be measured, if any.
    """

    name: str
    title: str
    comments: tuple[str, ...]
    lines: tuple[str, ...]
    every_line: tuple[str, ...]
    target: Target
    obstacle: str

    @property
    def settings(self) -> tuple[str, ...]:
        """Its lines without comments, in alphabetical order."""
        return tuple(sorted(line for line in self.every_line if not line.startswith("#")))

    def with_line(self, name: str, value: str) -> Load:
        """Return a copy with another value of a property."""

        def changed(lines: Iterable[str]) -> tuple[str, ...]:
            return (*(line for line in lines if line.partition(" ")[0] != name), f"{name} = {value}")

        return self.replace(lines=changed(self.lines), every_line=changed(self.every_line))


class LoadStudy(Record):
    """An experiment: each level is a group of concurrent loads, on one target or on each of several."""

    name: str
    comments: tuple[str, ...]
    targets: tuple[Target, ...]
    levels: tuple[tuple[Load, ...], ...]
    cache: str
    repeat: int


class Study:
    """The writer of a program whose loads are of one kind of workload."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        every = library.load().kind(kind).properties
        words = {word.name for definition in every.values() for word in definition.type.words}
        self.names = writing.FreeNames({*words, *every})
        self._place = self.names.free("here", "here")
        self._targets: dict[tuple[str, str, str], str] = {}
        self._directories: dict[str, str] = {}
        self._remarks: set[tuple[tuple[str, str, str], str]] = set()

    def program(
        self,
        loads: Iterable[Load],
        trials: Iterable[LoadStudy],
        *,
        head: Iterable[str] = (),
        lets: Mapping[str, str] | None = None,
        shared: tuple[str, ...] | None = None,
        tail: Iterable[str] = (),
    ) -> str:
        """The program's text. `lets` are the values of names that loads use, `shared` the properties of all loads."""
        loads, trials = list(loads), [_without_repetitions(each) for each in trials]
        lines = writing.comment(f"Imported from {self.name}. What zlang cannot express has become a comment.")
        lines += [line for comment in head for line in (writing.comment(comment) or [""])]
        lines += ["", f"import {self.kind}", ""]
        for load in loads:
            if not load.obstacle:
                lines += self._target_lines(load.target)
        for each in trials:
            lines += (line for target in each.targets for line in self._target_lines(target))
        lines += ["", *(f"let {name} = {value}" for name, value in (lets or {}).items()), ""]
        if shared is not None:
            base = self.names.free("common", "common")
            lines += writing.block(f"{self.kind} {base} {{", shared)
        elsewhere = {
            id(load) for each in trials for level in each.levels for load in level if load.target not in each.targets
        }
        for load in loads:
            lines += [line for comment in load.comments for line in writing.comment(comment)]
            if load.obstacle:
                lines += [*writing.comment(f"[{load.title}] is left out: {load.obstacle}"), ""]
            elif id(load) in elsewhere:
                head_of_load = f"{self.kind} {load.name} on {self._data(load.target)} {{"
                lines += writing.block(head_of_load, load.every_line)
            else:
                own_head = f"{self.kind} {load.name} {{" if shared is None else f"let {load.name} = {base} with {{"
                lines += writing.block(own_head, load.lines)
        for each in trials:
            lines += self._experiment(each)
        lines += [line for comment in tail for line in writing.comment(comment)]
        return writing.program(lines)

    def _target_lines(self, target: Target) -> Iterator[str]:
        if target.directory not in self._directories:
            name = self.names.free("here", "here") if self._directories else self._place
            self._directories[target.directory] = name
            yield f"dir {name} {{ path = {writing.quoted(target.directory)} }}"
        key = (target.directory, target.file, target.size)
        remarks = [remark for remark in target.remarks if (key, remark) not in self._remarks]
        self._remarks.update((key, remark) for remark in remarks)
        yield from (line for remark in remarks for line in writing.comment(remark))
        if key not in self._targets:
            self._targets[key] = self.names.free("data", "data")
            yield f"file {self._targets[key]} on {self._directories[target.directory]} {{ size = {target.size} }}"

    def _experiment(self, trials: LoadStudy) -> Iterator[str]:
        yield from (line for comment in trials.comments for line in writing.comment(comment))
        name = self.names.free(trials.name, "study")
        target = yield from self._choice("target", [self._data(target) for target in trials.targets])
        run = yield from self._choice("load", [_together(level) for level in trials.levels])
        yield f"experiment {name} {{"
        yield from (f"on = {target}", f"run = {run}", f"cache = {trials.cache}")
        if trials.repeat > 1:
            yield f"repeat = {trials.repeat}"
        yield from ("}", "")

    def _choice(self, name: str, levels: list[str]) -> Generator[str, None, str]:
        """Yield the line that defines a choice, and return the choice's name; a single level needs no choice."""
        levels = list(dict.fromkeys(levels))
        if len(levels) == 1:
            return levels[0]
        name = self.names.free(name, name)
        yield f"let {name} = {' | '.join(levels)}"
        return name

    def _data(self, target: Target) -> str:
        """The name of the data on a target."""
        return self._targets[target.directory, target.file, target.size]


def _without_repetitions(trials: LoadStudy) -> LoadStudy:
    """Remove repeated levels, which would measure the same."""
    levels: dict[object, tuple[Load, ...]] = {}
    comments = list(trials.comments)
    for level in trials.levels:
        same_level = levels.setdefault([(load.settings, load.target) for load in level].__repr__(), level)
        if same_level is not level:
            comments.append(
                f"{_titles(level)} measures the same as {_titles(same_level)}, so the program has only that one"
            )
    targets = {(target.directory, target.size): target for target in reversed(trials.targets)}
    for target in trials.targets:
        first = targets[target.directory, target.size]
        if target is not first:
            comments += [*target.remarks, "the program has one file for both"]
    return trials.replace(
        targets=tuple(reversed(targets.values())), levels=tuple(levels.values()), comments=tuple(comments)
    )


def _titles(level: Iterable[Load]) -> str:
    return ", ".join(f"[{load.title}]" for load in level)


def _together(level: tuple[Load, ...]) -> str:
    return level[0].name if len(level) == 1 else f"[{', '.join(load.name for load in level)}]"
