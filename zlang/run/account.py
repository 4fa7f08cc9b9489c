"""Decide which trials of a run count, and why others do not: the journal, plan and artefacts of a folder -> verdicts.

Rule: `run`, `resume`, `status`, `ingest` and reuse all use this module, so they agree. A trial counts only if the
journal has its complete attempt, its files are those that were committed, the plan is the one that was carried out, and
the judge accepts it as a measurement.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from zlang.errors import reason_of
from zlang.files import Place
from zlang.hints import Generic, TypeVar
from zlang.plan.plan import Action, Trial
from zlang.run import failure, hashes, outputs, run_state, seal
from zlang.run.events import Fail, TrialVerdict
from zlang.run.folder import Folder
from zlang.run.run_state import Attempt, RunState, Window

V = TypeVar("V", bound=TrialVerdict)

NOT_CARRIED_OUT = "it was not run"
PLAN_CHANGED = "the plan was changed after the run had begun"
FILES_CHANGED = "its output was changed after the measurement"
LOST = "the journal is damaged: an attempt of this trial is missing"

UNREAD = "the output of the tools cannot be read"
PERHAPS_UNREAD = (PLAN_CHANGED, FILES_CHANGED, UNREAD)
"""Reasons that may disappear when the files are read again, because a disk error or a limit may have caused them."""

_OUTSIDE = frozenset({"", ".", ".."})
"""Names that lead out of a directory, or back to it."""
_UNREADABLE = (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)


class Account(Generic[V]):
    """The account of a run folder: which of its trials count, and why others do not.

    With the `state` of an earlier account, the journal is read again only if it was written to since.
    """

    def __init__(
        self, folder: Folder, judge: Callable[[Trial, Place, Window | None], V], state: RunState | None = None
    ) -> None:
        self.folder = folder
        if state is None or state.version != run_state.version_of(folder.journal):
            state = run_state.read(folder.journal, seal.verifier(folder.path))
        self.state: RunState = state
        self._judge = judge

    @cached_property
    def is_plan_changed(self) -> bool:
        """Whether the plan is not the one with which a session began."""
        return not all(hashes.is_of_file(self.folder.plan, plan) for plan in self.state.plans)

    @property
    def damage(self) -> list[str]:
        """Damage to the folder as a whole, a sentence each."""
        facts = [f"the fact `{name}` was changed after it was recorded" for name in sorted(self.changed_facts)]
        return [*self.state.damage, *([PLAN_CHANGED] if self.is_plan_changed else []), *facts]

    @cached_property
    def doubt(self) -> str:
        """The reason why the results may have been changed; empty if this user's key signed the seal and all lines."""
        unsigned = self.state.unsigned
        if (why := seal.reason_not_own(self.folder.path)) or not unsigned:
            return why
        lines = "1 line of its journal was" if len(unsigned) == 1 else f"{len(unsigned):,} lines of its journal were"
        return f"{lines} not written by zlang as this user on this machine; the first is line {unsigned[0]:,}"

    @cached_property
    def changed_facts(self) -> set[str]:
        """The facts of the machine whose output does not match its hash in the journal."""
        at = self.folder.path / "facts"
        facts = self.state.facts.items()
        return {name for name, digest in facts if digest and not hashes.is_of_file(at / f"{name}.out", digest)}

    @property
    def leftovers(self) -> dict[str, str]:
        """Signature -> directory of each setup that may exist, even if only its output is known.

        The journal records each command before it begins, so a setup that it does not name is one that it has lost.
        """
        lost: dict[str, str] = {}
        for path in sorted(self.folder.path.glob("setups/*/a*/*.out")):
            attempt, signature = path.parent.name.removeprefix("a"), path.parent.parent.name
            if attempt.isdecimal() and int(attempt) > self.state.setup_attempts.get(signature, 0):
                lost[signature] = f"setups/{signature}/{path.parent.name}"
        return self.state.leftovers | lost

    def window(self, trial: Trial, attempt: Attempt) -> Window | None:
        """The time span in which an attempt was measured."""
        return self.state.window(attempt.out, (step.name for step in trial.steps if step.action is Action.MEASURE))

    def verdict(self, trial: Trial) -> tuple[V | None, str]:
        """The verdict on a trial (None without a measurement), and why it does not count (empty if it does)."""
        return self.verdict_with_output(trial)[:2]

    def verdict_with_output(self, trial: Trial) -> tuple[V | None, str, Place | None]:
        """The same verdict, and the files of the attempt, if they were read for it."""
        attempt = self.state.attempt(trial.place)
        if attempt is None:
            return None, NOT_CARRIED_OUT, None
        if attempt.unended:
            return None, attempt.unended, None
        why, output = self.examined(attempt)
        return (None, why, None) if why else (*self.judged(trial, attempt, output), output)

    def judged(self, trial: Trial, attempt: Attempt, output: Place | None = None) -> tuple[V | None, str]:
        """The same verdict for an attempt that has just ended, whose `output` may have been read for its hash."""
        if attempt.problem:
            return None, attempt.problem
        if attempt.failed is not None:
            return None, self._failure(trial, attempt.failed)
        try:
            if output is None:
                output = self.output(attempt)
            elif not attempt.is_packed:
                self.require_no_link(attempt.out)
            verdict = self._judge(trial, output, self.window(trial, attempt))
        except _UNREADABLE as error:
            return None, f"{UNREAD}: {reason_of(error)}"
        return verdict, "" if verdict.valid else verdict.why_not

    def examined(self, attempt: Attempt) -> tuple[str, Place | None]:
        """The reason not to trust the files of an attempt, whatever it measured; empty if they can be trusted.

        With it the files, if they were read for their hash.
        """
        if attempt.problem:
            return attempt.problem, None
        if self.is_plan_changed:
            return PLAN_CHANGED, None
        output = self._unchanged_output(attempt) if attempt.files else None
        if attempt.files and output is None:
            return FILES_CHANGED, None
        return LOST if self._has_unknown(attempt) else "", output

    def _has_unknown(self, attempt: Attempt) -> bool:
        """Whether a later attempt at the same trial left files, and the journal does not name that attempt."""
        place = attempt.place
        try:
            names = os.listdir(f"{self.folder.path}/{place}")  # noqa: PTH208 - runs for every trial: names are enough
            unknown = [name for name in names if f"{place}/{name}" not in self.state.outs]
            later = [
                self.folder.path / place / name for name in unknown if _number(name) > _number(Path(attempt.out).name)
            ]
            return any(path.is_dir() and any(path.iterdir()) for path in later)
        except OSError:
            return False

    def _unchanged_output(self, attempt: Attempt) -> Place | None:
        """The files of an attempt if they are those that were committed."""
        try:
            at = self.output(attempt) if attempt.is_packed else f"{self.folder.path}/{attempt.out}"
            digest, output = hashes.read_directory(at, hashes.method_of(attempt.files))
        except (OSError, ValueError):
            return None
        return output if digest == attempt.files else None

    def output(self, attempt: Attempt) -> Place:
        """The files of an attempt. Raises ValueError as `inside` does, and OSError if packed files cannot be read."""
        if attempt.is_packed:
            return outputs.read(self.folder.path, attempt.packed, attempt.out)
        return self.inside(attempt.out)

    def inside(self, out: str) -> Path:
        """The path of a directory that the journal names. Raises ValueError if it is or passes through a link."""
        self.require_no_link(out)
        return self.folder.path / out

    def require_no_link(self, out: str) -> None:
        """Raise ValueError if a directory that the journal names is or passes through a link."""
        names = out.split("/")
        if not _OUTSIDE.isdisjoint(names) or self._passes_link(names):
            raise ValueError(f"`{out}` is a link, or within one, and links are not followed")

    def _passes_link(self, names: Sequence[str]) -> bool:
        for place in accumulate(names, "{}/{}".format):
            try:
                status = os.lstat(f"{self.folder.path}/{place}")
            except OSError:  # nor is there anything below it
                return False
            if stat.S_ISLNK(status.st_mode):
                return True
        return False

    def _failure(self, trial: Trial, event: Fail) -> str:
        ran = self.state.step(event.out, event.step)
        took = ran.elapsed if ran else None
        rc = ran.end.rc if ran and ran.end else None
        try:
            return failure.why_of_trial(trial, self.inside(event.out), event.step, rc, took or 0.0)
        except ValueError as error:
            return f"{event.step}: {error}"


def _number(name: str) -> float:
    """The number of an attempt from the name of its directory, such as `a3`; infinite for any other name."""
    number = name.removeprefix("a")
    return int(number) if number.isdecimal() else float("inf")
