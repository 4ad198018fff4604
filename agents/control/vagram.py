"""VaGraM: model-based policy optimisation whose dynamics model learns what the value function is sensitive to.

Paper: Voelcker et al., Value Gradient weighted Model-Based Reinforcement Learning (2022). "The authors' code" is
github.com/pairlab/vagram, ``mbrl/models/vaml_mlp.py`` and ``mbrl/algorithms/mbpo.py``. With maximum likelihood instead
it is MBPO: Janner et al., When to Trust Your Model: Model-Based Policy Optimization (2019).
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch as th
from torch import Tensor

from ... import unknown
from ..models.dynamics import DynamicsEnsemble, Steps
from ..optimizers import FusedAdam
from .actor_critic import ActorCritic, Metrics
from .explicit import explicit
from .networks import Critics
from .replay import MODEL, Batch, RowReplay, fits, joined
from .sac import SACSettings, soft_update
from .settings import check_subset, takes
from .soft import Temperature
from .wmar import AugmentedReplay

LOSSES = ("vagram", "mle", "mse")
CHUNK = 4096  # states whose value gradients are found at once


@dataclass(frozen=True)
class VaGraMSettings(SACSettings):
    """Those of VaGraM, beside SAC's.

    Args:
        gradient_steps: updates of the policy a step.
        model_loss: "vagram", maximum likelihood "mle", or "mse".
        n_models: members of the ensemble.
        n_elites: of which the best predict.
        model_net_arch: widths of the members' hidden layers; four of 200 if None.
        model_learning_rate: of Adam.
        model_weight_decay: of Adam.
        model_batch_size: of each member.
        model_train_freq: environment steps between two fits of the model.
        model_updates: of a fit, at most.
        model_patience: passes without improvement that end a fit; None to do all updates.
        rollouts_per_step: rollouts of the model for each environment step, all at the next fit.
        rollout_length: steps of a rollout.
        kept_fits: of how many fits the rollouts are kept.
        real_ratio: share of each batch that is real.
        mse_steps: environment steps during which the squared error is added to VaGraM's loss.
        gradient_quantile: longer value gradients are cut to this quantile of their lengths.
        long_term: whether half of the replay buffer is a sample of everything seen, see
            :class:`~.wmar.AugmentedReplay`; with "mle" that is WMAR.
        chunk_length: steps of its chunks.
    """

    _: KW_ONLY
    gradient_steps: int = 20
    model_loss: str = "vagram"
    n_models: int = 7
    n_elites: int = 5
    model_net_arch: list[int] | None = None
    model_learning_rate: float = 1e-3
    model_weight_decay: float = 5e-5
    model_batch_size: int = 256
    model_train_freq: int = 250
    model_updates: int = 2000
    model_patience: int | None = 10
    rollouts_per_step: int = 400
    rollout_length: int = 1
    kept_fits: int = 4
    real_ratio: float = 0.05
    mse_steps: int = 1000
    gradient_quantile: float = 0.95
    long_term: bool = False
    chunk_length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model_loss not in LOSSES:
            raise ValueError(unknown("model_loss", self.model_loss, LOSSES))


def value_gradients(actor: Any, critics: Sequence[Critics], observations: Tensor) -> Tensor:
    r""":math:`\partial Q_j(s, \pi(s)) / \partial s` of every critic j, with the action held, ``[V, N, D]``."""
    found = []
    for seen in th.split(observations, CHUNK):  # type: ignore[no-untyped-call]
        seen = seen.detach().clone().requires_grad_()
        with th.no_grad():
            actions = actor(seen, deterministic=True)
        with th.enable_grad():
            values = th.cat([critic.frozen(seen, actions) for critic in critics])
            slopes = [th.autograd.grad(value.sum(), seen, retain_graph=True)[0] for value in values]
        found.append(th.stack(slopes))
    return th.cat(found, dim=1)


def vagram_weights(gradients: Tensor, *, quantile: float, with_mse: bool) -> Tensor:
    r"""Weights ``[N, D + 1]`` of the squared errors of the observation's outputs and of the reward's.

    :math:`w_i = \frac{1}{D} \frac{1}{V} \sum_j (\partial V_j / \partial s'_i)^2` and 1, each 1 / (D + 1) more
    ``with_mse``. Gradients longer than the ``quantile`` of their critic's are cut to it.

    Args:
        gradients: of V values at the true next states, ``[V, N, D]``.
        quantile: of their lengths.
        with_mse: whether the mean squared error is added.
    """
    lengths = gradients.norm(dim=-1)
    bound = lengths.quantile(quantile, dim=1, keepdim=True)
    cut = gradients * (bound / lengths.clamp_min(1e-12)).clamp_max(1).unsqueeze(-1)
    squares = cut.square().mean(dim=0) / gradients.shape[-1]
    weights = th.cat([squares, th.ones_like(squares[:, :1])], dim=1)
    return weights + 1 / weights.shape[1] if with_mse else weights


class VaGraM(ActorCritic):
    r"""Value-gradient weighted model learning: soft actor-critic on short rollouts of an ensemble of dynamics models.

    Every ``model_train_freq`` steps the ensemble learns from all real transitions, rolls the policy out from states of
    them for ``rollout_length`` steps, and until the next fit SAC (:class:`~.sac.SAC`) learns from these rollouts and
    ``real_ratio`` real transitions. With V the mean over the critics and their targets of
    :math:`Q(s, \pi(s))`, the model minimises (its equation 7, a diagonal bound of the first-order value error)

    .. math::
        \frac{1}{D} \sum_i \left(\frac{\partial V}{\partial s'_i}\right)^2 (\hat s'_i - s'_i)^2 + (\hat r - r)^2

    so that it need not know what the value function ignores. The gradients are those at the true next state, of each
    critic with the action held; their squares are averaged. While V has hardly begun, the squared error is added.
    ``model_loss="mle"`` is MBPO, whose ensemble predicts Gaussians and draws from them; ``"mse"`` differs from
    ``"vagram"`` in the weights alone.

    Departures: what :class:`~..models.dynamics.DynamicsEnsemble` names; value gradients are cut at their 95% quantile,
    of all data, as the authors' code is configured, but which in that code holds only for lengths above 100,000; a
    batch mixes rollouts and real transitions as in MBPO, where the authors' code draws whole batches from one or the
    other; rollouts are of one length throughout. Real data are the replay buffer and the dataset, if one was given.
    """

    settings: VaGraMSettings
    log_ent_coef: Tensor | None
    ent_coef_optimizer: FusedAdam | None
    saved_parts = ("ent_coef_optimizer", "model", "model_optimizer")
    saved_tensors = ("log_ent_coef",)

    @takes(VaGraMSettings)
    def __init__(self, settings: VaGraMSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        if not fits(self.observation_space, self.action_space) or self.n_steps != 1:
            raise TypeError(
                f"vagram needs flat Box observations and actions and n_steps=1, not {self.observation_space}"
            )
        if self.settings.long_term:
            if self.replay_buffer_class not in (None, AugmentedReplay):
                raise ValueError("long_term=True is a replay buffer of its own: leave replay_buffer_class as it is")
            kwargs = {**(self.replay_buffer_kwargs or {}), "chunk_length": self.settings.chunk_length}
            self.replay_buffer_class, self.replay_buffer_kwargs = AugmentedReplay, kwargs
        super()._setup_model()
        asked, columns = self.settings, self._columns()
        check_subset(asked.critic_subset, self.critic.net.n)
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=self.lr_schedule(1), device=self.device
        )
        self.ent_coef_optimizer = self._temperature.optimizer
        self.log_ent_coef = None if self.ent_coef_optimizer is None else self._temperature.log
        self.model = DynamicsEnsemble(
            columns.observation.stop,
            columns.action.stop - columns.action.start,
            n_members=asked.n_models,
            n_elites=asked.n_elites,
            net_arch=asked.model_net_arch or [200] * 4,
            probabilistic=asked.model_loss == "mle",
        ).to(self.device)
        self.model_optimizer = FusedAdam(
            self.model.parameters(), lr=asked.model_learning_rate, weight_decay=asked.model_weight_decay
        )
        self._imagined: Tensor | None = None
        self._fitted_at: int | None = None

    def _do_updates(self, gradient_steps: int, batch_size: int) -> None:
        error = self.fit_model() if self._fit_is_due() else None
        super()._do_updates(gradient_steps, batch_size)
        if error is not None:
            self.logger.record("train/model_error", error)

    def _fit_is_due(self) -> bool:
        at, data = self._fitted_at, self.demonstrations
        if at is None:  # of an agent that was loaded experience is gone, and comes again
            least = 2 if data is not None else max(2, self.learning_starts)
            return self._stored + (0 if data is None else len(data)) >= least
        # Offline ``num_timesteps`` counts updates, and afterwards steps again.
        return abs(self.num_timesteps - at) >= self.settings.model_train_freq

    def real_steps(self) -> Steps:
        """All real transitions: of the replay buffer, and of the dataset if there is one.

        Raises:
            TypeError: a replay buffer of another class, or normalised by a wrapper.
        """
        buffer = self.replay_buffer
        if not isinstance(buffer, RowReplay) or self._vec_normalize_env is not None:
            raise TypeError("vagram learns from its own replay buffer, without VecNormalize: leave these out")
        tables = [buffer.stored()] if self.demonstrations is None else [self.demonstrations.rows, buffer.stored()]
        return self._columns().steps(th.cat(tables).to(self.device, self.critic.like.dtype))

    def fit_model(self) -> float:
        """Fits the model to all real transitions and rolls it out; the error of its elites on steps kept aside."""
        asked, steps, weights = self.settings, self.real_steps(), None
        if asked.model_loss == "vagram":
            gradients = value_gradients(self.actor, [self.critic, self.critic_target], steps.next_observations)
            young = self.num_timesteps < asked.mse_steps
            weights = vagram_weights(gradients, quantile=asked.gradient_quantile, with_mse=young)
        with th.enable_grad():
            fitted = self.model.fit(
                steps,
                self.model_optimizer,
                weights=weights,
                updates=asked.model_updates,
                batch_size=asked.model_batch_size,
                patience=asked.model_patience,
            )
        starts = th.randint(len(steps.rewards), (asked.rollouts_per_step * asked.model_train_freq,))
        found = self.model.rollout(steps.observations[starts], self.actor, asked.rollout_length)
        rows = self._columns().rows(found.flat())
        kept = asked.kept_fits * len(starts) * asked.rollout_length
        self._imagined = rows if self._imagined is None else th.cat([self._imagined, rows])[-kept:]
        self._fitted_at = self.num_timesteps
        return float(fitted.error[self.model.elites].mean())

    def sample(self, batch_size: int) -> Batch:
        """Transitions of the model and ``real_ratio`` real ones; real ones alone before the first fit."""
        if self._imagined is None:
            return super().sample(batch_size)
        real = math.floor(batch_size * self.settings.real_ratio + th.rand(()).item())
        drawn = self._imagined[th.randint(len(self._imagined), (batch_size - real,))]
        imagined = self._columns().batch(drawn, self.gamma, MODEL)
        return imagined if real == 0 else joined(super().sample(real), imagined)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See :class:`~.sac.SAC`."""
        return soft_update(self, self.settings, batch, self._temperature)

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_imagined", "_fitted_at"]
