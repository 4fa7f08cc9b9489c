"""One machine over ssh: an agent (`agent.sh`) that runs steps there, and fetches of their output.

In: an address, the run, the paths of its folder on both sides. Out: exit codes, files. Rules: host keys are always
checked; nothing is forwarded; everything that a machine sends is data: it is compared with its hash, and never becomes
a path outside of the attempt, nor a command. When the connection is lost, running steps have failed, and the agent ends
them there.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from zlang.check.values import quote
from zlang.errors import RunError, reason_of
from zlang.hints import TYPE_CHECKING, Any
from zlang.plan.plan import Action, Step
from zlang.run.journal import LATEST
from zlang.run.transport import fetching
from zlang.run.transport.fetching import Liar, Received
from zlang.run.transport.reach import Reach

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHClientProcess

_BEAT = 2.0
"""Seconds between heartbeats in both directions."""
_DEAD = 20
"""Seconds without a heartbeat after which a machine ends everything that it runs."""
_KEEPALIVES = 4
_CONNECT = 15
"""Seconds within which a connection has to be established."""
_MARGIN = 60.0
"""Seconds beyond a step's timeout after which a silent machine is lost."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0
_BLOCK = 1 << 16
_FIRST_LINE = b"zlang\n"
_UNUSABLE = "unusable"
"""The answer of a machine whose directory cannot be used."""
_HAS_READ = "what its login shell runs at the start (such as ~/.bashrc) reads the standard input"
_ANSWER = 15
"""Seconds for a command that tells something about a machine."""
_ASKING = f"""
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
z_nl='
'
z_ask() {{
  z_text=$(timeout {_ANSWER} sh -c "$1" </dev/null) || z_text=
  printf '\\n%s %s\\n' "$z_token" "${{z_text%%"$z_nl"*}}"
}}
"""
"""The function that prints the first line of what a command prints."""
_ROUND_TRIPS = 12
_MOST_FETCHED, _MOST_FETCHED_BYTES = 20, 1 << 20
"""Directories whose files stay on a machine after they were fetched, and the bytes in them."""
_SHORT = 2048
"""The bytes of a text for which a shell takes less time than a process."""
_CLOCK_SLACK, _CLOCK_DRIFT = 0.25, 0.001
"""Seconds by which the clocks of one machine may disagree, and share of the time, as in `zlang/run/run_state.py`."""
_KNOWN_HOSTS = (
    "~/.ssh/known_hosts",
    "~/.ssh/known_hosts2",
    "/etc/ssh/ssh_known_hosts",
    "/etc/ssh/ssh_known_hosts2",
)


class MachineLost(RunError):
    """A machine cannot be reached, or cannot be used."""


class DiskFull(Exception):
    """A step failed on a machine whose disk is full, so its error output may be missing."""


@cache
def agent_script() -> bytes:
    """The agent script, after the functions that it shares with emitted scripts."""
    return resources.files("zlang.emit").joinpath("processes.sh").read_bytes() + _script("agent.sh")


@cache
def _script(name: str) -> bytes:
    return resources.files("zlang.run.transport").joinpath(name).read_bytes()


def _loader(script: bytes, reach: Reach, token: str) -> str:
    """The command that reads a script from standard input: any login shell understands it, and none parses the script.

    The first line shows that nothing consumed input before, such as a `read` in ~/.bashrc. The token is in the first
    answer of the script, so that nothing that a login shell prints is taken for it.
    """
    check = f'z_token={token}; read -r z_first; test "$z_first" = zlang || '
    check += f'{{ printf "\\nrefused {token} {_HAS_READ}\\n"; exit 1; }}'
    return f"exec {_shell(reach)} -c '{check}; eval \"$(dd bs={len(script)} count=1 iflag=fullblock 2>/dev/null)\"'"


def _shell(reach: Reach) -> str:
    """The shell that reads scripts. `sudo -n` fails instead of asking for a password."""
    return "sudo -n /bin/sh" if reach.sudo else "sh"


