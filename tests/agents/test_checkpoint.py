import json
import math
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import stable_baselines3 as sb3
import torch as th
from gymnasium import spaces
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.utils import LinearSchedule, set_random_seed

from tiltyard.agents import DQN, PPO, SAC, TD3, PolicyGradient, make
from tiltyard.agents.checkpoint import read_checkpoint
from tiltyard.agents.control.updates import ACTIVATIONS
from tiltyard.agents.encoding import decode, encode
from tiltyard.agents.models.pretrained import FOLDER
from tiltyard.wrappers.components import Reward

SMALL: dict[str, Any] = {"seed": 0}
OFF: dict[str, Any] = SMALL | {"learning_starts": 10, "batch_size": 8, "buffer_size": 200}
AGENTS: dict[str, tuple[type[Any], str, dict[str, Any]]] = {
    "ppo": (PPO, "CartPole-v1", SMALL | {"n_steps": 16, "batch_size": 8, "n_epochs": 2}),
    "sac": (SAC, "Pendulum-v1", OFF),
    "td3": (TD3, "Pendulum-v1", OFF),
    "dqn": (DQN, "CartPole-v1", OFF | {"train_freq": 2}),
}


def trained(name: str, steps: int = 32) -> Any:
    agent_class, env_id, settings = AGENTS[name]
    return agent_class("MlpPolicy", env_id, policy_kwargs={"net_arch": [8]}, **settings).learn(steps)


@pytest.fixture
def sac(tmp_path: Path) -> Path:
    path = tmp_path / "agent.zip"
    trained("sac").save(path)
    return path


@pytest.mark.parametrize("name", AGENTS)
def test_a_loaded_agent_predicts_bit_for_bit_the_same(name: str, tmp_path: Path) -> None:
    agent = trained(name)
    agent.save(tmp_path / "agent")
    loaded = type(agent).load(tmp_path / "agent")
    observations = np.stack([agent.observation_space.sample() for _ in range(20)])
    np.testing.assert_array_equal(
        agent.predict(observations, deterministic=True)[0], loaded.predict(observations, deterministic=True)[0]
    )
    assert loaded.num_timesteps == agent.num_timesteps
    for key, parameter in agent.policy.state_dict().items():
        assert th.equal(parameter, loaded.policy.state_dict()[key]), key


@pytest.mark.parametrize("name", ["sac", "td3", "dqn"])
def test_training_goes_on_as_if_never_saved(name: str, tmp_path: Path) -> None:
    agent = trained(name)
    agent.save(tmp_path / "agent")
    agent.save_replay_buffer(tmp_path / "buffer")
    loaded = type(agent).load(tmp_path / "agent", env=AGENTS[name][1])
    loaded.load_replay_buffer(tmp_path / "buffer")
    loaded.set_logger(agent.logger)
    for each in (agent, loaded):
        set_random_seed(7)
        each.train(gradient_steps=3, batch_size=8)
    for key, parameter in agent.policy.state_dict().items():
        assert th.equal(parameter, loaded.policy.state_dict()[key]), key
    loaded.learn(8, reset_num_timesteps=False)
    assert loaded.num_timesteps == 40


def test_ppo_goes_on_as_if_never_saved(tmp_path: Path) -> None:
    agent = trained("ppo")
    agent.save(tmp_path / "agent")
    loaded = PPO.load(tmp_path / "agent", env="CartPole-v1")
    for each in (agent, loaded):
        each._last_obs = None  # both begin with a reset of the environment seeded alike
        each.env.seed(3)
        each.set_random_seed(3)
        each.learn(32, reset_num_timesteps=False)
    for key, parameter in agent.policy.state_dict().items():
        assert th.equal(parameter, loaded.policy.state_dict()[key]), key


def test_settings_come_back_by_hand(tmp_path: Path) -> None:
    agent = TD3(
        "MlpPolicy",
        "Pendulum-v1",
        learning_rate=LinearSchedule(1e-3, 0.0, 0.5),
        action_noise=NormalActionNoise(np.zeros(1), np.full(1, 0.2)),
        train_freq=(1, "episode"),
        policy_kwargs={"net_arch": {"pi": [4], "qf": [5]}, "activation_fn": th.nn.GELU},
    )
    agent.save(tmp_path / "agent")
    with zipfile.ZipFile(tmp_path / "agent.zip") as archive:
        settings = json.loads(archive.read("settings.json"))["settings"]
    assert settings["policy_kwargs"]["activation_fn"] == {"$class": "torch.nn.modules.activation:GELU"}
    loaded = TD3.load(tmp_path / "agent")
    assert loaded.lr_schedule(0.75) == pytest.approx(5e-4)  # a quarter done of the half in which it falls to 0
    assert loaded.action_noise._sigma.tolist() == [0.2]
    assert loaded.train_freq == agent.train_freq
    assert loaded.policy.actor.net.plan.activation is ACTIVATIONS[th.nn.GELU]


