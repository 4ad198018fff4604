"""GRPO on phones: groups, its loss by hand, and a short run that improves."""

import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch as th

from tiltyard.agents.control.phone_grpo import PhoneGRPO, clipped_loss, group_advantages

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, success, tiny


def test_advantages_by_hand() -> None:
    # A group of outcomes 1, 0, 0, 0: mean 1/4, deviation sqrt(3)/4; its success is 3 / sqrt(3) above.
    found = group_advantages(np.array([1.0, 0, 0, 0, 1, 1, 1, 1]), 4)
    np.testing.assert_allclose(found, [3**0.5, -(3**-0.5), -(3**-0.5), -(3**-0.5), 0, 0, 0, 0], rtol=1e-4)


def test_the_clipped_loss_by_hand() -> None:
    # Ratios 1.5 and 1.5 with advantages 1 and -1: at most 1.2 for the good one, 1.5 for the bad one.
    found = clipped_loss(th.log(th.tensor([1.5, 1.5])), th.zeros(2), th.tensor([1.0, -1.0]), 0.2)
    np.testing.assert_allclose(found.numpy(), [-1.2, 1.5], rtol=1e-6)


def test_a_group_has_one_problem() -> None:
    learner = PhoneGRPO(env=tiny(8), group_size=4, **SMALL)
    learner.learn(8)
    goals = [one.observations["elements"][0, :3, 12].tolist() for one in learner.kept]  # the words on the screen
    assert len(goals) == 8
    assert all(goal == goals[0] for goal in goals[:4])
    assert all(goal == goals[4] for goal in goals[4:])
    assert goals[0] != goals[4]


@pytest.mark.slow  # DigiRL's, of the same loop, is in the default suite
def test_it_becomes_better_than_what_it_began_with() -> None:
    learner = PhoneGRPO(env=tiny(32), group_size=8, **{**SMALL, "learning_rate": 1e-3})
    learner.clone(episodes(60, right=0.4), 6)
    began = success(learner)
    learner.learn(600)
    assert success(learner) > max(0.75, began + 0.1)


def test_groups_must_fill_the_environments() -> None:
    with pytest.raises(ValueError, match="6 are no groups of 4"):
        PhoneGRPO(env=tiny(6), group_size=4, **SMALL)


def test_it_learns_from_no_data() -> None:
    with pytest.raises(TypeError, match="begin with clone"):
        PhoneGRPO(env=tiny(), group_size=4, **SMALL).learn_offline(episodes(8, right=1.0), 1)


def test_the_phone_itself() -> None:
    env = gymnasium.make_vec("tiltyard/Phone-v0", 4, "vector_entry_point", observation="elements")
    learner = PhoneGRPO(env=env, group_size=2, **SMALL)
    learner.learn(4)
    goals = [one.observations["goal"][0].tolist() for one in learner.kept]
    assert goals[0] == goals[1]
    assert goals[2] == goals[3]
    assert goals[0] != goals[2]
