"""Phrases that several commands print: levels, counts, command lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from zlang.cli import standard_streams
from zlang.cli.defaults import RUNS
from zlang.cli.render import visible
from zlang.errors import UsageError
from zlang.hints import TYPE_CHECKING
from zlang.suggest import did_you_mean
from zlang.text import LAYOUT, is_visible

if TYPE_CHECKING:
    from pathlib import Path

    from zlang.pipeline.status import RunStatus
    from zlang.plan.estimate import PlanEstimate
    from zlang.plan.plan import Header
    from zlang.run.folder import Folder
    from zlang.run.run_state import RunState

_COLUMNS = 80
_NO_BREAK = "\N{NO-BREAK SPACE}"
_NAMED = 3
"""The number of earlier runs that are named."""


def counted(count: int, noun: str) -> str:
    """`1 run`, `2,000 runs`."""
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def folded(text: str, items: Iterable[str], columns: int = _COLUMNS, indent: str = "  ") -> str:
    """A text and a list, on lines that break within the text or between items, but not within an item."""
    import textwrap

    unbroken = text + ", ".join(item.replace(" ", _NO_BREAK) for item in items)
    lines = textwrap.wrap(unbroken, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(_NO_BREAK, " ")


def shell(text: str) -> str:
    """Quote a word for a shell; control characters are escaped as bash, zsh and POSIX 2024 read them."""
    if is_visible(text):
        from zlang.check.values import quote

        return quote(text)
    spelled = (char if is_visible(char) else _octal(char) for char in text.replace("\\", "\\\\").replace("'", "\\'"))
    return "$'" + "".join(spelled) + "'"


def _octal(char: str) -> str:
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(char))


def file(name: str) -> str:
    """Quote a file name for a shell, even if it looks like an option."""
    return shell(f"./{name}" if name.startswith("-") else name)


def named(folder: Path) -> str:
    """The argument by which `status` and `resume` find a run: its name if it is in ./runs, else its path."""
    return folder.name if folder.parent == RUNS.absolute() else str(folder)


def program(
    name: str,
    settings: Iterable[str] | None,
    profile: str | None,
    experiment: str | None,
    seed: int | None,
    host: str | None = None,
    order: str | None = None,
    *,
    runs: Path = RUNS,
    again: bool = False,
    reach: Iterable[str] = (),
) -> str:
    """A program with all its options, as the user can type them again."""
    parts = [file(name), *(f"--set {shell(setting)}" for setting in settings or ())]
    parts += [f"--profile {shell(profile)}"] if profile is not None else []
    parts += [f"--experiment {shell(experiment)}"] if experiment is not None else []
    parts += [f"--seed {seed}"] if seed is not None else []
    parts += [f"--host {host}"] if host is not None else []
    parts += [f"--order {order}"] if order is not None else []
    parts += [f"--runs {file(str(runs))}"] if runs != RUNS else []
    parts += ["--again"] if again else []
    parts += [f"--reach {shell(each)}" for each in reach]
    return " ".join(parts)


def measured(by_run: Mapping[str, int], trials: int) -> str:
    """A phrase that says how many trials earlier runs have measured, and which runs."""
    count = sum(by_run.values())
    largest = sorted(by_run.items(), key=lambda pair: -pair[1])[:_NAMED]
    named = ", ".join(f"{count:,} in {run}" for run, count in largest)
    more = f" and {len(by_run) - _NAMED} other runs" if len(by_run) > _NAMED else ""
    some = counted(trials, "trial")
    if count != trials:
        some = f"{count:,} of {some}"
    elif trials > 1:
        some = f"all {some}"
    return f"earlier runs have measured {some} ({named}{more}); --again measures again"


def refuse(folder: Folder, why: str) -> None:
    """Report that the results of a folder are not used."""
    print(f"note: results of {folder.name} are not used: {visible(why)}", file=sys.stderr)


def form_of_rows(given: str, *more: str) -> None:
    """Raise a usage error if rows cannot be printed in a format."""
    from zlang.report.formats import FORMATS

    one_of("--format", given, ("table", *FORMATS, *more))


def one_of(option: str, given: str, names: Iterable[str]) -> None:
    """Raise a usage error if a word is not one of `names`."""
    listed = list(names)
    if given not in listed:
        hint = did_you_mean(given, listed) or "use " + " or ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
        raise UsageError(f"`{given}`: {hint}", option=option)


def ordered(given: str | None) -> None:
    """Raise a usage error if there is no such order of trials."""
    if given is not None:
        from zlang.plan.order import Order

        one_of("--order", given, list(Order))


def set_up_once(factors: Sequence[str], limits: Sequence[str], repeat: int, *, has_fix: bool) -> str:
    """A note about factors and expectations that a plan cannot judge, with the option that helps."""
    if not has_fix:
        cure = "use `repeat = 3` and `--order blocked`" if repeat == 1 else "no order sets them up more than once"
    else:
        cure = f"`--order blocked` sets everything up {repeat} times"
    named = " and ".join(f"`{visible(name)}`" for name in factors)
    expected = " and ".join(f"`expect {visible(text)}`" for text in limits)
    inconclusive = [f"comparisons of levels of {named}"] * bool(factors) + [expected] * bool(limits)
    subject = "each level" if factors else "everything"
    return f"{' and '.join(inconclusive)} will be inconclusive, because {subject} is set up only once; {cure}"


def confounded_with_order(factors: Sequence[str], repeat: int, *, are_set_up: bool) -> str:
    """A note about factors that are confounded with the run order, with the options that avoid it."""
    named = " and ".join(f"`{visible(name)}`" for name in factors)
    are, their = ("is", "its") if len(factors) == 1 else ("are", "their")
    confounded = f"{named} {are} confounded with run order: drift would look like {their} effect"
    if are_set_up and repeat == 1:
        return f"{confounded}; use `repeat = 3` and `--order blocked`"
    return f"{confounded}; `--order {'blocked' if are_set_up else 'planned'}` mixes the levels"


def unknown_time(estimate: PlanEstimate) -> str:
    """The parts of a run whose duration an estimate does not know."""
    setups = round(estimate.unknown_setup_seconds)
    trials = round(estimate.unknown_seconds) - setups
    parts = [f"to write the data of {counted(setups, 'resource')}"] if setups else []
    parts += [f"to run {counted(trials, 'trial')}"] if trials > 0 else []
    return f"the time {' and '.join(parts)}"


def unknown_writes(estimate: PlanEstimate) -> str:
    """The parts of a run of which an estimate does not know how much they write."""
    setups = round(estimate.unknown_setup_bytes)
    trials = round(estimate.unknown_bytes) - setups
    parts = [f"the data of {counted(setups, 'resource')}"] if setups else []
    parts += [f"what {counted(trials, 'trial')} {'writes' if trials == 1 else 'write'}"] if trials > 0 else []
    return " and ".join(parts)


def duration(seconds: float) -> str:
    """A duration in seconds as text for people."""
    if seconds < 100:  # noqa: PLR2004 - two digits are enough
        return f"{seconds:.{int(0.05 <= seconds < 0.95)}f} s"  # noqa: PLR2004 - one digit of less than a second
    minutes, remaining = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes:02} min" if hours else f"{minutes} min {remaining:02} s"


def over_budget(expected: float, budget: float, fitting: Iterable[tuple[str, float]]) -> tuple[str, str]:
    """The message that a run exceeds its budget, and its hint."""
    ways = [f"`{written}` takes {duration(seconds)}" for written, seconds in fitting]
    hint = "; ".join(ways) or "raise `budget`, or choose fewer levels"
    return f"the estimate is {duration(expected)}, and `budget` is {duration(budget)}", hint


def difference(name: str, old: str, new: str, how: str) -> Iterator[str]:
    """The changes of a file as a diff, which patch(1) accepts unless it has escaped invisible characters."""
    name = visible(name)
    import difflib

    for exact in difflib.unified_diff(_lines(old), _lines(new), name, f"{name} ({how})"):
        line = visible(exact, LAYOUT)
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    *ended, remaining = text.split("\n")
    return [f"{line}\n" for line in ended] + ([remaining] if remaining else [])


def write(text: str) -> None:
    """Write a program or its changes to standard output, in UTF-8 whatever the locale."""
    standard_streams.use_utf8()
    sys.stdout.write(text)


def counts(state: RunState | RunStatus, header: Header | RunStatus) -> str:
    """The numbers of done and of all trials, in words."""
    done = state.carried_out
    if not header.is_sequential:
        return f"{done:,} of {header.trials:,} trials"
    of = f"all {done:,}" if state.is_finished else f"{done:,} of at most {header.at_most:,}"
    return f"{of} needed trials"


def stage(state: RunState | RunStatus, trials: int) -> str:
    """The progress of a run."""
    if state.is_finished:
        return "finished"
    if state.sessions == 0:
        return "not begun"
    return "not finished" if state.done < trials else "done, but resources are left to remove"
