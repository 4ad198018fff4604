"""Correctness, length and format under a token budget that falls: by hand, at its steps, and in an agent."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tiltyard.agents import PolicyGradient
from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.curriculumgrpo_budget import BudgetCurriculum, budget, length_reward, well_formed

ANSWER = "<answer>7</answer>"


def episodes(length: list[int], success: list[bool], said: str = ANSWER) -> Any:
    return SimpleNamespace(
        reward=torch.full((len(length),), 5.0),  # which is not read
        length=torch.tensor(length),
        info={"success": torch.tensor(success)},
        completions=[[said]] * len(length),
    )


def at(progress: float, **policy: Any) -> Any:
    return SimpleNamespace(progress=progress, policy=SimpleNamespace(**policy))


def test_the_papers_schedule_by_hand() -> None:
    # gamma = (87 / 256)^(1/3) = 0.698 every quarter of 600 updates: 256, 179, 125, 87
    updates = (0, 149, 150, 299, 300, 449, 450, 599, 600)
    tokens = [round(budget(t / 600, start=256, end=87)) for t in updates]
    assert tokens == [256, 256, 179, 179, 125, 125, 87, 87, 87]


def test_a_linear_schedule_falls_by_equal_steps_and_no_budget_is_below_one_token() -> None:
    tokens = [budget(t, start=16, end=4, decays=3, schedule="linear") for t in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert tokens == [16, 12, 8, 4, 4]
    assert budget(1.0, start=2, end=0.5) == 1.0


def test_the_length_reward_by_hand() -> None:
    length = torch.tensor([0, 5, 10, 15, 20, 30])
    assert length_reward(length, 10.0).tolist() == [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    assert length_reward(length, 10.0, shape="band").tolist() == [1.0, 1.0, 1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("said", "well"),
    [
        (ANSWER, True),
        ("it is <answer>\n7</answer>.", True),
        ("7", False),
        ("<answer>7", False),
        ("</answer>7<answer>", False),
        (ANSWER + ANSWER, False),
    ],
)
def test_spans_are_well_formed_once(said: str, well: bool) -> None:
    assert well_formed(said, "answer") == well


def test_the_sum_by_hand_and_at_two_budgets() -> None:
    reward = BudgetCurriculum(start=20, end=10, decays=1, tags=("think", "answer"))
    rows = episodes([10, 20, 10], [True, True, False])
    # format is half: 0.05. At 20 tokens lengths earn 1/2, 1 and 1/2 of 0.3; at 10 they earn 1, 0 and 1.
    assert reward.shape(rows, at(0.0)).tolist() == pytest.approx([0.6 + 0.15 + 0.05, 0.6 + 0.3 + 0.05, 0.15 + 0.05])
    assert reward.shape(rows, at(0.5)).tolist() == pytest.approx([0.6 + 0.3 + 0.05, 0.6 + 0.05, 0.3 + 0.05])


def test_long_ways_pay_more_than_short_ones_at_first_and_less_at_last() -> None:
    reward = BudgetCurriculum(start=20, end=10, tags=())
    short, long = reward.shape(episodes([10, 20], [True, True]), at(0.0)).tolist()
    assert long > short
    short, long = reward.shape(episodes([10, 20], [True, True]), at(1.0)).tolist()
    assert short > long


def test_a_fixed_budget_is_the_same_throughout() -> None:
    reward = BudgetCurriculum(start=10, end=10)
    rows = episodes([4, 12], [True, False])
    assert torch.equal(reward.shape(rows, at(0.0)), reward.shape(rows, at(1.0)))


def test_the_budget_begins_with_the_agents_longest_completion() -> None:
    reward = load("curriculumgrpo-budget")
    assert reward.budget(at(0.0, max_answer_tokens=256)) == 256
    assert reward.budget(at(1.0, max_answer_tokens=256)) == pytest.approx(87)
    with pytest.raises(ValueError, match="give the reward its start="):
        reward.start(at(0.0))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"start": 10, "end": 20}, ValueError, "falls from start to end"),
        ({"start": 0}, ValueError, "at least 1 token"),
        ({"decays": 0}, ValueError, "how often the budget falls"),
        ({"start": 2.5}, TypeError, "start must be a whole number"),
        ({"length_weight": -0.1}, ValueError, "weights are 0 or more"),
        ({"schedule": "cosine"}, ValueError, "unknown schedule"),
        ({"peak": "step"}, ValueError, "unknown peak"),
        ({"tags": "answer"}, TypeError, "tags are names of spans"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        BudgetCurriculum(**settings)


def test_an_agent_trains_under_a_budget_that_falls() -> None:
    agent = PolicyGradient(
        "transformer-100k",
        "tiltyard/ChainSum-v0",
        rewards="curriculumgrpo-budget",
        group_size=2,
        prompts_per_batch=2,
        max_answer_tokens=16,
        seed=0,
        device="cpu",
    )
    reward: Any = agent.rewards[0]
    seen: list[float] = []
    shape = reward.shape
    reward.shape = lambda episodes, context: (seen.append(reward.budget(context)), shape(episodes, context))[1]
    agent.learn(16)
    assert seen == sorted(seen, reverse=True)
    assert seen[0] == 16
    assert seen[-1] == pytest.approx(16 * 87 / 256)
