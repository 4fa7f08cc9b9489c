"""The score of `make mutants`: how many wrong versions of the parts that guard and account for a run a test finds.

In: what mutmut left in `mutants/`, and the reasons for survivors in tests/survivors.toml. Out: a table for
docs/reliability.md, and the survivors for which there is no reason.

    python tools/mutants.py            print both; exit with 1 if the score is too low or a survivor has no reason
    python tools/mutants.py --keep     write the table, too
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTANTS = ROOT / "mutants"
EXPLAINED = ROOT / "tests/survivors.toml"
PAGE = ROOT / "docs/reliability.md"
_TABLE = re.compile(r"(?<=<!-- written by tools/mutants.py -->\n).*?(?=<!-- end -->)", re.DOTALL)
_LEAST = 0.9
_SURVIVED, _NO_TEST = 0, 33
"""Results of mutmut (exit codes of pytest, or its own) that mean survival; None means that it was not tried."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A change of one function that no test minds: the lines as they are, and as they were changed."""

    where: str
    was: str
    changed: str

    @property
    def change(self) -> str:
        """The difference between the lines: `old → new`."""
        start = _shared_length(self.was, self.changed)
        was, changed = self.was[start:], self.changed[start:]
        end = _shared_length(was[::-1], changed[::-1])
        return f"{was[: len(was) - end]} → {changed[: len(changed) - end]}"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason why no test notices some changes; patterns match the function, the line as it was, and the change."""

    why: str
    where: str = ""
    was: str = ""
    change: str = ""

    def holds_for(self, survivor: Survivor) -> bool:
        """Whether a change is one of those."""
        pairs = ((self.where, survivor.where), (self.was, survivor.was), (self.change, survivor.change))
        return all(re.search(pattern, text) for pattern, text in pairs)


def main() -> int:
    """Print the score and the survivors without a reason; with `--keep` write the score down."""
    table, survivors, score = [], [], Counter[str]()
    for path in sorted(MUTANTS.glob("zlang/**/*.meta")):
        module = path.relative_to(MUTANTS).as_posix().removesuffix(".py.meta")
        codes = json.loads(path.read_text("utf-8"))["exit_code_by_key"]
        tried = {name: code for name, code in codes.items() if code is not None}
        alive = [name for name, code in tried.items() if code in {_SURVIVED, _NO_TEST}]
        survivors += list(_survivors(module, alive))
        score.update(tried=len(tried), killed=len(tried) - len(alive), untried=len(codes) - len(tried))
        table.append(_row(f"`{module}.py`", len(codes), len(tried), len(tried) - len(alive)))
    table.append(_row("all", score["tried"] + score["untried"], score["tried"], score["killed"]))
    text = "| part | mutants | tried | found | share of those tried |\n|---|---|---|---|---|\n" + "".join(table)
    reasons = [Reason(**entry) for entry in tomllib.loads(EXPLAINED.read_text("utf-8"))["survivor"]]
    unknown = [survivor for survivor in survivors if not any(reason.holds_for(survivor) for reason in reasons)]
    idle = [reason for reason in reasons if not any(reason.holds_for(survivor) for survivor in survivors)]
    print(text)
    if score["untried"]:
        print(f"{score['untried']} mutants were not tried")
    for survivor in unknown:
        print(f"no reason: {survivor.where}\n  - {survivor.was}\n  + {survivor.changed}")
    for reason in idle:
        print(f"a reason for nothing: {reason}")
    if "--keep" in sys.argv:
        PAGE.write_text(_TABLE.sub(lambda _: text, PAGE.read_text("utf-8")), "utf-8")
    is_good = score["killed"] >= _LEAST * score["tried"] and not unknown and not idle and not score["untried"]
    return 0 if is_good else 1


def _shared_length(text: str, other: str) -> int:
    pairs = enumerate(zip(text, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(text), len(other)))


def _row(name: str, mutants: int, tried: int, killed: int) -> str:
    share = f"{killed / tried:.1%}" if tried else "-"
    return f"| {name} | {mutants:,} | {tried:,} | {killed:,} | {share} |\n"


def _survivors(module: str, names: list[str]) -> Iterator[Survivor]:
    """The changes in each surviving mutant, from the file with all versions of each function."""
    tree = ast.parse((MUTANTS / f"{module}.py").read_text("utf-8"))
    bodies = {
        node.name: ast.unparse(ast.Module(node.body, [])).splitlines()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and "__mutmut_" in node.name
    }
    for name in names:
        function, _, number = name.rpartition(".")[2].rpartition("__mutmut_")
        lines = list(difflib.ndiff(bodies[f"{function}__mutmut_orig"], bodies[f"{function}__mutmut_{number}"]))
        was = " ".join(line[2:].strip() for line in lines if line.startswith("- "))
        changed = " ".join(line[2:].strip() for line in lines if line.startswith("+ "))
        yield Survivor(f"{module}: {function.removeprefix('xǁ').removeprefix('x_').replace('ǁ', '.')}", was, changed)


if __name__ == "__main__":
    sys.exit(main())
