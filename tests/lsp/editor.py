"""Provide an editor for tests: a client of the language server over its standard input and output.

It announces the capabilities of a real editor; anything that the server sends beyond those is an error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities

_PATIENCE = 120


class Editor:
    """One server, and the texts that are open in it."""

    def __init__(self, folder: Path, like: str = "visual-studio-code", *, takes_markdown: bool = True) -> None:
        self.folder = folder
        self.runner = asyncio.Runner()
        self.client = LanguageClient(converter_factory=default_converter)
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.findings: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(self._publish)
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(self._register)
        self.wait(self.client.start_io(sys.executable, "-m", "zlang.cli.app", "lsp"))
        capabilities = client_capabilities(like)
        if not takes_markdown and capabilities.text_document and capabilities.text_document.hover:
            capabilities.text_document.hover.content_format = [types.MarkupKind.PlainText]
        root = types.InitializeParams(capabilities, root_uri=folder.as_uri())
        self.capabilities = self.wait(self.client.initialize_session(root)).capabilities

    @property
    def _publish(self) -> Callable[[types.PublishDiagnosticsParams], None]:
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.findings.put_nowait(params)

        return published

    @property
    def _register(self) -> Callable[[types.RegistrationParams], None]:
        def registered(params: types.RegistrationParams) -> None:
            assert [each.method for each in params.registrations] == [types.WORKSPACE_DID_CHANGE_WATCHED_FILES]

        return registered

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Wait for the response to a request."""
        return self.runner.run(asyncio.wait_for(work, _PATIENCE))

    def close(self) -> None:
        """End the server."""
        self.wait(self.client.shutdown_session())
        self.wait(self.client.stop())  # type: ignore[no-untyped-call]
        self.runner.close()

    def uri(self, name: str) -> str:
        """Return the URI of a file in the folder."""
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> list[types.Diagnostic]:
        """Open a text, which need not be saved; return its diagnostics."""
        self.texts[name], self.versions[name] = text, 1
        item = types.TextDocumentItem(self.uri(name), "zexp", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return self.said_of(name)

    def change(self, name: str, start: int, end: int, text: str) -> None:
        """Replace some characters with a text."""
        before = self.texts[name]
        self.texts[name] = before[:start] + text + before[end:]
        self.versions[name] += 1
        where = types.Range(place(before, start), place(before, end))
        version = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        change = types.TextDocumentContentChangePartial(where, text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(version, [change]))

    def said_of(self, name: str) -> list[types.Diagnostic]:
        """Return the diagnostics of the current text."""
        wanted = self.uri(name), self.versions[name]

        async def next_one() -> list[types.Diagnostic]:
            while True:
                published = await self.findings.get()
                if (published.uri, published.version) == wanted:
                    return list(published.diagnostics)

        result: list[types.Diagnostic] = self.wait(next_one())
        return result

    def at(self, name: str, mark: str, after: int = 0) -> dict[str, Any]:
        """Return the position of the first mark in a text, as requests specify it."""
        offset = self.texts[name].index(mark) + after
        return {"text_document": self.document(name), "position": place(self.texts[name], offset)}

    def document(self, name: str) -> types.TextDocumentIdentifier:
        """Return the identifier of a text for requests."""
        return types.TextDocumentIdentifier(self.uri(name))


def place(text: str, offset: int) -> types.Position:
    """Return the position of a character, its column in UTF-16 code units."""
    lines = text[:offset].split("\n")
    return types.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)
