from types import SimpleNamespace

import torch

from tiltyard.agents.language.rollouts import PolicyOut
from tiltyard.agents.objectives.parts.log_likelihood import log_likelihood


def test_loss_and_slope_by_hand():
    rollouts = SimpleNamespace(mask=torch.tensor([[False, True, True]]))
    out = PolicyOut(torch.tensor([[float("nan"), -1.0, -2.0]], requires_grad=True), torch.zeros(1, 3))
    per_token, _ = log_likelihood(rollouts, torch.tensor([3.0]), out)
    assert per_token[0, 1:].tolist() == [3.0, 6.0]
    per_token.sum().backward()
    assert out.logp.grad.tolist() == [[0.0, -3.0, -3.0]]
