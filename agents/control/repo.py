"""RePo: Dreamer without reconstruction, whose latents may tell only so much more of an observation than was foreseen.

    agent = make("repo", "tiltyard/Hopper-v5")
    agent = make("dreamer", "tiltyard/Hopper-v5")  # the same with reconstruction
    actions, state = agent.predict(seen, state, episode_start)

Paper: Zhu, Simchowitz, Gadipudi and Gupta, RePo: Resilient Model-Based Reinforcement Learning by Regularizing Posterior
Predictability (2023). Its abstract was read; objectives and values are those of "the authors' code",
github.com/zchuning/repo, ``algorithms/repo/repo.py``, ``dreamer.py`` and ``experiments/train_repo.py``.
"""

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from .base import OffPolicyAgent
from .latent_policy import LatentPolicy, State
from .rssm import Latent, balanced, lambda_returns
from .sequences import cut, draw
from .settings import sb3_keywords, takes

Metrics = dict[str, Tensor]


class Steps(NamedTuple):
    """B sequences of L steps; what lies beyond the end of a sequence's first episode is not valid."""

    observations: Tensor  # [B, L + 1, obs], the last one after the last step
    actions: Tensor  # [B, L, A], in [-1, 1]
    rewards: Tensor  # [B, L]
    going_on: Tensor  # [B, L], 0 where the step terminated the episode
    valid: Tensor  # [B, L + 1], of the observations, bool


