"""Scaf-GRPO: which completion is hinted, when, and with how much."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from tiltyard.agents import make
from tiltyard.agents.language.context import ignore
from tiltyard.agents.objectives.registry import load
from tiltyard.wrappers.components import Problem, Prompt
from tiltyard.wrappers.guidance.scaf_grpo import ScafGRPO

PROBLEM = Problem(3, "8+4-15=?", lambda: "8+4=12 12-15=-3<answer>-3</answer>", group_size=3)
PLAIN = Prompt("8+4-15=?")


def refuse() -> str:
    raise AssertionError("the expert was asked for no reason")


def begun(progress: float = 1.0, **settings) -> ScafGRPO:
    guidance = ScafGRPO(**settings)
    guidance.begin(SimpleNamespace(progress=progress))
    return guidance


@pytest.mark.parametrize(
    ("history", "hint"),
    [
        ([0.0], "8+4"),  # a quarter of the 15 characters before the answer
        ([0.0, 0.0], "8+4=12 "),
        ([0.0, 1 / 3], "8+4"),  # the smallest hint that succeeded stays
        ([0.0, 0.0, 0.0, 0.0], "8+4=12 12-15=-3"),
        ([0.0] * 9, "8+4=12 12-15=-3"),  # the last is the last
    ],
)
def test_one_completion_of_a_failed_group_is_hinted_ever_more(history, hint):
    assert begun().prompts([PROBLEM], [history]) == [[Prompt("8+4-15=?", hint), PLAIN, PLAIN]]
    (group,) = begun(phrase="{question} Hint: {hint}").prompts([PROBLEM], [history])
    assert group == [Prompt(f"8+4-15=? Hint: {hint}"), PLAIN, PLAIN]


def test_hints_that_tell_nothing_new_are_no_levels():
    short = Problem(3, "q", lambda: "12<answer>2</answer>", 2)
    starts = [begun().prompts([short], [[0.0] * n])[0][0].completion_start for n in (1, 2, 3)]
    assert starts == ["1", "12", "12"]


@pytest.mark.parametrize("history", [[], [1 / 3], [1.0]])
def test_a_problem_solved_without_help_is_left_alone(history):
    assert begun().prompts([Problem(3, "8+4-15=?", refuse, 3)], [history]) == [PLAIN]


@pytest.mark.parametrize(("progress", "hints"), [(0.0, False), (0.149, False), (0.15, True), (0.9, True)])
def test_the_beginning_of_training_is_exempt(progress, hints):
    (found,) = begun(progress).prompts([PROBLEM], [[0.0]])
    assert (found != PLAIN) == hints


def test_hints_of_ones_own_are_tried_in_their_order():
    guidance = begun(
        ladder=lambda question, solution: ["add first", f"begin with {solution[:3]}"], phrase="{hint}: {question}"
    )
    assert guidance.prompts([PROBLEM], [[0.0]])[0][0] == Prompt("add first: 8+4-15=?")
    assert guidance.prompts([PROBLEM], [[0.0, 0.0]])[0][0] == Prompt("begin with 8+4: 8+4-15=?")
    assert begun(ladder=lambda question, solution: []).prompts([PROBLEM], [[0.0]]) == [PLAIN]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"exemption": 1.5}, "exemption is a share of training from 0 to 1, got 1.5"),
        ({"shares": (0.0, 1.0)}, "shares are of the worked solution"),
        ({"shares": ()}, "shares are of the worked solution"),
        ({"shares": 0.5}, "shares are of the worked solution"),
        ({"phrase": "{hint}"}, "phrase needs {question} and {hint}"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        ScafGRPO(**settings)


def test_a_group_that_failed_gets_one_hinted_completion_and_with_its_success_an_advantage():
    """Chain sums, of which the base solves a part; what is hinted is learnt from with its hint."""
    settings = {"group_size": 3, "prompts_per_batch": 24, "max_answer_tokens": 64, "temperature": 1.5, "seed": 0}
    agent = make("scaf-grpo", "tiltyard/ChainSum-v0", policy="chain-sum-base", **settings)
    agent.guidance.exemption = 0.0
    context = replace(agent.context(), on_step=ignore)
    agent.guidance.begin(context)
    batch = agent.sampler.rollouts(context, context.problems(list(range(24))), 3)
    begins = batch.mask.long().argmax(1)  # where the policy writes
    asked = torch.tensor([len(agent.policy.tokenizer.encode(prompt)) for prompt in batch.prompts])
    hinted = begins - asked > (begins - asked).min()
    assert 0 < hinted.sum() < 24
    assert not hinted.view(24, 3)[:, 1:].any()  # the first of a group alone
    assert batch.behaviour_logp is None  # drawn and learnt under the same prompt
    won = batch.info["success"].view(24, 3)
    of_hinted = hinted.view(24, 3)[:, 0]
    assert not won[of_hinted, 1:].any()
    assert won[~of_hinted].any(1).all()
    mended = of_hinted & won[:, 0]
    assert mended.any()
    advantage = load("scaf-grpo").advantage(batch)
    rows = advantage.view(24, 3, -1) if advantage.dim() == 2 else advantage.view(24, 3)
    for group in rows[mended]:
        assert group[0].max() > 0 > group[1:].min()
