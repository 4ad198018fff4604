import pytest
import torch

from tiltyard.agents.language.providers.reference import Reference


def test_the_reference_stays_where_the_policy_was(sampled):
    rollouts, context = sampled()
    provider = Reference()
    provider.start(context)
    before = provider.supply(rollouts, context).logp_ref
    assert torch.allclose(before[rollouts.mask], rollouts.logp_old[rollouts.mask], atol=1e-5)
    assert provider.measure(provider.supply(rollouts, context))["kl_ref"] == pytest.approx(0.0, abs=1e-6)
    with torch.no_grad():
        for weights in context.policy.network.parameters():
            weights.mul_(0.9)
    assert torch.equal(provider.supply(rollouts, context).logp_ref, before)
    assert not torch.allclose(context.score(rollouts.tokens, rollouts.mask), before)
    assert not any(weights.requires_grad for weights in provider.networks()["reference"].parameters())
