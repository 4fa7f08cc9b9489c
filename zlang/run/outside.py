"""Record external results in a run folder, as an attempt at each trial: in: the results; out: journal and artefacts.

Rule: existing attempts are never changed. An attempt that external results complete begins as a copy of the one that
was carried out, with the findings of its checks. In a new folder each trial has an attempt, so that results can follow
later.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import ExitStack

import orjson

from zlang.errors import RunError
from zlang.files import sync_directory
from zlang.plan.plan import Trial
from zlang.run import hashes, journal, run_state, seal
from zlang.run.events import Begin, Commit, Finish, Session
from zlang.run.folder import Folder

Artefacts = Mapping[str, Mapping[str, float]]
"""Metrics that were measured without zlang, by the place of their trial."""


def record(
    folder: Folder,
    trials: Iterable[Trial],
    artefacts: Artefacts,
    artefact: Callable[[Trial], str],
    clock: Callable[[], float] = time.time,
) -> list[Trial]:
    """Store external results, and return the trials with results that the run did not carry out.

    Raises RunError, before writing anything, if the run carried out none of them.
    """
    with folder.lock(), ExitStack() as stack:
        content = run_state.read(folder.journal)
        writer = stack.enter_context(journal.Writer(folder.journal, content.number, seal.signer(folder.run)))
        is_new = content.sessions == 0
        listed = [trial for trial in trials if is_new or trial.place in artefacts]
        attempts = ((trial, content.ended.get(trial.place)) for trial in ([] if is_new else listed))
        missing = [trial for trial, attempt in attempts if attempt is None or not attempt.is_committed]
        recorded = [trial for trial in listed if trial not in missing]
        if not recorded:
            message = f"trial {missing[0].number} was not run in {folder.name}"
            raise RunError(message, f"`zlang resume {folder.name}` continues the run")
        if is_new:
            writer.write(Session(clock(), folder.name, "", hashes.of_file(folder.plan)))
        for trial in recorded:
            before = content.ended.get(trial.place)
            out = _attempt(folder, trial, content.outs, before.out if before else None)
            writer.write(Begin(clock(), trial.identity, trial.replicate, trial.number, out))
            if trial.place in artefacts:
                (folder.path / out / artefact(trial)).write_bytes(orjson.dumps(dict(artefacts[trial.place])))
            sync_directory(folder.path / out)
            files = hashes.of_directory(folder.path / out)
            writer.write(Commit(clock(), trial.identity, trial.replicate, out, files))
        if is_new or content.is_finished:
            writer.write(Finish(clock()))
    return missing


def _attempt(folder: Folder, trial: Trial, outs: Container[str], before: str | None) -> str:
    number = 1
    while (out := f"{trial.place}/a{number}") in outs or (folder.path / out).exists():
        number += 1
    if before is None:
        (folder.path / out).mkdir(parents=True)
    else:
        shutil.copytree(folder.path / before, folder.path / out)
    return out
