"""`zlang explain`: what a finding means, with a program that has it and the same program mended.

In: `zlang/explanations/CODE.md`, a page for each code: a title, prose, the wrong program, the command that finds it
(`zlang check` if it is not said), the mended program. Out: the page with the message as it is printed, which is not
kept anywhere: the wrong program is checked whenever a page is shown, so that no page can be stale.

A pitfall that zlang excludes has a page of the same form, in which `by` is the code of the error that its wrong program
is; or one without a wrong program, with lines that stand in the plan of the right one, in this order.
"""

from __future__ import annotations

import inspect
import re
import shlex
import sys
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path

from zlang import pipeline
from zlang.cli import checking, render
from zlang.diagnostics import Code, Diagnostic, Lint, ProgramError
from zlang.errors import RunError
from zlang.lint.rules import EXCLUDED, RULES
from zlang.lint.rules.excluded import Excluded
from zlang.record import Record
from zlang.source import Source
from zlang.suggest import did_you_mean

PAGES = Path(__file__).parents[1] / "explanations"
PROGRAM = "program.zexp"
_OF_ALLOWANCES = {Code.UNKNOWN_RULE, Code.NO_REASON, Code.UNUSED_ALLOWANCE}
_LOOK_LIKE_DIGITS = str.maketrans("OIL", "011")
_PAGE = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<prose>.+?)\n\n"
    r"(?:```zexp wrong(?: also=(?P<also>\w+))?(?: by=(?P<by>\w+))?(?: times=(?P<times>\d+))?\n(?P<wrong>.+?\n)```\n\n)?"
    r"(?:```sh\n(?P<command>.+)\n```\n\n)?"
    r"```zexp\n(?P<right>.+?\n)```\n"
    r"(?:\n```text\n(?P<planned>.+?\n)```\n)?",
    re.DOTALL,
)


Explained = Code | Lint | Excluded


class Page(Record):
    """What there is to say about a code.

    The last line of `wrong` stands in the program `times` times. It has the finding `by`, and besides, before that,
    `also`. Where nothing is wrong, `planned` are lines of the plan of `right`.
    """

    code: Explained
    title: str
    prose: str
    wrong: str
    command: str
    right: str
    by: str
    times: int = 1
    also: str = ""
    planned: str = ""


def explain(word: str | None) -> int:
    """Print the page of a code, or what there are."""
    if word is None:
        width = max(len(code.id) for code in every())
        for code in every():
            print(f"{code.id:{width}}  {page(code).title}")
        print("\nzlang explain CODE shows a wrong program, its message, and the mended program")
        return 0
    known = {code.id: code for code in every()}
    named = {one.name: one.id for one in every() if not isinstance(one, Code)}
    wanted = named.get(word.strip(), word.strip().upper())
    if wanted not in known:
        raise RunError(f"there is no code `{word}`", _hint(wanted, known))
    print("\n".join(_shown(page(known[wanted]), colour=render.is_coloured(sys.stdout))))
    return 0


def _hint(wanted: str, known: Collection[str]) -> str:
    digits = wanted[:1] + wanted[1:].translate(_LOOK_LIKE_DIGITS)
    meant = [digits] if digits in known else known
    return did_you_mean(digits, meant) or "`zlang explain` lists them"


def every() -> list[Explained]:
    """All that can be found or is excluded, by id."""
    return sorted([*Code, *(rule.lint for rule in RULES), *EXCLUDED], key=lambda code: code.id)


def _text(code: Explained) -> str:
    """The page of a code as it was written: a rule has it beside what it does."""
    if not isinstance(code, Lint):
        return (PAGES / f"{code.id}.md").read_text("utf-8")
    find = next(rule.find for rule in RULES if rule.lint.id == code.id)
    title, _, rest = inspect.cleandoc(find.__doc__ or "").partition("\n")
    return f"# {title.rstrip('.')}\n{rest}\n"


def page(code: Explained) -> Page:
    """The page of a code."""
    text = _text(code)
    found = _PAGE.fullmatch(text)
    assert found, f"BUG: {code.id}.md is no page"
    return Page(
        code,
        found["title"],
        found["prose"],
        found["wrong"] or "",
        found["command"] or (f"zlang plan {PROGRAM} --steps" if found["planned"] else f"zlang check {PROGRAM}"),
        found["right"],
        found["by"] or code.id,
        int(found["times"] or 1),
        found["also"] or "",
        found["planned"] or "",
    )


def wrong_program(page: Page) -> str:
    """The program that is wrong, with its last line as often as it stands there."""
    *before, last = page.wrong.splitlines(keepends=True)
    return "".join([*before, last * page.times])


def repeated(page: Page) -> str:
    """A comment that says so where the last line is repeated."""
    return f"# … and so on, {page.times:,} times\n" if page.times > 1 else ""


def findings(page: Page, text: str) -> list[Diagnostic]:
    """What the page's command finds in a program."""
    _, verb, _, *options = shlex.split(page.command)
    given = dict(zip(options[::2], options[1::2], strict=False))  # `--steps` has no value
    said = checking.overrides([given["--set"]] if "--set" in given else [], given.get("--profile"))
    checked = pipeline.check(Source(PROGRAM, text), said)
    found, _ = checking.with_spaces(checked)
    if not isinstance(page.code, Code) or page.code in _OF_ALLOWANCES:
        found += pipeline.lint(checked)
    if found or verb == "check":
        return found
    try:
        planned = pipeline.plan(checked, pipeline.choose(checked, None), pipeline.DEFAULT_SEED, said)
        if "--emit" in given:
            for _ in pipeline.job_files(planned):
                pass
    except ProgramError as error:
        return [error.diagnostic]
    return []


def message(page: Page, *, colour: bool) -> str:
    """What is printed about the wrong program, as far as it is about this code; else what the plan has to have."""
    if page.planned:
        return page.planned
    found = findings(page, wrong_program(page))
    return "\n".join(render.diagnostic(finding, colour=colour) for finding in found if finding.code.id == page.by)


def _shown(page: Page, *, colour: bool) -> Iterator[str]:
    yield f"{page.code.id}: {page.title}\n"
    yield textwrap.fill(" ".join(page.prose.split()), 100) + "\n"
    if page.planned:
        yield textwrap.indent(page.right, "    ")
        yield f"{page.command} has:\n"
        yield textwrap.indent(page.planned, "    ").rstrip("\n")
        return
    yield "wrong:\n"
    yield textwrap.indent(page.wrong + repeated(page), "    ")
    yield f"{page.command} says:\n"
    yield textwrap.indent(message(page, colour=colour), "    ")
    yield "mended:\n"
    yield textwrap.indent(page.right, "    ").rstrip("\n")
