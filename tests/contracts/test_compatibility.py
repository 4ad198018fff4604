"""What docs/compatibility.md says of Gymnasium's wrappers, SB3 and Minari; the other tools are not installed here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import gymnasium.wrappers.vector as vector_wrappers
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

from tiltyard.wrappers.spaces import sb3_env, to_sb3

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
MODES = ("SameStep", "NextStep", "Disabled")
ANY: dict[str, Callable[[VectorEnv[Any, Any, Any]], Any]] = {
    "RecordEpisodeStatistics": vector_wrappers.RecordEpisodeStatistics,
    "NormalizeReward": vector_wrappers.NormalizeReward,
    "DictInfoToList": vector_wrappers.DictInfoToList,
    "ClipAction": vector_wrappers.ClipAction,
    "RescaleAction": lambda env: vector_wrappers.RescaleAction(env, -2, 2),
    "ClipReward": lambda env: vector_wrappers.ClipReward(env, -1, 1),
}
NOT_SAME_STEP: dict[str, Callable[[VectorEnv[Any, Any, Any]], Any]] = {
    "FlattenObservation": vector_wrappers.FlattenObservation,
    "DtypeObservation": lambda env: vector_wrappers.DtypeObservation(env, np.float32),
    "RescaleObservation": lambda env: vector_wrappers.RescaleObservation(env, 0, 1),
    "TransformObservation": lambda env: vector_wrappers.TransformObservation(env, lambda seen: seen),
}


def made(mode: str) -> VectorEnv[Any, Any, Any]:
    return gymnasium.make_vec(
        "tiltyard/Highway-v0", 3, "vector_entry_point", autoreset_mode=mode, max_episode_steps=4, invalid_action="clip"
    )


def ends(env: Any, mode: str) -> int:
    """Episodes that end in 12 steps."""
    env.reset(seed=0)
    env.action_space.seed(0)
    count = 0
    for _ in range(12):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        done = terminated | truncated
        count += int(done.sum())
        if mode == "Disabled" and done.any():
            env.reset(options={"reset_mask": done})
    return count


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ANY)
def test_wrappers_of_rewards_actions_and_statistics_take_every_mode(name: str, mode: str) -> None:
    assert f"`{name}`" in PAGE.read_text()
    assert ends(ANY[name](made(mode)), mode) >= 6


@pytest.mark.parametrize("name", NOT_SAME_STEP)
def test_wrappers_of_observations_refuse_same_step_and_take_the_others(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text()
    with pytest.raises(ValueError, match="NEXT_STEP or DISABLED"):
        NOT_SAME_STEP[name](made("SameStep"))
    for mode in ("NextStep", "Disabled"):
        assert ends(NOT_SAME_STEP[name](made(mode)), mode) >= 6


def test_normalised_observations_need_next_step() -> None:
    assert ends(vector_wrappers.NormalizeObservation(made("NextStep")), "NextStep") >= 6
    with pytest.raises(ValueError, match="NEXT_STEP"):
        vector_wrappers.NormalizeObservation(made("SameStep"))
    with pytest.raises(ValueError, match="NEXT_STEP"):
        ends(vector_wrappers.NormalizeObservation(made("Disabled")), "Disabled")


@pytest.mark.parametrize("mode", MODES)
def test_sb3_sees_the_same_in_every_mode(mode: str) -> None:
    ours, same = to_sb3(made(mode)), to_sb3(made("SameStep"))
    assert made(mode).metadata["autoreset_mode"] is AutoresetMode(mode)
    for env in (ours, same):
        env.seed(3)
    np.testing.assert_array_equal(ours.reset(), same.reset())
    rng = np.random.default_rng(0)
    for _ in range(9):
        actions = rng.uniform(-1, 1, (3, 2)).astype(np.float32)
        for got, expected in zip(ours.step(actions)[:3], same.step(actions)[:3], strict=True):
            np.testing.assert_array_equal(got, expected)


def test_recurrent_ppo_takes_text_by_an_extractor_that_counts_in_python() -> None:
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.torch_layers import FlattenExtractor

    class Flatten(FlattenExtractor):
        def __init__(self, observation_space: gymnasium.Space[Any]) -> None:
            super().__init__(observation_space)
            self._features_dim = int(self._features_dim)

    small = {"lstm_hidden_size": 8, "net_arch": [8]}
    settings: dict[str, Any] = {"n_steps": 2, "batch_size": 4, "n_epochs": 1}
    env = sb3_env("tiltyard/GuessMyCity-v0", 2, seed=0)
    with pytest.raises(TypeError, match="input_size should be of type int"):  # SB3's sum over nvec is NumPy's int64
        RecurrentPPO("MlpLstmPolicy", env, policy_kwargs=small, **settings)
    agent = RecurrentPPO("MlpLstmPolicy", env, policy_kwargs={**small, "features_extractor_class": Flatten}, **settings)
    assert agent.learn(4).num_timesteps == 4


@pytest.mark.parametrize("env_id", ["tiltyard/Countdown-v0", "tiltyard/Phone-v0"])
def test_minari_keeps_strings(env_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import minari
    from minari.data_collector import EpisodeBuffer

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    env = gymnasium.make(env_id)
    seen, actions, outcomes = [env.reset(seed=0)[0]], [], []
    while not (outcomes and outcomes[-1][1]):
        actions.append(env.unwrapped.expert().predict(seen[-1])[0])
        observation, *outcome, _ = env.step(actions[-1])
        seen.append(observation)
        outcomes.append(outcome)
    shown: Any = {key: [one[key] for one in seen] for key in seen[0]} if isinstance(seen[0], dict) else seen
    rewards, terminations, truncations = (list(column) for column in zip(*outcomes, strict=True))
    buffer = EpisodeBuffer(
        id=0,
        observations=shown,
        actions=actions,
        rewards=rewards,
        terminations=terminations,
        truncations=truncations,
    )
    minari.create_dataset_from_buffers("trial/strings-v0", [buffer], env=env)
    episode = minari.load_dataset("trial/strings-v0")[0]
    assert list(episode.actions) == actions
    kept = episode.observations if isinstance(shown, list) else episode.observations["tree"]
    assert list(kept) == (shown if isinstance(shown, list) else shown["tree"])
