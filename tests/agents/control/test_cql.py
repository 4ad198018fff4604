from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.cql import CQL, Draws, backup, candidates, conservative_gap, critic_gradients, plainly
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.replay import Batch

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "batch_size": 32, "buffer_size": 500, "seed": 0}


class Push(gymnasium.Env[Any, Any]):
    """One step an episode: the more, the better."""

    observation_space = Box(-1, 1, (1,))
    action_space = Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), float(action[0]), True, False, {}


def timid() -> Transitions:
    """Steps whose actions all lie near 0."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-0.3, 0.3, (300, 1)).astype(np.float32)
    observations, ones = rng.uniform(-1, 1, (300, 1)).astype(np.float32), np.ones(300)
    return Transitions(
        observations=observations,
        actions=actions,
        rewards=actions[:, 0],
        next_observations=observations,
        terminations=ones.astype(np.float32),
        ends=ones.astype(bool),
        episodes=np.arange(300),
        episode_returns=actions[:, 0].astype(float),
    )


def values_of(agent: CQL, action: float) -> float:
    with th.no_grad():
        observations = th.linspace(-1, 1, 9).view(-1, 1)
        return float(agent.critic(observations, th.full((9, 1), action)).mean())


def pendulum_batch(agent: CQL, n: int) -> Batch:
    """The same made-up transition ``n`` times."""
    assert agent.replay_buffer is not None
    agent.replay_buffer.add(np.ones((1, 3)), np.ones((1, 3)), np.ones((1, 1)), np.zeros(1), np.zeros(1), [{}])
    return agent.replayed(n)


def test_gap_by_hand() -> None:
    values, log_density = th.tensor([[[1.0, 2.0]]]), th.tensor([[0.0, np.log(2)]])
    gap = conservative_gap(values, log_density, th.tensor([[0.5]]))
    assert gap.item() == pytest.approx(1.358291, abs=1e-5)  # log(e + e^2 / 2) - 0.5
    cooler = conservative_gap(values, log_density, th.tensor([[0.5]]), temperature=2.0)
    assert cooler.item() == pytest.approx(2.045601, abs=1e-5)  # 2 log(e^0.5 + e / sqrt 2) - 0.5


def test_candidates_have_the_density_they_were_drawn_with() -> None:
    agent = CQL("MlpPolicy", "Pendulum-v1", n_actions=3, **SMALL)
    batch = pendulum_batch(agent, 5)._replace(observations=th.randn(5, 3), next_observations=th.randn(5, 3))
    actions, log_density = candidates(agent.actor, batch, th.rand(5, 3, 1), agent.actor.noise(30))
    assert actions.shape == (5, 9, 1)
    assert log_density.shape == (5, 9)
    assert th.allclose(log_density[:, :3], th.tensor(-np.log(2.0), dtype=th.float32))
    with th.no_grad():
        for k in range(3):
            here = agent.actor.log_prob(batch.observations, actions[:, 3 + k])
            there = agent.actor.log_prob(batch.next_observations, actions[:, 6 + k])
            np.testing.assert_allclose(log_density[:, 3 + k], here, atol=2e-3)
            np.testing.assert_allclose(log_density[:, 6 + k], there, atol=2e-3)


def test_one_pass_judges_as_many_passes_do() -> None:
    agent = CQL("MlpPolicy", Push(), n_actions=2, **SMALL).learn_offline(timid(), 0)
    batch = agent.sample(7)
    draws = Draws(th.randn(7, 1), None, th.rand(7, 2, 1), th.randn(28, 1))
    weight, networks = th.tensor([3.0]), (agent.actor, agent.critic, agent.critic_target)
    step, gap, _ = critic_gradients(*networks, batch, draws, None, weight, 1.0, plainly)
    actions, log_density = candidates(agent.actor, batch, draws.uniform, draws.noise)
    each = th.stack([agent.critic(batch.observations, actions[:, k]) for k in range(6)], dim=-1)
    target = backup(agent.actor, agent.critic_target, batch, draws, None)
    loss, data = agent.critic.loss(batch.observations, batch.actions, target)
    expected = conservative_gap(each, log_density, data).mean(dim=1)
    th.testing.assert_close(gap, expected.detach())
    th.testing.assert_close(step.loss, (2 * loss.mean(dim=1) + weight * expected).sum())
    th.testing.assert_close(step.seen, data.mean())


def test_best_of_many_targets_are_not_below_those_of_one() -> None:
    agents = [CQL("MlpPolicy", "Pendulum-v1", n_actions=50, max_target_backup=best, **SMALL) for best in (False, True)]
    batch = pendulum_batch(agents[0], 64)
    one, best = (  # the same weights, by the seed
        backup(agent.actor, agent.critic_target, batch, agent.learned.draws(batch, agent.settings), None).detach()
        for agent in agents
    )
    assert best.shape == (64,)
    assert best.mean() > one.mean()
    assert best.std() < one.std() / 4  # the best of fifty is nearly the best there is


def test_actions_outside_the_data_are_valued_low() -> None:
    settings = {**SMALL, "learning_rate": 3e-3, "n_actions": 4}
    plain, careful = (
        CQL("MlpPolicy", Push(), min_q_weight=w, **settings).learn_offline(timid(), 200) for w in (0.0, 5.0)
    )
    assert values_of(plain, 1.0) > values_of(plain, 0.0) + 0.5  # it extrapolates
    assert values_of(careful, 1.0) < values_of(careful, 0.0)
    assert values_of(careful, -1.0) < values_of(careful, 0.0)


def test_actor_stays_with_the_data() -> None:
    settings = {**SMALL, "learning_rate": 3e-3, "actor_learning_rate": 3e-3, "n_actions": 4, "ent_coef": 0.01}
    found = []
    for weight in (0.0, 5.0):
        agent = CQL("MlpPolicy", Push(), min_q_weight=weight, **settings).learn_offline(timid(), 400)
        found.append(float(agent.predict(np.zeros(1, np.float32), deterministic=True)[0][0]))
    assert found[0] > 0.9
    assert abs(found[1]) < 0.6


def test_learned_weight_follows_the_gap() -> None:
    for wanted, sign in ((100.0, -1), (-100.0, 1)):
        agent = CQL("MlpPolicy", Push(), target_action_gap=wanted, n_actions=2, **SMALL).learn_offline(timid(), 10)
        assert sign * agent.log_multiplier.item() > 0
        assert "log_multiplier" in agent._get_torch_save_params()[1]


def test_actor_has_its_own_rate() -> None:
    agent = CQL("MlpPolicy", Push(), learning_rate=1e-2, actor_learning_rate=2e-4, **SMALL).learn_offline(timid(), 1)
    assert agent.critic.optimizer.param_groups[0]["lr"] == 1e-2
    assert agent.actor.optimizer.param_groups[0]["lr"] == 2e-4
    assert agent.ent_coef_optimizer.param_groups[0]["lr"] == 2e-4  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_actions": 0}, "n_actions must be a whole number of at least 1, got 0"),
        ({"min_q_weight": -1.0}, "min_q_weight must be a number of at least 0"),
        ({"temperature": 0.0}, "temperature must be above 0"),
    ],
)
def test_bad_settings_are_refused(setting: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CQL("MlpPolicy", Push(), **SMALL, **setting)


def test_learning_online_needs_data_first() -> None:
    with pytest.raises(ValueError, match="CQL learns from data: call learn_offline"):
        CQL("MlpPolicy", Push(), **SMALL).learn(10)
