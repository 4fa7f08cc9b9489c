"""Errors in programs: the table of their codes, and the findings with these codes.

Rule: a finding is a value that points to its place; it is collected, never raised and never printed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from zlang.record import Record
from zlang.source import Span
from zlang.suggest import Hint

MOST = 100
"""The number of findings of a program that are shown."""


class Severity(Enum):
    """The severity of a finding: an error prevents planning; a warning or a note does not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Edit(Record):
    """A replacement of the text at a place."""

    span: Span
    text: str


class Fix(Record):
    """A fix of a finding: a title and edits. A safe one can be applied without review; another may be wrong."""

    title: str
    edits: tuple[Edit, ...]
    is_safe: bool

    @property
    def applicability(self) -> str:
        """`safe` or `maybe`."""
        return "safe" if self.is_safe else "maybe"


class Code(Enum):
    """The codes of findings, each with its id and message template. `at` fills the `{names}` in a template."""

    UNEXPECTED = ("E101", "expected {expected}, found {found}")
    UNCLOSED = ("E102", "this `{opening}` is never closed")
    BAD_CHARACTER = ("E103", "unexpected character `{character}`")
    UNCLOSED_TEXT = ("E104", "this text is never closed")
    BAD_NUMBER = ("E105", "{message}")
    TOO_DEEP = ("E106", "nested more than {limit} deep")
    BAD_INTERPOLATION = ("E107", "unmatched `{brace}` in a text")
    TOO_LONG = ("E108", "the program has {length} characters; the limit is {limit}")
    TOO_MANY = ("E109", "there are more problems; only the first {limit} are shown")
    TOO_MUCH = ("E110", "evaluating this takes more than {limit} steps")

    UNKNOWN_NAME = ("E201", "unknown name `{name}`")
    UNKNOWN_KIND = ("E202", "unknown kind `{name}`")
    UNKNOWN_PROPERTY = ("E203", "`{kind}` has no property `{name}`")
    DUPLICATE = ("E204", "`{name}` is defined twice")
    CIRCLE = ("E205", "the definition of `{name}` refers to itself")
    MISSING_IMPORT = ("E206", "cannot import {target}: {why}")
    IMPORT_CIRCLE = ("E207", "circular import of {target}: {circle}")
    MISSING_PROPERTY = ("E208", "`{kind}` needs `{name}`")
    UNKNOWN_FUNCTION = ("E209", "unknown function `{name}`")
    NO_EXPERIMENT = ("E211", "the program has no experiment")
    UNKNOWN_PARAM = ("E212", "the program has no param `{name}`")
    UNKNOWN_PROFILE = ("E213", "the program has no profile `{name}`")
    UNKNOWN_FIELD = ("E214", "{subject} has no `{name}`")
    NO_FACTOR = ("E216", "`{name}` is not a factor of this experiment")
    UNKNOWN_RULE = ("E217", "unknown rule `{name}`")
    NO_REASON = ("E218", "`{name}` is allowed without a reason")
    UNKNOWN_LIBRARY = ("E215", "the standard library has no module `{name}`")

    WRONG_TYPE = ("E301", "`{name}` must be {expected}, not {found}")
    NOT_ALLOWED = ("E302", "`{name}` cannot be {value}")
    MIXED_UNITS = ("E303", "cannot {verb} {left} and {right}")
    EMPTY_RANGE = ("E304", "this range has no values")
    WRONG_ARGUMENTS = ("E305", "`{name}` takes {expected}, not {found}")
    ZIP_WIDTH = ("E306", "expected {names} values in parentheses, found {values}")
    WRONG_ROLE = ("E307", "{place} must be {expected}, not {found}")
    NOT_CONSTANT = ("E308", "{place} must be the same in every trial")
    NOT_WHOLE = ("E309", "`{name}` is {value}, which is not a whole number of {unit}")
    DIVISION = ("E310", "division by zero")
    BAD_CONDITION = ("E311", "expected a condition, found {found}")
    TOO_CONNECTED = ("E312", "zlang would have to list more than {limit} combinations of these factors: {names}")
    NO_POINTS = ("E313", "the space has no points left")
    RANGE_TOO_LONG = ("E314", "the range has {count} values; the limit is {limit}")
    NOTHING_OFFERED = ("E315", "`{workload}` needs {needs}, but {target} offers {offers}")
    CHOICE_HERE = ("E316", "a choice inside an expression needs a name")
    NOT_GIVEN = ("E317", "`{kind}` cannot be `given`: it has no command that verifies that it exists")
    NEEDS_AGGREGATE = ("E318", "`{name}` has a value for each trial, but here one value over all trials is needed")
    AGGREGATE_HERE = ("E319", "`{name}` aggregates several trials, but here there is only one")
    NOTHING_MEASURED = ("E320", "this does not refer to a metric")
    SAME_MEASUREMENT = ("E322", "{points} are the same measurement")
    DESIGN_TOO_LARGE = ("E321", "`{design}` has {count} {what}; the limit is {limit}")

    TOO_OLD = ("E330", "`{name}` requires {tool} {since}, but {host} has {has}")
    NO_PLATFORM = ("E331", "`{kind}` has no `{action}` for {platform}")
    SET_TWICE = ("E332", "`{one}` and `{other}` both set {what}")
    NOT_TAKEN = ("E333", "`{name}` is used here, but it is not part of the experiment")
    NOT_BENEATH = ("E334", "`{name}` names `{other}`, but is not built on it")
    GIVEN_ON_DEVICE = ("E335", "`{name}` is `given`, so its disk `{device}` is in use and cannot be guarded")
    UNGUARDED = ("E336", "a command contains the path of `{device}`, but the trial does not guard that disk")

    ASSERTED = ("E337", "{message}")
    STREAMS_CLASH = ("E339", "{message}")
    LOST_PATH = ("E341", "`{path}` is not relative to the directory in which `{name}` runs")
    CHANGES_GIVEN = ("E340", "{message}")
    SHARED_CACHE = ("E338", "`{name}` is `given`, so `{protocol}` must not empty its cache")
    NOT_MEASURABLE = ("E342", "{message}")

    BAD_KIND = ("E401", "{message}")
    NOT_IN_JOBFILE = ("E402", "`{name}` cannot be written in a job file: it contains {what}")
    NO_VALUE = ("E403", "{message}")
    KIND_LACKS = ("E404", "{what} needs `{lacks}`")
    UNUSED_IN_KIND = ("E405", "nothing uses `{name}`")

    SQL_WORD = ("W502", "the factor `{name}` has the name of a reserved word of SQL")
    UNUSED_WHERE = ("W501", "this condition has the same result in every trial")
    UNUSED_ALLOWANCE = ("W503", "unused allowance: `{name}` finds nothing here")
    UNUSED_VALUE = ("W505", "nothing uses the {what} `{name}`")
    STRAY_DOLLAR = ("W506", "the `$` stays in the text, before the value of `{name}`")
    TRIAL_COLUMN = ("W507", "the factor `{name}` has the name of a column that every trial has")
    NO_SAMPLES = ("W508", "`{name}` has no samples over time in any trial")
    NEVER_MEASURED = ("W504", "`{name}` has no value in any trial: it exists only if the workload {what}")

    def __init__(self, id_: str, sentence: str) -> None:
        self.id = id_
        self.sentence = sentence

    @property
    def severity(self) -> Severity:
        """The severity: a warning if the code begins with W, else an error."""
        return Severity.WARNING if self.id.startswith("W") else Severity.ERROR

    def at(self, span: Span, *, label: str = "", hint: str = "", **words: object) -> Diagnostic:
        """Return the finding at a place, with the replacement that its hint suggests as its fix."""
        fixes = tuple(_fixes(hint, span)) if isinstance(hint, Hint) else ()
        return Diagnostic(
            code=self, span=span, message=self.sentence.format(**words), label=label, hint=hint, notes=(), fixes=fixes
        )


