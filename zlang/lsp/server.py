"""The language server on standard input and output.

Rule: requests are answered from the current text. Slow work (checking the whole program) waits for a pause in typing,
and gives the same findings as `zlang check`. Only what an edit can change is checked again.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, PyglsError
from pygls.lsp.server import LanguageServer

from zlang import __version__
from zlang.lsp import acting, completing, hovering, resolving, signatures, structure
from zlang.lsp.documents import Analysis, Documents, ParsedText, path_of, uri_of
from zlang.lsp.symbols import FieldUse, NameUse

_PAUSE = 0.01
"""Seconds without a key after which a program is checked: what an editor asks for at a key is answered before."""
_WATCHED = "**/*.{zexp,csv,toml}"
_UNREADABLE = "zlang ignored a message that cannot be read as JSON-RPC 2.0"
_LEGEND = types.SemanticTokensLegend(list(structure.TOKENS), [])


class ProgramServer(LanguageServer):
    """The server with the programs that are open."""

    def __init__(self) -> None:
        super().__init__("zlang", __version__)
        self.documents = Documents()
        self.published: dict[str, set[str]] = {}
        self.waiting: dict[str, int] = {}
        self.one_at_a_time = asyncio.Lock()

    def report_server_error(self, error: Exception, source: type[PyglsError | JsonRpcException]) -> None:
        """Show the editor an error that occurred outside of a request."""
        if source is JsonRpcException:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, _UNREADABLE))
        else:
            super().report_server_error(error, source)

    def text(self, uri: str) -> ParsedText | None:
        """The text at an address."""
        return self.documents.text(path_of(uri))

    def take(self, uri: str) -> None:
        """Store the current text of the editor."""
        document = self.workspace.get_text_document(uri)
        self.documents.open(uri, document.source, document.version)

    async def check_soon(self, uri: str) -> None:
        """Check the programs that use a text after a pause in typing."""
        path = path_of(uri)
        self.waiting[path] = turn = self.waiting.get(path, 0) + 1
        await asyncio.sleep(_PAUSE)
        if self.waiting.get(path) == turn:
            await self.check_users(path)

    async def check_users(self, path: str) -> None:
        """Check the programs that use a file, in a separate thread, so the server can answer requests meanwhile."""
        async with self.one_at_a_time:
            for root in await asyncio.to_thread(self.documents.users, path):
                analysis = await asyncio.to_thread(self.documents.analysis, root)
                if analysis is not None and analysis is self.documents.known_analysis(root):
                    self.publish(root, analysis)
        capabilities = self.client_capabilities.workspace
        if capabilities and capabilities.code_lens and capabilities.code_lens.refresh_support:
            self.workspace_code_lens_refresh(None)
        if capabilities and capabilities.inlay_hint and capabilities.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def publish(self, root: str, analysis: Analysis) -> None:
        """Send the findings about a program, for each of its files."""
        by_file = acting.by_file(self.documents, analysis)
        for path in self.published.get(root, set()) - by_file.keys():
            self._send(path, [])
        self.published[root] = set(by_file)
        for path, findings in by_file.items():
            if path == root or path not in self.documents.paths:
                self._send(path, findings, analysis.root.version if path == root else None)

    def withdraw(self, root: str) -> None:
        """Withdraw the findings about a program that was closed."""
        for path in self.published.pop(root, set()):
            if path not in self.documents.paths:
                self._send(path, [])

    def _send(self, path: str, findings: list[types.Diagnostic], version: int | None = None) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri_of(path), findings, version))


def serve() -> None:
    """Serve until the editor ends."""
    for name in ("pygls.server", "pygls.protocol.json_rpc"):
        logging.getLogger(name).addFilter(_is_worth_a_line)
    # pygls closes its output, but standard output is used once more, at the end.
    with open(sys.stdout.fileno(), "wb", closefd=False) as output:
        server().start_io(stdout=output)


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Log an unreadable message in one line, without the tracebacks of the library."""
    if record.msg == "Unable to handle message":
        record.msg, record.exc_info = _UNREADABLE, None
    return not str(record.msg).startswith("Unable to deserialize message")


def server() -> ProgramServer:
    """Make the server with all its request handlers."""
    made = ProgramServer()
    _files(made)
    _texts(made)
    _edits(made)
    _help(made)
    _names(made)
    _shapes(made)
    return made


