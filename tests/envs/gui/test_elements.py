"""The numeric face says and does what the tree and the action strings do."""

import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.envs import InvalidAction
from tiltyard.envs.gui import elements
from tiltyard.envs.gui.commands import Command
from tiltyard.envs.gui.device import Dialog
from tiltyard.envs.gui.elements import NUMERIC_VERBS, ROLES, decode, encode, features, goal_tokens, listed, spans
from tiltyard.envs.gui.render import ICON_INDEX

sys.path.insert(0, str(Path(__file__).parent))
from phone_helpers import act, new_phone, shown

GOAL = "In Contacts, add Ada Bell (ada@bell.com), 14 Linden Road."


def number(verb: str) -> int:
    return NUMERIC_VERBS.index(verb)


def made(**kwargs: Any) -> Any:
    return gymnasium.make("tiltyard/Phone-v0", observation="elements", **kwargs)


def test_tokens_by_hand() -> None:
    # FNV-1a's published values of "a" and "foobar"; 0xe40c292c = 3826002220 = 934310 * 4095 + 2770.
    assert (elements.fnv1a("a"), elements.fnv1a("foobar")) == (0xE40C292C, 0xBF9CF968)
    assert elements.tokens("A, a-A") == (2771, 2771, 2771)
    assert elements.tokens("...") == ()
    assert goal_tokens("a a")[:3].tolist() == [2771, 2771, 0]
    assert goal_tokens("a " * 60).tolist() == [2771] * 48


def test_an_element_by_hand() -> None:
    phone = new_phone()
    node, row = listed(phone)[0], features(phone)[0]
    assert (node.role, node.text) == ("app", "Settings")
    # The first icon of the home screen spans 6 to 34 of 108 and 62 to 98 of 192: 0.0556, 0.3229, 0.3148, 0.5104.
    assert row[:5].tolist() == [1 + ROLES.index("app"), 56, 323, 315, 510]
    assert row[5:9].tolist() == [0, 0, 0, 1]
    assert row[11] == 1 + ICON_INDEX[node.icon]
    assert row[12:].tolist() == [*elements.tokens("Settings"), *[0] * 11]


def test_flags_and_words() -> None:
    phone = act(new_phone(), "<Phone>", "<New contact>", "<Name>", "type Ada Bell")
    rows = {(node.role, node.text): row for node, row in zip(listed(phone), features(phone), strict=False)}
    field = rows["field", "Name"]
    assert field[6] == 1
    assert field[20:22].tolist() == list(elements.tokens("Ada Bell"))
    assert rows["field", "Phone"][6] == 0
    assert not any(role == "key" for role, _ in rows)
    assert ("keyboard", "") in rows


def test_a_switch_is_on_off_or_none() -> None:
    phone = act(new_phone(), "<Settings>")
    seen = {node.text: int(row[5]) for node, row in zip(listed(phone), features(phone), strict=False)}
    switches = {node.text: node.checked for node in listed(phone) if node.role == "switch"}
    assert switches
    assert all(seen[text] == 1 + checked for text, checked in switches.items())  # type: ignore[operator]
    assert {seen[node.text] for node in listed(phone) if node.role == "row"} == {0}


def test_every_role_that_apps_show_is_known() -> None:
    phone = new_phone()
    for app in list(phone.apps.values()):
        act(phone, f"<{app.name}>")
        assert all(node.role in ROLES for node in listed(phone))
        act(phone, "home")
    phone.dialog = Dialog("Update", "An update is there.", (("Later", lambda: None),))
    phone.act(Command(""))
    assert features(phone)[0, 0] == 1 + ROLES.index("dialog")


