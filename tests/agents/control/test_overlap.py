import threading
from typing import Any

import gymnasium
import pytest
import torch as th

from tiltyard.agents import SAC, make

SMALL: dict[str, Any] = {"learning_starts": 20, "batch_size": 16, "buffer_size": 2000, "seed": 0}


class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Remembers which thread stepped it."""

    threads: set[int]

    def step(self, action: Any) -> Any:
        self.threads.add(threading.get_ident())
        return self.env.step(action)


def watched(**settings: Any) -> tuple[SAC, set[int]]:
    env = Watched(gymnasium.make("Pendulum-v1"))
    env.threads = set()
    return SAC("MlpPolicy", env, **SMALL, **settings), env.threads


def test_environments_step_in_another_thread_while_updates_run_in_this_one() -> None:
    agent, stepping = watched(overlap=True)
    updating, update = set(), agent.update

    def noted(batch: Any) -> Any:
        updating.add(threading.get_ident())
        return update(batch)

    agent.update = noted  # type: ignore[method-assign]
    agent.learn(40)
    assert updating == {threading.get_ident()}
    assert stepping
    assert threading.get_ident() not in stepping
    assert agent._n_updates == 20  # none is lost at the end
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("environments")]


def test_updates_see_as_much_as_without_a_thread() -> None:
    filled: dict[bool, list[int]] = {}
    for overlap in (False, True):
        agent, _ = watched(overlap=overlap)
        sizes: list[int] = filled.setdefault(overlap, [])
        sample = agent.sample
        agent.sample = lambda n, agent=agent, sizes=sizes, sample=sample: (  # type: ignore[method-assign]
            sizes.append(agent.replay_buffer.size()),
            sample(n),
        )[1]
        agent.learn(24)
    assert filled == {False: [21, 22, 23, 24], True: [21, 22, 23, 24]}


def test_a_seed_decides_the_run_also_with_threads() -> None:
    one, other = (make("sac", "tiltyard/Hopper-v5", overlap=True, n_envs=4, **SMALL).learn(80) for _ in range(2))
    for first, second in zip(one.policy.parameters(), other.policy.parameters(), strict=True):
        assert th.equal(first, second)


def test_a_failing_environment_ends_the_thread_and_shows_its_error() -> None:
    class Broken(gymnasium.Wrapper[Any, Any, Any, Any]):
        def step(self, action: Any) -> Any:
            raise RuntimeError("the simulator is gone")

    agent = SAC("MlpPolicy", Broken(gymnasium.make("Pendulum-v1")), overlap=True, **SMALL)
    with pytest.raises(RuntimeError, match="the simulator is gone"):
        agent.learn(10)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("environments")]
