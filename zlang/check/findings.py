"""The findings about a program, except those that follow from another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zlang.check.module import Module
from zlang.diagnostics import MOST, Code, Diagnostic, Fix
from zlang.source import Source

_SHOWN_PLACES = 3
_OF_NAMES = {Code.UNKNOWN_NAME, Code.UNKNOWN_KIND, Code.NO_FACTOR, Code.NEVER_MEASURED}


class TooManyFindings(Exception):
    """There are more findings than anyone would read at once."""


class Findings:
    """Collects findings. `modules` are the files that were read, by name."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.items: list[Diagnostic] = []
        self.reports = 0
        self._modules = modules

    def report(self, finding: Diagnostic) -> None:
        """Collect a finding, unless it follows from something that could not be read or imported."""
        self.reports += 1
        if not self._is_consequence(finding):
            self.items.append(finding)
        if len(self.items) > 2 * MOST:
            raise TooManyFindings

    def _is_consequence(self, finding: Diagnostic) -> bool:
        unknown = {Code.UNKNOWN_NAME, Code.UNKNOWN_KIND, Code.UNKNOWN_PARAM}
        lacking = {Code.MISSING_PROPERTY, Code.KIND_LACKS, Code.UNUSED_IN_KIND}
        if finding.code not in {*unknown, *lacking}:
            return False
        # A file that is imported with values for its params is read several times.
        file, is_kind = finding.span.source.name, finding.code is Code.UNKNOWN_KIND
        modules = [module for module in self._modules.values() if module.written.source.name == file]
        if finding.code in lacking:
            return any(module.is_broken for module in modules)
        word = finding.span.text.split(".")[0]
        return any(m.lacks_import or (m.lacks_kinds and is_kind) or word in m.broken for m in modules)

    def in_order(self, sources: Iterable[Source]) -> tuple[Diagnostic, ...]:
        """Return the findings in order of place, without duplicates, and no more than anyone would read."""
        unique = {(f.code, f.span.source.name, f.span.start, f.message): f for f in self.items}
        order = {source.name: i for i, source in enumerate(sources)}
        findings = _folded(sorted(unique.values(), key=lambda f: (order.get(f.span.source.name, -1), f.span.start)))
        if len(findings) > MOST:
            findings[MOST:] = [Code.TOO_MANY.at(findings[MOST].span, limit=MOST)]
        return tuple(findings)


def _folded(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings; an unknown name is reported once, at its first place, with a list of the others."""
    folded: dict[object, Diagnostic] = {}
    for number, finding in enumerate(findings):
        is_name = finding.code in _OF_NAMES
        key = (finding.code, finding.span.source.name, finding.message) if is_name else number
        first = folded.get(key)
        if first is None:
            folded[key] = finding
            continue
        fixes = []
        for fix, other in zip(first.fixes, finding.fixes, strict=False):
            edits = {edit.span.place: edit for edit in (*fix.edits, *other.edits)}
            fixes.append(Fix(fix.title, tuple(edits.values()), fix.is_safe))
        shown = first.also(finding.span, "and here") if len(first.notes) < _SHOWN_PLACES else first
        folded[key] = shown.mended_by(*fixes)
    return list(folded.values())
