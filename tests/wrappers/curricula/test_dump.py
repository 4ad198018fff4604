"""Distributions as arms of a bandit: by hand, how they are drawn, and in an agent."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tiltyard.agents import PolicyGradient
from tiltyard.wrappers.components import Problem
from tiltyard.wrappers.curricula.catalogue import load
from tiltyard.wrappers.curricula.dump import DUMP, advantages, scores


def divided(size: int = 8, **settings: Any) -> DUMP:
    """A pool in two distributions, its first and its second half."""
    dump = DUMP(size=size, arms=2, **settings)
    dump.divide([Problem(int(seed), "q", lambda i=i: "x" * (i + 1)) for i, seed in enumerate(dump.pool.seeds)])
    return dump


def answered(seeds: list[int], reward: list[float], group: list[int]) -> Any:
    return SimpleNamespace(seed=torch.tensor(seeds), reward=torch.tensor(reward), group=torch.tensor(group))


def test_scores_by_hand() -> None:
    # N = 3 + 1: sqrt(2 ln 5 / 4) and sqrt(2 ln 5 / 2)
    found = scores(np.array([0.5, 0.0]), np.array([3.0, 1.0]))
    assert found.tolist() == pytest.approx([0.5 + 0.897060, 1.268636], abs=1e-5)


def test_advantages_by_hand() -> None:
    # one correct of four: mean 1/4, deviation 1/2, so 3/2 and three of -1/2; equal rewards 0; alone the reward
    reward, group = np.array([1.0, 0, 0, 0, 1, 1, 0.3]), np.array([0, 0, 0, 0, 1, 1, 2])
    assert advantages(reward, group).tolist() == pytest.approx([1.5, -0.5, -0.5, -0.5, 0, 0, 0.3], abs=1e-5)


def test_values_and_counts_by_hand() -> None:
    dump = divided(window=4)
    assert dump.probabilities().tolist() == [0.5, 0.5]
    one, other = int(dump.pool.seeds[0]), int(dump.pool.seeds[-1])
    dump.update(answered([one] * 4 + [other] * 2, [1.0, 0, 0, 0, 1, 1], [0] * 4 + [1] * 2))
    assert dump.value().tolist() == pytest.approx([0.75, 0.0], abs=1e-5)
    assert dump.drawn == [4, 2]
    # N = 6: bonuses sqrt(2 ln 7 / 5) = 0.88225 and sqrt(2 ln 7 / 3) = 1.13898; a logit of 4.9327 between them
    assert dump.probabilities()[0] == pytest.approx(1 / (1 + np.exp(-4.9327)), abs=1e-4)
    dump.update(answered([one] * 4, [1.0] * 4, [0] * 4))  # the window holds these alone
    assert dump.value().tolist() == [0.0, 0.0]
    assert dump.drawn == [8, 2]


def test_a_distribution_that_teaches_is_drawn_more_and_none_is_given_up() -> None:
    """Problems of one half are always solved, of the other half the time: which half is drawn?"""
    dump, rng, drawn = divided(size=200), np.random.default_rng(0), np.zeros(2)
    for batch in range(150):
        seeds = np.repeat(dump.sample(8, rng), 8)
        arm = dump.arm[dump.pool.places(seeds.tolist())]  # type: ignore[index]
        drawn += np.bincount(arm, minlength=2) * (batch >= 50)
        reward = np.where(arm == 0, 1.0, rng.integers(0, 2, len(seeds))).astype(float)
        dump.update(answered(seeds.tolist(), reward.tolist(), np.repeat(np.arange(8), 8).tolist()))
    assert drawn[1] > 0.9 * drawn.sum()
    assert dump.drawn[0] > 8  # its bonus grows while it waits


def test_where_nothing_teaches_all_are_drawn_alike() -> None:
    dump, rng = divided(size=200), np.random.default_rng(1)
    for _ in range(100):
        seeds = np.repeat(dump.sample(8, rng), 4)
        dump.update(answered(seeds.tolist(), [0.0] * 32, np.repeat(np.arange(8), 4).tolist()))
    assert dump.drawn[0] / sum(dump.drawn) == pytest.approx(0.5, abs=0.05)


def test_distributions_are_parts_by_length_or_what_a_function_says() -> None:
    assert divided().arm.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]  # type: ignore[union-attr]
    dump = DUMP(size=3, arms=2, by=lambda question: question[0])
    dump.divide([Problem(0, "b1", str), Problem(0, "a2", str), Problem(0, "b3", str)])
    assert dump.arm.tolist() == [0, 1, 0]  # type: ignore[union-attr]
    assert dump.probabilities().tolist() == [0.5, 0.5]


def test_a_small_distribution_gives_its_problems_twice() -> None:
    dump = divided(size=2)
    seeds = dump.sample(9, np.random.default_rng(0))
    assert len(seeds) == 9
    assert set(seeds) <= set(dump.pool.seeds.tolist())


def test_the_memory_can_be_stored() -> None:
    dump, other = divided(), divided()
    seed = int(dump.pool.seeds[0])
    dump.update(answered([seed] * 2, [1.0, 0.0], [0, 0]))
    other.load_state_dict(dump.state_dict())
    assert other.probabilities().tolist() == dump.probabilities().tolist()
    dump.update(answered([seed] * 2, [1.0, 1.0], [0, 0]))
    assert other.drawn != dump.drawn  # a copy


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"by": "colour"}, "unknown by 'colour'"),
        ({"arms": 1}, "arms are parts of the pool"),
        ({"size": 3, "arms": 4}, "arms are parts of the pool, 2 to 3"),
        ({"window": 0}, "a window of 1 or more"),
        ({"temperature": 0.0}, "a temperature above 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DUMP(**settings)


def test_problems_are_read_before_they_are_drawn() -> None:
    with pytest.raises(ValueError, match="does not know its problems yet"):
        DUMP(size=4).sample(2, np.random.default_rng(0))


def test_an_agent_divides_its_pool_and_goes_on_from_its_checkpoint(tmp_path: Any) -> None:
    agent = PolicyGradient(
        "transformer-100k",
        "tiltyard/Maze-v0",
        curriculum={"name": "dump", "size": 12, "arms": 3},
        group_size=2,
        prompts_per_batch=4,
        max_answer_tokens=8,
        seed=0,
        device="cpu",
    )
    assert isinstance(agent.curriculum, type(load("dump")))
    agent.learn(16)
    dump: Any = agent.curriculum
    assert sum(dump.drawn) == 16
    assert np.bincount(dump.arm).tolist() == [4, 4, 4]
    problems = agent.context().problems(dump.pool.seeds.tolist())
    longest = [max(len(p.solve()) for p, arm in zip(problems, dump.arm, strict=True) if arm == j) for j in range(3)]
    assert longest == sorted(longest)
    agent.save(tmp_path / "agent")
    loaded: Any = PolicyGradient.load(tmp_path / "agent", env="tiltyard/Maze-v0", device="cpu")
    assert loaded.curriculum.drawn == dump.drawn
    loaded.learn(8, reset_num_timesteps=False)
    assert sum(loaded.curriculum.drawn) == 24