@pytest.mark.parametrize(
    ("action", "string"),
    [
        ([0, 1, 0, 0, 0], "tap 0.500 0.417"),  # the middle of 40 to 68 and 62 to 98
        ([1, 1, 0, 0, 0], "long_press 0.500 0.417"),
        ([2, 0, 1, 0, 0], "drag 0.185 0.417 0.500 0.417"),
        ([0, 63, 0, 0, 0], "wait"),  # no such element
        ([2, 0, 63, 0, 0], "wait"),
        ([6, 0, 0, 0, 0], "swipe right"),
        ([7, 0, 0, 3, 1], "type Ada Bell"),
        ([7, 0, 0, 5, 2], "type ada@bell.com"),
        ([7, 0, 0, 10, 11], "type Road"),  # no more words: up to the last
        ([7, 0, 0, 40, 0], "wait"),
        ([11, 0, 4, 0, 0], "open Phone"),  # the fourth of three apps is the first again, the fifth the second
        ([13, 2, 0, 0, 0], "answer Shop"),
        ([14, 2, 0, 0, 0], "wait"),  # it has no detail
        ([15, 0, 0, 1, 0], "answer Contacts"),
        ([17, 9, 9, 9, 9], "infeasible"),
    ],
)
def test_what_numbers_do(action: list[int], string: str) -> None:
    assert decode(action, new_phone(), GOAL) == string


def test_goal_words_have_their_places() -> None:
    assert [GOAL[a:b] for a, b in spans(GOAL)][:6] == ["In", "Contacts", "add", "Ada", "Bell", "ada"]
    assert len(spans("word " * 100)) == 48


def test_the_expert_says_in_numbers_what_it_says_in_words() -> None:
    words, numbers = gymnasium.make("tiltyard/Phone-v0", level=2), made(level=2)
    for seed in range(3):
        words.reset(seed=seed)
        observation, _ = numbers.reset(seed=seed)
        done = False
        while not done:
            text, _ = words.unwrapped.expert().predict(None)
            action, _ = numbers.unwrapped.expert().predict(observation)
            phone = numbers.unwrapped.batched.phones[0]
            assert decode(action, phone, numbers.unwrapped.batched.problems[0].goal.text) in (text, "tap 0.500 0.500")
            _, reward, done, _, info = words.step(text)
            observation, same, also, _, _ = numbers.step(action)
            assert numbers.observation_space.contains(observation)
            assert (same, also) == (reward, done)
            assert phone.tree() == words.unwrapped.batched.phones[0].tree()
        assert info["success"]


def test_what_numbers_cannot_say_is_none() -> None:
    phone = act(new_phone(), "<Phone>", "<New contact>", "<Name>")
    assert encode("type Eve Stone", phone, GOAL) is None
    key = next(node for node in phone.nodes if node.role == "key")
    assert encode(f"tap {key.x0 / 108 + 0.02:.3f} {key.y0 / 192 + 0.02:.3f}", phone, GOAL) is None
    assert encode("shake", phone, GOAL) is None
    assert encode("done", phone, GOAL) == [number("done"), 0, 0, 0, 0]


def test_a_tap_is_one_on_what_it_hits() -> None:
    phone = act(new_phone(), "<Phone>", "<New contact>", "<Name>", "type Ada")
    clear = shown(phone, "Clear Name")[0]
    chosen = encode(f"tap {clear.x0 / 108 + 0.01:.3f} {clear.y0 / 192 + 0.01:.3f}", phone, GOAL)
    assert chosen is not None
    assert listed(phone)[chosen[1]] is clear


@pytest.mark.parametrize("action", [[18, 0, 0, 0, 0], [0, -1, 0, 0, 0], [0, 0, 0, 0], [0.5] * 5, "tap 0.5 0.5"])
def test_bad_actions_are_refused_and_change_nothing(action: Any) -> None:
    env = made()
    env.reset(seed=0)
    before = env.unwrapped.batched.phones[0].steps
    with pytest.raises(InvalidAction, match="five integers"):
        env.step(action)
    assert env.unwrapped.batched.phones[0].steps == before


def test_a_copy_in_numbers_goes_on_alike() -> None:
    env = made()
    env.reset(seed=4)
    env.action_space.seed(0)
    for _ in range(6):
        env.step(env.action_space.sample() * np.array([0, 1, 1, 1, 1]))
    state = env.unwrapped.snapshot()
    tap = np.array([0, 1, 0, 0, 0])
    after = env.step(tap)[0]
    env.unwrapped.restore(state)
    np.testing.assert_array_equal(env.step(tap)[0]["elements"], after["elements"])


def test_an_unknown_observation_is_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'elements'"):
        gymnasium.make("tiltyard/Phone-v0", observation="element")
