"""Agents of whole episodes that imitate without learnt critics: all of them, the successes, or by weights."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .settings import takes
from .trajectories import Pool
from .trajectory_agent import TrajectoryAgent, TrajectorySettings


class Cloning(TrajectoryAgent):
    r"""Behaviour cloning, :math:`-E[\log \pi(a|s)]` of all recorded steps.

    In :meth:`learn` it imitates itself beside the data, which teaches nothing new: it is the baseline of the others.
    """

    settings: TrajectorySettings
    needs_data: ClassVar[bool] = True

    @takes(TrajectorySettings)
    def __init__(self, settings: TrajectorySettings) -> None:
        self.construct(settings)

    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """See the class."""
        return {"actor_loss": self.imitate(pool, np.arange(len(pool)), updates)}


class FilteredCloning(TrajectoryAgent):
    """Behaviour cloning of successful episodes alone, those of its own that :meth:`learn` collects included.

    It is the baseline of DigiRL's paper, after Pan et al., Autonomous Evaluation and Refinement of Digital Agents
    (2024). The authors' code keeps the best tenth of all episodes by reward; where more than a tenth succeeds, these
    are the same.
    """

    settings: TrajectorySettings

    @takes(TrajectorySettings)
    def __init__(self, settings: TrajectorySettings) -> None:
        self.construct(settings)

    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """See the class; where nothing succeeded nothing is learnt."""
        steps = np.flatnonzero(pool.outcome[pool.episode] > 0)
        return {"actor_loss": self.imitate(pool, steps, updates), "steps_kept": len(steps) / len(pool)}


def outcome_weights(
    outcome: npt.NDArray[np.float64], left: npt.NDArray[np.int64], gamma: float, temperature: float, limit: float
) -> npt.NDArray[np.float64]:
    r""":math:`\min(\exp(A / \beta), limit)` with :math:`A = \gamma^{H-h} r_H` less its mean over all steps ``[N]``."""
    returns = gamma**left * outcome
    weights: npt.NDArray[np.float64] = np.minimum(np.exp((returns - returns.mean()) / temperature), limit)
    return weights


@dataclass(frozen=True)
class OutcomeAWRSettings(TrajectorySettings):
    """Those of AWR by outcomes, beside what agents of whole episodes take.

    Args:
        gamma: discount.
        temperature: beta.
        weight_limit: of a step's weight.
    """

    _: KW_ONLY
    gamma: float = 0.95
    temperature: float = 0.3
    weight_limit: float = 20.0


class OutcomeAWR(TrajectoryAgent):
    r"""Advantage-weighted regression with Monte Carlo returns, and their mean in the place of a learnt critic.

    .. math:: -E[\min(\exp((\gamma^{H-h} r_H - \bar R) / \beta), 20) \log \pi(a|s)]
    """

    settings: OutcomeAWRSettings

    @takes(OutcomeAWRSettings)
    def __init__(self, settings: OutcomeAWRSettings) -> None:
        self.construct(settings)

    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """See the class."""
        asked = self.settings
        outcome = pool.outcome[pool.episode]
        weights = outcome_weights(outcome, pool.left, asked.gamma, asked.temperature, asked.weight_limit)
        steps = np.arange(len(pool))
        return {"actor_loss": self.imitate(pool, steps, updates, weights), "weight": float(weights.mean())}
