"""Check that run folders from others, or changed by hand, can be inspected but that nothing in them is executed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Zlang

from zlang.pipeline import runs
from zlang.run.folder import Folder

STUCK = """
kind litter: resource on dir {
  offers dir = "{on.dir}"
  create { sh "touch -- {on.dir}/made" }
  destroy { sh "test -e allow && rm -f -- {on.dir}/made" { why = "remove it" } }
}
dir here { path = "." }
litter some on here
shell waits { command = "true" }
experiment slow { on = some  run = waits }
"""


@pytest.fixture
def killed(tmp_path: Path) -> Zlang:
    """Create a run whose clean-up failed, so that something is left to remove."""
    zlang = Zlang(tmp_path)
    zlang("run", zlang.program(STUCK), code=1)
    assert list(tmp_path.glob("zlang-*/made"))
    (tmp_path / "allow").touch()
    return zlang


def inject(folder: Path, place: Path) -> Path:
    """Insert a command into a plan that was carried out."""
    proof = place / "executed"
    plan = folder / "plan.jsonl"
    text = plan.read_text()
    assert "test -e allow" in text
    plan.write_text(text.replace("test -e allow", f"touch {proof}; test -e allow"))
    return proof


@pytest.mark.parametrize(
    "words", [("clean",), ("clean", "--json"), ("resume",), ("resume", "--yes"), ("resume", "--failed")]
)
def test_a_command_put_into_a_plan_is_not_carried_out(killed: Zlang, words: tuple[str, ...]) -> None:
    proof = inject(killed.folder(), killed.at)
    refused = killed(*words, code=1)
    assert "was changed after it was sealed" in refused.err
    assert "--trust" in refused.err
    assert not proof.exists()
    assert list(killed.at.glob("zlang-*/made"))


def test_a_foreign_folder_is_executed_only_with_trust(killed: Zlang) -> None:
    proof = inject(killed.folder(), killed.at)
    killed.environment["XDG_STATE_HOME"] = str(killed.at / "other")
    assert "by another user or on another machine" in killed("clean", code=1).err
    killed("status")
    killed("status", killed.folder().name)
    killed("ingest")
    assert not proof.exists()
    killed("clean", "--trust")
    assert proof.exists()
    killed("clean")


def test_an_earlier_key_that_is_lost(killed: Zlang) -> None:
    shutil.rmtree(killed.at / "state", ignore_errors=True)
    killed.environment["XDG_STATE_HOME"] = str(killed.at / "new")
    killed("clean", code=1)
    killed("clean", "--trust")
    assert list(killed.at.glob("zlang-*")) == []


def test_a_run_without_a_seal_key_works_with_a_warning(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path, environment={"XDG_STATE_HOME": "/proc/none"})
    done = zlang("run", zlang.program(STUCK.replace("test -e allow && ", "")))
    assert "this run is not sealed" in done.err
    assert "set XDG_STATE_HOME" in done.err
    assert "no seal" in zlang("clean", code=1).err
    zlang("clean", "--trust")


def test_a_renamed_folder_can_be_cleaned(killed: Zlang) -> None:
    folder = killed.folder()
    folder.rename(folder.with_name("other"))
    cleaned = json.loads(killed("clean", "--json").out)
    assert cleaned["removed"][-1] == f"dir here (./zlang-{folder.name})"
    assert list(killed.at.glob("zlang-*")) == []


def test_a_renamed_run_is_resumed_and_shows_its_results(killed: Zlang) -> None:
    folder = killed.folder()
    other = Folder(folder.rename(folder.with_name("other")))
    assert runs.still_standing(other)[0] == f"dir here (./zlang-{folder.name})"
    resumed = killed("resume", "other")
    assert resumed.out.startswith("n   elapsed\n")
    assert "error" not in resumed.err


def test_a_run_whose_folder_is_renamed_meanwhile_is_resumed_by_its_new_name(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    place = tmp_path / "runs"
    renames = f'shell renames {{ command = "test -d {place}/other || mv {place}/slow-* {place}/other" }}'
    text = f'dir here {{ path = "." }}\n{renames}\nexperiment slow {{ on = here  run = renames  repeat = 2 }}\n'
    stopped = zlang("run", zlang.program(text), code=1)
    assert stopped.err.endswith("was renamed or deleted. To continue: zlang resume NAME, with its new name\n")
    assert "2 of 2 trials count" in zlang("resume", "other").out
    assert list(tmp_path.glob("zlang-*")) == []


def _lose_session(journal: bytes) -> bytes:
    return journal.replace(b'"event":"session"', b'"event":"sessiom"', 1)


def _lose_setups(journal: bytes) -> bytes:
    return b"".join(line for line in journal.splitlines(keepends=True) if b"setups/" not in line)


@pytest.mark.parametrize("lose", [_lose_session, _lose_setups, lambda _: b"", None])
def test_resources_lost_from_a_damaged_journal_are_removed(
    killed: Zlang, lose: Callable[[bytes], bytes] | None, tmp_path: Path
) -> None:
    journal = killed.folder() / "journal.jsonl"
    if lose is None:
        journal.unlink()
    else:
        journal.write_bytes(lose(journal.read_bytes()))
    cleaned = json.loads(killed("clean", "--json").out)
    assert len(cleaned["removed"]) >= 1
    assert list(tmp_path.glob("zlang-*")) == []


@pytest.mark.parametrize("way", ["fifo", "link"])
def test_replaced_output_files_are_not_read(killed: Zlang, way: str) -> None:
    (made,) = killed.folder().glob("setups/*/*/made")
    made.unlink()
    os.mkfifo(made) if way == "fifo" else made.symlink_to("/dev/zero")
    assert "is not a regular file" in killed("clean", code=1).err
    assert list(killed.at.glob("zlang-*/made"))


def test_results_of_a_changed_folder_are_not_taken_over(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    program = zlang.program(
        'dir here { path = "." }\nshell io { command = "true" }\nexperiment e { on = here  run = io }\n'
    )
    zlang("run", program)
    assert "have measured 1 trial (" in zlang("plan", program).out
    folder = zlang.folder()
    with (folder / "plan.jsonl").open("a") as plan:
        plan.write("\n")
    for command in ("plan", "run"):
        ended = zlang(command, program)
        assert f"results of {folder.name} are not used: its plan.jsonl" in ended.err
        assert "have measured" not in ended.out + ended.err
    assert len(list((tmp_path / "runs").iterdir())) == 2
