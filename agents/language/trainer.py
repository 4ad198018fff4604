"""Policy-gradient training of a language model that acts in a text environment, with Stable-Baselines3's API."""

import time
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.utils import safe_mean, update_learning_rate
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from torch import Tensor

from ... import unknown
from ...wrappers.curricula.catalogue import load as load_curriculum
from ...wrappers.guidance.catalogue import load as load_guidance
from ...wrappers.rewards.catalogue import load as load_reward
from ...wrappers.seams import Choice, Curriculum, Guidance, Reward
from ...wrappers.spaces import sb3_env, to_sb3
from ..checkpoint import SafeCheckpoint
from ..objectives.advantages.gae import raw_gae
from ..objectives.ops import group_std, masked_mean
from ..objectives.registry import Objective
from .collect import Collector, StopTraining, by_turns, fill
from .critic import RATE, Critic
from .experts import with_experts
from .methods import objective_of
from .policy import TextPolicy
from .pretrained import PRETRAINED
from .rollouts import Rollouts
from .tracker import Tracker
from .transformer import SIZES
from .update import imitation_step, logp_of, minibatches, policy_gradient_step, reference_logp, vocabulary_means
from .warm_start import demonstration_batches, warm_start_rate

Self = TypeVar("Self", bound="PolicyGradient")


