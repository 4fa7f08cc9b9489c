"""What pools and datasets take, at the beginning and at the end of the measurement.

In: the artefact, in which each snapshot is a line `@ SECONDS` (since 1970, with a fraction) and then lines
`NAME PROPERTY VALUE`, between tabs, as `zfs get -Hp -o name,property,value` prints them; a value may be `1.49G` or
`2.00x`. Out: samples of each property, whose source is the pool or dataset; metrics `before_` and `after_` with the
property.
Rule: a metric is there only where one thing alone has such a property, for what several take does not add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zlang import metrics
from zlang.plan.plan import Reader, Step
from zlang.readers.reading import Reading, Sample, Window, text_of, whole_lines
from zlang.readers.zpool_iostat import amount

_FIELDS = 3


def read(directory: Path, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """The first and the last of each property."""
    text = text_of(directory / reader.artefact)
    if text is None:
        return Reading(problems=(f"{reader.artefact} was not written",))
    samples = tuple(_samples(text))
    found: dict[str, float] = {}
    for name in metrics.CAPACITY.values():
        of_this = [sample for sample in samples if sample.metric == name]
        if len({sample.source for sample in of_this}) == 1:
            found |= {f"before_{name}": of_this[0].value, f"after_{name}": of_this[-1].value}
    return Reading(found, samples=samples, problems=() if samples else (f"{reader.artefact} has no sample",))


def _samples(text: str) -> Iterator[Sample]:
    t: float | None = None
    for line in whole_lines(text):
        words = line.split("\t")
        if line.startswith("@ "):
            try:
                t = float(line[2:])
            except ValueError:
                t = None
        elif t is not None and len(words) == _FIELDS and words[1] in metrics.CAPACITY:
            value = amount(words[2].removesuffix("x"))
            if value is not None:
                yield Sample(t, words[0], metrics.CAPACITY[words[1]], value)
