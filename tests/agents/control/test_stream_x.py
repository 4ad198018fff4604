import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import stable_baselines3 as sb3
import torch as th
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.utils import set_random_seed
from torch.distributions import Categorical, Normal
from torch.nn import functional as F

from tiltyard.agents import make
from tiltyard.agents.control.obgd import ObGD
from tiltyard.agents.control.stream_networks import StreamMoments, StreamNetwork, sparse_init
from tiltyard.agents.control.stream_x import StreamAC, StreamQ, StreamTD, gaussian_head, softmax_head
from tiltyard.wrappers.spaces import sb3_env

SMALL: dict[str, Any] = {"seed": 0, "policy_kwargs": {"net_arch": [8, 6], "sparsity": 0.5}}


def test_obgd_by_hand() -> None:
    # gamma lambda = 0.5, kappa 2, alpha 1. First gradients (1, -2), delta 0.5: |z| = 3, M = 2 * max(0.5, 1) * 3 = 6, so
    # w = (1, 1) + 0.5 / 6 * (1, -2). Then gradients (0.5, 0): z = (1, -1), delta -3: M = 2 * 3 * 2 = 12.
    weights = th.nn.Parameter(th.ones(2))
    optimizer = ObGD([weights], lr=1.0, gamma=1.0, trace_lambda=0.5, kappa=2.0)
    weights.grad = th.tensor([1.0, -2.0])
    assert optimizer.step(0.5) == pytest.approx(6)
    assert weights.tolist() == pytest.approx([1 + 1 / 12, 1 - 1 / 6])
    weights.grad = th.tensor([0.5, 0.0])
    assert optimizer.step(-3.0, reset=True) == pytest.approx(12)
    assert optimizer.state[weights]["trace"].tolist() == [0, 0]
    assert weights.tolist() == pytest.approx([1 + 1 / 12 - 3 / 12, 1 - 1 / 6 + 3 / 12])


def test_small_steps_are_not_lengthened() -> None:
    weights = th.nn.Parameter(th.zeros(1))
    weights.grad = th.tensor([0.01])
    assert ObGD([weights], kappa=2.0).step(5.0) == pytest.approx(0.1)  # 1 * 2 * 5 * 0.01 < 1
    assert weights.item() == pytest.approx(0.05)


def test_bound_counts_all_parameters_and_kappa_0_lifts_it() -> None:
    parameters = [th.nn.Parameter(th.zeros(2)), th.nn.Parameter(th.zeros(1, 1))]
    for parameter in parameters:
        parameter.grad = th.full_like(parameter, 4.0)
    assert ObGD(parameters, kappa=0.5).step(1.0) == pytest.approx(0.5 * 12)
    assert parameters[1].item() == pytest.approx(4 / 6)
    free = ObGD(parameters, lr=0.1, kappa=0.0)
    assert free.step(2.0) == 0
    assert parameters[1].item() == pytest.approx(4 / 6 + 0.1 * 2 * 4)


def test_traces_decay_and_survive_a_checkpoint() -> None:
    weights = th.nn.Parameter(th.zeros(1))
    optimizer = ObGD([weights], gamma=0.5, trace_lambda=0.5)
    for gradient in (1.0, 0.0, 0.0):
        weights.grad = th.tensor([gradient])
        optimizer.step(0.0)
    assert optimizer.state[weights]["trace"].item() == pytest.approx(1 / 16)
    other = ObGD([weights])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[weights]["trace"].item() == pytest.approx(1 / 16)


def test_obgd_refuses_settings_outside_their_range() -> None:
    with pytest.raises(ValueError, match=r"got lr=1.0, gamma=1.5"):
        ObGD([th.nn.Parameter(th.zeros(1))], gamma=1.5)


