import math
from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.providers.base import supplied
from tiltyard.agents.language.providers.prime import RATE, STEPS
from tiltyard.agents.language.trainer import PolicyGradient

ENV = "tiltyard/ChainSum-v0"


def agent(**settings) -> PolicyGradient:
    small = {"method": "prime", "group_size": 4, "prompts_per_batch": 4, "max_answer_tokens": 32, "seed": 0}
    return PolicyGradient("chain-sum-base", ENV, **{**small, "curriculum": "uniform", "device": "cpu", **settings})


def test_process_rewards_are_none_before_it_has_learnt_and_tell_outcomes_afterwards(sampled):
    rollouts, context = sampled("prime")
    before = supplied(rollouts, context.providers.values(), context)
    assert torch.equal(before.logp_prm, before.logp_ref)
    assert before.logp_prm[~rollouts.mask].abs().sum() == 0
    provider = context.providers["logp_prm"]
    success = rollouts.group % 2 == 0  # equal completions of a problem have one label
    labelled = replace(before, info={**before.info, "success": success})
    for group in context.policy.optimizer.param_groups:
        group["lr"] = 1e-3
    losses = [provider.fit(labelled, context)["implicit_prm_loss"] for _ in range(20)]
    assert losses[0] == pytest.approx(math.log(2), abs=0.1)
    assert losses[-1] < 0.5 * losses[0]
    after = provider.supply(labelled, context)
    assert provider.measure(after)["prm_accuracy"] == 1.0
    total = ((after.logp_prm - after.logp_ref) * after.mask).sum(1)
    assert (total[success] > 0).all()
    assert (total[~success] < 0).all()
    assert list(provider.networks()) == ["implicit_prm"]


def test_it_takes_four_steps_at_twice_the_policys_rate(sampled):
    rollouts, context = sampled("prime")
    given = supplied(rollouts, context.providers.values(), context)
    provider = context.providers["logp_prm"]
    provider.fit(given, context)
    optimizer = provider.networks()["implicit_prm"].optimizer
    assert next(iter(optimizer.state.values()))["step"] == STEPS == 4
    assert optimizer.param_groups[0]["lr"] == RATE * context.learning_rate == 2 * context.learning_rate


def test_completions_are_scored_before_they_are_learnt_from():
    """The first iteration is that of outcomes alone; the second one is not."""
    policies = []
    for weight in (1.0, 0.0):
        trained = agent(method_kwargs={"process_weight": weight}, learning_rate=1e-3)
        policies.append([])
        for _ in range(2):
            trained.learn(16, reset_num_timesteps=False)
            policies[-1].append(torch.cat([p.detach().flatten() for p in trained.policy.parameters()]))
    (first, second), (outcome_first, outcome_second) = policies
    assert torch.equal(first, outcome_first)
    assert not torch.equal(second, outcome_second)


def test_a_loaded_agent_goes_on_bit_for_bit(tmp_path):
    trained = agent(learning_rate=1e-3)
    trained.learn(16)
    trained.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent", env=ENV)
    for one in (trained, loaded):
        one.learn(16, reset_num_timesteps=False)
    for name in ("implicit_prm", "reference"):
        pairs = zip(*(getattr(one.networks, name).parameters() for one in (trained, loaded)), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)
    assert all(torch.equal(a, b) for a, b in zip(trained.policy.parameters(), loaded.policy.parameters(), strict=True))


def test_groups_that_nearly_all_succeed_or_fail_are_dropped():
    curriculum = agent(curriculum=None).curriculum
    assert (curriculum.low, curriculum.high) == (0.2, 0.8)


def test_a_scale_that_is_none_is_refused_when_the_agent_is_made():
    with pytest.raises(ValueError, match=r"^beta must be above 0, got 0\.0$"):
        agent(method_kwargs={"beta": 0.0})
