"""Test the language server through a client: it reports what `zlang check` reports and helps with writing."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from editor import Editor, place
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from zlang.cli.app import guarded
from zlang.diagnostics import Code
from zlang.lsp import acting
from zlang.lsp.documents import Documents, ParsedText
from zlang.lsp.positions import TextLines
from zlang.source import Source, Span

ROOT = Path(__file__).parents[2]

STUDY = """\
import fio

param size: size = 64MiB
profile small { size = 1MiB }

dir here { path = "." }
let half = 50% of size
let mark = "😀 {half}"    # what stands behind it has another column in UTF-16
file data on here { size = size }
fio reads {
  rw   = randread | read
  bs   = 4KiB | 8KiB | 64KiB
  size = half
}
let deep = reads with { iodepth = 4 }

experiment study "What does it cost?" {
  on     = data
  run    = reads
  repeat = 3
  where bs <= 8KiB
  table read_iops by bs
}
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    made = Editor(tmp_path_factory.mktemp("programs"))
    yield made
    made.close()


def said_by_check(file: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, int, int]]:
    capsys.readouterr()
    guarded(["check", "--format", "json", str(file)])
    findings = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return sorted((item["rule"] or item["code"], item["severity"], item["line"], item["column"]) for item in findings)


def as_check_says_it(text: str, diagnostics: list[types.Diagnostic]) -> list[tuple[str, str, int, int]]:
    severities = {1: "error", 2: "warning", 3: "note"}
    result = []
    for item in diagnostics:
        offset = TextLines(text).offset(item.range.start)
        line, column = Source("", text).position(offset)
        assert item.severity is not None
        result.append((str(item.code), severities[item.severity.value], line, column))
    return sorted(result)


def test_findings_after_each_edit_are_those_of_check(editor: Editor, capsys: pytest.CaptureFixture[str]) -> None:
    """The next edit undoes half of the random edits, so programs alternate between incomplete and whole."""
    draw = random.Random(18)
    file = editor.folder / "fuzzed.zexp"
    file.write_text(STUDY)
    assert as_check_says_it(STUDY, editor.open(file.name, STUDY)) == said_by_check(file, capsys)
    pieces = ["{", "}", '"', "|", "= 4", "\n", "bss", "😀", "# allow x: y", "where ", "", "", "8 MB"]
    for _ in range(25):
        text = editor.texts[file.name]
        start = draw.randrange(len(text))
        end = min(len(text), start + draw.choice([0, 0, 1, 2, 9]))
        old = text[start:end]
        new = draw.choice(pieces)
        editor.change(file.name, start, end, new)
        if draw.random() < 0.7:
            editor.change(file.name, start, start + len(new), old)
        file.write_text(editor.texts[file.name])
        assert as_check_says_it(editor.texts[file.name], editor.said_of(file.name)) == said_by_check(file, capsys)


def test_an_unsaved_text_replaces_its_file(editor: Editor) -> None:
    (editor.folder / "lab.zexp").write_text('dir here { path = "." }\n')
    user = 'import "./lab.zexp" as lab\nfile data on lab.here { size = 1MiB }\nfile more on lab.there { size = 1MiB }\n'
    assert [str(item.code) for item in editor.open("user.zexp", user)] == ["E214"]
    assert editor.open("lab.zexp", 'dir here { path = "." }\n') == []
    editor.change("lab.zexp", 0, 0, 'dir there { path = "." }\n')
    while editor.said_of("user.zexp"):
        pass  # what was said of it before the other text changed
    place_of = editor.wait(
        editor.client.text_document_definition_async(types.DefinitionParams(**editor.at("user.zexp", "there")))
    )
    assert (place_of.uri, place_of.range.start) == (editor.uri("lab.zexp"), types.Position(0, 4))
    params = types.RenameParams(new_name="place", **editor.at("user.zexp", "there"))
    renamed = editor.wait(editor.client.text_document_rename_async(params))
    assert {uri: [edit.range.start.character for edit in edits] for uri, edits in renamed.changes.items()} == {
        editor.uri("lab.zexp"): [4],
        editor.uri("user.zexp"): [17],
    }


