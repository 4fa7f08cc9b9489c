"""Parsing of a vdbench parameter file into entries with their parameters, as vdbench itself reads it.

Source: `Vdb_scan.java` of vdbench: a blank ends what is read of a line, a comma at its end joins the next line,
a line that begins with `/`, `#` or `*` is a comment, and `eof` ends the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from zlang.errors import RunError
from zlang.importing import job_file
from zlang.record import Record

_COMMENT = ("/", "#", "*")
_QUOTED = re.compile(r'"([^"]*)"')
_BLANK = "\N{NO-BREAK SPACE}"
_VARIABLE = re.compile(r"\$(\w+)")
_ENTRIES = ("sd", "wd", "rd", "fsd", "fwd", "hd", "rg")
_RANGE = re.compile(r"(.*?)(\d+)-(?:\1)?(\d+)")
_MOST = 1000
_NAMES = """
abort_failed_skew align anchor compratio cpubusy curve data_errors dedupratio dedupunit depth distribution
elapsed files fileio fileselect force_error_after forcompratio fordepth forfiles forhitarea foriorate format
formatsds foroperation forrdpct forrhpct forseekpct forsize forthreads fortotal forwhpct forwidth forwss
forxfersize fsd fwd fwdrate hitarea host hotband interval iorate jvms lun maxdata mbtotal misalign offset
openflags operation operations pause patterns priority range rdpct replay rhpct sd seekpct shared shell size
skew startcmd endcmd stopafter streams system threads totalsize user vdbench warmup wd whpct width
workingsetsize xfersize validate journal messagescan
"""
NAMES = tuple(_NAMES.split())
"""The parameters of vdbench, which a file may abbreviate."""


class Entry(Record):
    """An entry: its type, its name, its parameters, and the comments above it.

    A parameter has one value or those of its list. `written` has each parameter as in the file.
    """

    kind: str
    name: str
    parameters: Mapping[str, tuple[str, ...]]
    written: Mapping[str, str]
    comments: tuple[str, ...]


class ParameterFile(Record):
    """A parameter file: the comments at its head, its entries, the global parameters, and the comments at its end.

    `defaults` has the entry `default` of each kind.
    """

    head: tuple[str, ...]
    entries: tuple[Entry, ...]
    defaults: Mapping[str, Entry]
    general: Mapping[str, str]
    tail: tuple[str, ...]


def parse(text: str, name: str, variables: Mapping[str, str], read: job_file.Read) -> ParameterFile:
    """Parse a parameter file. Raises RunError."""
    reader = _Reader(variables)
    reader.file(text, name, read, 0)
    reader.end_statement()
    return ParameterFile(
        tuple(reader.head), tuple(reader.entries), reader.defaults, reader.general, tuple(reader.comments)
    )


class _Reader:
    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.head: list[str] = []
        self.comments: list[str] = []
        self.entries: list[Entry] = []
        self.general: dict[str, str] = {}
        self.defaults: dict[str, Entry] = {}
        self.statement, self.place = "", ""

    def file(self, text: str, name: str, read: job_file.Read, depth: int) -> None:
        for number, line in enumerate(text.splitlines(), 1):
            words = line.strip()
            if words.startswith("eof"):
                return
            if words.startswith(_COMMENT):
                self.comments.append(words.lstrip("/#*").strip())
            elif not words:
                if not self.entries and not self.statement:
                    self.head += self.comments
                    self.comments.clear()
            elif words.startswith("include="):
                if depth:
                    raise RunError(f"{name}:{number}: an included file cannot include another")
                self.file(*read(words.removeprefix("include="), name), read, depth + 1)
            else:
                self._line(words, f"{name}:{number}")

    def _line(self, words: str, place: str) -> None:
        words = _VARIABLE.sub(lambda matched: self.variables.get(matched[1], matched[0]), words)
        words = _QUOTED.sub(lambda matched: matched[1].replace(" ", _BLANK), words).partition(" ")[0]
        if not self.statement:
            self.place = place
        self.statement += words
        if not words.endswith(","):
            self.end_statement()

    def end_statement(self) -> None:
        """Store the entry that was read."""
        statement, self.statement = self.statement, ""
        parameters: dict[str, tuple[str, ...]] = {}
        written: dict[str, str] = {}
        for part in _parts(statement, self.place):
            key, equals, value = part.replace(_BLANK, " ").partition("=")
            if not equals:
                self.comments.append(f"{part}: this is not a parameter")
                continue
            name = key if key in _ENTRIES or not parameters else _long(key)
            parameters[name] = _values(value)
            written[name] = part
        if not parameters:
            return
        kind = next(iter(parameters))
        if kind not in _ENTRIES:
            self.general |= {_long(key): written[key] for key in parameters}
            return
        name = ",".join(parameters.pop(kind))
        written.pop(kind)
        if name == "default":
            self.defaults[kind] = Entry(kind, name, parameters, written, ())
            return
        if default := self.defaults.get(kind):
            parameters, written = {**default.parameters, **parameters}, {**default.written, **written}
        self.entries.append(Entry(kind, name, parameters, written, tuple(self.comments)))
        self.comments.clear()


def _parts(statement: str, place: str) -> Iterator[str]:
    """Split a statement at the commas outside parentheses."""
    depth, part = 0, ""
    for char in statement:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
        if char == "," and depth == 0:
            yield part
            part = ""
        else:
            part += char
    if depth:
        raise RunError(f"{place}: a parenthesis has no matching one in `{statement}`")
    if part:
        yield part


def _long(key: str) -> str:
    """The full name of the parameter with this prefix."""
    return key if key in NAMES else next((name for name in NAMES if name.startswith(key)), key) if key else key


def _values(words: str) -> tuple[str, ...]:
    return tuple(word for word in words.strip("()").split(",") if word) if words.startswith("(") else (words,)


def names_of(values: tuple[str, ...]) -> Iterator[str]:
    """Expand the names in a list: `sd1-sd4` means four names."""
    for value in values:
        matched = _RANGE.fullmatch(value)
        if matched is None or not 0 <= int(matched[3][:9]) - int(matched[2][:9]) < _MOST:
            yield value
        else:
            yield from (f"{matched[1]}{number}" for number in range(int(matched[2][:9]), int(matched[3][:9]) + 1))
