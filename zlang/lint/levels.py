"""How much each rule matters in a project: what `--deny`, `--warn` and `--allow` say, and the table of a project file.

```toml
# zlang.toml, beside the programs or above them
[lint]
deny  = ["bs-below-recordsize"]
warn  = ["too-few-replicates"]
allow = { runtime-too-short = "these programs are pilots" }
```

The command line wins over the file, and both over what a rule says of itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from zlang.diagnostics import Diagnostic, Lint, Severity
from zlang.errors import RunError
from zlang.lint.rules import RULES
from zlang.record import Record
from zlang.suggest import did_you_mean

FILE = "zlang.toml"
ALLOWED = "allow"
_SEVERITIES = {"deny": Severity.ERROR, "warn": Severity.WARNING}
LINTS = {rule.lint.name: rule.lint for rule in RULES} | {rule.lint.id: rule.lint for rule in RULES}
"""The rules by name and by id."""


class Levels(Record):
    """What was said of rules: their names, with `deny`, `warn` or `allow`."""

    said: Mapping[str, str]

    def of(self, finding: Diagnostic) -> Diagnostic | None:
        """A finding with the severity that it has here; None where it is allowed."""
        if not isinstance(finding.code, Lint):
            return finding
        level = self.said.get(finding.code.name)
        if level is None:
            return finding
        if level == ALLOWED:
            return None
        code = Lint(finding.code.id, finding.code.name, _SEVERITIES[level])
        return Diagnostic(
            code, finding.span, finding.message, finding.label, finding.hint, finding.notes, finding.fixes
        )


def levels(directory: Path, options: Mapping[str, Iterable[str]]) -> Levels:
    """What holds for programs in a directory. Raises RunError where a rule is not known or the file is wrong."""
    said: dict[str, str] = {}
    path = next((place / FILE for place in (directory, *directory.parents) if (place / FILE).is_file()), None)
    for level, words in _in_file(path) if path else ():
        said |= {_known(word, f"{path}").name: level for word in words}
    for level, named in options.items():
        said |= {_known(word, f"--{level}").name: level for word in named}
    return Levels(said)


def _known(word: str, where: str) -> Lint:
    if word not in LINTS:
        raise RunError(f"{where}: there is no rule `{word}`", did_you_mean(word, LINTS) or "`zlang explain` lists them")
    return LINTS[word]


def _in_file(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The table of a project file: each level with its rules; what is allowed has a reason."""
    import tomllib

    try:
        table = tomllib.loads(path.read_text("utf-8")).get("lint", {})
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read {path}: {error}") from None
    for level, rules in table.items() if isinstance(table, dict) else ():
        if level not in {*_SEVERITIES, ALLOWED}:
            raise RunError(f"{path}: [lint] has no `{level}`", did_you_mean(level, (*_SEVERITIES, ALLOWED)))
        needs_reasons = level == ALLOWED
        words = list(rules) if isinstance(rules, dict if needs_reasons else list) else None
        given = all(isinstance(why, str) and why for why in rules.values()) if needs_reasons and words else True
        if words is None or not given or not all(isinstance(word, str) for word in words):
            form = '{ RULE = "why" }' if needs_reasons else '["RULE"]'
            raise RunError(f"{path}: `{level}` in [lint] is written {level} = {form}")
        yield level, words
