"""How long `zlang check` takes from an installed wheel, beside Python that does nothing.

In: this checkout (a wheel of it is installed in a scratch environment, compiled as pip does). Out: the table.
Usage: python bench/startup.py [ROUNDS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import measure

MOST = 9.0
"""Times `python -c pass`."""


def main() -> int:
    """Install, measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        measure.pip(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", name, str(measure.ROOT))
        home = measure.installed(scratch / "venv", *(str(wheel) for wheel in scratch.glob("zlang-*.whl")))
        nothing = measure.Command([str(home / "python"), "-c", "pass"], scratch)
        check = measure.Command([str(home / "zlang"), "check", str(measure.ROOT / "examples/quickstart.zexp")], scratch)
        without, taken = measure.in_turn([nothing, check], rounds)
    beside = "python -c pass"
    figures = [("zlang check, by the clock", taken.wall, without.wall), ("zlang check, CPU", taken.cpu, without.cpu)]
    return measure.verdict(
        [measure.Check(what, 1000 * figure, "ms", beside, 1000 * least, MOST) for what, figure, least in figures]
    )


if __name__ == "__main__":
    sys.exit(main())
