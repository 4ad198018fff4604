from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.envs.gui.commands import parse
from tiltyard.wrappers.elements import PLAIN, Elements, candidates, hashed, matched, read, words

TREE = """screen "Shop: Urban Mug"
status "10:42 80% wifi"
button "Back" 0.00 0.05 0.15 0.15
title "Urban Mug" 0.17 0.05 0.70 0.15
chip "red" 0.04 0.40 0.20 0.47 checked
chip "blue" 0.22 0.40 0.40 0.47 unchecked
button "Decrease quantity" 0.67 0.50 0.80 0.60 disabled
button "Add to cart" 0.04 0.62 0.96 0.70
row "Wi-Fi" "Indigo" 0.00 0.70 1.00 0.80
swipe up"""
GOAL = "Put 1 blue Urban Mug into the cart"


def adapter(**kwargs: Any) -> tuple[Elements, gymnasium.Env]:
    env = gymnasium.make("tiltyard/Phone-v0", level=2)
    return Elements(env.observation_space, env.action_space, **kwargs), env


def test_lines_are_read_and_ranked_by_their_match() -> None:
    elements = read(TREE, GOAL)
    assert [e.role for e in elements] == ["button", "title", "chip", "chip", "button", "button", "row"]
    assert elements[-1].detail == "Indigo"
    ranked = adapter()[0].ranked({"tree": TREE, "goal": GOAL})
    assert [e.text for e in ranked] == ["blue", "Add to cart", "Back", "red", "Wi-Fi"]


def test_match_features_worked_out_by_hand() -> None:
    assert words(GOAL) == ("put", "1", "blue", "urban", "mug", "into", "cart")
    # own words "add cart": one of two stands in the goal; "add cart" is no phrase of it; "cart" is among the last three
    assert matched("Add to cart", "", GOAL) == (0.5, 0.25, 0.0, 0.0, 0.5, 0.0)
    assert matched("Urban Mug", "blue", GOAL) == (1.0, 0.5, 1.0, 1.0, 0.5, 0.0)
    assert hashed("mug", 8).tolist() == hashed("the Mugs", 8).tolist()
    assert np.abs(hashed("mug", 8)).sum() == 1


def test_candidates_are_the_names_numbers_and_addresses_of_a_goal() -> None:
    assert candidates("Add a contact named Ada Bell with the number 7731204498") == ("Ada Bell", "7731204498")
    assert candidates("Change the email of Ivan Roy to roy@post.org") == ("Ivan Roy", "roy@post.org")
    assert candidates("Connect to the Wi-Fi network Attic with the password elm123") == ("Wi-Fi", "Attic", "elm123")


def test_actions_are_decoded_as_documented() -> None:
    elements, _ = adapter(slots=14, strings=6)
    observation = {"tree": TREE, "goal": GOAL}
    assert elements.decode(0, observation) == "tap 0.310 0.435"  # blue: (0.22 + 0.40) / 2, (0.40 + 0.47) / 2
    assert elements.decode(5, observation) == elements.decode(0, observation), "an empty slot wraps round"
    assert elements.decode(15, observation) == elements.decode(1, observation), "typing into nothing taps"
    assert [elements.decode(20 + i, observation) for i in range(6)] == list(PLAIN)
    typing = {"tree": TREE + '\nkeyboard "" 0.00 0.67 1.00 1.00', "goal": GOAL}
    assert elements.decode(15, typing) == f"type {candidates(GOAL)[1]}"
    loading = {"tree": 'screen "Shop"\nstatus ""\nspinner "Loading" 0.39 0.44 0.61 0.56', "goal": GOAL}
    assert parse(elements.decode(3, loading)).verb == "tap"


def test_masks_say_what_is_possible() -> None:
    elements, _ = adapter(slots=14, strings=6)
    mask = elements.mask({"tree": TREE, "goal": GOAL})
    assert mask.tolist() == [True] * 5 + [False] * 9 + [False] * 6 + [True] * 6
    typing = elements.mask({"tree": TREE + '\nkeyboard "" 0.00 0.67 1.00 1.00', "goal": GOAL})
    assert typing[14:20].tolist() == [True] * len(candidates(GOAL)) + [False] * (6 - len(candidates(GOAL)))


@pytest.mark.parametrize("pixels", [False, True])
def test_observations_stay_in_the_space_whatever_one_does(pixels: bool) -> None:
    elements, env = adapter(pixels=pixels)
    env.action_space.seed(1)
    elements.action_space.seed(1)
    observation, _ = env.reset(seed=0)
    for step in range(300):
        assert elements.observation_space.contains(elements.encode(observation))
        action = elements.decode(elements.action_space.sample(), observation)
        assert parse(action).verb, action
        observation, _, terminated, truncated, _ = env.step(action if step % 3 else env.action_space.sample())
        if terminated or truncated:
            observation, _ = env.reset()


def test_only_the_tree_and_the_goal_are_read() -> None:
    elements, env = adapter()
    observation, _ = env.reset(seed=0)
    bare = {"tree": observation["tree"], "goal": observation["goal"]}
    np.testing.assert_array_equal(elements.encode(bare), elements.encode(observation))
    other = {**bare, "goal": "Call Zed Zulu"}
    assert (elements.encode(other) != elements.encode(bare)).any()


def test_a_switch_that_already_stands_as_asked_looks_different() -> None:
    elements, _ = adapter()
    trees = [f'screen "S"\nswitch "Dark theme" 0.0 0.2 1.0 0.3 {flag}' for flag in ("checked", "unchecked")]
    a, b = (elements.encode({"tree": tree, "goal": "In Settings, turn dark theme on"}) for tree in trees)
    assert np.abs(a - b).max() == 2.0


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="slots must be"):
        adapter(slots=0)


def test_an_adapted_expert_can_be_followed_through_the_action_space() -> None:
    """Every tap the expert needs is among the slots offered, for nearly all of level 1."""
    env = gymnasium.make("tiltyard/Phone-v0", level=1)
    elements = Elements(env.observation_space, env.action_space)
    offered = total = 0
    for seed in range(25):
        observation, _ = env.reset(seed=seed)
        for _ in range(50):
            wanted = env.unwrapped.expert().predict(observation)[0]
            command = parse(wanted)
            if command.verb == "tap" and "spinner" not in observation["tree"]:
                boxes = [e.bounds for e in elements.ranked(observation)]
                total += 1
                offered += any(x0 <= command.x <= x1 and y0 <= command.y <= y1 for x0, y0, x1, y1 in boxes)
            observation, _, terminated, _, _ = env.step(wanted)
            if terminated:
                break
    assert offered == total
