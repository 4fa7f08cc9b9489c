"""Check that the emitted script and the runner write the same journal for the same plan."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType

import pytest
from emit_plans import SHELLS, carry_out, events, full_plan, plan, setting, setup, step, trial

from zlang.plan.plan import Action, Plan, Setting, Setup
from zlang.readers.reading import Histogram
from zlang.run import folder, hashes, outputs, run_state, runner
from zlang.run.events import Commit, End, Recorded, Unmade
from zlang.run.executor import LocalExecutor
from zlang.run.folder import Folder
from zlang.run.runner import Selection


def state(signature: str, sync: str, block: str, command: str = ":") -> Setup:
    """Return one of the states of a pool: `sync` can be changed live, `block` requires a rewrite."""
    settings = [setting("sync", sync, command), setting("block", block, rewrites=True)]
    return setup(signature, "pool", base="b", settings=settings)


def state_of_one_command(signature: str, sync: str, block: str) -> Setup:
    """Return a state in which one command sets both properties."""
    settings = [
        Setting(
            name, (step(f"set-{name}", f": {sync} {block}", Action.PREPARE),), rewrites=name == "block", value=value
        )
        for name, value in (("sync", sync), ("block", block))
    ]
    return setup(signature, "pool", base="b", settings=settings)


PLANS = {
    "everything": full_plan(),
    "make fails": plan(
        setup("p", "pool"),
        setup("d", "data", "pool", make="exit 9"),
        *(trial(1, "pd"), trial(2, "p"), trial(3, "pd")),
    ),
    "unmake fails": plan(
        setup("p", "pool"),
        setup("d", "data", "pool", unmake="[ -e twice ] || { touch twice; exit 1; }"),
        setup("q", "pool"),
        *(trial(1, "pd"), trial(2, "q"), trial(3, "q"), trial(4, "pd", invalidates=["pool"]), trial(5, "p")),
    ),
    "never unmade": plan(setup("p", "pool"), setup("d", "data", "pool", unmake="exit 4"), trial(1, "pd")),
    "ends badly": plan(
        trial(1, steps=[step("slow", "sleep 60", timeout=1), step("tidy", action=Action.TIDY)]),
        trial(2, steps=[step("killed", "kill -9 $$")]),
        trial(3, steps=[step("m", "exit 3"), step("tidy", "exit 4", Action.TIDY)]),
        trial(4, steps=[step("c", "exit 5", Action.COLLECT), step("m", "sleep 0.2")]),
        trial(5, steps=[step("long", f": {'x' * 200_000}")]),
        trial(6, steps=[step("missing", "no-such-command")]),
        facts=[step("f", "exit 1", Action.FACT), step("g", ":", Action.FACT)],
    ),
    "altered": plan(
        *(state("p", "on", "8"), setup("d", "data", "pool"), setup("e", "more", "data"), trial(1, "pde")),
        *(state("q", "off", "8"), trial(2, "qde"), state("r", "off", "9"), trial(3, "rd"), trial(4, "pde")),
        *(setup("z", "pool"), trial(5, "zd"), trial(6, "q", invalidates=["pool"]), trial(7, "p")),
    ),
    "one command sets both": plan(
        *(state_of_one_command("p", "on", "8"), setup("d", "data", "pool"), trial(1, "pd")),
        *(state_of_one_command("q", "off", "8"), trial(2, "qd"), state_of_one_command("r", "on", "9"), trial(3, "rd")),
        *(state_of_one_command("s", "on", "8"), trial(4, "sd"), trial(5, "qd"), trial(6, "q"), trial(7, "rd")),
    ),
    "altering fails": plan(
        *(state("p", "on", "8"), setup("d", "data", "pool"), trial(1, "pd")),
        *(state("q", "off", "8", "[ -e once ] || { touch once; exit 7; }"), trial(2, "qd"), trial(3, "qd")),
        *(trial(4, "pd"), trial(5, "qd")),
    ),
    "spoiled": plan(
        setup("p", "pool"),
        setup("d", "data", "pool"),
        setup("e", "more", "data"),
        setup("o", "other"),
        *(trial(1, "pdeo", invalidates=["data", "other"]), trial(2, "p"), trial(3, "pde"), trial(4, "o")),
    ),
}


def comparable(event: Recorded) -> tuple[object, ...]:
    """Return what both journals must share: all but times, names, the notation of signals, and where files are."""
    assert event.up is not None
    own = {"t", "up", "apart", "run", "boot", "packed"}
    members = {name: value for name, value in asdict(event).items() if name not in own}
    if "files" in members:
        members["files"] = bool(members["files"])
    if isinstance(event, End) and event.rc < 0:
        members["rc"] = 128 - event.rc
    return (type(event).__name__, *members.values())


class Opinion:
    valid = True
    why_not = ""
    metrics: Mapping[str, float] = MappingProxyType({})
    latency: Sequence[Histogram] = ()
    ran: tuple[float, float] | None = None


def by_runner(at: Path, plan_to_run: Plan) -> list[tuple[object, ...]]:
    made = folder.create(at / "runs", "test", at)
    made.write_plan(plan_to_run)
    for _ in runner.run(plan_to_run, made, LocalExecutor(made.name, at), lambda *_: Opinion()):
        pass
    return [comparable(event) for event in events(made.path)]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", PLANS)
def test_runner_and_script_write_the_same_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shell: str
) -> None:
    monkeypatch.setattr(outputs, "FEWEST_TRIALS", 1)
    places = [tmp_path / "runner", tmp_path / "script"]
    for place in places:
        place.mkdir()
    carried_out = carry_out(places[1], PLANS[name], shell, code=None)
    assert [comparable(event) for event in events(carried_out)] == by_runner(places[0], PLANS[name])
    for event in events(carried_out):
        if isinstance(event, Commit):
            assert _has_hash(carried_out / event.out, event.files)


def _has_hash(directory: Path, digest: str) -> bool:
    return hashes.of_directory(directory, hashes.method_of(digest)) == digest


TOOLS = "sh dash cat cksum date dd find grep head ln mkdir mkfifo mv od printf rm sleep sort sync tail timeout tr"


@pytest.mark.parametrize(("shell", "method"), [*((name, "sha256") for name in SHELLS), ("dash", "cksum")])
def test_the_script_hashes_the_files_of_a_trial_as_the_runner_does(tmp_path: Path, shell: str, method: str) -> None:
    odd = r"""mkdir -p "$OUT/a b/c" "$OUT/.h"; cd "$OUT"
        printf x >"a b/c/*[é]"; printf y >.h/-n; : >"a b/$(printf 'n\nn')"
        : >'b\\s'; : >"$(printf 'r\rr')"; ln -s /etc/passwd link; mkfifo fifo; head -c 100000 /dev/urandom >big
        dd if=/dev/null of=too-long bs=1 seek=268435457 count=0"""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS.split():
        (tools / name).symlink_to(str(shutil.which(name)))
    path = os.environ["PATH"] if method == "sha256" else str(tools)
    run = carry_out(tmp_path, plan(trial(1, steps=[step("m", odd)])), shell, PATH=path)
    account = run_state.read(run / "journal.jsonl")
    attempt = account.ended["trials/t1/1"]
    assert attempt.files.startswith(f"{method}-")
    assert account.plans == {hashes.of_file(run / "plan.jsonl", method)}
    assert _has_hash(run / attempt.out, attempt.files)
    (run / attempt.out / "too-long").unlink()
    assert _has_hash(run / attempt.out, attempt.files)
    (run / attempt.out / "a b" / "c" / "*[é]").write_text("X")
    assert not _has_hash(run / attempt.out, attempt.files)


def test_runner_and_script_can_continue_each_others_run(tmp_path: Path) -> None:
    stuck = plan(setup("p", "pool", unmake="[ -e gone ]"), trial(1, "p"), trial(2, "p"))
    run = carry_out(tmp_path, stuck, code=1)
    (tmp_path / "gone").touch()
    made = Folder(run)
    for _ in runner.run(made.read_plan(), made, LocalExecutor(made.name, made.directory), lambda *_: Opinion()):
        pass
    assert [comparable(event)[0] for event in events(run)][-4:] == ["Start", "End", "Unmade", "Finish"]

    altered = tmp_path / "altered"
    altered.mkdir()
    setups = [replace(state(name, name, "8"), unmake=(step("unmake", "[ -e ../gone ]"),)) for name in "pq"]
    planned = plan(setups[0], setup("d", "data", "pool"), trial(1, "pd"), setups[1], trial(2, "qd"))
    (tmp_path / "gone").unlink()
    run = carry_out(altered, planned, code=1)
    assert [comparable(event)[0] for event in events(run)].count("Altered") == 1
    (tmp_path / "gone").touch()
    assert carry_out(altered, planned) == run
    gone = [(event.key, event.signature) for event in events(run) if isinstance(event, Unmade)]
    assert gone == [("data", "d"), ("pool", "q")]

    half = tmp_path / "half"
    half.mkdir()
    planned = plan(trial(1), trial(2))
    begun = folder.create(half / "runs", "test", half)
    begun.write_plan(planned)
    executor = LocalExecutor(begun.name, half)
    for _ in runner.run(planned, begun, executor, lambda *_: Opinion(), selection=Selection(only=2)):
        pass
    assert carry_out(half, planned) == begun.path
    assert [comparable(event)[1] for event in events(begun.path) if isinstance(event, Commit)] == ["t2", "t1"]
