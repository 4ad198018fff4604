import math
from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.benchmarks.claims.degrpo import CLAIM, ONE_MODE
from tiltyard.benchmarks.testbeds.modes import (
    LongThoughts,
    ModeLearner,
    ModeProblems,
    Modes,
    first_tokens_share,
    problems,
)
from tiltyard.benchmarks.testbeds.sequences import Sequences

TASK = Modes(taught=100)


def test_the_weight_of_the_mode_by_hand() -> None:
    # GRPO: one token of 5, and one of 5 + 28 * 100 (of 33 if none counts more than once). DeGRPO: alpha against 1 for
    # all others, whatever their number.
    share = {name: first_tokens_share(condition, TASK) for name, condition in CLAIM.conditions.items()}
    assert share["grpo"] == {"without thought": pytest.approx(1 / 5), "with": pytest.approx(1 / 2805)}
    once = first_tokens_share(LongThoughts("grpo", copies=1), TASK)
    assert once == {"without thought": pytest.approx(1 / 5), "with": pytest.approx(1 / 33)}
    apart = {"without thought": pytest.approx(0.1 / 1.1), "with": pytest.approx(0.1 / 1.1)}
    assert share["degrpo, alpha 0.1"] == apart


@pytest.mark.parametrize("name", ["grpo", "degrpo, alpha 0.1"])
def test_long_thoughts_lose_what_long_completions_do(name: str) -> None:
    condition, rollouts = CLAIM.conditions[name], TASK.learner(0).rollouts()
    written = torch.arange(33).repeat_interleave(torch.where(torch.arange(33) < 5, 1, 100))
    wide = {key: getattr(rollouts, key)[:, written] for key in ("tokens", "mask", "logp_old", "turn", "entropy")}
    long = replace(rollouts, **wide, length=wide["mask"].sum(1))
    moved = (rollouts.logp_old + 0.1 * torch.randn(rollouts.tokens.shape)).requires_grad_()
    ours, _ = condition.objective()(rollouts, PolicyOut(moved, rollouts.entropy))
    plain = LongThoughts(condition.handle, condition.params, copies=1).objective()
    theirs, _ = plain(long, PolicyOut(moved[:, written], long.entropy))
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-4, abs=1e-7)
    gradients = [torch.autograd.grad(loss, moved, retain_graph=True)[0] for loss in (ours, theirs)]
    assert gradients[0][:, 5:].abs().max() > 0
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-7)


def test_results_may_be_known_better_with_thought() -> None:
    def sure(task: Modes) -> list[float]:
        known = problems(task, 0)
        chances = known.base(known.features).exp().detach()
        return [float(chances[:, last].amax(1).mean()) for last in (4, 36)]

    without, thought = sure(replace(CLAIM.testbed.task, taught=100))
    assert thought > without + 0.15
    alike = sure(TASK)
    assert alike[0] == pytest.approx(alike[1], abs=0.1)


@pytest.mark.parametrize(("tasks", "holds"), [(4, False), (5, True)])
def test_the_premise_is_that_grpo_falls_into_one_mode(tasks: int, holds: bool) -> None:
    assert (CLAIM.premise.missing({ONE_MODE: {"grpo": tasks}}) == "") == holds


def test_places_by_hand() -> None:
    places = TASK.places_of(torch.tensor([0, 1]))
    assert places[0, :5].tolist() == [0, 1, 2, 3, 4]  # the fifth token is the result
    assert places[1].tolist() == [0, *range(5, 37)]


def test_exact_rewards_by_hand() -> None:
    # All tokens equally likely: correct by 1/4 in any mode; (1 + 0.5) / 2 / 4 - 3 / 4; half of 5 and 33 tokens.
    learner = TASK.learner(0)
    with torch.no_grad():
        learner.thinker.weights["out"].zero_()
    assert learner.exact() == pytest.approx((0.1875 - 0.75, 0.25, 0.5, 0.5, 19))


def test_completions_come_to_what_is_exact() -> None:
    known, twice = problems(TASK, 0), torch.arange(128).repeat(2)
    # the problems held out, for once, are those completed
    same = ModeProblems(known.features[twice], known.hard[twice], known.correct[twice], known.base)
    learner = ModeLearner(replace(TASK, prompts=128, group=100), same, 1)
    rollouts = learner.rollouts()
    reward, success, easy, hard, tokens = learner.exact()
    error = 4 * math.sqrt(1 / len(rollouts))
    assert rollouts.reward.mean() == pytest.approx(reward, abs=error)
    assert (rollouts.reward > 0).float().mean() == pytest.approx(success, abs=error / 2)
    thinks, is_hard = rollouts.length > 5, same.hard[rollouts.group]
    assert thinks[~is_hard].float().mean() == pytest.approx(easy, abs=error)
    assert thinks[is_hard].float().mean() == pytest.approx(hard, abs=error)
    share = float(same.hard[:128].float().mean())
    assert rollouts.length.double().mean() == pytest.approx(5 + 28 * (easy + share * (hard - easy)), abs=28 * error)
    assert tokens == pytest.approx(5 + 28 * (easy + share * (hard - easy)), abs=1e-3)


def test_it_can_be_learnt() -> None:
    run = Sequences(task=TASK, iterations=30, every=15).run(CLAIM.conditions["grpo"], 0.01, 0)
    assert run.shape == (3, 5)
    assert run[-1, 0] > run[0, 0]


def test_the_effect_is_discernment_by_the_alpha_that_earned_most() -> None:
    found = CLAIM.smallest().measure()
    ends, ours = found.details["at the end"], found.details["DeGRPO's arm"]
    assert ends.keys() == CLAIM.conditions.keys()
    apart = {name: ends[name]["thinks, hard"]["estimate"] - ends[name]["thinks, easy"]["estimate"] for name in ends}
    assert found.means[""] == pytest.approx(apart[ours] - apart["grpo"])
