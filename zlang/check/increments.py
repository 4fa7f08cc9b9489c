"""Checks a program again after an edit: only the entries that the edit can affect; findings about others are kept.

In: the current program, and the results of the check before. Out: the findings of a check from the beginning. Rule:
an entry is known while everything that affects it is unchanged: its text, the text of every entry whose name is a word
in it, and imports, kinds and assertions. Findings about known entries are moved to the current place of their text. If
it is not certain that the result is the same, `UnsureError` is raised, and the program is checked from the beginning.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping

from zlang.check.afresh import Afresh, SubjectResult
from zlang.check.expressions import MOST_STEPS
from zlang.check.findings import Findings
from zlang.check.module import Module
from zlang.check.module_scope import ModuleScope
from zlang.check.program import Experiment
from zlang.check.program_names import ProgramNames
from zlang.diagnostics import MOST, Code, Diagnostic, Severity
from zlang.source import TABLE, Source, Span
from zlang.syntax import parse, tree
from zlang.syntax.parse import Parsed

_WORD = re.compile(r"\w+")
_KEPT_FOR = 8
"""Checks for which is kept what was found about an entry that changed: who undoes an edit gets it back."""
_LIMITS = {Code.TOO_DEEP, Code.TOO_MUCH, Code.TOO_MANY}


class UnsureError(Exception):
    """It is not certain that checking only the changed part of a program is enough."""


class _EntryResult:
    """The result of checking an entry: its findings, its experiment if it is one, and data that other entries read.

    `ranges` are the places of the entries that affect it, in the text in which it was checked. If a finding is about
    it (`is_reported`), the words of that finding may depend on other names.
    """

    def __init__(self, ranges: tuple[tuple[int, int], ...], now: int) -> None:
        self.ranges, self.since, self.last_met = ranges, now, now
        self.findings: tuple[Diagnostic, ...] = ()
        self.is_reported = False
        self.factors: frozenset[str] = frozenset()
        self.risks: frozenset[frozenset[str]] = frozenset()
        self.steps = 0
        self.is_armed = False
        self.experiment: Experiment | None = None
        self.by_subject: dict[str, SubjectResult] = {}

    def covers(self, root: str, findings: Iterable[Diagnostic]) -> bool:
        """Whether all places in the program that the findings refer to lie in the entries that affect this one."""
        return all(
            span.source.name != root or any(start <= span.start and span.end <= end for start, end in self.ranges)
            for finding in findings
            for span in _spans_of(finding)
        )


def _spans_of(finding: Diagnostic) -> Iterator[Span]:
    yield finding.span
    yield from (note.span for note in finding.notes)
    yield from (edit.span for fix in finding.fixes for edit in fix.edits)


class _Move:
    """Moves places from the text in which an entry was checked to the same entries in the current text."""

    def __init__(
        self, old: tuple[tuple[int, int], ...], new: Iterable[tuple[int, int]], sources: Mapping[str, Source], root: str
    ) -> None:
        self._old, self._sources, self._root = old, sources, root
        self._starts = [start for start, _ in old]
        self._by = [after - before for (before, _), (after, _) in zip(old, new, strict=True)]

    def findings(self, findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the findings with places in the current text. Raises UnsureError."""
        return tuple(
            finding.replace(
                span=self.span(finding.span),
                notes=tuple(note.replace(span=self.span(note.span)) for note in finding.notes),
                fixes=tuple(
                    fix.replace(edits=tuple(edit.replace(span=self.span(edit.span)) for edit in fix.edits))
                    for fix in finding.fixes
                ),
            )
            for finding in findings
        )

    def span(self, span: Span) -> Span:
        """Return a place in the current text. Raises UnsureError."""
        source = self._sources.get(span.source.name)
        if source is None or source is span.source:
            return span
        if source.name != self._root:
            return Span(source, span.start, span.end)
        index = bisect_right(self._starts, span.start) - 1
        if index < 0 or span.end > self._old[index][1]:
            raise UnsureError
        return Span(source, span.start + self._by[index], span.end + self._by[index])


class _NotedRisks(set[frozenset[str]]):
    """A set of risks that also records the risks that an entry adds, even those that were present before."""

    def __init__(self) -> None:
        super().__init__()
        self.added: set[frozenset[str]] = set()

    def add(self, risk: frozenset[str]) -> None:
        """Add a risk."""
        self.added.add(risk)
        super().add(risk)


