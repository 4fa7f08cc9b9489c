"""Writes the generated properties of the fio kind into `stdlib/fio.zexp`.

In: `stdlib/data/fio_options.json`, fio's own table of its options (`fio --cmdhelp=all` and `options.c` of its tags),
and the tables below, which say what that table cannot: fio calls sizes, times and shares alike `int`. Their source is
fio's HOWTO. Out: the text between the two marker lines, and nothing else of that file.
Rule: every option of fio is either a property or is left out for a reason that is printed; a table entry that
decides nothing is an error, so the tables cannot rot.

    python tools/generate_fio.py            write the region
    python tools/generate_fio.py --check    exit with 1 and a diff if the region is not what would be written
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import quoted, replaced, size_literal, write_or_check, written  # noqa: E402 - found only by the line above
from zlang.source import Source  # noqa: E402
from zlang.syntax import format as formatting  # noqa: E402

DATA = ROOT / "stdlib/data/fio_options.json"
LIBRARY = ROOT / "stdlib/fio.zexp"
BEGIN = "  # begin generated properties: tools/generate_fio.py"


def each(names: str, value: str) -> dict[str, str]:
    """The same value for several names."""
    return dict.fromkeys(names.split(), value)


# --- what is not a property --------------------------------------------------------------------------------------

LEFT_OUT: tuple[tuple[str, str], ...] = (
    ("name description comm", "omit it: zlang names the job"),
    (
        "filename directory opendir filename_format unique_filename",
        "write `on = data` in the experiment, where `data` is a `file` or a `disk`",
    ),
    (
        "randseed randrepeat allrandrepeat",
        "write `seed = replay` to repeat offsets; otherwise each replicate draws its own",
    ),
    (
        "wait_for stonewall new_group",
        "declare one `fio` workload for each job, and list them: `run = [first, second]`",
    ),
    ("exit_what", "omit it: `exitall` ends the workloads that are listed together"),
    (
        "flow flow_id flow_sleep",
        "write `rate_iops` in each workload: zlang cannot tie the rate of a workload to another's",
    ),
    ("group_reporting unified_rw_reporting stats", "omit it: zlang sets it so that it can read the results"),
    ("kb_base", "write each size with its unit: `128KiB` or `128kB`"),
    ("unit_base significant_figures", "omit it: it only changes what fio prints, and zlang reads its JSON"),
    (
        "write_bw_log write_lat_log write_iops_log write_hist_log per_job_logs",
        "omit it: zlang chooses which logs fio writes, and where",
    ),
    (
        "log_offset log_prio log_issue_time log_window_value log_store_compressed",
        "omit it: zlang reads the logs in their default format",
    ),
    (
        "log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id job_start_clock_id",
        "omit it: zlang needs the logs to use the clock of its journal",
    ),
    ("exec_prerun exec_postrun", "declare a `shell` workload, so that the plan shows the program"),
    ("ioscheduler", 'write `with = tunable { knob = queue("scheduler")  … }`, which is restored after the trial'),
    ("cgroup_nodelete", "omit it: zlang leaves no cgroup behind"),
    ("unlink unlink_each_loop", "omit it: zlang removes the files that it created"),
    ("create_only", "omit it: zlang writes the data before it measures"),
    ("pre_read", "write `cache = hot`, which also verifies the caches"),
    ("allow_mounted_write", "omit it: it disables fio's protection of mounted file systems"),
    (
        "verify_dump verify_state_save verify_state_load",
        "omit it: it makes fio write files that zlang would not remove",
    ),
    ("write_iolog", "omit it: zlang cannot write a trace of the I/O"),
    (
        (
            "read_iolog read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align "
            "replay_time_scale replay_skip merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters"
        ),
        "zlang cannot replay traces: they name files and devices that it cannot protect",
    ),
    ("profile", "write the options of the profile instead: it would replace the whole job"),
    ("buffered", "write `direct`, which is the opposite"),
    ("cpumask", "write `cpus_allowed`, a list of processors"),
    ("cmd_type", "omit it: it has only one value"),
)
"""Options, and why they are no properties."""

LEFT_OUT_ENGINES = {
    "exec": "declare a `shell` workload, so that the plan shows the program",
    "e4defrag": "choose another engine: this one swaps blocks with a file that zlang did not create",
    "external": "choose another engine: this one loads code from a path",
    "rbd": "map the image with `rbd map`, and declare its device as a `disk`: zlang cannot guard an image",
    "nbd": "attach it with `nbd-client`, and declare its device as a `disk`: zlang cannot guard a server",
    "rados": "declare a `shell` workload with `rados bench`: zlang cannot guard objects",
    "gfapi": "mount the volume, and declare a `dir` in it: zlang cannot guard a volume",
    "gfapi_async": "mount the volume, and declare a `dir` in it: zlang cannot guard a volume",
    "mtd": "choose another engine: zlang cannot guard flash memory",
}
"""Engines that are no words of `ioengine`; their private options are left out with them."""

# --- what fio's table does not tell ------------------------------------------------------------------------------

TYPES = {
    # sizes that fio's table has as int or string
    **each(
        "offset_align verify_interval verify_offset buffer_compress_chunk hugepage-size log_compression "
        "verify_pattern_interval window_size mss",
        "size",
    ),
    # numbers of blocks, which fio's table has as sizes, because a suffix is allowed
    **each("number_ios verify_backlog trim_backlog", "count"),
    # times, which fio's table has as int
    **each(
        "thinktime thinktime_spin thinktime_iotime rate_cycle max_latency bwavgtime iopsavgtime log_avg_msec "
        "log_hist_msec cpuchunks",
        "duration",
    ),
    "rate": "rate",
    "rate_min": "rate",
    "rate_iops": "iops",
    "rate_iops_min": "iops",
    "cpuload": "share",
    # on or off, which fio's table has as int
    **each("thp uncached nonvectored", "bool"),
    # a word may be followed by `:NUMBER`, or a value is no word
    **each(
        "random_distribution file_service_type fadvise_hint steadystate sync_file_range percentile_list",
        "string",
    ),
}
"""The type, where the one derived from fio's table would be another."""

