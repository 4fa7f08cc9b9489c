"""Import of vdbench parameter files: storage definitions become files, workloads become loads of fio.

A run definition becomes an experiment: its `for…` parameters are choices, its workloads are streams of one trial.
vdbench divides its rate among all workloads by their skew; its threads are workers of fio.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from fractions import Fraction

from zlang.errors import RunError
from zlang.importing import fio_numbers, fio_options, job_file, vdbench_file
from zlang.importing.fio_options import Settings
from zlang.importing.study import Load, LoadStudy, Study, Target
from zlang.importing.vdbench_file import Entry, ParameterFile
from zlang.record import Record

_TOOL = "vdbench"
_ENTRY = re.compile(r"(sd|wd|rd|fsd|fwd|hd)=")
_STEP = re.compile(r"(\d+[kmgt]?)-(\d+[kmgt]?)")
_MOST = 100
_MULTIPLES = 100
_SERVED = "wd sd fwd fsd lun anchor size skew operation depth width files totalsize maxdata"
_OPTION_OF = {"xfersize": "bs", "threads": "numjobs", "rdpct": "rwmixread", "seekpct": "percentage_random"}
"""Parameters that run definitions vary, with or without `for` before the name: `checkForLoop` in `For_loop.java`."""
_OVERRIDES = {
    "operation": ("operation", "operations", "foroperation", "foroperations"),
    "depth": ("depth", "fordepth"),
    "width": ("width", "forwidth"),
    "files": ("files", "forfiles"),
    "size": ("size", "sizes", "forsize", "forsizes"),
    "totalsize": ("totalsize", "fortotal", "fortotalsize"),
}
"""Parameters of a run that replace those of its workloads and their storage, by each of their names."""
_OPTIONS = {"threads": "numjobs", "elapsed": "runtime", "warmup": "ramp_time", "offset": "offset"}
_RATIOS = {"compratio": "buffer_compress_percentage", "dedupratio": "dedupe_percentage"}
_DEFAULTS = {"xfersize": "4k", "threads": "8", "rdpct": "100", "seekpct": "100", "iorate": "max"}
_RANDOM = {"rand": "100", "seq": "0", "eof": "0"}
"""The share of random places for what such a word begins with: vdbench reads no further."""
_FLAGS = {"o_direct": "direct=1", "directio": "direct=1", "o_sync": "sync=sync", "o_dsync": "sync=dsync"}
_HOST = "declare the machine as a `host`, and write `on` it"
_REASONS = {
    "interval": "samples are kept every second, whatever is displayed",
    "host": _HOST,
    "hd": _HOST,
    "create_anchors": "a run makes its own directories",
    "rhpct": "no option of fio hits a cache at a given rate; `cache = hot` and `cache = cold` are the extremes",
    "whpct": "no option of fio hits a cache at a given rate; `cache = hot` and `cache = cold` are the extremes",
    "hitarea": "no option of fio hits a cache at a given rate; `cache = hot` and `cache = cold` are the extremes",
    "format": "a `file` is written in full before it is measured",
    "fileselect": "here all files are one",
    "stopafter": "here all files are one",
    "validate": "`verify = crc32c` and `do_verify = on` check what a load of fio wrote",
    "data_errors": "a trial with an error does not count",
    "pause": "the next trial begins when its target is ready",
    "shared": "a run measures only what it made",
    "range": "`offset` and `io_size` limit a load to a part of the file",
    "messagescan": "`zlang run` records what the kernel said",
}
_CURVE = "vdbench finds the highest rate, and measures parts of it; examples/knee.zexp searches for a rate with `find`"


class _Stream(Record):
    """A workload on one target, with its share of the rate."""

    workload: Entry
    storage: Entry
    share: Fraction


def is_recognised(text: str, name: str) -> bool:  # noqa: ARG001
    """Whether a text is a parameter file of vdbench."""
    return any(_ENTRY.match(line.strip()) for line in text.splitlines())


def program(
    text: str,
    name: str,
    variables: Mapping[str, str],
    keywords: Mapping[str, str],  # noqa: ARG001
    read: job_file.Read,
) -> str:
    """Turn a parameter file into a program. Raises RunError."""
    file = vdbench_file.parse(text, name, variables, read)
    runs = [entry for entry in file.entries if entry.kind == "rd"]
    if not runs:
        raise RunError(f"{name} has no run definition", "such as `rd=run1,wd=wd1,iorate=max,elapsed=60`")
    study = Study(fio_options.NAME, name)
    loads: list[Load] = []
    trials: list[LoadStudy] = []
    lets: dict[str, str] = {}
    for run in runs:
        importer = _Run(run, file, study, lets)
        of_run = importer.loads()
        loads += of_run
        measured = tuple(load for load in of_run if not load.obstacle)
        if measured:
            comments = (*run.comments, *importer.remarks)
            trials.append(
                LoadStudy(
                    name=run.name,
                    comments=comments,
                    targets=(measured[0].target,),
                    levels=(measured,),
                    cache="as_is",
                    repeat=1,
                )
            )
    others = [
        f"{entry.kind}={entry.name}: {_of_machines(entry)}" for entry in file.entries if entry.kind in {"hd", "rg"}
    ]
    return study.program(loads, trials, head=(*file.head, *others), lets=lets, tail=file.tail)


def _of_machines(entry: Entry) -> str:
    return "declare the machine as a `host`" if entry.kind == "hd" else "a recorded load cannot be replayed"


class _Run:
    def __init__(self, run: Entry, file: ParameterFile, study: Study, lets: dict[str, str]) -> None:
        self.run, self.file, self.study, self.lets = run, file, study, lets
        self.remarks: list[str] = []
        self.names: dict[str, str] = {}

    def loads(self) -> list[Load]:
        """The loads of a run: each workload on each of its targets."""
        streams = list(self._streams())
        if not streams:
            raise RunError(
                f"rd={self.run.name} does not name a workload that is defined",
                "write in `wd=` the name of a workload that is defined above",
            )
        for name, option in _OPTION_OF.items():
            for key in (f"for{name}", name):
                if values := self.run.parameters.get(key):
                    self._loop(key, name, option, values)
        self._rate_levels(streams)
        taken_over = {*_SERVED.split(), *_DEFAULTS, *_OPTIONS, "fwdrate"}.union(*_OVERRIDES.values())
        for key in self.run.parameters:
            if key not in taken_over and key.removeprefix("for") not in _DEFAULTS:
                self.remarks.append(f"{self.run.written[key]}: {_reason(key)}")
        return [self._load(stream) for stream in streams]

    # -- which loads

    def _streams(self) -> Iterator[_Stream]:
        run = self.run.parameters
        kind, storage = ("fwd", "fsd") if "fwd" in run or "fsd" in run else ("wd", "sd")
        default = self.file.defaults.get(kind, Entry(kind, "", {}, {}, ())).replace(name=self.run.name)
        workloads = list(self._named(kind, run[kind])) if kind in run else [default]
        skews = [_number(_first(each, "skew")) for each in workloads]
        unassigned = (100 - sum((skew for skew in skews if skew), Fraction(0))) / (
            sum(skew is None for skew in skews) or 1
        )
        for workload, skew in zip(workloads, skews, strict=True):
            wanted = run.get(storage) or workload.parameters.get(storage, ("*",))
            targets = list(self._named(storage, ("*",) if wanted == ("all",) else wanted))
            share = (unassigned if skew is None else skew) / Fraction(100 * (len(targets) or 1))
            own = self._overridden(workload)
            yield from (_Stream(own, self._overridden(target), max(share, Fraction(0))) for target in targets)

    def _overridden(self, entry: Entry) -> Entry:
        """A file workload, or its storage, with the parameters that the run overrides."""
        if entry.kind not in {"fwd", "fsd"}:
            return entry
        parameters, written = dict(entry.parameters), dict(entry.written)
        for key, name in ((key, name) for key, names in _OVERRIDES.items() for name in names):
            if values := self.run.parameters.get(name):
                is_loop = name.startswith("for") and len(values) > 1
                parameters[key], written[key] = values[:1] if is_loop else values, self.run.written[name]
                remark = f"{self.run.written[name]}: here only `{values[0]}`; write an experiment for each"
                self.remarks += [remark] if is_loop and remark not in self.remarks else []
        return entry.replace(parameters=parameters, written=written)

    def _named(self, kind: str, wanted: tuple[str, ...]) -> Iterator[Entry]:
        patterns = list(vdbench_file.names_of(wanted))
        for entry in self.file.entries:
            if entry.kind == kind and any(fnmatchcase(entry.name, pattern) for pattern in patterns):
                yield entry

    # -- what varies

    def _loop(self, key: str, name: str, option: str, values: tuple[str, ...]) -> None:
        literals = fio_options.levels(option, map(_randomness, _steps(values)))
        if literals:
            self._let(name, list(dict.fromkeys(literals)))
        else:
            self.remarks.append(f"{self.run.written[key]}: not all of these are values of `{option}`")

    def _rate_levels(self, streams: Sequence[_Stream]) -> None:
        key = next((key for key in ("foriorate", "iorate", "fwdrate") if key in self.run.parameters), None)
        words = _steps(self.run.parameters[key]) if key else []
        if not words or words == ["max"]:
            return
        rates = [_number(word) for word in words]
        if words == ["curve"] or None in rates:
            self.remarks.append(f"{self.run.written[key or '']}: {_CURVE}")
            return
        share = max(stream.share for stream in streams)
        workers = max(self._most_workers(stream) for stream in streams)
        by_worker = {max(1, round(rate * share / workers)): rate for rate in rates if rate is not None}
        if len(by_worker) < len(set(rates)):
            why = f"{self.run.written[key or '']}: a worker has a whole number of operations per second"
            self.remarks.append(f"{why}; rates that give the same number appear here once")
        self._let("iorate", [f"{rate}/s" for rate in by_worker.values()])

    def _most_workers(self, stream: _Stream) -> int:
        """The largest number of threads that a workload has on a target."""
        given = [(self.run, "forthreads"), (self.run, "threads")]
        given += [(stream.workload, "threads"), (stream.storage, "threads")]
        for entry, key in given:
            if key in entry.parameters:
                numbers = [int(word[:9]) for word in _steps(entry.parameters[key]) if word.isdecimal()]
                return max(numbers, default=0) or 1
        return 1 if stream.workload.kind == "fwd" else int(_DEFAULTS["threads"])

    def _let(self, name: str, levels: list[str]) -> None:
        if len(levels) == 1:
            self.names[name] = levels[0]
            return
        same_let = next(
            (let for let, value in self.lets.items() if value == " | ".join(levels) and let.startswith(name)), None
        )
        self.names[name] = same_let or self.study.names.free(name, name)
        self.lets[self.names[name]] = " | ".join(levels)

    # -- one load

    def _load(self, stream: _Stream) -> Load:
        settings, workload, storage = Settings(), stream.workload, stream.storage
        parameters = {**storage.parameters, **workload.parameters}
        written = {**storage.written, **workload.written}
        for key in ("warmup", "elapsed", "maxdata"):
            if key in self.run.parameters:
                parameters[key], written[key] = self.run.parameters[key], self.run.written[key]
        if workload.kind == "fwd":
            _of_files(parameters)
        self._pattern(parameters, written, settings)
        for key, values in parameters.items():
            self._parameter(key, values, written.get(key, key), settings)
        for name in ("xfersize", "threads"):
            if name in self.names:
                settings.expression(_OPTION_OF[name], self.names[name])
            elif name not in parameters and not (name == "threads" and workload.kind == "fwd"):
                settings.put(_OPTION_OF[name], _DEFAULTS[name], f"{name}={_DEFAULTS[name]}")
        workers = self.names.get("threads") or parameters.get("threads", (_DEFAULTS["threads"],))[0]
        if "maxdata" in parameters:
            _amount(parameters, written["maxdata"], stream.share, workers, settings)
        elif "elapsed" in parameters:
            settings.put("time_based", "1", written["elapsed"])
        self._rate(stream, workers, settings)
        for key, words in self.file.general.items():
            self._parameter(key, (words.partition("=")[2],), words, settings)
        wanted = workload.name if storage.name == "sd1" else f"{workload.name}_{storage.name}"
        lines = settings.lines()
        return Load(
            name=self.study.names.free(wanted, "load"),
            title=f"{workload.kind}={workload.name}",
            comments=(*storage.comments, *workload.comments),
            lines=lines,
            every_line=lines,
            target=_target(storage),
            obstacle=_obstacle(workload, self.run),
        )

    def _pattern(
        self, parameters: Mapping[str, tuple[str, ...]], written: Mapping[str, str], settings: Settings
    ) -> None:
        share, seeks = (
            self.names.get(name) or parameters.get(name, (_DEFAULTS[name],))[0] for name in ("rdpct", "seekpct")
        )
        seeks = _randomness(seeks)
        random = "" if seeks in {"0", "0%"} else "rand"
        if not random and (self.names.get("threads") or parameters.get("threads", ("",))[0]) != "1":
            settings.remark("vdbench's threads go through a file together: here each worker begins at its start")
        if share in {"100", "100%"}:
            settings.put("rw", f"{random}read", "")
        elif share in {"0", "0%"}:
            settings.put("rw", f"{random}write", "")
        else:
            settings.put("rw", f"{random}rw", "")
            if "rdpct" in self.names:
                settings.expression("rwmixread", share)
            else:
                settings.put("rwmixread", share, written.get("rdpct", "rdpct"))
        if seeks in {"0", "0%", "100", "100%"}:
            return
        if "seekpct" in self.names:
            settings.expression("percentage_random", seeks)
        else:
            settings.put("percentage_random", seeks, written.get("seekpct", "seekpct"))

    def _parameter(self, key: str, values: tuple[str, ...], written: str, settings: Settings) -> None:
        if key in _SERVED.split() or key in {"rdpct", "seekpct"} or key in self.names:
            return
        if key == "xfersize":
            _sizes(values, written, settings)
        elif key in _OPTIONS:
            settings.put(_OPTIONS[key], values[0], written)
        elif key == "openflags":
            for flag in values:
                option, _, value = _FLAGS.get(flag, "").partition("=")
                if option:
                    settings.put(option, value, written)
                else:
                    settings.remark(f"{written}: no option of fio opens a file with `{flag}`")
        elif key in _RATIOS and (ratio := _number(values[0])) and ratio >= 1:
            settings.put(_RATIOS[key], str(round(100 - 100 / ratio)), written)
        else:
            settings.remark(f"{written}: {_reason(key)}")

    def _rate(self, stream: _Stream, workers: str, settings: Settings) -> None:
        """Set the rate of a single worker, because fio limits each worker by itself."""
        rate = self.names.get("iorate")
        if rate is None:
            return
        if not settings.has("numjobs"):
            settings.remark("the number of threads is unknown, and so is the rate of each")
            return
        if not rate.endswith("/s") or not workers.isdecimal():
            share = "" if stream.share == 1 else f" * {stream.share}"
            settings.expression("rate_iops", f"max(1/s, round({rate}{share} / {workers}))")
            return
        exact = Fraction(rate.removesuffix("/s")) * stream.share / (int(workers[:9]) or 1)
        if exact != max(1, round(exact)):
            total = float(exact * int(workers))
            settings.remark(f"this load has {total:g} operations per second of the rate; a worker has a whole number")
        settings.expression("rate_iops", f"{max(1, round(exact))}/s")


def _reason(key: str) -> str:
    """The reason why the program omits a parameter."""
    return _REASONS.get(key, "no option of fio does this")


def _randomness(word: str) -> str:
    """The share of random offsets for a word or a number."""
    return next((share for start, share in _RANDOM.items() if word.startswith(start)), word)


def _first(entry: Entry, key: str) -> str:
    return entry.parameters.get(key, ("",))[0]


def _steps(values: tuple[str, ...]) -> list[str]:
    """The values of a list; `1-64,d` doubles, `64-1,d` halves, and `100-1000,100` adds."""
    matched = _STEP.fullmatch(values[0]) if values else None
    if matched is None:
        return list(values)
    first, last = (int(fio_numbers.size(words) or 0) for words in matched.groups())
    step = values[1] if len(values) > 1 else "d"
    added = int(fio_numbers.size(step) or 0)
    if not added and (step != "d" or not first):
        raise RunError(f"`{','.join(values)}` is not a series", "`(1-64,d)` doubles, `(10-100,10)` adds")
    halves = not added and last < first
    result = [first]
    while len(result) <= _MOST:
        value = result[-1] // 2 if halves else result[-1] + (added or result[-1])
        if value < last if halves else value > last:
            return [str(each) for each in result]
        result.append(value)
    raise RunError(f"`{','.join(values)}` is a series of more than {_MOST} values")


def _number(words: str) -> Fraction | None:
    return Fraction(words) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", words) else None


def _sizes(values: tuple[str, ...], written: str, settings: Settings) -> None:
    """Set the transfer sizes: one size, several with their shares, or a range."""
    match values:
        case (size,):
            settings.put("bs", size, written)
        case (least, most, _):
            settings.put("bsrange", f"{least}-{most}", written)
        case _ if len(values) % 2 == 0:
            pairs = zip(values[::2], values[1::2], strict=True)
            settings.put("bssplit", ":".join(f"{size}/{share}" for size, share in pairs), written)
        case _:
            settings.remark(f"{written}: this is not a distribution of sizes")


def _amount(
    parameters: Mapping[str, tuple[str, ...]], written: str, share: Fraction, workers: str, settings: Settings
) -> None:
    """Set the amount for each worker: its part of `maxdata`, which below 100 is a multiple of the size."""
    amount = fio_numbers.size(parameters["maxdata"][0])
    if amount is not None and amount < _MULTIPLES:
        amount *= fio_numbers.size(parameters.get("size", ("0",))[0]) or 0
    if amount and workers.isdecimal() and int(workers[:9]):
        settings.put("io_size", str(int(amount * share / int(workers[:9]))), written)
    else:
        settings.remark(f"{written}: write as `io_size` how much each worker reads and writes")


def _of_files(parameters: dict[str, tuple[str, ...]]) -> None:
    """Translate the parameters of a file workload to those of a workload on volumes."""
    parameters.setdefault("threads", ("1",))
    operation = parameters.get("operation", ("read",))[0]
    parameters.setdefault("rdpct", ("0",) if operation == "write" else ("100",))
    parameters["seekpct"] = parameters.pop("fileio", ("sequential",))[:1]


def _obstacle(workload: Entry, run: Entry) -> str:
    operations = [each for each in workload.parameters.get("operation", ()) if each not in {"read", "write"}]
    if operations:
        return f"`{operations[0]}` is neither a read nor a write, and fio does only those"
    if "only" in run.parameters.get("format", ()):
        return "this only creates the files, and a `file` is written in full before it is measured"
    return "a recorded load cannot be replayed" if "replay" in run.parameters else ""


def _target(storage: Entry) -> Target:
    settings = Settings()
    if storage.kind == "sd":
        settings.put("filename", _first(storage, "lun"), f"sd={storage.name}")
        settings.put("offset", _first(storage, "offset"), "")
        if "size" in storage.parameters:
            settings.put("size", _first(storage, "size"), storage.written["size"])
        return fio_options.target(settings.options, _TOOL)
    settings.put("directory", _first(storage, "anchor") or ".", f"fsd={storage.name}")
    number, amount = _files(storage)
    each, limit = storage.written.get("size", "unknown size"), fio_numbers.size(_first(storage, "totalsize"))
    files = f"{number} files of {each}"
    if limit and limit < amount:
        amount, files = int(limit), f"files of {each} up to {storage.written['totalsize']}"
    settings.put("size", str(amount) if amount else "", storage.written.get("size", ""))
    target = fio_options.target(settings.options, _TOOL)
    return target.replace(remarks=(f"{_TOOL} measures {files}: here one file is as large as all of them",))


def _files(storage: Entry) -> tuple[int, int]:
    """The number of files of a file system definition, and their total bytes."""
    depth, width, files = (int(_number(_first(storage, key)) or 1) for key in ("depth", "width", "files"))
    number, sizes = files * width ** min(depth, 9), storage.parameters.get("size", ())
    shares = [_number(share) or 0 for share in sizes[1::2]] or [100]
    weighted = zip(map(fio_numbers.size, sizes[::2]), shares, strict=False)
    return number, number * int(sum((size or 0) * share for size, share in weighted) / 100)
