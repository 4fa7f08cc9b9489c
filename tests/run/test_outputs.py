"""Test the file that has the small outputs of trials."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from run_fakes import FakeExecutor, FakeHandle, Opinion, Signals, approve, fake_run, new_folder, plan, step, trial

from zlang.files import Packed, Place, open_regular, read_regular
from zlang.plan.plan import Step, Trial
from zlang.readers.reading import reason_unread, text_of
from zlang.run import hashes, outputs
from zlang.run.account import FILES_CHANGED, UNREAD, Account
from zlang.run.events import Outcome
from zlang.run.executor import Handle
from zlang.run.folder import Folder
from zlang.run.runner import Selection

OUT = "trials/t1/1/a1"
Judge = Callable[[Trial, Place, tuple[float, float] | None], Opinion]


@pytest.fixture(autouse=True)
def _no_plan_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "FEWEST_TRIALS", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Make the folder of a run of two trials, whose outputs were packed."""
    made = new_folder(tmp_path, plan(*(trial(n, steps=[step(f"m{n}")]) for n in (1, 2))))

    def write(n: int) -> None:
        (made.path / f"trials/t{n}/1/a1/m.out").write_text("5\n")

    list(fake_run(made, FakeExecutor(during={"m1": lambda _: write(1), "m2": lambda _: write(2)})))
    return made


def why_not(folder: Folder, number: int = 1, judge: Judge = approve) -> str:
    """Return why a trial does not count."""
    account = Account[Opinion](folder, judge)
    trials = [item for item in folder.read_plan().items() if isinstance(item, Trial)]
    return account.verdict(trials[number - 1])[1]


def test_small_texts_leave_no_directory(folder: Folder) -> None:
    assert not list((folder.path / "trials").iterdir())
    assert outputs.packed_in(folder.path) == {OUT, "trials/t2/1/a1"}
    assert folder.tried == {"t1", "t2"}
    assert [why_not(folder, number) for number in (1, 2)] == ["", ""]


@pytest.mark.parametrize(
    "leave",
    [
        lambda out: (out / "big").write_bytes(b"x" * 4097),
        lambda out: [(out / f"part{n}").write_bytes(b"x" * 100) for n in range(41)],
        lambda out: (out / "binary").write_bytes(b"\xff"),
        lambda out: (out / "odd name").write_text("1"),
        lambda out: (out / "stream1").mkdir(),
        lambda out: (out / "link").symlink_to("m.out"),
        lambda out: os.mkfifo(out / "pipe"),
        lambda out: (out / "fio_lat.1.log").write_text("0, 5, 0, 4096, 0\n"),
        lambda out: [(out / f"f{n}").touch() for n in range(65)],
    ],
)
def test_everything_else_stays_where_it_was_written(tmp_path: Path, leave: Callable[[Path], object]) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[step("m")])))

    def write(_: Signals) -> None:
        leave(folder.path / OUT)

    list(fake_run(folder, FakeExecutor(during={"m": write})))
    assert (folder.path / OUT).is_dir()
    assert not (folder.path / outputs.FILE).exists()
    assert why_not(folder) == ""


def test_the_output_of_failed_and_repeated_trials_stays(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[step("m")])))
    list(fake_run(folder, FakeExecutor(codes={"m": 1})))
    list(fake_run(folder, FakeExecutor(), Selection(failed=True)))
    assert sorted(path.name for path in (folder.path / "trials/t1/1").iterdir()) == ["a1", "a2"]


def test_small_plans_and_trials_that_do_not_count_keep_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = new_folder(tmp_path, plan(*(trial(n, steps=[step("m")]) for n in (1, 2))))
    list(fake_run(folder, FakeExecutor(), Selection(only=1), lambda *_: Opinion(valid=False, why_not="cache not cold")))
    assert (folder.path / OUT).is_dir()
    monkeypatch.setattr(outputs, "FEWEST_TRIALS", 3)
    list(fake_run(folder, FakeExecutor()))
    assert (folder.path / "trials/t2/1/a1").is_dir()
    assert outputs.packed_in(folder.path) == {OUT}


def test_files_stay_where_they_are_if_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_folder(tmp_path, plan(*(trial(n, steps=[step("m")]) for n in (1, 2, 3))))
    list(fake_run(folder, FakeExecutor(), Selection(only=1)))
    write, is_full = os.write, True

    def fill(file: int, data: bytes) -> int:
        if is_full and b"trials/t2" in data and data.startswith(b'{"out"'):
            return write(file, data[:1])
        if is_full and data.startswith(b'"out"'):
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", fill)
    list(fake_run(folder, FakeExecutor(), Selection(only=2)))
    is_full = False
    list(fake_run(folder, FakeExecutor()))
    assert (folder.path / "trials/t2/1/a1").is_dir()
    assert outputs.packed_in(folder.path) == {OUT, "trials/t3/1/a1"}
    assert [why_not(folder, number) for number in (1, 2, 3)] == ["", "", ""]


def test_an_attempt_has_a_new_number_even_if_nothing_is_left_of_the_last_one(folder: Folder) -> None:
    list(fake_run(folder, FakeExecutor(), Selection(only=1)))
    assert [path.name for path in (folder.path / "trials/t1/1").iterdir()] == ["a2"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.replace(b'"m.out":"', b'"m.out":"9', 1),
        lambda content: content.replace(b'"m.out"', b'"n.out"', 1),
        lambda content: content.replace(b"t1", b"t2", 1),
        lambda content: b"\n" + content,
        lambda content: content[:30],
        lambda _: b"",
        lambda _: b"[]\n",
        lambda _: b'{"out":"trials/t1/1/a1","files":{"m.out":1}}\n',
        lambda content: content.replace(b'"m.out"', b'"/etc/hostname":"","m.out"', 1),
        lambda content: content.replace(b'"m.out"', b'"../../../plan.jsonl":"","m.out"', 1),
        lambda content: content.replace(b'"m.out":', b'"m.out":"1","m.out":"9","n":', 1),
    ],
)
def test_changed_output_does_not_count(folder: Folder, damage: Callable[[bytes], bytes]) -> None:
    file = folder.path / outputs.FILE
    file.write_bytes(damage(file.read_bytes()))
    assert why_not(folder) == FILES_CHANGED


