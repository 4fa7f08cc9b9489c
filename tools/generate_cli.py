"""Writes docs/cli.md from the command line itself.

In: the commands of `zlang/cli/commands.py` and the exit codes of `zlang/cli/app.py`.
Out: the document, with each command's own help.

    python tools/generate_cli.py            write it
    python tools/generate_cli.py --check    exit with 1 and a diff if it is not what would be written
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
from zlang.cli import app, commands  # noqa: E402

DOCUMENT = ROOT / "docs/cli.md"
INTRODUCTION = """\
<!-- Generated from zlang/cli/commands.py by tools/generate_cli.py: do not edit. -->

# The command line

What is asked for goes to standard output, findings and progress to standard error. A name that is misspelt is answered
with the nearest one. A file whose name begins with `-` is written `./-name`.

A reader that leaves (`zlang plan FILE | head`) is not a failure. If standard output is full, the exit code is 1. `run`,
`resume` and `clean` continue in both cases and end with the code of what they did. If the terminal is closed, a run
tidies up and ends with 129; under `nohup` it continues. Characters that the terminal cannot show are replaced.

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
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        app.guarded([name, "--help"])
    lines = (line.rstrip() for line in said.getvalue().strip().splitlines())
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(write_or_check(DOCUMENT, document(), sys.argv[1:]))
