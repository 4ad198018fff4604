"""The scripted expert is a policy as any other: asking it changes nothing, and it keeps the rules by all actions."""

import numpy as np
import pytest

from tiltyard.envs.driving.scenarios.driving import Driving
from tiltyard.envs.driving.scenarios.scenes import SCENES

N = 16


def begun(n=N, **kwargs):
    batched = Driving(n, split="test", **kwargs)
    batched.begin(np.arange(n), np.arange(n), np.zeros(n, np.int64))
    return batched


@pytest.mark.parametrize("scene", SCENES)
def test_asking_changes_nothing_in_the_world_and_two_questions_have_one_answer(scene):
    asked, other, open_ = begun(scene=scene), begun(scene=scene), np.ones(N, bool)
    for _ in range(150):
        actions = asked.expert_actions()
        assert np.array_equal(actions, asked.expert_actions())
        commands = asked.check(actions)
        (rewards, ended), (others, _) = asked.advance(commands, open_), other.advance(commands, open_)
        assert np.array_equal(rewards, others)
        open_ &= ~ended
    assert asked.agents.tobytes() == other.agents.tobytes()
    assert asked.worlds.tobytes() == other.worlds.tobytes()
    assert np.array_equal(asked.observe(), other.observe())


def test_what_it_has_answered_goes_with_a_snapshot():
    batched = begun(4, scene="roundabout")
    batched.advance(batched.check(batched.expert_actions()), np.ones(4, bool))
    state, answer = batched.snapshot(2), batched.expert_actions()[2]
    for _ in range(20):
        batched.advance(batched.check(batched.expert_actions()), np.ones(4, bool))
    batched.restore(2, state)
    assert np.array_equal(batched.expert_actions()[2], answer)


@pytest.mark.parametrize(
    ("action", "share"),
    [("box", 0.85), ("waypoints", 0.8), ("discrete", 0.6)],  # 60 problems; measured: see docs/driving.md
)
def test_it_stops_at_lines_by_whatever_actions(action, share):
    batched, open_ = begun(60, scene="town", action=action), np.ones(60, bool)
    for _ in range(900):
        _, ended = batched.advance(batched.check(batched.expert_actions()), open_)
        open_ &= ~ended
        if not open_.any():
            break
    info = batched.step_info()
    assert np.isin(info["infraction"], ("red_light", "stop_sign")).mean() <= 0.1
    assert info["success"].mean() >= share, info["infraction"]
