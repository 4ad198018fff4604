"""Frames of known distance, what is said of them, and which alpha is chosen."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.vlm_rm import CLAIM, SIZES, details, parts
from tiltyard.benchmarks.testbeds import language_rewards
from tiltyard.benchmarks.testbeds.language_rewards import LanguageRewards, Likeness, Size, distracted, rendered


def test_frames_differ_with_the_distance_and_the_ball_is_seen() -> None:
    frames, distances = rendered(60)
    assert frames.shape == (60, 64, 64, 3)
    assert frames.dtype == np.uint8
    assert distances.min() < 1.5
    assert distances.max() > 3.0
    moved = (frames != np.median(frames, axis=0)).any(axis=3).sum(axis=(1, 2))
    assert moved.min() >= 4


def test_what_is_said_is_what_is_shown() -> None:
    frames, distances = rendered(60)
    shown, said = distracted(frames, distances, np.random.default_rng(0))
    again, _ = distracted(frames, distances, np.random.default_rng(0))
    assert (shown == again).all()
    for picture, before, distance, (where, light, square) in zip(shown, frames, distances, said, strict=True):
        colour = language_rewards.SQUARES[square.split()[0]]
        assert 25 <= (picture == colour).all(axis=2).sum() <= 81
        kept = (before * np.array(language_rewards.LIGHTS[light.split()[0]])).astype(np.uint8)
        assert ((picture == kept) | (picture == colour)).all()
        assert (where == "ball at goal") == (distance <= 0.45)


@dataclass(frozen=True, kw_only=True)
class Invented(LanguageRewards):
    """Alpha 0.75 is better by 0.2, and each size by 0.1."""

    def run(self, condition: Size, rate: float, seed: int) -> Likeness:
        size = list(SIZES.values()).index(condition)
        noise = 0.001 * np.random.default_rng([seed, size]).random(5)
        found = 0.4 + 0.1 * size + np.array([0.0, 0.0, 0.1, 0.2, 0.1]) + noise
        return Likeness(found + 0.1, found)


def test_a_run_is_at_its_rate_and_of_its_seed() -> None:
    bed, small = LanguageRewards().smallest(), SIZES["small"]
    first, again, faster, other = (bed.run(small, *how) for how in ((1e-3, 0), (1e-3, 0), (1e-2, 0), (1e-3, 1)))
    assert (first.plain == again.plain).all()
    assert (first.plain != faster.plain).any()
    assert (first.plain != other.plain).any()


def test_the_alpha_is_chosen_at_the_rate_that_was_tuned() -> None:
    @dataclass(frozen=True, kw_only=True)
    class ByRate(Invented):
        """The second alpha is best at rate 0.01 and the last elsewhere."""

        def run(self, condition: Size, rate: float, seed: int) -> Likeness:
            best = np.array([9.0, 0.0, 1.0, 0.0, 0.0]) if rate == 0.01 else np.array([9.0, 0.0, 0.0, 0.0, 1.0])
            return Likeness(best, best)

    assert language_rewards.best_alpha(ByRate(), SIZES["large"], 0.01, (1000,)) == 2
    assert language_rewards.best_alpha(ByRate(), SIZES["large"], 0.1, (1000,)) == 4


def test_parts_are_of_the_alpha_of_the_tuning_seeds() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    means = {name: one.sample.mean for name, one in parts(found).items()}
    assert list(means.values()) == pytest.approx([0.6, 0.2, 0.1, 0.1], abs=0.002)
    told = details(found)
    assert told["alpha of tuning"] == 0.75
    assert told["correlation of the large encoder without distractors"] == pytest.approx(0.7, abs=0.002)
