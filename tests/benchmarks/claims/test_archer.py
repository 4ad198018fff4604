import math

import numpy as np
import pytest

from tiltyard.benchmarks.claims import archer
from tiltyard.benchmarks.suites import find

EPISODES = np.array([100.0, 200.0, 400.0, 800.0])


def test_episodes_to_a_goal_are_those_of_the_first_time_there() -> None:
    curve = np.array([0.1, 0.3, 0.2, 0.4])
    assert archer.needed(EPISODES, curve, 0.2) == pytest.approx(150)
    assert archer.needed(EPISODES, curve, 0.3) == 200
    assert archer.needed(EPISODES, curve, 0.35) == pytest.approx(700)
    assert archer.needed(EPISODES, curve, 0.1) == 100
    assert math.isnan(archer.needed(EPISODES, curve, 0.5))


def test_the_ratio_is_of_episodes_to_where_the_other_ends() -> None:
    slow = (EPISODES * 10, np.array([[0.0, 0.1, 0.2, 0.3], [0.0, 0.1, 0.2, 0.5]]))  # ends at 0.4
    quick = (EPISODES, np.array([[0.4, 0.5, 0.6, 0.6]]))
    assert archer.log_ratio(quick, slow, [0], [0, 1]) == pytest.approx(np.log10(8000 / 100))
    never = (EPISODES, np.zeros((3, 4)))
    assert archer.log_ratio(never, slow, [0, 2], [0, 1]) == pytest.approx(1)  # what it was given: 800 of 8,000
    assert archer.log_ratio(slow, slow, [0, 1], [0, 1]) == 0


def test_the_effect_is_a_mean_over_games_with_an_interval_over_runs() -> None:
    rng = np.random.default_rng(0)
    noise = 0.02 * rng.standard_normal((5, 4))
    theirs = (EPISODES * 10, np.array([0.0, 0.2, 0.4, 0.6]) + noise)
    ours = (EPISODES, np.array([0.0, 0.4, 0.7, 0.8]) + noise[::-1])
    found = archer.effect([(ours, theirs), (theirs, theirs)], np.random.default_rng(1))
    alone = archer.effect([(ours, theirs)], np.random.default_rng(1))
    assert found.estimate == pytest.approx(alone.estimate / 2)
    assert alone.low < alone.estimate < alone.high
    assert 1 < alone.low < alone.high < 1.7
    assert np.log10(8000 / 350) < alone.estimate < np.log10(8000 / 300)


def test_it_reads_the_agents_of_the_suite() -> None:
    agents = {str(run.params.get("method", run.agent)) for run in find(archer.SUITE).runs()}
    assert {archer.OURS, archer.THEIRS} < agents
