"""Measure a `where` over a million combinations of levels: comparing, adding and multiplying three factors.

In: nothing. Out: the table.
Usage: python bench/conditions.py [ROUNDS]
"""

from __future__ import annotations

import sys

import measure

MOST = 2.0
"""Seconds of CPU, with the start of zlang."""
CONDITIONS = {"compares": "a <= b and b <= c", "adds": "a + b <= c", "multiplies": "a * b * c <= 1000"}
PROGRAM = """let a = 1..100
let b = 1..100
let c = 1..100
dir here {{ path = "." }}
shell work {{ command = "true {{a}} {{b}} {{c}}" }}
experiment many {{ on = here  run = work  where {condition} }}
"""


def main() -> int:
    """Write a program for each condition, measure, print."""
    programs = {
        f"a million combinations that a `where` {word}": PROGRAM.format(condition=condition)
        for word, condition in CONDITIONS.items()
    }
    return measure.plans(programs, MOST, int(sys.argv[1]) if len(sys.argv) > 1 else 5)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
