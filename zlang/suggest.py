"""The nearest names to one that was not found."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """At most `most` candidates that the user may have meant, the likeliest first."""
    known = {c.lower(): c for c in candidates}
    found = difflib.get_close_matches(word.lower(), known, n=most, cutoff=0.6)
    best = max((_likeness(word, f) for f in found), default=0.0)
    return [known[f] for f in found if _likeness(word, f) > best - _CLOSE]


_CLOSE = 0.08
"""What is less like the word than the best by this much would only distract: `iodepth` stands alone for `iodpeth`."""


def _likeness(word: str, candidate: str) -> float:
    return difflib.SequenceMatcher(None, candidate, word.lower()).ratio()


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A hint, or nothing where no candidate is near."""
    found = nearest(word, candidates)
    return "did you mean " + " or ".join(f"`{f}`" for f in found) + "?" if found else ""
