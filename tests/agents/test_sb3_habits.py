"""What people do with Stable-Baselines3's agents and find in its tests, done with ours."""

import copy
import pickle
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.her import HerReplayBuffer
from stable_baselines3.sac.policies import SACPolicy

from tiltyard.agents import DQN, PPO, SAC, TD3, FastPPO, make
from tiltyard.agents.control.dsac_t import DSACT
from tiltyard.agents.control.replay import DictReplay, RowReplay
from tiltyard.agents.foreign import load as foreign

OFF: dict[str, Any] = {"seed": 0, "learning_starts": 10, "batch_size": 8, "buffer_size": 200}
SMALL: dict[str, Any] = {**OFF, "policy_kwargs": {"net_arch": [8]}}
POINTS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def made(agent: Any = SAC, **settings: Any) -> Any:
    return agent("MlpPolicy", "Pendulum-v1", **{**SMALL, **settings})


def weights(agent: Any) -> dict[str, th.Tensor]:
    return {name: tensor.clone() for name, tensor in agent.policy.state_dict().items()}


def same(one: dict[str, th.Tensor], other: dict[str, th.Tensor]) -> bool:
    return one.keys() == other.keys() and all(th.equal(tensor, other[name]) for name, tensor in one.items())


class Measured(BaseFeaturesExtractor):
    """Observations through batch normalisation."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, 3)
        self.norm = th.nn.BatchNorm1d(3)

    def forward(self, observations: th.Tensor) -> th.Tensor:
        normed: th.Tensor = self.norm(observations)
        return normed


class Reach(gymnasium.Env[Any, Any]):
    """Moves a number towards another; episodes have ``length`` steps."""

    observation_space = spaces.Dict(
        {key: spaces.Box(-9, 9, (1,), np.float32) for key in ("observation", "achieved_goal", "desired_goal")}
    )
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, length: int = 7) -> None:
        self.length, self.at, self.steps = length, np.zeros(1, np.float32), 0

    def seen(self) -> dict[str, Any]:
        return {"observation": self.at, "achieved_goal": self.at, "desired_goal": np.ones(1, np.float32)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.at, self.steps = np.zeros(1, np.float32), 0
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.at, self.steps = self.at + np.float32(action), self.steps + 1
        ended = self.steps == self.length
        return self.seen(), float(-np.abs(self.at - 1).item()), False, ended, {}

    def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
        return -np.abs(achieved - desired).sum(-1)


@pytest.mark.parametrize(("agent", "settings"), [(SAC, {}), (SAC, {"use_sde": True}), (TD3, {}), (DSACT, {})])
def test_a_copy_learns_as_the_original_and_apart_from_it(agent: Any, settings: dict[str, Any]) -> None:
    first = made(agent, tau=0.5, **settings).learn(30)
    second, before = copy.deepcopy(first), weights(first)
    assert same(weights(second), before)
    for one in (second, first):
        assert same(weights(first), before)  # it shares nothing with its copy
        one.set_random_seed(3)
        one._last_obs = None
        one.learn(12, reset_num_timesteps=False)
    assert same(weights(first), weights(second))  # targets, optimisers and buffer go with the copy's own networks
    assert not same(weights(first), before)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda buffer: pickle.loads(pickle.dumps(buffer))])
def test_a_copy_of_a_replay_buffer_draws_what_is_stored_in_the_copy(copied: Any) -> None:
    agent = made().learn(20)
    twin = copied(agent.replay_buffer)
    assert isinstance(twin, RowReplay)
    for name in ("observations", "actions", "rewards"):
        np.testing.assert_array_equal(getattr(twin, name), getattr(agent.replay_buffer, name))
    twin.rewards[:] = 7.0
    assert (twin.draw(5)[:, twin.columns.reward] == 7.0).all()
    assert not (agent.replay_buffer.rewards == 7.0).any()


def test_a_loaded_replay_buffer_forgets_what_was_drawn_ahead(tmp_path: Path) -> None:
    agent = made().learn(20)
    agent.replay_buffer.ahead = 4
    agent.replay_buffer.draw(5)  # and 15 for later
    rewards = agent.replay_buffer.rewards.copy()
    agent.replay_buffer.rewards[:] = 7.0
    agent.save_replay_buffer(tmp_path / "buffer")
    agent.replay_buffer.rewards[:] = rewards
    agent.load_replay_buffer(tmp_path / "buffer")
    assert (agent.replay_buffer.draw(5)[:, agent.replay_buffer.columns.reward] == 7.0).all()


def test_a_copy_of_an_on_policy_agent_learns_as_the_original(tmp_path: Path) -> None:
    how: dict[str, Any] = {"n_steps": 8, "batch_size": 8, "seed": 0, "policy_kwargs": {"net_arch": [8]}}
    first = FastPPO("MlpPolicy", "Pendulum-v1", **how).learn(16)
    second, before = copy.deepcopy(first), weights(first)
    for one in (second, first):
        assert same(weights(first), before)
        one.set_random_seed(3)
        one.learn(16)
    assert same(weights(first), weights(second))
    first.policy.save(tmp_path / "policy")
    found = type(first.policy).load(tmp_path / "policy")
    np.testing.assert_array_equal(
        found.predict(POINTS, None, None, True)[0], first.predict(POINTS, None, None, True)[0]
    )


EXPLORING: dict[str, Any] = {"use_sde": True, "policy_kwargs": {"net_arch": [8], "use_expln": True}}


@pytest.mark.parametrize(("agent", "settings"), [(SAC, {}), (SAC, EXPLORING), (TD3, {})])
def test_policies_and_actors_alone_are_saved_without_code(agent: Any, settings: Any, tmp_path: Path) -> None:
    first = made(agent, **settings).learn(15)
    for part in (first.policy, first.actor, first.critic):
        part.save(tmp_path / "part.pkl")
        with pytest.raises(pickle.UnpicklingError):
            pickle.loads((tmp_path / "part.pkl").read_bytes())
        found = type(part).load(tmp_path / "part.pkl")
        assert all(th.equal(tensor, found.state_dict()[name]) for name, tensor in part.state_dict().items())
    first.actor.save(tmp_path / "actor")
    expected = first.predict(POINTS, deterministic=True)[0]
    found = type(first.actor).load(tmp_path / "actor").predict(POINTS, deterministic=True)[0]
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=rf"holds a {type(first.actor).__name__}, not a Critics"):
        type(first.critic).load(tmp_path / "actor")


def test_a_policy_with_a_class_of_ones_own_asks_for_it(tmp_path: Path) -> None:
    first = made(policy_kwargs={"net_arch": [8], "features_extractor_class": Measured})
    name = f"{__name__}:Measured"
    for part in (first.policy, first.actor):
        part.save(tmp_path / "part")
        with pytest.raises(ValueError, match="nothing is imported because a file names it"):
            type(part).load(tmp_path / "part")
        found = type(part).load(tmp_path / "part", custom_objects={name: Measured})
        np.testing.assert_array_equal(found.predict(POINTS, True)[0].shape, (5, 1))


@pytest.mark.parametrize("share", [False, True])
def test_targets_have_the_running_statistics_and_learn_nothing_at_tau_0(share: bool) -> None:
    how = {"net_arch": [8], "features_extractor_class": Measured, "share_features_extractor": share}
    agent = made(TD3, tau=0, policy_kwargs=how)
    before = [parameter.clone() for parameter in agent.critic_target.parameters()]
    agent.learn(40)
    for network, target in ((agent.critic, agent.critic_target), (agent.actor, agent.actor_target)):
        measured, followed = (one.features_extractor.norm.running_mean for one in (network, target))
        assert measured.abs().max() > 0
        th.testing.assert_close(measured, followed, rtol=0, atol=0)
    assert all(map(th.equal, before, agent.critic_target.parameters()))
    assert (agent.actor_target.features_extractor is agent.critic_target.features_extractor) == share


def test_predicting_leaves_targets_and_training_mode_as_sb3_does() -> None:
    agent = made(TD3)
    agent.policy.set_training_mode(True)
    assert [agent.actor.training, agent.critic.training, agent.actor_target.training] == [True, True, False]


@pytest.mark.parametrize("interval", [1, 3])
def test_targets_move_every_so_many_updates(interval: int) -> None:
    agent = made(learning_starts=100, target_update_interval=interval).learn(20)
    moved = []
    for _ in range(6):
        before = [parameter.clone() for parameter in agent.critic_target.parameters()]
        agent.train(1, 8)
        moved.append(not all(map(th.equal, before, agent.critic_target.parameters())))
    assert moved == [(count + 1) % interval == 0 for count in range(6)]


def test_a_fixed_temperature_has_sb3s_names(tmp_path: Path) -> None:
    agent = made(ent_coef=0.2).learn(15)
    assert agent.log_ent_coef is None
    agent.save(tmp_path / "agent")
    loaded = SAC.load(tmp_path / "agent", env="Pendulum-v1").learn(15)
    assert loaded.log_ent_coef is None
    assert loaded.ent_coef_tensor.item() == agent.ent_coef_tensor.item() == pytest.approx(0.2)


def test_state_dependent_noise_is_a_function_of_the_state() -> None:
    agent = made(use_sde=True, sde_sample_freq=4).learn(15)
    points, actor = th.from_numpy(POINTS), agent.actor
    actor.reset_noise(3)  # for another number of states than five: one matrix for all
    first, again = actor(points), actor(points)
    assert th.equal(first, again)
    agent.policy.reset_noise(3)
    assert not th.equal(first, actor(points))
    assert th.equal(actor(points, deterministic=True), actor(points, deterministic=True))


def test_state_dependent_log_probabilities_by_hand() -> None:
    agent = made(use_sde=True, policy_kwargs={"net_arch": [2], "activation_fn": th.nn.Identity})
    actor, x = agent.actor, th.tensor([[0.3, -0.2, 0.5]])
    h = actor.out(x).detach()
    mean = (h @ actor.mean[0].weight.T + actor.mean[0].bias).detach().clamp(-2, 2)
    std = ((h**2) @ (actor.log_std.exp() ** 2) + 1e-6).sqrt().detach()  # equation 9 of the paper
    action, logp = actor.action_log_prob(x)
    z = (th.atanh(action) - mean) / std
    expected = -0.5 * z**2 - std.log() - 0.5 * np.log(2 * np.pi) - th.log(1 - action**2 + 1e-6)
    assert logp.item() == pytest.approx(expected.sum().item(), abs=1e-4)
    assert actor.log_prob(x, action).item() == pytest.approx(logp.item(), abs=1e-4)


class Grid(gymnasium.Env[np.ndarray, np.ndarray]):
    """Actions are a matrix, whose sum pays."""

    observation_space = spaces.Box(-1, 1, (3,), np.float32)
    action_space = spaces.Box(-1, 1, (2, 2), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(3, np.float32), {}

    def step(self, action: np.ndarray) -> Any:
        assert action.shape == (2, 2)
        return np.zeros(3, np.float32), float(action.sum()), False, False, {}


@pytest.mark.parametrize(
    ("agent", "own"),
    [
        (SAC, {"learning_starts": 10}),
        (TD3, {"learning_starts": 10, "action_noise": 0.1}),
        (DSACT, {"learning_starts": 10}),
        (FastPPO, {"n_steps": 8}),
        (FastPPO, {"n_steps": 8, "use_sde": True, "policy_kwargs": {"net_arch": [8], "squash_output": True}}),
    ],
)
def test_actions_may_have_two_dimensions(agent: Any, own: dict[str, Any], tmp_path: Path) -> None:
    how = {"seed": 0, "policy_kwargs": {"net_arch": [8]}, "device": "cpu"}
    first = agent("MlpPolicy", Grid(), **how | own).learn(30)
    first.save(tmp_path / "agent")
    found = agent.load(tmp_path / "agent", env=Grid(), device="cpu")
    assert found.predict(POINTS, deterministic=True)[0].shape == (len(POINTS), 2, 2)
    found.learn(5, reset_num_timesteps=False)


@pytest.mark.parametrize("how", [{}, {"log_std_init": 1.0, "use_expln": True, "clip_mean": 0.0}])
def test_state_dependent_sac_has_sb3s_distribution(how: dict[str, Any]) -> None:
    where = made().observation_space, made().action_space
    theirs = SACPolicy(*where, lambda _: 1e-3, net_arch=[8], use_sde=True, **how).actor
    ours = made(use_sde=True, policy_kwargs={"net_arch": [8], **how}).actor
    assert th.equal(ours.log_std, theirs.log_std)
    assert th.equal(ours.get_std(), theirs.get_std())
    assert ours.exploration.learn_features == theirs.action_dist.learn_features
    with th.no_grad():  # means far from 0
        for actor, mean in ((ours, ours.mean[0]), (theirs, theirs.mu[0] if how.get("clip_mean", 2) else theirs.mu)):
            mean.weight.zero_()
            mean.bias.fill_(2.5)
            assert actor(th.zeros(1, 3), deterministic=True).tolist() == pytest.approx(np.tanh([[2.5 if how else 2.0]]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy_kwargs": {"net_arch": []}}, "net_arch must have one"),
        ({"compiled": True}, "compiled=True does not know use_sde"),
    ],
)
def test_state_dependent_noise_says_what_it_needs(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made(use_sde=True, **settings)
    with pytest.raises(ValueError, match="log_std_init of policy_kwargs is for use_sde=True"):
        made(policy_kwargs={"log_std_init": -2})
    with pytest.raises(ValueError, match=r"reset_noise\(\) is for policies with use_sde=True"):
        made().policy.reset_noise()
    with pytest.raises(ValueError, match="use_sde=True is for SAC, not for DSACT"):
        made(DSACT, use_sde=True)


def test_observations_stored_once_are_saved_and_read(tmp_path: Path) -> None:
    how = {"optimize_memory_usage": True, "replay_buffer_kwargs": {"handle_timeout_termination": False}}
    for steps in (30, 61):  # of a buffer of 40: before and after it is full
        agent = made(buffer_size=40, **how).learn(steps)
        assert type(agent.replay_buffer) is ReplayBuffer
        agent.save_replay_buffer(tmp_path / "buffer")
        other = made(buffer_size=40, **how)
        other.load_replay_buffer(tmp_path / "buffer")
        shift = agent.replay_buffer.pos if agent.replay_buffer.full else 0
        for name in ("observations", "actions", "rewards", "dones"):
            stored = np.roll(getattr(agent.replay_buffer, name), -shift, axis=0)
            np.testing.assert_array_equal(getattr(other.replay_buffer, name), stored)
    with pytest.raises(ValueError, match="equal with optimize_memory_usage"):
        made(buffer_size=50, **how).load_replay_buffer(tmp_path / "buffer")


def hindsight(size: int = 40, **more: Any) -> Any:
    how = {"n_sampled_goal": 2, "goal_selection_strategy": "future", **more}
    return SAC(
        "MultiInputPolicy",
        Reach(),
        **{**SMALL, "buffer_size": size},
        replay_buffer_class=HerReplayBuffer,
        replay_buffer_kwargs=how,
    )


def episodes(buffer: HerReplayBuffer) -> list[list[float]]:
    """Rewards of each whole episode, oldest first, by the buffer's own bookkeeping."""
    order = (np.arange(buffer.size()) + (buffer.pos if buffer.full else 0)) % buffer.buffer_size
    found: dict[int, list[float]] = {}
    for at in order.tolist():
        if buffer.ep_length[at, 0] > 0:
            found.setdefault(int(buffer.ep_start[at, 0]), []).append(float(buffer.rewards[at, 0]))
    return list(found.values())


