"""The tasks of docs/adding/text-task.md, run as they stand there."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tiltyard.envs.text.base import Conversation

PAGE = Path(__file__).resolve().parents[1] / "docs" / "adding" / "text-task.md"
TASKS = {"Backwards": 0, "HighLow": 1}  # which of the page's programs makes it


@pytest.fixture(params=TASKS)
def task(request: pytest.FixtureRequest) -> Iterator[tuple[str, ModuleType]]:
    """The name of a task and its module, where the page says that its file goes."""
    name: str = request.param
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    module = ModuleType(f"tiltyard.envs.text.{name.lower()}")
    module.__package__ = "tiltyard.envs.text"
    sys.modules[module.__name__] = module  # for classes that ask in which module they are
    exec(compile(programs[TASKS[name]], f"{PAGE.name}: {name}", "exec"), module.__dict__)
    yield name, module
    del sys.modules[module.__name__]


def played(env: Any, seed: int) -> tuple[float, bool]:
    """Return and success of the expert's episode."""
    env.reset(seed=seed)
    expert, total, over, info = env.expert(), 0.0, False, {}
    while not over:
        _, reward, over, _, info = env.step(expert.predict(None)[0])
        total += float(reward)
    return total, bool(info["success"])


def test_the_expert_of_the_page_solves_its_task_and_corrupt_demonstrations_do_not(task: tuple[str, ModuleType]) -> None:
    name, module = task
    env = getattr(module, f"{name}Env")(split="test")
    assert [played(env, seed) for seed in range(40)] == [(1.0, True)] * 40
    batched = env.batched
    seeds = np.arange(40)
    held = batched.conversations(seeds, noise=1.0, rng=np.random.default_rng(0))
    if name == "Backwards":
        said = [one.utterances[-1] for one in held]
        correct, readable = batched.grade(said, batched.problems(seeds, np.zeros(40, np.int64)))
        assert (correct.any(), readable.all()) == (False, True)
    else:
        assert all(one.messages[-1] in ("higher", "lower") for one in held)


def test_the_vector_of_the_page_is_the_environment_many_times(task: tuple[str, ModuleType]) -> None:
    name, module = task
    vector = getattr(module, f"{name}VectorEnv")(3, autoreset_mode=AutoresetMode.DISABLED)
    singles = [getattr(module, f"{name}Env")() for _ in range(3)]
    shown, _ = vector.reset(seed=5)
    assert list(shown) == [env.reset(seed=5 + i)[0] for i, env in enumerate(singles)]
    actions = vector.expert().predict(shown)[0]
    shown, rewards, *_ = vector.step(actions)
    assert list(zip(shown, rewards, strict=True)) == [
        env.step(action)[:2] for env, action in zip(singles, actions, strict=True)
    ]


UTTERANCES = ("", "one", "-3", "1.5", "٣", "7" * 12, "3", "999999")


def test_answers_that_cannot_be_parsed_earn_no_reward_and_do_not_end_the_run(task: tuple[str, ModuleType]) -> None:
    name, module = task
    env = getattr(module, f"{name}Env")()
    for start in range(len(UTTERANCES)):
        env.reset(seed=start)
        total, over, info, turn = 0.0, False, {}, start
        while not over:
            _, reward, over, _, info = env.step(UTTERANCES[turn % len(UTTERANCES)])
            total, turn = total + float(reward), turn + 1
            assert over or env.expert().predict(None)[0]  # the expert goes on from here
        assert (total <= 0, info["success"]) == (True, False)


def test_an_unclear_utterance_leaves_the_bounds_of_the_guessing_game_as_they_were(
    task: tuple[str, ModuleType],
) -> None:
    name, module = task
    if name == "HighLow":
        problem = module.Problem(10, 13, 12)
        held = Conversation("", ["what", "5", "11"], ["unclear", "higher", "higher"])
        assert module._bounds(problem, held) == (12, 13)
