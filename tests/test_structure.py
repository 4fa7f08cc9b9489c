"""Test boundaries that import-linter cannot check: start-up cost, places that name tools and metrics, pure modules."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from tokenize import COMMENT, tokenize

import pytest

from zlang.check import library
from zlang.check.traits import TRAITS
from zlang.emit.registry import EMITTERS
from zlang.lint.rules import RULES
from zlang.metrics import in_trials
from zlang.syntax import tables

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "zlang"
HELP_TEXTS = PACKAGE / "cli/commands.py"
"""Its docstrings are printed by `--help`."""
MODULES = sorted(PACKAGE.rglob("*.py"))
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef

HEAVY = {
    "asyncio", "asyncssh", "covertable", "duckdb", "ipaddress", "jinja2", "lark", "numpy", "pydantic", "rich", "scipy",
    "typing", "urllib.parse",
}  # fmt: skip

OTHER_TOOLS = {
    "arcstat", "blktrace", "dmsetup", "fallocate", "lvm", "mkfs", "nvme", "sar", "sysstat", "vmtouch", "zdb",
}  # fmt: skip
"""Tools that the library does not name as kinds, readers or commands that kinds require."""
CORE = {kind for kind in library.load().names() if library.load().module_of(kind) == "core"}
"""Kinds that every program has without an import, as it has `let` and `experiment`."""
POSIX = {"awk", "dd", "find", "mkdir", "readlink", "ssh", "timeout"}
"""Commands of any system, with which zlang's own scripts work."""
ORDINARY = {
    "check", "dataset", "discard", "disk", "export", "fill", "image", "loop", "md", "meminfo", "nice", "outside",
    "partition", "pool", "precondition", "pressure", "rebuild", "root", "rounds", "scope", "send", "snapshot",
    "streams", "trim",
}  # fmt: skip
"""Other kinds, readers and commands with a name that is also a word of English, of JavaScript or of /proc."""
IMPORTERS = {
    "zlang/cli/option_table.py": {"fio", "zfs"},
    "zlang/importing/__init__.py": {"fio", "zfs"},
    "zlang/importing/bench_fio.py": {"fio"},
    "zlang/importing/elbencho.py": {"fio", "mpstat"},
    "zlang/importing/fio.py": {"fio"},
    "zlang/importing/fio_options.py": {"fio"},
    "zlang/importing/job_file.py": {"fio"},
    "zlang/importing/machine.py": {"mount", "nfs", "zfs", "zpool"},
    "zlang/importing/registry.py": {"fio"},
    "zlang/importing/vdbench.py": {"fio"},
}
"""Modules that read files or output of other tools, with their kinds; the generated table has the options for them."""
EVERYWHERE = {"elapsed", "rounds"}
"""Metrics with a name that is also a column of every trial, or a word."""
OF_PATHS = {"read_bytes", "write_bytes", "_bytes"}
"""Methods and fields that are called as metrics, or the ends of metrics, are."""
WORDS_OF_THE_LANGUAGE = {
    "ask", "at", "cache", "called", "command", "copies", "data", "device", "from", "kernel", "layout", "level", "log",
    "memory", "metric", "options", "path", "protocol", "ram", "seed", "size", "until", "value", "writes",
}  # fmt: skip
"""Properties with a name that is also a word of the language, of SQL, or of examples."""
NAMES_OF_RULES = {rule.lint.name for rule in RULES}
PURE = ("syntax", "check", "space", "plan", "emit")
IMPURE = {
    "asyncio", "datetime", "http", "multiprocessing", "os", "random", "secrets", "select", "shutil", "signal", "socket",
    "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
DRAWS_BY_A_SEED = {"zlang/plan/order.py", "zlang/space/faults.py", "zlang/space/space.py"}
READS_ITS_PARTS = "zlang/check/library.py"
"""The module that reads parts of a file of the package."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def output_of_start(words: list[str], expression: str, at: Path = ROOT) -> tuple[str, str]:
    """Return the output of a command, whose standard error has its exit code and the value of an expression."""
    program = (
        f"import sys; from zlang.cli.app import guarded; code = guarded({words!r}); "
        f"print(code, {expression}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=at,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "example"), [("check", "quickstart"), ("plan", "quickstart"), ("plan", "filesystems")]
)
def test_a_start_imports_nothing_heavy(command: str, example: str) -> None:
    """`zlang.hints` has the names of `typing`."""
    tables.load()
    library.load()
    out, err = output_of_start([command, f"examples/{example}.zexp"], f"sorted({HEAVY!r} & sys.modules.keys())")
    assert err.endswith("0 []\n")
    assert example in out


@pytest.mark.parametrize("words", [["status"], ["explain"], ["explain", "E101"]])
def test_a_short_answer_imports_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    """What orjson imports takes 8 ms: `dataclasses` with `inspect`, `datetime` and `uuid`."""
    expression = f"sorted({HEAVY | {'inspect', 'orjson'}!r} & sys.modules.keys())"
    assert output_of_start(words, expression, tmp_path)[1].endswith("[]\n")


def test_a_path_still_has_a_url() -> None:
    """A start imports pathlib without `urllib.parse`."""
    url = "__import__('pathlib').Path('/a b').as_uri()"
    assert output_of_start(["--version"], url)[1] == "0 file:///a%20b\n"


def test_a_fraction_is_still_made_from_a_decimal() -> None:
    """A check imports `fractions` without `decimal`."""
    made = "__import__('fractions').Fraction(__import__('decimal').Decimal('0.5'))"
    expression = f"'decimal' in sys.modules, {made}"
    assert output_of_start(["check", "examples/quickstart.zexp"], expression)[1].endswith("0 False 1/2\n")


@pytest.mark.parametrize(
    "words", [["check", "--format=json"], ["plan", "--trials", "--seed", "7"], ["explain"], ["status"]]
)
def test_a_plain_command_line_is_read_without_typer(words: list[str]) -> None:
    """Typer, with the pydantic that it imports, takes longer than `zlang check FILE`."""
    files = ["examples/quickstart.zexp"] if words[0] in {"check", "plan"} else []
    assert output_of_start([*words, *files], "'typer' in sys.modules")[1].endswith("False\n")


def is_rule(node: ast.AST) -> bool:
    """Check whether a function is a rule, whose docstring is a page with programs or data."""
    decorators = map(ast.unparse, node.decorator_list) if isinstance(node, FUNCTION) else ()
    return any(decorator.startswith("RULES.add(") for decorator in decorators)


def identifiers_and_strings(path: Path, *, has_docstrings: bool) -> Iterator[tuple[int, str]]:
    """Return all identifiers and strings of a module, except rule pages; `has_docstrings` adds all other docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | FUNCTION) and (is_rule(node) or not has_docstrings)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in silent:
                yield node.lineno, text
            case ast.Constant(value=bytes(content)):
                yield node.lineno, content.decode("latin-1")
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.FunctionDef(name=text) | ast.ClassDef(name=text):
                yield node.lineno, text
            case ast.AsyncFunctionDef(name=text) | ast.MatchAs(name=str(text)) | ast.MatchStar(name=str(text)):
                yield node.lineno, text
            case ast.MatchMapping(rest=str(text)) | ast.ExceptHandler(name=str(text)) | ast.alias(asname=str(text)):
                yield node.lineno, text
            case ast.arg(arg=text):
                yield node.lineno, text
            case ast.keyword(arg=str(text)):
                yield node.value.lineno, text


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        yield from ((each.start[0], each.string) for each in tokenize(file.readline) if each.type == COMMENT)


