"""The maze has walls and pays at its exits alone; searches in it have equal budgets."""

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.sparse_exits import (
    EXITS,
    PIXELS,
    RADIUS,
    START,
    STEPS,
    ExitSearch,
    Form,
    SparseExits,
    images,
    moved,
    payments,
)


def test_walls_stop_what_crosses_them_and_gaps_let_through() -> None:
    at = np.array([[0.5, 0.33], [0.8, 0.33], [0.5, 0.37], [0.98, 0.5]])
    found = moved(at, np.array([[0.02, 0.05], [0.02, 0.05], [0.0, -0.05], [0.05, 0.0]]))
    assert found == pytest.approx(np.array([[0.52, 0.33], [0.82, 0.38], [0.5, 0.37], [1.0, 0.5]]))


def test_exits_pay_by_the_distance_to_their_centre() -> None:
    places = np.array([EXITS[1], (EXITS[1][0], EXITS[1][1] + RADIUS / 4), START])
    assert payments(places) == pytest.approx(np.array([[0, 1, 0], [0, 0.75, 0], [0, 0, 0]]))


def test_an_image_is_brightest_where_the_point_is() -> None:
    image = images(np.array([[0.79, 0.21]]))[0, :, :, 0]
    assert np.unravel_index(image.argmax(), image.shape) == (2, 9)
    assert image.shape == (PIXELS, PIXELS)


def test_the_farthest_exit_is_reached_in_time_and_pays_once() -> None:
    env, rewards = SparseExits(2), []
    env.reset()
    for step in range(STEPS):
        goals = [(0.78, 0.4), (0.25, 0.7), EXITS[2]]
        goal = goals[0] if step < 8 else goals[1] if step < 20 else goals[2]
        action = np.clip((np.array(goal) - env.at[0]) / 0.05, -1, 1)
        _, reward, _, truncated, info = env.step(np.stack([action, 0 * action]))
        rewards.append(reward)
        assert truncated.all() == (step == STEPS - 1)
    assert rewards[-1][0] == pytest.approx(1.0)
    assert rewards[-1][1] == 0
    assert not np.any(rewards[:-1])
    assert info["final_info"]["place"][1] == pytest.approx(START)
    assert env.stepped == 2 * STEPS


@pytest.mark.parametrize("form", [Form(emitters=True), Form(true=True), Form(), Form(random=True)])
def test_all_have_the_same_budget_and_are_measured(form: Form) -> None:
    bed = ExitSearch().smallest()
    found = bed.run(form, 0.3, 0)
    again = bed.run(form, 0.3, 0)
    assert found == again
    assert 0 < found.coverage < 1
    assert 0 <= found.areas <= 1
    assert bed.evaluations * STEPS <= found.timesteps < 2 * bed.evaluations * STEPS


def test_a_learnt_space_leads_to_more_places_than_random_search() -> None:
    bed = ExitSearch(evaluations=2000)
    searched, drawn = (
        np.mean([bed.run(form, 0.3, seed).coverage for seed in range(2)])
        for form in (Form(limit=1.0), Form(random=True, limit=1.0))
    )
    assert searched > 1.1 * drawn
