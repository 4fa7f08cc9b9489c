"""Measure the cost of a trial in plans of every command, beside tools from PyPI: ReBench, Snakemake, ReFrame.

In: `matrix.zexp` beside this file. Out: one table. Each tool (https://rebench.readthedocs.io,
https://snakemake.readthedocs.io, https://reframe-hpc.readthedocs.io) is installed in a scratch environment of its own
and goes through the same four axes, of as many points as it can take in a few seconds; zlang goes through as many.
Usage: python bench/peers.py [ROUNDS]
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import measure

PROGRAM = Path(__file__).with_name("matrix.zexp")
COMMAND = (
    "fio --name=mixed --filename=data --size=67108864 --thread=1 --group_reporting=1 --fallocate=none "
    "--allow_file_create=0 --refill_buffers=1 --percentile_list=50:95:99:99.9 --output-format=json+ "
    "--output=fio.json --ioengine=libaio --direct=1 --rw=randrw --time_based=1 --runtime=1 "
    "--bs={bs} --iodepth={iodepth} --numjobs={numjobs} --rwmixread={rwmixread}"
)
POINT = re.compile(r"[-%]bs=(\d+)\W+iodepth=(\d+)\W+numjobs=(\d+)\W+rwmixread=(\d+)")
SNAKEFILE = """
rule all:
    input: expand("{{bs}}-{{iodepth}}-{{numjobs}}-{{rwmixread}}.done", **{levels})

rule measure:
    output: touch("{{bs}}-{{iodepth}}-{{numjobs}}-{{rwmixread}}.done")
    shell: "{command}"
"""
CHECK = """
import reframe
from reframe.utility import sanity

