"""What agents of recorded steps share: who is learnt from, groups, batches, refusals."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents.control.recorded_steps import Attempts, filled
from tiltyard.agents.control.trajectories import Pool
from tiltyard.agents.control.ui_r1 import UIR1
from tiltyard.agents.control.ui_s1 import UIS1

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, tiny


def agent(kind: Any = UIR1, **settings: Any) -> Any:
    return kind(env=tiny(), **{**SMALL, "group_size": 4, **settings})


def parameters(learner: Any) -> list[th.Tensor]:
    return [part.detach().clone() for part in learner.policy.parameters()]


def test_a_round_draws_all_before_any_again() -> None:
    drawn = filled(np.random.default_rng(0), 5, 12)
    assert sorted(drawn[:5]) == sorted(drawn[5:10]) == [0, 1, 2, 3, 4]
    assert len(drawn) == 12


@pytest.mark.parametrize("kind", [UIR1, UIS1])
def test_failures_teach_nothing(kind: Any) -> None:
    learner = agent(kind)
    before = parameters(learner)
    learner.learn_offline(episodes(10, right=0.0), 5)
    assert learner._n_updates == 0
    assert all(old.equal(new) for old, new in zip(before, learner.policy.parameters(), strict=True))


def test_only_steps_of_successes_are_tried() -> None:
    learner, pool = agent(), Pool(episodes(40, right=0.5))
    attempts = learner.tried(pool, np.flatnonzero(pool.outcome > 0), 0.0)
    assert set(pool.episode[attempts.steps]) == set(np.flatnonzero(pool.outcome > 0))
    assert len(attempts.steps) == SMALL["batch_size"] * learner.settings.rollout_updates


def test_log_probabilities_are_those_of_what_was_tried() -> None:
    learner, pool = agent(), Pool(episodes(6, right=1.0))
    steps = np.array([4, 0, 5])
    actions, log_prob = learner.attempt(pool, steps)
    assert actions.shape == (3, 4, 5)
    for i in range(4):
        again = learner.policy.distribution(pool.observations(steps, "cpu")).log_prob(actions[:, i])
        th.testing.assert_close(again.detach(), log_prob[:, i])
    assert any(not actions[:, 0].equal(actions[:, i]) for i in range(1, 4))


def made(advantages: Any, counted: Any, learner: Any, pool: Pool) -> Attempts:
    steps = np.arange(len(advantages))
    return Attempts(steps, *learner.attempt(pool, steps), np.array(advantages), np.array(counted))


def test_groups_of_equals_and_actions_that_do_not_count_change_nothing() -> None:
    learner, pool = agent(group_size=2), Pool(episodes(2, right=1.0))
    before = parameters(learner)
    attempts = made([[1e-10, -1e-10], [5.0, -5.0]], [[True, True], [False, False]], learner, pool)
    assert learner.learnt(pool, attempts, 3) == []
    assert all(old.equal(new) for old, new in zip(before, learner.policy.parameters(), strict=True))


def test_what_does_not_count_has_no_share_in_the_loss() -> None:
    """At the first update the ratio is 1, so that the loss is minus the mean advantage of those that count."""
    learner, pool = agent(group_size=2), Pool(episodes(1, right=1.0))
    attempts = made([[0.5, 9.0]], [[True, False]], learner, pool)
    assert learner.learnt(pool, attempts, 1) == [pytest.approx(-0.5)]


def test_better_actions_become_likelier_and_worse_ones_less_likely() -> None:
    learner, pool = agent(group_size=2, learning_rate=1e-3), Pool(episodes(1, right=1.0))
    attempts = made([[1.0, -1.0]], [[True, True]], learner, pool)
    attempts = attempts._replace(actions=th.tensor([[[0, 1, 0, 0, 0], [9, 0, 0, 0, 0]]]))
    seen = pool.observations(np.array([0]), "cpu")

    def logs() -> list[float]:
        found = learner.policy.distribution(seen)
        return [found.log_prob(attempts.actions[:, i]).item() for i in range(2)]

    before = logs()
    attempts = attempts._replace(log_prob=th.tensor([before]))
    learner.learnt(pool, attempts, 2)
    assert logs()[0] > before[0]
    assert logs()[1] < before[1]


def test_updates_are_counted_once_each() -> None:
    learner = agent(rollout_updates=3)
    learner.learn_offline(episodes(40, right=1.0), 7)
    assert learner._n_updates <= 7
    assert learner._n_updates > 3


def test_bad_input_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="group_size is at least 2, since actions are compared in groups, got 1"):
        agent(group_size=1)
    learner = agent()
    with pytest.raises(ValueError, match="at least one episode"):
        learner.learn_offline([], 1)
    one = episodes(1, right=1.0)[0]
    with pytest.raises(ValueError, match="holds an action outside"):
        learner.learn_offline([replace(one, actions=one.actions + 100)], 1)
    assert not learner.kept


def test_online_it_learns_from_its_own_successes() -> None:
    learner = agent(rollouts=8, actor_updates=2)
    learner.clone(episodes(60, right=0.6), 8)
    learner.learn(32)
    assert learner.num_timesteps >= 32
    assert any(one.success for one in learner.kept)
