"""The type of an emitter: a function from a `Plan` to pieces of text.

Rules: nothing is opened, started or asked for; pieces come as the items of the plan do, so that no plan is too long;
text of the user's is data in what is emitted, never syntax. What cannot be emitted is refused by a RunError.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from zlang.plan.plan import Plan, Scalar, Trial
from zlang.text import visible

NOT_DECIDED = (
    "`zlang run` decides during the run which trials are needed; this contains all {trials:,} that could be needed."
)
"""The note on a plan that may not need all of its trials."""


class Emitter(Protocol):
    """Gives the text of a plan in one format, piece by piece."""

    def __call__(self, plan: Plan, /) -> Iterator[str]:
        """Start the text again."""


def one_line(text: str) -> str:
    """Make text safe to stand in one line that people read: no line ends, no characters that hide or steer."""
    return visible(" ".join(text.split()))


def point(trial: Trial) -> str:
    """Name the point of a trial by its factors."""
    return one_line(", ".join(f"{name}={_level(level)}" for name, level in trial.factors.items()))


def _level(level: Scalar) -> str:
    match level:
        case None:
            return "-"
        case bool():
            return "true" if level else "false"
        case _:
            return str(level)
