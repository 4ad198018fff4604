"""Returns over several steps, by hand."""

from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.on_policy.sources import Step
from tiltyard.agents.control.parallel.replay import VectorReplay

GAMMA = 0.5


def filled(steps: list[dict[str, Any]], buffer_size: int = 20) -> VectorReplay:
    """Two environments; the second never ends. Observation and reward of step i are i, unless said otherwise."""
    buffer = VectorReplay(buffer_size, Box(-99, 99, (1,)), Box(-1, 1, (1,)), device="cpu", n_envs=2)
    for index, said in enumerate(steps):
        flags = {name: np.array([name in said.get("first", ""), False]) for name in ("terminated", "truncated")}
        following = np.array([[said.get("next", index + 1)], [index + 1]], np.float32)
        valid = np.array([not said.get("reset", False), True])
        last = {0: np.array([said["last"]], np.float32)} if "last" in said else {}
        rewards = np.array([index, index], np.float32)
        observations = th.tensor([[float(index)], [float(index)]])
        buffer.put(
            observations, np.zeros((2, 1), np.float32), Step(following, rewards, **flags, valid=valid, last=last)
        )
    return buffer


def returns(buffer: VectorReplay, row: int, env: int = 0, n_steps: int = 3) -> tuple[float, float, float]:
    """Return, discount and last observation of what begins at a row."""
    batch = buffer.returns_from(th.tensor([row * 2 + env]), GAMMA, n_steps, "cpu")
    assert float(batch.observations) == float(buffer.observations[row, env, 0])
    return float(batch.rewards), float(batch.discounts), float(batch.next_observations)


def test_three_rewards_are_summed_and_bootstrapped_from_the_third_state() -> None:
    buffer = filled([{}] * 6)
    assert returns(buffer, 1) == (1 + 0.5 * 2 + 0.25 * 3, 0.125, 4.0)
    assert returns(buffer, 1, n_steps=1) == (1.0, 0.5, 2.0)


def test_the_newest_step_ends_a_return_without_ending_an_episode() -> None:
    buffer = filled([{}] * 6)
    assert returns(buffer, 4) == (4 + 0.5 * 5, 0.25, 6.0)
    assert returns(buffer, 5) == (5.0, 0.5, 6.0)


def test_a_termination_has_nothing_after_it_and_a_truncation_its_last_observation() -> None:
    ended = filled([{}, {}, {"first": "terminated", "last": 77, "next": 0}, {}, {}, {}])
    cut = filled([{}, {}, {"first": "truncated", "last": 77, "next": 0}, {}, {}, {}])
    assert returns(ended, 1) == (1 + 0.5 * 2, 0.0, 77.0)
    assert returns(cut, 1) == (1 + 0.5 * 2, 0.25, 77.0)
    assert returns(cut, 2, n_steps=1) == (2.0, 0.5, 77.0)
    assert returns(ended, 1, env=1) == (1 + 0.5 * 2 + 0.25 * 3, 0.125, 4.0)
    assert returns(ended, 3) == (3 + 0.5 * 4 + 0.25 * 5, 0.125, 6.0)


def test_a_step_spent_on_a_reset_is_the_end_before_it_once_more() -> None:
    buffer = filled([{}, {"first": "truncated", "next": 9}, {"reset": True, "next": 0}, {}])
    assert returns(buffer, 0) == (0 + 0.5 * 1, 0.25, 9.0)
    assert (buffer.rewards[2, 0], buffer.next_observations[2, 0, 0], buffer.rewards[2, 1]) == (1.0, 9.0, 2.0)
    assert returns(buffer, 2, n_steps=1)[:2] == (1.0, 0.5)


def test_what_the_newest_step_has_overwritten_is_not_reached() -> None:
    buffer = filled([{}] * 7, buffer_size=8)  # 4 rows: steps 4, 5, 6 and 3, of which 3 is the oldest
    assert buffer.full
    assert buffer.size() == 4
    assert returns(buffer, 3) == (3 + 0.5 * 4 + 0.25 * 5, 0.125, 6.0)
    assert returns(buffer, 1) == (5 + 0.5 * 6, 0.25, 7.0)
    assert returns(buffer, 2) == (6.0, 0.5, 7.0)


def test_a_reset_from_outside_cuts_the_episodes_under_way() -> None:
    buffer = filled([{}, {}])
    buffer.cut()
    for name, array in vars(filled([{}, {}, {}, {}])).items():
        if name == "_table":
            buffer._table[2:4] = array[2:4]
    buffer.pos = 4
    assert returns(buffer, 0) == (0.5, 0.25, 2.0)
    empty = filled([])
    empty.cut()
    assert empty.size() == 0


@pytest.mark.parametrize("n_steps", [1, 3])
def test_draws_come_from_all_that_is_stored_and_nothing_else(n_steps: int) -> None:
    th.manual_seed(0)
    batch = filled([{}] * 5).drawn(500, GAMMA, n_steps, "cpu")
    assert set(batch.observations.flatten().tolist()) == {0.0, 1.0, 2.0, 3.0, 4.0}
