"""What benchmarks.evaluate says to what it cannot evaluate."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import PPO

from tiltyard import benchmarks


@pytest.mark.parametrize(
    ("agent", "env", "episodes", "error", "says"),
    [
        ("random", gymnasium.make("CartPole-v1"), 2, TypeError, "an environment is named by its id here"),
        (PPO, "CartPole-v1", 2, TypeError, "PPO is a class: evaluate an agent made of it"),
        (np.zeros(3), "CartPole-v1", 2, TypeError, r"has SB3's predict, or is \"expert\" or \"random\", got array"),
        (lambda seen: None, "CartPole-v1", 2, TypeError, "returned None for an observation"),
        (None, "CartPole-v1", 2, TypeError, 'has SB3\'s predict, or is "expert" or "random", got None'),
        ("random", "CartPole-v1", 2.5, ValueError, "a whole number of at least 1 episode, got 2.5"),
        ("random", "CartPole-v1", True, ValueError, "a whole number of at least 1 episode, got True"),
        ("random", "CartPole-v1", 0, ValueError, "a whole number of at least 1 episode, got 0"),
    ],
)
def test_arguments_are_looked_at_first(agent: Any, env: Any, episodes: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        benchmarks.evaluate(agent, env, episodes=episodes)


class One:
    """Gives one action, however many environments there are."""

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        return np.ones(1, np.int64), state


def test_a_number_of_actions_other_than_that_of_environments_is_named() -> None:
    with pytest.raises(ValueError, match="1 actions for 2 environments: give each one"):
        benchmarks.evaluate(One(), "CartPole-v1", episodes=2)


def test_a_split_is_looked_at_where_there_is_none_and_seeds_are_whole() -> None:
    with pytest.raises(ValueError, match="unknown split 'tets'; did you mean 'test'"):
        benchmarks.evaluate("random", "CartPole-v1", episodes=2, split="tets")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="seed must be a whole number, got 0.5"):
        benchmarks.evaluate("random", "CartPole-v1", episodes=2, seeds=[0.5, 2])  # type: ignore[list-item]


def test_numbers_of_episodes_and_seeds_may_be_numpys() -> None:
    seeds = np.array([3, 4])
    assert benchmarks.evaluate("random", "CartPole-v1", episodes=np.int64(2), seeds=seeds) == benchmarks.evaluate(  # type: ignore[arg-type]
        "random", "CartPole-v1", episodes=2, seeds=[3, 4]
    )


class Unpaid(gymnasium.RewardWrapper):
    """Rewards that are no numbers."""

    def reward(self, reward):
        return float("nan")


def test_returns_that_are_no_numbers_are_no_scores() -> None:
    gymnasium.register("unpaid/CartPole-v1", lambda: Unpaid(gymnasium.make("CartPole-v1")), max_episode_steps=20)
    with pytest.raises(ValueError, match="the return of an episode is nan, which can be compared with no other"):
        benchmarks.evaluate("random", "unpaid/CartPole-v1", episodes=2)