@pytest.mark.parametrize("steps", [24, 66])
@pytest.mark.parametrize("size", [40, 55])
def test_hindsight_buffers_keep_their_episodes(steps: int, size: int, tmp_path: Path) -> None:
    agent = hindsight().learn(steps)
    agent.save_replay_buffer(tmp_path / "buffer")
    other = hindsight(size)
    other.load_replay_buffer(tmp_path / "buffer", truncate_last_traj=False)
    assert episodes(other.replay_buffer) == episodes(agent.replay_buffer) != []
    running = (agent.replay_buffer.pos - agent.replay_buffer._current_ep_start) % 40
    assert (other.replay_buffer.pos - other.replay_buffer._current_ep_start) % size == running == steps % 7
    assert np.isfinite(other.replay_buffer.sample(20).rewards).all()
    with pytest.warns(UserWarning, match="last trajectory in the replay buffer will be truncated"):
        hindsight(size).load_replay_buffer(tmp_path / "buffer")


def test_hindsight_buffers_with_infos_or_impossible_episodes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="leave copy_info_dict out"):
        hindsight(copy_info_dict=True).learn(8).save_replay_buffer(tmp_path / "buffer")
    agent = hindsight().learn(24)
    agent.replay_buffer.ep_length[3, 0] = 1000
    agent.save_replay_buffer(tmp_path / "buffer")
    with pytest.raises(ValueError, match="episodes lie outside"):
        hindsight().load_replay_buffer(tmp_path / "buffer")


