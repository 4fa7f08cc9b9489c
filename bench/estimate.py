"""Whether `zlang plan` says how long the examples take: the estimate beside what happened.

In: examples that run here, by default those of `examples/`. Each is run twice in a directory of its own: at first
nothing is known of it, then the database has the first run. Out: what each run took beside what was expected of it.
What decides while it is measured how much is needed is left out: its estimate is the most that it can take.
Needs root, for loop devices, mounting, and a zfs-fuse of its own, and a machine that does nothing else meanwhile.
Usage: python bench/estimate.py [PROGRAM…]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import measure

sys.path.insert(0, str(measure.ROOT))

from tools import measured
from zlang.check.check import Overrides
from zlang.pipeline import costs, programs, runs

WITHIN = 0.2
"""What was asked for: the total is off by at most so much, where a run is in the database."""
PROFILES = ("smoke", "small")
"""What an example calls the sizes at which it is over in a minute or two."""


def words(program: Path) -> list[str]:
    """The profile in which an example runs here, if it has one."""
    text = program.read_text("utf-8")
    return next((["--profile", name] for name in PROFILES if f"\nprofile {name} " in text), [])


def is_sequential(program: Path) -> bool:
    """Whether it repeats `until`, or has a `find`."""
    checked = programs.check(programs.read(str(program)), Overrides())
    experiment = programs.choose(checked, None)
    return experiment.until is not None or experiment.search is not None


def ran(program: Path, directory: Path) -> tuple[float, float]:
    """Run an example once: the seconds that it took, and those that were expected."""
    code = measured.carry_out(directory, [program], *words(program))[program]
    took = costs.spent(runs.find(directory / "runs", None))
    if took is None or code in {1, 2, 3}:
        sys.exit(f"{program} ended with {code}")
    expected, was = (sum(seconds.values()) for seconds in took)
    return was, expected


def main() -> int:
    """Run, print, and say whether all second runs took what was expected."""
    examples = (path for path in sorted((measure.ROOT / "examples").glob("*.zexp")) if not is_sequential(path))
    texts = [Path(name).resolve() for name in sys.argv[1:]] or list(examples)
    checks = []
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="zlang-bench-") as scratch:
        for program in texts:
            for which, bounds in (("first", (None, None)), ("second", (1 - WITHIN, 1 + WITHIN))):
                took, expected = ran(program, Path(scratch) / program.stem)
                least, most = bounds
                checks.append(
                    measure.Check(f"{program.stem}, {which} run", took, "s", "estimated", expected, most, least)
                )
    return measure.verdict(checks)


if __name__ == "__main__":
    sys.exit(main())
