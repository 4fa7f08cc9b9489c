"""A value of several words where a property takes one: `rw = random read` for `randread`.

In: the finding of the parser, which stops at the second word, and what properties of that name can be. Out: the same
finding with a hint that repairs the whole value, if the words of each alternative are near to a possible one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from zlang.check import types
from zlang.check.kind_declarations import Declared, left_out
from zlang.diagnostics import Code, Diagnostic, Edit, Fix
from zlang.source import Span
from zlang.suggest import nearest
from zlang.syntax import tree

_WORD = r"[A-Za-z][\w-]*"
_BEFORE = rf"(?<![\w.])([a-z_]\w*)[ \t]*=[ \t]*((?:{_WORD}(?: |[ \t]*\|[ \t]*))+)\Z"
_AFTER = rf"{_WORD}(?:(?: |[ \t]*\|[ \t]*){_WORD}(?![\w-]*[ \t]*[=.({{]))*(?=[ \t]*(?:[\n}}#]|\Z|[a-z_]\w*[ \t]*=))"


def with_meant_word(finding: Diagnostic, kinds: Iterable[tuple[tree.KindDef, Declared]]) -> Diagnostic:
    """Return the finding with a hint that writes each alternative as one word; unchanged if none is meant."""
    if finding.code is not Code.UNEXPECTED:
        return finding
    text, begin = finding.span.source.text, finding.span.start
    line = text.rfind("\n", 0, begin) + 1
    before, after = re.compile(_BEFORE).search(text, line, begin), re.compile(_AFTER).match(text, begin)
    if before is None or after is None:
        return finding
    name, start = before[1], before.start(2)
    alternatives = [" ".join(each.split()) for each in text[start : after.end()].split("|")]
    for node, declared in kinds:
        if name not in declared.nodes:
            continue
        if finding.span.text in declared.nodes:
            is_switch = any(atom.name == "bool" for atom in declared.nodes[finding.span.text].type.atoms)
            hint = f"write a field as `{finding.span.text} = {'on' if is_switch else '…'}`"
            return finding.replace(hint=hint, fixes=())
        possible = [atom.name for atom in declared.nodes[name].type.atoms if atom.name not in types.SCALARS]
        meant = [_meant(each.split(), possible) for each in alternatives]
        if all(meant):
            value = " | ".join(word for words in meant for word in words)
            place = Span(finding.span.source, start, after.end())
            fix = Fix(f"write `{value}`", (Edit(place, value),), is_safe=False)
            return finding.replace(hint=f"did you mean `{name} = {value}`?", fixes=(fix,))
        reasons = dict(left_out(node))
        reason = next((reasons[word] for each in alternatives for word in each.split() if word in reasons), "")
        if reason:
            return finding.replace(hint=reason, fixes=())
    return finding


def _meant(words: Sequence[str], possible: Collection[str]) -> list[str]:
    """The word that is nearest to several and has the beginning of each, or the only one of them that is possible."""
    near = [*nearest("".join(words), possible), *nearest("".join(reversed(words)), possible)]
    whole = [word for word in near if all(each[:2].lower() in word.lower() for each in words)]
    alone = [word for word in words if word in possible]
    return whole[:1] or (alone if len(alone) == 1 else [])
