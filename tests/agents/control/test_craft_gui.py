"""CRAFT-GUI: stages and graded rewards by hand, which episodes a stage has, and that it learns."""

import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard.agents.control.action_match import Agreement
from tiltyard.agents.control.craft_gui import CraftGUI, graded_reward, stages_of
from tiltyard.agents.control.trajectories import Pool
from tiltyard.agents.control.ui_s1 import step_accuracy

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, tiny
from test_ui_s1 import long_episodes


def test_stages_go_from_short_to_long_and_equal_lengths_stay_together() -> None:
    assert stages_of(np.array([9, 1, 5, 2, 1, 1]), 3).tolist() == [2, 0, 2, 1, 0, 0]
    assert stages_of(np.array([3, 1, 2]), 1).tolist() == [0, 0, 0]
    assert stages_of(np.array([4, 4, 4]), 3).tolist() == [0, 0, 0]


def test_the_graded_reward_by_hand() -> None:
    found = Agreement(np.array([False, True, True]), np.array([False, False, True]), np.array([0.0, 0.4, 1.0]))
    np.testing.assert_allclose(graded_reward(found), [0.0, 0.7, 1.0])
    np.testing.assert_allclose(graded_reward(found, 0.2, 2.0), [0.0, 1.0, 2.2])


@pytest.mark.parametrize(("progress", "lengths"), [(0.0, {1}), (0.34, {1, 2}), (0.99, {1, 2, 3})])
def test_a_stage_adds_longer_episodes(progress: float, lengths: set[int]) -> None:
    pool = Pool([*long_episodes(6, 1), *long_episodes(6, 2), *long_episodes(6, 3)])
    attempts = CraftGUI(env=tiny(), **SMALL).tried(pool, np.arange(18), progress)
    assert {int((pool.episode == i).sum()) for i in pool.episode[attempts.steps]} == lengths


def test_without_stages_and_grades_it_learns_from_all_by_all_or_nothing() -> None:
    pool = Pool([*long_episodes(6, 1), *long_episodes(6, 3)])
    learner = CraftGUI(env=tiny(), **SMALL, stages=1, graded=False)
    attempts = learner.tried(pool, np.arange(12), 0.0)
    assert set(pool.episode[attempts.steps]) == set(range(12))


def test_a_text_that_is_partly_right_earns_its_part() -> None:
    one = episodes(1, right=1.0)[0]
    one.observations["goal"][:, :3] = (7, 8, 9)
    one.actions[:] = [7, 0, 0, 0, 1]  # type the first two words
    pool = Pool([one])
    spans = np.array([[7, 0, 0, 0, 1], [7, 0, 0, 0, 0], [7, 0, 0, 2, 0], [9, 0, 0, 0, 0]])
    for graded, wanted in ((True, [1.0, 0.5 + 0.5 * 2 / 3, 0.5, 0.0]), (False, [1.0, 0.5, 0.5, 0.0])):
        learner = CraftGUI(env=tiny(), **{**SMALL, "batch_size": 1}, group_size=4, rollout_updates=1, graded=graded)
        _, log_prob = learner.attempt(pool, np.array([0]))
        learner.attempt = lambda _, steps, log=log_prob: (_tensor(spans), log)  # type: ignore[method-assign, misc]
        rewards = np.array(wanted)
        found = learner.tried(pool, np.array([0]), 0.0).advantages[0]
        np.testing.assert_allclose(found, (rewards - rewards.mean()) / rewards.std(), rtol=1e-4)


def _tensor(actions: object) -> object:
    import torch as th

    return th.as_tensor(actions)[None]


def test_it_learns_what_was_recorded() -> None:
    learner, unseen = CraftGUI(env=tiny(), **{**SMALL, "learning_rate": 2e-3}), episodes(150, right=1.0, seed=7)
    data = [*long_episodes(200, 1), *long_episodes(100, 2, seed=3), *long_episodes(70, 3, seed=4)]
    learner.clone(data, 3)
    began = step_accuracy(learner, unseen)
    learner.learn_offline(data, 24)
    assert step_accuracy(learner, unseen) > max(0.9, began + 0.05)
