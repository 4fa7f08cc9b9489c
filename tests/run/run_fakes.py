"""Provide fake plans, an executor, a judge and a clock for tests of the runner."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zlang.errors import RunError
from zlang.files import Place
from zlang.plan.plan import Action, Header, Plan, Setup, Step, Trial
from zlang.readers.reading import Histogram
from zlang.run import folder, runner
from zlang.run.events import Event, Outcome
from zlang.run.executor import Handle, LocalExecutor
from zlang.run.folder import Folder
from zlang.run.runner import Selection

NOT_DONE = Selection()
ROOT = Path(__file__).resolve().parents[2]


def step(name: str, action: Action = Action.MEASURE, command: str = ":", timeout: int = 30) -> Step:
    return Step(name=name, action=action, command=command, why="a test", timeout=timeout)


def setup(signature: str, key: str, parent: str | None = None, make: str = ":", unmake: str = ":") -> Setup:
    return Setup(
        signature=signature,
        key=key,
        parent=parent,
        creates=key,
        make=(step(f"make-{signature}", Action.PREPARE, make),),
        unmake=(step(f"unmake-{signature}", Action.TIDY, unmake),),
    )


def trial(
    number: int, setups: Sequence[str] = (), steps: Sequence[Step] = (), invalidates: Sequence[str] = ()
) -> Trial:
    return Trial(
        number=number,
        identity=f"t{number}",
        replicate=1,
        block=1,
        factors={"bs": 4096 * number},
        cache="as_is",
        cache_state="as_is",
        setups=tuple(setups),
        invalidates=tuple(invalidates),
        steps=tuple(steps) or (step("measure"),),
    )


def plan(
    *items: Setup | Trial, facts: Sequence[Step] = (), machines: Sequence[str] = (), groups: Mapping[str, str] = {}
) -> Plan:
    header = Header(
        experiment="test",
        title="A test",
        plan="0",
        seed=1,
        points=1,
        repeat=1,
        trials=sum(isinstance(item, Trial) for item in items),
        factors=(),
        sources={},
        facts=tuple(facts),
        tools={},
        machines={name: {} for name in machines},
        groups=groups,
    )
    return Plan(header, lambda: iter(items))


def new_folder(at: Path, plan: Plan) -> Folder:
    made = folder.create(at / "runs", "test", at)
    made.write_plan(plan)
    return made


@dataclass(frozen=True, slots=True)
class Opinion:
    valid: bool = True
    why_not: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    latency: Sequence[Histogram] = ()
    ran: tuple[float, float] | None = None


def approve(_trial: Trial, _out: Place, _window: tuple[float, float] | None) -> Opinion:
    return Opinion()


def ticking() -> Callable[[], float]:
    ticks = itertools.count(1000.0)
    return lambda: next(ticks)


class Signals:
    """Source of the signals that a user would send."""

    def request(self, number: int) -> None:
        os.kill(os.getpid(), number)


@dataclass
class FakeExecutor:
    """Recorder of the order of steps; `codes` sets exit codes, `during` sets actions that happen meanwhile."""

    codes: dict[str, int] = field(default_factory=dict)
    during: dict[str, Callable[[Signals], None]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    discarded: list[str] = field(default_factory=list)
    """The steps whose output is not kept."""
    seconds_there: float = 0.0
    """What each step takes by the clock of its machine."""
    forgotten: int = 0
    """How often the run's folders on machines were removed."""

    def start(self, step: Step, out: Path, *, keep: bool = True) -> Handle:
        assert not keep or out.is_dir()
        if step.action is Action.COLLECT:
            self.order.append(f"{step.name} &")
            return FakeHandle(step.name, self)
        self.order.append(step.name)
        if step.name in self.during:
            self.during[step.name](Signals())
        self.discarded += [] if keep else [step.name]
        if step.action is Action.FACT:
            (out / f"{step.name}.out").touch()
        return FakeHandle(step.name, self)

    def start_together(self, steps: Sequence[Step], out: Path, codes: dict[str, int]) -> Handle:
        handles = [self.start(step, out) for step in steps]
        codes.update({step.name: self.codes.get(step.name, 0) for step in steps})
        return handles[-1]

    def bring(
        self, out: Path, host: str = "", prefix: str = "", small: dict[str, bytes] | None = None
    ) -> Handle | None:
        pass

    def hold(self, host: str, out: Path) -> bool:
        return False

    def release(self, host: str, out: Path) -> None:
        raise AssertionError("nothing is held")

    def ahead(self, host: str) -> float:
        return 0.0

    def took(self, host: str) -> float:
        return self.seconds_there

    def lost(self, host: str) -> RunError | None:
        return None

    def stop_waiting(self) -> None:
        return

    def sweep(self) -> int:
        return 0

    def forget(self) -> None:
        self.forgotten += 1


@dataclass(frozen=True)
class FakeHandle:
    """A step that has ended, unless it is in the background."""

    name: str
    executor: FakeExecutor
    descriptor: int = field(default_factory=lambda: os.eventfd(1))
    deadline: float = math.inf

    def fileno(self) -> int:
        return self.descriptor

    def finish(self) -> int:
        os.close(self.descriptor)
        return self.executor.codes.get(self.name, 0)

    def ask_to_stop(self) -> bool:
        return False

    def stop(self) -> int:
        self.executor.order.append(f"stop {self.name}")
        return -signal.SIGTERM

    def kill(self) -> None:
        self.executor.order.append(f"kill {self.name}")


def fake_run(
    folder: Folder, executor: FakeExecutor, selection: Selection = NOT_DONE, judge: runner.Judge = approve
) -> Generator[Event, None, None]:
    return runner.run(folder.read_plan(), folder, executor, judge, clocks=(ticking(), ticking()), selection=selection)


def real_run(folder: Folder, selection: Selection = NOT_DONE) -> list[Outcome]:
    executor = LocalExecutor(folder.name, folder.directory)
    events = runner.run(folder.read_plan(), folder, executor, approve, selection=selection)
    return [event for event in events if isinstance(event, Outcome)]


def background_run(folder: Folder) -> subprocess.Popen[bytes]:
    """Carry out a run in a separate process, which can be killed."""
    return subprocess.Popen(
        [sys.executable, __file__, str(folder.path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
    )


def _main() -> int:
    # Does what the CLI would do.
    from zlang.run.stop import Interrupted

    where = folder.find(Path(), sys.argv[1])
    try:
        real_run(where)
    except Interrupted as stopped:
        return stopped.exit_code
    except RunError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
