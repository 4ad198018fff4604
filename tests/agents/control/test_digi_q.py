"""Digi-Q: its formulas by hand, what it imitates, and short runs that improve."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents.control.digi_q import ActionFeatures, DigiQ, best_of_n, td_target
from tiltyard.agents.control.trajectories import Pool
from tiltyard.agents.models.elements import Encoded
from tiltyard.envs.gui.elements import ANSWER_WORDS, DRAG, OPEN

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, success, tiny
from test_digirl import long_episode


def agent(**settings: Any) -> DigiQ:
    return DigiQ(env=tiny(), **{**SMALL, "critic_width": 16, "value_updates": 10, **settings})


def test_targets_by_hand() -> None:
    # r + 0.5 V(s'): a step on the way 0 + 0.5 * 0.8, a success 1, a failure 0, one cut off 0 + 0.5 * 0.2; two heads.
    reward, ends = th.tensor([0.0, 1.0, 0.0, 0.0]), th.tensor([False, True, True, False])
    after = th.tensor([[0.8, 0.6, 0.6, 0.2], [0.4, 0.6, 0.6, 1.0]])
    wanted = [[0.4, 1.0, 0.0, 0.1], [0.2, 1.0, 0.0, 0.5]]
    th.testing.assert_close(td_target(reward, ends, after, 0.5), th.tensor(wanted))


def test_the_best_of_n_by_hand() -> None:
    # The best are 0.3 above the threshold of 0.1, 0.05 below it, and 0.1, which is not above it.
    advantages = th.tensor([[-0.2, 0.3, 0.1], [0.05, -1.0, 0.0], [0.0, 0.0, 0.1]])
    which, worth = best_of_n(advantages, 0.1)
    assert which.tolist() == [1, 0, 2]
    assert worth.tolist() == [True, False, False]


def test_the_outcome_pays_at_the_last_step_and_a_success_ends() -> None:
    cut = replace(long_episode(2, False), terminated=False)
    pool = Pool([long_episode(3, True), cut, replace(cut, success=True)])
    reward, ends = agent()._rewards(pool, np.arange(7))
    assert reward.tolist() == [0, 0, 1, 0, 0, 0, 1]
    assert ends.tolist() == [False, False, True, False, False, False, True]


def test_an_actions_parts_are_what_it_points_at_and_else_nothing() -> None:
    features = ActionFeatures(2)
    elements, goal = th.arange(6.0).view(1, 3, 2), 10 + th.arange(8.0).view(1, 4, 2)
    seen = Encoded(th.zeros(1, 2), elements, goal, th.ones(1, 3, dtype=th.bool), th.ones(1, 4, dtype=th.bool))
    actions = th.tensor([[[0, 1, 0, 0, 0], [DRAG, 2, 1, 0, 0], [OPEN, 0, 5, 0, 0], [ANSWER_WORDS, 0, 0, 1, 2]]])
    found = features(seen, actions)[0]
    assert found[0, 2:].tolist() == [2, 3, 0, 0, 0, 0, 0, 0]
    assert found[1, 2:].tolist() == [4, 5, 2, 3, 0, 0, 0, 0]
    th.testing.assert_close(found[2, 2:6], th.cat([th.zeros(2), features.app.weight[5]]))
    assert found[3, 2:].tolist() == [0, 0, 0, 0, 12, 13, 16, 17]
    th.testing.assert_close(found[:, :2], features.verb.weight[actions[0, :, 0]])


def test_losses_are_squared_errors_against_the_network_that_follows() -> None:
    learner, pool = agent(gamma=0.5), Pool([long_episode(2, True)])
    steps = np.arange(2)
    with th.no_grad():
        for part in learner.target.parameters():
            part.add_(0.1)  # so that the two networks differ
    before, after = (pool.observations(steps, "cpu", after=later) for later in (False, True))
    taken = pool.taken(steps, "cpu")[:, None]
    seen, was, will = learner.critic.encoded(before), learner.target.encoded(before), learner.target.encoded(after)
    follows = learner.target.v(will)[:, 0]
    q = learner.critic.q(seen, taken)[..., 0]
    q_loss = ((q[:, 0] - 0.5 * follows) ** 2 + (q[:, 1] - 1) ** 2).sum() / 2
    v_loss = ((learner.critic.v(seen) - learner.target.q(was, taken)[..., 0]) ** 2).sum() / 2
    th.testing.assert_close(learner.td_losses(pool, steps), (q_loss, v_loss))


def test_advantages_take_the_higher_of_two_heads() -> None:
    learner, pool = agent(), Pool(episodes(4, right=1.0))
    seen = learner.critic.encoded(pool.observations(np.arange(4), "cpu"))
    actions = pool.taken(np.arange(4), "cpu")[:, None].expand(-1, 3, -1)
    q, v = learner.critic.q(seen, actions), learner.critic.v(seen)
    assert not q[0].equal(q[1])
    th.testing.assert_close(learner.critic.advantages(seen, actions), th.maximum(*q) - th.maximum(*v)[:, None])


def test_the_network_that_follows_takes_a_tenth_of_each_step() -> None:
    learner = agent(tau=0.1)
    first = [part.detach().clone() for part in learner.critic.parameters()]
    learner.fit_critic(Pool(episodes(20, right=0.5)), 1)
    for old, now, followed in zip(first, learner.critic.parameters(), learner.target.parameters(), strict=True):
        th.testing.assert_close(followed, 0.9 * old + 0.1 * now)


@pytest.mark.parametrize("policy_backup", [False, True])
def test_values_are_those_of_the_data(policy_backup: bool) -> None:
    """Of hands that are right in half of all cases a state is worth one half, the right tap 1 and any other 0."""
    data = episodes(400, right=0.5)
    learner = agent(policy_backup=policy_backup, critic_learning_rate=3e-3)
    if policy_backup:
        learner.clone(data, 40)
    learner.fit_critic(Pool(data), 100)
    pool = Pool(episodes(100, right=0.5, seed=1))
    steps, right = np.arange(len(pool)), pool.outcome > 0
    with th.no_grad():
        seen = learner.critic.encoded(pool.observations(steps, "cpu"))
        q = learner.critic.q(seen, pool.taken(steps, "cpu")[:, None])[..., 0].mean(0).numpy()
        v = learner.critic.v(seen).mean(0).numpy()
    assert q[right].mean() > 0.75
    assert q[~right].mean() < 0.25
    assert 0.3 < v.mean() < 0.7


def test_of_the_actions_drawn_the_best_is_imitated_not_the_one_that_was_taken() -> None:
    learner, pool = agent(critic_learning_rate=3e-3, n_actions=4), Pool(episodes(400, right=0.5))
    learner.fit_critic(pool, 100)
    wrong = np.flatnonzero(pool.outcome == 0)[:50]
    observations, taken = pool.observations(wrong, "cpu"), pool.taken(wrong, "cpu")
    wanted = th.tensor(
        [
            seen[0].tolist().index(goal)
            for seen, goal in zip(  # where the goal's last word stands
                observations["elements"][:, None, :3, 12], observations["goal"][:, 1], strict=True
            )
        ]
    )
    taps = iter([th.stack([th.tensor([0, i, 0, 0, 0])] * len(wrong)) for i in range(3)])
    best, worth = learner.candidates(observations, lambda: next(taps), taken)
    assert float((best[:, 1] == wanted).float().mean()) > 0.8
    assert float(worth.float().mean()) > 0.8
    assert next(taps, None) is None  # N - 1 were drawn


def test_what_is_no_better_than_the_state_is_not_imitated() -> None:
    learner = agent(n_actions=1)
    before = [part.detach().clone() for part in learner.policy.parameters()]
    learner.fit_critic(Pool(episodes(100, right=0.0)), 60)
    told = learner.extract(Pool(episodes(20, right=0.0)), 1)
    assert told["steps_kept"] == 0
    assert all(old.equal(new) for old, new in zip(before, learner.policy.parameters(), strict=True))


@pytest.mark.slow  # its parts, and DigiRL as a whole, are in the default suite
def test_offline_it_learns_what_bad_hands_did_seldom() -> None:
    learner = agent(critic_learning_rate=3e-3)
    data = episodes(400, right=0.3)
    learner.clone(data, 40)  # else the policy draws what no data tell the worth of
    learner.learn_offline(data, 60)
    assert success(learner) > 0.8
    assert len(learner.kept) == 400


@pytest.mark.slow  # digirl's, of the same loop, is in the default suite
def test_online_it_becomes_better_than_what_it_began_with() -> None:
    learner = agent(rollouts=32, actor_updates=10, value_updates=20, critic_learning_rate=3e-3)
    learner.clone(episodes(60, right=0.3), 6)
    began = success(learner)
    learner.learn(400)
    assert success(learner) > max(0.8, began + 0.1)


def test_saving_keeps_policy_critic_and_what_follows_it(tmp_path: Path) -> None:
    learner = agent().learn_offline(episodes(50, right=0.5), 4)
    learner.save(tmp_path / "agent")
    again = DigiQ.load(tmp_path / "agent", env=tiny())
    for name in ("policy", "critic", "target"):
        for old, new in zip(getattr(learner, name).parameters(), getattr(again, name).parameters(), strict=True):
            assert old.equal(new)
    assert not any(part.requires_grad for part in again.target.parameters())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_actions": 0}, "n_actions must be a whole number of at least 1, got 0"),
        ({"gamma": 1.5}, "gamma must be a number from 0 to 1, got 1.5"),
        ({"policy_backup": "yes"}, "policy_backup must be true or false, got 'yes'"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        agent(**settings)
