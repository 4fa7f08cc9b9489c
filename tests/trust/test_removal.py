"""Check that runner, script and `clean` remove only a run's own resources, whatever others put in their place."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Zlang
from machine import permit_by_list

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting and files of other users need root")

PROGRAM = """
kind somebody: resource on dir {
  offers dir = "{on.dir}"
  create { sh "sh ./act {on.dir}" { why = "what somebody else does meanwhile" } }
  destroy { sh "true" }
}
dir here { path = "." }
corpus tree on here { files = 3  size = 4KiB }
somebody other on TARGET
shell work { command = "WORK" }
experiment one { on = other  run = work }
"""

ACTS = {
    "a mount in it": ("mkdir -- $1/data && mount --bind precious $1/data", "is mounted there"),
    "a mount with a blank": ("mkdir -- $1/'a b' && mount --bind precious $1/'a b'", "is mounted there"),
    "a mount with a backslash": (r"mkdir -- $1/'a\012b' && mount --bind precious $1/'a\012b'", r"there: /"),
    "a mount in a tree": ("mkdir -- $1/data && mount --bind precious $1/data", "is mounted there"),
    "a mount on it": ("mount --bind precious $1", "is not the directory that this run made"),
    "a file": ("cp precious/letter $1/notes", "since this run did not make it: ./notes (1 in all)"),
    "a hidden file": ("cp precious/letter $1/.notes", "since this run did not make it: ./.notes"),
    "a directory": ("cp -R precious $1/data", "since this run did not make it: ./data/letter"),
    "a file of another user": (
        "cp precious/letter $1/hers && chown 65534 $1/hers",
        "did not make it: ./hers (1 in all)",
    ),
    "a directory of another user": ("mkdir $1/hers && chown 65534 $1/hers", "did not make it: ./hers (1 in all)"),
    "a file of another user in a tree": (
        "for each in $(find $1 -type f); do chown 65534 $each; break; done",
        "(1 in all)",
    ),
    "a link in the place of a file": ("mv -- $1 away && ln -s precious $1", "is not the directory that this run made"),
    "a link in its place": ("mv -- $1 away && ln -s precious $1", "is not the directory that this run made"),
    "a directory in its place": ("mv -- $1 away && cp -R precious $1", "is not the directory that this run made"),
    "a file in its place": ("mv -- $1 away && cp precious/letter $1", "is not the directory that this run made"),
}
IN_A_TREE = {name for name in ACTS if name.endswith("tree")}
BY_A_COMMAND = {"a file of another user", "a directory of another user"}
"""Here a command of the user's ran in the directory, so that every name can be the run's."""


@pytest.fixture
def place(disk: Path) -> Iterator[Zlang]:
    zlang = Zlang(disk)
    (disk / "precious").mkdir()
    (disk / "precious" / "letter").write_text("dear")
    yield zlang
    _undo(disk)


def _undo(disk: Path) -> None:
    """Undo what others did, so that only the run's own resources exist."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        target = line.split()[4].replace("\\040", " ").replace("\\134", "\\")
        if target.startswith(f"{disk}/"):
            subprocess.run(["umount", target], check=True)
    if (disk / "away").exists():
        for made in disk.glob("zlang-*"):
            shutil.rmtree(made) if made.is_dir() and not made.is_symlink() else made.unlink()
            (disk / "away").rename(made)
    for path in disk.glob("zlang-*/**/*"):
        if path.name in {"notes", ".notes", "hers", "data", "a b", r"a\012b"} or path.stat().st_uid:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def program(act: str) -> str:
    target = "tree" if act in IN_A_TREE else "here"
    writes = "true" if act not in BY_A_COMMAND else "touch made"
    text = PROGRAM.replace("TARGET", target).replace("WORK", writes)
    if act.endswith("place of a file"):
        text = text.replace("corpus tree on here { files = 3  size = 4KiB }", "file letter on here { size = 4KiB }")
        text = text.replace("other on here", "other on letter")
    elif target == "here":
        text = text.replace("corpus tree on here { files = 3  size = 4KiB }\n", "")
    if act not in BY_A_COMMAND:
        text = text.replace('shell work { command = "true" }', "nothing work")
    return text


# The script runs the same commands; it differs only in how it keeps hold of the created directory.
BY_SCRIPT = [
    "a mount in it",
    "a file",
    "a file of another user",
    "a link in its place",
    "a link in the place of a file",
]


@pytest.mark.parametrize(("act", "by"), [*((act, "runner") for act in ACTS), *((act, "script") for act in BY_SCRIPT)])
def test_foreign_files_are_kept_and_named(place: Zlang, act: str, by: str) -> None:
    command, why = ACTS[act]
    (place.at / "act").write_text(f"{command}\n")
    name = place.program(program(act))
    if by == "runner":
        stderr = place("run", "-y", name, code=1).err
    else:
        script = place.at / "plan.sh"
        script.write_text(place("plan", "--emit", "sh", name).out)
        done = subprocess.run(["sh", script], cwd=place.at, capture_output=True, check=False, env=place.variables())
        assert done.returncode == 1
        stderr = done.stderr.decode()
    assert (place.at / "precious" / "letter").read_text() == "dear"
    assert why in stderr
    again = place("clean", "--trust", code=1)
    assert why in again.out
    assert (place.at / "precious" / "letter").read_text() == "dear"
    _undo(place.at)
    place("clean")
    assert list(place.at.glob("zlang-*")) == []
    assert (place.at / "precious" / "letter").read_text() == "dear"


