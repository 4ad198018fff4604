"""Action tokens around a post: conditions share their cloned policy, and training is counted in iterations."""

from dataclasses import replace

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.token_actions import Knobs, TokenDemonstrations, TokenRun


def test_conditions_of_a_seed_begin_from_the_same_cloned_policy() -> None:
    bed = replace(TokenDemonstrations().smallest(), episodes=50, updates=150, demonstrations=6, limit=20)
    one = bed.run(Knobs(), 0.0, 1000)
    other = bed.run(Knobs(dynamic_sampling=True, clip_high=0.28, temperature=1.6), 0.0, 1000)
    assert one.before == other.before > 0
    assert one.after == one.before  # a rate of 0 teaches nothing


def test_an_iteration_without_dynamic_sampling_takes_its_groups_and_no_more() -> None:
    bed = replace(TokenDemonstrations().smallest(), moments=2, iterations=3, limit=2)
    run = bed.run(Knobs(), 0.001, 1000)
    assert run.steps.tolist() == [0, 3 * 4 * 2, 6 * 4 * 2]  # two groups of two episodes, each of at most two steps
    assert run.kept.tolist() == [1, 1]


def test_success_by_steps_by_hand() -> None:
    """From 0.2 to 0.6 in 100 steps: over the first 50 from 0.2 to 0.4, whose mean is 0.3."""
    run = TokenRun(np.array([0.2, 0.6]), np.array([0.0, 100.0]), np.ones(1), np.ones(1), np.ones(1))
    assert run.learnt_by_steps(50.0) == pytest.approx(0.3)
    assert run.learnt == 0.6
