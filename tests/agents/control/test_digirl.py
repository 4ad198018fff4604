"""DigiRL: its formulas by hand, what it filters, and short runs that improve."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents.control.digirl import DigiRL, best_episodes, cross_entropy, step_advantage
from tiltyard.agents.control.trajectories import Pool, Trajectory

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, success, tiny


def agent(hard: int = 0, **settings: Any) -> DigiRL:
    return DigiRL(env=tiny(hard=hard), **{**SMALL, "critic_width": 16, **settings})


def long_episode(steps: int, won: bool) -> Trajectory:
    """One of several steps, made of one-step ones."""
    parts = episodes(steps, right=1.0)
    seen = {
        name: np.concatenate([one.observations[name][:1] for one in (*parts, parts[-1])])
        for name in ("elements", "goal")
    }
    actions = np.concatenate([one.actions for one in parts])
    return Trajectory(seen, actions, np.eye(steps)[-1] * won, True, won)


def test_step_advantage_by_hand() -> None:
    # A success of three steps, lambda 1/2, V = 0.2, 0.4, 0.6 at the steps: lambda^(H-h) is 1/4, 1/2, 1.
    # Step 0: 1/4 + 3/4 (0.4 - 0.2) = 0.4; step 1: 1/2 + 1/2 (0.6 - 0.4) = 0.6; step 2: 1 + 0 = 1.
    values, after = np.array([0.2, 0.4, 0.6]), np.array([0.4, 0.6, 0.9])
    left, last = np.array([2, 1, 0]), np.array([False, False, True])
    found = step_advantage(np.ones(3), left, last, values, after, 0.5)
    np.testing.assert_allclose(found, [0.4, 0.6, 1.0])
    # The same steps of a failure: what the critic says alone, 0.2, 0.2, and 0 - 0.6 at the end.
    np.testing.assert_allclose(step_advantage(np.zeros(3), left, last, values, after, 0.5), [0.2, 0.2, -0.6])


def test_an_episode_cut_off_goes_on_in_the_critic() -> None:
    cut = step_advantage(np.zeros(1), np.zeros(1, np.int64), np.array([False]), np.array([0.6]), np.array([0.9]), 0.5)
    np.testing.assert_allclose(cut, [0.3])


def test_curriculum_by_hand() -> None:
    # r - V(c) = 0.1 (an easy success), 0.8 (a surprising one), -0.2, -0.7, 0.5: the best two fifths are 0.8 and 0.5.
    outcome, values = np.array([1.0, 1.0, 0.0, 0.0, 1.0]), np.array([0.9, 0.2, 0.2, 0.7, 0.5])
    assert best_episodes(outcome, values, 0.4).tolist() == [False, True, False, False, True]
    assert best_episodes(outcome, values, 1.0).all()


def test_cross_entropy_by_hand() -> None:
    # V = 1/2 at a success, 3/4 at a failure: (log 2 + log 4) / 2.
    logits = th.tensor([0.0, np.log(3.0)])
    assert float(cross_entropy(logits, th.tensor([1.0, 0.0]))) == pytest.approx(1.5 * np.log(2))
    assert float(cross_entropy(th.stack([logits, logits]), th.tensor([1.0, 0.0]))) == pytest.approx(1.5 * np.log(2))


def test_only_steps_above_one_over_h_are_imitated(monkeypatch: pytest.MonkeyPatch) -> None:
    learner, pool = agent(horizon=4), Pool([long_episode(3, True), long_episode(2, False)])
    said = {0: 0.3, 1: 0.25, 2: 0.9, 3: 0.2, 4: 0.8}
    monkeypatch.setattr(learner, "advantages", lambda _, steps: np.array([said[int(step)] for step in steps]))
    assert learner.chosen(pool, offline=True).tolist() == [0, 2]  # of the success alone; 0.25 is not above 1/4
    monkeypatch.setattr(learner, "episodes", lambda _, offline: np.ones(2, np.bool_))
    assert learner.chosen(pool, offline=False).tolist() == [0, 2, 4]
    learner.settings = replace(learner.settings, step_filter=False)
    assert learner.chosen(pool, offline=False).tolist() == [0, 1, 2, 3, 4]


def test_steps_that_are_filtered_out_get_no_gradient() -> None:
    learner = agent()
    before = [part.detach().clone() for part in learner.policy.parameters()]
    learner.learn_offline(episodes(10, right=0.0), 5)  # nothing but failures
    assert learner._n_updates == 0
    assert all(old.equal(new) for old, new in zip(before, learner.policy.parameters(), strict=True))


def test_critics_learn_which_goals_cannot_be_fulfilled() -> None:
    learner, pool = agent(critic_learning_rate=1e-2), Pool(episodes(300, right=1.0, hard=5))
    learner.fit_instructions(pool, 40)
    learner.fit_steps(pool, 30)
    goals = pool.observations(pool.first, "cpu")
    with th.no_grad():
        by_goal, by_step = learner.instruction_critic(goals["goal"]).sigmoid(), learner.step_critic.value(goals)
    won = pool.outcome > 0
    for values in (by_goal.numpy(), by_step.numpy()):
        assert values[won].mean() > 0.8
        assert values[~won].mean() < 0.3


def test_the_lower_of_two_heads_is_the_value() -> None:
    learner, pool = agent(), Pool(episodes(4, right=1.0))
    seen = pool.observations(np.arange(4), "cpu")
    both = learner.step_critic(seen).sigmoid()
    th.testing.assert_close(learner.step_critic.value(seen), th.minimum(both[0], both[1]))
    assert not both[0].equal(both[1])


def test_offline_it_learns_from_the_good_episodes_of_bad_hands() -> None:
    learner = agent()
    data = episodes(400, right=0.4)
    learner.learn_offline(data, 24)
    assert success(learner) > 0.8
    assert len(learner.kept) == 400


def test_online_it_becomes_better_than_what_it_began_with() -> None:
    learner = agent(rollouts=32, top_p=0.5, actor_updates=10)
    learner.clone(episodes(60, right=0.3), 6)
    began = success(learner)
    learner.learn(400)
    assert success(learner) > max(0.8, began + 0.1)
    assert learner.num_timesteps >= 400


def test_saving_keeps_policy_and_critics(tmp_path: Path) -> None:
    learner = agent().learn_offline(episodes(50, right=0.5), 4)
    learner.save(tmp_path / "agent")
    again = DigiRL.load(tmp_path / "agent", env=tiny())
    pool = Pool(episodes(5, right=1.0))
    steps = np.arange(5)
    np.testing.assert_array_equal(learner.advantages(pool, steps), again.advantages(pool, steps))
    assert again._n_updates == learner._n_updates
