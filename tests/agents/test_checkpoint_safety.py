"""Checkpoints by strangers: nothing runs, no file is touched, nothing large is allocated, and errors are sentences."""

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from stable_baselines3.her import HerReplayBuffer

from tiltyard.agents import DQN, PPO, SAC, TQC, PolicyGradient, archive
from tiltyard.agents.encoding import decode
from tiltyard.benchmarks.commands import load_agent

TINY: dict[str, Any] = {"seed": 0, "device": "cpu", "policy_kwargs": {"net_arch": [4]}, "batch_size": 4}
OFF: dict[str, Any] = {**TINY, "learning_starts": 4, "buffer_size": 64}
Settings = dict[str, Any]


@pytest.fixture
def sac(tmp_path: Path) -> Path:
    return saved(SAC("MlpPolicy", "Pendulum-v1", **OFF).learn(8), tmp_path)


@pytest.fixture
def ppo(tmp_path: Path) -> Path:
    return saved(PPO("MlpPolicy", "CartPole-v1", n_steps=8, n_epochs=1, **TINY).learn(8), tmp_path)


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Modules that somebody could have installed; tells which were imported."""
    names = ["stable_baselines3_evil", "evilmod"]
    (tmp_path / "site").mkdir()
    for name in names:
        (tmp_path / "site" / f"{name}.py").write_text("X = int\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path / "site")
    return lambda: [name for name in names if name in sys.modules]


def saved(agent: Any, folder: Path) -> Path:
    agent.save(folder / "agent.zip")
    return folder / "agent.zip"


def changed(path: Path, change: Callable[[Settings], object]) -> Path:
    """The checkpoint with other settings, and right checksums."""
    with zipfile.ZipFile(path) as file:
        settings, weights = json.loads(file.read("settings.json")), file.read("weights.safetensors")
    change(settings)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("settings.json", json.dumps(settings))
        file.writestr("weights.safetensors", weights)
    return path


def setting(**new: Any) -> Callable[[Settings], object]:
    return lambda stored: stored["settings"].update(new)


def refused(agent: Any, path: Path, message: str = "") -> None:
    """Loading ends in one sentence with the file's name, and ``message`` in it."""
    with pytest.raises(ValueError, match=message) as caught:
        agent.load(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_name_that_begins_like_a_librarys_is_not_imported(evil: Callable[[], list[str]], sac: Path) -> None:
    with pytest.raises(ValueError, match="names the class 'stable_baselines3_evil:X'"):
        decode({"$class": "stable_baselines3_evil:X"})
    spoilt = {"activation_fn": {"$class": "stable_baselines3_evil:X"}}
    refused(SAC, changed(sac, setting(policy_kwargs=spoilt)), "names the class 'stable_baselines3_evil:X'")
    assert evil() == []


def test_an_algorithm_is_no_features_extractor(evil: Callable[[], list[str]], ppo: Path) -> None:
    spoilt = {
        "features_extractor_class": {"$class": "stable_baselines3.ppo.ppo:PPO"},
        "features_extractor_kwargs": {"env": "evilmod:X-v0"},
    }
    refused(PPO, changed(ppo, setting(policy_kwargs=spoilt)), "names the class 'stable_baselines3.ppo.ppo:PPO'")
    assert evil() == []


@pytest.mark.parametrize("load", [PPO.load, load_agent], ids=["agent", "command"])
def test_a_file_of_the_users_is_not_opened(load: Callable[[Path], Any], ppo: Path, tmp_path: Path) -> None:
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")

    def plant(stored: Settings) -> None:
        stored["settings"]["policy_kwargs"] = {
            "features_extractor_class": {"$class": "stable_baselines3.common.logger:CSVOutputFormat"}
        }
        stored["spaces"][0] = str(victim)

    changed(ppo, plant)
    with pytest.raises(ValueError, match="where a space belongs"):
        load(ppo)
    assert victim.read_text() == "years of work"


@pytest.mark.parametrize("name", ["predict", "policy", "__dict__", "__class__", "logger"])
def test_counters_are_the_agents_own(name: str, sac: Path) -> None:
    refused(SAC, changed(sac, lambda stored: stored["counters"].update({name: 1})), f"the counter '{name}'")


@pytest.mark.parametrize("value", ["8", [8], None, float("nan"), 2**70, {"$class": "torch.nn.modules.linear:Identity"}])
def test_counters_are_numbers(value: Any, sac: Path) -> None:
    refused(SAC, changed(sac, lambda stored: stored["counters"].update(num_timesteps=value)), "damaged")


@pytest.mark.parametrize("name", ["env", "device", "tensorboard_log", "_init_setup_model", "gama", "__class__"])
def test_settings_are_the_constructors_and_never_where_it_works(name: str, sac: Path) -> None:
    refused(SAC, changed(sac, setting(**{name: "/tmp/there"})), f"it has '{name}' for SAC")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", "0.9"),
        ("gamma", float("nan")),
        ("learning_rate", {"$class": "torch.nn.modules.linear:Identity"}),
        ("learning_rate", {"$schedule": "FloatSchedule", "value_schedule": {"$class": "torch.optim.adam:Adam"}}),
        ("learning_rate", {"$schedule": "LinearSchedule", "start": "a", "end": 0, "end_fraction": 1}),
        ("replay_buffer_class", {"$class": "torch.optim.adam:Adam"}),
        ("action_noise", {"$noise": "NormalActionNoise", "mean": "a", "sigma": 0}),
        ("action_noise", {"$noise": "NormalActionNoise", "mean": {"$array": ["a"], "dtype": "O"}, "sigma": 0}),
        ("policy", "/tmp/there.safetensors"),
        ("policy_kwargs", {"activation_fn": {"$class": "torch.optim.adam:Adam"}}),
        ("policy_kwargs", {"features_extractor_class": {"$class": "torch.nn.modules.activation:ReLU"}}),
        ("policy_kwargs", {"optimizer_kwargs": {"foreach": {"$class": "torch.optim.adam:Adam"}}}),
        ("policy_kwargs", {"observation_space": 1}),
        ("policy_kwargs", {"net_arch": [4, {"pi": ["4"]}]}),
        ("policy_kwargs", [["net_arch", [4]]]),
    ],
)
def test_settings_are_of_the_signatures_types(name: str, value: Any, sac: Path) -> None:
    refused(SAC, changed(sac, setting(**{name: value})), "damaged")


