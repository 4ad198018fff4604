from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.agents import RAMarioReptile
from tiltyard.agents.control.on_policy.fast_ppo import FastPPO
from tiltyard.agents.control.on_policy.ramario_reptile import parameters_of, put_parameters, toward
from tiltyard.benchmarks.testbeds.platformer_levels import LEVELS, Platformers, travelled

SMALL: dict[str, Any] = {
    "n_steps": 4,
    "batch_size": 8,
    "inner_updates": 2,
    "meta_batch_size": 2,
    "learning_rate": 0.01,
    "policy_kwargs": {"net_arch": [8]},
    "seed": 0,
    "device": "cpu",
}
ROLLOUT = 4 * 3
"""Steps of a rollout of :func:`made`."""


def made(**settings: Any) -> RAMarioReptile:
    agent = RAMarioReptile("MlpPolicy", Platformers(3, LEVELS[:1]), **{**SMALL, **settings})
    agent.levels = [Platformers(3, [level]) for level in LEVELS[:4]]
    return agent


def test_a_step_of_the_initialization_by_hand() -> None:
    # theta (1, 2); tasks end at (3, 2) and (5, -2): their mean (4, 0) is (3, -2) away, of which a quarter is gone.
    found = toward(th.tensor([1.0, 2.0]), [th.tensor([3.0, 2.0]), th.tensor([5.0, -2.0])], 0.25)
    assert found.tolist() == [1.75, 1.5]


def test_parameters_come_back_from_their_vector() -> None:
    one, other = made(seed=0), made(seed=1)
    put_parameters(one.policy, parameters_of(other.policy))
    for ours, theirs in zip(one.policy.parameters(), other.policy.parameters(), strict=True):
        assert ours.equal(theirs)
    assert not parameters_of(made(seed=0).policy).equal(parameters_of(one.policy))


class Watch(BaseCallback):
    """Notes at each rollout's end the initialization, and where the learner is."""

    def _on_training_start(self) -> None:
        self.initial: list[th.Tensor] = []
        self.acting: list[th.Tensor] = []
        self.levels: list[Any] = []

    def _on_rollout_end(self) -> None:
        self.initial.append(parameters_of(self.model.policy))  # type: ignore[arg-type]
        self.acting.append(parameters_of(self.model._learner))
        self.levels.append(self.model._level)

    def _on_step(self) -> bool:
        return True


def test_theta_moves_after_a_batch_of_tasks_to_the_mean_of_where_they_ended() -> None:
    agent, watch = made(meta_step_size=0.5), Watch()
    ends: list[th.Tensor] = []
    inner = agent._end_task

    def noted() -> None:
        ends.append(parameters_of(agent._learner))
        inner()

    agent._end_task = noted  # type: ignore[method-assign]
    agent.learn(5 * ROLLOUT, callback=watch)
    theta = watch.initial[0]
    assert all(one.equal(theta) for one in watch.initial[:4])  # two tasks of two rollouts
    assert watch.acting[0].equal(theta)
    assert not watch.acting[1].equal(theta)
    assert watch.acting[2].equal(theta)  # the second task begins from theta again
    moved = watch.initial[4]
    np.testing.assert_allclose(moved, 0.5 * theta + 0.25 * (ends[0] + ends[1]), rtol=1e-5, atol=1e-6)
    assert watch.acting[4].equal(moved)
    assert not ends[0].equal(ends[1])
    np.testing.assert_allclose(parameters_of(agent.policy), 0.5 * moved + 0.5 * ends[2], rtol=1e-5, atol=1e-6)


def test_a_task_stays_in_its_level_and_all_levels_have_their_turn() -> None:
    agent, watch = made(), Watch()
    agent.learn(16 * ROLLOUT, callback=watch)
    assert watch.levels[0::2] == watch.levels[1::2]
    for turn in (watch.levels[0:8:2], watch.levels[8:16:2]):
        assert {id(level) for level in turn} == {id(level) for level in agent.levels}


