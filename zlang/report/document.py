"""A report as plain data: sections of texts, tables and figures, before it is a page, Markdown or CSV files.

Rule: nothing in it is markup. What people named is text here, and each form escapes it in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial


@dataclass(frozen=True, slots=True)
class Link:
    """A text that leads somewhere: `#anchor` within the report, or a path relative to it."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The content of a table's cell: a text, its link, and more texts with links."""

    shown: str
    href: str = ""
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A table as it is shown, and the plain `names` and `data` of the same, for CSV.

    `anchors` are what links call the rows by, where there are any.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    names: tuple[str, ...]
    data: tuple[tuple[object, ...], ...]
    numeric: frozenset[int] = frozenset()
    anchors: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot: its pictures, each a caption and a Vega-Lite specification, and the figures in them as a table.

    `note` is what stands beneath the pictures.
    """

    title: str
    pictures: tuple[tuple[str, Mapping[str, object]], ...]
    table: DocumentTable
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A text whose lines stay as they are: a program, a command, what a tool printed."""

    title: str
    text: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: str


Block = DocumentTable | Figure | Listing | Paragraph


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading; `anchor` is what links call it by."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A report: its title, what it is of in a line, and its sections."""

    title: str
    about: str
    sections: tuple[Section, ...]

    def with_tables_for_figures(self, why: str) -> Document:
        """The same with the figures of each plot as a table; `why` stands before the first one of a section."""
        return replace(self, sections=tuple(map(partial(_with_tables, why), self.sections)))

    @property
    def tables(self) -> list[DocumentTable]:
        """All tables, those of figures among them, in order."""
        blocks = [block for section in self.sections for block in section.blocks]
        return [
            block if isinstance(block, DocumentTable) else block.table
            for block in blocks
            if isinstance(block, DocumentTable | Figure)
        ]


def _with_tables(why: str, section: Section) -> Section:
    blocks: list[Block] = []
    for block in section.blocks:
        if isinstance(block, Figure):
            blocks += [] if Paragraph(why) in blocks else [Paragraph(why)]
            blocks.append(replace(block.table, title=block.title))
        else:
            blocks.append(block)
    return replace(section, blocks=tuple(blocks))
