"""Check that fio accepts every generated property of the fio kind in the form that zlang passes it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tools import generate_fio, generated
from zlang import units

OPTIONS = generate_fio.load()
PROPERTIES = generate_fio.properties(OPTIONS)
FIO = shutil.which("fio")


def answer_of_fio(argument: str) -> str:
    """Return the installed fio's description of itself, or nothing."""
    if FIO is None:
        return ""
    return subprocess.run([FIO, argument], capture_output=True, text=True, check=True, timeout=60).stdout.strip()


VERSION = answer_of_fio("--version") or OPTIONS.fio
BUILT_IN = frozenset(answer_of_fio("--enghelp").split()) & frozenset(OPTIONS.engines)

STRINGS = {
    "ignore_error": "EIO,ENOSPC:EIO",
    "cpus_allowed": "0",
    "numa_cpu_nodes": "0",
    "numa_mem_policy": "local",
    "cgroup": "zlang",
    "steadystate": "iops_slope:0.1%",
    "sync_file_range": "wait_before,write:8",
    "bsrange": "4096-8192",
    "bssplit": "4096/60:8192/40",
    "verify_pattern": "0xdeadbeef",
    "verify_async_cpus": "0",
    "buffer_pattern": "0xdeadbeef",
    "log_compression_cpus": "0",
    "hostname": "localhost",
    "interface": "lo",
    "cmdprio_bssplit": "4096/50",
    "bindname": "localhost",
    "plids": "0",
    "dp_scheme": "scheme.txt",
}
"""A value for each string that has no default."""


def values(member: generate_fio.Property) -> list[str]:
    """Return values to try: both states of a bool, each word, or else the default or the smallest allowed value."""
    attributes = dict(member.attributes)
    if member.type == "bool":
        return ["0", "1"]
    if member.words:
        return [word for word in member.words if member.name != "ioengine" or word in BUILT_IN]
    text = attributes.get("default") or attributes.get("allow", "").partition("..")[0]
    if member.type == "string":
        return [text.removeprefix('"').removesuffix('"') or STRINGS[member.name]]
    return [bare_number(text, member.type, attributes.get("unit", "1s"))]


def bare_number(text: str, kind: str, unit: str) -> str:
    """Return a quantity as passed to fio: in bytes, in the option's unit of time, in percent."""
    amount = units.parse(text).amount if text else units.parse(unit).amount
    if kind == "duration":
        amount /= units.parse(unit).amount
    if kind == "share":
        amount *= 100
    return str(amount) if amount.denominator == 1 else str(float(amount))


def parse_only(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Return fio's messages about jobs that it only parses."""
    return subprocess.run(
        [str(FIO), "--parse-only", *arguments], capture_output=True, text=True, check=False, timeout=60
    )


def job(number: int, engine: str, option: str, value: str) -> list[str]:
    """Write a job with one option set."""
    chosen = [] if option == "ioengine" else [f"--ioengine={engine}"]
    return [f"--name=job{number}", "--size=1048576", *chosen, f"--{option}={value}"]


def cases() -> list[tuple[str, str, str]]:
    """Generate engine, option and value for each property that this version of fio should know."""
    triples = []
    for member in PROPERTIES:
        if "since" in dict(member.attributes) and newer_than_installed(dict(member.attributes)["since"].strip('"')):
            continue
        for engine in member.engines or ("null",):
            if engine in BUILT_IN:
                triples += [(engine, member.name, value) for value in values(member)]
    return triples


def newer_than_installed(version: str) -> bool:
    return numbers(version) > numbers(VERSION)


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("fio-").partition("-")[0].split(".")[:2])


def refused(tried: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Return cases that fio rejects or warns about. One call parses all; on a rejection, each half is tried again."""
    arguments = [argument for number, case in enumerate(tried) for argument in job(number, *case)]
    done = parse_only(*arguments)
    if done.returncode == 0 and not done.stderr:
        return []
    if len(tried) == 1:
        return tried
    half = len(tried) // 2
    return refused(tried[:half]) + refused(tried[half:])


@pytest.mark.skipif(FIO is None, reason="fio is not installed")
def test_fio_takes_every_property() -> None:
    assert refused(cases()) == []


@pytest.mark.skipif(FIO is None, reason="fio is not installed")
def test_fio_refuses_unknown_options() -> None:
    wrong = [
        ("null", "rw", "nope"),
        ("null", "rwmixread", "101"),
        ("null", "ioengine", "cpu-io"),
        ("null", "hipri", "1"),
    ]
    right = [("null", "rw", "read"), ("pvsync2", "hipri", "1")]
    assert refused([*right, *wrong]) == wrong


def test_every_option_is_a_property_or_left_out_for_a_reason() -> None:
    offered = {member.name for member in PROPERTIES}
    reasons = {name for names, _ in generate_fio.left_out(OPTIONS) for name in names.split(", ")}
    listed = {generate_fio.DOCUMENTED_NAMES.get(option["name"], option["name"]) for option in OPTIONS.all()}
    assert listed <= offered | reasons
    assert not offered & reasons
    assert len(offered) == len(PROPERTIES)


def test_a_string_that_has_no_default_has_a_sample() -> None:
    without = {m.name for m in PROPERTIES if m.type == "string" and "default" not in dict(m.attributes)}
    assert set(STRINGS) == without, "add a value that fio takes to `STRINGS`"


@pytest.mark.parametrize("member", PROPERTIES, ids=lambda member: member.name)
def test_doc_is_one_short_sentence(member: generate_fio.Property) -> None:
    doc = dict(member.attributes)["doc"]
    assert len(doc) <= generated.WIDTH - len("    doc = ")
    assert not doc.endswith('."') or doc.endswith('..."')
