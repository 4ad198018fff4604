"""ARSQ: soft Q-learning in continuous actions, one dimension given the others, from data that need not be good.

Paper: Liu et al., Learning from Suboptimal Data in Continuous Control via Auto-Regressive Soft Q-Network (2025), and
the authors' code.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import torch as th
from stable_baselines3.common.policies import BasePolicy
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .arsq_network import (
    ARSQCnnPolicy,
    ARSQMultiInputPolicy,
    ARSQPolicy,
    CoarseToFine,
    cells,
    soft_advantages,
)
from .replay import EXPERT, Batch, joined
from .settings import OffPolicySettings, takes
from .updates import minimise


def taken(scores: Tensor, chosen: Tensor) -> Tensor:
    """The scores ``[n, P, B]`` of the chosen bins ``[P, B]`` among ``[n, P, B, bins]``."""
    return scores.gather(-1, chosen.expand(len(scores), -1, -1).unsqueeze(-1)).squeeze(-1)


def imitation_gap(scores: Tensor, chosen: Tensor, margin: float) -> Tensor:
    r"""How far other bins come up to the demonstrated ones, summed over positions: ``[n, B]``.

    .. math::
        \sum_p \mathrm{mean}_{b \ne b_p} \max(A_p(b) - A_p(b_p), -m)

    Args:
        scores: ``[n, P, B, bins]``.
        chosen: ``[P, B]`` bins demonstrated.
        margin: m; a bin further below the demonstrated one than this is left alone (with m < 0: a bin less than -m
            above it).
    """
    gap = (scores - taken(scores, chosen).unsqueeze(-1)).clamp_min(-margin)
    own = max(0.0, -margin)  # what the demonstrated bin adds to its own sum
    return ((gap.sum(-1) - own) / (scores.shape[-1] - 1)).sum(1)


@dataclass(frozen=True)
class ARSQSettings(OffPolicySettings):
    """Those of ARSQ, beside what all agents take.

    Args:
        levels: of discretisation.
        bins: a level.
        ent_coef: alpha, in units of reward.
        decomposition: "auto-regressive", "additive" or "independent".
        imitation_weight: lambda.
        imitation_margin: m, in units of reward; below 0, other bins may be better by as much before it counts, which
            suits poor data.
        imitation_ratio: share of each batch that is demonstrations to imitate.
        action_noise: as everywhere; None is 0.1 for "independent".
        batch_size: transitions an update.
        policy_kwargs: of :class:`~.arsq_network.ARSQPolicy`.
    """

    _: KW_ONLY
    levels: int = 2
    bins: int = 7
    ent_coef: float = 0.01
    decomposition: str = "auto-regressive"
    imitation_weight: float = 0.1
    imitation_margin: float = 1.0
    imitation_ratio: float = 0.5
    batch_size: int = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ent_coef > 0:
            raise ValueError(f"ent_coef must be above 0, got {self.ent_coef}")


class ARSQ(ActorCritic):
    r"""Auto-regressive soft Q-learning.

    Actions are cut into cells, coarse to fine (see :mod:`~.arsq_network`); the choice of a cell is a sequence of
    choices of bins. With scores normalised so that :math:`\sum_b \exp(A_p(s, b_{<p}, b) / \alpha) = 1` at every
    position p, the networks are

    .. math::
        Q(s, a) = V(s) + \sum_p A_p(s, b_{<p}, b_p), \qquad
        \pi(a|s) = \prod_p \exp(A_p(s, b_{<p}, b_p) / \alpha)

    and V is the soft value of the very policy, so that there is no actor and no sum over actions in the update:

    .. math::
        y = r + \gamma \min_i V'_i(s'), \qquad
        L_i = \frac{1}{2} (Q_i(s, a) - y)^2 + \lambda L^{BC}_i, \qquad
        L^{BC} = E_{demos} \sum_p \mathrm{mean}_{b \ne b_p} \max(A_p(b) - A_p(b_p), -m)

    All conditionals of the action taken are found in one pass. Actions are drawn bin by bin from the softmax of the
    least of the networks' advantages; deterministic ones take the best bin at each position. Given a dataset, half of
    each batch is drawn from it and also imitated, the other half from the dataset and the replay buffer as one, as the
    authors' buffer begins with the data; without one it is soft Q-learning online.

    Two baselines differ in ``decomposition`` alone: "additive", where advantages see coarser levels but no other
    dimension, which the paper's ablation takes away; and "independent", coarse-to-fine Q-learning (CQN): at each
    position its own Q(s, coarser bins, b) = V(s) + score, which learns

    .. math::
        y_p = r + \gamma \min_i Q'_{i, p}(s', b'_p), \quad b' \text{ greedy},

    and acts greedily, with ``action_noise`` to explore (0.1 if not given, as in the authors' runs of CQN).

    Defaults are those of the authors' code for D4RL (rates 3e-4, batches of 512, three tanh layers of 512; alpha 0.01;
    2 levels of 7 bins for Hopper, 1 of 41 for HalfCheetah and Walker2d; lambda from 0.03 to 10 and m from -1 to 1 by
    dataset, here the 0.1 and 1 of halfcheetah-medium-replay). Departures: for most datasets that code imitates by
    log-sum-exp over the other bins, not the paper's maximum, which it has as an option; losses are halved as in the
    paper; scores begin at 0, not near it. The baseline has no distribution over returns, no state-action value of its
    own a level, and two networks where CQN has one.

    Raises:
        ValueError: a setting out of range.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": ARSQPolicy,
        "CnnPolicy": ARSQCnnPolicy,
        "MultiInputPolicy": ARSQMultiInputPolicy,
    }
    critic: CoarseToFine  # type: ignore[assignment]
    critic_target: CoarseToFine  # type: ignore[assignment]

    settings: ARSQSettings

    @takes(ARSQSettings)
    def __init__(self, settings: ARSQSettings) -> None:
        names = ("levels", "bins", "decomposition", "ent_coef")
        kwargs = {**(settings.policy_kwargs or {}), "critic_kwargs": {name: getattr(settings, name) for name in names}}
        noise = settings.action_noise
        if noise is None and settings.decomposition == "independent":
            noise = 0.1
        self.construct(replace(settings, action_noise=noise, policy_kwargs=kwargs))

    def sample(self, batch_size: int) -> Batch:
        """A batch with :meth:`n_imitated` demonstrations to imitate; the others are drawn as always."""
        imitated = self.n_imitated(batch_size)
        if not imitated:
            return super().sample(batch_size)
        demonstrated = self.demonstrated(imitated, EXPERT)
        return demonstrated if imitated == batch_size else joined(demonstrated, super().sample(batch_size - imitated))

    def n_imitated(self, batch_size: int) -> int:
        """How many transitions of a batch are imitated: ``imitation_ratio`` of it, or none without a dataset."""
        return 0 if self.demonstrations is None else round(self.settings.imitation_ratio * batch_size)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        chosen = cells(batch.actions, self.settings.levels, self.settings.bins)
        features, places = self.critic.features(batch.observations), chosen.flatten(0, 1)
        values, scores = self.critic.values(features), self.critic.scores(features, chosen)
        target = self._target(batch)
        if self.settings.decomposition == "independent":
            scores = scores + values[:, None, :, None]
            q = taken(scores, places)
            error = 0.5 * ((q - target) ** 2).sum(1)
        else:
            scores = soft_advantages(scores, self.settings.ent_coef)
            q = values + taken(scores, places).sum(1)
            error = 0.5 * (q - target) ** 2
        loss, metrics = error.mean(1).sum(), {"q": q.detach().mean(), "target": target.mean()}
        imitated = batch.is_from(EXPERT)
        if imitated.any():
            gap = imitation_gap(scores[:, :, imitated], places[:, imitated], self.settings.imitation_margin)
            loss = loss + self.settings.imitation_weight * gap.mean(1).sum()
            metrics["imitation_gap"] = gap.detach().mean()
        metrics["critic_loss"] = minimise(self.critic.optimizer, loss)
        self.update_targets()
        return metrics

    @th.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        """y, ``[B]``, or ``[P, B]`` where dimensions are independent."""
        features = self.critic_target.features(batch.next_observations)
        following = self.critic_target.values(features)
        if self.settings.decomposition == "independent":
            greedy = cells(self.critic.act(batch.next_observations), self.settings.levels, self.settings.bins)
            scores = self.critic_target.scores(features, greedy)
            following = following[:, None] + taken(scores, greedy.flatten(0, 1))
        return batch.rewards + batch.discounts * following.amin(0)

    def _networks(self) -> list[str]:
        return ["critic"]
