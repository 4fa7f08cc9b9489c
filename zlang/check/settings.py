"""The values of params: from the command line, from a profile, or from an import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zlang.check.module import Module
from zlang.check.modules import Modules
from zlang.diagnostics import Code
from zlang.source import Source, Span
from zlang.suggest import did_you_mean
from zlang.syntax import parse, tree


def settings_of(modules: Modules, root: Module, values: Mapping[str, str], chosen: str | None) -> dict[str, tree.Expr]:
    """Return the param values of `--set` and the chosen profile, by name; report names that are not params."""
    settings: dict[str, tree.Expr] = {}
    params = {name: entry for name, entry in root.entries.items() if isinstance(entry, tree.Param)}
    for merged in root.merged:
        params |= {name: entry for name, entry in merged.entries.items() if isinstance(entry, tree.Param)}
    profiles = {e.name.text: e for e in root.written.entries if isinstance(e, tree.Profile)}
    for profile in profiles.values():
        for item in profile.items:
            if not isinstance(item, tree.Field):
                modules.findings.report(
                    Code.UNEXPECTED.at(item.span, expected="`param = value`", found=f"`{item.span.text.split()[0]}`")
                )
            elif item.name.text not in params:
                declared = f"param {item.name.text} = {item.value.span.text}"
                hint = did_you_mean(item.name.text, params) or (
                    f"declare it, and write its name where the value belongs: `{declared}`"
                )
                modules.findings.report(Code.UNKNOWN_PARAM.at(item.name.span, name=item.name.text, hint=hint))
            elif profile.name.text == chosen:
                settings[item.name.text] = item.value
    if chosen is not None and chosen not in profiles:
        words = Source("--profile", chosen)
        hint = did_you_mean(chosen, profiles) or listed("profile", profiles)
        modules.findings.report(Code.UNKNOWN_PROFILE.at(Span(words, 0, len(chosen)), name=chosen, hint=hint))
    _report_unknown_params(modules)
    return settings | _overrides(modules, root, values, params)


def _overrides(
    modules: Modules, root: Module, values: Mapping[str, str], params: Mapping[str, tree.Param]
) -> dict[str, tree.Expr]:
    """Return the param values of the command line."""
    settings: dict[str, tree.Expr] = {}
    own = {name: text for name, text in values.items() if name.partition(".")[0] not in root.named}
    for name, text in own.items():
        words = Source("--set", f"{name}={text}")
        if name not in params:
            hint = did_you_mean(name, params) or listed("param", params)
            modules.findings.report(Code.UNKNOWN_PARAM.at(Span(words, 0, len(name)), name=name, hint=hint))
            continue
        value, findings = parse.expression(Source(f"--set {name}", text))
        modules.findings.items += findings
        if value is not None:
            settings[name] = value
    return settings


def _report_unknown_params(modules: Modules) -> None:
    """Report values that an import gives to params that the file lacks."""
    for module in modules.files.values():
        candidates = [name for name, entry in module.entries.items() if isinstance(entry, tree.Param)]
        for name, (given, _) in module.settings.items():
            if name not in candidates:
                hint = did_you_mean(name, candidates) or listed("param", candidates)
                modules.findings.report(Code.UNKNOWN_PARAM.at(given.span, name=name, hint=hint))


def listed(noun: str, names: Iterable[str]) -> str:
    """List the names of one sort that a program has, for a hint."""
    shown = [f"`{name}`" for name in names]
    if len(shown) == 1:
        return f"its only {noun} is {shown[0]}"
    return f"its {noun}s are {', '.join(shown)}" if shown else f"it declares no {noun}s"