@pytest.mark.parametrize("start", ["a", None, float("nan"), [1], {"$class": "torch.optim.adam:Adam"}])
def test_schedules_are_of_numbers(start: Any) -> None:
    with pytest.raises(ValueError, match="which is no number|holds no"):
        decode({"$schedule": "LinearSchedule", "start": start, "end": 0, "end_fraction": 1})


def test_what_load_is_given_takes_the_place_of_what_is_stored(sac: Path) -> None:
    changed(sac, setting(gamma="0.9", buffer_size=10**15))
    assert SAC.load(sac, gamma=0.9, custom_objects={"buffer_size": 10}).gamma == 0.9


def test_a_buffer_that_is_too_large_is_the_users_to_make(sac: Path) -> None:
    frames = {"$space": "Box", "low": 0, "high": 255, "shape": [4, 256, 256], "dtype": "uint8"}
    changed(sac, lambda stored: (stored["settings"].pop("buffer_size"), stored["spaces"].__setitem__(0, frames)))
    refused(SAC, sac, r"give load\(\) another buffer_size")  # a million of them, which is the default
    with pytest.raises(ValueError, match="does not go with what load.. was given .it is of another network"):
        SAC.load(sac, buffer_size=10)


def test_optimisers_write_where_they_may(sac: Path) -> None:
    """A fused optimiser takes a moment's length on trust, and would write past the end of a short one."""

    def shorten(stored: Settings) -> None:
        items = dict(dict(stored["described"]["actor.optimizer"]["$items"])["state"]["$items"])[0]["$items"]
        dict(items)["exp_avg"]["$tensor"] = "actor.optimizer/state/0/step"

    refused(SAC, changed(sac, shorten), "'exp_avg' of parameter 0 does not fit")


@pytest.mark.parametrize("part", ["features_extractor", "env", "policy.__class__", "logger"])
def test_parameters_are_of_the_agents_own_parts(part: str, sac: Path) -> None:
    changed(sac, lambda stored: stored["described"].update({part: {"$items": []}}))
    refused(SAC, sac, f"parameters for '{part}'")
    with pytest.raises(ValueError, match="which is no part of a SAC"):
        SAC("MlpPolicy", "Pendulum-v1", **OFF).set_parameters(sac)