def _files(server: ProgramServer) -> None:
    @server.feature(types.INITIALIZED)
    async def initialized(ls: ProgramServer, _: types.InitializedParams) -> None:
        ls.documents.folders = [path_of(folder) for folder in ls.workspace.folders]
        workspace = ls.client_capabilities.workspace
        if workspace and (watched := workspace.did_change_watched_files) and watched.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
            files = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await ls.client_register_capability_async(types.RegistrationParams([files]))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(ls: ProgramServer, _: types.DidChangeWorkspaceFoldersParams) -> None:
        ls.documents.folders = [path_of(folder) for folder in ls.workspace.folders]

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(ls: ProgramServer, params: types.DidChangeWatchedFilesParams) -> None:
        for change in params.changes:
            ls.documents.forget(path_of(change.uri))
            await ls.check_users(path_of(change.uri))


def _texts(server: ProgramServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: ProgramServer, params: types.DidOpenTextDocumentParams) -> None:
        ls.take(params.text_document.uri)
        await ls.check_users(path_of(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: ProgramServer, params: types.DidChangeTextDocumentParams) -> None:
        ls.take(params.text_document.uri)
        await ls.check_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: ProgramServer, params: types.DidSaveTextDocumentParams) -> None:
        ls.documents.forget(path_of(params.text_document.uri))
        await ls.check_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(ls: ProgramServer, params: types.DidCloseTextDocumentParams) -> None:
        ls.documents.close(params.text_document.uri)
        ls.withdraw(path_of(params.text_document.uri))
        await ls.check_users(path_of(params.text_document.uri))


