"""Rewards multiplied by how few tool calls were made: by hand, in games, and in an agent's advantages."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tiltyard.agents import PolicyGradient
from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.otc_po import OTCPO, tool_reward

NONE: Any = None
WRONG, RIGHT = False, True


def episodes(calls: list[int], success: list[bool], seeds: list[int] | None = None, reward: float = 1.0) -> Any:
    """Episodes of so many tool calls, written as a text of one turn; those that fail earn -0.1."""
    solved = torch.tensor(success)
    return SimpleNamespace(
        reward=torch.where(solved, reward, -0.1),
        seed=torch.tensor(seeds or [0] * len(calls)),
        info={"success": solved},
        completions=[["<tool_call>f()</tool_call>" * made + "<answer>1</answer>"] for made in calls],
    )


@pytest.mark.parametrize(
    ("calls", "fewest", "expected"),
    [
        (0, 0, 1.0),
        (1, 0, 0.5),  # cos(pi / 3)
        (2, 0, 0.309017),  # cos(2 pi / 5)
        (1, 1, 1.0),  # sin(pi / 2)
        (2, 1, 0.866025),  # f = 4 / 3, sin(2 pi / 3)
        (3, 1, 0.707107),  # f = 3 / 2, sin(3 pi / 4)
        (1, 2, 0.866025),  # f = 4 / 3, sin(pi / 3): too few calls are no better than too many
        (0, 2, 0.0),
        (4, 2, 0.866025),
    ],
)
def test_the_factor_by_hand(calls: int, fewest: int, expected: float) -> None:
    assert float(tool_reward(torch.tensor(calls), torch.tensor(fewest))) == pytest.approx(expected, abs=1e-6)


def test_a_larger_constant_forgives_the_first_calls() -> None:
    # cos(pi / (2 + c)): 1/2 for c = 1, sqrt(1/2) for c = 2, sqrt(3)/2 for c = 4
    factors = [float(tool_reward(torch.tensor(1), torch.tensor(0), smoothing=c)) for c in (1.0, 2.0, 4.0)]
    assert factors == pytest.approx([0.5, 0.5**0.5, 0.75**0.5])


def test_correct_episodes_are_multiplied_and_incorrect_ones_earn_nothing_for_saving_calls() -> None:
    reward = load({"name": "otc-po", "call": "<tool_call>"})
    paid = reward.shape(episodes([0, 1, 2, 3], [WRONG, RIGHT, RIGHT, WRONG]), NONE)
    assert paid.tolist() == pytest.approx([-0.1, 1.0, 0.866025, -0.1], abs=1e-6)


def test_the_fewest_calls_are_remembered_by_problem_and_only_fall() -> None:
    reward = OTCPO(call="<tool_call>", alpha=2.0)
    reward.shape(episodes([2, 1], [RIGHT, RIGHT], [7, 8]), NONE)
    assert reward.fewest == {7: 2, 8: 1}
    paid = reward.shape(episodes([4, 3, 0], [RIGHT, RIGHT, WRONG], [7, 8, 8]), NONE)
    assert paid.tolist() == pytest.approx([2 * 0.866025, 2 * 0.707107, -0.1], abs=1e-5)
    assert reward.fewest == {7: 2, 8: 1}
    other = OTCPO(call="<tool_call>", alpha=2.0)
    other.load_state_dict(reward.state_dict())
    assert other.fewest == reward.fewest


def test_without_a_group_no_call_is_thought_to_be_needed() -> None:
    reward = load({"name": "otc-po", "variant": "ppo", "call": "<tool_call>"})
    assert reward.shape(episodes([1, 2], [RIGHT, RIGHT]), NONE).tolist() == pytest.approx([0.5, 0.309017], abs=1e-6)
    assert reward.state_dict()["seeds"].size == 0


def test_calls_are_turns_before_the_last_where_no_text_is_named() -> None:
    game = SimpleNamespace(reward=torch.zeros(3), completions=[["is it red", "is it big", "is it a cow"], ["x"], []])
    assert OTCPO().calls(game).tolist() == [2, 0, 0]


def test_only_where_calls_differ_among_the_correct_do_advantages_change() -> None:
    """Groups of GRPO: equal calls leave the reward as it was, and a call too many makes the group teach."""
    reward = OTCPO(call="<tool_call>")
    alike = episodes([1, 1, 1], [RIGHT, RIGHT, WRONG])
    assert torch.equal(reward.shape(alike, NONE), alike.reward)
    solved = episodes([1, 2, 3], [RIGHT] * 3, [1] * 3)
    assert float(solved.reward.std()) == 0.0
    paid = reward.shape(solved, NONE)
    assert paid[0] > paid[1] > paid[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "reinforce"}, "unknown variant 'reinforce'"),
        ({"call": ""}, "call is the text"),
        ({"smoothing": 0.0}, "smoothing must be above 0"),
        ({"alpha": -1.0}, "alpha must be above 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OTCPO(**settings)


def test_an_agent_counts_questions_and_its_memory_is_in_its_checkpoint(tmp_path: Any) -> None:
    agent = PolicyGradient(
        "twenty-questions-base",
        "tiltyard/TwentyQuestions-v0",
        rewards="otc-po",
        group_size=4,
        prompts_per_batch=4,
        max_answer_tokens=24,
        seed=0,
        device="cpu",
    )
    reward = agent.rewards[0]
    assert isinstance(reward, OTCPO)
    reward.fewest = {3: 2}
    agent.learn(16)
    assert reward.fewest[3] == 2
    agent.save(tmp_path / "agent")
    loaded = PolicyGradient.load(tmp_path / "agent", device="cpu")
    assert loaded.rewards[0].fewest == reward.fewest