UNITS = {
    **each("thinktime thinktime_spin max_latency latency_target latency_window cpuchunks", "us"),
    **each("rate_cycle bwavgtime iopsavgtime log_avg_msec log_hist_msec", "ms"),
}
"""The unit in which fio takes a bare number of this option; for all other durations it is the second."""

SCHEDULES = ("rate", "rate_iops")
"""Options that can have a schedule."""
SCHEDULED = {"startdelay": "startdelay + begins", "runtime": "lasts"}
"""The value of an option in one part of a schedule, which is a section of its own."""

_SUFFIXED = "if has(rw_skip) or has(rw_batch) then [] else"
FORMS = {"rw": {"options": f'{_SUFFIXED} ["--rw={{rw}}"]', "job_lines": f'{_SUFFIXED} ["rw={{rw}}"]'}}
"""The lines of an option if a property that is not in fio's table says a part of it."""

WORD_SYNONYMS = {
    "rw": {"readwrite": "rw"},
    "sync": {"0": "none", "1": "sync"},
    "fallocate": {"0": "none", "1": "posix"},
    "continue_on_error": {"0": "none", "1": "all"},
    "verify": {"0": "", "crc32c-intel": "crc32c"},
    "sg_write_mode": {"verify": "write_and_verify", "same": "write_same"},
}
"""Words that mean the same as another one, or as none: two levels of a factor must not be the same load."""

DERIVED = {
    **each("FIO_OPT_BOOL FIO_OPT_STR_SET bool", "bool"),
    **each("FIO_OPT_INT int", "count"),
    **each("FIO_OPT_STR_VAL_TIME time", "duration"),
    **each("FIO_OPT_STR_VAL FIO_OPT_STR_VAL_ZONE FIO_OPT_ULL size uint64", "size"),
    **each("FIO_OPT_FLOAT_LIST float_list", "number"),
    **each("FIO_OPT_STR FIO_OPT_STR_STORE FIO_OPT_STR_ULL FIO_OPT_RANGE string", "string"),
}
"""The type for what options.c calls the option, or else fio's help; words and percentages are told by their values."""