def test_the_optimiser_begins_every_task_anew() -> None:
    agent, steps = made(), []
    inner = agent._end_task

    def noted() -> None:
        state = agent._learner.optimizer.state
        steps.append({int(one["step"]) for one in state.values()})
        inner()

    agent._end_task = noted  # type: ignore[method-assign]
    agent.learn(6 * ROLLOUT)
    assert steps == [{16}] * 3  # two rollouts of four epochs of two minibatches


def test_moments_of_observations_are_of_all_levels() -> None:
    agent = made().learn(8 * ROLLOUT)
    counts = {name: int(one) for name, one in agent.policy.named_buffers() if name.endswith("count")}
    assert set(counts.values()) == {8 * ROLLOUT}


def test_adaptation_learns_a_level_and_leaves_the_agent_as_it_is() -> None:
    agent = made().learn(4 * ROLLOUT)
    before = {name: one.clone() for name, one in agent.policy.state_dict().items()}
    level = Platformers(5, LEVELS[7:8])
    none, adapted = agent.adapt(level, 0), agent.adapt(level, 3, seed=1)
    assert type(adapted) is FastPPO
    assert parameters_of(none.policy).equal(parameters_of(agent.policy))
    assert adapted.num_timesteps == 3 * 4 * 5
    assert agent.num_timesteps == 4 * ROLLOUT
    assert not parameters_of(adapted.policy).equal(parameters_of(agent.policy))
    assert agent.adapt(level).num_timesteps == 2 * 4 * 5
    for name, one in agent.policy.state_dict().items():
        assert one.equal(before[name])
    again = agent.adapt(Platformers(5, LEVELS[7:8]), 3, seed=1)
    assert parameters_of(again.policy).equal(parameters_of(adapted.policy))


def test_it_goes_on_from_a_checkpoint_with_the_initialization(tmp_path: Path) -> None:
    agent = made(meta_step_size=0.3).learn(3 * ROLLOUT)
    agent.save(tmp_path / "agent")
    loaded = RAMarioReptile.load(tmp_path / "agent", env=Platformers(3, LEVELS[:1]))
    assert parameters_of(loaded.policy).equal(parameters_of(agent.policy))
    watch = Watch()
    loaded.learn(ROLLOUT, callback=watch, reset_num_timesteps=False)
    assert watch.acting[0].equal(parameters_of(agent.policy))
    assert loaded.num_timesteps == 4 * ROLLOUT
    count = {int(one) for name, one in loaded.policy.named_buffers() if name.endswith("count")}
    assert count == {4 * ROLLOUT}


def test_what_does_not_fit_is_refused() -> None:
    agent = made()
    with pytest.raises(ValueError, match="level 1 has observations .* and 4 environments.*levels differ in none"):
        agent.levels = [Platformers(3, LEVELS[:1]), Platformers(4, LEVELS[:1])]
    with pytest.raises(ValueError, match="the level has observations .*, where the agent was trained with"):
        agent.adapt(gymnasium.make("Pendulum-v1"))
    with pytest.raises(ValueError, match="updates must be a whole number of at least 0, got -1"):
        agent.adapt(Platformers(3, LEVELS[:1]), -1)
    with pytest.raises(ValueError, match="meta_step_size must be a number above 0|meta_step_size"):
        made(meta_step_size=1.5)


@pytest.mark.slow
def test_a_level_that_was_met_is_learnt_in_fewer_updates_than_from_a_random_start() -> None:
    level = LEVELS[4]
    settings: dict[str, Any] = {"n_steps": 32, "batch_size": 256, "gamma": 0.95, "learning_rate": 0.01}
    shares = np.zeros((3, 2))
    for seed in range(3):
        agent = RAMarioReptile("MlpPolicy", Platformers(32, [level]), **settings, seed=seed, meta_batch_size=1)
        for i, rollouts in enumerate((0, 40)):
            adapted = agent.learn(rollouts * 32 * 32, reset_num_timesteps=False).adapt(
                Platformers(32, [level]), 4, seed=1
            )
            shares[seed, i] = travelled(adapted, [level], 32)[0]
    random, reptile = shares.mean(axis=0)
    assert reptile > random + 0.2