@pytest.mark.parametrize("agent", [SAC, DQN])
def test_a_replay_buffer_that_was_dropped_is_made_again(agent: Any, tmp_path: Path) -> None:
    first = agent("MlpPolicy", "Pendulum-v1" if agent is SAC else "CartPole-v1", **SMALL).learn(15)
    kept = first.replay_buffer.rewards.copy()
    first.save_replay_buffer(tmp_path / "buffer")
    first.replay_buffer = None
    first.load_replay_buffer(tmp_path / "buffer")
    np.testing.assert_array_equal(first.replay_buffer.rewards, kept)
    assert type(first.replay_buffer) is first.replay_buffer_class


def test_equal_seeds_draw_equal_transitions_of_dicts_and_of_rows() -> None:
    flat = made(gradient_steps=1).learn(15).replay_buffer
    space = spaces.Dict({"all": made().observation_space})
    nested = DictReplay(200, space, made().action_space, "cpu", n_envs=1)
    for at in range(flat.size()):
        now, after = {"all": flat.observations[at]}, {"all": flat.next_observations[at]}
        nested.add(now, after, flat.actions[at], flat.rewards[at], flat.dones[at], [{}])
    th.manual_seed(4)
    rows = flat.draw(6)
    th.manual_seed(4)
    batch = nested.sample(6)
    assert th.equal(rows[:, flat.columns.observation], batch.observations["all"])
    assert th.equal(rows[:, flat.columns.reward], batch.rewards.flatten())


