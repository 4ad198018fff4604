"""NLPO's sampler: what is written and trained lies in an older policy's nucleus."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.context import ignore
from tiltyard.agents.language.rollouts import Rollouts, join
from tiltyard.agents.language.samplers.nlpo import NLPO
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.agents.language.update import corrected, policy_gradient_step
from tiltyard.agents.models.following import nucleus
from tiltyard.agents.models.tokenizer import END

SMALL = {"group_size": 4, "prompts_per_batch": 2, "max_answer_tokens": 6, "seed": 0, "method": "nlpo"}


def agent(env: str = "ChainSum", **settings) -> PolicyGradient:
    learner = PolicyGradient("chain-sum-base", f"tiltyard/{env}-v0", device="cpu", **{**SMALL, **settings})
    learner.policy.set_training_mode(False)
    return learner


def sampled(learner: PolicyGradient) -> Rollouts:
    context = replace(learner.context(), on_step=ignore)
    return learner.sampler.rollouts(context, context.problems([3, 4]), learner.group_size)


def moved(learner: PolicyGradient, by: float = 0.6) -> PolicyGradient:
    """The policy is another one than the copy."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weights in learner.policy.network.parameters():
            weights += by * weights.std() * torch.randn_like(weights)
    return learner


@pytest.mark.parametrize("env", ["ChainSum", "TwentyQuestions"])
def test_what_is_written_lies_in_the_copys_nucleus_and_not_in_the_policys(env):
    learner = moved(agent(env, sampler={"name": "nlpo", "top_p": 0.6, "refresh": 3}))
    rollouts = sampled(learner)
    written = rollouts.tokens[rollouts.mask]
    outside = {}
    for name, network in (("copy", learner.sampler.masking), ("policy", learner.policy.network)):
        hidden = network(rollouts.tokens)[:, :-1][rollouts.mask[:, 1:]]
        inside = nucleus(network.logits(hidden).softmax(-1), 0.6)
        outside[name] = int((~inside[torch.arange(len(written)), written] & (written != END)).sum())
    assert outside["copy"] == 0
    assert outside["policy"] > 0


def test_what_is_trained_is_the_policy_among_what_was_allowed():
    learner = moved(agent(sampler={"name": "nlpo", "top_p": 0.6}))
    rollouts = sampled(learner)
    ready = corrected(rollouts, "weight")
    assert ready.behaviour_logp is None
    out = learner.policy.evaluate(ready.tokens, ready.mask, support=ready.support)
    torch.testing.assert_close(out.logp, ready.logp_old, rtol=1e-4, atol=1e-4)  # the first ratio is 1
    whole = learner.policy.evaluate(rollouts.tokens, rollouts.mask)
    torch.testing.assert_close(whole.logp, rollouts.logp_old, rtol=1e-4, atol=1e-4)
    assert (out.logp > whole.logp + 0.01)[rollouts.mask].any()
    assert (out.logp >= whole.logp - 1e-4).all()
    allowed = ready.support(ready.tokens, ready.mask)
    hidden = learner.policy.network(ready.tokens)[:, :-1][ready.mask[:, 1:]]
    p = learner.policy.network.logits(hidden).softmax(-1) * allowed
    p /= p.sum(-1, keepdim=True)
    torch.testing.assert_close(out.logp[ready.mask].exp(), p.gather(1, ready.tokens[ready.mask][:, None])[:, 0])
    torch.testing.assert_close(out.entropy[ready.mask], -torch.xlogy(p, p).sum(-1), rtol=1e-4, atol=1e-5)


def test_gradient_steps_are_of_the_policy_among_what_was_allowed():
    learner = moved(agent(sampler={"name": "nlpo", "top_p": 0.6}, method="reinforce"))
    ready = corrected(sampled(learner), "weight")
    metrics = policy_gradient_step(learner.policy, learner.objective, ready, torch.ones(len(ready)))
    assert abs(float(metrics["approx_kl"])) < 1e-6  # before the step, the policy is the one that wrote


