"""SPR: Q-learning whose encoder also learns to predict its own latents some steps ahead.

    agent = make("spr", "tiltyard/Town-v0", env_kwargs={"observation": "bev"})

Paper: Schwarzer, Anand, Goel, Hjelm, Courville and Bachman, Data-Efficient Reinforcement Learning with Self-Predictive
Representations (2020), section 2. "The authors' code" is github.com/mila-iqia/spr.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch as th
from gymnasium.spaces import Box, Discrete
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.utils import polyak_update
from torch import Tensor
from torch.nn import functional as F

from .base import OffPolicyAgent
from .sequences import Sequences, cut, draw, returns
from .settings import sb3_keywords, takes
from .spr_networks import SPRPolicy


def augmented(images: Tensor, shift: int, intensity: float) -> Tensor:
    """Images ``[B, C, H, W]``, each moved by up to ``shift`` pixels and made brighter or darker.

    The border is repeated where an image is moved away from it. Brightness is multiplied by 1 + ``intensity`` times a
    standard normal number that is cut to [-2, 2].
    """
    count, _, height, width = images.shape
    images = images.float()
    if shift:
        padded = F.pad(images, (shift,) * 4, mode="replicate")
        down, right = th.randint(2 * shift + 1, (2, count, 1), device=images.device)
        rows, columns = (down + th.arange(height, device=images.device), right + th.arange(width, device=images.device))
        one = th.arange(count, device=images.device)[:, None, None]
        images = padded[one, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    if intensity:
        noise = th.randn(count, 1, 1, 1, device=images.device).clamp(-2, 2)
        images = images * (1 + intensity * noise)
    return images


def prediction_loss(predicted: Tensor, targets: Tensor, alive: Tensor) -> Tensor:
    r""":math:`-\frac{1}{B} \sum_b \sum_k m_{b, k} \cos(\hat y_{b, k}, \tilde y_{b, k})`, the paper's prediction loss.

    Args:
        predicted: ``[B, K, D]``.
        targets: ``[B, K, D]``; no gradient flows into them.
        alive: ``[B, K]``, 0 where the target is of another episode.
    """
    return -(F.cosine_similarity(predicted, targets.detach(), dim=2) * alive).sum(dim=1).mean()


def mean_cosine(projections: Tensor) -> Tensor:
    """The mean cosine between different rows of ``[N, D]``: 1 where representations have collapsed."""
    units = F.normalize(projections, dim=1)
    cosines = units @ units.T
    return (cosines.sum() - cosines.diagonal().sum()) / max(1, cosines.numel() - len(cosines))


@dataclass(frozen=True)
class SPRSettings:
    """Settings of SPR.

    Args:
        policy: "CnnPolicy" or "MlpPolicy", which are the same here: the observation decides.
        env: environment with images or vectors as observations and Discrete actions, or its id.
        learning_rate: of Adam.
        spr_weight: lambda of the prediction loss; 0 leaves it out.
        prediction_steps: K, how many steps ahead latents are predicted.
        momentum: of the network that gives their targets; 0 with augmentation and 0.99 without if None.
        shift: pixels by which images are moved at random; 0 for none.
        intensity: standard deviation of the factor of their brightness; 0 for none.
        n_steps: rewards in a return before the value.
        gamma: discount.
        buffer_size: transitions kept.
        learning_starts: environment steps before the first update.
        batch_size: sequences an update.
        train_freq: environment steps between calls of ``train``, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        tau: share by which the target network of Q-learning follows.
        target_update_interval: environment steps between its updates.
        exploration_fraction: share of training over which the exploration rate falls.
        exploration_initial_eps: exploration rate at first.
        exploration_final_eps: exploration rate thereafter.
        max_grad_norm: longer gradients, of all networks but the transition model and of that alone, are cut to it.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.spr_networks.SPRPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 1e-4
    spr_weight: float = 2.0
    prediction_steps: int = 5
    momentum: float | None = None
    shift: int = 4
    intensity: float = 0.05
    n_steps: int = 10
    gamma: float = 0.99
    buffer_size: int = 100_000
    learning_starts: int = 2000
    batch_size: int = 32
    train_freq: int | tuple[int, str] = 1
    gradient_steps: int = 2
    tau: float = 1.0
    target_update_interval: int = 1
    exploration_fraction: float = 0.1
    exploration_initial_eps: float = 1.0
    exploration_final_eps: float = 0.05
    max_grad_norm: float = 10.0
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True