@pytest.mark.filterwarnings("error")
def test_a_linear_function_as_schedule_is_saved_by_name(tmp_path: Path) -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", learning_rate=lambda left: 0.002 + 0.01 * left, **OFF)
    agent._current_progress_remaining = 0.5
    agent.save(tmp_path / "agent")
    with zipfile.ZipFile(tmp_path / "agent.zip") as archive:
        said = json.loads(archive.read("settings.json"))["settings"]["learning_rate"]
    assert said.pop("$schedule") == "LinearSchedule"
    assert said == pytest.approx({"start": 0.012, "end": 0.002, "end_fraction": 1.0})
    loaded = SAC.load(tmp_path / "agent")
    assert [loaded.lr_schedule(left) for left in (1.0, 0.25, 0.0)] == pytest.approx([0.012, 0.0045, 0.002])
    assert SAC.load(tmp_path / "agent", learning_rate=0.02).learning_rate == 0.02


@pytest.mark.filterwarnings("error")
def test_other_functions_as_schedules_are_saved_as_tables(tmp_path: Path) -> None:
    def cosine(left: float) -> float:
        return 1e-3 * (1 - math.cos(math.pi * left)) / 2

    agent = PPO("MlpPolicy", "CartPole-v1", learning_rate=cosine, clip_range=lambda left: 0.3, n_steps=8, batch_size=8)
    agent.save(tmp_path / "agent")
    loaded = PPO.load(tmp_path / "agent")
    for left in (0.0, 0.123, 0.5, 0.77, 1.0):
        assert loaded.lr_schedule(left) == pytest.approx(cosine(left), abs=1e-8)
    assert loaded.learning_rate.__name__ == "cosine"
    assert loaded.clip_range(0.4) == 0.3
    loaded.save(tmp_path / "again")
    assert PPO.load(tmp_path / "again").learning_rate == loaded.learning_rate


def test_a_function_that_a_table_cannot_follow_says_so(tmp_path: Path) -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", learning_rate=lambda left: 1e-3 if left > 1 / 3 else 1e-4, **OFF)
    with pytest.warns(UserWarning, match="learning_rate is saved as 1025 of its values, .* off by up to 0.00045"):
        agent.save(tmp_path / "agent")
    agent.learning_rate = lambda left: "small"
    with pytest.raises(TypeError, match="learning_rate is a function that does not return a finite number"):
        agent.save(tmp_path / "agent")


@pytest.mark.parametrize(
    "table",
    [
        {"values": [1.0], "name": "f"},
        {"values": [1.0, "2"], "name": "f"},
        {"values": [1.0, float("nan")], "name": "f"},
        {"values": [1.0, 2.0], "name": 3},
        {"values": [0.0] * (2**16 + 1), "name": "f"},
    ],
    ids=["short", "words", "nan", "name", "long"],
)
def test_tables_of_functions_are_of_numbers(table: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="table of a function"):
        decode({"$schedule": "TableSchedule", **table})


def test_settings_that_are_code_are_refused_at_saving(tmp_path: Path) -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", **OFF | {"replay_buffer_kwargs": {}})
    agent._given["replay_buffer_kwargs"] = {"made_by": object()}
    with pytest.raises(TypeError, match=r"replay_buffer_kwargs\['made_by'\].*without storing code"):
        agent.save(tmp_path / "agent")
    assert list(tmp_path.iterdir()) == []


