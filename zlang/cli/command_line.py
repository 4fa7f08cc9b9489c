"""The command line as Typer reads it: help, completion, and errors in how it is used.

In: the commands of `zlang/cli/commands.py`. Out: their exit codes.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from zlang import __version__, text
from zlang.cli import commands, options
from zlang.emit.registry import EMITTERS
from zlang.errors import UsageError
from zlang.importing import FILES, POOL_OPTION
from zlang.readers import REPORTS_OF

HELP = "Run storage experiments: vary hardware, file system properties and workloads, and query the results in SQL."
EPILOG = "Start with `zlang init`, then `zlang plan FILE`, `zlang run FILE`, `zlang sql QUERY`."
_NAMES = {"EMITTERS": EMITTERS, "FILES": FILES, "POOL_OPTION": POOL_OPTION, "REPORTS_OF": REPORTS_OF}
"""Names in the annotations of commands, besides those of `zlang/cli/options.py`."""
_COMMENT = re.compile(r"--[\w-]*\s")  # no option has a space in its name
_REWORDED = (
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"it must be at least \1"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"it must be at most \1"),
    (re.compile(r"Input should be a valid integer.*"), "it must be a whole number"),
)
"""Messages of pydantic, which reads numbers for Typer, in the words of zlang."""


class _Command(TyperCommand):
    """A command whose help shows arguments as users type them, without the types that their values have in Python."""

    def collect_usage_pieces(self, context: Any) -> list[str]:  # noqa: ANN401 - Typer has no public name for it
        """Return what follows the name of the command in the usage line."""
        arguments = [param for param in self.get_params(context) if param.param_type_name == "argument"]
        return ["[OPTIONS]", *(f"{{{item.metavar}}}" if item.required else str(item.metavar) for item in arguments)]

    def format_options(self, context: Any, formatter: Any) -> None:  # noqa: ANN401 - likewise
        """Write a line for each argument and for each option."""
        rows: dict[str, list[tuple[str | None, str]]] = {"argument": [], "option": []}
        for param in self.get_params(context):
            name, meaning = param.get_help_record(context) or ("", "")
            is_argument = param.param_type_name == "argument"
            rows[param.param_type_name].append((param.metavar if is_argument else name, meaning))
        for kind, some in rows.items():
            if some:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(some)


def top(
    *,
    version: Annotated[bool, typer.Option("--version", help="print the version", is_eager=True)] = False,
) -> None:
    """Measure storage: small programs say what to vary."""
    if version:
        print(f"zlang {__version__}")
        raise typer.Exit


def application(arguments: list[str], failure: UsageError | None = None) -> typer.Typer:
    """The command line. Typer takes a millisecond for each command, so one that is named first is alone in it.

    It is without the other options of `zlang`, then: for their values, Typer imports pydantic, in 50 ms.
    """
    named = [command for command in commands.COMMANDS if arguments[:1] == [command.__name__]]
    app = typer.Typer(
        name="zlang",
        help=HELP,
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
        pretty_exceptions_enable=False,
        add_completion=not named,
        add_help_option=not named,
    )
    app.callback(invoke_without_command=True)(top)
    for command in named or commands.COMMANDS:
        app.command(cls=_Command)(_readable(command, failure))
    return app


def _readable(command: Callable[..., int], failure: UsageError | None) -> Callable[..., int]:
    """Return a command with evaluated annotations, whose usage errors Typer shows."""
    command.__annotations__ = get_type_hints(
        command, {**vars(commands), **vars(options), **_NAMES}, include_extras=True
    )

    @wraps(command)
    def carried_out(**arguments: object) -> int:
        try:
            if failure is not None:
                raise failure
            return command(**arguments)
        except UsageError as error:
            raise typer.BadParameter(error.message, param_hint=error.option) from None

    return carried_out


def carry_out(arguments: list[str], failure: UsageError | None = None) -> object:
    """Carry out a command, and return its exit code. With the `failure` of a command, only show it, with the usage."""
    try:
        return application(arguments, failure)(args=_typed(arguments), prog_name="zlang", standalone_mode=False)
    except typer.TyperException as error:
        output = io.StringIO()
        error.show(file=output)  # type: ignore[attr-defined]  # all that Typer raises of it can
        sys.stderr.write(text.visible(_reworded(output.getvalue()), text.LAYOUT))
        return error.exit_code


def _reworded(message: str) -> str:
    for pattern, words in _REWORDED:
        message = pattern.sub(words, message)
    return message


def _typed(arguments: list[str]) -> list[str]:
    """The arguments, changed so that SQL that begins with a comment (`-- …`) is not read as an option."""
    if arguments[:1] != ["sql"]:
        return arguments
    return [f"\n{word}" if _COMMENT.match(word) else word for word in arguments]
