"""The formats that can be imported, and the recognition of a text's format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from zlang.hints import Protocol
from zlang.importing import bench_fio, elbencho, fio, job_file, vdbench


class Importer(Protocol):
    """A module that turns the text of another tool into a program."""

    def is_recognised(self, text: str, name: str) -> bool:
        """Whether a text from a file of this name looks like one of this tool."""

    def program(
        self, text: str, name: str, variables: Mapping[str, str], keywords: Mapping[str, str], read: job_file.Read
    ) -> str:
        """Turn a text from a file of this name into a program. Raises RunError."""


IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {"bench-fio": bench_fio, "vdbench": vdbench, "elbencho": elbencho, "fio": fio}
)
"""The first that recognises a text imports it; fio's job files have no mark of their own."""


def format_of(text: str, name: str) -> str:
    """The name of a text's format."""
    return next(form for form, importer in IMPORTERS.items() if importer.is_recognised(text, name))
