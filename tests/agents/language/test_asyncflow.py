import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiltyard.agents.language.asyncflow import TransferQueue

STAGES = {
    "rollout": ("prompt",),
    "reward": ("completion",),
    "reference": ("completion",),
    "update": ("completion", "reward", "logp_ref"),
}
WRITES = {"rollout": "completion", "reward": "reward", "reference": "logp_ref"}


def test_a_row_is_ready_when_its_columns_are_there_and_is_given_once_by_hand():
    queue = TransferQueue(STAGES)
    first, second = queue.add(prompt="a"), queue.add(prompt="b")
    assert queue.ready("rollout") == [0, 1]
    assert queue.take("rollout", [second]) == [{"prompt": "b"}]
    queue.write(second, completion="B")
    assert (queue.ready("rollout"), queue.ready("reward"), queue.ready("reference")) == ([0], [1], [1])
    assert queue.take("reward", [1]) == queue.take("reference", [1]) == [{"completion": "B"}]
    queue.write(second, reward=1.0)
    assert queue.ready("update") == []
    queue.write(second, logp_ref=-2.0)
    assert queue.take("update", [1]) == [{"completion": "B", "reward": 1.0, "logp_ref": -2.0}]
    assert list(queue) == [first]


def test_what_is_given_back_comes_before_all_others():
    queue = TransferQueue(STAGES)
    for prompt in "abc":
        queue.add(prompt=prompt)
    queue.take("rollout", [0, 1])
    queue.give_back("rollout", [0, 1])
    assert queue.ready("rollout") == [0, 1, 2]


def test_what_would_use_a_row_twice_is_refused():
    queue = TransferQueue(STAGES)
    row = queue.add(prompt="a")
    with pytest.raises(ValueError, match=r"'reward' may not take the rows \[0\]: not ready"):
        queue.take("reward", [row])
    with pytest.raises(ValueError, match="'rollout' may not take the rows"):
        queue.take("rollout", [row, row])
    queue.take("rollout", [row])
    with pytest.raises(ValueError, match="or taken before"):
        queue.take("rollout", [row])
    queue.write(row, completion="A")
    with pytest.raises(ValueError, match="row 0 has its column 'completion' already"):
        queue.write(row, completion="B")
    with pytest.raises(ValueError, match="was not taken by stage 'reward'"):
        queue.give_back("reward", [row])
    with pytest.raises(KeyError, match="no row 7"):
        queue.write(7, completion="A")


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), rows=st.integers(1, 25), deaths=st.floats(0, 0.6))
def test_each_stage_gets_each_row_once_whatever_the_order_and_the_deaths(seed, rows, deaths):
    """Stages take what is ready, a few rows at a time, and write at another time or die before; none is lost."""
    draw = random.Random(seed)
    queue, done, doing = TransferQueue(STAGES), {stage: [] for stage in STAGES}, []
    added = 0
    for _ in range(10_000):
        if added == len(done["update"]) == rows:
            break
        choice = draw.choice(["add", "write", *STAGES])
        if choice == "add" and added < rows:
            queue.add(prompt=added)
            added += 1
        elif choice == "write" and doing:
            stage, row = doing.pop(draw.randrange(len(doing)))
            if draw.random() < deaths:
                queue.give_back(stage, [row])
            else:
                done[stage].append(row)
                queue.write(row, **{WRITES[stage]: row})
        elif choice in STAGES:
            ready = queue.ready(choice)
            taken = draw.sample(ready, draw.randint(0, len(ready)))
            for row, columns in zip(taken, queue.take(choice, taken), strict=True):
                assert columns == dict.fromkeys(STAGES[choice], row)
            if choice == "update":
                done["update"] += taken
            else:
                doing += [(choice, row) for row in taken]
    assert all(sorted(found) == list(range(rows)) for found in done.values())
    assert len(queue) == 0
