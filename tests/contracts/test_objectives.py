"""What every row of the objectives' catalogue must do."""

from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut, Rollouts
from tiltyard.agents.objectives.catalogue import ROWS
from tiltyard.agents.objectives.registry import load

REWARDS, GROUPS = [1.0, 0.0, -0.1, 1.0, 0.0, 0.0, 1.0, 0.0], [0, 0, 0, 0, 5, 5, 5, 5]
every_row = pytest.mark.parametrize("handle", [row.handle for row in ROWS])


def batch(rewards: list[float], *, seed: int = 0, steps: int = 6) -> Rollouts:
    """Random answers: two prompt tokens, then 1 to ``steps`` tokens, then padding."""
    generator = torch.Generator().manual_seed(seed)
    n, width = len(rewards), steps + 2
    lengths = torch.randint(1, steps, (n,), generator=generator)
    columns = torch.arange(width)
    mask = (columns >= 2) & (columns < 2 + lengths[:, None])
    logp_old = -torch.rand(n, width, generator=generator) * mask
    return Rollouts(
        tokens=torch.randint(4, 100, (n, width), generator=generator),
        mask=mask,
        logp_old=logp_old,
        logp_ref=(logp_old - 0.1 * torch.rand(n, width, generator=generator)) * mask,
        reward=torch.tensor(rewards),
        group=torch.tensor(GROUPS),
        seed=torch.tensor(GROUPS),
        turn=torch.zeros(n, width, dtype=torch.int64),
        length=lengths,
        entropy=torch.rand(n, width, generator=generator) * mask,
        info={"success": torch.tensor(rewards) > 0},
    )


def policy_out(rollouts: Rollouts) -> PolicyOut:
    """A policy that has moved a little."""
    noise = torch.randn(rollouts.logp_old.shape, generator=torch.Generator().manual_seed(1))
    return PolicyOut((rollouts.logp_old + 0.1 * noise * rollouts.mask).requires_grad_(), rollouts.entropy.clone())


def loss_and_gradient(handle: str, rollouts: Rollouts, out: PolicyOut, **params) -> tuple[torch.Tensor, torch.Tensor]:
    loss, _ = load(handle, **params)(rollouts, out)
    loss.backward()
    return loss.detach(), out.logp.grad


@every_row
def test_loss_is_finite_and_its_gradient_is_not_zero(handle):
    rollouts = batch(REWARDS)
    loss, gradient = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    assert loss.isfinite()
    assert gradient.isfinite().all()
    assert gradient.abs().sum() > 0


@every_row
def test_a_better_answer_is_made_likelier(handle):
    rollouts = batch(REWARDS)
    out = PolicyOut(rollouts.logp_old.clone().requires_grad_(), rollouts.entropy)
    rollouts = replace(rollouts, logp_ref=rollouts.logp_old)
    _, gradient = loss_and_gradient(handle, rollouts, out)
    assert (gradient[0][rollouts.mask[0]] < 0).all()  # descent raises the best of the first group
    assert (gradient[2][rollouts.mask[2]] > 0).all()  # and lowers its worst


@every_row
def test_tokens_outside_the_mask_get_no_gradient(handle):
    rollouts = batch(REWARDS)
    _, gradient = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    assert (gradient[~rollouts.mask] == 0).all()


@every_row
@pytest.mark.parametrize("garbage", [7.0, float("nan"), float("inf")])
def test_garbage_outside_the_mask_changes_nothing(handle, garbage):
    rollouts = batch(REWARDS)
    clean = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    outside = ~rollouts.mask
    spoilt = replace(
        rollouts,
        tokens=rollouts.tokens.masked_fill(outside, 99),
        logp_old=rollouts.logp_old.masked_fill(outside, garbage),
        logp_ref=rollouts.logp_ref.masked_fill(outside, garbage),
        entropy=rollouts.entropy.masked_fill(outside, garbage),
    )
    moved = policy_out(rollouts)
    out = PolicyOut(moved.logp.detach().masked_fill(outside, garbage).requires_grad_(), moved.entropy)
    loss, gradient = loss_and_gradient(handle, spoilt, out)
    assert torch.equal(loss, clean[0])
    assert torch.equal(gradient, clean[1])


@every_row
def test_the_order_of_rows_does_not_matter(handle):
    rollouts = batch(REWARDS)
    loss, gradient = loss_and_gradient(handle, rollouts, policy_out(rollouts))
    order = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
    moved = policy_out(rollouts)
    out = PolicyOut(moved.logp.detach()[order].requires_grad_(), moved.entropy[order])
    columns = {name: getattr(rollouts, name)[order] for name in rollouts.__dataclass_fields__ if name != "info"}
    other_loss, other_gradient = loss_and_gradient(handle, Rollouts(**columns), out)
    assert torch.allclose(other_loss, loss, atol=1e-6)
    assert torch.allclose(other_gradient, gradient[order], atol=1e-6)


@every_row
@pytest.mark.parametrize("reward", [0.0, 1.0, -0.1])
def test_equal_rewards_teach_nothing(handle, reward):
    rollouts = batch([reward] * len(GROUPS))
    params = {} if load(handle).silent_at_zero else {"kl_coef": 0.0}
    assert load(handle, **params).silent_at_zero
    _, gradient = loss_and_gradient(handle, rollouts, policy_out(rollouts), **params)
    assert (gradient == 0).all()


@every_row
def test_pieces_of_a_batch_add_up(handle):
    """A trainer may cut a batch: weights times tokens, summed over the pieces, is the loss of the whole."""
    rollouts = batch(REWARDS)
    out, objective = policy_out(rollouts), load(handle)
    whole, _ = objective(rollouts, out)
    advantage, weights = objective.advantage(rollouts), objective.aggregate(rollouts.mask)
    total = torch.zeros(())
    for rows in (torch.tensor([0, 3, 4]), torch.tensor([1, 2, 5, 6, 7])):
        part = rollouts.take(rows)
        width = part.tokens.shape[1]
        piece = PolicyOut(out.logp[rows, :width], out.entropy[rows, :width])
        per_token, _ = objective.loss(part, advantage[rows], piece)
        total = total + (per_token * weights[rows, :width])[part.mask].sum()
    assert torch.allclose(total, whole, atol=1e-6)


@every_row
def test_inputs_are_left_as_they_were(handle):
    rollouts = batch(REWARDS)
    before = {name: getattr(rollouts, name).clone() for name in ("logp_old", "logp_ref", "reward", "mask", "group")}
    load(handle)(rollouts, policy_out(rollouts))
    assert all(torch.equal(getattr(rollouts, name), value) for name, value in before.items())


def test_handles_are_unique():
    assert len({row.handle for row in ROWS}) == len(ROWS)
