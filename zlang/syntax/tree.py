"""The tree of a program as written: every node has its span, comments are kept beside it."""

from __future__ import annotations

from collections.abc import Iterator

from zlang.record import Record
from zlang.source import Source, Span
from zlang.units import Quantity


class Word(Record):
    """A name and its place."""

    span: Span
    text: str


class Number(Record):
    """`4KiB`, `16`, `70%`."""

    span: Span
    quantity: Quantity


class Text(Record):
    """`"{box.name}-{bs}"`: literal parts and expressions."""

    span: Span
    parts: tuple[str | Expr, ...]


class Name(Record):
    """`target.recordsize`."""

    span: Span
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


class Choice(Record):
    """`a | b | c`."""

    span: Span
    options: tuple[Expr, ...]


class Range(Record):
    """`low..high`, `by` a step or by a factor; only where a property allows it may the upper end be missing."""

    span: Span
    low: Expr
    high: Expr | None
    step: Expr | None
    times: bool


class Tuple(Record):
    """`(2, 4)`: the levels of fields that vary together."""

    span: Span
    items: tuple[Expr, ...]


class ListOf(Record):
    """`[a, b]`."""

    span: Span
    items: tuple[Expr, ...]


class Call(Record):
    """`max(a, b)`, a variant with its value, `compressible(50%)`, or an aggregate, `median(METRIC where on)`."""

    span: Span
    function: Name
    arguments: tuple[Expr, ...]
    where: Expr | None = None


class Binary(Record):
    """An operator between two expressions: arithmetic, comparison, `in`, `and`, `or`."""

    span: Span
    operator: str
    left: Expr
    right: Expr


class Not(Record):
    """`not condition`."""

    span: Span
    operand: Expr


class IsA(Record):
    """`target is dataset`: of that kind, of that variant, or that very declaration."""

    span: Span
    value: Expr
    kind: Name


class If(Record):
    """`if condition then a else b`."""

    span: Span
    condition: Expr
    then: Expr
    otherwise: Expr


class Anonymous(Record):
    """An anonymous declaration: `ext4 on lv { … }`."""

    span: Span
    kind: Name
    parent: Expr | None
    items: tuple[Item, ...]


class Amend(Record):
    """`base with { properties }`: a declared thing like the base, except for some properties."""

    span: Span
    base: Name
    items: tuple[Item, ...]


class Index(Record):
    """`disks[0]`."""

    span: Span
    many: Expr
    place: Expr


class ListFrom(Record):
    """`[value for name in many if condition]`."""

    span: Span
    value: Expr
    name: Word
    many: Expr
    condition: Expr | None


class Period(Record):
    """`5000/s for 30s`, or `1000/s to 5000/s for 30s`; `word` is the one before the value at its end."""

    span: Span
    value: Expr
    word: Word | None
    end: Expr | None
    duration: Expr


class ScheduleOf(Record):
    """`[1000/s for 30s, 5000/s for 10s]`."""

    span: Span
    periods: tuple[Period, ...]


class TableCell(Record):
    """A cell of a table that `rows` reads: its text, and the type or unit in its column's heading.

    If it `is_text`, some cells of its column are neither numbers nor switches.
    """

    span: Span
    text: str
    column: str
    type: str
    unit: str
    is_text: bool


Expr = (
    Number
    | TableCell
    | Text
    | Name
    | Choice
    | Range
    | Tuple
    | ListOf
    | Call
    | Binary
    | Not
    | IsA
    | If
    | Anonymous
    | Amend
    | Index
    | ListFrom
    | ScheduleOf
)


def parts(node: object) -> Iterator[object]:
    """Yield a node and all nodes beneath it."""
    yield node
    if isinstance(node, Record) and not isinstance(node, Span):
        for name in type(node).record_fields:  # type: ignore[attr-defined]
            inner = getattr(node, name)
            for item in inner if isinstance(inner, tuple) else (inner,):
                yield from parts(item) if isinstance(item, Record) else ()


def is_condition(node: object) -> bool:
    """Whether the syntax of a node shows that its value is true or false."""
    compares = {"==", "!=", "<", "<=", ">", ">=", "in", "and", "or"}
    return isinstance(node, Not | IsA) or (isinstance(node, Binary) and node.operator in compares)


class Field(Record):
    """`name = value`."""

    span: Span
    name: Word
    value: Expr


class Zip(Record):
    """`(a, b) = (1, 2) | (3, 4)`."""

    span: Span
    names: tuple[Word, ...]
    value: Expr


class Where(Record):
    """`where condition`."""

    span: Span
    condition: Expr


class Expect(Record):
    """`expect "sentence" condition`."""

    span: Span
    title: str
    condition: Expr


class TableClause(Record):
    """`table measure, … by factor, …`."""

    span: Span
    measures: tuple[Expr, ...]
    by: tuple[Name, ...]


class PlotClause(Record):
    """`plot measure, … over factor by factor, …, facet factor, log`."""

    span: Span
    measures: tuple[Expr, ...]
    over: Name
    by: tuple[Name, ...]
    facet: Name | None
    is_log: bool


class UntilClause(Record):
    """`repeat = 3..20 until condition`."""

    span: Span
    name: Word
    value: Expr
    condition: Expr


class Find(Record):
    """`find name in values where condition maximising measure`; `sense` is the word before the measure."""

    span: Span
    name: Name
    values: Expr
    condition: Expr
    sense: Word
    objective: Expr


