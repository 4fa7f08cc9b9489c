"""Parts of hints: the names nearest to one that was not found, and words with their article."""

from __future__ import annotations

from collections.abc import Iterable

from zlang.hints import Self


def with_article(noun: str) -> str:
    """The noun with `a` or `an`; it may stand in backticks."""
    return f"{'an' if noun.strip('`')[:1] in 'aeiou' else 'a'} {noun}"


def quoted_list(words: Iterable[str]) -> str:
    """The words in backticks as a phrase, such as `a`, `b` and `c`."""
    *first, last = (f"`{word}`" for word in words)
    return f"{', '.join(first)} and {last}" if first else last


def nearest(word: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """At most `most` candidates that the user may have meant, the likeliest first."""
    import difflib

    by_lower_case = {c.lower(): c for c in candidates}
    matches = difflib.get_close_matches(word.lower(), by_lower_case, n=most, cutoff=0.65)
    if not matches and 1 < len(word) <= _SHORT:
        matches = [item for item in by_lower_case if _is_one_letter_off(word.lower(), item)][:most]
    best = max((_likeness(word, f) for f in matches), default=0.0)
    return [by_lower_case[f] for f in matches if _likeness(word, f) > best - _CLOSE]


_CLOSE = 0.08
"""Names less similar than the best by this much would only distract: for `iodpeth`, only `iodepth` is suggested."""


_SAFE = 0.75
"""The least similarity at which `--fix` replaces a word, if only one name is that similar."""


_SHORT = 3
"""In words this short, one wrong letter is too much for the ratio: `bz` is meant to be `bs`."""


def _is_one_letter_off(word: str, candidate: str) -> bool:
    pairs = list(zip(word, candidate, strict=False))
    return len(word) == len(candidate) and word[0] == candidate[0] and sum(a != b for a, b in pairs) == 1


def _likeness(word: str, candidate: str) -> float:
    import difflib

    return difflib.SequenceMatcher(None, candidate, word.lower()).ratio()


class Hint(str):
    """A hint that says what to type: one of `instead` in place of `word`, or `line` at the head of the program.

    `is_safe` says whether this can be applied without review, because only one thing can have been meant.
    """

    __slots__ = ("instead", "is_safe", "line", "word")

    word: str
    instead: tuple[str, ...]
    line: str
    is_safe: bool

    def __new__(cls, sentence: str, word: str = "", *instead: str, line: str = "", is_safe: bool = True) -> Self:
        """Make a hint from a sentence and the word to replace."""
        hint = super().__new__(cls, sentence)
        hint.word, hint.instead, hint.line, hint.is_safe = word, instead, line, is_safe and len(instead) < 2  # noqa: PLR2004
        return hint


def _without_digits(word: str) -> str:
    return word.lower().translate(dict.fromkeys(map(ord, "0123456789")))


def did_you_mean(word: str, candidates: Iterable[str]) -> Hint:
    """Return a hint with the nearest candidates; empty if none is near."""
    matches = nearest(word, candidates)
    if not matches:
        return Hint("")
    # `fletcher4` is not a typo for `fletcher2`: if only the digits differ, another thing is meant.
    is_other = any(_without_digits(word) == _without_digits(item) for item in matches)
    # One letter more or less changes a short word too much: `fs` is not a typo for `xfs`.
    is_other = is_other or any(len(word) <= _SHORT - 1 and len(item) != len(word) for item in matches)
    is_safe = len(matches) == 1 and _likeness(word, matches[0].lower()) >= _SAFE and not is_other
    return Hint("did you mean " + " or ".join(f"`{f}`" for f in matches) + "?", word, *matches, is_safe=is_safe)


def did_you_mean_part(word: str, candidates: Iterable[str]) -> str:
    """As `did_you_mean`; if no candidate is near, some whose names contain the word: `p99`, `below`."""
    names = list(candidates)
    within = [f"`{name}`" for name in names if f"_{_with_underscores(word)}_" in f"_{_with_underscores(name)}_"][:3]
    return did_you_mean(word, names) or (f"did you mean {' or '.join(within)}?" if within else "")


def _with_underscores(name: str) -> str:
    return name.lower().replace("-", "_")
