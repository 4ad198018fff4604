"""No trajectory of the data takes the short way, both halves meet on it, and scores are what they say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.mbrcsl import CLAIM, CQL, IQL, OURS, PREMISE, RCSL, details, parts
from tiltyard.benchmarks.testbeds.maze_stitching import A, B, G, Learner, M, MazeStitching, S, Scored, went_short

BED = MazeStitching(episodes=40, problems=10)
STEPS = BED.steps


def near(places: Any, cell: tuple[float, float], metres: float = 0.5) -> Any:
    return np.linalg.norm(places - np.array(cell), axis=-1) <= metres


@pytest.fixture(scope="module")
def places() -> Any:
    """Of the data's episodes, ``[40, 100, 2]``, and the goals ``[40, 2]``."""
    seen = BED.dataset(3).observations.reshape(40, STEPS, 6)
    return seen[..., :2], seen[:, 0, 4:]


def test_the_first_half_goes_to_m_and_stays(places: Any) -> None:
    walked = places[0][:20]
    assert near(walked[:, 0], S, 0.36).all()
    assert near(walked[:, 40:], M, 0.75).all()
    assert not near(walked, G, 1.0).any()


def test_the_second_half_goes_round_to_the_goal_by_way_of_m(places: Any) -> None:
    walked, goals = places[0][20:], places[1][20:]
    first = [near(walked, cell, 0.75).argmax(axis=1) for cell in (A, B)]
    through = (np.abs(walked[..., 0] - M[0]) < 0.25).argmax(axis=1), near(walked, G, 0.9).argmax(axis=1)
    assert (first[0] > 0).all()
    assert (first[0] < first[1]).all()
    arrived = near(walked, G, 0.9).any(axis=1)
    assert arrived.mean() > 0.9
    assert (first[1] < through[1])[arrived].all()
    still = np.linalg.norm(walked[::2, -1] - goals[::2], axis=1)
    assert np.median(still) < 0.5  # those that stop


def test_every_second_way_round_ends_with_random_pushes() -> None:
    actions = BED.dataset(3).actions.reshape(40, STEPS, 2)[20:, -10:]
    assert np.abs(actions[1::2]).mean() == pytest.approx(0.5, abs=0.05)  # uniform
    assert (np.abs(actions[1::2]) == 1).mean() < 0.2


def test_no_trajectory_takes_the_short_way_and_the_scripted_walker_always_does() -> None:
    data = BED.dataset(3)
    assert not went_short(data.observations.reshape(40, STEPS, 6)).any()
    seen, _, rewards = BED.play(10, 5, lambda env, _: env.batched.expert_actions())
    assert went_short(seen).all()
    still, walked = BED.references(3)
    assert data.episode_returns.max() < still + 0.5 * (walked - still)
    assert rewards.sum(axis=1).mean() == pytest.approx(walked, rel=0.05)


def test_rewards_are_of_the_straight_distance() -> None:
    data = BED.dataset(3)
    away = np.linalg.norm(data.next_observations[:, :2] - data.next_observations[:, 4:], axis=1)
    np.testing.assert_allclose(data.rewards, np.exp(-away), rtol=1e-5)
    np.testing.assert_allclose(data.episode_returns, data.rewards.reshape(40, STEPS).sum(axis=1), rtol=1e-5)
    inside = ~data.ends
    np.testing.assert_array_equal(data.next_observations[inside], data.observations[np.flatnonzero(inside) + 1])
    assert data.terminations.sum() == 0
    np.testing.assert_array_equal(data.lengths, np.full(40, STEPS))


def test_short_by_hand() -> None:
    def at(*xs: float) -> list[list[float]]:
        return [[x, -0.5, 0, 0, 1.5, -0.5] for x in xs]

    seen = np.array([at(-0.5, 0.0, 1.2), at(-1.2, 0.0, 1.2), at(-0.5, 0.0, 1.0), at(-0.5, 1.2, -1.2)])
    assert went_short(seen).tolist() == [True, False, False, True]


def test_scores_by_hand() -> None:
    still, walked = BED.references(3)
    assert BED.normalised(still, 3) == 0
    assert BED.normalised((still + walked) / 2, 3) == pytest.approx(0.5)

    class Walks:
        def predict(self, seen: Any, state: Any = None, deterministic: bool = False) -> Any:
            assert deterministic
            assert state is None or state == (len(seen),)
            return np.zeros((len(seen), 2), np.float32), (len(seen),)

    score, short = BED.scored(Walks(), 3)
    assert (score, short) == (pytest.approx(0), 0)


def test_an_agent_is_asked_with_its_own_state() -> None:
    asked: list[Any] = []

    class Counts:
        def predict(self, seen: Any, state: Any = None, deterministic: bool = False) -> Any:
            asked.append(state)
            return np.zeros((len(seen), 2), np.float32), len(asked)

    replace(BED, problems=2).scored(Counts(), 0)
    assert asked == [None, *range(1, STEPS)]


def test_runs_are_of_their_seed_and_say_what_was_kept() -> None:
    bed = BED.smallest()
    found = {name: bed.run(one, 1e-3, 3) for name, one in CLAIM.conditions.items()}
    assert len({run.score for run in found.values()}) == 4
    assert {name for name, run in found.items() if np.isnan(run.kept)} == {RCSL, IQL, CQL}
    assert len({run.best for run in found.values()}) == 1
    assert bed.run(CLAIM.conditions[RCSL], 1e-3, 3)[:3] == found[RCSL][:3]
    assert bed.run(CLAIM.conditions[RCSL], 1e-3, 4).score != found[RCSL].score


def test_data_are_the_same_for_all_conditions_and_others_with_another_seed() -> None:
    assert BED.dataset(3) is BED.dataset(3)
    assert not np.array_equal(BED.dataset(3).actions, BED.dataset(4).actions)


def outcomes() -> Any:
    scores = {OURS: 0.6, RCSL: 0.3, IQL: 0.5, CQL: 0.7}

    def run(name: str, seed: int) -> Scored:
        return Scored(scores[name] + 0.01 * seed, 0.5, 0.4, 0.02 if name == OURS else np.nan)

    return {name: Outcome(Learner("rcsl"), 0.0, [run(name, seed) for seed in range(3)]) for name in scores}


def test_effects_by_hand() -> None:
    found = parts(Found(CLAIM, CLAIM.testbed, outcomes(), {}))
    assert [one.sample.mean for one in found.values()] == pytest.approx([0.3, 0.1, -0.1, 0.21])
    assert [one.decides for one in found.values()] == [True, True, True, False]


def test_the_premise_is_that_the_data_hold_no_short_way_and_rollouts_are_better() -> None:
    good = {"best of the data": 0.4, "short ways in the data": 0.0, "rollouts kept": 0.01}
    assert not CLAIM.premise.missing({PREMISE: good})
    for name, value in {"best of the data": 0.51, "short ways in the data": 0.01, "rollouts kept": 0.0}.items():
        assert CLAIM.premise.missing({PREMISE: {**good, name: value}})


def test_details_tell_of_the_data() -> None:
    told = details(Found(CLAIM, BED, outcomes(), {}, range(3)))
    assert told[PREMISE]["short ways in the data"] == 0
    assert told[PREMISE]["rollouts kept"] == pytest.approx(0.02)
