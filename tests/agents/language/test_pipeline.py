"""The bound on staleness and that no row is lost or used twice: all schedules of workers and learner, simulated."""

import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltyard.agents.language.pipeline import Lease, Pipeline
from tiltyard.agents.language.rollout_worker import Task


@dataclass
class Made:
    """What a task's rollouts are here: which weights made them of what."""

    version: int
    seeds: tuple[int, ...]
    steps: tuple = ()


class Simulated:
    """Workers that finish in any order and die; each time the learner waits, one thing happens."""

    elsewhere = False

    def __init__(self, pipeline: Pipeline, draw: random.Random, deaths: float, count: int) -> None:
        self.pipeline, self.draw, self.deaths, self.count = pipeline, draw, deaths, count
        self.doing: list[Lease] = []
        self.finished = self.idle = 0
        self.over = False

    def attend(self) -> None:
        self.idle += 1
        assert self.idle < 500 or self.over, "the learner waits for what no worker is at"
        if len(self.doing) < self.count and self.draw.random() < 0.6:
            lease = self.pipeline.next_lease()
            self.doing += [lease] if lease else []
            self.idle *= lease is None
        elif self.doing:
            self.idle = 0
            lease = self.doing.pop(self.draw.choice([0, self.draw.randrange(len(self.doing)), -1]))
            if self.draw.random() < self.deaths:
                self.pipeline.give_back(lease)
            else:
                assert lease.weights == str(lease.version).encode()
                self.pipeline.put(lease, Made(lease.version, lease.task.seeds))
                self.finished += 1


def learn(seed: int, *, bound: int, groups: int, workers: int = 3, size: int = 1, exact: bool = False, rejects=0.0):
    """Iterations of a learner; returns drawn and used problems, and the staleness of each used row by iteration."""
    draw = random.Random(seed)
    pipeline = Pipeline(bound, groups, exact)
    pool = Simulated(pipeline, draw, draw.choice([0.0, 0.3]), workers)
    drawn, used, staleness, firsts = 0, [], [], 0
    part = draw.choice([1, 2, groups])
    for iteration in range(8):
        pipeline.publish(str(iteration).encode())
        kept, found = 0, []
        rounds = 8 * -(-groups // part)
        for turn in range(rounds):
            missing = min(groups - kept, (rounds - turn) * part)
            if missing <= 0:
                break
            while (room := pipeline.room(missing)) > 0:
                seeds = tuple(range(drawn, drawn + min(size, room)))
                drawn += len(seeds)
                pipeline.add(Task(seeds, 1, 0.0, 0, pipeline.version if exact else None))
            for row in pipeline.take(min(part, missing), missing, pool):
                assert row.staleness == iteration - row.sampled.version
                used.append(row.sampled.seeds[row.position])
                found.append(row.staleness)
                firsts += row.first
                kept += draw.random() >= rejects
        staleness.append(found)
        for _ in range(draw.choice([0, 3, 30])):  # the learner updates, and workers go on
            pool.attend()
    pool.over = True
    for _ in range(3000):
        pool.attend()
    left = {seed for lease in pool.doing for seed in lease.task.seeds}
    return drawn, used, left, pipeline.ready, staleness, firsts, pool


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    bound=st.integers(0, 4),
    groups=st.integers(1, 6),
    workers=st.integers(1, 5),
    size=st.integers(1, 4),
    exact=st.booleans(),
    rejects=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_no_row_is_lost_used_twice_or_too_stale(seed, bound, groups, workers, size, exact, rejects):
    how = {"bound": bound, "groups": groups, "workers": workers, "size": size, "exact": exact, "rejects": rejects}
    drawn, used, left, ready, staleness, firsts, pool = learn(seed, **how)
    assert len(set(used)) == len(used)
    assert set(used) <= set(range(drawn))
    assert len(used) + ready + len(left) == drawn
    assert max(map(max, staleness)) <= bound
    assert firsts <= pool.finished


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), bound=st.integers(0, 4), groups=st.integers(1, 6), workers=st.integers(1, 5))
def test_an_exact_staleness_is_that_of_the_bound_and_takes_rows_in_order(seed, bound, groups, workers):
    drawn, used, *_, staleness, _, _ = learn(seed, bound=bound, groups=groups, workers=workers, size=2, exact=True)
    assert used == sorted(used)
    assert staleness == [[min(bound, iteration)] * groups for iteration in range(8)]


def test_the_bound_is_reached_and_rows_are_taken_as_they_become_ready():
    """Otherwise the test above would also hold of a pipeline that never runs ahead, or waits for stragglers."""
    found = [learn(seed, bound=2, groups=3) for seed in range(50)]
    assert {lag for *_, staleness, _, _ in found for lags in staleness for lag in lags} == {0, 1, 2}
    assert any(used != sorted(used) for _, used, *_ in found)


def started(bound: int = 1) -> Pipeline:
    pipeline = Pipeline(bound, 2)
    pipeline.publish(b"0")
    for seed in range(pipeline.room(2)):
        pipeline.add(Task((seed,), 1, 0.0, 0))
    return pipeline


def test_a_row_that_is_due_is_waited_for_by_hand():
    """Bound 1, two rows an iteration: a straggler of version 0 is learnt from in iteration 1, whatever is ready."""
    pipeline = started()
    slow, *others = (pipeline.next_lease() for _ in range(4))
    for lease in others:
        pipeline.put(lease, Made(lease.version, lease.task.seeds))
    pool = Simulated(pipeline, random.Random(0), 0.0, 0)
    pool.attend = lambda: pipeline.put(slow, Made(slow.version, slow.task.seeds))
    assert [row.sampled.seeds[0] for row in pipeline.take(2, 2, pool)] == [1, 2]  # without waiting for the slowest
    pipeline.publish(b"1")
    pipeline.add(Task((4,), 1, 0.0, 0))
    fresh = pipeline.next_lease()
    pipeline.put(fresh, Made(fresh.version, fresh.task.seeds))
    assert sorted(row.sampled.seeds[0] for row in pipeline.take(2, 2, pool)) == [0, 3]  # not the fresh one


def test_workers_get_the_newest_weights_and_none_after_the_end():
    pipeline = started()
    assert pipeline.next_lease().weights == b"0"
    pipeline.publish(b"1")
    assert pipeline.next_lease().weights == b"1"
    pipeline.close()
    assert pipeline.lease() is None
    pipeline.open()
    assert pipeline.lease(retired=lambda: True) is None
    assert pipeline.lease().version == 1


@pytest.mark.parametrize("bound", [0, 3])
def test_room_is_what_the_bound_leaves(bound):
    pipeline = Pipeline(bound, 5)
    pipeline.publish(b"0")
    assert pipeline.room(5) == 5 + 5 * bound
    pipeline.add(Task((1, 2), 1, 0.0, 0))
    assert pipeline.room(5) == 3 + 5 * bound
    assert pipeline.room(0) == 5 * bound - 2
