"""FastTD3: TD3 over many environments, with distributional critics and noise of a strength that differs between them.

Paper: Seo et al., FastTD3: Simple, Fast, and Capable Reinforcement Learning for Humanoid Control, 2025 (arXiv
2505.22642). "The authors' code" is github.com/younggyoseo/FastTD3.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor

from ..actor_critic import Metrics
from ..explicit import Step, distributional_regression, explicit, improvement
from ..networks import Critics
from ..replay import Batch
from ..settings import takes
from ..td3 import smoothing
from .agent import ParallelActorCritic, ParallelSettings, projected


@dataclass(frozen=True)
class FastTD3Settings(ParallelSettings):
    """Those of FastTD3, beside what agents over many environments take.

    Args:
        noise_min: least standard deviation of an environment's exploration noise, on actions scaled to [-1, 1].
        noise_max: largest.
        target_policy_noise: sigma of the noise on the next actions.
        target_noise_clip: its limit.

    Raises:
        ValueError: ``noise_min`` above ``noise_max``.
    """

    _: KW_ONLY
    noise_min: float = 0.1
    noise_max: float = 0.4
    target_policy_noise: float = 0.1
    target_noise_clip: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise_min > self.noise_max:
            raise ValueError(f"noise_min is at most noise_max, got {self.noise_min} and {self.noise_max}")


def critic_gradients(
    actor: Any, critic: Critics, target: Critics, batch: Batch, rewards: Tensor, noise: Tensor, clipped: bool
) -> Step:
    """What the critics learn; next actions are the actor's own, as in the authors' code, with ``noise`` ``[B, A]``."""
    following = (actor(batch.next_observations).detach() + noise).clamp(-1, 1)
    wanted = projected(target, batch.next_observations, following, rewards, batch.discounts, clipped)
    return distributional_regression(critic, batch.observations, batch.actions, wanted)


class FastTD3(ParallelActorCritic):
    r"""TD3 over many environments.

    Critics are distributions Z_i of returns over fixed bins (C51), which learn by cross-entropy from

    .. math::
        r_t + ... + \gamma^{n-1} r_{t+n-1} + \gamma^n Z'_j(s', a'), \quad
        a' = \pi(s') + \mathrm{clip}(N(0, \sigma), -c, c)

    projected on the bins, where j is the target critic of the smaller mean (``clipped_double_q``) or i itself. The
    actor climbs the smaller mean, or the mean of the means, at every ``policy_delay``-th update. Unlike TD3 there is no
    target actor. Each environment explores by Gaussian noise of its own standard deviation, drawn uniformly from
    ``noise_min`` to ``noise_max`` at the beginning of each of its episodes; what is stored is clipped to the space.

    Numbers are those that the authors' code has for dm_control's cheetah (noise, returns over 3 steps, weight decay)
    but for those that :class:`ParallelSettings` names.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {
        "actor": "deterministic",
        "net_arch": {"pi": [128, 128], "qf": [128, 128]},
        "critic_head_kwargs": {"v_min": -5.0, "v_max": 5.0, "n_bins": 51},
        "optimizer_kwargs": {"weight_decay": 0.1},
    }
    settings: FastTD3Settings

    @takes(FastTD3Settings)
    def __init__(self, settings: FastTD3Settings) -> None:
        self._scales = th.zeros(0)
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        begin_near_zero(self.actor.net.params[-2:])

    def _begin(self, num_envs: int) -> None:
        super()._begin(num_envs)
        self._scales = self._drawn(num_envs)

    def _drawn(self, n: int) -> Tensor:
        low, high = self.settings.noise_min, self.settings.noise_max
        return low + (high - low) * th.rand(n, 1)

    def on_ends(self, ended: npt.NDArray[np.bool_]) -> None:
        """Environments whose episodes have ended explore by another strength."""
        which = th.from_numpy(np.flatnonzero(ended))
        self._scales[which] = self._drawn(len(which))

    def explored(self, observations: Tensor) -> Tensor:
        """See the class."""
        actions = super().explored(observations)
        return actions + self._scales.to(actions.device) * th.randn_like(actions)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked, actor, critic = self.settings, self.actor, self.critic
        noise = smoothing(batch, asked.target_policy_noise, asked.target_noise_clip)
        rewards, target, clipped = self.scaled(batch.rewards), self.critic_target, asked.clipped_double_q
        step = self.compute(critic_gradients, actor, critic, target, batch, rewards, noise, clipped)
        metrics = {"critic_loss": critic.descend(*step[:2]), "q": step.seen}
        if (self._n_updates + 1) % asked.policy_delay == 0:
            step = self.compute(improvement, actor, critic, batch, "min" if clipped else "mean")
            metrics["actor_loss"] = actor.descend(*step[:2])
        self.update_targets()
        return metrics

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_scales"]


@th.no_grad()
def begin_near_zero(layer: tuple[Tensor, ...], columns: int | None = None) -> None:
    """Draws an actor's last layer (of the first ``columns`` or all) as the authors' code does: N(0, 0.01), biases 0."""
    weights, biases = layer
    weights[..., :columns].normal_(0.0, 0.01)
    biases[..., :columns].zero_()