def declared_tools() -> set[str]:
    """Return the names of kinds and readers, and of the commands that kinds require."""
    loaded = library.load()
    required = {
        word for source in loaded.sources.values() for word in re.findall(r"(?m)^ *requires (\w+)", source.text)
    }
    return {*loaded.names(), *loaded.readers, *required}


def declared_metrics() -> set[str]:
    declared = [metric for metrics in library.load().readers.values() for metric in metrics]
    return {metric.name for metric in (*declared, *in_trials(declared))}


def said_outside(*packages: str, has_docstrings: bool = False) -> Iterator[tuple[str, str]]:
    """Return each text outside these packages, with its place: in Python modules, SQL and templates."""
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] not in packages:
            texts = identifiers_and_strings(path, has_docstrings=has_docstrings or path == HELP_TEXTS)
            yield from ((f"{name(path)}:{line}", text) for line, text in texts)
            for line, text in comments(path) if has_docstrings else ():
                yield f"{name(path)}:{line}", text
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix in {".sql", ".j2", ".css", ".js", ".sh", ".lark"}:
            lines = enumerate(path.read_text("utf-8").splitlines(), 1)
            is_script = path.suffix == ".sh"
            yield from ((f"{name(path)}:{line}", text) for line, text in lines if not (is_script and text[:1] == "#"))


