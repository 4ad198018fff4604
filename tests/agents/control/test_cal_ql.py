from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.cal_ql import CalQL, EpisodicReplay, calibrated, unseen_tail
from tiltyard.agents.control.datasets import Transitions

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "batch_size": 32, "buffer_size": 500, "seed": 0}
UNKNOWN = -np.inf


class Count(gymnasium.Env[Any, Any]):
    """Three steps an episode, each pays what it is told to; observations count the steps ever taken."""

    observation_space = Box(-1e6, 1e6, (1,))
    action_space = Box(-1, 1, (1,))
    steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.left = 3
        self.steps += 1
        return np.array([self.steps], np.float32), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        self.steps += 1
        return np.array([self.steps], np.float32), float(action[0]), self.left == 0, False, {}


def two_episodes() -> Transitions:
    """One of two steps that terminates, one of two that a time limit cuts off while it pays -1."""
    ends = np.array([False, True, False, True])
    return Transitions(
        observations=np.zeros((4, 1), np.float32),
        actions=np.zeros((4, 1), np.float32),
        rewards=np.array([1, -1, 1, -1], np.float32),
        next_observations=np.zeros((4, 1), np.float32),
        terminations=np.array([0, 1, 0, 0], np.float32),
        ends=ends,
        episodes=np.array([0, 0, 1, 1]),
        episode_returns=np.zeros(2),
    )


def test_returns_of_a_dataset_by_hand() -> None:
    # gamma 0.5. Terminated: -1; 1 - 0.5 = 0.5. Cut off: -1 for ever is -2, before it 1 - 1 = 0.
    agent = CalQL("MlpPolicy", Count(), gamma=0.5, **SMALL).learn_offline(two_episodes(), 0)
    assert agent.demonstrations is not None
    assert agent.demonstrations.returns.tolist() == [0.5, -1.0, 0.0, -2.0]


def test_a_bound_of_minus_infinity_stays_behind_a_termination_within_the_episode() -> None:
    data = replace(two_episodes(), terminations=np.array([0, 1, 1, 0], np.float32))
    agent = CalQL("MlpPolicy", Count(), gamma=1.0, **SMALL).learn_offline(data, 0)
    assert agent.demonstrations is not None
    assert agent.demonstrations.returns.tolist() == [0.0, -1.0, 1.0, UNKNOWN]


def test_what_a_time_limit_cut_off_is_bounded_from_below() -> None:
    assert unseen_tail(np.array([-1.0, 0.0, 3.0]), 0.9) == pytest.approx([-10.0, 0.0, 0.0])
    assert unseen_tail(np.array([-1.0, 0.0, 3.0]), 1.0).tolist() == [-np.inf, 0.0, 0.0]


def test_values_are_bounded_by_returns_by_hand() -> None:
    agent = CalQL("MlpPolicy", Count(), gamma=0.5, n_actions=1, **SMALL).learn_offline(two_episodes(), 0)
    batch = agent.demonstrated(2)._replace(returns=th.tensor([0.5, UNKNOWN]))
    values = th.tensor([[[-3.0, -2.0, 1.0], [-3.0, -2.0, 1.0]]])  # of one critic: uniform, here, next
    assert calibrated(values, batch).tolist() == [[[-3.0, 0.5, 1.0], [-3.0, -2.0, 1.0]]]


def test_values_below_returns_feel_no_push() -> None:
    agent = CalQL("MlpPolicy", Count(), n_actions=2, **SMALL).learn_offline(two_episodes(), 0)
    batch = agent.demonstrated(3)._replace(returns=th.tensor([100.0, -100.0, UNKNOWN]))
    values = th.zeros(1, 3, 6, requires_grad=True)
    calibrated(values, batch).sum().backward()  # type: ignore[no-untyped-call]
    assert values.grad is not None
    assert values.grad.tolist() == [[[1, 1, 0, 0, 0, 0], [1] * 6, [1] * 6]]


def test_the_share_of_values_below_returns_is_told() -> None:
    agent = CalQL("MlpPolicy", Count(), n_actions=2, **SMALL).learn_offline(two_episodes(), 0)
    batch = agent.demonstrated(4)
    shares = []
    for returns in (-1e6, 1e6):
        metrics = agent.update(batch._replace(returns=th.full((4,), returns)))
        shares.append(metrics["q_below_returns"].item())
    assert shares == [0.0, 1.0]


def test_targets_take_the_best_of_their_own_number_of_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = CalQL("MlpPolicy", Count(), n_actions=2, n_target_actions=7, **SMALL).learn_offline(two_episodes(), 0)
    drawn: list[int] = []
    noise = agent.actor.noise
    monkeypatch.setattr(agent.actor, "noise", lambda size: (drawn.append(size), noise(size))[1])
    agent.update(agent.demonstrated(4))
    assert drawn[:2] == [4 * 7, 2 * 4 * 2]  # of the targets, then at s and at s'


def test_deviations_begin_at_exp_of_minus_one_and_their_line_is_learnt() -> None:
    agent = CalQL("MlpPolicy", Count(), **SMALL).learn_offline(two_episodes(), 0)
    _, raw = agent.actor.out(th.zeros(1, 1)).chunk(2, dim=-1)
    assert raw.item() == pytest.approx(-1.0)
    before = agent.actor.log_std_line.detach().clone()
    agent.update(agent.demonstrated(4))
    agent.update(agent.demonstrated(4))
    assert (agent.actor.log_std_line != before).all()


