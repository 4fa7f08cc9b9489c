"""The directories of a run folder that a session writes to: a trial or setup -> the name of a new directory for it.

A directory is named as in the journal, by its path below the run folder. Rules: a directory is made for one attempt,
and one that exists is never used again; nothing is written through a link.
"""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from zlang.cache import Cache
from zlang.errors import RunError
from zlang.files import sync_directory
from zlang.plan.plan import Setup, Trial
from zlang.run.account import Account
from zlang.run.events import TrialVerdict

FACTS = "facts"
_LEAST_SPACE = 65_536
"""Bytes that have to be free in a run folder: enough for the output of a short step."""
_TRIALS = "trials/"


def is_of_trial(out: str) -> bool:
    """Whether a directory is of an attempt at a trial."""
    return out.startswith(_TRIALS)


def is_full(directory: Path) -> bool:
    """Whether the disk there is full, so that a failure says nothing about the trial."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(_LEAST_SPACE))
            file.flush()
    except OSError as error:
        return error.errno in {errno.ENOSPC, errno.EDQUOT}
    return False


@dataclass(slots=True)
class Directories:
    """Makes the directories of a run folder, and keeps their names on the disk."""

    account: Account[TrialVerdict]
    _lasting: Cache[str, bool] = field(default_factory=Cache)
    """Directories whose names this session knows to be on the disk."""
    _paths: Cache[str, Path] = field(default_factory=Cache)

    def path(self, out: str) -> Path:
        """The path of a directory."""
        path = self._paths.get(out)
        if path is None:
            path = self._paths[out] = self.account.folder.path / out
        return path

    def make_for_facts(self) -> str:
        """Make the directory of the facts about the machine, if it does not exist."""
        self._require_no_link(FACTS)
        self.path(FACTS).mkdir(exist_ok=True)
        return FACTS

    def make_for_trial(self, trial: Trial) -> str:
        """Make the directory of the next attempt at a trial. Until the attempt ends, only the journal has to last."""
        number = 1
        while (out := f"{trial.place}/a{number}") in self.account.state.outs or not self._is_made(out):
            number += 1
        return out

    def is_free(self, out: str) -> bool:
        """Whether a directory can be made for an attempt that the journal does not have."""
        self._require_no_link(out.rpartition("/")[0])
        return out not in self.account.state.outs and not os.path.lexists(self.path(out))

    def make_for_setup(self, setup: Setup) -> str:
        """Make the directory of the next attempt at a setup; an existing directory has output and is never reused.

        Leftovers in it show what belongs to the run, so its name and those above it are on the disk.
        """
        number = self.account.state.setup_attempts.get(setup.signature, 0) + 1
        place = f"setups/{setup.signature}"
        while not self._is_made(f"{place}/a{number}"):
            number += 1
        self.keep_names(f"{place}/a{number}")
        return f"{place}/a{number}"

    def restore(self, out: str) -> bool:
        """Make a directory that the journal names, if a loss of power took it; False if it is not in this folder."""
        with suppress(ValueError, FileExistsError, NotADirectoryError):
            self.account.inside(out).mkdir(parents=True, exist_ok=True)
            return True
        return False

    def make(self, out: str) -> bool:
        """Make a directory that may exist, and those above it but never the run folder; return whether it is new.

        Raises FileNotFoundError if the run folder was renamed: a second one of its name would look like the run.
        """
        is_new = False
        for place in accumulate(out.split("/"), "{}/{}".format):
            try:
                os.mkdir(f"{self.account.folder.path}/{place}")  # noqa: PTH102 - runs for every trial
                is_new = True
            except FileExistsError:
                is_new = False
        return is_new

    def keep_names(self, out: str) -> None:
        """Wait until the name of a directory, and those of all above it, are on the disk.

        An existing directory may be from a session that was killed before it waited for the disk.
        """
        for place in accumulate(out.split("/")[:-1], "{}/{}".format):
            if place not in self._lasting:
                sync_directory(self.path(place).parent)
                self._lasting[place] = True
        sync_directory(self.path(out).parent)

    def _is_made(self, out: str) -> bool:
        """Make a directory, and those above it; return False if something with that name exists."""
        self._require_no_link(out.rpartition("/")[0])
        return self.make(out)

    def _require_no_link(self, place: str) -> None:
        """Raise RunError if a directory of the folder is or passes through a link: nothing may be written elsewhere."""
        try:
            self.account.require_no_link(place)
        except ValueError as error:
            name = self.account.folder.name
            raise RunError(f"the folder {name} was changed: {error}", "delete the link") from error
