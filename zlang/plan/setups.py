"""Turn declared things into setups: the states in which they are made, and the commands that make them.

In: a target and everything below it, parents first, at a point. Out: `Setup`s, and the steps of any action. Rule: the
*core* of a resource is everything that cannot be set while it exists, for itself and for what is below it. A settable
property belongs to the resource's own state only, unless a command of something built on it uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from zlang import units
from zlang.cache import Cache
from zlang.check import digests, hosts, values
from zlang.check.instances import Frame, carried_by, leaves_changed, places, treatment_site, with_parts
from zlang.check.naming import exposed, exposed_beneath
from zlang.check.program import Instance, KindAction, Value, Variable
from zlang.frozen import replace
from zlang.plan import footprint
from zlang.plan.action_steps import filled, steps_of
from zlang.plan.plan import Action, Here, Setting, Setup, Step
from zlang.record import Record
from zlang.units import Quantity


class Setups:
    """The setups of a plan; what many trials share is computed once.

    `draw` returns the hash from which a seed is drawn for its argument. `here` is the machine that carries them out, as
    for `ActionSteps`.
    """

    def __init__(self, draw: Callable[..., str], here: Here) -> None:
        self.draw, self.here = draw, here
        self._cache = Cache[tuple[str, ...], tuple[Setup, str]]()
        self._first_at: dict[tuple[object, ...], str] = {}
        self._keys: dict[tuple[str, str], str] = {}

    def key_of(self, instance: Instance) -> str:
        """The key of a resource's setup: two declarations of one place, such as a directory, share the first one's."""
        return self._keys.get((instance.key, instance.digest), instance.key)

    def _at_its_place(self, instance: Instance, below: str) -> Instance:
        """The first resource that was declared at the same place, if it is only a place for others."""
        if not instance.kind.is_place or instance.is_given or instance.alias:
            return instance
        offered = map(values.text_of, places(instance.kind, Frame(instance)))
        key = self._first_at.setdefault((instance.digest, below, *offered), instance.key)
        self._keys[instance.key, instance.digest] = key
        return instance if key == instance.key else instance.replace(key=key)

    def of(
        self, resources: Sequence[Instance], treatment: Instance | None, named: Sequence[Instance] = ()
    ) -> tuple[Setup, ...]:
        """The setups of resources, each built on the one before; one of them gets the treatment.

        `named` are the other devices that the treatment names.
        """
        setups: list[Setup] = []
        cores: dict[str, str] = {}
        paths: dict[str, str] = {}
        treated = treatment_site(treatment, resources[-1]) if treatment else None
        host = hosts.host_of(resources[0]) if resources else None
        for declared in resources:
            carried = carried_by(declared, resources)
            under = [each.key for each in declared.beneath if each.kind.role == "resource"]
            below = " ".join(cores[key] for key in under) or (host.digest if host else "")
            instance = self._at_its_place(declared, below)
            keys = f"{'+'.join(paths[key] for key in under)}/{instance.name}"
            manual = _manual_setup(instance, below, keys)
            carries = (
                [_made_with(carried), carried.key] if instance.kind.rebuilt_per_child and carried is not None else []
            )
            if carries and carried is treated and treatment is not None:
                carries.append(treatment.digest)
            setup, core = self._setup(instance, carries, below, keys)
            if treatment is not None and declared is treated:
                setup, core = self._treated(setup, treatment, instance, named)
            cores[declared.key], paths[declared.key] = core, keys
            setups += (
                [setup] if manual is None else [replace(manual, parent=setup.parent), replace(setup, parent=manual.key)]
            )
        return tuple(setups)

    def states(self, resources: Sequence[Instance], treatment: Instance | None) -> tuple[Hashable, ...]:
        """The states of resources, parents first, each with the settings that rewrite data.

        They are equal if the resources have the same setups, apart from settings that can change without a rewrite.
        """
        of_top: tuple[Hashable, ...] = ()
        if treatment is None and resources and _is_made_of_values(resources):
            *resources, top = resources  # its values decide its commands, so these need not be made
            of_top = (_made_with(top), *(each.name for each in (*resources, top))), ()
        states: list[Hashable] = []
        for setup in self.of(resources, treatment):
            rewritten = tuple((setting.name, setting.value) for setting in setup.settings if setting.rewrites)
            states += [setup.base or setup.signature, rewritten]
        return (*states, *of_top)

    def _setup(self, instance: Instance, carries: Sequence[str], below: str, keys: str) -> tuple[Setup, str]:
        """A resource in its state, and its core; `below` is the core of what it is built on.

        A resource that carries one thing at a time has another state for each thing that has to be made again on it.
        """
        place = (instance.digest, keys, below, *carries)
        cached = self._cache.get(place)
        if cached is not None:
            return cached
        names: set[str] = set()
        parent = instance.parent if instance.parent and instance.parent.kind.role == "resource" else None
        own = with_parts(instance, lambda part: _recording_reads(part, names))
        frame = Frame(own.replace(parent=instance.parent and _recording_reads(instance.parent, names)))
        make = hosts.action_of(instance, "present" if instance.is_given else "create")
        unmake = None if instance.is_given else hosts.action_of(instance, "destroy")
        offered = [values.text_of(place) for place in places(instance.kind, frame)]
        made = tuple(self._steps(make, Action.PREPARE, f"create-{instance.key}", frame))
        if not instance.is_given:
            given = (under for under in instance.beneath if under.is_given)
            made = (*guards((*exposed_beneath(instance), *given), self.here), *made)
        unmade = tuple(self._steps(unmake, Action.TIDY, f"destroy-{instance.key}", frame))
        settings = tuple(_settings(instance, frame, self.here))
        core = digests.digest(_made_with(instance), keys, below, *carries, *sorted(names))
        # A state with another place, or with other commands to remove it, belongs to another resource.
        base = digests.digest(core, *offered, *(step.command for step in unmade))
        setup = Setup(
            signature=_signature(base, instance) if settings else base[:12],
            key=instance.key,
            parent=self.key_of(parent) if parent else None,
            parts=tuple(part.key for part in instance.parts),
            creates="" if instance.is_given or not made else f"{instance.title} ({_shown_place(offered)})",
            make=made,
            unmake=unmade,
            base=base[:12] if settings else None,
            settings=settings,
            is_ambient=instance.kind.is_ambient,
            is_place=instance.kind.is_place,
            footprint=footprint.of_resource(instance, frame),
        )
        self._cache[place] = setup, core
        return setup, core

    def _steps(self, action: KindAction | None, verb: Action, name: str, frame: Frame) -> list[Step]:
        return steps_of(action, verb, name, frame, self.here) if action else []

    def _treated(self, setup: Setup, treatment: Instance, on: Instance, named: Sequence[Instance]) -> tuple[Setup, str]:
        """A setup followed by its treatment, and its core: when it is made again, it is treated again."""
        main = "apply" if treatment.kind.role == "treatment" else "run"
        actions = [(name, hosts.action_of(treatment, name, at=on)) for name in ("prepare", main)]
        assert actions[-1][1] is not None, f"BUG: {treatment.kind.name} has nothing to do"
        rewriting = {setting.name for setting in setup.settings if setting.rewrites}
        given = [f"{name}={digests.canonical(on.values[name])}" for name in sorted(rewriting)]
        core = digests.digest(setup.base or setup.signature, treatment.digest, *given)
        names: set[str] = set()
        frame = drawn_frame(treatment, _recording_reads(on, names), self.draw(core))
        steps = [
            step
            for name, action in actions
            for step in self._steps(
                action, Action.PREPARE, f"{'before' if name == main else name}-{treatment.key}", frame
            )
        ]
        described_steps = tuple(replace(step, why=f"before the measurement: {step.why}") for step in steps)
        devices = (*(exposed(on) if may_write(treatment, frame) else ()), *named)
        held = hold(devices, (treatment,), self.here)
        described_steps = (*held.before, *described_steps) if held else (*guards(devices, self.here), *described_steps)
        base = digests.digest(core, *sorted(names))[:12]
        setup = replace(setup, footprint=footprint.both(setup.footprint, footprint.of_treatment(treatment, on, frame)))
        if setup.base is None:
            return replace(setup, signature=base, make=(*setup.make, *described_steps)), base
        return replace(setup, signature=_signature(base, on), base=base, make=(*setup.make, *described_steps)), base


def _is_made_of_values(resources: Sequence[Instance]) -> bool:
    """Whether values and names decide the state of the topmost of these resources, which is not only a place."""
    for each in resources:
        is_asked = any(each.kind.properties[name].ask for name in each.values)
        if each.parts or each.kind.rebuilt_per_child or is_asked or _changeable(each):
            return False
    return not resources[-1].kind.is_place


def _shown_place(offered: Sequence[str]) -> str:
    """The path that identifies a thing: the first that it offers, with a name below it if it offers one."""
    return "/".join([*offered[:1], *(name for name in offered[1:] if "/" not in name and "/" in offered[0])][:2])


def guards(devices: Iterable[Instance], here: Here, name: str = "guard") -> list[Step]:
    """Check devices just before anything is written to them."""
    steps = []
    for instance in {device.key: device for device in devices}.values():
        action = hosts.action_of(instance, "guard")
        steps += steps_of(action, Action.GUARD, f"{name}-{instance.key}", Frame(instance), here) if action else []
    return steps


class Held(Record):
    """Devices held from their guard on: the steps that check and hold them, and those that verify it afterwards."""

    before: tuple[Step, ...]
    after: tuple[Step, ...]


def hold(devices: Iterable[Instance], users: Iterable[Instance], here: Here) -> Held | None:
    """Check devices and hold them for their users; None if one cannot be held, or if a user claims them itself."""
    held = list({device.key: device for device in devices}.values())
    if any(_claims(user) for user in users):
        return None
    before: list[Step] = []
    after: list[Step] = []
    for instance in held:
        guard, waits = hosts.action_of(instance, "guard"), hosts.action_of(instance, "hold")
        if guard is None or waits is None:
            return None
        before += steps_of(guard, Action.COLLECT, f"hold-{instance.key}", Frame(instance), here)
        before += steps_of(waits, Action.GUARD, f"guard-{instance.key}", Frame(instance), here)
        looks = hosts.action_of(instance, "verify", "held")
        after += steps_of(looks, Action.VERIFY, f"property-held-{instance.key}", Frame(instance), here) if looks else []
    if any(step.action is Action.ASK for step in before):
        return None
    return Held(tuple(before), tuple(after))


def _claims(user: Instance) -> bool:
    trait = user.kind.traits.get("claims")
    return trait is not None and trait.value(Frame(user)) is True


def may_write(thing: Instance, frame: Frame) -> bool:
    """Whether something may write to its target; a user's own kind is not believed when it denies that.

    A wrapper has the target among the words of the command that it starts.
    """
    is_unknown = thing.kind.writes is None or any(each.kind.is_own for each in (thing, *thing.under))
    return leaves_changed(thing, frame) or (is_unknown and thing.kind.needs is not None)


def _manual_setup(instance: Instance, below: str, keys: str) -> Setup | None:
    """The manual step for a resource, as a setup below it, which survives when the resource is made again."""
    properties = instance.kind.properties
    manual = {name: requested for name in instance.values if (requested := properties[name].ask) is not None}
    if not manual or instance.is_given:
        return None
    frame = Frame(instance)
    text = "; ".join(filled(text, frame) for text in manual.values())
    given = [f"{name}={digests.canonical(instance.values[name])}" for name in manual]
    return Setup(
        signature=digests.digest(below, keys, *given)[:12],
        key=f"{instance.key}.asked",
        parent=instance.parent.key if instance.parent and instance.parent.kind.role == "resource" else None,
        creates="",
        make=(Step(f"ask-{instance.key}", Action.ASK, "", text, 0),),
        unmake=(),
    )


def _changeable(instance: Instance) -> Mapping[str, Value]:
    """The values of a resource that can be set while it exists."""
    if instance.is_given or hosts.action_of(instance, "change") is None:
        return {}
    properties = instance.kind.properties
    return {name: value for name, value in instance.values.items() if properties[name].cost in {"live", "rewrite"}}


def _settings(instance: Instance, frame: Frame, here: Here) -> Iterator[Setting]:
    action = hosts.action_of(instance, "change")
    for name, value in _changeable(instance).items():
        assert action is not None, f"BUG: {instance.kind.name} has nothing that changes it"
        definition = instance.kind.properties[name]
        at = Frame(frame.instance, None, {"key": name, "value": values.in_unit(value, definition.unit)})
        step_name = f"change-{instance.key}-{values.safe_name((name,))}"
        steps = steps_of(action, Action.PREPARE, step_name, at, here)
        yield Setting(name, tuple(steps), definition.cost == "rewrite", digests.canonical(value))


def _made_with(instance: Instance) -> str:
    """The hash of what a resource is made with; of properties that can be set later, only the names."""
    changeable, properties = _changeable(instance), instance.kind.properties
    parts = [
        name if name in changeable else f"{name}={digests.canonical(instance.values[name])}"
        for name in sorted(instance.values)
        if properties[name].cost != "none"
    ]
    return digests.digest(digests.template_digest(instance.kind), str(instance.is_given), *parts)


def _signature(base: str, instance: Instance) -> str:
    changeable = _changeable(instance)
    return digests.digest(base, *(f"{name}={digests.canonical(changeable[name])}" for name in sorted(changeable)))[:12]


class _RecordedValues(Mapping[str, Value]):
    """The values of a thing; each read of a property that can be set while the thing exists is recorded."""

    def __init__(self, instance: Instance, names: set[str]) -> None:
        self._values, self._changeable = instance.values, _changeable(instance)
        self._key, self._manual_setup = instance.key, names

    def __getitem__(self, name: str) -> Value:
        value = self._values[name]
        if name in self._changeable:
            self._manual_setup.add(f"{self._key}.{name}={digests.canonical(value)}")
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _recording_reads(instance: Instance, names: set[str]) -> Instance:
    parent = instance.parent and _recording_reads(instance.parent, names)
    own = with_parts(instance, lambda part: _recording_reads(part, names))
    return own.replace(values=_RecordedValues(own, names), parent=parent)


def drawn_frame(workload: Instance, on: Instance | None, drawn: str) -> Frame:
    """A frame whose seed is drawn from a hash."""
    return Frame(workload, on, drawn_context(drawn))


def drawn_context(drawn: str) -> Mapping[str, Value]:
    """A seed drawn from a hash: 31 bits, the range that fio accepts."""
    return {"seed": Quantity(Fraction(int(drawn[:8], 16) & 0x7FFFFFFF), units.NUMBER)}


def rehearsal_frame(protocol: Instance, workload: Instance, on: Instance, drawn: str) -> Frame:
    """The frame of a protocol that rehearses the workload: its commands, with `$SEED` in place of the seed."""
    frame = Frame(workload, on, {"seed": Variable("SEED")})
    texts: dict[str, Value] = {}
    for name in ("run", "round"):
        action = hosts.action_of(workload, name, at=on)
        steps = steps_of(action, Action.MEASURE, name, frame, None) if action else []
        texts[f"workload.{name}"] = " && ".join(f"{{\n{step.command}\n}}" for step in steps) or ":"
        if name == "run":
            texts["workload.timeout"] = Quantity(Fraction(sum(step.timeout for step in steps)), units.DURATION)
    return Frame(protocol, on, {**drawn_frame(protocol, on, drawn).context, **texts})
