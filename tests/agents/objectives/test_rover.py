from dataclasses import replace

import pytest
import torch

from tiltyard.agents.objectives.rover import loss as rover


def test_by_hand(completions):
    # Q = 0.3 and 0.1, target 0.5: 0.04 and 0.16; slope 2 (Q - 0.5)
    rollouts, out = completions([1.0], [[-1.0, -1.0]], [[-0.7, -0.9]])
    loss, _ = rover(rollouts, torch.tensor([0.5]), out)
    assert loss[0, 1:].tolist() == pytest.approx([0.04, 0.16], abs=1e-6)
    loss.sum().backward()
    assert out.logp.grad[0, 1:].tolist() == pytest.approx([-0.4, -0.8], abs=1e-6)


def test_the_value_of_acting_at_random_next_is_added_to_the_target(completions):
    # the mean log-probability one token later rose by 0.2: (0.3 - 0.7)^2; nothing comes after the last token
    rollouts, out = completions([1.0], [[-1.0, -1.0]], [[-0.7, -0.9]])
    rollouts = replace(rollouts, logp_mean_old=torch.tensor([[0.0, -3.0, -3.2]]))
    out = replace(out, logp_mean=torch.tensor([[0.0, -2.0, -3.0]]))
    loss, _ = rover(rollouts, torch.tensor([0.5]), out)
    assert loss[0, 1:].tolist() == pytest.approx([0.16, 0.16], abs=1e-6)


def test_rho_scales_values(completions):
    rollouts, out = completions([1.0], [[-1.0]], [[-0.7]])
    assert rover(rollouts, torch.tensor([0.5]), out, rho=2.0)[0][0, 1].item() == pytest.approx(0.01, abs=1e-6)


def test_what_the_environment_says_between_turns_takes_no_time(completions):
    """A word that was not written stands between the two: the first token's value is still followed by the second's."""
    rollouts, out = completions([1.0], [[-1.0, -2.0, -1.0]], [[-0.7, -5.0, -0.9]], turn=[[0, 0, 1]])
    rollouts = replace(
        rollouts,
        mask=torch.tensor([[False, True, False, True]]),
        logp_mean_old=torch.tensor([[0.0, -3.0, -7.0, -3.2]]),
    )
    out = replace(out, logp_mean=torch.tensor([[0.0, -2.0, -9.0, -3.0]]))
    loss, _ = rover(rollouts, torch.tensor([0.5]), out)
    assert loss[0, [1, 3]].tolist() == pytest.approx([0.16, 0.16], abs=1e-6)
