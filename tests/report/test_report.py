"""Test the report of a run: its content, the links from its figures, and that names stay plain text in every form."""

from __future__ import annotations

import csv
import itertools
import re
import sys
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from reports import hostile, ingested, many, plain, printed
from run_folders import RunBuilder, factor

from zlang.check.questions import Expectation, FactorRef, Term
from zlang.cli import answering
from zlang.cli.app import guarded
from zlang.pipeline import reports, results
from zlang.report import answer, blocks, judging, page, series
from zlang.report.document import Figure, Paragraph
from zlang.report.judging import JudgedCombination
from zlang.run.folder import Folder
from zlang.text import LAYOUT

pytestmark = pytest.mark.usefixtures("judged_by_print")


class Page(HTMLParser):
    """The elements of a page: their attributes, and the text of each type of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in {"meta", "img"}:
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag = self.inside[-1] if self.inside else ""
        self.texts[tag] = self.texts.get(tag, "") + data

    def of(self, tag: str, name: str) -> list[str]:
        """Return the values of an attribute of all elements of a type."""
        return [str(attributes[name]) for kind, attributes in self.attributes if kind == tag and name in attributes]


def test_figures_lead_to_their_trials_and_trials_to_their_raw_files(tmp_path: Path) -> None:
    db, runs = plain(tmp_path)
    (target,) = reports.write_report(db, None, runs, "html", tmp_path / "report.html")
    seen = Page(target.read_text("utf-8"))
    links, anchors = seen.of("a", "href"), set(seen.of("tr", "id")) | set(seen.of("section", "id"))
    within = [link[1:] for link in links if link.startswith("#")]
    assert {"point-1", "point-2"} <= set(within) <= anchors
    files = [unquote(link) for link in links if link.startswith("runs/")]
    assert len([name for name in files if name.endswith("measure.out")]) == 6
    assert all((tmp_path / name).exists() for name in files if "plan.sh" not in name)


def test_without_plot_libraries_a_report_has_tables_and_the_exit_code_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    db, runs = plain(tmp_path)
    for name in ("plotext", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    (target,) = reports.write_report(db, None, runs, "html", tmp_path / "report.html")
    seen = Page(target.read_text("utf-8"))
    assert "img" not in {tag for tag, _ in seen.attributes}
    assert "pip install 'zlang[plots]'" in seen.texts["code"]
    assert "read_iops over bs" in seen.texts["h3"]
    assert answering.close(results.conclude(Folder(runs / "r"), db), failures=0, is_whole=True) == 4
    problem = "warning: the libraries that draw plots are not installed"
    assert capsys.readouterr().err == f"{problem}; to see this run's plots: pip install 'zlang[plots]'\n"
    assert guarded(["plot", "r", "--db", str(db)]) == 1


def test_the_heading_of_a_page_has_no_backticks(tmp_path: Path) -> None:
    db, runs = plain(tmp_path)
    made = replace(reports.report(db, None, runs, None), title="What does `bs` <cost>?")
    assert "<h1>What does <code>bs</code> &lt;cost&gt;?</h1>" in page.html(made)


def test_a_report_has_question_results_and_commands(tmp_path: Path) -> None:
    db, runs = plain(tmp_path)
    (target,) = reports.write_report(db, None, runs, "markdown", tmp_path / "report.md")
    text = target.read_text("utf-8").replace("\\", "")
    assert "Is a larger block faster?" in text
    assert text.index("larger is faster: fail, bs=64KiB / bs=4KiB = 0.5") < text.index("## Results")
    assert re.search(
        r"Compared with `bs` = 4KiB, `read_iops` is \d+ % lower with 64KiB \(a ratio of 0\.[\d.]+ to 0\.[\d.]+ with",
        text,
    )
    assert "| fail | larger is faster | 1 of 1 |  | geomean(read_iops where bs == 64KiB) = " in text
    assert re.search(r"\| 4KiB \| 3 \| [\d.]+ \[[\d.]+ … [\d.]+\] \| 1 \|", text)
    assert re.search(r"\| bs \| 64KiB \| 4KiB \| 0\.\d+ \|.* slower", text)
    assert "| kernel | Linux 6.18 |" in text
    assert "zlang run program.zexp --set top=64KiB --experiment e --seed 1" in text
    assert "[measure.out](<runs/r/trials/p1/1/a1/measure.out>)" in text


def test_machines_that_are_alike_share_a_sentence(tmp_path: Path) -> None:
    cpu = "processor\t: 0\nmodel name\t: Fast\n"
    facts = {f"{name}.cpu": cpu * count for name, count in {"c1": 2, "c2": 2, "server": 8}.items()}
    run = RunBuilder(
        tmp_path / "runs" / "r",
        facts={**facts, "c1.fio": "fio-3.33", "c2.fio": "fio-3.33"},
        machines=("c1", "c2", "server"),
    )
    run.measured("p", 1, {}, printed({"read_iops": 100.0}))
    run.done()
    db, runs = ingested(tmp_path)
    (target,) = reports.write_report(db, None, runs, "markdown", tmp_path / "report.md")
    text = target.read_text("utf-8").replace("\\", "")
    assert "Measured on c1, c2: 2 × Fast, fio-3.33, zlang" in text
    assert "Measured on server: 8 × Fast, zlang" in text
    assert text.count("Measured on") == 2


def test_the_answer_has_each_level_that_differs(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "runs" / "r", factors=(factor("bs", "size"),))
    for position, (size, ratio) in enumerate([(4096, 1.0), (8192, 2.0), (16384, 0.25), (32768, 1.0)] * 3):
        run.measured(f"p{size}", 1 + position // 4, {"bs": size}, printed({"read_iops": ratio * (100 + position)}))
    run.done()
    db, runs = ingested(tmp_path)
    text = page.markdown(reports.report(db, None, runs, tmp_path)).replace("\\", "")
    assert re.search(
        r"Compared with `bs` = 4KiB, `read_iops` is \d+ % lower with 16KiB \([^()]*\); "
        r"2\S* times as high with 8KiB \([^()]*\)\.\n",
        text,
    )


def test_the_answer_comes_first_and_numbers_have_three_digits(tmp_path: Path) -> None:
    db, runs = plain(tmp_path)
    made = reports.report(db, None, runs, tmp_path)
    (first, *_) = made.sections[0].blocks
    assert isinstance(first, Paragraph)
    assert first.text.startswith("larger is faster: fail")
    program = next(section for section in made.sections if section.anchor == "program")
    assert program.blocks[0] == Paragraph("Is a larger block faster?")
    (sources,) = [table for table in made.tables if table.title.startswith("Sources of the variance")]
    shares = [row[1].shown for row in sources.rows]
    assert all(re.fullmatch(r"\d+(\.\d)?", share) for share in shares)


def test_an_answer_about_two_levels_has_their_interval_even_if_it_is_inconclusive(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "runs" / "r", factors=(factor("bs", "size"),))
    for position, (size, iops) in enumerate(
        [(4096, 100), (8192, 130), (4096, 150), (8192, 110), (4096, 120), (8192, 170)]
    ):
        run.measured(f"p{size}", 1 + position // 2, {"bs": size}, printed({"read_iops": iops}))
    run.done()
    db, runs = ingested(tmp_path)
    text = page.markdown(reports.report(db, None, runs, tmp_path)).replace("\\", "")
    pair = r"\(8KiB against 4KiB: a ratio of 0\.\d+ to \d\.\d+ with 95 % confidence\)"
    assert re.search(f"`read_iops` is inconclusive for `bs` {pair}: only", text)


def test_an_inconclusive_answer_has_a_reason() -> None:
    expected = Expectation("it is faster", "", Term("value"), ())
    combination = JudgedCombination((), judging.Verdict.INCONCLUSIVE, (), "set up once", "a / b = 3.6 (by means)")
    judged = judging.Judged(expected, combination.verdict, (combination,))
    assert answer.outcome(judged) == "it is faster: inconclusive, a / b = 3.6 (by means, n = 0): set up once."


def test_each_combination_in_which_an_expectation_fails_has_a_row(tmp_path: Path) -> None:
    rate = Term("median", (Term("metric", name="read_iops"),), "median(read_iops)")
    many = Expectation(
        "it is much", "", Term(">", (rate, Term("value", value=1e6))), (FactorRef("bs", ("rand.bs",), "size"),)
    )
    run = RunBuilder(tmp_path / "runs" / "r", factors=(factor("bs", "size"),), clauses=(many,))
    for n in range(6):
        run.measured(f"p{n % 2}", n // 2 + 1, {"bs": 4096 << n % 2}, printed({"read_iops": 100 + n}))
    run.failed("p0", 4, {"bs": 4096}, "no space").done()
    db, runs = ingested(tmp_path)
    text = page.markdown(reports.report(db, None, runs, tmp_path)).replace("\\", "")
    assert "| fail | it is much | 2 of 2 | bs=4KiB | geomean(read_iops) = 102 (n = 3), " in text
    assert "|  |  |  | bs=8KiB | geomean(read_iops) = 103 (n = 3), " in text
    assert "1 trial does not count: measure: no space." in text


def test_an_end_of_a_very_wide_interval_has_no_digits(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "runs" / "r", factors=(factor("bs", "size"),))
    for bs, values in ((4096, (10.0, 90_000.0)), (8192, (70_000.0, 20.0))):
        for replicate, iops in enumerate(values, 1):
            run.measured(f"p{bs}", replicate, {"bs": bs}, printed({"read_iops": iops}))
    run.done()
    db, runs = ingested(tmp_path)
    assert "| < 0.001 | > 1,000,000 |" in page.markdown(reports.report(db, None, runs, tmp_path)).replace("\\", "")


def test_every_table_is_a_csv_file(tmp_path: Path) -> None:
    db, runs = plain(tmp_path)
    files = reports.write_report(db, None, runs, "csv", tmp_path / "tables")
    (table,) = [file for file in files if "read-iops-by-bs" in file.name]
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
    assert [(row["bs"], row["n"]) for row in rows] == [("4096", "3"), ("65536", "3")]
    assert [float(row["read_iops"]) for row in rows] == pytest.approx([100, 50], rel=0.01)


def test_trials_are_reported_without_the_run_folder(tmp_path: Path) -> None:
    db, _ = plain(tmp_path)
    text = page.markdown(reports.report(db, None, tmp_path / "elsewhere", tmp_path))
    assert "The run folder is missing" in text.replace("\\", "")
    assert "4KiB" in text


def test_user_texts_are_escaped(tmp_path: Path) -> None:
    db, runs = hostile(tmp_path)
    (target,) = reports.write_report(db, None, runs, "html", tmp_path / "report.html")
    text = target.read_text("utf-8")
    seen = Page(text)
    assert {tag for tag, _ in seen.attributes} == ATTRIBUTES
    assert not [name for _, attributes in seen.attributes for name in attributes if name.startswith("on")]
    assert not [link for link in seen.of("a", "href") if not re.match("#|data:text/csv|runs/", link)]
    assert len(seen.of("script", "type")) == text.count("</script>") - 1
    markdown = page.markdown(reports.report(db, None, runs, tmp_path))
    assert [char for char in markdown if not char.isprintable() and char not in LAYOUT] == []
    fences = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$", "", markdown)
    assert not re.search(r"(?<!\\)<(?!runs/)|(?<!\\)&", re.sub(r"\]\(<[^>]*>\)", "", fences))


ATTRIBUTES = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "nav", "a", "main", "section", "h2", "h3",
    "div", "details", "summary", "pre", "table", "thead", "tr", "th", "tbody", "td", "figure", "figcaption", "img",
    "script", "footer", "code",
}  # fmt: skip


def test_a_report_grows_at_most_linearly(tmp_path: Path) -> None:
    sizes = []
    for count in (30, 300):
        (tmp_path / str(count)).mkdir()
        db, runs = many(tmp_path / str(count), count)
        (target,) = reports.write_report(db, None, runs, "markdown", tmp_path / f"{count}.md")
        sizes.append(target.stat().st_size)
    assert sizes[1] < 10 * sizes[0]


def test_omitted_rows_are_noted_and_links_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "MOST_ROWS", 10)
    db, runs = many(tmp_path, 40)
    made = reports.report(db, None, runs, tmp_path)
    (trials,) = [table for table in made.tables if table.title.startswith("Trials by point")]
    assert len(trials.rows) == 10
    assert len(trials.data) == 40
    assert trials.note.endswith("The first 10 of 40 rows; `zlang report --format csv` writes them all.")
    seen = Page(page.html(made))
    within = {link[1:] for link in seen.of("a", "href") if link.startswith("#")}
    assert "trials" in within
    assert within <= set(seen.of("tr", "id")) | set(seen.of("section", "id"))


def test_very_many_trials_share_points_over_their_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "_MOST_POINTS", 10)
    monkeypatch.setattr(series, "_MOST_PLACES", 5)
    db, runs = many(tmp_path, 40)
    made = reports.report(db, None, runs, tmp_path)
    (placed,) = [table for table in made.tables if table.names[0] == "position"]
    assert placed.note.startswith("each point is of 8 consecutive positions")
    assert {row[0] for row in placed.data} == {1, 9, 17, 25, 33}


def test_a_bundle_has_all_linked_files(tmp_path: Path) -> None:
    db, runs = plain(tmp_path)
    reports.write_bundle(db, None, runs, tmp_path / "report.zip")
    with zipfile.ZipFile(tmp_path / "report.zip") as bundle:
        names = bundle.namelist()
        links = Page(bundle.read("report.html").decode()).of("a", "href")
    files = {unquote(link) for link in links if link.startswith("runs/") and "plan.sh" not in link}
    assert any(name.endswith("measure.out") for name in files)
    assert [name for name in files if name not in names and not any(other.startswith(name) for other in names)] == []


def test_the_first_picture_is_about_the_factors_of_the_question(tmp_path: Path) -> None:
    """Depth has a larger effect, and `rw` a larger one than size, but the question is about neither."""
    sizes = (Term("==", (Term("factor", paths=("rand.bs",)), Term("value", value=size))) for size in (4096, 65536))
    iops = Term("metric", name="read_iops")
    sides = tuple(Term("median", (iops, size), "median(read_iops)", type="iops") for size in sizes)
    run = RunBuilder(
        tmp_path / "runs" / "r",
        factors=(factor("rw", "word"), factor("bs", "size"), factor("iodepth", "count")),
        clauses=(Expectation("small ones are faster", "", Term(">", sides), ()),),
    )
    for n, (rw, bs, depth) in enumerate(itertools.product(("randread", "read"), (4096, 65536), (1, 8, 64))):
        for replicate in (1, 2, 3):
            value = 100.0 * depth * (1 + (rw == "read")) * (1.1 if bs == 4096 else 1.0) * (1 + replicate / 100)
            run.measured(f"p{n}", replicate, {"rw": rw, "bs": bs, "iodepth": depth}, printed({"read_iops": value}))
    run.done()
    db, runs = ingested(tmp_path)
    made = reports.report(db, None, runs, tmp_path)
    assert [block.title for block in made.sections[0].blocks if isinstance(block, Figure)] == [
        "read_iops over iodepth by bs"
    ]
    text = page.markdown(made)
    assert text.index("Compared with `bs`") < text.index("Compared with `iodepth`")


def test_columns_equal_in_all_trials_are_below_the_table(tmp_path: Path) -> None:
    db, runs = plain(tmp_path)
    made = reports.report(db, None, runs, tmp_path)
    (table,) = [table for table in made.tables if table.title.startswith("Trials by point")]
    assert table.columns == ("point", "trial", "replicate", "order", "bs", "read_iops", "raw files")
    assert table.names == (*table.columns[:-1], "counts", "cache", "raw files")
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert table.note == "The same in all trials: `counts` = yes, `cache` = cold."
