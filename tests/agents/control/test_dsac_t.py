from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import stable_baselines3 as sb3
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.buffers import NStepReplayBuffer
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.utils import set_random_seed

from tiltyard.agents import make
from tiltyard.agents.control.dsac_t import DSACT, drawn_targets, value_distribution_loss
from tiltyard.agents.control.networks import Critics
from tiltyard.agents.control.replay import Batch
from tiltyard.wrappers.spaces import sb3_env

SMALL: dict[str, Any] = {"learning_starts": 20, "batch_size": 16, "buffer_size": 2000, "seed": 0}


def loss(mean: float, std: float, target_mean: float, target_sample: float, **moving: float) -> tuple[float, Any, Any]:
    q, sigma = th.tensor([[mean]], requires_grad=True), th.tensor([[std]], requires_grad=True)
    moving_std = th.tensor([moving["mean_std"]])
    value = value_distribution_loss(q, sigma, th.tensor([target_mean]), th.tensor([target_sample]), moving_std)
    value.sum().backward()
    return value.item(), q.grad.item(), sigma.grad.item()  # type: ignore[union-attr]


def test_loss_by_hand() -> None:
    # Q 1, sigma 2, targets 3 and 20, E[sigma] 1. Weight 1^2 / (4 + 0.1) = 0.2439. The drawn target is
    # clipped to 1 + 3 * 1 = 4, so the deviation is 3: 0.2439 * (2^2 / 2 + 2 * (4 - 9) / 2.1) = 0.2439 * -2.7619.
    value, of_mean, of_std = loss(1.0, 2.0, 3.0, 20.0, mean_std=1.0)
    assert value == pytest.approx(-0.67364, abs=1e-5)
    assert of_mean == pytest.approx(-0.2439 * 2, abs=1e-3)  # towards the expected target 3
    assert of_std == pytest.approx(-0.2439 * 5 / 2.1, abs=1e-3)  # wider, as 3 deviations are more than 2


def test_an_error_of_the_mean_counts_as_50_at_most() -> None:
    weight = 1 / 1.1
    assert loss(0.0, 1.0, 49.0, 0.0, mean_std=1.0)[1] == pytest.approx(-49 * weight)
    assert loss(0.0, 1.0, 400.0, 0.0, mean_std=1.0)[1] == pytest.approx(-50 * weight)


def test_drawn_target_moves_the_deviation_alone() -> None:
    near, far = (loss(1.0, 2.0, 3.0, drawn, mean_std=1.0) for drawn in (1.0, 3.5))
    assert near[1] == far[1]
    assert near[2] > 0 > far[2]


def test_weight_is_bounded() -> None:
    for mean_std, weight in ((1e-3, 0.1), (1e3, 10.0)):
        assert loss(0.0, 1.0, 1.0, 0.0, mean_std=mean_std)[1] == pytest.approx(-weight)


def test_stacked_critics_equal_separate_networks() -> None:
    space = Box(-1, 1, (3,))
    agent = DSACT("MlpPolicy", "Pendulum-v1", **SMALL)
    critic: Critics = agent.critic
    observations, actions = th.randn(5, *space.shape), th.randn(5, 1)
    out = critic.outputs(observations, actions)
    mean, std = critic.head.value(out), critic.head.deviation(out)
    assert mean.shape == std.shape == (2, 5)
    weights = list(critic.net.weights)
    for i in range(2):
        x = th.cat([observations, actions], dim=1)
        for layer, (weight, bias) in enumerate(zip(weights[::2], weights[1::2], strict=True)):
            x = x @ weight[i] + bias[i]
            x = th.nn.functional.gelu(x) if layer < 3 else x
        th.testing.assert_close(mean[i], x[:, 0])
        th.testing.assert_close(std[i], th.log1p(x[:, 1].exp()))


def drawn(agent: DSACT, batch: Batch) -> tuple[th.Tensor, th.Tensor]:
    noise, deviations = agent.actor.noise(len(batch.rewards)), th.randn_like(batch.rewards)
    alpha = agent._temperature.value
    return drawn_targets(agent.policy.actor_target, agent.critic_target, batch, noise, deviations, alpha)


