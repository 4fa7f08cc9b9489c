"""Makes a static site of the documentation, which needs neither a server nor a network to be read and searched.

In: README.md, docs/, the other pages of the repository, and each file that one of them links to. Out: `site/`.
Each error and finding has a page of its own; a file that is no page is shown as a page of its text.

    python tools/site.py [URL]

With the URL at which it will be published, it also has a sitemap. `ZLANG_DOCS=URL` makes `zlang explain` print it.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "site"
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "bench/README.md": "bench.md",
}
SHIM = ROOT / "tools/iframe-worker.js"
SPLIT = {"errors.md": "errors", "findings.md": "findings"}
"""Pages of many codes, and the directory that has a page for each of them."""
LANGUAGES = {".py": "python", ".sh": "sh", ".zexp": "zexp", ".toml": "toml", ".json": "json", ".yml": "yaml"}
NAVIGATION = (
    ("Start", ("index.md", "tutorial.md", "how-to.md", "coming-from.md")),
    (
        "Write programs",
        ("language.md", "streams.md", "machines.md", "writing-kinds.md", "kinds/index.md", "editors.md"),
    ),
    ("Results", ("results.md", "plots.md", "findings.md", "studies.md", "pitfalls.md")),
    (
        "Look up",
        (
            "install.md",
            "cli.md",
            "errors.md",
            "lints/index.md",
            "grammar.md",
            "identity.md",
            "folders.md",
            "versions.md",
        ),
    ),
    (
        "About",
        (
            "reliability.md",
            "security.md",
            "bench.md",
            "changelog.md",
            "architecture.md",
            "contributing.md",
            "conduct.md",
        ),
    ),
)
SETTINGS = """
[project]
site_name = "zlang"
site_description = "A declarative language for storage experiments"
docs_dir = "pages"
site_dir = "out"
use_directory_urls = false
extra_css = ["tables.css"]
nav = [{nav}]
{url}

[project.extra]
polyfills = [{{ path = "iframe-worker.js" }}]

[project.theme]
font = false
features = ["navigation.footer", "content.code.copy", "search.highlight"]

[project.plugins.search]

[project.plugins.offline]

[project.markdown_extensions.attr_list]
[project.markdown_extensions.md_in_html]
[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]
"""
STYLE = ".md-typeset td:first-child code { white-space: nowrap }\n"
"""Names in the first column of a table are not broken, so that one can read them on a narrow screen."""
_LINK = re.compile(r"(!?\[(?:[^\]\[`]|`[^`]*`|\[[^\]]*\])*\]\()([^)\s#]*)(#[^)\s]*)?\)")
_BAR_IN_A_TABLE = re.compile(r"(?<!`)`([^`\n]*\\\|[^`\n]*)`(?!`)")
_SECTION = re.compile(r'^(?:<a id="\w+"></a>\n+)?#{2,3} ([A-Z]+[0-9]+)\b', re.MULTILINE)
_TITLE = re.compile(r"\A\n+\*\*(.+?)\.\*\*$", re.MULTILINE)
_OF_CODES = re.compile(r"\]\(#([a-z]+[0-9]+)\)")
_WORDS_OF_A_FENCE = re.compile(r"^( *(?:`{3,}|~{3,})[a-z]+)[^\S\n].*$", re.MULTILINE)
_FENCED = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2[^\S\n]*$", re.MULTILINE | re.DOTALL)


def sources() -> dict[str, str]:
    """Files of the repository that are pages, and the page of each."""
    docs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    return PAGES | {path: path.removeprefix("docs/").replace("README", "index") for path in sorted(docs)}


def stage(into: Path) -> None:
    """Write all pages, with links that hold between them, and copy what they show."""
    pages = sources()
    waiting = list(pages)
    while waiting:
        source = waiting.pop()
        page = pages[source]
        target = into / page
        target.parent.mkdir(parents=True, exist_ok=True)
        path = ROOT / source
        if path.suffix == ".md":
            plain = _WORDS_OF_A_FENCE.sub(r"\1", path.read_text("utf-8"))  # with more words, a fence is read as text
            text, linked = with_links(_BAR_IN_A_TABLE.sub(_as_html, plain), source, pages)
            waiting += linked
            target.write_text(text, "utf-8")
        elif page.endswith(".md"):
            target.write_text(as_page(path, source), "utf-8")
        else:
            target.write_bytes(path.read_bytes())
    shutil.copy(SHIM, into)
    (into / "tables.css").write_text(STYLE, "utf-8")
    for page, directory in SPLIT.items():
        split(into, page, directory)


def with_links(text: str, source: str, pages: dict[str, str]) -> tuple[str, list[str]]:
    """The text of a page with the links of the site, and the files to which it is the first to link."""
    linked = []

    def replace(match: re.Match[str]) -> str:
        head, path, fragment = match[1], match[2], match[3] or ""
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        file = os.path.normpath(PurePosixPath(source).parent / path)
        if (ROOT / file).is_dir():
            file += "/README.md"
        if file not in pages:
            if not (ROOT / file).is_file():
                sys.exit(f"{source}: there is no {file}")
            is_shown = PurePosixPath(file).suffix in {".svg", ".png"}
            pages[file] = file.removeprefix("docs/") if is_shown else f"files/{file}.md"
            linked.append(file)
        return f"{head}{os.path.relpath(pages[file], PurePosixPath(pages[source]).parent)}{fragment})"

    parts, end = [], 0
    for fence in _FENCED.finditer(text):
        parts += [_LINK.sub(replace, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(replace, text[end:])]), linked


def _as_html(code: re.Match[str]) -> str:
    text = html.escape(code[1]).replace(r"\|", "&#124;")
    return f"<code>{text}</code>"


def as_page(path: Path, source: str) -> str:
    """A page that shows a file."""
    return f"# {source}\n\n`````{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text('utf-8')}\n`````\n"


def split(into: Path, page: str, directory: str) -> None:
    """Give each code of a page a page of its own; the page keeps what stands before them."""
    path = into / page
    head, *sections = _SECTION.split(path.read_text("utf-8"))
    (into / directory).mkdir()
    for code, text in zip(sections[::2], sections[1::2], strict=True):
        titled = _TITLE.sub(r": \1", text)  # a result of a search shows the heading
        own = _OF_CODES.sub(lambda link: f"]({link[1].upper()}.md)", titled)
        (into / directory / f"{code}.md").write_text(f"# {code}{own}", "utf-8")
    path.write_text(_OF_CODES.sub(lambda link: f"]({directory}/{link[1].upper()}.md)", head), "utf-8")


def build(pages: Path, site: Path, url: str = "") -> None:
    """Make the site of the pages, which will be published at a URL."""
    sections = [f'{{ "{name}" = {list(members)} }}' for name, members in NAVIGATION]
    place = f"site_url = {json.dumps(url)}" if url else ""
    settings = pages.parent / "zensical.toml"
    settings.write_text(SETTINGS.format(nav=", ".join(sections), url=place), "utf-8")
    command: list[str | Path] = [
        Path(sys.executable).with_name("zensical"),
        "build",
        "--strict",
        "--config-file",
        settings,
    ]
    subprocess.run(command, check=True, cwd=pages.parent)
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(pages.parent / "out", site)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        stage(Path(place) / "pages")
        build(Path(place) / "pages", SITE, "".join(sys.argv[1:2]))
    print(f"{SITE.relative_to(ROOT)}/index.html")
