import math
from dataclasses import replace

import pytest
import torch

from tiltyard.agents.objectives.parts.leave_one_out import leave_one_out
from tiltyard.agents.objectives.prime import advantage, to_go
from tiltyard.agents.objectives.registry import load

PLAIN = {"normalise": False, "whiten": False}
REFERENCE = [[-2.0, -3.0], [-1.0], [-1.0, -2.0, -1.0]]


def three_completions(completions, reward=(1.0, 0.0, 0.0)):
    """Log-ratios of 1 and 2; of -1; and of 0, 3 and -3."""
    rollouts, _ = completions(list(reward), [[-1.0, -1.0], [-1.0], [-1.0] * 3], ref=REFERENCE)
    ratios = torch.tensor([[0.0, 1.0, 2.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 3.0, -3.0]])
    return replace(rollouts, logp_prm=rollouts.logp_ref + ratios)


def test_by_hand(completions):
    # beta 1/2: process rewards 1/2, 1; -1/2; 0, 3/2, -3/2, with means 3/4, -1/2 and 0 a token
    # baselines -1/4, 3/8 and 1/8; outcomes less the others' mean 1, -1/2, -1/2
    found = advantage(three_completions(completions), beta=0.5, **PLAIN)
    assert found[0].tolist() == pytest.approx([0, 1 + 0.75 + 1.25, 1 + 1.25, 0])
    assert found[1].tolist() == pytest.approx([0, -0.5 - 0.875, 0, 0])
    assert found[2].tolist() == pytest.approx([0, -0.5 - 0.375, -0.5 + 1.375 - 1.625, -0.5 - 1.625])


def test_only_process_rewards_are_discounted(completions):
    found = advantage(three_completions(completions), beta=0.5, gamma=0.5, **PLAIN)
    assert found[0].tolist() == pytest.approx([0, 1 + 0.75 + 0.5 * 1.25, 1 + 1.25, 0])


def test_the_largest_sum_over_an_end_is_one(completions):
    # sums from each token on: 3, 2; -1; 0, 0, -3
    given = three_completions(completions)
    found = advantage(given, normalise=True, whiten=False)
    assert torch.allclose(found, advantage(given, beta=1 / 3, **PLAIN), atol=1e-5)
    assert torch.equal(found, advantage(given, beta=7.0, normalise=True, whiten=False))


def test_whitened_advantages_have_mean_zero_and_deviation_one(completions):
    given = three_completions(completions)
    found = advantage(given)[given.mask]
    assert found.mean().item() == pytest.approx(0, abs=1e-6)
    assert found.std().item() == pytest.approx(1, abs=1e-3)


def test_a_reward_model_that_knows_nothing_leaves_rloo(completions):
    given = three_completions(completions)
    silent = replace(given, logp_prm=given.logp_ref)
    expected = torch.where(given.mask, leave_one_out(given)[:, None], 0.0)
    for params in (PLAIN, {"normalise": True, "whiten": False}):
        assert torch.allclose(advantage(silent, **params), expected)
        assert torch.allclose(advantage(given, process_weight=0.0, **params), expected)
        assert not torch.allclose(advantage(given, **params), expected)


def test_tokens_of_a_failure_differ_by_their_process_rewards_alone(completions):
    """RLOO on outcomes gives all tokens of a completion one advantage; the step after which it fails is told here."""
    found = advantage(three_completions(completions), beta=0.5, **PLAIN)
    assert found[2, 2] > found[2, 1] > found[2, 3]


def test_a_group_of_one_is_compared_with_nothing(completions):
    rollouts, _ = completions([0.5], [[-1.0, -1.0]], ref=[[-1.0, -1.0]])
    given = replace(rollouts, logp_prm=torch.tensor([[0.0, -0.8, -1.4]]))
    assert advantage(given, beta=1.0, **PLAIN)[0].tolist() == pytest.approx([0, 0.5 + 0.2 - 0.4, 0.5 - 0.4])


def test_sums_to_go_pass_over_what_was_not_written():
    mask = torch.tensor([[False, True, False, True]])
    found = to_go(torch.tensor([[math.nan, 1.0, math.nan, 4.0]]), mask, 0.5)
    assert found.tolist() == [[0.0, 3.0, 0.0, 4.0]]


def test_a_discount_that_is_none_is_refused(completions):
    with pytest.raises(ValueError, match=r"gamma must be from 0 to 1, got 1\.5"):
        advantage(three_completions(completions), gamma=1.5)


def test_the_row_is_the_authors_script():
    row = load("prime")
    assert row.params == {"beta": 0.05, "gamma": 1.0, "normalise": True, "whiten": True}
    assert row.components == {"curriculum": {"name": "online-difficulty-filter", "low": 0.2, "high": 0.8}}