def test_a_file_that_is_none_is_not_read(folder: Folder, tmp_path: Path) -> None:
    file = folder.path / outputs.FILE
    file.rename(tmp_path / "moved")
    link: Callable[[], object] = lambda: file.symlink_to(tmp_path / "moved")  # noqa: E731
    for make in (lambda: None, lambda: os.mkfifo(file), link, file.mkdir):
        make()
        assert why_not(folder) == FILES_CHANGED
        assert folder.tried == set()
        if file.is_dir():
            file.rmdir()
        else:
            file.unlink(missing_ok=True)


def test_output_that_is_lost_while_it_is_read_is_reported(folder: Folder) -> None:
    def lose(_trial: Trial, _out: Place, _window: object) -> Opinion:
        raise OSError(5, "Input/output error")

    assert why_not(folder, judge=lose).startswith(UNREAD)


def test_a_torn_line_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / outputs.FILE).write_bytes(b'{"out":"trials/a/1')
    writer = outputs.Packer(tmp_path)
    places = [writer.append(out, {"m.out": b"1\n"}) for out in (OUT, "trials/t2/1/a1")]
    writer.close()
    assert [outputs.read(tmp_path, at, out).files for at, out in zip(places, (OUT, "trials/t2/1/a1"), strict=True)] == [
        {"m.out": b"1\n"}
    ] * 2
    assert outputs.packed_in(tmp_path) == {OUT, "trials/t2/1/a1"}


def test_a_line_is_on_the_disk_before_its_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[step("m")])))
    order: list[str] = []

    def note(place: object, name: str) -> None:
        done = getattr(place, name)

        def noted(*words: object, **options: object) -> object:
            order.append(name)
            return done(*words, **options)

        monkeypatch.setattr(place, name, noted)

    note(os, "fsync")
    note(outputs.Packer, "append")
    note(outputs, "remove")
    list(fake_run(folder, FakeExecutor()))
    begin = order.index("append")
    assert order[begin : order.index("remove") + 1] == ["append", "fsync", "fsync", "remove"]  # of the name, too


class Far(FakeExecutor):
    """Another machine, which sends small files."""

    def __init__(self, files: dict[str, bytes], code: int = 0) -> None:
        super().__init__(codes={"fetch": code})
        self.files = files

    def start(self, step: Step, out: Path, *, keep: bool = True) -> Handle:
        return FakeHandle(step.name, self)

    def bring(
        self, out: Path, host: str = "", prefix: str = "", small: dict[str, bytes] | None = None
    ) -> Handle | None:
        if small is not None:
            small.update(self.files)
        return FakeHandle("fetch", self)


def test_small_outputs_of_another_machine_are_never_files(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[replace(step("m"), host="c1")])))
    (outcome,) = (event for event in fake_run(folder, Far({"m.out": b"5\n"})) if isinstance(event, Outcome))
    assert not (folder.path / "trials").exists()
    assert text_of(outcome.out / "m.out") == "5\n"
    assert why_not(folder) == ""


@pytest.mark.parametrize(("name", "content"), [("m.out", b"\xff"), ("deep/m.out", b"5\n"), ("m.log", b"1, 2\n")])
def test_outputs_of_another_machine_that_cannot_be_packed_are_files(tmp_path: Path, name: str, content: bytes) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[replace(step("m"), host="c1")])))
    list(fake_run(folder, Far({name: content})))
    assert (folder.path / OUT / name).read_bytes() == content
    assert outputs.packed_in(folder.path) == frozenset()
    assert why_not(folder) == ""


def test_small_outputs_of_another_machine_stay_for_a_person_if_the_trial_does_not_count(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[replace(step("m"), host="c1")])))
    bad: Judge = lambda *_: Opinion(valid=False, why_not="not cold")  # noqa: E731
    list(fake_run(folder, Far({"m.out": b"5\n"}), Selection(), bad))
    assert (folder.path / OUT / "m.out").read_bytes() == b"5\n"


def test_an_attempt_whose_outputs_cannot_be_fetched_fails(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, plan(trial(1, steps=[replace(step("m"), host="c1")])))
    list(fake_run(folder, Far({}, code=125)))
    assert why_not(folder).startswith("fetch")


def test_packed_files_are_read_like_others(tmp_path: Path) -> None:
    files = {"m.out": "5\n", "é".encode().decode(): "", "m.err": "ü"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    packed = Packed({name: text.encode() for name, text in files.items()})
    assert hashes.of_directory(packed) == hashes.of_directory(tmp_path)
    for place in (tmp_path, packed):
        assert [text_of(place / name) for name in (*files, "none")] == [*files.values(), None]
        assert [(place / name).is_file() for name in ("m.out", "none")] == [True, False]
        assert reason_unread(place / "none") == "was not written"
        assert read_regular(place / "m.err", 9) == "ü".encode()
        with open_regular(place / "m.out") as file:
            assert file.readline() == b"5\n"
        assert text_of(place / str(tmp_path / "m.out")) == "5\n"
