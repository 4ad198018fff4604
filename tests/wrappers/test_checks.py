"""Rewards are one number per environment when they arrive, settings are numbers, or the error says what they were."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit
from gymnasium.wrappers.vector import TransformReward

from tiltyard.wrappers import (
    VLMRL,
    AutonomousPractice,
    HybridReward,
    LapPractice,
    PotentialShaping,
    ShapedDriving,
    VectorPotentialShaping,
)
from tiltyard.wrappers.checks import check_whole, own_rewards, step_checked
from tiltyard.wrappers.late import Late


class Pays(gymnasium.RewardWrapper):
    def __init__(self, reward):
        super().__init__(gymnasium.make("CartPole-v1"))
        self.paid = reward

    def reward(self, reward):
        return self.paid


def vector(reward=1.0) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: Pays(reward)] * 3, autoreset_mode=AutoresetMode.SAME_STEP)


def stepped(env) -> np.ndarray:
    env.reset(seed=0)
    return step_checked(env, np.zeros(3, np.int64))[1]


def test_rewards_arrive_in_single_precision():
    rewards = stepped(TransformReward(vector(), lambda reward: list(reward * 0.1)))
    assert rewards.dtype == np.float32
    assert rewards.tolist() == pytest.approx([0.1] * 3)


def test_rewards_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"one number for each of the 3 environments, got the shape \(3, 2\)"):
        stepped(TransformReward(vector(), lambda reward: np.stack([reward, reward], 1)))


def test_an_environment_whose_reward_is_no_number_is_refused_and_other_errors_pass():
    with pytest.raises(ValueError, match="an environment's reward is not one number"):
        stepped(vector(np.ones(2)))
    env = vector()
    env.reset(seed=0)
    with pytest.raises(AssertionError, match="invalid"):
        step_checked(env, np.full(3, 7))


def shaped(**settings):
    return PotentialShaping(gymnasium.make("CartPole-v1"), lambda observation: 0.0, **settings)


def all_shaped(**settings):
    return VectorPotentialShaping(vector(), lambda observations: np.zeros(3), **settings)


def practised(**settings):
    return AutonomousPractice(gymnasium.make("CartPole-v1"), **settings)


def laps(**settings):
    return LapPractice(gymnasium.make("tiltyard/RaceTrack-v0", observation="vector"), **settings)


def late(**settings):
    return Late(lambda questions: questions, **{"delay": 1, **settings})


def phone(**settings):
    return HybridReward(gymnasium.make("tiltyard/Phone-v0"), **settings)


def driven(wrapper):
    return lambda **settings: wrapper(gymnasium.make("tiltyard/Town-v0", observation="vector"), **settings)


@pytest.mark.parametrize("bad", ["x", None, [1.0]])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (shaped, "gamma"),
        (shaped, "weight"),
        (all_shaped, "gamma"),
        (phone, "idle"),
        (laps, "pause"),
        (late, "delay"),
        (driven(ShapedDriving), "speed"),
        (driven(VLMRL), "target"),
        (driven(VLMRL), "penalty"),
    ],
)
def test_a_setting_that_is_no_number_is_named(make, name, bad):
    with pytest.raises(TypeError, match=f"{name} must be a (whole )?number, got"):
        make(**{name: bad})


@pytest.mark.parametrize(
    ("make", "setting", "why"),
    [
        (laps, {"pause": float("nan")}, "back, pause and penalty are finite and at least 0, got 3.0, nan"),
        (late, {"delay": float("nan")}, "delay must be a whole number, got nan"),
        (practised, {"patience": 2.5}, "patience must be a whole number, got 2.5"),
        (driven(VLMRL), {"span": [1]}, r"the span of contrasts is two growing numbers, got \[1\]"),
        (
            driven(VLMRL),
            {"encoder": 3, "span": (0.0, 1.0)},
            "an encoder has the methods pictures and words, int has not",
        ),
        (driven(VLMRL), {"span": 0.3}, "the span of contrasts is two growing numbers, got 0.3"),
        (
            driven(VLMRL),
            {"goals": "clear road"},
            "goals are two texts, what is wanted and what is not",
        ),
    ],
)
def test_numbers_that_would_be_nonsense_are_refused(make, setting, why):
    with pytest.raises((TypeError, ValueError), match=why):
        make(**setting)


def test_numbers_of_numpy_are_numbers():
    assert shaped(gamma=np.float32(0.5)).gamma == 0.5
    check_whole(steps=np.int64(3))


def test_the_environments_own_reward_is_told_through_a_stack_of_reward_wrappers():
    alone, scene = (gymnasium.make("tiltyard/RaceTrack-v0") for _ in range(2))
    stacked = PotentialShaping(ShapedDriving(scene), lambda observation: 0.0)
    for env in (alone, stacked):
        env.reset(seed=0)
    for _ in range(3):
        action = np.array([1.0, 0.1], np.float32)
        _, reward, *_, info = stacked.step(action)
        assert info["true_reward"] == alone.step(action)[1] != reward


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_tells_them_through_a_stack_too_also_where_episodes_end(mode):
    def one():
        return PotentialShaping(TimeLimit(Pays(1.0), 3), lambda observation: float(observation[0]), gamma=1.0)

    env = VectorPotentialShaping(SyncVectorEnv([one] * 2, autoreset_mode=mode), lambda seen: 0.0 * seen[:, 0])
    env.reset(seed=0)
    told = [env.step(np.zeros(2, np.int64))[4]["true_reward"].tolist() for _ in range(3)]
    assert told == [[1.0, 1.0]] * 3
    if mode == AutoresetMode.NEXT_STEP:
        assert env.step(np.zeros(2, np.int64))[4]["true_reward"].tolist() == [0.0, 0.0]


def test_own_rewards_by_hand():
    mask = np.array([True, False, False])
    final = {"true_reward": np.array([0.0, 5.0, 0.0]), "_true_reward": np.array([False, True, False])}
    info = {"true_reward": np.array([7.0, 0.0, 0.0]), "_true_reward": mask, "final_info": final, "_final_info": ~mask}
    assert own_rewards(info, np.array([1.0, 2.0, 3.0])).tolist() == [7.0, 5.0, 3.0]
    assert own_rewards({}, np.array([1.0])).tolist() == [1.0]
