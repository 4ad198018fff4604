"""Practice without resets: a task and its undo in turn, in one scene that nobody tidies up in between.

One policy for both, where observations tell the goal, as ObjectRelocation's do:

    env = AutonomousPractice(gymnasium.make("tiltyard/ObjectRelocation-v0"))
    agents.make("sac", env, seed=0).learn(20_000)

Where they do not, wrap it in :class:`ObserveTask`. Two policies, a task each, as SERL has it:
:class:`~.practice_pair.PracticePair`. Evaluate in the episodic environment, wrapped in :class:`ObserveTask` if practice
was: practice is a way to train, and how often it succeeds is not how well the task is solved from fresh starts.

An environment fits if its infos name the ``task``, "forward" or "backward"; if
``reset(options={"keep_state": True, "task": ...})`` starts that task from the present physical state; and, where a
scene can be spoilt, if its infos say whether it is still ``recoverable``.
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict
from gymnasium.utils import RecordConstructorArgs

from .. import unknown
from .checks import check_whole

Info = dict[str, Any]

TASKS = ("forward", "backward")
ON_FAILURE = ("repeat", "switch")


class AutonomousPractice(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Each reset goes on from where the last episode left the scene; a true one is an intervention, and counted.

    After a success the other task is next; after a failure (the time limit, mostly) the same again, as in SERL, or with
    ``on_failure="switch"`` the other, which may then be done already and succeed at once. A person steps in, that is,
    the environment is truly reset, when the scene is not recoverable, when the physics blew up (``info["unstable"]``),
    or after ``patience`` failed tries in a row. An episode in which the scene is spoilt ends there (``terminated``:
    nothing can be earned in it any more). Where a :class:`~.rewards.classifier_reward.ClassifierReward` inside stands
    for the truth, its claims count as successes here, as on SERL's robots.

    ``info`` holds the ``task``, the ``interventions`` so far, and ``practice_episodes``, how many have begun, this one
    included. The first reset prepares the scene and is no intervention. A reset with a seed starts practice, and its
    counts, anew; one with options is the caller's own and goes to the environment as it is. A reset in the middle of
    an episode goes on with its task. For several scenes at once make a vector of these:
    ``gymnasium.make_vec(env_id, n, "sync", wrappers=[AutonomousPractice])``.

    Args:
        env: a pair of tasks, see the module.
        on_failure: "repeat" the task that failed, or "switch" to the other.
        patience: failed tries in a row after which a person steps in; None for never.

    Raises:
        TypeError: at a reset, when the environment does not name its task.
        ValueError: a bad setting.

    Papers: Luo et al., SERL (2024), whose authors' code alternates on success; Stachowicz et al., FastRLAP (2023),
    where a recovery stands for the reset.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], *, on_failure: str = "repeat", patience: int | None = 10) -> None:
        RecordConstructorArgs.__init__(self, on_failure=on_failure, patience=patience)
        super().__init__(env)
        if on_failure not in ON_FAILURE:
            raise ValueError(unknown("on_failure", on_failure, ON_FAILURE))
        check_whole(patience=1 if patience is None else patience)
        if patience is not None and patience < 1:
            raise ValueError(f"patience is a number of tries, at least 1, or None, got {patience}")
        self.on_failure, self.patience = on_failure, patience
        self._forget()

    def _forget(self) -> None:
        self.interventions = self.practice_episodes = 0
        self.tries: dict[str, int] = dict.fromkeys(TASKS, 0)  # finished ones
        self.successes: dict[str, int] = dict.fromkeys(TASKS, 0)
        self.task = self._next = TASKS[0]
        self._failures = 0  # in a row
        self._begun = self._spoilt = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Starts the next episode of practice; see the class."""
        if seed is not None:
            self._forget()
        if self._begun and not options:
            if self._spoilt or self._failures == self.patience:
                self.interventions += 1
            else:
                options = {"keep_state": True, "task": self._next}
        observation, info = self.env.reset(seed=seed, options=options)
        if not (options or {}).get("keep_state"):
            self._failures, self._spoilt = 0, False
        self.task = self._next = self._named(info)
        self._begun = True
        self.practice_episodes += 1
        return observation, self._told(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps; at an episode's end the next task is chosen."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._spoilt = not info.get("recoverable", True) or info.get("unstable", False)
        terminated = terminated or self._spoilt
        if terminated or truncated:
            self._finish(bool(info.get("claimed_success", info.get("success", False))))
        return observation, reward, terminated, truncated, self._told(info)

    def _finish(self, success: bool) -> None:
        self.tries[self.task] += 1
        self.successes[self.task] += success
        self._failures = 0 if success else self._failures + 1
        if success or self.on_failure == "switch":
            self._next = TASKS[1 - TASKS.index(self.task)]

    def _named(self, info: Info) -> str:
        if info.get("task") not in TASKS:
            raise TypeError(
                f"{self.env.unwrapped} cannot be practised without resets: its infos must name the task, "
                f"{' or '.join(TASKS)}, got {info.get('task')!r}"
            )
        return str(info["task"])

    def _told(self, info: Info) -> Info:
        counts = {"interventions": self.interventions, "practice_episodes": self.practice_episodes}
        return {**info, "task": self.task, **counts}


class ObserveTask(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Shows the task to the agent: a last number, 1 forward and -1 backward; in a Dict, under the name ``task``.

    Put it around :class:`AutonomousPractice` to train one policy for both tasks, and around the episodic environment,
    whose infos name the task just so, to evaluate it.

    Args:
        env: observes a Box of one dimension or a Dict; its infos name the task.

    Raises:
        TypeError: other observations.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        space = env.observation_space
        self._sign = 1.0
        if isinstance(space, Dict):
            self.observation_space = Dict({**space.spaces, "task": Box(-1, 1, (1,), np.float32)})
        elif isinstance(space, Box) and len(space.shape) == 1:
            low, high = (np.append(end, one).astype(space.dtype) for end, one in ((space.low, -1), (space.high, 1)))
            self.observation_space = Box(low, high, dtype=space.dtype.type)
        else:
            raise TypeError(f"a task is added to a Box of one dimension or a Dict, not to {space}")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets; the task stays what it is until the next."""
        observation, info = self.env.reset(seed=seed, options=options)
        if info.get("task") not in TASKS:
            raise TypeError(f"{self.env.unwrapped} does not name its task in its infos, so that it cannot be shown")
        self._sign = 1.0 if info["task"] == TASKS[0] else -1.0
        return self._shown(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._shown(observation), reward, terminated, truncated, info

    def _shown(self, observation: Any) -> Any:
        if isinstance(self.observation_space, Dict):
            return {**observation, "task": np.array([self._sign], np.float32)}
        shown: npt.NDArray[Any] = np.append(observation, self._sign).astype(self.observation_space.dtype)
        return shown
