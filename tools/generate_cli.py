"""Writes docs/cli.md, zlang/cli/help.txt and zlang/cli/option_table.py from the command line itself.

In: the commands of `zlang/cli/commands.py` and the exit codes of `zlang/cli/app.py`.
Out: the document, with each command's own help; the help of `zlang --help`; and a table of all options. With the last
two, most command lines need no Typer.

    python tools/generate_cli.py            write them
    python tools/generate_cli.py --check    exit with 1 and a diff if they are not what would be written
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.cli import app, command_line, commands  # noqa: E402

DOCUMENT = ROOT / "docs/cli.md"
OPTION_TABLE = ROOT / "zlang/cli/option_table.py"
FORMS: dict[object, str] = {
    bool: "flag",
    int | None: "number",
    str: "text",
    str | None: "text",
    Path: "path",
    Path | None: "path",
    list[str]: "texts",
    list[str] | None: "texts",
}
"""The forms of arguments by their types."""
TABLE_HEAD = '''\
"""The options and arguments of each command: name, form, and of an argument whether it is required.

Generated from zlang/cli/commands.py by tools/generate_cli.py: do not edit. Options whose values have bounds are not
listed.
"""

'''
INTRODUCTION = """\
<!-- Generated from zlang/cli/commands.py by tools/generate_cli.py: do not edit. -->

# The command line

Results go to standard output, findings and progress to standard error. For a misspelt name, zlang suggests the nearest
one. Write a file whose name begins with `-` as `./-name`.

A closed pipe (`zlang plan FILE | head`) is not a failure. If standard output cannot be written, for example because a
disk is full, the exit code is 1. `run`, `resume` and `clean` continue in both cases, and their exit code says how their
work ended. If the terminal is closed, a run cleans up and exits with 129; under `nohup` it continues. zlang replaces
characters that the terminal cannot show.

`zlang --version` prints the version. `zlang --install-completion` installs completion for your shell: of commands,
options, kinds, codes, runs and profiles. `zlang --show-completion` prints the script that does this.

`make site` builds this documentation as a site. If you publish it, set `ZLANG_DOCS` to its address: `zlang explain` and
`zlang kinds` then print the whole address of a page.

## Exit codes

| code | means |
|---|---|
"""


def document() -> str:
    """The whole document."""
    os.environ["COLUMNS"] = "100"
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    for code, meaning in app.EXIT_CODES.items():
        yield f"| {code} | {meaning} |\n"
    for command in commands.COMMANDS:
        yield f"\n## zlang {command.__name__}\n\n```text\n{help_of(command.__name__)}```\n"


def option_table() -> str:
    """The module with the options and arguments that zlang reads without Typer."""
    options: dict[str, dict[str, tuple[str, str]]] = {}
    arguments: dict[str, list[tuple[str, str, bool]]] = {}
    read: Any = typer.main.get_command(command_line.application([]))
    for command in commands.COMMANDS:
        name = command.__name__
        hints = get_type_hints(command)
        options[name], arguments[name] = {}, []
        for param in read.commands[name].params:
            form = FORMS.get(hints.get(param.name))
            if param.param_type_name == "argument":
                assert form, f"zlang/cli/plain_options.py does not know the type of {name} {param.name}"
                arguments[name].append((param.name, form, param.required))
            elif form and getattr(param, "min", None) is None:
                options[name] |= dict.fromkeys(param.opts, (param.name, form))
    listed = {name: [f'"{word}": {_spelled(value)}' for word, value in some.items()] for name, some in options.items()}
    in_order = {name: [_spelled(argument) for argument in some] for name, some in arguments.items()}
    return TABLE_HEAD + "".join(
        [
            "OPTIONS: dict[str, dict[str, tuple[str, str]]] = {\n",
            *_entries(listed, "{}"),
            "}\nARGUMENTS: dict[str, list[tuple[str, str, bool]]] = {\n",
            *_entries(in_order, "[]"),
            "}\n",
        ]
    )


def _spelled(values: tuple[object, ...]) -> str:
    return f"({', '.join(str(value) if isinstance(value, bool) else json.dumps(value) for value in values)})"


def _entries(lines: dict[str, list[str]], brackets: str) -> Iterator[str]:
    """The entries of a dictionary, as the formatter leaves them."""
    for name, some in lines.items():
        inner = "".join(f"        {line},\n" for line in some)
        yield f'    "{name}": {brackets[0]}' + (f"\n{inner}    " if some else "") + f"{brackets[1]},\n"


def help_of(name: str) -> str:
    """The help of a command."""
    lines = (line.rstrip() for line in _printed([name, "--help"]).strip().splitlines())
    return "".join(f"{line}\n" for line in lines)


def _printed(words: list[str]) -> str:
    """The output of Typer for these words."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        command_line.carry_out(words)
    return output.getvalue()


if __name__ == "__main__":
    codes = [
        write_or_check(OPTION_TABLE, option_table(), sys.argv[1:]),
        write_or_check(DOCUMENT, document(), sys.argv[1:]),
        write_or_check(app.HELP, _printed(["--help"]), sys.argv[1:]),
    ]
    sys.exit(max(codes))
