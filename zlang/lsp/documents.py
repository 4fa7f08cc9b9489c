"""The programs that an editor has open, and the analysis of each in its current state.

In: texts by URI. Out: `Analysis`: the checked program, all findings, its names. Rule: everything comes from
`pipeline`; an unsaved text takes the place of its file, also when another program imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pygls import uris

from zlang.check.afresh import AFRESH, Afresh
from zlang.check.check import Overrides
from zlang.check.increments import Increments, UnsureError
from zlang.check.program import Experiment
from zlang.diagnostics import Diagnostic
from zlang.errors import RunError
from zlang.lsp.positions import TextLines
from zlang.lsp.symbols import Symbols, imported_files
from zlang.pipeline import plans, programs
from zlang.source import Source
from zlang.syntax import format as formatting
from zlang.syntax import parse, reparse

ENDING = ".zexp"
_MOST_FILES = 1000


class ParsedText:
    """A text with its tree, without its imports. In `source` each line ends with a newline."""

    def __init__(self, path: str, text: str, version: int | None = None, before: ParsedText | None = None) -> None:
        self.version = version
        self._sound = before.sound if before is not None else None
        self.source = Source(path, formatting.plain(text))
        self.lines = TextLines(self.source.text)

    @cached_property
    def parsed(self) -> parse.Parsed:
        """The tree and the syntax errors. Parsing reuses most of an earlier text that is similar."""
        return reparse.program(self._sound, self.source) if self._sound else parse.program(self.source)

    @property
    def sound(self) -> parse.Parsed | None:
        """The tree if there are no syntax errors; else that of the last text without any."""
        return self.parsed if "parsed" in self.__dict__ and not self.parsed.findings else self._sound

    @property
    def has_symbols(self) -> bool:
        """Whether its names have already been collected."""
        return "symbols" in self.__dict__

    @cached_property
    def symbols(self) -> Symbols:
        """The names that the text declares and uses."""
        return Symbols(self.parsed.tree)


class Analysis:
    """A checked program with everything that it imports. `work` may reuse parts of the previous check."""

    def __init__(self, root: ParsedText, texts: Mapping[str, str], work: Afresh = AFRESH) -> None:
        self.root = root
        self.checked = programs.check(root.source, Overrides(), texts, work)
        self.findings: list[Diagnostic]
        self.problem: RunError | None
        self.findings, _, self.problem = plans.report(self.checked, work=work)
        self.imports: set[str] = set()
        """The files that it imports, those among them that cannot be read."""
        self.factors = {
            path: factor.replace(span=work.place(experiment, factor.span))
            for experiment in self.checked.program.experiments.values()
            for path, factor in experiment.factors.items()
        }

        self._sizes: dict[int, tuple[Experiment, str]] = {}

    def take_sizes(self, before: Analysis) -> None:
        """Copy the computed sizes of experiments that have not changed."""
        experiments = self.checked.program.experiments.values()
        self._sizes = {
            id(experiment): before._sizes[id(experiment)]
            for experiment in experiments
            if id(experiment) in before._sizes
        }

    def size(self, experiment: Experiment, compute: Callable[[], str]) -> str:
        """The text about the size of an experiment, computed once."""
        if id(experiment) not in self._sizes:
            self._sizes[id(experiment)] = experiment, compute()
        return self._sizes[id(experiment)][1]

    @property
    def paths(self) -> set[str]:
        """The files of the program."""
        return {source.name for source in self.checked.program.sources}


class Documents:
    """The open texts, by path."""

    def __init__(self) -> None:
        self._open: dict[str, ParsedText] = {}
        self._analyses: dict[str, Analysis] = {}
        self._last: dict[str, Analysis] = {}
        self._symbols: dict[str, Symbols] = {}
        self._work: dict[str, Increments] = {}
        self._saved: dict[str, tuple[float, ParsedText]] = {}
        self.folders: list[str] = []

    def open(self, uri: str, text: str, version: int | None) -> ParsedText:
        """Set the current state of a text; the analyses of programs that use it become invalid."""
        path = path_of(uri)
        before = self._open.get(path)
        if before is not None and before.has_symbols:
            self._symbols[path] = before.symbols
        parsed = self._open[path] = ParsedText(path, text, version, before)
        self.forget(path)
        return parsed

    def last_symbols(self, path: str) -> Symbols | None:
        """The latest known names of a text: those of the previous text while it is parsed again."""
        text = self.text(path)
        if text is not None and not text.has_symbols and path in self._symbols:
            return self._symbols[path]
        return text.symbols if text is not None else None

    def close(self, uri: str) -> None:
        """Close a text, so that its file is used from now on."""
        self._open.pop(path_of(uri), None)
        self.forget(path_of(uri))

    def forget(self, path: str) -> None:
        """Check programs again that use a file which has changed."""
        self._analyses = {
            root: analysis
            for root, analysis in self._analyses.items()
            if root != path and path not in analysis.paths | analysis.imports
        }

    def users(self, path: str) -> list[str]:
        """The open programs that use a file, including the file itself."""
        return [root for root in self._open if root == path or path in self.imported_by(root)]

    def imported_by(self, path: str, seen: frozenset[str] = frozenset()) -> set[str]:
        """The files that a file imports, also through others."""
        text = self.text(path)
        if text is None or path in seen:
            return set()
        direct = set(imported_files(text.parsed.tree, path))
        return direct.union(*(self.imported_by(other, seen | {path}) for other in direct))

    @property
    def paths(self) -> list[str]:
        """The open programs."""
        return list(self._open)

    def text(self, path: str) -> ParsedText | None:
        """The text of a file: from the editor if open, else from the disk."""
        if path in self._open:
            return self._open[path]
        try:
            changed = Path(path).stat().st_mtime
            if self._saved.get(path, (0.0, None))[0] != changed:
                self._saved[path] = changed, ParsedText(path, programs.read(path).text)
        except (OSError, ValueError, RunError):
            return None
        return self._saved[path][1]

    def analysis(self, path: str) -> Analysis | None:
        """The analysis of a program, computed anew if the program has changed."""
        if path not in self._analyses:
            root = self.text(path)
            if root is None:
                return None
            texts = {name: text.source.text for name, text in self._open.items()}
            analysis = self._analyse(root, texts)
            analysis.imports = self.imported_by(path)
            self._last[path] = analysis
            if self.text(path) is not root:  # it has changed meanwhile
                return analysis
            self._analyses[path] = analysis
        return self._analyses[path]

    def _analyse(self, root: ParsedText, texts: Mapping[str, str]) -> Analysis:
        """Check a program; only the parts that may have changed are checked again."""
        work = self._work.setdefault(root.source.name, Increments(self._parsed))
        try:
            analysis = Analysis(root, texts, work)
        except UnsureError:
            del self._work[root.source.name]
            analysis = Analysis(root, texts)
        before = self._last.get(root.source.name)
        if before is not None:
            analysis.take_sizes(before)
        return analysis

    def _parsed(self, source: Source) -> parse.Parsed:
        """Parse a text, unless an open document has parsed it already."""
        text = self.text(source.name)
        return text.parsed if text is not None and text.source.text == source.text else parse.program(source)

    def last_analysis(self, path: str) -> Analysis | None:
        """The last analysis of a program, for use while a newer one is computed."""
        return self._analyses.get(path) or self._last.get(path)

    def known_analysis(self, path: str) -> Analysis | None:
        """The analysis of a program if it is current without a new check; else None."""
        return self._analyses.get(path)

    def neighbours(self, path: str) -> Iterator[str]:
        """The programs in the open folders, and beside a file."""
        folders = [*self.folders, str(Path(path).parent)]
        files = (str(file) for folder in folders for file in sorted(Path(folder).rglob(f"*{ENDING}"))[:_MOST_FILES])
        yield from dict.fromkeys([*self._open, *files])


def path_of(uri: str) -> str:
    """The path for an address; an address that is not that of a file is returned unchanged."""
    return uris.to_fs_path(uri) or uri


def uri_of(path: str) -> str:
    """The address for a path."""
    return uris.from_fs_path(path) or path if path.startswith("/") else path
