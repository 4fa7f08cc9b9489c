"""Check which commands a plan has for the platform of its host."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from zlang.check import library
from zlang.check.check import Overrides
from zlang.check.program import PLATFORMS
from zlang.diagnostics import Code, ProgramError
from zlang.pipeline import plans, programs
from zlang.plan.plan import Plan, Setup, Trial
from zlang.source import Source

KINDS = """
kind scratch: resource on host {
  offers dir = "/tmp/{name}"
  create { sh "make anywhere" }
  create freebsd { sh "make on freebsd" }
  destroy { sh "remove" }
  flush linux { sh "flush on linux" }
  verify cold linux { sh "see on linux" is "0" }
  verify property { sh "look anywhere" }
  verify property freebsd { sh "look on freebsd" }
}
kind work: workload {
  needs dir as at
  run { sh "work anywhere" }
  run freebsd { sh "work on freebsd" }
}
kind watch: collector { watch linux { sh "watch on linux" } }
work does {}
"""


def plan_of(text: str) -> Plan:
    checked = programs.check(Source("program.zexp", KINDS + text), Overrides())
    assert checked.findings == ()
    return plans.plan(checked, programs.choose(checked, None), 1, Overrides()).plan


def commands(plan: Plan) -> set[str]:
    made = {step.command for item in plan.items() if isinstance(item, Setup) for step in (*item.make, *item.unmake)}
    return made | {step.command for item in plan.items() if isinstance(item, Trial) for step in item.steps}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("scratch here", {"make anywhere", "remove", "look anywhere", "work anywhere"}),
        ("host h {}\nscratch here on h", {"make anywhere", "remove", "look anywhere", "work anywhere"}),
        (
            "host h { platform = freebsd }\nscratch here on h",
            {"make on freebsd", "remove", "look on freebsd", "work on freebsd"},
        ),
        (
            "host a {}\nhost b { platform = freebsd }\nlet h = a | b\nscratch here on h",
            {"make anywhere", "make on freebsd", "remove", "look anywhere", "look on freebsd"}
            | {"work anywhere", "work on freebsd"},
        ),
    ],
)
def test_the_platform_of_the_host_chooses_the_commands(host: str, expected: set[str]) -> None:
    assert commands(plan_of(f"{host}\nexperiment e {{ on = here  run = does }}\n")) == expected


def test_on_every_platform_foreign_things_are_kept(tmp_path: Path) -> None:
    """Commands for platforms without Linux tools are executed on this machine."""
    text = f'host h {{ platform = illumos }}\ndir here on h {{ path = "{tmp_path}" }}\n'
    plan = plan_of(f"{text}experiment e {{ on = here  run = does }}\n")
    (setup,) = (item for item in plan.items() if isinstance(item, Setup))
    out = tmp_path / "run/setups/s/a1"
    out.mkdir(parents=True)
    made = tmp_path / "zlang-r"

    def carry_out(command: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, "RUN": "r", "OUT": str(out)}
        return subprocess.run(["sh", "-c", command], cwd=tmp_path, env=variables, capture_output=True, text=True)

    for step in setup.make:
        assert carry_out(step.command).returncode == 0
    (unmake,) = setup.unmake
    for name in ("of the run", "of somebody"):
        (made / name / "deep").mkdir(parents=True)
        (made / name / "deep/file").touch()
    (tmp_path / "run/leaves").write_text(f"{made}/of the run\n")
    done = carry_out(unmake.command)
    assert done.returncode == 1
    assert f"kept in {made}, since this run did not make it: ./of somebody" in done.stderr
    assert [path.name for path in made.iterdir()] == ["of somebody"]
    assert (made / "of somebody/deep/file").exists()
    shutil.rmtree(made / "of somebody")
    assert carry_out(unmake.command).returncode == 0
    assert not made.exists()


def test_a_cache_protocol_for_another_platform_is_none() -> None:
    text = "host h { platform = PLATFORM }\nscratch here on h\nexperiment e { on = here  run = does  cache = cold }\n"
    assert "see on linux" in commands(plan_of(text.replace("PLATFORM", "linux")))
    with pytest.raises(ProgramError) as caught:
        commands(plan_of(text.replace("PLATFORM", "freebsd")))
    assert caught.value.diagnostic.code is Code.NOT_MEASURABLE


@pytest.mark.parametrize(
    ("fact", "levels", "seen", "code"),
    [
        ("platform", ("linux", "illumos"), "", Code.NO_PLATFORM),
        ("kernel", ('"6.12"', '"5.4"'), "often = on", Code.TOO_OLD),
    ],
)
@pytest.mark.parametrize("where", [False, True])
def test_features_that_some_hosts_lack_are_found_if_a_trial_needs_them(
    fact: str, levels: tuple[str, str], seen: str, code: Code, *, where: bool
) -> None:
    kinds = KINDS.replace("collector {", 'collector { property often: bool { since = "kernel 6.1" }\n')
    hosts = "".join(f"host {name} {{ {fact} = {level} }}\n" for name, level in zip("ab", levels, strict=True))
    things = f"{hosts}let h = a | b\nscratch here on h\nwatch seen {{ {seen} }}\n"
    more = f"where h.{fact} == {levels[0]} " if where else ""
    text = f"{kinds}{things}experiment e {{ on = here  run = does  collect = [seen]  {more}}}\n"
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert [finding.code for finding in checked.findings if finding.code is not Code.UNUSED_WHERE] == (
        [] if where else [code]
    )
    plan = plans.plan(checked, programs.choose(checked, None), 1, Overrides()).plan
    if where:
        assert plan.header.trials == len([item for item in plan.items() if isinstance(item, Trial)]) == 1
    else:
        with pytest.raises(ProgramError) as caught:
            list(plan.items())
        assert caught.value.diagnostic.code is code


def test_facts_of_a_host_in_the_library_match_the_code() -> None:
    shipped = library.load()
    facts = shipped.kind("host").properties
    assert tuple(word.name for word in facts["platform"].type.words) == PLATFORMS
    for name in shipped.names():
        names = {property_.since[0] for property_ in shipped.kind(name).properties.values() if property_.since}
        assert names <= {name for name, fact in facts.items() if "version" in fact.type.scalars}