class Machine:
    """A machine that is reached by ssh. Its methods are coroutines of one event loop."""

    def __init__(self, reach: Reach, run: str, variables: Mapping[str, str] = MappingProxyType({})) -> None:
        self.reach, self.run = reach, run
        self.boot = ""
        self.patience = reach.wait
        """Seconds for which a lost connection is retried."""
        self.given_up: MachineLost | None = None
        """The reason why it is no longer tried."""
        self.offset, self.round_trip = 0.0, 0.0
        """Seconds by which its clock is ahead of ours, and the duration of the measurement."""
        self.took = 0.0
        """The seconds that its last step took, by its own clock; zero if unknown."""
        self._coarse = 0.0
        """The seconds between two values of its clock: 1 if its `date` knows only whole seconds."""
        self._since_boot = self._measured_at = 0.0
        """Its wall clock minus the time since its boot, which changes only if the clock is changed."""
        self._variables = variables
        self._quiet_until = 0.0
        """The time of the next heartbeat, if that is later than usual."""
        self._is_key_known = False
        self._connections: list[SSHClientConnection] = []
        """The connection, and more of them if its sessions are not enough."""
        self._agent: SSHClientProcess[bytes] | None = None
        self._fetcher: tuple[SSHClientProcess[bytes], Received] | None = None
        self._work: dict[str, asyncio.Future[int]] = {}
        self._answers: dict[str, asyncio.Future[list[str]]] = {}
        self._held: dict[str, None] = {}
        self._moved: dict[str, float] = {}
        self._full: set[str] = set()
        self._fetched: dict[str, None] = {}
        self._fetched_bytes = 0
        self._number = 0
        self._reader: asyncio.Task[None] | None = None
        self._beats: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        """The name of the host in the program."""
        return self.reach.name

    # Connecting

    async def connect(self) -> None:
        """Connect once, and start the agent. Raises MachineLost."""
        import asyncssh

        where = f"`{self.name}` ({self.reach.address})"
        for connection in self._connections:
            connection.close()
        self._connections = []
        try:
            self._connections.append(await asyncio.wait_for(self._open(), _CONNECT))
            await asyncio.wait_for(self._start_agent(), _CONNECT)
            await self.measure_clock()
        except asyncssh.HostKeyNotVerifiable as error:
            await self.close()
            login = f"type `{_by_hand(self.reach)}` once"
            if not self._is_key_known:
                raise MachineLost(f"the host key of {where} is not known", f"compare its key: {login}") from None
            raise MachineLost(
                f"the host key of {where} has changed: {error}",
                f"compare its key, then remove the old one with `ssh-keygen -R {_known_name(self.reach)}`, and {login}",
            ) from None
        except asyncssh.PermissionDenied:
            await self.close()
            raise MachineLost(
                f"{where} does not accept this user", f"`{_by_hand(self.reach)}` must work without a password"
            ) from None
        except (OSError, asyncssh.Error, asyncio.IncompleteReadError) as error:
            is_silent = isinstance(error, TimeoutError)
            reason, test = "no answer" if is_silent else _reason(error), f"`{_by_hand(self.reach)} true` must work"
            if isinstance(error, asyncssh.ChannelOpenError):
                reason = "its ssh server permits no session (`MaxSessions` in sshd_config)"
            if is_silent and self._connections:
                reason = f"its login shell printed nothing within {_CONNECT} s"
                test = f"`{_by_hand(self.reach)} echo ready` must print `ready`"
            await self.close()
            raise MachineLost(f"{where} cannot be reached: {reason}", test) from None
        except BaseException:
            await self.close()
            raise

    async def _open(self) -> SSHClientConnection:
        import asyncssh

        address = self.reach.address
        assert address is not None, "BUG: a machine without an address"
        given: dict[str, Any] = {"host": address.host}
        given |= {"username": address.user} if address.user else {}
        given |= {"port": address.port} if address.port else {}
        options = await asyncssh.SSHClientConnectionOptions.construct(**given, config=())  # of ~/.ssh/config
        # The value from ~/.ssh/config; `UserKnownHostsFile none` would accept any key.
        known_hosts = _existing(options.known_hosts or _KNOWN_HOSTS) or b""
        name = options.host_key_alias or options.host
        self._is_key_known = bool(asyncssh.match_known_hosts(known_hosts, name, "", options.port)[0])
        return await asyncssh.connect(
            **given,
            known_hosts=known_hosts,
            encryption_algs=by_cost(options.encryption_algs),
            agent_forwarding=False,
            x11_forwarding=False,
            password_auth=False,
            kbdint_auth=False,
            keepalive_interval=_BEAT,
            keepalive_count_max=_KEEPALIVES,
        )

    def _connected(self) -> SSHClientConnection:
        """The connection. Raises MachineLost if it was closed meanwhile."""
        if not self._connections:
            raise MachineLost(f"`{self.name}` was lost")
        return self._connections[0]

    async def _process(self, script: bytes, stderr: int, token: str) -> SSHClientProcess[bytes]:
        """A shell that reads a script. Where sshd permits few sessions in a connection, it gets another connection.

        Raises MachineLost, asyncssh.Error.
        """
        import asyncssh

        command = _loader(script, self.reach, token)
        options = {"encoding": None, "request_pty": False, "bufsize": _BLOCK, "stderr": stderr}
        first = self._connected()
        for connection in self._connections:
            try:
                return await connection.create_process(command, **options)
            except asyncssh.ChannelOpenError:
                if first.is_closed():
                    raise
        try:
            another = await asyncio.wait_for(self._open(), _CONNECT)
        except OSError as error:
            raise MachineLost(f"`{self.name}` accepts no second connection: {_reason(error)}") from None
        self._connections.append(another)
        return await another.create_process(command, **options)

    async def _start_agent(self) -> None:
        import asyncssh

        script, token = agent_script(), secrets.token_hex(8)
        self._agent = agent = await self._process(script, asyncssh.STDOUT, token)
        directory = os.fsencode(self.reach.directory)
        with suppress(BrokenPipeError):  # a shell that has ended has already given the reason
            agent.stdin.write(_FIRST_LINE + script + f"{self.run} {_DEAD} {len(directory)}\n".encode() + directory)
        heard = ""
        while True:
            line = (await agent.stdout.readline()).decode("utf-8", "replace")
            word, _, rest_of_line = line.strip().partition(f" {token} ")
            if word == "ready" and rest_of_line:
                break
            is_refused = word in {"refused", _UNUSABLE} and bool(rest_of_line)
            if is_refused or not line:
                reason = rest_of_line if is_refused else heard or "its shell ended"
                message = f"`{self.name}` ({self.reach.address}) cannot be used: {reason}"
                hint = f"`{_by_hand(self.reach)} exec {_shell(self.reach)} -c true` must work"
                if is_refused:
                    other = f'write directory = "/OTHER/PATH" below [hosts.{self.name}] in zlang.toml'
                    hint = other if word == _UNUSABLE else ""
                raise MachineLost(message, hint)
            heard = line.strip() or heard  # output of its login shell
        boot = rest_of_line.split()[0]
        self.boot = boot
        for out in self._held:
            self._write(f"hold {out}")
        self._reader = asyncio.ensure_future(self._read(agent))
        self._beats = asyncio.ensure_future(self._beat(agent))

    async def ready(self) -> None:
        """Ensure a connection; after a loss, retry for as long as the host may take. Raises MachineLost."""
        async with self._lock:
            if self.given_up is not None:
                raise MachineLost(self.given_up.message, self.given_up.hint)
            if self._agent is not None:
                return
            began, pause = time.monotonic(), _FIRST_PAUSE
            while True:
                try:
                    await self.connect()
                    # Everything that it still runs belongs to the lost connection.
                    await self._ask("sweep")
                except MachineLost as error:
                    if time.monotonic() + pause > began + self.patience:
                        self.given_up = error
                        raise
                else:
                    return
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def close(self) -> None:
        """Disconnect from the machine: its agent ends what it is still running."""
        self._lose("the connection was closed")
        connections, self._connections = self._connections, []
        for connection in connections:
            connection.close()
            with suppress(Exception):
                await asyncio.wait_for(connection.wait_closed(), 2)

    def _lose(self, reason: str) -> None:
        """End everything that waits for the machine."""
        agent, self._agent = self._agent, None
        for task in (self._reader, self._beats):
            if task is not None and task is not asyncio.current_task():
                task.cancel()
        self._reader = self._beats = None
        if agent is not None:
            agent.close()
        fetcher, self._fetcher = self._fetcher, None
        if fetcher is not None:
            fetcher[0].close()
        pending: list[asyncio.Future[Any]] = [*self._work.values(), *self._answers.values()]
        for future in pending:
            if not future.done():
                future.set_exception(MachineLost(f"`{self.name}` was lost: {reason}"))
                future.exception()  # everything that waits for it is told, too
        self._work.clear()
        self._answers.clear()

    async def _read(self, agent: SSHClientProcess[bytes]) -> None:
        try:
            while line := await agent.stdout.readline():
                self._hear(line)
            reason = "the connection was closed"
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the error, the machine cannot be heard any more
            reason = reason_of(error)
        self._lose(reason)

    def _hear(self, line: bytes) -> None:
        match line.decode("ascii", "replace").split():
            case ["ended", number, code, *clocks] if number in self._work and code.isdecimal():
                work = self._work.pop(number)
                wall, up = _clocks(clocks)
                moved = wall - up - self._since_boot
                slack = _CLOCK_SLACK + self._coarse + _CLOCK_DRIFT * (up - self._measured_at)
                if wall and up and abs(moved) > slack:
                    self.offset, self._since_boot, self._measured_at = self.offset + moved, wall - up, up
                    self._moved[number] = moved
                began, over = _clocks(clocks[2:])
                self.took = round(max(0.0, over - began), 2)
                if clocks[4:] == ["full"]:
                    self._full.add(number)
                if not work.done():
                    work.set_result(int(code))
            case [word, *words] if word in self._answers:
                answer = self._answers.pop(word)
                if not answer.done():
                    answer.set_result(words)
            case ["stuck", *_] if "swept" in self._answers:
                answer = self._answers.pop("swept")
                if not answer.done():
                    answer.set_result(["stuck"])
            case _:  # lines that our agent never sends are ignored
                pass

    def be_quiet(self, seconds: float) -> None:
        """Send a heartbeat now, and no other one in this time: each costs the machine two processes."""
        self._write("beat")
        self._quiet_until = time.monotonic() + seconds

    async def _beat(self, agent: SSHClientProcess[bytes]) -> None:
        while self._agent is agent:
            await asyncio.sleep(self._quiet_until - time.monotonic())
            self._write("beat")
            await asyncio.sleep(_BEAT)

    def _write(self, line: str, content: bytes = b"") -> None:
        if self._agent is None:
            raise MachineLost(f"`{self.name}` is not connected")
        with suppress(BrokenPipeError):  # the reader reports it
            self._agent.stdin.write(line.encode("ascii") + b"\n" + content)

    async def _ask(self, line: str, answer: str = "swept") -> list[str]:
        future: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._answers[answer] = future
        self._write(line)
        try:
            return await asyncio.wait_for(future, _MARGIN)
        except TimeoutError:
            self._lose("it does not answer")
            raise MachineLost(f"`{self.name}` does not answer") from None

    # Work

    async def carry_out(self, number: str, step: Step, out: str, *, keep: bool) -> int:
        """Run a step until it ends, times out or is stopped; return its exit code. Raises MachineLost."""
        await self.ready()
        work: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._work[number] = work
        if out in self._fetched:  # later, it would remove what this step leaves
            self._drop()
        size, command = _sized(step.command)
        texts = {name: _sized(text) for name, text in self._variables.items()}
        sizes = " ".join(f"{name}={size}" for name, (size, _) in texts.items())
        kept = ("time" if step.action is Action.MEASURE else "keep") if keep else "lose"
        words = f"{step.timeout} {size} {kept} {step.name} {out} {sizes}"
        self._write(f"run {number} {words}", command + b"".join(text for _, text in texts.values()))
        try:
            async with asyncio.timeout(step.timeout + _MARGIN):
                code = await work
        except TimeoutError:
            self._lose("it does not answer")
            raise MachineLost(f"`{self.name}` does not answer") from None
        moved = self._moved.pop(number, 0.0)
        if moved and step.action is Action.MEASURE:
            raise Liar(f"the wall clock of `{self.name}` was moved by {moved:,.1f} s during the step")
        if number in self._full:
            self._full.remove(number)
            raise DiskFull(f"no space is left in {self.reach.directory} on `{self.name}`")
        return code

    def signal(self, verb: str, number: str) -> bool:
        """Send `stop` or `kill` to a running step there; False if it is not running."""
        is_running = self._agent is not None and number in self._work
        if is_running:
            self._write(f"{verb} {number}")
        return is_running

    async def answers(self, commands: Sequence[str]) -> list[str]:
        """The first line that each command prints there; empty if it fails. Raises MachineLost.

        One shell runs all of them: each login costs 10 ms and more, and seconds where a login shell is slow.
        """
        import asyncssh

        await self.ready()
        token, result = secrets.token_hex(8), list[str]()
        script = "\n".join([_ASKING, *(f"z_ask {quote(command)}" for command in commands), ""]).encode()
        try:
            process = await asyncio.wait_for(self._process(script, asyncssh.DEVNULL, token), _CONNECT)
            async with process:
                process.stdin.write(_FIRST_LINE + script)
                while len(result) < len(commands):
                    line = await asyncio.wait_for(process.stdout.readline(), _CONNECT + _ANSWER)
                    if not line:
                        break
                    word, _, text = line.decode("utf-8", "replace").strip().partition(" ")
                    if word == token:
                        result.append(text)
        except (TimeoutError, asyncssh.TimeoutError):
            pass
        except (OSError, asyncssh.Error) as error:
            raise MachineLost(f"`{self.name}` was lost: {error}") from None
        return result + [""] * (len(commands) - len(result))

    async def sweep(self) -> int:
        """End all processes of the run there; return their number. Raises MachineLost."""
        await self.ready()
        (count, *_) = await self._ask("sweep")
        if count == "stuck":
            raise MachineLost(
                f"processes on `{self.name}` do not end after SIGKILL",
                "they probably wait for a device; when it responds, type `zlang resume`",
            )
        return int(count) if count.isdecimal() else 0

    async def forget(self) -> None:
        """Remove the run's folder there. Raises MachineLost."""
        await self.ready()
        if "mounted" in await self._ask("forget", "forgotten"):
            raise MachineLost(
                f"something is mounted in {self.reach.directory}/{self.run} on `{self.name}`: nothing in it is removed",
                "unmount it, then type `zlang resume`",
            )

    def hold(self, out: str) -> None:
        """Have the machine verify, around each step, the directory that a setup made."""
        self._held[out] = None
        if self._agent is not None:
            self._write(f"hold {out}")

    def release(self, out: str) -> None:
        """Stop verifying the directory."""
        if self._held.pop(out, 0) is None and self._agent is not None:
            self._write(f"release {out}")

    async def measure_clock(self) -> None:
        """Measure how far its clock is ahead, by the shortest of several round trips (as NTP). Raises MachineLost."""
        self.round_trip = float("inf")
        for _ in range(_ROUND_TRIPS):
            began, clock = time.monotonic(), time.time()
            self._number += 1
            words = await self._ask(f"clock {self._number}", "clock")
            took = time.monotonic() - began
            wall, up = _clocks(words[1:])
            if words[:1] == [str(self._number)] and wall and took < self.round_trip:
                self._coarse = 0.0 if "." in words[1] else 1.0
                self.offset, self.round_trip = wall + self._coarse / 2 - clock - took / 2, took
                self._since_boot, self._measured_at = wall - up, up
        self.round_trip += self._coarse

    # Files

    async def fetch(
        self, out: str, into: Path, own: Callable[[str, Path, str], Path], small: dict[str, bytes] | None
    ) -> bool:
        """Fetch the files in a directory of the run there, verify their hashes, and remove them there.

        `own` returns the path for a file, and raises Liar if the file is not this machine's. With `small`, files that
        can be packed by their sizes go there instead. Returns whether files were written into the directory.

        Raises MachineLost, Liar, OSError.
        """
        import asyncssh

        await self.ready()
        try:
            fetcher, self._fetcher = self._fetcher, None  # kept only if all of its output is read
            if fetcher is None or fetcher[0].stdout.at_eof():
                fetcher = await self._start_fetcher()
            process, received = fetcher
            process.stdin.write(f"{out}\n".encode())
            try:
                sizes = await fetching.receive(received, lambda name: own(self.name, into, name), small)
            except BaseException:
                process.close()
                raise
            self._fetcher = fetcher
        except Liar as error:
            raise Liar(f"what `{self.name}` sent cannot be used: {error}") from None
        except (asyncio.IncompleteReadError, TimeoutError, ConnectionError, asyncssh.Error) as error:
            cut_off = {TimeoutError: "nothing more comes", asyncio.IncompleteReadError: "what it sent is incomplete"}
            reason = cut_off.get(type(error), error)
            raise MachineLost(f"`{self.name}` was lost while its files were fetched: {reason}") from None
        if sizes:
            self._fetched[out] = None
            self._fetched_bytes += sum(sizes)
        if len(self._fetched) >= _MOST_FETCHED or self._fetched_bytes > _MOST_FETCHED_BYTES:
            self._drop()
        return bool(sizes) and not small

    def _drop(self) -> None:
        """Remove what was fetched there: that of several directories at once, as each time costs two processes."""
        self._write(" ".join(["drop", *self._fetched]))
        self._fetched.clear()
        self._fetched_bytes = 0

    async def _start_fetcher(self) -> tuple[SSHClientProcess[bytes], Received]:
        """Start the shell that sends files: it is kept, as a channel for each fetch would cost more than the fetch."""
        import asyncssh

        script, token = _script("fetch.sh"), secrets.token_hex(8)
        process = await self._process(script, asyncssh.DEVNULL, token)
        received = Received(process.stdout)
        directory = os.fsencode(f"{self.reach.directory}/{self.run}")
        process.stdin.write(_FIRST_LINE + script + f"{len(directory)}\n".encode() + directory)
        await asyncio.wait_for(fetching.until_ready(received, token), _CONNECT)
        return process, received


