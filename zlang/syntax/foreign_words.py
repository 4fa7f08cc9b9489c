"""Words of other languages and tools, and what to write instead."""

from __future__ import annotations

from zlang.syntax.lexer import CLAUSES

ENTRIES = {
    "for": "there are no loops: `NAME = 4KiB | 8KiB` measures both",
    "while": "there are no loops: `NAME = 4KiB | 8KiB` measures both",
    "lambda": "write a function as `let NAME(x) = …`",
    "class": "write a kind as `kind NAME: ROLE { … }`",
    "type": "write a kind as `kind NAME: ROLE { … }`",
    "struct": "write a kind as `kind NAME: ROLE { … }`",
    "if": "choose a value instead: `NAME = if CONDITION then A else B`",
    "def": "write a function as `let NAME(x) = …`",
    "function": "write a function as `let NAME(x) = …`",
    **dict.fromkeys(("fn", "fun", "func"), "write a function as `let NAME(x) = …`"),
    "from": "write `import MODULE`: all kinds of the module are then known",
    "include": 'write `import "./lab.zexp"`',
    "require": 'write `import "./lab.zexp"`',
    "source": 'write `import "./lab.zexp"`',
    "import": "write one module a line: `import MODULE`",
    **dict.fromkeys(("existing", "external", "import_existing"), "write `given KIND NAME { … }`"),
    "terraform": "remove it: a program does not state its own version",
    **dict.fromkeys(
        ("insert", "create", "update", "delete", "drop"), "`zlang sql` queries results; a program cannot change them"
    ),
    "print": "`zlang plan` shows values; remove it",
    "variable": "write `param NAME = VALUE`, which `--set NAME=…` changes",
    "variables": "write `param NAME = VALUE`, which `--set NAME=…` changes",
    "locals": "write `let NAME = VALUE`",
    "resource": "write the kind and the name without quotes: `KIND NAME { … }`",
    "module": 'write `import "./lab.zexp" as NAME { PARAM = VALUE }`',
    "provider": "write `import MODULE`",
    "filesystem": "its kind says which one it is, `KIND NAME on DISK { … }`: `zlang kinds` lists them",
    "sysctl": "declare a setting of the system with a kind and a name: `zlang kinds` lists the kinds",
    "output": "write `table …` in the experiment",
    "run": "`zlang run FILE` runs experiments: remove the line",
    **dict.fromkeys(CLAUSES, "it belongs in an experiment: `experiment NAME { … }`"),
    "select": "query results with `zlang sql`, or write `table median(METRIC) by FACTOR` in the experiment",
    "[global]": "write `let base = …`, or `let other = base with { … }` to share options",
}
"""Words that begin a line in other languages, with what to write instead."""

EXPERIMENT_WORDS = {
    "group": "write `table median(METRIC) by FACTOR`",
    "order": "tables are in the order of the levels; `zlang sql` can sort",
    "limit": "write `design = sample(100)` to measure fewer points",
    "select": "write `table median(METRIC) by FACTOR`",
    **dict.fromkeys(("graph", "chart", "draw", "figure"), "write `plot METRIC over FACTOR`"),
    **dict.fromkeys(("desc", "asc"), "tables are in the order of the levels; `zlang sql` can sort"),
    **dict.fromkeys(("measure", "metrics", "report", "show", "print", "record"), "write `table METRIC, … by FACTOR`"),
    "compare": "`zlang compare --by FACTOR` compares levels after a run; to state what you expect, write `expect …`",
    "join": "a trial has all columns already: remove it",
    "times": "write the number alone",
    "not": "write `where not (CONDITION)`",
    "having": "write `expect CONDITION`; for a factor, `where CONDITION`",
    "filter": "write `where CONDITION`",
    "only": "write `where CONDITION`",
    "when": "write `where CONDITION`",
    "unless": "write `where not (CONDITION)`",
    "exclude": "write `where not (CONDITION)`",
    "except": "write `where not (CONDITION)`",
    "skip": "write `where not (CONDITION)`",
    "between": "write `where LOW <= x <= HIGH`",
    "like": 'write `where starts_with(x, "…")`, or `"part" in x`',
    "vs": "write `plot METRIC over FACTOR`",
    "against": "write `plot METRIC over FACTOR`",
    "for": "there are no loops: `NAME = 4KiB | 8KiB` measures both, combined with the levels of all other factors",
}
"""Words of queries and other languages in an experiment, and what to write instead."""

_RANGE = "write a range as `4KiB..64KiB by *2`"

FIELD_WORDS = {
    **dict.fromkeys(("step", "to", "until", "through"), _RANGE),
    "if": "write `if CONDITION then A else B`",
    "metric": "a kind declares its metrics: `kind NAME: workload { … metric … }`",
}
"""The same among the properties of a declared thing."""

_TIMES = "write a number and its unit as one word: `5s`, `5min`, `2h`"

VALUE_WORDS = {
    **dict.fromkeys(("seconds", "second", "sec", "secs", "minutes", "minute", "hours", "hour", "days", "day"), _TIMES),
    "if": "write `if CONDITION then A else B`",
    ".": 'write a function before its value: `len(x)`; texts are joined as `"{a}{b}"`',
    "mod": "write a remainder as `a % b`, with spaces around the sign",
    ",": "write one value, a choice `a | b`, or a list `[a, b]`",
}
"""Words behind a value."""

UNIT_WORDS = {
    "KB": "KiB",
    **dict.fromkeys(("seconds", "second", "sec", "secs"), "s"),
    **dict.fromkeys(("minutes", "minute", "mins"), "min"),
    **dict.fromkeys(("hours", "hour", "hrs"), "h"),
    **dict.fromkeys(("days", "day"), "d"),
    **dict.fromkeys(("iops", "IOPS", "ops"), "/s"),
    **dict.fromkeys(("milliseconds", "millisecond"), "ms"),
}
