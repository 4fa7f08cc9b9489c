"""The interactive prompt of `zlang sql` on a terminal.

A statement ends with `;` or an empty line; one that begins with `.` or `@` is a single line. Ctrl-C ends the current
query, Ctrl-D the session. Only this module imports prompt_toolkit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from zlang.cli import answering, query_results, render, result_notes
from zlang.diagnostics import ProgramError
from zlang.errors import RunError
from zlang.files import user_directory
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import results
from zlang.suggest import did_you_mean

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from zlang.cli.query_results import QueryOptions
    from zlang.store.query import NamedColumn, QuerySession

_COMMANDS = {
    ".tables": "list the tables with their number of columns",
    ".describe": "list the columns of a table with their units: `.describe trials`",
    ".plot": "draw medians: `.plot METRIC over FACTOR by FACTOR`",
    ".queries": "list the saved queries; `@name` runs one",
    ".raw": "switch between plain numbers and numbers with units",
    ".help": "this",
    ".quit": "end",
}
_KEYWORDS = (
    *("select", "from", "where", "group by", "order by", "all", "having", "join", "using", "limit", "distinct", "as"),
    *("and", "or", "not", "in", "between", "is null", "filter", "over", "partition by", "desc", "with", "union all"),
    *("count(", "median(", "avg(", "min(", "max(", "sum(", "stddev(", "quantile_cont(", "ln(", "corr("),
)
_AFTER_FACTOR = re.compile(
    r"(?P<factor>\w+)\s*(?:=|<>|!=|[<>]=?|in\s*\((?:[^()]*,)?)\s*(?P<begun>'?[^\s',()=<>]*)$", re.IGNORECASE
)
_WORD = re.compile(r"(?:^\s*[@.])?\w*$")


class Names(Completer):
    """Completes tables, columns, functions and commands, and the levels of a factor after its name."""

    def __init__(self, session: QuerySession) -> None:
        columns = session.columns()
        self._session = session
        self._factors = {column.name for column in columns if column.role == "factor"}
        self._levels: dict[str, list[str]] = {}
        schemas = {column.schema for column in columns}
        tables = {column.table if column.schema == "main" else f"{column.schema}.{column.table}" for column in columns}
        self._names = [
            *sorted({column.name for column in columns}),
            *sorted(tables),
            *sorted(schemas - {"main"}),
            *_KEYWORDS,
        ]
        self._saved = [f"@{saved_query.name}" for saved_query in results.saved_queries()]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002
        """Completions at the cursor."""
        before = document.text_before_cursor
        behind = _AFTER_FACTOR.search(before)
        if behind is not None and behind["factor"] in self._factors:
            yield from _completions(behind["begun"], self._levels_of(behind["factor"]))
            return
        match = _WORD.search(before)
        begun = match[0].lstrip() if match else ""
        if begun[:1] in {".", "@"}:
            yield from _completions(begun, _COMMANDS if begun[0] == "." else self._saved)
        elif begun:
            yield from _completions(begun, self._names)

    def _levels_of(self, factor: str) -> list[str]:
        if factor not in self._levels:
            self._levels[factor] = self._session.levels(factor)
        return self._levels[factor]


def _completions(begun: str, words: Iterable[str]) -> Iterator[Completion]:
    bare = begun.lstrip("'").lower()
    for word in words:
        if word.lstrip("'").lower().startswith(bare):
            yield Completion(word, -len(begun))


def converse(db: Path, query_options: QueryOptions, source: Input | None = None, target: Output | None = None) -> int:
    """Run queries until the end of input. Tests pass `source` and `target` in place of the terminal."""
    with results.session(db, write=query_options.write, unsafe=query_options.unsafe) as session:
        names = Names(session)
        prompt: PromptSession[str] = PromptSession(
            "zlang> ",
            completer=names,
            complete_while_typing=False,
            history=_history() if source is None else InMemoryHistory(),
            multiline=True,
            prompt_continuation="   ..> ",
            key_bindings=_keys(),
            input=source,
            output=target,
        )
        print(f"{db}: end each statement with `;`; .help for help; Ctrl-D to exit", file=sys.stderr)
        result_notes.warn_of_unverified(session.unverified_runs())
        talk = _Talk(db, session, raw=query_options.raw)
        while not talk.is_over:
            try:
                line = prompt.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            _answer(talk, line.strip())
    return 0


def _answer(talk: _Talk, line: str) -> None:
    colour = render.is_coloured(sys.stderr)
    try:
        talk.answer(line)
    except RunError as error:
        print(render.run_error(error, colour=colour), file=sys.stderr)
    except ProgramError as error:
        print(render.diagnostic(error.diagnostic, colour=colour), file=sys.stderr)
    except KeyboardInterrupt:
        print("cancelled", file=sys.stderr)


class _Talk:
    """The session: it answers each line that was typed, a statement or a command."""

    def __init__(self, db: Path, session: QuerySession, *, raw: bool) -> None:
        self._db = db
        self._session = session
        self._raw = raw
        self.is_over = False

    def answer(self, line: str) -> None:
        if not line:
            return
        if not line.startswith("."):
            text, given = query_results.read_query(self._db, line.rstrip("; \n") if line.startswith("@") else line, {})
            shown_units = {} if self._raw else query_results.meanings(self._session.columns_with_units(), given, text)
            query_results.print_table(self._session.ask(text, given, results.MOST_SHOWN), shown_units)
            return
        command, _, remaining = line.rstrip(";").partition(" ")
        remaining = remaining.strip()
        match command:
            case ".tables":
                self._tables()
            case ".describe":
                self._describe(remaining or "trials")
            case ".plot":
                answering.plot(remaining or None, None, self._db, None)
            case ".queries":
                query_results.list_saved()
            case ".raw":
                self._raw = not self._raw
                print("showing plain numbers" if self._raw else "showing numbers with units")
            case ".help":
                for name, about in _COMMANDS.items():
                    print(f"{name:10} {about}")
            case ".quit" | ".exit":
                self.is_over = True
            case _:
                raise RunError(f"unknown command `{command}`", did_you_mean(command, _COMMANDS) or ".help lists them")

    def _tables(self) -> None:
        counts: dict[str, int] = {}
        for column in self._session.columns():
            name = _full(column)
            counts[name] = counts.get(name, 0) + 1
        for name, count in counts.items():
            print(f"{render.visible(name)}  {count} columns")

    def _describe(self, table: str) -> None:
        columns = [column for column in self._session.columns() if _full(column) == table]
        if not columns:
            candidates = {_full(column) for column in self._session.columns()}
            raise RunError(f"unknown table `{table}`", did_you_mean(table, candidates) or ".tables lists them")
        for column in columns:
            print(
                render.visible("  ".join(part for part in (column.name, column.role, column.type, column.unit) if part))
            )


def _full(named_column: NamedColumn) -> str:
    return named_column.table if named_column.schema == "main" else f"{named_column.schema}.{named_column.table}"


def _keys() -> KeyBindings:
    """Key bindings: Enter runs a complete statement, and begins a new line in an incomplete one."""
    keys = KeyBindings()

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        if has_ended(event.current_buffer.document):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return keys


def has_ended(document: Document) -> bool:
    """Whether the typed statement is complete, so that Enter runs it."""
    text = document.text.strip()
    is_line = text[:1] in {"", ".", "@"}
    return is_line or text.endswith(";") or not document.current_line.strip()


def _history() -> History:
    home = user_directory("XDG_STATE_HOME", ".local/state")
    if home is None:
        return InMemoryHistory()
    try:
        (home / "zlang").mkdir(parents=True, exist_ok=True)
        (home / "zlang" / "sql_history").touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(home / "zlang" / "sql_history"))