MORE_ENGINES = (
    "io_uring_cmd",
    "ftruncate",
    "filestat",
    "filedelete",
    "mtd",
    "rados",
    "solarisaio",
    "libzbc",
    "libcufile",
    "xnvme",
)
"""Words of `ioengine` that fio's table forgets, and, last, those of other builds that need no option of their own."""

DEFAULTS: dict[str, str | None] = {
    "percentage_random": "100",  # fio's table: 100,100,100, for reads, writes and trims
    "rwmixwrite": None,  # what rwmixread leaves over
    "steadystate": None,  # fio has one, but it holds only once the option was given
    "random_generator": None,  # fio takes tausworthe64 by itself for more than 2^32 blocks, unless it is told
    "invalidate": "0",  # what is done about caches is the protocol's, so zlang passes that
    "verify": None,  # 0, which is no word
    "nonvectored": None,  # -1: on where the kernel can
}
"""The default, where the one in fio's table is not what holds when nothing is given; None is no default."""

ALLOW = {
    **each("numjobs loops nrfiles openfiles thinktime_blocks ttl", "1.."),
    "size": "1B..",
    "io_size": "1B..",
    "cpuload": "1%..100%",
    "rate": "1B/s..",
    "rate_iops": "1/s..",
    "log_hist_coarseness": "0..6",
    "num_range": "1..",
    "spr_num_regions": "1..",
    "spr_op": "0..1",
}
"""The range, where fio's table has none, or one that cannot be meant (no jobs, no files)."""

DOCS = {
    "rw_sequencer": "Where the I/Os go that follow the first of a `rw_batch`: on from it, or to the same place",
    "rwmixwrite": "Percentage of mixed workload that is writes; follows rwmixread unless given",
    "bs": "Block size of an IO",
    "rw": "IO direction and pattern",
    "runtime": "Stop workload when this amount of time has passed, or go on until then if time_based",
    "trim_percentage": "Percentage of verify blocks to trim (i.e., discard)",
    "max_latency": "Maximum tolerated IO latency; the job stops when one IO takes longer",
    "dedupe_working_set_percentage": "Part of the file or device that dedupe patterns are taken from",
    "log_hist_coarseness": "Coarseness of histogram logs; each step halves the number of bins, from 1216 at 0",
    "write_zone_remainder": "Write the remainder of a zone that is no multiple of the block size, not finish the zone",
    "zone_reset_threshold": "Share of blocks with data above which zones are reset",
    "zone_reset_frequency": "How often a zone is reset once zone_reset_threshold is exceeded, resets per write",
    "direct": "Bypass the page cache with O_DIRECT",
    "time_based": "Keep running until runtime is met, repeating the workload",
    "verify_only": "Verify data written earlier instead of writing",
    "thinktime_blocks": "Number of blocks between two thinktimes",
    "thinktime_iotime": "Time of IO between two thinktimes",
    "job_max_open_zones": "Limit on simultaneously opened sequential write zones with zonemode=zbd, per thread",
    "recover_zbd_write_error": "Go on writing to sequential zones after recovering from write errors",
    "hipri": "Use polled IO completions (pvsync2: RWF_HIPRI)",
    "nowait": "Set RWF_NOWAIT: fail with EAGAIN instead of blocking",
    "hostname": "Host to connect to",
    "port": "Port to use for connections",
    "pool": "Ceph pool to use",
    "clientname": "Name of the ceph client",
    "thp": "Advise the kernel to use transparent huge pages",
    "steadystate": "Criterion and limit to judge a job as steady, such as iops_slope:0.1%",
    "random_distribution": "Random offset distribution: random, zipf:THETA, pareto:H, normal:DEVIATION, zoned:...",
    "file_service_type": "How to select which file to service next, such as roundrobin, random:8 or zipf:1.2",
    "fadvise_hint": "Use fadvise() to advise the kernel on IO pattern: 0, 1 (as rw is), random or sequential",
    "sync_file_range": "Use sync_file_range(): wait_before, write or wait_after, each with :BLOCKS",
}
"""The sentence, where fio's own is missing a point that matters, is long, or differs between engines."""

