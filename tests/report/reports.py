"""Provide runs to report on: a plain one, and one with hostile text in every name."""

from __future__ import annotations

import itertools
from pathlib import Path

import orjson
from run_folders import RunBuilder, factor

from zlang.check.check import Overrides
from zlang.check.questions import Clause, FactorRef, Measure, Plot, Table, Term
from zlang.pipeline import programs
from zlang.source import Source
from zlang.store.ingest import ingest

HOSTILE = (
    '<script>document.title = "pwned"</script>',
    "</script><img src=x onerror=\"document.title='pwned'\">",
    "\"' onmouseover='document.title=1' x=\"",
    "{{ 7 * 7 }} {% raw %} <!-- ]]> & &lt;",
    "javascript:alert(1)",
    "](javascript:alert(1)) ``` | <b>",
    "größe 数据 🦎 \x1b[31m\x00\u202e",
    "name" * 2500,
)

PROGRAM = """\
# Is a larger block faster?
import fio
param top: size = 16KiB
dir here { path = "." }
file data on here { size = 1MiB }
fio rand { rw = randread  bs = 4KiB | top }
experiment e "Blocks" { on = data  run = rand  repeat = 3
  expect "larger is faster" median(read_iops where bs == 64KiB) > median(read_iops where bs == 4KiB)
  table read_iops by bs
  plot read_iops over bs
}
"""


def plain(directory: Path) -> tuple[Path, Path]:
    """Create a database and its run folders: two block sizes, three replicates each."""
    overrides = Overrides({"top": "64KiB"})
    checked = programs.check(Source("program.zexp", PROGRAM), overrides)
    assert checked.is_sound
    run = RunBuilder(
        directory / "runs" / "r",
        experiment="e",
        factors=(factor("bs", "size"),),
        clauses=tuple(checked.program.experiments["e"].clauses),
        sources={"program.zexp": PROGRAM},
        settings=dict(overrides.values),
        facts={"kernel": "Linux 6.18\n", "cpu": "a processor\n" * 20},
    )
    for replicate, noise in enumerate((0.9, 1.0, 1.1), 1):
        for point, bs, iops in (("p1", 4096, 100.0), ("p2", 65536, 50.0)):
            run.measured(point, replicate, {"bs": bs}, printed({"read_iops": iops * noise}))
    run.done()
    return ingested(directory)


def hostile(directory: Path) -> tuple[Path, Path]:
    """Create such a run with all of these words as title, factor, program, fact, clause and reason; each is a level."""
    words = " ".join(HOSTILE)
    word_factor = FactorRef(words, ("rand.bs",), "word")
    measure = Measure(words, Term("median", (Term("metric", name="read_iops"),), words), "iops")
    clauses: tuple[Clause, ...] = (
        Table(f"table {words}", (measure,), (word_factor,)),
        Plot(f"plot {words}", (measure,), FactorRef("depth", ("rand.depth",), "count"), (word_factor,), None),
        Plot(f"plot {words}", (measure,), word_factor, (), FactorRef("depth", ("rand.depth",), "count")),
    )
    run = RunBuilder(
        directory / "runs" / "r",
        experiment="e",
        title=words,
        factors=(factor(words, "word", "rand.bs"), factor("depth", "count")),
        clauses=clauses,
        sources={f"{words}.zexp": f"# {words}\n{words}\n"},
        settings={"word": words},
        facts={"kernel": words},
    )
    for replicate in (1, 2):
        for n, level in enumerate(HOSTILE):
            for depth in (1, 2):
                run.measured(
                    f"p{n}{depth}",
                    replicate,
                    {words: level, "depth": depth},
                    printed({"read_iops": 100.0 * replicate}),
                )
    run.failed("p", 1, {words: "another", "depth": 1}, words)
    run.done()
    return ingested(directory)


def wide(directory: Path) -> tuple[Path, Path]:
    """Create such a run with three factors and four metrics with intervals."""
    types = {"read_iops": "iops", "write_iops": "iops", "read_clat_p99": "duration", "usr_cpu": "share"}
    measures = tuple(
        Measure(name, Term("median", (Term("metric", name=name),), f"median({name})", type=type_), type_)
        for name, type_ in types.items()
    )
    by = tuple(FactorRef(name, (f"rand.{name}",), type_) for name, type_ in (("rw", "word"), ("bs", "size")))
    run = RunBuilder(
        directory / "runs" / "r",
        factors=(factor("rw", "word"), factor("bs", "size"), factor("iodepth", "count")),
        clauses=(Table("table them by rw, bs", measures, by),),
    )
    for n, (rw, bs, depth) in enumerate(itertools.product(("randrw", "rw"), (4096, 65536), (1, 8))):
        for replicate in (1, 2, 3):
            iops = 10_000.0 * depth * (1 + replicate / 10)
            metrics = {"read_iops": iops, "write_iops": iops / 2, "read_clat_p99": 1e12 / iops, "usr_cpu": 12.5}
            run.measured(f"p{n}", replicate, {"rw": rw, "bs": bs, "iodepth": depth}, printed(metrics))
    run.done()
    return ingested(directory)


def printed(metrics: dict[str, float]) -> bytes:
    """Write the results file of a trial with these metrics."""
    return orjson.dumps({"metrics": metrics})


def ingested(directory: Path) -> tuple[Path, Path]:
    """Build a database of all run folders in a directory; return both paths."""
    ingest(directory / "runs", directory / "db")
    return directory / "db", directory / "runs"


def many(directory: Path, points: int) -> tuple[Path, Path]:
    """Create a database and its run folders: the given number of points, of two block sizes, once each."""
    run = RunBuilder(directory / "runs" / "r", factors=(factor("bs", "size"), factor("iodepth", "count")))
    for n in range(points):
        run.measured(f"p{n}", 1, {"bs": 4096 << n % 2, "iodepth": 1 + n // 2}, printed({"read_iops": 100.0 + n % 7}))
    run.done()
    return ingested(directory)
