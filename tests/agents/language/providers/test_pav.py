from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.providers import pav
from tiltyard.agents.language.trainer import PolicyGradient

ENV = "tiltyard/ChainSum-v0"


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(pav, "PROBLEMS", 8)
    monkeypatch.setattr(pav, "GROUP", 2)


def agent(**settings) -> PolicyGradient:
    small = {"method": "pav", "group_size": 4, "prompts_per_batch": 4, "max_answer_tokens": 32, "seed": 0}
    return PolicyGradient("chain-sum-base", ENV, **{**small, "device": "cpu", **settings})


def test_it_learns_to_tell_what_becomes_of_completions(sampled):
    rollouts, context = sampled("pav")
    verifier = context.providers["verifier"]
    for group in context.policy.optimizer.param_groups:
        group["lr"] = 1e-4
    success = (rollouts.group % 2 == 0).float()  # equal completions of a problem have one label
    labelled = replace(rollouts, reward=success)
    before = verifier.measure(verifier.supply(labelled, context))["verifier_error"]
    assert before == pytest.approx(0.5, abs=0.2)  # values of 0: all successes are errors
    for _ in range(5):
        verifier.learn(labelled, context)
    after = verifier.supply(labelled, context)
    assert verifier.measure(after)["verifier_error"] < 0.05
    assert after.values[~rollouts.mask].abs().sum() == 0
    assert list(verifier.networks()) == ["verifier"]


def test_it_plays_and_learns_once_before_the_first_iteration():
    trained = agent()
    verifier = trained.context().providers["verifier"]
    start = verifier.critic.weight.detach().clone()
    trained.learn(32)
    assert trained.num_timesteps == 8 * 2 + 16  # its own completions count
    learnt = [parameter.detach().clone() for parameter in verifier.critic.parameters()]
    assert not torch.equal(verifier.critic.weight, start)
    trained.learn(16, reset_num_timesteps=False)
    assert trained.num_timesteps == 8 * 2 + 32
    assert all(torch.equal(a, b) for a, b in zip(learnt, verifier.critic.parameters(), strict=True))


def test_progress_changes_what_is_learnt():
    policies = []
    for alpha in (0.0, 1.0):
        trained = agent(method_kwargs={"alpha": alpha}, learning_rate=1e-3).learn(32)
        policies.append(torch.cat([parameter.detach().flatten() for parameter in trained.policy.parameters()]))
    assert not torch.equal(*policies)
