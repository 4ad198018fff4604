"""The projection of the next state's distribution, by hand; what it learns from numbers is two-hot's."""

import pytest
import torch as th

from tiltyard.agents.control.c51 import C51
from tiltyard.agents.control.heads import TwoHot


def outputs(head: C51, *probabilities: float) -> th.Tensor:
    """Outputs ``[1, 1, n_bins]`` that mean these probabilities."""
    return (th.tensor(probabilities).clamp_min(1e-30).log() - head.prior).view(1, 1, -1)


@pytest.mark.parametrize(
    ("reward", "discount", "expected"),
    [
        # Returns 1 and 3 with 0.25 and 0.75 move to 1 and 2, since 0.5 + 0.5 z.
        (0.5, 0.5, [0.0, 0.25, 0.75, 0.0, 0.0]),
        # To 1.25 and 2.75: three quarters of 0.25 at 1 and one at 2, one quarter of 0.75 at 2 and three at 3.
        (0.5, 0.75, [0.0, 0.1875, 0.25, 0.5625, 0.0]),
        (1.25, 0.0, [0.0, 0.75, 0.25, 0.0, 0.0]),  # it has ended
        (3.0, 0.9, [0.0, 0.0, 0.0, 0.025, 0.975]),  # 3.9, and 5.7 cut to 4
        (-9.0, 1.0, [1.0, 0.0, 0.0, 0.0, 0.0]),
        (4.0, 0.0, [0.0, 0.0, 0.0, 0.0, 1.0]),
    ],
)
def test_the_distribution_is_moved_scaled_and_shared_among_neighbours(
    reward: float, discount: float, expected: list[float]
) -> None:
    head = C51(1, v_min=0.0, v_max=4.0, n_bins=5)
    out = outputs(head, 0.0, 0.25, 0.0, 0.75, 0.0)
    if discount == 0.9:  # 0.9 + 3 = 3.9 of the first, whose 0.25 is shared 0.1 to 0.9
        assert 0.25 * 0.1 == pytest.approx(expected[3])
    found = head.project(out, th.tensor([reward]), th.tensor([discount]))
    th.testing.assert_close(found.flatten(), th.tensor(expected), atol=1e-5, rtol=0)


def test_inside_the_range_the_mean_is_that_of_the_bellman_target() -> None:
    th.manual_seed(0)
    head = C51(2, v_min=-5.0, v_max=5.0, n_bins=51)
    out, rewards, discounts = 0.1 * th.randn(2, 7, 51), 0.1 * th.randn(7), 0.5 * th.rand(7)
    found = head.project(out, rewards, discounts)
    th.testing.assert_close(found.sum(-1), th.ones(2, 7))
    th.testing.assert_close(found @ head.values, rewards + discounts * head.value(out), atol=1e-5, rtol=1e-4)


def test_a_number_as_target_is_two_hot() -> None:
    mine, other = (kind(1, v_min=-1.0, v_max=1.0, n_bins=11) for kind in (C51, TwoHot))
    target = th.tensor([0.13, -2.0])
    assert th.equal(mine.encode(target), other.encode(target))