def test_a_token_that_was_written_is_always_among_what_was_allowed():
    learner = agent(sampler={"name": "nlpo", "top_p": 0.1})
    rollouts = sampled(learner)
    shuffled = torch.where(rollouts.mask, (rollouts.tokens + 7) % 90 + 4, rollouts.tokens)
    out = learner.policy.evaluate(shuffled, rollouts.mask, support=rollouts.support)
    assert (out.logp > -100).all()


def test_tokens_out_of_the_nucleus_get_no_gradient():
    learner = moved(agent(sampler={"name": "nlpo", "top_p": 0.5}))
    ready = corrected(sampled(learner), "weight")
    network, logits = learner.policy.network, []
    forward = network.logits
    network.logits = lambda hidden: logits.append(forward(hidden)) or logits[-1].retain_grad() or logits[-1]
    learner.policy.evaluate(ready.tokens, ready.mask, support=ready.support).logp.sum().backward()
    allowed = ready.support(ready.tokens, ready.mask)
    assert (logits[0].grad[~allowed] == 0).all()
    assert (logits[0].grad[allowed] != 0).any()


def test_with_the_whole_distribution_it_is_ppo_bit_for_bit():
    found = []
    for settings in ({"method": "ppo"}, {"sampler": {"name": "nlpo", "top_p": 1.0}}):
        learner = agent(**settings)
        learner.learn(3 * 8)
        found.append({name: value.clone() for name, value in learner.policy.state_dict().items()})
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    learner = agent(sampler={"name": "nlpo", "top_p": 0.8})
    learner.learn(3 * 8)
    assert any(not torch.equal(found[0][name], value) for name, value in learner.policy.state_dict().items())


def test_the_copy_is_renewed_when_it_is_due():
    learner = agent(sampler={"name": "nlpo", "refresh": 2})
    first = deepcopy(learner.policy.network.state_dict())

    def is_old() -> bool:
        return torch.equal(learner.sampler.masking.state_dict()["embedding.weight"], first["embedding.weight"])

    learner.learn(2 * 8)
    assert is_old()
    written = deepcopy(learner.policy.network.state_dict())
    learner.learn(8, reset_num_timesteps=False)
    kept = learner.sampler.masking.state_dict()
    assert all(torch.equal(kept[name], written[name]) for name in kept)  # the policy that wrote the third iteration


def test_a_loaded_agent_goes_on_as_if_it_had_not_been_saved(tmp_path):
    whole = agent(sampler={"name": "nlpo", "refresh": 2})
    whole.learn(5 * 8)
    half = agent(sampler={"name": "nlpo", "refresh": 2})
    half.learn(3 * 8)
    half.save(tmp_path / "half.zip")
    loaded = PolicyGradient.load(tmp_path / "half.zip", env="tiltyard/ChainSum-v0", device="cpu")
    loaded.learn(2 * 8, reset_num_timesteps=False)
    for name, value in whole.policy.state_dict().items():
        assert torch.equal(loaded.policy.state_dict()[name], value), name


def test_batches_of_which_one_has_a_support_keep_it():
    learner = agent(sampler={"name": "nlpo"})
    rollouts = sampled(learner)
    other = replace(rollouts, support=None, group=rollouts.group + 5)
    assert join([other, rollouts]).support is rollouts.support


def test_numbers_out_of_range_are_refused():
    for settings, words in (
        ({"top_p": 0.0}, "top_p must lie in"),
        ({"top_p": 1.5}, "top_p must lie in"),
        ({"refresh": 0}, "refresh must be at least 1"),
        ({"min_tokens": 0}, "min_tokens must be at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            NLPO(**settings)


def test_rollout_workers_do_not_have_the_copy():
    learner = agent(sampler={"name": "nlpo"}, max_staleness=1, exact_staleness=True)
    with pytest.raises(TypeError, match="NLPO remembers what it has seen"):
        learner.learn(16)
