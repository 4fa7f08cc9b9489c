"""Provide handwritten plans, the shells in which scripts are tried, and readers of the resulting run folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from zlang.emit import shell
from zlang.plan.plan import Action, Header, Plan, Scalar, Setting, Setup, Step, Trial
from zlang.run import journal
from zlang.run.events import Altered, Begin, Commit, End, Fail, Made, Recorded, Start, Unmade

SHELLS: Mapping[str, tuple[str, ...]] = {
    "dash": ("dash",),
    "bash": ("bash", "--posix"),
    "busybox": ("busybox", "sh"),
}


def step(
    name: str, command: str = ":", action: Action = Action.MEASURE, timeout: int = 30, why: str = "a test"
) -> Step:
    return Step(name=name, action=action, command=command, why=why, timeout=timeout)


def setup(
    signature: str,
    key: str,
    parent: str | None = None,
    make: str = ":",
    unmake: str = ":",
    base: str | None = None,
    settings: Sequence[Setting] = (),
) -> Setup:
    return Setup(
        signature=signature,
        key=key,
        parent=parent,
        creates=f"the {key}",
        make=(step(f"make-{signature}", make, Action.PREPARE),),
        unmake=(step(f"unmake-{signature}", unmake, Action.TIDY),),
        base=base,
        settings=tuple(settings),
    )


def setting(name: str, value: str, command: str = ":", *, rewrites: bool = False) -> Setting:
    return Setting(name, (step(f"set-{name}", f"{command}; : {value}", Action.PREPARE),), rewrites, value)


def trial(
    number: int,
    setups: Sequence[str] = (),
    steps: Sequence[Step] = (),
    invalidates: Sequence[str] = (),
    factors: Mapping[str, Scalar] | None = None,
) -> Trial:
    return Trial(
        number=number,
        identity=f"t{number}",
        replicate=1,
        block=1,
        factors={"bs": 4096 * number} if factors is None else factors,
        cache="as_is",
        cache_state="as_is",
        setups=tuple(setups),
        invalidates=tuple(invalidates),
        steps=tuple(steps) or (step("measure"),),
    )


def plan(
    *items: Setup | Trial,
    facts: Sequence[Step] = (),
    title: str = "A test",
    sources: Mapping[str, str] | None = None,
    tools: Mapping[str, str] | None = None,
    name: str = "c0ffee",
) -> Plan:
    header = Header(
        experiment="Sweep it",
        title=title,
        plan=name,
        seed=1,
        points=1,
        repeat=1,
        trials=sum(isinstance(item, Trial) for item in items),
        factors=(),
        sources=sources or {},
        facts=tuple(facts),
        tools=tools or {},
    )
    return Plan(header, lambda: iter(items))


def full_plan() -> Plan:
    """Build a plan that uses every feature of plans."""
    protocol = (
        step("flush", 'sync "$OUT"', Action.FLUSH, why="nothing may be cached"),
        step("verify", "echo 0", Action.VERIFY, why="see that it is so"),
        step("vmstat", "exec sleep 100", Action.COLLECT, why="watch memory"),
        step("iostat", "sleep 100; :", Action.COLLECT, why="watch disks"),
        step("measure", "echo \"it's $RUN\"; printf '```\\n'", why="the point of it"),
        step("clean", 'rm -f "$OUT"/x', Action.TIDY, why="leave nothing behind"),
    )
    pool, data = setup("p1", "pool"), setup("d1", "data", "pool")
    other = setup("p2", "pool", base="p", settings=[setting("sync", "on"), setting("block", "8", rewrites=True)])
    altered = setup("p3", "pool", base="p", settings=[setting("sync", "on"), setting("block", "9", rewrites=True)])
    return plan(
        *(pool, data, trial(1, ["p1", "d1"], protocol)),
        trial(2, ["p1", "d1"], [step("breaks", "echo oops >&2; exit 3"), step("never")], invalidates=["data"]),
        trial(3, ["p1", "d1"], factors={"engine": "libaio", "direct": True, "ramp": None}),
        *(other, trial(4, ["p2"]), altered, trial(5, ["p3"])),
        facts=[step("uname", "uname -a", Action.FACT, why="which kernel")],
        sources={"dir/a.zexp": "it's\nEND_OF_PLAN\n", "a.zexp": "no newline"},
    )


def write(at: Path, plan: Plan) -> Path:
    script = at / "plan.sh"
    script.write_text("".join(shell.emit(plan)), "utf-8")
    return script


def carry_out(at: Path, plan: Plan, shell_name: str = "dash", *, code: int | None = 0, **more: str) -> Path:
    """Run the script of a plan in a directory, and return its run folder."""
    script = write(at, plan)
    done = subprocess.run(
        [*SHELLS[shell_name], script.name],
        cwd=at,
        env={**os.environ, **more},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert code is None or done.returncode == code, done.stderr.decode()
    return folder(at)


def begin(at: Path, plan: Plan, shell_name: str = "dash") -> subprocess.Popen[bytes]:
    """Start the script of a plan, to be stopped. No shell can trap a signal ignored before it started (nohup, `&`)."""
    script = write(at, plan)
    command = ["env", "--default-signal=HUP,INT,QUIT", *SHELLS[shell_name], script.name]
    return subprocess.Popen(command, cwd=at, stderr=subprocess.DEVNULL)


def folder(at: Path) -> Path:
    (path,) = (at / "runs").iterdir()
    return path


def events(run: Path) -> list[Recorded]:
    lines = journal.Lines(run / "journal.jsonl")
    recorded = [event for event in lines if not isinstance(event, journal.Gap)]
    assert (lines.torn, lines.number) == (0, len(recorded))
    return recorded


def words(recorded: Sequence[Recorded]) -> list[str]:
    """Summarize the events in short words: `+` created, `-` removed, `=` committed, `!` failed."""
    order = []
    for event in recorded:
        match event:
            case Made(signature=signature):
                order.append(f"+{signature}")
            case Altered(was=was, signature=signature):
                order.append(f"{was}>{signature}")
            case Unmade(signature=signature):
                order.append(f"-{signature}")
            case Commit(trial=name):
                order.append(f"={name}")
            case Fail(trial=name, step=at):
                order.append(f"!{name} {at}")
            case Start() | End() | Begin():
                pass
            case _:
                order.append(type(event).__name__.lower())
    return order
