"""The progress of a run: a line on the terminal, or only problems if there is no terminal.

Rule: while a workload runs, zlang uses no CPU: it draws only at events.
"""

from __future__ import annotations

import bisect
import datetime as dt
import math
import select
import statistics
import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress

from zlang.cli import render, words
from zlang.hints import TYPE_CHECKING
from zlang.metrics import ELAPSED
from zlang.plan.pace import Pace
from zlang.plan.plan import Trial
from zlang.run.events import Ask, Begin, Event, Fail, Interrupt, LeftBehind, Next, Outcome, Repeat, Skip, Start

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress, Task, TaskID

    from zlang.plan.plan import Factor, Header, Plan
    from zlang.run.events import TrialVerdict
    from zlang.run.run_state import RunState

_LOOK_EVERY = 0.2
_OTHER_LINES = 6
"""Lines of a terminal that are not for lanes: the bar, the last point, and what was printed before."""
"""Seconds between looks at whether the run is to stop while somebody is waited for."""
_THEN = ", then press Enter"
_MOST_TRIALS_READ = 5000
"""The most trials for which the plan is read before the run to predict its duration."""


class Course:
    """The progress of a run: the number of trials in total and done, and the estimated durations of the others."""

    def __init__(self, total: int, done: int, pace: Pace | None) -> None:
        self.total, self.done, self.pace = total, done, pace
        self._began: float | None = None
        self._next: dict[str, float] = {}
        self._begun: dict[str, float] = {}

    def see(self, event: Event) -> None:
        """Note when trials begin and end."""
        now = time.monotonic()
        match event:
            case Next(trial=trial):
                self._began = now if self._began is None else self._began
                self._next[trial.place] = now
            case Begin(trial=identity, replicate=replicate):
                self._begun[f"trials/{identity}/{replicate}"] = now
            case Outcome(trial=trial):
                before = self._next.pop(trial.place, now)
                begun = self._begun.pop(trial.place, now)
                if self.pace is not None:
                    self.pace.end(trial.place, begun - before, now - begun)
            case Skip(trial=identity, replicate=replicate) if self.pace is not None:
                self.pace.drop(f"trials/{identity}/{replicate}")
            case _:
                pass

    def seconds_left(self) -> float | None:
        """The remaining time; None if it is not known."""
        if self.pace is None or self._began is None:
            return None
        now = time.monotonic()
        return self.pace.seconds_left(now - self._began, sum(now - begun for begun in self._next.values()))


def course(plan: Plan, state: RunState, total: int, done: int) -> Course:
    """Return the progress of a run; on a terminal and for a short plan, durations are estimated for each point."""
    header = plan.header
    is_whole = total == header.at_most and done == state.carried_out
    if not is_whole or header.trials > _MOST_TRIALS_READ or not sys.stderr.isatty():
        return Course(total, done, None)
    pace = Pace(item for item in plan.items() if isinstance(item, Trial))
    for place in (*state.ended, *state.skipped):
        pace.drop(place)
    return Course(total, done, pace)


def watch(
    events: Generator[Event, None, None],
    run: str,
    header: Header,
    course: Course,
    waits_for: tuple[str, str] | None,
) -> int:
    """Show events as they happen; return the number of failed trials and of resources that could not be removed.

    If confirmed, manual steps are already done up to the step (and place) for which the run waited.
    """
    failures = 0
    requested = ("", "")
    medians = Medians(header)
    under_way: dict[str, str] = {}
    with closing(events), _shown(course) as shown:
        for event in events:
            course.see(event)
            match event:
                case Next(trial=trial):
                    under_way[trial.host] = levels_of(trial, header.factors)
                    shown.say(of_every_lane(under_way) if header.machines else [under_way[trial.host]])
                case Repeat(trial=trial, then=then):
                    under_way[then.host] = f"trial {trial.number} again, not counted, for trial {then.number}"
                    shown.say(of_every_lane(under_way) if header.machines else [under_way[then.host]])
                    shown.repeat(trial, then)
                case Start(step=step, out=out):
                    requested = (step, out.rpartition("/")[0])
                    shown.now()
                case Outcome(trial=trial, why_not=why, verdict=verdict):
                    failures += bool(why)
                    levels = under_way.pop(trial.host, "")
                    if header.machines:
                        shown.say(of_every_lane(under_way))
                    shown.trial(trial.number, why)
                    shown.expect(course.seconds_left())
                    if shown.is_drawn and verdict and not why and (median := medians.with_trial(trial, verdict)):
                        shown.learnt(levels, median)
                case Ask(is_shown=True):
                    shown.please(event, "")
                case Ask() if waits_for is not None:
                    event.is_done = True
                    waits_for = None if waits_for in {requested, ("", "")} else waits_for
                case Ask():
                    shown.please(event, _THEN if sys.stdin.isatty() else "")
                    event.is_done = _wait_for_enter(event)
                case LeftBehind(name=name, why=why):
                    failures += 1
                    shown.warn(f"could not be removed: {name.replace('$RUN', run)}: {why}")
                case Fail() | Interrupt() | _:
                    pass
    return failures