DOCUMENTED_NAMES = {"ba": "blockalign"}
"""fio's short names, and the ones under which its manual has the option."""


class Entry(TypedDict, total=False):
    """One option as it stands in the data file."""

    name: str
    aliases: list[str]
    help: str
    type: str
    source_type: str
    values: list[str]
    default: str
    min: str
    max: str
    category: str
    first_tag: str
    last_tag: str
    engines: list[str]


UNLISTED: tuple[Entry, ...] = (
    {"name": "softrandommap", "type": "bool", "category": "io", "help": "Go on if the random map does not fit memory"},
    {"name": "bs_is_seq_rand", "type": "bool", "category": "io", "help": "Take block sizes as sequential and random"},
    {"name": "iomem_align", "type": "size", "category": "io", "help": "Alignment of the IO buffers in memory"},
    {"name": "verify_async_cpus", "type": "string", "category": "io", "help": "CPUs of the async verifier threads"},
)
"""Options that fio has and documents, but that `--cmdhelp` does not print."""

CATEGORIES = {
    "general": "the job",
    "file": "files",
    "io": "input and output",
    "log": "logs",
    "stat": "statistics",
    "engine": "hints",
}

OLDEST = (3, 0)
WORD = re.compile(r"[A-Za-z_]\w*(?:-\w+)*")
LARGER = {"us": ("ms", 1000), "ms": ("s", 1000)}


@dataclass(frozen=True, slots=True)
class Property:
    """One property as it is written: its type, its attributes in order, and the engines that it is private to."""

    name: str
    type: str
    attributes: tuple[tuple[str, str], ...]
    engines: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The values of a type that lists them."""
        return tuple(self.type.split(" | ")) if self.type not in SCALARS else ()


SCALARS = frozenset({"size", "duration", "rate", "iops", "share", "count", "number", "bool", "string"})


@dataclass(frozen=True, slots=True)
class Options:
    """The data file: fio's version, the engines built into it, its options, those of engines, and newer ones."""

    fio: str
    engines: tuple[str, ...]
    general: tuple[Entry, ...]
    private: tuple[Entry, ...]
    newer: tuple[Entry, ...]

    def all(self) -> tuple[Entry, ...]:
        """Every option, of fio itself and of its engines."""
        return self.general + self.private + self.newer


def load(path: Path = DATA) -> Options:
    """The options of fio, as the data file has them."""
    data = json.loads(path.read_text())
    for option in data["newer_options"]:
        if unknown := option.keys() - Entry.__annotations__.keys():
            message = f"BUG: {option.get('name')} has {', '.join(sorted(unknown))}; the fields are those of `Entry`"
            raise AssertionError(message)
    return Options(
        data["fio"],
        tuple(data["engines"]),
        (*data["options"], *UNLISTED),
        tuple(data["engine_options"]),
        tuple(data["newer_options"]),
    )


# --- which options, and in what order ----------------------------------------------------------------------------


def sections(options: Options) -> Iterator[tuple[str, list[Property]]]:
    """The properties under their headings: by category, then those newer than the table, then private ones."""
    for category, title in CATEGORIES.items():
        members = [o for o in options.general if o["category"] == category and is_property(o)]
        yield title, [make_property(option) for option in members]
    yield "newer than fio 3.33", [make_property(option) for option in options.newer if is_property(option)]
    yield "private to engines", [make_property(option) for option in merge_private(options.private)]


def properties(options: Options) -> list[Property]:
    """All properties in order."""
    return [member for _, members in sections(options) for member in members]


def left_out(options: Options) -> list[tuple[str, str]]:
    """Names, separated by commas, and the reason why they are no properties."""
    general = [(", ".join(names.split()), reason) for names, reason in LEFT_OUT]
    engines = []
    for engine, reason in LEFT_OUT_ENGINES.items():
        private = [option["name"] for option in options.private if engine in option["engines"]]
        engines.append((", ".join([f"ioengine={engine}", *private]), reason))
    return general + engines


