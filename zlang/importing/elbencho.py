"""Import of elbencho command lines: its phases become levels, its threads workers of fio.

Source: elbencho's `--help-all`. Each thread works on its own part; the parts together cover the file once.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import PurePosixPath

from zlang.errors import RunError
from zlang.importing import fio_numbers, fio_options, job_file
from zlang.importing.fio_options import Settings
from zlang.importing.study import Load, LoadStudy, Study, Target
from zlang.record import Record

_TOOL = "elbencho"
_SHORT = {
    "b": "block",
    "c": "configfile",
    "D": "deldirs",
    "d": "mkdirs",
    "F": "delfiles",
    "i": "iterations",
    "N": "files",
    "n": "dirs",
    "r": "read",
    "s": "size",
    "t": "threads",
    "w": "write",
}
_WITH_VALUE = """
block blockvaralgo blockvarpct clients clientsfile configfile cores csvfile dirs fadv files flock gpuids hosts
hostsfile iodepth iterations jsonfile label latpercent9s limitread limitwrite livecsv livejson liveint log madv
netdevs numhosts opslog phasedelay port randalgo randamount rankoffset recvbuf respsize resfile rotatehosts
rwmixpct rwmixthr rwmixthrpct s3aclgrantee s3aclgtype s3aclgrants s3chksumalgo s3credfile s3credlist s3endpoints
s3key s3listobj s3log s3logprefix s3maxconns s3mpusizevar s3mpusplit s3multidel s3objprefix s3region s3secret
s3sessiontoken s3sign s3sseckey s3ssekmskey s3targetgbps sendbuf servers serversfile sharesize size start
svcpwfile svcupint svcwait threads timelimit treefile treeroundup treescan verify zones
"""
_VALUED = frozenset(_WITH_VALUE.split())
_WITHOUT_VALUE = """
allelapsed backward cpu cufile cufiledriveropen cuhostbufreg deldirs delfiles direct dirsharing dirstats
dropcache dryrun foreground gds gdsbufreg gpuperservice infloop interrupt lat lathisto latpercent live1 live1n
livecsvex mkdirs mmap netbench no0usecerr nocsvlabels nodelerr nodiocheck nofdsharing nolive nopathexp
norandalign nosvcshare opsloglock preallocfile quit rand read readinline s3fastget s3fastput s3nocompress
s3randobj s3single s3virtaddr service stat statinline strided svcelapsed svcping sync treerand trunc trunctosize
verifydirect version write
"""
_FLAGS = frozenset(_WITHOUT_VALUE.split())
_REASONS = {
    **dict.fromkeys(("lat", "lathisto", "latpercent", "latpercent9s"), "zlang always keeps the latencies"),
    **dict.fromkeys(
        ("csvfile", "jsonfile", "livecsv", "livejson", "resfile", "opslog"), "results are in the folder of the run"
    ),
    **dict.fromkeys(("mkdirs", "deldirs", "delfiles"), "a run makes its files, and removes them"),
    **dict.fromkeys(("trunc", "trunctosize", "preallocfile"), "a `file` is written in full before it is measured"),
    **dict.fromkeys(("hosts", "hostsfile"), "declare the machines as a `host` with `members`, and run the load on it"),
    "nodelerr": "a run makes its files, and removes them",
    "nolive": "progress is only shown on a terminal",
    "label": "a run has the name of its experiment, and the time",
    "cpu": "`import linux` and the collector `mpstat`",
    "sync": "`end_fsync = on` waits for the data that a load wrote",
    "verify": "`verify` and `do_verify` check what a load of fio wrote",
    "stat": "fio only reads and writes",
}
_OPTIONS: Mapping[str, tuple[str, str | None]] = {
    "threads": ("numjobs", None),
    "iodepth": ("iodepth", None),
    "direct": ("direct", "1"),
    "mmap": ("ioengine", "mmap"),
    "timelimit": ("runtime", None),
    "infloop": ("time_based", "1"),
    "cores": ("cpus_allowed", None),
    "zones": ("numa_cpu_nodes", None),
    "limitread": ("rate", None),
    "limitwrite": ("rate", None),
}
"""The option of fio that does the same, and its value where it is always one."""
_ELSEWHERE = "read write rand rwmixpct size block randamount dropcache iterations files dirs"
"""Options that the program says in another place."""
_OTHER = {"read": "write", "write": "read"}
_MOST = 1000
_RANGE = re.compile(r"\[(\d+)-(\d+)\]|\{(\d+)\.\.(\d+)\}")
_WORDS = re.compile(r"\{([^{}]*,[^{}]*)\}")
"""Patterns that elbencho expands in a path, and those that bash expands before elbencho sees them."""
_IN_TURN = re.compile(r"&&|\|\||[;&|]")
_LINE = re.compile(r"^[ \t$>#]*(?:\S+=\S* +|sudo +)*(?:\S*/)?elbencho[ \t]+\S|^[^#;\n]*\s(?:\S*/)?elbencho[ \t]+-")
_SUFFIX = ".elbencho"


class _Command(Record):
    """A command: its options by long name, each as written, its phases, and its place in the file."""

    options: Mapping[str, str]
    written: Mapping[str, str]
    paths: tuple[str, ...]
    line: str


def is_recognised(text: str, name: str) -> bool:
    """Whether a text contains a command line of elbencho, or is its configuration file."""
    return name.endswith(_SUFFIX) or any(_LINE.match(line) for line in text.splitlines())


def program(
    text: str,
    name: str,
    variables: Mapping[str, str],  # noqa: ARG001
    keywords: Mapping[str, str],  # noqa: ARG001
    read: job_file.Read,
) -> str:
    """Turn command lines or a configuration file into a program. Raises RunError."""
    commands = list(_commands(text, name, read))
    if not commands:
        raise RunError(f"{name} has no command line of {_TOOL}", "such as `elbencho -w -r -b 4k -s 1g --direct FILE`")
    study = Study(fio_options.NAME, name)
    loads: list[Load] = []
    trials: list[LoadStudy] = []
    for command in commands:
        phases = [_load(command, phase, study) for phase in ("write", "read") if phase in command.options]
        loads += phases or [_load(command, "", study)]
        if not phases or phases[0].obstacle:
            continue
        trials.append(
            LoadStudy(
                name=PurePosixPath(name).stem,
                comments=(),
                targets=(phases[0].target,),
                levels=tuple((phase,) for phase in phases),
                cache="cold" if "dropcache" in command.options else "as_is",
                repeat=_positive(command.options.get("iterations", "1")) or 1,
            )
        )
    return study.program(loads, _joined(trials))


def _joined(trials: list[LoadStudy]) -> Iterator[LoadStudy]:
    """Join the experiments of consecutive commands that differ only in the load."""
    joined: list[LoadStudy] = []
    for each in trials:
        if joined and joined[-1].replace(levels=each.levels) == each:
            joined[-1] = each.replace(levels=joined[-1].levels + each.levels)
        else:
            joined.append(each)
    yield from joined


# -- commands


def _commands(text: str, name: str, read: job_file.Read) -> Iterator[_Command]:
    if name.endswith(_SUFFIX):
        yield _command(_configured(text), name, read)
        return
    for line in text.replace("\\\n", " ").splitlines():
        if _LINE.match(line):
            for words in _simple_commands(line, name):
                if words:
                    yield _command(words, name, read)


def _simple_commands(line: str, name: str) -> Iterator[list[str]]:
    """The words after `elbencho` for each command in a line."""
    lexer = shlex.shlex(line.lstrip(" \t$>#"), posix=True, punctuation_chars=";&|<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] | None = None
    try:
        for word in lexer:
            if _IN_TURN.fullmatch(word):
                if words is not None:
                    yield words
                words = None
            elif words is not None:
                words.append(word)
            elif PurePosixPath(word).name == _TOOL:
                words = []
    except ValueError as error:
        raise RunError(f"{name}: {str(error).lower()} in `{line.strip()}`") from None
    if words is not None:
        yield words


def _configured(text: str) -> list[str]:
    """The options of a configuration file as command-line words."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    words = []
    for line in lines:
        option, _, value = (part.strip() for part in line.partition("="))
        if option in _FLAGS:
            words += [f"--{option}"] if value not in {"0", "false", "no", "off"} else []
        else:
            words += [f"--{option}={value}"]
    return words


