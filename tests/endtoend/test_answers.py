"""Check that answers to an experiment's questions are printed after its run, and again from the database."""

from __future__ import annotations

import json
import re

import pytest
from command_line import Zlang

SPEED = """
dir here {{ path = "." }}
let words = 5 | 50
shell counts {{ command = "echo speed {{words}}"  writes = off  metrics = [regex("speed=speed ([0-9]+)")] }}
experiment e {{
  on = here  run = counts  repeat = 2
  {clauses}
}}
"""


@pytest.mark.parametrize(
    ("clauses", "code", "sentence"),
    [
        ('expect "more" median(speed where words == 50) > 5 * median(speed where words == 5)', 0, "✓ pass: more"),
        (
            'expect "fast" median(speed) > 20',
            4,
            "✗ fail in 1 of 2 combinations: fast\n    fail: words=5: geomean(speed)",
        ),
        (
            'expect "some" median(speed where words == 7) > 20',
            5,
            "? inconclusive: some\n    inconclusive: no trial was",
        ),
        ("plot speed over words", 0, "speed: e"),
        ("table speed, max(elapsed) by words", 0, "words   n   speed (geomean, 95 %)   max(elapsed)"),
    ],
)
def test_a_run_ends_with_its_answers(zlang: Zlang, clauses: str, code: int, sentence: str) -> None:
    ended = zlang.run(SPEED.format(clauses=clauses), code=code)
    assert sentence in ended.out
    again = zlang(clauses.split(maxsplit=1)[0], code=code)
    assert sentence in again.out
    assert again.out in ended.out


def test_a_report_has_all_that_is_known_of_a_run(zlang: Zlang) -> None:
    clauses = 'expect "fast" median(speed) > 20  table speed by words  plot speed over words'
    zlang.run(SPEED.format(clauses=clauses.replace("  ", "\n  ")), code=4)
    assert zlang("report").out == "written: report.html\n"
    assert "<td>fail</td>" in (zlang.at / "report.html").read_text("utf-8")
    zlang("report", "--format", "markdown", "-o", "r.md")
    text = (zlang.at / "r.md").read_text("utf-8").replace("\\", "")
    assert re.search(r"\| fail \| fast \| 1 of 2 \| words=5 \| geomean\(speed\) = 5", text)
    (raw,) = re.findall(r"\| 1 \| 1 \| 1 \|.*?\[measure\.out\]\(<(.*?)>\)", text)
    assert "speed" in (zlang.at / raw).read_text("utf-8")
    assert zlang("report", "nothing", code=1).err.startswith("error: there is no run `nothing`")


def test_a_failed_run_reports_failures_before_inconclusive_expectations(zlang: Zlang) -> None:
    clauses = 'expect "fast" median(speed) > 2'
    ended = zlang.run(SPEED.format(clauses=clauses).replace("echo speed", "test {words} -lt 9 && echo speed"), code=1)
    assert "? inconclusive in 1 of 2 combinations: fast" in ended.out
    (judged,) = map(json.loads, zlang("expect", "--json", zlang.folder().name, code=5).out.splitlines())
    assert (judged["title"], judged["verdict"]) == ("fast", "inconclusive")
    assert {combination["levels"]["words"]: combination["verdict"] for combination in judged["combinations"]} == {
        5: "pass",
        50: "inconclusive",
    }
    resumed = zlang("resume", "--only", "1", code=None)
    assert "inconclusive" not in resumed.out
    assert zlang("table").out.strip() in resumed.out
    assert json.loads(zlang("table", "--json").out) == json.loads(zlang("table", "--format", "json").out) != []
    assert zlang("expect", "nothing", code=1).err.startswith("error: there is no run `nothing`")


def test_several_tables_are_one_json_document(zlang: Zlang) -> None:
    zlang.run(SPEED.format(clauses="table speed by words\n  table max(speed)"), code=None)
    tables = json.loads(zlang("table", "--json").out)
    assert [(table["table"], len(table["rows"])) for table in tables] == [("speed by words", 2), ("max(speed)", 1)]
    assert json.loads(zlang("table", "speed by words", "--json").out) == tables[0]["rows"]
    assert json.loads(zlang("table", "--format", "json", "speed by words").out) == tables[0]["rows"]


def test_a_report_of_a_run_without_trials_that_count_has_no_number_of_them(zlang: Zlang) -> None:
    clauses = 'expect "fast" median(speed where words == 50) > 1'
    zlang.run(SPEED.format(clauses=clauses).replace("echo speed", "false"), code=1)
    answered = zlang("report", "--format", "markdown", "--out", "/dev/stdout").out.split("## Results")[0]
    assert "fast" in answered
    assert "n = 0" not in answered


def test_the_database_keeps_findings_about_the_program(zlang: Zlang) -> None:
    program = SPEED.format(clauses="").replace("repeat = 2", "")
    zlang.run("# allow too-few-replicates: they only count\n\n" + program)
    answer = zlang("sql", "SELECT name, severity, allowed FROM findings WHERE stage = 'before'", "--format", "ndjson")
    assert json.loads(answer.out) == {"name": "too-few-replicates", "severity": "note", "allowed": "they only count"}