def is_property(option: Entry) -> bool:
    """Whether zlang offers the option."""
    return option["name"] not in {name for names, _ in LEFT_OUT for name in names.split()}


def merge_private(private: Iterable[Entry]) -> list[Entry]:
    """One entry for each name, with all the engines that have it, in the order of the names' first engines."""
    merged: dict[str, Entry] = {}
    for option in private:
        engines = [engine for engine in option["engines"] if engine not in LEFT_OUT_ENGINES]
        if not engines or not is_property(option):
            continue
        merged_option = merged.get(option["name"])
        if merged_option is None:
            merged[option["name"]] = {**option, "engines": engines}
            continue
        if property_type(merged_option) != property_type(option):
            message = f"BUG: {option['name']} has two types"
            raise AssertionError(message)
        merged_option["engines"] = merged_option["engines"] + engines
    return list(merged.values())


# --- one option --------------------------------------------------------------------------------------------------


def make_property(option: Entry) -> Property:
    """The property that stands for the option."""
    name = DOCUMENTED_NAMES.get(option["name"], option["name"])
    kind = property_type(option)
    engines = tuple(option.get("engines", ()))
    attributes = {
        "unit": f"1{unit_of(name)}" if kind == "duration" else None,
        "default": default_of(option, kind),
        "allow": allow_of(name, option, kind),
        "since": since_of(option),
        "only": only_of(engines),
        "scheduled": SCHEDULED.get(name),
        **FORMS.get(name, {}),
        "doc": quoted(doc_of(name, option)),
    }
    return Property(name, kind, tuple((key, text) for key, text in attributes.items() if text is not None), engines)


def property_type(option: Entry) -> str:
    """The type: from the tables, or else from what fio's table says."""
    return TYPES.get(option["name"]) or derived_type(option)


def derived_type(option: Entry) -> str:
    if "values" in option:
        return " | ".join(words_of(option))
    if option.get("min") == "0" and option.get("max") == "100" and "INT" in option.get("source_type", "INT"):
        return "share"
    named = option.get("source_type") or option.get("type")
    if named not in DERIVED:
        message = f"BUG: the `type` of {option['name']} is {named}, not one of {', '.join(DERIVED)}"
        raise AssertionError(message)
    return DERIVED[named]


def words_of(option: Entry) -> list[str]:
    synonyms = WORD_SYNONYMS.get(option["name"], {})
    words = [word for word in option["values"] if word not in synonyms]
    if option["name"] == "ioengine":
        words = [word for word in [*words, *MORE_ENGINES] if word not in LEFT_OUT_ENGINES]
    strange = [word for word in words if WORD.fullmatch(word) is None or word in SCALARS]
    if strange or len(set(words)) != len(words):
        message = f"BUG: {option['name']} has values that are no words or stand twice: {words}"
        raise AssertionError(message)
    return words


def unit_of(name: str) -> str:
    return UNITS.get(name, "s")


def default_of(option: Entry, kind: str) -> str | None:
    name = option["name"]
    default = DEFAULTS[name] if name in DEFAULTS else option.get("default")
    return None if default is None else literal(default, kind, unit_of(name))


def allow_of(name: str, option: Entry, kind: str) -> str | None:
    if name in ALLOW:
        return ALLOW[name]
    if kind not in {"size", "share", "count", "number"}:
        return None
    low, high = Fraction(option.get("min", "0")), Fraction(option.get("max", "-1"))
    if kind == "size" and low <= 0 and high < 0:
        return None
    first = literal(str(low), kind, "")
    return f"{first}.." if high < 0 else f"{first}..{literal(str(high), kind, '')}"


def since_of(option: Entry) -> str | None:
    version = option.get("first_tag", "fio-3.0").removeprefix("fio-")
    major_minor = tuple(int(part) for part in version.split(".")[:2])
    return quoted(version) if major_minor > OLDEST else None


