"""What the trainer's providers make of a policy on the tree."""

from typing import Any

import pytest
import torch

from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.benchmarks.testbeds import tree_providers
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree, TreeMethod
from tiltyard.benchmarks.testbeds.tree_learner import Learner

BED = AnswerTree(depth=2, branching=3, trained=8, held_out=0, width=4, prompts=4, group=4)


def trained(handle: str) -> tuple[Learner, Rollouts]:
    """After an iteration, and what the next one learns from."""
    learner, seen = BED.learner(TreeMethod(handle), 0.3, 0), []
    learner.iterate()
    improve = learner.improve

    def spied(rollouts: Rollouts) -> None:
        greedy = learner.greedy_reward()[rollouts.seed]
        seen.append((rollouts, greedy))
        improve(rollouts)

    learner.improve = spied  # type: ignore[method-assign]
    learner.iterate()
    ((rollouts, greedy),) = seen
    rollouts.info["greedy reward"] = greedy
    return learner, rollouts


def test_greedy_completions_are_the_baseline_and_count() -> None:
    learner, rollouts = trained("remax")
    assert len(rollouts) == 16
    torch.testing.assert_close(rollouts.baseline, rollouts.info["greedy reward"])
    assert 0 < rollouts.info["greedy reward"].mean() < 1
    assert learner.completed == 2 * (16 + 4)


def test_the_reference_is_the_base_policy_in_double_precision() -> None:
    learner, rollouts = trained("grpo")
    base: Any = [learner.task.base]
    expected = learner.evaluate(rollouts.tokens, rollouts.mask, base).logp
    assert torch.equal(rollouts.need("logp_ref"), expected)
    assert not torch.allclose(expected, rollouts.logp_old)


def test_values_are_those_of_a_critic_that_has_been_fitted() -> None:
    learner, rollouts = trained("ppo")
    assert rollouts.need("values").abs().sum() > 0
    critic: Any = learner.providers["values"].networks()["critic"]
    after = critic.values(rollouts)
    assert after.dtype == torch.float64
    assert not torch.allclose(after, rollouts.need("values"))


def test_a_verifier_knows_the_chances_of_the_base_policy_and_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_providers, "COPIES", 10**6)
    learner, rollouts = trained("pav")
    before = learner.twin()
    chance = before.distribution()
    own = torch.arange(len(rollouts))
    first, last = rollouts.need("values")[own, 1], rollouts.need("values")[own, 2]
    success = (chance * learner.task.reward).sum(1)[rollouts.seed]
    torch.testing.assert_close(first, success, atol=5e-3, rtol=0.0)  # of the base, though it has learnt since
    same_start = rollouts.tokens[:, 1, None] == learner.tree.choices[:, 0]
    after = (chance * learner.task.reward)[rollouts.seed] * same_start
    among = chance[rollouts.seed] * same_start
    torch.testing.assert_close(last, after.sum(1) / among.sum(1), atol=5e-3, rtol=0.0)
    assert not torch.allclose(learner.success()[rollouts.seed], success, atol=1e-2)
    assert learner.completed == 2 * 16


def test_only_what_a_method_needs_is_supplied() -> None:
    _, rollouts = trained("reinforce")
    names = ("logp_ref", "logp_mean_old", "values", "baseline")
    assert [getattr(rollouts, name) for name in names] == [None] * 4
    assert trained("rover")[1].need("logp_mean_old").dtype == torch.float64


def test_a_tracker_is_asked_of_methods_that_have_one() -> None:
    assert trained("spo")[0].tracker.records
    with pytest.raises(KeyError, match="tracker"):
        _ = trained("grpo")[0].tracker
