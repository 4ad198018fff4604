from dataclasses import replace

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.d5rl import ALONE, BOTH, CLAIM, CLONED, FORMS, OFFLINE, SHOWN
from tiltyard.benchmarks.testbeds import play_data
from tiltyard.benchmarks.testbeds.play_data import Learned, Learner, PlayData, transitions

SMALL = PlayData().smallest()


class Still:
    """Stands still."""

    def predict(self, observations, deterministic):
        return np.zeros((len(observations), 2), np.float32), None


def test_data_are_of_the_seed_and_of_play():
    one, again, other = (transitions("play", seed, 2) for seed in (5000, 5000, 5001))
    assert one is again
    assert not np.array_equal(one.actions[:20], other.actions[:20])
    assert one.lengths.max() <= 40


def test_zero_actions_and_random_actions_solve_no_problem():
    assert SMALL.solved(Still(), 5000) == SMALL.solved(None, 5000) == 0.0


def test_cloned_demonstrations_solve_more_than_nothing():
    bed = replace(PlayData(), recorded=40, updates=1000, steps=4, problems=20)
    run = bed.run(Learner("bc", "expert"), 2e-3, 5000)
    assert run.before > 0.2


def test_every_form_runs_in_the_smallest_size():
    for form in (form for forms in FORMS.values() for form in forms):
        run = SMALL.run(form, 1e-3, 5000)
        assert 0 <= run.before <= 1
        assert 0 <= run.after <= 1


def test_only_experience_takes_new_steps(monkeypatch):
    steps = []
    made = play_data.make
    monkeypatch.setattr(play_data, "make", lambda *args, **settings: steps.append(made(*args, **settings)) or steps[-1])
    for form, taken in ((FORMS[OFFLINE][0], 0), (FORMS[BOTH][0], SMALL.steps), (FORMS[ALONE][1], SMALL.steps)):
        SMALL.run(form, 1e-3, 5000)
        assert steps[-1].num_timesteps == taken


def test_what_is_told_is_the_mean_of_the_last_two_tests(monkeypatch):
    shares = iter([0.1, 0.2, 0.3, 0.4, 0.8])
    monkeypatch.setattr(PlayData, "solved", lambda *_: next(shares))
    assert SMALL.run(FORMS[CLONED][0], 1e-3, 5000) == pytest.approx((0.1, 0.6))


def test_parts_by_hand():
    after = {
        BOTH: (0.9, 0.7, 0.8),
        OFFLINE: (0.5,) * 3,
        ALONE: (0.1, 0.0, 0.05),
        CLONED: (0.2, 0.0, 0.1),
        SHOWN: (1,) * 3,
    }
    outcomes = {
        name: Outcome(CLAIM.conditions[name], 1e-3, [Learned(0.0, value) for value in values])
        for name, values in after.items()
    }
    parts = CLAIM.parts(Found(CLAIM, CLAIM.testbed, outcomes, {}, range(3)))
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
