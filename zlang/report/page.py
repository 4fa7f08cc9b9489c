"""A report's document as one HTML page, as Markdown, and as CSV files.

Rules: the page loads nothing from outside, and its content security policy forbids that. Its tables need no script,
and without scripts there are still pictures. The templates escape all text: there is no markup in a document.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from zlang import __version__
from zlang.hints import TYPE_CHECKING, NamedTuple
from zlang.report import drawing, formats, vega
from zlang.report.document import Cell, Document, DocumentTable, Figure, Listing, Paragraph
from zlang.text import LAYOUT, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_LONG = 300
"""A cell of more characters is a box that scrolls."""
_MOST_DATA = 20_000
"""Rows of a CSV file that is within the page."""
_KINDS = {"table": DocumentTable, "figure": Figure, "listing": Listing, "words": Paragraph}
_SHORTEST_FENCE = 3
_NOT_DRAWN = f"Plots are shown as tables, because {drawing.MISSING}: `{drawing.TO_INSTALL}`"


def html(document: Document) -> str:
    """A self-contained page; if the library that draws is not installed, it has tables in place of plots."""
    script = ""
    document = document if drawing.draws_in_pages() else document.with_tables_for_figures(_NOT_DRAWN)
    if any(isinstance(block, Figure) for section in document.sections for block in section.blocks):
        # The closing tag would end the element even inside a string.
        script = re.sub("<(?=/script|!--)", r"<\\", f"{vega.library()}\n{_text('report.js')}", flags=re.IGNORECASE)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _render("report.html.j2", document, script=script, digest=digest, style=_text("report.css"))


def markdown(document: Document) -> str:
    """The document in GitHub's Markdown, as texts and tables."""
    return _render("report.md.j2", document)


def csv(document: Document) -> dict[str, str]:
    """Each table as a CSV file, by its name."""
    return {f"{n:02d}-{slug(table.title)}.csv": _csv(table) for n, table in enumerate(document.tables, 1)}


class ReportFormat(NamedTuple):
    """A format of reports: one text, or a directory of texts by file name."""

    file: str
    write: Callable[[Document], str | dict[str, str]]
    is_directory: bool = False


FORMATS: Mapping[str, ReportFormat] = {
    "html": ReportFormat("report.html", html),
    "markdown": ReportFormat("report.md", markdown),
    "csv": ReportFormat("report", csv, is_directory=True),
}


def slug(title: str) -> str:
    """A title as a file name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower())[:60].strip("-") or "table"


def _render(template: str, document: Document, **more: str) -> str:
    return _templates().get_template(template).render(document=document, version=__version__, **more)


def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=PackageLoader("zlang.report"),
        autoescape=select_autoescape(["html.j2"]),
        undefined=StrictUndefined,
        finalize=_visible_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.tests |= {name: lambda block, kind=kind: isinstance(block, kind) for name, kind in _KINDS.items()}
    made.tests["portable"] = lambda table: len(table.data) <= _MOST_DATA
    made.tests["long"] = lambda cell: len(cell.shown) > _LONG
    made.filters |= {
        "csv": _csv_link,
        "words": _words,
        "figure": _figure,
        "still": _static_picture,
        "slug": slug,
        "plain": _escaped,
        "rows": _rows,
        "fence": _fence,
    }
    return made


def _visible_value(value: object) -> object:
    """Escape invisible characters in text that is not ours."""
    return visible(value, LAYOUT) if type(value) is str else value


def _text(name: str) -> str:
    return (Path(__file__).with_name("templates") / name).read_text("utf-8")


def _csv(table: DocumentTable) -> str:
    return formats.as_csv(table.names, table.data)


def _csv_link(table: DocumentTable) -> str:
    return _data("text/csv;charset=utf-8", _csv(table))


def _static_picture(spec: Mapping[str, object]) -> str:
    """A picture without scripts, for browsers that run none and for printing."""
    return _data("image/svg+xml", vega.still(spec))


def _words(text: str) -> Markup:
    """A text whose parts in backticks become code."""
    from markupsafe import Markup, escape

    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(visible(text, LAYOUT)))))  # noqa: S704 - it is escaped


def _figure(text: str) -> Markup:
    """A number with its unit and interval; a line can break only before the interval and before its upper end."""
    from markupsafe import Markup, escape

    shown = str(escape(visible(text))).replace(" ", "&nbsp;").replace("&nbsp;[", " [").replace("…&nbsp;", "… ")
    return Markup(shown)  # noqa: S704 - it is escaped


def _data(kind: str, text: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(text.encode('utf-8', 'replace')).decode()}"


# -- Markdown

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~&:@])")
_CODE = re.compile("`([^`]+)`")
_NOT_IN_CODE = re.compile("[|<&]")  # a bar ends a table cell even within code, and not every reader supports code


def _escaped(text: str) -> str:
    """A text whose parts in backticks are code, if they can be, and in which nothing else is markup."""
    parts = _CODE.split(visible(" ".join(text.split())))
    are_code = [number % 2 and not _NOT_IN_CODE.search(part) for number, part in enumerate(parts)]
    return "".join(f"`{part}`" if is_code else _literal(part) for part, is_code in zip(parts, are_code, strict=True))


def _literal(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _rows(table: DocumentTable) -> str:
    rows = [[_linked(cell) for cell in row] for row in table.rows]
    rules = ["---:" if n in table.numeric else "---" for n in range(len(table.columns))]
    lines = [[_escaped(column) for column in table.columns], rules, *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _linked(cell: Cell) -> str:
    files = [f"[{_escaped(link.text)}](<{link.href}>)" for link in cell.links if not link.href.startswith("#")]
    points = [_escaped(link.text) for link in cell.links if link.href.startswith("#")]
    return " ".join([*([_escaped(cell.shown)] if cell.shown else []), *points, *files])


def _fence(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    return f"{fence}\n{visible(text.rstrip(), LAYOUT)}\n{fence}"
