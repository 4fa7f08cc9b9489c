"""Import of INI files of bench-fio: its lists become choices.

Source: the settings and their defaults in bench-fio's defaultsettings.py, its calls of fio in runfio.py.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from pathlib import PurePosixPath

from zlang.errors import RunError
from zlang.importing import fio_options, job_file
from zlang.importing.fio_options import Settings
from zlang.importing.study import Load, LoadStudy, Study, Target

_TOOL = "bench-fio"
_SECTION = "benchfio"
_SERIES = "1,2,4,8,16,32,64"
_DEFAULTS = {
    "engine": "libaio",
    "mode": "randread",
    "block_size": "4k",
    "iodepth": _SERIES,
    "numjobs": _SERIES,
    "runtime": "60",
    "direct": "1",
}
_OPTIONS = {
    "mode": "rw",
    "engine": "ioengine",
    "block_size": "bs",
    "ss": "steadystate",
    "ss_dur": "steadystate_duration",
    "ss_ramp": "steadystate_ramp_time",
    "loginterval": "log_avg_msec",
    "ceph_pool": "pool",
    **{name: name for name in ("iodepth", "numjobs", "rwmixread", "time_based")},
}
_LISTS = ("mode", "block_size", "iodepth", "numjobs", "rwmixread")
_BY_ITSELF = ("target", "type", "size", "loops", "extra_opts", "entire_device")
_MIXED = ("readwrite", "rw", "randrw")
_FALSE = ("false", "0", "no", "off")
_PRECONDITION = "`import treatments`, and write `before = precondition {}` in the experiment"
_REASONS = {
    "output": "results are in the folder of the run, and `zlang report` shows them",
    "quiet": "progress is only shown on a terminal",
    "dry_run": "`zlang plan` shows what would run",
    "destructive": "zlang writes to a device only if it is declared as a `disk` and armed with `--arm`",
    "create": "a `file` is always written before it is measured",
    "precondition": _PRECONDITION,
    "precondition_repeat": _PRECONDITION,
    "precondition_template": "the treatment `precondition` has properties for this",
    "parallel": "loads that run at the same time are a list: `run = [a, b]`",
    "remote": "declare each machine as a `host`",
    "remote_checks": "zlang checks hosts before it runs",
    "remote_timeout": "zlang checks hosts before it runs",
}


def is_recognised(text: str, name: str) -> bool:  # noqa: ARG001
    """Whether a text is an INI file of bench-fio."""
    return any(line.strip() == f"[{_SECTION}]" for line in text.splitlines())


def program(
    text: str,
    name: str,
    variables: Mapping[str, str],  # noqa: ARG001
    keywords: Mapping[str, str],  # noqa: ARG001
    read: job_file.Read,  # noqa: ARG001
) -> str:
    """Turn an INI file into a program. Raises RunError."""
    given = _settings(text, name)
    modes = _list(given.get("mode", _DEFAULTS["mode"]))
    study = Study(fio_options.NAME, name)
    kinds = [[mode for mode in modes if mode not in _MIXED], [mode for mode in modes if mode in _MIXED]]
    targets = _list(given.get("target", "")) or [""]
    loads = [
        _load(given, of_kind, study.names.free(wanted, "load"), targets[0])
        for wanted, of_kind in zip(("plain", "mixed") if all(kinds) else ("load", "load"), kinds, strict=True)
        if of_kind
    ]
    trials = LoadStudy(
        name=PurePosixPath(name).stem,
        comments=(),
        targets=tuple(dict.fromkeys(_target(given, target) for target in targets)),
        levels=tuple((load,) for load in loads),
        cache="as_is" if given.get("invalidate") == "0" else "cold",
        repeat=_count(given.get("loops", "1"), name),
    )
    comments = [line.strip().lstrip(";#").strip() for line in text.splitlines() if line.strip().startswith((";", "#"))]
    return study.program(loads, [trials], head=comments)


def _settings(text: str, name: str) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text, name)
        return dict(parser[_SECTION])
    except configparser.Error as error:
        raise RunError(f"{name} is not an INI file: {' '.join(str(error).split())}") from None
    except KeyError:
        raise RunError(f"{name} has no section `[{_SECTION}]`") from None


def _list(words: str) -> list[str]:
    return [word.strip() for word in words.split(",") if word.strip()]


def _count(words: str, name: str) -> int:
    if not words.isdecimal() or int(words) == 0:
        raise RunError(f"{name}: `loops = {words}` is not a number of repetitions")
    return int(words)


def _load(given: Mapping[str, str], modes: list[str], name: str, target: str) -> Load:
    settings = Settings()
    is_whole_device = given.get("entire_device", "false").lower() not in _FALSE
    if is_whole_device:
        settings.remark("entire_device: one pass over the whole device, without a limit of time")
    for key, words in {**_DEFAULTS, **given, "mode": ",".join(modes)}.items():
        written = f"{key} = {words}"
        if key in _BY_ITSELF or (key == "runtime" and is_whole_device):
            continue
        if key == "rwmixread" and modes[0] not in _MIXED:
            continue
        if key in _OPTIONS:
            values = _list(words) if key in _LISTS else [words]
            if key == "time_based":
                values = ["0" if words.lower() in _FALSE else "1"]
            settings.choose(_OPTIONS[key], values, written)
        elif key not in _REASONS:
            settings.put(key, words, written)
        elif words.lower() not in _FALSE:
            settings.remark(f"{written}: {_REASONS[key]}")
    if given.get("type") == "rbd":
        settings.put("rbdname", target, f"target = {target}")
    for option in _list(given.get("extra_opts", "")):
        key, _, value = option.partition("=")
        settings.put(key.strip(), value.strip(), option)
    lines = settings.lines()
    return Load(
        name=name,
        title="load",
        comments=(),
        lines=lines,
        every_line=lines,
        target=_target(given, target),
        obstacle=fio_options.obstacle(settings.options),
    )


def _target(given: Mapping[str, str], target: str) -> Target:
    settings = Settings()
    option = {"directory": "directory", "rbd": "rbdname"}.get(given.get("type", ""), "filename")
    settings.put(option, target, f"target = {target}")
    if "size" in given:
        settings.put("size", given["size"], f"size = {given['size']}")
    return fio_options.target(settings.options, _TOOL)
