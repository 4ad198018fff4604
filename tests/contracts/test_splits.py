"""No test problem is a train problem told otherwise, in any text task or on the phone, at any level.

What makes two problems the same is the task's own ``canonical``; that it is right is for each task's own tests, which
try renamings, orders, turns and wordings one by one. Here it is swept that it decides the split, and that no level has
so few problems that its test split is a handful.
"""

from importlib import import_module

import gymnasium
import numpy as np
import pytest

from tiltyard.envs.catalogue import ROWS
from tiltyard.envs.gui.compiled.env import BatchedPhoneV1
from tiltyard.envs.gui.problems import generate

FEWEST = 60  # different problems among those that are drawn for the test
DATA_SETS = ("chain_sum", "course_schedule", "knights_knaves", "lcm", "n_queens", "syllogism")  # of reasoning-gym


def cases() -> list[tuple[str, str, object]]:
    """Every text task and the phone, with each of their levels (reasoning-gym: with a few data sets)."""
    found: list[tuple[str, str, object]] = []
    for row in (row for row in ROWS if row.promises("vector")):
        if row.domain in ("text", "gui"):
            home = import_module(row.entry_point.partition(":")[0])
            levels = getattr(home, "LEVELS", (1, 2, 3) if row.domain == "gui" else ())
            found += [(row.id, "level", level) for level in levels] or [(row.id, "dataset", one) for one in DATA_SETS]
    return found


each_case = pytest.mark.parametrize(("env_id", "keyword", "value"), cases())


def asked(split: str, first: int, n: int, **kwargs: object) -> list[str]:
    """What compiled phones are asked to do, from the problems themselves."""
    phones = BatchedPhoneV1(n, split=split, observation="elements", **kwargs)  # type: ignore[arg-type]
    phones.begin(np.arange(n), first + np.arange(n), np.zeros(n, int))
    return [phones.asked(index) for index in range(n)]


def canonicals(env_id: str, split: str, n: int, **kwargs: object) -> list[str]:
    """The canonical forms of the problems that ``n`` seeds lead to."""
    if env_id == "tiltyard/Phone-v1":
        return [one for first in range(0, n, 20) for one in asked(split, first, min(20, n - first), **kwargs)]
    batched = gymnasium.make(env_id, split=split, **kwargs).unwrapped.batched  # type: ignore[attr-defined]
    if "Phone" in env_id:
        problems = [generate(batched.split, seed, 0, batched.level, batched._templates) for seed in range(n)]
    else:
        problems = batched.problems(np.arange(n), np.zeros(n, int))
    return [batched.canonical(problem) for problem in problems]


def twins(env_id: str, train: int, test: int, **kwargs: object) -> float:
    """The share of test problems that are among the train problems, told otherwise or not."""
    seen = set(canonicals(env_id, "train", train, **kwargs))
    drawn = canonicals(env_id, "test", test, **kwargs)
    assert len(set(drawn)) >= FEWEST, "the level is too small to split: make it larger"
    return float(np.mean([one in seen for one in drawn]))


@each_case
def test_no_test_problem_is_a_train_problem_told_otherwise(env_id: str, keyword: str, value: object) -> None:
    assert twins(env_id, 500, 120, **{keyword: value}) == 0


@pytest.mark.slow
@each_case
def test_none_is_among_twenty_thousand(env_id: str, keyword: str, value: object) -> None:
    train, test = (20_000, 1_000) if "Phone" not in env_id and "Reasoning" not in env_id else (4_000, 400)
    assert twins(env_id, train, test, **{keyword: value}) == 0
