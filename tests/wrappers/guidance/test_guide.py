from dataclasses import replace

import pytest
import torch

from tiltyard.agents.language.context import ignore
from tiltyard.agents.language.trainer import PolicyGradient, corrected
from tiltyard.wrappers.components import Problem, Prompt
from tiltyard.wrappers.guidance.guide import Guide

PROBLEM = Problem(3, "8+4-15=?", lambda: "8+4=12 12-15=-3<answer>-3</answer>")


def refuse() -> str:
    raise AssertionError("a problem that was solved asks for no solution")


def test_failed_problems_alone_are_hinted_and_learnt_without_the_hint():
    solved = Problem(4, "1+1-1=?", refuse)
    first, second = Guide(share=0.5).prompts([PROBLEM, solved], [[0.0], [0.25]])
    assert first == Prompt("8+4-15=? Hint: 8+4=12 ", "", "8+4-15=?")  # 7 of the 15 characters before the completion
    assert second == Prompt("1+1-1=?")


def test_nothing_is_hinted_before_the_first_round_and_a_hinted_round_is_the_last():
    guide = Guide()
    assert guide.prompts([PROBLEM], [[]]) == [Prompt("8+4-15=?")]
    hinted = guide.prompts([PROBLEM], [[0.0]])
    assert guide.prompts([PROBLEM], [[0.0, 0.0]]) == hinted == guide.prompts([PROBLEM], [[0.0, 1.0]])


def test_the_completion_is_never_in_the_hint():
    (prompt,) = Guide(share=1.0).prompts([PROBLEM], [[0.0]])
    assert prompt.question == "8+4-15=? Hint: 8+4=12 12-15=-3"
    assert "answer" not in prompt.question


PHRASES = ("{hint}", "{question} {hint} {a}", "{hint} {question")


@pytest.mark.parametrize("settings", [{"share": 0.0}, {"share": 1.1}, *({"phrase": phrase} for phrase in PHRASES)])
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(ValueError, match=r"share|phrase"):
        Guide(**settings)


def test_failed_groups_are_taught_without_the_hint_by_ratios_to_the_hinted_policy():
    """Chain sums, of which the base solves a part: groups with a hint and without, and ratios to who wrote them."""
    settings = {"group_size": 2, "prompts_per_batch": 8, "max_answer_tokens": 64, "seed": 0}
    agent = PolicyGradient("chain-sum-base", "tiltyard/ChainSum-v0", method="guide", **settings)
    context = replace(agent.context(), on_step=ignore)
    rollouts = agent.sampler.rollouts(context, context.problems(list(range(8))), 2)
    hinted = torch.tensor(["Hint" in prompt for prompt in rollouts.prompts])
    assert hinted.any()
    assert not hinted.all()
    read = [agent.policy.tokenizer.decode(row.tolist()) for row in rollouts.tokens]
    assert not any("Hint" in text for text in read)
    first = rollouts.group[hinted].unique()
    assert torch.isin(rollouts.group, first).equal(hinted)  # whole groups
    moved = (rollouts.logp_old - rollouts.behaviour_logp).abs() * rollouts.mask
    assert moved[~hinted].max() < 1e-3
    assert moved[hinted].max() > 0.1
    trained = corrected(rollouts, agent.correction)
    assert torch.equal(trained.logp_old, rollouts.behaviour_logp)
    agent.learn(1)
    before = agent.policy.network.embedding.weight.detach().clone()
    agent.train(replace(trained, reward=torch.arange(16.0) % 2), agent.objective)
    assert not torch.equal(before, agent.policy.network.embedding.weight)