def test_run_folders_are_called_after_the_agent() -> None:
    named = []

    class Mine(TD3):
        def _setup_learn(self, total_timesteps: int, *args: Any, **kwargs: Any) -> Any:
            named.append(args[2])  # SB3's tb_log_name
            return super()._setup_learn(total_timesteps, *args, **kwargs)

    made(Mine).learn(5).learn(5, tb_log_name="other")
    assert named == ["Mine", "other"]


def test_settings_set_later_are_saved_and_excluded_ones_included_again(tmp_path: Path) -> None:
    agent = made(verbose=1)
    agent.gamma, agent.verbose, agent.learning_rate = 0.5, 0, 2e-5
    agent.save(tmp_path / "agent", exclude=["gamma", "verbose"], include=["gamma"])
    loaded = SAC.load(tmp_path / "agent")
    assert (loaded.gamma, loaded.verbose, loaded.learning_rate) == (0.5, 0, 2e-5)
    agent.save(tmp_path / "agent", exclude=["gamma"])
    assert SAC.load(tmp_path / "agent").gamma == 0.99
    two = gymnasium.make_vec("Pendulum-v1", num_envs=2)
    noisy = TD3("MlpPolicy", two, **SMALL).learn(12)  # SB3 puts noise of its own in place of the number, for both
    noisy.save(tmp_path / "noisy")
    assert TD3.load(tmp_path / "noisy")._given == noisy._given


