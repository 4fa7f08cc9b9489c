"""Measure how long zlang takes to start from an installed wheel, beside a Python that does nothing.

In: this checkout (a wheel of it is installed in a scratch environment, compiled as pip does). Out: the table.
Usage: python bench/startup.py [ROUNDS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import measure

MOST = {"check": 6.0, "plan": 8.0, "--version": 4.0, "--help": 4.0}
"""Times `python -c pass`, by command."""
OF_A_PROGRAM = {"check", "plan"}
NOTHING = """dir here { path = "." }
shell succeeding { command = "true" }
experiment nothing_measured { on = here  run = succeeding }
"""
"""A program whose run makes a database."""
QUERY_MOST = 1.5
"""Times DuckDB's own import and answer."""


def main() -> int:
    """Install, measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        measure.pip(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", name, str(measure.ROOT))
        home = measure.installed(scratch / "venv", *(str(wheel) for wheel in scratch.glob("zlang-*.whl")))
        program = str(measure.ROOT / "examples/quickstart.zexp")
        nothing = measure.Command([str(home / "python"), "-c", "pass"], scratch)
        commands = [
            measure.Command([str(home / "zlang"), word, *([program] if word in OF_A_PROGRAM else [])], scratch)
            for word in MOST
        ]
        results = scratch / "results"
        results.mkdir()
        (results / "nothing.zexp").write_text(NOTHING, "utf-8")
        measure.cost(measure.Command([str(home / "zlang"), "run", "nothing.zexp"], results))
        query = measure.Command([str(home / "zlang"), "sql", "select 1"], results)
        duckdb = measure.Command(
            [str(home / "python"), "-c", "import duckdb; print(duckdb.connect('results.duckdb').sql('select 1'))"],
            results,
        )
        without, queried, answered, *taken = measure.in_turn([nothing, query, duckdb, *commands], rounds)
    checks = []
    for (word, most), cost in zip(MOST.items(), taken, strict=True):
        for label, figure, least in (("by the clock", cost.wall, without.wall), ("CPU", cost.cpu, without.cpu)):
            checks.append(
                measure.Check(f"zlang {word}, {label}", 1000 * figure, "ms", "python -c pass", 1000 * least, most)
            )
    checks.append(measure.Check("zlang sql, CPU", 1000 * queried.cpu, "ms", "DuckDB", 1000 * answered.cpu, QUERY_MOST))
    return measure.verdict(checks)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
