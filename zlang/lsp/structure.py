"""The shape of a program for an editor: outline, folds, colours, hints in the text, and links."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from lsprotocol import types
from lsprotocol.types import (
    CodeLens,
    Command,
    DocumentLink,
    DocumentSymbol,
    FoldingRange,
    FoldingRangeKind,
    InlayHint,
    SelectionRange,
    SymbolKind,
)

from zlang.check import library
from zlang.diagnostics import ProgramError
from zlang.lsp import hovering
from zlang.lsp.documents import Analysis, ParsedText, uri_of
from zlang.lsp.positions import units
from zlang.lsp.symbols import Definition, Sort, Symbols, file_of
from zlang.source import Span
from zlang.syntax import lexer, tables, tree

TOKENS = (
    "keyword",
    "type",
    "variable",
    "property",
    "enumMember",
    "function",
    "string",
    "number",
    "comment",
    "operator",
)
RUN, PLAN = "zlang.run", "zlang.plan"
_KINDS = {
    Sort.LET: SymbolKind.Variable,
    Sort.FUNCTION: SymbolKind.Function,
    Sort.PARAM: SymbolKind.Constant,
    Sort.PROFILE: SymbolKind.Namespace,
    Sort.THING: SymbolKind.Object,
    Sort.EXPERIMENT: SymbolKind.Event,
    Sort.KIND: SymbolKind.Class,
    Sort.IMPORT: SymbolKind.Module,
    Sort.LOCAL: SymbolKind.Variable,
}
_PLAIN = {"STRING": "string", "NUMBER": "number"}
_MARKS = {"LBRACE", "RBRACE", "LPAR", "RPAR", "LSQB", "RSQB", "ZIP_OPEN", "COMMA", "COLON", "DOT", "NEWLINE", lexer.END}
_FEW = 2


def symbols(text: ParsedText) -> list[DocumentSymbol]:
    """The outline of a program."""
    definitions = sorted(text.symbols.every(), key=lambda item: item.span.start)
    return [_symbol(text, definition) for definition in definitions]


def _symbol(text: ParsedText, definition: Definition) -> DocumentSymbol:
    return DocumentSymbol(
        name=definition.name,
        kind=_KINDS[definition.sort],
        range=text.lines.of(definition.whole),
        selection_range=text.lines.of(definition.span),
        detail=definition.title or definition.kind or definition.sort.value,
    )


def folds(text: ParsedText) -> list[FoldingRange]:
    """The foldable ranges: entries of several lines, and consecutive comments."""
    result = []
    for entry in text.symbols.tree.entries:
        where = text.lines.of(entry.span)
        if where.end.line > where.start.line:
            result.append(FoldingRange(where.start.line, where.end.line))
    begun = last = -_FEW
    for line in [*(text.lines.of(comment.span).start.line for comment in text.symbols.tree.comments), 1 << 30]:
        if line != last + 1:
            if last > begun:
                result.append(FoldingRange(begun, last, kind=FoldingRangeKind.Comment))
            begun = line
        last = line
    return result


def selection(text: ParsedText, offset: int) -> SelectionRange:
    """The nested nodes around a place, from the innermost outwards."""
    around: list[Span] = []
    for node in tree.parts(text.symbols.tree):
        span = getattr(node, "span", None)
        if (
            isinstance(span, Span)
            and span.start <= offset <= span.end
            and (not around or span.place != around[-1].place)
        ):
            around.append(span)
    around.sort(key=lambda span: span.start - span.end)
    result = SelectionRange(text.lines.range(0, len(text.source.text)))
    for span in around:
        result = SelectionRange(text.lines.of(span), result)
    return result


def tokens(text: ParsedText, symbols: Symbols) -> list[int]:
    """The colours of a text as the protocol packs them: five numbers for each token, with relative positions.

    `symbols` may be those of the text before the last edit: only the lexer needs the current text.
    """
    lexed = lexer.lex(text.source, tables.load())
    special = {"DOT": "property", "LET": "variable", "PARAM": "variable"}
    by_place = {after.start: special[before.type] for before, after in pairwise(lexed.tokens) if before.type in special}
    every = [
        (token.start, token.end, by_place.get(token.start) or _token_type(token, symbols)) for token in lexed.tokens
    ]
    every += [(comment.span.start, comment.span.end, "comment") for comment in lexed.comments]
    result: list[int] = []
    line = column = 0
    for start, end, kind in sorted(every):
        for part_start, part_end in _by_line(text.source.text, start, end) if kind else ():
            place = text.lines.position(part_start)
            column = place.character - (column if place.line == line else 0)
            length = units(text.source.text[part_start:part_end])
            result += [place.line - line, column, length, TOKENS.index(kind), 0]
            line, column = place.line, place.character
    return result


def _by_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split a range of characters by line."""
    while start < end:
        line_end = text.find("\n", start, end)
        stop = end if line_end < 0 else line_end
        if stop > start:
            yield start, stop
        start = stop + 1


def _token_type(token: lexer.Token, symbols: Symbols) -> str:
    if token.type in _PLAIN:
        return _PLAIN[token.type]
    if token.type in _MARKS or not token.text:
        return ""
    if token.type == "FIELD":
        return "property"
    if not (token.text[0].isalpha() or token.text[0] == "_"):
        return "operator"
    definition = symbols.definitions.get(token.text) or symbols.experiments.get(token.text)
    if definition is not None:
        return {Sort.FUNCTION: "function", Sort.KIND: "type"}.get(definition.sort, "variable")
    if token.type != "NAME":
        return "keyword"
    return "type" if library.load().module_of(token.text) else "enumMember"


def links(text: ParsedText) -> list[DocumentLink]:
    """The imported files, and the modules of the library."""
    result = []
    for entry in text.symbols.imports():
        target = file_of(entry, text.source.name) if entry.is_file else str(library.SOURCES / f"{entry.target}.zexp")
        start = text.source.text.find(entry.target, entry.span.start, entry.span.end)
        if start >= 0 and (entry.is_file or entry.target in library.load().modules):
            result.append(DocumentLink(text.lines.range(start, start + len(entry.target)), uri_of(target)))
    return result


def hints(text: ParsedText, analysis: Analysis | None) -> list[InlayHint]:
    """The number of levels of each factor, as a hint beside its name."""
    result = []
    for factor in hovering.factors(analysis).values():
        if factor.span.source.name == text.source.name and text.source.text[factor.span.start : factor.span.end]:
            place = text.lines.position(factor.span.end)
            if text.lines.offset(place) == factor.span.end and factor.span.source.text == text.source.text:
                result.append(InlayHint(place, f"{factor.size:,} levels", padding_left=True))
    return result


def lenses(text: ParsedText, analysis: Analysis | None) -> list[CodeLens]:
    """The commands above each experiment, with its number of trials and its duration."""
    result = []
    for name, definition in text.symbols.experiments.items():
        where = text.lines.of(definition.span)
        arguments: list[types.LSPAny] = [text.source.name, name]
        try:
            size = hovering.size_of(analysis, name)
        except ProgramError:
            size = ""
        result += [
            CodeLens(where, Command(title, command, arguments=arguments))
            for title, command in (("plan", PLAN), ("run", RUN))
        ]
        if size:
            result.append(CodeLens(where, Command(size, PLAN, arguments=arguments)))
    return result
