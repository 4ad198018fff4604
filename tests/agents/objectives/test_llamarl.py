import math

import pytest
import torch

from tiltyard.agents.language.rollouts import PolicyOut, Rollouts
from tiltyard.agents.objectives.llamarl import loss as aipo
from tiltyard.agents.objectives.registry import load


def test_a_weight_is_clipped_on_one_side_and_keeps_its_gradient_by_hand(completions):
    # ratios 6, 0.5 and 0.01 become the weights 4, 0.5 and 0.01: nothing is clipped below
    ratios = [6.0, 0.5, 0.01]
    new = [-7.0 + math.log(ratio) for ratio in ratios]
    rollouts, out = completions([1.0], [[-7.0] * 3], [new])
    loss, metrics = aipo(rollouts, torch.tensor([2.0]), out)
    assert loss[0, 1:].tolist() == pytest.approx([-8.0 * new[0], -1.0 * new[1], -0.02 * new[2]])
    loss.sum().backward()
    assert out.logp.grad[0].tolist() == pytest.approx([0.0, -8.0, -1.0, -0.02])
    assert metrics["clip_fraction"].item() == pytest.approx(1 / 3)
    assert metrics["importance_weight"].item() == pytest.approx(4.51 / 3)


def test_the_row_is_the_reward_minus_the_mean_of_the_group_summed_over_tokens_by_hand(completions):
    rollouts, out = completions([1.0, 0.0], [[-1.0, -1.0], [-1.0]])
    load("llamarl")(rollouts, out)[0].backward()
    assert out.logp.grad[:, 1:].tolist() == [pytest.approx([-0.25, -0.25]), pytest.approx([0.25, 0.0])]


def expected_gradient(logits: torch.Tensor, behaviour: torch.Tensor, rewards: torch.Tensor, **how) -> torch.Tensor:
    """The gradient of the loss in ``logits``, in expectation over the tokens that ``behaviour`` may have written."""
    logits = logits.clone().requires_grad_()
    logp, mu, n = torch.log_softmax(logits, -1), torch.log_softmax(behaviour, -1), len(rewards)
    column, zeros = torch.arange(n), torch.zeros(n, 1)
    rollouts = Rollouts(
        tokens=torch.stack([column, column], 1),
        mask=torch.tensor([[False, True]]).repeat(n, 1),
        logp_old=torch.cat([zeros, (logp.detach() if how.get("uncorrected") else mu)[:, None]], 1),
        logp_ref=None,
        reward=rewards,
        group=column * 0,
        seed=column * 0,
        turn=torch.zeros(n, 2, dtype=torch.int64),
        length=column * 0 + 1,
        entropy=torch.zeros(n, 2),
    )
    advantage = rewards - (mu.exp() * rewards).sum()
    per_token, _ = aipo(rollouts, advantage, PolicyOut(torch.cat([zeros, logp[:, None]], 1), zeros), rho=how["rho"])
    (per_token[:, 1] * mu.exp()).sum().backward()
    return -logits.grad


def true_gradient(logits: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    logits = logits.clone().requires_grad_()
    (torch.softmax(logits, -1) * rewards).sum().backward()
    return logits.grad


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.cosine_similarity(a, b, dim=0))


def test_weights_give_the_on_policy_gradient_where_an_uncorrected_one_points_elsewhere():
    """All that may happen, enumerated: an older policy wrote mostly what the present one hardly writes."""
    logits, behaviour = torch.tensor([1.5, 0.0, -1.0, -2.0]), torch.tensor([-2.0, 0.0, 1.0, 1.5])
    rewards = torch.tensor([0.0, 1.0, 0.2, 0.4])
    wanted = true_gradient(logits, rewards)
    exact = expected_gradient(logits, behaviour, rewards, rho=math.inf)
    assert torch.allclose(exact, wanted, atol=1e-6)  # the baseline drops out
    clipped = expected_gradient(logits, behaviour, rewards, rho=4.0)
    plain = expected_gradient(logits, behaviour, rewards, rho=4.0, uncorrected=True)
    assert cosine(plain, wanted) < 0.6
    assert cosine(clipped, wanted) > 0.9
