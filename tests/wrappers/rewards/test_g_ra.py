"""Rewards of steps behind gates: at, over and under the threshold, by levels, and in an agent."""

from types import MethodType, SimpleNamespace
from typing import Any

import pytest
import torch

from tiltyard.agents import PolicyGradient
from tiltyard.agents.language.context import Context
from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.wrappers.components import Reward
from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.g_ra import GRA

NONE: Any = None


class Given(Reward):
    """A reward that adds these numbers, one an episode, or ``[B, T]`` on tokens."""

    def __init__(self, numbers: Any) -> None:
        self.numbers, self.fitted = torch.as_tensor(numbers), 0

    def shape(self, episodes: Any, context: Any) -> torch.Tensor:
        base = episodes.reward if self.numbers.dim() == 1 else episodes.token_reward
        return torch.as_tensor(base + self.numbers)

    def fit(self, episodes: Any, context: Any) -> dict[str, float]:
        self.fitted += 1
        return {"loss": 1.0}

    def state_dict(self) -> dict[str, Any]:
        return {"fitted": self.fitted}

    def load_state_dict(self, state: Any) -> None:
        self.fitted = state["fitted"]


class Replaces(Given):
    """The same numbers, in place of what was there."""

    def shape(self, episodes: Any, context: Any) -> torch.Tensor:
        return self.numbers


def games(success: list[bool], steps: list[list[float]]) -> Any:
    """Episodes of one token a turn that an environment paid by turns: ``steps``, and 1 for success at the end."""
    mask = torch.ones(len(steps), len(steps[0]), dtype=torch.bool)
    paid = torch.tensor(steps)
    solved = torch.tensor(success)
    paid[:, -1] += solved.float()
    episodes = SimpleNamespace(mask=mask, reward=paid.sum(1), token_reward=paid, info={"success": solved})
    episodes.last_token = MethodType(Rollouts.last_token, episodes)
    return episodes


def test_what_the_environment_paid_beside_success_counts_only_with_it() -> None:
    rows = games([True, False], [[0.2, 0.3, -0.1], [0.9, 0.9, 0.9]])
    paid = load("g-ra").shape(rows, NONE)
    assert paid[0].tolist() == pytest.approx([0.2, 0.3, 0.9])  # as it was: 1.4 in all
    assert paid[1].tolist() == [0, 0, 0]  # 2.7 for steps that led nowhere


def test_direct_accumulation_leaves_rewards_as_they_were() -> None:
    rows = games([True, False], [[0.2, 0.3, -0.1], [0.9, 0.9, 0.9]])
    assert torch.allclose(GRA(mode="direct").shape(rows, NONE), rows.token_reward)


@pytest.mark.parametrize(("outcome", "total"), [(0.49, 0.49), (0.5, 0.5 + 0.7), (0.51, 0.51 + 0.7)])
def test_a_reward_that_meets_the_threshold_opens(outcome: float, total: float) -> None:
    rows = games([False], [[0.0, 0.0]])
    reward = GRA(long_term=Replaces([outcome]), immediate=Given([[0.3, 0.4]]), thresholds=0.5)
    assert float(reward.shape(rows, NONE).sum()) == pytest.approx(total)


def test_levels_open_one_another_by_hand() -> None:
    # The second level opens the third at 0.5. Columns: all open; the second is too low; success is, so that both are.
    rows = games([True, True, False], [[0.0]] * 3)
    levels = [Given([0.5, 0.4, 0.9]), Given([0.25, 0.25, 0.25])]
    gated = GRA(immediate=levels, thresholds=(1.0, 0.5)).shape(rows, NONE)
    assert gated.sum(1).tolist() == pytest.approx([1.75, 1.4, 0.0])
    together = GRA(immediate=levels).shape(rows, NONE)  # one threshold for both
    assert together.sum(1).tolist() == pytest.approx([1.75, 1.65, 0.0])
    direct = GRA(immediate=levels, mode="direct").shape(rows, NONE)
    assert direct.sum(1).tolist() == pytest.approx([1.75, 1.65, 1.15])


def test_farming_is_worth_more_than_finishing_only_where_rewards_add_up() -> None:
    """Two attempts at one problem: one repeats a step that pays, one finishes; whose advantage is positive?"""
    rows = games([False, True], [[0.8, 0.8, 0.8], [0.0, 0.0, 0.0]])
    for mode, better in (("direct", 0), ("gated", 1)):
        paid = GRA(mode=mode).shape(rows, NONE).sum(1)
        assert int(paid.argmax()) == better


def test_levels_are_trained_and_remembered() -> None:
    reward = GRA(immediate=[Given([0.0]), Given([0.0])])
    assert reward.fit(games([True], [[0.0]]), NONE) == {"level1_loss": 1.0, "level2_loss": 1.0}
    other = GRA(immediate=[Given([0.0]), Given([0.0])])
    other.load_state_dict(reward.state_dict())
    assert [level.fitted for level in other.levels] == [1, 1]  # type: ignore[attr-defined]


def test_what_levels_need_is_needed() -> None:
    assert GRA(immediate="implicitprm").needs == load("implicitprm").needs


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"mode": "soft"}, ValueError, "unknown mode 'soft'"),
        ({"thresholds": "high"}, TypeError, "thresholds are numbers"),
        ({"thresholds": (1.0, float("nan"))}, TypeError, "thresholds are numbers"),
        ({"thresholds": (1.0, 0.5)}, ValueError, "1 levels of immediate rewards take as many thresholds"),
        ({"immediate": ["laser", "turn-cost"], "thresholds": (1.0,)}, ValueError, "2 levels"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        GRA(**settings)


def test_an_agent_is_not_paid_for_form_alone() -> None:
    agent = PolicyGradient(
        "transformer-100k",
        "tiltyard/TwentyQuestions-v0",
        rewards="g-ra",
        group_size=2,
        prompts_per_batch=2,
        max_answer_tokens=8,
        seed=0,
        device="cpu",
    )
    context = Context(agent.policy, agent.env, agent.rng)
    played = context.play([1, 2], group_size=2)
    assert not played.info["success"].any()
    assert (played.reward < 0).any()  # an untrained policy is unreadable, which costs
    paid = agent.rewards[0].shape(played, context)
    assert float(paid.abs().sum()) == 0.0
    agent.learn(4)
