"""Measure how many points `pairwise` and `triples` need beside PICT, and how long zlang takes to find them.

In: nothing. Out: the table. The figures of PICT are from https://www.pairwise.org/efficiency.html, which lacks some.
Usage: python bench/covering.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import measure

SECONDS = 3.0
"""CPU of `zlang plan --trials` that any of these may take."""
MODELS: list[tuple[str, str, list[int], int | None]] = [
    ("pairwise", "3^4", [3] * 4, 9),
    ("pairwise", "3^13", [3] * 13, 18),
    ("pairwise", "4^15 3^17 2^29", [4] * 15 + [3] * 17 + [2] * 29, 37),
    ("pairwise", "4^1 3^39 2^35", [4] + [3] * 39 + [2] * 35, 27),
    ("pairwise", "2^100", [2] * 100, 15),
    ("pairwise", "10^20", [10] * 20, 210),
    ("pairwise", "3^40", [3] * 40, None),
    ("triples", "3^10", [3] * 10, None),
    ("triples", "2^40", [2] * 40, None),
]
"""The design, its model, the number of levels of each factor, and the points that PICT needs."""


def program(design: str, sizes: list[int]) -> str:
    """A program with so many factors, which a command prints."""
    lines = [f"let f{i} = {' | '.join(map(str, range(size)))}" for i, size in enumerate(sizes)]
    command = " ".join(f"{{f{i}}}" for i in range(len(sizes)))
    lines += ['dir here { path = "." }', f'shell printing {{ command = "echo {command}" }}']
    return "\n".join([*lines, f"experiment designed {{ on = here  run = printing  design = {design} }}\n"])


def main() -> int:
    """Plan, count, print."""
    checks = []
    with tempfile.TemporaryDirectory() as name:
        file, output = Path(name) / "designed.zexp", Path(name) / "trials.jsonl"
        for design, model, sizes, pict in MODELS:
            file.write_text(program(design, sizes), "utf-8")
            cost = measure.cost(measure.Command(measure.zlang("plan", str(file), "--trials", "--json"), output=output))
            points = len(output.read_text("utf-8").splitlines())
            label = f"{design} of {model}"
            beside, least = ("PICT", pict) if pict else ("not published", points)
            checks.append(measure.Check(f"{label}: points", points, "", beside, least, None))
            checks.append(measure.Check(f"{label}: CPU", cost.cpu, "s", "limit", SECONDS))
    return measure.verdict(checks)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
