"""TQC: soft actor-critic on quantiles of the return, the largest of which targets leave out.

Paper: Kuznetsov et al., Controlling Overestimation Bias with Truncated Mixture of Continuous Distributional Quantile
Critics (2020, arXiv 2005.04269); the numbers in brackets are its equations.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from torch import Tensor

from ..optimizers import FusedAdam
from .actor_critic import ActorCritic, Metrics
from .explicit import Acted, Step, explicit
from .networks import Critics
from .quantiles import Quantiles
from .replay import Batch
from .sac import SACSettings, acted_at, soft_update
from .settings import check_subset, takes
from .soft import Temperature


@dataclass(frozen=True)
class TQCSettings(SACSettings):
    """Those of TQC, beside SAC's.

    Args:
        top_quantiles_to_drop_per_net: d, the quantiles a critic that a target leaves out, the largest of all critics';
            fewer than there are.
        actor_objective: the actor follows the "mean" of the critics, as in the paper, or the "min".
    """

    _: KW_ONLY
    top_quantiles_to_drop_per_net: int = 2
    actor_objective: str = "mean"


def truncated(out: Tensor, dropped: int) -> Tensor:
    """The atoms ``[B, n (M - dropped)]`` of all critics' quantiles ``[n, B, M]`` that a target keeps, ascending (3)."""
    n, size, quantiles = out.shape
    atoms: Tensor = out.transpose(0, 1).reshape(size, -1).sort(-1).values
    return atoms[:, : n * (quantiles - dropped)]


def critic_gradients(
    actor: Any,
    critic: Critics,
    target: Critics,
    batch: Batch,
    noise: Tensor,
    alpha: Tensor | None,
    members: Tensor | None,
    dropped: int,
) -> tuple[Step, Acted]:
    """As :func:`.sac.critic_gradients`, towards the atoms of (4) by the loss of (5)."""
    following, here = acted_at(actor, batch, noise)
    with th.no_grad():
        atoms = truncated(target.passed(batch.next_observations, following.actions, members).out, dropped)
        if alpha is not None:
            atoms = atoms - (alpha * following.log_prob)[:, None]
        atoms = batch.rewards[:, None] + batch.discounts[:, None] * atoms
    passed = critic.passed(batch.observations, batch.actions)
    assert isinstance(critic.head, Quantiles)
    loss, slope = critic.head.fit_all(passed.out, atoms)
    step = Step(loss.mean(), passed.gradients(slope / loss.numel()), critic.head.value(passed.out).detach().mean())
    return step, here


class TQC(ActorCritic):
    r"""Soft actor-critic with truncated quantile critics.

    Each of n critics has M quantiles :math:`\theta` of the return. With :math:`a' \sim \pi(s')` and
    :math:`z_{(1)} \le \dots \le z_{(nM)}` the quantiles of all target critics at (s', a'), they learn, by the quantile
    Huber loss, the distribution with the n (M - d) atoms

    .. math::
        y_i = r + \gamma (z_{(i)} - \alpha \log \pi(a'|s')) \qquad (4)

    and the actor minimises :math:`\alpha \log \pi(a|s) - \frac{1}{n M} \sum \theta(s, a)` (6). What is left out, d
    quantiles a critic, is the control on overestimation: more of it, lower values.

    Numbers and order of updates are those of sb3-contrib's TQC, defaults too: two critics of 25 quantiles, where the
    paper has five with three layers of 512 (``policy_kwargs={"n_critics": 5, "net_arch": {"pi": [256, 256], "qf": [512,
    512, 512]}}``). ``n_quantiles`` of ``policy_kwargs`` is M, as there. It has no ``use_sde``, which ``sb3-tqc`` has.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"critic_head": "quantile"}
    settings: TQCSettings
    log_ent_coef: Tensor | None
    """As in SB3: None where the temperature is fixed."""
    ent_coef_optimizer: FusedAdam | None
    saved_parts = ("ent_coef_optimizer",)
    saved_tensors = ("log_ent_coef",)

    @takes(TQCSettings)
    def __init__(self, settings: TQCSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        asked = self.settings
        check_subset(asked.critic_subset, self.critic.net.n)
        self._check_dropped(asked.top_quantiles_to_drop_per_net)
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=self.lr_schedule(1), device=self.device
        )
        self.ent_coef_optimizer = self._temperature.optimizer
        self.log_ent_coef = None if self.ent_coef_optimizer is None else self._temperature.log

    def __setattr__(self, name: str, value: Any) -> None:
        """As other agents; how many quantiles are left out may be changed later too."""
        if name == "top_quantiles_to_drop_per_net" and "critic" in vars(self):
            self._check_dropped(value)
        super().__setattr__(name, value)

    def _check_dropped(self, dropped: int) -> None:
        head = self.critic.head
        if not isinstance(head, Quantiles):
            raise ValueError("TQC learns quantiles: leave critic_head as it is")
        if dropped >= head.n_out:
            raise ValueError(
                f"top_quantiles_to_drop_per_net must be below the {head.n_out} quantiles of a critic, got {dropped}"
            )

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked = self.settings
        return soft_update(self, asked, batch, self._temperature, critic_gradients, asked.top_quantiles_to_drop_per_net)

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])
