"""H2O: data of the real system and an imperfect simulator at once, trusting the simulator where it seems right.

Paper: Niu et al., When to Trust Your Simulator: Dynamics-Aware Hybrid Offline-and-Online Reinforcement Learning (2022).
"The authors' code" is github.com/t6-thu/H2O.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from torch import Tensor, nn
from torch.nn.functional import softplus

from ..optimizers import FusedAdam
from .actor_critic import ActorCritic, Metrics
from .replay import DATASET, Batch, Demonstrations, joined
from .sac import SACSettings
from .settings import check_subset, takes
from .soft import Temperature, improve, regress, soft_target
from .updates import Mlp, minimise

TRUST_RANGE = (1e-5, 1.0)  # of the weight of a simulated transition's error
GAP_RANGE = (1e-38, 10.0)  # of the dynamics gap; the authors' code ends at 1e-45, which float32 rounds off


class Discriminators(nn.Module):
    r"""Tells real transitions from simulated ones: by the pair (s, a), and by what followed it.

    Each has two outputs :math:`2 \tanh`, of which the difference is the log-odds of "real". That of (s, a, s') is the
    sum of both differences, so that the second one by itself is :math:`\log P_{real}(s'|s, a) / P_{sim}(s'|s, a)`.

    Args:
        n_observation: width of s.
        n_action: width of a.
        width: of the two hidden layers.
    """

    def __init__(self, n_observation: int, n_action: int, width: int) -> None:
        super().__init__()
        self.pair = Mlp(1, n_observation + n_action, [width, width], 2)
        self.following = Mlp(1, 2 * n_observation + n_action, [width, width], 2)

    def visited(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Log-odds ``[B]`` that (s, a) is of the real data."""
        return self._difference(self.pair(th.cat([observations, actions], dim=1)))

    def log_ratio(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """How much likelier s' is in reality, log P_real(s'|s, a) - log P_sim(s'|s, a), ``[B]``."""
        return self._difference(self.following(th.cat([observations, actions, next_observations], dim=1)))

    def loss(self, parts: tuple[Tensor, Tensor, Tensor], real: Tensor) -> Tensor:
        """Cross-entropies of both discriminators on (s, a, s'), real where ``real`` ``[B]`` holds."""
        pair = self.visited(*parts[:2])
        triple = pair + self.log_ratio(*parts)
        of_real = softplus(-pair[real]) + softplus(-triple[real])
        return of_real.mean() + (softplus(pair[~real]) + softplus(triple[~real])).mean()

    @staticmethod
    def _difference(out: Tensor) -> Tensor:
        real, simulated = (2 * out[0].tanh()).unbind(dim=-1)
        return real - simulated


def weighted_excess(simulated: Tensor, gap: Tensor, real: Tensor) -> Tensor:
    r"""How far the critics put simulated pairs of large dynamics gap above real ones, ``[n]``.

    .. math::
        \log \sum_{sim} \omega(s, a) \exp Q(s, a) - E_{real} Q(s, a), \quad \omega = u / \sum_{sim} u

    Args:
        simulated: ``[n, S]`` their values.
        gap: ``[S]`` their dynamics gaps u, positive.
        real: ``[n, R]`` values of real pairs.
    """
    return (simulated + (gap / gap.sum()).log()).logsumexp(dim=1) - real.mean(dim=1)


@dataclass(frozen=True)
class H2OSettings(SACSettings):
    """Those of H2O, beside SAC's.

    Args:
        offline_ratio: share of each batch that is real.
        backup_entropy: whether targets hold the entropy term.
        beta: weight of the penalty on simulated pairs with a large dynamics gap.
        n_next_states: N.
        next_state_scale: of the standard deviations in Sigma.
        discriminator_noise: standard deviation of noise on all that discriminators learn from, against overfitting.
        discriminator_width: of their two hidden layers.
    """

    _: KW_ONLY
    offline_ratio: float = 0.5
    backup_entropy: bool = False
    beta: float = 0.01
    n_next_states: int = 10
    next_state_scale: float = 1.0
    discriminator_noise: float = 0.1
    discriminator_width: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.offline_ratio is None or not 0 < self.offline_ratio < 1:
            raise ValueError(
                f"H2O compares real and simulated transitions: offline_ratio {self.offline_ratio} leaves no two"
            )


class H2O(ActorCritic):
    r"""Dynamics-aware hybrid reinforcement learning: the dataset is real, the environment is a simulator of it.

    >>> agent = tiltyard.agents.make("h2o", simulator)                                      # doctest: +SKIP
    >>> agent.learn_offline(real_data, 0).learn(20_000)                                     # doctest: +SKIP

    With y SAC's target (without entropy), D the real batch and B the simulated one, each critic minimises

    .. math::
        \beta (\log \sum_B \omega e^{Q(s, a)} - E_D Q(s, a)) + E_D (Q - y)^2
        + E_B \frac{P_{real}(s'|s, a)}{P_{sim}(s'|s, a)} (Q - y)^2

    where the ratio, from two :class:`Discriminators` and clipped to at most 1, tells how far a simulated step can be
    believed, and the weights :math:`\omega`, normalised over the batch, follow the dynamics gap

    .. math::
        u(s, a) = \frac{1}{N} \sum_{i} \log \frac{P_{sim}(s'_i|s, a)}{P_{real}(s'_i|s, a)},
        \quad s'_i \sim N(s', \Sigma)

    around the simulated next state s', with the data's own variances. Actor and temperature learn as SAC's do, from
    both batches. Before the simulator has been stepped, updates are SAC's on the data alone.

    Defaults are those of the authors' code (beta 0.01; N 10; noise 0.1 on what discriminators learn from; half of each
    batch real; all rates 3e-4). Departures: discriminators learn from the batch of the update, not from larger ones of
    their own; Sigma is of the data, where theirs is of a buffer ten elevenths of which are zeros at the time, which
    makes it about a tenth (``next_state_scale=0.3``), and where a step moves the state little against the spread of the
    data, less than either serves better (the row says 0.03); the actor begins with deviations near 1, not exp(-1),
    and climbs the critics after their step, where theirs climbs those before it.
    """

    needs_data: ClassVar[bool] = True

    settings: H2OSettings
    saved_parts = ("ent_coef_optimizer", "discriminators", "discriminator_optimizer")
    saved_tensors = ("log_ent_coef",)

    @takes(H2OSettings)
    def __init__(self, settings: H2OSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        if self.n_steps != 1:
            raise ValueError("H2O compares single steps of the simulator with those of the data: leave n_steps at 1")
        super()._setup_model()
        asked, rate = self.settings, self.lr_schedule(1)
        check_subset(asked.critic_subset, self.critic.net.n)
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=rate, device=self.device
        )
        self.log_ent_coef, self.ent_coef_optimizer = self._temperature.log, self._temperature.optimizer
        features, actions = self.critic.features_extractor.features_dim, self.critic.net.n_in
        self.discriminators = Discriminators(features, actions - features, asked.discriminator_width).to(self.device)
        self.discriminator_optimizer = FusedAdam(self.discriminators.parameters(), lr=rate)

    def sample(self, batch_size: int) -> Batch:
        """A batch with :meth:`n_real` transitions of the dataset; the others are simulated.

        Raises:
            ValueError: there is no dataset yet.
        """
        if self.demonstrations is None:
            raise ValueError("H2O has no real data to learn from: call learn_offline(dataset, gradient_steps) first")
        real = self.n_real(batch_size)
        if real == batch_size:
            return self.demonstrated(batch_size)
        return joined(self.demonstrated(real), self.replayed(batch_size - real))

    def n_real(self, batch_size: int) -> int:
        """How many of a batch are real: all while there is nothing simulated, else ``offline_ratio``, at least one."""
        if self.replay_buffer is None or not self.replay_buffer.size() or batch_size < 2:
            return batch_size
        assert self.offline_ratio is not None
        return min(max(round(self.offline_ratio * batch_size), 1), batch_size - 1)

    def dynamics_gap(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """u(s, a) of simulated transitions, ``[B]``, not clipped."""
        n = self.settings.n_next_states
        s, a, centre = (part.repeat_interleave(n, dim=0) for part in (observations, actions, next_observations))
        drawn = centre + self.settings.next_state_scale * self._deviations * th.randn_like(centre)
        return -self.discriminators.log_ratio(s, a, drawn).view(-1, n).mean(dim=1)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked = self.settings
        metrics = self._update_critics(batch)
        self.update_targets()
        if (self._n_updates + 1) % asked.policy_delay == 0:
            metrics |= improve(self, batch, self._temperature, asked.actor_objective)
        return metrics

    def _update_critics(self, batch: Batch) -> Metrics:
        real = batch.is_from(DATASET)
        simulated = ~real
        if real.all():
            return regress(self, batch, self._target(batch))
        transitions = (batch.observations, batch.actions, batch.next_observations)
        metrics = {"discriminator_loss": self._update_discriminators(transitions, real)}
        met = [part[simulated] for part in transitions]
        with th.no_grad():
            trust = self.discriminators.log_ratio(*met).exp().clamp(*TRUST_RANGE)
            gap = self.dynamics_gap(*met).clamp(*GAP_RANGE)
        out = self.critic.outputs(batch.observations, batch.actions)
        error, values = self.critic.head.loss(out, self._target(batch)), self.critic.head.value(out)
        bellman = 2 * (error[:, real].mean(dim=1) + (trust * error[:, simulated]).mean(dim=1))
        excess = weighted_excess(values[:, simulated], gap, values[:, real])
        metrics["critic_loss"] = minimise(self.critic.optimizer, (bellman + self.settings.beta * excess).sum())
        return metrics | {"q": values.detach().mean(), "trust": trust.mean(), "dynamics_gap": gap.mean()}

    def _target(self, batch: Batch) -> Tensor:
        """SAC's targets ``[B]``."""
        alpha = self._temperature.value if self.settings.backup_entropy else None
        return soft_target(self.actor, self.critic_target, batch, alpha, self.settings.critic_subset)

    def _update_discriminators(self, transitions: tuple[Tensor, Tensor, Tensor], real: Tensor) -> Tensor:
        s, a, following = (part + self.settings.discriminator_noise * th.randn_like(part) for part in transitions)
        return minimise(self.discriminator_optimizer, self.discriminators.loss((s, a, following), real))

    def _demonstrations(self, dataset: Any) -> Demonstrations:
        found = super()._demonstrations(dataset)
        observations = found.rows[:, self._columns().observation]
        self._deviations = observations.std(dim=0, correction=0).to(self.device)
        return found

    def _optimizers(self) -> list[th.optim.Optimizer]:
        learned = [] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer]
        return [*super()._optimizers(), *learned, self.discriminator_optimizer]