class Assert(Record):
    """`assert "title" condition`."""

    span: Span
    title: str
    condition: Expr


Clause = Expect | TableClause | PlotClause
Item = Field | Zip | Where | UntilClause | Find | Assert | Clause


def words(item: Item) -> tuple[Word, ...]:
    """Return the names to which an item gives values."""
    return item.names if isinstance(item, Zip) else (item.name,) if isinstance(item, Field | UntilClause) else ()


class Let(Record):
    """`let name = value`."""

    span: Span
    name: Word
    value: Expr


class LetZip(Record):
    """`let (a, b) = (1, 2) | (3, 4)`."""

    span: Span
    names: tuple[Word, ...]
    value: Expr


class LetColumn(Record):
    """One of the names of a `LetZip`."""

    span: Span
    name: Word
    of: LetZip


class FunctionDef(Record):
    """`let name(parameters) = value`."""

    span: Span
    name: Word
    parameters: tuple[Word, ...]
    value: Expr


class Param(Record):
    """`param name: type = value`, overridden by `--set`."""

    span: Span
    name: Word
    type: TypeExpr | None
    value: Expr


class Profile(Record):
    """`profile name { param = value … }`."""

    span: Span
    name: Word
    items: tuple[Item, ...]


class Import(Record):
    """`import zfs`, `import "./lab.zexp" as lab { param = value … }`."""

    span: Span
    target: str
    is_file: bool
    alias: Word | None
    items: tuple[Item, ...] = ()


class Declaration(Record):
    """`kind name on parent { … }`; `given` things are used, never made."""

    span: Span
    kind: Name
    name: Word
    parent: Expr | None
    items: tuple[Item, ...]
    given: bool


class ExperimentDef(Record):
    """`experiment name "title" { … }`, or `experiment name = base with { … }`."""

    span: Span
    name: Word
    title: str
    items: tuple[Item, ...]
    base: Name | None = None


class TypeAtom(Record):
    """`size`, `random`, `compressible(by: share 0%..90%)`, `[type]`, `[type for duration]`."""

    span: Span
    name: str
    field: tuple[str, str] | None = None
    element: TypeExpr | None = None
    allow: Expr | None = None
    schedule: TypeExpr | None = None


class TypeExpr(Record):
    """Alternatives of a type."""

    span: Span
    atoms: tuple[TypeAtom, ...]


class Property(Record):
    """`property name: type { attributes }`."""

    span: Span
    name: Word
    type: TypeExpr
    attributes: tuple[Item, ...]


class Offers(Record):
    """`offers file = "…"`."""

    span: Span
    name: Word
    value: Expr


class Trait(Record):
    """`trait block = bs`, or a trait of the kind's own with its type: `trait spindles: count = 12`."""

    span: Span
    name: Word
    value: Expr
    type: Word | None = None


class Without(Record):
    """`without "names" "reason"`: options of the tool that the kind lacks, and what to write instead."""

    span: Span
    names: str
    reason: str


class Default(Record):
    """`default name = value`: another default for a property of the kind that is extended."""

    span: Span
    name: Word
    value: Expr


class Needs(Record):
    """`needs file | dir as at`."""

    span: Span
    offers: tuple[Word, ...]
    name: Word


class Requires(Record):
    """`requires tool "how to get it"`, or `requires "command that must succeed" "what to do"`."""

    span: Span
    tool: Word
    hint: str


class Sh(Record):
    """`sh "command" is "expected output" { timeout = 1h }`, or `ask "what a person has to do"`."""

    span: Span
    text: Text
    expect: Text | None
    attributes: tuple[Item, ...]
    is_asked: bool = False


class Reads(Record):
    """`reads reader "artefact" { arguments }`."""

    span: Span
    reader: Word
    artefact: Text
    arguments: tuple[Item, ...]


class ActionDef(Record):
    """`verify cold linux { sh "…" }`: the action, its state and platform, and its commands."""

    span: Span
    name: Word
    selectors: tuple[Word, ...]
    commands: tuple[Sh | Reads, ...]


class MetricDecl(Record):
    """`metric name: type = how "where" in unit { attributes }`, or the same with `distribution`.

    Only a kind's metrics say `how` and `where` they are found in the output; a reader finds its own.
    """

    span: Span
    name: Word
    type: Word
    how: Word | None
    where: Text | None
    unit: Word | None
    attributes: tuple[Item, ...]
    is_distribution: bool = False


class ReaderDecl(Record):
    """`reader name { metric … }`: what a reader can measure."""

    span: Span
    name: Word
    metrics: tuple[MetricDecl, ...]


KindItem = Property | Offers | Trait | Needs | Requires | Field | ActionDef | MetricDecl | Assert | Default | Without


class KindDef(Record):
    """`kind name: role on parents { … }`."""

    span: Span
    name: Word
    role: Word
    parents: tuple[Word, ...]
    items: tuple[KindItem, ...]


Entry = (
    Let | LetZip | FunctionDef | Param | Profile | Import | Declaration | ExperimentDef | KindDef | ReaderDecl | Assert
)


class Comment(Record):
    """`# …`, to the end of its line."""

    span: Span
    text: str


class Tree(Record):
    """A whole program."""

    source: Source
    entries: tuple[Entry, ...]
    comments: tuple[Comment, ...]
