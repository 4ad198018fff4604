"""pi_RL: a flow-matching policy is cloned from demonstrations, then fine-tuned by PPO over its denoising steps.

Paper: Chen et al., pi_RL: Online RL Fine-tuning for Flow-based Vision-Language-Action Models (2025), sections on
Flow-Noise and Flow-SDE. "The authors' code" is RLinf (github.com/RLinf/RLinf), ``openpi_action_model.py``.
"""

from typing import Any, ClassVar

import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from stable_baselines3.common.utils import FloatSchedule
from torch import Tensor

from .acting import Acting
from .chunks import ChunkCloning
from .fast_ppo import FastPPO
from .flow import chunk_advantages, flow_matching_loss
from .flow_policy import ChainSamples, FlowActing, FlowPolicy
from .rollout import part_of
from .update import Gradients, Losses, Settings, losses_of


class PiRL(ChunkCloning, FastPPO):
    r"""PPO on a flow-matching policy, by the log-probability of the chain of denoising steps behind each action.

    The actor is :math:`v(s, a_t, t)`, whose K Euler steps lead from noise at t = 0 to a chunk of H actions at t = 1.
    :meth:`learn_offline` clones it from demonstrations by flow matching; :meth:`learn` fine-tunes it:

    * "flow-noise": every step is :math:`a_{k+1} \sim N(a_k + v\,dt, \sigma_\theta^2)` with a learnt noise head, and
      :math:`\log\pi = \sum_k \log N(a_{k+1}; a_k + v\,dt, \sigma_\theta^2)` exactly.
    * "flow-sde": one step, drawn at random, is of the SDE that has the marginals of the ODE,
      :math:`da = [v - \frac{\sigma^2}{2 (1 - t)} (a - t v)] dt + \sigma dw` with
      :math:`\sigma = a \sqrt{(1 - t) / t}`; all others follow the ODE, and the log-probability is that of this step.

    A critic of the observation gives advantages over chunks, whose rewards are added up and discounted by ``gamma`` a
    chunk. PPO's loss is :class:`~.fast_ppo.FastPPO`'s. :meth:`predict` follows the ODE, as the authors evaluate.

    Departures: Flow-Noise's log-probability is the sum over steps, as in the paper, where the authors' code takes the
    mean; the noisy step is drawn for each environment, where theirs is one for all; times of cloning are uniform, where
    theirs are beta distributed; the value loss is quadratic without clipping, where theirs is a clipped Huber loss;
    networks are small, learn at other rates and from numbers, so a learning rate of 1e-4 stands where they have 5e-6.
    An episode that ends in a chunk begins a new one. Observations are normalised by the dataset's moments, which stay.

    Args:
        policy: "MlpPolicy" or a class of such; observations are flat boxes and actions boxes with finite bounds.
        env: to learn in.
        learning_rate: of the actor, or a function of the remaining progress.
        value_learning_rate: of the critic, or such a function.
        clone_learning_rate: of cloning.
        variant: "flow-noise" or "flow-sde".
        denoise_steps: K.
        chunk_size: H; 1 decides at every step.
        noise_level: a of Flow-SDE.
        noise_min: least standard deviation of a denoising step of Flow-Noise, where bounds of actions are -1 and 1.
        noise_max: the largest.
        n_steps: of each environment in a rollout; environment steps, not chunks.
        batch_size: chunks of a minibatch, or demonstrated ones in cloning.
        gamma: discount of a chunk.
        ent_coef: weight of the sum of the denoising steps' entropies, which Flow-SDE does not learn.
        n_epochs: this and all others are :class:`~.fast_ppo.FastPPO`'s.

    Raises:
        TypeError: other spaces.
        ValueError: an unknown variant, or limits of noise that are none.
    """

    acts_in = (Box,)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": FlowPolicy}
    policy: FlowPolicy
    _acting: FlowActing

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        learning_rate: float | Schedule = 1e-4,
        value_learning_rate: float | Schedule = 1e-3,
        clone_learning_rate: float = 1e-3,
        variant: str = "flow-sde",
        denoise_steps: int = 4,
        chunk_size: int = 1,
        noise_level: float = 0.5,
        noise_min: float = 0.08,
        noise_max: float = 0.16,
        n_steps: int = 64,
        batch_size: int = 512,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float | Schedule = 0.2,
        clip_range_vf: float | Schedule | None = None,
        normalize_advantage: bool = True,
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float = 1.0,
        norm_obs: bool = True,
        norm_reward: bool = False,
        clip_obs: float = 10.0,
        clip_reward: float = 10.0,
        target_kl: float | None = None,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.value_learning_rate, self.clone_learning_rate = value_learning_rate, clone_learning_rate
        self.variant, self.denoise_steps, self.chunk_size = variant, denoise_steps, chunk_size
        self.noise_level, self.noise_min, self.noise_max = noise_level, noise_min, noise_max
        self.demonstrations = None
        self._chunks = th.zeros(0, chunk_size, dtype=th.int64)
        super().__init__(
            policy,
            env,
            learning_rate,
            n_steps,
            batch_size,
            n_epochs,
            gamma,
            gae_lambda,
            clip_range,
            clip_range_vf,
            normalize_advantage,
            ent_coef,
            vf_coef,
            max_grad_norm,
            norm_obs=norm_obs,
            norm_reward=norm_reward,
            clip_obs=clip_obs,
            clip_reward=clip_reward,
            target_kl=target_kl,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=_init_setup_model,
        )

    def _setup_model(self) -> None:
        if issubclass(self.policy_class, FlowPolicy):
            names = "variant denoise_steps chunk_size noise_level noise_min noise_max clone_learning_rate".split()
            self.policy_kwargs = {name: getattr(self, name) for name in names} | self.policy_kwargs
        super()._setup_model()
        self.value_learning_rate = FloatSchedule(self.value_learning_rate)

    def _acting_by(self, policy: ActorCriticPolicy) -> Acting:
        assert isinstance(policy, FlowPolicy)
        return FlowActing(policy)

    def _update_learning_rate(self, optimizers: Any) -> None:
        """Sets the rates of actor and critic."""
        super()._update_learning_rate(optimizers)
        schedule: Any = self.value_learning_rate
        self.policy.optimizer.param_groups[1]["lr"] = schedule(self._current_progress_remaining)

    def _samples_of(self, rewards: Tensor) -> ChainSamples:
        """Chunks that began in valid steps, with log-probabilities of the policy as it is: the one that acted."""
        rollout, acting = self.rollout_buffer, self._acting
        values, dones = rollout.values[:-1], rollout.terminated | rollout.truncated
        advantages = chunk_advantages(
            rewards, values, rollout.next_values, dones, acting.decided, self.gamma, self.gae_lambda
        )
        rows = (acting.decided & rollout.valid).flatten().nonzero().squeeze(1)
        there = rows.to(self.device)
        seen: Any = part_of(self._seen, there)
        chains, noisy = acting.chains.flatten(0, 1)[there], acting.noisy.flatten()[there]
        with th.no_grad():
            logp, _ = self.policy.chain_logp(seen, chains, noisy)
        old, gained = values.flatten()[rows], advantages.flatten()[rows]
        return ChainSamples(seen, chains, logp, old, gained, gained + old, noisy)

    def _gradients(self) -> Gradients:
        policy, optimizer = self.policy, self.policy.optimizer

        def gradients(batch: ChainSamples, settings: Settings) -> Losses:
            seen: Any = batch.observations
            logp, entropy = policy.chain_logp(seen, batch.actions, batch.noisy)
            losses = losses_of(batch, policy.critic_values(seen), logp, entropy, settings)
            optimizer.zero_grad(set_to_none=True)
            losses.total.backward()  # type: ignore[no-untyped-call]
            return losses

        return gradients  # type: ignore[return-value]

    def train(self, gradient_steps: int | None = None, batch_size: int | None = None) -> None:
        """Learns from the last rollout, or does ``gradient_steps`` updates of cloning from the dataset.

        Raises:
            ValueError: updates are asked for, and there is no dataset.
        """
        if gradient_steps is None:
            super().train()
            return
        self.clone(gradient_steps, batch_size or self.batch_size)

    def clone_loss(self, observations: Tensor, chunks: Tensor) -> Tensor:
        """Flow matching's."""
        policy = self.policy
        features = policy._features(policy.normalized(observations))  # type: ignore[arg-type]
        return flow_matching_loss(policy.action_net, features, chunks)  # type: ignore[arg-type]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return [*names, "policy.clone_optimizer"], variables

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_chunks"]