OPEN = [
    (0, 0, 0o777, False),
    (0, 65534, 0o775, False),
    (0, 0, 0o775, True),
    (0, 0, 0o1777, True),
    (65534, 0, 0o755, False),
    (65534, 0, 0o1777, False),
]
"""Owner, group and mode of a directory above, and whether root measures in it."""


@pytest.mark.parametrize(("owner", "group", "mode", "is_taken"), OPEN)
def test_root_measures_only_in_directories_that_others_cannot_change(
    tmp_path: Path, owner: int, group: int, mode: int, is_taken: bool
) -> None:
    above = tmp_path / "above"
    (above / "place").mkdir(parents=True)
    os.chown(above, owner, group)
    above.chmod(mode)
    zlang = Zlang(tmp_path)
    program = """
    dir here { path = "above/place" }
    shell work { command = "true"  writes = off }
    experiment one { on = here  run = work }
    """
    why = f"another user can write to {above}, and replace what is in it"
    assert (why in zlang.run(program, code=0 if is_taken else 1).err) is not is_taken
    assert list((above / "place").iterdir()) == []


def _link_of_another(at: Path) -> None:
    (at / "link").symlink_to("place")
    os.chown(at / "link", 65534, 65534, follow_symlinks=False)


def _link_in_their_directory(at: Path) -> None:
    (at / "theirs").mkdir()
    (at / "theirs" / "link").symlink_to("../place")
    os.chown(at / "theirs", 65534, 65534)
    (at / "link").symlink_to("theirs/link")


def _link_within_an_access_list(at: Path) -> None:
    """Create a directory of root and root's group that an access list lets another user write to."""
    (at / "listed").mkdir()
    (at / "listed" / "link").symlink_to("../place")
    (at / "link").symlink_to("listed/link")
    if not permit_by_list(at / "listed", 65534):
        pytest.skip("this file system has no access lists")


@pytest.mark.parametrize("make", [_link_of_another, _link_in_their_directory, _link_within_an_access_list])
def test_root_measures_nowhere_behind_a_link_that_others_can_replace(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """Each command resolves the link again."""
    (tmp_path / "place").mkdir()
    make(tmp_path)
    zlang = Zlang(tmp_path)
    program = """
    param place: path = "link"
    dir here { path = place }
    shell work { command = "true"  writes = off }
    experiment one { on = here  run = work }
    """
    assert "root does not measure in link: another user can " in zlang.run(program, code=1).err
    assert list((tmp_path / "place").iterdir()) == []
    (tmp_path / "own").symlink_to("./place/../place")
    zlang("run", "program.zexp", "--set", 'place="own"')


def test_root_makes_nothing_in_a_directory_of_another_user_that_is_given(tmp_path: Path) -> None:
    """That user could replace a file with a link while it is written; existing files there can be read."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "old").write_bytes(bytes(4096))
    os.chown(there, 65534, 65534)
    zlang = Zlang(tmp_path)
    program = """
    import fio
    given dir there { path = "there" }
    file data on there { size = 1MiB }
    given file old on there { size = 4KiB }
    fio writes { rw = write  end_fsync = on }
    fio reads { rw = read  ioengine = psync }
    experiment writing { on = data  run = writes }
    experiment reading { on = old  run = reads }
    """
    err = zlang.run(program, "-e", "writing", code=1).err
    assert "root makes nothing in there: another user can write to " in err
    assert [item.name for item in there.iterdir()] == ["old"]
    zlang("run", "program.zexp", "-e", "reading")
    os.chown(there, 0, 0)
    zlang("run", "program.zexp", "-e", "writing", "--again")


def test_root_measures_in_a_directory_of_who_called_sudo(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    zlang = Zlang(tmp_path, {"SUDO_UID": "65534"})
    program = """
    dir here { path = "." }
    shell work { command = "true"  writes = off }
    experiment one { on = here  run = work }
    """
    zlang.run(program)
    zlang.environment["SUDO_UID"] = "nobody's"
    zlang("run", "program.zexp", "--again", code=1)


def test_links_to_paths_with_a_newline_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a\nb").mkdir()
    (tmp_path / "link").symlink_to("a\nb")
    zlang = Zlang(tmp_path)
    program = """
    dir here { path = "link" }
    shell work { command = "touch ../measured"  writes = off }
    experiment one { on = here  run = work }
    """
    assert r"/a\nb/zlang-one-" in zlang.run(program, code=1).err
    assert list((tmp_path / "link").iterdir()) == []


def test_a_script_is_not_carried_out_in_a_path_with_a_line_end(tmp_path: Path) -> None:
    zlang = Zlang(tmp_path)
    program = 'dir here { path = "." }\nshell work { command = "true" }\nexperiment one { on = here  run = work }'
    (tmp_path / "plan.sh").write_text(zlang("plan", zlang.program(program), "--emit", "sh").out)
    place = tmp_path / "a\nb"
    place.mkdir()
    for at, runs in ((place, "runs"), (tmp_path, f"{place}/runs")):
        ended = subprocess.run(["sh", tmp_path / "plan.sh", runs], cwd=at, capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        assert "has a newline" in ended.stderr
    assert list(place.iterdir()) == []
