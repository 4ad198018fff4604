import pytest
import torch

from tiltyard.agents.objectives.advantages.balanced import balanced


def test_by_hand(answers):
    rollouts, _ = answers([1.0, 0.0, 0.0, 0.0], [[-1.0]] * 4)
    assert balanced(rollouts).tolist() == [0.75, -0.25, -0.25, -0.25]
    # one success and one of the three failures are kept, of mean 1/2
    dropped = balanced(rollouts, drop=True)
    assert dropped[0] == 0.5
    assert sorted(dropped[1:].tolist()) == [-0.5, 0.0, 0.0]


def test_nothing_is_dropped_where_failures_are_not_too_many(answers):
    rollouts, _ = answers([1.0, 0.0, 1.0, 0.3, 0.3], [[-1.0]] * 5, group=[0, 0, 0, 1, 1])
    assert balanced(rollouts, drop=True).tolist() == pytest.approx(balanced(rollouts).tolist())


def test_what_is_dropped_hangs_on_the_answers_alone(answers):
    rollouts, _ = answers([1.0] + [0.0] * 7, [[-1.0, -1.0]] * 8)
    order = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
    assert torch.equal(balanced(rollouts.take(order), drop=True), balanced(rollouts, drop=True)[order])
    assert (balanced(rollouts, drop=True) != 0).sum() == 2
