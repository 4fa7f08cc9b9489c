"""Measure the comparison of two plans of 100,000 trials that differ in a tenth of them.

In: `matrix.zexp` beside this file, and the same with one level less and another more. Out: the table.
Usage: python bench/diff.py [ROUNDS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import measure

MOST = 10.0
"""CPU-seconds."""
PROGRAM = Path(__file__).with_name("matrix.zexp")


def main() -> int:
    """Write the other program, measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        other = Path(name) / "other.zexp"
        text = PROGRAM.read_text("utf-8")
        assert "4KiB..40KiB" in text
        other.write_text(text.replace("4KiB..40KiB", "8KiB..44KiB"), "utf-8")
        commands = [
            measure.Command(measure.zlang("diff", str(PROGRAM), str(other)), code=6),
        ]
        (both,) = measure.in_turn(commands, rounds)
    return measure.verdict(
        [
            measure.Check("two plans of 100,000 compared", both.cpu, "CPU-s", "at most", MOST, 1.0),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
