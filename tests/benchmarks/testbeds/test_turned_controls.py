"""The point mass whose controls are turned, the injury, and what is measured of an agent."""

from dataclasses import replace

import numpy as np
import pytest
import torch as th

from tiltyard.agents import make
from tiltyard.agents.control.mixture import dormant_ratio
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.mentor import CLAIM, DENSE, OURS, RANDOM, SHOWN
from tiltyard.benchmarks.testbeds.turned_controls import (
    SETTINGS,
    SMALL,
    STEPS,
    Steered,
    TurnedControls,
    arrived,
    silence,
    task_cosine,
)


class Steerer:
    """Thrusts to where the goal lies, turned back by what the task turns."""

    def __init__(self, tasks: int, known: bool = True) -> None:
        self.tasks, self.known = tasks, known

    def predict(self, seen: np.ndarray, deterministic: bool = True) -> tuple[np.ndarray, None]:
        to = seen[:, :2] - 2 * seen[:, 2:4]
        turn = -2 * np.pi * seen[:, 4:].argmax(axis=1) / self.tasks * self.known
        turned = to[:, 0] * np.cos(turn) - to[:, 1] * np.sin(turn), to[:, 0] * np.sin(turn) + to[:, 1] * np.cos(turn)
        return np.clip(5 * np.stack(turned, axis=1), -1, 1), None


def test_a_thrust_is_turned_by_the_task_by_hand() -> None:
    env = TurnedControls(4, 1)  # a quarter of a turn
    env.reset(seed=0)
    env.away = np.array([0.5, 0.7])
    seen, reward, *_ = env.step(np.array([1.0, 0.0], np.float32))
    assert seen.tolist() == pytest.approx([0.5, 0.62, 0, 0.08, 0, 1, 0, 0])  # to the right becomes upwards
    assert reward == pytest.approx(np.hypot(0.5, 0.7) - np.hypot(0.5, 0.62))
    seen, *_ = env.step(np.zeros(2, np.float32))
    assert seen[:4].tolist() == pytest.approx([0.5, 0.62 - 0.056, 0, 0.056])  # what is left after the drag


def test_who_knows_the_tasks_arrives_and_who_does_not_fails_in_those_that_turn_most() -> None:
    assert arrived(Steerer(6), 6, 10) == 1
    assert arrived(Steerer(6, known=False), 6, 10) < 0.6


def test_an_episode_ends_by_arriving_or_after_its_steps() -> None:
    env = TurnedControls(1)
    env.reset(seed=1)
    for _ in range(STEPS - 1):
        assert env.step(np.zeros(2, np.float32))[2:4] == (False, False)
    *_, ended, cut, info = env.step(np.zeros(2, np.float32))
    assert (ended, cut, info) == (False, True, {"is_success": False})
    env.reset(seed=1)
    env.away, env.velocity = np.array([0.2, 0.0]), np.array([0.1, 0.0])
    _, reward, ended, cut, info = env.step(np.zeros(2, np.float32))
    assert (ended, cut, info) == (True, False, {"is_success": True})
    assert reward == pytest.approx(1.07)


@pytest.mark.parametrize("name", [OURS, DENSE])
def test_silenced_neurons_are_dormant_get_no_gradient_and_the_others_stay(name: str) -> None:
    agent = make("mentor", TurnedControls(), seed=0, **{**SETTINGS, **SMALL, **CLAIM.conditions[name].settings})
    agent.learn(60)
    seen = agent.replayed(256).observations
    weights = agent.actor.net.params[0]
    before = weights.detach().clone()
    silence(agent.actor, 0.75, 3)
    dead = (weights == 0).all(dim=1)[0]
    assert int(dead.sum()) == 48
    assert (weights[0, :, ~dead] == before[0, :, ~dead]).all()
    assert 0.5 < float(dormant_ratio(agent.actor, seen, 0.025)) < 0.8
    agent._improve(agent.replayed(64))
    assert (weights[0, :, dead] == 0).all()
    assert not (weights[0, :, ~dead] == before[0, :, ~dead]).all()


def test_shares_before_and_after_the_injury_by_hand() -> None:
    run = Steered(np.array([0.1, 0.3, 0.6, 0.8]), 1, (0.0, 0.7), 0.2)
    assert run.sound == pytest.approx(1 / 3)
    assert run.recovering == pytest.approx(0.8)


def test_gradients_of_one_task_agree_and_their_cosine_is_at_most_one() -> None:
    agent = make("mentor", TurnedControls(3), seed=0, **{**SETTINGS, **SMALL})
    assert -1 <= task_cosine(agent, 3) < 0.9
    for net in (agent.actor.net, agent.critic.net):
        with th.no_grad():
            net.params[0][:, 4:7] = 0  # blind to the task
    assert 0.9 < task_cosine(agent, 3) < 1  # but for the weights of the tasks themselves


def test_runs_are_of_their_seed_and_conditions_differ() -> None:
    bed = replace(CLAIM.testbed.smallest(), sound=2)
    first, again, other = (bed.run(CLAIM.conditions[OURS], 1e-3, seed) for seed in (0, 0, 1))
    assert first.cosine == again.cosine != other.cosine
    assert (first.arrivals == again.arrivals).all()
    fresh, dense = (bed.run(CLAIM.conditions[name], 1e-3, 0) for name in (RANDOM, DENSE))
    assert len({first.cosine, fresh.cosine, dense.cosine}) == 3
    assert first.dormant[0] < 0.1 < 0.5 < first.dormant[1]


def test_the_premise_needs_both() -> None:
    assert CLAIM.premise.missing({SHOWN: [0.2, 0.7]})
    assert CLAIM.premise.missing({SHOWN: [0.6, 0.1]})
    assert not CLAIM.premise.missing({SHOWN: [0.6, 0.7]})


def test_parts_are_of_their_stretches_of_training_by_hand() -> None:
    def outcome(name: str, before: float, after: float) -> Outcome:
        runs = [Steered(np.array([before + seed / 100, after]), 1, (0.0, 0.7), 0.2) for seed in range(4)]
        return Outcome(CLAIM.conditions[name], 1e-3, runs)

    outcomes = {OURS: outcome(OURS, 0.8, 0.7), RANDOM: outcome(RANDOM, 0.4, 0.2), DENSE: outcome(DENSE, 0.5, 0.1)}
    parts = CLAIM.parts(Found(CLAIM, CLAIM.testbed, outcomes, {}, range(4)))
    assert {name: part.sample.mean for name, part in parts.items()} == pytest.approx(
        {
            "experts over one dense network, before the injury": 0.8 - 0.5,
            "task-oriented over random perturbation, after it": 0.7 - 0.2,
        }
    )
