import pytest
import torch

from tiltyard.agents.objectives import ops

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


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (ops.sequence_mean, [[0, 1 / 4, 1 / 4, 0], [0, 1 / 2, 0, 0]]),
        (ops.token_mean, [[0, 1 / 3, 1 / 3, 0], [0, 1 / 3, 0, 0]]),
        (ops.sequence_sum, [[0, 1 / 2, 1 / 2, 0], [0, 1 / 2, 0, 0]]),
        (lambda mask: ops.constant_length(mask, length=10), [[0, 1 / 20, 1 / 20, 0], [0, 1 / 20, 0, 0]]),
    ],
)
def test_weights_by_hand(aggregate, expected):
    assert aggregate(MASK).tolist() == [pytest.approx(row) for row in expected]