def words(text: str) -> set[str]:
    """Return the words of a text, and their parts: `fio_runtime`, `FioRuntime`, `fio`, `runtime`."""
    lower = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()
    return {*re.split(r"[^a-z0-9]+", lower), *re.split(r"\W+", lower)}


def test_storage_tools_are_named_only_where_their_output_is_read() -> None:
    tools = declared_tools()
    assert tools >= ORDINARY | POSIX
    assert not ORDINARY & CORE
    assert not OTHER_TOOLS & tools
    sought = tools | OTHER_TOOLS
    named = [
        (place, tool)
        for place, text in said_outside("readers")
        if text not in NAMES_OF_RULES
        for tool in sorted(sought & words(text))
        if tool not in IMPORTERS.get(place.partition(":")[0], ())
    ]
    unused = (ORDINARY | POSIX) - {tool for _, tool in named}
    assert not unused, f"{unused}: remove them from ORDINARY and POSIX"
    foreign = [f"{place}: {tool}" for place, tool in named if tool not in CORE | ORDINARY | POSIX]
    assert not foreign, (
        f"{foreign}: only kinds, readers and importers name tools: use a trait, or a meaning of a metric; if it is "
        "also an ordinary word, add it to ORDINARY"
    )


def test_hints_declare_no_kind_that_needs_an_import() -> None:
    """An ordinary word is a kind if something is declared with it: `before = precondition {}`."""
    kinds = "|".join(sorted({*library.load().names()} - CORE))
    declared = re.compile(rf"\bkinds ({kinds})\b|\b({kinds})\b( \w+)?( on \w+)? *\{{|\{{\d:({kinds})\}}")
    named = [
        f"{place}: {match[0]}"
        for place, text in said_outside("importing", "readers")
        if ".py:" in place
        for match in declared.finditer(text)
    ]
    assert not named, f"{named}: take what to write from a trait of the kind, `to_…`"


def test_metrics_are_named_only_where_they_are_declared_and_read() -> None:
    metrics = declared_metrics()
    ends = {f"_{metric.partition('_')[2]}" for metric in metrics if metric.startswith("read_")}
    assert metrics | ends >= EVERYWHERE | OF_PATHS
    latencies = {"clat", "slat"}  # the second words of distributions; a third, `lat`, is also a word for latency
    assert all(f"read_{word}_mean" in metrics for word in latencies)
    sought = (metrics | latencies | ends) - EVERYWHERE  # a name may be put together: `f"{direction}_iops"`
    named = [
        f"{place}: {metric}"
        for place, text in said_outside("readers", has_docstrings=True)
        if text not in OF_PATHS
        for metric in sorted(sought & words(text))
    ]
    assert not named, (
        f"{named}: use a meaning instead (`means = …` in the metric's declaration in stdlib; `MEANINGS` in "
        "zlang/check/metric_declarations.py has all), or a trait of a kind"
    )


def declared_properties() -> set[str]:
    loaded = library.load()
    return {property_ for kind in loaded.names() for property_ in loaded.declared(kind).nodes}


def test_properties_are_named_only_where_kinds_declare_them() -> None:
    """Messages show code between backticks; a rule takes property names from a trait of the kind."""
    properties = declared_properties()
    assert properties >= WORDS_OF_THE_LANGUAGE
    sought = properties - WORDS_OF_THE_LANGUAGE
    named = [
        f"{place}: `{code}`"
        for place, text in said_outside("importing", "readers")
        if ".py:" in place
        for code in re.findall("`([^`]+)`", text)
        if sought & set(re.findall(r"\w+", code))
    ]
    assert not named, f"{named}: take what to write from a trait of the kind, `to_…`"


