"""Test the shell that stays on a machine: its line protocol, and what it leaves behind."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import left_of
from machine import permit_by_list

from zlang.run.transport import fetching, ssh
from zlang.run.transport.fetching import Liar

SCRIPT = ssh.agent_script()
FETCH = Path(ssh.__file__).with_name("fetch.sh")
RUN = f"agent-{os.getpid()}"
HOSTILE = "$(touch pwned)`touch pwned`';touch pwned;'\"\n \\"


class Agent:
    """An agent on this machine, in its own directory."""

    def __init__(self, shell: list[str], directory: bytes, dead: int = 60) -> None:
        loader = f'z_token=token; eval "$(head -c {len(SCRIPT)})"'
        self.process = subprocess.Popen(
            [*shell, "-c", loader], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.write(SCRIPT + f"{RUN} {dead} {len(directory)}\n".encode() + directory)

    def begin(self) -> None:
        """Read the start message: its answer starts a new line, whatever a login shell printed before it."""
        assert self.hear() == []
        assert self.hear()[:2] == ["ready", "token"]

    def refusal(self) -> str:
        """Read the reason why the agent does not start."""
        assert self.hear() == []
        word, token, *reason = self.hear()
        assert word in {"refused", "unusable"}
        assert token == "token"
        return " ".join(reason)

    def write(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def start(
        self, number: int, command: bytes, out: str = "trials/t/1/a1", step: str = "m", timeout: int = 60
    ) -> None:
        self.write(f"run {number} {timeout} {len(command) + 1} keep {step} {out} \n".encode() + command + b".")

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def hear(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().split()


@pytest.fixture(params=[["dash"], ["bash"], ["busybox", "sh"]], ids=lambda shell: shell[0])
def agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(request.param, os.fsencode(tmp_path / HOSTILE.strip().replace("\n", "")))
    agent.begin()
    yield agent
    agent.close()
    assert left_of(RUN) == []
    assert not list(tmp_path.rglob("pwned"))


def test_commands_are_run_as_they_are(agent: Agent, tmp_path: Path) -> None:
    (folder,) = tmp_path.glob(f"*/{RUN}") or tmp_path.rglob(RUN)
    agent.start(1, b'printf \'%s|\' "$RUN" "$ZLANG_STEP" \'a\n"b"$(c)\'; cat; echo oops >&2; exit 3\n')
    assert agent.hear()[:3] == ["ended", "1", "3"]
    assert (folder / "trials/t/1/a1/m.out").read_text() == f'{RUN}|m|a\n"b"$(c)|'
    assert (folder / "trials/t/1/a1/m.err").read_text() == "oops\n"
    agent.start(2, b"sleep 100", timeout=1)
    assert agent.hear()[:3] == ["ended", "2", "124"]
    agent.write(b"drop trials/t/1/a1\n")
    agent.write(b"clock 7\n")
    word, token, wall, _ = agent.hear()
    assert (word, token) == ("clock", "7")
    assert abs(float(wall) - time.time()) < 60
    assert not list(folder.rglob("m.out"))
    for _ in range(2):  # the second time, tools have nothing to remove, and what they say of it is not heard
        agent.write(b"forget\n")
        assert agent.hear() == ["forgotten"]
    assert not folder.exists()


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_a_text_is_what_was_sent(shell: str, tmp_path: Path) -> None:
    """A shell reads the lines of a short text without a process; other texts are sent as so many bytes."""
    agent = Agent([shell] if shell != "busybox" else ["busybox", "sh"], os.fsencode(tmp_path / "base"))
    agent.begin()
    odd = "".join(map(chr, range(1, 128)))
    texts = ["", " ", "\n", "\n\n", "a\\", "\\\n", " a \n\tb\r\n", odd, odd * 16 + "x" * 15, odd * 17, "ä\udcff"]
    for number, text in enumerate(texts, 1):
        size, content = ssh._sized('printf %s "$TEXT"')
        value_size, value = ssh._sized(text)
        agent.write(f"run {number} 60 {size} keep m {number} TEXT={value_size}\n".encode() + content + value)
        assert agent.hear()[:3] == ["ended", str(number), "0"]
        assert (tmp_path / "base" / RUN / f"{number}/m.out").read_bytes() == text.encode("utf-8", "surrogateescape")
    sizes = [ssh._sized(text)[0] for text in texts]
    assert [size.startswith("l") for size in sizes] == [True] * 9 + [False] * 2
    agent.close()


def test_a_timed_step_reports_the_clock(agent: Agent) -> None:
    agent.write(b"run 1 60 l1 time m trials/t/1/a1\ntrue.\n")
    assert abs(float(agent.hear()[3]) - time.time()) < 60


def test_stopping_a_step_ends_all_its_processes(agent: Agent) -> None:
    agent.start(1, b"setsid sleep 1000 & sleep 1000")
    while len(left_of(RUN)) < 3:
        time.sleep(0.01)
    agent.write(b"stop 1\n")
    assert agent.hear()[:2] == ["ended", "1"]
    assert left_of(RUN) == []


@pytest.mark.parametrize("others", [0, 6], ids=["by a descriptor", "by its inode"])
def test_a_replaced_directory_is_noticed(agent: Agent, tmp_path: Path, others: int) -> None:
    names = [*(f"other {number}" for number in range(others)), "made here"]
    for number, name in enumerate(names, 1):
        made = tmp_path / name
        text = b"mkdir '%b'; { ls -di '%b'; echo '%b'; } >\"$OUT/made\"" % ((os.fsencode(made),) * 3)
        agent.start(number, text, f"setups/s/a{number}")
        assert agent.hear()[2] == "0"
        agent.write(f"hold setups/s/a{number}\n".encode())
    agent.start(11, b":")
    assert agent.hear()[2] == "0"
    made.rename(tmp_path / "elsewhere")
    made.mkdir()
    agent.start(12, b":")
    assert agent.hear()[2] == "126"
    made.rmdir()
    made.symlink_to("elsewhere")
    agent.start(13, b":")
    assert agent.hear()[2] == "126"
    agent.write(f"release setups/s/a{len(names)}\n".encode())
    agent.start(14, b":")
    assert agent.hear()[2] == "0"


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_the_watch_leaves_no_sleep_behind(shell: str, tmp_path: Path) -> None:
    """A signal other than KILL is lost if it reaches a process between fork and exec."""
    dead = 10**6 + os.getpid()
    for _ in range(40):
        agent = Agent([shell], os.fsencode(tmp_path / "run"), dead)
        agent.begin()
        agent.write(b"beat\n" * 2)
        agent.close()
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # of a process that has ended
            commands.append(path.read_bytes())
    assert b"sleep\0%d\0" % dead not in commands


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_directories_above_its_own_are_removed_if_it_made_them(shell: str, tmp_path: Path) -> None:
    (tmp_path / "was here").mkdir()
    for above in ("was here/a b/*", "x/../y"):
        agent = Agent([shell, *(["sh"] if shell == "busybox" else [])], os.fsencode(tmp_path / above / "zlang"))
        agent.begin()
        agent.write(b"forget\n")
        assert agent.hear() == ["forgotten"]
        agent.close()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["was here", "x", "y"]


def test_lines_that_come_quickly_are_signs_of_life(agent: Agent) -> None:
    """Bash interrupts `wait` at a signal, but omits the trap if another signal comes while the trap runs."""
    for number in range(200):
        agent.write(b"beat\n")
        agent.write(b"clock %d\n" % number)
        assert agent.hear()[:2] == ["clock", str(number)]


def test_without_a_sign_of_life_everything_ends(tmp_path: Path) -> None:
    agent = Agent(["sh"], os.fsencode(tmp_path / "base"), dead=1)
    agent.begin()
    agent.start(1, b"sleep 1000")
    how = os.waitid(os.P_PID, agent.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert how is not None
    assert how.si_code == os.CLD_KILLED, "a sudo above it would stop with it, and stay"
    agent.close()
    assert left_of(RUN) == []


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_an_abandoned_visit_leaves_nothing(tmp_path: Path, shell: str) -> None:
    """The login shell takes longer than the coordinator waits."""
    directory = os.fsencode(tmp_path / "place")
    words = SCRIPT + f"visit-{os.getpid()} 60 {len(directory)}\n".encode() + directory
    command = [
        shell,
        "-c",
        f'until test -e {tmp_path}/gone; do sleep 0.01; done; z_token=token; eval "$(head -c {len(SCRIPT)})"',
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(words)
    process.stdin.close()
    process.stdout.close()
    (tmp_path / "gone").touch()
    assert process.wait(timeout=60) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"gone"}


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_directory_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base").chmod(mode)
    agent = Agent(["sh"], os.fsencode(tmp_path / "base"))
    assert agent.refusal()
    agent.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="what root may do is refused, and mounting needs root")
def test_root_refuses_a_directory_that_others_can_replace(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    agent = Agent(["sh"], os.fsencode(tmp_path / "open/base"))
    assert agent.refusal() == f"another user can write to {tmp_path}/open, and replace what is in it"
    agent.close()
    (tmp_path / "open").chmod(0o1777)
    agent = Agent(["sh"], os.fsencode(tmp_path / "open/base"))
    agent.begin()
    agent.close()
    os.chown(tmp_path / "open", 65534, 0)
    agent = Agent(["sh"], os.fsencode(tmp_path / "open/base"))
    assert agent.refusal()
    agent.close()
    os.chown(tmp_path / "open", 0, 0)
    (tmp_path / "open").chmod(0o755)
    if permit_by_list(tmp_path / "open", 65534):
        agent = Agent(["sh"], os.fsencode(tmp_path / "open/base"))
        assert agent.refusal() == f"another user can write to {tmp_path}/open, and replace what is in it"
        agent.close()


def test_a_link_on_the_way_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "theirs/base").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    (tmp_path / "link").symlink_to("own")
    agent = Agent(["sh"], os.fsencode(tmp_path / "link/base"))
    agent.begin()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("theirs")
    agent.start(1, b"touch measured")
    assert agent.hear()[:3] == ["ended", "1", "0"]
    agent.close()
    assert list((tmp_path / "own").rglob("measured"))
    assert list((tmp_path / "theirs/base").iterdir()) == []


@pytest.mark.parametrize(
    ("make", "remaining"),
    [
        ('cd "$OUT" && touch a .b made leaves && ln -s made link', {"made", "leaves", "link"}),
        ('cd "$OUT" && mkdir d leaves && touch a d/x d/leaves d/made leaves/y', {"d/leaves", "d/made"}),
        ('cd "$OUT" && touch made && touch $(seq 300)', {"made"}),
    ],
    ids=["flat", "deep", "many"],
)
def test_fetched_files_are_removed_except_records_of_ownership(
    agent: Agent, tmp_path: Path, make: str, remaining: set[str]
) -> None:
    agent.start(1, make.encode())
    assert agent.hear()[2] == "0"
    (out,) = tmp_path.rglob("trials/t/1/a1")
    agent.write(b"drop trials/t/1/a1\nclock 1\n")
    agent.hear()
    assert {
        path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or path.is_file()
    } == remaining


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_nothing_is_removed_through_a_mount(agent: Agent, tmp_path: Path) -> None:
    """A bind mount has the same device as the folder, so find would descend into it."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    agent.start(1, b'mkdir "$OUT/in it\\\\"')
    assert agent.hear()[2] == "0"
    (inside,) = tmp_path.rglob("in it*")
    subprocess.run(["mount", "--bind", precious, inside], check=True)
    try:
        agent.write(b"drop trials/t/1/a1\nforget\n")
        assert agent.hear() == ["forgotten", "mounted"]
        assert (precious / "file").exists()
    finally:
        subprocess.run(["umount", inside], check=True)
    agent.write(b"forget\n")
    assert agent.hear() == ["forgotten"]
    assert not inside.exists()
    assert (precious / "file").exists()


