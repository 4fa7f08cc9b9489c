"""Workloads at the same time, carried out by the runner and by the script."""

from __future__ import annotations

import subprocess

import pytest
from command_line import Zlang

PROGRAM = """
import fio

dir here { path = "." }
file data on here { size = 1MiB }
file archive on here { size = 1MiB }
fio oltp { rw = randread  bs = 4KiB  time_based = on  runtime = 1s  rate_iops = 500/s }
fio backup on archive { rw = read  bs = 64KiB  time_based = on  runtime = 1s  rate_iops = 50/s }
shell naps { command = "sleep 2"  writes = off }
shell dozes on archive { command = "sleep 2"  writes = off }
let both = [oltp, backup]
let load = oltp | both
experiment beside {
  on  = data
  run = load
  table read_iops, oltp.read_iops, backup.read_iops, fairness by load
}
experiment naps { on = data  run = [naps, dozes] }
"""


def test_streams_of_one_process(zlang: Zlang) -> None:
    """Their figures are each stream's, and add up; alone, a stream has its own by the same name."""
    ended = zlang.run(PROGRAM, "--experiment", "beside")
    assert "oltp.read_iops" in ended.out
    rows = zlang.rows("select load, read_iops, oltp_read_iops, backup_read_iops, fairness from trials")
    alone, both = sorted(rows, key=lambda row: row["load"] == "both")
    assert (alone["load"], both["load"]) == ("oltp", "both")
    assert alone["read_iops"] == alone["oltp_read_iops"]
    assert (alone["backup_read_iops"], alone["fairness"]) == (None, None)
    own = [both["oltp_read_iops"], both["backup_read_iops"]]
    assert both["read_iops"] == pytest.approx(sum(value for value in own if isinstance(value, float)))
    found = zlang.rows("select stream, value from metrics where metric = 'read_iops' and stream is not null order by 1")
    assert [(row["stream"], row["value"]) for row in found] == [("backup", own[1]), ("oltp", own[0])]
    (bins,) = zlang.rows(
        "select sum(count) filter (stream is null) = sum(count) filter (stream is not null) as same "
        "from latency join trials using (run, trial, replicate) where load = 'both' and kind = 'clat'"
    )
    assert bins == {"same": True}


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_the_script_begins_processes_together(zlang: Zlang, shell: str) -> None:
    script = zlang("plan", zlang.program(PROGRAM), "--experiment", "naps", "--emit", "sh").out
    (zlang.at / "plan.sh").write_text(script, "utf-8")
    subprocess.run([shell, "plan.sh"], cwd=zlang.at, env=zlang.variables(), check=True, capture_output=True)
    (trial,) = zlang.folder().glob("trials/*/1/a1")
    began = [float((trial / f"stream{number}/began").read_text()) for number in (1, 2)]
    ended = [float((trial / f"stream{number}/ended").read_text()) for number in (1, 2)]
    assert max(began) < min(ended)
    assert not (trial / "gate").exists()


def test_the_runner_begins_processes_together(zlang: Zlang) -> None:
    zlang.run(PROGRAM, "--experiment", "naps")
    rows = zlang.rows("select stream from metrics where metric = 'elapsed' and stream is not null order by all")
    assert [row["stream"] for row in rows] == ["dozes", "naps"]
