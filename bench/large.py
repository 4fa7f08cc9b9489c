"""Measure `plan` of programs with many levels, targets, experiments, hosts, factors or workloads.

In: nothing. Out: the table.
Usage: python bench/large.py [ROUNDS]
"""

from __future__ import annotations

import sys

import measure

MOST = 2.0
"""Seconds of CPU, with the start of zlang."""
HERE = 'import fio\ndir here { path = "." }\n'
READS = "fio reads { rw = randread  time_based = on  runtime = 5s }\n"
DATA = "file data on here { size = 64MiB }\n"


def _levels(count: int) -> str:
    sizes = " | ".join(f"{number}MiB" for number in range(1, count + 1))
    return f"{HERE}{READS}file data on here {{ size = {sizes} }}\nexperiment many {{ on = data  run = reads }}\n"


def _targets(count: int) -> str:
    files = "".join(f"file d{number} on here {{ size = {number + 1}MiB }}\n" for number in range(count))
    return f"{HERE}{READS}{files}experiment many {{ on = {_choice('d', count)}  run = reads }}\n"


def _experiments(count: int) -> str:
    lines = (f"experiment e{number} {{ on = data  run = reads  repeat = {number + 1} }}\n" for number in range(count))
    return HERE + READS + DATA + "".join(lines)


def _hosts(count: int) -> str:
    machines = (
        f'host h{n} {{}}\ndir p{n} on h{n} {{ path = "/tmp" }}\nfile q{n} on p{n} {{ size = 1MiB }}\n'
        for n in range(count)
    )
    experiment = f"experiment many {{ on = {_choice('q', count)}  run = reads }}\n"
    return "import fio\n" + READS + "".join(machines) + experiment


def _factors(count: int) -> str:
    names = " ".join(f"{{x{number}}}" for number in range(count))
    factors = "".join(f"let x{number} = 1 | 2\n" for number in range(count))
    work = f'{HERE}shell work {{ command = "echo {names}" }}\n'
    return f"{work}{factors}experiment many {{ on = here  run = work  design = sample(10) }}\n"


def _branches(count: int) -> str:
    branches = (
        f"fio {{ rw = randread  bs = {4 * (number + 1)}KiB  time_based = on  runtime = 5s }}" for number in range(count)
    )
    return f"{HERE}{DATA}experiment many {{ on = data  run = {' | '.join(branches)} }}\n"


def _choice(letter: str, count: int) -> str:
    return " | ".join(f"{letter}{number}" for number in range(count))


PROGRAMS = {
    "4,000 levels of a target": _levels(4000),
    "1,500 targets": _targets(1500),
    "200 experiments, 20,100 trials": _experiments(200),
    "500 hosts": _hosts(500),
    "300 factors in one command": _factors(300),
    "1,500 workloads": _branches(1500),
}


def main() -> int:
    """Write the programs, measure, print."""
    return measure.plans(PROGRAMS, MOST, int(sys.argv[1]) if len(sys.argv) > 1 else 3)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
