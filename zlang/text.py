"""Text from elsewhere, made fit to be shown."""

from __future__ import annotations

from functools import lru_cache

LAYOUT = "\n\t"
"""Control characters that text of several lines needs."""


@lru_cache(maxsize=512)
def visible(text: str, keep: str = "") -> str:
    """Replace control, bidirectional and invisible characters, but those to `keep`, by their escapes.

    They steer terminals, or hide what stands beside them.
    """
    printed = text
    for char in keep:
        printed = printed.replace(char, "")
    if printed.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else char.encode("unicode_escape").decode() for char in text
    )


def visible_json(text: str) -> str:
    """Replace the same characters in a JSON document by JSON escapes: its meaning does not change."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _json_escape(char) for char in text)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def utf8(text: str) -> bytes:
    """A word for another process, whatever the locale says; bytes of a path that are no text stay as they are."""
    return text.encode("utf-8", "surrogateescape")


def as_unicode(path: str) -> str:
    r"""A path as text that every format can hold: a byte that is not UTF-8 becomes `\xff`."""
    return utf8(path).decode("utf-8", "backslashreplace")
