"""The space that targets and file systems use, before and after the measurement.

In: the artefact; the argument `before` is the artefact from before the measurement. Each has a line `@ SECONDS` (since
1970, with a fraction), followed by lines `SOURCE PROPERTY VALUE` with tabs between them, as `zfs get -Hp -o
name,property,value` prints them. A value may be `1.49G` or `2.00x`.
Out: samples of each property, and the metrics `before_PROPERTY` and `after_PROPERTY`.
Rules: the space of several files is added up. A property of a file system or pool becomes a metric only if there is one
source, because several could share the same space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from zlang.files import Place
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
_OF_FILES = frozenset(
    ("du_bytes", "apparent_bytes", *(f"compsize_{each}_bytes" for each in ("disk", "uncompressed", "referenced")))
)
"""The sizes of files, which are all of the target."""
_FIELDS = 3


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read each property before and after the measurement."""
    return twice(directory, reader, _samples, _METRICS.values())


def twice(
    directory: Place, reader: Reader, samples_of: Callable[[str], Iterator[Sample]], names: Iterable[str]
) -> Reading:
    """Read both snapshots: all samples, and metrics of properties that can be added up or have only one source."""
    result: dict[str, float] = {}
    samples: list[Sample] = []
    problems: list[str] = []
    wanted = tuple(names)
    for when, artefact in (("after", reader.artefact), ("before", str(reader.args.get("before", "")))):
        text = text_of(directory / artefact)
        seen = list(samples_of(text or ""))
        if not seen:
            problems.append(f"{artefact} {'was not written' if text is None else 'has no such figure'}")
        for name in wanted:
            of_this = [sample for sample in seen if sample.metric == name]
            if len(of_this) == 1 or (of_this and name in _OF_FILES):
                result[f"{when}_{name}"] = sum(sample.value for sample in of_this)
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
