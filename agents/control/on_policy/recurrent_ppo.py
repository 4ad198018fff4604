"""PPO with memory, for tasks whose observations do not tell all that matters."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import torch as th
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from torch import Tensor

from .fast_ppo import FastPPO
from .recurrent import MemoryPolicy, RecurrentActing, RecurrentCnnPolicy, RecurrentMultiInputPolicy, RecurrentPolicy
from .rollout import Samples, part_of
from .sources import VectorSource
from .update import Gradients, Losses, Settings, losses_of


@dataclass(frozen=True)
class Sequences(Samples):
    """Sequences of ``L`` steps: what :class:`~.rollout.Samples` has for ``[B]`` is here for ``[S, L]``.

    Attributes:
        memory: ``[S, 2, layers, H]``, before the first step, of the policy that acted.
        starts: ``[S, L]``, whether an episode begins with a step.
        valid: ``[S, L]``, False where the environment spent the step on its reset.
    """

    memory: Tensor
    starts: Tensor
    valid: Tensor

    def flat(self) -> Samples:
        """The valid steps, those of all sequences after each other, step by step; ``[B, ...]``."""
        steps = self.valid.t().flatten()
        each: list[Any] = [part_of(step_after_step(getattr(self, one.name)), steps) for one in fields(Samples)]
        return Samples(*each)


def sequences(part: Tensor, length: int) -> Tensor:
    """``[T, N, ...]`` as ``[S, L, ...]``, S = N T / L: the first L steps of all environments, the next, and so on."""
    steps, n, *rest = part.shape
    return part.view(steps // length, length, n, *rest).transpose(1, 2).reshape(-1, length, *rest)


def step_after_step(part: Any) -> Any:
    """``[S, L, ...]`` as ``[L S, ...]``."""
    if isinstance(part, dict):
        return {key: step_after_step(one) for key, one in part.items()}
    return part.transpose(0, 1).flatten(0, 1)


class RecurrentPPO(FastPPO):
    r"""Proximal policy optimisation with an LSTM, for many environments in one native vector.

    As :class:`~.fast_ppo.FastPPO`, but that the policy remembers what it has seen of the episode. A rollout of each
    environment is cut into sequences of ``bptt_steps``; a sequence begins with the memory that the policy had when it
    acted, which no gradient flows into (truncated backpropagation through time), and minibatches are of whole
    sequences. A memory that was kept is that of the policy before the update, as old as the log-probabilities.

    Paper: Proximal Policy Optimization Algorithms (2017), eq. 7 and 9; Kapturowski et al., Recurrent Experience Replay
    in Distributed Reinforcement Learning (2019), section 3, for sequences that begin with a stored state.

    Args:
        policy: "MlpLstmPolicy", "CnnLstmPolicy", "MultiInputLstmPolicy" (or the names without "Lstm") or a class of
            such; ``policy_kwargs`` of the LSTM are ``lstm_hidden_size`` and ``n_lstm_layers``.
        env: to learn in.
        bptt_steps: the most steps that gradients flow back over, of which ``n_steps`` is a multiple. If None 16, or
            all ``n_steps`` where these are no multiple of 16.
        learning_rate: this and all others are :class:`~.fast_ppo.FastPPO`'s.
        batch_size: steps of a minibatch, which is of whole sequences.

    Raises:
        ValueError: ``n_steps`` is no multiple of ``bptt_steps``.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        name: kind
        for names, kind in {
            ("MlpPolicy", "MlpLstmPolicy"): RecurrentPolicy,
            ("CnnPolicy", "CnnLstmPolicy"): RecurrentCnnPolicy,
            ("MultiInputPolicy", "MultiInputLstmPolicy"): RecurrentMultiInputPolicy,
        }.items()
        for name in names
    }
    policy: MemoryPolicy  # type: ignore[assignment]
    _acting: RecurrentActing  # type: ignore[assignment]

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        learning_rate: float | Schedule = 3e-4,
        n_steps: int = 64,
        bptt_steps: int | None = None,
        batch_size: int = 2048,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float | Schedule = 0.2,
        clip_range_vf: float | Schedule | None = None,
        normalize_advantage: bool = True,
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        norm_obs: bool = True,
        norm_reward: bool = True,
        clip_obs: float = 10.0,
        clip_reward: float = 10.0,
        overlap: bool = False,
        target_kl: float | None = None,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        if bptt_steps is None:
            bptt_steps = n_steps if n_steps % 16 else 16
        if bptt_steps < 1 or n_steps % bptt_steps:
            raise ValueError(
                f"n_steps={n_steps} is no multiple of bptt_steps={bptt_steps}: rollouts are cut into sequences of it"
            )
        self.bptt_steps = bptt_steps
        super().__init__(
            policy,
            env,
            learning_rate,
            n_steps=n_steps,
            batch_size=batch_size,
            n_epochs=n_epochs,
            gamma=gamma,
            gae_lambda=gae_lambda,
            clip_range=clip_range,
            clip_range_vf=clip_range_vf,
            normalize_advantage=normalize_advantage,
            ent_coef=ent_coef,
            vf_coef=vf_coef,
            max_grad_norm=max_grad_norm,
            norm_obs=norm_obs,
            norm_reward=norm_reward,
            clip_obs=clip_obs,
            clip_reward=clip_reward,
            overlap=overlap,
            target_kl=target_kl,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=_init_setup_model,
        )

    def _acting_by(self, policy: Any) -> RecurrentActing:
        return RecurrentActing(policy, self.bptt_steps)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy: it remembers what the original does."""
        super().__setstate__(state)
        self._acting = state["_acting"]

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        before = self._source
        found = super()._setup_learn(*args, **kwargs)
        if (source := self._source) is not before:
            self._acting.late = isinstance(source, VectorSource) and source.mode == AutoresetMode.NEXT_STEP
            self._acting.forget(self.n_envs)
        return found

    def _samples_of(self, rewards: Tensor) -> Sequences:
        rollout, length = self.rollout_buffer, self.bptt_steps
        grid = (rollout.n_steps, rollout.n_envs)

        def cut(part: Any) -> Any:
            if isinstance(part, dict):
                return {key: cut(one) for key, one in part.items()}
            return sequences(part.view(*grid, *part.shape[1:]) if part.shape[:2] != grid else part, length)

        values, advantages = rollout.values[:-1], rollout.advantages(rewards)
        parts = (rollout.actions, rollout.logp, values, advantages, advantages + values)
        memory = th.stack(self._acting.kept).permute(0, 3, 1, 2, 4).flatten(0, 1)
        last = (memory, cut(self._acting.starts[:-1]), cut(rollout.valid))
        everything: list[Any] = [cut(self._seen), *map(cut, parts), *last]
        found = Sequences(*everything)
        return found.taken(found.valid.any(dim=1).nonzero().squeeze(1))

    def _update_settings(self) -> Settings:
        asked = super()._update_settings()
        return replace(asked, batch_size=max(1, asked.batch_size // self.bptt_steps))

    def _gradients(self) -> Gradients:
        policy, optimizer = self.policy, self.policy.optimizer

        def gradients(batch: Sequences, settings: Settings) -> Losses:
            seen, actions = step_after_step(batch.observations), step_after_step(batch.actions)
            found = policy.evaluate_sequences(seen, actions, batch.memory.permute(1, 2, 0, 3), batch.starts.t())
            valid = batch.valid.t().flatten()
            values, logp, entropy = (part[valid] if part.ndim else part for part in found)
            losses = losses_of(batch.flat(), values, logp, entropy, settings)
            optimizer.zero_grad(set_to_none=True)
            losses.total.backward()  # type: ignore[no-untyped-call]
            return losses

        return gradients  # type: ignore[return-value]
