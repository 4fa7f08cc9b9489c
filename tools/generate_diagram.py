"""Writes the columns of the tables into the diagram of docs/results.md; its relations are written by hand.

In: `schema.sql`, and what every trial has. Out: the page.

    python tools/generate_diagram.py            write it
    python tools/generate_diagram.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.store import store  # noqa: E402
from zlang.store.columns import TRIAL_COLUMNS  # noqa: E402

DOCUMENT = ROOT / "docs/results.md"
RELATION = re.compile(r"^    (\w+) \S+ (\w+) : .*\n", re.MULTILINE)
DIAGRAM = re.compile(r"(?<=```mermaid\nerDiagram\n).*?(?=```\n)", re.DOTALL)


def document() -> str:
    """The page with its diagram as the tables are."""
    page = DOCUMENT.read_text("utf-8")
    return DIAGRAM.sub(lambda match: "".join(_diagram(match[0])), page)


def _diagram(before: str) -> Iterator[str]:
    columns = _columns()
    for relation in RELATION.finditer(before):
        yield relation[0]
    for table in dict.fromkeys(name for relation in RELATION.finditer(before) for name in relation.groups()):
        yield f"    {table} {{\n"
        yield from (f"        {sql} {name}\n" for sql, name in columns[table])
        yield "    }\n"


def _columns() -> dict[str, list[tuple[str, str]]]:
    columns = {"all_trials": [(sql, name) for name, sql, *_ in TRIAL_COLUMNS]}
    with tempfile.TemporaryDirectory() as place:
        connection = store.create(Path(place) / "results.duckdb", Path(place))
        rows = connection.execute(
            "SELECT table_name, data_type, column_name FROM information_schema.columns "
            "WHERE table_schema = 'main' ORDER BY table_name, ordinal_position"
        ).fetchall()
        connection.close()
    for table, sql, name in rows:
        columns.setdefault(table, []).append((sql, name))
    return columns


if __name__ == "__main__":
    sys.exit(write_or_check(DOCUMENT, document(), sys.argv[1:]))