def test_sparse_init_leaves_a_tenth_in_every_unit() -> None:
    weight = th.empty(50, 128)
    sparse_init(weight, 0.9)
    assert ((weight == 0).sum(dim=1) == 116).all()  # ceil(0.9 * 128)
    assert weight.abs().max() <= 1 / math.sqrt(128)
    assert len({tuple(row.nonzero().flatten().tolist()) for row in weight}) > 40  # each unit keeps others
    network = StreamNetwork([30, 20, 2], sparsity=0.5)
    assert [(weight == 0).float().mean().item() for weight, _ in network.layers()] == [0.5, 0.5]
    assert all((bias == 0).all() for _, bias in network.layers())


def dense(*widths: int) -> StreamNetwork:
    set_random_seed(1)
    network = StreamNetwork(widths, sparsity=0.0)
    with th.no_grad():
        network.theta.add_(0.1 * th.randn_like(network.theta))
    return network


def test_compiled_gradient_equals_autograds() -> None:
    network = dense(5, 16, 12, 3)
    x, head = np.random.default_rng(0).normal(size=(2, 5)).astype(np.float32)
    head = head[:3]
    outputs = network(th.as_tensor(x)[None])[0]
    np.testing.assert_allclose(network.evaluate(x), outputs.detach().numpy(), rtol=1e-5, atol=1e-6)
    (expected,) = th.autograd.grad(outputs @ th.as_tensor(head), network.theta)
    network.differentiate(head)
    assert network.theta.grad is not None
    th.testing.assert_close(network.theta.grad, expected, rtol=1e-4, atol=1e-6)


def test_network_by_hand() -> None:
    # Two units with sums (3, 1): normalised (1, -1), after LeakyReLU (1, -0.01), summed with weights 2 and 1: 1.99.
    network = StreamNetwork([1, 2, 1])
    with th.no_grad():
        network.theta.copy_(th.tensor([3.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0]))
    assert network.evaluate(np.ones(1, np.float32))[0] == pytest.approx(1.99, abs=1e-4)


