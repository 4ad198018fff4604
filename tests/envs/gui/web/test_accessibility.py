"""What Chromium's accessibility tree says of the phone, which agents of BrowserGym read: what is chosen, and names."""

import re
import sys
from pathlib import Path

import pytest

from tiltyard.envs.gui.commands import VERBS, parse
from tiltyard.envs.gui.declare.expert import ScriptedExpert
from tiltyard.envs.gui.problems_v1 import Split
from tiltyard.envs.gui.web.phone import WebExpert, WebPhone

sys.path.insert(0, str(Path(__file__).parent))
from parity import problem_v1

pytestmark = pytest.mark.web
STATES = {
    "switch": ("switch", "checked"),
    "radio": ("radio", "checked"),
    "chip": ("button", "pressed"),
    "tab": ("tab", "selected"),
}
"""Role and property of the accessibility tree, of each role of the phone's own whose nodes can be chosen."""


def accessible(web: WebPhone) -> list[tuple[str, str, dict[str, str]]]:
    """Role, name and properties of what is not ignored."""
    nodes = web.page.call("Accessibility.getFullAXTree")["nodes"]
    return [
        (
            node["role"]["value"],
            node.get("name", {}).get("value", ""),
            {one["name"]: str(one["value"].get("value")).lower() for one in node.get("properties", ())},
        )
        for node in nodes
        if not node["ignored"]
    ]


def chosen(web: WebPhone) -> list[tuple[str, str, str]]:
    """Role, text and whether it is chosen, of the nodes in the phone's own tree that say so."""
    line = re.compile(r'(switch|radio|chip|tab) "([^"]*)".* (checked|unchecked)\b')
    return [
        (found[1], found[2], str(found[3] == "checked").lower())
        for found in map(line.match, web.tree().splitlines())
        if found
    ]


def test_switches_choices_chips_and_tabs_say_in_the_accessibility_tree_what_is_chosen(same: WebPhone) -> None:
    web, met = same, set[tuple[str, str]]()
    for level in (1, 2, 3):
        for seed in range(4):
            problem = problem_v1(Split(), seed, 0, level)
            web.begin(problem)
            for _ in range(40):
                action = WebExpert(web, ScriptedExpert(web.mirror, problem.goal)).action()
                if action.partition(" ")[0] in ("done", "answer", "infeasible"):
                    break
                web.act(parse(action, VERBS))
                there = accessible(web)
                for role, text, state in chosen(web):
                    name, what = STATES[role]
                    found = [props.get(what) for one, said, props in there if one == name and said.startswith(text)]
                    assert state in found, (role, text, state, found)
                    met.add((role, state))
    assert {role for role, _ in met} == set(STATES)
    assert {("switch", "true"), ("switch", "false")} <= met


def test_pictures_that_say_nothing_are_left_out_and_the_field_that_is_typed_into_has_a_name(same: WebPhone) -> None:
    same.begin(problem_v1(Split(), 0, 0, 1))
    there = accessible(same)
    assert len(there) > 10
    assert not [role for role, name, _ in there if role in ("image", "img") and not name]
    assert [name for role, name, _ in there if role == "textbox"] == ["Typed text"]
