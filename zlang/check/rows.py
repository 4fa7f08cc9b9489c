"""The rows of a table, `rows("axes.csv")`: levels of names that vary together.

In: a CSV file whose first line names its columns. Out: a cell for each name in each row, with its place in the file.
A heading is `name`, `name: type` or `name in unit`. If a heading has no type, the type is the one expected where the
cell is used; without an expected type, a cell is a number, `on` or `off`, or else a text.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from zlang import units
from zlang.check import types
from zlang.check.expressions import LONGEST_AMONG_OPTIONS, Context, constant, resolve, unknown
from zlang.check.program import Expr, Symbol
from zlang.check.typed import resolve_typed
from zlang.check.types import STRING, Type, Variant
from zlang.diagnostics import Code, Diagnostic
from zlang.record import Record
from zlang.source import BYTE_ORDER_MARK, Source, Span
from zlang.suggest import did_you_mean
from zlang.syntax import parse, tree

ROWS = "rows"
"""The name of the function."""
_TEXTS = frozenset({"string", "path", "version"})
WORD = "word"
"""The type of a column whose cells are words of an enumeration."""
_HEADING = r"([A-Za-z_][\w-]*)(?:\s*:\s*([A-Za-z_]\w*)|\s+in\s+(\S+))?"


Row = tuple[Span, tuple[tree.TableCell, ...]]
"""The cells of a row, where it stands."""


class _Column(Record):
    """A column of a table: its name, its place, and the type and unit in its heading."""

    name: str
    place: int
    type: str
    unit: str


class _Line(Record):
    """A line of a table, with the place of each of its cells."""

    span: Span
    cells: tuple[Span, ...]
    texts: tuple[str, ...]


def is_rows(node: tree.Expr) -> bool:
    """Whether an expression reads the rows of a table."""
    return isinstance(node, tree.Call) and str(node.function) == ROWS


def rows_of(context: Context, node: tree.Call, names: tuple[tree.Word, ...], typed: Container[str]) -> list[Row] | None:
    """Return the cells of each row, in the order of the names; report a table without them, and return None.

    `typed` are the names whose use decides the type of a cell.
    """
    file = node.arguments[0] if len(node.arguments) == 1 else None
    path = file.parts[0] if isinstance(file, tree.Text) and len(file.parts) == 1 else None
    if not isinstance(path, str):
        expected = "the path of a CSV file"
        hint = 'write it as a text: `rows("axes.csv")`'
        finding = Code.WRONG_ARGUMENTS.at(node.span, name=ROWS, expected=expected, found="something else", hint=hint)
        context.report(finding)
        return None
    source = context.table(path, node.span)
    if source is None:
        return None
    from csv import Error

    try:
        head, *lines = _lines(source)
    except (Error, ValueError):
        hint = "its first line names its columns, and each other line has a row: `8KiB,4`"
        context.report(_unpaired(Span(source, 0, 0), "this is not a table", hint))
        return None
    if not lines:
        context.report(_unpaired(Span(source, 0, 0), "the table has no rows", "its first line names its columns"))
        return None
    if len(lines) > LONGEST_AMONG_OPTIONS:
        limit, count = f"{LONGEST_AMONG_OPTIONS:,}", f"{len(lines):,}"
        finding = Code.RANGE_TOO_LONG.at(node.span, limit=limit, count=count)
        context.report(finding.saying(f"the table has {count} rows; the limit is {limit}"))
        return None
    for line in lines:
        if len(line.texts) != len(head.texts):
            cells = "1 cell" if len(line.texts) == 1 else f"{len(line.texts)} cells"
            message = f"the first line has {len(head.texts)} cells, and this row {cells}"
            context.report(_unpaired(line.span, message, "each row has a cell for each column"))
            return None
    columns = _columns(context, head, names)
    if columns is None or not all(
        column.type or column.unit or column.name in typed or _is_of_one_form(context, column, lines)
        for column in columns
    ):
        return None
    return _cells(context, lines, columns)


def _is_of_one_form(context: Context, column: _Column, lines: Sequence[_Line]) -> bool:
    """Whether all cells of a column are numbers, or none is; otherwise report the first that is not."""
    numbers = [line for line in lines if _is_number(line.texts[column.place])]
    others = [line for line in lines if (text := line.texts[column.place]) and not _is_number(text)]
    if not numbers or not others:
        return True
    number, other = numbers[0], others[0]
    message = f"`{other.texts[column.place]}` is not a number, but other cells of the column `{column.name}` are"
    hint = f"correct the cell; if all of them are texts, write the heading as `{column.name}: string`"
    finding = _unpaired(other.cells[column.place], message, hint)
    context.report(finding.also(number.cells[column.place], "this is a number"))
    return False


def _cells(context: Context, lines: list[_Line], columns: list[_Column]) -> list[Row] | None:
    """Return the cells of some columns in each row; report two rows with equal cells, and return None."""
    texts = {column.place for column in columns if not all(_has_form(line.texts[column.place]) for line in lines)}
    result: list[Row] = []
    seen: dict[tuple[str, ...], Span] = {}
    for line in lines:
        cells = tuple(
            tree.TableCell(
                line.cells[column.place],
                line.texts[column.place],
                column.name,
                column.type,
                column.unit,
                is_text=column.place in texts,
            )
            for column in columns
        )
        first = seen.setdefault(tuple(cell.text for cell in cells), line.span)
        if first is not line.span:
            hint = "remove one of them, or name more columns"
            finding = Code.DUPLICATE.at(line.span, name="row", hint=hint).saying("this row occurs twice")
            context.report(finding.also(first, "same as this"))
            return None
        result.append((line.span, cells))
    return result


def _unpaired(span: Span, message: str, hint: str = "") -> Diagnostic:
    """Return the finding about a table without a value for each name."""
    return Code.ZIP_WIDTH.at(span, names=0, values=0, hint=hint).saying(message)


def _columns(context: Context, head: _Line, names: tuple[tree.Word, ...]) -> list[_Column] | None:
    """Return the column of each name; report a name without a column, and return None."""
    by_name: dict[str, _Column] = {}
    wanted = {word.text for word in names}
    for place, (text, span) in enumerate(zip(head.texts, head.cells, strict=True)):
        match = re.fullmatch(_HEADING, text)
        if match is None:
            continue  # a column that no name can refer to
        column = _Column(match.group(1), place, match.group(2) or "", match.group(3) or "")
        if column.name in by_name:
            context.report(Code.DUPLICATE.at(span, name=column.name))
            return None
        by_name[column.name] = column
        type_names = [*types.SCALARS, WORD]
        if column.type and column.type not in type_names and column.name in wanted:
            hint = did_you_mean(column.type, type_names) or "the types are " + ", ".join(type_names)
            context.report(Code.UNKNOWN_NAME.at(span, name=column.type, hint=hint))
            return None
    for word in names:
        if word.text not in by_name:
            hint = did_you_mean(word.text, by_name) or _names_of_columns(head, by_name)
            context.report(Code.UNKNOWN_FIELD.at(word.span, subject="the table", name=word.text, hint=hint))
            return None
    return [by_name[word.text] for word in names]


def _names_of_columns(head: _Line, names: Iterable[str]) -> str:
    """Return the names of the columns, or how a first line names them."""
    listed = ", ".join(f"`{name}`" for name in names)
    if listed:
        return f"its columns are {listed}"
    if len(head.texts) == 1 and re.search(r"[;\t]", head.texts[0]):
        return "separate its cells by commas"
    return "its first line names its columns, such as `record,unit`"


def _lines(source: Source) -> Iterator[_Line]:
    """Yield the non-empty lines of a table, with their cells."""
    from csv import reader

    ends = [int(source.text.startswith(BYTE_ORDER_MARK))]
    lines = source.text[ends[0] :].splitlines(keepends=True)
    for line in lines:
        ends.append(ends[-1] + len(line))
    rows = reader(lines, skipinitialspace=True)
    before = 0
    for cells in rows:
        begin, end = ends[before], ends[rows.line_num]
        before = rows.line_num
        texts = [cell.strip() for cell in cells]
        if not any(texts):
            continue
        places: list[Span] = []
        at = begin
        whole = Span(source, begin, begin + len(source.text[begin:end].rstrip()))
        for text in texts:
            start = source.text.find(text, at, end) if text else -1
            places.append(Span(source, start, start + len(text)) if start >= 0 else whole)
            at = start + len(text) if start >= 0 else at
        yield _Line(whole, tuple(places), tuple(texts))


def resolve_cell(context: Context, cell: tree.TableCell, expected: Type | None) -> Expr:
    """Resolve a cell by the type of its column, or else by the type expected where it is used."""
    text, span = cell.text, cell.span
    if not text:
        message = f"the column `{cell.column}` has an empty cell in this row"
        context.report(_unpaired(span, message, "write a value there, or remove the row"))
        return unknown(span)
    if cell.type == WORD:
        return constant(span, Type(words=(Variant(text),)), Symbol(text))
    if cell.unit:
        return _number(context, span, text + cell.unit)
    wanted = Type(frozenset({cell.type})) if cell.type else expected
    if wanted is None and cell.is_text:
        return constant(span, STRING, text)
    if wanted is not None and wanted.scalars & _TEXTS and wanted.variant(text) is None:
        return constant(span, wanted, text)
    node, findings = parse.expression(span.source, span.start, span.end)
    for finding in findings:
        context.report(finding)
    if node is None or findings:
        return unknown(span)
    if cell.type and wanted is not None:
        return resolve_typed(context, node, (), cell.column, wanted)
    return resolve(context, node, wanted)


def _has_form(cell: str) -> bool:
    """Whether a cell looks like a number or a switch; an empty one counts."""
    return not cell or cell[0].isdigit() or cell in types.BOOLS


def _is_number(cell: str) -> bool:
    try:
        units.parse(cell)
    except units.UnitError:
        return False
    return True


def _number(context: Context, span: Span, text: str) -> Expr:
    """Return a number in the unit of its column."""
    try:
        quantity = units.parse(text)
    except units.UnitError as error:
        context.report(Code.BAD_NUMBER.at(span, message=error.message, hint=error.hint))
        return unknown(span)
    return constant(span, types.of_quantity(quantity), quantity)