def _command(words: list[str], name: str, read: job_file.Read) -> _Command:
    options: dict[str, str] = {}
    written: dict[str, str] = {}
    paths: list[str] = []
    later_words = iter(words)
    for word in later_words:
        if word in {"<", ">", ">>"}:
            next(later_words, "")
            continue
        if word == "--":
            paths += later_words
        elif word.startswith("--"):
            option, equals, value = word[2:].partition("=")
            option = _long(option)
            value = value if equals or option not in _VALUED else next(later_words, "")
            options[option] = value
            written[option] = f"--{option}" + (f" {value}" if value else "")
        elif word.startswith("-") and len(word) > 1:
            _short_options(word[1:], later_words, options, written)
        else:
            paths += _expanded(word)
    if "configfile" in options:
        text, place = read(options.pop("configfile"), name)
        below = _command(_configured(text), place, read)
        options, written = {**below.options, **options}, {**below.written, **written}
    return _Command(options, written, tuple(paths), " ".join(words))


def _long(option: str) -> str:
    """The full name of the option with this prefix, if there is only one."""
    fitting = [each for each in (*_VALUED, *_FLAGS) if each.startswith(option)]
    return fitting[0] if len(fitting) == 1 else option


def _short_options(letters: str, later_words: Iterator[str], options: dict[str, str], written: dict[str, str]) -> None:
    """Parse the letters after a dash: flags, of which the last can take a value."""
    for index, letter in enumerate(letters):
        option = _SHORT.get(letter, letter)
        if option in _VALUED:
            options[option] = letters[index + 1 :] or next(later_words, "")
            written[option] = f"-{letter} {options[option]}"
            return
        options[option] = ""
        written[option] = f"-{letter}"


