"""The streets of a town before lanes are drawn: however many are left out, none ends, and all are connected."""

import numpy as np
import pytest

from tiltyard.envs.driving.maps.procedural.town import Plan, streets


def reached(plan: Plan) -> set[tuple[int, int]]:
    """Nodes that are reached from the first."""
    found, new = set(), {(0, 0)}
    while new:
        found |= new
        new = {other for node in new for other in plan.around(node)} - found
    return found


@pytest.mark.parametrize(("rows", "columns", "missing"), [(5, 4, 0.3), (5, 4, 0.6), (7, 8, 1.0)])
def test_streets_do_not_end_and_are_connected(rows: int, columns: int, missing: float) -> None:
    for seed in range(50):
        plan = streets(np.random.default_rng(seed), rows, columns, missing)
        assert all(len(plan.around(node)) >= 2 for node in plan.place)
        assert reached(plan) == set(plan.place)


def test_grid_of_two_by_three_has_its_seven_streets() -> None:
    plan = streets(np.random.default_rng(0), 2, 3, 0.0)
    assert len(plan.place) == 6
    assert len(plan.lanes) == 7
    wide = {pair for pair, count in plan.lanes.items() if count == 2}
    assert wide == {((1, 0), (1, 1))}
