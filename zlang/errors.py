"""Errors of the world (no fio, a full disk, a database of another version), as against errors of the program."""

from __future__ import annotations


class ReportedError(Exception):
    """The errors of a program end a command; they have been printed."""


class RunError(Exception):
    """Something outside the program stopped the work: one sentence, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
