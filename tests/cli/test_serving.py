"""Test `zlang lsp` as a person would start it from a shell."""

from __future__ import annotations

import io

import pytest
from _pytest.capture import CaptureFixture

from zlang.cli import serving
from zlang.lsp import server


class Terminal(io.StringIO):
    """A terminal without any input."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stdin", "is_noted"), [(Terminal(), True), (io.StringIO(), False)])
def test_the_language_server_explains_itself_on_a_terminal(
    stdin: io.StringIO, is_noted: bool, monkeypatch: pytest.MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr(server, "serve", lambda: None)
    serving.serve()
    assert capsys.readouterr().err.startswith("waiting for an editor") == is_noted
