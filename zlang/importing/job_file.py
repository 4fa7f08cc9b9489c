"""Parsing of a fio job file into sections with their options, as fio itself reads it.

Source: `__parse_jobs_ini` in fio's init.c, `fio_keyword_replace` and `fio_option_dup_subs` in its options.c.
In: text, the environment, and a function that reads an included file. Out: `JobSection`s in order, with the options
that they inherit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from zlang.errors import RunError
from zlang.importing import fio_numbers
from zlang.record import Record

Read = Callable[[str, str], tuple[str, str]]
"""An included file's text and the path that it was found under, for its name and the path that includes it."""
_DEEPEST = 20
_SECTION = re.compile(r"\[([^\]\n]+)\]?")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_CALCULATED = re.compile(r"[-+*/]")
_COMMENT = (";", "#")


class Option(Record):
    """An option in a file: its name, its value (None if there is none), and the comments above it.

    `written` is the line as it was; `missing` are variables of the environment that are not set. If it `is_decimal`,
    `4k` in it is 4,000 bytes.
    """

    name: str
    value: str | None
    written: str
    comments: tuple[str, ...]
    missing: tuple[str, ...]
    is_decimal: bool = False


class JobSection(Record):
    """A job: its name, the comments above it, its own options, and those of the `[global]` sections before it."""

    name: str
    comments: tuple[str, ...]
    own: tuple[Option, ...]
    inherited: tuple[Option, ...]

    def options(self) -> Iterator[Option]:
        """All options in the order in which fio takes them."""
        yield from self.inherited
        yield from self.own


class JobFile(Record):
    """A job file: the comments at its head, its jobs, and the comments at its end."""

    head: tuple[str, ...]
    sections: tuple[JobSection, ...]
    tail: tuple[str, ...]


def parse(text: str, name: str, variables: Mapping[str, str], keywords: Mapping[str, str], read: Read) -> JobFile:
    """Parse a job file. `keywords` are fio's own words such as `$ncpus`. Raises RunError."""
    reader = _Reader(variables, keywords, read)
    reader.file(text, name, 0)
    reader.end_section()
    return JobFile(tuple(reader.head), tuple(reader.sections), tuple(reader.comments))


class _Reader:
    def __init__(self, variables: Mapping[str, str], keywords: Mapping[str, str], read: Read) -> None:
        self.variables, self.keywords, self.read = variables, keywords, read
        self.head: list[str] = []
        self.comments: list[str] = []
        self.above: tuple[str, ...] = ()
        self.section: str | None = None
        self.inherited: list[Option] = []
        self.own: list[Option] = []
        self.sections: list[JobSection] = []

    def file(self, text: str, name: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise RunError(f"{name}: files include each other more than {_DEEPEST} deep")
        for number, line in enumerate(text.splitlines(), 1):
            words = line.strip()
            place = f"{name}:{number}"
            if words.startswith(_COMMENT):
                self.comments.append(words.lstrip(";#").strip())
            elif not words:
                self._empty_line()
            elif words.startswith("["):
                self._begin_section(words, place, depth)
            elif self.section is None:
                raise RunError(
                    f"{place}: `{words}` is not in a section", "a job file begins with `[global]` or `[NAME]`"
                )
            elif words.startswith("include"):
                included = _without_comment(words.removeprefix("include")[1:])
                self.file(*self.read(included, name), depth + 1)
            else:
                self._option(_without_comment(words))

    def _empty_line(self) -> None:
        if self.section is None and self.comments:
            self.head += [*self.comments, ""]
            self.comments.clear()

    def _begin_section(self, words: str, place: str, depth: int) -> None:
        matched = _SECTION.match(words)
        if depth or matched is None:
            message = "an included file has no sections" if depth else "a section needs a name: `[NAME]`"
            raise RunError(f"{place}: {message}")
        self.end_section()
        self.section, self.above = matched[1], tuple(self.comments)
        self.comments.clear()

    def end_section(self) -> None:
        """Store the section that was read: as a job, or as defaults for the jobs after it."""
        if self.section is None:
            return
        bases = [option.value for option in (*self.inherited, *self.own) if option.name == "kb_base"]
        self.own = [option.replace(is_decimal=bases[-1:] == ["1000"]) for option in self.own]
        if self.section.startswith("global"):
            self.head += self.above
            self.inherited += self.own
        else:
            self.sections.append(JobSection(self.section, self.above, tuple(self.own), tuple(self.inherited)))
        self.own = []

    def _option(self, words: str) -> None:
        missing = tuple(name for name in _VARIABLE.findall(words) if name not in self.variables)
        substituted = _VARIABLE.sub(lambda matched: self.variables.get(matched[1], ""), words)
        name, equals, value = substituted.partition("=")
        replaced = value
        for keyword, meaning in self.keywords.items():
            replaced = replaced.replace(keyword, meaning)
        if replaced != value and _CALCULATED.search(replaced) and (amount := fio_numbers.arithmetic(replaced)):
            replaced = str(int(amount))
        comments = tuple(self.comments)
        self.comments.clear()
        self.own.append(Option(name.strip(), replaced.strip() if equals else None, words, comments, missing))


def _without_comment(words: str) -> str:
    """Cut the line at the first `;` or `#`, wherever it stands, as fio does."""
    return re.split("[;#]", words, maxsplit=1)[0].strip()