class PolicyGradient(SafeCheckpoint, BaseAlgorithm):
    """Trains a transformer on one-turn text tasks: a supervised warm start, then groups of answers and their rewards.

    One iteration samples ``prompts_per_batch`` problems of the train split from the agent's own seed, answers each
    ``group_size`` times, and takes ``n_epochs`` passes of gradient steps on the method's loss. A method is five parts:
    ``method`` names the advantage and the loss, and there are ``curriculum``, ``guidance`` and ``rewards``. What the
    method needs besides answers (a critic, greedy answers, a reference, ...) is made here.

    ``total_timesteps`` counts answers graded by the environment, those to problems that a curriculum threw away, to
    hinted prompts and the greedy ones of ``"remax"`` included. Demonstrations of the warm start are not; with
    ``method="sft"``, which only goes on learning from demonstrations, each demonstration counts as one.

    Args:
        policy: ``"transformer-1m"`` and the other sizes start from nothing; ``"countdown-warm"`` ships with weights.
        env: a one-turn text environment: its id (an iteration's answers are lanes then), a ``VecEnv`` of strings
            (``sb3_env(..., strings=True)``), a Gymnasium vector or a single environment.
        method: a handle of :data:`tiltyard.agents.objectives.catalogue.ROWS`, or ``"sft"``.
        curriculum: which problems to learn from (a name, ``{"name": ..., parameters}`` or an object; None: uniform).
        guidance: what the policy is told beyond the question (likewise; None: nothing).
        rewards: how rewards are shaped (likewise; None: not at all).
        method_kwargs: other parameters of the method, such as ``{"scale": False}``.
        group_size: answers to each problem.
        prompts_per_batch: problems an iteration.
        batch_size: answers a gradient step (None: all of an iteration's; with ``"sft"``, demonstrations a step).
        n_epochs: passes over an iteration's answers.
        learning_rate: of Adam; a number or a schedule of the remaining progress (1 to 0).
        clip_low: how far a probability ratio may fall (None: as the method's row says).
        clip_high: how far it may rise (likewise).
        kl_coef: weight of the KL penalty towards the policy as it was when training began (likewise).
        ent_coef: weight of an entropy bonus.
        temperature: of sampling.
        top_k: sample among the k likeliest tokens only (0: all).
        top_p: sample among the likeliest tokens of this total probability (1: all).
        max_answer_tokens: an answer ends here at the latest.
        max_grad_norm: gradients are scaled down to this norm.
        warm_start_steps: gradient steps on demonstrations before the first iteration.
        warm_start_noise: share of demonstrations that mislead: they look like the expert's, and end in a wrong answer.
        warm_start_batch_size: demonstrations a step.
        warm_start_learning_rate: its peak.
        stats_window_size: episodes over which logged rewards are averaged.
        tensorboard_log: folder for TensorBoard (None: none).
        verbose: 0 silent, 1 logs to the terminal.
        seed: of weights, problems and answers.
        device: "auto", "cpu" or "cuda".

    Paper: the default method is GRPO, DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language
    Models (2024), sec. 4.1, with its outcome supervision.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = dict.fromkeys([*SIZES, *PRETRAINED], TextPolicy)
    counters: ClassVar[tuple[str, ...]] = (*SafeCheckpoint.counters, "warm_started")
    policy: TextPolicy

    def __init__(
        self,
        policy: str = "transformer-1m",
        env: Any = None,
        *,
        method: str = "grpo",
        curriculum: Choice | Curriculum = None,
        guidance: Choice | Guidance = None,
        rewards: Choice | Reward = None,
        method_kwargs: Mapping[str, Any] | None = None,
        group_size: int = 8,
        prompts_per_batch: int = 16,
        batch_size: int | None = None,
        n_epochs: int = 1,
        learning_rate: float | Schedule = 1e-4,
        clip_low: float | None = None,
        clip_high: float | None = None,
        kl_coef: float | None = None,
        ent_coef: float = 0.0,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        max_answer_tokens: int = 128,
        max_grad_norm: float = 1.0,
        warm_start_steps: int = 0,
        warm_start_noise: float = 0.0,
        warm_start_batch_size: int = 32,
        warm_start_learning_rate: float = 2e-3,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: torch.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        if policy not in self.policy_aliases:
            raise ValueError(unknown("policy", policy, self.policy_aliases))
        if min(group_size, prompts_per_batch, n_epochs) < 1:
            raise ValueError("group_size, prompts_per_batch and n_epochs must be at least 1")
        if isinstance(env, str):
            env = sb3_env(env, group_size * prompts_per_batch, seed=seed, strings=True)
        super().__init__(
            policy,
            env,
            learning_rate,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            verbose=verbose,
            device=device,
            support_multi_env=True,
            seed=seed,
        )
        self.policy_name, self.method = policy, method
        given = {"clip_low": clip_low, "clip_high": clip_high, "kl_coef": kl_coef}
        given = {name: value for name, value in given.items() if value is not None} | dict(method_kwargs or {})
        self.objective = objective_of(method, given, group_size=group_size)
        self.curriculum, self.guidance = load_curriculum(curriculum), load_guidance(guidance)
        self.rewards = load_reward(rewards)
        self.group_size, self.prompts_per_batch, self.batch_size = group_size, prompts_per_batch, batch_size
        self.n_epochs, self.ent_coef, self.max_grad_norm = n_epochs, ent_coef, max_grad_norm
        self.policy_kwargs = {
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "max_answer_tokens": max_answer_tokens,
        }
        self.warm_start_steps, self.warm_start_noise = warm_start_steps, warm_start_noise
        self.warm_start_batch_size, self.warm_start_learning_rate = warm_start_batch_size, warm_start_learning_rate
        self.warm_started = False
        if _init_setup_model:
            self._setup_model()

    @staticmethod
    def _wrap_env(env: Any, verbose: int = 0, monitor_wrapper: bool = True) -> VecEnv:
        """Strings stay strings: a Gymnasium vector or a single environment becomes a ``VecEnv`` of object arrays."""
        if isinstance(env, gymnasium.Env):
            single = env
            env = SyncVectorEnv([lambda: single], autoreset_mode=AutoresetMode.SAME_STEP)
        if isinstance(env, VectorEnv):
            env = VecMonitor(to_sb3(env))
        for kind, space in (("observation", env.observation_space), ("action", env.action_space)):
            if not isinstance(space, Text):
                raise TypeError(f"a language agent needs Text {kind}s (sb3_env(..., strings=True)), got {space}")
        return BaseAlgorithm._wrap_env(env, verbose, monitor_wrapper)

    def _setup_model(self) -> None:
        self._setup_lr_schedule()
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if self.seed is None else self.seed
        pretrained = PRETRAINED.get(self.policy_name)
        size = pretrained.size if pretrained else self.policy_name
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            policy = TextPolicy(
                self.observation_space, self.action_space, self.lr_schedule, size=size, **self.policy_kwargs
            )
        self.policy = policy.to(self.device)
        if pretrained:
            pretrained.fill(self.policy)
        self._remember_start()
        self.set_random_seed(seed)

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds this agent's own generators (problems, demonstrations, answers); touches nothing global."""
        if seed is not None:
            self.rng = np.random.default_rng([seed, 0])
            self.policy.reseed(seed)

    def warm_start(self) -> list[float]:
        """Takes ``warm_start_steps`` gradient steps on demonstrations, if not done before; returns their losses.

        :meth:`learn` calls it first; call it yourself to look at the policy in between.
        """
        losses = []
        if not self.warm_started and self.warm_start_steps > 0:
            batches = self._demonstrations(self.warm_start_batch_size)
            self.policy.set_training_mode(True)
            for step in range(self.warm_start_steps):
                rate = warm_start_rate(step, self.warm_start_steps, self.warm_start_learning_rate)
                update_learning_rate(self.policy.optimizer, rate)
                tokens, mask = next(batches)
                losses.append(imitation_step(self.policy, tokens, mask, max_grad_norm=self.max_grad_norm))
            self.policy.optimizer.state.clear()  # what follows has another loss and another scale
            self._remember_start()
        self.warm_started = True
        return [loss.item() for loss in losses]

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 10,
        tb_log_name: str = "PolicyGradient",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Trains until ``total_timesteps`` answers have been graded; the warm start comes first, once.

        Args:
            total_timesteps: answers (demonstrations with ``method="sft"``), rounded up to whole iterations.
            callback: SB3 callbacks; ``on_step`` is called after each environment step, of ``n_envs`` answers.
            log_interval: iterations between log lines (None: never).
            tb_log_name: name of the run in TensorBoard.
            reset_num_timesteps: start counting at 0; False goes on counting.
            progress_bar: show one.
        """
        total, self._callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        self._callback.on_training_start(locals(), globals())
        losses = self.warm_start()
        if losses:
            self.logger.record("warm_start/loss", np.mean(losses[-50:]))
        batches = self._demonstrations(self.batch_size or self.warm_start_batch_size)
        iteration = 0
        try:
            while self.num_timesteps < total:
                if self.objective is None:
                    self._imitate(*next(batches))
                else:
                    self._improve(self.objective)
                self._update_current_progress_remaining(self.num_timesteps, total)
                iteration += 1
                if log_interval is not None and iteration % log_interval == 0:
                    self.dump_logs(iteration)
        except StopTraining:
            pass
        self._callback.on_training_end()
        return self

    def dump_logs(self, iteration: int = 0) -> None:
        """Writes the log line of an iteration."""
        elapsed = max((time.time_ns() - self.start_time) / 1e9, 1e-9)
        if self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([info["r"] for info in self.ep_info_buffer]))
            self.logger.record("rollout/ep_len_mean", safe_mean([info["l"] for info in self.ep_info_buffer]))
        if self.ep_success_buffer:
            self.logger.record("rollout/success_rate", safe_mean(self.ep_success_buffer))
        self.logger.record("time/iterations", iteration, exclude="tensorboard")
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / elapsed))
        self.logger.record("time/time_elapsed", int(elapsed), exclude="tensorboard")
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(step=self.num_timesteps)

    def train(self, rollouts: Rollouts, objective: Objective) -> None:
        """Takes ``n_epochs`` passes of gradient steps on one iteration's answers."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        advantage = objective.advantage(rollouts)
        size = self.batch_size or len(rollouts)
        seen: list[dict[str, Tensor]] = []
        for _ in range(self.n_epochs):
            for rows in minibatches(rollouts.group, size, self.rng, whole="groups" in objective.needs):
                part = rollouts.take(rows)
                own = advantage[rows] if advantage.dim() == 1 else advantage[rows, : part.tokens.shape[1]]
                metrics = policy_gradient_step(
                    self.policy, objective, part, own, ent_coef=self.ent_coef, max_grad_norm=self.max_grad_norm
                )
                seen += [metrics] if metrics else []
                self._n_updates += bool(metrics)
        for name in seen[0] if seen else ():
            self.logger.record(f"train/{name}", float(torch.stack([metrics[name] for metrics in seen]).mean()))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _improve(self, objective: Objective) -> None:
        """One iteration: answers, then gradient steps."""
        rollouts = self._sample()
        if rollouts is None:  # the curriculum threw everything away
            return
        rollouts = self._supplied(rollouts, objective)
        self.logger.record("rollout/answer_tokens", float(rollouts.length.float().mean()))
        self.logger.record("rollout/entropy", float(masked_mean(rollouts.entropy, rollouts.mask)))
        self.logger.record(
            "rollout/mixed_groups", float((group_std(rollouts.reward, rollouts.group) > 0).float().mean())
        )
        self.train(rollouts, objective)
        if "values" in objective.needs:
            self._fit_critic(rollouts, objective)

    def _sample(self) -> Rollouts | None:
        """Fills a batch of ``prompts_per_batch`` groups that the curriculum keeps."""
        assert self.env is not None
        self.policy.set_training_mode(False)
        collector = Collector(
            self.env,
            self.policy,
            self.guidance,
            group_size=self.group_size,
            on_step=self._on_step,
            greedy=self.objective is not None and "greedy" in self.objective.needs,
        )
        return fill(collector, self.curriculum, self.rewards, self.prompts_per_batch, self.rng)

    def _supplied(self, rollouts: Rollouts, objective: Objective) -> Rollouts:
        """The answers with what the method's row needs besides them."""
        needs = objective.needs
        if "expert" in needs:
            assert self.env is not None
            own, rollouts = len(rollouts), with_experts(rollouts, self.env, self.policy)
            if not self._on_step([{}] * (len(rollouts) - own)):
                raise StopTraining
        if "logp_ref" in needs:
            rollouts = replace(rollouts, logp_ref=reference_logp(self.policy, self.reference, rollouts))
        if "logp_mean" in needs:
            rollouts = replace(rollouts, logp_mean_old=vocabulary_means(self.policy, rollouts))
        if "values" in needs:
            rollouts = replace(rollouts, values=self.critic.values(rollouts))
        if "tracker" in needs:
            rollouts = replace(rollouts, baseline=self.tracker.read(rollouts))
            self.tracker.update(rollouts, lambda tokens, mask: logp_of(self.policy, tokens, mask))
        return by_turns(rollouts) if needs & {"steps", "states"} else rollouts

    def _fit_critic(self, rollouts: Rollouts, objective: Objective) -> None:
        params = {name: objective.params[name] for name in ("gamma", "gae_lambda") if name in objective.params}
        returns = raw_gae(rollouts, **params) + rollouts.need("values")
        rate = RATE * self.policy.optimizer.param_groups[0]["lr"]
        loss = self.critic.fit(rollouts, returns, learning_rate=rate, max_grad_norm=self.max_grad_norm)
        self.logger.record("train/value_loss", float(loss))

    def _imitate(self, tokens: Tensor, mask: Tensor) -> None:
        """One gradient step on demonstrations, each counted as a timestep."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        loss = imitation_step(self.policy, tokens, mask, max_grad_norm=self.max_grad_norm)
        self._n_updates += 1
        self.logger.record("train/loss", float(loss))
        if not self._on_step([{}] * len(tokens)):
            raise StopTraining

    def _on_step(self, infos: list[dict[str, Any]]) -> bool:
        self.num_timesteps += len(infos)
        self._update_info_buffer(infos, np.ones(len(infos), np.bool_))
        self._callback.update_locals({"self": self, "infos": infos})
        return bool(self._callback.on_step())

    def _demonstrations(self, batch_size: int) -> Iterator[tuple[Tensor, Tensor]]:
        assert self.env is not None
        batches = demonstration_batches(
            self.env, self.policy.tokenizer, batch_size=batch_size, noise=self.warm_start_noise, rng=self.rng
        )
        return ((tokens.to(self.device), mask.to(self.device)) for tokens, mask in batches)

    def _remember_start(self) -> None:
        """Makes what begins with the policy as it is now, where the method needs it."""
        needs = frozenset() if self.objective is None else self.objective.needs
        if "logp_ref" in needs:
            self.reference = deepcopy(self.policy.network).requires_grad_(False)
        if "values" in needs:
            self.critic = Critic(self.policy.network)
        if "tracker" in needs:
            self.tracker = Tracker()

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        kept = [
            name for name in ("reference", "critic", "critic.optimizer", "tracker") if hasattr(self, name.split(".")[0])
        ]
        return ["policy", "policy.optimizer", *kept], []
