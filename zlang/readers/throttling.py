"""The number of times that processors were throttled, by heat or by the limit of their cgroup.

In: the artefact from after the measurement; the argument `before` is the one from before it. Each has a line `@
SECONDS` (since 1970, with a fraction), followed by lines `PATH COUNT`: the `thermal_throttle/…_throttle_count` of a
processor (x86), or the `nr_throttled` in a cgroup's `cpu.stat`. Out: the metric `throttles`, and, if it is above 0, why
the trial does not count.
Rule: a machine that counts neither, such as most virtual machines, has no value. That is a problem, not a zero.
"""

from __future__ import annotations

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Window, text_of


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the number of events between the two snapshots."""
    before, after = (_counts(directory / name) for name in (str(reader.args.get("before", "")), reader.artefact))
    in_both = before.keys() & after.keys()
    if not in_both:
        return Reading(problems=("the machine does not say whether its processors were throttled",))
    grown = {path: after[path] - before[path] for path in in_both if after[path] > before[path]}
    hot = sum(count for path, count in grown.items() if path.endswith("_throttle_count"))
    shared = sum(grown.values()) - hot
    against = [f"throttled: processors were too hot {hot} times"] if hot else []
    against += [f"throttled: the cgroup's share of processors was used up {shared} times"] if shared else []
    return Reading({"throttles": float(hot + shared)}, against=tuple(against))


def _counts(path: Place) -> dict[str, int]:
    lines = [line.rpartition(" ") for _, lines in series.snapshots(text_of(path) or "") for line in lines]
    return {name: int(count) for name, _, count in lines if count.isdecimal()}
