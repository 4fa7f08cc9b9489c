"""Targets of names: a definition in this file, in an imported one, or in the library."""

from __future__ import annotations

from collections.abc import Iterator

from zlang.check import library
from zlang.check.program import Kind
from zlang.lsp.documents import Documents, ParsedText
from zlang.lsp.symbols import EXPERIMENT, PROFILE, Definition, FieldUse, NameUse, Sort, file_of
from zlang.record import Record
from zlang.source import Source, Span
from zlang.syntax import parse

_MOST = 3


class NamedPlace(Record):
    """A definition and the text that contains it."""

    text: ParsedText
    definition: Definition


def definition(documents: Documents, text: ParsedText, name: Definition | NameUse | FieldUse) -> NamedPlace | None:
    """The definition to which a name in a program refers."""
    match name:
        case Definition():
            return NamedPlace(text, name)
        case FieldUse() if name.owner == PROFILE:
            return definition_of_path(documents, text, (name.name,))
        case FieldUse():
            return _of_import(documents, text, name)
        case NameUse(local=Definition() as local):
            return NamedPlace(text, local)
        case NameUse():
            return definition_of_path(documents, text, name.path[: name.index + 1])


def definition_of_path(documents: Documents, text: ParsedText, path: tuple[str, ...]) -> NamedPlace | None:
    """The definition for a dotted name: two parts, of which the first is an imported file."""
    return _of_path(documents, text, path, set())


def _of_import(documents: Documents, text: ParsedText, field: FieldUse) -> NamedPlace | None:
    """The param of an imported file that the import sets."""
    targets = (entry for entry in text.symbols.imports() if entry.is_file and entry.target == field.owner)
    for entry in targets:
        imported = documents.text(file_of(entry, text.source.name))
        param = imported.symbols.definitions.get(field.name) if imported else None
        if imported is not None and param is not None:
            return NamedPlace(imported, param)
    return None


def _of_path(documents: Documents, text: ParsedText, path: tuple[str, ...], seen: set[str]) -> NamedPlace | None:
    symbols, first = text.symbols, path[0]
    if text.source.name in seen or len(path) > _MOST:
        return None
    seen.add(text.source.name)
    for named in (symbols.definitions, symbols.experiments):
        if len(path) == 1 and first in named:
            return NamedPlace(text, named[first])
    for entry in symbols.imports():
        if not entry.is_file:
            continue
        imported = documents.text(file_of(entry, text.source.name))
        if imported is None:
            continue
        if entry.alias is None and (place := _of_path(documents, imported, path, seen)):
            return place
        if entry.alias is not None and entry.alias.text == first and len(path) > 1:
            return _of_path(documents, imported, path[1:], seen)
    return None


def uses(documents: Documents, place: NamedPlace) -> Iterator[tuple[ParsedText, Span]]:
    """Each place that names a definition, including the definition itself, in all programs that can refer to it."""
    target = place.text.source.name, place.definition.span.start
    if place.definition.sort is Sort.LOCAL:
        yield from ((place.text, use.span) for use in place.text.symbols.uses if use.local is place.definition)
        return
    for path in documents.neighbours(place.text.source.name):
        text = documents.text(path)
        if text is None or (
            path != place.text.source.name and place.text.source.name not in documents.imported_by(path)
        ):
            continue
        if path == place.text.source.name:
            yield text, place.definition.span
        named: list[NameUse | FieldUse]
        named = [use for use in text.symbols.uses if use.path[use.index] == place.definition.name]
        named += [field for field in text.symbols.fields if field.name == place.definition.name]
        yield from (
            (text, use.span)
            for use in named
            if (to := definition(documents, text, use)) is not None
            and (to.text.source.name, to.definition.span.start) == target
        )


def problem_of_name(documents: Documents, place: NamedPlace, name: str) -> str:
    """The reason why a definition cannot be renamed; empty if it can."""
    if parse.program(Source("", f"let {name} = 1\nlet choice = {name} | {name}\n")).findings:
        return f"`{name}` cannot be a name: a name has letters, digits, `_` and `-`, and is not a word of the language"
    if place.definition.sort is Sort.LOCAL:
        return ""
    for text in dict.fromkeys(text for text, _ in uses(documents, place)):
        if any(other.name == name and other.sort is not Sort.LOCAL for other in text.symbols.every()):
            return f"`{name}` is defined already in {text.source.name}"
    return ""


def kind(documents: Documents, text: ParsedText, name: str) -> Kind | None:
    """The kind of that name, as visible to a program."""
    analysis = documents.last_analysis(text.source.name)
    own = analysis.checked.program.kinds if analysis else {}
    if name in own:
        return own[name]
    plain = name.rpartition(".")[2]
    return library.load().kind(plain) if library.load().module_of(plain) else None


def library_place(documents: Documents, text: ParsedText, name: NameUse | FieldUse) -> Span | None:
    """The place in the library where a kind or a property is declared."""
    if isinstance(name, NameUse):
        part = name.path[name.index]
        return library.load().node(part).name.span if library.load().module_of(part) else None
    found_kind = kind(documents, text, name.owner) if name.owner != EXPERIMENT else None
    if found_kind is None or name.name not in found_kind.properties:
        return None
    return found_kind.properties[name.name].span


def library_file(source: Source) -> str:
    """The path of a module of the library on this machine."""
    return str(library.SOURCES / source.name.rpartition("/")[2])
