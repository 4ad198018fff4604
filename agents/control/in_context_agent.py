"""Agents that learn in context: pretrained on transitions of many tasks, they act in new ones without an update."""

import time
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Discrete
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.utils import check_for_correct_spaces, safe_mean, update_learning_rate
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor
from torch.nn import functional as F

from ... import unknown
from ..models.in_context import Context
from .base import ControlAgent, check_rewards
from .dpt_policy import ArmPolicy, DPTPolicy, Memory
from .dpt_tasks import Batch, Ints, Player, Task, episode, side_by_side
from .settings import sb3_keywords

Self = TypeVar("Self", bound="InContextAgent")
Append = Literal["step", "episode"]


class Deployment(NamedTuple):
    """Actions and rewards of a deployment in B tasks for T steps.

    Attributes:
        actions: ``[B, T]`` counted from 0.
        rewards: ``[B, T]``.
        valid: ``[B, T]`` bool, False where a task's episode had ended before the others'.
        context: what was known at the end: the context given, and behind it the transitions met.
    """

    actions: npt.NDArray[np.int64]
    rewards: npt.NDArray[np.float32]
    valid: npt.NDArray[np.bool_]
    context: Context


@dataclass(frozen=True)
class InContextSettings:
    """Those of all agents that learn in context.

    Args:
        policy: "MlpPolicy" or "DPTPolicy", which are the same; "ArmPolicy" where observations list the features of each
            action (:class:`~.dpt_policy.ArmPolicy`); or a class of such.
        env: the family of tasks, or its id: each seed of a reset names a task, and ``expert()`` its optimal actions.
        learning_rate: of AdamW.
        context_length: transitions of a task that are kept, and the most that are looked at.
        episodes_per_task: played of each problem in pretraining.
        batch_size: tasks an update.
        queries_per_task: of each in a batch.
        gradient_steps: updates after each round of one task an environment; -1 for as many as environments.
        buffer_size: tasks kept; the oldest go first.
        max_grad_norm: at which gradients are clipped.
        policy_kwargs: ``width``, ``depth``, ``heads`` and ``weight_decay``.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 1e-3
    context_length: int = 100
    episodes_per_task: int = 1
    batch_size: int = 64
    queries_per_task: int = 16
    gradient_steps: int = 1
    buffer_size: int = 10_000
    max_grad_norm: float = 1.0
    policy_kwargs: dict[str, Any] | None = None
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True


class InContextAgent(ControlAgent, BaseAlgorithm):
    r"""What such agents have in common; each says who plays, what is kept and how it is asked.

    In pretraining a task is a problem of the environment, that is, a seed of its reset. Several episodes of a task are
    resets with the same seed, so that an environment whose rewards are noisy needs one long episode a task, or its
    noise would repeat. Deployed (:meth:`deploy`), actions are sampled given what the agent has met in the task.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": DPTPolicy,
        "DPTPolicy": DPTPolicy,
        "ArmPolicy": ArmPolicy,
    }
    acts_in = (Discrete,)
    numbered_from_0 = False
    counters = (*ControlAgent.counters, "rounds")
    settings: InContextSettings
    policy: DPTPolicy

    def __init__(self, settings: InContextSettings) -> None:
        self.settings = replace(settings, env=None)
        super().__init__(**sb3_keywords(BaseAlgorithm, settings, supported_action_spaces=(Discrete,)))
        self.batch_size, self.gradient_steps = settings.batch_size, settings.gradient_steps
        self.tasks: list[Task] = []
        self.rounds = 0
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        super()._setup_model()
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        policy = self.policy_class(self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs)
        self.policy = policy.to(self.device)  # type: ignore[assignment]

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds all randomness, that of tasks and batches included."""
        super().set_random_seed(seed)
        self._entropy = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        self.rng = np.random.default_rng([self._entropy, self.rounds])

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer"], []

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "tasks", "rng"]

    # -- what each of them is -----------------------------------------------------------------------------------------

    @abstractmethod
    def player(self, env: VecEnv) -> Player:
        """Who plays one task in every environment, and what it teaches.

        Raises:
            TypeError: an environment that lacks what this needs.
        """

    @abstractmethod
    def keep(self, context: Context, labels: Ints) -> list[Task]:
        """What is kept of tasks: ``context`` of all transitions, and in each one's state the label ``[B, n]``."""

    @abstractmethod
    def batch(self, tasks: list[Task]) -> Batch:
        """What the loss is of."""

    # -- pretraining -----------------------------------------------------------------------------------------------

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 10,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Plays tasks for at least ``total_timesteps`` steps, and learns from them after each round.

        Args:
            total_timesteps: of all environments together; the last round is cut off there.
            callback: SB3's; it may end the training.
            log_interval: rounds between lines of the log; 0 or None for no logs.
            tb_log_name: of the run, for tensorboard; the class's if None.
            reset_num_timesteps: False to go on counting.
            progress_bar: show one.

        Raises:
            TypeError: an environment without an expert.
        """
        name = tb_log_name or type(self).__name__.lower()
        total, told = self._setup_learn(total_timesteps, callback, reset_num_timesteps, name, progress_bar)
        told.on_training_start(locals(), globals())
        rounds = 0
        while self.num_timesteps < total and self.collect(told, total):
            self._update_current_progress_remaining(self.num_timesteps, total)
            self.train(self.gradient_steps, self.batch_size)
            rounds += 1
            if log_interval and rounds % log_interval == 0:
                self.dump_logs()
        told.on_training_end()
        return self

    def collect(self, callback: BaseCallback, until: int) -> bool:
        """Plays one task in every environment, and keeps them; False if the callback says stop.

        Args:
            callback: called at every step.
            until: steps in all, at which the tasks are cut off.
        """
        env, asked = self.get_env(), self.settings
        assert env is not None
        self.rng = np.random.default_rng([self._entropy, self.rounds])
        self.rounds += 1
        seed, n = int(self.rng.integers(2**31 - env.num_envs)), env.num_envs
        play, columns = self.player(env), list[Context]()
        labels: list[Ints] = []

        def act(seen: Any) -> Ints:
            actions, label = play(seen, columns)
            labels.append(label)
            return actions

        callback.on_rollout_start()
        for step in (step for _ in range(asked.episodes_per_task) for step in episode(env, seed, act)):
            check_rewards(step.rewards)
            columns.append(step.transitions)
            self.num_timesteps += n
            self._update_info_buffer(step.infos, step.dones & step.transitions.valid[:, 0])
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            if self.num_timesteps >= until:
                break
        callback.on_rollout_end()
        self.tasks += self.keep(side_by_side(columns), np.stack(labels, axis=1))
        del self.tasks[: -asked.buffer_size]
        return True

    def train(self, gradient_steps: int, batch_size: int) -> None:
        """Updates on tasks that are kept; see the class.

        Args:
            gradient_steps: updates; -1 for as many as environments.
            batch_size: tasks of each.

        Raises:
            ValueError: no task is kept.
        """
        if not self.tasks:
            raise ValueError("there are no tasks to learn from yet: learn() plays them")
        update_learning_rate(self.policy.optimizer, self.lr_schedule(self._current_progress_remaining))
        self.logger.record("train/learning_rate", self.lr_schedule(self._current_progress_remaining))
        self.policy.set_training_mode(True)
        steps = self.n_envs if gradient_steps < 0 else gradient_steps
        losses = []
        for _ in range(steps):
            some = [self.tasks[i] for i in self.rng.integers(len(self.tasks), size=batch_size)]
            loss = self.loss(self.batch(some))
            self.policy.optimizer.zero_grad()
            th.autograd.backward(loss)
            th.nn.utils.clip_grad_norm_(self.policy.parameters(), self.settings.max_grad_norm)
            self.policy.optimizer.step()
            losses.append(float(loss.detach()))
        self._n_updates += steps
        if losses:
            self.logger.record("train/loss", float(np.mean(losses)))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def loss(self, batch: Batch) -> Tensor:
        r""":math:`-\log M_\theta(a \mid s, D)` of the labels a, mean over queries and tasks."""
        logits = self.policy.logits(batch.queries, batch.context, batch.seen)
        return F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten().to(self.device))

    def dump_logs(self) -> None:
        """Writes what was recorded, with the means of late episodes of the behaviour policy."""
        seconds = max((time.time_ns() - self.start_time) / 1e9, 1e-9)
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / seconds))
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        if self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([info["r"] for info in self.ep_info_buffer]))
        self.logger.dump(step=self.num_timesteps)

    # -- deployment ------------------------------------------------------------------------------------------------

    @th.no_grad()
    def deploy(
        self,
        env: Any = None,
        episodes: int = 1,
        *,
        seed: int,
        context: Context | None = None,
        deterministic: bool = False,
        append: Append = "step",
    ) -> Deployment:
        """Acts in a task of each environment, and appends what it meets to what it knows; no weight changes.

        Args:
            env: any environment with the agent's spaces; its own if None.
            episodes: of each task.
            seed: names the tasks: environment i has the problem of ``seed + i``, in every episode.
            context: what is known in the beginning; nothing if None.
            deterministic: take the likeliest action instead of a sample.
            append: after each "step", or, as in the paper's algorithm 1, after each "episode".

        Raises:
            TypeError, ValueError: an environment of other spaces, a context of other tasks, or another ``append``.
        """
        if append not in ("step", "episode"):
            raise ValueError(unknown("append", append, ("step", "episode")))
        if episodes < 1:
            raise ValueError(f"episodes must be at least 1, got {episodes}")
        tasks = self.get_env() if env is None else self._wrap_env(env)
        if tasks is None:
            raise ValueError("this agent was loaded without an environment: give deploy() one")
        check_for_correct_spaces(tasks, self.observation_space, self.action_space)
        self.policy.set_training_mode(False)
        n, width = tasks.num_envs, self.policy.observation_size
        known = Context.empty(n, width) if context is None else self.policy.check(context, n)
        memory = Memory(self.policy, known, self.settings.context_length)
        met = Context.empty(n, width)

        def act(seen: Any) -> Ints:
            chosen = self.policy.chosen(memory.logits(seen.reshape(n, width)), deterministic)
            return chosen - int(self.policy.action_space.start)

        for _ in range(episodes):
            new = Context.empty(n, width)
            for step in episode(tasks, seed, act):
                new = new.joined(step.transitions)
                if append == "step":
                    memory.add(step.transitions)
            if append == "episode":
                memory.add(new)
            met = met.joined(new)
        return Deployment(met.actions, met.rewards, met.valid, memory.context)