def test_moments_equal_numpys() -> None:
    samples = np.random.default_rng(0).normal(3.0, [1.0, 50.0, 1e-3], size=(400, 3))
    moments = StreamMoments(3)
    np.testing.assert_array_equal(moments.variance, np.ones(3))
    for sample in samples:
        moments.observe(sample)
    np.testing.assert_allclose(moments.mean, samples.mean(axis=0))
    np.testing.assert_allclose(moments.variance, samples.var(axis=0, ddof=1))
    expected = (samples[7] - samples.mean(axis=0)) / samples.std(axis=0, ddof=1)
    np.testing.assert_allclose(moments.normalize(samples[7]), expected, rtol=1e-2)
    np.testing.assert_allclose(moments(th.as_tensor(samples[7:8]))[0], moments.normalize(samples[7]), rtol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_policies_gradients_equal_autograds(sign: float) -> None:
    outputs = th.tensor([0.3, -1.0, 0.2, 1.5], dtype=th.float64, requires_grad=True)
    array, action = outputs.detach().numpy(), th.tensor([1.0, -2.0], dtype=th.float64)
    gaussian = Normal(outputs[:2], F.softplus(outputs[2:]))
    objective = gaussian.log_prob(action).sum() + sign * 0.01 * gaussian.entropy().sum()
    (expected,) = th.autograd.grad(objective, outputs)
    found = gaussian_head(array[:2], array[2:], action.numpy(), sign * 0.01)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    softmax = Categorical(logits=outputs)
    objective = softmax.log_prob(th.tensor(2)) + sign * 0.01 * softmax.entropy()
    (expected,) = th.autograd.grad(objective, outputs)
    found = softmax_head(softmax.probs.detach().numpy(), 2, sign * 0.01)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


class Line(gymnasium.Env[Any, Any]):
    """Five steps; the observation is the number of the step, the reward what ``rewards`` says."""

    observation_space = Box(-np.inf, np.inf, (1,))
    action_space = Discrete(2)

    def __init__(self, rewards: tuple[float, ...] = (1.0, 2.0, 0.0, 0.0, 4.0), truncates: bool = False) -> None:
        self.rewards, self.truncates = rewards, truncates

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.t += 1
        over = self.t == 5
        reward = self.rewards[self.t - 1]
        return np.full(1, self.t, np.float32), reward, over and not self.truncates, over and self.truncates, {}


def test_rewards_are_scaled_by_the_deviation_of_the_discounted_return() -> None:
    agent = StreamAC("MlpPolicy", Line(), gamma=0.5, **SMALL)
    agent.learn(5)
    # u: 1, 2.5, 1.25, 0.625 and, where the episode ends, the last reward alone: 4.
    returns = [1.0, 2.5, 1.25, 0.625, 4.0]
    assert agent.policy.returns.scale == pytest.approx(np.std(returns, ddof=1))
    # Observations 0 to 5, and 0 again of the next episode.
    assert agent.policy.observations.mean.item() == pytest.approx(15 / 7)
    assert agent.policy.observations.count.item() == 7


@pytest.mark.parametrize("truncates", [False, True])
def test_values_are_bootstrapped_at_time_limits_alone(truncates: bool) -> None:
    agent = StreamAC("MlpPolicy", sb3_env_of(Line(truncates=truncates)), gamma=0.5, learning_rate=1e-9, **SMALL)
    with th.no_grad():
        agent.policy.critic.theta.zero_()
        agent.policy.critic.theta[-1] = 8.0  # v is 8 everywhere
    agent.learn(5)
    scale = agent.policy.returns.scale
    assert agent._td_error == pytest.approx(4 / scale + (4 if truncates else 0) - 8, rel=1e-4)
    assert all((state["trace"] == 0).all() for state in agent.critic_optimizer.state.values())


def sb3_env_of(env: gymnasium.Env[Any, Any]) -> Any:
    return StreamAC._wrap_env(env)


@pytest.mark.parametrize("reward", [-5.0, 5.0])
def test_one_update_equals_the_papers_with_autograd(reward: float) -> None:
    agent = StreamAC("MlpPolicy", "CartPole-v1", ent_coef=0.5, **SMALL)
    agent.learn(30)  # traces and statistics of some episodes
    with th.no_grad():
        agent.policy.actor.theta[-2:] = th.tensor([0.0, 1.5])  # where the entropy has a slope
    actor, critic = (StreamNetwork([4, 8, 6, n]) for n in (2, 1))
    actor.load_state_dict(agent.policy.actor.state_dict())
    critic.load_state_dict(agent.policy.critic.state_dict())
    optimizers = [ObGD(actor.parameters(), kappa=3.0), ObGD(critic.parameters(), kappa=2.0)]
    for optimizer, own in zip(optimizers, (agent.actor_optimizer, agent.critic_optimizer), strict=True):
        optimizer.load_state_dict(deepcopy(own.state_dict()))  # PyTorch would share the traces
    rng = np.random.default_rng(0)
    features, after = rng.normal(size=(2, 4)).astype(np.float32)
    action = agent._act(features)
    found = agent._update(features, reward, after, False, False)
    x, y = th.as_tensor(features)[None], th.as_tensor(after)[None]
    delta = reward + 0.99 * critic(y).item() - critic(x).item()
    assert found == pytest.approx(delta, abs=1e-5)
    critic(x).sum().backward()
    softmax = Categorical(logits=actor(x)[0])
    (softmax.log_prob(th.tensor(action)) + math.copysign(0.5, delta) * softmax.entropy()).backward()
    for optimizer in optimizers:
        optimizer.step(delta)
    th.testing.assert_close(agent.policy.critic.theta, critic.theta, rtol=1e-4, atol=1e-6)
    th.testing.assert_close(agent.policy.actor.theta, actor.theta, rtol=1e-4, atol=1e-6)


def test_exploring_actions_end_the_traces_of_q() -> None:
    agent = StreamQ("MlpPolicy", "CartPole-v1", exploration_fraction=1.0, exploration_final_eps=1.0, **SMALL)
    agent.learn(1)
    features = np.ones(4, np.float32)
    seen = set()
    for _ in range(40):
        action = agent._act(features)
        greedy = action == agent.policy.critic.evaluate(features).argmax()
        agent._update(features, 1.0, features, False, False)
        trace = agent.critic_optimizer.state[agent.policy.critic.theta]["trace"]
        assert bool((trace != 0).any()) == greedy
        seen.add(greedy)
    assert seen == {True, False}


def test_q_learns_a_value_by_hand() -> None:
    agent = StreamQ("MlpPolicy", "CartPole-v1", kappa_value=0.0, learning_rate=0.5, **SMALL)
    with th.no_grad():
        agent.policy.critic.theta.zero_()
        agent.policy.critic.theta[-2:] = th.tensor([1.0, 3.0])  # q is 1 and 3 everywhere
    agent._action, agent._explored = 0, False
    # delta = 2 + 0.99 * 3 - 1 = 3.97; all weights are zero, so the gradient is 1 at the first bias alone.
    assert agent._update(np.zeros(4, np.float32), 2.0, np.zeros(4, np.float32), False, False) == pytest.approx(3.97)
    assert agent.policy.critic.theta[-2:].tolist() == pytest.approx([1 + 0.5 * 3.97, 3.0])


def test_exploration_falls_and_predict_explores_at_its_rate() -> None:
    agent = StreamQ("MlpPolicy", "CartPole-v1", exploration_fraction=0.5, exploration_final_eps=0.1, **SMALL)
    agent.learn(41)
    assert agent.exploration_rate == pytest.approx(0.1)
    agent.exploration_rate = 1.0
    observations = np.zeros((200, 4), np.float32)
    assert len(set(agent.predict(observations)[0])) == 2
    assert len(set(agent.predict(observations, deterministic=True)[0])) == 1


def test_td_predicts_the_return_of_a_behaviour() -> None:
    class Right(BaseAlgorithm):
        def __init__(self) -> None:
            self.asked = 0

        def predict(self, observation: Any, *args: Any, **kwargs: Any) -> Any:
            self.asked += 1
            return np.ones(len(observation), np.int64), None

        _setup_model = learn = None  # type: ignore[assignment]

    right = Right()
    critic = StreamTD("MlpPolicy", Line((10.0,) * 5), behaviour=right, gamma=0.5, seed=0).learn(6000)
    assert right.asked == 6000
    expected = [10 * (2 - 0.5 ** (4 - t)) for t in range(5)]  # 19.375 ... 10
    found = critic.value(np.arange(5, dtype=np.float32)[:, None])
    np.testing.assert_allclose(found, expected, atol=3)
    assert found[0] > found[3] > found[4]


def test_td_comes_back_without_its_behaviour(tmp_path: Path) -> None:
    behaviour = sb3.PPO("MlpPolicy", "CartPole-v1", device="cpu")
    critic = StreamTD("MlpPolicy", "CartPole-v1", behaviour=behaviour, **SMALL).learn(40)
    critic.save(tmp_path / "td")
    observations = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    loaded = StreamTD.load(tmp_path / "td", env="CartPole-v1", behaviour=behaviour)
    np.testing.assert_array_equal(critic.value(observations), loaded.value(observations))
    loaded.learn(10)
    assert StreamTD.load(tmp_path / "td").predict(observations)[0].shape == (3,)


@pytest.mark.parametrize("agent_class", [StreamAC, StreamQ])
def test_checkpoint_holds_statistics_weights_and_traces(agent_class: Any, tmp_path: Path) -> None:
    agent = agent_class("MlpPolicy", "CartPole-v1", **SMALL).learn(45)
    agent.save(tmp_path / "agent")
    loaded = agent_class.load(tmp_path / "agent")
    assert {"policy", "critic_optimizer"} <= agent.get_parameters().keys()
    assert loaded.policy.observations.count.item() > 45
    trace = agent.critic_optimizer.state[agent.policy.critic.theta]["trace"]
    assert (trace != 0).any()
    assert trace.equal(loaded.critic_optimizer.state[loaded.policy.critic.theta]["trace"])
    for key, value in agent.policy.state_dict().items():
        assert value.equal(loaded.policy.state_dict()[key]), key


def test_predict_and_evaluation_learn_nothing() -> None:
    agent = make("stream-x", "CartPole-v1", **SMALL).learn(50)
    before = {key: value.clone() for key, value in agent.policy.state_dict().items()}
    evaluate_policy(agent, sb3_env("CartPole-v1", 2, seed=5), n_eval_episodes=2)
    for key, value in agent.policy.state_dict().items():
        assert value.equal(before[key]), key


def test_a_stream_interrupted_equals_one_that_was_not() -> None:
    whole = StreamAC("MlpPolicy", "CartPole-v1", **SMALL).learn(90)
    parts = StreamAC("MlpPolicy", "CartPole-v1", **SMALL).learn(40)
    parts.learn(50, reset_num_timesteps=False)
    assert whole.policy.critic.theta.equal(parts.policy.critic.theta)
    assert whole.policy.actor.theta.equal(parts.policy.actor.theta)
    assert parts.num_timesteps == 90


def test_traces_of_an_episode_left_are_forgotten() -> None:
    agent = StreamAC("MlpPolicy", "CartPole-v1", **SMALL).learn(5)
    agent.learn(1)
    trace = agent.critic_optimizer.state[agent.policy.critic.theta]["trace"].clone()
    assert agent.policy.critic.theta.grad is not None
    assert trace.equal(agent.policy.critic.theta.grad)  # of one step, nothing older in it


def test_continuous_actions_are_clipped_and_learnt_from_as_drawn() -> None:
    agent = StreamAC("MlpPolicy", "Pendulum-v1", **SMALL)
    with th.no_grad():
        agent.policy.actor.theta[-2] = 50.0  # the mean, far outside [-2, 2]
    action = agent._act(np.zeros(3, np.float32))
    assert action == np.array([2.0], np.float32)  # type: ignore[comparison-overlap]
    assert agent._action > 40
    agent.learn(20)
    actions, _ = agent.predict(np.zeros((4, 3), np.float32))
    assert agent.action_space.contains(actions[0])


@pytest.mark.parametrize("name", ["gamma", "trace_lambda"])
def test_what_is_set_later_counts(name: str) -> None:
    def learnt(first: float, later: float) -> th.Tensor:
        agent = StreamAC("MlpPolicy", sb3_env("CartPole-v1", 1, seed=0), **SMALL, **{name: first})
        setattr(agent, name, later)
        return th.nn.utils.parameters_to_vector(agent.learn(40).policy.parameters())

    assert th.equal(learnt(0.5, 0.5), learnt(0.9, 0.5))
    assert not th.equal(learnt(0.5, 0.5), learnt(0.9, 0.9))


def test_a_learning_rate_may_be_a_schedule() -> None:
    agent = StreamAC("MlpPolicy", "CartPole-v1", learning_rate=lambda left: left, **SMALL).learn(10)
    assert agent.actor_optimizer.param_groups[0]["lr"] == pytest.approx(0.1)


def test_callbacks_stop_learning_and_logs_are_written(tmp_path: Path) -> None:
    agent = StreamAC("MlpPolicy", "CartPole-v1", **SMALL)
    agent.set_logger(sb3.common.logger.configure(str(tmp_path), ["csv"]))
    agent.learn(100, callback=lambda local, _: local["self"].num_timesteps < 60, log_interval=1)
    assert agent.num_timesteps == 60
    header = (tmp_path / "progress.csv").read_text().splitlines()[0]
    assert "rollout/ep_rew_mean" in header
    assert "train/td_error" in header


def test_two_environments_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"StreamAC learns from one stream: give it one environment \(n_envs=1\), not 2"
    ):
        make("stream-x", "CartPole-v1", n_envs=2)


