"""Users respond as the formulas say and leave when not satisfied; logged sessions are those that took place."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tiltyard.benchmarks.testbeds.short_videos import BAIT, GEM, LONGEST, SIGNALS, ShortVideos, logged, values
from tiltyard.wrappers.spaces import to_sb3


class Always:
    def __init__(self, kind: int) -> None:
        self.kind = kind

    def predict(self, observations: Any, deterministic: bool = True) -> tuple[Any, None]:
        return 3 * np.asarray(observations)[:, :4].argmax(axis=1) + self.kind, None


def test_responses_by_hand() -> None:
    env = ShortVideos(40_000)
    env.reset(seed=0)
    env.interests[:], env.seen[:], env.satisfaction[:] = 0.5, 0.0, 0.8
    env.seen[:, 1] = 0.5
    rewards = env.respond(np.full(40_000, 3 * 1 + GEM))
    # watch 0.35 * 0.5 * (1 - 0.6 * 0.5) * E e^(0.3 z) = 0.1225 * 1.046; like 0.25 * 0.5 * 0.8; follow 0.2 * 0.5 * 0.5
    np.testing.assert_allclose(rewards.mean(axis=0), [0.12814, 0.1, 0.05], atol=0.005)
    np.testing.assert_allclose(env.seen[0], [0, 0.65, 0, 0])
    np.testing.assert_allclose(env.satisfaction, 0.8 + 0.25 * (0.9 * 0.5 - 0.8))


def test_the_unsatisfied_leave() -> None:
    env = ShortVideos(20_000)
    env.reset(seed=0)
    env.interests[:], env.satisfaction[:] = 1.0, 0.1
    *_, left, cut, _ = env.step(np.full(20_000, BAIT))  # satisfaction stays at 0.1: 0.02 + 0.2 * 0.81
    assert left.mean() == pytest.approx(0.182, abs=0.01)
    assert not cut.any()


def test_what_is_watched_is_not_what_is_liked() -> None:
    bait, gem = values(Always(BAIT), 2000), values(Always(GEM), 2000)
    assert bait[0] > gem[0]
    assert (gem[1:] > 10 * bait[1:]).all()


def test_it_steps_as_a_vector_environment_and_its_seed_decides_everything() -> None:
    assert ShortVideos.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    rng, ended = np.random.default_rng(0), 0
    one, same = to_sb3(ShortVideos(8)), to_sb3(ShortVideos(8))
    for env in (one, same):
        env.seed(3)
    np.testing.assert_array_equal(one.reset(), same.reset())
    for _ in range(2 * LONGEST):
        actions = rng.integers(12, size=8)
        for first, second in zip(one.step(actions)[:3], same.step(actions)[:3], strict=True):
            np.testing.assert_array_equal(first, second)
        seen, rewards, dones, infos = one.step(actions)
        same.step(actions)
        assert one.observation_space.contains(seen[0])
        for i, info in enumerate(infos):
            assert set(info["reward_terms"]) == set(SIGNALS)
            assert info["reward_terms"]["watch"] == rewards[i]
            assert ("terminal_observation" in info) == bool(dones[i])
        ended += int(dones.sum())
        assert (seen[dones, -1] == 0).all()  # of a new session, of which nothing was shown
    assert ended > 20


def test_logged_sessions_are_whole_and_in_order() -> None:
    data = logged(50, seed=1)
    data.check(ShortVideos(1).single_observation_space, ShortVideos(1).single_action_space)
    assert data.names == SIGNALS
    assert len(data.episode_returns) == 50
    shown = np.rint(LONGEST * data.observations[:, -1]).astype(int)
    starts = np.roll(data.ends, 1)
    assert (shown[starts] == 0).all()
    assert (np.diff(shown)[~data.ends[:-1]] == 1).all()
    inside = ~data.ends[:-1]
    np.testing.assert_array_equal(data.next_observations[:-1][inside], data.observations[1:][inside])
    assert np.rint(LONGEST * data.next_observations[data.ends, -1]).min() >= 1
    np.testing.assert_allclose(np.bincount(data.episodes, data.terms[:, 0]), data.episode_returns, rtol=1e-5)
    cut = data.ends & (data.terminations == 0)
    assert (shown[cut] == LONGEST - 1).all()
    assert 0.2 < data.terms[:, 0].mean() < 0.6
    assert set(np.unique(data.terms[:, 1:])) == {0.0, 1.0}
    assert not np.array_equal(data.rewards[:30], logged(50, seed=2).rewards[:30])