class Lint(Record):
    """A lint rule: its id, the name that an `allow` uses for it, and its severity."""

    id: str
    name: str
    severity: Severity

    def at(self, span: Span, message: str, hint: str = "") -> Diagnostic:
        """The finding at a place."""
        fixes = tuple(_fixes(hint, span)) if isinstance(hint, Hint) else ()
        return Diagnostic(code=self, span=span, message=message, label="", hint=hint, notes=(), fixes=fixes)


class Note(Record):
    """A second, related place."""

    span: Span
    text: str


class Diagnostic(Record):
    """One finding: its message, its place with a label, a hint, and related places."""

    code: Code | Lint
    span: Span
    message: str
    label: str = ""
    hint: str = ""
    notes: tuple[Note, ...] = ()
    fixes: tuple[Fix, ...] = ()

    def also(self, span: Span, text: str) -> Diagnostic:
        """Return a copy with a related place added."""
        return self.replace(notes=(*self.notes, Note(span, text)))

    def mended_by(self, *fixes: Fix) -> Diagnostic:
        """Return a copy with fixes."""
        return self.replace(fixes=fixes)

    def saying(self, message: str) -> Diagnostic:
        """Return a copy with another message."""
        return self.replace(message=message)


def _fixes(hint: Hint, span: Span) -> Iterator[Fix]:
    text = span.source.text
    if span.source.name.startswith("--"):  # a word of the command line
        return
    if hint.line:
        at = re.match(_HEAD, text)
        place = Span(span.source, at.end() if at else 0, at.end() if at else 0)
        yield Fix(f"add `{hint.line}`", (Edit(place, f"{hint.line}\n"),), hint.is_safe)
    if not hint.instead:
        return
    before, after = "(?<![A-Za-z_-])" * hint.word[:1].isalnum(), r"(?![\w-])" * hint.word[-1:].isalnum()
    word = re.compile(f"{before}{re.escape(hint.word)}{after}")
    before_it = max(text.rfind("\n", 0, span.start) + 1, span.start - _NEAR)
    result = [*word.finditer(text, span.start, span.end)] or [*word.finditer(text, before_it, span.start)]
    for instead in hint.instead if result else ():
        place = Span(span.source, result[-1].start(), result[-1].end())
        title = f"write `{instead.strip()}`" if instead.strip() else "remove it"
        yield Fix(title, (Edit(place, instead),), hint.is_safe)


_NEAR = 200
"""The distance before its place in which a finding's word is sought; a line may be as long as a program."""
_HEAD = r"\ufeff?(?:[ \t]*(?:#[^\n]*)?\n)*"
"""The empty lines and comments with which a program begins."""


class ProgramError(Exception):
    """A finding raised during an evaluation; the stage that evaluates catches and collects it."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
