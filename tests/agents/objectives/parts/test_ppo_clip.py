import math
from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut, Rollouts
from tiltyard.agents.objectives.parts.ppo_clip import ppo_clip


def one_token(ratio: float, reference: float = 1.0) -> tuple[Rollouts, PolicyOut]:
    """A completion of one token whose probability changed by ``ratio``; the reference's is ``reference`` times that."""
    logp = torch.tensor([[0.0, math.log(ratio)]], requires_grad=True)
    zeros = torch.zeros(1, 2)
    rollouts = Rollouts(
        tokens=torch.tensor([[3, 4]]),
        mask=torch.tensor([[False, True]]),
        logp_old=zeros,
        logp_ref=torch.tensor([[0.0, math.log(ratio) + math.log(reference)]]),
        reward=torch.ones(1),
        group=torch.zeros(1, dtype=torch.int64),
        seed=torch.zeros(1, dtype=torch.int64),
        turn=torch.zeros(1, 2, dtype=torch.int64),
        length=torch.ones(1, dtype=torch.int64),
        entropy=zeros,
    )
    return rollouts, PolicyOut(logp, zeros)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.5, 2.0, -2.4, 0.0),  # clipped at 1.2: no further reward for going up
        (0.5, 2.0, -1.0, -1.0),  # the pessimistic side is never clipped
        (0.5, -2.0, 1.6, 0.0),  # clipped at 0.8
        (1.5, -2.0, 3.0, 3.0),
    ],
)
def test_surrogate_and_slope_by_hand(ratio, advantage, loss, slope):
    rollouts, out = one_token(ratio)
    per_token, metrics = ppo_clip(rollouts, torch.tensor([advantage]), out)
    assert per_token[0, 1].item() == pytest.approx(loss, abs=1e-6)
    per_token[0, 1].backward()
    assert out.logp.grad[0, 1].item() == pytest.approx(
        slope, abs=1e-6
    )  # d loss / d logp = -A * ratio where not clipped
    assert metrics["clip_fraction"].item() == (slope == 0.0)


def test_bounds_are_separate():
    rollouts, out = one_token(1.25)
    assert ppo_clip(rollouts, torch.ones(1), out, clip_high=0.28)[0][0, 1].item() == pytest.approx(-1.25)


def test_kl_penalty_by_hand():
    # reference twice as likely: 2 - ln 2 - 1 = 0.3069; times 0.1, added to the surrogate -1
    rollouts, out = one_token(1.0, reference=2.0)
    per_token, metrics = ppo_clip(rollouts, torch.ones(1), out, kl_coef=0.1)
    assert per_token[0, 1].item() == pytest.approx(-1 + 0.1 * (1 - math.log(2)), abs=1e-6)
    assert metrics["kl_ref"].item() == pytest.approx(1 - math.log(2), abs=1e-6)


def test_a_penalty_without_a_reference_is_refused():
    rollouts, out = one_token(1.0)
    with pytest.raises(ValueError, match="logp_ref"):
        ppo_clip(replace(rollouts, logp_ref=None), torch.ones(1), out, kl_coef=0.1)


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_a_token_that_was_or_became_all_but_impossible_leaves_loss_and_gradient_finite(advantage):
    rollouts, _ = one_token(1.0)
    for old, new in ((-100.0, 0.0), (0.0, -100.0)):  # exp(100) is beyond single precision
        logp = torch.tensor([[0.0, new]], requires_grad=True)
        rollouts = replace(rollouts, logp_old=torch.tensor([[0.0, old]]), logp_ref=torch.tensor([[0.0, old]]))
        out = PolicyOut(logp, torch.zeros(1, 2))
        per_token, metrics = ppo_clip(rollouts, torch.tensor([advantage]), out, kl_coef=0.04)
        per_token.sum().backward()
        assert per_token.isfinite().all()
        assert logp.grad.isfinite().all()
        assert all(value.isfinite() for value in metrics.values())
