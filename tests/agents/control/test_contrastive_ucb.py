"""It opens a small lock, its features become the true ones, its bonus counts visits, and what it refuses."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete

from tiltyard.agents import ContrastiveUCB, make
from tiltyard.agents.control.contrastive_features import subspace_alignment

LENGTH, ACTIONS = 4, 3
SMALL: dict[str, Any] = {
    "horizon": LENGTH,
    "train_freq": LENGTH,
    "learning_starts": 16,
    "batch_size": 64,
    "learning_rate": 0.03,
    "seed": 0,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [], "feature_dim": 32},
}


class Lock(gymnasium.Env[Any, Any]):
    """Discrete states: step and whether the lock holds. At each step one action of three keeps it; held, it pays 1."""

    observation_space = Discrete(2 * (LENGTH + 1), start=3)
    action_space = Discrete(ACTIONS)
    good = (2, 0, 1, 1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.step_count, self.held = 0, True
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.held &= int(action) == self.good[self.step_count]
        self.step_count += 1
        ended = self.step_count == LENGTH
        return self.seen(), float(self.held and ended), ended, False, {}

    def seen(self) -> Any:
        return np.int64(3 + 2 * self.step_count + self.held)


class Rows(gymnasium.Env[Any, Any]):
    """Flat observations, two actions, episodes of two steps."""

    observation_space = Box(-1, 1, (2,), np.float32)
    action_space: Any = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.steps = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.ones(2, np.float32), float(action), self.steps == 2, False, {}


def made(env: Any = None, **settings: Any) -> ContrastiveUCB:
    return ContrastiveUCB("MlpPolicy", env or Lock(), **{**SMALL, **settings})


def opens(agent: Any) -> bool:
    env = Lock()
    seen, over, reward = env.reset()[0], False, 0.0
    while not over:
        seen, reward, over, *_ = env.step(agent.predict(seen, deterministic=True)[0])
    return reward == 1.0


@pytest.fixture(scope="module")
def trained() -> ContrastiveUCB:
    return made().learn(480)


@pytest.mark.slow
def test_it_opens_a_lock_that_it_could_not_before(trained: ContrastiveUCB) -> None:
    assert not opens(made())
    assert opens(trained)


def test_its_features_become_the_true_ones(trained: ContrastiveUCB) -> None:
    states = th.arange(LENGTH).repeat_interleave(2) * 2 + th.tensor([0, 1]).repeat(LENGTH) + 3
    true, pairs = [], [(int(state), action) for state in states for action in range(ACTIONS) if state != 3]
    for state, action in pairs:
        step, held = divmod(state - 3, 2)
        true.append(2 * step + (held and action == Lock.good[step]))

    def aligned(agent: ContrastiveUCB) -> float:
        with th.no_grad():
            phi = agent.policy.log_phi(th.tensor([state for state, _ in pairs])).exp()
            after = agent.policy.log_psi(th.arange(5, 2 * (LENGTH + 1) + 3)).softmax(dim=0)
        model = phi[th.arange(len(pairs)), th.tensor([action for _, action in pairs])] @ after.T
        return subspace_alignment(model, th.eye(2 * LENGTH)[true])

    assert aligned(trained) > 0.9
    assert aligned(made()) < 0.6


@pytest.mark.parametrize("kind", ["elliptical", "count"])
def test_the_bonus_of_what_was_visited_is_less(kind: str) -> None:
    agent = made(Rows(), bonus=kind, policy_kwargs={"net_arch": [8], "feature_dim": 4})
    before = agent.bonus(agent.policy.log_phi(th.zeros(1, 2)).exp(), th.zeros(1, 2))
    agent.learn(80)
    after = agent.bonus(agent.policy.log_phi(th.zeros(1, 2)).exp(), th.zeros(1, 2))
    assert (after < before).all()


def test_the_count_bonus_counts_exact_observations() -> None:
    agent = made(bonus="count", ridge=1.0, bonus_weight=1.0).learn(80)
    seen, actions, *_ = agent.transitions()
    first = (seen.reshape(-1) == 4) & (actions == 1)  # the first state
    found = agent.bonus(th.zeros(1, ACTIONS, 32), th.tensor([[4]]))
    assert float(found[0, 1]) == pytest.approx((1 + int(first.sum())) ** -0.5)
    assert int(first.sum()) > 1


def test_uniform_actions_take_the_place_of_the_best_at_the_steps_drawn() -> None:
    agent = made(uniform_actions=1).learn(64)
    agent.policy.phi_net.requires_grad_(False)
    best = int(agent.optimistic_actions(th.tensor([[4]]))[0])
    agent._last_obs = np.array([4])
    agent._step_of, agent._uniform_from = np.array([0]), np.array([1])
    assert {int(agent._sample_action(0)[0][0]) for _ in range(40)} == {best}
    agent._uniform_from = np.array([0])
    assert {int(agent._sample_action(0)[0][0]) for _ in range(40)} == set(range(ACTIONS))


def test_without_a_bonus_or_chance_the_same_action_is_taken() -> None:
    agent = made(bonus_weight=0.0, uniform_actions=0).learn(64)
    assert float(agent.bonus(th.rand(1, ACTIONS, 32), th.tensor([[4]])).abs().max()) == 0
    agent._last_obs = np.array([4])
    assert len({int(agent._sample_action(0)[0][0]) for _ in range(20)}) == 1


def test_an_end_is_worth_nothing_and_a_time_limit_is() -> None:
    class Limited(Rows):
        def step(self, action: Any) -> Any:
            seen, reward, over, _, _ = super().step(action)
            return seen, reward, False, over, {}

    ended, limited = (made(env, policy_kwargs={"net_arch": [8]}).learn(64) for env in (Rows(), Limited()))
    assert ended.transitions()[4].mean() == 0.5
    assert limited.transitions()[4].mean() == 1.0


def test_transitions_are_in_order_once_the_buffer_is_full() -> None:
    agent = made(Rows(), buffer_size=7, policy_kwargs={"net_arch": [8]}).learn(20)
    going_on = agent.transitions()[4].tolist()
    assert going_on == [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]


def test_a_checkpoint_acts_the_same_and_goes_on(trained: ContrastiveUCB, tmp_path: Path) -> None:
    trained.save(tmp_path / "agent")
    loaded = ContrastiveUCB.load(tmp_path / "agent", env=Lock())
    states = np.arange(3, 3 + 2 * LENGTH)
    np.testing.assert_array_equal(loaded.predict(states)[0], trained.predict(states)[0])
    assert opens(loaded)
    loaded.learn(64, reset_num_timesteps=False)


def test_make_finds_it_and_a_row_of_observations_will_do() -> None:
    agent = make("contrastive-ucb", Rows(), **{**SMALL, "horizon": 2, "policy_kwargs": None})
    agent.learn(160)
    assert int(agent.predict(np.zeros(2, np.float32))[0]) == 1


def test_what_it_cannot_learn_from_is_refused() -> None:
    with pytest.raises(ValueError, match="bonus must be one of elliptical, count, got 'counts'"):
        made(bonus="counts")
    with pytest.raises(ValueError, match="no transitions to learn from"):
        made().train(1)
    with pytest.raises(ValueError, match="no plan yet"):
        made().optimistic_actions(th.tensor([[4]]))

    class Pictures(Rows):
        observation_space = Box(-1, 1, (2, 2), np.float32)

    class Shifted(Rows):
        action_space = Discrete(2, start=1)

    for env in (Pictures(), Shifted()):
        with pytest.raises(
            TypeError, match="learns from Discrete or flat Box observations and Discrete actions from 0"
        ):
            made(env)
