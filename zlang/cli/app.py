"""The entry point: dispatch of the command line to a command, and of its outcome to an exit code.

Typer takes longer to import than most commands, so it is imported only for help, completion and errors.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from functools import partial
from pathlib import Path

from zlang import __version__
from zlang.cli import import_fractions, kept_code, standard_streams
from zlang.cli.kept_code import KeptCode
from zlang.errors import NotConfirmed, ReportedError, RunError, UsageError, failed_import, is_out_of_memory, reason_of
from zlang.hints import NoReturn
from zlang.sink import Unwritable

EXIT_CODES = {
    0: "success; `check` found no errors; in `run`, every trial counts and every expectation holds",
    1: "a program has errors, a file cannot be read or written, some trials do not count, or resources are left behind",
    2: "an error on the command line; nothing was done",
    3: "a bug in zlang; the message names a log file to report",
    4: "an expectation failed (`run`, `resume`, `expect`)",
    5: "no expectation failed, but one is inconclusive (`run`, `resume`, `expect`)",
    6: "two plans differ (`diff`, `snapshot --validate`)",
    129: "the terminal was closed (SIGHUP); `zlang resume` continues a run",
    130: "interrupted by Ctrl-C, or not confirmed; `zlang resume` continues a run",
    131: "interrupted by Ctrl-\\ (SIGQUIT); `zlang resume` continues a run",
    143: "ended by SIGTERM; `zlang resume` continues a run",
}
TIDY_UP = ("run", "resume", "clean")
"""Commands that continue after their output is closed, because they have to clean up."""
ASK_THE_DATABASE = ("ingest", "sql", "expect", "table", "plot", "report", "compare", "effects", "findings")
_INTERRUPTED = "Query interrupted"
"""The text of the RuntimeError that DuckDB raises if Ctrl-C is pressed again while it ends a query."""
HELP, HELP_WIDTH = Path(__file__).with_name("help.txt"), 80
"""The help that tools/generate_cli.py writes, and the least width of a terminal that shows it unchanged."""
SYSTEM_TOOLS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Directories of administrators' tools; the script of a plan adds them to PATH as well."""


def main() -> None:
    """The `zlang` command."""
    command = next(iter(sys.argv[1:]), "")
    try:
        standard_streams.prepare(keep_on=command in TIDY_UP)
        kept = kept_code.use()
        _widen_path()
        _leave_pandas_out()
        code = _run_in_child(kept) if command in ASK_THE_DATABASE else _run(kept)
    except KeyboardInterrupt:  # during the import of a module
        code = 130
    except Exception as error:
        if not (isinstance(error, OSError | MemoryError) or failed_import(error)):
            raise
        sys.stderr.write(f"error: zlang cannot start: {error or 'there is not enough memory'}\n")
        code = 1
    _end(code)


def _end(code: int) -> NoReturn:
    """End the process. Python would first free every object, in 2 ms or more; without threads, that can be left out."""
    if "threading" in sys.modules:
        gc.freeze()  # Python would also collect garbage among all remaining objects
        sys.exit(code)
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _widen_path() -> None:
    """Add the directories of administration tools, which are not in every user's PATH."""
    path = os.environ.get("PATH") or os.defpath
    listed = path.split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join([path, *(place for place in SYSTEM_TOOLS if place not in listed)])


def _leave_pandas_out() -> None:
    """Hide pandas from DuckDB, which would take half a second to import it for a query's first parameter."""
    sys.modules.setdefault("pandas", None)  # type: ignore[arg-type]  # what the import statement takes for "there is none"


def _run(kept: KeptCode | None) -> int:
    """Run a command, keep the code of the modules that it loaded, and return its exit code."""
    code = guarded()
    if kept is not None:
        kept.save()
    return code


def _run_in_child(kept: KeptCode | None) -> int:
    """Run a command that opens the database in a child process, which DuckDB may abort; return its exit code."""
    from zlang.run import child_process

    # Each thread of numpy's library would use a processor while it waits. No command of a program runs here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        return child_process.call(
            partial(_run, kept), "the command", "the run folders are untouched; `zlang ingest` builds the database"
        )
    except RunError as error:
        return _fail(error)


def guarded(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code; every way to end is handled here."""
    code = 0
    try:
        code = _ended(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except Unwritable as end:
        # A closed pipe, as in `zlang plan … | head`, is not a failure.
        return code if end.is_hung_up else code or _unwritten(end.error)
    if error := standard_streams.failure():
        _unwritten(error)
    return code


def _ended(words: list[str]) -> int:
    """Run a command, report how it ended, and return its exit code."""
    if (text := _known_text(words)) is not None:
        sys.stdout.write(text)
        return 0
    from zlang.cli import render

    try:
        code = _carried_out(words)
    except ReportedError:
        return 1
    except NotConfirmed:
        print("nothing was done", file=sys.stderr)
        return 130
    except RunError as error:
        return _fail(error)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if _is_lost():
            return _fail(RunError("the working directory was deleted", "change to another one: cd DIR"))
        return _fail(RunError(f"{reason_of(error)}" + (f": {error.filename}" if error.filename else "")))
    except Exception as error:  # noqa: BLE001 - a bug of ours: the user gets a sentence, we get a log
        from zlang.diagnostics import ProgramError

        if isinstance(error, ProgramError):
            print(render.diagnostic(error.diagnostic, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
            return 1
        if is_out_of_memory(error):
            return _fail(RunError("there is not enough memory"))
        if (reason := failed_import(error)) is not None:
            return _fail(reason)
        return 130 if type(error) is RuntimeError and str(error) == _INTERRUPTED else render.bug(error)
    return code if isinstance(code, int) else 0


def _known_text(words: list[str]) -> str | None:
    """The output for options that need no parser: the version, and the help at its full width."""
    if words == ["--version"]:
        return f"zlang {__version__}\n"
    if words in (["--help"], ["-h"]):
        from shutil import get_terminal_size

        return HELP.read_text("utf-8") if get_terminal_size().columns >= HELP_WIDTH else None
    return None


def _carried_out(words: list[str]) -> object:
    """Carry out a command. Typer reads the words only if they are not plain, and shows wrong uses."""
    from zlang.cli import plain_options

    import_fractions()
    failure = None
    if (plain := plain_options.read(words)) is not None:
        from zlang.cli import commands

        try:
            return commands.named(plain[0])(**plain[1])
        except UsageError as error:
            failure = error
    from zlang.cli import command_line

    return command_line.carry_out(words, failure)


def _is_lost() -> bool:
    """Whether the working directory no longer exists."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _fail(error: RunError) -> int:
    from zlang.cli import render

    print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
    return 1


def _unwritten(error: OSError) -> int:
    message = f"standard output cannot be written: {reason_of(error)}"
    return _fail(RunError(message, "free some space, or send the output elsewhere"))


if __name__ == "__main__":
    main()
