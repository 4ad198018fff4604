"""The backup over options by hand, goals drawn in hindsight, the two levels, own episodes, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import minari
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict
from minari.data_collector import EpisodeBuffer
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from tiltyard.agents import OTA, make
from tiltyard.agents.control.goal_data import GOALS, GoalTransitions, Hindsight, RecordedWalks, WalkReplay
from tiltyard.agents.control.ota import advantages, cloning_loss, option_value_loss

SMALL: dict[str, Any] = {
    "batch_size": 64,
    "buffer_size": 60,
    "seed": 0,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [32], "activation_fn": th.nn.ReLU, "layer_norm": False},
}
LENGTH = 12


class Line(gymnasium.Env[Any, Any]):
    """A place on a line that an action moves by up to 1; the goal is 5 to the left or to the right."""

    observation_space = Dict({name: Box(-99, 99, (1,), np.float32) for name in ("observation", "achieved_goal")})
    observation_space["desired_goal"] = Box(-99, 99, (1,), np.float32)
    action_space = Box(-1, 1, (1,), np.float32)

    def seen(self) -> Any:
        goal = np.array([5.0 * self.side], np.float32)
        return {"observation": self.at.copy(), "achieved_goal": self.at.copy(), "desired_goal": goal}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at, self.steps = np.zeros(1, np.float32), 0
        self.side = int(self.np_random.choice([-1, 1]))
        return self.seen(), {}

    def step(self, action: Any) -> Any:
        self.at, self.steps = self.at + np.float32(action), self.steps + 1
        return self.seen(), 0.0, False, self.steps == LENGTH, {}


def walks(episodes: int = 100, steps: int = LENGTH, seed: int = 0) -> GoalTransitions:
    """To one side each, at full speed."""
    side = np.random.default_rng(seed).choice([-1.0, 1.0], size=(episodes, 1, 1))
    actions = np.broadcast_to(side, (episodes, steps, 1)).reshape(-1, 1).astype(np.float32)
    places = (side * np.arange(steps + 1)[None, :, None]).astype(np.float32)
    before, after = (part.reshape(-1, 1) for part in (places[:, :-1], places[:, 1:]))
    n = episodes * steps
    return GoalTransitions(
        observations=before,
        actions=actions,
        rewards=np.zeros(n, np.float32),
        next_observations=after,
        terminations=np.zeros(n, np.float32),
        ends=np.arange(1, n + 1) % steps == 0,
        episodes=np.repeat(np.arange(episodes), steps),
        episode_returns=np.zeros(episodes),
        achieved=before,
        next_achieved=after,
    )


def made(**settings: Any) -> OTA:
    return OTA("MultiInputPolicy", Line(), **{**SMALL, "subgoal_steps": 3, "abstraction_factor": 4, **settings})


def recorded(data: GoalTransitions) -> RecordedWalks:
    return RecordedWalks(data, data.actions)


def drawn(n: int = 4000, **changes: Any) -> Any:
    """Goals on a line that runs from 0 to 12, so that a state is a time."""
    data = walks(1)
    data = replace(data, **{name: np.abs(getattr(data, name)) for name in ("observations", "next_observations")})
    data = replace(data, achieved=data.observations, next_achieved=data.next_observations)
    how = {"gamma": 0.8, "current": 0.2, "ahead": 0.5, "actor_random": 0.0, "subgoal_steps": 3, "option_steps": 4}
    th.manual_seed(0)
    return Hindsight(goal_size=1, **{**how, **changes}).batch(recorded(data), n)


def test_the_loss_of_two_options_by_hand() -> None:
    # Not reached: -1 + 0.9 min(-2, -3) = -3.7, below the targets' mean of -3 here, so the weight is 0.3:
    # 0.3 (-1 - 1.8 + 2)^2 = 0.192 and 0.3 (-1 - 2.7 + 4)^2 = 0.027.
    # Reached: 0, above -1, so the weight is 0.7: 0.7 * 1 = 0.7 and 0.7 * 4 = 2.8. Means 0.446 and 1.4135.
    values = th.tensor([[-2.0, -1.0], [-4.0, -2.0]])
    here, after = th.tensor([[-2.0, -1.0], [-4.0, -1.0]]), th.tensor([[-2.0, -9.0], [-3.0, -9.0]])
    found = option_value_loss(values, here, after, th.tensor([False, True]), gamma=0.9, expectile=0.7)
    assert found.item() == pytest.approx((0.192 + 0.7) / 2 + (0.027 + 2.8) / 2, abs=1e-5)


def test_the_loss_of_imitation_by_hand() -> None:
    # 0.5 (2 (1 + 4) + 0.5 * 9) / 2 = 3.625
    mean, wanted = th.tensor([[1.0, 2.0], [0.0, 3.0]]), th.tensor([[0.0, 0.0], [0.0, 0.0]])
    assert cloning_loss(mean, wanted, th.tensor([2.0, 0.5])).item() == pytest.approx(3.625)


def test_options_end_after_n_steps_or_at_the_goal_or_with_the_episode() -> None:
    found = drawn(current=0.0, ahead=1.0)
    time, end, goal = (part[:, 0] for part in (found.states, found.option_ends, found.option_goals))
    np.testing.assert_array_equal(end, th.minimum(time + 4, goal))
    np.testing.assert_array_equal(found.option_reached, end == goal)
    assert 0.2 < found.option_reached.float().mean() < 0.9
    anywhere = drawn(current=0.0, ahead=0.0)
    np.testing.assert_array_equal(anywhere.option_ends[:, 0], (anywhere.states[:, 0] + 4).clamp(max=LENGTH))
    assert not anywhere.option_reached.any()
    there = drawn(current=1.0, ahead=0.0)
    np.testing.assert_array_equal(there.option_ends[:, -1:], there.option_goals)
    assert there.option_reached.all()


def test_goals_of_steps_are_where_it_is_ahead_or_anywhere_in_their_shares() -> None:
    found = drawn(20_000)
    time, goal = found.states[:, 0], found.goals[:, 0]
    assert found.reached.float().mean().item() == pytest.approx(0.2, abs=0.01)
    np.testing.assert_array_equal(goal[found.reached], time[found.reached])
    # Of any step 11/12 * 1/2 lie behind: 0.3 * 11 / 24.
    assert (goal < time).float().mean().item() == pytest.approx(0.3 * 11 / 24, abs=0.01)
    ahead = drawn(20_000, current=0.0, ahead=1.0)
    steps = (ahead.goals - ahead.states[:, 1:])[:, 0]
    assert steps.min() == 1
    # From time 0 a goal is d steps away with probability 0.2 * 0.8^(d - 1).
    assert (steps[ahead.states[:, 0] == 0] == 2).float().mean().item() == pytest.approx(0.16, abs=0.03)


def test_subgoals_lie_k_steps_ahead_and_never_beyond_the_goal() -> None:
    found = drawn()
    time, target, goal = (part[:, 0] for part in (found.states, found.targets, found.actor_goals))
    np.testing.assert_array_equal(target, th.minimum(time + 3, goal))
    np.testing.assert_array_equal(found.subgoals[:, 0], (time + 3).clamp(max=LENGTH))
    anywhere = drawn(actor_random=1.0)
    np.testing.assert_array_equal(anywhere.targets[:, 0], (anywhere.states[:, 0] + 3).clamp(max=LENGTH))
    assert (anywhere.actor_goals[:, 0] < anywhere.states[:, 0]).any()


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_discounts_of_0_and_1_draw_the_next_state_and_the_last(gamma: float) -> None:
    found = drawn(200, current=0.0, ahead=1.0, gamma=gamma)
    wanted = np.full(200, LENGTH) if gamma else found.states[:, 0] + 1
    np.testing.assert_array_equal(found.goals[:, 0], wanted)


@pytest.mark.slow
def test_values_of_a_line_are_of_steps_and_of_options() -> None:
    # From 0 a goal 8 steps to the right: 8 steps cost 1 each, and of options of 4 the second one reaches it: 1.
    # Learnt with a discount of 0.9: -(1 - 0.9^8) / 0.1 = -5.7 and -1.
    how = {"learning_rate": 3e-3, "tau": 0.05, "gamma": 0.9, "current_goal_ratio": 0.2, "ahead_goal_ratio": 0.8}
    agent = made(**how).learn_offline(walks(), 500, log_interval=0)
    inputs = agent.policy.with_goals(th.zeros(1, 2), th.full((1, 1), 8.0))
    with th.no_grad():
        low, high = agent.policy.value(inputs).mean().item(), agent.policy.high_value(inputs).mean().item()
    assert low == pytest.approx(-5.7, abs=1.0)
    assert high == pytest.approx(-1.0, abs=0.5)
    closer = advantages(
        agent.policy, agent.policy.high_value, th.zeros(1, 2), th.full((1, 2), 3.0), th.full((1, 1), 9.0)
    )
    assert closer.item() > 0


@pytest.mark.parametrize("name", ["ota", "hiql"])
def test_it_goes_where_it_is_asked_to(name: str) -> None:
    settings = {**SMALL, "subgoal_steps": 3, "learning_rate": 3e-3}
    agent = make(name, Line(), **settings).learn_offline(walks(), 300, log_interval=0)
    assert (agent.policy.high_value is agent.policy.value) == (name == "hiql")
    seen = {
        "observation": np.zeros((2, 1)),
        "achieved_goal": np.zeros((2, 1)),
        "desired_goal": np.array([[5.0], [-5.0]]),
    }
    actions, _ = agent.predict(seen, deterministic=True)
    assert actions[0] > 0.5
    assert actions[1] < -0.5
    subgoals = agent.policy.subgoals(th.zeros(2, 2), th.tensor([[5.0], [-5.0]])).detach()
    assert 1.5 < subgoals[0] < 4.5
    assert -4.5 < subgoals[1] < -1.5


def test_own_episodes_are_learnt_from_once_they_end(tmp_path: Path) -> None:
    agent = made(learning_starts=0).learn_offline(walks(4), 5, log_interval=0)
    agent.learn(LENGTH - 1)
    assert agent._stored == 0
    agent.learn(1, reset_num_timesteps=False)
    assert agent._stored == LENGTH
    agent.learn(70, reset_num_timesteps=False)  # more than the buffer holds
    own = agent.replay_buffer
    assert isinstance(own, WalkReplay)
    at = th.from_numpy(np.flatnonzero(own.ep_length > 0))
    left, first = own.left(at), own.states(at, th.zeros_like(at))
    assert left.min() == 1
    assert left.max() == LENGTH
    last = own.states(at, left)
    np.testing.assert_allclose(own.states(at, left - 1) + own.taken(at + left - 1).repeat(1, 2), last, atol=1e-5)
    np.testing.assert_array_equal(first[left == LENGTH], 0)
    assert agent.sample(64).states.shape == (64, 2)
    agent.save_replay_buffer(tmp_path / "own")
    agent.load_replay_buffer(tmp_path / "own")


def test_a_dataset_of_minari_is_the_same_as_arrays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    places = np.arange(LENGTH + 1, dtype=np.float32)[:, None]
    ended = np.arange(1, LENGTH + 1) == LENGTH
    buffers = [
        EpisodeBuffer(
            id=i,
            observations={name: places if name != "desired_goal" else 0 * places for name in GOALS},
            actions=np.ones((LENGTH, 1), np.float32),
            rewards=np.zeros(LENGTH),
            terminations=0 * ended,
            truncations=ended,
        )
        for i in range(2)
    ]
    spaces = {"observation_space": Line.observation_space, "action_space": Line.action_space}
    dataset = minari.create_dataset_from_buffers("tiltyard/line-v0", buffer=buffers, **spaces)  # type: ignore[arg-type]
    agent, steps = made(), np.arange(LENGTH)
    read = GoalTransitions.from_minari(dataset, agent.observation_space, agent.action_space)
    np.testing.assert_array_equal(read.achieved[:, 0], np.tile(steps, 2))
    np.testing.assert_array_equal(read.next_achieved, read.next_observations)
    np.testing.assert_array_equal(read.ends, np.tile(steps == LENGTH - 1, 2))
    agent.learn_offline(dataset, 1)
    other = gymnasium.make("tiltyard/PointMaze-v0", goal_conditioned=True)
    with pytest.raises(ValueError, match="is of another space"):
        make("ota", other, preset=None).learn_offline(dataset, 1)


def test_what_it_refuses() -> None:
    with pytest.raises(TypeError, match="make a maze with goal_conditioned=True"):
        OTA("MultiInputPolicy", "Pendulum-v1")
    with pytest.raises(TypeError, match="OTA learns from .* as the environment gives them: take VecNormalize off"):
        OTA("MultiInputPolicy", VecNormalize(DummyVecEnv([Line])), buffer_size=10)
    with pytest.raises(ValueError, match=r"at most 1 together, got 1\.1"):
        made(current_goal_ratio=0.6, ahead_goal_ratio=0.5)
    with pytest.raises(ValueError, match="learn_offline"):
        made().learn(5)
    bad = replace(walks(2), next_achieved=np.full((2 * LENGTH, 1), np.nan, np.float32))
    with pytest.raises(ValueError, match="NaN or infinity in their next_achieved"):
        made().learn_offline(bad, 1)
    bad = replace(walks(2), achieved=np.zeros((2 * LENGTH, 2), np.float32))
    with pytest.raises(ValueError, match="hold achieved of shape"):
        made().learn_offline(bad, 1)
    with pytest.raises(ValueError, match="gradient_steps must be an integer"):
        made().learn_offline(walks(2), -1)
