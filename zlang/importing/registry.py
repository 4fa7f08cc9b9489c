"""The formats of other tools that can be imported, and which of them a text is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from zlang.importing import fio, job_file


class Importer(Protocol):
    """A function that turns the text of another tool into a program."""

    def __call__(
        self, text: str, name: str, variables: Mapping[str, str], keywords: Mapping[str, str], read: job_file.Read
    ) -> str:
        """The program for a text that came from a file of this name. Raises RunError."""


IMPORTERS: Mapping[str, Importer] = {"fio": fio.program}


def format_of(_text: str, _name: str) -> str:
    """The format that a text is in."""
    return next(iter(IMPORTERS))
