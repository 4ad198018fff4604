from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.grpo_lambda import GRPOLambda, length_penalty


def batch(success, length, group, **info):
    correct = torch.tensor(success, dtype=torch.bool)
    return SimpleNamespace(
        reward=correct.float(),
        length=torch.tensor(length),
        group=torch.tensor(group),
        info={"success": correct, **{name: torch.tensor(column) for name, column in info.items()}},
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


MIXED = batch([1, 1, 0, 1, 0, 0], [10, 30, 99, 10, 20, 5], [0, 0, 0, 1, 1, 1])
"""Two thirds of the first group are correct and one third of the second."""


def test_by_hand():
    # of the first group's correct lengths, 10 and 30, mean 20 and deviation 10: sigmoid(-1) and sigmoid(1)
    reward = load({"name": "grpo-lambda", "share": 0.5, "weight": 0.4})
    short, long = 1 - 0.4 * sigmoid(-1), 1 - 0.4 * sigmoid(1)
    assert reward.shape(MIXED, None).tolist() == pytest.approx([short, long, 0, 1, 0, 0])


def test_all_groups_pay_with_a_share_of_one_and_none_with_zero():
    assert GRPOLambda(share=1.0, weight=0.4).shape(MIXED, None)[3].item() == pytest.approx(1 - 0.4 / 2)  # alone
    assert torch.equal(GRPOLambda(share=0.0).shape(MIXED, None), MIXED.reward)


def test_the_number_of_groups_is_rounded_up_and_of_equals_the_first_pay():
    even = batch([1] * 10, [1, 2] * 5, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    for share, pay in ((0.01, 1), (0.2, 1), (0.21, 2), (0.4, 2), (1.0, 5)):
        changed = GRPOLambda(share=share).shape(even, None) != even.reward
        assert changed.tolist() == [i < 2 * pay for i in range(10)]


def test_rows_of_a_group_need_not_stand_together():
    order = torch.tensor([3, 0, 4, 1, 5, 2])
    mixed = SimpleNamespace(
        **{name: getattr(MIXED, name)[order] for name in ("reward", "length", "group")},
        info={"success": MIXED.info["success"][order]},
    )
    reward = GRPOLambda(share=0.5)
    assert torch.equal(reward.shape(mixed, None), reward.shape(MIXED, None)[order])


def test_expert_rows_count_for_no_group():
    # without its expert's row the second group is wholly wrong, and the first one is the best
    rows = batch([1, 0, 1, 0], [10, 10, 10, 10], [0, 0, 1, 1], expert=[False, False, True, False])
    assert GRPOLambda(share=0.5, weight=0.4).shape(rows, None).tolist() == pytest.approx([0.8, 0, 1, 0])


def test_equal_lengths_cost_half():
    correct, group = torch.tensor([True, True, False]), torch.zeros(3, dtype=torch.int64)
    assert length_penalty(torch.tensor([7.0, 7.0, 9.0]), correct, group)[:2].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("settings", [{"share": 1.2}, {"share": -0.1}, {"weight": 1.0}, {"weight": float("nan")}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} is"):
        GRPOLambda(**settings)
    with pytest.raises(TypeError, match="share must be a number"):
        GRPOLambda(share="some")
