"""CQL: soft actor-critic whose critics are pushed down where the data say nothing.

Paper: Kumar et al., Conservative Q-Learning for Offline Reinforcement Learning (2020); numbers in brackets are its
equations. "The authors' code" is github.com/aviralkumar2907/CQL, folder d4rl.
"""

import math
from typing import Any, ClassVar

import torch as th
from torch import Tensor

from .actor_critic import Metrics, minimise
from .replay import Batch
from .sac import SAC
from .updates import Adam

MULTIPLIER_LIMIT = 1e6  # of the learned weight, in the authors' code


def conservative_gap(values: Tensor, log_density: Tensor, data: Tensor, *, temperature: float = 1.0) -> Tensor:
    r"""How far the critics put drawn actions above those of the data, ``[n, B]``.

    .. math::
        T \log \sum_k \exp((Q(s, a_k) - \log \mu(a_k)) / T) - Q(s, a)

    With a_k drawn from mu this is an importance-weighted estimate of :math:`\log \sum_a \exp Q(s, a)` (4), but for the
    constant log K, which the authors' code leaves out as well.

    Args:
        values: ``[n, B, K]`` Q(s, a_k).
        log_density: ``[B, K]`` log mu(a_k).
        data: ``[n, B]`` Q(s, a) of the data's own actions.
        temperature: T.
    """
    drawn = temperature * ((values - log_density) / temperature).logsumexp(dim=-1)
    return drawn - data


