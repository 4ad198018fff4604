import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch as th

from tiltyard.wrappers.rewards.vlm_rl import Contrast, LanguageGoals, VectorVLMRL, pace, quality

sys.path.insert(0, str(Path(__file__).parents[1]))
from scenes import observed  # noqa: E402


class Brightness:
    """An encoder in which bright pictures are like the second goal and dark ones like the first."""

    def pictures(self, frames):
        angle = th.from_numpy(frames.reshape(len(frames), -1).mean(axis=1)) / 255 * th.pi / 2
        return th.stack([angle.cos(), angle.sin()], dim=1)

    def words(self, texts):
        return th.eye(2, dtype=th.float64)[: len(texts)]


def frames(*levels):
    return np.stack([np.full((64, 64, 8), level, np.uint8) for level in levels])


def test_the_contrast_by_hand():
    contrast = Contrast(Brightness(), span=(-1.0, 1.0))
    # dark: cos to what is wanted 1, to the other 0: z = -1, the score 1; bright the other way; 85: sin 30° - cos 30°
    assert contrast.contrast(frames(0, 255, 85)) == pytest.approx([-1.0, 1.0, 0.5 - 3**0.5 / 2])
    assert contrast.score(frames(0, 255)) == pytest.approx([1.0, 0.0])
    assert Contrast(Brightness(), span=(0.0, 0.03)).score(frames(0, 255)).tolist() == [1.0, 0.0]  # cut to the range


def test_the_synthesis_by_hand():
    # half the target speed is wanted, a quarter is driven: 1 - 0.25; 1 m off: 2/3; 45°: 1/2; sway 0.1 m: 3/4
    assert pace(0.5, 2.0, 8.0) == pytest.approx(0.75)
    assert quality(*(np.array([one]) for one in (1.0, np.pi / 4, 0.1)))[0] == pytest.approx(2 / 3 * 0.5 * 0.75)
    assert quality(*(np.array([one]) for one in (3.5, 0.0, 0.0)))[0] == 0.0


def test_who_speeds_where_danger_is_seen_is_paid_less_and_an_infraction_costs_ten():
    judge = LanguageGoals(Contrast(Brightness(), span=(-1.0, 1.0)), target=8.0)
    after = np.concatenate([observed(speed=8.0)] * 3)
    terms = judge.judge(after, after, np.array(["", "", "collision"]), frames(0, 255, 0))
    assert terms["reward"] == pytest.approx([1.0, 0.0, -10.0], abs=1e-5)


def test_swaying_is_measured_over_the_episode_alone():
    judge = LanguageGoals(Contrast(Brightness(), span=(-1.0, 1.0)), target=8.0)
    judge.begin(np.array([0]))

    def paid(offset):
        after = observed(speed=8.0, offset=offset)
        return judge.judge(after, after, np.array([""]), frames(0))["reward"][0]

    assert paid(0.2) == pytest.approx(1 - 0.2 / 3, abs=1e-4)
    assert paid(-0.2) == pytest.approx((1 - 0.2 / 3) * (1 - 0.2 / 0.4), abs=1e-4)  # standard deviation of +-0.2
    judge.begin(np.array([0]))
    assert paid(-0.2) == pytest.approx(1 - 0.2 / 3, abs=1e-4)


def test_the_batch_is_paid_as_each_alone():
    def vector(n, **keywords):
        return VectorVLMRL(gymnasium.make_vec("tiltyard/RaceTrack-v0", n, "vector_entry_point", **keywords))

    together, alone = vector(3), vector(1)
    together.reset(seed=4)
    alone.reset(seed=5)
    for _ in range(8):
        actions = np.full((3, 2), (0.8, 0.05), np.float32)
        _, rewards, *_ = together.step(actions)
        _, own, *_, info = alone.step(actions[:1])
        assert rewards[1] == pytest.approx(own[0], abs=1e-5)
    assert 0.0 <= info["judged_score"][0] <= 1.0


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="span of contrasts"):
        Contrast(Brightness())
    with pytest.raises(ValueError, match="target is a positive speed"):
        LanguageGoals(Contrast(Brightness(), span=(0.0, 1.0)), target=0.0)
