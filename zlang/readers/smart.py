"""Reports of disks before and after the measurement, by `smartctl --json=c --all`.

In: the artefact; the argument `before` is the artefact from before the measurement. Each has a line `@ SECONDS` (since
1970, with a fraction), followed by a line of JSON for each disk.
Out: samples of the values in `_METRICS` for each disk, and, if there is only one disk, the metrics `before_NAME` and
`after_NAME`.
Rule: NVMe disks are read by their health log, whose units are 1000 blocks of 512 bytes (NVMe base specification). On
ATA disks only attributes whose names state the unit are read, because the vendor chooses the unit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from zlang.files import Place
from zlang.hints import Any
from zlang.plan.plan import Reader, Step
from zlang.readers import series
from zlang.readers.capacity import twice
from zlang.readers.reading import Reading, Sample, Window

_METRICS = (
    *("smart_written_bytes", "smart_read_bytes", "smart_powered_s"),
    *("smart_used_ratio", "smart_celsius", "smart_media_errors"),
)
"""The metrics of a disk, without `before_` and `after_`; `used` is the share of its life."""

_NVME_UNIT = 512_000
_ATA = re.compile(r"(?:Total|Host)_(LBAs_Written|LBAs_Read|Writes_32MiB|Reads_32MiB|Writes_GiB|Reads_GiB)")
_UNITS = {"32MiB": 32 * 2**20, "GiB": 2**30}
_Document = Any  # an object of the document: _disk checks its content


def read(directory: Place, reader: Reader, step: Step, window: Window | None = None) -> Reading:  # noqa: ARG001
    """Read the reports of every disk before and after the measurement."""
    return twice(directory, reader, _samples, _METRICS)


def _samples(text: str) -> Iterator[Sample]:
    for t, lines in series.snapshots(text):
        for line in lines:
            try:
                data = json.loads(line)
                result = dict(_disk(data))
                name = data["device"]["name"]
            # A document of another program, or of a disk that reports less than its protocol requires.
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
            yield from (Sample(t, name, metric, float(value)) for metric, value in result.items())


def _disk(document: _Document) -> Iterator[tuple[str, float]]:
    if "current" in document.get("temperature", {}):
        yield "smart_celsius", document["temperature"]["current"]
    if "hours" in document.get("power_on_time", {}):
        yield "smart_powered_s", 3600 * document["power_on_time"]["hours"]
    log = document.get("nvme_smart_health_information_log", {})
    if log:
        yield "smart_written_bytes", _NVME_UNIT * log["data_units_written"]
        yield "smart_read_bytes", _NVME_UNIT * log["data_units_read"]
        yield "smart_used_ratio", log["percentage_used"]
        yield "smart_media_errors", log["media_errors"]
    for attribute in document.get("ata_smart_attributes", {}).get("table", ()):
        yield from _attribute(attribute, document)


def _attribute(attribute: Mapping[str, Any], document: _Document) -> Iterator[tuple[str, float]]:
    if match := _ATA.fullmatch(attribute["name"]):
        unit = _UNITS.get(match[1].rpartition("_")[2], document["logical_block_size"])
        yield f"smart_{'written' if 'Writ' in match[1] else 'read'}_bytes", unit * attribute["raw"]["value"]
    elif attribute["name"] == "Reallocated_Sector_Ct":
        yield "smart_media_errors", attribute["raw"]["value"]
