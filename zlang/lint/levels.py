"""The severity of each rule in a project: `--deny`, `--warn` and `--allow`, and the table of a project file.

```toml
# zlang.toml, beside the programs or above them
[lint]
deny  = ["bs-below-recordsize"]
warn  = ["too-few-replicates"]
allow = { runtime-too-short = "these programs are pilots" }
```

The command line takes precedence over the file, and both over a rule's own severity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from zlang import project
from zlang.diagnostics import Diagnostic, Lint, Severity
from zlang.errors import RunError
from zlang.lint.after import AFTER
from zlang.lint.rules import RULES
from zlang.record import Record
from zlang.suggest import did_you_mean

ALLOWED = "allow"
_SEVERITIES = {"deny": Severity.ERROR, "warn": Severity.WARNING}
_EVERY = (*(rule.lint for rule in RULES), *AFTER.values())
LINTS = {lint.name: lint for lint in _EVERY} | {lint.id: lint for lint in _EVERY}
"""The rules by name and by id."""


class Levels(Record):
    """The levels of rules: `deny`, `warn` or `allow` by name, and the reasons for which a file allows rules."""

    by_name: Mapping[str, str]
    reasons: Mapping[str, str] = MappingProxyType({})

    def of(self, finding: Diagnostic) -> Diagnostic | None:
        """A finding with the severity of its level; None if it is allowed."""
        if not isinstance(finding.code, Lint):
            return finding
        level = self.by_name.get(finding.code.name)
        if level is None:
            return finding
        if level == ALLOWED:
            return None
        code = Lint(finding.code.id, finding.code.name, _SEVERITIES[level])
        return Diagnostic(
            code=code,
            span=finding.span,
            message=finding.message,
            label=finding.label,
            hint=finding.hint,
            notes=finding.notes,
            fixes=finding.fixes,
        )

    def reason(self, finding: Diagnostic) -> str:
        """The reason why a finding is allowed."""
        return self.reasons.get(finding.code.name, "") or "the command line allows it"


def levels(directory: Path, options: Mapping[str, Iterable[str]]) -> Levels:
    """The levels for programs in a directory. Raises RunError if a rule is not known or the file is wrong."""
    text: dict[str, str] = {}
    reasons: dict[str, str] = {}
    path = project.find(directory)
    for level, words in _in_file(path) if path else ():
        text |= {_find_lint(word, f"{path}").name: level for word in words}
        reasons |= {_find_lint(word, f"{path}").name: why for word, why in words.items()}
    for level, named in options.items():
        text |= {_find_lint(word, f"--{level}").name: level for word in named}
    return Levels(text, reasons)


def _find_lint(word: str, where: str) -> Lint:
    if word not in LINTS:
        raise RunError(
            f"{where}: unknown rule `{word}`", did_you_mean(word, LINTS) or "`zlang explain` lists the rules"
        )
    return LINTS[word]


def _in_file(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The table of a project file: each level with its rules, and the reasons for allowed ones."""
    for level, rules in project.table(path, "lint").items():
        if level not in {*_SEVERITIES, ALLOWED}:
            raise RunError(f"{path}: [lint] has no `{level}`", did_you_mean(level, (*_SEVERITIES, ALLOWED)))
        needs_reasons = level == ALLOWED
        is_table = isinstance(rules, dict if needs_reasons else list)
        texts = [*rules, *(rules.values() if needs_reasons else ())] if is_table else []
        if not is_table or not all(isinstance(text, str) and text for text in texts):
            form = '{ RULE = "why" }' if needs_reasons else '["RULE"]'
            raise RunError(f"{path}: `{level}` in [lint] is written {level} = {form}")
        yield level, dict(rules) if needs_reasons else dict.fromkeys(rules, "")
