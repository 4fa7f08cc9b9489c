"""Whether `zlang plan` says how long the examples take: the estimate beside what happened.

In: programs that run here, by default those of `examples/`, and three small ones: a shell command, a kind of one's own,
and one that is repeated until it is precise. Each is run twice in a directory of its own: at first nothing is known of
it, then the database has the first run. Out: what each run took beside what was expected of it. Where the run decides
how much is needed, the estimate is the most that it can take; one that says "at least" may be less than half.
Needs root, for loop devices, mounting, and a zfs-fuse of its own, and a machine that does nothing else meanwhile.
Usage: python bench/estimate.py [PROGRAM…] [--write]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import measure
from rates import publish

sys.path.insert(0, str(measure.ROOT))

from tools import measured
from zlang.check.check import Overrides
from zlang.pipeline import costs, programs, runs

LEAST, MOST = 0.8, 1.25
"""The allowed range of a second run's time, as a share of its estimate."""
MOST_OF_FIRST = 2
"""The allowed time of a first run, as a multiple of its estimate, unless that says "at least"."""
SMALL = {
    "shell": """
dir here { path = "." }
shell sleeps { command = "sleep 0.{n}" }
let n = 1 | 5
experiment shell { on = here  run = sleeps  repeat = 5 }
""",
    "kind": """
kind waits: workload {
  needs dir as at
  property tenths: count { default = 1 }
  run { sh "sleep 0.{tenths}"  reads shell "measure.out" { metrics = ["time"] } }
}
dir here { path = "." }
waits often { tenths = 2 | 8 }
experiment own_kind { on = here  run = often  repeat = 5 }
""",
    "until": """
dir here { path = "." }
shell sleeps { command = "sleep 0.3" }
experiment until { on = here  run = sleeps  repeat = 3..12 until ci(elapsed) < 10% }
""",
}
PROFILES = ("smoke", "small")
"""The names that examples give to sizes at which they take a minute or two."""


def words(program: Path) -> list[str]:
    """The profile in which an example runs here, if it has one."""
    text = program.read_text("utf-8")
    return next((["--profile", name] for name in PROFILES if f"\nprofile {name} " in text), [])


def is_sequential(program: Path) -> bool:
    """Whether it repeats `until`, or has a `find`."""
    checked = programs.check(programs.read(str(program)), Overrides())
    experiment = programs.choose(checked, None)
    return experiment.until is not None or experiment.search is not None


def runs_here(example: Path) -> bool:
    """Whether it needs no other machine, and is over when all is measured."""
    return "\nhost " not in example.read_text("utf-8") and not is_sequential(example)


def ran(program: Path, directory: Path) -> tuple[float, float, bool]:
    """Run an example once: the seconds that it took, those that were expected, and whether these are said to lack."""
    code = measured.carry_out(directory, {program: words(program)})[program]
    folder = runs.find(directory / "runs", None)
    took = costs.spent(folder, runs.run_state(folder))
    if took is None or code in {1, 2, 3}:
        sys.exit(f"{program} ended with {code}")
    return took.elapsed, took.estimate.total, took.estimate.is_lower_bound


def main() -> int:
    """Run, print, and say whether all second runs took what was expected."""
    named = [Path(name).resolve() for name in sys.argv[1:] if name != "--write"]
    checks, firsts, seconds = [], [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="zlang-bench-") as scratch:
        small = [Path(scratch) / f"{name}.zexp" for name in SMALL]
        for path in small:
            path.write_text(SMALL[path.stem], "utf-8")
        examples = [path for path in sorted((measure.ROOT / "examples").glob("*.zexp")) if runs_here(path)]
        for program in named or [*examples, *small]:
            for which in ("first", "second"):
                took, expected, is_lower_bound = ran(program, Path(scratch) / program.stem)
                is_bound = is_sequential(program)
                bounds = (MOST, 0.0 if is_bound else LEAST) if which == "second" else (None, None)
                label = f"{program.stem}, {which} run{', at least' if is_lower_bound else ''}"
                checks.append(measure.Check(label, took, "s", "estimated", expected, *bounds))
                if which == "first":
                    firsts.append(took / expected > MOST_OF_FIRST and not is_lower_bound)
                elif not is_bound:
                    seconds.append(took / expected)
    figures = [
        (
            f"first runs that take over {MOST_OF_FIRST} times their estimate, although it does not say `at least`",
            "none",
            f"{sum(firsts)} of {len(firsts)}",
        ),
        ("time of second runs, over their estimate", f"{LEAST} to {MOST}", f"{min(seconds):.2f} to {max(seconds):.2f}"),
    ]
    publish("estimate.py", (), (), figures)
    return measure.verdict(checks)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
