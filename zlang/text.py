"""Untrusted text, made safe to show."""

from __future__ import annotations

import re
from functools import lru_cache

LAYOUT = "\n\t"
"""Control characters that text of several lines needs."""
_UNSEEN = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
"""Fillers and selectors, which Python calls printable: Unicode's Default_Ignorable_Code_Point without category Cf."""
_VISIBLE_ASCII = bytes(range(ord(" "), 0x7F))


def is_visible(text: str, keep: str = "") -> bool:
    """Whether each character of a text is visible, a plain space, or one of those to `keep`."""
    if text.isascii():  # ten times as fast as `isprintable`
        return not text.encode().translate(None, _VISIBLE_ASCII + keep.encode())
    return text.translate(dict.fromkeys(map(ord, keep))).isprintable() and not re.search(_UNSEEN, text)


@lru_cache(maxsize=512)
def visible(text: str, keep: str = "") -> str:
    """Replace control, bidirectional and invisible characters, but those to `keep`, by their escapes.

    Such characters control terminals or hide the text beside them.
    """
    if is_visible(text, keep):
        return text
    return "".join(char if is_visible(char, keep) else char.encode("unicode_escape").decode() for char in text)


def visible_json(text: str) -> str:
    """Replace the same characters in a JSON document by JSON escapes, which keeps its meaning."""
    if is_visible(text):
        return text
    return "".join(char if is_visible(char) or char == "\n" else _json_escape(char) for char in text)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def utf8(text: str) -> bytes:
    """Encode a word for another process as UTF-8, whatever the locale; bytes of a path that are not text are kept."""
    return text.encode("utf-8", "surrogateescape")


def as_unicode(path: str) -> str:
    r"""Return a path as text that every format can hold: a byte that is not UTF-8 becomes an escape such as `\xff`."""
    return utf8(path).decode("utf-8", "backslashreplace")
