"""The type of an emitter: a function from a `Plan` to pieces of text.

Rules: an emitter opens, starts and requests nothing; it yields pieces as it reads the items of the plan, so no plan is
too long; text from the user is data in the output, never syntax. A RunError refuses what cannot be emitted.
"""

from __future__ import annotations

from collections.abc import Iterator

from zlang.hints import Protocol
from zlang.plan.plan import Plan, Scalar, Trial
from zlang.text import visible

NOT_DECIDED = (
    "`zlang run` decides during the run which trials are needed; this contains all {trials:,} that could be needed."
)
"""The note on a plan that may not need all of its trials."""


class Emitter(Protocol):
    """Writes the text of a plan in one format, piece by piece."""

    def __call__(self, plan: Plan, /) -> Iterator[str]:
        """Yield the text from the start."""


def one_line(text: str) -> str:
    """Make text safe for a line that people read: no line breaks, no invisible or control characters."""
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
