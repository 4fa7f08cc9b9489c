"""Check that random expressions have the values that Python gives: arithmetic, conditions, `if`, lists, functions.

Expressions are generated as Python; only `if` is written in a different order in zlang.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Action, Trial
from zlang.source import Source

HEAD = 'dir here { path = "." }\nlet k = 1 | 2 | 4\nlet m = 0 | 3\n'
SHOWN = 'shell s { command = "echo {k} {m} : {text(a)} {[text(q) for q in l]}" }\nexperiment e { on = here  run = s }\n'
DEEPEST = 4


class Draw:
    """Generator of seeded random expressions; `names` are those that have a value where the expression occurs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables = 0
        self.functions: tuple[str, ...] = ()

    def number(self, depth: int, names: list[str]) -> str:
        """Draw a whole number."""
        forms: list[Callable[[int, list[str]], str]] = [
            lambda d, n: f"({self.number(d, n)} {self.random.choice('+-*')} {self.number(d, n)})",
            lambda d, n: f"({self.number(d, n)} if {self.condition(d, n)} else {self.number(d, n)})",
            lambda d, n: f"len({self.values(d, n)})",
            lambda d, n: f"sum({self.values(d, n)})",
        ]
        forms += [lambda d, n: f"{self.random.choice(self.functions)}({self.number(d, n)})"] if self.functions else []
        if depth == 0 or self.random.random() < 0.3:
            return self.random.choice([*names, str(self.random.randint(0, 5))])
        return self.random.choice(forms)(depth - 1, names)

    def condition(self, depth: int, names: list[str]) -> str:
        """Draw a condition."""
        forms: list[Callable[[int, list[str]], str]] = [
            lambda d, n: f"({self.condition(d, n)} and {self.condition(d, n)})",
            lambda d, n: f"({self.condition(d, n)} or {self.condition(d, n)})",
            lambda d, n: f"(not {self.condition(d, n)})",
            lambda d, n: f"({self.number(d, n)} {self.random.choice(['in', 'not in'])} {self.values(d, n)})",
        ]
        if depth == 0 or self.random.random() < 0.4:
            sign = self.random.choice(["==", "!=", "<", "<=", ">", ">="])
            return f"({self.number(max(0, depth - 1), names)} {sign} {self.number(max(0, depth - 1), names)})"
        return self.random.choice(forms)(depth - 1, names)

    def values(self, depth: int, names: list[str]) -> str:
        """Draw a list."""
        if depth == 0 or self.random.random() < 0.4:
            return f"[{', '.join(self.number(max(0, depth - 1), names) for _ in range(self.random.randint(1, 3)))}]"
        if self.random.random() < 0.2:
            return f"({self.values(depth - 1, names)} + {self.values(depth - 1, names)})"
        self.variables += 1
        own = f"v{self.variables}"
        source, inner = self.values(depth - 1, names), [*names, own]
        kept = f" if {self.condition(depth - 1, inner)}" if self.random.random() < 0.7 else ""
        return f"[{self.number(depth - 1, inner)} for {own} in {source}{kept}]"


def in_zlang(expression: str) -> str:
    """Rewrite each `if` of a Python expression in zlang's order, innermost first."""

    class Turned(ast.NodeTransformer):
        def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
            self.generic_visit(node)
            parts = [ast.unparse(part) for part in (node.test, node.body, node.orelse)]
            turned.append("(if ({}) then ({}) else ({}))".format(*parts))
            return ast.Name(f"turned_{len(turned) - 1}_")

    turned: list[str] = []
    text = ast.unparse(Turned().visit(ast.parse(expression, mode="eval")))
    while place := re.search(r"turned_(\d+)_", text):
        text = text.replace(place[0], turned[int(place[1])])
    return text


@pytest.mark.parametrize("seed", range(40))
def test_a_program_has_the_values_that_python_gives(seed: int) -> None:
    drawn = Draw(seed)
    functions = {f"f{i}": drawn.number(2, ["x"]) for i in range(2)}
    drawn.functions = tuple(functions)
    names = ["k", "m"] if seed % 2 else []  # what reads no factor is evaluated once
    a, values = drawn.number(DEEPEST, names), drawn.values(DEEPEST, names)
    lets = [f"let {name}(x) = {in_zlang(body)}\n" for name, body in functions.items()]
    text = f"{HEAD}{''.join(lets)}let a = {in_zlang(a)}\nlet l = {in_zlang(values)}\n{SHOWN}"
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert checked.is_sound, (text, checked.findings)
    planned = plans.plan(checked, programs.choose(checked, None), 1, Overrides())
    trials = [item for item in planned.plan.items() if isinstance(item, Trial)]
    assert trials
    for trial in trials:
        (command,) = (step.command for step in trial.steps if step.action is Action.MEASURE)
        shown = re.search(r"echo (\d+) (\d+) : (.*?)'; rc=", command)
        assert shown is not None
        scope: dict[str, Any] = {"k": int(shown[1]), "m": int(shown[2])}
        scope |= {name: eval(f"lambda x: {body}", scope) for name, body in functions.items()}
        expected = [eval(a, scope), *eval(values, scope)]
        assert [int(word.replace('"', "").replace("'", "")) for word in shown[3].split()] == expected, text
