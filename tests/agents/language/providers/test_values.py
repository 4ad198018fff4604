import torch

from tiltyard.agents.language.providers.values import Values


def test_a_critic_is_fitted_to_returns(sampled):
    rollouts, context = sampled("ppo")
    provider = Values()
    provider.start(context)
    supplied = provider.supply(rollouts, context)
    assert supplied.values.shape == rollouts.tokens.shape
    losses = [provider.fit(provider.supply(rollouts, context), context)["value_loss"] for _ in range(12)]
    assert losses[-1] < 0.7 * losses[0]
    assert not torch.allclose(provider.supply(rollouts, context).values, supplied.values)
    assert list(provider.networks()) == ["critic"]
