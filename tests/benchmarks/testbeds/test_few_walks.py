"""The room and its recorded walks, success in it, and what is told of agents that learn from them."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.agents import make
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.lamo import CLAIM, CLONING, IQL, OURS, PLAIN, RANDOM, SHOWN, TEXTLESS
from tiltyard.benchmarks.testbeds.few_walks import (
    GAP,
    GOAL,
    KINDS,
    NEAR,
    STEPS,
    STRIDE,
    Learner,
    Walked,
    Walks,
    arrived,
    moved,
    reached,
    recorded,
)

BED = CLAIM.testbed.smallest()


class Guide:
    """Walks through the middle of the gap to the goal, or above or beyond it."""

    def __init__(self, above: float = 0.0, beyond: float = 0.0) -> None:
        self.above, self.beyond, self.states = above, beyond, []

    def predict(self, seen: Any, state: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        self.states.append(state)
        x, y, goal = seen.T
        goal = goal + self.above
        aim_x = np.where(x >= 0, GOAL + self.beyond, np.where(np.abs(y) < GAP / 2, STRIDE, x))
        aim_y = np.where(x >= 0, goal, 0.0)
        steps = np.stack([aim_x - x, aim_y - y], axis=1) / STRIDE
        return np.clip(steps, -1, 1), len(self.states)


def test_steps_by_hand() -> None:
    far = STRIDE
    places = [[-0.5, 0.5], [-0.05, 0.5], [-0.05, 0.1], [0.05, -0.5], [-0.05, GAP - 0.01], [0.95, 0.0], [0.0, 0.9]]
    actions = [[1, -3], [1, 1], [1, -1], [-1, 0.5], [1, 1], [1, 0], [0.5, 0]]
    wanted = [
        [-0.5 + far, 0.5 - far],  # actions beyond 1 count as 1
        [-0.05, 0.5 + far],  # the wall: its x stays
        [-0.05 + far, 0.1 - far],  # through the gap
        [0.05, -0.5 + far / 2],  # the wall from the right
        [-0.05, GAP - 0.01 + far],  # beside the gap where it meets the wall
        [1.0, 0.0],
        [far / 2, 0.9],  # who stands at the wall is to the right of it
    ]
    assert moved(places, actions) == pytest.approx(np.array(wanted))
    assert moved(places[0], actions[0]) == pytest.approx(np.array(wanted[0]))


def test_only_the_goal_is_paid_and_ends_an_episode() -> None:
    env = Walks()
    env.reset(seed=0)
    env.place, env.goal = np.array([GOAL - NEAR - 0.05, 0.3]), 0.3
    seen, reward, ended, cut, info = env.step(np.array([0.2, 0], np.float32))
    assert seen == pytest.approx([GOAL - NEAR - 0.02, 0.3, 0.3])
    assert (reward, ended, cut, info) == (0, False, False, {})
    _, reward, ended, cut, info = env.step(np.array([0.2, 0], np.float32))
    assert (reward, ended, cut, info) == (1, True, False, {"is_success": True})
    assert arrived(np.array([[GOAL, 0.3], [GOAL, 0.3]]), [0.3, 0.3 + NEAR + 0.01]).tolist() == [True, False]


def test_it_is_an_environment_of_gymnasium_whose_episodes_are_cut() -> None:
    check_env(Walks(), skip_render_check=True)
    env = gymnasium.wrappers.PassiveEnvChecker(Walks())
    env.reset(seed=1)
    cuts = [env.step(np.zeros(2, np.float32))[3] for _ in range(STEPS)]
    assert cuts == [False] * (STEPS - 1) + [True]


def test_data_are_of_their_seed_and_smaller_ones_begin_them() -> None:
    data, fewer, other = recorded(20, 1), recorded(10, 1), recorded(20, 2)
    assert (data.observations[: len(fewer)] == fewer.observations).all()
    assert (data.actions[: len(fewer)] == fewer.actions).all()
    assert (data.observations[:5] != other.observations[:5]).any()
    assert len(data.episode_returns) == 20


def test_data_have_their_mix_and_are_what_the_room_does() -> None:
    data = recorded(60 * len(KINDS), 0)
    data.check(Walks.observation_space, Walks.action_space)
    rates = dict(zip(range(len(KINDS)), data.episode_returns.reshape(-1, len(KINDS)).mean(axis=0), strict=True))
    assert KINDS == ("aimed", "astray", "aimless", "aimless", "aimless")
    assert rates[0] > 0.95
    assert 0.1 < rates[1] < 0.5
    assert max(rates[2], rates[3], rates[4]) < 0.2
    assert data.next_observations[:, :2] == pytest.approx(moved(data.observations[:, :2], data.actions), abs=1e-6)
    assert (data.observations[:, 2] == data.next_observations[:, 2]).all()
    there = arrived(data.next_observations[:, :2].astype(float), data.next_observations[:, 2])
    assert (data.rewards == there).all()
    assert (data.terminations == data.rewards).all()
    assert (
        data.ends == ((data.rewards > 0) | (np.flatnonzero(data.ends)[data.episodes] == np.arange(len(data))))
    ).all()
    assert (data.lengths[data.episode_returns == 0] == STEPS).all()


def test_success_by_hand() -> None:
    guide = Guide()
    assert reached(guide, 40) == 1
    assert guide.states == [None, *range(1, STEPS)]  # each episode has a memory of its own
    assert reached(Guide(above=2 * NEAR), 40) < 0.2
    assert reached(Guide(beyond=0.2), 40) > 0.5  # who passes the goal has reached it


@pytest.mark.parametrize("name", CLAIM.conditions)
def test_runs_are_of_their_seed_and_tell_of_each_size(name: str) -> None:
    first, again = (BED.run(CLAIM.conditions[name], 1e-2, 0) for _ in range(2))
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(first, again, strict=True))
    assert first.success.shape == (len(BED.sizes), BED.checkpoints)
    assert first.behaviour.tolist() == [recorded(size, 0).episode_returns.mean() for size in BED.sizes]
    assert np.isfinite(first.perplexity).all() == (name in (OURS, TEXTLESS))


def test_rates_fall_to_nothing_and_conditions_differ_in_what_they_are_named_for(monkeypatch: Any) -> None:
    made: dict[str, Any] = {}

    def kept(name: str, env: Any, **settings: Any) -> Any:
        made[current] = make(name, env, **settings)
        return made[current]

    monkeypatch.setattr("tiltyard.benchmarks.testbeds.few_walks.make", kept)
    for current, condition in CLAIM.conditions.items():  # noqa: B007
        BED.run(condition, 1e-2, 0)
    for agent in made.values():
        assert agent.seed == 0
        assert agent.lr_schedule(1.0) == 1e-2
        optimizers = getattr(agent, "_optimizers", lambda policy=agent.policy: policy.optimizers)()
        rates = {group["lr"] for optimizer in optimizers for group in optimizer.param_groups}
        assert max(rates) == pytest.approx(1e-2 / 4)  # that of the last of four updates
    shown = {
        name: (one.settings.language_model, one.settings.lora_rank, one.settings.language_weight)
        for name, one in made.items()
        if name not in (IQL, CLONING)
    }
    assert shown == {
        OURS: ("english", 8, 0.1),
        PLAIN: (None, 0, 0.0),
        TEXTLESS: ("english", 8, 0.0),
        RANDOM: (None, 8, 0.0),
    }
    assert len({(made[name].batch_size, made[name].settings.context_length) for name in shown}) == 1


def test_with_text_the_backbone_stays_a_language_model() -> None:
    bed = replace(BED, sizes=(10,), windows=BED.windows._replace(updates=40), checkpoints=1)
    read, unread = (bed.run(CLAIM.conditions[name], 1e-2, 0).perplexity[0] for name in (OURS, TEXTLESS))
    assert read < unread


def outcomes(values: dict[str, tuple[float, float]]) -> Found:
    """Of success with few and with many walks."""

    def run(few: float, many: float, seed: int) -> Walked:
        success = np.array([[0.0, few + seed / 100], [0.0, many]])
        return Walked(success, np.array([0.3, 0.4]), np.array([4.0, 5.0]))

    found = {
        name: Outcome(CLAIM.conditions[name], 1e-3, [run(*of, seed) for seed in range(4)])
        for name, of in values.items()
    }
    return Found(CLAIM, CLAIM.testbed, found, {}, range(4))


VALUES = {
    OURS: (0.7, 0.95),
    PLAIN: (0.5, 0.9),
    TEXTLESS: (0.65, 0.9),
    RANDOM: (0.6, 0.9),
    IQL: (0.4, 0.8),
    CLONING: (0.2, 0.25),
}


def test_parts_by_hand() -> None:
    parts = CLAIM.parts(outcomes(VALUES))
    assert {name: part.sample.mean for name, part in parts.items()} == pytest.approx(
        {
            f"over {PLAIN}": 0.2,
            f"over {IQL}": 0.3,
            f"over {TEXTLESS}": 0.05,
            f"over {RANDOM}": 0.1,
            f"lead over {PLAIN} with few less that with many": 0.15,
        }
    )
    assert [name for name, part in parts.items() if not part.decides] == [f"over {TEXTLESS}"]
    assert {part.margin for part in parts.values()} == {0.05}
    assert list(parts.values())[-1].highest == pytest.approx(1 - 0.515 + 0.9)


@pytest.mark.parametrize(
    ("shown", "holds"),
    [
        ((0.9, 0.5, 0.1, 0.3), True),
        ((0.45, 0.3, 0.3, 0.1), False),  # no better than cloning
        ((0.45, 0.3, 0.1, 0.3), False),  # no better than the data
        ((0.9, 0.85, 0.1, 0.3), False),  # no room
    ],
)
def test_the_premise_needs_a_transformer_that_learns_from_many_walks_and_not_as_well_from_few(
    shown: tuple[float, ...], holds: bool
) -> None:
    assert (not CLAIM.premise.missing({SHOWN: shown})) == holds


def test_details_tell_the_premise_and_perplexities() -> None:
    details = CLAIM.details(outcomes(VALUES))
    assert details[SHOWN] == pytest.approx([0.9, 0.515, 0.25, 0.4])
    perplexities = details["perplexity of held-out text, a character"]
    assert perplexities[OURS] == perplexities[TEXTLESS] == {"20": 4.0, "200": 5.0}
    assert 3 < perplexities["before"] < 5
    assert CLAIM.tuning.score(outcomes(VALUES)[OURS].runs[2]) == pytest.approx(0.72)


def test_a_learner_is_a_row_with_settings() -> None:
    assert {(one.agent, one.kind) for one in CLAIM.conditions.values()} == {
        ("lamo", "windows"),
        ("decision-transformer", "windows"),
        ("iql", "steps"),
        ("bc", "steps"),
    }
    assert Learner("bc").settings == {}
