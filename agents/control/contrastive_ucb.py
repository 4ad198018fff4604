r"""Contrastive-UCB: features of transitions from a contrastive loss, and a bonus for pairs whose features are rare.

    env = gymnasium.make("tiltyard/Highway-v0", action="discrete")
    agent = make("contrastive-ucb", env, horizon=40, bonus_weight=0.1)
    agent.learn(20_000)

Paper: Qiu et al., Contrastive UCB: Provably Efficient Contrastive Self-Supervised Learning in Online Reinforcement
Learning (2022); see :mod:`.contrastive_features` for what of it was read.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from .base import OffPolicyAgent
from .contrastive_features import (
    Support,
    contrastive_loss,
    count_bonus,
    elliptical_bonus,
    inverse_covariance,
    log_ratios,
    planned,
)
from .contrastive_policy import ContrastivePolicy
from .offline import logged_updates
from .settings import sb3_keywords, takes
from .updates import minimise

BONUSES = ("elliptical", "count")


class Pairs(NamedTuple):
    """What one update sees."""

    observations: Tensor  # [B, ...]
    actions: Tensor  # [B]
    next_observations: Tensor  # [B, ...]

    def to(self, device: th.device | str) -> "Pairs":
        """On a device."""
        return Pairs(*(part.to(device) for part in self))


@dataclass(frozen=True)
class ContrastiveUCBSettings:
    """Those of Contrastive-UCB.

    Args:
        policy: "MlpPolicy".
        env: any environment with Discrete or flat Box observations, which should tell the step where episodes have a
            fixed length (``gymnasium.wrappers.TimeAwareObservation``), and Discrete actions; or its id.
        learning_rate: of the features.
        horizon: steps of an episode: backups of the planner, and what ``uniform_actions`` begin within.
        bonus: "elliptical", of the learnt features; or "count", of exact observations and actions.
        bonus_weight: beta; at 0 there is no bonus.
        bonus_limit: the largest bonus.
        ridge: lambda.
        uniform_actions: how many actions of every training episode are uniformly random, from a step that is drawn.
        exploration_final_eps: how often any other action in training is.
        n_support: next states that planning is over, the newest of them.
        gamma: discount.
        buffer_size: transitions kept.
        learning_starts: environment steps before the first update.
        batch_size: transitions an update.
        train_freq: environment steps between calls of ``train``, each of which plans, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.contrastive_policy.ContrastivePolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 3e-3
    horizon: int = 20
    bonus: str = "elliptical"
    bonus_weight: float = 1.0
    bonus_limit: float = 1.0
    ridge: float = 1.0
    uniform_actions: int = 2
    exploration_final_eps: float = 0.0
    n_support: int = 1024
    gamma: float = 1.0
    buffer_size: int = 100_000
    learning_starts: int = 100
    batch_size: int = 256
    train_freq: int | tuple[int, str] = 16
    gradient_steps: int = 16
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True

    def __post_init__(self) -> None:
        if self.bonus not in BONUSES:
            raise ValueError(f"bonus must be one of {', '.join(BONUSES)}, got {self.bonus!r}")


