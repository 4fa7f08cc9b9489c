"""`zlang status --follow`: print the trials of a run that another process carries out, until it ends."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress

from zlang.cli import progress, words
from zlang.cli.render import visible
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import runs

if TYPE_CHECKING:
    from zlang.plan.plan import Trial
    from zlang.run.folder import Folder

_EVERY = 1.0
"""Seconds between looks at what another process carries out."""
_LOOKS_BEFORE_BEGIN = 10
"""The number of looks at a run that has not begun: its folder is there before its process holds it."""
_MOST_POINTS = 10
"""The most points whose medians are printed when somebody begins to follow a run."""


def follow(folder: Folder) -> int:
    """Print the trials in progress and the medians so far, until the run ends."""
    with suppress(KeyboardInterrupt):
        watcher = _Watcher(folder)
        for trial, has_ended in watcher.follower.trials(watcher.wait):
            watcher.see(trial, has_ended=has_ended)
    return 0


class _Watcher:
    """Prints trials as they begin and end; earlier ones are only counted, except those of the latest points."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._header = folder.read_plan().header
        self.follower = runs.follow(folder)
        self._medians = progress.Medians(self._header)
        self._ended: dict[str, dict[int, Trial]] = {}
        """The trials of each point that ended before anything was printed, the latest point last."""
        self._is_live = self._is_over = False
        self._looks = 0

    def see(self, trial: Trial, *, has_ended: bool) -> None:
        """Print the start of a trial, or its result."""
        if self._is_live and not has_ended:
            self._print_progress()
        elif self._is_live:
            self._print_result(trial)
        elif has_ended:
            self._ended[trial.identity] = {**self._ended.pop(trial.identity, {}), trial.replicate: trial}

    def wait(self) -> bool:
        """Wait a moment unless the run has ended; return whether to read on."""
        if not self._is_live:
            self._is_live = True
            self._print_before()
        if self._is_over:
            self._print_stage()
            return False
        self._looks += 1
        may_begin = self.follower.state.last is None and self._looks <= _LOOKS_BEFORE_BEGIN
        is_under_way = may_begin or runs.is_carried_out(self._folder)
        self._is_over = self.follower.state.is_finished or not is_under_way
        if not self._is_over:  # else read what was written since the last time
            time.sleep(_EVERY)
        return True

    def _print_before(self) -> None:
        for trials in list(self._ended.values())[-_MOST_POINTS:]:
            results = [self._result(trial) for trial in trials.values()]
            medians = [(levels, median) for levels, median, why in results if not why]
            if medians:
                _print(*medians[-1])
        self._ended.clear()
        if self.follower.under_way:
            self._print_progress()

    def _result(self, trial: Trial) -> tuple[str, str, str]:
        """The levels of a trial that has ended, the median of their trials so far, and why the trial does not count."""
        verdict, why = self.follower.verdict(trial)
        median = "" if why or verdict is None else self._medians.with_trial(trial, verdict)
        return f"{progress.levels_of(trial, self._header.factors)}:", median or "measured", why

    def _print_result(self, trial: Trial) -> None:
        levels, median, why = self._result(trial)
        if why:
            _print(f"trial {trial.number} does not count: {why}")
        else:
            _print(levels, median)

    def _print_progress(self) -> None:
        state = self.follower.state
        now = {trial.host: progress.levels_of(trial, self._header.factors) for trial in self.follower.under_way}
        since = max(0.0, time.time() - state.last.t) if state.last is not None else 0.0
        seconds = self.follower.seconds_left(since)
        remaining = "" if seconds is None else f", {words.duration(seconds)} left"
        _print(f"{words.counts(state, self._header)}{remaining}; now: {' | '.join(progress.of_every_lane(now))}")

    def _print_stage(self) -> None:
        state = self.follower.state
        stage = f"{words.counts(state, self._header)}, {words.stage(state, self._header.trials)}"
        _print(f"{self._folder.name}: {stage}")


def _print(text: str, whole: str = "") -> None:
    """Print a text and items that must not be broken, on several lines if the terminal is too narrow."""
    columns = shutil.get_terminal_size((80, 24)).columns
    print(words.folded(f"{visible(text)} ", [whole], columns), flush=True)
