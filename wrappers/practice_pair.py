"""Two agents that practise in one scene: a policy, a replay buffer and a reward for each task, as SERL has it.

    practice = AutonomousPractice(gymnasium.make("tiltyard/ObjectRelocation-v0"))
    pair = PracticePair(practice)
    forward = agents.make("serl", pair.forward, seed=0)
    backward = agents.make("serl", pair.backward, seed=1)
    pair.learn(forward, backward, total_timesteps=40_000)

To each agent, its side of the pair is an ordinary environment in which only its own task is ever asked; while the other
agent practises, it waits in ``reset``. Any Stable-Baselines3 agent will do, wrapped in whatever it needs.
"""

from queue import SimpleQueue
from threading import Thread
from typing import Any

import gymnasium
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ConvertCallback
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.vec_env import VecEnv

from .practice import TASKS, AutonomousPractice

Info = dict[str, Any]
Request = tuple[str, Any]


class Side(gymnasium.Env[Any, Any]):
    """One task of a :class:`PracticePair` as an environment of its own; steps only inside :meth:`PracticePair.learn`.

    Args:
        practice: the shared scene.
        task: the one that is asked here.
    """

    def __init__(self, practice: gymnasium.Env[Any, Any], task: str) -> None:
        self.task = task
        self.observation_space, self.action_space = practice.observation_space, practice.action_space
        self.metadata, self.spec, self.render_mode = practice.metadata, practice.spec, practice.render_mode
        self.learning = False
        self.still = False  # whether the last step was answered without one of the scene
        self._requests: SimpleQueue[Request] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._heard: Request | None = None  # and not yet answered

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Waits for the next episode of this side's task; ``seed`` prepares the scene if this is its first."""
        super().reset(seed=seed)
        begun: tuple[Any, Info] = self._ask("reset", seed)
        return begun

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps the scene."""
        step: tuple[Any, Any, bool, bool, Info] = self._ask("step", action)
        return step

    def _ask(self, kind: str, what: Any) -> Any:
        if not self.learning:
            raise RuntimeError("a side of a PracticePair steps only while PracticePair.learn trains both agents")
        self._requests.put((kind, what))
        return self._answers.get()

    def leave(self, error: BaseException | None) -> None:
        """The agent's last word: it has finished, or failed."""
        self._requests.put(("left", error))

    def heard(self) -> Request:
        """What the agent asks, which is at work until it does."""
        if self._heard is None:
            self._heard = self._requests.get()
        return self._heard

    def forget(self) -> None:
        """Drops what was heard, ready for another training."""
        self._heard = None

    def answer(self, what: Any) -> None:
        """Answers the agent, which goes to work."""
        self._heard = None
        self._answers.put(what)


