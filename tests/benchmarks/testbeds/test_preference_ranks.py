"""Preference ranks: pairs are preferred as often as their probability says, and mistakes are the reference's."""

from dataclasses import replace

import numpy as np
import pytest
import torch as th

from tiltyard.benchmarks.testbeds.preference_ranks import Outcome, RankedPairs, Ranks, mistakes
from tiltyard.benchmarks.testbeds.preferences import quality_of
from tiltyard.benchmarks.testbeds.sequences import SequenceMethod, Sequences

TASK = RankedPairs(trained=256, held_out=64, epochs=1)


def test_the_better_is_preferred_as_often_as_the_judge_says() -> None:
    prompts = replace(TASK, trained=4000).prompts(0)
    quality = quality_of(prompts.correct, prompts.pairs)
    apart = quality[:, 0] - quality[:, 1]
    for points in (1, 2):
        won, lost = (apart == points).sum(), (apart == -points).sum()
        assert float(won / (won + lost)) == pytest.approx(float(th.sigmoid(th.tensor(2.0 * points))), abs=0.03)


def test_an_outcome_knows_every_pair() -> None:
    bed = Sequences(task=TASK, iterations=TASK.iterations, every=TASK.iterations)
    run = bed.run(SequenceMethod("pacs", {"beta": 0.3}), 0.03, 0)
    assert run.before.logp.shape == run.after.logp.shape == (320, 2)
    assert ((run.preference > 0) & (run.preference < 1)).all()
    assert run.win_rate > 0.5
    assert (run.before.logp < 0).all()


def test_mistakes_by_hand() -> None:
    before = Ranks(None, np.array([[-3.0, -1.0], [-1.0, -2.0], [-2.0, -1.5], [-9.0, -1.0]]))  # type: ignore[arg-type]
    after = Ranks(None, np.array([[-2.0, -2.5], [-1.0, -2.0], [-2.0, -1.9], [-9.0, -1.0]]))  # type: ignore[arg-type]
    sizes, flipped = mistakes(Outcome(before, after, np.full(4, 0.7), trained=3))
    assert sizes.tolist() == [2.0, 0.5]
    assert flipped.tolist() == [1.0, 0.0]
