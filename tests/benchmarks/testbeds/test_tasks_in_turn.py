"""Tasks in turn: their order, their answers to pushes, and what counts as forgotten."""

from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.wmar import CLAIM, FIFO, OURS
from tiltyard.benchmarks.testbeds.control import Agent
from tiltyard.benchmarks.testbeds.tasks_in_turn import (
    TASKS,
    InTurn,
    TasksInTurn,
    Turns,
    expert,
    mean_return,
    pushed,
    seen,
)


def test_a_push_by_hand() -> None:
    # Speed 0.8 * 0.5 + 0.25 * gain; place 0.1 + 0.2 * speed; the reward is minus the distance from the goal.
    for task, (gain, goal) in enumerate(((1.0, 0.5), (-1.0, -0.5), (0.5, 0.0))):
        points, rewards = pushed(task, np.array([[0.1, 0.5]]), np.array([1.0]))
        speed = 0.4 + 0.25 * gain
        assert points[0].tolist() == pytest.approx([0.1 + 0.2 * speed, speed])
        assert rewards[0] == pytest.approx(-abs(0.1 + 0.2 * speed - goal))
    assert [seen(task, np.array([[0.1, 0.5]]))[0].tolist() for task in range(TASKS)] == [
        pytest.approx([place, 0.5]) for place in (-2.9, 0.1, 3.1)
    ]


def test_tasks_come_in_turn_in_whole_episodes_and_the_last_stays() -> None:
    env, found = TasksInTurn(each=60, steps=30), []
    for _ in range(8):
        env.reset(seed=0)
        found.append(env.task)
        ended = False
        while not ended:
            _, _, _, ended, _ = env.step(np.zeros(1))
    assert found == [0, 0, 1, 1, 2, 2, 2, 2]
    with pytest.raises(ValueError, match="whole episodes of 30 steps"):
        TasksInTurn(each=50)


def test_experts_are_better_than_nothing_and_than_each_other() -> None:
    for task in range(TASKS):
        idle = mean_return(lambda observations: np.zeros((len(observations), 1)), task, 50, 30)
        own = mean_return(expert(task), task, 50, 30)
        assert own > 0.5 * idle
        for other in set(range(TASKS)) - {task}:
            assert mean_return(expert(other), task, 50, 30) < own - 2


def test_what_is_forgotten_by_hand() -> None:
    run = Turns(np.array([[0.9, 0.0, 0.1], [0.5, 0.8, 0.2], [0.1, 0.6, 0.7]]))
    assert run.forgotten == pytest.approx(((0.9 - 0.1) + (0.8 - 0.6)) / 2)
    assert run.new == pytest.approx((0.9 + 0.8 + 0.7) / 3)
    assert run.end == pytest.approx((0.1 + 0.6 + 0.7) / 3)


def test_parts_by_hand() -> None:
    fell, kept = np.array([[1, 0, 0], [0.5, 1, 0], [0.0, 0.4, 1]]), np.array([[1, 0, 0], [1, 0.8, 0], [1, 0.8, 0.3]])
    outcomes: Any = {
        FIFO: Outcome(Agent("mbpo"), 0.1, [Turns(fell)] * 3),
        OURS: Outcome(Agent("wmar"), 0.1, [Turns(kept)] * 3),
    }
    made = CLAIM.parts(Found(CLAIM, CLAIM.testbed, outcomes, {}, range(3)))
    assert {name: one.sample.mean for name, one in made.items()} == {
        "less forgetting than MBPO": pytest.approx(0.8),
        "score on new tasks": pytest.approx(0.7 - 1),
        "score at the end, over MBPO": pytest.approx(0.7 - 1.4 / 3),
    }
    assert [one.decides for one in made.values()] == [True, False, False]
    assert made["less forgetting than MBPO"].highest == pytest.approx(0.8)


def test_conditions_differ_in_their_buffer_alone() -> None:
    bed = InTurn().smallest()
    runs = {name: bed.run(CLAIM.conditions[name], 1e-3, 0) for name in (OURS, FIFO)}
    assert all(run.scores.shape == (TASKS, TASKS) for run in runs.values())
    assert {name: one.settings["buffer_size"] for name, one in CLAIM.conditions.items()} == {OURS: 600, FIFO: 600}
