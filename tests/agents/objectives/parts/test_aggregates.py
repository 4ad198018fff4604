import pytest
import torch

from tiltyard.agents.objectives.parts import aggregates

MASK = torch.tensor([[False, True, True, False], [False, True, False, False]])


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (aggregates.sequence_mean, [[0, 1 / 4, 1 / 4, 0], [0, 1 / 2, 0, 0]]),
        (aggregates.token_mean, [[0, 1 / 3, 1 / 3, 0], [0, 1 / 3, 0, 0]]),
        (aggregates.sequence_sum, [[0, 1 / 2, 1 / 2, 0], [0, 1 / 2, 0, 0]]),
        (lambda mask: aggregates.constant_length(mask, length=10), [[0, 1 / 20, 1 / 20, 0], [0, 1 / 20, 0, 0]]),
    ],
)
def test_weights_by_hand(aggregate, expected):
    assert aggregate(MASK).tolist() == [pytest.approx(row) for row in expected]
