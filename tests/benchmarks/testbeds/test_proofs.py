import math
from dataclasses import replace

import pytest
import torch

from tiltyard.benchmarks.claims.pure import CLAIM
from tiltyard.benchmarks.testbeds.proofs import ProofLearner, Proofs
from tiltyard.benchmarks.testbeds.sequences import Sequences

TASK = Proofs()


@pytest.mark.parametrize(
    ("steps", "success"),
    [
        (2, 0.0),  # nobody makes four moves
        (5, 0.2**5),  # four correct moves of probability 1/5 and the conclusion
        (6, 0.2**5 + 5 * 0.2**6),  # one step more may be filler at any of five places
    ],
)
def test_exact_success_by_hand(steps: int, success: float) -> None:
    learner = ProofLearner(replace(TASK, steps=steps), TASK.problems(0), 0)
    with torch.no_grad():
        learner.weight.zero_()
    assert learner.exact()[0] == pytest.approx(success)
    assert steps > 2 or learner.exact()[1] == pytest.approx(1.8)  # one in five has concluded after one step


def test_exact_success_is_what_attempts_come_to() -> None:
    learner = TASK.learner(1)
    problems = torch.arange(TASK.trained, TASK.trained + TASK.held_out).repeat(100)
    tried = learner.attempt(problems)
    success, steps = learner.exact()
    assert 0.2 < success < 0.8
    assert tried.reward.mean() == pytest.approx(success, abs=4 * math.sqrt(0.25 / len(problems)))
    assert tried.mask.sum(1).double().mean() == pytest.approx(steps, abs=0.1)


def test_credit_of_the_conditions_by_hand() -> None:
    # Two attempts at a problem, scored (1, -1) and (1, 1): minima -1 and 1, sums 0 and 2; two tokens each.
    learner = TASK.learner(0)
    scores = learner.problems.scores
    scores[0, 0, 0], scores[0, 1, 4], scores[0, 1, 3] = 1.0, -1.0, 1.0
    state, action = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 4], [0, 3]])
    ones, problem = torch.ones(2, 2, dtype=torch.bool), torch.zeros(2, dtype=torch.int64)
    tried = learner.as_rollouts(problem, state, action, ones, torch.tensor([1.0, 0.0]))
    credit = {
        name: of.objective().advantage(of.sees(tried, learner.generator) if of.sees else tried)
        for name, of in CLAIM.conditions.items()
    }
    torch.testing.assert_close(credit["sum-form"], torch.tensor([[0.0 - 2, -1 - 1], [2 - 0, 1 - 0]]))
    torch.testing.assert_close(credit["min-form"], torch.tensor([[-1.0 - 1, -1 - 0.5], [1 + 1, 0.5 + 0.5]]))
    torch.testing.assert_close(credit["outcome"], torch.tensor([[1.0, 1], [-1, -1]]))
    torch.testing.assert_close(credit["min-form and outcome"], credit["min-form"] + credit["outcome"])


def test_outcomes_can_be_learnt_from() -> None:
    run = Sequences(task=TASK, iterations=20).run(CLAIM.conditions["outcome"], 0.03, 0)
    assert run.shape == (3, 2)
    assert run[-1, 0] > run[0, 0]


def test_both_parts_are_told() -> None:
    found = CLAIM.smallest().measure()
    main, soon = found.details["filler is no fault"], found.details["success at 30%"]
    ends = {name: end["estimate"] for name, end in main["success at the end"].items()}
    assert ends.keys() == CLAIM.conditions.keys()
    wanted = [ends["min-form"] - ends["sum-form"], soon["min-form"]["estimate"] - ends["outcome"]]
    assert list(found.means.values()) == pytest.approx(wanted)
