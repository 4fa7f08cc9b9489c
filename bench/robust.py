"""Whether every text gets an answer soon: `check`, `fmt` and the first trials of programs that nobody would write.

In: the hard programs of 64 KiB and wild ones, drawn by a seed (tests/wild_programs.py), for a number of seconds.
Out: the most CPU that one took and the peak memory of all; a text that breaks something is printed, and the exit code
is 1.
Usage: python bench/robust.py [SECONDS [SEED]]        20 seconds; `make fuzz` takes an hour and a seed of its own
"""

from __future__ import annotations

import random
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from itertools import count

import measure

from zlang.source import Source
from zlang.syntax import format as formatting

sys.path.insert(0, str(measure.ROOT / "tests"))
import wild_programs

SECONDS = 20.0
SEED = 1
MOST_SECONDS = 1.0
MOST_MIB = 500.0


def programs(seconds: float, seed: int) -> Iterator[str]:
    """The hard ones, then wild ones until the time is up."""
    end = time.monotonic() + seconds
    yield from (text[: wild_programs.SIZE] for text in wild_programs.BOMBS.values())
    for number in count(seed):
        if time.monotonic() > end:
            return
        for way in wild_programs.WAYS.values():
            yield way(random.Random(number))


def written(text: str) -> object:
    """The result of `zlang fmt` for a text."""
    return formatting.program(Source("program.zexp", text))


def main() -> int:
    """Try, time, print."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    worst, tried, broken = dict.fromkeys(("check", "fmt"), 0.0), 0, set[str]()
    for text in programs(seconds, seed):
        tried += 1
        for name, way in (("check", wild_programs.findings), ("fmt", written), ("", wild_programs.formatted)):
            began = time.process_time()
            try:
                way(text)
            except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
                message = traceback.format_exc()
                if message not in broken:
                    broken.add(message)
                    print(f"== breaks at\n{text}\n{message}")
            if name:
                worst[name] = max(worst[name], time.process_time() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{tried} programs, seed {seed}; different failures: {len(broken)}")
    missed = measure.verdict(
        [
            *(measure.Check(f"{way}, CPU at most", cpu, "s", "asked for", MOST_SECONDS) for way, cpu in worst.items()),
            measure.Check("peak memory of all", peak, "MiB", "asked for", MOST_MIB),
        ]
    )
    return 1 if broken else missed


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