def only_of(engines: tuple[str, ...]) -> str | None:
    if not engines:
        return None
    return f"ioengine == {engines[0]}" if len(engines) == 1 else f"ioengine in [{', '.join(engines)}]"


def doc_of(name: str, option: Entry) -> str:
    """One sentence, without the unit in which fio counts: zlang's values carry theirs."""
    if name in DOCS:
        return DOCS[name]
    return re.sub(r" \((?:usecs?|msec)\)$", "", option["help"].split(". ")[0].removesuffix("."))


def literal(text: str, kind: str, unit: str) -> str:
    """A value of fio's table as zlang writes it."""
    if kind == "size":
        return size_literal(int(text))
    if kind == "duration":
        return duration_literal(int(text), unit)
    spelled = {"share": f"{text}%", "bool": "off" if text == "0" else "on", "string": quoted(text)}
    if kind not in SCALARS and text not in kind.split(" | "):
        message = f"BUG: {text} is none of {kind}"
        raise AssertionError(message)
    return spelled.get(kind, text)


def duration_literal(amount: int, unit: str) -> str:
    while amount and unit in LARGER and amount % LARGER[unit][1] == 0:
        unit, amount = LARGER[unit][0], amount // LARGER[unit][1]
    return f"{amount}{unit}"


# --- the text ----------------------------------------------------------------------------------------------------


def region(options: Options) -> str:
    """The lines between the markers."""
    check_tables(options)
    lines: list[str] = []
    for title, members in sections(options):
        lines += ["", f"  # {title}"]
        for member in members:
            type_ = f"{member.type} | [{member.type} for duration]" if member.name in SCHEDULES else member.type
            lines += written(member.name, type_, member.attributes)
    lines += ["", "  # Options of fio that are left out, and why:"]
    for names, reason in left_out(options):
        lines.append(f"  without {quoted(names)} {quoted(reason)}")
    lines += ["", "  # Other names of options of fio."]
    for option in options.all():
        if option.get("aliases") and is_property(option):
            name = DOCUMENTED_NAMES.get(option["name"], option["name"])
            others = [other for other in (option["name"], *option["aliases"]) if other != name]
            lines.append(f"  without {quoted(', '.join(others))} {quoted(f'write `{name}`')}")
    lines += ["", "  # Other words for values."]
    for name, synonyms in WORD_SYNONYMS.items():
        for word, meaning in synonyms.items():
            instead = f"write `{name} = {meaning}`" if meaning else f"leave `{name}` out"
            lines.append(f"  without {quoted(f'{name}={word}')} {quoted(instead)}")
    return "".join(f"{line}\n" for line in [*lines[1:], ""])


def check_tables(options: Options) -> None:
    """Every entry of a table decides something."""
    names = {option["name"] for option in options.all()}
    documented = names | set(DOCUMENTED_NAMES.values())
    reasons = [name for names_, _ in LEFT_OUT for name in names_.split()]
    tables: list[Iterable[str]] = [TYPES, UNITS, WORD_SYNONYMS, DEFAULTS, ALLOW, DOCS, DOCUMENTED_NAMES, reasons]
    homeless = {option["name"] for option in options.general if is_property(option)} - {
        option["name"] for option in options.general if option["category"] in CATEGORIES
    }
    unknown = sorted(homeless) + sorted({name for table in tables for name in table} - documented)
    idle = sorted((set(TYPES) | set(UNITS) | set(DEFAULTS) | set(ALLOW) | set(DOCS)) & set(reasons))
    typed = [option for option in options.all() if option["name"] in TYPES and "values" not in option]
    idle += [option["name"] for option in typed if derived_type(option) == TYPES[option["name"]]]
    if unknown or idle or len(reasons) != len(set(reasons)):
        message = f"BUG: table entries without use, or options without a heading: {unknown + idle}"
        raise AssertionError(message)


def library(text: str) -> str:
    """The file with its region renewed."""
    return formatting.program(Source(LIBRARY.name, replaced(text, BEGIN, region(load())))).text


if __name__ == "__main__":
    sys.exit(write_or_check(LIBRARY, library(LIBRARY.read_text("utf-8")), sys.argv[1:]))
