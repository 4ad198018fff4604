"""SimpleVLA-RL: a policy of action tokens is cloned from few demonstrations, then trained by GRPO on success alone.

Paper: Li et al., SimpleVLA-RL: Scaling VLA Training via Reinforcement Learning (2025). "The authors' code" is
github.com/PRIME-RL/SimpleVLA-RL, which is where values come from; the paper itself was read in summaries alone.
"""

import time
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.utils import safe_mean
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor
from torch.nn.functional import cross_entropy

from ....wrappers.curricula.catalogue import load as load_curriculum
from ...objectives.parts.ops import masked_sum
from ...objectives.registry import load as load_objective
from ..base import ControlAgent, check_step
from ..settings import sb3_keywords, takes
from ..trajectories import SUCCESS
from .action_tokens import ActionTokenPolicy, Episodes, joined, tokens_of
from .chunks import ChunkCloning
from .sources import Source, source_of

Self = TypeVar("Self", bound="SimpleVLARL")
Bools = npt.NDArray[np.bool_]


def seed_next_reset(venv: VecEnv, seeds: list[int]) -> None:
    """Gives each environment its seed of the next reset; SB3's own method gives consecutive ones."""
    base: Any = venv.unwrapped
    if hasattr(base, "seed_envs"):
        base.seed_envs(seeds)
    else:
        base._seeds = list(seeds)


