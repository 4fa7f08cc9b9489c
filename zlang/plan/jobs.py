"""Job files: the options of a workload as its tool reads them from a file."""

from __future__ import annotations

from zlang.check import values
from zlang.check.program import (
    Experiment,
    Value,
)
from zlang.check.rendering import listed, option_word
from zlang.diagnostics import Code, ProgramError
from zlang.plan.identities import Identities
from zlang.plan.schedule import Schedule, Slot
from zlang.plan.setups import filled
from zlang.plan.trial_steps import TrialSteps
from zlang.space.trial_config import trial_config


def job(slot: Slot, schedule: Schedule) -> tuple[str, str] | None:
    """A trial as the job file of its own tool: the file's ending and its text; None where the kind has no such form.

    Raises ProgramError where a value cannot be written in a job file.
    """
    experiment = schedule.experiment
    config = trial_config(experiment, slot.point)
    forms = config.workload.kind.forms
    if "job" not in forms or len(config.streams) > 1:
        return None
    steps = TrialSteps(experiment, schedule.here, schedule.draw)
    frame, *_ = steps.frames(config, slot.replicate, Identities(experiment).of(config))
    head = [
        part if isinstance(part, str) else _name_in_file(part.value(frame), experiment)
        for part in forms.get("job_head", ())
    ]
    properties = config.workload.kind.properties
    line = forms.get("job_line", ())
    words: list[Value] = []
    for name, given in config.workload.values.items() if line else ():
        own = properties[name].own_form("job_lines")
        words += (option_word(line, properties[name], given),) if own is None else listed(own.value(frame))
    lines = [_in_file(word, experiment) for word in words]
    return filled(forms["job"], frame), "\n".join(["".join(head), *lines, ""])


def _name_in_file(value: Value, experiment: Experiment) -> str:
    """A name, in which what splits a list or begins a comment cannot be written (measured with fio)."""
    text = _in_file(value, experiment)
    for character in ":;#":
        if character in text:
            span, shown = experiment.run.span, values.show(value)
            raise ProgramError(Code.NOT_IN_JOBFILE.at(span, name=shown, what=f"`{character}`"))
    return text


def _in_file(value: Value, experiment: Experiment) -> str:
    try:
        return values.file_text(value)
    except values.ValueProblem as problem:
        shown = values.show(value)
        raise ProgramError(Code.NOT_IN_JOBFILE.at(experiment.run.span, name=shown, what=str(problem))) from None
