"""HNPG: on-policy actor-critic whose critic also learns from a dataset, and whose actor also improves at its states.

Paper: Zhou et al., Offline Data Enhanced On-Policy Policy Gradient with Provable Guarantees (2023), algorithms 1 to 3.
"The authors' code" is github.com/YifeiZhou02/HNPG, which takes TRPO's step.
"""

from typing import Any, ClassVar, TypeVar

import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv, Schedule
from torch import Tensor

from ..optimizers import FusedAdam
from .datasets import Transitions
from .offline import LearnsFromData, taken_in
from .on_policy.fast_ppo import FastPPO
from .on_policy.moments import EPSILON
from .on_policy.rollout import Samples, flat
from .on_policy.update import run_update
from .replay import DATASET, Batch, Columns, Demonstrations, FloatArray
from .updates import Mlp, minimise

Self = TypeVar("Self", bound="HNPG")
DRAWS = 10
"""Actions of the policy by which the value of a state is estimated, as in the authors' code."""


def returns_of(rewards: Tensor, next_values: Tensor, dones: Tensor, gamma: float) -> Tensor:
    """Monte-Carlo returns ``[T, N]`` to the end of each episode.

    Args:
        rewards: ``[T, N]``.
        next_values: ``[T, N]``, which stand for what a time limit or the end of the rollout cut off.
        dones: ``[T, N]``.
        gamma: discount.
    """
    found = rewards + gamma * next_values
    for step in range(len(rewards) - 2, -1, -1):
        found[step] = th.where(dones[step], found[step], rewards[step] + gamma * found[step + 1])
    return found


def hybrid_loss(on: Tensor, returns: Tensor, off: Tensor, targets: Tensor, offline_coef: float) -> Tensor:
    """E[(Q(s, a) - R)^2] on fresh steps and ``offline_coef`` times E[(Q(s, a) - y)^2] on the dataset's; all ``[B]``."""
    zero = on.new_zeros(())
    fresh = (on - returns).square().mean() if len(on) else zero
    return fresh + (offline_coef * (off - targets).square().mean() if len(off) else zero)


