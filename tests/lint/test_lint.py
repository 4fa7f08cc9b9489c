"""Test lint findings: merged across trials, allowed with a reason, weighted by a project, independent of style."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlang.check import hosts
from zlang.check.check import Overrides
from zlang.cli import explaining
from zlang.diagnostics import Severity
from zlang.errors import RunError
from zlang.lint.rule import Rule
from zlang.lint.rules import RULES
from zlang.pipeline import plans, programs
from zlang.source import Source
from zlang.syntax import format as formatting

HEAD = 'import fio\ndir here { path = "." }\nfile data on here { size = 1GiB }\n'
WRITES = "fio writes { rw = randwrite }\n"
EXPERIMENT = "experiment one { on = data  run = writes }\n"
SWEEP = """
fio load {
  rw       = randread | randwrite
  ioengine = psync | io_uring
  iodepth  = 1 | 4 | 16
  bs       = 4KiB..64KiB by *2
}
experiment sweep { on = data  run = load  cache = cold  repeat = 3 }
"""


def lint(text: str, name: str = "program.zexp", **options: list[str]) -> list[tuple[str, Severity, str]]:
    """Return the ID, severity and message of all findings."""
    checked = programs.check(Source(name, text), Overrides())
    assert checked.is_sound, [finding.message for finding in checked.findings]
    return [(finding.code.id, finding.code.severity, finding.message) for finding in programs.lint(checked, options)]


def ids(text: str, **options: list[str]) -> list[str]:
    return [id_ for id_, _, _ in lint(text, "program.zexp", **options)]


def test_a_finding_names_all_trials_that_have_it() -> None:
    assert {id_: message for id_, _, message in lint(HEAD + SWEEP)} == {
        "ZL039": "a depth of 4 has no effect: the engine waits for each operation, in 60 of 180 trials, such as where "
        "`ioengine` is psync and `iodepth` is 4",
        "ZL049": "writes end in memory: nothing waits until they are on the device, in 90 of 180 trials, "
        "where `rw` is randwrite",
    }


def test_a_space_too_large_to_list_is_linted() -> None:
    large = (
        "fio load { rw = randread  iodepth = 1..1000  numjobs = 1..1000  bs = 1KiB..1000KiB by 1KiB  "
        "thinktime = 1us..1000us by 1us }\nexperiment large { on = data  run = load  cache = cold  repeat = 3 }\n"
    )
    messages = {id_: message for id_, _, message in lint(HEAD + large)}
    assert "in 2,997,000,000,000 of 3,000,000,000,000 trials" in messages["ZL039"]


@pytest.mark.parametrize(
    ("text", "remaining"),
    [
        (HEAD + WRITES + EXPERIMENT, ["ZL049"]),
        (HEAD + "# allow buffered-write-not-synced: memory is meant\n" + WRITES + EXPERIMENT, []),
        (HEAD + "# allow ZL049: memory is meant\n# and this is about it\n" + WRITES + EXPERIMENT, []),
        (HEAD + WRITES.strip() + "  # allow ZL049: memory is meant\n" + EXPERIMENT, []),
        ("# allow ZL049: memory is meant\n\n" + HEAD + WRITES + EXPERIMENT, []),
        (HEAD + WRITES + "# allow ZL049: this is not where it is\n" + EXPERIMENT, ["ZL049", "W503"]),
        (HEAD + "# allow ZL039: something else\n" + WRITES + EXPERIMENT, ["W503", "ZL049"]),
        (HEAD + "# allow ZL049\n" + WRITES + EXPERIMENT, ["E218"]),
        (HEAD + "# allow drift: the device is new\n" + WRITES + EXPERIMENT, ["ZL049"]),
        (HEAD + "# allow drift\n" + WRITES + EXPERIMENT, ["E218", "ZL049"]),
        (HEAD + "# allow unit-suffix: no program can have it\n" + WRITES + EXPERIMENT, ["E217", "ZL049"]),
        (HEAD + "# allow ZL012: where it is a machine of that kind\n" + WRITES + EXPERIMENT, ["ZL049"]),
    ],
)
def test_where_allow_comments_apply(text: str, remaining: list[str]) -> None:
    assert ids(text) == remaining


READS = "fio reads { rw = randread  bs = 4KiB | 8KiB }\n"


@pytest.mark.parametrize(
    ("clauses", "remaining"),
    [
        ("experiment two { on = data  run = reads  cache = cold }\n", ["ZL057 two"]),
        ("experiment two { on = data  run = reads  cache = cold  repeat = 2 }\n", ["ZL057 repeat = 2"]),
        ("# allow ZL057: a pilot\nexperiment two { on = data  run = reads  cache = cold }\n", []),
        ("experiment two {\n  on = data\n  run = reads\n  cache = cold\n  repeat = 2  # allow ZL057: a pilot\n}\n", []),
        ("experiment two { on = data  run = reads  repeat = 3 }\n", ["ZL002 repeat = 3"]),
        (
            "experiment two { on = data  run = reads  cache = cold  repeat = 3  table mean(read_clat_p99) }\n",
            ["ZL068 table mean(read_clat_p99)"],
        ),
    ],
)
def test_findings_of_an_experiment_are_reported_and_allowed_there(clauses: str, remaining: list[str]) -> None:
    """The finding does not concern other experiments that share the workload."""
    experiment = "experiment one { on = data  run = reads  cache = cold  repeat = 3 }\n"
    checked = programs.check(Source("program.zexp", HEAD + READS + experiment + clauses), Overrides())
    places = [(finding.code.id, finding.span) for finding in programs.lint(checked)]
    assert [f"{id_} {span.source.text[span.start : span.end]}" for id_, span in places] == remaining


def test_rules_are_weighed_on_the_command_line() -> None:
    text = HEAD + WRITES + EXPERIMENT
    assert ids(text, allow=["ZL049"]) == []
    assert [severity for _, severity, _ in lint(text, deny=["buffered-write-not-synced"])] == [Severity.ERROR]
    with pytest.raises(RunError, match="unknown rule `buffered-write`"):
        lint(text, deny=["buffered-write"])


def test_rules_are_weighed_by_the_nearest_project_file(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    name = str(tmp_path / "inner/program.zexp")
    (tmp_path / "zlang.toml").write_text('[lint]\nallow = { ZL049 = "pilots" }\n', "utf-8")
    assert lint(HEAD + WRITES + EXPERIMENT, name) == []
    (tmp_path / "inner/zlang.toml").write_text('[lint]\ndeny = ["ZL049"]\n', "utf-8")
    assert [severity for _, severity, _ in lint(HEAD + WRITES + EXPERIMENT, name)] == [Severity.ERROR]


@pytest.mark.parametrize(
    "table", ['allow = ["ZL049"]', 'deny = "ZL049"', 'forbid = ["ZL049"]', 'allow = { ZL049 = "" }', "="]
)
def test_a_wrong_project_file_is_reported(tmp_path: Path, table: str) -> None:
    (tmp_path / "zlang.toml").write_text(f"[lint]\n{table}\n", "utf-8")
    with pytest.raises(RunError, match=r"zlang\.toml"):
        lint(HEAD + WRITES + EXPERIMENT, str(tmp_path / "program.zexp"))


@given(
    st.permutations(["rw = randwrite", "ioengine = psync", "iodepth = 1 | 8", "bs = 4KiB | 8KiB"]),
    st.sampled_from("abc"),
)
def test_order_names_and_layout_change_no_finding(fields: list[str], name: str) -> None:
    plain = HEAD + "fio writes { rw = randwrite  ioengine = psync  iodepth = 1 | 8  bs = 4KiB | 8KiB }\n" + EXPERIMENT
    other = f"fio {name} {{ {'  '.join(fields)} }}\n" + EXPERIMENT.replace("writes", name)
    laid_out = formatting.program(Source("program.zexp", HEAD + other)).text
    assert sorted(ids(laid_out)) == sorted(ids(HEAD + other)) == sorted(ids(plain))


def test_a_plan_keeps_its_findings_and_the_reasons_of_allowances(tmp_path: Path) -> None:
    table = '[lint]\nallow = { ZL039 = "the engine is asked about elsewhere" }\ndeny = ["drift"]\n'
    (tmp_path / "zlang.toml").write_text(table, "utf-8")
    text = HEAD + "fio writes { rw = randwrite  iodepth = 8  norandommap = on }  # allow ZL049: memory is meant\n"
    checked = programs.check(Source(str(tmp_path / "program.zexp"), text + EXPERIMENT), Overrides())
    planned = plans.plan(checked, programs.choose(checked, None), plans.DEFAULT_SEED, Overrides())
    assert [
        (finding.name, finding.severity, finding.place.rsplit("/", 1)[1], finding.allowed)
        for finding in planned.plan.header.findings
    ] == [
        ("drift", "error", "program.zexp:1:1", ""),
        ("buffered-write-not-synced", "warning", "program.zexp:4:19", "memory is meant"),
        ("iodepth-without-async", "warning", "program.zexp:4:40", "the engine is asked about elsewhere"),
        ("no-random-map", "note", "program.zexp:4:57", ""),
    ]


def test_things_without_a_host_are_on_this_machine() -> None:
    reads = "fio reads { rw = randread  time_based = on  runtime = 60s }\n"
    text = HEAD + reads + "experiment one { on = data  run = reads  cache = cold }\n"
    machine = hosts.machine_instance(
        "this machine", hosts.facts({"ram": "2147483648", "hardware": "virtual", "nodes": "1"})
    )
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert [
        (finding.code.id, finding.span.source.position(finding.span.start)[0])
        for finding in programs.lint(checked, {}, machine)
    ] == [
        ("ZL001", 3),
        ("ZL012", 4),
    ]
    checked = programs.check(Source("program.zexp", text.replace("dir here", "host box\ndir here on box")), Overrides())
    assert programs.lint(checked, {}, machine) == []


def test_facts_are_probed_once_and_only_if_a_rule_reads_them() -> None:
    probes, probed = hosts.probes(), list[str]()

    def answer(command: str) -> str:
        probed.append(next(name for name, probe in probes.items() if probe == command))
        return {"ram": "2147483648", "nodes": "none"}.get(probed[-1], "")

    facts = hosts.AskedFacts(answer)
    reads = "fio reads { rw = randread  time_based = on  runtime = 60s }\n"
    text = HEAD + reads + "experiment one { on = data  run = reads  cache = cold }\n"
    checked = programs.check(Source("program.zexp", text), Overrides())
    (finding,) = programs.lint(checked, {}, hosts.machine_instance("this machine", facts))
    assert finding.code.id == "ZL001"
    assert "ram" in probed
    assert not {"disks", "fio"} & set(probed)
    assert len(probed) == len(set(probed))
    assert list(facts) == ["ram"]
    assert set(probed) == probes.keys()
    assert len(probed) == len(probes)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.lint.id)
def test_no_finding_changes_with_layout_order_or_names(rule: Rule) -> None:
    wrong = explaining.page(rule.lint).wrong
    checked = programs.check(Source("program.zexp", wrong), Overrides())
    entries = [wrong[entry.span.start : entry.span.end] for entry in checked.program.trees[0].entries]
    turned = "".join(f"{entry}\n" for entry in reversed(entries))
    renamed = re.sub(r"\b(here|data|work|tank|box|drive)\b", r"\1_2", turned)
    laid_out = formatting.program(Source("program.zexp", renamed)).text
    assert laid_out != wrong
    allowed = [comment.text for comment in checked.program.trees[0].comments]
    findings = sorted((id_, message.replace("_2", "")) for id_, _, message in lint("\n".join([*allowed, "", laid_out])))
    assert findings == sorted((id_, message) for id_, _, message in lint(wrong))
    assert rule.lint.id in {id_ for id_, _ in findings}


COMMITS = "fio commits { rw = randwrite  fdatasync = 1 }\n"
TIMED = """
kind committer: workload {
  needs file as at
  writes = on
  trait modifies = on
  trait syncs = on
  trait synced = on
  run { sh "commit" { why = "commit"  timeout = 1h } }
  metric took: duration = json "write" in ms { means = write.latency }
  metric flushed: duration = json "sync" in ms { means = sync.latency }
}
committer commits {}
"""


WITH_SYNCS = "ask for `sync_lat` in the same clause too, such as `p99(sync_lat)`"


@pytest.mark.parametrize(
    ("load", "clause", "hint"),
    [
        (COMMITS, "table median(write_clat_mean)", WITH_SYNCS),
        (COMMITS, "table p99(write_lat)", WITH_SYNCS),
        (COMMITS, "plot write_clat over latency", WITH_SYNCS),
        (TIMED, "table median(took)", "ask for `flushed` in the same clause too"),
        (COMMITS, "table p99(write_clat), p99(sync_lat)", None),
        (COMMITS, "table p99(write_clat)\n plot sync_lat over latency", WITH_SYNCS),
        (COMMITS, "plot write_clat, sync_lat over latency", None),
        (COMMITS, "table median(write_slat_mean), median(write_iops)", None),
        ("fio commits { rw = randwrite  sync = dsync }\n", "table p99(write_clat)", None),
        ("fio commits { rw = randwrite  end_fsync = on }\n", "table p99(write_clat)", None),
        (TIMED, "table median(took), median(flushed)", None),
    ],
)
def test_a_write_latency_without_that_of_the_syncs(load: str, clause: str, hint: str | None) -> None:
    text = HEAD + load + f"experiment one {{\n on = data\n run = commits\n repeat = 3\n {clause}\n}}\n"
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert checked.is_sound, [finding.message for finding in checked.findings]
    hints = [finding.hint for finding in programs.lint(checked) if finding.code.id == "ZL078"]
    assert hints == ([] if hint is None else [hint])


ROOM = 'import fio\nimport zfs\ndir here { path = "." }\npool tank on here { size = 2GiB }\ndataset work on tank\n'


@pytest.mark.parametrize(
    ("targets", "on", "messages"),
    [
        (
            "file a on work { size = 1500MiB }\nfile b on work { size = 1GiB }\n",
            "[a, b]",
            ["`a` and what is measured with it hold 2524MiB, and `tank` has room for 2GiB"],
        ),
        (
            "file a on work { size = 1GiB  copies = 3 }\n",
            "a",
            ["`a` and what is measured with it hold 3GiB, and `tank` has room for 2GiB"],
        ),
        ("file a on work { size = 512MiB }\nfile b on work { size = 512MiB }\n", "[a, b]", []),
        ("file a on work { size = 1500MiB }\nfile b on here { size = 1GiB }\n", "[a, b]", []),
        (
            (
                'host two { members = ["a", "b"] }\ndir there on two { path = "." }\n'
                "pool far on there { size = 1GiB }\ndataset d on far\nfile a on d { size = 2GiB }\n"
            ),
            "a",
            ["`a.a` holds 2GiB, and `far.a` has room for 1GiB"],
        ),
    ],
)
def test_concurrent_targets_must_fit_together(targets: str, on: str, messages: list[str]) -> None:
    reads = f"fio reads {{ rw = randread }}\nexperiment one {{ on = {on}  run = reads  cache = cold  repeat = 3 }}\n"
    assert [message for id_, _, message in lint(ROOM + targets + reads) if id_ == "ZL042"] == messages


def test_targets_may_have_more_streams_than_others() -> None:
    """What a `where` ties to the target is compared only where the stream exists."""
    text = """import fio