class _Entries:
    """The entries of a program by number, and which of them affect which."""

    def __init__(self, root: Module, words: Mapping[str, frozenset[str]]) -> None:
        text = root.written.source.text
        entries = root.written.entries
        self.ranges = [(entry.span.start, entry.span.end) for entry in entries]
        self.texts = [text[start:end] for start, end in self.ranges]
        self.words = {part: words.get(part) or frozenset(_WORD.findall(part)) for part in self.texts}
        self.numbers: dict[int, int] = {}
        self.names = [{name.text for name in _names_of(entry)} for entry in entries]
        by_word: dict[str, list[int]] = {}
        common: list[int] = []
        for number, entry in enumerate(entries):
            names = _names_of(entry)
            for name in names:
                self.numbers[id(name)] = number
                for part in _WORD.findall(name.text):
                    by_word.setdefault(part, []).append(number)
            if not names and not isinstance(entry, tree.Profile):
                common.append(number)
        self._named = [
            [number for word in self.words[part] & by_word.keys() for number in by_word[word]] for part in self.texts
        ]
        self.common = self.named_by(common)
        self.context = tuple(self.texts[number] for number in common)

    def named_by(self, numbers: Iterable[int]) -> frozenset[int]:
        """Return some entries and all entries whose names occur as words in them."""
        seen, pending = set(numbers), list(numbers)
        while pending:
            for number in self._named[pending.pop()]:
                if number not in seen:
                    seen.add(number)
                    pending.append(number)
        return frozenset(seen)

    def deciding(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return all entries that affect some entries, in the order of the file."""
        return tuple(sorted(self.named_by(numbers) | self.common))

    def ranges_of(self, numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
        """Return the places of some entries."""
        return tuple(self.ranges[number] for number in numbers)


def _names_of(entry: tree.Entry) -> tuple[tree.Word, ...]:
    """Return the names of an entry that can be resolved alone; none for an entry that applies to the whole file."""
    if isinstance(entry, tree.LetZip):
        return entry.names
    named = tree.Let | tree.FunctionDef | tree.Param | tree.Declaration | tree.ExperimentDef
    return (entry.name,) if isinstance(entry, named) else ()


class Increments(Afresh):
    """The entries of one program, with results from earlier checks; for one check at a time, without overrides."""

    def __init__(self, parsed: Callable[[Source], Parsed] = parse.program) -> None:
        self._parsed = parsed
        self._results: dict[object, _EntryResult] = {}
        self._round = 0
        self._words: Mapping[str, frozenset[str]] = {}

    def parsed(self, source: Source) -> Parsed:
        """Parse a file, or reuse the tree that the caller already has."""
        return self._parsed(source)

    def begin(self, names: ProgramNames, root: Module) -> None:
        """Start with the current program."""
        modules = names.modules
        self._round += 1
        self._names, self._root, self._findings = names, root, modules.findings
        self._scope = ModuleScope(names, root)
        self._risks = names.risks = _NotedRisks()
        self._steps = 0
        self._sources = {source.name: source for source in modules.sources}
        self._entries = _Entries(root, self._words)
        self._words = self._entries.words
        files = tuple((source.name, source.text) for source in modules.sources[1:])
        self._context = (files, self._entries.context)
        flags = (root.broken, root.is_broken, root.lacks_import, root.lacks_kinds)
        self._names_and_flags = (flags, tuple(root.entries), tuple(root.kinds))
        errors = [finding.span for finding in self._findings.items if finding.span.source is root.written.source]
        self._uncertain = {
            number
            for number, (start, end) in enumerate(self._entries.ranges)
            if any(start <= span.end and span.start <= end for span in errors)
            or (TABLE in self._entries.texts[number] and not isinstance(root.written.entries[number], tree.Import))
        }
        self.paths = frozenset()
        self._armed: set[int] = set()
        self._experiments: dict[int, tuple[_EntryResult, _Move]] = {}

    def entry(self, name: str, resolve: Callable[[str], object]) -> None:
        """Resolve a named entry, unless it is known; the entries that it needs are resolved first."""
        number = self._entries.numbers[id(self._root.entries[name].name)]
        deciding = self._entries.deciding([number])
        entry = None if name in self._root.resolved else self._find(number, deciding)
        if entry is None:
            self._resolve(item for item in deciding if item < number)
            is_first = name not in self._root.resolved
            entry = self._noted(deciding, lambda: resolve(name))
            entry.is_armed = self._names.modules.is_armed(self._root.resolved[name])
            if is_first:
                self._keep(number, deciding, entry)
        else:
            self._repeat(entry, self._move(entry, deciding))
        if entry.is_armed:
            self._armed.add(number)

    def experiment(self, node: tree.ExperimentDef, check: Callable[[], Experiment | None]) -> Experiment | None:
        """Check an experiment, unless it is known."""
        number = self._entries.numbers[id(node.name)]
        deciding = self._entries.deciding([number, *self._armed])
        entry = self._find(number, deciding)
        if entry is None or entry.experiment is None or not self._has_same_risks(entry, entry.experiment):
            self._resolve(deciding)
            result: list[Experiment | None] = []
            entry = self._noted(deciding, lambda: result.append(check()))
            entry.experiment = result[0]
            self._keep(number, deciding, entry)
            move = self._move(entry, deciding)
        else:
            move = self._move(entry, deciding)
            self._repeat(entry, move)
        if entry.experiment is not None:
            self._experiments[id(entry.experiment)] = entry, move
        return entry.experiment

    def findings(self, experiment: Experiment, subject: str, find: Callable[[], SubjectResult]) -> SubjectResult:
        """Find the problems of an experiment, unless they are known. Raises UnsureError."""
        entry, move = self._experiments[id(experiment)]
        if subject not in entry.by_subject:
            result = find()
            if not entry.covers(self._root.written.source.name, result[0]):
                if entry.since != self._round:
                    raise UnsureError
                entry.last_met = 0
                return result
            entry.by_subject[subject] = result
        findings, sentence = entry.by_subject[subject]
        return move.findings(findings), sentence

    def end(self, findings: Findings) -> None:
        """Forget entries that several checks did not use. Raises UnsureError if a limit may have been reached."""
        self._results = {
            key: entry for key, entry in self._results.items() if entry.last_met > max(0, self._round - _KEPT_FOR)
        }
        items = findings.items
        if len(items) > MOST or self._steps > MOST_STEPS or any(finding.code in _LIMITS for finding in items):
            raise UnsureError

    def place(self, experiment: Experiment, span: Span) -> Span:
        """Return the current place of text that an experiment refers to. Raises UnsureError."""
        return self._experiments[id(experiment)][1].span(span)

    def _key(self, number: int, deciding: tuple[int, ...], *, is_reported: bool) -> object:
        texts = tuple(self._entries.texts[item] for item in deciding)
        if is_reported:
            return deciding.index(number), texts, self._context, self._names_and_flags
        broken = self._root.broken and [item for item in deciding if self._entries.names[item] & self._root.broken]
        return deciding.index(number), texts, self._context, tuple(broken)

    def _find(self, number: int, deciding: tuple[int, ...]) -> _EntryResult | None:
        keys = (self._key(number, deciding, is_reported=is_reported) for is_reported in (False, True))
        entry = next((self._results[key] for key in keys if key in self._results), None)
        if entry is None or not entry.last_met or not self._uncertain.isdisjoint(deciding):
            return None
        entry.last_met = self._round
        return entry

    def _keep(self, number: int, deciding: tuple[int, ...], entry: _EntryResult) -> None:
        """Keep the result of an entry, unless it depends on more than the entries that affect it."""
        is_wrong = any(finding.code.severity is Severity.ERROR for finding in entry.findings)
        if is_wrong or not self._uncertain.isdisjoint(deciding):
            return
        if entry.covers(self._root.written.source.name, entry.findings):
            self._results[self._key(number, deciding, is_reported=entry.is_reported)] = entry

    def _noted(self, deciding: tuple[int, ...], work: Callable[[], object]) -> _EntryResult:
        """Do some work, and record its result."""
        entry = _EntryResult(self._entries.ranges_of(deciding), self._round)
        items, reports, steps = len(self._findings.items), self._findings.reports, self._names.effort.steps
        paths = set(self._names.factors)
        self._risks.added = set()
        work()
        entry.findings = tuple(self._findings.items[items:])
        entry.is_reported = self._findings.reports > reports
        entry.factors = frozenset(self._names.factors.keys() - paths)
        entry.risks = frozenset(self._risks.added)
        entry.steps = self._names.effort.steps - steps
        self._steps += entry.steps
        return entry

    def _repeat(self, entry: _EntryResult, move: _Move) -> None:
        """Report and record the result of an entry again."""
        self._findings.items += move.findings(entry.findings)
        self.paths |= entry.factors
        self._risks.update(entry.risks)
        self._steps += entry.steps

    def _move(self, entry: _EntryResult, deciding: tuple[int, ...]) -> _Move:
        new = self._entries.ranges_of(deciding)
        return _Move(entry.ranges, new, self._sources, self._root.written.source.name)

    def _resolve(self, numbers: Iterable[int]) -> None:
        """Resolve some entries, in this order."""
        entries = self._root.written.entries
        for number in numbers:
            for name in _names_of(entries[number]):
                if name.text in self._root.entries:
                    self._scope.lookup(name.text, name.span)

    def _has_same_risks(self, entry: _EntryResult, experiment: Experiment) -> bool:
        """Whether other entries add the same risks to an experiment as when it was checked."""
        paths = experiment.factors.keys()
        return set(experiment.risks) == {risk for risk in self._risks | entry.risks if risk <= paths}