@reframe.simple_test
class mixed(reframe.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    bs, iodepth, numjobs, rwmixread = {parameters}

    @run_before("run")
    def command(self):
        self.executable, *self.executable_opts = f"{command}".split()

    @sanity_function
    def is_measured(self):
        return sanity.assert_true(True)
"""


@dataclass(frozen=True, slots=True)
class Size:
    """A part of the matrix, by its number of depths and of mixes."""

    depths: int
    mixes: int

    @property
    def levels(self) -> dict[str, list[int]]:
        """Those of each axis."""
        return {
            "bs": list(range(4096, 40961, 4096)),
            "iodepth": list(range(1, self.depths + 1)),
            "numjobs": list(range(1, 11)),
            "rwmixread": list(range(1, self.mixes + 1)),
        }

    @property
    def points(self) -> int:
        """The number of points."""
        return 100 * self.depths * self.mixes


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool that goes through the matrix. Its points stand in its output, or in the files `shown` of its directory."""

    name: str
    size: Size
    command: measure.Command
    shown: str | None = None

    @property
    def texts(self) -> Iterable[str]:
        """The texts that show the points."""
        files = [self.command.output] if self.shown is None else self.command.directory.glob(self.shown)
        return (path.read_text("utf-8") for path in files)


def rebench(scratch: Path, size: Size) -> Peer:
    """ReBench's plan: the measured commands."""
    levels = size.levels
    holes = {"bs": "benchmark", "iodepth": "input", "numjobs": "cores", "rwmixread": "variable"}
    suite = {
        "gauge_adapter": "Time",
        "command": filled({name: f"%({hole})s" for name, hole in holes.items()}).removeprefix("fio "),
        "input_sizes": levels["iodepth"],
        "cores": levels["numjobs"],
        "variable_values": levels["rwmixread"],
        "benchmarks": [str(size) for size in levels["bs"]],
    }
    config = {
        "default_experiment": "matrix",
        "default_data_file": "matrix.data",
        "benchmark_suites": {"fio": suite},
        "executors": {"fio": {"path": "/usr/bin", "executable": "fio"}},
        "experiments": {"matrix": {"suites": ["fio"], "executions": ["fio"]}},
    }
    (scratch / "rebench.conf").write_text(json.dumps(config), "utf-8")  # YAML that is JSON
    home = measure.installed(scratch / "venv", "ReBench")
    words = [str(home / "rebench"), "--no-denoise", "--execution-plan", "rebench.conf"]
    return Peer("ReBench -p", size, measure.Command(words, scratch, scratch / "shown"))


def snakemake(scratch: Path, size: Size) -> Peer:
    """Snakemake's dry run, which prints the commands and why each is due."""
    command = filled({name: f"{{wildcards.{name}}}" for name in size.levels})
    (scratch / "Snakefile").write_text(SNAKEFILE.format(levels=size.levels, command=command), "utf-8")
    home = measure.installed(scratch / "venv", "snakemake")
    words = [str(home / "snakemake"), "--dry-run", "--printshellcmds", "--cores", "1"]
    return Peer("Snakemake -n -p", size, measure.Command(words, scratch, scratch / "shown", own_home(scratch)))


def reframe(scratch: Path, listed: Size, made: Size) -> tuple[Peer, Peer]:
    """ReFrame's list, of the points alone, and its dry run, which writes each command into a script of its own."""
    home = measure.installed(scratch / "venv", "reframe-hpc")

    def peer(option: str, size: Size, shown: str | None) -> Peer:
        parameters = ", ".join(f"parameter({levels})" for levels in size.levels.values())
        measured = filled({name: f"{{self.{name}}}" for name in size.levels})
        directory = scratch / option
        directory.mkdir()
        (directory / "matrix.py").write_text(CHECK.format(parameters=parameters, command=measured), "utf-8")
        words = [str(home / "reframe"), "--checkpath", "matrix.py", f"--{option}"]
        command = measure.Command(words, directory, directory / "shown", own_home(directory))
        return Peer(f"ReFrame --{option}", size, command, shown)

    return peer("list", listed, None), peer("dry-run", made, "stage/**/rfm_job.sh")


def zlang(scratch: Path, size: Size) -> Peer:
    """Every command: those that make and remove, treat the caches, check them, measure."""
    settings = ["--set", f"tenths={size.depths}", "--set", f"mixes={size.mixes}%"]
    words = [*measure.zlang("plan", str(PROGRAM)), "--steps", *settings]
    return Peer("zlang", size, measure.Command(words, output=scratch / f"{size.points}.txt"))


def filled(holes: Mapping[str, str]) -> str:
    """The measured command with a tool's own way of naming its axes."""
    return COMMAND.format(**holes)


def own_home(directory: Path) -> dict[str, str]:
    """The directory for a tool's caches and logs."""
    return {"HOME": str(directory), "TMPDIR": str(directory)}


def is_whole(peer: Peer) -> bool:
    """Whether it showed each point once."""
    measured_points = [tuple(map(int, point)) for text in peer.texts for point in POINT.findall(text)]
    return sorted(measured_points) == sorted(itertools.product(*peer.size.levels.values()))


def main() -> int:
    """Install the tools, measure, print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    checks = []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for tool in ("rebench", "snakemake", "reframe"):
            (scratch / tool).mkdir()
        peers = [
            rebench(scratch / "rebench", Size(10, 100)),
            snakemake(scratch / "snakemake", Size(1, 100)),
            *reframe(scratch / "reframe", Size(1, 10), Size(1, 1)),
        ]
        shown = [(zlang(scratch, peer.size), peer) for peer in peers]
        for own, peer in shown:
            ours, theirs = measure.in_turn([own.command, peer.command], rounds)
            each = 1000 / peer.size.points
            label = f"every command of {peer.size.points:,} trials"
            checks += [
                measure.Check(f"{label}, CPU a trial", each * ours.cpu, "ms", peer.name, each * theirs.cpu),
                measure.Check(f"{label}, memory", ours.peak, "MiB", peer.name, theirs.peak),
            ]
        # Not before: a process begins with the memory of the one that starts it, and these are long texts.
        for command_shown in itertools.chain(*shown):
            if not is_whole(command_shown):
                sys.exit(f"{command_shown.name} did not show each of the {command_shown.size.points:,} points once")
    return measure.verdict(checks)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