import filesystems
dir here { path = "." }
loop one on here { size = 512MiB }
loop two on here { size = 512MiB }
ext4 volume on one
xfs other on two
file first on volume { size = 16MiB }
file second on other { size = 16MiB }
fio reads { rw = randread | read  direct = on }
let target = first | [first, second]
experiment e { on = target  run = reads  cache = cold  repeat = 3  where target == first or rw == randread }
"""
    assert [id_ for id_, _, _ in lint(text)] == ["ZL079"]


def test_the_trials_of_each_of_many_streams_are_counted() -> None:
    """Together the streams have 16,384 combinations, of which only some would be tried."""
    numbers = range(2, 16)
    loads = "".join(
        f"file d{n} on here {{ size = 1GiB }}\nfio w{n} on d{n} {{ rw = randread  iodepth = 1 | {n} }}\n"
        for n in numbers
    )
    run = ", ".join(f"w{n}" for n in numbers)
    text = f"{HEAD}{loads}experiment e {{ run = [{run}]  cache = cold  design = sample(4)  repeat = 3 }}\n"
    messages = [message for id_, _, message in lint(text) if id_ == "ZL039"]
    assert [message.split(", ", 1)[1] for message in messages] == [
        f"in 8,192 of 16,384 points, where `w{n}.iodepth` is {n}" for n in numbers
    ]


def test_trials_are_counted_once_where_several_streams_have_a_finding_at_one_place() -> None:
    loads = """file more on here { size = 1GiB }
