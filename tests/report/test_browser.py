"""Open reports in a real Chromium: nothing unexpected is loaded or run, and the page is readable and accessible."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
import reports
from playwright.sync_api import Browser, Page, sync_playwright
from run_folders import judged_by_what_was_printed

from zlang.pipeline.reports import write_report

PHONE, SMALL, DESK, LARGE = 375, 800, 1280, 1600
SEEN: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", PHONE), ("dark", DESK))
DRAWN = "html[data-drawn={}]"
COLOURS = "[getComputedStyle(document.body).backgroundColor, document.querySelector('.live svg').outerHTML]"
REACHABLE = "a[href], summary, [tabindex='0']"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium does not start as root with its sandbox; this tests the page's own policy.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=arguments)
        yield started
        started.close()


@dataclass
class Seen:
    """A page, with its console messages and its requests."""

    page: Page
    printed: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, path: Path) -> None:
        self.page.on("console", lambda message: self.printed.append(message.text))
        self.page.on("pageerror", lambda error: self.printed.append(str(error)))
        self.page.on("dialog", lambda dialog: self.printed.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def asks(self, question: str) -> object:
        answer: object = self.page.evaluate(question)
        return answer


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a plain report and a hostile one."""
    place = tmp_path_factory.mktemp("reports")
    pages = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zlang.store.run_rows.judge", judged_by_what_was_printed)
        for name, make in (("plain", reports.plain), ("hostile", reports.hostile), ("wide", reports.wide)):
            db, runs = make(place / name)
            (pages[name],) = write_report(db, None, runs, "html", place / f"{name}.html")
    return pages


def test_the_page_loads_without_errors_or_network(browser: Browser, written: dict[str, Path]) -> None:
    for name, path in written.items():
        for scheme, width in SEEN:
            with browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800}) as page:
                seen = Seen(page)
                seen.open(path)
                page.wait_for_selector(DRAWN.format(scheme))
                where = (name, scheme, width)
                assert (seen.printed, where) == ([], where)
                assert [url for url in seen.requests if not url.startswith("data:")] == [path.as_uri()]
                assert page.title() in {"A title", " ".join(reports.HOSTILE)[:200]}
                assert seen.asks("document.documentElement.scrollWidth") == width, where
                figures = page.locator("figure").count()
                assert figures == page.locator(".live svg").count() > 0
                assert page.locator(".still").evaluate_all("all => all.filter(one => one.offsetWidth).length") == 0
                assert contrasts(page) == [], where


def test_the_keyboard_reaches_all_that_can_be_used(browser: Browser, written: dict[str, Path]) -> None:
    with browser.new_page(viewport={"width": PHONE, "height": 800}) as page:
        Seen(page).open(written["plain"])
        page.wait_for_selector(DRAWN.format("light"))
        closed = page.locator("details:not([open])")
        while closed.count():
            closed.first.locator("summary").first.focus()
            page.keyboard.press("Enter")
        page.evaluate("window.scrollTo(0, 0); window.reached = new Set()")
        page.mouse.click(1, 1)
        wanted = page.locator(REACHABLE).count()
        for _ in range(wanted):
            page.keyboard.press("Tab")
            page.evaluate("window.reached.add(document.activeElement)")
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        assert page.evaluate(f"[...document.querySelectorAll(`{REACHABLE}`)].every(one => window.reached.has(one))")
        page.locator("tbody a[href^='#point']").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("tr:target").count() == 1


def test_the_page_follows_the_colour_scheme_and_prints_light(browser: Browser, written: dict[str, Path]) -> None:
    with browser.new_page(color_scheme="light") as page:
        Seen(page).open(written["plain"])
        page.wait_for_selector(DRAWN.format("light"))
        light = page.evaluate(COLOURS)
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector(DRAWN.format("dark"))
        dark = page.evaluate(COLOURS)
        assert light[0] != dark[0]
        assert light[1] != dark[1]
        page.emulate_media(color_scheme="dark", media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator(".still").first.is_visible()
        assert not page.locator(".live").first.is_visible()
        assert page.pdf().startswith(b"%PDF")


def test_tables_fit_on_a_small_screen_and_pictures_leave_no_gap(browser: Browser, written: dict[str, Path]) -> None:
    with browser.new_page(viewport={"width": SMALL, "height": 900}) as page:
        Seen(page).open(written["wide"])
        page.wait_for_selector(DRAWN.format("light"))
        wider = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.ariaLabel)"
        assert page.locator(".wide:visible").evaluate_all(wider) == []
    with browser.new_page(viewport={"width": LARGE, "height": 900}) as page:
        Seen(page).open(written["wide"])
        page.wait_for_selector(DRAWN.format("light"))
        ends = "all => all.map(one => one.getBoundingClientRect()).map(one => [one.top, one.right])"
        plots = page.locator("#comparisons .plot").evaluate_all(ends)
        assert len(plots) == 3
        rows = {top: max(right for place, right in plots if abs(place - top) < 1) for top, _ in plots}
        assert max(rows.values()) - min(rows.values()) < 1


def test_tables_and_pictures_are_shown_without_scripts(browser: Browser, written: dict[str, Path]) -> None:
    with browser.new_page(java_script_enabled=False) as page:
        Seen(page).open(written["hostile"])
        assert page.locator("#results table").first.is_visible()
        assert page.locator(".still").first.is_visible()
        box = page.locator(".still").first.bounding_box()
        assert box is not None
        assert box["height"] > 100


def contrasts(page: Page) -> list[str]:
    """List pairs of text and background colours of the page with too little contrast (WCAG 2: 4.5)."""
    colour = "getComputedStyle(document.documentElement).getPropertyValue"
    colours = {name: str(page.evaluate(f"{colour}('--{name}')")) for name in ("ink", "soft", "link", "paper", "shade")}
    return [
        f"{text} on {paper}"
        for text, paper in (("ink", "paper"), ("soft", "paper"), ("link", "paper"), ("ink", "shade"))
        if (brightness(colours[text], colours[paper])) < 4.5
    ]


def brightness(first: str, other: str) -> float:
    """Return the contrast ratio of two colours, as defined in https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio."""

    def luminance(colour: str) -> float:
        digits = colour.strip().removeprefix("#")
        parts = re.findall("..", digits) if len(digits) == 6 else [digit * 2 for digit in digits]
        linear = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (int(p, 16) / 255 for p in parts)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(first), luminance(other)])
    return (light + 0.05) / (dark + 0.05)
