"""Walks are short and near, signs are those of the way around, and a walker solves what agents are asked."""

from dataclasses import replace

import numpy as np
import pytest
import torch as th

from tiltyard.benchmarks.testbeds.long_mazes import Learner, LongMazes, laid_out

BED = LongMazes().smallest()


def test_walks_lead_from_cell_to_cell_nearby() -> None:
    data, maze = replace(BED, episodes=20, steps=100).walks(0), BED.env(1).batched.maze
    assert data.lengths.tolist() == [100] * 20
    np.testing.assert_array_equal(data.achieved, data.observations[:, :2])
    inside = ~data.ends
    np.testing.assert_array_equal(data.next_observations[inside], data.observations[np.flatnonzero(inside) + 1])
    gone = maze.path_length(data.achieved[::100].astype(float), data.next_achieved[data.ends].astype(float))
    assert 0.5 < np.median(gone) < 6  # of 22
    assert gone.max() < 10
    np.testing.assert_array_equal(data.actions, replace(BED, episodes=20, steps=100).walks(0).actions)


def test_laid_out_by_hand() -> None:
    seen = [{name: np.array([[t], [10 + t]]) for name in ("observation", "achieved_goal")} for t in range(3)]
    data = laid_out(seen, [np.array([[t], [-t]], np.float32) for t in range(2)])
    assert data.observations[:, 0].tolist() == [0, 1, 10, 11]
    assert data.next_achieved[:, 0].tolist() == [1, 2, 11, 12]
    assert data.actions[:, 0].tolist() == [0, 1, 0, -1]
    assert data.ends.tolist() == [False, True, False, True]


def test_signs_of_a_value_that_knows_the_way_are_all_right(monkeypatch: pytest.MonkeyPatch) -> None:
    agent, maze = BED.taught(Learner(2), 0.001, 0), BED.env(1).batched.maze

    def known(sign: float) -> None:
        def value(inputs: th.Tensor) -> th.Tensor:
            places = inputs.numpy().astype(float)
            return th.from_numpy(-sign * maze.path_length(places[:, :2], places[:, 2:]))[None]

        monkeypatch.setattr(agent.policy.high_value, "forward", value)

    monkeypatch.setattr(agent.policy, "with_goals", lambda states, goals: th.cat([states[:, -2:], goals], dim=1))
    known(1.0)
    assert BED.signs(agent, 0) == 1.0
    known(-1.0)
    assert BED.signs(agent, 0) == 0.0


def test_the_walker_needs_more_than_200_steps_and_solves_all() -> None:
    bed = replace(BED, far=LongMazes().far, limit=LongMazes().limit, problems=10)
    agent = bed.taught(Learner(1), 0.001, 0)
    success, steps = bed.solved(agent, 0)
    assert success < 0.5  # of an agent that has hardly learnt
    assert 200 < steps < 450


@pytest.mark.parametrize("n", [1, 10])
def test_the_seed_decides_a_run(n: int) -> None:
    assert BED.run(Learner(n), 0.001, 3) == BED.run(Learner(n), 0.001, 3)
