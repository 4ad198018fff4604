"""CQL: soft actor-critic whose critics are pushed down where the data say nothing.

Paper: Kumar et al., Conservative Q-Learning for Offline Reinforcement Learning (2020); numbers in brackets are its
equations. "The authors' code" is github.com/aviralkumar2907/CQL, folder d4rl.
"""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import torch as th
from torch import Tensor

from ..optimizers import FusedAdam
from .actor_critic import ActorCritic, Metrics
from .explicit import Step, act, explicit, least
from .networks import Critics
from .replay import Batch
from .sac import SACSettings
from .settings import check_subset, takes
from .soft import Temperature, drawn_members, improve

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


@dataclass(frozen=True)
class CQLSettings(SACSettings):
    """Those of CQL, beside SAC's; ``learning_rate`` is that of the critics.

    Args:
        actor_learning_rate: of actor and temperature.
        backup_entropy: whether targets hold the entropy term.
        min_q_weight: w.
        n_actions: drawn of each of the three kinds.
        temperature: T, see :func:`conservative_gap`.
        max_target_backup: targets take the best of ``n_target_actions`` of the policy at s' instead of one.
        n_target_actions: drawn for that.
        target_action_gap: of the learned weight; None keeps the weight fixed.
    """

    _: KW_ONLY
    actor_learning_rate: float = 1e-4
    backup_entropy: bool = False
    min_q_weight: float = 5.0
    n_actions: int = 10
    temperature: float = 1.0
    max_target_backup: bool = False
    n_target_actions: int = 10
    target_action_gap: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")


class Draws(NamedTuple):
    """What is random in an update of the critics."""

    target_noise: Tensor  # [B K', A] of actions for the targets, K' a state
    members: Tensor | None  # the critics that targets take the least of; all if None
    uniform: Tensor  # [B, K, A] actions
    noise: Tensor  # [2 B K, A] of actions at s, then at s'


Pushed = Callable[[Tensor, Batch], Tensor]
"""Makes of the values ``[n, B, 3K]`` those that are pushed down."""


def plainly(values: Tensor, batch: Batch) -> Tensor:
    """All values, as they are."""
    return values


def backup(actor: Any, target: Critics, batch: Batch, draws: Draws, alpha: Tensor | None) -> Tensor:
    """Targets ``[B]``: of one action of the policy at s', or of the best of several; with entropy, or None."""
    k = len(draws.target_noise) // len(batch.rewards)
    observations = batch.next_observations.repeat_interleave(k, dim=0)
    drawn = act(actor, actor.features(observations), draws.target_noise).drawn
    value = least(target, observations, drawn.actions, draws.members)
    if alpha is not None:
        value = value - alpha * drawn.log_prob
    return batch.rewards + batch.discounts * value.view(-1, k).amax(dim=1)


