"""Check that text resembling shell or Markdown syntax stays plain text wherever text can occur."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from emit_plans import SHELLS, carry_out, events, plan, setup, step, trial, words
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.emit import json_lines, markdown
from zlang.emit.registry import EMITTERS
from zlang.plan.plan import Action, Plan
from zlang.text import LAYOUT, is_visible

FRAGMENTS = (
    *("'", '"', "`", "\\", "$", "!", "#", "\n", "\r", "\t", ";", "&", "|", ">", "*", "~", "-", "%s", " "),
    *("$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "\ntouch pwned\n", "${IFS}"),
    *("END_OF_PLAN", "\nEND_OF_PLAN\ntouch pwned\n", "EOF", "\n}\n", "\nfi\n", "-n", "--", "../../", "/", "\\\n"),
    *(
        "\u202e",
        "\u200b",
        "\u2066",
        "\U000e0041",
        "\u00a0",
        "\u115f",
        "\u3164",
        "\ufe0f",
        "\n```\n",
        "````",
        "<script>",
        "](x)",
        "shellcheck disable=all",
        "\x1b[2J",
        "\x7f",
        "é\u2028",
        "\u0081\x88",
    ),
)
hostile = st.lists(st.sampled_from(FRAGMENTS) | st.characters(codec="utf-8", exclude_characters="\0"), max_size=6).map(
    "".join
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, list[str]]:
    texts = [draw(hostile) for _ in range(3)]
    show = [f"printf %s {shlex.quote(text)}" for text in texts]
    made = replace(setup("s", "key", make=show[0]), creates=draw(hostile))
    steps = [
        step("watch", "sleep 9", Action.COLLECT, why=draw(hostile)),
        replace(step("m", show[1], why=draw(hostile)), expect=draw(hostile)),
    ]
    broken = draw(st.sampled_from(["'", '"', "`", "$(", "fi", "}", "<<END_OF_PLAN", "\\", "(", "case x in", "exit 7"]))
    return (
        plan(
            made,
            trial(1, "s", steps, factors={draw(hostile): draw(hostile)}),
            trial(2, steps=[step("broken", f"{broken}\n")]),
            trial(3),
            facts=[step("fact", show[2], Action.FACT, why=draw(hostile))],
            title=draw(hostile),
            sources=draw(st.dictionaries(hostile, hostile, max_size=2)),
            tools={"sh": draw(hostile)},
        ),
        texts,
    )


@settings(max_examples=25, deadline=None)
@given(plans(), st.sampled_from(tuple(SHELLS)))
def test_text_is_inert_in_the_script(made: tuple[Plan, list[str]], shell: str) -> None:
    hostile_plan, texts = made
    with tempfile.TemporaryDirectory() as name:
        at = Path(name)
        run = carry_out(at, hostile_plan, shell, code=None)
        assert words(events(run))[:3] == ["session", "+s", "=t1"]
        assert words(events(run))[-3:] == ["=t3", "-s", "finish"]
        outputs = ("setups/s/a1/make-s.out", "trials/t1/1/a1/m.out", "facts/fact.out")
        assert [(run / output).read_bytes().decode() for output in outputs] == texts
        assert (run / "plan.jsonl").read_bytes().decode() == "".join(json_lines.emit(hostile_plan))
        kept = sorted(file.read_bytes().decode() for file in (run / "source").iterdir())
        assert kept == sorted(hostile_plan.header.sources.values())
        assert sorted(path.name for path in at.iterdir()) == ["plan.sh", "runs"]
        subprocess.run([*SHELLS[shell], at / "plan.sh", "-h"], check=True, capture_output=True, cwd=at)
        subprocess.run([*SHELLS[shell], at / "plan.sh", "--list"], check=True, capture_output=True, cwd=at)
        assert not list(at.rglob("pwned"))


@pytest.mark.parametrize("form", sorted(EMITTERS))
@given(made=plans())
def test_nothing_invisible_is_emitted(form: str, made: tuple[Plan, list[str]]) -> None:
    emitted = "".join(EMITTERS[form].emit(made[0]))
    assert [char for char in emitted if not is_visible(char) and char not in LAYOUT] == []


@pytest.mark.parametrize("shell", SHELLS)
def test_invisible_characters_are_exact_in_executed_text(shell: str, tmp_path: Path) -> None:
    text = "a'\u202e'\u200b\u202e\n\x1b[2J\x7f\r\n\u2066\U000e0041%s\\\u00a0"
    run = carry_out(tmp_path, plan(trial(1, steps=[step("m", f"printf %s {shlex.quote(text)}")]), title=text), shell)
    assert (run / "trials/t1/1/a1/m.out").read_bytes().decode() == text
    assert "$(printf '\\342\\200\\213\\342\\200\\256')" in (tmp_path / "plan.sh").read_text("utf-8")


@given(plans())
def test_text_is_inert_in_the_runbook(made: tuple[Plan, list[str]]) -> None:
    """Outside fences, as CommonMark defines them, every line contains only zlang's own text."""
    fence = ""
    outside = []
    for line in "".join(markdown.emit(made[0])).replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        ticks = len(line) - len(line.lstrip("`"))
        if fence:
            fence = "" if ticks >= len(fence) and not line.strip("` ") else fence
        elif ticks >= 3:
            fence = line[:ticks]
        else:
            outside.append(line)
    assert not fence
    text = "\n".join(outside)
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert not [line for line in outside if "touch pwned" in line and line.startswith("touch")]
    assert [line.split(":")[0] for line in outside if line.startswith("## Trial")] == [
        "## Trial 1",
        "## Trial 2",
        "## Trial 3",
    ]


@pytest.mark.parametrize("text", ["```", "a\n`````\nb", "`"])
def test_a_fence_is_longer_than_any_in_its_text(text: str) -> None:
    emitted = "".join(markdown.emit(plan(trial(1, steps=[step("m", text)]))))
    longest = max(len(line) for line in text.split("\n") if set(line) == {"`"})
    assert "\n" + "`" * max(3, longest + 1) + "sh\n" + text + "\n" in emitted
