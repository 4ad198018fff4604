"""Every method that needs no second model on a bandit: eight one-token completions, two of them correct."""

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut, Rollouts
from tiltyard.agents.objectives.catalogue import ROWS
from tiltyard.agents.objectives.registry import load

ARMS, RIGHT, BATCH = 8, 2, 48
SETTINGS = {
    "gtpo": {"max_entropy": 3.0},  # leaves out completions of more than 0.7 nats; a uniform choice among eight has 2.1
    "dpo-norm": {"beta": 0.05},  # with its own 5 a gap of one nat is enough, which is a share of 0.5
}
HERE = {"logp_ref", "logp_mean", "expert", "groups"}  # what a bandit can supply


def column(values: torch.Tensor) -> torch.Tensor:
    """Behind a prompt of one token."""
    return torch.stack([torch.zeros(BATCH), values.expand(BATCH)], 1)


def answered(logits: torch.Tensor, generator: torch.Generator) -> tuple[Rollouts, torch.Tensor]:
    logp = logits.detach().log_softmax(0)
    arms = torch.multinomial(logp.exp(), BATCH, replacement=True, generator=generator)
    correct, group = arms < RIGHT, torch.arange(BATCH) // 8
    none = torch.zeros(BATCH, 2, dtype=torch.int64)
    return Rollouts(
        tokens=torch.stack([none[:, 0], arms + 4], 1),
        mask=torch.tensor([False, True]).expand(BATCH, 2),
        logp_old=column(logp[arms]),
        logp_ref=column(torch.tensor(1 / ARMS).log()),
        reward=correct.float(),
        group=group,
        seed=group,
        turn=none,
        length=torch.ones(BATCH, dtype=torch.int64),
        entropy=column(-(logp.exp() * logp).sum()),
        info={"success": correct, "answer": arms, "expert": torch.zeros(BATCH, dtype=torch.bool)},
        logp_mean_old=column(logp.mean()),
    ), arms


@pytest.mark.parametrize("handle", [row.handle for row in ROWS if set(row.needs) <= HERE])
def test_the_correct_completions_become_likelier(handle):
    objective = load(handle, **SETTINGS.get(handle, {}))
    logits, generator = torch.zeros(ARMS, requires_grad=True), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam([logits], lr=0.1)
    for _ in range(40):
        rollouts, arms = answered(logits, generator)
        logp = logits.log_softmax(0)
        out = PolicyOut(column(logp[arms]), column(-(logp.exp() * logp).sum()), column(logp.detach().mean()))
        loss, _ = objective(rollouts, out)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert logits.detach().softmax(0)[:RIGHT].sum() > 0.8  # from 0.25