def of_every_lane(under_way: Mapping[str, str]) -> list[str]:
    """The points that are being measured, by machine: `san1: 4KiB 32`."""
    return [f"{host}: {levels}" if host else levels for host, levels in sorted(under_way.items())]


def in_lines(lanes: Sequence[str], columns: int, lines: int) -> str:
    """The work of lanes on one line, or if it does not fit, on a line for each lane, up to `lines`."""
    one_line = " | ".join(lanes)
    if len(one_line) <= columns:
        return one_line
    if len(lanes) == 1:
        return words.folded(one_line, [], columns)
    hidden = len(lanes) - max(lines, 1)
    return "\n".join([*lanes[: max(lines, 1)], *([f"and {hidden} more"] if hidden > 0 else [])])


def levels_of(trial: Trial, factors: Sequence[Factor]) -> str:
    """The levels of a trial, in the order of the program: `ext4 4KiB 32`."""
    from zlang.report import wording

    varied = [item for item in factors if item.count > 1 and trial.factors.get(item.name) is not None]
    return " ".join(wording.level(trial.factors[item.name], item.type) for item in varied) or f"trial {trial.number}"


class Medians:
    """The medians of points so far, for the primary metric of the experiment."""

    def __init__(self, header: Header) -> None:
        from zlang.report.clauses import metrics_named
        from zlang.report.summary import usual_of_load

        metrics = (*header.metrics, ELAPSED)
        searches, untils = filter(None, [header.search]), filter(None, [header.until])
        named = metrics_named(header.expectations, header.tables, header.plots, searches, untils)
        self._units = {item.name: item.unit for item in metrics}
        self._candidates = [*named, *usual_of_load(metrics)]
        self._values: dict[str, dict[int, float]] = {}
        self._sorted: dict[str, list[float]] = {}

    def with_trial(self, trial: Trial, verdict: TrialVerdict) -> str:
        """The median of the point of a trial: `median METRIC 12,203 (n = 2)`."""
        from zlang.report import wording

        metric = next((name for name in self._candidates if verdict.metrics.get(name)), None)
        if metric is None:
            return ""
        values = self._values.setdefault(trial.identity, {})
        in_order = self._sorted.setdefault(trial.identity, [])
        if trial.replicate in values:
            in_order.remove(values[trial.replicate])
        values[trial.replicate] = verdict.metrics[metric]
        bisect.insort(in_order, values[trial.replicate])
        middle = wording.measured(statistics.median(in_order), self._units.get(metric, ""))
        return f"median {metric} {middle} (n = {len(values)})"


def _wait_for_enter(ask: Ask) -> bool:
    """Wait until a person presses Enter; not without a terminal, nor after a request to stop."""
    while sys.stdin.isatty() and not ask.is_stopped():
        if select.select([sys.stdin], [], [], _LOOK_EVERY)[0]:
            with suppress(OSError):  # the terminal was closed
                return bool(sys.stdin.readline())
            return False
    return False


def _request(ask: Ask, then: str) -> str:
    """The text of a manual step, with what a person can type for it."""
    return "\n".join([f"manual step: {render.visible(ask.text)}{then}", *map(render.visible, ask.typed.splitlines())])


