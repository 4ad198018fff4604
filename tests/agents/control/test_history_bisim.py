"""The loss by hand, what it moves, memory in predict, stretches of episodes, and stitching in a short run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete

from tiltyard.agents import HistoryBisim
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.history_bisim import alike, bisimulation_loss, distance
from tiltyard.agents.control.history_policy import Gaussian
from tiltyard.agents.control.history_store import HistoryStore

SMALL: dict[str, Any] = {
    "batch_size": 16,
    "seed": 0,
    "device": "cpu",
    "context_length": 4,
    "policy_kwargs": {"net_arch": [16], "hidden_size": 16, "feature_dim": 4},
}


class Recall(gymnasium.Env[Any, Any]):
    """A sign is shown once; two steps later the action that it named pays 1."""

    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.sign, self.steps = int(self.np_random.integers(2)), 0
        return self.seen(), {}

    def seen(self) -> Any:
        return np.array([(2 * self.sign - 1) * (self.steps == 0), self.steps / 3], np.float32)

    def step(self, action: Any) -> Any:
        self.steps += 1
        ended = self.steps == 3
        return self.seen(), float(ended and action == self.sign), ended, False, {}


def recorded(episodes: int = 60) -> Transitions:
    """Of random actions."""
    rng, env = np.random.default_rng(0), Recall()
    rows, actions = [], rng.integers(2, size=3 * episodes)
    for i in range(episodes):
        seen = env.reset(seed=i)[0]
        for action in actions[3 * i : 3 * i + 3]:
            after, reward, *_ = env.step(action)
            rows.append((seen, reward, after))
            seen = after
    seen, rewards, after = (np.array(part, np.float32) for part in zip(*rows, strict=True))
    ends = np.arange(1, 3 * episodes + 1) % 3 == 0
    of = np.repeat(np.arange(episodes), 3)
    return Transitions(seen, actions, rewards, after, ends.astype(np.float32), ends, of, np.zeros(episodes))


def made(**settings: Any) -> HistoryBisim:
    return HistoryBisim("MlpPolicy", Recall(), **{**SMALL, **settings})


def test_the_loss_by_hand() -> None:
    latents = th.tensor([[1.0, 2.0], [0.0, 0.0]], requires_grad=True)
    mean = th.tensor([[3.0, 0.0], [0.0, 0.0]], requires_grad=True)
    following = Gaussian(mean, th.tensor([[5.0, 1.0], [1.0, 1.0]]))
    assert distance(Gaussian(*(part[:1] for part in following)), Gaussian(*(part[1:] for part in following))) == 5.0
    # |1| + |2| = 3, |1 - 0.5| = 0.5 and 0.4 * sqrt(9 + 16) = 2: (3 - 2.5)^2 = 0.25.
    pairs = th.tensor([0]), th.tensor([1])
    loss = bisimulation_loss(latents, th.tensor([1.0, 0.5]), following, pairs, 0.4)
    assert loss.item() == pytest.approx(0.25)
    loss.backward()
    assert latents.grad is not None
    assert latents.grad.tolist() == [[1.0, 1.0], [-1.0, -1.0]]  # 2 * 0.5 * sign
    assert mean.grad is None
    nothing = th.zeros(0, dtype=th.long)
    assert bisimulation_loss(latents, th.zeros(2), following, (nothing, nothing), 0.4) == 0


def test_pairs_have_the_same_action_and_are_random() -> None:
    actions = th.arange(40) % 3
    first, second = alike(actions)
    assert len(first) == 37
    assert (actions[first] == actions[second]).all()
    assert (first != second).all()
    assert any(not alike(actions)[0].equal(first) for _ in range(3))


def test_episodes_are_cut_into_stretches_that_know_where_they_ended() -> None:
    store = HistoryStore(3, 2, 1)
    store.add([[1.0], [2.0], [3.0], [4.0]], [1, 0, 1], [0.0, 0.5, 1.0], True)
    found = store.all()
    assert found.observations[..., 0].tolist() == [[1, 2, 3], [3, 4, 0]]
    assert found.actions.tolist() == [[1, 0], [1, 0]]
    assert found.rewards.tolist() == [[0, 0.5], [1, 0]]
    assert found.going_on.tolist() == [[1, 1], [0, 0]]
    assert found.valid.tolist() == [[True, True], [True, False]]
    assert found.before(2).tolist() == [[2, 1, 0], [2, 1, 0]]
    store.add([[7.0], [8.0], [9.0]], [1, 1], [0.0, 0.0], False)
    store.add([[5.0], [6.0]], [1], [0.0], False)  # in the place of the oldest
    assert store.all().observations[..., 0].tolist() == [[5, 6, 0], [3, 4, 0], [7, 8, 9]]
    assert store.all().going_on[0].tolist() == [1, 0]
    assert len(store) == 3


def test_a_dataset_is_all_its_episodes() -> None:
    data = recorded(5)
    whole, cut = HistoryStore.of(data, 4).all(), HistoryStore.of(data, 2).all()
    assert whole.valid.sum() == cut.valid.sum() == len(data)
    assert (len(whole.valid), len(cut.valid)) == (5, 10)
    assert whole.observations[0, 3].tolist() == data.next_observations[2].tolist()
    assert whole.going_on.sum() == cut.going_on.sum() == 10


def test_a_step_that_terminates_within_an_episode_has_no_future() -> None:
    data = recorded(2)
    terminations = np.zeros(len(data), np.float32)
    terminations[1] = 1
    found = HistoryStore.of(replace(data, terminations=terminations), 2).all()
    assert found.going_on[found.valid].tolist() == (1 - terminations).tolist()


def test_the_weight_changes_the_latents_gradient_and_nothing_else_does() -> None:
    def moved(**settings: Any) -> tuple[list[th.Tensor], float]:
        agent = made(**settings).learn_offline(recorded(), 0)
        th.manual_seed(1)
        loss = agent.update(agent.sample(16))["bisimulation_loss"]
        return [param.detach().clone() for param in agent.policy.parameters()], float(loss)

    (without, loss), (same, _), (weighted, again) = (moved(bisimulation_weight=one) for one in (0.0, 0.0, 1.0))
    assert all(one.equal(other) for one, other in zip(without, same, strict=True))
    assert any(not one.equal(other) for one, other in zip(without, weighted, strict=True))
    assert loss == again > 0


def test_the_target_is_double_and_ends_with_the_episode() -> None:
    agent = made(gamma=0.5).learn_offline(recorded(), 0)
    batch, policy = agent.sample(6), agent.policy
    with th.no_grad():
        policy.target.out.bias.add_(1.0)
        before = batch.before(policy.n_actions)
        values = th.randn(6, 5, 2)  # as of a network whose best actions differ from step to step
        behind = policy.target.values(policy.target.encode(batch.observations, before)[0])
        squares, gaps = [], []
        for b, t in batch.valid.nonzero().tolist():
            action = batch.actions[b, t]
            y = batch.rewards[b, t]
            if t < 2:
                y = y + 0.5 * behind[b, t + 1, values[b, t + 1].argmax()]
            squares.append((values[b, t, action] - y) ** 2)
            gaps.append(values[b, t].exp().sum().log() - values[b, t, action])
        errors, gap = agent._value_losses(batch, values)
    assert errors.item() == pytest.approx(float(th.stack(squares).mean()), rel=1e-5)
    assert gap.item() == pytest.approx(float(th.stack(gaps).mean()), rel=1e-5)


@pytest.mark.slow
def test_it_recalls_what_was_shown_and_without_a_memory_it_cannot() -> None:
    data, shares = recorded(200), {}
    for recurrent in (True, False):
        kwargs = {**SMALL["policy_kwargs"], "recurrent": recurrent}
        agent = made(learning_rate=1e-2, tau=0.05, bisimulation_weight=0.1, policy_kwargs=kwargs)
        agent.learn_offline(data, 300)
        won, env = [], Recall()
        for seed in range(1000, 1040):
            seen, state, done = env.reset(seed=seed)[0], None, False
            while not done:
                action, state = agent.predict(seen[None], state)
                seen, reward, done, *_ = env.step(action[0])
            won.append(reward)
        shares[recurrent] = np.mean(won)
    assert shares[True] == 1.0
    assert shares[False] < 0.8


def test_predict_goes_through_an_episode_as_updates_do_and_begins_anew_where_told() -> None:
    agent = made()
    seen = np.random.default_rng(0).normal(size=(5, 3, 2)).astype(np.float32)
    actions, states, state = [], [], None
    for t in range(3):
        chosen, state = agent.predict(seen[:, t], state, np.full(5, t == 0))
        actions.append(chosen)
        states.append(state)
    before = th.as_tensor(np.stack([np.full(5, 2), *actions[:2]], axis=1))
    with th.no_grad():
        latents, memory = agent.policy.online.encode(th.as_tensor(seen), before)
    assert np.allclose(states[2][0], memory, atol=1e-6)
    assert (agent.policy.online.values(latents).argmax(2)[:, 2].numpy() == actions[2]).all()
    _, anew = agent.predict(seen[:, 0], state, np.arange(5) < 2)
    assert np.allclose(anew[0][:2], states[0][0][:2], atol=1e-6)
    assert not np.allclose(anew[0][2:], states[0][0][2:], atol=1e-3)
    with pytest.raises(ValueError, match="a state for 4 observations"):
        agent.predict(seen[:4, 0], state)


def test_own_episodes_are_kept_whole_beside_the_data() -> None:
    agent = made(learning_rate=0.0).learn_offline(recorded(), 0)
    agent.learn(10)
    kept = agent.kept.all()
    assert len(agent.kept) == 3
    assert kept.valid.sum(1).tolist() == [3, 3, 3]
    assert kept.going_on.sum(1).tolist() == [2, 2, 2]
    assert kept.observations[:, 0, 0].abs().tolist() == [1, 1, 1]
    assert np.allclose(kept.observations[:, 3, 1], 1.0)
    assert len(agent.sample(500).valid) == 500
    agent.learn(2, reset_num_timesteps=False)
    assert len(agent.kept) == 4  # that under way went on


def test_a_saved_agent_goes_on_as_it_would_have(tmp_path: Path) -> None:
    one = made().learn_offline(recorded(), 3)
    one.save(tmp_path / "agent")
    other = HistoryBisim.load(tmp_path / "agent", env=one.get_env())
    for agent in (one, other):
        th.manual_seed(5)
        agent.learn_offline(recorded(), 3)
    for mine, theirs in zip(one.policy.state_dict().values(), other.policy.state_dict().values(), strict=True):
        assert mine.equal(theirs)
    assert other._n_updates == 6


def test_the_loss_falls_where_it_is_minimised_and_is_told() -> None:
    losses = {}
    for weight in (0.0, 1.0):
        agent = made(bisimulation_weight=weight, learning_rate=3e-3).learn_offline(recorded(), 150)
        losses[weight] = agent.bisimulation_of(recorded())
        assert "train/bisimulation_loss" in agent.logger.name_to_value
    assert losses[1.0] < 0.2 * losses[0.0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"actions": np.full(9, 2)}, "an action outside the agent's space: 2"),
        ({"rewards": np.full(9, np.nan, np.float32)}, "NaN"),
        ({"observations": np.zeros((9, 3), np.float32)}, "shape"),
    ],
)
def test_data_that_do_not_fit_are_refused(changes: dict[str, Any], said: str) -> None:
    agent = made()
    with pytest.raises(ValueError, match=said):
        agent.learn_offline(replace(recorded(3), **changes), 1)
    assert agent.demonstrations is None
    for call in (lambda: agent.train(1), lambda: agent.learn(4)):
        with pytest.raises(ValueError, match="learn_offline"):
            call()


def test_other_observations_and_settings_are_refused() -> None:
    class Deep(Recall):
        observation_space = Box(-1, 1, (2, 2), np.float32)

    with pytest.raises(TypeError, match="history-bisim learns from flat Box observations"):
        HistoryBisim("MlpPolicy", Deep(), **SMALL)
    with pytest.raises(ValueError, match="bisimulation_weight"):
        made(bisimulation_weight=-1.0)
