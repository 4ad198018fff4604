from types import SimpleNamespace

import pytest
import torch

from tiltyard.wrappers.rewards.kl_penalty import KLPenalty


def test_every_written_token_costs_its_log_ratio():
    mask = torch.tensor([[False, True, True, True], [False, True, False, False]])
    episodes = SimpleNamespace(
        tokens=torch.zeros(2, 4, dtype=torch.int64),
        mask=mask,
        logp_old=torch.tensor([[9.0, -1.0, -1.0, -2.0], [9.0, -1.0, 9.0, 9.0]]),
        token_reward=torch.tensor([[0.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.0, 0.0]]),
    )
    reference = torch.tensor([[0.0, -3.0, -1.0, -1.0], [0.0, -1.5, 0.0, 0.0]])
    context = SimpleNamespace(score_reference=lambda tokens, mask: reference)
    assert KLPenalty(coef=0.5).shape(episodes, context).tolist() == [[0, -1.0, 0, 1.5], [0, 0.25, 0, 0]]


def test_a_negative_coefficient_is_refused():
    with pytest.raises(ValueError, match="coef is at least 0, got -1"):
        KLPenalty(coef=-1.0)
