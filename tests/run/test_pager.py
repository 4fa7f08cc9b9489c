"""Check that long text is sent to the pager, and only as much of it as is read."""

from __future__ import annotations

import itertools

import pytest

from zlang.run import pager


def test_text_goes_to_the_pager_until_it_is_left(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGER", "head -n 2")
    assert pager.page(f"{number}\n" for number in itertools.count())
    assert capfd.readouterr().out == "0\n1\n"


@pytest.mark.parametrize("command", ["", "no-such-pager -x"])
def test_without_a_pager_nothing_is_taken(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("PAGER", command)
    pieces = iter(["one"])
    assert not pager.page(pieces)
    assert next(pieces) == "one"