class Other(Line):
    action_space = MultiDiscrete([2, 2])  # type: ignore[assignment]


class Dicts(Line):
    observation_space = gymnasium.spaces.Dict(x=Box(-1, 1, (1,)))  # type: ignore[assignment]


class Words(Line):
    observation_space = Discrete(6)  # type: ignore[assignment]


def test_spaces_it_does_not_speak_are_refused() -> None:
    with pytest.raises(ValueError, match="StreamAC acts in Box or Discrete spaces, not in MultiDiscrete"):
        StreamAC("MlpPolicy", Other())
    with pytest.raises(ValueError, match="StreamQ acts in Discrete spaces, not in Box"):
        StreamQ("MlpPolicy", "Pendulum-v1")
    with pytest.raises(TypeError, match="StreamAC reads no dicts such as Dict.*FlattenObservation"):
        make("stream-x", Dicts())
    with pytest.raises(ValueError, match="StreamAC has no 'MultiInputPolicy' but 'MlpPolicy'.*FlattenObservation"):
        StreamAC("MultiInputPolicy", Dicts())
    with pytest.raises(ValueError, match="StreamAC observes Box spaces, not Discrete.*FlattenObservation"):
        StreamAC("MlpPolicy", Words())
    with pytest.raises(ValueError, match="on the processor"):
        StreamAC("MlpPolicy", Line(), device="meta")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1e30])
