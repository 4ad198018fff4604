"""Learning from a dataset: what is refused, what an interruption leaves, and what a checkpoint does not hold."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tiltyard.agents import IQL, SAC
from tiltyard.agents.control.offline import check_updates

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [8]}, "batch_size": 8, "learning_starts": 5, "seed": 0}


def normalised(match: Any, **how: Any) -> VecNormalize:
    return VecNormalize(DummyVecEnv([match.env]), **how)


@pytest.mark.parametrize("agent", [SAC, IQL])
def test_a_dataset_and_steps_that_are_normalised_are_not_mixed(agent: Any, match: Any) -> None:
    made = agent("MlpPolicy", normalised(match), **SMALL)
    with pytest.raises(
        TypeError, match="VecNormalize would normalise the environment's steps alone: take VecNormalize"
    ):
        made.learn_offline(match.data(), 0)
    assert made.demonstrations is None
    later = agent("MlpPolicy", match.env(), **SMALL).learn_offline(match.data(), 0)
    later.set_env(normalised(match))
    with pytest.raises(TypeError, match="take VecNormalize off the environment"):
        later.learn(10)


def test_a_vec_normalize_that_normalises_nothing_is_taken(match: Any) -> None:
    made = IQL("MlpPolicy", normalised(match, norm_obs=False, norm_reward=False), **SMALL)
    assert made.learn_offline(match.data(), 2).learn(6).num_timesteps == 6


class Stop(BaseCallback):
    def _on_step(self) -> bool:
        if self.num_timesteps == 7:
            raise KeyboardInterrupt
        return True


def test_an_interruption_leaves_the_steps_that_were_taken(match: Any) -> None:
    agent = IQL("MlpPolicy", match.env(), **SMALL).learn(10)
    seen = agent._last_obs
    with pytest.raises(KeyboardInterrupt):
        agent.learn_offline(match.data(), 50, callback=Stop())
    assert agent.num_timesteps == 10
    assert agent._last_obs is seen
    assert agent.learn(5, reset_num_timesteps=False).num_timesteps == 15


def test_an_agent_interrupted_before_its_first_step_begins_with_a_reset(match: Any) -> None:
    agent = IQL("MlpPolicy", match.env(), **SMALL)
    with pytest.raises(KeyboardInterrupt):
        agent.learn_offline(match.data(), 50, callback=Stop())
    assert agent._last_obs is None
    assert agent.learn(5).num_timesteps == 5


@pytest.mark.parametrize("steps", [2, 2.0])
def test_whole_numbers_of_updates_may_be_written_as_floats(steps: Any, match: Any) -> None:
    assert IQL("MlpPolicy", match.env(), **SMALL).learn_offline(match.data(), steps)._n_updates == 2


@pytest.mark.parametrize("steps", [-1, 1.5, float("nan"), "3", None, True])
def test_other_numbers_of_updates_are_refused(steps: Any) -> None:
    with pytest.raises(ValueError, match="gradient_steps must be an integer of at least 0, got"):
        check_updates(steps)


def test_an_agent_loaded_without_its_dataset_says_so_once(match: Any, tmp_path: Path) -> None:
    IQL("MlpPolicy", match.env(), **SMALL).learn_offline(match.data(), 2).save(tmp_path / "iql")
    agent = IQL.load(tmp_path / "iql", env=match.env())
    with pytest.warns(UserWarning, match=r"goes on from its own steps alone: call learn_offline\(dataset, 0\)"):
        agent.learn(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.learn(6)


@pytest.mark.parametrize("given", [True, False])
def test_an_agent_given_its_dataset_again_or_never_taught_by_one_is_silent(
    given: bool, match: Any, tmp_path: Path
) -> None:
    agent = IQL("MlpPolicy", match.env(), **SMALL)
    (agent.learn_offline(match.data(), 2) if given else agent.learn(6)).save(tmp_path / "iql")
    loaded = IQL.load(tmp_path / "iql", env=match.env())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (loaded.learn_offline(match.data(), 0) if given else loaded).learn(6)
