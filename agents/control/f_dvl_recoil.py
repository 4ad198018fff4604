"""f-DVL: IQL's scheme with V from the dual of offline RL that stays near the data in an f-divergence; XQL is one case.

Papers: Sikchi, Zheng, Zhang, Niekum, Dual RL: Unification and New Methods for Reinforcement and Imitation Learning
(2023); for "kl" Garg et al., Extreme Q-Learning: MaxEnt RL without Entropy (2023). "The authors' code" is
github.com/hari-sikchi/DVL.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from torch import Tensor
from torch.nn import functional as F

from ... import unknown
from .actor_critic import ActorCritic, Metrics
from .datasets import Transitions
from .explicit import Step, explicit, regression
from .heads import SquaredError
from .iql import InSample, InSampleSettings
from .networks import Critics
from .replay import Batch
from .settings import takes

DIVERGENCES = {"chi-square": 0.7, "total-variation": 0.7, "kl": 2.0}
"""Names, and what ``temperature`` is where it is not given."""


def chi_square_loss(error: Tensor, weight: float) -> Tensor:
    r""":math:`\lambda f^*(x) - (1 - \lambda) x` with :math:`f^*(x) = x + x^2 / 4` above 0, else 0."""
    above = error.clamp_min(0)
    return weight * (above + above.square() / 4) - (1 - weight) * error


def total_variation_loss(error: Tensor, weight: float) -> Tensor:
    r""":math:`\lambda \max(x, 0) - (1 - \lambda) x`: V is a quantile of Q."""
    return weight * error.clamp_min(0) - (1 - weight) * error


def gumbel_loss(error: Tensor, temperature: float, limit: float | None = None) -> Tensor:
    r""":math:`(e^z - z - 1) e^{-m}` with :math:`z = \min(x / T, limit)`.

    m is the batch's largest z, at least -1, without gradient: as in XQL's code it scales the step down where an outlier
    would blow it up, and the step of all others with it.
    """
    z = error / temperature
    z = z if limit is None else z.clamp_max(limit)
    largest = z.detach().max().clamp_min(-1)
    return (z - largest).exp() - (z + 1) * (-largest).exp()


def dual_loss(error: Tensor, divergence: str, temperature: float, limit: float | None) -> tuple[Tensor, Tensor]:
    """The loss of each error, and its slope."""
    if divergence == "kl":
        loss = gumbel_loss(error, temperature, limit)
        z = error / temperature if limit is None else (error / temperature).clamp_max(limit)
        m = z.max().clamp_min(-1)
        inside = 1 if limit is None else error <= limit * temperature
        return loss, ((z - m).exp() - (-m).exp()) * inside / temperature
    above = (error > 0).to(error.dtype)
    if divergence == "chi-square":
        return chi_square_loss(error, temperature), temperature * (above + error.clamp_min(0) / 2) - (1 - temperature)
    return total_variation_loss(error, temperature), temperature * above - (1 - temperature)


def huber_regression(critic: Critics, observations: Any, actions: Tensor, target: Tensor, limit: float) -> Step:
    """As :func:`~.explicit.regression`, by Huber's loss of limit ``limit`` where the head's is the squared error."""
    if not isinstance(critic.head, SquaredError):
        return regression(critic, observations, actions, target)
    passed = critic.passed(observations, actions)
    error = critic.head.loss_slope(passed.out, target)
    loss = F.huber_loss(error, th.zeros_like(error), reduction="none", delta=limit).mean(dim=1).sum()
    gradients = passed.gradients(error.clamp(-limit, limit) / len(target))
    return Step(loss, gradients, critic.head.value(passed.out).detach().mean())


@dataclass(frozen=True)
class FDVLSettings(InSampleSettings):
    """Those of f-DVL, beside IQL's relatives'.

    Args:
        divergence: "chi-square", "total-variation" or "kl", which is XQL.
        temperature: lambda, or for "kl" T, the larger the nearer V stays to the mean of the data's actions; one setting
            for all, as in the authors' code (whose default is 1: V then has no reason to come down); 0.7, 0.7 and 2 if
            None.
        max_clip: limit of z for "kl"; None for none.
        huber: where the critics' loss becomes linear.
    """

    _: KW_ONLY
    divergence: str = "chi-square"
    temperature: float | None = None
    max_clip: float | None = 7.0
    huber: float = 20.0

    @property
    def chosen_temperature(self) -> float:
        """The divergence's own where none is given."""
        return DIVERGENCES[self.divergence] if self.temperature is None else self.temperature

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.divergence not in DIVERGENCES:
            raise ValueError(unknown("divergence", self.divergence, DIVERGENCES))
        chosen = self.chosen_temperature
        if self.divergence == "kl" and not chosen > 0:
            raise ValueError(f"with kl, temperature is above 0, got {chosen}")
        if self.divergence != "kl" and not 0.5 < chosen <= 1:
            raise ValueError(f"with {self.divergence}, temperature is above 0.5 and at most 1, got {chosen}")


class FDVL(ActorCritic):
    r"""f-dual V-learning.

    As :class:`~.iql.IQL`, with the errors x = Q'(s, a) - V(s) of the data's actions in

    .. math::
        L_V &= E[\lambda f^*(x) - (1 - \lambda) x] \\
        L_Q &= E[\mathrm{Huber}_{20}(r + \gamma V(s') - Q_i(s, a))]

    where f* is the conjugate of the chi-square divergence or of total variation. Lambda lies between 1/2 and 1: the
    larger, the nearer V comes to the best of the data's actions; for total variation V is the quantile
    :math:`(2 \lambda - 1) / \lambda` of Q. An outlier x pulls with a strength that grows linearly, or not at all, where
    XQL's Gumbel loss (``divergence="kl"``, see :func:`gumbel_loss`) grows exponentially.

    V's hidden layers are normalised, as the authors' settings for locomotion have it. Rewards should be of a scale of
    about 1 a step, since f* is no function of scale; ``reward_scale="auto"`` does so.

    Departures: the paper's formula for chi-square, :math:`\max(x + x^2/4, 0)`, rises again below -4, where it would
    count actions much worse than V in V's disfavour although no such action can have a weight below 0; here f* stays 0
    there, flat as the conjugate over weights of at least 0 is (at -1, from x = -2 down). Batches are 256, not 1024. V
    sees no uniformly random actions (an option of the code, which smooths it where data are narrow). Critics with
    another head than "mse" learn by that head's loss, not Huber's.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {
        "actor": "gaussian",
        "n_values": 1,
        "value_layer_norm": True,
        "orthogonal_init": math.sqrt(2),
    }
    settings: FDVLSettings
    reward_factor: Tensor
    reward_offset: Tensor
    saved_tensors = ("reward_factor", "reward_offset")

    @takes(FDVLSettings)
    def __init__(self, settings: FDVLSettings) -> None:
        self.temperature = settings.chosen_temperature
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.in_sample = InSample(self)
        self.reward_factor, self.reward_offset = self.in_sample.reward_factor, self.in_sample.reward_offset

    def on_dataset(self, transitions: Transitions) -> None:
        """Finds shift and scale of rewards, where they are the dataset's to say."""
        self.in_sample.fit_rewards(transitions)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked = self.settings
        parameters = asked.divergence, self.temperature, asked.max_clip
        return self.in_sample.update(batch, dual_loss, parameters, huber_regression, asked.huber)

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        self.in_sample.lower_rate()
