"""Gradients of methods on the same completions: what is the same by arithmetic is found, and sets are made by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.benchmarks.studies.gradient_gate import (
    cosines,
    equal,
    hard,
    is_uniform,
    main,
    measure,
    measure_suite,
    of_suite,
    own_entry,
    repaid,
    shared_states,
)
from tiltyard.benchmarks.suites import Suite, find


def test_cosines_by_hand() -> None:
    rows = [torch.tensor(row, dtype=torch.float64) for row in ([1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 0.0])]
    assert cosines(rows).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_sets_hold_only_pairs_above_the_limit() -> None:
    # a-b 0.99, b-c 0.96, a-c 0.90: a and b are one set, which c may not join, though b would have it.
    table = np.array([[1, 0.99, 0.90, 0], [0.99, 1, 0.96, 0], [0.90, 0.96, 1, 0], [0, 0, 0, 1]])
    assert equal(table, "abcd") == [["a", "b"]]
    assert equal(table, "abcd", at=0.8) == [["a", "b", "c"]]
    assert equal(np.eye(3), "abc") == []


def batch(rewards: list[list[float]]) -> Rollouts:
    groups = torch.arange(len(rewards)).repeat_interleave(len(rewards[0]))
    n = len(groups)
    mask = torch.ones(n, 2, dtype=torch.bool)
    zeros = torch.zeros(n, 2)
    return Rollouts(
        tokens=torch.zeros(n, 2, dtype=torch.long),
        mask=mask,
        logp_old=zeros,
        logp_ref=None,
        reward=torch.tensor(rewards).flatten(),
        group=groups,
        seed=groups,
        turn=torch.zeros(n, 2, dtype=torch.long),
        length=torch.full((n,), 2),
        entropy=zeros,
    )


def test_hard_batches_have_at_least_70_percent_uniform_groups() -> None:
    rewards = [[0.0, 0.0]] * 5 + [[1.0, 1.0]] * 2 + [[0.0, 1.0]] * 9
    whole = batch(rewards)
    assert is_uniform(whole).double().mean() == pytest.approx(7 / 16)
    (kept,) = hard([whole])
    assert len(kept.group.unique()) == 7 + 3
    assert is_uniform(kept).double().mean() == pytest.approx(0.7)
    assert is_uniform(replace(whole, reward=torch.zeros(32))).all()


@pytest.mark.slow
def test_what_is_one_gradient_by_arithmetic_is_equal_and_clips_act_only_on_old_completions() -> None:
    methods = ("grpo", "rloo", "dr-grpo", "filtered-bc")
    fresh = measure("ChainSum", "on-policy", methods, 1)
    assert fresh["equal"][0] == ["rloo", "dr-grpo"] or {"rloo", "dr-grpo"} <= set(fresh["equal"][0])
    assert "filtered-bc" not in fresh["equal"][0]
    stale = measure("ChainSum", "stale", methods, 1)
    assert np.array(stale["cosines"])[0, 1] < np.array(fresh["cosines"])[0, 1]


def changed(name: str, **params: Any) -> Suite:
    """A suite of text-v2 with other settings of all conditions."""
    suite = find(name)
    (task,) = suite.tasks
    entries = tuple(replace(one, params={**one.params, **params}) for one in task.entries)
    return replace(suite, tasks=(replace(task, entries=entries),))


@pytest.mark.slow
def test_a_suite_is_a_regime_with_its_own_rewards_and_old_completions() -> None:
    found = measure_suite(find("text-v2-noisy"), ("grpo", "rloo"), 1, before=1)
    assert found["methods"] == ["grpo", "rloo"]
    assert found["equal"] == [["grpo", "rloo"]]
    assert 0.1 < found["mechanism"]["rewards against the success"] < 0.3
    two_steps = changed("text-v2-stale", prompts_per_batch=48, learning_rate=2e-3)
    stale = measure_suite(two_steps, ("grpo",), 1, before=1)["mechanism"]
    assert stale["rewards against the success"] == stale["problems met before"] == 0
    assert stale["ratios beyond the clip"] > 0


def test_a_condition_of_its_own_is_paid_by_its_own_rewards_on_the_same_completions() -> None:
    suite = find("text-v2-length")
    assert own_entry(suite, "grpo") is None  # a method, which gets the reference's settings
    own = own_entry(suite, "dapo-overlong")
    assert own is not None
    assert own.agent == "dapo"
    agent = of_suite(suite, "dapo-overlong", 0)
    whole = replace(batch([[1.0, 1.0, 1.0, 0.0]]), length=torch.tensor([40, 72, 96, 96]))
    rows = replace(whole, info={"success": torch.tensor([True, True, True, False])}, reward=torch.full((4,), 9.0))
    assert repaid(agent, rows).reward.tolist() == [1.0, 0.5, 0.0, -1.0]  # 24 of the last 48 tokens, then all
    assert repaid(of_suite(suite, "canon-short", 0), rows).reward.tolist() == [1, 1, 1, 0]
    agent.rewards = agent.rewards[1:]
    with pytest.raises(ValueError, match="begin with 'outcome'"):
        repaid(agent, rows)


def test_states_are_shared_within_a_group_and_first_turns_are_left_out() -> None:
    games = replace(
        batch([[0.0, 0.0], [0.0, 0.0]]),
        mask=torch.ones(4, 3, dtype=torch.bool),
        turn=torch.tensor([[0, 1, 2]] * 4),
        state=torch.tensor([[1, 2, 3], [1, 2, 4], [1, 2, 3], [1, 5, 3]]),
    )
    assert shared_states(games) == pytest.approx(4 / 8)  # 2 twice in the first group, 3 twice in the second


def test_the_page_is_made_of_what_is_stored(tmp_path: Path) -> None:
    stored = Path(__file__).parents[3] / "docs" / "results" / "gradient-gate"
    for path in stored.glob("text-v2-*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    main(["--page", "--out", str(tmp_path)])
    text = (tmp_path / "README.md").read_text()
    assert text.count("What the regime is about:") == len(list(tmp_path.glob("*.json"))) > 0
    assert "Cosine with reinforce, least of the batches" in text
    assert "## ChainSum-v0, text-v2-noisy" in text