@pytest.mark.parametrize(
    "line",
    [
        b"%b  ./../x" % (b"0" * 64),
        b"%b  ./a/../../x" % (b"0" * 64),
        b"%b  ./a//x" % (b"0" * 64),
        b"%b  /etc/passwd" % (b"0" * 64),
        b"%b  ./a\0" % (b"0" * 64),
        b"%b  ./" % (b"0" * 64),
        b"0000  ./x",
        b"garbage",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(line: bytes) -> None:
    async def read() -> None:
        stream = asyncio.StreamReader()
        stream.feed_data(line + b"\n--\n")
        await fetching._listing(fetching.Received(stream), fetching._HASH)

    with pytest.raises(Liar):
        asyncio.run(read())


def test_a_file_with_a_wrong_hash_is_discarded(tmp_path: Path) -> None:
    async def receive() -> None:
        stream = asyncio.StreamReader()
        stream.feed_data(b"text")
        await fetching._receive(fetching.Received(stream), tmp_path / "x", 4, "0" * 64)

    with pytest.raises(Liar, match="is not what its hash says"):
        asyncio.run(receive())
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("shell", [["dash"], ["bash"], ["busybox", "sh"]], ids=lambda shell: shell[0])
def test_one_shell_sends_the_files_of_many_directories(shell: list[str], tmp_path: Path) -> None:
    """Output of a login shell comes first, a missing directory has no files, and names stay plain names."""
    at = tmp_path / HOSTILE.strip().replace("\n", "").replace("\\", "")
    files = {f"many/{number}": b"%d" % number for number in range(300)}
    files |= {
        "a/x.out": b"1\n--\n",
        "a/deep/er": b"",
        "quiet/%s": b"",
        "half/1": b"",
        "half/2": b"x",
        "half/3": b"",
        "b/-c '$(x)": bytes(range(256)) * 999,
    }
    for name, content in files.items():
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(content)
    (at / "empty").mkdir()
    (at / "b/back\\slash").touch()
    (at / "b/link").symlink_to(at / "a/x.out")
    os.mkfifo(at / "b/pipe")

    async def fetch() -> list[int]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *shell, FETCH, stdin=pipe, stdout=pipe, env={**os.environ, "z_token": "token"}
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"%d\n%b" % (len(os.fsencode(at)), os.fsencode(at)))
        received = fetching.Received(process.stdout)
        await fetching.until_ready(received, "token")
        counts = []
        for name in ("a", "nowhere", "empty", "quiet", "half", "b", "many"):
            process.stdin.write(f"{name}\n".encode())
            counts.append(len(await fetching.receive(received, (tmp_path / "got" / name).joinpath)))
        process.stdin.close()
        await process.wait()
        return counts

    assert asyncio.run(fetch()) == [2, 0, 0, 1, 3, 1, 300]
    assert {name: (tmp_path / "got" / name).read_bytes() for name in files} == files


@pytest.mark.parametrize(
    ("behind", "problem"),
    [
        (b"more\n--\n", "'more\\\\n' is not the hash of a file"),
        (b"%b  ./x\n--\n" % (b"0" * 64), "something follows the last file"),
    ],
    ids=["words", "a file"],
)
def test_data_after_the_last_file_are_refused(tmp_path: Path, behind: bytes, problem: str) -> None:
    async def receive() -> None:
        stream = asyncio.StreamReader()
        digest = hashlib.sha256(b"text").hexdigest()
        stream.feed_data(f"{digest}  ./x\n--\n4 ./x\n--\ntext".encode() + behind)
        await fetching.receive(fetching.Received(stream), tmp_path.joinpath)

    with pytest.raises(Liar, match=problem):
        asyncio.run(receive())


def test_a_file_of_which_a_part_is_missing_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_STALLED", 0.01)

    async def receive() -> None:
        stream = asyncio.StreamReader()
        stream.feed_data(b"%b  ./x\n--\n9 ./x\n--\ntext--\n" % (b"0" * 64))
        await fetching.receive(fetching.Received(stream), tmp_path.joinpath)

    with pytest.raises(TimeoutError):
        asyncio.run(receive())


@pytest.mark.parametrize(
    ("words", "clocks"),
    [
        (["1795000000.5", "12.25"], (1795000000.5, 12.25)),
        (["1795000000", "0", "more"], (1795000000.0, 0.0)),
        (["-1e20", "12"], (0.0, 0.0)),
        (["1e300", "12"], (0.0, 0.0)),
        (["1795000000", "-1"], (0.0, 0.0)),
        (["nan", "12"], (0.0, 0.0)),
        (["1795000000", "inf"], (0.0, 0.0)),
        (["1795000000"], (0.0, 0.0)),
        (["now", "12"], (0.0, 0.0)),
    ],
)
def test_impossible_clock_values_are_ignored(words: list[str], clocks: tuple[float, float]) -> None:
    assert ssh._clocks(words) == clocks


def test_ciphers_that_cost_less_are_preferred_among_those_that_are_permitted() -> None:
    names = [b"chacha20-poly1305@openssh.com", b"aes256-gcm@openssh.com", b"aes128-ctr"]
    assert ssh.by_cost(names) == ["aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr"]
    assert ssh.by_cost(names[2:]) == ["aes128-ctr"]