def test_target_takes_the_critic_of_the_smaller_mean() -> None:
    agent = DSACT("MlpPolicy", "Pendulum-v1", ent_coef=0.5, **SMALL)
    agent.learn(40)
    *_, weight, bias = agent.critic_target.net.weights
    with th.no_grad():
        bias[:, 0] = th.tensor([[3.0, 50.0], [2.0, -20.0]])  # means 3 and 2; deviations 50 and about 0
        weight.zero_()
        batch = agent.sample(16)._replace(discounts=th.tensor([0.99, 0.0] * 8))
        set_random_seed(1)
        target_mean, target_sample = drawn(agent, batch)
        set_random_seed(1)
        _, log_prob = agent.policy.actor_target.action_log_prob(batch.next_observations)
    th.testing.assert_close(target_mean, target_sample)
    expected = batch.rewards + th.tensor([1.0, 0.0] * 8) * 0.99 * (2 - 0.5 * log_prob)
    th.testing.assert_close(target_mean, expected)


def test_returns_are_drawn_within_three_deviations() -> None:
    agent = DSACT("MlpPolicy", "Pendulum-v1", ent_coef=0.5, **SMALL)
    agent.learn(40)
    *_, weight, bias = agent.critic_target.net.weights
    with th.no_grad():
        bias[:, 0] = th.tensor([[0.0, 50.0], [0.0, 50.0]])  # log(1 + e^50) = 50
        weight.zero_()
        batch = agent.sample(20_000)._replace(discounts=th.full((20_000,), 0.5))
        target_mean, target_sample = drawn(agent, batch)
    away = (target_sample - target_mean) / (0.5 * 50)  # of 20,000 normal numbers some 54 lie further out
    assert (away.min().item(), away.max().item()) == pytest.approx((-3, 3), abs=1e-4)
    assert away.std().item() == pytest.approx(0.99, abs=0.02)


class Bandit(gymnasium.Env[Any, Any]):
    """One step, reward 5 a + noise of standard deviation 2."""

    observation_space = Box(-1, 1, (1,))
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        reward = 5 * float(action[0]) + 2 * self.np_random.normal()
        return np.zeros(1, np.float32), reward, True, False, {}


@pytest.mark.slow
def test_value_distribution_of_a_known_bandit_is_learned() -> None:
    agent = DSACT(
        "MlpPolicy",
        Bandit(),
        learning_rate=3e-3,
        learning_starts=3000,
        gradient_steps=700,
        train_freq=3000,
        batch_size=128,
        policy_kwargs={"net_arch": [32, 32]},
        seed=0,
    )
    agent.learn(3001)
    for action in (-0.5, 0.0, 0.5):
        out = agent.critic.outputs(th.zeros(1, 1), th.tensor([[action]]))
        mean, std = agent.head.value(out), agent.head.deviation(out)
        assert mean.detach().numpy() == pytest.approx(5 * action, abs=0.5)
        # For lack of a next state the drawn target is the reward itself; the clip at three deviations narrows little.
        assert std.detach().numpy() == pytest.approx(2.0, abs=0.3)


def test_actor_temperature_and_targets_move_every_second_update() -> None:
    agent = DSACT("MlpPolicy", "Pendulum-v1", **SMALL)
    agent.learn(21)  # one update of the critics
    actor = {key: value.clone() for key, value in agent.policy.state_dict().items() if key.startswith("actor")}
    targets = [parameter.clone() for parameter in agent.critic_target.parameters()]
    temperature = agent.log_ent_coef.item()
    assert agent._n_updates == 1
    assert temperature == 0.0
    for before, after in zip(targets, agent.critic.parameters(), strict=True):
        assert not th.equal(before, after)
    agent.train(gradient_steps=1, batch_size=16)
    assert agent.log_ent_coef.item() != temperature
    for before, target, online in zip(
        targets, agent.critic_target.parameters(), agent.critic.parameters(), strict=True
    ):
        th.testing.assert_close(target, before + 0.005 * (online - before))
    assert not th.equal(actor["actor.net.weights.0"], agent.actor.net.weights[0])


