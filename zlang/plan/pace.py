"""The remaining time of a run: the trials of its plan, and the durations of those that have ended -> seconds.

The estimate for a trial is the mean of the other trials of its point. Without any, it is the duration that its workload
states, plus the mean excess of other trials; else the mean of trials of other points. A setup is estimated by the same
setup, or else by others; setups before the first trial of a whole plot and those before other trials, which a trial
invalidated, are counted separately. Machines that work in parallel are assumed to save as much time as they did so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from zlang.frozen import mutable
from zlang.plan.plan import Trial

_Point = tuple[str, float | None]
_Setups = tuple[bool, tuple[str, ...]]
"""Whether the setups come before the first trial of a whole plot, and their signatures."""


@mutable
class _Mean:
    """The mean of some durations, in seconds."""

    total: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        self.total, self.count = self.total + seconds, self.count + 1

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else 0.0


class Pace:
    """The durations of the trials that have ended and estimates of the others. A trial ends, or is dropped, once."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._points: dict[str, _Point] = {}
        self._setups: dict[str, _Setups] = {}
        self._to_come = Counter[_Point]()
        self._setups_to_come = Counter[_Setups]()
        self._measured: dict[_Point, _Mean] = {}
        self._prepared: dict[_Setups, _Mean] = {}
        plots: dict[str, int] = {}
        for trial in trials:
            point = trial.identity, trial.footprint.seconds if trial.footprint else None
            setups = plots.get(trial.host) != trial.whole_plot, trial.setups
            plots[trial.host] = trial.whole_plot
            self._points[trial.place], self._setups[trial.place] = point, setups
            self._to_come[point] += 1
            self._setups_to_come[setups] += 1

    def drop(self, place: str) -> None:
        """Expect a trial no longer; `place` is its place in the run folder."""
        point = self._points.pop(place, None)
        if point is not None:
            self._to_come[point] -= 1
            self._setups_to_come[self._setups[place]] -= 1

    def end(self, place: str, prepared: float, measured: float) -> None:
        """Record the seconds that the setups of a trial took, and then the trial itself."""
        point = self._points.get(place)
        if point is not None:
            self._measured.setdefault(point, _Mean()).add(measured)
            self._prepared.setdefault(self._setups[place], _Mean()).add(prepared)
        self.drop(place)

    def seconds_left(self, elapsed: float, under_way: float = 0.0) -> float | None:
        """The remaining seconds, `elapsed` seconds after the first trial began; None until a trial has ended.

        `under_way` is the sum of the seconds since each running trial began.
        """
        means = self._measured.items()
        if not means:
            return None
        typical = sum(mean.value for _, mean in means) / len(means)
        added = [mean.value - expected for (_, expected), mean in means if expected is not None]
        overhead = sum(added) / len(added) if added else 0.0
        remaining = sum(self._time_of(setups) * count for setups, count in self._setups_to_come.items() if count)
        for point, count in self._to_come.items():
            _, expected = point
            mean = self._measured.get(point)
            remaining += count * (
                mean.value if mean else typical if expected is None else max(0.0, expected + overhead)
            )
        spent = sum(mean.total for mean in (*self._measured.values(), *self._prepared.values())) + under_way
        return remaining * elapsed / spent if spent else remaining

    def _time_of(self, setups: _Setups) -> float:
        if setups in self._prepared:
            return self._prepared[setups].value
        alike = [mean.value for (is_first, _), mean in self._prepared.items() if is_first == setups[0]]
        return sum(alike) / len(alike) if alike else 0.0
