"""Check that identities depend only on what is carried out and on the values reached."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlang.check import check
from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan import trial_keys
from zlang.plan.identity import canonical_json
from zlang.plan.plan import Plan, Setup, Step, Trial
from zlang.source import Source
from zlang.syntax import format as formatting

PROGRAM = """
import linux

# A heap of bytes.
kind heap: resource on dir {
  doc = "a heap"
  property size: size { default = 1MiB  doc = "how much" }
  property pace: duration { unit = 1s }
  property level: count { cost = live  default = 3 }
  offers dir = "{on.dir}/{name}"
  trait holds = size
  create {
    # how it is made
    sh \"\"\"
      printf '%s  %s' 'a b' {size} # a word of it
      echo {if has(pace) then pace else 0} {seven}
    \"\"\" { why = "make it"  timeout = 1min }
  }
  property seven: count { default = 7 }
  create freebsd { sh "elsewhere {size}" }
  change { sh "set {key} {value}" }
  destroy { sh "remove {dir}" { why = "remove it" } }
  verify property { sh "cat level" is "{level}" }
  flush { sh "drop {dir}" }
  warm { sh "fill {dir}" }
  verify cold { sh "resident {dir}" is "0" }
  verify hot { sh "resident {dir}" is "{size}" }
  requires cat "it belongs to coreutils"
}
kind shake: treatment {
  property times: count { default = 2 }
  needs dir as at
  apply { sh "shake {at.dir} {times} {seed}" }
}
kind draw: workload {
  property bs: size { default = 8KiB }
  property shown: count { cost = none }
  property held: count
  writes = on
  needs dir as at
  run {
    sh "draw {at.dir} {bs} {seed}" { why = "measure" }
    reads fio "draw.json" { bs = bs  limit = 5 }
  }
}
dir here { path = "/mnt/x" }
heap data on here { size = 2MiB | 3MiB  pace = 5s  level = 4 }
shake shaken { times = 3 }
draw drawn { bs = 4KiB }
experiment e { on = data  before = shaken  run = drawn  cache = cold  repeat = 2  collect = [vmstat {}] }
"""

EDITS = (
    ("printf '%s  %s'", "printf '%s %s'"),
    ("'a b'", "'a  b'"),
    ("# a word of it\n", "# a word of it; "),
    ("# a word of it", "# another word"),
    ("# A heap of bytes.", "# Nothing."),
    ("    # how it is made\n", ""),
    ("default = 1MiB", "default = 2MiB"),
    ("default = 7 }", "default = 8 }"),
    ("unit = 1s", "unit = 1ms"),
    ("default = 3 }", "default = 5 }"),
    ('doc = "a heap"', 'doc = "a pile"'),
    ('doc = "how much"', ""),
    ('why = "make it"', 'why = "make one"'),
    ("timeout = 1min", "timeout = 2min"),
    ("trait holds = size", ""),
    ('"elsewhere {size}"', '"elsewhere {size} or here"'),
    ('"set {key} {value}"', '"set {key}={value}"'),
    ('"remove {dir}"', '"remove -f {dir}"'),
    ('is "{level}"', 'is "{level} "'),
    ('"drop {dir}"', '"drop  {dir}"'),
    ('is "0" }', 'is "00" }'),
    ('verify hot { sh "resident', 'verify hot { sh "resident -h'),
    ('requires cat "it belongs to coreutils"', ""),
    ("default = 2 }\n  needs", "default = 3 }\n  needs"),
    ("shake {at.dir} {times}", "shake {at.dir} {times + 0}"),
    ("shake {at.dir}", "shake -v {at.dir}"),
    ("default = 8KiB", "default = 4KiB"),
    ("draw {at.dir}", 'draw \\"a\tb\\" {at.dir}'),
    ("draw {at.dir} {bs}", "draw {at.dir} {if bs > 1GiB then 0 else bs}"),
    ("limit = 5", "limit = 6"),
    ('"draw.json"', '"drawn.json"'),
    ("limit = 5", "limit = 2 + 3"),
    ("level = 4 }", "level = 6 }"),
    ("pace = 5s", "pace = 6s"),
    ("pace = 5s", "pace = 5000ms"),
    ("2MiB | 3MiB", "2MiB | 4MiB"),
    ("2MiB | 3MiB", "3MiB | 2048KiB"),
    ("times = 3", "times = 4"),
    ("times = 3", "times = 6 / 2"),
    ("bs = 4KiB }", "bs = 4KiB  shown = 3 }"),
    ("bs = 4KiB }", "bs = 4KiB  held = 3 }"),
    ('path = "/mnt/x"', 'path = "/mnt/y"'),
    ('path = "/mnt/x"', 'path = "/mnt/x"  bandwidth = 1GiB/s'),
    ("cache = cold", "cache = hot"),
    ("cache = cold", "cache = as_is"),
    ("repeat = 2", "repeat = 1"),
    ("collect = [vmstat {}]", "collect = [vmstat { interval = 2s }]"),
    ("collect = [vmstat {}]", ""),
    ("before = shaken", ""),
    ("experiment e {", "experiment other {"),
)


def plan_of(text: str, seed: int = 1) -> Plan:
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert checked.is_sound, checked.findings
    return plans.plan(checked, programs.choose(checked, None), seed, Overrides()).plan


def of_steps(steps: tuple[Step, ...], seeds: set[str]) -> Iterator[Hashable]:
    for step in steps:
        words = [("SEED" if word in seeds else word) for word in step.command.split(" ")]
        read = step.reader
        # A collector without its own name is named after the experiment.
        reader = orjson.dumps([read.name, read.artefact.replace("other.", "e."), read.args]) if read else None
        yield step.action, " ".join(words), step.expect, reader


def done(text: str) -> dict[str, Hashable]:
    """Return the commands at each point of a program, and the values that it reaches, by identity."""
    items = list(plan_of(text).items())
    setups = {item.signature: item for item in items if isinstance(item, Setup)}
    contents: dict[str, Hashable] = {}
    for trial in (item for item in items if isinstance(item, Trial)):
        steps: list[tuple[Step, ...]] = []
        for signature in trial.setups:
            setup = setups[signature]
            steps += [setup.make, *(setting.steps for setting in setup.settings), setup.unmake]
        # The last word of a command that draws.
        every = [step.command for part in (*steps, trial.steps) for step in part]
        seeds = {command.split(" ")[-1] for command in every if command.startswith(("shake", "draw"))}
        shown = tuple(tuple(of_steps(part, seeds)) for part in (*steps, trial.steps))
        values = ("held = 3" in text, "heap" in text)
        contents[trial.identity] = (shown, values)
    return contents


def test_different_points_have_different_identities() -> None:
    contents = done(PROGRAM)
    assert len(contents) == len(set(contents.values())) == 2


@pytest.mark.parametrize("seed", range(6))
def test_random_edits_change_an_identity_only_with_its_commands(seed: int) -> None:
    drawn = random.Random(seed)
    contents = done(PROGRAM)
    changed = same = 0
    for count in (1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3):
        text = PROGRAM
        for old, new in drawn.sample(EDITS, count):
            text = text.replace(old, new)
        for identity, shown in done(text).items():
            alike = [name for name, content in contents.items() if content == shown]
            assert alike == ([identity] if identity in contents else []), text
            changed += not alike
            same += len(alike)
    assert changed
    assert same


@pytest.mark.parametrize(("old", "new"), EDITS)
def test_one_edit_changes_an_identity_only_with_its_commands(old: str, new: str) -> None:
    assert old in PROGRAM
    contents = done(PROGRAM)
    for identity, shown in done(PROGRAM.replace(old, new)).items():
        assert [name for name, content in contents.items() if content == shown] == (
            [identity] if identity in contents else []
        )


def test_names_seeds_and_format_are_no_part_of_an_identity() -> None:
    identities = done(PROGRAM).keys()
    text = PROGRAM
    for name in ("data", "here", "shaken", "drawn"):
        text = text.replace(f" {name} ", f" another_{name} ")
    for same in (text, formatting.program(Source("program.zexp", PROGRAM)).text):
        assert done(same).keys() == identities
    assert {item.identity for item in plan_of(PROGRAM, 9).items() if isinstance(item, Trial)} == identities


TWO = """
import "./lab.zexp" as lab
kind heap: workload { run { sh "echo two" } }
heap two
experiment e { run = lab.one | two }
"""


@pytest.mark.parametrize(("command", "pair"), [("echo one", None), ("echo two", (1, 2))])
def test_kinds_with_the_same_name_differ_by_their_commands(command: str, pair: tuple[int, int] | None) -> None:
    lab = f'kind heap: workload {{ run {{ sh "{command}" }} }}\nheap one\n'
    checked = check.program(Source("program.zexp", TWO), lambda _: Source("lab.zexp", lab).text, Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides())
    assert trial_keys.twins(planned.schedule) == pair
    assert len({item.identity for item in planned.plan.items() if isinstance(item, Trial)}) == (1 if pair else 2)


PLAIN = st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats(allow_nan=False) | st.text()


@given(st.recursive(PLAIN, lambda some: st.lists(some) | st.dictionaries(st.text(), some), max_leaves=20))
def test_arguments_are_written_as_orjson_writes_them(value: object) -> None:
    assert canonical_json(value) == orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
