"""Writes docs/cli.md and zlang/cli/help.txt from the command line itself.

In: the commands of `zlang/cli/commands.py` and the exit codes of `zlang/cli/app.py`.
Out: the document, with each command's own help; and the help of `zlang --help`, so that Typer need not lay it out.

    python tools/generate_cli.py            write them
    python tools/generate_cli.py --check    exit with 1 and a diff if they are not what would be written
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.cli import app, command_line, commands  # noqa: E402

DOCUMENT = ROOT / "docs/cli.md"
INTRODUCTION = """\
<!-- Generated from zlang/cli/commands.py by tools/generate_cli.py: do not edit. -->

# The command line

Results go to standard output, findings and progress to standard error. For a misspelt name, zlang suggests the nearest
one. Write a file whose name begins with `-` as `./-name`.

A closed pipe (`zlang plan FILE | head`) is not a failure. If standard output cannot be written, because a disk is full,
the exit code is 1. `run`, `resume` and `clean` continue in both cases, and their exit code says how their work ended.
If the terminal is closed, a run cleans up and exits with 129; under `nohup` it continues. zlang replaces characters
that the terminal cannot show.

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
        write_or_check(DOCUMENT, document(), sys.argv[1:]),
        write_or_check(app.HELP, _printed(["--help"]), sys.argv[1:]),
    ]
    sys.exit(max(codes))
