"""Check every program in the documentation and the examples, and plan it up to its first trials."""

from __future__ import annotations

import re
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import pytest

from zlang import units
from zlang.check.check import Overrides
from zlang.check.types import SCALARS
from zlang.cli.commands import COMMANDS
from zlang.emit.registry import EMITTERS
from zlang.pipeline import plans, programs, runs
from zlang.plan import wire
from zlang.source import Source
from zlang.store import store
from zlang.syntax import parse, tables
from zlang.syntax.lexer import Token

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"```zexp\n(.*?)```", re.DOTALL)
_FORMS = re.compile(r"```zexp(?: form)?\n(.*?)```", re.DOTALL)


def texts() -> list[tuple[str, str]]:
    places_and_texts = [
        (str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in sorted(ROOT.glob("examples/**/*.zexp"))
    ]
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
        text = page.read_text("utf-8")
        for block in _BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 2
            places_and_texts.append((f"{page.relative_to(ROOT)}:{line}", block.group(1)))
    return places_and_texts


def test_the_language_page_has_every_type_and_unit_in_its_table() -> None:
    page = (ROOT / "docs/language.md").read_text("utf-8")
    section = page.partition("\n## Values\n")[2].partition("\n## ")[0]
    cells = re.findall(r"`([^`\n]+)`", section)
    missing = SCALARS.keys() - set(cells)
    assert not missing, f"add a row for {sorted(missing)} to the table of types in docs/language.md, section Values"
    undescribed = set(units.UNITS) - set(cells)
    assert not undescribed, f"name {sorted(undescribed)} in docs/language.md, section Values"


def test_the_language_page_has_every_format_of_plans() -> None:
    page = (ROOT / "docs/language.md").read_text("utf-8")
    rows = "".join(line for line in page.splitlines() if line.startswith("| `--emit "))
    missing = [name for name in EMITTERS if f"`--emit {name}`" not in rows]
    assert not missing, f"add a row for {missing} to the table of formats in docs/language.md, section Order"


def test_the_page_of_versions_has_the_numbers_of_the_formats() -> None:
    page = (ROOT / "docs/versions.md").read_text("utf-8")
    numbers = dict(re.findall(r"^\| the (\w+) \|.*\| ([\d.]+) \|$", page, re.MULTILINE))
    assert numbers == {
        "language": ".".join(version("zlang").split(".")[:2]),
        "plan": str(wire.FORMAT),
        "database": store.VERSION,
    }


def test_the_readme_has_every_command() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    names = {command.__name__.strip("_") for command in COMMANDS}
    missing = {name for name in names if f"`zlang {name}" not in readme}
    assert not missing, f"add a row for {sorted(missing)} to the table of commands in README.md"


@pytest.mark.parametrize(("name", "text"), texts(), ids=[name for name, _ in texts()])
def test_a_program_is_sound_and_can_be_planned(name: str, text: str) -> None:
    overrides = Overrides()
    checked = programs.check(Source(name, text), overrides)
    assert [f"{f.code.id} {f.message}" for f in checked.findings] == []
    for experiment in checked.program.experiments.values():
        planned = plans.plan(checked, experiment, 1, overrides)
        assert list(islice(planned.plan.items(), 10))
        assert "".join(islice(plans.emit(planned, "json"), 20))


def test_the_language_page_names_every_rule_of_the_grammar_and_uses_every_production(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used: set[int] = set()
    reduce = parse.Driver._reduce

    def noting(self: parse.Driver, stack: list[parse._Part], number: int, following: Token) -> bool:
        used.add(number)
        return reduce(self, stack, number, following)

    monkeypatch.setattr(parse.Driver, "_reduce", noting)
    page = (ROOT / "docs/language.md").read_text("utf-8")
    for block in _FORMS.finditer(page):
        parsed = parse.program(Source("language.md", block.group(1)))
        assert [f"{f.message}: {f.span.text}" for f in parsed.findings] == []
    rules = tables.load().rules
    assert [rule for number, rule in enumerate(rules) if number not in used] == []
    assert [origin for origin in sorted({origin for origin, *_ in rules}) if f"`{origin}`" not in page] == []


def test_the_language_page_names_every_limit() -> None:
    from zlang.check.arithmetic import LONGEST_LIST
    from zlang.check.ranges import LONGEST_RANGE
    from zlang.space.points import LARGEST_SAMPLE
    from zlang.space.space import LIMIT
    from zlang.syntax.parse import DEEPEST, LONGEST

    page = (ROOT / "docs/language.md").read_text("utf-8")
    for number in (LONGEST, DEEPEST, LONGEST_RANGE, LONGEST_LIST, LIMIT, LARGEST_SAMPLE, runs.RUN_LIMIT):
        assert f"{number:,}" in page


def test_the_language_page_names_every_field_of_an_experiment_and_function() -> None:
    from zlang.check.experiment_fields import FIELDS
    from zlang.check.functions import FUNCTIONS

    page = (ROOT / "docs/language.md").read_text("utf-8")
    for word in (*FIELDS, *FUNCTIONS):
        assert f"`{word}`" in page, word