ASKING = {"advice", "factors", "having", "is_", "is_not", "is_stated", "number", "place", "places_of", "trait"}
"""Methods of things and trials that take the name of a trait."""


def test_rules_ask_for_traits_that_are_declared() -> None:
    unknown = [
        f"{name(path)}:{node.lineno}: {trait}"
        for path in sorted((PACKAGE / "lint").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ASKING
        for trait in (arg.value for arg in node.args if isinstance(arg, ast.Constant))
        if isinstance(trait, str) and trait not in TRAITS
    ]
    assert not unknown, f"{unknown}: zlang/check/traits.py has the names of all traits"


def imported(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield node.lineno, module.partition(".")[0]


def test_the_stages_up_to_emit_see_no_clock_no_environment_and_no_chance() -> None:
    impure = [
        f"{name(path)}:{line}: {module}"
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] in PURE
        for line, module in imported(path)
        if module in IMPURE
        and not (module == "random" and name(path) in DRAWS_BY_A_SEED)
        and not (module == "os" and name(path) == READS_ITS_PARTS)
    ]
    assert not impure, f"{impure}: take it as an argument; these packages get time, files and chance from their callers"


@pytest.mark.parametrize("path", sorted(DRAWS_BY_A_SEED))
def test_random_numbers_come_from_a_seed(path: str) -> None:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "random"]
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="random"), attr=attribute):
                assert attribute == "Random", f"{path}:{node.lineno}: random.{attribute} has no seed"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="random"), attr="Random")):
                assert node.args, f"{path}:{node.lineno}: random.Random() has no seed"


def test_no_emitter_knows_another() -> None:
    modules = {path.stem: path for path in (PACKAGE / "emit").glob("*.py")}
    emitters = modules.keys() - {"__init__", "base", "registry"}
    assert emitters == {emit_format.module for emit_format in EMITTERS.values()}, "each has a line in registry.py"
    others = re.compile(rf"zlang\.emit(\.| import .*)({'|'.join(emitters)})\b")
    assert [emitter for emitter in emitters if others.search(modules[emitter].read_text("utf-8"))] == []


def test_commands_are_started_only_by_run() -> None:
    starters = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp"}
    starts = [
        f"{name(path)}:{node.lineno}: os.{node.attr}"
        for path in MODULES
        if not path.is_relative_to(PACKAGE / "run")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os"
        if node.attr in starters
    ]
    assert not starts, f"{starts}: only zlang/run starts processes; call that"


def test_no_name_is_that_of_two_classes() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(f"{name(path)}:{node.lineno}")
    twice = [class_places for class_places in places.values() if len(class_places) > 1]
    assert not twice, f"{twice}: give one of the two classes another name"


MOST_BY_PLACE = 5
"""Values that a constructor takes without their names."""


def fields_of(node: ast.ClassDef) -> int:
    made = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
    if made:
        return len(made[0].args.args) - 1
    return sum(isinstance(part, ast.AnnAssign) for part in node.body)


def is_by_place(call: ast.Call, large: set[str]) -> bool:
    """Check whether a call creates a large value with many positional arguments."""
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if called not in large:
        return False
    stars = [arg for arg in call.args if isinstance(arg, ast.Starred)]
    is_whole = len(call.args) == len(stars) == 1  # a record that was kept as a tuple
    return len(call.args) > MOST_BY_PLACE or (bool(stars) and not is_whole)


def test_constructors_of_many_fields_take_keywords() -> None:
    trees = {path: list(ast.walk(ast.parse(path.read_text("utf-8")))) for path in MODULES}
    classes = [node for nodes in trees.values() for node in nodes if isinstance(node, ast.ClassDef)]
    large = {node.name for node in classes if fields_of(node) > MOST_BY_PLACE}
    assert "Trial" in large
    by_place = [
        f"{name(path)}:{node.lineno}"
        for path, nodes in trees.items()
        for node in nodes
        if isinstance(node, ast.Call) and is_by_place(node, large)
    ]
    assert not by_place, f"{by_place}: write the names of the arguments, `NAME=VALUE`"


