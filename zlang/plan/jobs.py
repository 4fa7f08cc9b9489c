"""Job files: the options of a workload, in the file format of its tool."""

from __future__ import annotations

from zlang.check import values
from zlang.check.instances import Frame
from zlang.check.program import ChangingValue, Experiment, Instance, Value
from zlang.check.rendering import option_word
from zlang.diagnostics import Code, ProgramError
from zlang.plan.action_steps import filled
from zlang.plan.identities import Identities
from zlang.plan.schedule import Schedule, Slot
from zlang.plan.trial_steps import TrialSteps
from zlang.space.trial_config import trial_config

_AS_SCRIPT = "`zlang plan --emit sh` writes the plan as a script"


def job(slot: Slot, schedule: Schedule) -> tuple[str, str] | None:
    """A trial as a job file for its tool: the file extension and the text, with a section for each stream.

    None if the kind has no job file, or the streams use different tools. Raises ProgramError where a value cannot be
    written in a job file.
    """
    experiment = schedule.experiment
    config = trial_config(experiment, slot.point)
    forms = config.workload.kind.forms
    if "job" not in forms or any(stream.workload.kind is not config.workload.kind for stream in config.streams):
        return None
    steps = TrialSteps(experiment, schedule.setups)
    frames = steps.frames(config, slot.draw, Identities(experiment).of(config))
    sections = [
        _section(stream.workload, frame, experiment) for stream, frame in zip(config.streams, frames, strict=True)
    ]
    return filled(forms["job"], frames[0]), "\n".join(sections)


def _section(workload: Instance, frame: Frame, experiment: Experiment) -> str:
    kind = workload.kind
    head = [
        part if isinstance(part, str) else _name_in_file(part.value(frame), experiment)
        for part in kind.forms.get("job_head", ())
    ]
    line = kind.forms.get("job_line", ())
    words: list[Value] = []
    for name, given in workload.values.items() if line else ():
        if isinstance(given, ChangingValue):
            problem = "values that change while the workload runs"
            raise ProgramError(Code.NOT_IN_JOBFILE.at(workload.places[name], name=name, what=problem, hint=_AS_SCRIPT))
        own = kind.properties[name].own_form("job_lines")
        words += (option_word(line, kind.properties[name], given),) if own is None else values.listed(own.value(frame))
    lines = [_in_file(word, experiment) for word in words]
    return "\n".join(["".join(head), *lines, ""])


def _name_in_file(value: Value, experiment: Experiment) -> str:
    """The text of a file name. Raises ProgramError if it has a list separator or comment mark (measured with fio)."""
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
