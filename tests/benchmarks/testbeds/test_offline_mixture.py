from dataclasses import replace

import numpy as np
import pytest

from tiltyard.benchmarks.claims.f_dvl_recoil import CLAIM
from tiltyard.benchmarks.testbeds.offline_mixture import (
    Mixture,
    OfflineMixture,
    Player,
    best_value,
    f_dvl,
    joined,
    slopes,
)

TASK = "tiltyard/HalfCheetah-v5"


def test_slopes_at_outliers_by_hand() -> None:
    # d/dx of 0.7 (x + x^2/4) - 0.3 x at 10 is 0.7 * 6 - 0.3; of 0.7 x - 0.3 x, 0.4; of e^(x/2) - x/2, (e^5 - 1) / 2.
    found = slopes((10.0,))
    assert found["chi-square"] == [pytest.approx(3.9)]
    assert found["total-variation"] == [pytest.approx(0.4)]
    assert found["kl, as the paper defines it"] == [pytest.approx((np.exp(5) - 1) / 2, abs=1e-3)]


def test_play_records_each_episode_to_its_end() -> None:
    play = Player("tiltyard/Hopper-v5", 4, "train", 40)
    data = play(play.expert(), 3, 1.0)
    assert data.lengths.sum() == len(data)
    fell = data.terminations == 1
    assert fell.any()
    assert data.ends[fell].all()
    within = ~data.ends
    np.testing.assert_array_equal(data.next_observations[within], data.observations[1:][within[:-1]])
    assert not np.array_equal(data.next_observations[:-1][data.ends[:-1]], data.observations[1:][data.ends[:-1]])
    assert data.episode_returns[0] == pytest.approx(data.rewards[data.episodes == 0].sum(), rel=1e-5)
    both = joined(data, data)
    assert len(both.episode_returns) == 8
    assert both.lengths.tolist() == data.lengths.tolist() * 2


def test_episodes_are_the_poorer_the_noisier_they_are() -> None:
    task = Mixture(TASK, 0, 3, 60, (0.0, 1.0))
    returns = task.mixed.episode_returns
    assert returns[0] > returns[1] > returns[2]
    assert task.expert.episode_returns.item() > task.random.episode_returns.max()
    np.testing.assert_array_equal(task.mixed.actions, Mixture(TASK, 0, 3, 60, (0.0, 1.0)).mixed.actions)


def test_values_are_told_by_task_and_the_best_is_one_for_all_by_hand() -> None:
    scores = np.array([[[0.1, 0.5], [0.4, 0.2]], [[0.3, 0.3], [0.4, 0.0]]])  # [seeds, tasks, values]
    assert f_dvl("kl", 0.5, 2.0).by_value(("a", "b"), scores) == {
        "0.5": {"a": 0.2, "b": 0.4},
        "2": {"a": 0.4, "b": 0.1},
    }
    assert best_value(scores).tolist() == [[0.1, 0.4], [0.3, 0.4]]  # 0.3 on average, the other value 0.25


def test_every_condition_is_measured() -> None:
    bed = replace(OfflineMixture().smallest(), tasks=(TASK,))
    found = replace(CLAIM, testbed=bed).measure(seeds=3)
    means = {name: one["estimate"] for name, one in found.details["normalised return, mean over settings"].items()}
    expected = (means["chi-square"] + means["total-variation"]) / 2 - means["kl"]
    assert found.means[TASK] == pytest.approx(expected)
    assert len(found.details[f"imitation on {TASK}"]) == 5
