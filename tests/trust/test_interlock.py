"""Check that foreign devices are written to only if as declared, not in use, empty and armed. Needs root."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import struct
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from command_line import Tools, Zlang, left_of
from machine import LET_GO
from private_daemon import ZfsFuse
from strikes import attach
from waiting import wait_for

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Plan, Trial

MIB = 1 << 20
SIZE = 32 * MIB
PAGE = os.sysconf("SC_PAGE_SIZE")
SWAP = 16 * PAGE
FIBMAP = 1
"""The ioctl that maps a block of a file to a block of its device."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="devices need root")

PROGRAM = """
import fio
import disks
{more}
disk spare {{ id = "{at}/by-id/one"  serial = "{serial}"  size = {size} }}
fio load {{ rw = {rw}  bs = 64KiB  io_size = 1MiB  end_fsync = on }}
experiment one {{ on = {on}  run = load }}
"""
WRITING = ("write", "randwrite", "rw", "randrw", "trim", "randtrim", "trimwrite", "randtrimwrite")


def say(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@contextmanager
def attached(image: Path, *options: str) -> Iterator[Path]:
    node = attach(image, *options)
    try:
        yield node
    finally:
        say("blockdev", "--setrw", node)  # else the next that is given this loop device cannot write
        say("losetup", "--detach", node)


def put(node: Path, content: bytes) -> None:
    with node.open("r+b") as file:
        file.write(content)


def planned(program: Path) -> Plan:
    overrides = Overrides({}, None)
    checked = programs.check(programs.read(str(program)), overrides)
    return plans.plan(checked, programs.choose(checked, None), 1, overrides).plan


def blank(image: Path) -> Path:
    with image.open("wb") as file:
        file.truncate(SIZE)
    return image


@dataclass(frozen=True, slots=True)
class Disk:
    """A loop device with a directory of links to it, and the `zlang` that must not write to it."""

    at: Path
    node: Path
    zlang: Zlang
    within: tuple[str, ...] = ()
    """The command in which its guard runs."""

    @property
    def image(self) -> Path:
        return self.at / "one.img"

    @property
    def link(self) -> str:
        return f"{self.at}/by-id/one"

    def program(self, **more: str) -> str:
        fields = {"more": "", "on": "spare", "rw": "randwrite", "size": "32MiB", "serial": str(self.image), **more}
        return self.zlang.program(PROGRAM.format(at=self.at, **fields))

    def guarded(self, wipe: str = "", **more: str) -> dict[str, str]:
        """Return the objections of the guards at plan time and at each step; empty if there are none."""
        (guarded,) = planned(self.at / self.program(**more)).header.guarded
        (step,) = guarded.steps
        refusals = {}
        for when, variables in {"plan": {"ZLANG_LOOK": "1"}, "step": {"ZLANG_ARM": f"p b {self.link}"}}.items():
            variables["ZLANG_WIPE"] = f"p b {wipe}"
            out = self.at / f"out-{when}"
            out.mkdir(exist_ok=True)
            environment = {**os.environ, "RUN": "run", "OUT": str(out), **variables}
            done = subprocess.run(
                [*self.within, "sh", "-c", step.command],
                cwd=self.at,
                env=environment,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert (done.returncode == 0) == (not done.stderr), done.stderr
            refusals[when] = done.stderr
        return refusals

    def digest(self, except_for: Iterable[range] = ()) -> str:
        say("sync", self.node)
        content = bytearray(self.image.read_bytes())
        for place in except_for:
            content[place.start : place.stop] = bytes(len(place))
        return hashlib.sha256(content).hexdigest()


@pytest.fixture
def spare(disk: Path) -> Iterator[Disk]:
    (disk / "by-id").mkdir()
    with attached(blank(disk / "one.img")) as node:
        (disk / "by-id" / "one").symlink_to(node)
        yield Disk(disk, node, Zlang(disk))
        say("blockdev", "--setrw", node)


@contextmanager
def mounted(disk: Disk, *, also: tuple[str, ...] = ()) -> Iterator[Path]:
    say("mke2fs", "-q", "-t", "ext2", "-E", "lazy_itable_init=0", disk.node)
    at = disk.at / "mounted"
    at.mkdir()
    say("mount", disk.node, at)
    say("sync", "-f", at)
    try:
        yield at
    finally:
        for name in (*also, str(at)):
            subprocess.run(["umount", name], capture_output=True, check=False)


@contextmanager
def bind_mounted(disk: Disk) -> Iterator[None]:
    other = disk.at / "other"
    other.mkdir()
    with mounted(disk, also=(str(other),)) as at:
        (at / "inner").mkdir()
        say("mount", "--bind", at / "inner", other)
        say("sync", "-f", other)
        say("umount", at)
        yield


@contextmanager
def mounted_elsewhere(disk: Disk) -> Iterator[None]:
    """Only another mount namespace still has it."""
    with mounted(disk) as at:
        ready = disk.at / "ready"
        script = f'sh {LET_GO} "$1"; touch "$2"; exec sleep 60'
        other = subprocess.Popen(["unshare", "--mount", "sh", "-c", script, "sh", str(at), ready])
        wait_for(ready.exists)
        say("umount", at)
        try:
            yield
        finally:
            other.kill()
            other.wait()


@contextmanager
def with_a_swap_file(disk: Disk) -> Iterator[None]:
    with mounted(disk) as at:
        swap = at / "swap"
        swap.write_bytes(bytes(SWAP))
        swap.chmod(0o600)
        say("mkswap", swap)
        say("swapon", swap)
        say("sync", "-f", at)
        try:
            yield
        finally:
            say("swapoff", swap)


@contextmanager
def as_swap(disk: Disk) -> Iterator[None]:
    say("mkswap", disk.node, SWAP // 1024)
    say("swapon", disk.node)
    try:
        yield
    finally:
        say("swapoff", disk.node)


def swap_device_pages(_: Disk) -> Iterator[range]:
    """Yield what the kernel may swap to at any moment: all but the header."""
    yield range(PAGE, SWAP)


def swap_file_pages(disk: Disk) -> Iterator[range]:
    """Yield what the kernel may swap to at any moment: the file's blocks on the device, but not its header."""
    with (disk.at / "mounted" / "swap").open("rb") as file:
        size = os.fstatvfs(file.fileno()).f_bsize
        for number in range(PAGE // size, SWAP // size):
            (block,) = struct.unpack("i", fcntl.ioctl(file, FIBMAP, struct.pack("i", number)))
            assert block
            yield range(block * size, (block + 1) * size)


@contextmanager
def with_a_partition(disk: Disk) -> Iterator[Path]:
    table = bytearray(512)
    table[446:462] = bytes([0, 0, 0, 0, 0x83, 0, 0, 0]) + (2048).to_bytes(4, "little") + (40960).to_bytes(4, "little")
    table[510:512] = b"\x55\xaa"
    put(disk.node, bytes(table))
    say("partx", "--update", disk.node)
    part = Path(f"{disk.node}p1")
    number = Path(f"/sys/block/{disk.node.name}/{part.name}/dev").read_text().strip()
    made = not part.exists()
    if made:
        say("mknod", part, "b", *number.split(":"))
    try:
        yield part
    finally:
        if made:
            part.unlink(missing_ok=True)


@contextmanager
def with_a_mounted_partition(disk: Disk) -> Iterator[None]:
    with with_a_partition(disk) as part:
        at = disk.at / "mounted"
        at.mkdir()
        say("mke2fs", "-q", "-t", "ext2", "-E", "lazy_itable_init=0", part)
        say("mount", part, at)
        say("sync", "-f", at)
        try:
            yield
        finally:
            subprocess.run(["umount", at], capture_output=True, check=False)


@contextmanager
def with_a_partition_under_a_loop(disk: Disk) -> Iterator[None]:
    with with_a_partition(disk) as part, attached(part):
        yield


@contextmanager
def with_an_open_partition(disk: Disk) -> Iterator[None]:
    with with_a_partition(disk) as part, part.open("rb"):
        yield


@contextmanager
def open_under_another_name(disk: Disk) -> Iterator[None]:
    """Open the device under another name, as a container does."""
    node = disk.at / "dev" / "xvda"
    node.parent.mkdir()
    os.mknod(node, 0o600 | 0o060000, disk.node.stat().st_rdev)
    with node.open("rb"):
        yield


@contextmanager
def mounted_by_another_path(disk: Disk) -> Iterator[None]:
    with attached(disk.image) as other, mounted(Disk(disk.at, other, disk.zlang)):
        yield


@contextmanager
def under_a_loop(disk: Disk) -> Iterator[None]:
    with attached(disk.node):
        yield


@contextmanager
def held(disk: Disk) -> Iterator[None]:
    handle = os.open(disk.node, os.O_RDWR | os.O_EXCL)
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def with_luks(disk: Disk) -> Iterator[None]:
    put(disk.node, b"LUKS\xba\xbe\x00\x01".ljust(512, b"\0"))
    yield


@contextmanager
def with_a_file_system(disk: Disk) -> Iterator[None]:
    say("mke2fs", "-q", "-t", "ext4", disk.node)
    yield


IN_USE: dict[str, tuple[Callable[[Disk], object], str, str]] = {
    "mounted": (mounted, "is mounted at", "cannot be opened exclusively"),
    "bind mounted": (bind_mounted, "is mounted at", "cannot be opened exclusively"),
    "mounted in another namespace": (mounted_elsewhere, "is mounted at", "cannot be opened exclusively"),
    "with a mounted partition": (with_a_mounted_partition, "is mounted at", "cannot be opened exclusively"),
    "with an active swap file": (with_a_swap_file, "has the swap", "cannot be opened exclusively"),
    "swap": (as_swap, "has the swap", "cannot be opened exclusively"),
    "the file of a loop device": (under_a_loop, "is the file of loop", "is the file of loop"),
    "held by a process": (held, "is open in process", "cannot be opened exclusively"),
    "with a file system": (with_a_file_system, "is not empty: ext4", "is not empty: ext4"),
    "with an encrypted volume": (with_luks, "is not empty: crypto_LUKS", "is not empty: crypto_LUKS"),
}

SUBTLY_IN_USE = {
    "mounted by another path": (mounted_by_another_path, "has the file of /dev/loop"),
    "with an open partition": (with_an_open_partition, "is open in process"),
    "with a partition under a loop": (with_a_partition_under_a_loop, "is the file of loop"),
    "open under another name": (open_under_another_name, "is open in process"),
}

SWAPPED_TO: dict[str, Callable[[Disk], Iterator[range]]] = {
    "with an active swap file": swap_file_pages,
    "swap": swap_device_pages,
}


@pytest.mark.parametrize("state", IN_USE)
def test_devices_in_use_are_refused_and_unchanged(spare: Disk, state: str) -> None:
    bring, at_plan, at_step = IN_USE[state]
    with ExitStack() as stack:
        stack.enter_context(bring(spare))  # type: ignore[arg-type]
        swapped_to = list(SWAPPED_TO[state](spare)) if state in SWAPPED_TO else []
        before = spare.digest(swapped_to)
        refusals = spare.guarded()
        assert at_plan in refusals["plan"]
        assert at_step in refusals["step"]
        assert spare.digest(swapped_to) == before


@pytest.mark.parametrize("state", SUBTLY_IN_USE)
def test_used_devices_that_allow_exclusive_open_are_not_wiped(spare: Disk, state: str) -> None:
    bring, reason = SUBTLY_IN_USE[state]
    with bring(spare):
        before = spare.digest()
        refusals = spare.guarded(spare.link)
        assert reason in refusals["plan"]
        assert reason in refusals["step"]
        assert spare.digest() == before


def test_devices_exported_by_nvme_over_fabrics_are_not_wiped(spare: Disk) -> None:
    namespace = "/sys/kernel/config/nvmet/subsystems/lab/namespaces/1"
    export = (
        f'mount -t tmpfs none /sys/kernel && mkdir -p {namespace} && echo {spare.node} >{namespace}/device_path && "$@"'
    )
    within = ("unshare", "--mount", "sh", "-c", export, "sh")
    refusals = replace(spare, within=within).guarded(spare.link)
    assert f"is exported: {namespace}" in refusals["plan"]
    assert f"is exported: {namespace}" in refusals["step"]


@pytest.mark.parametrize(
    ("fna", "namespaces", "why"),
    [
        ("0x4", 2, ""),
        ("0x1", 1, ""),
        ("0x2", 2, "erases all 2 namespaces of its controller"),
        ("", 1, "does not say what"),
    ],
)
def test_a_format_erases_no_other_namespace(spare: Disk, fna: str, namespaces: int, why: str) -> None:
    Tools(spare.zlang).wrap(
        "nvme",
        f"""case $1 in
        id-ctrl) test -z '{fna}' || echo 'fna       : {fna}' ;;
        list-ns) seq {namespaces} | sed 's/.*/[   &]:0x&/' ;;
        format) touch {spare.at}/formatted && blkdiscard --zeroout "$3" ;;
        esac""",
    )
    program = Path(spare.at / spare.program(more="import treatments"))
    program.write_text(program.read_text().replace("run = load", "run = load  before = secure_erase { how = format }"))
    ended = spare.zlang("run", str(program), "--arm", spare.link, code=1 if why else 0)
    assert why in ended.out + ended.err
    assert (spare.at / "formatted").exists() == (not why)


def test_a_format_of_a_partition_is_refused(spare: Disk) -> None:
    Tools(spare.zlang).wrap("nvme", f"touch {spare.at}/asked")
    with with_a_partition(spare) as part:
        Path(spare.link).unlink()
        Path(spare.link).symlink_to(part)
        program = Path(spare.at / spare.program(more="import treatments", size="20MiB"))
        text = program.read_text().replace("run = load", "run = load  before = secure_erase { how = format }")
        program.write_text(text)
        ended = spare.zlang("run", str(program), "--arm", spare.link, code=1)
        assert "is a partition, and a format erases its whole namespace" in ended.out + ended.err
    assert not (spare.at / "asked").exists()


def test_swap_that_has_no_name_here_is_not_in_the_way(spare: Disk) -> None:
    """In a container, for example, the root is not that of the machine."""
    with attached(blank(spare.at / "two.img")) as node, with_a_swap_file(Disk(spare.at, node, spare.zlang)):
        within = ("unshare", "--mount", "sh", "-c", 'umount "$0" && exec "$@"', str(spare.at / "mounted"))
        assert replace(spare, within=within).guarded() == {"plan": "", "step": ""}


def _not_a_link(disk: Disk) -> None:
    Path(disk.link).unlink()
    number = disk.node.stat().st_rdev
    os.mknod(disk.link, 0o600 | 0o060000, number)


def _a_file(disk: Disk) -> None:
    Path(disk.link).unlink()
    Path(disk.link).symlink_to(disk.image)


OTHERS: dict[str, tuple[Callable[[Disk], object], dict[str, str], str]] = {
    "another serial": (lambda _: None, {"serial": "WD-1234"}, "is not WD-1234; it says "),
    "another size": (lambda _: None, {"size": "64MiB"}, "has 33554432 bytes, not 67108864"),
    "read-only": (lambda disk: say("blockdev", "--setro", disk.node), {}, ""),
    "gone": (lambda disk: Path(disk.link).unlink(), {}, "does not exist on this machine"),
    "no link": (_not_a_link, {}, "is not a link such as those in /dev/disk/by-id"),
    "a file": (_a_file, {}, "does not lead to a block device"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_a_device_that_differs_from_its_declaration_is_refused(spare: Disk, case: str) -> None:
    change, properties, reason = OTHERS[case]
    change(spare)
    before = spare.digest()
    refusals = spare.guarded(**properties)
    assert refusals["plan"]
    assert reason in refusals["plan"]
    assert refusals["step"]
    assert spare.digest() == before


def test_every_mode_that_writes_is_guarded_and_no_other(spare: Disk) -> None:
    program = spare.program(rw=" | ".join(("read", "randread", *WRITING)))
    guarded = {}
    for trial in planned(spare.at / program).items():
        if isinstance(trial, Trial):
            actions = [step.action for step in trial.steps]
            guarded[trial.factors["rw"]] = Action.GUARD in actions[: actions.index(Action.MEASURE)]
    assert guarded == {"read": False, "randread": False, **dict.fromkeys(WRITING, True)}
    assert spare.digest() == hashlib.sha256(bytes(SIZE)).hexdigest()


def test_a_device_that_changes_between_plan_and_step_is_not_written(spare: Disk) -> None:
    """The link points to another device of the same size when the run starts to create its own links."""
    with attached(blank(spare.at / "two.img")) as other:
        Tools(spare.zlang).wrap(
            "mkdir", f'case $* in *-spare*) ln -sfn {other} {spare.link} ;; esac; exec {{real}} "$@"'
        )
        program = spare.program(rw=" | ".join(WRITING))
        ended = spare.zlang("run", program, "--arm", spare.link, code=1)
        assert f"{spare.link} is not {spare.image}; it says {spare.at}/two.img" in ended.err
        say("sync", other)
        assert hashlib.sha256((spare.at / "two.img").read_bytes()).hexdigest() == spare.digest()
    assert spare.digest() == hashlib.sha256(bytes(SIZE)).hexdigest()


def test_links_are_not_created_in_directories_of_other_users(spare: Disk) -> None:
    place = spare.at / "theirs"
    (place / "links").mkdir(parents=True)
    path = spare.at / spare.program()
    path.write_text(path.read_text().replace("disk spare {", f'disk spare {{ links = "{place}/links" '))
    os.chown(place, 65534, 0)
    ended = spare.zlang("run", path.name, "--arm", spare.link, code=1)
    assert f"another user can write to {place}, and replace the links in {place}/links" in ended.err
    assert spare.digest() == hashlib.sha256(bytes(SIZE)).hexdigest()
    os.chown(place, 0, 0)
    spare.zlang("resume", "--failed")
    assert not [*(place / "links").iterdir()]


@pytest.mark.parametrize("part", [False, True])
def test_two_declarations_of_one_device_are_named_before_the_run(spare: Disk, *, part: bool) -> None:
    two = spare.at / "by-id" / "two"
    if part:
        subprocess.run(["sfdisk", "-q", spare.node], input="start=1MiB, size=8MiB\n", text=True, check=True, timeout=60)
        say("partx", "--update", spare.node)
        wait_for(lambda: Path(f"{spare.node}p1").is_block_device())
    two.symlink_to(f"{spare.node}p1" if part else spare.node)
    more = f'disk second {{ id = "{two}"  serial = "{spare.image}"  size = {"8MiB" if part else "32MiB"} }}'
    name = spare.program(more=more, on="[spare, second]")
    sentence = "a device and its partition" if part else "the same device"
    assert sentence in spare.zlang("plan", name).out
    assert sentence in spare.zlang("run", name, "--arm", str(two), "--arm", spare.link, code=1).err
    assert sentence not in spare.zlang("plan", spare.program()).out
    if part:
        say("partx", "--delete", spare.node)


def test_two_ids_that_lead_to_one_device_are_refused(spare: Disk) -> None:
    image, links = spare.at / "two.img", [spare.at / "by-id" / name for name in ("two", "three")]
    image.write_bytes(b"")
    os.truncate(image, 128 * MIB)
    ids, serials = ", ".join(f'"{link}"' for link in links), f'"{image}", "{image}"'
    disk = f"disk pair {{ id = [{ids}]  serial = [{serials}]  size = 128MiB }}"
    volume = "btrfs volume on pair {}\nfile data on volume { size = 1MiB }"
    name = spare.program(more=f"import filesystems\n{disk}\n{volume}", on="data")
    with attached(image) as node:
        for link in links:
            link.symlink_to(node)
        ended = spare.zlang("run", name, *[word for link in links for word in ("--arm", str(link))], code=1)
        say("sync", node)
    assert f"{links[1]} is the device of an id before it" in ended.err
    assert image.stat().st_blocks == 0


@pytest.mark.parametrize("command", ["head -c 1M /dev/zero >{node}", "cd /dev && head -c 1M /dev/zero >{name}"])
def test_a_command_that_names_an_armed_device_by_its_node_is_not_run(spare: Disk, command: str) -> None:
    """Its link points to that node, which only this machine knows."""
    before = spare.digest()
    text = command.format(node=spare.node, name=spare.node.name)
    more = f'dir here {{ path = "{spare.at}" }}\nshell writes {{ command = "{text}" }}\n'
    program = spare.program(more=f"{more}experiment other {{ on = here  run = writes }}")
    assert "`writes` names `spare` by its node" in spare.zlang("plan", program, "--experiment", "other").out
    refused = spare.zlang("run", program, "--experiment", "other", "--yes", "--arm", spare.link, code=1).err
    assert "`writes` names `spare` by its node" in refused
    assert not list(spare.at.glob("runs/*"))
    assert spare.digest() == before


def test_arming(spare: Disk) -> None:
    zlang, program = spare.zlang, spare.program()
    armed = f"--arm {spare.link}"
    planned = zlang("plan", program).out
    assert f"now: {spare.link}: {spare.node}, {SIZE} bytes, serial {spare.image}, on it: nothing" in planned
    assert f"to permit this: zlang run {program} {armed}" in planned
    assert (
        f"if everything on them may be lost, type: zlang run {program} {armed}\n" in zlang("run", program, code=1).err
    )
    assert "does not write to /dev/other" in zlang("run", program, "--arm", "/dev/other", code=1).err
    assert not (spare.at / "runs").exists()
    zlang.environment["ZLANG_ARM"] = f"p b {spare.link}"
    zlang("run", program, code=1)
    assert spare.digest() == hashlib.sha256(bytes(SIZE)).hexdigest()
    zlang("run", program, *armed.split())
    assert spare.digest() != hashlib.sha256(bytes(SIZE)).hexdigest()
    kept = zlang.folder() / "armed"
    for was, now in (
        (Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "another-boot"),
        ('"plan": "', '"plan": "x'),
    ):
        text = kept.read_text()
        kept.write_text(text.replace(was, now))
        assert "is executed: its plan.jsonl" in zlang("resume", "--only", "1", code=1).err
        kept.write_text(text)
    zlang("resume", "--only", "1", *armed.split())


def test_the_script_is_armed_for_its_plan_and_this_boot(spare: Disk) -> None:
    spare.zlang("plan", spare.program(), "--emit", "sh", "--out", ".")

    def script(**more: str) -> tuple[int, str]:
        done = subprocess.run(
            ["sh", "plan.sh"], cwd=spare.at, env={**os.environ, **more}, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stderr

    for wrong in ({}, {"ZLANG_ARM": spare.link}, {"ZLANG_ARM": f"0123456789abcdef boot {spare.link}"}):
        code, printed = script(**wrong)
        assert code == 1
        assert not (spare.at / "runs").exists()
    line = printed[printed.index("ZLANG_ARM='") + len("ZLANG_ARM='") :]
    assert spare.digest() == hashlib.sha256(bytes(SIZE)).hexdigest()
    code, printed = script(ZLANG_ARM=line[: line.index("'")], ZLANG_LOOK="1")
    assert code == 0, printed
    (granted,) = spare.at.glob("runs/*/trials/*/*/*/spare.granted")
    assert granted.read_text(), "it was held, not only looked at"
    assert spare.digest() != hashlib.sha256(bytes(SIZE)).hexdigest()


def test_a_script_knows_the_directory_of_links_that_it_makes_again(spare: Disk) -> None:
    """Another directory of that name may have another inode, as in /dev."""
    spare.zlang("plan", spare.program(rw="write | randwrite"), "--emit", "sh", "--out", ".")
    words = ["sh", "plan.sh"]
    stderr = subprocess.run(words, cwd=spare.at, capture_output=True, text=True, timeout=60, check=False).stderr
    armed = stderr[stderr.index("ZLANG_ARM='") :].split("'")[1]
    done = subprocess.run(
        words, cwd=spare.at, env={**os.environ, "ZLANG_ARM": armed}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 trials are done, 0 of them failed" in done.stdout + done.stderr


def test_an_armed_device_carries_a_file_system_and_is_blank_again(spare: Disk) -> None:
    more = "import filesystems\next4 volume on spare {}\nfile data on volume { size = 4MiB }"
    spare.zlang("run", spare.program(more=more, on="data"), "--arm", spare.link)
    assert say("wipefs", "--noheadings", spare.node) == ""
    assert spare.zlang.rows("select count(*) as n from trials where valid")[0]["n"] == 1
    assert not [name for name in spare.zlang.names() if name.startswith("zlang-")]


def test_swap_on_another_device_does_not_matter(spare: Disk) -> None:
    """Most machines have swap."""
    with attached(blank(spare.at / "two.img")) as other:
        say("mkswap", other)
        say("swapon", other)
        try:
            spare.zlang("run", spare.program(), "--arm", spare.link)
        finally:
            say("swapoff", other)
    assert spare.zlang.rows("select count(*) as n from trials where valid")[0]["n"] == 1


def test_only_devices_given_to_wipe_are_wiped(spare: Disk) -> None:
    say("mke2fs", "-q", "-t", "ext4", spare.node)
    before = spare.digest()
    spare.zlang("run", spare.program(rw="read"))
    assert "is not empty: ext4" in spare.zlang("run", spare.program(), "--arm", spare.link, code=1).err
    assert spare.digest() == before
    spare.zlang("run", spare.program(), "--arm", spare.link, "--wipe", spare.link)
    assert say("wipefs", "--noheadings", spare.node) == ""


def test_the_device_of_another_pool_is_refused(zfs_fuse: ZfsFuse, spare: Disk) -> None:
    member = zfs_fuse.place / "member"
    with member.open("wb") as file:
        file.truncate(64 * MIB)
    zfs_fuse.say("zpool", "create", "-o", "cachefile=none", "-m", "none", "other", str(member))
    try:
        with attached(member) as node:
            Path(spare.link).unlink()
            Path(spare.link).symlink_to(node)
            before = hashlib.sha256(member.read_bytes()).hexdigest()
            refusals = spare.guarded(serial=str(member), size="64MiB")
            assert "is not empty: zfs" in refusals["plan"]
            assert "is not empty: zfs" in refusals["step"]
            assert hashlib.sha256(member.read_bytes()).hexdigest() == before
    finally:
        zfs_fuse.say("zpool", "destroy", "other")


def _data(disk: Disk, at: int) -> None:
    with disk.node.open("r+b") as file:
        file.seek(at)
        file.write(b"somebody's data")


NOT_EMPTY = {
    "data at the beginning": 4096,
    "data at the end of the first MiB": MIB - 15,
    "data in the last MiB": SIZE - MIB,
    "data at the very end": SIZE - 15,
}


@pytest.mark.parametrize("case", NOT_EMPTY)
def test_data_without_a_signature_are_not_overwritten(spare: Disk, case: str) -> None:
    _data(spare, NOT_EMPTY[case])
    before = spare.digest()
    refusals = spare.guarded()
    assert "is not empty: data" in refusals["plan"]
    assert "is not empty: data" in refusals["step"]
    assert spare.digest() == before


def test_a_run_can_overwrite_its_own_data_and_blanks_both_ends(spare: Disk) -> None:
    """Two trials write the whole device; this data blocks neither the second trial nor a later run."""
    program = spare.program(rw="write | rw")
    path = spare.at / program
    path.write_text(path.read_text().replace("io_size = 1MiB", "io_size = 32MiB"))
    spare.zlang("run", program, "--arm", spare.link)
    image = spare.image.read_bytes()
    assert image[:MIB] == image[-MIB:] == bytes(MIB)
    refusals = spare.guarded()
    assert refusals == {"plan": "", "step": ""}


@pytest.mark.parametrize("is_overwritten", [True, False])
def test_data_left_by_a_killed_run_are_kept_and_reported(spare: Disk, is_overwritten: bool) -> None:
    """It is unknown whether the run or somebody else wrote it."""
    program = spare.program(rw="write")
    path = spare.at / program
    path.write_text(path.read_text().replace("end_fsync = on", "runtime = 60s  time_based = on"))
    process = spare.zlang.start("run", program, "--yes", "--arm", spare.link)
    wait_for(lambda: spare.image.read_bytes()[:MIB] != bytes(MIB))
    process.kill()
    process.communicate()
    for number in left_of(next(spare.at.glob("runs/*/plan.jsonl")).parent.name):
        os.kill(number, signal.SIGKILL)
    wait_for(lambda: not left_of(next(spare.at.glob("runs/*/plan.jsonl")).parent.name))
    if is_overwritten:
        _data(spare, 4096)
    before = spare.digest()
    cleaned = spare.zlang("clean", code=1)
    assert f"the data on {spare.node} are kept" in cleaned.out
    assert spare.digest() == before
    assert spare.zlang("clean").out.startswith("already gone")
    refused = spare.zlang("resume", "--arm", spare.link, code=None)
    assert "is not empty: data" in refused.out + refused.err
    assert spare.digest() == before


def test_data_are_wiped_only_with_wipe(spare: Disk) -> None:
    _data(spare, 4096)
    _data(spare, SIZE - 15)
    program = spare.program()
    assert "is not empty: data" in spare.zlang("run", program, "--arm", spare.link, code=1).err
    spare.zlang("run", program, "--arm", spare.link, "--wipe", spare.link)
    assert spare.guarded()["plan"] == ""


@pytest.mark.parametrize("serial", ["", " ", "{image}\\n", "\\n{image}", "WRONG\\n", "\\nWRONG", "{image}\\nWRONG"])
def test_a_serial_is_one_line(spare: Disk, serial: str) -> None:
    program = spare.program(serial=serial.replace("{image}", str(spare.image)))
    assert "error[E302]: `serial` cannot be" in spare.zlang("check", program, code=1).err
    assert "error[E302]: `serial` cannot be" in spare.zlang("run", program, "--arm", spare.link, code=1).err
    assert spare.digest() == hashlib.sha256(bytes(SIZE)).hexdigest()


def test_a_param_that_is_not_set_is_no_serial(spare: Disk) -> None:
    more = f'param number: string = "{spare.image}"'
    program = spare.program(more=more)
    path = spare.at / program
    path.write_text(path.read_text().replace(f'serial = "{spare.image}"', "serial = number"))
    assert "`serial` cannot be" in spare.zlang("run", program, "--set", 'number=""', "--arm", spare.link, code=1).err
    assert spare.digest() == hashlib.sha256(bytes(SIZE)).hexdigest()


USES = {
    "fio": {"rw": "write"},
    "mke2fs": {
        "more": "import filesystems\next4 volume on spare {}\nfile data on volume { size = 4MiB }",
        "on": "data",
    },
    "mkfs.xfs": {
        "more": "import filesystems\nxfs volume on spare {}\nfile data on volume { size = 4MiB }",
        "on": "data",
    },
    "mkfs.btrfs": {
        "more": "import filesystems\nbtrfs volume on spare {}\nfile data on volume { size = 4MiB }",
        "on": "data",
    },
    "blkdiscard": {"more": "import treatments", "on": "spare  before = discard {}"},
}
"""What uses a device once its guard has let go of it: the tool, and the program that has it used."""


@pytest.mark.parametrize("tool", USES)
def test_a_link_or_node_replaced_after_the_guard_has_no_effect(disk: Path, tool: str) -> None:
    """Just before a tool starts, the link and the node in /dev in the program are replaced with a bystander's."""
    size = 400 * MIB
    before = set(Path("/dev").glob("zlang-one-*-spare"))  # a run that was killed on this machine may have left some
    (disk / "by-id").mkdir()
    for name in ("one", "two"):
        with (disk / f"{name}.img").open("wb") as file:
            file.truncate(size)
    with attached(disk / "one.img") as node, attached(disk / "two.img") as bystander:
        (disk / "by-id" / "one").symlink_to(node)
        spare = Disk(disk, node, Zlang(disk))
        program = spare.program(size="400MiB", **USES[tool])
        aside = node.with_name(f"{node.name}-aside")
        swap = f"mv {node} {aside} && cp -a {bystander} {node} && ln -sfn {bystander} {spare.link}"
        Tools(spare.zlang).wrap(tool, f'test -e {aside} || {{ {swap}; }}; exec {{real}} "$@"')
        try:
            spare.zlang("run", program, "--arm", spare.link, code=None)
        finally:
            swapped = aside.exists()
            if swapped:
                aside.replace(node)
        assert swapped
        # While the name refers to another device, it is left as it is; it is removed once the original is back.
        spare.zlang("clean", code=None)
        say("sync", bystander)
        with (disk / "two.img").open("rb") as file:
            assert all(part.count(0) == len(part) for part in iter(lambda: file.read(MIB), b""))
    assert set(Path("/dev").glob("zlang-one-*-spare")) <= before