class SPR(OffPolicyAgent, DQN):
    r"""Double Q-learning with self-predictive representations.

    An encoder gives latents :math:`z_t` of observations, and a transition model h continues them by the actions taken:
    :math:`\hat z_t = z_t, \hat z_{t + k} = h(\hat z_{t + k - 1}, a_{t + k - 1})`. Projected by the first layers g of
    the Q head and a linear predictor q, they are to point where the projection of what was observed then points,

    .. math:: L = L_{TD} - \lambda \sum_{k=1}^{K} \cos(q(g(\hat z_{t + k})),
        g_m(z_m(\text{aug}(o_{t + k}))))

    where m is a copy whose weights follow with ``momentum`` and that no gradient enters. All images are augmented,
    those of Q-learning too. Predictions beyond the end of an episode do not count. ``train/latent_cosine`` in the log
    is the mean cosine between the targets of different observations: near 1 they have collapsed.

    Departures: the authors build on Rainbow; here Q-learning is double, dueling and of n-step returns, but with one
    value an action in place of a distribution, actions that are random with ``exploration_rate`` in place of noisy
    layers, and sequences drawn uniformly in place of by priority. The target of an episode's last step is its last
    observation, which the authors leave out. With momentum 0 targets are of the encoder as it is, where in the
    authors' code they are of that before the last update. The head's gradients into the encoder are not scaled by
    :math:`1/\sqrt 2`. Vectors are taken besides images, without augmentation.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": SPRPolicy, "CnnPolicy": SPRPolicy}
    acts_in = (Discrete,)
    policy: SPRPolicy  # type: ignore[assignment]

    @takes(SPRSettings)
    def __init__(self, settings: SPRSettings) -> None:
        self.settings = replace(settings, env=None)
        super().__init__(
            **sb3_keywords(
                DQN,
                settings,
                replay_buffer_class=ReplayBuffer,  # whose rows are steps; returns of several are of sequences
                n_steps=1,
            )
        )

    def _setup_model(self) -> None:
        space = self.observation_space
        if not isinstance(space, Box) or len(space.shape) not in (1, 3):
            raise TypeError(f"SPR learns from images or vectors, not from {space}: flatten or wrap the observations")
        if self.buffer_size // self.n_envs < self.length:
            raise ValueError(
                f"SPR draws sequences of {self.length} steps (n_steps, prediction_steps): a buffer_size of "
                f"{self.buffer_size} has no room for one in each of {self.n_envs} environments"
            )
        # A call of step is n_envs steps: fewer cannot lie between two updates of the target network.
        self.target_update_interval = max(self.target_update_interval, self.n_envs)
        super()._setup_model()

    def _setup_learn(self, *args: Any, **kwargs: Any) -> Any:
        """As in SB3; where the environment begins anew, what was stored last is the last step of its episode."""
        before = self._last_obs
        found = super()._setup_learn(*args, **kwargs)
        if self._last_obs is not before:
            cut(self._buffer)
        return found

    @property
    def length(self) -> int:
        """Steps of a sequence."""
        return max(self.settings.n_steps, self.settings.prediction_steps if self.settings.spr_weight else 1)

    @property
    def augments(self) -> bool:
        """Whether observations are augmented."""
        return len(self.observation_space.shape or ()) == 3 and bool(self.settings.shift or self.settings.intensity)

    @property
    def momentum(self) -> float:
        """Of the network that gives the targets of predictions."""
        given = self.settings.momentum
        return given if given is not None else 0.0 if self.augments else 0.99

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Does ``gradient_steps`` updates, as soon as one sequence is stored."""
        if self._buffer.size() < self.length:
            return
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        done = [self._update(batch_size) for _ in range(gradient_steps)]
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name in done[0] if done else ():
            self.logger.record(f"train/{name}", float(th.stack([one[name] for one in done]).mean()))

    def _update(self, batch_size: int) -> dict[str, Tensor]:
        asked, net = self.settings, self.policy.q_net
        drawn = draw(self._buffer, batch_size, self.length)
        latents = net.encode(self._seen(drawn.of(self._buffer.observations, 1)[:, 0]))
        actions = th.as_tensor(drawn.of(self._buffer.actions)[..., 0], device=self.device).long()
        chosen = net.q_net(latents).gather(1, actions[:, :1])[:, 0]
        losses = {"loss": F.smooth_l1_loss(chosen, self._td_targets(drawn))}
        total = losses["loss"]
        if asked.spr_weight:
            losses |= self._prediction(latents, actions, drawn)
            total = total + asked.spr_weight * losses["spr_loss"]
        self.policy.optimizer.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        model = list(net.transition.parameters())
        for params in (
            [*net.features_extractor.parameters(), *net.q_net.parameters(), *net.predictor.parameters()],
            model,
        ):
            th.nn.utils.clip_grad_norm_(params, self.max_grad_norm)
        self.policy.optimizer.step()
        polyak_update(net.parameters(), self.policy.q_net_momentum.parameters(), 1 - self.momentum)
        return {name: loss.detach() for name, loss in losses.items()}

    @th.no_grad()
    def _td_targets(self, drawn: Sequences) -> Tensor:
        """Double Q-learning's, ``[B]``."""
        found = returns(self._buffer, drawn, self.settings.n_steps, self.gamma)
        rewards = self._buffer._normalize_reward(found.rewards, self._vec_normalize_env)
        after = self._seen(self._buffer.next_observations[found.last, drawn.envs])
        best = self.policy.q_net(after).argmax(dim=1, keepdim=True)
        values: Tensor = self.policy.q_net_target(after).gather(1, best)[:, 0]
        gained, discounts = (th.as_tensor(one, device=self.device) for one in (rewards, found.discounts))
        return gained + discounts * values

    def _prediction(self, latents: Tensor, actions: Tensor, drawn: Sequences) -> dict[str, Tensor]:
        """The loss of predictions, and how alike their targets are."""
        net, steps = self.policy.q_net, self.settings.prediction_steps
        predicted = []
        for k in range(steps):
            latents = net.transition(latents, actions[:, k])
            predicted.append(net.predictor(net.project(latents)))
        alive = th.as_tensor(drawn.alive[:, :steps], device=self.device)
        with th.no_grad():
            seen = drawn.of(self._buffer.next_observations, steps)
            slow = self.policy.q_net_momentum
            targets = slow.project(slow.encode(self._seen(seen.reshape(-1, *seen.shape[2:]))))
            targets = targets.view(len(alive), steps, -1)
        loss = prediction_loss(th.stack(predicted, dim=1), targets, alive)
        return {"spr_loss": loss, "latent_cosine": mean_cosine(targets[:, 0])}

    def _seen(self, observations: Any) -> Tensor:
        """Stored observations ``[B, ...]`` as the networks take them, augmented."""
        seen = th.as_tensor(self._buffer._normalize_obs(np.asarray(observations), self._vec_normalize_env))
        seen = seen.to(self.device)
        return augmented(seen, self.settings.shift, self.settings.intensity) if self.augments else seen
