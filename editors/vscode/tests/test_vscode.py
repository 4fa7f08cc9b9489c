"""The extension in a real VS Code, its build for browsers, with a headless Chromium: what a person sees and can do.

`make vscode-test` installs VS Code, from the npm package `code-server`, and runs this.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

EXTENSION = Path(__file__).parents[1]
CODE = EXTENSION / "tests" / "code" / "node_modules" / "code-server" / "lib" / "vscode" / "out" / "server-main.js"
EXAMPLE = EXTENSION.parents[1] / "examples" / "quickstart.zexp"
# A busy machine starts VS Code in half a minute.
PATIENCE = 120_000
# Milliseconds between two keys: VS Code asks for completions while one types.
TYPING = 100

expect.set_options(timeout=PATIENCE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a right program and a wrong one."""
    folder = tmp_path / "study"
    folder.mkdir()
    shutil.copy(EXAMPLE, folder / "right.zexp")
    wrong = re.sub(r"\bbs( +)=", r"blocksize\1=", EXAMPLE.read_text())
    (folder / "wrong.zexp").write_text(wrong)
    return folder


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a VS Code that has the extension, with a home of its own."""
    settings = tmp_path / "data" / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    zlang = str(Path(sys.executable).with_name("zlang"))
    settings.write_text(
        json.dumps({"zlang.path": zlang, "files.autoSave": "off", "terminal.integrated.gpuAcceleration": "off"})
    )
    places = {"user-data": "data", "server-data": "server", "extensions": "extensions"}
    options = [f"--{name}-dir={tmp_path / place}" for name, place in places.items()]
    command = ["node", str(CODE), "--accept-server-license-terms", "--disable-telemetry", *options]
    environment = os.environ | {"HOME": str(tmp_path)}
    package = str(EXTENSION / "zlang.vsix")
    subprocess.run([*command, "--install-extension", package], env=environment, check=True, capture_output=True)
    with subprocess.Popen(
        [*command, "--host=127.0.0.1", "--port=0", "--without-connection-token", "--disable-workspace-trust"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as server:
        assert server.stdout is not None
        yield next(line.split()[-1] for line in server.stdout if "Web UI available" in line)
        os.killpg(server.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium-headless-shell", args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, address: str, folder: Path) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/?folder={folder}")
    yield page
    page.close()


def opened(page: Page, name: str) -> Locator:
    """The editor of a file, when the language server has answered."""
    page.get_by_role("treeitem", name=name).dblclick()
    editor = page.locator(".editor-instance")
    expect(editor.get_by_text("2 levels").first).to_be_visible()
    return editor


def word(editor: Locator, text: str) -> Locator:
    """The first token of the program that has this text."""
    return editor.locator(".view-line span span", has_text=re.compile(rf"^\s*{text}\s*$")).first


def save(page: Page) -> None:
    page.keyboard.press("Control+S")
    expect(page.locator(".tab.dirty")).to_have_count(0)


def test_a_program_has_colours_levels_and_its_number_of_trials(page: Page) -> None:
    editor = opened(page, "right.zexp")
    colours = {name: word(editor, name).get_attribute("class") for name in ("import", "fio", "ioengine", "4KiB")}
    assert len(set(colours.values())) == len(colours), colours
    expect(editor.get_by_text("24 trials (8 points × 3)")).to_be_visible()
    expect(page.get_by_role("button", name="No Problems")).to_be_visible()


def test_a_finding_is_shown_and_its_fix_mends_it(page: Page, folder: Path) -> None:
    editor = opened(page, "wrong.zexp")
    page.keyboard.press("Control+Shift+M")
    problems = page.locator(".markers-panel")
    expect(problems).to_contain_text("`fio` has no property `blocksize`")
    word(editor, "blocksize").click()
    page.keyboard.press("Control+.")
    expect(page.locator(".action-widget")).to_contain_text("write `bs`")
    page.keyboard.press("Enter")
    expect(problems).to_contain_text("No problems")
    save(page)
    assert (folder / "wrong.zexp").read_text() == EXAMPLE.read_text()


def test_a_lens_prints_the_plan_in_a_terminal(page: Page) -> None:
    editor = opened(page, "right.zexp")
    editor.get_by_role("button", name="plan").first.click()
    expect(page.locator(".xterm-rows")).to_contain_text("the first 10 trials")


def test_words_are_completed_explained_and_found_in_the_library(page: Page) -> None:
    editor = opened(page, "right.zexp")
    word(editor, "iodepth").hover()
    hover = page.locator(".monaco-hover").filter(has_text="iodepth")
    expect(hover.first).to_be_visible()
    word(editor, "time_based").click()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.keyboard.type("rampt", delay=TYPING)
    expect(page.locator(".suggest-widget")).to_contain_text("ramp_time")
    page.keyboard.press("Escape")
    word(editor, "iodepth").click()
    page.keyboard.press("F12")
    expect(page.get_by_role("tab", name="fio.zexp")).to_be_visible()


def test_a_name_is_changed_everywhere(page: Page, folder: Path) -> None:
    editor = opened(page, "right.zexp")
    word(editor, "mixed").click()
    page.keyboard.press("F2")
    page.locator(".rename-box input").fill("blend")
    page.keyboard.press("Enter")
    expect(word(editor, "mixed")).to_have_count(0)
    save(page)
    assert (folder / "right.zexp").read_text() == re.sub(r"\bmixed\b", "blend", EXAMPLE.read_text())