fio base { rw = randread  iodepth = 4 }
let one = base with { ioengine = sync | io_uring }
let two = base with { ioengine = psync | io_uring }
experiment e { on = [data, more]  run = [one, two]  cache = cold  repeat = 3 }
"""
    (message,) = [message for id_, _, message in lint(HEAD + loads) if id_ == "ZL039"]
    assert ", in 9 of 12 trials, " in message


@pytest.mark.parametrize(
    ("target", "load", "jobs"),
    [
        ("", "rw = read  copies = 4", 4),
        ("", "rw = read  copies = 4  numjobs = 2", 8),
        ("", "rw = read  copies = 4  numjobs = 2  offset_increment = 64MiB", 4),
        ("", "rw = randread  copies = 4", None),
        ("copies = 4", "rw = read", None),
    ],
)
def test_copies_that_read_one_file_are_in_lock_step(target: str, load: str, jobs: int | None) -> None:
    text = f'import fio\ndir here {{ path = "." }}\nfile data on here {{ size = 1GiB  {target} }}\n'
    text += f"fio reads {{ {load} }}\nexperiment one {{ on = data  run = reads  cache = cold  repeat = 3 }}\n"
    messages = [message for id_, _, message in lint(text) if id_ == "ZL006"]
    sentence = f"{jobs} jobs read the same offsets of `data` in lock-step, most from the cache"
    assert messages == ([] if jobs is None else [sentence])


@pytest.mark.parametrize(
    ("settings", "load", "codes"),
    [
        ("direct = always", "", {"ZL020", "ZL026"}),
        ("direct = standard", "direct = on", {"ZL020", "ZL026"}),
        ("direct = disabled", "direct = on", set()),
        ("direct = standard", "", set()),
    ],
)
def test_the_dataset_decides_whether_writes_bypass_its_cache(settings: str, load: str, codes: set[str]) -> None:
    text = (
        'import fio\nimport zfs\nhost box { zfs = "2.3.1" }\ndir here on box { path = "." }\n'
        f"pool tank on here {{ size = 4GiB }}\ndataset work on tank {{ dedup = on  {settings} }}\n"
        "file data on work { size = 1GiB }\n"
        f"fio writes {{ rw = randwrite  bs = 4KiB  end_fsync = on  {load} }}\n"
        "experiment one { on = data  run = writes  repeat = 3 }\n"
    )
    assert {id_ for id_, _, _ in lint(text)} & {"ZL020", "ZL026"} == codes


OWN = """
kind writer: workload {{
  doc = "Write a file."
  needs file as at
  trait modifies = on
  trait uncached = off
  trait synced = off
  trait depth = 8
  trait waits = on
  {advice}
  run {{
    sh "dd if=/dev/zero of={{at.dir}}/{{at.file}} bs=1M count=1 conv=notrunc" {{ why = "write it" }}
    reads shell "measure.out" {{ metrics = ["time"] }}
  }}
}}
dir here {{ path = "." }}
file data on here {{ size = 1GiB }}
writer w {{}}
experiment e {{ on = data  run = w  repeat = 3 }}
"""


@pytest.mark.parametrize(
    ("advice", "hints"),
    [
        ("", {"ZL039": "use several workers", "ZL049": ""}),
        ('trait to_queue = "ahead"', {"ZL039": "write `ahead`", "ZL049": ""}),
        (
            'trait to_queue = "ahead"\ntrait to_add_workers = "pairs"\ntrait to_sync = "safe = 1"',
            {"ZL039": "write `ahead`, or use several workers (`pairs`)", "ZL049": "write `safe = 1`"},
        ),
    ],
)
def test_hints_quote_the_kind(advice: str, hints: dict[str, str]) -> None:
    checked = programs.check(Source("program.zexp", OWN.format(advice=advice)), Overrides())
    assert checked.is_sound, [finding.message for finding in checked.findings]
    assert {finding.code.id: finding.hint for finding in programs.lint(checked) if finding.code.id in hints} == hints


PART = ", in 3 of 6 trials, where"


@pytest.mark.parametrize(
    ("stack", "messages"),
    [
        (
            "loop disk on here { size = 256MiB | 300MiB }\nxfs volume on disk\n",
            [f"`volume` needs at least 300MiB, and `disk` has 256MiB{PART} `size` is 256MiB"],
        ),
        (
            "loop disk on here { size = 64MiB }\nbtrfs volume on disk { metadata = single | dup }\n",
            [f"`volume` needs at least 109MiB, and `disk` has 64MiB{PART} `metadata` is dup"],
        ),
        ("loop disk on here { size = 2MiB }\next4 volume on disk\n", []),
        (
            "loop disk on here { size = 2MiB }\next4 volume on disk { blocksize = 4KiB }\n",
            ["`volume` needs at least 8MiB, and `disk` has 2MiB"],
        ),
    ],
)
def test_resources_that_are_too_small(stack: str, messages: list[str]) -> None:
    text = (
        'import fio\nimport filesystems\ndir here { path = "." }\n' + stack + "file data on volume { size = 1MiB }\n"
        "fio reads { rw = randread }\nexperiment one { on = data  run = reads  cache = cold  repeat = 3 }\n"
    )
    assert [message for id_, _, message in lint(text) if id_ == "ZL042"] == messages


def test_an_offset_is_not_rounded() -> None:
    text = """
    import fio
    import filesystems
    dir here { path = "." }
    loop raw on here { size = 1GiB  offset = 1MiB + 512B }
    fio reads { rw = randread  bs = 4KiB  direct = on }
    experiment e { on = raw  run = reads  repeat = 3 }
    """
    checked = programs.check(Source("offset.zexp", text), Overrides())
    (finding,) = [candidate for candidate in programs.lint(checked, {}) if candidate.code.id == "ZL023"]
    assert finding.message == "`raw` starts at 1049088B, which is not a multiple of 4KiB"