def test_an_open_text_replaces_a_missing_file_until_it_is_closed(editor: Editor) -> None:
    assert [str(item.code) for item in editor.open("reader.zexp", 'import "./unsaved.zexp"\n')] == ["E206"]
    unsaved = types.TextDocumentItem(editor.uri("unsaved.zexp"), "zexp", 1, "let a = 1\n")
    editor.client.text_document_did_open(types.DidOpenTextDocumentParams(unsaved))
    assert editor.said_of("reader.zexp") == []
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(editor.document("unsaved.zexp")))
    assert [str(item.code) for item in editor.said_of("reader.zexp")] == ["E206"]


def test_a_finding_leads_to_its_page_where_the_documentation_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    text = ParsedText("/a.zexp", "")
    finding = Code.UNKNOWN_NAME.at(Span(text.source, 0, 0), name="a")
    assert acting.shown(Documents(), finding).code_description is None
    monkeypatch.setenv("ZLANG_DOCS", "https://example.org/zlang/")
    page = acting.shown(Documents(), finding).code_description
    assert page is not None
    assert page.href == "https://example.org/zlang/errors/E201.html"


@pytest.fixture(scope="module")
def study(editor: Editor) -> Editor:
    editor.open("study.zexp", STUDY)
    return editor


@pytest.fixture
def settled(study: Editor) -> Editor:
    """Return the editor once the server has processed the current text completely."""
    study.change("study.zexp", 0, 0, "")
    study.said_of("study.zexp")
    assert study.texts["study.zexp"] == STUDY
    return study


@pytest.mark.parametrize(
    ("mark", "after", "words"),
    [
        ("fio reads", 1, "**fio**: workload"),
        ("bs   =", 1, "3 levels: `4KiB`, `8KiB`, `64KiB`"),
        ("bs   =", 1, "becomes `option: --bs={value}`"),
        ("randread", 1, "`randread`: a value of `rw`"),
        ("half\n", 1, "let half = 50% of size"),
        ("64MiB", 2, "67,108,864 bytes"),
        ("study ", 1, "12 trials (4 points × 3)"),
        ("read_iops by", 1, "higher is better"),
        ("repeat", 1, "the number of replicates"),
    ],
)
def test_hover(settled: Editor, mark: str, after: int, words: str) -> None:
    where = types.HoverParams(**settled.at("study.zexp", mark, after))
    answer = settled.wait(settled.client.text_document_hover_async(where))
    assert words in answer.contents.value


@pytest.mark.parametrize(
    ("line", "words", "others"),
    [
        ("fio more { di", {"direct", "disable_lat"}, {"rw"}),
        ("fio more { depth", {"iodepth", "iodepth_batch"}, {"direct"}),
        ("fio more { direct = ", {"on", "off"}, {"randread"}),
        ("fio more { rw = randread | rand", {"randwrite", "randrw"}, {"read", "bs"}),
        ("fio more { bs = 4", {"4KiB", "4MiB"}, {"4s"}),
        ("fio more {\n  rw = read\n  b", {"bs", "bssplit"}, {"rw"}),
        ("file more on ", {"here"}, {"reads", "study"}),
        ("experiment more { on = ", {"data"}, {"reads", "cold"}),
        ("experiment more { run = ", {"reads", "deep"}, {"data"}),
        ("experiment more { cache = ", {"cold", "warm"}, {"data"}),
        ("experiment more { re", {"repeat"}, {"run"}),
        ("experiment more {\n  table ", {"read_iops", "bs", "median"}, {"data"}),
        ("let more = deep with { i", {"iodepth", "io_size"}, {"repeat"}),
        ("import ", {"zfs", "fio"}, {"data"}),
        ("profile more { ", {"size"}, {"half"}),
        ("", {"fio", "experiment", "zvol"}, {"bs"}),
        ("ext", {"ext4"}, {"fio"}),
        ("# a comment on d", set(), {"data"}),
        ("# allow cache", {"replicates-warm-the-cache"}, {"data"}),
        ("let more = re", {"reads", "replace"}, {"bs"}),
        ("param more: ", {"size", "duration"}, {"fio"}),
        ("given ", {"pool", "zvol"}, {"experiment"}),
        ("given pool ", set(), {"pool", "fio"}),
        ("kind more: ", {"fio", "workload"}, {"experiment"}),
        ("experiment more { collect = ", {"meminfo", "arcstats"}, {"data"}),
        ("experiment more { before = ", {"reads", "precondition", "none"}, {"data"}),
    ],
)
def test_completion(study: Editor, line: str, words: set[str], others: set[str]) -> None:
    end = len(study.texts["study.zexp"])
    study.change("study.zexp", end, end, line)
    whole = study.texts["study.zexp"]
    where = types.CompletionParams(study.document("study.zexp"), place(whole, len(whole)))
    labels = {item.label for item in study.wait(study.client.text_document_completion_async(where)).items}
    study.change("study.zexp", end, end + len(line), "")
    assert words <= labels
    assert not others & labels


