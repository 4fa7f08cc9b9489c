"""Check that a list of one is the same trial, with the same commands, as its element without a list.

Experiments are generated at random: their workloads, targets and events. One field is also written as a list of one.
So are all fields of the valid programs of this repository, except collectors: a list names them by their kind.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
import wild_programs
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check import check
from zlang.check.used_kinds import resolve_used_kinds
from zlang.diagnostics import ProgramError
from zlang.plan import build
from zlang.plan.plan import Setup
from zlang.plan.schedule import Schedule
from zlang.source import Source
from zlang.syntax import parse, tree

HEAD = """
import fio
import events
import linux
import wrappers
dir here { path = "." }
file data on here { size = 64MiB }
file several on here { size = 32MiB  copies = 3 }
fio reads { rw = randread  time_based = on  runtime = 5s }
fio calm { rw = randread  time_based = on  runtime = 5s  under = nice { niceness = 4 } }
fio placed on data { rw = read  bs = 1MiB  time_based = on  runtime = 5s }
shell sleeps { command = "sleep 1"  writes = off }
hog busy { at = 1s }
vmstat memory { interval = 1s }
mpstat processors { interval = 1s }
"""
FIELDS = ("on", "run", "during", "collect")
_LOOKED_AT = 20
_PARTS = 4

_numbers = st.integers(1, 4).map(str)
_some = _numbers | st.tuples(_numbers, _numbers).filter(lambda pair: pair[0] != pair[1]).map(" | ".join)
_nice = _some.map("nice {{ niceness = {} }}".format)
_settings = st.one_of(
    _some.map("iodepth = {}".format),
    _some.map("copies = {}".format),
    _nice.map("under = {}".format),
    _nice.map("under = {} | none".format),
    st.sampled_from(['label = "x"', "rw = read | randread", "size = 8MiB"]),
)
_changes = st.lists(_settings, min_size=1, max_size=3, unique_by=lambda text: text.split()[0]).map("  ".join)
_workloads = st.one_of(
    st.sampled_from(["reads", "calm", "placed", "sleeps"]),
    st.tuples(st.sampled_from(["reads", "calm", "placed"]), _changes).map(
        lambda pair: f"{pair[0]} with {{ {pair[1]} }}"
    ),
    _changes.map("fio {{ rw = read  time_based = on  runtime = 5s  {} }}".format),
)
_targets = st.one_of(
    st.sampled_from(["data", "several", "first(several, 2)", 'dir { path = "/tmp" }']),
    st.tuples(st.sampled_from(["data", "several"]), _some).map(lambda pair: f"{pair[0]} with {{ size = 8MiB }}"),
)
_events = st.one_of(
    st.sampled_from(["none", "busy", "hog {}", "reads", "fio { rw = randread }"]),
    _some.map("hog {{ processors = {} }}".format),
    _some.map("busy with {{ processors = {} }}".format),
)
_collectors = st.sampled_from(["memory", "processors"])


def _choices(expressions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(expressions, min_size=1, max_size=3, unique=True).map(" | ".join)


def read(path: str) -> str:
    """Refuse every import."""
    raise FileNotFoundError(2, "No such file or directory", path)


def planned(text: str) -> list[Any]:
    """Return the plan, or the error messages."""
    checked = check.program(Source("program.zexp", text), read)
    messages = sorted(finding.message for finding in checked.findings if finding.code.id.startswith("E"))
    if messages:
        return messages
    made: list[Any] = []
    for experiment in checked.program.experiments.values():
        try:
            schedule = Schedule(experiment, 1)
            kinds = resolve_used_kinds(checked.program, experiment)
            plan = build.plan(checked.program, kinds, build.Builder(schedule), {})
            made.append(plan.header.factors)
            made += islice(plan.items(), _LOOKED_AT)
        except ProgramError as error:
            made.append(error.diagnostic.message)
    return made


def test_the_program_of_this_test_can_be_planned() -> None:
    (setup, *_) = planned(f"{HEAD}experiment e {{ on = data  run = calm  during = busy  collect = memory }}")[1:]
    assert isinstance(setup, Setup)


def difference(text: str, other: str) -> str:
    """Describe briefly how plans differ; empty if they do not."""
    for ours, two in zip(planned(text), planned(other), strict=True):
        if repr(ours) != repr(two):
            at = next(i for i, (a, b) in enumerate(zip(repr(ours), repr(two), strict=False)) if a != b)
            return f"{repr(ours)[max(0, at - 60) : at + 60]}\n{repr(two)[max(0, at - 60) : at + 60]}"
    return ""


@given(_choices(_targets), _choices(_workloads), _choices(_events), _choices(_collectors), st.sampled_from(FIELDS))
@settings(max_examples=150)
def test_a_list_of_one_is_planned_like_its_element(on: str, run: str, during: str, collect: str, listed: str) -> None:
    fields = dict(zip(FIELDS, (on, run, during, collect), strict=True))
    plain, within = (
        "\n".join([f"{HEAD}experiment e {{", *(f"  {name} = {value}" for name, value in each.items()), "}"])
        for each in (fields, {**fields, listed: f"[{fields[listed]}]"})
    )
    assert difference(plain, within) == ""


def _with_lists(text: str) -> str:
    """Rewrite every field of an experiment that is not a list as a list of one."""
    entries = parse.program(Source("x", text)).tree.entries
    items = [item for entry in entries if isinstance(entry, tree.ExperimentDef) for item in entry.items]
    values = [item.value for item in items if isinstance(item, tree.Field) and item.name.text in FIELDS[:-1]]
    for span in sorted((value.span for value in values), key=lambda span: span.start, reverse=True):
        if "[" not in text[span.start : span.end]:
            text = f"{text[: span.start]}[{text[span.start : span.end]}]{text[span.end :]}"
    return text


@pytest.mark.parametrize("part", range(_PARTS))
def test_programs_of_the_repository_are_planned_the_same_with_lists_of_one(part: int) -> None:
    """All fields become lists at once; the test above determines which of them may be lists of one."""
    for text in wild_programs.parents()[part::_PARTS]:
        other = _with_lists(text)
        assert other == text or difference(text, other) == "", other
