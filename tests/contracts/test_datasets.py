"""What every dataset of the catalogue has, and that the smallest are made the same, bit for bit, twice."""

import re

import pytest

from tiltyard.benchmarks.datasets import catalogue
from tiltyard.benchmarks.datasets.store import check_id
from tiltyard.envs.catalogue import find_scored

TASKS = {row.env_id for row in catalogue.ROWS}
SMALLEST = sorted(catalogue.ROWS, key=lambda row: row.steps)[:1]
each = pytest.mark.parametrize("row", catalogue.ROWS, ids=lambda row: row.id)


def test_ids_are_unique_and_every_task_has_every_kind() -> None:
    assert len({row.id for row in catalogue.ROWS}) == len(catalogue.ROWS) == 10
    kinds = {task: {row.policy for row in catalogue.ROWS if row.env_id == task} for task in TASKS}
    assert kinds == {task: {"expert", "scripted", "play"} for task in TASKS} | {"tiltyard/PointMaze-v0": {"play"}}


@each
def test_a_row_is_well_formed(row: catalogue.Dataset) -> None:
    check_id(row.id)
    assert find_scored(row.env_id).domain == "robotics"
    assert re.fullmatch("[0-9a-f]{64}", row.sha256)
    assert row.episodes <= row.steps <= 50_000
    assert 0 <= row.success <= 1
    assert (row.noise == 0) == (row.policy == "expert")
    assert row.policy != "play" or row.success < 0.25, "play solves a task in one piece"


@each
def test_episodes_are_the_same_twice(row: catalogue.Dataset) -> None:
    first, second = (catalogue.digest(row.record(episodes=2)) for _ in range(2))
    assert first == second != catalogue.digest(row.record(seed=row.seed + 1, episodes=2))


@pytest.mark.parametrize("row", SMALLEST, ids=lambda row: row.id)
def test_the_smallest_is_what_the_catalogue_says(row: catalogue.Dataset) -> None:
    first, second = row.record(), row.record()
    found = catalogue.measured(row, first)
    assert found.sha256 == catalogue.digest(second)
    if catalogue.here() == catalogue.REFERENCE:
        assert found == row
    else:
        assert abs(found.success - row.success) <= row.tolerance
