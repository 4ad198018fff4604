"""Alignment: exact win rates, policies that move and win, and online pairs that the policy writes."""

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.alignment import Alignment, _world

BED = Alignment(completions=32, trained=24, held_out=24, pairs=512, steps=60, every=20)


def test_the_reference_wins_half_against_itself() -> None:
    world = _world(BED, 0)
    divergence, wins = BED._judged(world, np.zeros(BED.width))
    assert divergence == pytest.approx(0, abs=1e-12)
    assert wins == pytest.approx(0.5)
    far = BED._judged(world, 50 * world.proxy)
    by_hand = []
    for i in range(24, 48):
        logits = world.features[i] @ (50 * world.proxy)
        policy = world.reference[i] * np.exp(logits - logits.max())
        policy /= policy.sum()
        wins_of = (world.reward[i][:, None] > world.reward[i]) + 0.5 * np.eye(32)
        by_hand.append(policy @ wins_of @ world.reference[i])
    assert far[1] == pytest.approx(np.mean(by_hand))


def test_all_ways_move_away_and_win() -> None:
    for way in ("online", "offline", "offline on online pairs"):
        found = BED.run(way, 0.03, 0)
        assert found.divergence[0] == pytest.approx(0, abs=1e-12)
        assert (np.diff(found.divergence) > 0).all()
        assert found.best(2.0) > 0.55
        assert found.classification > 0.55


def test_own_pairs_are_written_by_the_policy() -> None:
    world = _world(BED, 1)
    rng = np.random.default_rng(0)
    steep = np.linalg.norm(BED._own_pairs(world, 40 * world.proxy, rng), axis=1).mean()
    flat = np.linalg.norm(BED._own_pairs(world, 0 * world.proxy, rng), axis=1).mean()
    assert steep < 0.7 * flat, "a sure policy writes the same completion twice"
