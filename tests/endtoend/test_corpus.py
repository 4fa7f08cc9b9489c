"""Check that a corpus consists of the requested files, and that each is cached or not as required."""

from __future__ import annotations

import gzip
from pathlib import Path
from statistics import mean, median

import pytest
from command_line import Tools, Zlang, tree

CORPUS = """
dir here {{ path = "." }}
corpus tree on here {{ {properties} }}
shell keep {{ command = "cp -R . $OUT/tree"  writes = off }}
experiment corpora {{ on = tree  run = keep  cache = {cache} }}
"""


def kept(zlang: Zlang) -> list[dict[str, bytes]]:
    """Return the contents of the files of each trial's corpus, by path."""
    contents = []
    for trial in zlang.trials():
        files = tree(zlang.folder() / trial.place / "a1" / "tree")
        contents.append({name: held for name, held in files.items() if held is not None})
    return contents


def blocks(files: dict[str, bytes], size: int) -> list[bytes]:
    return [held[at : at + size] for held in files.values() for at in range(0, len(held), size)]


def test_a_corpus_has_the_requested_number_of_files_and_directories(zlang: Zlang) -> None:
    zlang.run(CORPUS.format(properties="files = 20  size = 3000B  depth = 0 | 2  fanout = 3", cache="as_is"))
    shapes = {frozenset(str(Path(name).parent) for name in files) for files in kept(zlang)}
    assert shapes == {frozenset({"."}), frozenset(f"d{parent}/d{other}" for parent in range(3) for other in range(3))}
    assert all([len(held) for held in files.values()] == [3000] * 20 for files in kept(zlang))


def test_file_sizes_have_the_requested_distribution(zlang: Zlang) -> None:
    sizes = "equal | uniform(16KiB) | lognormal(16KiB)"
    zlang.run(CORPUS.format(properties=f"files = 400  size = 8KiB  content = zeros  sizes = {sizes}", cache="as_is"))
    spread = {
        str(trial.factors["sizes"]): [len(held) for held in files.values()]
        for trial, files in zip(zlang.trials(), kept(zlang), strict=True)
    }
    assert {name.split("(")[0] for name in spread} == {"equal", "uniform", "lognormal"}
    for name, lengths in spread.items():
        if name.startswith("uniform"):
            assert 8192 <= min(lengths) < 8400
            assert 16200 < max(lengths) <= 16384
        if name.startswith("lognormal"):
            assert median(lengths) == pytest.approx(8192, rel=0.2)
            assert mean(lengths) == pytest.approx(16384, rel=0.3)


def test_duplicates_and_compressibility_are_as_requested(zlang: Zlang) -> None:
    properties = """
      files = 100  size = 32KiB  content = random | compressible(70%)
      (copies, repeated) = (0%, 0%) | (40%, 0%) | (0%, 50%)
    """
    zlang.run(CORPUS.format(properties=properties.replace("\n", "\n "), cache="as_is"))
    for trial, files in zip(zlang.trials(), kept(zlang), strict=True):
        distinct = len(set(blocks(files, 4096))) / len(blocks(files, 4096))
        assert len(set(files.values())) == (60 if trial.factors["copies"] else 100)
        wanted = 0.6 if trial.factors["copies"] else 0.5 if trial.factors["repeated"] else 1.0
        assert distinct == pytest.approx(wanted, abs=0.06)
        compressed = mean(len(gzip.compress(held)) / len(held) for held in files.values())
        assert compressed < 0.45 if trial.factors["content"] != "random" else compressed > 0.85 * wanted - 0.1


def test_the_same_seed_gives_the_same_files(zlang: Zlang) -> None:
    text = CORPUS.format(properties="files = 30  seed = 1 | 2  sizes = uniform(64KiB)", cache="as_is")
    zlang.run(text.replace("cache = as_is", "cache = as_is  repeat = 2").replace("writes = off", "writes = on"))
    first, other = (
        [files for trial, files in zip(zlang.trials(), kept(zlang), strict=True) if trial.factors["seed"] == n]
        for n in (1, 2)
    )
    assert first[0] == first[1]
    assert other[0] == other[1]
    assert not set(first[0].values()) & set(other[0].values())


def test_cold_and_hot_are_verified_over_all_files(zlang: Zlang) -> None:
    zlang.run(CORPUS.format(properties="files = 50  size = 5000B", cache="cold | hot"))
    assert zlang.rows("select cache_state, cache_evidence from trials order by 1") == [
        {"cache_state": "cold", "cache_evidence": "0 bytes resident"},
        {"cache_state": "hot", "cache_evidence": "all of its files"},
    ]


def test_an_existing_tree_is_copied_and_unchanged(zlang: Zlang) -> None:
    held = {"a": b"1" * 5000, "with space/b": b"", "with space/$(c)": b"2"}
    for name, content in held.items():
        path = zlang.at / "source" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    before = tree(zlang.at / "source")
    zlang.run(CORPUS.format(properties='from = "source"', cache="cold"))
    assert kept(zlang) == [held]
    assert tree(zlang.at / "source") == before
    assert zlang.names() == {"program.zexp", "source", "runs", "results.duckdb"}


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ('from = "nowhere"', "nowhere is no directory"),
        ('from = "."  files = 3', "what is copied from a tree is not drawn: say only from"),
        ("size = 8KiB  sizes = uniform(4KiB)", "is no less than their `size`"),
    ],
)
def test_impossible_corpora_are_refused(zlang: Zlang, properties: str, why: str) -> None:
    assert why in zlang.run(CORPUS.format(properties=properties, cache="as_is"), code=1).err


def test_a_corpus_that_lacks_a_file_is_not_measured(zlang: Zlang) -> None:
    Tools(zlang).wrap("dd", 'case $* in *of=d3/f3*) : > d3/f3 ;; *) exec {real} "$@" ;; esac')
    stderr = zlang.run(CORPUS.format(properties="files = 5  size = 100B", cache="as_is"), code=1).err
    assert "there are 5 files of 400 bytes, not 5 files of 500 bytes" in stderr
