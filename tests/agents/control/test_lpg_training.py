from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.agents.control.lpg import LPGAgent, Rates, Rollout, Tables, roll_out
from tiltyard.agents.control.lpg_training import (
    A2C,
    Ended,
    MetaSettings,
    MetaTrainer,
    advantages,
    meta_train,
    normalised,
)
from tiltyard.agents.control.lpg_worlds import GridFamily, RandomWorlds
from tiltyard.wrappers import LevelReplay

SMALL = GridFamily(sizes=(3, 3), objects=(1, 2), steps=(6, 12), walls=1)
TINY = MetaSettings(agents=6, cohorts=2, workers=2, steps=6, updates=2, lifetime=4, units=4)


def test_advantages_by_hand() -> None:
    # Values 1, 2; gamma 1/2, lambda 1/2. Last step: 3 + 0 - 2 = 1 (the episode ends). First: 0 + 1 - 1 + 1/4 * 1.
    seen = Rollout(*(torch.tensor([[of]]) for of in ([0, 1], [0, 0], [0.0, 3.0], [0.0, 1.0], [1, 0])))
    tables = Tables(torch.zeros(1, 2, 2), torch.zeros(1, 2, 1), torch.tensor([[1.0, 2.0]]))
    assert advantages(tables, seen, 0.5, 0.5).tolist() == [[[0.25, 1.0]]]


def test_advantages_are_normalised_for_each_agent() -> None:
    found = normalised(torch.tensor([[[1.0, 3.0]], [[10.0, 10.0]]]))
    np.testing.assert_allclose(found, [[[-1, 1]], [[0, 0]]], atol=1e-6)


def test_an_update_of_a2c_is_the_gradient_of_its_losses() -> None:
    rng = np.random.default_rng(0)
    worlds = RandomWorlds(2, rng, states=4, actions=3)
    tables = replace(Tables.fresh(worlds, 1, rng), policy=torch.randn(2, 4, 3), value=torch.randn(2, 4))
    seen, _ = roll_out(worlds, tables, worlds.reset(3, rng), 5, rng)
    learner = A2C(entropy=0.1, rates=Rates(policy=1.0, prediction=1.0, clip=100.0))
    found = advantages(tables, seen, learner.gamma, learner.lambda_)
    policy, value = tables.policy.clone().requires_grad_(), tables.value.clone().requires_grad_()
    which = torch.arange(2)[:, None, None]
    logp = torch.log_softmax(policy, dim=-1)[which, seen.state]
    chosen = logp.gather(-1, seen.action[..., None])[..., 0]
    gain = chosen * normalised(found) - 0.1 * (logp.exp() * logp).sum(dim=-1)
    target = found + tables.value[which, seen.state]
    error = (target - value[which, seen.state]).square()
    up, down = torch.autograd.grad((gain - error).sum() / 15, (policy, value))
    after = learner.update(tables, seen)
    np.testing.assert_allclose(after.policy - tables.policy, up, atol=1e-5)
    np.testing.assert_allclose(after.value - tables.value, down, atol=1e-5)


def test_a2c_learns() -> None:
    worlds = SMALL.worlds(np.random.default_rng(0).random((10, SMALL.dimensions)))
    even = np.full((10, worlds.n_states, 5), 0.2)
    tables = A2C().trained(worlds, 25, 4, 10, np.random.default_rng(1))
    assert worlds.worth(tables.probabilities()).sum() > worlds.worth(even).sum() + 0.3 * worlds.worth().sum()


def test_meta_training_makes_a_rule_that_teaches() -> None:
    settings = replace(TINY, agents=16, workers=4, steps=10, updates=3, units=12, learning_rate=0.01)
    trainer = MetaTrainer(SMALL, settings=settings, seed=0)
    worlds = SMALL.worlds(np.random.default_rng(9).random((20, SMALL.dimensions)))

    def earned() -> float:
        agent = LPGAgent(trainer.rule, worlds, workers=4, steps=10, seed=1)
        return float(agent.learn(12).worth().sum() / worlds.worth().sum())

    before = earned()
    trainer.train(50)
    assert earned() > before + 0.15


def test_teachers_are_told_of_levels_when_their_lifetimes_end() -> None:
    bounds = np.zeros(SMALL.dimensions), np.ones(SMALL.dimensions)
    teacher = LevelReplay(*bounds, seed=0, size=50, least=6)
    trainer = MetaTrainer(SMALL, teacher=teacher, settings=TINY)
    assert [cohort.lifetime for cohort in trainer.cohorts] == [2, 4]  # the first ones end at different times
    trainer.train(2)
    assert not trainer.ended
    trainer.train(1)  # the second turn of the first cohort
    assert len(trainer.ended) == 1
    trainer.train(5)
    assert len(trainer.ended) == 2
    assert len(teacher.levels) == 12
    np.testing.assert_array_equal(teacher.levels[:6], trainer.ended[0].levels)
    np.testing.assert_allclose(teacher.scores[:6], trainer.ended[0].antagonist - trainer.ended[0].earned)


def test_the_antagonist_learns_for_as_long_as_the_agents() -> None:
    # Lifetimes of 2, 4 and 4 meta-updates with 2 updates each.
    asked: list[int] = []

    class Counted(A2C):
        def update(self, tables: Tables, seen: Rollout) -> Tables:
            asked[-1] += 1
            return super().update(tables, seen)

        def trained(self, *how: Any) -> Tables:
            asked.append(0)
            return super().trained(*how)

    trainer = MetaTrainer(SMALL, settings=TINY)
    trainer.antagonist = Counted()
    trainer.train(12)
    assert asked == [2 * 2, 4 * 2, 4 * 2]


def test_the_learning_rate_falls_on_a_line() -> None:
    trainer = MetaTrainer(SMALL, settings=replace(TINY, learning_rate=0.1, decay=4))
    rates = []
    for _ in range(5):
        trainer.train(1)
        rates.append(trainer.optimizer.param_groups[0]["lr"])
    np.testing.assert_allclose(rates, [0.1, 0.075, 0.05, 0.025, 0])


def test_levels_can_be_scored_by_value_losses() -> None:
    bounds = np.zeros(SMALL.dimensions), np.ones(SMALL.dimensions)
    teacher = LevelReplay(*bounds, seed=0, size=50, least=6)

    def score(ended: Ended) -> np.ndarray:  # type: ignore[type-arg]
        return ended.positive_value_loss

    trainer = MetaTrainer(SMALL, teacher=teacher, score=score, settings=TINY)
    trainer.train(8)
    first = trainer.ended[0]
    np.testing.assert_allclose(teacher.scores[:6], first.positive_value_loss, rtol=1e-6)
    assert (first.value_loss >= first.positive_value_loss).all()
    assert (first.positive_value_loss >= 0).all()


def test_a_seed_decides_everything() -> None:
    rules = [meta_train(SMALL, steps=3, settings=TINY, seed=5) for _ in "ab"]
    assert torch.equal(rules[0].recurrent, rules[1].recurrent)
    assert not torch.equal(rules[0].recurrent, meta_train(SMALL, steps=3, settings=TINY, seed=6).recurrent)


@pytest.mark.parametrize("coefficient", ["policy_entropy", "prediction_entropy", "policy_l2", "prediction_l2"])
def test_every_regulariser_counts(coefficient: str) -> None:
    changed = replace(TINY, **{coefficient: 10.0})
    plain, other = (meta_train(SMALL, steps=1, settings=one, seed=5) for one in (TINY, changed))
    assert not torch.equal(plain.policy_target.weight, other.policy_target.weight) or not torch.equal(
        plain.prediction_target.weight, other.prediction_target.weight
    )
