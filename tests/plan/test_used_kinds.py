"""Planning resolves nothing: a stage before it resolves all commands, traits and properties that a plan needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from zlang.check import kind_actions, kinds, library, used_kinds
from zlang.check.check import Overrides
from zlang.diagnostics import ProgramError
from zlang.pipeline import plans, programs
from zlang.source import Source

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"```zexp\n(.*?)```", re.DOTALL)
_PAGES = [ROOT / "docs" / f"{name}.md" for name in ("language", "streams", "machines", "studies", "writing-kinds")]
_ITEMS = 200


def _programs() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.glob("examples/**/*.zexp")):
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")
    for page in _PAGES:
        for i, block in enumerate(_BLOCK.findall(page.read_text("utf-8"))):
            yield f"{page.relative_to(ROOT)}-{i}", block


class _Resolved:
    """Records what is resolved while it is on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on, self.parts = False, list[str]()
        for owner, name in (
            (kind_actions, "_command"),
            (kinds._KindBuilder, "_trait"),
            (kinds, "define"),
            (library, "kind_of"),
        ):
            monkeypatch.setattr(owner, name, self._recording(getattr(owner, name)))

    def _recording(self, function: Any) -> Any:
        def recorded(*args: Any, **named: Any) -> Any:
            if self.is_on:
                span = getattr(args[-1], "span", None)
                self.parts.append(f"{function.__name__}: {span.source.name if span else ''} {span and span.text!r}")
            return function(*args, **named)

        return recorded


@pytest.mark.parametrize(("name", "text"), [pytest.param(*each, id=each[0]) for each in _programs()])
def test_planning_resolves_nothing(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library.load.cache_clear()
    resolved = _Resolved(monkeypatch)
    checked = programs.check(Source(str(ROOT / name.rpartition("-")[0]), text), Overrides())
    if not checked.is_sound:
        pytest.skip("a part of a program")
    ahead = used_kinds.resolve_used_kinds

    def stage(*args: Any) -> Any:
        resolved.is_on = False
        result = ahead(*args)
        resolved.is_on = True
        return result

    monkeypatch.setattr(used_kinds, "resolve_used_kinds", stage)
    for experiment in checked.program.experiments.values():
        try:
            planned = plans.plan(checked, experiment, 1, Overrides())
            list(islice(planned.plan.items(), _ITEMS))
        except ProgramError:
            pass
        resolved.is_on = False
    assert not resolved.parts