def buffer(size: int = 8, gamma: float = 0.5, n_envs: int = 2) -> EpisodicReplay:
    made = EpisodicReplay(size, Box(-1e6, 1e6, (1,)), Box(-1, 1, (1,)), "cpu", n_envs)
    made.gamma = gamma
    return made


def put(replay: EpisodicReplay, at: list[float], rewards: list[float], done: list[int], cut_off: bool = False) -> None:
    """One step of every environment, from observation ``at`` to the next number."""
    seen: npt.NDArray[Any] = np.array(at, float)[:, None]
    infos = [{"TimeLimit.truncated": cut_off} for _ in at]
    replay.add(seen, seen + 1, np.zeros_like(seen), np.array(rewards), np.array(done), infos)


def test_an_episode_gets_its_returns_when_it_ends() -> None:
    replay = buffer()
    put(replay, [0, 10], [1, 1], [0, 0])
    assert (replay.returns == UNKNOWN).all()
    put(replay, [1, 11], [2, 2], [1, 0])  # environment 0 terminates: 2, 1 + 1
    assert replay.returns[:2].tolist() == [[2.0, UNKNOWN], [2.0, UNKNOWN]]
    put(replay, [20, 12], [4, -1], [0, 1], cut_off=True)  # environment 1 is cut off: -2, 2 - 1, 1 + 0.5
    assert replay.returns[:3].tolist() == [[2.0, 1.5], [2.0, 1.0], [UNKNOWN, -2.0]]


def test_an_episode_left_by_a_reset_stays_unknown() -> None:
    replay = buffer(n_envs=1)
    put(replay, [0], [1], [0])
    put(replay, [5], [1], [1])  # not where the last step led
    assert replay.returns[:2, 0].tolist() == [UNKNOWN, 1.0]


def test_returns_go_round_with_the_buffer() -> None:
    replay = buffer(size=3, n_envs=1)
    for step in range(5):  # an episode longer than the buffer
        put(replay, [step], [1], [step == 4])
    # steps 3, 4 and 2 in order of place; 1, 1.5 and 1.75 from the end
    assert replay.returns[:, 0].tolist() == [1.5, 1.0, 1.75]


def test_a_place_used_again_forgets_its_return() -> None:
    replay = buffer(size=2, n_envs=1)
    for step in range(3):  # the third step takes the place of the first
        put(replay, [10 * step], [1], [step < 2])
    assert replay.returns[:, 0].tolist() == [UNKNOWN, 1.0]


def test_returns_are_drawn_with_their_rows_and_saved(tmp_path: Path) -> None:
    agent = CalQL("MlpPolicy", Count(), gamma=0.5, n_actions=1, learning_starts=50, **SMALL)
    agent.learn_offline(two_episodes(), 0).learn(30)
    replay = agent.replay_buffer
    assert isinstance(replay, EpisodicReplay)
    rows, returns = replay.draw_with_returns(20)
    for row, known in zip(rows, returns, strict=True):
        place = np.flatnonzero(replay.observations[:, 0, 0] == row[0].item())
        assert replay.returns[place, 0].item() == known
    assert np.isfinite(replay.returns[:30]).all()
    agent.save_replay_buffer(tmp_path / "buffer")
    other = CalQL("MlpPolicy", Count(), gamma=0.5, **SMALL)
    other.load_replay_buffer(tmp_path / "buffer")
    np.testing.assert_array_equal(other.replay_buffer.returns[:30], replay.returns[:30])  # type: ignore[union-attr]


def test_learns_offline_and_better_online() -> None:
    rng = np.random.default_rng(0)
    n = 300
    actions = rng.uniform(-0.5, 0.1, (n, 1)).astype(np.float32)
    data = Transitions(
        observations=np.zeros((n, 1), np.float32),
        actions=actions,
        rewards=actions[:, 0],
        next_observations=np.zeros((n, 1), np.float32),
        terminations=np.ones(n, np.float32),
        ends=np.ones(n, bool),
        episodes=np.arange(n),
        episode_returns=actions[:, 0].astype(float),
    )

    class Push(Count):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return np.zeros(1, np.float32), {}

        def step(self, action: Any) -> Any:
            return np.zeros(1, np.float32), float(action[0]), True, False, {}

    settings: dict[str, Any] = {"learning_rate": 3e-3, "actor_learning_rate": 3e-3, "n_actions": 4}
    settings |= {"ent_coef": 0.4, "min_q_weight": 0.1}  # it explores, and may believe what it finds
    agent = CalQL("MlpPolicy", Push(), learning_starts=0, **settings, **SMALL)
    agent.learn_offline(data, 200)
    here = np.zeros(1, np.float32)
    offline = float(agent.predict(here, deterministic=True)[0][0])
    assert offline > actions.mean()
    batch = agent.learn(300).sample(32)
    assert batch.returns is not None
    online = float(agent.predict(here, deterministic=True)[0][0])
    assert online > max(offline, 0.1) + 0.1


def test_what_would_lose_returns_is_refused() -> None:
    with pytest.raises(ValueError, match="leave n_steps and replay_buffer_class as they are"):
        CalQL("MlpPolicy", Count(), n_steps=3, **SMALL)
    with pytest.raises(ValueError, match="CalQL learns from data"):
        CalQL("MlpPolicy", Count(), **SMALL).learn(5)
