"""The executor of a plan of several machines: each step runs on its host, and its output is fetched.

All communication with machines is in one event loop in its own thread; the runner waits for descriptors, so a single
thread writes the journal. Rule: a lost machine fails the steps that it was running, and no others.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType

from zlang.check import values
from zlang.errors import RunError
from zlang.files import sync_tree
from zlang.hints import Any, Self, TypeVar
from zlang.plan.plan import CLOCKS, LOCAL, ROOT, Action, Step
from zlang.run import machine as here
from zlang.run.executor import LOST, NOT_STARTED, Handle, LocalExecutor
from zlang.run.transport.fetching import Liar
from zlang.run.transport.reach import Reach
from zlang.run.transport.ssh import DiskFull, Machine, MachineLost

T = TypeVar("T")
_LEAD, _LEAD_OF_EACH = 0.5, 0.01
"""Seconds from all machines being ready to the start, and more for each machine: telling sixteen takes 0.2."""
_SETTLED = 0.2
"""Seconds after the start without messages to the machines."""
_LONGEST_MEETING = 300
"""Seconds within which all machines have to become ready."""
_READY = 'until test -e "$OUT/gate/met"; do sleep 0.05; done'
_GRACE = 20.0
"""Seconds within which a machine has to report that a stopped step has ended."""


@dataclass(frozen=True, slots=True)
class Visit:
    """The state of a machine: why it cannot be used and what to do, its tools, its answers, and its clock.

    The `objections` say what does not suit its trials. The clock is `offset` seconds ahead of ours, give or take
    `error`.
    """

    host: str
    problem: str = ""
    hint: str = ""
    tools: Sequence[here.Tool] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    objections: Sequence[str] = ()
    offset: float = 0.0
    error: float = 0.0


class Machines:
    """The machines of a run, connected within a `with` block."""

    def __init__(
        self,
        reached: Iterable[Reach],
        run: str,
        folder: Path,
        local: LocalExecutor,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._folder, self._local = folder, local
        self._local_hosts = [reach.name for reach in reached if reach.is_local]
        self._here = {LOCAL, *self._local_hosts}
        self._machines = {reach.name: Machine(reach, run, variables) for reach in reached if not reach.is_local}
        self._loop = _Loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="machines", daemon=True)
        self._used: dict[str, set[str]] = {}
        """The machines that have output for a directory of the run."""
        self._owners: dict[str, str] = {}
        """The machine that should send a file or directory, or the one that measures, for a directory of the run."""
        self._fetched: dict[Path, str] = {}
        self._reasons: dict[Path, str] = {}
        """The reasons why steps failed, in the coordinator's words, by their `.err` files."""
        self._number = 0

    def __enter__(self) -> Self:
        """Start the event loop."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Disconnect from all machines, which end what they are still running, and stop the loop."""
        with suppress(Exception):
            self._call(self._close(), _GRACE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # Before the run

    def connect(self) -> list[MachineLost]:
        """Connect to every machine once, at the same time; return why some cannot be used. They are not tried again.

        Two names for the same machine cannot be used either.
        """
        return self._call(self._connect(), None)

    async def _connect(self) -> list[MachineLost]:
        machines = list(self._machines.values())
        results = await asyncio.gather(*(machine.connect() for machine in machines), return_exceptions=True)
        problems: list[MachineLost] = []
        boots = {here.boot(): self._local_hosts[0]} if self._local_hosts else dict[str, str]()
        for machine, result in zip(machines, results, strict=True):
            if isinstance(result, MachineLost):
                machine.given_up = result
                problems.append(result)
            elif isinstance(result, BaseException):
                raise result
            elif machine.boot != "-" and (other := boots.setdefault(machine.boot, machine.name)) != machine.name:
                message = f"`{other}` and `{machine.name}` are the same machine"
                problem = MachineLost(message, "each host of a program must be a different machine")
                for name in {other, machine.name} & self._machines.keys():
                    self._machines[name].given_up = problem
                problems.append(problem)
        return problems

    async def _close(self) -> None:
        await _all(machine.close() for machine in self._machines.values())

    def _call(self, work: Coroutine[Any, Any, T], seconds: float | None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def look(
        self,
        tools: Mapping[str, Mapping[str, str]],
        probes: Mapping[str, str],
        examinations: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> list[Visit]:
        """Examine every usable machine: its tools, and the output of probe commands and of its own `examinations`."""
        every = (self._look(host, wanted, probes, examinations.get(host, ())) for host, wanted in tools.items())
        return self._call(_all(every), None)

    async def _look(
        self, host: str, wanted: Mapping[str, str], probes: Mapping[str, str], examinations: Sequence[str]
    ) -> Visit:
        machine = self._machines.get(host)
        if machine is None:
            answers = {name: here.answer(command) for name, command in probes.items()}
            objections = list(filter(None, map(here.answer, examinations)))
            return Visit(host, tools=here.tools(wanted), answers=answers, objections=objections)
        if machine.given_up is not None:
            return Visit(host, machine.given_up.message, machine.given_up.hint)
        try:
            questions = [_questions(name) for name in sorted(wanted)]
            place = f"cd -P -- {values.quote(machine.reach.directory)} && "
            examining = [f"{place}{{\n{command}\n}}" for command in examinations]
            lines = iter(await machine.answers([*itertools.chain(*questions), *probes.values(), *examining]))
            tools = [_tool(machine.reach, name, wanted[name], next(lines), next(lines)) for name in sorted(wanted)]
            answers = dict(zip(probes, lines, strict=False))
            objections = list(filter(None, lines))
        except MachineLost as error:
            return Visit(host, error.message, error.hint)
        return Visit(
            host,
            tools=tools,
            answers=answers,
            objections=objections,
            offset=machine.offset,
            error=machine.round_trip / 2,
        )

    # The executor

    def start(self, step: Step, out: Path, *, keep: bool = True) -> Handle:
        """Start a step on its machine."""
        if step.action is Action.COLLECT or (step.action is Action.MEASURE and (out / CLOCKS).exists()):
            self._note_clock(step, out)
        if step.host in self._here:
            out.mkdir(parents=True, exist_ok=True)
            return self._local.start(replace(step, host=LOCAL), out, keep=keep)
        machine = self._machines.get(step.host)
        if machine is None:
            raise RunError(
                f"step {step.name} is for `{step.host}`, but no address is known for it", _HOW.format(step.host)
            )
        place = self._place(out)
        self._expect(step, out)
        self._number += 1
        number = str(self._number)
        work = machine.carry_out(number, step, place, keep=keep)

        def signal(verb: str) -> bool:
            return machine.signal(verb, number)

        return _Remote(work, self._loop, signal, partial(self._explain, out, step) if keep else _ignore)

    def start_together(self, steps: Sequence[Step], out: Path, codes: dict[str, int]) -> Handle:
        """Start steps on their machines. Measurements begin at one instant when all are ready."""
        out.mkdir(parents=True, exist_ok=True)
        place = self._place(out)
        numbers: dict[str, str] = {}
        for step in steps:
            self._expect(step, out)
            self._number += 1
            numbers[step.name] = str(self._number)
        for part in _streams(steps[-1]):
            self._owners[f"{out}/{part['directory']}"] = str(part["host"])
        here: dict[str, tuple[Handle, asyncio.Event]] = {}
        stopped: dict[str, int] = {}

        def signal(verb: str) -> bool:
            far = [self._machines[s.host].signal(verb, numbers[s.name]) for s in steps if s.host in self._machines]
            for name, (handle, ended) in here.items():
                stopped[name] = handle.stop()
                ended.set()
            return any([*far, *here])

        async def carry_out(step: Step) -> int:
            machine = self._machines.get(step.host)
            if machine is not None:
                return await machine.carry_out(numbers[step.name], step, place, keep=True)
            handle, ended = self._local.start(replace(step, host=LOCAL), out), asyncio.Event()
            here[step.name] = handle, ended
            descriptor = handle.fileno()
            self._loop.add_reader(descriptor, ended.set)
            await ended.wait()
            self._loop.remove_reader(descriptor)
            del here[step.name]
            return stopped[step.name] if step.name in stopped else handle.finish()

        async def work() -> int:
            if steps[0].action is not Action.MEASURE:
                for step in steps:
                    self._note_clock(step, out)
                return await _Meeting(steps, (), carry_out, signal, partial(self._explain, out)).carry_out(codes)
            measuring = {str(part.get("begun_by")) for part in _streams(steps[-1])}
            idle = [step for step in steps if step.name not in measuring]
            meeting = _Meeting(steps, idle, carry_out, signal, partial(self._explain, out))
            end_events = partial(self._end_events, idle, place, out)
            return await meeting.carry_out(codes, self._begin(steps, place, out), end_events)

        return _Remote(work(), self._loop, signal, partial(self._explain, out, steps[0]))

    async def _begin(self, steps: Sequence[Step], place: str, out: Path) -> None:
        """Wait until all are ready, then tell each machine, in the time of its own clock, when to begin."""
        await _all(self._run(step.host, _READY, place, out) for step in steps)
        await _all(self._machines[step.host].measure_clock() for step in steps if step.host in self._machines)
        lead = _LEAD + _LEAD_OF_EACH * len(steps)
        instant = time.time() + lead
        for step in steps:
            if step.host in self._machines:
                self._machines[step.host].be_quiet(lead + _SETTLED)
        clocks = [(step.name, *self._clock(step.host)) for step in steps]
        lines = [f"{name} {ahead:.6f} {error:.6f}\n" for name, ahead, error in clocks]
        of_collectors = (out / CLOCKS).read_text("ascii") if (out / CLOCKS).exists() else ""
        (out / CLOCKS).write_text("".join(lines) + of_collectors, "ascii")
        tells = (
            self._run(step.host, f"printf '%s\\n' {round((instant + ahead) * 1e9)} >\"$OUT/gate/instant\"", place, out)
            for step, (_, ahead, _) in zip(steps, clocks, strict=True)
        )
        await _all(tells)

    async def _end_events(self, steps: Sequence[Step], place: str, out: Path) -> None:
        """Tell machines with events only that the workloads have ended."""
        await _all(self._run(step.host, ': >"$OUT/gate/over"', place, out) for step in steps)

    def _note_clock(self, step: Step, out: Path) -> None:
        """Record the offset of the clock of a step's machine."""
        ahead, error = self._clock(step.host)
        _append_line(out / CLOCKS, f"{step.name} {ahead:.6f} {error:.6f}")

    def _clock(self, host: str) -> tuple[float, float]:
        """The seconds by which a machine's clock is ahead of ours, and the error of that figure."""
        machine = self._machines.get(host)
        return (machine.offset, machine.round_trip / 2) if machine is not None else (0.0, 0.0)

    async def _run(self, host: str, command: str, place: str, out: Path) -> int:
        """Run a command in the directory of a step, and discard its output."""
        step = Step("begin", Action.PREPARE, command, "begin together", _LONGEST_MEETING)
        machine = self._machines.get(host)
        if machine is None:
            shell = await asyncio.create_subprocess_exec("sh", "-c", command, env={**os.environ, "OUT": str(out)})
            return await shell.wait()
        self._number += 1
        number = str(self._number)
        try:
            return await machine.carry_out(number, step, place, keep=False)
        except asyncio.CancelledError:
            machine.signal("kill", number)
            raise

    def bring(
        self, out: Path, host: str = "", prefix: str = "", small: dict[str, bytes] | None = None
    ) -> Handle | None:
        """Fetch the output in a directory of the run from all machines, or from one of them, and wait for the disk."""
        place = self._place(out)
        used = self._used.get(place, set())
        measured = self._owners.get(str(out))
        names = sorted(used & {host} if host else used, key=lambda name: (name != measured, name))
        used.difference_update(names)
        if not names:
            return None
        machines = [self._machines[name] for name in names]
        explain = partial(_append_line, out / "fetch.err")
        work = self._fetch(machines, place, out, prefix, small if len(machines) == 1 else None)
        return _Remote(work, self._loop, lambda _: False, explain)

    async def _fetch(
        self, machines: Iterable[Machine], place: str, out: Path, prefix: str, small: dict[str, bytes] | None
    ) -> int:
        is_written = small is None
        for machine in machines:
            if machine.given_up is None:
                try:
                    is_written |= await machine.fetch(place, out, self._own, small)
                finally:
                    self._explain_again(out)
        if is_written:
            await asyncio.to_thread(sync_tree, out, self._folder, prefix)  # other lanes continue meanwhile
        return 0

    def _explain(self, out: Path, step: Step, reason: str) -> None:
        """Append the reason why a step failed to its output."""
        path = out / f"{step.name}.err"
        self._reasons[path] = reason
        _append_line(path, reason)

    def _explain_again(self, out: Path) -> None:
        """Append the reason again if the output fetched from the machine replaced it."""
        for path in [path for path in self._reasons if path.parent == out and path in self._fetched]:
            _append_line(path, self._reasons.pop(path))

    def _expect(self, step: Step, out: Path) -> None:
        """Record which machine sends a step's output. Other files of the machine that measures are fetched first."""
        if step.host in self._machines:
            self._used.setdefault(self._place(out), set()).add(step.host)
        self._owners |= {f"{out}/{step.name}.{end}": step.host for end in ("out", "err")}
        if step.action is Action.MEASURE:
            self._owners[str(out)] = step.host

    def _own(self, machine: str, out: Path, name: str) -> Path:
        """The path for a file from a machine; a second file with the same name goes into a directory of its machine.

        Raises Liar if the file should come from another machine, or existed here before.
        """
        path = out / name
        expected = self._owners.get(str(path)) or self._owners.get(f"{out}/{name.partition('/')[0]}")
        owner = expected or self._owner(path, machine)
        if owner != machine and path in self._fetched and not expected:
            path = out / machine / name
            owner = self._owner(path, machine)
        if owner != machine:
            raise Liar(f"it has a file {path.name}, which is for `{owner}`")
        self._fetched[path] = machine
        return path

    def _owner(self, path: Path, machine: str) -> str:
        """The machine that sent a file which no step was expected to leave."""
        return self._fetched.get(path) or ("the coordinator" if path.exists() else machine)

    def hold(self, host: str, out: Path) -> bool:
        """Have the machine verify, around each step, the directory that is named in `made`."""
        machine = self._machines.get(host)
        if machine is None:
            return False
        self._loop.call_soon_threadsafe(machine.hold, self._place(out))
        return True

    def release(self, host: str, out: Path) -> None:
        """Stop verifying the directory."""
        self._loop.call_soon_threadsafe(self._machines[host].release, self._place(out))

    def ahead(self, host: str) -> float:
        """The seconds by which a machine's clock is ahead of ours, as last measured."""
        machine = self._machines.get(host)
        return round(machine.offset, 6) if machine is not None else 0.0

    def took(self, host: str) -> float:
        """The seconds that the last step took by the clock of its machine; zero if unknown."""
        machine = self._machines.get(host)
        return machine.took if machine is not None else 0.0

    def lost(self, host: str) -> RunError | None:
        """The reason why a machine is no longer tried, and what to do."""
        machine = self._machines.get(host)
        return machine.given_up if machine is not None else None

    def stop_waiting(self) -> None:
        """From now on, try unreachable machines only once."""
        for machine in self._machines.values():
            machine.patience = 0

    def sweep(self) -> int:
        """End all processes of this run that are still running, here and on every machine that is not lost."""
        machines = [machine for machine in self._machines.values() if machine.given_up is None]
        counts = self._call(_all(machine.sweep() for machine in machines), None)
        return self._local.sweep() + sum(counts)

    def forget(self) -> None:
        """Remove the run's folders on all machines."""
        machines = [machine for machine in self._machines.values() if machine.given_up is None]
        self._call(_all(machine.forget() for machine in machines), None)

    def _place(self, out: Path) -> str:
        return str(out).removeprefix(f"{self._folder}/")


def _questions(tool: str) -> tuple[str, str]:
    """The commands that print where a tool is and its version, or that its requirement is met."""
    if tool == ROOT:
        return '[ "$(id -u)" = 0 ] && echo yes', ":"
    if here.is_command(tool):
        return f"({tool}) >/dev/null 2>&1 && echo succeeds", ":"
    return f"command -v {values.quote(tool)}", f"{values.quote(tool)} --version"


def _tool(reach: Reach, name: str, hint: str, path: str, version: str) -> here.Tool:
    """A tool of a machine that answered the questions about it."""
    if name == ROOT:
        login = f"root@{reach.address.host}" if reach.address else "root"
        hint = f"{hint}: log in as `{login}`, or write `sudo = true` in [hosts.{reach.name}]"
    return here.Tool(name, path or None, version if path else "", hint)


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Steps that run at the same time; the machines of the `idle` ones have events only."""

    steps: Sequence[Step]
    idle: Sequence[Step]
    start: Callable[[Step], Coroutine[Any, Any, int]]
    signal: Callable[[str], bool]
    explain: Callable[[Step, str], None]

    async def carry_out(
        self,
        codes: dict[str, int],
        begin: Coroutine[Any, Any, None] | None = None,
        end_events: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> int:
        """Run all steps; the first failure ends the others. Return its exit code, or 0."""
        works: dict[asyncio.Future[Any], Step] = {asyncio.ensure_future(self.start(step)): step for step in self.steps}
        beginning = {asyncio.ensure_future(begin)} if begin else set[asyncio.Future[Any]]()
        pending: set[asyncio.Future[Any]] = {*works, *beginning}
        measuring = len(self.steps) - len(self.idle)
        code = 0
        try:
            while works.keys() & pending:
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for future in done:
                    step = works.get(future)
                    reason, ended = _outcome(future)
                    if reason:
                        self.explain(step or self.steps[0], reason)
                    if step is not None:
                        codes[step.name] = ended
                        measuring -= step not in self.idle
                    if ended and not code:
                        code = ended
                        for each in beginning:
                            each.cancel()
                        self.signal("stop")
                if not measuring and self.idle and not code and end_events:
                    measuring = -1
                    pending.add(asyncio.ensure_future(end_events()))
        finally:
            for future in pending:
                future.cancel()
        return code


def _outcome(future: asyncio.Future[Any]) -> tuple[str, int]:
    """The reason why work failed, and its exit code."""
    try:
        result = future.result()
    except asyncio.CancelledError:
        return "", 0
    except MachineLost as error:
        return error.message, LOST
    except (Liar, DiskFull) as error:
        return str(error), NOT_STARTED
    return "", result or 0


def _ignore(_: str) -> None:
    """Ignore the failure of a step whose output is not kept."""


def _append_line(path: Path, line: str) -> None:
    """Append a line to the output of a step, if it can be written."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{line}\n")


def _streams(step: Step) -> list[dict[str, object]]:
    """The arguments for each stream in a step's reader."""
    streams = step.reader.args.get("streams") if step.reader else None
    return [part for part in streams if isinstance(part, dict)] if isinstance(streams, list) else []


_HOW = "write [hosts.{0}] in zlang.toml, or add --reach {0}=USER@ADDRESS"


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that resolves names in threads that the process does not wait for: a resolver may take minutes."""

    async def getaddrinfo(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as in the base class
        """Resolve a name, as `socket.getaddrinfo`."""
        result: Future[Any] = Future()

        def resolve() -> None:
            with suppress(InvalidStateError):  # nobody waits any more
                try:
                    result.set_result(socket.getaddrinfo(*args, **options))
                except OSError as error:
                    result.set_exception(error)

        threading.Thread(target=resolve, name="resolver", daemon=True).start()
        return await asyncio.wrap_future(result, loop=self)


async def _all(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    return list(await asyncio.gather(*works))


class _Remote:
    """Work in the event loop, with a descriptor that is readable once it has ended. The machine enforces timeouts."""

    deadline = math.inf

    def __init__(
        self,
        work: Coroutine[Any, Any, int],
        loop: asyncio.AbstractEventLoop,
        signal: Callable[[str], bool],
        explain: Callable[[str], None],
    ) -> None:
        self._loop, self._signal, self._explain = loop, signal, explain
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC)
        self._lock = threading.Lock()
        self._future: Future[int] = asyncio.run_coroutine_threadsafe(work, loop)
        self._future.add_done_callback(self._notify)

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def finish(self) -> int:
        """Return the exit code; if the machine was lost, the reason is in the step's `.err`."""
        try:
            return self._future.result()
        except CancelledError:
            return LOST
        except MachineLost as error:
            self._explain(error.message)
            return LOST
        except (Liar, DiskFull) as error:
            self._explain(str(error))
            return NOT_STARTED
        finally:
            self._close()

    def ask_to_stop(self) -> bool:
        """Ask the machine to end the step, with TERM first."""
        self._loop.call_soon_threadsafe(self._end, "stop")
        return True

    def stop(self) -> int:
        """End the step, with TERM first."""
        self.ask_to_stop()
        deadline = time.monotonic() + _GRACE
        with suppress(Exception):
            self._future.result(max(0.0, deadline - time.monotonic()))
        self._future.cancel()
        return self.finish()

    def kill(self) -> None:
        """Kill the step immediately."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._end, "kill")
        self._future.cancel()
        self._close()

    def _end(self, verb: str) -> None:
        """Send a signal; if the step has not begun on the machine, do not wait for it."""
        if not self._signal(verb):
            self._future.cancel()

    def _notify(self, _: object) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.eventfd_write(self._descriptor, 1)

    def _close(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
