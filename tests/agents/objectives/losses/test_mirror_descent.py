import pytest
import torch

from tiltyard.agents.objectives.losses.mirror_descent import mirror_descent


def test_by_hand(answers):
    # moved by 0.1 and 0.3, 0.4 in all: tau / 2 * 0.16 = 0.008, half of it on each token; its slope is tau * 0.4
    rollouts, out = answers([1.0], [[-1.0, -1.0]], [[-0.9, -0.7]])
    loss, metrics = mirror_descent(rollouts, torch.tensor([0.5]), out, tau=0.1)
    assert loss[0, 1:].tolist() == pytest.approx([0.004 + 0.45, 0.004 + 0.35])
    assert metrics["squared_log_ratio"].item() == pytest.approx(0.16)
    loss[rollouts.mask].sum().backward()
    assert out.logp.grad[0].tolist() == pytest.approx([0.0, -0.46, -0.46])