@dataclass(frozen=True)
class SimpleVLASettings:
    """Those of SimpleVLA-RL.

    Args:
        policy: "MlpPolicy"; observations are flat boxes and actions boxes with finite bounds.
        env: to learn in; ``group_size`` divides the number of environments.
        learning_rate: of GRPO, or a function of the remaining progress.
        clone_learning_rate: of cloning.
        bins: that each number of an action is one of.
        chunk_size: actions decided at once.
        group_size: G, episodes that begin alike.
        n_groups: learnt from in an iteration.
        batch_size: episodes of a minibatch, or demonstrated chunks in cloning.
        n_epochs: passes over an iteration's episodes.
        clip_low: how far a ratio may fall below 1.
        clip_high: how far it may rise above 1.
        temperature: of rollouts.
        dynamic_sampling: whether groups that all succeed or all fail are replaced by others.
        oversample_limit: groups sampled, at most, for each of ``n_groups``; an iteration does with those found.
        max_grad_norm: limit of the gradient's norm.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of :class:`~.action_tokens.ActionTokenPolicy`.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the network.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 1e-4
    clone_learning_rate: float = 1e-3
    bins: int = 256
    chunk_size: int = 8
    group_size: int = 8
    n_groups: int = 64
    batch_size: int = 128
    n_epochs: int = 1
    clip_low: float = 0.2
    clip_high: float = 0.28
    temperature: float = 1.6
    dynamic_sampling: bool = True
    oversample_limit: int = 10
    max_grad_norm: float = 1.0
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True


class SimpleVLARL(ChunkCloning, ControlAgent, BaseAlgorithm):
    r"""GRPO over the tokens of whole episodes, whose reward is their outcome, from a cloned policy.

    :meth:`learn_offline` clones demonstrations, by cross-entropy of their tokens. An iteration of :meth:`learn` draws
    groups of G episodes from the same initial state, at temperature T, and maximises

    .. math::
        \frac1B \sum_i \frac1{|a_i|} \sum_t \min(\rho_{it} A_i, clip(\rho_{it}, 1 - \epsilon_{low},
        1 + \epsilon_{high}) A_i), \quad A_i = \frac{R_i - mean(R)}{std(R)}

    over the tokens of the actions that were taken, with R 1 for a success and 0 otherwise, and the ratio
    :math:`\rho` of the distributions at temperature T. There is no critic, no KL penalty and no reference policy. Its
    three means of exploration are dynamic sampling (sampling goes on until ``n_groups`` groups have both successes and
    failures), the higher clip :math:`\epsilon_{high}` and T. The objective is that of language agents ("grpo" in
    :mod:`tiltyard.agents.objectives`), and dynamic sampling their curriculum. Success is ``info["success"]`` or,
    without it, a return above 0.5.

    Departures: networks are small, learn from numbers and at other rates, so a learning rate of 1e-4 stands where the
    authors have 5e-6, of Adam without weight decay; where they sample until a batch is full, ``oversample_limit`` and
    the end of the budget end sampling too; problems come without end, where theirs are a finite set. Steps of
    environments that wait for the last episodes of a round are not counted.

    Raises:
        TypeError: other spaces.
        ValueError: environments that are no groups, or a temperature of 0.
    """

    acts_in = (Box,)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": ActionTokenPolicy}
    settings: SimpleVLASettings
    policy: ActionTokenPolicy

    @takes(SimpleVLASettings)
    def __init__(self, settings: SimpleVLASettings) -> None:
        self.settings = replace(settings, env=None)
        self.chunk_size, self.batch_size = settings.chunk_size, settings.batch_size
        self.demonstrations, self._chunks = None, th.zeros(0, settings.chunk_size, dtype=th.int64)
        super().__init__(**sb3_keywords(BaseAlgorithm, settings, supported_action_spaces=(Box,)))
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        super()._setup_model()
        asked = self.settings
        if self.n_envs % asked.group_size:
            raise ValueError(
                f"group_size divides the number of environments: {self.n_envs} are no groups of {asked.group_size}; "
                "set n_envs or group_size"
            )
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        names = "bins chunk_size temperature clone_learning_rate".split()
        kwargs = {name: getattr(asked, name) for name in names} | self.policy_kwargs
        self.policy = self.policy_class(  # type: ignore[assignment]
            self.observation_space, self.action_space, self.lr_schedule, **kwargs
        ).to(self.device)
        self.objective = load_objective("grpo", clip_low=asked.clip_low, clip_high=asked.clip_high, kl_coef=0.0)
        self.curriculum = load_curriculum("dynamic-sampling" if asked.dynamic_sampling else None)

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds all randomness, that of initial states included."""
        super().set_random_seed(seed)
        self.rng = np.random.default_rng(seed)

    # -- sampling ------------------------------------------------------------------------------------------------

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 1,
        tb_log_name: str = "SimpleVLARL",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """As in SB3; an iteration is a rollout, and its last episodes go on beyond ``total_timesteps``."""
        total, told = self._setup_learn(total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar)
        told.on_training_start(locals(), globals())
        iterations = 0
        while self.num_timesteps < total:
            episodes = self.sample(told)
            if episodes is None:
                break
            self._update_current_progress_remaining(self.num_timesteps, total)
            self.improve(episodes)
            iterations += 1
            if log_interval and iterations % log_interval == 0:
                self.dump_logs()
        told.on_training_end()
        return self

    def sample(self, callback: BaseCallback) -> Episodes | None:
        """The groups of an iteration, fewer or none where a limit ends sampling; None if the callback ends training."""
        asked, per_round = self.settings, self.n_envs // self.settings.group_size
        kept: list[Episodes] = []
        sampled = found = 0
        solved: list[Tensor] = []
        callback.on_rollout_start()
        while found < asked.n_groups and sampled < asked.oversample_limit * asked.n_groups:
            episodes = self._round(callback, self.env, sampled)  # type: ignore[arg-type]
            if episodes is None:
                return None
            sampled += per_round
            solved.append(episodes.reward)
            kept.append(episodes.take(self.curriculum.keep(episodes.rollouts())))
            found += len(kept[-1]) // asked.group_size
            if self.num_timesteps >= self._total_timesteps:
                break
        callback.on_rollout_end()
        self.logger.record("rollout/groups_kept", found / sampled)
        self.logger.record("rollout/success", float(th.cat(solved).mean()))
        return joined(kept).take(slice(0, asked.n_groups * asked.group_size))

    @th.no_grad()
    def _round(self, callback: BaseCallback, env: VecEnv, first: int) -> Episodes | None:
        """An episode in every environment, neighbours from the same state; groups are numbered from ``first``."""
        size = self.settings.group_size
        seed_next_reset(env, self.rng.integers(2**31, size=self.n_envs // size).repeat(size).tolist())
        self._last_obs = env.reset()  # type: ignore[assignment]
        self.policy.set_training_mode(False)
        source, active, returns = source_of(env), np.ones(self.n_envs, np.bool_), np.zeros(self.n_envs)
        success, rows = np.zeros(self.n_envs, np.bool_), []
        while active.any():
            seen = th.as_tensor(np.array(self._last_obs, np.float32), device=self.device)
            tokens = self.policy.drawn(seen)
            used = np.zeros((self.n_envs, self.chunk_size), np.bool_)
            for step, actions in enumerate(self.policy.chunks(tokens).cpu().numpy().swapaxes(0, 1)):
                used[:, step] = active
                if not self._step(callback, source, actions, active, returns, success):
                    return None
            rows.append((seen, tokens, th.as_tensor(used, device=self.device)))
        self._episode_num += self.n_envs
        reward = th.as_tensor(success, dtype=th.float32, device=self.device)
        group = first + th.arange(self.n_envs // size, device=self.device).repeat_interleave(size)
        observations, written, taken = (th.stack(part, dim=1) for part in zip(*rows, strict=True))
        return Episodes(observations, written, taken, reward, group)

    def _step(
        self,
        callback: BaseCallback,
        source: Source,
        actions: npt.NDArray[Any],
        active: Bools,
        returns: npt.NDArray[np.float64],
        success: Bools,
    ) -> bool:
        """Steps all environments, and notes what became of the ``active`` ones; False if the callback says stop."""
        if not active.any():
            return True
        step = source.step(actions)
        check_step(step.observation, step.rewards, step.last.values())
        self._last_obs = step.observation
        self.num_timesteps += int(active.sum())
        returns += step.rewards * active
        ended = active & (step.terminated | step.truncated)
        for index in np.flatnonzero(ended):
            info = step.infos[int(index)]
            success[index] = info.get("is_success", info.get("success", returns[index] > SUCCESS))
        self._update_info_buffer([step.infos.get(i, {}) for i in range(self.n_envs)], ended)
        active &= ~ended
        callback.update_locals(locals())
        return callback.on_step()

    # -- learning ------------------------------------------------------------------------------------------------

    def improve(self, episodes: Episodes) -> None:
        """GRPO's steps on the groups of an iteration; none where there are no groups."""
        if not len(episodes):
            return
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        with th.no_grad():
            before = episodes.policy_out(self.policy).logp
            advantages = self.objective.advantage(episodes.rollouts())
        noted: dict[str, list[float]] = {}
        for _ in range(self.settings.n_epochs):
            for start in range(0, len(episodes), self.batch_size):
                batch = slice(start, start + self.batch_size)
                for name, value in self._minibatch(episodes.take(batch), before[batch], advantages[batch]).items():
                    noted.setdefault(name, []).append(float(value))
                self._n_updates += 1
        for name, values in noted.items():
            self.logger.record(f"train/{name}", float(np.mean(values)))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _minibatch(self, episodes: Episodes, before: Tensor, advantages: Tensor) -> dict[str, Tensor]:
        """A step of the optimiser; the loss and its metrics."""
        policy, rollouts, now = self.policy, episodes.rollouts(before), episodes.policy_out(self.policy)
        per_token, metrics = self.objective.loss(rollouts, advantages, now)
        loss = masked_sum(per_token * self.objective.aggregate(rollouts.mask), rollouts.mask)
        policy.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        th.nn.utils.clip_grad_norm_(policy.parameters(), self.settings.max_grad_norm)
        policy.optimizer.step()
        entropy = now.entropy.detach()[rollouts.mask].mean()
        return {"loss": loss.detach(), "entropy": entropy, **metrics}

    def train(self, gradient_steps: int, batch_size: int | None = None) -> None:
        """So many updates of cloning from the dataset.

        Raises:
            ValueError: there is no dataset.
        """
        self.clone(gradient_steps, batch_size or self.batch_size)

    def clone_loss(self, observations: Tensor, chunks: Tensor) -> Tensor:
        """Mean cross-entropy of the demonstrated tokens, in nats a token, at temperature 1."""
        logits = self.policy.logits(observations)
        return cross_entropy(logits.flatten(0, 2), tokens_of(chunks, self.policy.bins).flatten())

    def dump_logs(self) -> None:
        """Writes what was recorded, with the means of late episodes."""
        seconds = max((time.time_ns() - self.start_time) / 1e9, 1e-9)
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / seconds))
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        if self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([info["r"] for info in self.ep_info_buffer]))
            self.logger.record("rollout/ep_len_mean", safe_mean([info["l"] for info in self.ep_info_buffer]))
        self.logger.dump(step=self.num_timesteps)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer", "policy.clone_optimizer"], []

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_chunks", "rng", "objective", "curriculum"]
