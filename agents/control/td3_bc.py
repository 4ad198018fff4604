"""TD3+BC: TD3 whose actor also stays near the actions of the data.

Paper: Fujimoto and Gu, A Minimalist Approach to Offline Reinforcement Learning (2021). "The authors' code" is
github.com/sfujim/TD3_BC.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from gymnasium.spaces import Space
from stable_baselines3.common.preprocessing import get_flattened_obs_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .explicit import Step, explicit, judged
from .networks import Critics, Deterministic
from .replay import Batch, Demonstrations
from .settings import takes
from .td3 import TD3, TD3Settings, delayed_update

EPSILON = 1e-3  # guards the division by the standard deviation (5)


class Standardised(BaseFeaturesExtractor):
    """Flat observations as (s - mean) / std; both are part of the weights, so a checkpoint acts as the agent did.

    Args:
        observation_space: of the environment.
    """

    mean: Tensor  # [obs]
    std: Tensor  # [obs]
    fitted: Tensor  # whether they are known

    def __init__(self, observation_space: Space[Any]) -> None:
        size = get_flattened_obs_dim(observation_space)
        super().__init__(observation_space, size)
        self.register_buffer("mean", th.zeros(size))
        self.register_buffer("std", th.ones(size))
        self.register_buffer("fitted", th.tensor(False))

    def forward(self, observations: Tensor) -> Tensor:
        """``[B, obs]``."""
        return (observations.flatten(1) - self.mean) / self.std

    def fit(self, observations: Tensor) -> None:
        """Takes mean and deviation from ``[N, obs]``, once: networks go on seeing what they began to learn from."""
        if not self.fitted:
            self.mean.copy_(observations.mean(dim=0))
            self.std.copy_(observations.std(dim=0, correction=0) + EPSILON)
            self.fitted.fill_(True)


@dataclass(frozen=True)
class TD3BCSettings(TD3Settings):
    """Those of TD3+BC, beside TD3's.

    Args:
        alpha: weight of the value against cloning; 0 clones alone.
        normalize_observations: standardise observations.
    """

    _: KW_ONLY
    alpha: float = 2.5
    normalize_observations: bool = True


def cloning_improvement(actor: Deterministic, critic: Critics, batch: Batch, alpha: float) -> Step:
    """The actor's; see :class:`TD3BC`."""
    passed = actor.net.passed(actor.features(batch.observations))
    actions = actor.actions(passed.out[0], None)
    values, slope = judged(critic, batch.observations, actions, "first")
    weight, away = alpha / values.detach().abs().mean(), actions - batch.actions
    g = 2 * away / away.numel() - weight / len(values) * slope
    loss = away.square().mean() - weight * values.mean()
    return Step(loss, actor.gradients(passed, g * (1 - actions * actions)), values.detach())


def standardise(agent: ActorCritic, data: Demonstrations) -> Demonstrations:
    """The data, whose mean and deviation the agent's networks see by, if it is their first."""
    for module in agent.policy.modules():
        if isinstance(module, Standardised):
            module.fit(data.rows[:, agent._columns().observation].to(agent.device))
    return data


class TD3BC(ActorCritic):
    r"""TD3 with behaviour cloning: two changes to TD3 (:class:`~.td3.TD3`).

    The actor minimises

    .. math::
        -\lambda Q_1(s, \pi(s)) + (\pi(s) - a)^2, \quad \lambda = \alpha / \mathrm{mean} |Q_1(s, \pi(s))| \qquad (3, 4)

    averaged over the batch, the square over action dimensions too; and observations are standardised with the
    dataset's mean and deviation (5), which are kept with the weights: of the first dataset where several are given.
    All numbers are the paper's. Online, the same loss clones what is replayed, the dataset and the agent's own actions.
    """

    needs_data: ClassVar[bool] = True
    policy_defaults: ClassVar[dict[str, Any]] = {**TD3.policy_defaults, "features_extractor_class": Standardised}

    settings: TD3BCSettings

    @takes(TD3BCSettings)
    def __init__(self, settings: TD3BCSettings) -> None:
        self.construct(settings)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        return delayed_update(self, self.settings, batch, cloning_improvement, self.settings.alpha)

    def _demonstrations(self, dataset: Any) -> Demonstrations:
        found = super()._demonstrations(dataset)
        return standardise(self, found) if self.settings.normalize_observations else found