class PracticePair:
    """A forward and a backward agent in one scene; see the module.

    The scene is stepped by the thread that called :meth:`learn` (renderers insist on one), each agent learns in a
    thread of its own, and only one of the three is ever at work: the same seeds give the same agents.

    Args:
        practice: an :class:`~.practice.AutonomousPractice`, or wrappers around one.

    Raises:
        TypeError: there is no :class:`~.practice.AutonomousPractice` in it.
    """

    def __init__(self, practice: gymnasium.Env[Any, Any]) -> None:
        layer = practice
        while isinstance(layer, gymnasium.Wrapper) and not isinstance(layer, AutonomousPractice):
            layer = layer.env
        if not isinstance(layer, AutonomousPractice):
            raise TypeError("a PracticePair shares a scene without resets: wrap it in AutonomousPractice first")
        self.practice, self.counts = practice, layer
        self.forward, self.backward = (Side(practice, task) for task in TASKS)
        self.finished = False
        self._sides = {side.task: side for side in (self.forward, self.backward)}
        self._steps_left = 0
        self._seen: Any = None

    def learn(
        self,
        forward: BaseAlgorithm,
        backward: BaseAlgorithm,
        total_timesteps: int,
        *,
        callbacks: tuple[MaybeCallback, MaybeCallback] = (None, None),
        reset_num_timesteps: bool = True,
    ) -> "PracticePair":
        """Trains both agents for ``total_timesteps`` steps of the scene, which they share out as their tasks come.

        The seed of the forward agent prepares the scene. Afterwards :attr:`counts` has interventions, tries and
        successes. Training ends early when a callback of either agent ends its own.

        Args:
            forward: trains on :attr:`forward`.
            backward: trains on :attr:`backward`.
            total_timesteps: of both together, which the schedules of each go by.
            callbacks: SB3's, of the forward and of the backward agent.
            reset_num_timesteps: see SB3.

        Raises:
            ValueError: an agent that trains on something else, or on several environments; no steps.
        """
        if total_timesteps < 1:
            raise ValueError(f"total_timesteps is at least 1, got {total_timesteps}")
        self.finished, self._steps_left = False, total_timesteps
        threads = []
        for side, agent, callback in zip(self._sides.values(), (forward, backward), callbacks, strict=True):
            env = _trained_on(agent, side)
            agent.set_env(env)  # which makes it begin with a reset
            every = CallbackList([_Until(self, side), *_callbacks(callback)])
            threads.append(Thread(target=_train, args=(side, agent, total_timesteps, every, reset_num_timesteps)))
        try:
            for side, thread in zip(self._sides.values(), threads, strict=True):
                side.learning = True
                thread.start()
                self._hear(side)  # one after the other: both are set up before the scene moves
            self._run()
        finally:
            errors = self._release()
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
        if errors:
            raise errors[0]
        return self

    def _run(self) -> None:
        seed = self.forward.heard()[1]
        while not self.finished:
            self._seen, info = self.practice.reset(seed=seed)
            seed = None
            self._episode(self._sides[info["task"]], info)

    def _episode(self, side: Side, info: Info) -> None:
        """Steps the scene as one agent asks until its episode, or the training of both, is over."""
        side.answer((self._seen, info))
        ended = False
        while not (ended or self.finished):
            kind, action = self._hear(side)
            if kind == "left":
                self.finished = True
                return
            step = self.practice.step(action)
            self._seen, ended = step[0], step[2] or step[3]
            self._steps_left -= 1
            self.finished = self._steps_left == 0
            side.answer(step)
        self._hear(side)  # it works on what it has seen before the other's turn comes

    @staticmethod
    def _hear(side: Side) -> Request:
        kind, what = side.heard()
        if kind == "left" and what is not None:
            raise what
        return kind, what

    def _release(self) -> list[BaseException]:
        """Lets agents that wait for the scene finish: their callbacks end the training, and the scene stays still."""
        self.finished = True
        errors = []
        for side in self._sides.values():
            while side.learning:
                kind, what = side.heard()
                side.learning = kind != "left"
                side.still = kind == "step"
                if side.learning:
                    side.answer((self._seen, {}) if kind == "reset" else (self._seen, 0.0, False, False, {}))
                elif what is not None:
                    errors.append(what)
            side.forget()
        return errors


def _train(side: Side, agent: BaseAlgorithm, total_timesteps: int, callback: BaseCallback, anew: bool) -> None:
    """What an agent's thread does."""
    try:
        agent.learn(total_timesteps, callback=callback, reset_num_timesteps=anew)
    except BaseException as error:  # told to the thread that waits for this one, which raises it
        side.leave(error)
    else:
        side.leave(None)


class _Until(BaseCallback):
    """Ends an agent's training when the pair's is over; SB3 does not store the step at which it does.

    It is not counted either, where the agent was waiting for its turn and the scene stood still.
    """

    def __init__(self, pair: PracticePair, side: Side) -> None:
        super().__init__()
        self._pair, self._side = pair, side

    def _on_step(self) -> bool:
        if self._side.still:
            self._side.still = False
            self.model.num_timesteps -= 1
            self.num_timesteps = self.model.num_timesteps
        return not self._pair.finished


def _callbacks(given: MaybeCallback) -> list[BaseCallback]:
    if given is None:
        return []
    if isinstance(given, list):
        return given
    return [given if isinstance(given, BaseCallback) else ConvertCallback(given)]


def _trained_on(agent: BaseAlgorithm, side: Side) -> VecEnv:
    env = agent.get_env()
    envs = [] if env is None else getattr(env.unwrapped, "envs", [])
    if env is None or len(envs) != 1 or envs[0].unwrapped is not side:
        raise ValueError(f"the {side.task} agent must train on this pair's `{side.task}`, and on nothing else")
    return env
