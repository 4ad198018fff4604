"""What agents share that learn from whole episodes of a phone in numbers: collecting, keeping, cloning, saving."""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import MultiDiscrete
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.utils import configure_logger, safe_mean, update_learning_rate
from torch import Tensor

from ...envs.gui import elements
from ..settings import check_taught
from .base import ControlAgent
from .elements_policy import ElementsPolicy
from .evaluator import Evaluator, made
from .offline import check_updates
from .settings import sb3_keywords
from .trajectories import Pool, Running, Trajectory, read

Self = TypeVar("Self", bound="TrajectoryAgent")
Data = "MinariDataset | str | Sequence[Trajectory]"
CHUNK = 1024  # observations evaluated at once
PARTS = 4  # of a batch, by size


@dataclass(frozen=True)
class TrajectorySettings:
    """What all agents take that learn from whole episodes.

    Args:
        policy: "ElementsPolicy".
        env: a phone with ``observation="elements"``, or its id.
        learning_rate: of the actor.
        rollouts: episodes between updates.
        actor_updates: of the actor after them.
        batch_size: steps an update.
        buffer_size: steps of episodes kept; the oldest episodes go first.
        evaluator: what says whether an episode of its own was a success: None, the environment; see
            :func:`.evaluator.made`.
        max_grad_norm: at which gradients are clipped.
        policy_kwargs: of :class:`~.elements_policy.ElementsPolicy`.
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
    rollouts: int = 16
    actor_updates: int = 20
    batch_size: int = 128
    buffer_size: int = 20_000
    evaluator: Mapping[str, Any] | Evaluator | None = None
    max_grad_norm: float = 1.0
    policy_kwargs: dict[str, Any] | None = None
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True


class TrajectoryAgent(ControlAgent, BaseAlgorithm):
    """Collects whole episodes, keeps them, and updates its policy after every few; a method adds :meth:`improve`.

    Episodes that other policies recorded are taken in by :meth:`learn_offline`; what :meth:`learn` collects later is
    added to them. :meth:`clone` imitates data as they are, which is what published agents begin from.

    >>> agent = tiltyard.agents.make("digirl", "tiltyard/Phone-v0")                            # doctest: +SKIP
    >>> agent.clone("tiltyard/phone/noisy-v0", 500).learn_offline(own, 200).learn(20_000)      # doctest: +SKIP
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"ElementsPolicy": ElementsPolicy}
    acts_in = (MultiDiscrete,)
    critic_names: ClassVar[tuple[str, ...]] = ()
    """Attributes that are networks with an ``optimizer``, beside the policy."""
    settings: TrajectorySettings
    policy: ElementsPolicy

    def construct(self, settings: TrajectorySettings) -> None:
        """What every constructor does with its settings."""
        self.settings = replace(settings, env=None)
        super().__init__(**sb3_keywords(BaseAlgorithm, settings, supported_action_spaces=(MultiDiscrete,)))
        self.kept: deque[Trajectory] = deque()
        self._running: list[Running] = []
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        super()._setup_model()
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        self.policy = self.policy_class(
            self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs
        ).to(self.device)  # type: ignore[assignment]
        self.build_critics()

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds all randomness, that of batches included."""
        super().set_random_seed(seed)
        self.rng = np.random.default_rng(seed)
        self.evaluator = made(self.settings.evaluator, seed)

    def build_critics(self) -> None:  # noqa: B027 (cloning has none)
        """Makes the networks of :attr:`critic_names`."""

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names = [name for critic in self.critic_names for name in (critic, f"{critic}.optimizer")]
        return ["policy", "policy.optimizer", *names], []

    @abstractmethod
    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """Updates everything, the actor this often, from all that is kept; what to log.

        Args:
            pool: the episodes.
            updates: of the actor.
            offline: whether these are data of other policies alone.
        """

    # -- learning ------------------------------------------------------------------------------------------------

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 1,
        tb_log_name: str = "trajectories",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Takes at least ``total_timesteps`` steps, and updates after every ``rollouts`` episodes.

        Args:
            total_timesteps: of all environments together.
            callback: SB3's; it may end the training.
            log_interval: updates between lines of the log; 0 or None for no logs.
            tb_log_name: of the run, for tensorboard.
            reset_num_timesteps: False to go on counting.
            progress_bar: show one.
        """
        check_taught(self)
        fresh = reset_num_timesteps or self._last_obs is None
        total_timesteps, told = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        if fresh or len(self._running) != self.n_envs:
            self._running = [Running(one) for one in self._each(self._last_obs)]
        told.on_training_start(locals(), globals())
        rounds = 0
        while self.num_timesteps < total_timesteps:
            found = self.collect(told, total_timesteps)
            if found is None:
                break
            self._update_current_progress_remaining(self.num_timesteps, total_timesteps)
            if found:
                self.keep(found)
                self._log(self.improve(self.pool(), self.settings.actor_updates, offline=False))
                rounds += 1
            if log_interval and rounds % log_interval == 0:
                self.dump_logs()
        told.on_training_end()
        return self

    def learn_offline(
        self: Self,
        dataset: Any,
        gradient_steps: int,
        *,
        callback: MaybeCallback = None,
        tb_log_name: str = "offline",
    ) -> Self:
        """Learns from recorded episodes, without an environment's step, and keeps them for :meth:`learn`.

        Args:
            dataset: a Minari dataset or the id of a local one, or trajectories.
            gradient_steps: updates of the actor; 0 only takes the data in.
            callback: SB3's, called once, at the end.
            tb_log_name: of the log.

        Raises:
            FileNotFoundError: no such dataset.
            ValueError: it does not fit this agent, or there is nothing in it; nothing has changed.
        """
        gradient_steps = check_updates(gradient_steps)
        found = self.read(dataset)
        self._ready(tb_log_name)
        self.keep(found)
        if gradient_steps:
            self.warn_of_new_optimizers()
            self._log(self.improve(self.pool(), gradient_steps, offline=True))
        if callback is not None:
            self._init_callback(callback).on_step()
        return self

    def clone(self: Self, dataset: Any, gradient_steps: int) -> Self:
        """Behaviour cloning of all recorded episodes, good or bad; keeps none of them.

        Raises:
            FileNotFoundError, ValueError: as :meth:`learn_offline`.
        """
        gradient_steps = check_updates(gradient_steps)
        pool = Pool(self.read(dataset))
        self._ready("clone")
        if gradient_steps:
            self.warn_of_new_optimizers()
        self._log({"clone_loss": self.imitate(pool, np.arange(len(pool)), gradient_steps)})
        return self

    def read(self, dataset: Any) -> list[Trajectory]:
        """Recorded episodes with each action in its canonical form."""
        found = read(dataset, self.observation_space, self.action_space)
        return [
            replace(
                one,
                actions=elements.canonical(
                    one.actions, one.observations["elements"][:-1], one.observations["goal"][:-1]
                ),
            )
            for one in found
        ]

    def keep(self, found: Sequence[Trajectory]) -> None:
        """Adds episodes to those kept; the oldest go as these become too many."""
        self.kept.extend(found)
        steps = sum(map(len, self.kept))
        while len(self.kept) > 1 and steps - len(self.kept[0]) >= self.settings.buffer_size:
            steps -= len(self.kept.popleft())

    def pool(self) -> Pool:
        """All that is kept.

        Raises:
            ValueError: nothing is.
        """
        return Pool(list(self.kept))

    def imitate(
        self,
        pool: Pool,
        steps: npt.NDArray[np.int64],
        updates: int,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> float:
        r"""Maximum likelihood of the actions at some steps, :math:`-E[w \log \pi(a|s)]`; the mean loss of the updates.

        Args:
            pool: of which they are.
            steps: drawn from, evenly.
            updates: of the actor.
            weights: of each of ``steps``; 1 if there are none.
        """
        if not len(steps) or not updates:
            return float("nan")
        self.policy.set_training_mode(True)
        update_learning_rate(self.policy.optimizer, self.lr_schedule(self._current_progress_remaining))
        losses = []
        for _ in range(updates):
            drawn = self.rng.integers(len(steps), size=self.settings.batch_size)
            losses.append(self.minimise(self.policy, self._losses(pool, steps, drawn, weights)))
        self._n_updates += updates
        return float(np.mean(losses))

    def _losses(
        self,
        pool: Pool,
        steps: npt.NDArray[np.int64],
        drawn: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float64] | None,
    ) -> Iterator[Tensor]:
        """The parts of a batch's loss."""
        for places in pool.alike(steps[drawn], PARTS):
            some = steps[drawn[places]]
            log_prob = self.policy.distribution(pool.observations(some, self.device)).log_prob(
                pool.taken(some, self.device)
            )
            if weights is not None:
                log_prob = th.as_tensor(weights[drawn[places]], dtype=th.float32, device=self.device) * log_prob
            yield -log_prob.sum() / len(drawn)

    def minimise(self, network: Any, losses: Tensor | Iterable[Tensor]) -> float:
        """One step of a network's optimiser on a loss, or on the sum of several parts of one; the loss."""
        network.optimizer.zero_grad()
        total = 0.0
        for loss in (losses,) if isinstance(losses, Tensor) else losses:
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
        th.nn.utils.clip_grad_norm_(network.parameters(), self.settings.max_grad_norm)
        network.optimizer.step()
        return total

    # -- collecting ----------------------------------------------------------------------------------------------

    def collect(self, callback: BaseCallback, until: int) -> list[Trajectory] | None:
        """Acts until ``rollouts`` episodes have ended, or for ``until`` steps in all; None if the callback says stop.

        Episodes still under way go on in the next call, so that short ones are no likelier to be learnt from.
        """
        assert self.env is not None
        found: list[Trajectory] = []
        callback.on_rollout_start()
        self.policy.set_training_mode(False)
        while len(found) < self.settings.rollouts and self.num_timesteps < until:
            actions, _ = self.policy.predict(self._last_obs, deterministic=False)  # type: ignore[arg-type]
            new_obs, rewards, dones, infos = self.env.step(actions)
            self.num_timesteps += self.n_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return None
            self._update_info_buffer(infos, dones)
            self._last_obs = new_obs  # type: ignore[assignment]
            found += self._taken_down(actions, rewards, dones, infos)
        callback.on_rollout_end()
        return found

    def _taken_down(self, actions: Any, rewards: Any, dones: Any, infos: list[dict[str, Any]]) -> list[Trajectory]:
        found, after = [], self._each(self._last_obs)
        for i, running in enumerate(self._running):
            running.add(actions[i], rewards[i], infos[i]["terminal_observation"] if dones[i] else after[i])
            if dones[i]:
                cut = bool(infos[i].get("TimeLimit.truncated", False))
                one = running.ended(terminated=not cut, success=infos[i].get("is_success"))
                found.append(replace(one, success=bool(self.evaluator.judge(one))))
                self._running[i] = Running(after[i])
        self._episode_num += len(found)
        return found

    def _each(self, observations: Any) -> list[dict[str, Any]]:
        return [{name: np.array(part[i]) for name, part in observations.items()} for i in range(self.n_envs)]

    # -- logs ----------------------------------------------------------------------------------------------------

    def _ready(self, tb_log_name: str) -> None:
        if not self._custom_logger and not hasattr(self, "_logger"):
            self._logger = configure_logger(self.verbose, self.tensorboard_log, tb_log_name, False)

    def _log(self, found: dict[str, float]) -> None:
        for name, value in found.items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def dump_logs(self) -> None:
        """Writes what was recorded, with the means of late episodes."""
        seconds = max((time.time_ns() - self.start_time) / 1e9, 1e-9)
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / seconds))
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        if self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([info["r"] for info in self.ep_info_buffer]))
            self.logger.record("rollout/ep_len_mean", safe_mean([info["l"] for info in self.ep_info_buffer]))
        if self.ep_success_buffer:
            self.logger.record("rollout/success_rate", safe_mean(self.ep_success_buffer))
        self.logger.dump(step=self.num_timesteps)
