"""Measure how soon the language server answers while somebody types: a real client over standard input and output.

    python bench/lsp.py [EDITS]

On a busy machine the clock measures who else waits for a processor: `chrt --rr 1 python bench/lsp.py` does not wait.

In a program of 1,000 lines: from an edit to the colours of the text as it then is, from a key to completions, and from
an edit to what is wrong with the whole program, by the clock and by the CPU time of the server.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import measure

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/lsp"))

from editor import Editor, place
from lsprotocol import types

STUDY = """\
file data{n} on here {{ size = {n}MiB }}

# load number {n}
fio reads{n} {{
  rw         = randread | read
  bs         = 4KiB | 8KiB | 64KiB
  ioengine   = libaio
  direct     = on
  iodepth    = 1..8 by *2
  time_based = on
  runtime    = 10s
}}

experiment study{n} "Question {n}?" {{
  on     = data{n}
  run    = reads{n}
  repeat = 5
  where bs <= 8KiB or rw == read
  table read_iops by bs
}}

"""
LINES = 1000


def program() -> str:
    """A sound program of so many lines."""
    count = LINES // STUDY.count("\n")
    return 'import fio\ndir here { path = "." }\n' + "".join(STUDY.format(n=n + 1) for n in range(count))


def cpu_seconds(process: str) -> float:
    """The CPU time that all threads of a process have taken."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def main(edits: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(Path(folder))
        took: dict[str, list[float]] = {
            "an edit, to its colours": [],
            "a key, to completions": [],
            "an edit, to findings": [],
            "CPU for both edits": [],
        }
        (process,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        editor.open("big.zexp", program())
        colours = types.SemanticTokensParams(editor.document("big.zexp"))
        for number in range(edits):
            text = editor.texts["big.zexp"]
            at = text.index("  bs  ", len(text) * number // (edits + 1))
            before = cpu_seconds(process)
            began = time.perf_counter()
            editor.change("big.zexp", at, at, "  d\n")
            where = types.CompletionParams(editor.document("big.zexp"), place(editor.texts["big.zexp"], at + 3))
            answer = editor.wait(editor.client.text_document_completion_async(where))
            took["a key, to completions"].append(time.perf_counter() - began)
            assert "dedupe_mode" in {item.label for item in answer.items}
            began = time.perf_counter()
            editor.change("big.zexp", at, at + 4, "")
            editor.wait(editor.client.text_document_semantic_tokens_full_async(colours))
            took["an edit, to its colours"].append(time.perf_counter() - began)
            editor.said_of("big.zexp")
            took["an edit, to findings"].append(time.perf_counter() - began)
            took["CPU for both edits"].append(cpu_seconds(process) - before)
        editor.close()
    for name, seconds in took.items():
        p95 = statistics.quantiles(seconds, n=20)[-1]
        print(f"{name:26} median {1000 * statistics.median(seconds):6.1f} ms, p95 {1000 * p95:6.1f} ms")


if __name__ == "__main__":
    measure.show_help(__doc__)
    main(int(sys.argv[1]) if sys.argv[1:] else 100)