def _edits(server: ProgramServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(ls: ProgramServer, params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        text = ls.text(params.text_document.uri)
        return acting.formatted(text) if text else []

    @server.feature(types.TEXT_DOCUMENT_RANGE_FORMATTING)
    def formatting_of_range(ls: ProgramServer, params: types.DocumentRangeFormattingParams) -> list[types.TextEdit]:
        text = ls.text(params.text_document.uri)
        return acting.formatted(text, params.range) if text else []

    @server.feature(types.TEXT_DOCUMENT_ON_TYPE_FORMATTING, types.DocumentOnTypeFormattingOptions("}"))
    def formatting_of_block(ls: ProgramServer, params: types.DocumentOnTypeFormattingParams) -> list[types.TextEdit]:
        text = ls.text(params.text_document.uri)
        return acting.formatted_entry(text, params.position) if text else []

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
    def code_actions(ls: ProgramServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        text = ls.text(params.text_document.uri)
        analysis = ls.documents.known_analysis(path_of(params.text_document.uri))
        return acting.actions(ls.documents, text, analysis, params.range) if text and analysis else []


def _help(server: ProgramServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(ls: ProgramServer, params: types.HoverParams) -> types.Hover | None:
        text = ls.text(params.text_document.uri)
        about = hovering.hover(ls.documents, text, text.lines.offset(params.position)) if text else None
        if text is None or about is None:
            return None
        documents = ls.client_capabilities.text_document
        formats = (documents and documents.hover and documents.hover.content_format) or ()
        content = types.MarkupContent(types.MarkupKind.Markdown, about[0])
        if types.MarkupKind.Markdown not in formats:
            lines = [line for line in about[0].splitlines() if not line.startswith("```")]
            content = types.MarkupContent(types.MarkupKind.PlainText, "\n".join(lines))
        return types.Hover(content, text.lines.of(about[1]))

    options = types.CompletionOptions(trigger_characters=[".", "=", "|", " "])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    def complete(ls: ProgramServer, params: types.CompletionParams) -> types.CompletionList:
        text = ls.text(params.text_document.uri)
        items = completing.complete(ls.documents, text, text.lines.offset(params.position)) if text else []
        documents = ls.client_capabilities.text_document
        completing.adapt(items, documents.completion if documents else None)
        return types.CompletionList(is_incomplete=True, items=items)

    @server.feature(types.TEXT_DOCUMENT_SIGNATURE_HELP, types.SignatureHelpOptions(["(", ","]))
    def signature(ls: ProgramServer, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
        text = ls.text(params.text_document.uri)
        return signatures.help_at(ls.documents, text, text.lines.offset(params.position)) if text else None


def _names(server: ProgramServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def define(ls: ProgramServer, params: types.DefinitionParams) -> types.Location | None:
        text = ls.text(params.text_document.uri)
        name = text.symbols.at(text.lines.offset(params.position)) if text else None
        if text is None or name is None:
            return None
        place = resolving.definition(ls.documents, text, name)
        if place is not None:
            return types.Location(uri_of(place.text.source.name), place.text.lines.of(place.definition.span))
        span = resolving.library_place(ls.documents, text, name) if isinstance(name, NameUse | FieldUse) else None
        if span is None:
            return None
        path = resolving.library_file(span.source) if span.source.name.startswith("stdlib/") else span.source.name
        return types.Location(uri_of(path), acting.range_of(ls.documents, span))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references(ls: ProgramServer, params: types.ReferenceParams) -> list[types.Location]:
        return [types.Location(uri_of(text.source.name), where) for text, where in _uses(ls, params)]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlights(ls: ProgramServer, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        path = path_of(params.text_document.uri)
        return [types.DocumentHighlight(where) for text, where in _uses(ls, params) if text.source.name == path]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(ls: ProgramServer, params: types.PrepareRenameParams) -> types.Range | None:
        text = ls.text(params.text_document.uri)
        name = text.symbols.at(text.lines.offset(params.position)) if text else None
        if text is None or name is None or resolving.definition(ls.documents, text, name) is None:
            return None
        return text.lines.of(name.span)

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    def rename(ls: ProgramServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
        place = _named_place(ls, params)
        problem = resolving.problem_of_name(ls.documents, place, params.new_name) if place else ""
        if problem:
            raise JsonRpcInvalidParams(problem)
        changes: dict[str, list[types.TextEdit]] = {}
        for text, where in _uses(ls, params):
            changes.setdefault(uri_of(text.source.name), []).append(types.TextEdit(where, params.new_name))
        return types.WorkspaceEdit(changes) if changes else None


def _named_place(
    ls: ProgramServer, params: types.ReferenceParams | types.DocumentHighlightParams | types.RenameParams
) -> resolving.NamedPlace | None:
    """The definition of the name at a place."""
    text = ls.text(params.text_document.uri)
    name = text.symbols.at(text.lines.offset(params.position)) if text else None
    return resolving.definition(ls.documents, text, name) if text and name else None


def _uses(
    ls: ProgramServer, params: types.ReferenceParams | types.DocumentHighlightParams | types.RenameParams
) -> list[tuple[ParsedText, types.Range]]:
    """The places that refer to the name at this place."""
    place = _named_place(ls, params)
    named = (
        {(of.source.name, span.start): (of, of.lines.of(span)) for of, span in resolving.uses(ls.documents, place)}
        if place
        else {}
    )
    return list(named.values())


def _shapes(server: ProgramServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(ls: ProgramServer, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        text = ls.text(params.text_document.uri)
        return structure.symbols(text) if text else []

    @server.feature(types.WORKSPACE_SYMBOL)
    def all_symbols(ls: ProgramServer, params: types.WorkspaceSymbolParams) -> list[types.WorkspaceSymbol]:
        paths = dict.fromkeys(path for root in (ls.documents.paths or [""]) for path in ls.documents.neighbours(root))
        texts = [text for text in map(ls.documents.text, paths) if text]
        return [
            types.WorkspaceSymbol(types.Location(uri_of(text.source.name), item.selection_range), item.name, item.kind)
            for text in texts
            for item in structure.symbols(text)
            if params.query.lower() in item.name.lower()
        ]

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folds(ls: ProgramServer, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        text = ls.text(params.text_document.uri)
        return structure.folds(text) if text else []

    @server.feature(types.TEXT_DOCUMENT_SELECTION_RANGE)
    def selections(ls: ProgramServer, params: types.SelectionRangeParams) -> list[types.SelectionRange]:
        text = ls.text(params.text_document.uri)
        return [structure.selection(text, text.lines.offset(place)) for place in params.positions] if text else []

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND)
    def colours(ls: ProgramServer, params: types.SemanticTokensParams) -> types.SemanticTokens:
        text = ls.text(params.text_document.uri)
        names = ls.documents.last_symbols(path_of(params.text_document.uri))
        return types.SemanticTokens(structure.tokens(text, names) if text and names else [])

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def hints(ls: ProgramServer, params: types.InlayHintParams) -> list[types.InlayHint]:
        text, path = ls.text(params.text_document.uri), path_of(params.text_document.uri)
        return structure.hints(text, ls.documents.last_analysis(path)) if text else []

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def lenses(ls: ProgramServer, params: types.CodeLensParams) -> list[types.CodeLens]:
        text, path = ls.text(params.text_document.uri), path_of(params.text_document.uri)
        return structure.lenses(text, ls.documents.last_analysis(path)) if text else []

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    def links(ls: ProgramServer, params: types.DocumentLinkParams) -> list[types.DocumentLink]:
        text = ls.text(params.text_document.uri)
        return structure.links(text) if text else []
