"""`zlang lsp`: the language server."""

from __future__ import annotations

import sys

from zlang.errors import RunError


def serve() -> None:
    """Serve an editor until it ends. Raises RunError if the library for that is not installed."""
    try:
        from zlang.lsp import server
    except ModuleNotFoundError:
        raise RunError("the language server is not installed", "pip install 'zlang[lsp]'") from None
    if sys.stdin.isatty():
        print("waiting for an editor on standard input (docs/editors.md); Ctrl-C ends the server", file=sys.stderr)
    server.serve()
