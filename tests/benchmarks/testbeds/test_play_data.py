from dataclasses import replace

import gymnasium
import numpy as np

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.d5rl import ALONE, BOTH, CLAIM, CLONED, FORMS, OFFLINE, SHOWN
from tiltyard.benchmarks.testbeds.play_data import Learned, Learner, PlayData, transitions

SMALL = PlayData().smallest()


class Experts:
    """Knows where the handle is; of the first of two problems only."""

    def predict(self, observations, deterministic):
        return np.zeros((len(observations), 5), np.float32), None


def test_data_are_of_the_seed_and_of_play():
    one, again, other = (transitions("tiltyard/d5rl/drawer-door-play-v0", seed, 2) for seed in (5000, 5000, 5001))
    assert one is again
    assert not np.array_equal(one.actions[:20], other.actions[:20])
    assert one.lengths.max() <= 60


def test_nobody_solves_anything_by_standing_still_or_at_random():
    assert SMALL.solved(Experts(), 5000) == SMALL.solved(None, 5000) == 0.0


def test_cloned_demonstrations_solve_more_than_nothing():
    bed = replace(PlayData(), recorded=100, updates=1500, steps=1, problems=20)
    run = bed.run(Learner("bc", "expert"), 2e-3, 5000)
    assert run.before > 0.2


def test_every_form_runs_in_the_smallest_size():
    for form in (form for forms in FORMS.values() for form in forms):
        run = SMALL.run(form, 1e-3, 5000)
        assert 0 <= run.before <= 1
        assert 0 <= run.after <= 1


def test_only_experience_steps_the_environment(monkeypatch):
    steps = []
    inner = gymnasium.make(SMALL.task).unwrapped.__class__.step
    monkeypatch.setattr(
        gymnasium.make(SMALL.task).unwrapped.__class__, "step", lambda self, a: (steps.append(1), inner(self, a))[1]
    )
    SMALL.run(FORMS[OFFLINE][0], 1e-3, 5000)
    assert not steps


def test_parts_by_hand():
    after = {BOTH: (0.9, 0.7), OFFLINE: (0.5, 0.5), ALONE: (0.1, 0.0), CLONED: (0.2, 0.0), SHOWN: (1.0, 1.0)}
    outcomes = {
        name: Outcome(CLAIM.conditions[name], 1e-3, [Learned(0.0, value) for value in values])
        for name, values in after.items()
    }
    parts = CLAIM.parts(Found(CLAIM, CLAIM.testbed, outcomes, {}, (0, 1)))
    assert {name: round(part.sample.mean, 6) for name, part in parts.items()} == {
        "IQL over cloning on play": 0.4,
        f"both over {OFFLINE}": 0.3,
        f"both over {ALONE}": 0.75,
    }
    assert {name: round(part.highest, 6) for name, part in parts.items()} == {
        "IQL over cloning on play": 0.9,
        f"both over {OFFLINE}": 0.5,
        f"both over {ALONE}": 0.95,
    }