def test_a_bad_reward_is_refused_and_changes_nothing(bad: float) -> None:
    env = Line()
    agent = StreamAC("MlpPolicy", env, **SMALL).learn(7)
    before = {key: value.clone() for key, value in agent.policy.state_dict().items()}
    env.rewards = (1.0, 2.0, bad, 0.0, 0.0)
    with pytest.raises(ValueError, match="the environment gave a reward of .* nothing was learnt from it"):
        agent.learn(9, reset_num_timesteps=False)
    assert agent.num_timesteps == 7
    for key, value in agent.policy.state_dict().items():
        assert value.equal(before[key]), key
    env.rewards = (1.0,) * 5
    assert agent.learn(9, reset_num_timesteps=False).num_timesteps == 16


class Blind(Line):
    def step(self, action: Any) -> Any:
        return np.full(1, math.nan, np.float32), *super().step(action)[1:]


def test_a_bad_observation_is_refused() -> None:
    with pytest.raises(ValueError, match="the environment gave an observation that is not finite"):
        StreamAC("MlpPolicy", Blind(), **SMALL).learn(3)


def test_divergence_is_said() -> None:
    agent = StreamAC("MlpPolicy", Line(), **SMALL)
    with th.no_grad():
        agent.policy.critic.theta[-1] = math.nan
    with pytest.raises(ValueError, match="learning diverged at step 0: lower learning_rate or raise the kappas"):
        agent.learn(3)


