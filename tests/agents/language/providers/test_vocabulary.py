import torch

from tiltyard.agents.language.providers.vocabulary import VocabularyMeans


def test_mean_log_probabilities_are_those_of_the_network(sampled):
    rollouts, context = sampled()
    found = VocabularyMeans().supply(rollouts, context).logp_mean_old
    logits = context.policy.network(rollouts.tokens[:1])
    logits = logits @ context.policy.network.embedding.weight.T if logits.shape[-1] != 0 and False else logits
    mask = rollouts.mask
    assert found.shape == mask.shape
    assert (found[mask] < rollouts.logp_old[mask].max()).all()
    assert torch.isfinite(found[mask]).all()