NOT_NAMES = {"asked", "found", "known", "left", "one", "rest", "said", "told", "what"}
"""Words that say nothing of what they stand for."""
OF_PAIRS = {"left", "right"}
"""Names of the operands of an operator, where a module has both."""
OF_THE_FORMAT = {"Guarded.what"}
"""Fields of plans, which would be another format under another name."""


def given_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return all names defined in a module: of classes, functions, parameters, fields and variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text):
                yield node.lineno, text
            case ast.MatchAs(name=str(text)) | ast.MatchStar(name=str(text)):
                yield node.lineno, text
            case ast.arg(arg=text) | ast.Name(id=text, ctx=ast.Store()):
                yield node.lineno, text
            case ast.Attribute(attr=text, ctx=ast.Store()):
                yield node.lineno, text
            case ast.ClassDef(name=text, body=body):
                yield node.lineno, text
                for part in body:
                    if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                        yield part.lineno, f"{text}.{part.target.id}"


SCRIPTS = (
    ROOT / "editors/vscode/src/extension.ts",
    ROOT / "tools/iframe-worker.js",
    PACKAGE / "report/templates/report.js",
)
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
"""Comments and texts of JavaScript, but not of templates, which have names in them."""


def keep_lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def test_names_are_descriptive() -> None:
    empty = []
    others = [path for folder in ("bench", "tests", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
    for path in (*MODULES, *others, *ROOT.glob("*.py"), *ROOT.glob("editors/*/tests/*.py")):
        names = list(given_names(ast.parse(path.read_text("utf-8"))))
        of_pairs = OF_PAIRS if {*OF_PAIRS} <= {text for _, text in names} else set()
        of_the_format = {text.rpartition(".")[2] for _, text in names if text in OF_THE_FORMAT}
        for line, text in names:
            if text.strip("_").lower() in NOT_NAMES - of_pairs - of_the_format:
                empty.append(f"{name(path)}:{line}: {text}")
    for path in SCRIPTS:
        for line, text in enumerate(NO_CODE.sub(keep_lines, path.read_text("utf-8")).splitlines(), 1):
            empty += [f"{name(path)}:{line}: {word}" for word in re.findall(r"[A-Za-z_]\w*", text) if word in NOT_NAMES]
    assert not empty, f"{empty}: name what the value is; NOT_NAMES has the words that do not"


NOUN_CLAUSE = re.compile(r"(What|How|Where|Which|Whom?|When|Why|That)\b")


def described(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return the docstrings of a module, including those below fields and constants."""
    for node in ast.walk(tree):
        for part in getattr(node, "body", ()) if isinstance(node, ast.Module | ast.ClassDef | FUNCTION) else ():
            match part:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield part.lineno, text


def test_a_docstring_is_a_sentence_or_a_noun() -> None:
    clauses = [
        f"{name(path)}:{line}: {text.splitlines()[0]}"
        for path in (*MODULES, *sorted((ROOT / "bench").rglob("*.py")), *sorted((ROOT / "tools").rglob("*.py")))
        for line, text in described(ast.parse(path.read_text("utf-8")))
        if NOUN_CLAUSE.match(text)
    ]
    assert not clauses, f"{clauses}: begin with a verb, `Return the …`, or a noun, `The reason why …`"


LATE_LIBRARIES = {
    "asyncssh", "covertable", "csv", "dataclasses", "difflib", "duckdb", "fcntl", "hashlib", "ipaddress", "jinja2",
    "json", "lark", "numpy", "orjson", "pydantic", "pydantic_core", "markupsafe", "random", "rich", "scipy", "select",
    "shutil", "subprocess", "tempfile", "textwrap", "tomllib", "traceback", "typer", "typing", "urllib",
}  # fmt: skip
"""What takes long to import, or only some commands need."""
LATE_STAGES = {
    "zlang/check/choices.py": {
        "is_rows", "levels_between", "resolve_dependent_range", "resolve_ends", "resolve_range_levels", "rows_of",
    },
    "zlang/check/declarations.py": {"ENTRIES"},
    "zlang/check/experiment_scope.py": {"Presence", "guard"},
    "zlang/check/experiments.py": {"clauses", "vocabulary"},
    "zlang/check/extent.py": {"path_of_pass"},
    "zlang/check/kinds.py": {"kind_checks"},
    "zlang/check/library.py": {"replace_file"},
    "zlang/check/module_scope.py": {"resolve_function"},
    "zlang/check/modules.py": {"ENTRIES", "with_meant_word"},
    "zlang/check/resolve.py": {"resolve_cell"},
    "zlang/lint/trial.py": {"Expectation"},
    "zlang/project.py": {"read_regular"},
    "zlang/space/faults.py": {"bisection"},
    "zlang/store/past.py": {"session"},
    "zlang/store/query.py": {"hints"},
    "zlang/syntax/parse.py": {"slips"},
    "zlang/syntax/tables.py": {"replace_file"},
}  # fmt: skip
"""Outside of `cli` and `pipeline`: what no program needs without clauses, conditions, errors, ranges, searches, tables,
kept data, a project file, or kinds and functions of its own, no start with saved tables, and no plan with saved
durations."""


def late_imports(tree: ast.Module) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    """Return the imports within functions, with the package of each."""
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    for node in {inner: None for function in functions for inner in ast.walk(function)}:
        match node:
            case ast.ImportFrom(module=str(module)):
                yield node, module.partition(".")[0]
            case ast.Import(names=names):
                yield from ((node, alias.name.partition(".")[0]) for alias in names)


def test_imports_within_functions_keep_something_out_of_the_start() -> None:
    late = []
    for path in MODULES:
        stage = path.relative_to(PACKAGE).parts[0]
        for node, package in late_imports(ast.parse(path.read_text("utf-8"))):
            names = {alias.name for alias in node.names}
            if package == "zlang":
                is_allowed = stage in {"cli", "pipeline"} or names <= LATE_STAGES.get(name(path), set())
            else:
                is_allowed = package in LATE_LIBRARIES
            if not is_allowed:
                late.append(f"{name(path)}:{node.lineno}: {', '.join(sorted(names))}")
    assert not late, f"{late}: import it at the top, or add it to LATE_LIBRARIES or LATE_STAGES"


def modules_of(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Return the modules that an import loads."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield alias.name
        else:
            inner = PACKAGE.parent.joinpath(*f"{node.module}.{alias.name}".split("."))
            yield (
                f"{node.module}.{alias.name}"
                if inner.is_dir() or inner.with_suffix(".py").exists()
                else str(node.module)
            )


def test_imports_within_functions_are_not_loaded_already() -> None:
    useless = []
    for path in MODULES:
        late = list(late_imports(ast.parse(path.read_text("utf-8"))))
        if late:
            module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
            listing = f"import zlang.cli, {module}, sys; print(*sys.modules)"  # as a command starts
            loaded = subprocess.run(
                [sys.executable, "-c", listing], capture_output=True, text=True, check=True
            ).stdout.split()
            useless += [f"{name(path)}:{node.lineno}" for node, _ in late if {*modules_of(node)} <= {*loaded}]
    assert not useless, f"{useless}: the module loads this anyway: import it at the top"


def test_no_modules_import_each_other_even_within_functions() -> None:
    imports: dict[str, set[str]] = {}
    for path in MODULES:
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        named = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
        imports[module] = {each for node in named for each in modules_of(node)} - {module}
    try:
        TopologicalSorter({module: named & imports.keys() for module, named in imports.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"{' <- '.join(error.args[1])}: move what they share into a module below both")


_EACH_FIRST = """
import importlib, pkgutil, sys, zlang.check
for module in pkgutil.iter_modules(zlang.check.__path__, "zlang.check."):
    for name in [name for name in sys.modules if name.startswith("zlang")]:
        del sys.modules[name]
    importlib.import_module(module.name)
"""


def test_each_module_of_check_can_be_imported_first() -> None:
    """A circular import fails only in commands that enter the cycle at the wrong place."""
    done = subprocess.run([sys.executable, "-c", _EACH_FIRST], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
