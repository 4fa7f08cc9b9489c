"""Check that each wrong program has exactly the findings noted on its lines, and that each code has a program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from zlang.check import check
from zlang.check.check import Overrides
from zlang.cli import render
from zlang.diagnostics import MOST, Code, Diagnostic, ProgramError
from zlang.pipeline import fixing, plans, programs
from zlang.plan import jobs
from zlang.plan.schedule import Schedule
from zlang.source import Source

HERE = Path(__file__).parent
NAME = "program.zexp"
_EXPECTED = re.compile(r"#! (?=[EW]\d)")


@dataclass
class Case:
    """A program, its command-line options, and its findings: line, code and message."""

    name: str
    text: str
    settings: dict[str, str] = field(default_factory=dict)
    profile: str | None = None
    expected: list[tuple[int, str]] = field(default_factory=list)


def cases() -> Iterator[Case]:
    """Return every program of every file, which are separated by lines of `---`."""
    for path in sorted(HERE.glob("*.zexp")):
        for number, text in enumerate(path.read_text("utf-8").split("\n---\n"), start=1):
            case = Case(f"{path.stem}-{number}", text)
            for line_number, line in enumerate(text.split("\n"), start=1):
                source, *findings = _EXPECTED.split(line)
                case.expected += [(line_number, finding.strip()) for finding in findings]
                if source.startswith("#: set "):
                    name, _, value = source.removeprefix("#: set ").partition("=")
                    case.settings[name] = value.strip()
                elif source.startswith("#: profile "):
                    case.profile = source.removeprefix("#: profile ").strip()
            yield case


def read(path: str) -> str:
    """Return the text of an imported file."""
    return (HERE / "imports" / path).read_text("utf-8")


def findings_of(text: str, overrides: Overrides | None = None) -> list[Diagnostic]:
    """Return all findings that `zlang check` reports."""
    checked = check.program(Source(NAME, text), read, overrides)
    return [finding for finding in plans.report(checked)[0] if isinstance(finding.code, Code)]


def places_of(case: Case) -> list[tuple[int, str]]:
    """Return the findings of a case by line; a finding in an imported file is at the line of the import."""
    command_line = next((i for i, line in enumerate(case.text.split("\n"), 1) if line.startswith("#:")), 0)
    places = []
    for finding in findings_of(case.text, Overrides(case.settings, case.profile)):
        line, _ = finding.span.source.position(finding.span.start)
        if finding.span.source.name != NAME:
            line = command_line or 1
        places.append((line, f"{finding.code.id} {finding.message}"))
    return sorted(places)


ALL = list(cases())


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_findings_are_those_on_their_lines(case: Case) -> None:
    assert places_of(case) == sorted(case.expected)


def ids(text: str) -> list[str]:
    return [finding.code.id for finding in findings_of(text)]


def test_nested_too_deep() -> None:
    assert ids("let a = " + "not " * 200 + "on\nlet b = 4KB\n") == ["E106", "E105"]


def test_names_that_use_names_too_deep() -> None:
    chain = "\n".join(f"let a{i} = a{i + 1}" for i in range(2000))
    assert ids(f"{chain}\nlet a2000 = 1\n") == ["E106"]


def test_names_declared_before_they_are_used_may_be_many() -> None:
    chain = "\n".join(f"let a{i + 1} = a{i} + 1" for i in range(2000))
    assert ids(f"let a0 = 1\n{chain}\n") == []


def test_values_that_are_worked_out_in_too_many_steps() -> None:
    chain = "\n".join(f"let a{i + 2} = a{i + 1} + a{i}" for i in range(30))
    assert ids(f"let a0 = 1 | 2\nlet a1 = a0\n{chain}\n") == ["E110"]


_MEASURED = """
dir here { path = "." }
file data on here { size = 64MiB }
fio reads { rw = randread  iodepth = DEPTH }
experiment deep { on = data  run = reads }
"""


def test_a_name_is_evaluated_once_at_each_point() -> None:
    chain = "".join(f"let b{i + 1} = b{i} + b{i}\n" for i in range(40))
    text = f"import fio\nlet b0 = 1..300\n{chain}let half(x) = if x > 0 then x else x\n" + _MEASURED
    assert ids(text.replace("DEPTH", "half(half(half(half(floor(b40 / 1099511627776)))))")) == []


@pytest.mark.parametrize("depth", ["sum(" + "k, " * 5000 + "k)", "f9(k)"])
def test_a_value_of_too_many_steps_at_too_many_levels(depth: str) -> None:
    functions = "let f0(x) = x + x\n" + "".join(f"let f{i + 1}(x) = f{i}(x) + f{i}(x)\n" for i in range(9))
    assert ids(f"import fio\nlet k = 1..4000\n{functions}" + _MEASURED.replace("DEPTH", depth)) == ["E110"]


def test_programs_that_are_too_long() -> None:
    assert ids("#" * (1 << 20) + "#") == ["E108"]


def test_more_findings_than_anyone_reads() -> None:
    codes = ids("foo x { }\n" * (MOST + 1))
    assert len(codes) == MOST + 1
    assert codes[-1] == "E109"


def test_a_program_without_an_experiment() -> None:
    checked = check.program(Source(NAME, "let a = 1\n"), str)
    with pytest.raises(ProgramError) as raised:
        programs.choose(checked, None)
    assert raised.value.diagnostic.code is Code.NO_EXPERIMENT


@pytest.mark.parametrize(
    "properties",
    ['ignore_error = "a\\nb"', "time_based = on  runtime = 10s  rate_iops = [100/s for 5s, 200/s for 5s]"],
)
def test_a_value_that_a_job_file_cannot_hold(properties: str) -> None:
    workload = f"fio w {{ rw = read  {properties} }}"
    text = f'import "./lab.zexp"\nimport fio\n{workload}\nexperiment e {{ on = data  run = w }}\n'
    checked = check.program(Source(NAME, text), read)
    experiment = checked.program.experiments["e"]
    schedule = Schedule(experiment, 1)
    with pytest.raises(ProgramError) as raised:
        jobs.job(next(schedule.slots()), schedule)
    assert raised.value.diagnostic.code is Code.NOT_IN_JOBFILE


TESTED_HERE = {
    Code.TOO_DEEP: "a long program, made by the test",
    Code.TOO_LONG: "a long program, made by the test",
    Code.TOO_MANY: "a long program, made by the test",
    Code.TOO_MUCH: "a long program, made by the test",
    Code.NO_EXPERIMENT: "only what plans needs an experiment",
    Code.NOT_IN_JOBFILE: "only what writes job files finds it",
}


@pytest.mark.parametrize("code", Code, ids=lambda code: code.name)
def test_every_code_has_a_case(code: Code) -> None:
    tested = {text.split()[0] for case in ALL for _, text in case.expected}
    assert (code.id in tested) != (code in TESTED_HERE)


@pytest.mark.parametrize("code", sorted({"E303", "E306", "E308", "E310", "E313", "E317", "E321"}))
def test_hints_of_these_codes_can_be_typed(code: str) -> None:
    texts = [case.text for case in ALL if any(finding.startswith(code) for _, finding in case.expected)]
    findings = [finding for text in texts for finding in findings_of(text) if finding.code.id == code]
    assert findings
    assert [finding.message for finding in findings if not finding.hint] == []


HAVE_FIXES = {
    *("E101", "E102", "E103", "E105", "E107"),
    *("E201", "E202", "E203", "E209", "E212", "E214", "E215", "E216", "E217"),
    *("E301", "E302", "E303", "E305", "E306", "E316", "W504"),
}

ON_LOOP = "import filesystems\nloop l on disk { size = 64MiB }\nexperiment e { on = l  run = reads "
LAB = 'import "./lab.zexp"\nimport fio\n'


METRIC = 'kind k: workload { run { sh "true" }  metric m: count = regex "([0-9]+)" { needs = NEEDED } }'
SLASH = "names have no `/`; nest with `on`: `KIND NAME on PARENT { … }`"
CARRIED = (
    'write a word with a value as `compressible(50%)`, a text as `"compressible:50%"`, and another property on its own'
)
OVER = "`over` comes before `by`: `plot METRIC over FACTOR by FACTOR`"
PERCENTILE = "any percentile is computed from the histogram: `p999(read_clat)`"
DECLARED = "write `let again = reads with { … }`"
LOOPS = "there are no loops: `NAME = 4KiB | 8KiB` measures both, combined with the levels of all other factors"


def test_a_word_of_another_property_is_recognised() -> None:
    text = 'import filesystems\ndir d { path = "." }\nloop l on d { size = 1GiB }\n'
    text += "ext4 v on l { journal = writeback }\n"
    (finding,) = findings_of(text)
    assert finding.hint == "`writeback` is a value of `data`"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("fio w { rw = read  bs = 4KiB || 8KiB }", "write a choice with one `|`"),
        ("fio w { rw = read  bs = 4KiB | | 8KiB }", "add a value between the two, or remove one"),
        ("fio w { rw = read  bs = 4KiB | }", "add a value after the `|`, or remove it"),
        ("fio w { rw = read  bs = | 4KiB }", "a choice does not begin with `|`"),
        ("fio w { rw = read  bs = 4KiB or 8KiB }", "write a choice as `4KiB | 8KiB`"),
        ("fio w { rw = read  bs = {4KiB, 8KiB} }", "write a choice as `4KiB | 8KiB`, and a list as `[4KiB, 8KiB]`"),
        ("fio w { rw = read  bs = 4KiB-8KiB }", "write a range as `4KiB..8KiB`"),
        (
            "host c1\nhost c2\nfio w { rw = read  from = [c1, c2] }",
            (
                'for all at once, declare `host machines { members = ["c1", "c2"] }` and write `machines`; '
                "for one after the other, write `c1 | c2`"
            ),
        ),
        (
            "host c1\nhost c2\nfio w { rw = read  from = c1 | [c1, c2] }",
            (
                'for all at once, declare `host machines { members = ["c1", "c2"] }` and write `machines`; '
                "for one after the other, write `c1 | c2`"
            ),
        ),
        ("fio w { rw = read  bs = 4KiB..=8KiB }", "write a range with two dots, as in `4KiB..64KiB`"),
        ("let a = if 1 = 2 then 3 else 4", "use `==` to compare"),
        ("let a = if 1 == 2 then 3 elif 4", "write `else if`"),
        ("experiment e { on = data  run = reads  where reads.bs => 4KiB }", "use `>=` to compare"),
        ("experiment e { on = data  run = reads  where 1 == 2 || 3 == 4 }", "write `or`"),
        ("experiment e { on = data  run = reads  where 1 == 2 | 3 == 4 }", "write `or` between conditions"),
        ("experiment e { on = data  run = reads  expect max(read_iops) = 5/s }", "use `==` to compare"),
        ("experiment e { on = data  run = reads  tabel read_iops }", "did you mean `table`?"),
        ("experiment e { on = data  run = reads  if 1 == 2 }", "use `where` to choose points"),
        ('experment e "title" { on = data  run = reads }', "did you mean `experiment`?"),
        ("experment e { on = data  run = reads }", "did you mean `experiment`?"),
        ('improt "./lab.zexp"', "did you mean `import`?"),
        ("use zfs", "did you mean `import zfs`?"),
        ("gven dir d { path = bytes }", "did you mean `given`?"),
        ("let given = 4KiB\nlet bytes = given", "`given` is a keyword, which cannot be a name"),
        ("profil p { bytes = 2MiB }", "did you mean `profile`?"),
        ("experiment e { target = data  run = reads }", "did you mean `on`?"),
        ("experiment e { on = data  workload = reads }", "did you mean `run`?"),
        ("experiment e { on = data  run = reads  iterations = 5 }", "did you mean `repeat`?"),
        ("experiment e { on = disk  run = reads }", "declare one on it: `file NAME on disk { … }`"),
        (
            "experiment e { on = data  run = reads  collect = [capacity] }",
            "`capacity` is a kind: write the name of a declaration, or declare one here: `capacity {}`",
        ),
        (f"{ON_LOOP} where l == loop }}", "write `l is loop`"),
        (f"{ON_LOOP} where l != loop }}", "write `l is not loop`"),
        (f"{ON_LOOP} expect max(read_bw where l == loop) > 5MiB/s }}", "write `l is loop`"),
        (
            "experiment e { on = data  run = reads  expect median(read_iops, bs == 4KiB) > 5/s }",
            "write a condition as `median(read_iops where bs == 4KiB)`",
        ),
        (
            "fio v { rw = read  rate_iops = 5/s }\nfio w { rw = read  number_ios = rate_iops }",
            "did you mean `v.rate_iops`?",
        ),
        ("file f on disk", "add `size = 4KiB`"),
        ("import disks\ndisk d", 'add `id = "…"  serial = "…"  size = 4KiB`'),
        ("fio w { rw = read  fsync = on }", "write `1`"),
        (
            "fio w { rw = read  iodepth = 4  numjobs = iodepth }",
            "a property cannot use another property of the same declaration; give the value a name: `let iodepth = …`",
        ),
        ("experiment e { on = data  run = reads  cache = cold {} }", "`cold` has no properties: write `cold`"),
        ('import nfs\nnfs n on disk { address = "a"  path = "/a"  vers = 4.2 }', 'write it as a text: `"4.2"`'),
        ("file a/b on disk { size = 1MiB }", SLASH),
        ("given file f", "add braces that say which one is given: `given KIND NAME { called = … }`"),
        ("let t = file on disk | file on disk { size = 1MiB }", "an anonymous declaration needs braces"),
        ("file f on disk { size = 1MiB  content = compressible:50% }", CARRIED),
        ("experiment e { on = data  run = reads  plot read_iops by bs }", OVER),
        ("experiment e { on = data  run = reads  plot read_iops over bs, by bs }", "remove the comma before `by`"),
        (
            "experiment e { on = data  run = reads  expect median(read_iops) > 9/s by bs }",
            "remove `by` and what follows: each combination of the factors that it does not name is judged",
        ),
        ("experiment e { on = data  run = reads  table read_clat_p99.9 }", PERCENTILE),
        ("fio w { rw = read  time_based }", "write a field as `time_based = on`, or `NAME = time_based`"),
        ("fio w { rw = read  for b in [1] { bs = b } }", LOOPS),
        ("experiment e { on = data  run = reads and reads }", "write a choice as `reads | reads`"),
        ('experiment e { on = "data"  run = reads }', "write names without quotes: `data`"),
        ("experiment e { on = data  run = reads  expect max(read_bw) > 9MB }", "write a rate as `9MB/s`"),
        (
            "experiment e { on = data  run = reads  expect max(read_iops) > 9k }",
            "write a number per second as `1000/s`",
        ),
        ("reads again { bs = 4KiB }", DECLARED),
        ("fio w { rw = read  random_distribution = zipf(1.2) }", 'expected a text such as `"data"`'),
        ("import filesystems\next4 v on data", "declare it on a `loop`"),
        (
            "import disks\nimport zfs\n"
            + "\n".join(
                f'disk {name} {{ id = "/dev/{name}"  serial = "{name}"  size = 1GiB }}' for name in ("d1", "d2")
            )
            + "\nlet both = [d1, d2]\npool tank on both",
            "declare one `disk` for all of them, with lists: `id = […]  serial = […]`",
        ),
        (METRIC.replace("NEEDED", "random_"), "did you mean `random`?"),
        (METRIC.replace("NEEDED", "mybool"), "it is a trait, such as `reads`; docs/language.md lists them all"),
        ("x = 4KiB", "to define a name, write `let x = …`"),
        (
            'host client { members = ["c1".."c3"] }\ndir d on c2 { path = "." }',
            "it is a machine of a group: write `client[1]`, after `on` in parentheses",
        ),
        (
            'host client { members = ["c1".."c3"] }\nlet d = client.c3',
            "it is a machine of a group: write `client[2]`, after `on` in parentheses",
        ),
    ],
)
def test_suggestions(line: str, hint: str) -> None:
    (finding,) = findings_of(f"{LAB}{line}\n")
    assert finding.hint == hint
    for _, fixed in texts_with_one_fix([finding]):
        assert finding.message not in {other.message for other in findings_of(fixed)}, fixed


RENDERED = {
    "share_of_nothing": 'let a = 50% size\nlet b = 1 + 2s\nlet c = "a" + "b"\n',
    "never_closed_at_the_end": "import fio\nlet a = [1, 2\n\n\n",
    "misspelt_property": "import fio\nfio reads { rw = randread  iodpeth = 4 }\n",
    "missing_import": "fio reads { rw = randread }\n",
    "wrong_unit": "import fio\nfio reads { rw = randread  runtime = 4KiB }\n",
    "two_readings": "let size = 4KB\n",
    "not_allowed": "import fio\nfio reads { rw = sideways }\n",
    "never_closed": 'dir here { path = "."\nlet a = 1\nfile f on here { size = 1MiB }\n',
    "unknown_name": 'import "./lab.zexp"\n\nexperiment e {\n  on  = dta\n  run = reads\n}\n',
    "defined_twice": "let size = 4KiB\nlet other = 5\nlet size = 8KiB\n",
    "not_a_field": 'dir here { path: "." }\n',
    "three_at_once": "import fio\nfio a { bss = 4KiB  rw = read }\nlet x = 4mb\nlet y = 5..1\n",
    "no_points": 'import "./lab.zexp"\nexperiment e { on = data  run = reads  where reads.bs > 1MiB }\n',
    "wrong_role": 'import "./lab.zexp"\nexperiment e { on = reads  run = data }\n',
    "text_never_closed": 'dir here { path = "/data }\nlet x = 1\n',
}


@pytest.mark.parametrize("name", RENDERED)
def test_rendered_messages(name: str) -> None:
    shown = "\n".join(render.diagnostic(finding, colour=False) for finding in findings_of(RENDERED[name]))
    golden = HERE / "rendered" / f"{name}.txt"
    if os.environ.get("BLESS"):
        golden.write_text(shown, "utf-8")
    assert shown == golden.read_text("utf-8")


def test_a_setting_is_quoted_as_it_was_typed() -> None:
    checked = check.program(Source(NAME, "param time: duration = 1s\n"), str, Overrides({"time": "5KB"}))
    assert [finding.span.source.name for finding in checked.findings] == ["--set time"]


def texts_with_one_fix(findings: list[Diagnostic]) -> Iterator[tuple[Diagnostic, str]]:
    """Return each fix of the program itself, with the program after that fix alone."""
    for finding in findings:
        for fix in finding.fixes:
            if all(edit.span.source.name == NAME for edit in fix.edits):
                yield finding, fixing.applied(fix.edits[0].span.source.text, fix.edits)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_fix_removes_its_finding(case: Case) -> None:
    overrides = Overrides(case.settings, case.profile)
    for finding, text in texts_with_one_fix(findings_of(case.text, overrides)):
        after = [(other.code, other.message) for other in findings_of(text, overrides)]
        before = [(other.code, other.message) for other in findings_of(case.text, overrides)]
        assert after.count((finding.code, finding.message)) < before.count((finding.code, finding.message)), text


def test_codes_with_fixes() -> None:
    fixed = {finding.code.id for case in ALL for finding in findings_of(case.text) if finding.fixes}
    assert fixed == HAVE_FIXES


def test_safe_fixes_leave_no_new_errors() -> None:
    for case in ALL:
        findings = findings_of(case.text)
        fixes = [fix for fix in fixing.safe(findings) if fix.edits[0].span.source.name == NAME]
        text = fixing.applied(case.text, [edit for fix in fixes for edit in fix.edits])
        syntax = [finding for finding in findings_of(text) if finding.code.id.startswith("E1")]
        assert len(syntax) <= len([finding for finding in findings if finding.code.id.startswith("E1")]), text


def test_a_left_out_word_is_replaced_by_the_property_that_its_reason_names() -> None:
    (finding,) = findings_of("import fio\nfio w { rw = read  blocksize = 4KiB }\n")
    (fix,) = finding.fixes
    assert (fix.title, [edit.text for edit in fix.edits], fix.is_safe) == ("write `bs`", ["bs"], True)


def test_a_word_with_another_number_is_not_put_right_unseen() -> None:
    text = (
        'import zfs\ndir here { path = "." }\ngiven pool p { called = "p" }\ndataset d on p { checksum = fletcher4 }\n'
    )
    (finding,) = (finding for finding in findings_of(text) if finding.code is Code.NOT_ALLOWED)
    assert finding.hint == "did you mean `fletcher2`?"
    assert [fix.is_safe for fix in finding.fixes] == [False]
