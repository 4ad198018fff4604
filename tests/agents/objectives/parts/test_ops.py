import pytest
import torch

from tiltyard.agents.objectives.parts import ops

MASK = torch.tensor([[False, True, True, False], [False, True, False, False]])


def test_masked_mean_by_hand_and_blind_to_garbage():
    values = torch.tensor([[9.0, 1.0, 3.0, float("nan")], [float("inf"), 5.0, 9.0, 9.0]], requires_grad=True)
    mean = ops.masked_mean(values, MASK)
    assert mean.item() == 3.0  # (1 + 3 + 5) / 3
    mean.backward()
    assert values.grad.tolist() == [[0, pytest.approx(1 / 3), pytest.approx(1 / 3), 0], [0, pytest.approx(1 / 3), 0, 0]]
    assert ops.masked_mean(values, MASK, dim=1).tolist() == [2.0, 5.0]


def test_group_statistics_by_hand_in_any_row_order():
    values, group = torch.tensor([1.0, 5.0, 3.0, 7.0]), torch.tensor([8, 2, 8, 2])
    assert ops.group_mean(values, group).tolist() == [2, 6, 2, 6]
    assert ops.group_std(values, group).tolist() == pytest.approx([2**0.5] * 4)  # sqrt(((1-2)^2 + (3-2)^2) / 1)
    assert ops.group_size(torch.tensor([4, 4, 1])).tolist() == [2, 2, 1]


def test_equal_rewards_deviate_by_exactly_nothing():
    values = torch.full((7,), -0.1)
    assert (values - ops.group_mean(values, torch.zeros(7, dtype=torch.int64)) == 0).all()


def test_group_sums_and_maxima_by_hand_and_their_gradient():
    values, group = torch.tensor([1.0, 5.0, 3.0, 7.0], requires_grad=True), torch.tensor([8, 2, 8, 2])
    total = ops.group_sum(values, group)
    assert total.tolist() == [4, 12, 4, 12]
    total[0].backward()
    assert values.grad.tolist() == [1, 0, 1, 0]
    assert ops.group_max(values.detach(), group).tolist() == [3, 7, 3, 7]
    assert ops.group_max(-values.detach(), group).tolist() == [-1, -5, -1, -5]


def test_whitening_by_hand_and_blind_to_garbage():
    values = torch.tensor([[9.0, 1.0, 3.0, float("nan")], [float("inf"), 5.0, 9.0, 9.0]])
    white = ops.whiten(values, MASK)  # mean 3, deviation 2
    assert white.flatten().tolist() == pytest.approx([0, -1, 0, 0, 0, 1, 0, 0], abs=1e-4)
    assert (ops.whiten(torch.full((2, 4), 0.3, dtype=torch.float64), MASK).abs() < 1e-9).all()
    assert ops.whiten(torch.ones(1, 1), torch.ones(1, 1, dtype=torch.bool)).tolist() == [[0.0]]


def test_a_turn_ends_with_its_last_written_token():
    turn = torch.tensor([[0, 0, 0, 1, 1, 2, 9], [0, 0, 0, 0, 0, 0, 0]])
    mask = torch.tensor([[0, 1, 1, 0, 1, 1, 0], [0, 1, 0, 0, 0, 0, 0]]).bool()
    assert ops.turn_ends(turn, mask).nonzero().tolist() == [[0, 2], [0, 4], [0, 5], [1, 1]]
    assert not ops.turn_ends(turn, torch.zeros_like(mask)).any()


def test_log_ratios_are_finite_and_blind_to_garbage(completions):
    rollouts, out = completions([1.0, 1.0], [[-1.0, -90.0], [-1.0]], [[-1.5, -1.0], [-1.0]])
    out.logp.data[1, 2] = float("nan")
    assert ops.log_ratios(rollouts, out).tolist() == [[0, -0.5, 20], [0, 0, 0]]


def test_a_turns_sum_is_that_of_its_written_tokens():
    turn = torch.tensor([[0, 0, 0, 1, 1, 2]])
    mask = torch.tensor([[False, True, True, False, True, True]])
    sums = ops.turn_sums(torch.tensor([[9.0, 1.0, 2.0, 9.0, 4.0, 8.0]]), turn, mask)
    assert sums[mask].tolist() == [3.0, 3.0, 4.0, 8.0]
