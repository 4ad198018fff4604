"""Reward pairs: the second of a pair moves away from the first, and regrets are shares."""

import numpy as np

from tiltyard.benchmarks.testbeds.reward_pairs import RewardPairs

BED = RewardPairs(states=8, actions=3, rewards=3, steps=5)


def test_regrets_are_shares_and_distances_begin_near_0() -> None:
    found = {name: BED.run(name, float("nan"), 0) for name in ("starc", "epic", "no canonical form")}
    for pairs in found.values():
        assert pairs.regrets.shape == pairs.distances.shape == (15,)
        assert ((pairs.regrets >= -1e-12) & (pairs.regrets <= 1 + 1e-12)).all()
        assert ((pairs.distances >= 0) & (pairs.distances <= 1)).all()
    assert all(np.array_equal(pairs.regrets, found["starc"].regrets) for pairs in found.values())
    steps = found["starc"].distances.reshape(3, 5)
    assert (steps[:, 0] < steps[:, -1]).all()
    assert found["starc"].correlation > 0.3
