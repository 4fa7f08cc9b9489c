"""Import of fio's job files.

In: a job file. Out: a program that measures the same loads, with a remark at each place where it cannot.
Jobs that run at the same time are streams of one trial; a job that waits for others begins another level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import PurePosixPath

from zlang.errors import RunError
from zlang.importing import fio_numbers, fio_options, job_file
from zlang.importing.fio_options import NAME, ORDER, PATTERN, value_of
from zlang.importing.job_file import JobSection, Option
from zlang.importing.study import Load, LoadStudy, Study
from zlang.record import Record


class _Job(Record):
    """A load of the file, its cache protocol, whether it waits for earlier jobs, and whether it only verifies.

    `workers` is the number of its workers, and `writes` says whether it writes to its file.
    """

    load: Load
    cache: str
    begins_alone: bool
    verifies: bool
    workers: int
    writes: bool


def program(
    text: str, name: str, variables: Mapping[str, str], keywords: Mapping[str, str], read: job_file.Read
) -> str:
    """Turn a job file into a program. Raises RunError."""
    file = job_file.parse(text, name, variables, keywords, read)
    if not file.sections:
        raise RunError(f"{name} has no jobs", "a job is a section: `[NAME]` and options below it")
    study = Study(NAME, name)
    shared = _shared(file.sections)
    groups = [
        _with_workers(_with_files(group))
        for group in _groups(_job(section, shared, study) for section in file.sections)
    ]
    jobs = [job for group in groups for job in group]
    common = tuple(fio_options.lines_of(fio_options.effective(shared), _everywhere(file.sections, shared)))
    return study.program(
        [job.load for job in jobs],
        _trials(groups, PurePosixPath(name).stem),
        head=file.head,
        shared=common if shared else None,
        tail=file.tail,
    )


def is_recognised(text: str, name: str) -> bool:  # noqa: ARG001
    """Accept any text: one that no other format recognises is taken for a job file."""
    return True


def _shared(sections: Iterable[JobSection]) -> tuple[Option, ...]:
    """The options that all jobs inherit from `[global]`, if several jobs have the same ones."""
    sections = list(sections)
    inherited = {section.inherited for section in sections}
    is_worth_it = len(sections) > 1 and len(inherited) == 1
    result = sections[0].inherited if is_worth_it else ()
    return result if any(fio_options.is_property(option) for option in result) else ()


def _everywhere(sections: Iterable[JobSection], shared: tuple[Option, ...]) -> dict[str, Option]:
    """The options that every job has, possibly with different values."""
    of_jobs = [fio_options.effective(section.options()) for section in sections]
    everywhere = {name for name in of_jobs[0] if all(name in options for options in of_jobs)}
    of_all = fio_options.effective(shared)
    return {name: of_all.get(name, option) for name, option in of_jobs[0].items() if name in everywhere}


def _job(section: JobSection, shared: tuple[Option, ...], study: Study) -> _Job:
    options = fio_options.effective(section.options())
    written = fio_options.effective(section.own if shared else section.options())
    description = value_of(options, "description")
    load = Load(
        name=study.names.free(section.name, "job"),
        title=section.name,
        comments=(*section.comments, *([description] if description else [])),
        lines=(
            *fio_options.lines_of(written, options, fio_options.effective(shared)),
            *fio_options.unset_suffixes(fio_options.effective(shared), options),
        ),
        every_line=tuple(fio_options.lines_of(options, options)),
        target=fio_options.target(options),
        obstacle=fio_options.obstacle(options),
    )
    pattern = value_of(options, PATTERN).partition(":")[0]
    return _Job(
        load=load,
        cache=fio_options.cache_protocol(options),
        begins_alone=any(value_of(options, name) != "0" for name in ORDER if name in options),
        verifies="verify" in options and "write" not in pattern.replace("readwrite", "rw"),
        workers=int(fio_numbers.size(value_of(options, "numjobs")) or 1),
        writes=pattern not in {"", "read", "randread"},
    )


def _with_files(group: list[_Job]) -> list[_Job]:
    """Give each concurrent job that names no file its own file, as fio does."""
    return [
        job.replace(load=job.load.replace(target=job.load.target.replace(file=f"file {place}")))
        if place and not job.load.target.file
        else job
        for place, job in enumerate(group)
    ]


def _with_workers(group: list[_Job]) -> list[_Job]:
    """Merge equal jobs that write to one file at once into workers of one: streams must not write the same data."""
    merged: dict[object, _Job] = {}
    for number, job in enumerate(group):
        is_single = not job.writes or bool(job.load.obstacle)
        key = number if is_single else (job.load.target.directory, job.load.target.file, job.load.settings)
        first = merged.setdefault(key, job)
        if first is job:
            continue
        if any(line.startswith("offset_increment ") for line in job.load.settings):
            obstacle = f"[{first.load.title}] does the same to the same file, and a second worker would begin elsewhere"
            merged[number] = job.replace(load=job.load.replace(obstacle=obstacle))
            continue
        workers = first.workers + job.workers
        remark = f"[{job.load.title}] does the same to the same file: here they are workers of one workload"
        load = first.load.replace(comments=(*first.load.comments, remark)).with_line("numjobs", f"{workers}")
        merged[key] = first.replace(load=load, workers=workers)
    return list(merged.values())


def _trials(groups: Iterable[list[_Job]], stem: str) -> Iterator[LoadStudy]:
    """An experiment for all groups that run one after another on the same data; the jobs of a group are its streams."""
    kept = [[job for job in group if not job.load.obstacle] for group in groups]
    measured = [
        list(same) for _, same in groupby(filter(None, kept), lambda group: (group[0].cache, group[0].load.target))
    ]
    for members in measured:
        first = members[0][0]
        verifies = any(job.verifies for group in members for job in group)
        remark = "fio verifies what an earlier job has written: here each job has data of its own"
        yield LoadStudy(
            name=stem if len(measured) == 1 else first.load.name,
            comments=(remark,) if verifies else (),
            targets=(first.load.target,),
            levels=tuple(tuple(job.load for job in group) for group in members),
            cache=first.cache,
            repeat=1,
        )


def _groups(jobs: Iterable[_Job]) -> list[list[_Job]]:
    """The groups of jobs that run at the same time, in the order of the file."""
    groups: list[list[_Job]] = []
    for job in jobs:
        if job.begins_alone or not groups:
            groups.append([])
        groups[-1].append(job)
    return groups
