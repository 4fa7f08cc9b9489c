"""Test examples/studies: compare their plans with golden files, and carry out a few of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import REPOSITORY
from private_daemon import ZfsFuse

from tools import studies
from zlang.check.check import Overrides
from zlang.cli.app import guarded
from zlang.pipeline import costs, plans, programs, results

Capture = pytest.CaptureFixture[str]

GOLDEN = Path(__file__).parent / "golden/studies.txt"
RUNNABLE = studies.runnable()

# Sizes on disk equal the published ones on any machine; speeds are discussed only in docs/studies.md.
HANDFUL = ["000.3-size-on-disk", "004.2-disk-space"]


def plan_of(path: Path, profile: str | None) -> plans.Planned:
    overrides = Overrides(profile=profile)
    checked = programs.check(programs.read(str(path)), overrides)
    assert checked.is_sound, checked.findings
    return plans.plan(checked, programs.choose(checked, None), 1, overrides)


def outline(path: Path, profile: str | None) -> Iterator[str]:
    header = plan_of(path, profile).plan.header
    yield f"{path.stem} {profile or 'as published'}: {header.points} points × {header.repeat} = {header.trials} trials"
    for factor in header.factors:
        yield f"  {factor.name}: {' | '.join(map(str, factor.levels))}"


def test_the_plans_are_those_of_the_studies() -> None:
    lines = [line for path in studies.every() for line in outline(path, None)]
    lines += [line for path in RUNNABLE for line in outline(path, "small")]
    outlines = "\n".join([*lines, ""])
    if os.environ.get("BLESS"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(outlines, "utf-8")
    assert outlines == GOLDEN.read_text("utf-8")


EXPLAINED = [
    "000.2-drift-of-replays",
    "001.6-state-of-a-device",
    "002.2-capacity",
    "003.2-tuning-zfs",
    "004.4-depths-and-jobs",
]


@pytest.mark.parametrize("name", EXPLAINED)
def test_one_of_each_study_explained(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    monkeypatch.setattr("zlang.run.machine.ToolSearch.missing", lambda _: {})
    monkeypatch.setattr("zlang.pipeline.costs.free", lambda _: {})
    monkeypatch.setattr("zlang.pipeline.runs.all_runs", lambda _: [])
    monkeypatch.chdir(REPOSITORY)
    program = f"examples/studies/{name}.zexp"
    assert guarded(["plan", program, "--profile", "small", "--db", str(tmp_path / "none.duckdb")]) == 0
    out = capsys.readouterr().out
    golden = GOLDEN.parent / f"{name}.txt"
    if os.environ.get("BLESS"):
        golden.write_text(out, "utf-8")
    assert out == golden.read_text("utf-8")


def test_the_counts_of_each_order_are_those_in_the_docs(tmp_path: Path) -> None:
    path, overrides = studies.STUDIES / "004.4-depths-and-jobs.zexp", Overrides()
    checked = programs.check(programs.read(str(path)), overrides)
    planned = plans.plan(checked, programs.choose(checked, None), 1, overrides)
    estimates = costs.estimates(planned, tmp_path / "none.duckdb")
    rows = [f"| `{how}` | {estimate.made:.0f} | {estimate.altered:.0f} |" for how, estimate in estimates.items()]
    assert "\n".join(rows) in (REPOSITORY / "docs/language.md").read_text("utf-8")


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.stem)
def test_shellcheck_finds_nothing(path: Path) -> None:
    script = "".join(plans.emit(plan_of(path, "small"), "sh"))
    done = subprocess.run(["shellcheck", "-s", "sh", "-"], input=script.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stdout.decode()) == (0, "")


def test_each_runnable_study_has_a_query_with_its_expected_result() -> None:
    assert {path.stem for path in RUNNABLE} == {path.stem for path in studies.STUDIES.glob("*.sql")}
    for path in RUNNABLE:
        remark = path.with_suffix(".sql").read_text("utf-8").partition("\n")[0]
        assert remark.removeprefix("-- ")


@pytest.mark.parametrize("name", HANDFUL)
def test_a_study_is_carried_out(zfs_fuse: ZfsFuse, name: str) -> None:
    path = studies.STUDIES / f"{name}.zexp"
    zfs_fuse.zlang("run", str(path), "--profile", "small", "--order", "blocked", "--yes")
    assert zfs_fuse.answers("select done = planned and valid = planned as all_count from runs") == [[True]]
    rows = results.query(zfs_fuse.place / "results.duckdb", path.with_suffix(".sql").read_text("utf-8")).rows
    assert rows
    # The first columns are factors, the others our results and the published ones.
    assert all(row[-2] is not None for row in rows)
    assert any(row[-1] is not None for row in rows)
    page = studies.page(zfs_fuse.place / "results.duckdb")
    assert page.count("It was not carried out here.") == len(studies.every()) - 1