class Bomb:
    """Runs code when unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> Any:
        return Path.touch, (self.witness,)


def test_loading_runs_no_code_from_the_file(tmp_path: Path) -> None:
    witness = tmp_path / "ran"
    bare, zipped = tmp_path / "bare.zip", tmp_path / "zipped.zip"
    bare.write_bytes(pickle.dumps(Bomb(witness)))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("settings.json", pickle.dumps(Bomb(witness)))
        archive.writestr("weights.safetensors", pickle.dumps(Bomb(witness)))
    for path in (bare, zipped):
        with pytest.raises(ValueError, match="not a Tiltyard checkpoint"):
            SAC.load(path)
    trained("sac").save_replay_buffer(tmp_path / "buffer")
    np.savez(tmp_path / "bomb.npz", observations=np.array([Bomb(witness)], dtype=object))
    with pytest.raises(ValueError, match="not a replay buffer"):
        trained("sac").load_replay_buffer(tmp_path / "bomb.npz")
    pickle.loads(bare.read_bytes())  # the bomb is real
    assert witness.exists()


@pytest.mark.parametrize(
    "planted",
    [
        {"$class": "os:system"},
        {"$class": "torch.nn.modules.activation:torch"},
        {"$class": "stable_baselines3.common.utils:os"},
        {"$schedule": "os", "start": 0},
        {"$noise": "eval"},
        {"$space": "Space"},
        {"$new": 1},
    ],
)
def test_names_outside_the_fixed_lists_are_refused(planted: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="checkpoint"):
        decode(planted)


def test_files_of_sb3_are_refused_with_the_reason(tmp_path: Path) -> None:
    sb3.SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [8]}).save(tmp_path / "theirs")
    with pytest.raises(ValueError, match="saved by Stable-Baselines3 with pickle"):
        SAC.load(tmp_path / "theirs")


def test_wrong_class_space_file_and_keyword_each_say_so(sac: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds a SAC, not a TD3: use SAC.load"):
        TD3.load(sac)
    with pytest.raises(ValueError, match="trained with observations Box"):
        SAC.load(sac, env="MountainCarContinuous-v0")
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        SAC.load(tmp_path / "nowhere")
    with pytest.raises(TypeError, match="unknown keyword 'gama'; did you mean 'gamma'"):
        SAC.load(sac, gama=0.9)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.7, 0.99])
def test_a_truncated_file_says_so(sac: Path, keep: float) -> None:
    whole = sac.read_bytes()
    sac.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(ValueError, match="not a Tiltyard checkpoint, or is damaged"):
        SAC.load(sac)


def test_a_base_checkpoint_is_no_agent_and_says_what_it_is_for() -> None:
    with pytest.raises(ValueError, match=r"holds weights, not an agent: .* --set policy=.*maze-base-2\.safetensors"):
        read_checkpoint(FOLDER / "maze-base-2.safetensors")


def test_a_flipped_bit_says_so(sac: Path) -> None:
    whole = bytearray(sac.read_bytes())
    whole[len(whole) // 2] ^= 1
    sac.write_bytes(bytes(whole))
    with pytest.raises(ValueError, match="damaged"):
        SAC.load(sac)


def test_a_setting_changed_to_what_the_constructor_does_not_take_is_kept_as_it_was_made(tmp_path: Path) -> None:
    agent = PPO("MlpPolicy", "CartPole-v1", ent_coef=0.05, **AGENTS["ppo"][2])
    agent.ent_coef, agent.vf_coef = -0.01, 0.25
    with pytest.warns(UserWarning, match="PPO: ent_coef must be .* got -0.01: the checkpoint keeps the value"):
        agent.save(tmp_path / "agent")
    loaded = PPO.load(tmp_path / "agent")
    assert (loaded.ent_coef, loaded.vf_coef) == (0.05, 0.25)


def test_parameters_of_other_networks_are_not_called_damaged_alone(sac: Path) -> None:
    other = SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [4]})
    with pytest.raises(ValueError, match="or is of an agent with other networks"):
        other.set_parameters(sac)


def test_parameters_of_another_agent_are_refused_before_any_is_set(sac: Path) -> None:
    agent, other = SAC.load(sac), TD3("MlpPolicy", "Pendulum-v1", buffer_size=100)
    wide = SAC("MlpPolicy", "Pendulum-v1", buffer_size=100, policy_kwargs={"net_arch": [4]})
    before = {name: tensor.clone() for name, tensor in agent.policy.state_dict().items()}
    for parameters, says in (
        (other.get_parameters(), "it is of another network than this ActorCriticPolicy: "),
        ({"policy": {}}, "it is of another network than this ActorCriticPolicy: it has no "),
        (wide.get_parameters(), r"it is of another network than this ActorCriticPolicy: its .* is \[.*\], not \["),
        ({"policy": before | {"more": th.zeros(1)}}, "its more is none of this one's"),
    ):
        with pytest.raises(ValueError, match=says) as told:
            agent.set_parameters(parameters)
        assert "\n" not in str(told.value)
    assert all(tensor.equal(before[name]) for name, tensor in agent.policy.state_dict().items())
    agent.set_parameters({"policy": {}}, exact_match=False)


def test_a_missing_replay_buffer_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no replay buffer at .*nowhere"):
        trained("sac").load_replay_buffer(tmp_path / "nowhere")


def test_a_failed_save_leaves_the_old_file(sac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sac.read_bytes()

    def full(*args: Any) -> None:
        raise OSError("No space left on device")

    agent = trained("sac")
    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match="No space"):
        agent.save(sac)
    assert sac.read_bytes() == before
    assert list(sac.parent.iterdir()) == [sac]


def test_an_agent_without_environment_predicts_and_takes_one_later(sac: Path) -> None:
    agent = SAC.load(sac)
    assert agent.env is None
    agent.set_env(gymnasium.make("Pendulum-v1"))
    agent.learn(12)


def test_parameters_are_read_from_a_file_in_place(sac: Path) -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", policy_kwargs={"net_arch": [8]}, **OFF)
    agent.set_parameters(sac)
    stored = read_checkpoint(sac)[1]
    assert th.equal(agent.policy.state_dict()["actor.net.weights.0"], stored["policy/actor.net.weights.0"])


def test_a_full_replay_buffer_is_saved_oldest_first(tmp_path: Path) -> None:
    agent = SAC("MlpPolicy", "Pendulum-v1", **OFF | {"buffer_size": 12, "learning_starts": 100}).learn(20)
    agent.save_replay_buffer(tmp_path / "buffer")
    larger = SAC("MlpPolicy", "Pendulum-v1", **OFF | {"buffer_size": 50})
    larger.load_replay_buffer(tmp_path / "buffer")
    assert (larger.replay_buffer.pos, larger.replay_buffer.full) == (12, False)
    np.testing.assert_array_equal(larger.replay_buffer.rewards[0], agent.replay_buffer.rewards[20 % 12])
    smaller = SAC("MlpPolicy", "Pendulum-v1", **OFF | {"buffer_size": 5})
    with pytest.raises(ValueError, match="buffer_size at least as large"):
        smaller.load_replay_buffer(tmp_path / "buffer")


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-np.inf, np.inf, (3,), np.float64),
        spaces.Box(np.array([-1, 0.1], np.float32), np.array([1, np.inf], np.float32)),
        spaces.Box(0, 255, (4, 4, 3), np.uint8),
        spaces.Discrete(5, start=2),
        spaces.MultiDiscrete([2, 3]),
        spaces.MultiBinary([2, 2]),
        spaces.Dict(goal=spaces.Text(9, min_length=0, charset="abc"), pair=spaces.Tuple((spaces.Discrete(2),))),
    ],
    ids=lambda space: type(space).__name__,
)
def test_spaces_survive_json(space: spaces.Space[Any]) -> None:
    assert decode(json.loads(json.dumps(encode(space)))) == space


def test_an_agent_is_loaded_for_an_id_in_the_form_that_it_was_trained_in(tmp_path: Path) -> None:
    for name, env in (("digirl", "tiltyard/Phone-v1"), ("ppo", "tiltyard/Highway-v1")):
        agent: Any = make(name, env, n_envs=2, seed=0, device="cpu")
        agent.save(tmp_path / name)
        loaded = type(agent).load(tmp_path / name, env, device="cpu")
        assert loaded.env.num_envs == 2
        assert loaded.observation_space == agent.observation_space
        assert loaded.action_space == agent.action_space


def test_settings_that_were_left_out_are_asked_for(tmp_path: Path) -> None:
    class Own(Reward):
        def shape(self, episodes: Any, context: Any) -> Any:
            return episodes.reward * 2

    small: dict[str, Any] = {
        "policy": "transformer-100k",
        "group_size": 2,
        "prompts_per_batch": 2,
        "max_answer_tokens": 4,
    }
    agent = PolicyGradient(env="tiltyard/ChainSum-v0", rewards=Own(), device="cpu", **small)
    agent.save(tmp_path / "own", exclude=["rewards", "data"])
    with pytest.warns(UserWarning, match=r"was saved without some of its settings: give load\(\) rewards=$"):
        PolicyGradient.load(tmp_path / "own", device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = PolicyGradient.load(tmp_path / "own", device="cpu", rewards=Own())
        PolicyGradient.load(tmp_path / "own", device="cpu", rewards=None)
    assert isinstance(loaded.rewards[0], Own)