class _Quiet:
    """The display without a terminal, which prints only problems."""

    is_drawn = False
    """Whether it shows medians."""

    def say(self, lanes: Sequence[str]) -> None:
        """Ignore which trials are prepared and measured."""

    def now(self) -> None:
        """Ignore the start of a command."""

    def learnt(self, levels: str, median: str) -> None:
        """Ignore the median of the last point."""

    def trial(self, number: int, why: str) -> None:
        """Report a trial that ended."""
        if why:
            print(f"trial {number} does not count: {render.visible(why)}", file=sys.stderr)

    def repeat(self, trial: Trial, then: Trial) -> None:
        """Report, at the first of them, that trials are repeated."""
        if trial.follows == 0:
            earlier = f"{then.follows} earlier trial{'s' * (then.follows > 1)}"
            print(f"repeating {earlier}, without counting them, for the data of trial {then.number}", file=sys.stderr)

    def expect(self, seconds: float | None) -> None:
        """Ignore the remaining time."""

    def warn(self, text: str) -> None:
        """Warn of something that is left behind."""
        print(f"warning: {render.visible(text)}", file=sys.stderr)

    def please(self, ask: Ask, then: str) -> None:
        """Ask for a manual step."""
        print(_request(ask, then), file=sys.stderr)


class _Bar(_Quiet):
    """The display on a terminal: the remaining time, and the current work on one line, or on one for each lane."""

    is_drawn = True

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self.progress, self.task, self.lanes, self.last = progress, task, [""], ("", "")
        self.drawn = 0.0

    def say(self, lanes: Sequence[str]) -> None:
        self.lanes = list(map(render.visible, lanes))
        self._draw()

    def now(self) -> None:
        self._draw()

    def learnt(self, levels: str, median: str) -> None:
        self.last = (levels, median)
        self._draw()

    def trial(self, number: int, why: str) -> None:
        if why:
            self.progress.console.print(f"trial {number} does not count: {render.visible(why)}", markup=False)
        self.progress.update(self.task, advance=1)

    def repeat(self, trial: Trial, then: Trial) -> None:
        pass

    def expect(self, seconds: float | None) -> None:
        end = None if seconds is None else time.monotonic() + seconds
        self.progress.update(self.task, expected_end=end)
        self.progress.refresh()

    def warn(self, text: str) -> None:
        self.progress.console.print(f"warning: {render.visible(text)}", markup=False)

    def please(self, ask: Ask, then: str) -> None:
        self.progress.console.print(_request(ask, then), markup=False)

    def _draw(self) -> None:
        """Draw at most ten times a second: drawing must not disturb the measurement."""
        levels, median = map(render.visible, self.last)
        console = self.progress.console
        last = [words.folded(f"last: {levels}: ", [median], console.width)] if median else []
        lanes = in_lines(self.lanes, console.width, console.height - _OTHER_LINES)
        self.progress.update(self.task, description="\n".join([lanes, *last]))
        if time.monotonic() - self.drawn > 0.1:  # noqa: PLR2004
            self.drawn = time.monotonic()
            self.progress.refresh()


@contextmanager
def _shown(course: Course) -> Iterator[_Quiet]:
    if not sys.stderr.isatty():
        yield _Quiet()
        return
    from rich import progress as parts
    from rich.console import Console
    from rich.text import Text

    class DescriptionColumn(parts.TextColumn):
        """A column with the description as plain text, without markup."""

        def render(self, task: object) -> Text:
            return Text(str(getattr(task, "description", "")), overflow="ellipsis", no_wrap=True)

    class TwoLines(parts.Progress):
        """A layout with the progress on the first line, and the current measurement with its levels on the second."""

        def get_renderables(self) -> Iterator[RenderableType]:
            yield from super().get_renderables()
            for task in self.tasks:
                yield DescriptionColumn("").render(task)

    class TimeLeftColumn(parts.TimeRemainingColumn):
        """A column with the remaining time, from known durations of the remaining trials, or the mean of past ones."""

        def render(self, task: Task) -> Text:
            end = task.fields.get("expected_end")
            if end is None:
                return super().render(task)
            remaining = dt.timedelta(seconds=round(max(0.0, end - time.monotonic())))
            return Text(str(remaining), style="progress.remaining")

    columns = (
        parts.MofNCompleteColumn(),
        parts.BarColumn(bar_width=None),
        parts.TimeElapsedColumn(),
        parts.TextColumn("left"),
        TimeLeftColumn(),
    )
    # No automatic refresh: while a workload runs, zlang must not use CPU.
    console = Console(stderr=True)
    # The mean of all trials so far, not of the last half minute, in which all trials may be of one kind.
    with TwoLines(
        *columns,
        console=console,
        auto_refresh=False,
        transient=True,
        expand=True,
        speed_estimate_period=math.inf,
    ) as progress:
        task = progress.add_task("", total=course.total, completed=course.done)
        # Include the first trial and its setups: rich starts to count only at the first report.
        progress.advance(task, 0)
        yield _Bar(progress, task)
