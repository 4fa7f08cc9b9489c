"""Check that the pictures in README.md show the input and output of a real run."""

from __future__ import annotations

import html
import re

from tools import picture


def shown(svg: str) -> str:
    """Return the texts in a picture, without separators of words and lines."""
    return re.sub(r"\s", "", html.unescape("".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))))


def test_the_picture_shows_the_session_and_needs_no_network() -> None:
    svg = (picture.PICTURES / "session.svg").read_text("utf-8")
    session = picture.SESSION.read_text("utf-8")
    assert all(re.sub(r"\s", "", line) in shown(svg) for line in session.split("\n"))
    assert [line for line in session.split("\n") if line.startswith(picture.PROMPT)] == [
        picture.PROMPT + command for command in picture.COMMANDS
    ]


def test_every_picture_of_the_gallery_is_drawn_and_needs_no_network() -> None:
    drawn = {path for _, path in picture.plots()}
    assert len(drawn) == picture.GALLERY.read_text("utf-8").count("![") == len(picture.plots())
    assert drawn | {picture.PICTURES / "session.svg"} == set(picture.PICTURES.glob("*.svg"))
    assert not [path for path in picture.PICTURES.glob("*.svg") if "url(http" in path.read_text("utf-8")]


def test_the_picture_is_drawn_from_the_session() -> None:
    drawn = picture.picture(picture.SESSION.read_text("utf-8"))
    assert shown(drawn) == shown((picture.PICTURES / "session.svg").read_text("utf-8"))


def test_the_pictures_are_small() -> None:
    assert sum(path.stat().st_size for path in picture.PICTURES.iterdir()) < 400_000
