"""Test properties that add to lists of their kind, and resources that carry one thing at a time."""

from __future__ import annotations

from zlang.check.check import Overrides
from zlang.pipeline import plans, programs
from zlang.plan.plan import Setup
from zlang.source import Source

KIND = """
kind box: resource {
  rebuilt_per_child = on
  offers place = "{name}"
  create { sh "true" }
  destroy { sh "true" }
}
kind thing: resource on place {
  lists = [first, second]
  property size: size { unit = 1KiB  first = ["-s", "{size}k"]  second = "size={size}" }
  property level: low | high(by: count) { second = if level is high then "high:{level.by}" else [] }
  property plain: bool { default = on }
  offers dir = "{on.place}"
  create { sh "make {first} -- {second}" }
  destroy { sh "true" }
  verify property { sh "show {second}" is "{second}" }
}
box here
"""
RUN = 'shell waits { command = "true" }\nexperiment e { on = %s  run = waits }\n'


def planned(text: str) -> list[Setup | object]:
    overrides = Overrides()
    checked = programs.check(Source("a.zexp", KIND + text), overrides)
    assert [finding.message for finding in checked.findings] == []
    return list(plans.plan(checked, checked.program.experiments["e"], 1, overrides).plan.items())


def made(text: str) -> list[str]:
    items = planned(text)
    return [step.command for item in items if isinstance(item, Setup) for step in item.make if "make" in step.command]


def test_properties_in_use_are_added_in_order() -> None:
    text = "thing it on here { level = high(3)  size = 4KiB }\n" + RUN % "it"
    assert made(text) == ["make -s 4k -- high:3 size=4"]
    expected = [step.expect for item in planned(text) for step in getattr(item, "steps", ()) if step.expect is not None]
    assert expected == ["high:3\nsize=4"]


def test_unset_properties_add_nothing() -> None:
    assert made("thing it on here { level = low }\n" + RUN % "it") == ["make  -- "]


def test_a_rebuilt_per_child_resource_is_created_for_each_child() -> None:
    items = planned("let it = thing on here { size = 1KiB | 2KiB } | thing on here { level = low }\n" + RUN % "it")
    boxes = [item for item in items if isinstance(item, Setup) and item.key == "here"]
    assert len({box.signature for box in boxes}) == 3


def test_a_list_may_not_be_called_as_a_property_is() -> None:
    text = 'kind k: resource { lists = [size]  property size: size { doc = "…" }  create { sh "true" } }\n'
    findings = programs.check(Source("a.zexp", text), Overrides()).findings
    assert "`size` is defined twice" in [finding.message for finding in findings]


def test_one_value_of_a_property_that_takes_a_list_is_a_list_of_one() -> None:
    kind = """
    kind many: resource {
      property id: path | [path] { required = on }
      offers dir = join([each for each in id], " ")
      create { sh "make {len([each for each in id])} {id[0]} {dir}" }
      destroy { sh "true" }
    }
    """
    assert made(f'{kind}many it {{ id = "/a" }}\n{RUN % "it"}') == ["make 1 /a /a"]
    assert made(f'{kind}many it {{ id = ["/a", "/b"] }}\n{RUN % "it"}') == ["make 2 /a '/a /b'"]
