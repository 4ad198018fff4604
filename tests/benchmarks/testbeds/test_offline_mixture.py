import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.offline_mixture import Mixture, OfflineMixture, Player, joined

TASK = "tiltyard/HalfCheetah-v5"


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


def test_imitation_has_two_kinds_of_other_data() -> None:
    found = OfflineMixture().smallest().imitation(3)
    assert set(found) == {"BC, expert alone"} | {
        f"{name}, expert and {kind}" for name in ("BC", "ReCOIL") for kind in ("mixed", "random")
    }
    assert np.isfinite(list(found.values())).all()