class HNPG(LearnsFromData, FastPPO):
    r"""Hybrid actor-critic on PPO: Monte-Carlo returns of fresh steps and TD targets of a dataset teach one critic.

    .. math::
        \min_Q E_{on}[(Q(s, a) - R)^2] + \lambda E_{off}[(Q(s, a) - r - \gamma Q(s', a'))^2], \quad a' \sim \pi(s')

    (algorithm 2; targets are those before the iteration). V(s) is the mean of Q over actions of the policy. The actor
    improves on generalised advantages at the rollout's states, and on Q(s, a) - V(s) of its own actions at as many
    states of the dataset. Without a dataset it is on-policy alone.

    The dataset is given by :meth:`learn_offline`, whose updates teach from it alone; 0 takes it in for :meth:`learn`.
    Observations and rewards are normalised by what the environment gave, and before it gave any by the dataset.

    Departures: PPO's clipped surrogate in place of a natural gradient step (the authors' TRPO); one critic and one
    actor for all steps of an episode, where theirs has one a step and backs up from the last to the first in every
    iteration, so that here a reward comes back by ``critic_backups`` steps an iteration; episodes that the rollout cuts
    off end in V; Adam goes on, where theirs begins anew. 30 steps a backup and lambda 1 are theirs. Fresh steps are
    learnt as they were acted on, so normalised without their own rollout, which has entered the dataset's; they are the
    further apart the fewer rollouts were before.

    Args:
        policy: "MlpPolicy"; observations and actions are flat boxes.
        env: to learn in.
        offline_coef: lambda; 0 leaves the dataset out of the critic's loss.
        critic_learning_rate: of Q.
        critic_updates: steps of Q a backup, each on all fresh steps and as many of the dataset.
        critic_backups: times an iteration that targets are computed.
        critic_width: of Q's two hidden layers.
        n_steps: of each environment in a rollout.
        batch_size: of a minibatch of the actor.
        n_epochs: passes of the actor over each rollout and the states of the dataset.
        gamma: discount.
        gae_lambda: lambda of generalised advantage estimation.
        clip_range: of the ratio, or a function of the remaining progress.
        normalize_advantage: whether advantages have mean 0 and deviation 1 in each minibatch.
        ent_coef: weight of the entropy.
        max_grad_norm: limit of the actor's gradient's norm.
        norm_obs: whether observations are normalised.
        norm_reward: whether rewards, the dataset's as well, are divided by the deviation of the discounted return.
        clip_obs: limit of normalised observations, either way.
        clip_reward: limit of normalised rewards, either way.
        overlap: see :class:`~.on_policy.fast_ppo.FastPPO`.
        target_kl: an update ends at 1.5 times this divergence, if given.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the networks.
    """

    acts_in = (Box,)
    needs_data: ClassVar[bool] = False

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        *,
        learning_rate: float | Schedule = 3e-4,
        offline_coef: float = 1.0,
        critic_learning_rate: float = 3e-4,
        critic_updates: int = 30,
        critic_backups: int = 1,
        critic_width: int = 64,
        n_steps: int = 64,
        batch_size: int = 2048,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float | Schedule = 0.2,
        normalize_advantage: bool = True,
        ent_coef: float = 0.0,
        max_grad_norm: float = 0.5,
        norm_obs: bool = True,
        norm_reward: bool = False,
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
        self.offline_coef, self.critic_learning_rate = offline_coef, critic_learning_rate
        self.critic_updates, self.critic_backups, self.critic_width = critic_updates, critic_backups, critic_width
        self.demonstrations: Demonstrations | None = None
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
            normalize_advantage=normalize_advantage,
            ent_coef=ent_coef,
            vf_coef=0.0,  # the critic is Q
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

    def _setup_model(self) -> None:
        super()._setup_model()
        shape = self.observation_space.shape
        if not isinstance(self.observation_space, Box) or len(shape or ()) != 1:
            raise TypeError(f"HNPG needs flat Box observations, not {self.observation_space}")
        columns, wide = self._columns(), [self.critic_width] * 2
        n_in = columns.action.stop  # observations, then actions
        self.critic = Mlp(1, n_in, wide, 1, activation=th.nn.Tanh).to(self.device)
        self.critic_optimizer = FusedAdam(self.critic.parameters(), lr=self.critic_learning_rate)

    def _columns(self) -> Columns:
        return Columns(self.observation_space.shape[0], self.action_space.shape[0])  # type: ignore[index]

    def _limits(self) -> tuple[Tensor, Tensor]:
        space: Any = self.action_space
        return th.as_tensor(space.low, device=self.device), th.as_tensor(space.high, device=self.device)

    def q(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Q ``[B]`` of normalised observations ``[B, S]`` and actions ``[B, A]`` as the policy gives them."""
        low, high = self._limits()
        scaled = 2 * (actions.clamp(low, high) - low) / (high - low) - 1
        found: Tensor = self.critic(th.cat([observations, scaled], dim=1))
        return found.view(-1)

    def drawn(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Actions ``[B, A]`` of the policy at normalised observations, and their log-probabilities ``[B]``."""
        policy: Any = self.policy
        outputs = policy.actor_outputs(observations)
        actions = policy.distribution.sample(outputs, policy.noise_scale, False)
        return actions, policy.distribution.log_prob(outputs, policy.noise_scale, actions)[0]

    @th.no_grad()
    def v(self, observations: Tensor) -> Tensor:
        """V ``[B]`` of normalised observations: the mean of Q over actions drawn from the policy."""
        draws = (self.q(observations, self.drawn(observations)[0]) for _ in range(DRAWS))
        return th.stack(list(draws)).mean(dim=0)

    def fit(self, observations: Tensor, actions: Tensor, returns: Tensor, offline: Batch | None) -> Tensor:
        """Teaches Q; fresh steps ``[B, ...]`` (B may be 0) and a batch of the dataset (may be None). The loss."""
        loss, nothing = th.zeros(()), returns[:0]
        for _ in range(self.critic_backups):
            with th.no_grad():
                targets = nothing if offline is None else self._targets_of(offline)
            for _ in range(self.critic_updates):
                on = self.q(observations, actions)
                off = nothing if offline is None else self.q(offline.observations, offline.actions)
                loss = minimise(self.critic_optimizer, hybrid_loss(on, returns, off, targets, self.offline_coef))
        return loss

    def _targets_of(self, batch: Batch) -> Tensor:
        following = self.q(batch.next_observations, self.drawn(batch.next_observations)[0])
        return batch.rewards + batch.discounts * following

    @th.no_grad()
    def demonstrated(self, n: int) -> Batch | None:
        """``n`` transitions of the dataset, observations and rewards as networks see them; None without a dataset."""
        if self.demonstrations is None:
            return None
        rows = self.demonstrations.rows[self.demonstrations.draw(n)].to(self.device)
        batch, policy = self._columns().batch(rows, self.gamma, DATASET), self.policy
        low, high = self._limits()
        rewards = batch.rewards
        if self.norm_reward:
            scale = float(self.reward_scale.var + EPSILON) ** 0.5
            rewards = (rewards / scale).clamp(-self.clip_reward, self.clip_reward)
        return batch._replace(
            observations=policy.normalized(batch.observations),  # type: ignore[operator]
            next_observations=policy.normalized(batch.next_observations),  # type: ignore[operator]
            actions=low + (batch.actions + 1) / 2 * (high - low),
            rewards=rewards,
        )

    def _samples_of(self, rewards: Tensor) -> Samples:
        """Of the rollout, by the critic once it has learnt from it, and of the dataset's states."""
        rollout, seen = self.rollout_buffer, self._seen
        assert isinstance(seen, Tensor)
        policy: Any = self.policy
        every = policy.normalized(flat(rollout.observations).to(self.device))  # type: ignore[union-attr]
        last = [th.as_tensor(one, dtype=th.float32) for _, _, one in rollout.last_observations]
        cut = policy.normalized(th.stack(last).to(self.device)) if last else every[:0]
        self._revalue(every, cut)
        dones = rollout.terminated | rollout.truncated
        returns = returns_of(rewards, rollout.next_values, dones, self.gamma).flatten()
        valid = rollout.valid.flatten()
        offline = self.demonstrated(int(valid.sum()))
        actions = rollout.actions.flatten(0, 1)
        observed, acted, earned = (part.to(self.device)[valid] for part in (seen, actions, returns))
        self.logger.record("train/critic_loss", float(self.fit(observed, acted, earned, offline)))
        self._revalue(every, cut)
        samples = rollout.samples(rewards, seen).to(self.device)
        return samples if offline is None else joined(samples, self._of_states(offline.observations))

    def _revalue(self, every: Tensor, cut: Tensor) -> None:
        """Puts V of the critic into the rollout: of ``every`` observation, and where episodes were ``cut`` off."""
        rollout = self.rollout_buffer
        rollout.values.copy_(self.v(every).view_as(rollout.values))
        rollout.finish(self.v(cut))

    @th.no_grad()
    def _of_states(self, observations: Tensor) -> Samples:
        """What the actor learns at the dataset's states ``[B, S]``: from its own actions there."""
        actions, logp = self.drawn(observations)
        q, v = self.q(observations, actions), self.v(observations)
        return Samples(observations, actions, logp, v, q - v, q)

    def train(self, gradient_steps: int | None = None, batch_size: int | None = None) -> None:
        """Learns from the last rollout and the dataset, or does ``gradient_steps`` updates from the dataset alone.

        Raises:
            ValueError: updates are asked for, and there is no dataset.
        """
        if gradient_steps is None:
            super().train()
            return
        if self.demonstrations is None:
            raise ValueError("HNPG has no transitions to learn from: call learn_offline(dataset, n) or learn(n)")
        self._finish_update()
        self._normalise_by(self.demonstrations)
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        for _ in range(gradient_steps):
            batch = self.demonstrated(batch_size or self.batch_size)
            assert batch is not None
            loss = self.fit(batch.observations[:0], batch.actions[:0], batch.rewards[:0], batch)
            self.logger.record("train/critic_loss", float(loss))
            samples, settings = self._of_states(batch.observations), self._update_settings()
            generator = th.Generator().manual_seed(int(th.randint(2**62, ())))
            run_update(samples, self._gradients(), self.policy.optimizer, settings, generator)
            self._n_updates += 1

    def _normalise_by(self, data: Demonstrations) -> None:
        """Where nothing was seen yet; else what is learnt from the dataset is read in other units after a rollout."""
        policy: Any = self.policy
        if all(one.count < 1 for one in policy.moments.values()):
            policy.update_moments(data.rows[:, self._columns().observation])
        if self.norm_reward and self.reward_scale.count < 1:
            self.reward_scale.update(data.returns)

    def _demonstrations(self, dataset: Any) -> Demonstrations:
        agent: Any = self
        return taken_in(agent, dataset)

    def sampling_weights(self, transitions: Transitions) -> None:
        """None: a dataset's transitions are drawn equally often."""

    def reference_returns(self, transitions: Transitions) -> FloatArray:
        """Discounted returns ``[N]`` of a dataset."""
        return transitions.returns(self.gamma)

    def on_dataset(self, transitions: Transitions) -> None:
        """Nothing more to know of it."""

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return [*names, "critic", "critic_optimizer"], variables


def joined(one: Samples, other: Samples) -> Samples:
    """Samples of flat observations side by side."""
    names = ("observations", "actions", "logp_old", "values_old", "advantages", "returns")
    return Samples(*(th.cat([getattr(one, name), getattr(other, name)]) for name in names))