class Match(Line):
    """Pays 1 for the action that the sign of the observation names."""

    observation_space = Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.draw(), {}

    def draw(self) -> Any:
        self.right = int(self.np_random.integers(2))
        return np.full(1, 2.0 * self.right - 1, np.float32)

    def step(self, action: Any) -> Any:
        reward, (_, _, terminated, truncated, info) = float(action == self.right), super().step(action)
        return self.draw(), reward, terminated, truncated, info


@pytest.mark.parametrize("agent_class", [StreamAC, StreamQ])
def test_a_simple_choice_is_learnt_from_a_stream(agent_class: Any) -> None:
    agent = agent_class("MlpPolicy", Match(), gamma=0.5, seed=0, stats_window_size=20).learn(2500)
    assert np.mean([episode["r"] for episode in agent.ep_info_buffer]) > 4  # of 5; random: 2.5
    assert agent.predict(np.array([[-1.0], [1.0]], np.float32), deterministic=True)[0].tolist() == [0, 1]


def test_cartpole_is_learnt_from_a_stream() -> None:
    agent = StreamAC("MlpPolicy", sb3_env("CartPole-v1", 1, seed=1), seed=1, stats_window_size=10).learn(5000)
    assert agent.ep_info_buffer
    assert np.mean([episode["r"] for episode in agent.ep_info_buffer]) > 60  # random: 22


def test_api_is_sb3s() -> None:
    assert set(dir(BaseAlgorithm)) <= set(dir(StreamAC))
