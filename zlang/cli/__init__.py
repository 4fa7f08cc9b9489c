"""The command line.

A command makes some ten thousand objects that live until it ends. Python's default garbage collection takes a tenth of
the time of `zlang check` (bench/README.md), so it runs less often, and not at all at the end.
"""

import gc
import sys
from types import ModuleType

gc.set_threshold(100_000, 20, 20)


class _UrlParser(ModuleType):
    """`urllib.parse` for pathlib, which needs it for `Path.as_uri` only: it would take 2 ms to import."""

    @staticmethod
    def quote_from_bytes(path: bytes) -> str:
        """Quote the bytes of a path for a URL."""
        from urllib.parse import quote_from_bytes

        return quote_from_bytes(path)


if "pathlib" not in sys.modules and "urllib.parse" not in sys.modules:
    sys.modules["urllib.parse"] = _UrlParser("urllib.parse")
    try:
        import pathlib  # noqa: F401 - the modules of zlang import it again
    finally:
        del sys.modules["urllib.parse"]
