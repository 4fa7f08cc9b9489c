"""The score of `make mutants`: how many wrong versions of the parts that guard and account for a run a test finds.

In: what mutmut left in `mutants/`, and the survivors that are explained in tests/survivors.toml. Out: a table for
docs/reliability.md, and the survivors that nobody has explained.

    python tools/mutants.py            print both; exit with 1 if the score is too low or a survivor is not explained
    python tools/mutants.py --keep     write the table, and the survivors to be explained
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
"""What mutmut keeps of a mutant (pytest's exit code, or its own); anything else killed it, None is not tried."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A change of one function that no test minds: the lines as they are, and as they were changed."""

    where: str
    was: str
    changed: str


def main() -> int:
    """Print the score and the survivors that are not explained; with `--keep` write them down."""
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
    known = {(one["where"], one["was"], one["changed"]): one["why"] for one in _explained()}
    unknown = [one for one in survivors if not known.get((one.where, one.was, one.changed))]
    print(text)
    if score["untried"]:
        print(f"{score['untried']} mutants were not tried")
    for one in unknown:
        print(f"not explained: {one.where}\n  - {one.was}\n  + {one.changed}")
    if "--keep" in sys.argv:
        PAGE.write_text(_TABLE.sub(lambda _: text, PAGE.read_text("utf-8")), "utf-8")
        EXPLAINED.write_text("".join(_entry(one, known) for one in survivors), "utf-8")
    is_good = score["killed"] >= _LEAST * score["tried"] and not unknown and not score["untried"]
    return 0 if is_good else 1


def _row(name: str, mutants: int, tried: int, killed: int) -> str:
    share = f"{killed / tried:.1%}" if tried else "-"
    return f"| {name} | {mutants:,} | {tried:,} | {killed:,} | {share} |\n"


def _explained() -> list[dict[str, str]]:
    found: list[dict[str, str]] = tomllib.loads(EXPLAINED.read_text("utf-8")).get("survivor", [])
    return found


def _entry(one: Survivor, known: dict[tuple[str, str, str], str]) -> str:
    fields = {
        "where": one.where,
        "was": one.was,
        "changed": one.changed,
        "why": known.get((one.where, one.was, one.changed), ""),
    }
    return "[[survivor]]\n" + "".join(f"{name} = {json.dumps(text)}\n" for name, text in fields.items()) + "\n"


def _survivors(module: str, names: list[str]) -> Iterator[Survivor]:
    """What was changed in each, from the file with all versions of each function."""
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