@dataclass(frozen=True)
class RePoSettings:
    """Those of RePo and Dreamer.

    Args:
        policy: "MlpPolicy".
        env: any environment with flat Box observations and Box actions, or its id.
        learning_rate: of the world model.
        actor_learning_rate: of the actor.
        value_learning_rate: of the value.
        objective: of the model: "repo", rewards under a bound, or "reconstruction", Dreamer's.
        target_kl: epsilon, nats by which the observation may tell more of a step's latent than was foreseen; of "repo".
        initial_multiplier: beta at first.
        multiplier_learning_rate: of its logarithm.
        kl_balance: share of the divergence's gradient that moves the prior.
        kl_weight: of the divergence; of "reconstruction".
        free_nats: divergences of a step below it count as that much; of "reconstruction".
        sequence_length: steps of a sequence.
        horizon: steps that are imagined.
        td_lambda: of returns there.
        gamma: discount.
        ent_coef: weight of the actor's entropy.
        buffer_size: transitions kept.
        learning_starts: environment steps before the first update.
        batch_size: sequences an update.
        train_freq: environment steps between calls of ``train``, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        action_noise: added to exploring actions: a number is the standard deviation of Gaussian noise.
        max_grad_norm: longer gradients, of the model, the actor and the value, are cut to it.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.latent_policy.LatentPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 3e-4
    actor_learning_rate: float = 8e-5
    value_learning_rate: float = 8e-5
    objective: Literal["repo", "reconstruction"] = "repo"
    target_kl: float = 3.0
    initial_multiplier: float = 1e-5
    multiplier_learning_rate: float = 1e-4
    kl_balance: float = 5 / 6
    kl_weight: float = 1.0
    free_nats: float = 3.0
    sequence_length: int = 50
    horizon: int = 15
    td_lambda: float = 0.95
    gamma: float = 0.99
    ent_coef: float = 3e-4
    buffer_size: int = 500_000
    learning_starts: int = 5000
    batch_size: int = 50
    train_freq: int | tuple[int, str] = 5
    gradient_steps: int = 1
    action_noise: ActionNoise | float | None = None
    max_grad_norm: float = 100.0
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True


class RePo(OffPolicyAgent, OffPolicyAlgorithm):
    r"""A world model that is to foresee rewards, and an actor and a value that learn in its imagination.

    A recurrent state-space model has beliefs :math:`h_t = f(h_{t-1}, z_{t-1}, a_{t-1})`, a prior
    :math:`p(z_t | h_t)` and a posterior :math:`q(z_t | h_t, o_t)`. RePo's is to maximise

    .. math:: E[\sum_t \log p(r_t | h_t, z_t)] \quad \text{s.t.} \quad E[KL(q(z_t | h_t, o_t) \| p(z_t | h_t))] \le
        \epsilon

    so that latents keep what foretells rewards or can itself be foretold, and drop the rest. The Lagrangian's
    multiplier follows by dual ascent: :math:`\log\beta` rises by the gradient :math:`KL - \epsilon`. The divergence's
    gradients are balanced (:func:`~.rssm.balanced`). With ``objective="reconstruction"`` it is Dreamer, which minimises

    .. math:: -\log p(o_t | h_t, z_t) - \log p(r_t | h_t, z_t) + w \max(KL, \text{free nats})

    All likelihoods are Gaussians of unit variance. Both then imagine ``horizon`` steps with the prior from all states
    of the batch; the value learns :func:`~.rssm.lambda_returns`, and the actor maximises them by their gradient through
    the model, plus ``ent_coef`` times its entropy.

    Departures: vectors in place of images, and encoders and heads of two hidden layers; sequences end where their
    episode does, in place of running on into the next; an episode's first observation is encoded too; the model
    foresees terminations, as in Hafner et al., Mastering Atari with Discrete World Models (2020), since not all
    environments here go on for ever; Dreamer's divergence is balanced too, as there; the value of a state does not
    include its own reward, as in Hafner et al. (2019); the entropy is estimated from the actions imagined, in place of
    a hundred draws a state, and deterministic actions are of the Gaussians' means, in place of the likeliest of a
    hundred draws; one update every 5 steps in place of a hundred every 500. RePo has no decoder that learns beside the
    model (the authors' has one to look at), and the paper's alignment of the encoder at test time is left out.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": LatentPolicy}
    acts_in = (Box,)
    policy: LatentPolicy

    @takes(RePoSettings)
    def __init__(self, settings: RePoSettings) -> None:
        self.settings = replace(settings, env=None)
        self._memory: State | None = None
        self._begun: Any = None
        super().__init__(
            **sb3_keywords(
                OffPolicyAlgorithm,
                settings,
                replay_buffer_class=ReplayBuffer,  # whose rows are steps
                sde_support=False,
                supported_action_spaces=(Box,),
            )
        )
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        asked, space = self.settings, self.observation_space
        if not isinstance(space, Box) or len(space.shape) != 1:
            raise TypeError(f"RePo learns from vectors, not from {space}: flatten or wrap the observations")
        if self.buffer_size // self.n_envs < asked.sequence_length:
            raise ValueError(
                f"RePo draws sequences of {asked.sequence_length} steps (sequence_length): a buffer_size of "
                f"{self.buffer_size} has no room for one in each of {self.n_envs} environments"
            )
        super()._setup_model()
        policy = self.policy
        with th.no_grad():
            policy.log_multiplier.fill_(math.log(asked.initial_multiplier))
        rates = (asked.actor_learning_rate, asked.value_learning_rate, asked.multiplier_learning_rate)
        for optimizer, rate in zip(policy.optimizers[1:], rates, strict=True):
            optimizer.param_groups[0]["lr"] = rate

    # -- updates ---------------------------------------------------------------------------------------------------

    def train(self, gradient_steps: int, batch_size: int = 50) -> None:
        """Does ``gradient_steps`` updates, as soon as one sequence is stored."""
        if self._buffer.size() < self.settings.sequence_length:
            return
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.model_optimizer)
        done = [self.update(self.sample(batch_size)) for _ in range(gradient_steps)]
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name in done[0] if done else ():
            self.logger.record(f"train/{name}", float(th.stack([one[name] for one in done]).mean()))

    def sample(self, batch_size: int) -> Steps:
        """Sequences from the replay buffer, uniformly among those that are stored."""
        buffer, norm = self._buffer, self._vec_normalize_env
        drawn = draw(buffer, batch_size, self.settings.sequence_length)
        seen = np.concatenate([drawn.of(buffer.observations, 1), drawn.of(buffer.next_observations)], axis=1)
        terminated = drawn.of(buffer.dones) * (1 - drawn.of(buffer.timeouts))
        actions = drawn.of(buffer.actions)
        parts = (
            buffer._normalize_obs(seen, norm),
            actions.reshape(*actions.shape[:2], -1),
            buffer._normalize_reward(drawn.of(buffer.rewards), norm),
            1 - terminated,
            np.concatenate([np.ones((batch_size, 1)), drawn.alive], axis=1),
        )
        tensors = (th.as_tensor(np.asarray(part, np.float32), device=self.device) for part in parts)
        found = Steps._make(tensors)
        return found._replace(valid=found.valid.bool())

    def update(self, batch: Steps) -> Metrics:
        """One update of the model, then of the actor and the value in its imagination."""
        latents, metrics = self._learn_model(batch)
        going_on = th.cat([th.ones_like(batch.going_on[:, :1]), batch.going_on], dim=1)
        begins = batch.valid & (going_on > 0)
        start = Latent(latents.belief[begins], latents.stoch[begins])
        return metrics | self._learn_behaviour(start)

    @th.enable_grad()
    def _learn_model(self, batch: Steps) -> tuple[Latent, Metrics]:
        """Of the model and the multiplier; returns states ``[B, L + 1, ...]`` without gradient."""
        asked, policy = self.settings, self.policy
        model, log_beta = policy.model, policy.log_multiplier
        found = model.rssm.observe(batch.observations, batch.actions)
        features = found.latents.features
        after = batch.valid[:, 1:]
        rewards, going_on = (part[after] for part in model.foreseen(features[:, 1:]))
        reward_loss = 0.5 * (rewards - batch.rewards[after]).square().mean()
        ends = binary_cross_entropy_with_logits(going_on, batch.going_on[after])
        divergences = balanced(found.posterior, found.prior, asked.kl_balance)[batch.valid]
        kl = divergences.mean()
        metrics = {"reward_loss": reward_loss, "end_loss": ends, "kl": kl}
        if asked.objective == "repo":
            loss = reward_loss + ends + log_beta.exp().detach() * (kl - asked.target_kl)
            metrics["multiplier"] = log_beta.exp()
        else:
            seen = model.decoder(features[batch.valid])
            metrics["observation_loss"] = 0.5 * (seen - batch.observations[batch.valid]).square().sum(dim=1).mean()
            bounded = divergences.clamp_min(asked.free_nats).mean()
            loss = metrics["observation_loss"] + reward_loss + ends + asked.kl_weight * bounded
        metrics = {name: part.detach().clone() for name, part in metrics.items()}
        self._descend(policy.model_optimizer, loss, model.parameters())
        if asked.objective == "repo":
            self._descend(policy.multiplier_optimizer, -log_beta * (kl.detach() - asked.target_kl), ())
        return found.latents.detached(), metrics

    @th.enable_grad()
    def _learn_behaviour(self, latent: Latent) -> Metrics:
        """Of the actor, by gradients through the model, and of the value; ``latent`` is of ``[N, ...]`` states."""
        asked, policy = self.settings, self.policy
        model = policy.model
        states, log_densities = [latent], []
        learning = [*model.parameters(), *policy.value.parameters()]
        for param in learning:
            param.requires_grad_(False)
        for _ in range(asked.horizon):
            action, log_density = policy.actor.sample(latent.features.detach())
            latent = model.rssm.imagined(latent, action)
            states.append(latent)
            log_densities.append(log_density)
        features = th.stack([state.features for state in states])
        rewards, going_on = model.foreseen(features[1:])
        discounts = asked.gamma * going_on.sigmoid()
        values = policy.value(features[1:])[..., 0]
        returns = lambda_returns(rewards, discounts, values, asked.td_lambda)
        reached = th.cat([th.ones_like(discounts[:1]), going_on[:-1].sigmoid()]).cumprod(dim=0).detach()
        entropy = -th.stack(log_densities)
        loss = -(reached * (returns + asked.ent_coef * entropy)).mean()
        self._descend(policy.actor_optimizer, loss, policy.actor.parameters())
        for param in learning:
            param.requires_grad_(True)
        errors = policy.value(features[:-1].detach())[..., 0] - returns.detach()
        value_loss = 0.5 * (reached * errors.square()).mean()
        self._descend(policy.value_optimizer, value_loss, policy.value.parameters())
        parts = {"actor_loss": loss, "value_loss": value_loss, "imagined_return": returns, "entropy": entropy}
        return {name: part.detach().mean() for name, part in parts.items()}

    def _descend(self, optimizer: th.optim.Optimizer, loss: Tensor, cut_to_norm: Iterable[Tensor]) -> None:
        """One step down a loss; gradients of ``cut_to_norm`` together are at most ``max_grad_norm`` long."""
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        th.nn.utils.clip_grad_norm_(cut_to_norm, self.settings.max_grad_norm)
        optimizer.step()

    # -- acting ----------------------------------------------------------------------------------------------------

    def _setup_learn(self, *args: Any, **kwargs: Any) -> Any:
        """As in SB3; where the environment begins anew, what was stored last is the last step of its episode."""
        before = self._last_obs
        found = super()._setup_learn(*args, **kwargs)
        if self._last_obs is not before:
            cut(self._buffer)
            self._memory = None
        return found

    def _sample_action(self, learning_starts: int, action_noise: Any = None, n_envs: int = 1) -> Any:
        """As in SB3, with the memory of the episodes so far; it begins when random actions have ended."""
        if self.num_timesteps < learning_starts:
            self._memory = None
            return super()._sample_action(learning_starts, action_noise, n_envs)
        seen: Any = self._last_obs
        _, (*memory, scaled) = self.policy.predict(seen, self._memory, self._begun)
        if action_noise is not None:
            scaled = np.clip(scaled + np.reshape(action_noise(), scaled.shape), -1, 1).astype(np.float32)
        self._memory = (*memory, scaled)
        shaped: Any = scaled.reshape(n_envs, *(self.action_space.shape or ()))
        return self.policy.unscale_action(shaped), shaped

    def _store_transition(self, replay_buffer: Any, *transition: Any) -> None:
        super()._store_transition(replay_buffer, *transition)
        self._begun = np.asarray(transition[3], np.bool_)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names = ("model", "actor", "value", "multiplier")
        return ["policy", *(f"policy.{name}_optimizer" for name in names)], []

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_memory", "_begun"]