@pytest.mark.parametrize(
    ("line", "label", "active"),
    [
        ("let more = max(1, ", "max(numbers, …)", 1),
        ("let more = replace(text(half), ", "replace(a text, a text to replace, a text to put there)", 1),
        ("let more = round(max(1, 2)", "round(a number)", 0),
        ("let own(a, b) = a / b\nfio more {\n  bs = own([1, 2],\n  ", "own(a, b)", 1),
        ("experiment more {\n  expect p99(", "p99(a metric)", 0),
        ("let more = (1 + ", None, None),
        ("let more = max([1, ", None, None),
    ],
)
def test_the_signature_of_a_call_that_is_being_written(
    study: Editor, line: str, label: str | None, active: int | None
) -> None:
    end = len(study.texts["study.zexp"])
    study.change("study.zexp", end, end, line)
    whole = study.texts["study.zexp"]
    where = types.SignatureHelpParams(study.document("study.zexp"), place(whole, len(whole)))
    answer = study.wait(study.client.text_document_signature_help_async(where))
    study.change("study.zexp", end, end + len(line), "")
    assert (answer and answer.signatures[0].label, answer and answer.active_parameter) == (label, active)


UGLY = 'let   a = 1\nlet b = 2\n\ndir x {\npath = "." }\n'


def test_a_range_and_a_block_that_was_closed_are_formatted(editor: Editor) -> None:
    editor.open("ugly.zexp", UGLY)
    document, options = editor.document("ugly.zexp"), types.FormattingOptions(2, insert_spaces=True)
    first = types.Range(types.Position(0, 0), types.Position(0, 4))
    params = types.DocumentRangeFormattingParams(document, first, options)
    edits = editor.wait(editor.client.text_document_range_formatting_async(params))
    assert [(edit.range.start.line, edit.new_text) for edit in edits] == [(0, "let a = 1\n")]
    typed = types.DocumentOnTypeFormattingParams(document, types.Position(4, 12), "}", options)
    edits = editor.wait(editor.client.text_document_on_type_formatting_async(typed))
    assert [(edit.range.start.line, edit.new_text) for edit in edits] == [(4, '  path = "."\n}\n')]


@pytest.mark.parametrize(
    ("name", "problem"), [("data", "is defined already"), ("where", "cannot be a name"), ("a b", "cannot be a name")]
)
def test_a_name_that_would_break_a_program_is_refused(study: Editor, name: str, problem: str) -> None:
    params = types.RenameParams(new_name=name, **study.at("study.zexp", "reads {"))
    with pytest.raises(JsonRpcException, match=problem):
        study.wait(study.client.text_document_rename_async(params))


