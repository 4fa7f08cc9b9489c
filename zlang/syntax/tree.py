"""The tree of a program as it was written: every node has its span, comments are kept beside it."""

from __future__ import annotations

from dataclasses import dataclass

from zlang.source import Source, Span
from zlang.units import Quantity


@dataclass(frozen=True, slots=True)
class Word:
    """A name where it stands."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """`4KiB`, `16`, `70%`."""

    span: Span
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Text:
    """`"{box.name}-{bs}"`: literal parts and expressions."""

    span: Span
    parts: tuple[str | Expr, ...]


@dataclass(frozen=True, slots=True)
class Name:
    """`target.recordsize`."""

    span: Span
    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Choice:
    """`a | b | c`."""

    span: Span
    options: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """`low..high`, `by` a step or by a factor; only what a property allows may be open above."""

    span: Span
    low: Expr
    high: Expr | None
    step: Expr | None
    times: bool


@dataclass(frozen=True, slots=True)
class Tuple:
    """`(2, 4)`: the levels of fields that vary together."""

    span: Span
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """`[a, b]`."""

    span: Span
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """`max(a, b)`, or a variant with its value, `compressible(50%)`."""

    span: Span
    function: Name
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator between two expressions: arithmetic, comparison, `in`, `and`, `or`."""

    span: Span
    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Not:
    """`not condition`."""

    span: Span
    operand: Expr


@dataclass(frozen=True, slots=True)
class IsA:
    """`target is dataset`: of that kind, of that variant or that very declaration."""

    span: Span
    value: Expr
    what: Name


@dataclass(frozen=True, slots=True)
class If:
    """`if condition then a else b`."""

    span: Span
    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Make:
    """An anonymous declaration: `ext4 on lv { … }`."""

    span: Span
    kind: Name
    parent: Expr | None
    items: tuple[Item, ...]


Expr = Number | Text | Name | Choice | Range | Tuple | ListOf | Call | Binary | Not | IsA | If | Make


@dataclass(frozen=True, slots=True)
class Field:
    """`name = value`."""

    span: Span
    name: Word
    value: Expr


@dataclass(frozen=True, slots=True)
class Zip:
    """`(a, b) = (1, 2) | (3, 4)`."""

    span: Span
    names: tuple[Word, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Where:
    """`where condition`."""

    span: Span
    condition: Expr


Item = Field | Zip | Where


@dataclass(frozen=True, slots=True)
class Let:
    """`let name = value`."""

    span: Span
    name: Word
    value: Expr


@dataclass(frozen=True, slots=True)
class Param:
    """`param name: type = value`, overridden by `--set`."""

    span: Span
    name: Word
    type: TypeExpr | None
    value: Expr


@dataclass(frozen=True, slots=True)
class Profile:
    """`profile name { param = value … }`."""

    span: Span
    name: Word
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Import:
    """`import zfs`, `import "./lab.zexp" as lab`."""

    span: Span
    target: str
    is_file: bool
    alias: Word | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """`kind name on parent { … }`; `given` things are used, never made."""

    span: Span
    kind: Name
    name: Word
    parent: Expr | None
    items: tuple[Item, ...]
    given: bool


@dataclass(frozen=True, slots=True)
class Experiment:
    """`experiment name "title" { … }`."""

    span: Span
    name: Word
    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class TypeAtom:
    """`size`, `random`, `compressible(by: share)` or `[type]`."""

    span: Span
    name: str
    field: tuple[str, str] | None = None
    element: TypeExpr | None = None


@dataclass(frozen=True, slots=True)
class TypeExpr:
    """Alternatives of a type."""

    span: Span
    atoms: tuple[TypeAtom, ...]


@dataclass(frozen=True, slots=True)
class Property:
    """`property name: type { attributes }`."""

    span: Span
    name: Word
    type: TypeExpr
    attributes: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Offers:
    """`offers file = "…"`."""

    span: Span
    name: Word
    value: Expr


@dataclass(frozen=True, slots=True)
class Needs:
    """`needs file | dir as at`."""

    span: Span
    what: tuple[Word, ...]
    name: Word


@dataclass(frozen=True, slots=True)
class Requires:
    """`requires tool "how to get it"`."""

    span: Span
    tool: Word
    hint: str


@dataclass(frozen=True, slots=True)
class Sh:
    """`sh "command" is "expected output" { timeout = 1h }`."""

    span: Span
    text: Text
    expect: Text | None
    attributes: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Reads:
    """`reads reader "artefact" { arguments }`."""

    span: Span
    reader: Word
    artefact: Text
    arguments: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class ActionDef:
    """`create linux { sh "…" }`: what is done, the platform or state it is for, and the commands."""

    span: Span
    name: Word
    selector: Word | None
    commands: tuple[Sh | Reads, ...]


KindItem = Property | Offers | Needs | Requires | Field | ActionDef


@dataclass(frozen=True, slots=True)
class KindDef:
    """`kind name: role on parents { … }`."""

    span: Span
    name: Word
    role: Word
    parents: tuple[Word, ...]
    items: tuple[KindItem, ...]


Entry = Let | Param | Profile | Import | Declaration | Experiment | KindDef


@dataclass(frozen=True, slots=True)
class Comment:
    """`# …`, to the end of its line."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole program."""

    source: Source
    entries: tuple[Entry, ...]
    comments: tuple[Comment, ...]
