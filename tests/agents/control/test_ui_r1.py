"""UI-R1: its reward by hand, and that it learns from recorded steps."""

import sys
from pathlib import Path

import numpy as np

from tiltyard.agents.control.action_match import Agreement
from tiltyard.agents.control.trajectories import Pool
from tiltyard.agents.control.ui_r1 import UIR1, action_reward
from tiltyard.agents.control.ui_s1 import step_accuracy

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, tiny

WRONG, TYPE, RIGHT = (False, False), (True, False), (True, True)


def agreed(*pairs: tuple[bool, bool]) -> Agreement:
    verb, exact = np.array(pairs).T
    return Agreement(verb, exact, exact.astype(float))


def test_the_reward_by_hand() -> None:
    # The form is always right: 1; with the type 2; with what is pointed at 3. Another type earns nothing for the point.
    assert action_reward(agreed(WRONG, TYPE, RIGHT, (False, True))).tolist() == [1, 2, 3, 1]
    assert action_reward(agreed(WRONG, TYPE, RIGHT), 0.0, 2.0).tolist() == [1, 1, 3]


def test_advantages_are_over_the_group_at_a_step() -> None:
    learner, pool = UIR1(env=tiny(), **SMALL), Pool(episodes(20, right=1.0))
    attempts = learner.tried(pool, np.arange(20), 0.0)
    rewards = action_reward(learner.agree(pool, attempts.steps, attempts.actions))
    wanted = (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(attempts.advantages, wanted, atol=1e-9)
    assert attempts.advantages.std() > 0.1
    assert attempts.counted.all()


def test_it_learns_what_was_recorded() -> None:
    learner, unseen = UIR1(env=tiny(), **{**SMALL, "learning_rate": 2e-3}), episodes(150, right=1.0, seed=7)
    data = episodes(600, right=1.0)
    learner.clone(data, 3)
    began = step_accuracy(learner, unseen)
    learner.learn_offline(data, 24)
    assert step_accuracy(learner, unseen) > max(0.9, began + 0.05)
