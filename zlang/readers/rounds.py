"""The rounds in which a workload ran until it was steady.

In: the artefact, with a line `SECONDS ROUND METRIC VALUE VERDICT…` for each round: its end (since 1970, with a
fraction), its number, the metric, its value, and whether it is steady: then the verdict begins with `steady`.
Out: samples of the metric and of `steady` (1 or 0), with the source `round N`; the metric `rounds`, the number of
rounds.
Rule: the protocol's own verification decides whether the trial counts, not this reader.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.files import Place
from zlang.plan.plan import Reader, Step
from zlang.readers.reading import Reading, Sample, Window, text_of, whole_lines

_FIELDS = 5


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the value and the verdict of each round."""
    text = text_of(directory / reader.artefact)
    samples = tuple(_samples(text or ""))
    if not samples:
        return Reading(problems=(f"{reader.artefact} has no round",))
    return Reading({"rounds": float(len({sample.source for sample in samples}))}, samples=samples)


def _samples(text: str) -> Iterator[Sample]:
    for line in whole_lines(text):
        words = line.split()
        try:
            t, source, value = float(words[0]), f"round {int(words[1])}", float(words[3])
        except (ValueError, IndexError):
            continue
        if len(words) >= _FIELDS:
            yield Sample(t, source, words[2], value)
            yield Sample(t, source, "steady", float(words[4] == "steady"))
