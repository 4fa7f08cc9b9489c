"""Check the documentation site: every link works, and every code has a page."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import sync_playwright
from pygments.lexers import get_lexer_by_name
from pygments.token import Error

from tools import site
from zlang.check import library
from zlang.cli import explaining, teaching

ROOT = Path(__file__).parents[2]


class Links(HTMLParser):
    """The links of a page, and the anchors in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the links and anchors of an element."""
        for name, value in attrs:
            if value and name in {"href", "src"}:
                self.links.add(value)
            if value and name in {"id", "name"}:
                self.places.add(value)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    site.stage(place / "pages")
    site.build(place / "pages", place / "built")
    return place / "built"


def test_every_link_leads_somewhere(built: Path) -> None:
    pages = {path: Links(path) for path in built.rglob("*.html") if path.name != "404.html"}
    broken = []
    for page, content in pages.items():
        for link in content.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            is_there = target.is_file()
            if is_there and parts.fragment and target in pages:
                is_there = unquote(parts.fragment) in {*pages[target].places, "__skip", "__search"}
            if not is_there:
                broken.append(f"{page.relative_to(built)}: {link}")
    assert broken == []


def test_pages_are_searched_without_server_or_network(built: Path) -> None:
    requests = []
    with sync_playwright() as playwright:
        # Chromium does not start as root with its sandbox.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=arguments)
        page = browser.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.goto((built / "errors/E203.html").as_uri())
        page.keyboard.press("Control+k")
        page.keyboard.type("recordsize")
        page.get_by_text("Which record size for PostgreSQL?").wait_for()
        browser.close()
    assert [url for url in requests if not url.startswith("file:")] == []


def test_every_code_and_every_kind_has_a_page_at_the_address_that_is_printed(built: Path) -> None:
    shipped = library.load()
    codes = [code.id for code in (*explaining.every(), *explaining.after_a_run())]
    addresses = [explaining.address(code) for code in codes]
    addresses += [teaching.address(shipped.module_of(kind), kind) for kind in shipped.names()]
    pages = {page: Links(built / page) for page in {address.partition("#")[0] for address in addresses}}
    parts = [address.partition("#") for address in addresses]
    assert [address for address, _, place in parts if place and place not in pages[address].places] == []


def test_the_page_of_a_code_has_its_title_as_heading(built: Path) -> None:
    pages = [*(built / "errors").glob("*.html"), *(built / "findings").glob("*.html")]
    heading = re.compile(r"<h1[^>]*>([A-Z]+\d+: \w.*?)</h1>", re.DOTALL)
    assert pages
    assert [page.name for page in pages if not heading.search(page.read_text("utf-8"))] == []


def test_every_fence_is_a_block_of_code(built: Path) -> None:
    code = re.compile(r"<(pre|code)\b.*?</\1>", re.DOTALL)
    pages = {path.relative_to(built).as_posix(): path.read_text("utf-8") for path in built.rglob("*.html")}
    assert [page for page, text in pages.items() if "```" in code.sub("", text)] == []
    assert pages["errors/E203.html"].count('<span class="k">import</span>') == 2


def test_programs_are_coloured_and_can_be_searched(built: Path) -> None:
    assert '<span class="k">experiment</span>' in (built / "language.html").read_text("utf-8")
    assert "recordsize" in (built / "search.json").read_text("utf-8")


def test_every_character_of_a_program_has_a_colour() -> None:
    lexer = get_lexer_by_name("zexp", stripnl=False, ensurenl=False)
    for program in [*ROOT.glob("examples/**/*.zexp"), *ROOT.glob("stdlib/*.zexp")]:
        text = program.read_text("utf-8")
        tokens = list(lexer.get_tokens(text))
        assert "".join(value for _, value in tokens) == text
        assert [(program.name, value) for kind, value in tokens if kind is Error] == []