class ContrastiveUCB(OffPolicyAgent):
    r"""Features by a contrastive loss, an elliptical bonus on them, and value iteration with both.

    :math:`f(s, a, s') = \phi(s, a)^T \psi(s')` learns to tell next states from those of other pairs
    (:func:`~.contrastive_features.contrastive_loss`), so that :math:`P^-(s') f(s, a, s')` is a model of the
    transitions. Value iteration with it is over the next states stored, and adds

    .. math:: b(s, a) = \min(\beta \sqrt{\phi^T \Sigma^{-1} \phi}, limit), \quad
        \Sigma = \lambda I + \sum_i \phi(s_i, a_i) \phi(s_i, a_i)^T

    to the expected reward :math:`\phi^T \theta`, where :math:`\theta` is a ridge regression on the same features. In
    training actions are greedy for these values, but a few uniform ones, so that all actions are tried at what has
    been reached; ``predict`` is greedy for the values that are planned without the bonus.

    Departures from the paper: features are a distribution over d latent outcomes, which makes f positive; one network
    for all steps, in place of one a step, so that observations must tell the step; the loss is minimised by a few
    steps of Adam, from where it stood; rewards are learnt, which the paper takes as known; values are bounded by the
    bonus's limit alone; the random actions continue in the same episode. The authors' experiments are another
    algorithm with the same bonus: Rainbow with SPR. ``bonus="count"`` is the baseline that counts pairs.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": ContrastivePolicy}
    refuses_vec_normalize: ClassVar[bool] = True
    acts_in = (Discrete,)
    numbered_from_0 = False
    policy: ContrastivePolicy

    @takes(ContrastiveUCBSettings)
    def __init__(self, settings: ContrastiveUCBSettings) -> None:
        self.settings = replace(settings, env=None)
        super().__init__(
            **sb3_keywords(OffPolicyAlgorithm, settings, sde_support=False, supported_action_spaces=(Discrete,))
        )
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        space, acts = self.observation_space, self.action_space
        flat = isinstance(space, Discrete) or (isinstance(space, Box) and len(space.shape) == 1)
        if not flat or not isinstance(acts, Discrete) or acts.start != 0:
            raise TypeError(
                "ContrastiveUCB learns from Discrete or flat Box observations and Discrete actions from 0 on, not from "
                f"{space} and {acts}: flatten or wrap them"
            )
        super()._setup_model()
        self._optimistic: Tensor | None = None  # theta + gamma w with the bonus, once there is a plan
        self._inverse = th.eye(self.policy.feature_dim, dtype=th.float64, device=self.device)
        self._counts: dict[bytes, npt.NDArray[np.float32]] = {}
        self._step_of = np.zeros(self.n_envs, np.int64)
        self._uniform_from = self._drawn()

    def train(self, gradient_steps: int, batch_size: int = 256) -> None:
        """Does ``gradient_steps`` updates of the features, then plans with them.

        Raises:
            ValueError: there are fewer than two transitions yet to learn from.
        """
        buffer = self.replay_buffer
        if buffer is None or buffer.size() * self.n_envs < 2:
            raise ValueError("ContrastiveUCB has no transitions to learn from: call learn(n)")
        logged_updates(self, gradient_steps, max(batch_size, 2))
        self.plan()

    def sample(self, batch_size: int) -> Pairs:
        """A batch of transitions."""
        drawn = self._buffer.sample(batch_size)
        return Pairs(drawn.observations, drawn.actions.long().reshape(-1), drawn.next_observations)

    def update(self, batch: Pairs) -> dict[str, Tensor]:
        """One step down the contrastive loss."""
        rows = th.arange(len(batch.actions), device=self.device)
        chosen = self.policy.log_phi(batch.observations)[rows, batch.actions]
        log_f = log_ratios(chosen, self.policy.log_psi(batch.next_observations))
        return {"contrastive_loss": minimise(self.policy.optimizer, contrastive_loss(log_f))}

    @th.no_grad()
    def plan(self) -> None:
        """Fits rewards and the bonus to all stored transitions, and plans with and without the bonus."""
        asked, policy, gamma = self.settings, self.policy, self.gamma
        seen, actions, rewards, after, going_on = self.transitions()
        phi = policy.log_phi(seen)[th.arange(len(seen), device=self.device), actions].exp()
        self._inverse = inverse_covariance(phi, asked.ridge)
        theta = (self._inverse @ (phi.double().T @ rewards.double())).float()
        there = after[-asked.n_support :]
        phi_there = policy.log_phi(there).exp()
        bonus = self.bonus(phi_there, there)
        support = Support(policy.log_psi(there), phi_there, going_on[-asked.n_support :], bonus)
        policy.q.copy_(theta + gamma * planned(support, theta, gamma, asked.horizon, bonus=False))
        self._optimistic = theta + gamma * planned(support, theta, gamma, asked.horizon, bonus=True)

    def transitions(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """All that is stored, the oldest first: s, a ``[n]``, r ``[n]``, s', and 0 where the episode ended there."""
        buffer = self._buffer
        rows = (buffer.pos - buffer.size() + np.arange(buffer.size())) % buffer.buffer_size
        going_on = 1 - buffer.dones * (1 - buffer.timeouts)
        parts = buffer.observations, buffer.actions, buffer.rewards, buffer.next_observations, going_on
        flat = [th.as_tensor(part[rows], device=self.device).flatten(0, 1) for part in parts]
        return flat[0], flat[1].reshape(-1).long(), flat[2], flat[3], flat[4]

    def bonus(self, phi: Tensor, observations: Tensor) -> Tensor:
        """The bonus of all actions, ``[B, A]``, given their features ``[B, A, d]`` and observations ``[B, ...]``."""
        weight, limit, ridge = self.settings.bonus_weight, self.settings.bonus_limit, self.settings.ridge
        if self.settings.bonus == "elliptical":
            return elliptical_bonus(phi, self._inverse, weight, limit)
        none = np.zeros(self.policy.n_actions, np.float32)
        counts = np.stack([self._counts.get(one.tobytes(), none) for one in observations.cpu().numpy()])
        return count_bonus(th.as_tensor(counts, device=self.device), ridge, weight, limit)

    @th.no_grad()
    def optimistic_actions(self, observations: Tensor) -> Tensor:
        """The best actions ``[B]`` by the values with the bonus.

        Raises:
            ValueError: nothing is planned yet.
        """
        if self._optimistic is None:
            raise ValueError("ContrastiveUCB has no plan yet: call learn(n)")
        phi = self.policy.log_phi(observations).exp()
        return (phi @ self._optimistic + self.bonus(phi, observations)).argmax(dim=1)

    def _sample_action(self, learning_starts: int, action_noise: Any = None, n_envs: int = 1) -> Any:
        """By the values with the bonus, but for those actions that are random."""
        uniform = th.randint(self.policy.n_actions, (n_envs,)).numpy()
        if self._optimistic is None or self.num_timesteps < learning_starts:
            return uniform, uniform
        since = self._step_of - self._uniform_from
        random = (since >= 0) & (since < self.settings.uniform_actions)
        random |= th.rand(n_envs).numpy() < self.settings.exploration_final_eps
        best = self.optimistic_actions(self._as_stored(self._last_obs)).cpu().numpy()
        actions = np.where(random, uniform, best)
        return actions, actions

    def _as_stored(self, observations: Any) -> Tensor:
        """Observations ``[B, ...]`` as the buffer has them."""
        array = np.asarray(observations, self._buffer.observations.dtype)
        return th.as_tensor(array.reshape(-1, *self._buffer.obs_shape), device=self.device)

    def _store_transition(
        self, replay_buffer: Any, buffer_action: Any, new_obs: Any, reward: Any, dones: Any, infos: Any
    ) -> None:
        """As in SB3, and counts steps of episodes, and visits where the bonus needs them."""
        seen = self._as_stored(self._last_obs).cpu().numpy() if self.settings.bonus == "count" else ()
        super()._store_transition(replay_buffer, buffer_action, new_obs, reward, dones, infos)
        for one, action in zip(seen, buffer_action, strict=False):
            self._counts.setdefault(one.tobytes(), np.zeros(self.policy.n_actions, np.float32))[int(action)] += 1
        self._step_of = np.where(dones, 0, self._step_of + 1)
        self._uniform_from = np.where(dones, self._drawn(), self._uniform_from)

    def _drawn(self) -> Any:
        """Steps from which actions are uniform, one an environment."""
        return th.randint(self.settings.horizon, (self.n_envs,)).numpy()

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer"], []

    def _excluded_save_params(self) -> list[str]:
        own = ["_optimistic", "_inverse", "_counts", "_step_of", "_uniform_from"]
        return [*super()._excluded_save_params(), *own]
