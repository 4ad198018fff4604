from types import SimpleNamespace

import pytest
import torch

from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.soft_overlong_punishment import SoftOverlongPunishment, soft_overlong_punishment


def test_by_hand():
    # of at most 20 tokens, the last 4 are the buffer: none at 16, 1/4 at 17, all of it from 20 on
    length = torch.tensor([1, 16, 17, 19, 20, 25])
    penalty = soft_overlong_punishment(length, max_length=20, buffer=4)
    assert penalty.tolist() == [0.0, 0.0, -0.25, -0.75, -1.0, -1.0]
    assert torch.equal(soft_overlong_punishment(length, max_length=20, buffer=4, penalty=0.5), penalty / 2)


def test_correct_and_incorrect_completions_pay_alike():
    rollouts = SimpleNamespace(reward=torch.tensor([1.0, 1.0, 0.0, 0.0]), length=torch.tensor([8, 10, 9, 10]))
    reward = load({"name": "soft-overlong-punishment", "max_length": 10})  # of which a fifth is the buffer
    assert reward.shape(rollouts, None).tolist() == [1.0, 0.0, -0.5, -1.0]


@pytest.mark.parametrize("buffer", [0, 11])
def test_a_buffer_has_to_fit(buffer):
    with pytest.raises(ValueError, match="from 1 to max_length"):
        SoftOverlongPunishment(max_length=10, buffer=buffer)