def test_a_param_is_renamed_where_an_import_sets_it(editor: Editor) -> None:
    editor.open("bed.zexp", "param room: size = 1GiB\nlet twice = room * 2\n")
    editor.open("guest.zexp", 'import "./bed.zexp" as bed { room = 2GiB }\n')
    for place_of_name in (editor.at("bed.zexp", "room:"), editor.at("guest.zexp", "room =")):
        params = types.RenameParams(new_name="space", **place_of_name)
        changes = editor.wait(editor.client.text_document_rename_async(params)).changes
        assert {uri.rpartition("/")[2]: len(edits) for uri, edits in changes.items()} == {
            "bed.zexp": 2,
            "guest.zexp": 1,
        }


def test_names_are_found_in_folders_that_are_added(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.zexp").write_text("let uncommon_name = 1\n")

    def names() -> list[str]:
        symbols = editor.wait(editor.client.workspace_symbol_async(types.WorkspaceSymbolParams("uncommon_name")))
        return [item.name for item in symbols]

    assert names() == []
    folder = types.WorkspaceFolder(tmp_path.as_uri(), "more")
    event = types.WorkspaceFoldersChangeEvent([folder], [])
    editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    assert names() == ["uncommon_name"]
    event = types.WorkspaceFoldersChangeEvent([], [folder])
    editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    assert names() == []


def test_completing_a_file_replaces_the_open_quote(editor: Editor) -> None:
    (editor.folder / "one.zexp").write_text("let a = 1\n")
    editor.open("two.zexp", 'import "./')
    where = types.CompletionParams(editor.document("two.zexp"), types.Position(0, 10))
    items = editor.wait(editor.client.text_document_completion_async(where)).items
    assert "fio" not in {item.label for item in items}
    edit = next(item.text_edit for item in items if item.label == '"./one.zexp"')
    assert (edit.range.start.character, edit.range.end.character, edit.new_text) == (7, 10, '"./one.zexp"')


def test_the_names_of_a_program(study: Editor) -> None:
    client = study.client
    answer = study.wait(
        client.text_document_definition_async(types.DefinitionParams(**study.at("study.zexp", "reads with", 1)))
    )
    assert answer.range.start == place(STUDY, STUDY.index("reads {"))
    library = study.wait(
        client.text_document_definition_async(types.DefinitionParams(**study.at("study.zexp", "bs   =", 1)))
    )
    assert library.uri == (ROOT / "stdlib/fio.zexp").as_uri()
    assert (
        (ROOT / "stdlib/fio.zexp").read_text().split("\n")[library.range.start.line].startswith("  property bs: size")
    )
    named = types.ReferenceParams(types.ReferenceContext(include_declaration=True), **study.at("study.zexp", "half "))
    places = [item.range.start for item in study.wait(client.text_document_references_async(named))]
    assert places == [place(STUDY, STUDY.index(mark)) for mark in ("half =", "half}", "half\n")]
    params = types.RenameParams(new_name="amount", **study.at("study.zexp", "size: size"))
    (edits,) = study.wait(client.text_document_rename_async(params)).changes.values()
    lines, text = TextLines(STUDY), STUDY
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        text = text[: lines.offset(edit.range.start)] + edit.new_text + text[lines.offset(edit.range.end) :]
    assert text == STUDY.replace("param size", "param amount").replace("{ size = 1MiB", "{ amount = 1MiB").replace(
        "of size", "of amount"
    ).replace("size = size", "size = amount")


def test_the_shape_of_a_program(settled: Editor) -> None:
    study = settled
    client, document = study.client, study.document("study.zexp")
    symbols = study.wait(client.text_document_document_symbol_async(types.DocumentSymbolParams(document)))
    assert [item.name for item in symbols] == [
        "size",
        "small",
        "here",
        "half",
        "mark",
        "data",
        "reads",
        "deep",
        "study",
    ]
    folds = study.wait(client.text_document_folding_range_async(types.FoldingRangeParams(document)))
    assert (9, 13) in [(fold.start_line, fold.end_line) for fold in folds]
    links = study.wait(client.text_document_document_link_async(types.DocumentLinkParams(document)))
    assert [link.target for link in links] == [(ROOT / "stdlib/fio.zexp").as_uri()]
    lenses = study.wait(client.text_document_code_lens_async(types.CodeLensParams(document)))
    assert [lens.command.title.partition(",")[0] for lens in lenses] == ["plan", "run", "12 trials (4 points × 3)"]
    everything = types.Range(types.Position(0, 0), types.Position(99, 0))
    hints = study.wait(client.text_document_inlay_hint_async(types.InlayHintParams(document, everything)))
    assert {hint.label for hint in hints} == {"2 levels", "3 levels"}
    where = types.SelectionRangeParams(document, [place(STUDY, STUDY.index("8KiB |"))])
    (selection,) = study.wait(client.text_document_selection_range_async(where))
    assert selection.parent.parent.parent.range.start.line == 9
    named = study.wait(client.workspace_symbol_async(types.WorkspaceSymbolParams("stud")))
    assert "study" in [item.name for item in named]


def test_colours_cover_each_word_once_and_count_in_utf_16(study: Editor) -> None:
    params = types.SemanticTokensParams(study.document("study.zexp"))
    data = study.wait(study.client.text_document_semantic_tokens_full_async(params)).data
    legend = study.capabilities.semantic_tokens_provider.legend.token_types
    line = column = 0
    coloured = {}
    lines = [text.encode("utf-16-le") for text in STUDY.split("\n")]
    for down, right, length, kind, _ in (data[index : index + 5] for index in range(0, len(data), 5)):
        line, column = line + down, right + (0 if down else column)
        word = lines[line][2 * column : 2 * (column + length)].decode("utf-16-le")
        coloured[line, word] = legend[kind]
    assert coloured[7, '"😀 {half}"'] == "string"
    assert coloured[6, "half"] == "variable"
    assert coloured[9, "fio"] == "type"
    assert coloured[10, "rw"] == "property"
    assert coloured[10, "randread"] == "enumMember"
    assert coloured[16, "experiment"] == "keyword"


def test_a_finding_can_be_mended_allowed_and_formatted(editor: Editor) -> None:
    wrong = 'import fio\ndir here { path = "." }\nfile data on here { size = 1MiB }\nfio reads { bss = 4k }\n'
    (finding,) = editor.open("wrong.zexp", wrong)
    where = types.CodeActionParams(editor.document("wrong.zexp"), finding.range, types.CodeActionContext([finding]))
    (action,) = editor.wait(editor.client.text_document_code_action_async(where))
    assert action.title == "write `bs`"
    (edit,) = action.edit.changes[editor.uri("wrong.zexp")]
    start, end = TextLines(wrong).offset(edit.range.start), TextLines(wrong).offset(edit.range.end)
    editor.change("wrong.zexp", start, end, edit.new_text)
    assert editor.said_of("wrong.zexp") == []
    options = types.DocumentFormattingParams(
        editor.document("wrong.zexp"), types.FormattingOptions(2, insert_spaces=True)
    )
    (edit,) = editor.wait(editor.client.text_document_formatting_async(options))
    assert (edit.range.start.line, edit.new_text) == (3, "fio reads { bs = 4KiB }\n")
    end = len(editor.texts["wrong.zexp"])
    editor.change(
        "wrong.zexp",
        end,
        end,
        "fio writes { rw = randwrite  size = 512KiB }\nexperiment e { on = data  run = writes }\n",
    )
    diagnostics = editor.said_of("wrong.zexp")
    lint = next(item for item in diagnostics if item.code == "buffered-write-not-synced")
    where = types.CodeActionParams(editor.document("wrong.zexp"), lint.range, types.CodeActionContext([lint]))
    titles = [action.title for action in editor.wait(editor.client.text_document_code_action_async(where))]
    assert "allow buffered-write-not-synced here" in titles


def test_line_ends_of_windows(editor: Editor) -> None:
    (finding,) = editor.open("windows.zexp", 'dir here { path = "." }\r\n\r\nfile data on her { size = 1MiB }\r\n')
    assert (finding.code, finding.range.start) == ("E201", types.Position(2, 13))


@pytest.mark.parametrize("body", ["abc", "{}", '{"jsonrpc": "2.0", "id": 1, "method": "nope"}'])
def test_a_message_that_cannot_be_read_is_ignored_without_a_traceback(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zlang.cli.app", "lsp"],
        input=f"Content-Length: {len(body)}\r\n\r\n{body}",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == "zlang ignored a message that cannot be read as JSON-RPC 2.0\n"
    assert "zlang ignored a message that cannot be read as JSON-RPC 2.0" in done.stdout


@pytest.mark.parametrize("like", ["neovim", "emacs"])
def test_nothing_is_sent_that_an_editor_cannot_take(like: str, tmp_path: Path) -> None:
    """The client checks each answer against the capabilities that the editor announced; other tests use VS Code's."""
    editor = Editor(tmp_path, like)
    client = editor.client
    try:
        editor.open("study.zexp", STUDY)
        assert editor.open("wrong.zexp", STUDY.replace("iodepth", "iodpeth"))
        document, reads = editor.document("study.zexp"), editor.at("study.zexp", "reads with", 1)
        everything = types.Range(types.Position(0, 0), types.Position(99, 0))
        wrong = editor.document("wrong.zexp")
        context = types.CodeActionContext([])
        requests = [
            (client.text_document_hover_async, types.HoverParams(**reads)),
            (client.text_document_completion_async, types.CompletionParams(**editor.at("study.zexp", "bs   ="))),
            (client.text_document_signature_help_async, types.SignatureHelpParams(**reads)),
            (client.text_document_definition_async, types.DefinitionParams(**reads)),
            (
                client.text_document_references_async,
                types.ReferenceParams(context=types.ReferenceContext(include_declaration=True), **reads),
            ),
            (client.text_document_rename_async, types.RenameParams(new_name="loads", **reads)),
            (client.text_document_document_symbol_async, types.DocumentSymbolParams(document)),
            (client.text_document_folding_range_async, types.FoldingRangeParams(document)),
            (client.text_document_document_link_async, types.DocumentLinkParams(document)),
            (client.text_document_code_lens_async, types.CodeLensParams(document)),
            (client.text_document_inlay_hint_async, types.InlayHintParams(document, everything)),
            (client.text_document_semantic_tokens_full_async, types.SemanticTokensParams(document)),
            (client.text_document_code_action_async, types.CodeActionParams(wrong, everything, context)),
            (client.workspace_symbol_async, types.WorkspaceSymbolParams("stud")),
        ]
        for request, params in requests:
            editor.wait(request(params))
    finally:
        editor.close()


@pytest.mark.parametrize("takes_markdown", [True, False])
def test_code_in_a_hover_has_fences_where_the_editor_takes_markdown(takes_markdown: bool, tmp_path: Path) -> None:
    editor = Editor(tmp_path, takes_markdown=takes_markdown)
    try:
        editor.open("study.zexp", STUDY)
        where = types.HoverParams(**editor.at("study.zexp", "reads with", 1))
        answer = editor.wait(editor.client.text_document_hover_async(where))
        assert answer
        assert isinstance(answer.contents, types.MarkupContent)
        assert "fio reads" in answer.contents.value
        assert ("```" in answer.contents.value) == takes_markdown
    finally:
        editor.close()


def test_a_session_ends_without_a_word() -> None:
    def message(**content: object) -> bytes:
        text = json.dumps({"jsonrpc": "2.0", **content}).encode()
        return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)

    begin = message(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}})
    end = message(id=2, method="shutdown") + message(method="exit")
    session = subprocess.run(
        [sys.executable, "-m", "zlang.cli.app", "lsp"],
        input=begin + message(method="initialized", params={}) + end,
        capture_output=True,
        timeout=60,
    )
    assert (session.returncode, session.stderr) == (0, b"")
