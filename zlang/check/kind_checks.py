"""Findings about a kind as a whole: missing and unused parts.

In: the declaration of a kind whose parts are sound. Out: findings.
Rule: these checks depend on no program, so that every program can use a kind without findings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from zlang.check.kind_declarations import COMMANDS
from zlang.check.program import PLATFORMS
from zlang.diagnostics import Code, Diagnostic
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree

_ACTIONS = {
    "machine": (),
    "resource": (
        *("create", "change", "destroy", "present", "flush", "warm", "verify", "guard", "hold", "look", "examine"),
    ),
    "workload": ("prepare", "run", "together", "round"),
    "collector": ("watch", "look"),
    "treatment": ("apply",),
    "event": ("start", "wait", "stop", "verify"),
    "wrapper": ("wrap",),
}
"""The actions that a kind of each role can have; every kind may also have `fact`. A protocol names its own actions."""
_FOR_EVERYTHING = ("fact",)
_MUST_HAVE = {
    "workload": ("run",),
    "collector": ("watch", "look"),
    "treatment": ("apply",),
    "event": ("start", "wait"),
    "wrapper": ("wrap",),
}
_PARTS_OF = {
    "needs": ("workload", "treatment", "protocol", "collector", "event"),
    "writes": ("workload", "event"),
    "job": ("workload",),
    "section": ("workload",),
    "rebuilt_per_child": ("resource",),
    "armed": ("resource",),
    "is_ambient": ("resource",),
    "is_place": ("resource",),
}
"""Parts of a kind that only some roles have."""
_BUILT_ON = ("machine", "resource")
"""The roles of kinds that are built on something."""
_SETTABLE = ("live", "rewrite")
_ON = ("on", "yes", "true")
_UNDOES = (("create", "", "destroy"), ("verify", "cold", "flush"), ("verify", "hot", "warm"))
"""An action, its state, and what has to be there with it: the undo, or what brings the state about."""


def findings(node: tree.KindDef, phases: Collection[str], names: Collection[str]) -> Iterator[Diagnostic]:
    """Find all problems of a kind; `asked` are the names that its templates read."""
    unknown = list(_unknown_actions(node, phases))
    yield from unknown
    if not unknown:
        for rule in _RULES:
            yield from rule(node)
    yield from _unused(node, names)


_MEANT = {
    **dict.fromkeys(("setup", "set_up", "make", "init", "start", "up"), ("create", "prepare", "apply", "run")),
    **dict.fromkeys(("teardown", "tear_down", "cleanup", "remove", "delete", "down"), ("destroy", "stop")),
    **dict.fromkeys(("execute", "exec", "command", "cmd", "measure", "do"), ("run", "apply", "begin")),
    **dict.fromkeys(("collect", "observe", "sample", "record"), ("watch", "look")),
    **dict.fromkeys(("check", "test", "assert", "validate"), ("verify",)),
}
"""The actions of kinds in other languages, each with those that may be meant."""


def _actions(node: tree.KindDef) -> list[tree.ActionDef]:
    return [item for item in node.items if isinstance(item, tree.ActionDef)]


def _unknown_actions(node: tree.KindDef, phases: Collection[str]) -> Iterator[Diagnostic]:
    role = node.role.text
    candidates = (*phases, *_FOR_EVERYTHING) if role == "protocol" else (*_ACTIONS.get(role, ()), *_FOR_EVERYTHING)
    for action in _actions(node):
        name = action.name.text
        if name in candidates or role not in {"protocol", *_ACTIONS}:
            continue
        if role == "protocol":
            yield Code.UNUSED_IN_KIND.at(action.name.span, name=name, hint=f"add it to the phases: `phases = [{name}]`")
        else:
            meant = next((item for item in _MEANT.get(name, ()) if item in candidates), "")
            instead = Hint(f"write `{meant}`", name, meant, is_safe=False) if meant else ""
            hint = (
                instead
                or did_you_mean(name, candidates)
                or f"a {role} can have " + ", ".join(f"`{item}`" for item in candidates)
            )
            yield Code.UNKNOWN_NAME.at(action.name.span, name=name, hint=hint)


def _missing_action(node: tree.KindDef) -> Iterator[Diagnostic]:
    needed = _MUST_HAVE.get(node.role.text)
    if any(isinstance(item, tree.Field) and item.name.text in COMMANDS for item in node.items):
        return  # the command that is meant is reported
    if needed and not any(action.name.text in needed and action.commands for action in _actions(node)):
        subject = f"the {node.role.text} `{node.name.text}`"
        yield Code.KIND_LACKS.at(node.name.span, what=subject, lacks=needed[0], hint=_example_of_action(needed[0]))


def _missing_counterpart(node: tree.KindDef) -> Iterator[Diagnostic]:
    if node.role.text != "resource":
        return
    actions = _actions(node)
    for action in actions:
        words = [word.text for word in action.selectors]
        platforms = [word for word in words if word in PLATFORMS]
        state = "".join(word for word in words if word not in PLATFORMS)
        counterpart = next((other for name, at, other in _UNDOES if (name, at) == (action.name.text, state)), None)
        if counterpart and not any(_serves(other, counterpart, platforms) for other in actions):
            text = " ".join((action.name.text, *words))
            lacks = " ".join((counterpart, *platforms))
            yield Code.KIND_LACKS.at(action.name.span, what=f"`{text}`", lacks=lacks, hint=_example_of_action(lacks))


def _missing_guard(node: tree.KindDef) -> Iterator[Diagnostic]:
    armed = next((item for item in node.items if isinstance(item, tree.Field) and item.name.text == "armed"), None)
    guard = next((action for action in _actions(node) if action.name.text == "guard"), None)
    if armed is not None and guard is None and node.role.text == "resource":
        yield Code.KIND_LACKS.at(armed.name.span, what="`armed`", lacks="guard", hint=_example_of_action("guard"))
    if guard is not None and armed is None and not any(action.name.text == "present" for action in _actions(node)):
        hint = "add the names by which it is armed: `armed = …`"
        yield Code.KIND_LACKS.at(guard.name.span, what="`guard`", lacks="armed", hint=hint)


def _repeated_items(node: tree.KindDef) -> Iterator[Diagnostic]:
    """Find items that a kind may have only once."""
    seen: dict[tuple[str, frozenset[str]], tree.Word] = {}
    for item in node.items:
        if isinstance(item, tree.Field | tree.Offers | tree.Trait | tree.MetricDecl | tree.ActionDef):
            selectors = item.selectors if isinstance(item, tree.ActionDef) else ()
            words = (item.name.text, *(word.text for word in selectors))
            first = seen.setdefault((type(item).__name__, frozenset(words)), item.name)
            if first is not item.name:
                finding = Code.DUPLICATE.at(item.name.span, name=" ".join(words))
                yield finding.also(first.span, "first defined here")


def _out_of_place(node: tree.KindDef) -> Iterator[Diagnostic]:
    """Find parts that have a meaning only in kinds of another role."""
    for item in node.items:
        name = "needs" if isinstance(item, tree.Needs) else item.name.text if isinstance(item, tree.Field) else ""
        roles = _PARTS_OF.get(name)
        if roles and node.role.text in _ACTIONS and node.role.text not in roles:
            hint = "it belongs to a " + " or a ".join(roles)
            yield Code.BAD_KIND.at(item.span, message=f"a {node.role.text} has no `{name}`", hint=hint)


def _built_on_nothing(node: tree.KindDef) -> Iterator[Diagnostic]:
    """Find a kind that uses a target, but is written as if it was built on that."""
    if node.parents and node.role.text in _ACTIONS and node.role.text not in _BUILT_ON:
        names = " | ".join(word.text for word in node.parents)
        message = f"a {node.role.text} is not built on anything"
        takes = node.role.text in _PARTS_OF["needs"]
        hint = f"remove `on {names}`" + (f", and write `needs {names} as at` in the kind" if takes else "")
        yield Code.BAD_KIND.at(node.parents[0].span, message=message, hint=hint)


def of_properties(node: tree.KindDef) -> Iterator[Diagnostic]:
    """Find properties that conflict with each other or with `change`, which sets some of them."""
    change = next((action for action in _actions(node) if action.name.text == "change"), None)
    settable = None
    fields = {item.name.text: item.value for item in node.items if isinstance(item, tree.Field)}
    listed = fields.get("lists")
    lists = set(map(str, listed.items)) if isinstance(listed, tree.ListOf) else set[str]()
    has_options = "option" in fields
    for item in node.items:
        if isinstance(item, tree.Property):
            given = {field.name.text: field for field in item.attributes if isinstance(field, tree.Field)}
            if "default" in given and _word(given.get("required")) in _ON:
                message = f"`{item.name.text}` must be given, so its default is never used"
                yield Code.BAD_KIND.at(given["default"].span, message=message)
            if _word(given.get("cost")) == "none" and (has_options or given.keys() & lists):
                yield decides(item)
            if _word(given.get("cost")) in _SETTABLE:
                settable = settable or given["cost"]
    if node.role.text == "resource" and settable is not None and change is None:
        hint = "without `change` the resource is created again: `cost = create`"
        yield Code.KIND_LACKS.at(settable.span, what=f"`cost = {_word(settable)}`", lacks="change", hint=hint)
    if change is not None and settable is None:
        message = "`change` has nothing to set: no property has `cost = live` or `cost = rewrite`"
        yield Code.BAD_KIND.at(change.name.span, message=message)


def decides(node: tree.Property) -> Diagnostic:
    """Return the error for a property of cost `none` that a command uses."""
    message = f"a command uses `{node.name.text}`, so its cost cannot be `none`"
    return Code.BAD_KIND.at(
        node.name.span, message=message, hint="only a property that no command uses has `cost = none`"
    )


def _word(item: tree.Field | None) -> str:
    return str(item.value) if item is not None and isinstance(item.value, tree.Name) else ""


def _example_of_action(action: str) -> str:
    return f'add `{action} {{ sh "…" }}`'


def _serves(action: tree.ActionDef, name: str, platforms: Collection[str]) -> bool:
    """Whether this is the action of that name for one of these platforms, or for all others."""
    its = [word.text for word in action.selectors]
    return action.name.text == name and (not its or not platforms or any(word in platforms for word in its))


def _missing_tool(node: tree.KindDef) -> Iterator[Diagnostic]:
    forms = {item.name.text: item for item in node.items if isinstance(item, tree.Field)}
    for name in ("job_head", "job_line"):
        if name in forms and "job" not in forms:
            hint = 'add the name of the job file: `job = "…"`'
            yield Code.KIND_LACKS.at(forms[name].name.span, what=f"`{name}`", lacks="job", hint=hint)


def _unused(node: tree.KindDef, names: Collection[str]) -> Iterator[Diagnostic]:
    for action in _actions(node) if node.role.text == "wrapper" else ():
        if "command" not in names or len(action.commands) > 1:
            hint = 'write one command that starts the workload: `sh "… {command}"`'
            yield Code.KIND_LACKS.at(action.name.span, what="`wrap`", lacks="{command}", hint=hint)
    for item in node.items:
        match item:
            case tree.Field() if item.name.text == "option" and "options" not in names:
                hint = "put `{options}` into a command"
                yield Code.UNUSED_IN_KIND.at(item.name.span, name="option", hint=hint)
            case tree.Field() if item.name.text == "lists" and isinstance(item.value, tree.ListOf):
                for name in item.value.items:
                    if isinstance(name, tree.Name) and str(name) not in names:
                        hint = f"put `{{{name}}}` into a command"
                        yield Code.UNUSED_IN_KIND.at(name.span, name=str(name), hint=hint)


def _reserved_names(node: tree.KindDef) -> Iterator[Diagnostic]:
    for item in node.items:
        if isinstance(item, tree.Property) and item.name.text == "label":
            message = "`label` names the branch of a choice, so it cannot be the name of a property"
            yield Code.BAD_KIND.at(item.name.span, message=message, hint="give the property another name")


_RULES: tuple[Callable[[tree.KindDef], Iterator[Diagnostic]], ...] = (
    _missing_action,
    _missing_counterpart,
    _missing_tool,
    _missing_guard,
    _repeated_items,
    _out_of_place,
    _built_on_nothing,
    _reserved_names,
)
