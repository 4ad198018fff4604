import torch

from tiltyard.agents.language.providers.vocabulary import VocabularyMeans


def test_mean_log_probabilities_are_those_of_all_tokens_that_can_be_written(sampled):
    rollouts, context = sampled()
    found = VocabularyMeans().supply(rollouts, context).logp_mean_old
    network = context.policy.network
    with torch.no_grad():
        logps = torch.log_softmax(network.logits(network(rollouts.tokens)), -1)[..., network.forbidden == 0]
    before = logps.mean(-1).roll(1, 1)  # what stands at a position is said of the token before it
    assert torch.allclose(found[rollouts.mask], before[rollouts.mask], atol=1e-4)
