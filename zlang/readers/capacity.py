"""The space that things take, before and after the measurement.

In: the artefact, and as argument `before` the one that was made before, in each of which a line `@ SECONDS` (since
1970, with a fraction) is followed by lines `SOURCE PROPERTY VALUE`, between tabs, as `zfs get -Hp -o
name,property,value` prints them; a value may be `1.49G` or `2.00x`. Out: samples of each property; metrics `before_`
and `after_` with the property.
Rule: a metric is there only where one thing alone has such a property, for what several take does not add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.reading import Reading, Sample, Window, text_of
from zlang.readers.zpool_iostat import amount

_METRICS = {
    **{
        name: f"{name}_bytes"
        for name in (
            *("du", "apparent", "df_used", "df_available"),
            *("compsize_disk", "compsize_uncompressed", "compsize_referenced"),
            *("btrfs_used", "btrfs_allocated", "btrfs_unallocated"),
            *("used", "logicalused", "referenced", "logicalreferenced", "usedbysnapshots", "allocated", "free"),
        )
    },
    **{name: name for name in ("compressratio", "refcompressratio", "dedupratio")},
}
"""The sizes of files, datasets and pools, as tools call them, and their metrics without `before_` and `after_`."""
_FIELDS = 3


def read(directory: Path, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Each property of both times."""
    return twice(directory, reader, _samples, _METRICS.values())


def twice(
    directory: Path, reader: Reader, samples_of: Callable[[str], Iterator[Sample]], names: Iterable[str]
) -> Reading:
    """Both looks, before and after: all samples, and metrics if there is only one source."""
    result: dict[str, float] = {}
    samples: list[Sample] = []
    problems: list[str] = []
    wanted = tuple(names)
    for when, artefact in (("after", reader.artefact), ("before", str(reader.args.get("before", "")))):
        text = text_of(directory / artefact)
        seen = list(samples_of(text or ""))
        if not seen:
            problems.append(f"{artefact} {'was not written' if text is None else 'says nothing of it'}")
        for name in wanted:
            of_this = [sample for sample in seen if sample.metric == name]
            if len(of_this) == 1:
                result[f"{when}_{name}"] = of_this[0].value
        samples += seen
    return Reading(result, tuple(problems), samples=tuple(samples))


def _samples(text: str) -> Iterator[Sample]:
    for t, lines in series.snapshots(text):
        for line in lines:
            words = line.split("\t")
            if len(words) == _FIELDS and words[1] in _METRICS:
                value = amount(words[2].removesuffix("x"))
                if value is not None:
                    yield Sample(t, words[0], _METRICS[words[1]], value)
