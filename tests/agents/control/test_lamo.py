"""Decision Transformer and LaMo: what is seen at a step, what learns, windows, returns that are wanted, and memory."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from torch import nn

from tiltyard.agents import DecisionTransformer, make
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.decision_policy import LowRank
from tiltyard.agents.control.lamo import Windows

SMALL: dict[str, Any] = {"context_length": 4, "batch_size": 16, "seed": 0, "device": "cpu"}


class Recall(gymnasium.Env[Any, Any]):
    """A sign is shown once; two steps later an action of that sign is paid 1, of the other -1."""

    observation_space, action_space = Box(-1, 1, (2,), np.float32), Box(-2, 2, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.sign, self.steps = 2 * int(self.np_random.integers(2)) - 1, 0
        return self.seen(), {}

    def seen(self) -> Any:
        return np.array([self.sign * (self.steps == 0), self.steps / 3], np.float32)

    def step(self, action: Any) -> Any:
        self.steps += 1
        ended = self.steps == 3
        return self.seen(), float(ended) * self.sign * np.sign(action[0]), ended, False, {}


def recorded(episodes: int = 60) -> Transitions:
    """Of actions that are the smallest or the largest, at random."""
    rng, env = np.random.default_rng(0), Recall()
    rows, actions = [], rng.choice([-2.0, 2.0], (3 * episodes, 1)).astype(np.float32)
    for i in range(episodes):
        seen = env.reset(seed=i)[0]
        for action in actions[3 * i : 3 * i + 3]:
            after, reward, *_ = env.step(action)
            rows.append((seen, reward, after))
            seen = after
    seen, rewards, after = (np.array(part, np.float32) for part in zip(*rows, strict=True))
    ends = np.arange(1, 3 * episodes + 1) % 3 == 0
    of = np.repeat(np.arange(episodes), 3)
    return Transitions(seen, actions, rewards, after, ends.astype(np.float32), ends, of, rewards[ends].astype(float))


def agent(name: str = "decision-transformer", **settings: Any) -> Any:
    return make(name, Recall(), **{**SMALL, **settings})


def test_an_action_depends_on_what_stands_before_it_alone() -> None:
    policy = agent().policy
    wanted, seen, taken = th.rand(2, 4), th.randn(2, 4, 2), th.rand(2, 4, 1)
    before = policy.actions(wanted, seen, taken)
    for part, place, moves in ((taken, 1, [2, 3]), (seen, 1, [1, 2, 3]), (wanted, 2, [2, 3])):
        kept = part.clone()
        part[:, place] += 1
        after = policy.actions(wanted, seen, taken)
        assert [t for t in range(4) if not th.allclose(before[:, t], after[:, t], atol=1e-6)] == moves
        part.copy_(kept)


def test_a_low_rank_update_by_hand() -> None:
    base = nn.Linear(2, 2, bias=False)
    layer = LowRank(base, 1)
    x = th.tensor([[1.0, 2.0]])
    assert layer(x).equal(base(x))  # it begins at nothing
    with th.no_grad():
        base.weight.copy_(th.eye(2))
        layer.down.copy_(th.tensor([[1.0, 1.0]]))
        layer.up.copy_(th.tensor([[2.0], [0.0]]))
    assert layer(x).tolist() == [[7.0, 2.0]]  # (1, 2) + 2 * (1 + 2) to the first


@pytest.mark.parametrize("name", ["decision-transformer", "lamo"])
def test_which_weights_of_the_backbone_learn(name: str) -> None:
    one = agent(name).learn_offline(recorded(), 0)
    before = {key: param.detach().clone() for key, param in one.policy.named_parameters()}
    one.learn_offline(recorded(), 3)
    moved = {key for key, param in one.policy.named_parameters() if not param.equal(before[key])}
    backbone = {key for key in moved if key.startswith("backbone")}
    if name == "lamo":
        assert backbone == {f"backbone.blocks.{i}.qkv.{part}" for i in range(2) for part in ("up", "down")}
    else:
        assert backbone == {key for key in before if key.startswith("backbone")} - {"backbone.embedding.weight"}
    assert any(key.startswith("embed_return") for key in moved)


def test_lamo_begins_as_the_language_model_and_text_keeps_it_readable() -> None:
    given = agent("lamo").perplexity()
    assert given < 6
    kept, lost = (
        agent("lamo", language_weight=weight, learning_rate=1e-2).learn_offline(recorded(), 60).perplexity()
        for weight in (1.0, 0.0)
    )
    assert kept < lost
    assert kept < 8


def test_windows_are_of_one_episode_with_the_returns_to_go_by_hand() -> None:
    data = recorded(2)
    rewards = np.array([1, 2, 4, 0, 0, 8], np.float32)
    data = Transitions(
        *(data.observations, data.actions, rewards, data.next_observations, data.terminations),
        *(data.ends, data.episodes, np.array([7.0, 8.0])),
    )
    one = agent().learn_offline(data, 0)
    assert float(one.policy.return_scale) == 8
    assert float(one.policy.target_return) == 1
    th.manual_seed(0)
    batch: Windows = one.sample(200)
    found = {tuple((8 * row[valid]).tolist()) for row, valid in zip(batch.wanted, batch.valid, strict=True)}
    assert found == {(7, 6, 4), (6, 4), (4,), (8, 8, 8), (8, 8), (8,)}
    assert set(batch.actions[batch.valid].flatten().tolist()) == {-1, 1}
    assert (batch.actions[~batch.valid] == 0).all()


def test_observations_are_standardised_by_the_data_and_constant_ones_are_left() -> None:
    data, one = recorded(), agent()
    data.observations[:, 0] = np.where(np.arange(len(data)) % 2, 3.0, 7.0)
    data.observations[:, 1] = 2.0
    one.learn_offline(data, 0)
    assert one.policy.seen_mean.tolist() == pytest.approx([5, 2])
    assert one.policy.seen_std.tolist() == pytest.approx([2, 1])
    seen, plain = th.tensor([[[9.0, 2.0]]]), agent().policy
    given = th.ones(1, 1), th.zeros(1, 1, 1)
    assert one.policy.actions(given[0], seen, given[1]).equal(
        plain.actions(given[0], th.tensor([[[2.0, 0.0]]]), given[1])
    )


def test_what_lies_beyond_an_episode_is_not_learnt_from() -> None:
    one = agent().learn_offline(recorded(), 0)
    batch = one.sample(16)
    losses = []
    for filler in (0.0, 5.0):
        th.manual_seed(1)
        actions = batch.actions.clone()
        actions[~batch.valid] = filler
        again = agent().learn_offline(recorded(), 0)
        losses.append(float(again.update(batch._replace(actions=actions))["action_loss"]))
    assert losses[0] == losses[1]


def test_what_is_paid_is_taken_off_what_is_wanted_from_the_next_step_on() -> None:
    one = agent(target_return=10.0).learn_offline(recorded(), 0)  # whose largest return is 1
    seen = np.zeros((2, 2), np.float32)
    _, state = one.predict(seen)
    state = one.policy.paid(state, [3.0, 0.0])
    _, state = one.predict(seen, state)
    assert state[0][:, :2].tolist() == [[10, 7], [10, 10]]
    assert state[3].tolist() == [2, 2]


def test_predict_acts_as_on_the_whole_window_and_forgets_the_oldest_steps_and_other_episodes() -> None:
    one = agent().learn_offline(recorded(), 5)
    rng = np.random.default_rng(0)
    shown, state, acted = rng.normal(size=(6, 1, 2)).astype(np.float32), None, []
    for seen in shown:
        action, state = one.predict(seen, state)
        acted.append(one.policy.scale_action(action)[0])
    last = th.as_tensor(shown[2:, 0])[None]
    taken = th.as_tensor(np.array([*acted[2:5], [0.0]], np.float32))[None]
    expected = one.policy.actions(th.ones(1, 4), last, taken)[0, -1]
    assert acted[-1] == pytest.approx(expected.detach().numpy(), abs=1e-5)
    again, _ = one.predict(shown[0], state, np.array([True]))
    assert again == pytest.approx(one.predict(shown[0])[0])


@pytest.mark.slow
def test_it_recalls_and_does_what_is_asked_for_and_not_what_most_did() -> None:
    one = agent(learning_rate=3e-3, batch_size=64).learn_offline(recorded(200), 150)
    for target, paid in ((1.0, 1.0), (-1.0, -1.0)):
        one.policy.target_return.fill_(target)
        env, returns = Recall(), []
        for episode in range(20):
            seen, state, ended = env.reset(seed=episode)[0], None, False
            while not ended:
                action, state = one.predict(seen[None], state)
                seen, reward, ended, *_ = env.step(action[0])
            returns.append(reward)
        assert np.mean(returns) * paid > 0.8


def test_episodes_of_its_own_join_the_data() -> None:
    one = agent().learn_offline(recorded(), 0).learn(12)
    assert len(one.own) == 4
    assert {len(episode.returns) for episode in one.own} == {3}
    assert all(episode.returns[0] == episode.returns[2] for episode in one.own)  # paid at the end alone


def test_a_checkpoint_keeps_what_is_asked_for(tmp_path: Path) -> None:
    one = agent("lamo", target_return=0.5).learn_offline(recorded(), 2)
    one.save(tmp_path / "one")
    again = DecisionTransformer.load(tmp_path / "one")
    assert float(again.policy.target_return) == 0.5
    assert again.predict(np.ones((1, 2), np.float32))[0] == pytest.approx(one.predict(np.ones((1, 2), np.float32))[0])
