from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.benchmarks.testbeds.budgets import FIRST, LAST, Budgets, worth
from tiltyard.benchmarks.testbeds.farmed_proofs import FarmedProofs
from tiltyard.benchmarks.testbeds.paid_sequences import Paid, PaidSequences
from tiltyard.benchmarks.testbeds.proofs import FILLER
from tiltyard.benchmarks.testbeds.sequences import SequenceMethod, Sequences
from tiltyard.benchmarks.testbeds.tool_calls import CALL, ToolCalls
from tiltyard.wrappers.components import Reward

NO_KL = {"kl_coef": 0.0}


class Notes(Reward):
    """Writes down what it is told of training."""

    def __init__(self) -> None:
        self.progress: list[float] = []

    def shape(self, episodes: Any, context: Any) -> torch.Tensor:
        self.progress.append(context.progress)
        return torch.as_tensor(episodes.reward)


def test_rewards_are_told_the_share_of_training_that_is_over() -> None:
    notes = Notes()
    PaidSequences(task=ToolCalls(), iterations=4, every=2).run(Paid("grpo", NO_KL, rewards=notes), 0.1, 1000)
    assert notes.progress == [0, 0.25, 0.5, 0.75]


def test_without_rewards_nothing_is_changed() -> None:
    plain = Sequences(task=ToolCalls(), iterations=4, every=2).run(SequenceMethod("grpo", NO_KL), 0.1, 1000)
    paid = PaidSequences(task=ToolCalls(), iterations=4, every=2).run(Paid("grpo", NO_KL), 0.1, 1000)
    assert plain.tolist() == paid.tolist()


def test_calls_are_told_as_texts_and_none_too_few_succeed() -> None:
    learner = ToolCalls().learner(1000)
    batch = learner.rollouts()
    made = torch.tensor([turns[0].count(CALL) for turns in batch.completions])
    assert torch.equal(made, batch.info["thoughts"])
    needed = learner.problems.needed[batch.group]
    assert set(learner.problems.needed.unique().tolist()) == {0, 1, 2}
    assert (made >= needed)[batch.info["success"]].all()
    assert torch.equal(batch.info["success"], batch.reward == 1)


def test_success_and_calls_by_hand() -> None:
    # Answering by 1/2 at each of six places, one of four results: calls are 1/2 + 1/4 + ... + 1/64 on average.
    task = ToolCalls()
    learner = task.learner(1000)
    with torch.no_grad():
        learner.stop.zero_()
        learner.result.zero_()
    success, calls = learner.exact()
    needed = learner.problems.needed[task.trained :].double()
    assert calls == pytest.approx(1 - 0.5**6)
    assert success == pytest.approx(float(((0.5**needed - 0.5**6) / 4).mean()))
    assert task.fewest_calls(1000) == pytest.approx(float(needed.mean()))


def test_filler_is_paid_more_than_a_proof_where_rewards_add_up() -> None:
    task = FarmedProofs(error=0.0)
    learner = task.learner(1000)
    batch = learner.attempt(torch.arange(32).repeat_interleave(8))
    success, steps = batch.info["success"], batch.need("step_reward")
    assert batch.reward.tolist() == pytest.approx(steps.sum(1).tolist(), abs=1e-5)
    proof = success & (batch.length == 5)  # four moves and a conclusion, without fault
    assert batch.reward[proof].tolist() == pytest.approx([5 * 0.8 + 1] * int(proof.sum()), abs=1e-5)
    with torch.no_grad():
        learner.weight.zero_()
        learner.weight.view(-1, task.lost + 1, 5)[-1, :, FILLER] = 50.0
    farmed = learner.attempt(torch.arange(4))
    assert farmed.reward.tolist() == pytest.approx([16 * 0.8] * 4, abs=1e-5)
    assert not farmed.info["success"].any()


def test_completions_under_a_budget_say_whether_they_are_correct() -> None:
    batch = Budgets().learner(1000).rollouts()
    assert torch.equal(batch.info["success"], batch.reward > 0)
    assert (FIRST, LAST) == (16, 5)


def test_what_an_end_is_worth_by_hand() -> None:
    run = np.array([[0.0, 9.0], [0.5, 7.5]])
    assert worth(run) == pytest.approx(0.6 * 0.5 + 0.3 * 0.5)  # half of the way from 5 tokens to 10
