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


class _DecimalType(type):
    """The type of `Decimal` in `fractions`, which only asks whether a number is one: `decimal` takes 1 ms to import."""

    def __instancecheck__(cls, number: object) -> bool:
        """Whether the number is a `Decimal` of `decimal`, if anything has imported that."""
        decimal = sys.modules.get("decimal")
        return decimal is not None and isinstance(number, decimal.Decimal)


class _Decimals(ModuleType):
    """`decimal` for `fractions`."""

    Decimal = _DecimalType("Decimal", (), {})


def _import_with(stand_in: ModuleType, module: str) -> None:
    """Import a module that finds the stand-in in the place of the module of that name."""
    if module not in sys.modules and stand_in.__name__ not in sys.modules:
        sys.modules[stand_in.__name__] = stand_in
        try:
            __import__(module)
        finally:
            del sys.modules[stand_in.__name__]


def import_fractions() -> None:
    """Import `fractions`, which every command with a file or results needs, without `decimal`."""
    _import_with(_Decimals("decimal"), "fractions")


_import_with(_UrlParser("urllib.parse"), "pathlib")
