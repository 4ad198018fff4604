"""Policies of the phone that learn nothing: what they do by hand, and how far they get."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.envs.gui.baselines import NoisyExpert, RandomPolicy, WordMatcher, random_action
from tiltyard.envs.gui.elements import NUMERIC_VERBS, ROLES, goal_tokens, tokens


def screen(*shown: tuple[str, str]) -> Any:
    """Elements ``[64, 24]`` of these roles and texts, all of which can be tapped but dialogs and keyboards."""
    found = np.zeros((64, 24), np.int16)
    for row, (role, text) in zip(found, shown, strict=False):
        row[0], row[8] = 1 + ROLES.index(role), role not in ("dialog", "keyboard", "text")
        row[12 : 12 + len(tokens(text))] = tokens(text)
    return found


def said(policy: Any, elements: Any, goal: str, **kwargs: Any) -> tuple[str, list[int]]:
    action, _ = policy.predict({"elements": elements, "goal": goal_tokens(goal)}, **kwargs)
    return NUMERIC_VERBS[action[0]], action[1:].tolist()


def phones(n: int, **kwargs: Any) -> Any:
    return gymnasium.make_vec("tiltyard/Phone-v0", n, "vector_entry_point", observation="elements", **kwargs)


def success(policy: Any, env: Any) -> float:
    """Of one episode in each environment."""
    n = env.num_envs
    seen, _ = env.reset(seed=0)
    done, won, starts = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.ones(n, np.bool_)
    while not done.all():
        actions, _ = policy.predict(seen, episode_start=starts)
        seen, _, terminated, truncated, info = env.step(actions)
        starts = terminated | truncated
        for i in np.flatnonzero(starts & ~done):
            done[i], won[i] = True, info["final_info"]["success"][i]
    return float(won.mean())


def test_the_matcher_taps_what_shares_most_words_once_and_then_is_done() -> None:
    matcher, goal = WordMatcher(), "Turn on the Wi-Fi network Lighthouse"
    shown = screen(("row", "Bluetooth"), ("row", "Network and Lighthouse"), ("row", "Lighthouse"))
    # Shares of own words that the goal has: none; 2 of 3 and 0.2 for two words; 1 of 1 and 0.1 for one.
    assert said(matcher, shown, goal) == ("tap", [2, 0, 0, 0])
    assert said(matcher, shown, goal) == ("tap", [1, 0, 0, 0])
    assert [said(matcher, shown, goal)[0] for _ in range(5)] == ["swipe up"] * 4 + ["done"]
    assert said(matcher, shown, goal, episode_start=True) == ("tap", [2, 0, 0, 0])


def test_the_matcher_types_what_follows_the_label_and_presses_enter() -> None:
    matcher, goal = WordMatcher(), "Add a contact with the name Ada Bell and the phone 123"
    shown = screen(("field", "Name"), ("keyboard", ""))
    shown[0, 6] = 1
    assert said(matcher, shown, goal) == ("type", [0, 0, 6, 1])
    assert said(matcher, shown, goal) == ("enter", [0, 0, 0, 0])


def test_the_matcher_closes_dialogs_that_say_nothing_of_the_goal() -> None:
    shown = screen(("dialog", "Update"), ("text", "Now?"), ("button", "Later"), ("button", "Install"))
    assert said(WordMatcher(), shown, "Call Ada") == ("tap", [2, 0, 0, 0])


def test_the_matcher_solves_part_of_level_one_and_random_hands_nothing() -> None:
    assert success(WordMatcher(), phones(24)) > 0.2
    assert success(RandomPolicy(), phones(24)) < 0.1


def test_random_hands_do_what_is_possible() -> None:
    rng, goal = np.random.default_rng(0), goal_tokens("Turn on Wi-Fi")
    shown = screen(("text", "Hello"), ("row", "Wi-Fi"))
    drawn = [random_action(rng, shown, goal) for _ in range(400)]
    taps = [one for one in drawn if NUMERIC_VERBS[one[0]] == "tap"]
    assert 240 < len(taps) < 320  # seven in ten
    assert {int(one[1]) for one in taps} == {1}
    spans = [one for one in drawn if NUMERIC_VERBS[one[0]] == "type"]
    assert spans
    assert all(one[3] + one[4] <= 3 for one in spans)


def test_noise_is_as_frequent_as_said_and_none_is_the_expert() -> None:
    env = phones(8)
    assert success(NoisyExpert(env.unwrapped.batched), env) == 1.0
    seen, _ = env.reset(seed=0)
    noisy, changed = NoisyExpert(env.unwrapped.batched, 0.5), []
    for _ in range(25):
        changed.append((noisy.predict(seen)[0] != env.unwrapped.batched.expert_actions()).any(1))
    assert 0.3 < np.mean(changed) < 0.5  # half of them random, some of which do what the expert would do
    with pytest.raises(ValueError, match="from 0 to 1, got 2"):
        NoisyExpert(env.unwrapped.batched, 2)