def test_a_variable_keeps_its_shape(sac: Path) -> None:
    with zipfile.ZipFile(sac) as file:
        settings, weights = file.read("settings.json"), file.read("weights.safetensors")
    name = b'"variables/log_ent_coef":{"dtype":"F32","shape":['
    other = weights.replace(name + b"1]", name + b"] ", 1)  # one number, but no list of one
    assert other != weights
    with zipfile.ZipFile(sac, "w") as file:
        file.writestr("settings.json", settings)
        file.writestr("weights.safetensors", other)
    refused(SAC, sac, "log_ent_coef is of another shape")


BOX = {"$space": "Box", "low": 0.0, "high": 1.0, "shape": [10**5, 10**5], "dtype": "float32"}


@pytest.mark.parametrize(
    "space",
    [
        BOX,
        {"$space": "Dict", "spaces": {str(i): {**BOX, "shape": [2**25]} for i in range(3)}},
        {"$space": "MultiBinary", "n": 10**12},
        {**BOX, "shape": [2], "dtype": "U999999999"},
        {**BOX, "shape": [2], "dtype": "O"},
        {**BOX, "shape": [-1]},
        {**BOX, "shape": "ab"},
        {"$space": "Text", "max_length": 4, "min_length": 0, "charset": {"$class": "os:system"}},
        {"$space": "Discrete", "n": 1e400, "start": 0},
    ],
    ids=str,
)
def test_spaces_are_of_a_size(space: dict[str, Any], sac: Path) -> None:
    refused(SAC, changed(sac, lambda stored: stored["spaces"].__setitem__(0, space)), "damaged")


@pytest.mark.parametrize("n_envs", [10**12, archive.MOST_ENVS + 1, 0, -1, 1.5, True, "1"])
def test_environments_are_counted(n_envs: Any, sac: Path) -> None:
    refused(SAC, changed(sac, lambda stored: stored.update(n_envs=n_envs)), "n_envs|environments")


@pytest.mark.parametrize(
    "new",
    [
        {"policy_kwargs": {"net_arch": [10**9]}},
        {"policy_kwargs": {"net_arch": [20_000, 20_000]}},
        {"policy_kwargs": {"net_arch": [1] * 10**5}},
        {"policy_kwargs": {"net_arch": [4], "n_critics": 10**8}},
        {"policy_kwargs": {"critic_head": "two-hot", "critic_head_kwargs": {"v_min": 0, "v_max": 1, "n_bins": 10**9}}},
        {"buffer_size": 10**12},
        {"buffer_size": 10**400},
    ],
    ids=lambda new: str(new)[:60],
)
def test_networks_and_buffers_are_as_large_as_what_is_stored_asks_for(new: dict[str, Any], sac: Path) -> None:
    refused(SAC, changed(sac, setting(**new)), "damaged")


def test_no_tensor_is_made_before_it_is_known_to_be_small(sac: Path) -> None:
    changed(sac, setting(policy_kwargs={"net_arch": [20_000, 20_000]}))  # 1.6 GB, which would fit this machine
    refused(SAC, sac, "far larger than the [0-9,]+ numbers that it holds")
    changed(sac, setting(policy_kwargs={"net_arch": [4]}, buffer_size=10**12))
    refused(SAC, sac, "remember 1,000,000,000,000 transitions")


@pytest.mark.parametrize("depth", [40, 10**5])
def test_settings_are_not_nested_without_end(depth: int, sac: Path) -> None:
    with zipfile.ZipFile(sac) as file:
        settings, weights = file.read("settings.json").decode(), file.read("weights.safetensors")
    with zipfile.ZipFile(sac, "w") as file:
        file.writestr("settings.json", settings.replace('"seed": 0', '"seed": ' + "[" * depth + "]" * depth))
        file.writestr("weights.safetensors", weights)
    refused(SAC, sac, "deep|recursion")


