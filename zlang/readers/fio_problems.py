"""Reasons why a report of fio is not a measurement, in sentences.

In: the jobs of a report, what was requested, and what fio printed beside it. Out: problems.
Rule: do not trust fio's exit code and its `error`. After a refused device, a killed worker, or a steady state that was
not attained, fio exits with 0 and a well-formed report. So a report counts only if it has all that was requested.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping

from zlang.hints import Any
from zlang.readers.fio_figures import DIRECTIONS
from zlang.readers.reading import Reading

_Part = Any  # an object of the report
SHARE_MISSING = 0.05
"""A run may fall short by this share: fio itself ends 1 ms late, so only the skew between jobs' starts is forgiven."""
LEAST_MISSING = 0.05
"""Seconds that any run may fall short by: fio's timers and reports count in milliseconds, and start-up takes some."""
SHARE_SHORT = 0.01
"""Above this share of I/Os that moved less than a block, block size and latency no longer belong together."""
MOST_SHOWN = 3
_MOST_TEXT = 300
_FILTERED = {"libaio", "io_uring", "io_uring_cmd"}
"""Engines whose system calls the filters of podman and Docker refuse."""
_REFUSED = {errno.EPERM, errno.ENOSYS}
_KILLED = re.compile(r"got signal=\d+|terminating on signal \d+|terminated on signal \d+")
_BANNER = re.compile(
    r"\S*: \(g=\d+\): |\.\.\.$|fio-\d|: Saving output of |Starting \d+ |note: |Did you mean |[{}\[\]\"]"
)


def error_of(job: _Part) -> str:
    """The error with which a job ended."""
    return f"{os.strerror(abs(job['error']))} (job {job['jobname']}: error {job['error']})"


def advice_on_engine(job: _Part) -> str:
    """The advice if the kernel refused the system calls of an engine, about which fio prints nothing."""
    engine = job.get("job options", {}).get("ioengine")
    has_started = any(job[direction]["total_ios"] for direction in DIRECTIONS if direction in job)
    if engine not in _FILTERED or abs(job["error"]) not in _REFUSED or has_started:
        return ""
    container = "start a container with `--security-opt seccomp=unconfined`"
    return f": the system calls of `ioengine = {engine}` were refused; {container}, or write `ioengine = psync`"


def failed(problems: list[str], text: str) -> Reading:
    """The problems, and fio's own words after the first one unless they are there already."""
    words = _words(text)
    if words and not any(words[0] in problem for problem in problems):
        problems[0] += ": " + short("; ".join(words[:MOST_SHOWN]))
    return Reading(problems=tuple(problems))


def _words(text: str) -> list[str]:
    """The distinct non-empty lines: fio writes the same to standard error and to its report."""
    lines = (line.strip().removeprefix("fio: ") for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line and not _BANNER.match(line)))


def short(text: str) -> str:
    """A text on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TEXT else line[: _MOST_TEXT - 1] + "…"


def problems(jobs: _Part, args: Mapping[str, object], text: str) -> Iterator[str]:
    """Reasons why the jobs did not do what was requested; `text` is what fio printed beside its report."""
    # With group_reporting nothing else in the report shows that one of the workers is missing.
    for line in _words(text):
        if _KILLED.search(line):
            yield f"it was stopped: {line}"
    wanted = args.get("jobs")
    if not jobs:
        yield "its report has no jobs"
        return
    if isinstance(wanted, int) and len(jobs) != wanted:
        yield f"its report has {len(jobs)} jobs, not {wanted}"
    result = [problem for job in jobs for problem in _job_problems(job, args)]
    yield from result[:MOST_SHOWN]
    if len(result) > MOST_SHOWN:
        yield f"and {len(result) - MOST_SHOWN} more like these"
    if all(_is_idle(job) for job in jobs):
        yield "none of its jobs did I/O"
    if len(jobs) > 1:
        yield from _waiting(jobs, args)


def of_another_trial(jobs: list[_Part], seeds: frozenset[str]) -> Iterator[str]:
    """Jobs with a seed that this fio was not given: each trial has its own seeds."""
    for job in jobs:
        seed = job.get("job options", {}).get("randseed")
        if seeds and seed is not None and seed not in seeds:
            own = " or ".join(sorted(seeds))
            yield f"job {job['jobname']} has the seed {seed}, not {own}: the report is of another trial"


def _job_problems(job: _Part, args: Mapping[str, object]) -> Iterator[str]:
    """The problems of one entry; after an error, other problems are only its consequences."""
    name = job["jobname"]
    if job["error"]:
        yield error_of(job)
        return
    if job.get("total_err"):
        yield f"{job['total_err']} I/Os failed and were skipped (job {name}: error {job.get('first_error')})"
    parts = [job[direction] for direction in DIRECTIONS if direction in job]
    active = [part for part in parts if part["total_ios"] and part["io_bytes"]]
    if not active:
        if not _is_idle(job):
            yield f"job {name} did no I/O"
        return
    for part in active:
        if not part["runtime"]:
            yield f"job {name} has no runtime: its worker did not end normally"
            return
        if part.get("drop_ios"):
            yield f"{part['drop_ios']} I/Os of job {name} were dropped"
        if part.get("short_ios", 0) > SHARE_SHORT * part["total_ios"]:
            yield f"{part['short_ios']} of {part['total_ios']} I/Os of job {name} moved less than a block"
    yield from _unfinished(job, active, args)


def _is_idle(job: _Part) -> bool:
    """Whether a job only burns processor time: such a load does no I/O."""
    return bool(job.get("job options", {}).get("ioengine") == "cpuio")


def _unfinished(job: _Part, active: list[_Part], args: Mapping[str, object]) -> Iterator[str]:
    """Signs that a job did not complete its work; a job that attained a steady state may end early."""
    name = job["jobname"]
    steady = job.get("steadystate")
    if steady:
        if not steady["attained"]:
            yield f"job {name} did not attain its steady state ({steady['ss']}, found {steady.get('criterion')})"
        return
    asked_seconds = _requested_seconds(args)
    size = args.get("size")
    if asked_seconds:
        ran = max(part["runtime"] for part in active) / 1000
        if ran < asked_seconds - max(SHARE_MISSING * asked_seconds, LEAST_MISSING):
            yield f"job {name} ran for {ran:g} s, not {asked_seconds:g} s"
    elif isinstance(size, int | float):
        moved = sum(part["io_bytes"] for part in active)
        if moved < (1 - SHARE_MISSING) * size:
            yield f"job {name} moved {moved} bytes, not {size}"


def _requested_seconds(args: Mapping[str, object]) -> float:
    seconds, nanoseconds = args.get("runtime"), args.get("runtime_ns")
    if isinstance(seconds, int | float):
        return float(seconds)
    return nanoseconds / 1e9 if isinstance(nanoseconds, int | float) else 0.0


def _waiting(jobs: list[_Part], args: Mapping[str, object]) -> Iterator[str]:
    """Groups of jobs that ran one after another (stonewall): the sum of their rates never occurred.

    fio 3.33 shows neither start times nor every `stonewall`. A group is started by that or by `new_group`; unless the
    plan says that they are `concurrent`, only runtimes that do not fit one after another into the whole are believed.
    """
    longest: dict[int, int] = {}
    for job in jobs:
        runtime = max(job[direction]["runtime"] for direction in DIRECTIONS if direction in job)
        longest[job["groupid"]] = max(longest.get(job["groupid"], 0), runtime)
    if len(longest) > 1 and not args.get("concurrent") and sum(longest.values()) <= jobs[0]["elapsed"] * 1000:
        yield "its jobs are in several groups, which may have run one after another: their rates cannot be added up"
