"""Test wrappers in plans: they start the measured command and are part of a trial's identity."""

from __future__ import annotations

import subprocess
from pathlib import Path

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Trial
from zlang.source import Source

HEAD = """
import wrappers
dir here { path = "." }
kind says: wrapper {
  doc = "x"
  property word: string { required = on }
  wrap { sh "echo {word} >>{out}/said.txt && {command}" }
}
says inner { word = "it's" }
says outer { word = "$HOME" }
"""


def trials_of(text: str) -> list[Trial]:
    checked = programs.check(Source("program.zexp", HEAD + text), Overrides())
    assert [f.message for f in checked.findings if f.code.id.startswith("E")] == []
    (experiment,) = checked.program.experiments.values()
    planned = plans.plan(checked, experiment, 1, Overrides()).plan
    return [item for item in planned.items() if isinstance(item, Trial)]


def command_of(trial: Trial) -> str:
    (command,) = [step.command for step in trial.steps if step.action is Action.MEASURE]
    return command


def looking(under: str) -> list[Trial]:
    shell = f"shell looks {{ command = \"echo 'done' >>$OUT/said.txt; exit 3\"  writes = off  under = {under} }}"
    return trials_of(f"{shell}\nexperiment e {{ on = here  run = looks }}")


def test_a_list_of_wrappers_starts_the_workload_from_the_outside_in(tmp_path: Path) -> None:
    (trial,) = looking("[outer, inner]")
    environment = {"OUT": str(tmp_path), "RUN": "r", "PATH": "/usr/bin:/bin"}
    place = tmp_path / "zlang-r"
    place.mkdir()
    done = subprocess.run(["sh", "-c", command_of(trial)], env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 3
    assert (tmp_path / "said.txt").read_text().splitlines() == ["$HOME", "it's", "done"]


def test_each_wrapper_gives_a_different_identity() -> None:
    trials = looking("none | inner | outer | [inner, outer] | [outer, inner]")
    assert len({trial.identity for trial in trials}) == 5
    (plain,) = looking("none")
    assert (plain.identity, plain.steps) in [(trial.identity, trial.steps) for trial in trials]


def test_streams_under_different_wrappers_are_separate_processes() -> None:
    fio = "import fio\nfile data on here {{ size = 1MiB }}\nfio a {{ rw = read {} }}\nfio b {{ rw = randread {} }}\n"
    program = fio + "experiment e {{ on = data  run = [a, b] }}"
    (together,) = trials_of(program.format("under = inner", "under = inner"))
    (apart,) = trials_of(program.format("under = inner", "under = outer"))
    assert command_of(together).count("fio --") == 1
    assert command_of(apart).count("fio --") == 2


def test_streams_whose_wrapper_has_metrics_are_separate_processes() -> None:
    fio = "import fio\nfile data on here { size = 1MiB }\nstrace under_strace {}\n"
    fio += "fio a { rw = read under = under_strace }\nfio b { rw = randread under = under_strace }\n"
    (apart,) = trials_of(fio + "experiment e { on = data  run = [a, b] }")
    assert command_of(apart).count("strace --") == 2


SLOW = """
import fio
file data on here { size = 1MiB }
kind slow: wrapper {
  doc = "x"
  TRAIT
  wrap { sh "sleep 1 && {command}" }
}
slow late {}
nice patient { niceness = 1 }
fio a { rw = read  size = 4KiB }
let b = a with { under = late }
let c = a with { under = [patient, late] }
experiment e { on = data  run = [a, b, c] }
"""


def begins_of(trait: str, place: Path, run: str = "[a, b, c]") -> list[float]:
    """Return the start times of fio in each process, some of which have a wrapper that takes a second."""
    (trial,) = trials_of(SLOW.replace("TRAIT", trait).replace("[a, b, c]", run))
    (place / "zlang-r").mkdir()
    (place / "zlang-r/data").write_bytes(bytes(1 << 20))
    environment = {"OUT": str(place), "RUN": "r", "PATH": "/usr/bin:/bin"}
    subprocess.run(["sh", "-c", command_of(trial)], env=environment, cwd=place, check=True, capture_output=True)
    return [float(began.read_text()) for began in sorted(place.glob("stream*/began"))]


def test_streams_under_different_wrappers_begin_together(tmp_path: Path) -> None:
    """Every wrapper has started its tool before any stream begins."""
    began = begins_of("trait keeps_environment = on", tmp_path)
    assert max(began) - min(began) < 0.5
    assert min(began) - min(path.stat().st_mtime for path in tmp_path.glob("stream*/measure.out")) > 0.5


def test_delayed_parts_count_from_the_common_start(tmp_path: Path) -> None:
    """Later parts of a schedule, and delayed workloads, start on time however long fio waits for others."""
    timed = "a with {{ time_based = on  runtime = {} }}"
    scheduled = timed.format("2s  rate_iops = [50/s for 1s, 100/s for 1s]")
    began = begins_of(
        "trait keeps_environment = on", tmp_path, f"[{scheduled}, b, {timed.format('1s startdelay = 1s')}]"
    )
    assert max(began) - min(began) < 0.5
    logs = [path for path in tmp_path.rglob("*_iops.log") if path.name[:9] in ("stream1.2", "stream3_i")]
    firsts = [int(log.read_text().split(",")[0]) / 1000 - began[0] for log in logs]
    assert len(firsts) == 2
    assert all(1 < first < 2 for first in firsts), firsts


def test_the_shell_waits_before_a_wrapper_without_keeps_environment(tmp_path: Path) -> None:
    """Such a wrapper may start fio without what the gate needs."""
    (trial,) = trials_of(SLOW.replace("TRAIT", ""))
    assert "exec_prerun" not in command_of(trial)
    began = begins_of("", tmp_path)
    assert max(began) - min(began) < 0.5


def test_the_tools_of_wrappers_are_required() -> None:
    text = 'shell looks { command = "true"  under = [strace {}, nice {}] }\nexperiment e { on = here  run = looks }'
    checked = programs.check(Source("program.zexp", HEAD + text), Overrides())
    (experiment,) = checked.program.experiments.values()
    tools = plans.plan(checked, experiment, 1, Overrides()).plan.header.tools
    assert {"strace", "nice"} <= tools.keys()