def by_cost(ciphers: Iterable[bytes]) -> list[str]:
    """The ciphers that ssh permits, cheapest first: a packet costs the coordinator a sixth with the first ones."""
    return sorted((name.decode() for name in ciphers), key=lambda name: "gcm" not in name)


def _sized(text: str) -> tuple[str, bytes]:
    """The size of a text and its bytes, as an agent reads them, with a full stop: no shell strips newlines before it.

    A shell reads the lines of a short text without a process; byte by byte, so other texts are read by `dd`.
    """
    content = f"{text}.".encode("utf-8", "surrogateescape")
    if len(content) <= _SHORT and content.isascii():
        content += b"\n"
        lines = content.count(b"\n")
        return f"l{lines}", content
    return str(len(content)), content


_NUMBER = re.compile(r"\[Errno (\d+)\]")


def _reason(error: Exception) -> str:
    """The reason why the connection failed; asyncio says `[Errno 111] Connect call failed` for each address."""
    number = _NUMBER.search(str(error))
    return reason_of(OSError(int(number[1]), os.strerror(int(number[1])))) if number else reason_of(error)


def _by_hand(reach: Reach) -> str:
    """The command that a person types to log in on a machine."""
    address = reach.address
    assert address is not None, "BUG: a machine without an address"
    login = f"{address.user}@{address.host}" if address.user else address.host
    return f"ssh -p {address.port} {login}" if address.port else f"ssh {login}"


def _known_name(reach: Reach) -> str:
    """The name under which ssh stores the key of a machine."""
    address = reach.address
    assert address is not None, "BUG: a machine without an address"
    return f"'[{address.host}]:{address.port}'" if address.port not in {0, 22} else address.host


def _clocks(words: Sequence[str]) -> tuple[float, float]:
    """The wall clock and the seconds since boot, as an agent reports them; zeros if the values are impossible."""
    try:
        wall, up = map(float, words[:2])
    except ValueError:
        return 0.0, 0.0
    return (wall, up) if 0 <= wall < LATEST and 0 <= up < LATEST else (0.0, 0.0)


def _existing(paths: Iterable[str]) -> list[str]:
    expanded = [Path(path).expanduser() for path in paths]
    return [str(path) for path in expanded if path.is_file() and os.access(path, os.R_OK)]
