"""The formats of other tools that can be imported, and which of them a text is in."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from zlang.importing import bench_fio, elbencho, fio, job_file, vdbench


class Importer(Protocol):
    """A module that turns the text of another tool into a program."""

    def is_recognised(self, text: str, name: str) -> bool:
        """Whether a text, which came from a file of this name, looks like this tool's."""

    def program(
        self, text: str, name: str, variables: Mapping[str, str], keywords: Mapping[str, str], read: job_file.Read
    ) -> str:
        """The program for a text that came from a file of this name. Raises RunError."""


IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {"bench-fio": bench_fio, "vdbench": vdbench, "elbencho": elbencho, "fio": fio}
)
"""The first that recognises a text imports it; fio's job files have no mark of their own."""


def format_of(text: str, name: str) -> str:
    """The format that a text is in."""
    return next(form for form, importer in IMPORTERS.items() if importer.is_recognised(text, name))
