"""Convert files of other tools, and the set-up of this machine, into programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from zlang.check import hosts
from zlang.check.values import quote, show
from zlang.errors import RunError
from zlang.pipeline.programs import text_of
from zlang.suggest import did_you_mean


def formats() -> list[str]:
    """The formats that can be imported."""
    from zlang.importing.registry import IMPORTERS

    return list(IMPORTERS)


def import_file(text: str, name: str, form: str | None) -> str:
    """The program for another tool's file; without a format, the text decides. Raises RunError."""
    from zlang.importing import registry

    if "\0" in text:
        raise RunError(f"{name} is not a text file")
    if form is None and name.endswith(".zexp"):
        raise RunError(f"{name} is already a zlang program", "`zlang check` checks it")
    form = form or registry.format_of(text, name)
    if form not in registry.IMPORTERS:
        hint = did_you_mean(form, registry.IMPORTERS) or f"the formats are {', '.join(registry.IMPORTERS)}"
        raise RunError(f"there is no format `{form}`", hint)
    return registry.IMPORTERS[form].program(text, name, os.environ, _keywords(), _included)


def import_pool(name: str) -> str:
    """The program for a pool of this machine, or a dataset in one. Raises RunError."""
    from zlang.importing import machine as declaring
    from zlang.run import machine

    root = name.partition("/")[0]
    quoted_root = quote(root)
    if root.startswith("-") or not name:
        raise RunError(f"`{name}` is not the name of a pool")
    pool = machine.output(declaring.POOL_PROPERTIES.format(pool=quoted_root))
    datasets = machine.output(declaring.DATASET_PROPERTIES.format(dataset=quoted_root))
    return declaring.pool(name, pool, datasets)


def import_mounts() -> str:
    """The program for the mounted file systems of this machine. Raises RunError."""
    from zlang.importing import machine as declaring
    from zlang.run import machine

    return declaring.mounts(machine.output(declaring.MOUNTS))


def import_host() -> str:
    """The `host` declaration of this machine."""
    from zlang.importing import writing
    from zlang.run import machine

    facts = hosts.facts({name: machine.answer(command) for name, command in hosts.probes().items()})
    lines = [f"  {name} = {show(value)}" for name, value in facts.items()]
    return writing.program([f"host {machine.name()} {{", *lines, "}"])


def _keywords() -> Mapping[str, str]:
    """The values that job files use for this machine's memory, processors and page size."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return {
        "$pagesize": str(os.sysconf("SC_PAGE_SIZE")),
        "$mb_memory": str(memory),
        "$ncpus": str(os.sysconf("SC_NPROCESSORS_CONF")),
    }


def _included(name: str, by: str) -> tuple[str, str]:
    """The text and the path of an included file: at its own path, or else beside the file that includes it."""
    path = name if Path(name).exists() else str(Path(by).parent / name)
    return text_of(path, None), path