def _expanded(word: str) -> list[str]:
    """Expand a path with ranges or words in brackets or braces, such as `file[1-4]`."""
    paths = list(islice(_paths(word), _MOST + 1))
    return paths if len(paths) <= _MOST else [word]


def _paths(word: str) -> Iterator[str]:
    parts: Iterable[str]
    if matched := _RANGE.search(word):
        first, last = (number[:9] for number in matched.groups() if number)
        parts = (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))
    elif matched := _WORDS.search(word):
        parts = matched[1].split(",")
    else:
        yield word
        return
    for part in parts:
        yield from _paths(word[: matched.start()] + part + word[matched.end() :])


# -- loads


def _load(command: _Command, phase: str, study: Study) -> Load:
    options, settings = command.options, Settings()
    workers = _positive(options.get("threads", "1")) or 1
    size = _bytes(options.get("size", ""))
    is_random = "rand" in options
    _pattern(command, phase, settings)
    settings.put("bs", options.get("block", "1m"), command.written.get("block", "block size"))
    for option, value in options.items():
        _put(option, value, command.written[option], phase, settings)
    target = _target(command, workers)
    amount = _bytes(options.get("randamount", "")) if is_random else None
    part = (amount or (size or 0) * _number_of_files(command, workers)) // workers
    if part and (workers > 1 or amount):
        settings.put("io_size", str(part), f"the share of each of {workers} threads")
        if not is_random:
            settings.put("offset_increment", str(part), f"the share of each of {workers} threads")
    lines = settings.lines()
    name = study.names.free(phase or "other", "load")
    return Load(
        name=name,
        title=command.line,
        comments=(f"{_TOOL} {command.line}",),
        lines=lines,
        every_line=lines,
        target=target,
        obstacle=_obstacle(command, phase),
    )


def _put(option: str, value: str, written: str, phase: str, settings: Settings) -> None:
    """Translate an option of elbencho to options of fio."""
    if option in _ELSEWHERE.split() or option == f"limit{_OTHER.get(phase, '')}":
        return
    if option in _OPTIONS and value != "all":
        name, fixed = _OPTIONS[option]
        settings.put(name, fixed or value, written)
        if option == "iodepth" and value != "1":
            settings.put("ioengine", "libaio", written)
        return
    is_known = option in _VALUED | _FLAGS
    unknown = "no option of fio does this" if is_known else f"this is not an option of {_TOOL}"
    settings.remark(f"{written}: {_REASONS.get(option, unknown)}")


def _pattern(command: _Command, phase: str, settings: Settings) -> None:
    prefix = "rand" if "rand" in command.options else ""
    share = command.options.get("rwmixpct", "0") if phase == "write" else "0"
    if share != "0":
        settings.put("rw", f"{prefix}rw", "--write")
        settings.put("rwmixread", share, command.written["rwmixpct"])
    else:
        settings.put("rw", f"{prefix}{phase or 'read'}", f"--{phase}")


def _obstacle(command: _Command, phase: str) -> str:
    if not phase:
        return "it neither reads nor writes data"
    if "netbench" in command.options:
        return "it measures a network"
    if "s3endpoints" in command.options or any(path.startswith("s3:") for path in command.paths):
        return "it measures objects, and no workload of the library does"
    return ""


def _is_of_many_files(command: _Command) -> bool:
    return bool({"files", "dirs", "mkdirs", "delfiles", "deldirs"} & set(command.options))


def _number_of_files(command: _Command, workers: int) -> int:
    """The number of files of all workers together; a path that is not a directory is one file."""
    if not _is_of_many_files(command):
        return 1
    return workers * math.prod(_positive(command.options.get(name, "1")) or 1 for name in ("dirs", "files"))


def _target(command: _Command, workers: int) -> Target:
    settings, options = Settings(), command.options
    size = options.get("size", "")
    if _is_of_many_files(command):
        directory = command.paths[0] if command.paths else "."
        number = _number_of_files(command, workers)
        total = (_bytes(size) or 0) * number
        settings.put("size", str(total) if total else "", f"-s {size}")
        settings.put("directory", directory, directory)
        target = fio_options.target(settings.options, _TOOL)
        words = f"{_TOOL} measures {number} files of {size or 'unknown size'}: here one file is as large as all of them"
        return target.replace(remarks=(words,))
    if size:
        settings.put("size", size, command.written["size"])
    settings.put("filename", ":".join(command.paths), " ".join(command.paths))
    return fio_options.target(settings.options, _TOOL)


def _bytes(words: str) -> int | None:
    amount = fio_numbers.size(words)
    return int(amount) if amount else None


def _positive(words: str) -> int | None:
    return int(words) if words.isdecimal() and len(words) < len(str(10**9)) and int(words) else None
