"""Environments step while the agent learns: updates that are due run in the time a vector of environments takes."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

Result = TypeVar("Result")


class Overlapped(VecEnvWrapper):
    """Steps in a thread of its own; whoever waits for the step does ``meanwhile()`` first.

    MuJoCo and PyTorch both leave the interpreter free while they compute, so on two cores both run at once. Everything
    random is drawn in the same order every time, so a seed still decides the run.

    Args:
        venv: what to step.
        meanwhile: called once a step, on the waiting thread.
    """

    def __init__(self, venv: VecEnv, meanwhile: Callable[[], None]) -> None:
        super().__init__(venv)
        self._meanwhile = meanwhile
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="environments")
        self._step: Future[VecEnvStepReturn] | None = None

    def beside(self, function: Callable[[Any], Result], argument: Any) -> Result:
        """``function(argument)`` in the thread, while the calling thread does what there is to do."""
        found = self._pool.submit(function, argument)
        self._meanwhile()
        return found.result()

    def step_async(self, actions: Any) -> None:
        """Begins the step."""
        self._step = self._pool.submit(self.venv.step, actions)

    def step_wait(self) -> VecEnvStepReturn:
        """Does what there is to do, then gives the step's outcome."""
        assert self._step is not None
        self._meanwhile()
        return self._step.result()

    def reset(self) -> VecEnvObs:
        """Resets on the calling thread."""
        return self.venv.reset()

    def release(self) -> None:
        """Ends the thread; the environments stay open."""
        self._pool.shutdown()
