"""Reading command lines without Typer, whose import takes longer than most commands.

In: the words of a command line, and `option_table.py`, which tools/generate_cli.py makes from what Typer knows.
Out: the arguments of the command. Rule: what is not plain, such as help, an unknown option or a wrong value, is left to
Typer, which reads it in the same way or shows the error.
"""

from __future__ import annotations

from pathlib import Path

from zlang.cli.option_table import ARGUMENTS, OPTIONS
from zlang.hints import Any


def read(words: list[str]) -> tuple[str, dict[str, Any]] | None:
    """Return the name of a command and its arguments by name, or None if Typer has to read the words."""
    command, *remaining = words or [""]
    options = OPTIONS.get(command)
    if options is None:
        return None
    arguments: dict[str, Any] = {}
    plain: list[str] = []
    following = iter(remaining)
    for word in following:
        if not _is_option(word):
            plain.append(word)
            continue
        option, equals, value = word.partition("=")
        if option not in options or (equals and not option.startswith("--")):
            return None
        name, form = options[option]
        if form == "flag":
            if equals:
                return None
            arguments[name] = True
            continue
        if not equals:
            value = next(following, "")
        if not _add(arguments, name, form, [value]):
            return None
    for name, form, is_required in ARGUMENTS[command]:
        count = len(plain) if form == "texts" else 1
        if plain and not _add(arguments, name, form, plain[:count]):
            return None
        if is_required and name not in arguments:
            return None
        plain = plain[count:]
    return None if plain else (command, arguments)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _add(arguments: dict[str, Any], name: str, form: str, values: list[str]) -> bool:
    """Add values of an option or an argument; return False if they are not plain."""
    if any(not value or _is_option(value) for value in values):
        return False
    if form == "texts":
        arguments.setdefault(name, []).extend(values)
        return True
    value = values[0]
    if name in arguments or (form == "number" and not (value.isascii() and value.isdecimal())):
        return False
    arguments[name] = int(value) if form == "number" else Path(value) if form == "path" else value
    return True