def test_a_zip_that_unpacks_to_more_than_it_holds_is_not_unpacked(sac: Path) -> None:
    with zipfile.ZipFile(sac) as file:
        settings = file.read("settings.json")
    with zipfile.ZipFile(sac, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(zipfile.ZipInfo("settings.json"), settings)
        with file.open("weights.safetensors", "w", force_zip64=True) as member:
            for _ in range(64):
                member.write(bytes(2**20))
    assert sac.stat().st_size < 2**20
    refused(SAC, sac, "weights.safetensors is compressed")


def test_settings_are_of_a_size(sac: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_SETTINGS", 1000)
    refused(SAC, sac, "its settings.json has [0-9,]+ bytes, and 1,000 are the most")


def test_a_member_is_there_once(sac: Path) -> None:
    with zipfile.ZipFile(sac, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("settings.json", "{}")
    refused(SAC, sac, "it has 2 settings.json")


@pytest.mark.parametrize(
    "change",
    [
        *[{"format": 2}, {"class": 3}, {"class": "S" * 101}, {"settings": []}, {"versions": None}, {"spaces": []}],
        *[{"excluded": names} for names in (None, True, 7, "gamma", [["gamma"]])],
    ],
)
def test_what_is_missing_or_of_another_form_says_so(change: Settings, sac: Path) -> None:
    refused(SAC, changed(sac, lambda stored: stored.update(change)), "damaged")


class Mine(FlattenExtractor):
    """A user's own class."""


def test_a_class_of_ones_own_is_named_and_given_again(tmp_path: Path) -> None:
    mine = {"net_arch": [4], "features_extractor_class": Mine}
    agent = SAC("MlpPolicy", "Pendulum-v1", **OFF | {"policy_kwargs": mine})
    path = saved(agent, tmp_path)
    name = f"{Mine.__module__}:Mine"
    with pytest.raises(ValueError, match=rf"nothing is imported .* custom_objects=\{{'{name}': TheClass\}}") as told:
        SAC.load(path)
    assert f"{path} cannot be loaded as it is: it was saved with the class" in str(told.value)
    assert "another copy" not in str(told.value)
    with pytest.raises(ValueError, match="features_extractor_class"):
        SAC.load(path, custom_objects={name: th.nn.ReLU})
    assert isinstance(SAC.load(path, custom_objects={name: Mine}).actor.features_extractor, Mine)
    assert isinstance(SAC.load(path, policy_kwargs=mine).actor.features_extractor, Mine)


def test_a_class_that_checkpoints_may_hold_is_no_policy(sac: Path) -> None:
    planted = {"policy": {"$class": "torch.nn.modules.activation:ReLU"}}
    refused(SAC, changed(sac, lambda stored: stored["settings"].update(planted)), "unknown policy")


class Goal(gymnasium.Env[Any, Any]):
    """Reaches for a number."""

    observation_space = spaces.Dict(
        {key: spaces.Box(-1, 1, (1,)) for key in ("observation", "achieved_goal", "desired_goal")}
    )
    action_space = spaces.Box(-1.0, 1.0, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), 0.0, False, True, {}

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
        return -np.abs(achieved - desired).sum(-1)


HINDSIGHT = {"n_sampled_goal": 2, "goal_selection_strategy": "future"}
ADAMW = {"optimizer_class": th.optim.AdamW, "optimizer_kwargs": {"betas": (0.8, 0.9), "weight_decay": 0.1}}
QUANTILES = {"net_arch": {"pi": [4], "qf": [4]}, "n_quantiles": 5}
ACTOR_CRITIC = {"net_arch": {"pi": [4], "vf": [4]}, "activation_fn": th.nn.LeakyReLU, "ortho_init": False}


@pytest.mark.parametrize(
    ("agent", "env", "settings"),
    [
        (SAC, "Pendulum-v1", {**OFF, "learning_starts": 10_000, "replay_buffer_class": ReplayBuffer}),
        (SAC, Goal(), {**OFF, "replay_buffer_class": HerReplayBuffer, "replay_buffer_kwargs": HINDSIGHT}),
        (TQC, "Pendulum-v1", {**OFF, "policy_kwargs": QUANTILES, "train_freq": (1, "episode")}),
        (DQN, "CartPole-v1", {**OFF, "policy_kwargs": ADAMW}),
        (PPO, "CartPole-v1", {**TINY, "n_steps": 8, "max_grad_norm": float("inf"), "policy_kwargs": ACTOR_CRITIC}),
        (PPO, "CartPole-v1", {**TINY, "n_steps": 8, "policy_kwargs": {"net_arch": [{"pi": [4], "vf": [4]}]}}),
    ],
    ids=["buffer", "hindsight", "quantiles", "optimiser", "activation", "net_arch of old"],
)
@pytest.mark.filterwarnings("ignore:As shared layers")
def test_what_people_set_is_kept(agent: Any, env: Any, settings: Settings, tmp_path: Path) -> None:
    made = agent("MlpPolicy" if isinstance(env, str) else "MultiInputPolicy", env, **settings)
    loaded = agent.load(saved(made, tmp_path), **({} if isinstance(env, str) else {"env": env}))
    assert loaded._given == made._given
    for key, parameter in made.policy.state_dict().items():
        assert th.equal(parameter, loaded.policy.state_dict()[key]), key


def test_a_language_model_of_elsewhere_is_named_by_the_user_and_not_by_the_file(tmp_path: Path) -> None:
    agent = PolicyGradient("transformer-100k", "tiltyard/ChainSum-v0", group_size=2, prompts_per_batch=1, device="cpu")
    path = changed(saved(agent, tmp_path), setting(policy="hf:evil/model"))
    refused(PolicyGradient, path, r"give load\(\) policy='hf:evil/model' if you trust it")
    refused(PolicyGradient, changed(path, setting(policy="/etc/base.safetensors")), "unknown policy")


def test_images_are_read_in_all_the_extractors(tmp_path: Path) -> None:
    class Screen(gymnasium.Env[Any, Any]):
        observation_space = spaces.Box(0, 255, (36, 36, 1), np.uint8)
        action_space = spaces.Discrete(2)

    small = {"features_extractor_kwargs": {"features_dim": 8}}
    agent = PPO("CnnPolicy", Screen(), n_steps=4, batch_size=4, policy_kwargs=small)
    loaded = PPO.load(saved(agent, tmp_path))
    assert isinstance(loaded.policy.features_extractor, BaseFeaturesExtractor)


def buffer(folder: Path, **changed: Any) -> Path:
    """A replay buffer of eight transitions, with other arrays."""
    SAC("MlpPolicy", "Pendulum-v1", **OFF).learn(8).save_replay_buffer(folder / "buffer.npz")
    with np.load(folder / "buffer.npz") as file:
        arrays = {name: file[name] for name in file.files}
    np.savez_compressed(folder / "buffer.npz", **(arrays | changed))
    return folder / "buffer.npz"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rewards": np.zeros((10**8, 1), np.int8)}, "does not fit"),  # 100 KB that would become 100 MB
        ({"rewards": np.zeros((7, 1), np.float32)}, "does not fit"),
        ({"rewards": np.zeros(())}, "does not fit"),
        ({"rewards": np.array([["a"]] * 8)}, "no numbers"),
        ({"rewards": np.zeros((8, 1), [("a", "f4")])}, "no numbers"),
        ({"more": np.zeros(1)}, "it holds"),
    ],
)
def test_replay_buffers_are_read_if_they_fit(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    path, agent = buffer(tmp_path, **changed), SAC("MlpPolicy", "Pendulum-v1", **OFF)
    with pytest.raises(ValueError, match=message) as caught:
        agent.load_replay_buffer(path)
    assert str(path) in str(caught.value)
    assert not agent.replay_buffer.rewards.any()


def test_a_damaged_replay_buffer_says_so(tmp_path: Path) -> None:
    path, agent, rng = buffer(tmp_path), SAC("MlpPolicy", "Pendulum-v1", **OFF), np.random.default_rng(0)
    whole = path.read_bytes()
    for _ in range(200):
        spoilt = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            spoilt[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(spoilt[: int(rng.integers(1, len(whole) + 1))] if rng.random() < 0.3 else spoilt))
        said = sentence(lambda: agent.load_replay_buffer(path))
        assert not said or ("not a replay buffer" in said and "\n" not in said)


def sentence(load: Callable[[], object]) -> str:
    """The ``ValueError`` that ``load`` ended in, if it did."""
    try:
        load()
    except ValueError as error:
        return str(error)
    return ""
