"""A report as plain data: sections of texts, tables and figures, from which pages, Markdown and CSV files are made.

Rule: it contains no markup. Names that people chose are plain text here, and each format escapes them in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial


@dataclass(frozen=True, slots=True)
class Link:
    """A text with a target: `#anchor` within the report, or a path relative to it."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Cell:
    """The content of a table cell: a text, its link, and more texts with links."""

    shown: str
    href: str = ""
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """A table as it is shown, with its plain `names` and `data` for CSV.

    `anchors` are the link targets of the rows, if there are any.
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
    """A plot: its pictures, each a caption and a Vega-Lite specification, and their numbers as a table.

    `note` is shown below the pictures.
    """

    title: str
    pictures: tuple[tuple[str, Mapping[str, object]], ...]
    table: DocumentTable
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A preformatted text: a program, a command, or the output of a tool."""

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
    """Blocks under a heading; `anchor` is its link target."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A report: its title, a line that says what it reports on, and its sections."""

    title: str
    about: str
    sections: tuple[Section, ...]

    def with_tables_for_figures(self, why: str) -> Document:
        """Return the document with a table in place of each plot; `why` precedes the first one of a section."""
        return replace(self, sections=tuple(map(partial(_with_tables, why), self.sections)))

    @property
    def tables(self) -> list[DocumentTable]:
        """All tables in order, including those of figures."""
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