class CQL(SAC):
    r"""Conservative Q-learning, the variant CQL(H).

    Each critic minimises the Bellman error and, ``min_q_weight`` times, the gap between a soft maximum over all actions
    and the action of the data:

    .. math::
        (Q(s, a) - r - \gamma \min_i Q'_i(s', a'))^2 + w (\log \sum_a \exp Q(s, a) - Q(s, a)) \qquad (4)

    The sum is estimated from ``n_actions`` uniform actions, as many of the policy at s and as many of the policy at s',
    each divided by its density (appendix F); they and the data's action go through all critics in one pass. With
    ``target_action_gap`` w is multiplied by a factor that grows while the gap is above it and shrinks below it (30).
    Actor and temperature learn as SAC's do.

    Defaults are the authors' for a fixed weight (5 or 10; 10 actions of each kind, actor 1e-4, critics 3e-4, targets
    without entropy). Departures: two hidden layers by default (theirs: three; ``policy_kwargs``); the actor learns from
    Q from the first update, where theirs clones the data for 40 000 (without much difference, they say); with
    ``max_target_backup`` the least critic is taken before the best action, as Cal-QL's code does. As in their code the
    squared error counts whole beside ``min_q_weight``: in (4) it is halved, so that a weight there is half of one here.

    Args:
        policy: "MlpPolicy"; other kinds of observation have no datasets.
        env: any environment with Box actions, or its id.
        actor_learning_rate: of actor and temperature; ``learning_rate`` is that of the critics.
        backup_entropy: whether targets hold the entropy term.
        min_q_weight: w.
        n_actions: drawn of each of the three kinds.
        temperature: T, see :func:`conservative_gap`.
        max_target_backup: targets take the best of ``n_actions`` of the policy at s' instead of one.
        target_action_gap: of the learned weight; None keeps the weight fixed.
        **settings: see :class:`~.sac.SAC`.
    """

    needs_data: ClassVar[bool] = True

    log_multiplier: Tensor
    multiplier_optimizer: th.optim.Optimizer | None

    def __init__(
        self,
        policy: str | type[Any],
        env: Any,
        *,
        actor_learning_rate: float = 1e-4,
        backup_entropy: bool = False,
        min_q_weight: float = 5.0,
        n_actions: int = 10,
        temperature: float = 1.0,
        max_target_backup: bool = False,
        target_action_gap: float | None = None,
        **settings: Any,
    ) -> None:
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}")
        self.actor_learning_rate = actor_learning_rate
        self.min_q_weight = min_q_weight
        self.n_actions = n_actions
        self.temperature = temperature
        self.max_target_backup = max_target_backup
        self.target_action_gap = target_action_gap
        super().__init__(policy, env, backup_entropy=backup_entropy, **settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        for optimizer in (self.actor.optimizer, self.ent_coef_optimizer):
            if optimizer is not None:
                optimizer.param_groups[0]["lr"] = self.actor_learning_rate
        learned = self.target_action_gap is not None
        self.log_multiplier = th.zeros(1, device=self.device, requires_grad=learned)
        self.multiplier_optimizer = Adam([self.log_multiplier], lr=self.lr_schedule(1)) if learned else None

    def _update_critics(self, batch: Batch) -> Metrics:
        target = self._target(batch)
        actions, log_density = self._candidates(batch)
        error, data, values = self._judge(batch, actions, target)
        gap = conservative_gap(self.bounded(values, batch), log_density, data, temperature=self.temperature).mean(dim=1)
        weight = self.min_q_weight * self.log_multiplier.detach().exp().clamp_max(MULTIPLIER_LIMIT)
        loss = minimise(self.critic.optimizer, (2 * error.mean(dim=1) + weight * gap).sum())
        self._update_multiplier(gap.detach(), weight)
        return {"critic_loss": loss, "q": data.detach().mean(), "q_gap": gap.detach().mean(), "min_q_weight": weight}

    def bounded(self, values: Tensor, batch: Batch) -> Tensor:
        """The values ``[n, B, 3K]`` of uniform actions, the policy's here and the policy's next, as they are pushed."""
        return values

    @th.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        """Targets ``[B]``."""
        k = self.n_actions if self.max_target_backup else 1
        observations = batch.next_observations.repeat_interleave(k, dim=0)
        actions, log_prob = self.actor.action_log_prob(observations)
        value = self._target_value(observations, actions)
        if self.backup_entropy:
            value = value - self.log_ent_coef.exp() * log_prob
        return batch.rewards + batch.discounts * value.view(-1, k).max(dim=1).values

    @th.no_grad()
    def _candidates(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Actions ``[B, 3K, A]`` and their log-densities ``[B, 3K]``: uniform, of the policy at s, and at s'."""
        (b, a), k = batch.actions.shape, self.n_actions
        uniform = th.empty(b, k, a, device=self.device).uniform_(-1, 1)
        observations = th.cat([batch.observations, batch.next_observations]).repeat_interleave(k, dim=0)
        drawn, log_prob = self.actor.action_log_prob(observations)
        here, there = drawn.view(2, b, k, a)
        log_here, log_there = log_prob.view(2, b, k)
        log_uniform = th.full_like(log_here, -a * math.log(2))
        return th.cat([uniform, here, there], dim=1), th.cat([log_uniform, log_here, log_there], dim=1)

    def _judge(self, batch: Batch, actions: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Losses ``[n, B]`` and values ``[n, B]`` of the data's actions, values ``[n, B, M]`` of the others."""
        together = th.cat([batch.actions[:, None], actions], dim=1)  # [B, 1 + M, A]
        b, m, _ = together.shape
        out = self.critic.outputs(batch.observations.repeat_interleave(m, dim=0), together.flatten(0, 1))
        values = self.critic.head.value(out).view(-1, b, m)
        error = self.critic.head.loss(out.view(len(out), b, m, -1)[:, :, 0], target)
        return error, values[..., 0], values[..., 1:]

    def _update_multiplier(self, gap: Tensor, weight: Tensor) -> None:
        if self.multiplier_optimizer is not None:
            assert self.target_action_gap is not None
            self.log_multiplier.grad = -weight * (gap.mean() - self.target_action_gap)
            self.multiplier_optimizer.step()

    def _optimizers(self) -> list[th.optim.Optimizer]:
        """Those whose rate is ``learning_rate``."""
        return [self.critic.optimizer, *([] if self.multiplier_optimizer is None else [self.multiplier_optimizer])]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        optimizer = [] if self.multiplier_optimizer is None else ["multiplier_optimizer"]
        return [*names, *optimizer], [*variables, "log_multiplier"]
