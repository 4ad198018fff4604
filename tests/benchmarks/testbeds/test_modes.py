import math
from dataclasses import replace

import pytest
import torch

from tiltyard.benchmarks.claims.degrpo import CLAIM
from tiltyard.benchmarks.testbeds.modes import ModeLearner, ModeProblems, Modes, first_tokens_share, problems
from tiltyard.benchmarks.testbeds.sequences import Sequences

TASK = Modes(taught=100)


def test_the_weight_of_the_mode_by_hand() -> None:
    # GRPO: one token of 5 and one of 33. DeGRPO: alpha against 1 for all others, whatever their number.
    share = {name: first_tokens_share(condition, TASK) for name, condition in CLAIM.conditions.items()}
    assert share["grpo"] == {"without thought": pytest.approx(1 / 5), "with": pytest.approx(1 / 33)}
    apart = {"without thought": pytest.approx(0.1 / 1.1), "with": pytest.approx(0.1 / 1.1)}
    assert share["degrpo, alpha 0.1"] == apart


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
