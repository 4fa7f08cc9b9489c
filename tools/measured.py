"""The parts shared by programs that carry out examples and write a page about what they measured.

In: programs whose head is a comment: a question, an empty line of it, more. Out: runs and a database in a directory;
parts of a page of Markdown.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from private_daemon import started  # noqa: E402 - found only by the lines above

from zlang.pipeline import results  # noqa: E402

ARC_MB = 256
# What the ARC does not hold comes from the disk then, not from the page cache of the pool's files.
OPTIONS = ("--disable-block-cache",)
_COMMENT = re.compile(r"(?:^(?:#|--).*\n)+", re.MULTILINE)
_SIGNS = {"pass": "as expected", "fail": "**not** as expected", "inconclusive": "inconclusive"}


def carry_out(directory: Path, options: Mapping[Path, Sequence[str]]) -> dict[Path, int]:
    """Run programs one after the other in a directory, beside a zfs-fuse of their own; their exit codes. Needs root."""
    directory.mkdir(parents=True, exist_ok=True)
    codes = {}
    with started(directory.resolve(), ARC_MB, *OPTIONS) as here:
        for path, words in options.items():
            print(f"== {path.stem}", flush=True)
            command = here.zlang_command("run", str(path), *words, "--again", "--yes")
            codes[path] = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    return codes


def machine(db: Path) -> str:
    """The date and the machine of the measurement."""
    query = "select name, any_value(value) from facts group by name"
    facts = {str(name): str(value) for name, value in results.query(db, query).rows}
    ((first, last),) = results.query(db, "select min(started), max(last_event) from runs").rows
    assert isinstance(first, datetime)
    assert isinstance(last, datetime)
    cpu = re.findall(r"^model name\s*: (.*)$", facts["cpu"], re.MULTILINE)
    memory = int(re.findall(r"^MemTotal:\s*(\d+)", facts["memory"], re.MULTILINE)[0]) / 2**20
    kernel = facts["kernel"].split()[1]
    tools = ", ".join(facts[tool].replace("\t", " ") for tool in ("zfs", "fio") if tool in facts)
    return (
        f"Measured on {first:%Y-%m-%d} from {first:%H:%M} to {last:%H:%M} UTC: {len(cpu)} × {cpu[0]}, {memory:.0f} GiB "
        f"of memory, a virtual disk, Linux {kernel}, an ARC of {ARC_MB} MiB, {tools}."
    )


def runs(db: Path) -> dict[str, str]:
    """The last run of each experiment."""
    newest = results.query(db, "select experiment, arg_max(run, started) from runs group by experiment").rows
    return {str(name): str(run) for name, run in newest}


def verdicts(db: Path, run: str) -> Iterator[str]:
    """A line for each expectation."""
    for judged in results.judge(db, run):
        yield f"- {judged.expectation.title}: {_SIGNS[judged.verdict]}"


def remark(text: str) -> str:
    """The comment at the head of a program or query."""
    match = _COMMENT.match(text)
    assert match, text[:80]
    return re.sub(r"^(?:#|--) ?", "", match[0], flags=re.MULTILINE)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    lines = [columns, tuple("---" for _ in columns), *(tuple(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.10g}" if isinstance(value, float | int) else str(value)