def test_noise_rate_and_frequency_set_later_hold_and_are_saved(tmp_path: Path) -> None:
    agent = made().learn(12)
    agent.action_noise, agent.train_freq, agent.learning_rate = 0.3, (3, "step"), 1e-5
    assert agent.learn(6, reset_num_timesteps=False)._n_updates == 2 + 2  # one an update of three steps
    assert {group["lr"] for group in agent.actor.optimizer.param_groups} == {1e-5}
    agent.save(tmp_path / "agent")
    for one in (agent, SAC.load(tmp_path / "agent")):
        assert (one.action_noise._sigma.tolist(), one.train_freq.frequency) == ([0.3], 3)


def test_custom_objects_that_no_setting_has_are_left_out_with_a_warning(tmp_path: Path) -> None:
    made().save(tmp_path / "agent")
    with pytest.warns(UserWarning, match="custom_objects: unknown setting of SAC 'dummy'"):
        loaded = SAC.load(tmp_path / "agent", custom_objects={"dummy": 1.0, "gamma": 0.9})
    assert loaded.gamma == 0.9
    assert not hasattr(loaded, "dummy")


def test_a_loaded_agent_goes_on_where_the_environment_is(tmp_path: Path) -> None:
    agent = made().learn(15)
    env, seen = agent.get_env(), agent._last_obs
    agent.save(tmp_path / "agent")
    loaded = SAC.load(tmp_path / "agent", env=env, force_reset=False)
    np.testing.assert_array_equal(loaded._last_obs, seen)
    resets, env.reset = [], lambda: resets.append(1)  # none is called for
    loaded.learn(3, reset_num_timesteps=False)
    assert not resets
    assert SAC.load(tmp_path / "agent", env=env)._last_obs is None
    del env.reset
    two = gymnasium.make_vec("Pendulum-v1", num_envs=2)
    with pytest.raises(ValueError, match="other environments than these: load it with force_reset=True"):
        SAC.load(tmp_path / "agent", env=two, force_reset=False)