def test_moving_means_start_at_the_first_batch() -> None:
    agent = DSACT("MlpPolicy", "Pendulum-v1", **SMALL, boundary_tau=0.1)
    agent.learn(20)
    expected = th.zeros(2)
    for rate in (1.0, 0.1, 0.1):
        batch = agent.sample(16)
        with th.no_grad():
            std = agent.head.deviation(agent.critic.outputs(batch.observations, batch.actions))
        expected += rate * (std.mean(dim=1) - expected)
        agent.update(batch)
        agent._n_updates += 1
        th.testing.assert_close(agent.head.mean_std, expected)


def test_a_seed_gives_the_same_agent_twice() -> None:
    one, other = (DSACT("MlpPolicy", "Pendulum-v1", **SMALL).learn(60) for _ in range(2))
    for key, parameter in one.policy.state_dict().items():
        assert th.equal(parameter, other.policy.state_dict()[key]), key


def test_training_goes_on_as_if_never_saved(tmp_path: Path) -> None:
    agent = DSACT("MlpPolicy", "Pendulum-v1", ent_coef="auto_0.2", **SMALL).learn(41)
    agent.save(tmp_path / "agent")
    agent.save_replay_buffer(tmp_path / "buffer")
    loaded = DSACT.load(tmp_path / "agent", env="Pendulum-v1")
    loaded.load_replay_buffer(tmp_path / "buffer")
    loaded.set_logger(agent.logger)
    for each in (agent, loaded):
        set_random_seed(7)
        each.train(gradient_steps=4, batch_size=16)
    for key, parameter in agent.policy.state_dict().items():
        assert th.equal(parameter, loaded.policy.state_dict()[key]), key
    assert agent.log_ent_coef.item() == loaded.log_ent_coef.item()


class DictPendulum(gymnasium.ObservationWrapper[Any, Any, Any]):
    def __init__(self) -> None:
        super().__init__(gymnasium.make("Pendulum-v1"))
        self.observation_space = gymnasium.spaces.Dict(state=Box(-8, 8, (3,)), image=Box(0, 255, (36, 36, 1), np.uint8))

    def observation(self, observation: Any) -> Any:
        return {"state": observation, "image": np.zeros((36, 36, 1), np.uint8)}


@pytest.mark.parametrize("share", [False, True])
def test_dict_observations_with_images(share: bool) -> None:
    policy_kwargs = {"net_arch": [8], "share_features_extractor": share}
    agent = DSACT("MultiInputPolicy", DictPendulum(), **SMALL | {"batch_size": 4}, policy_kwargs=policy_kwargs)
    before = agent.actor.features_extractor.extractors["image"].linear[0].weight.clone()
    assert (agent.critic.features_extractor is agent.actor.features_extractor) == share
    agent.learn(24)
    assert not th.equal(before, agent.actor.features_extractor.extractors["image"].linear[0].weight)


def test_a_gymnasium_vector_and_n_step_returns() -> None:
    env = gymnasium.make_vec("Pendulum-v1", 2, "sync")
    agent = DSACT("MlpPolicy", env, n_steps=3, ent_coef=0.1, gradient_steps=-1, **SMALL)
    assert agent.learn(40)._n_updates == 20
    assert isinstance(agent.replay_buffer, NStepReplayBuffer)
    assert agent.log_ent_coef.exp().item() == pytest.approx(0.1)


@pytest.mark.slow
def test_pendulum_is_swung_up() -> None:
    settings: dict[str, Any] = {"learning_starts": 500, "n_envs": 4, "policy_kwargs": {"net_arch": [64, 64]}}
    rates = {"learning_rate": 1e-3, "ent_coef_learning_rate": 1e-3, "tau": 0.01}
    agent = make("dsac-t", "Pendulum-v1", seed=0, batch_size=128, **settings, **rates)
    agent.learn(10_000)
    mean, _ = evaluate_policy(agent, sb3_env("Pendulum-v1", 10, seed=10_000), n_eval_episodes=10)
    assert mean > -300  # random: about -1200


def test_api_is_sb3s() -> None:
    assert set(dir(sb3.SAC)) - set(dir(DSACT)) <= {"_create_aliases"}