def candidates(actor: Any, batch: Batch, uniform: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Actions ``[B, 3K, A]`` and their log-densities ``[B, 3K]``: uniform, of the policy at s, and at s'."""
    b, k, a = uniform.shape
    observations = th.cat([batch.observations, batch.next_observations]).repeat_interleave(k, dim=0)
    drawn = act(actor, actor.features(observations), noise).drawn
    here, there = drawn.actions.detach().view(2, b, k, a)
    log_here, log_there = drawn.log_prob.detach().view(2, b, k)
    log_uniform = th.full_like(log_here, -a * math.log(2))
    return th.cat([uniform, here, there], dim=1), th.cat([log_uniform, log_here, log_there], dim=1)


def critic_gradients(
    actor: Any,
    critic: Critics,
    target: Critics,
    batch: Batch,
    draws: Draws,
    alpha: Tensor | None,
    weight: Tensor,
    temperature: float,
    pushed: Pushed,
) -> tuple[Step, Tensor, Tensor]:
    """What the critics learn; their mean gaps ``[n]``; and the share of the policy's actions of which none is felt."""
    y = backup(actor, target, batch, draws, alpha).detach()
    actions, log_density = candidates(actor, batch, draws.uniform, draws.noise)
    together = th.cat([batch.actions[:, None], actions], dim=1)  # [B, 1 + 3K, A]
    b, m, _ = together.shape
    passed, head = critic.passed(batch.observations.repeat_interleave(m, dim=0), together.flatten(0, 1)), critic.head
    values, of_data = head.value(passed.out).view(-1, b, m), passed.out[:, ::m]
    data, others = values[..., 0], values[..., 1:]
    bounded = pushed(others, batch)
    gap = conservative_gap(bounded, log_density, data, temperature=temperature).mean(dim=1)
    loss = (2 * head.loss(of_data, y).mean(dim=1) + weight * gap).sum()
    felt = bounded == others
    share = ((bounded - log_density) / temperature).softmax(dim=-1) * felt
    by_values = th.cat([-th.ones_like(share[..., :1]), share], dim=-1).flatten(1)
    g = head.value_slope(passed.out) * (weight * by_values / b).unsqueeze(-1)
    g[:, ::m] += 2 / b * head.loss_slope(of_data, y)
    unfelt = 1 - felt[..., len(felt[0, 0]) // 3 :].to(y.dtype).mean()
    return Step(loss, passed.gradients(g), data.detach().mean()), gap.detach(), unfelt


class Conservative:
    """The update of CQL and Cal-QL, and what it learns beside the agent's actor and critics: two multipliers.

    Args:
        agent: whose networks are updated.
        settings: the agent's.
    """

    def __init__(self, agent: ActorCritic, settings: CQLSettings) -> None:
        check_subset(settings.critic_subset, agent.critic.net.n)
        self.agent = agent
        space, device, rate = agent.action_space, agent.device, settings.actor_learning_rate
        self.temperature = Temperature(settings.ent_coef, settings.target_entropy, space, rate=rate, device=device)
        agent.actor.optimizer.param_groups[0]["lr"] = rate
        learned = settings.target_action_gap is not None
        self.log_multiplier = th.zeros(1, device=device, requires_grad=learned)
        self.optimizer = FusedAdam([self.log_multiplier], lr=agent.lr_schedule(1)) if learned else None

    def update(self, batch: Batch, asked: CQLSettings, pushed: Pushed) -> Metrics:
        """One update of everything."""
        agent, critic = self.agent, self.agent.critic
        alpha = self.temperature.value if asked.backup_entropy else None
        weight = asked.min_q_weight * self.log_multiplier.detach().exp().clamp_max(MULTIPLIER_LIMIT)
        networks = agent.actor, critic, agent.critic_target
        random = batch, self.draws(batch, asked), alpha
        step, gap, unfelt = agent.compute(critic_gradients, *networks, *random, weight, asked.temperature, pushed)
        metrics = {"critic_loss": critic.descend(*step[:2]), "q": step.seen, "q_gap": gap.mean()}
        metrics |= {"min_q_weight": weight, "q_below_returns": unfelt}
        if self.optimizer is not None and asked.target_action_gap is not None:
            self.optimizer.apply([-weight * (gap.mean() - asked.target_action_gap)])
        agent.update_targets()
        if (agent._n_updates + 1) % asked.policy_delay == 0:
            metrics |= improve(agent, batch, self.temperature, asked.actor_objective)
        return metrics

    def draws(self, batch: Batch, asked: CQLSettings) -> Draws:
        """Drawn anew."""
        actor, (b, a), k = self.agent.actor, batch.actions.shape, asked.n_actions
        target_noise = actor.noise(b * (asked.n_target_actions if asked.max_target_backup else 1))
        members = drawn_members(asked.critic_subset, self.agent.critic)
        uniform = th.empty(b, k, a, device=batch.actions.device).uniform_(-1, 1)
        return Draws(target_noise, members, uniform, actor.noise(2 * b * k))


class CQL(ActorCritic):
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
    Q from the first update, where theirs clones the data for 40 000 (without much difference, they say), and on the
    critics after their step, where theirs takes those before it; with ``max_target_backup`` the least critic is taken
    before the best action, as Cal-QL's code does, but with ``backup_entropy`` the best is that less its entropy term
    (there the best by value, less the term of that action); ``target_action_gap`` is taken from the gap before it is
    weighted by w, as in Cal-QL's code (theirs: after), and the factor begins at 1 (Cal-QL's: e). As in their code the
    squared error counts whole beside ``min_q_weight``: in (4) it is halved, so that a weight there is half of one here.
    """

    needs_data: ClassVar[bool] = True
    settings: CQLSettings
    saved_parts = ("ent_coef_optimizer", "multiplier_optimizer")
    saved_tensors = ("log_ent_coef", "log_multiplier")

    @takes(CQLSettings)
    def __init__(self, settings: CQLSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.learned = Conservative(self, self.settings)
        self.log_ent_coef, self.ent_coef_optimizer = self.learned.temperature.log, self.learned.temperature.optimizer
        self.log_multiplier, self.multiplier_optimizer = self.learned.log_multiplier, self.learned.optimizer

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        metrics = self.learned.update(batch, self.settings, plainly)
        del metrics["q_below_returns"]  # there are none to be below
        return metrics

    def _optimizers(self) -> list[th.optim.Optimizer]:
        """Those whose rate is ``learning_rate``."""
        return [self.critic.optimizer, *([] if self.multiplier_optimizer is None else [self.multiplier_optimizer])]