def test_a_graphics_card_that_is_not_there_is_the_processor_for_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(th.cuda, "is_available", lambda: False)
    made().save(tmp_path / "agent")
    with pytest.warns(UserWarning, match="'cuda' is not there .* loading to the CPU"):
        assert SAC.load(tmp_path / "agent", device="cuda").device.type == "cpu"
    with pytest.raises(ValueError, match="'cuda' is not there"):
        made(device="cuda")


def test_errors_are_also_those_that_sb3_raises() -> None:
    with pytest.raises(AssertionError, match="clip_range_vf must be"):
        PPO("MlpPolicy", "CartPole-v1", clip_range_vf=-0.2)
    with pytest.raises(ValueError, match="train_freq must be"):
        made(train_freq="4")


def test_a_compiled_policy_and_an_incomplete_state_are_as_in_sb3(tmp_path: Path) -> None:
    agent = foreign("stable_baselines3:A2C")("MlpPolicy", "CartPole-v1", policy_kwargs={"net_arch": [8]})
    agent.policy = th.compile(agent.policy)
    agent.save(tmp_path / "agent")
    assert type(agent).load(tmp_path / "agent").policy.state_dict().keys() == agent.policy._orig_mod.state_dict().keys()
    state = made().get_parameters()
    for part in state.values():
        part.popitem()
    with pytest.raises(RuntimeError):
        made().set_parameters(state)


@pytest.mark.parametrize(
    "name",
    ["ppo", "sb3-ppo", "sb3-sac", "sb3-td3", "sb3-tqc", "crossq", "dqn", "stable_baselines3:A2C", "sb3_contrib:TRPO"],
)
def test_policies_of_the_baselines_alone_are_saved_without_code(name: str, tmp_path: Path) -> None:
    env = "CartPole-v1" if name == "dqn" else "Pendulum-v1"
    first = make(name, gymnasium.make(env), seed=0, device="cpu", preset=None, policy_kwargs={"net_arch": [8]})
    first.policy.save(tmp_path / "policy.pkl")
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads((tmp_path / "policy.pkl").read_bytes())
    found = type(first.policy).load(tmp_path / "policy.pkl", device="cpu")
    points = np.stack([first.observation_space.sample() for _ in range(5)])
    np.testing.assert_array_equal(
        found.predict(points, None, None, True)[0], first.predict(points, None, None, True)[0]
    )
    (tmp_path / "bad.pkl").write_bytes(pickle.dumps(Opens(tmp_path / "ran")))
    with pytest.raises(ValueError, match=r"bad\.pkl"):
        type(first.policy).load(tmp_path / "bad.pkl")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["ppo", "dqn", "sb3-tqc", "crossq", "sb3-sac", "sac", "tqc"])
def test_an_agent_is_pickled_with_its_policy(name: str) -> None:
    env = gymnasium.make("CartPole-v1" if name == "dqn" else "Pendulum-v1")
    agent: Any = make(name, env, seed=0, policy_kwargs={"net_arch": [8]})
    found = pickle.loads(pickle.dumps(agent))
    assert type(found.policy) is type(agent.policy)
    assert same(weights(agent), weights(found))


class Wider(PPO.policy_aliases["MlpPolicy"]):  # type: ignore[misc]
    """A user's policy of one of ours."""


def test_a_users_policy_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(Wider)) is Wider


class Opens:
    """What runs code when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)
