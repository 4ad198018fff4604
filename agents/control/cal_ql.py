"""Cal-QL: CQL whose critics are never pushed below what the data are known to be worth, then fine-tuned online.

Paper: Nakamoto et al., Cal-QL: Calibrated Offline RL Pre-Training for Efficient Online Fine-Tuning (2023). "The
authors' code" is github.com/nakamotoo/Cal-QL.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch as th
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .cql import Conservative, CQLSettings
from .datasets import Transitions
from .explicit import explicit
from .replay import OWN, Batch, FloatArray, RowReplay, fits
from .settings import takes


def unseen_tail(last_rewards: Any, gamma: float) -> FloatArray:
    """What an episode that a time limit cut off is taken to be worth from there on: a bound from below.

    A negative last reward counts as going on for ever, r / (1 - gamma); any other counts as nothing more to come. So a
    failure that pays -1 a step is worth -1 / (1 - gamma) throughout, as in the authors' code for sparse rewards, and a
    return of positive rewards is what was seen of it, as in their code for dense ones. Departure: their code is told
    whether rewards are sparse, and asks then whether each of the episode's is a failure's; to dense ones it adds
    nothing, negative ones as well, of which the return seen is no bound from below.
    """
    negative = np.minimum(last_rewards, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(negative < 0, np.divide(negative, 1 - gamma), 0).astype(np.float32)


class EpisodicReplay(RowReplay):
    """A replay buffer that knows the discounted return from each step to the end of its episode, once that is over.

    ``returns`` is ``[buffer_size, n_envs]``, minus infinity while unknown: in a running episode, and for ever in one
    that was left by a reset.
    """

    gamma = 0.99

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.returns = np.full((self.buffer_size, self.n_envs), -np.inf, np.float32)
        self._running = np.zeros(self.n_envs, np.int64)  # steps stored of each environment's present episode

    def add(self, obs: Any, next_obs: Any, action: Any, reward: Any, done: Any, infos: Any) -> None:
        """As SB3's; an episode that ends here gets its returns."""
        at = self.pos
        went_on = (np.asarray(obs, np.float32) == self.next_observations[at - 1]).all(axis=1)
        self._running = np.minimum(self._running * went_on + 1, self.buffer_size)
        super().add(obs, next_obs, action, reward, done, infos)
        self.returns[at] = -np.inf
        for index in np.flatnonzero(done):
            self._close(at, int(index))

    def draw_with_returns(self, n: int) -> tuple[Tensor, Tensor]:
        """``n`` rows ``[n, width]`` and their returns ``[n]``, on the CPU."""
        found = th.randint(self.transitions, (n,))
        return self._rows[found], th.from_numpy(self.returns).view(-1)[found]

    def _close(self, at: int, index: int) -> None:
        cut_off = bool(self.timeouts[at, index])
        total = float(unseen_tail(self.rewards[at, index], self.gamma)) if cut_off else 0.0
        for step in (at - np.arange(self._running[index])) % self.buffer_size:
            total = float(self.rewards[step, index]) + self.gamma * total
            self.returns[step, index] = total
        self._running[index] = 0


def calibrated(values: Tensor, batch: Batch) -> Tensor:
    """Values ``[n, B, 3K]`` of the policy's actions not below the data's returns; those of uniform ones as they are."""
    assert batch.returns is not None
    uniform, policy = values.tensor_split([values.shape[-1] // 3], dim=-1)
    return th.cat([uniform, th.maximum(policy, batch.returns[:, None])], dim=-1)


@dataclass(frozen=True)
class CalQLSettings(CQLSettings):
    """Those of Cal-QL, beside CQL's.

    Args:
        max_target_backup: targets take the best of ``n_target_actions`` of the policy at s' instead of one.
        offline_ratio: share of each online batch that is drawn from the dataset.
    """

    _: KW_ONLY
    max_target_backup: bool = True
    offline_ratio: float | None = 0.5


class CalQL(ActorCritic):
    r"""Calibrated Q-learning: :class:`~.cql.CQL` with one change, made for learning on in the environment afterwards.

    Where CQL pushes down Q(s, a) of the policy's actions, Cal-QL pushes down

    .. math::
        \max(Q(s, a), V^\mu(s))

    with the return of the data from s as V^mu(s) (its equation 5): values below that feel no push. So values keep the
    scale of true returns, which is to spare fine-tuning from first unlearning a policy in favour of anything tried
    online; no race here has tested that. The
    uniform actions and the Bellman error are CQL's. Online, half of each batch is the dataset's and the same
    update goes on; an episode's returns are known when it ends, and until then its steps are pushed as CQL's are (the
    authors add whole episodes). For episodes cut off by a time limit see :func:`unseen_tail`.

    Its bound acts where values of the policy's actions lie below the data's returns: on dense positive rewards that is
    so for most of them until the critics have grown to the scale of returns (``q_below_returns`` in the log is their
    share), and until then the gap of CQL pushes nothing. Multiply such rewards by 0.1, or learn offline for long.

    Defaults are the authors' (weight 5, targets of the best of 10 actions, half of each batch from the dataset,
    orthogonal layers with a gain of 0.01 in the last, log-deviations that begin at -1 under a learned scale and
    offset). Departures: they cut the data's actions to 0.99999, but nothing here takes a density of
    these; their actor climbs the critics before their step, and their multiplier begins at e, as in :class:`~.cql.CQL`.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"orthogonal_init": 0.01, "log_std_offset": -1.0}
    needs_data: ClassVar[bool] = True
    settings: CalQLSettings
    saved_parts = ("ent_coef_optimizer", "multiplier_optimizer")
    saved_tensors = ("log_ent_coef", "log_multiplier")

    @takes(CalQLSettings)
    def __init__(self, settings: CalQLSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        if self.n_steps != 1 or self.replay_buffer_class not in (None, EpisodicReplay):
            raise ValueError(
                "CalQL keeps the returns of whole episodes: leave n_steps and replay_buffer_class as they are"
            )
        if fits(self.observation_space, self.action_space):
            self.replay_buffer_class = EpisodicReplay
        super()._setup_model()
        if isinstance(self.replay_buffer, EpisodicReplay):
            self.replay_buffer.gamma = self.gamma
        self.learned = Conservative(self, self.settings)
        self.log_ent_coef, self.ent_coef_optimizer = self.learned.temperature.log, self.learned.temperature.optimizer
        self.log_multiplier, self.multiplier_optimizer = self.learned.log_multiplier, self.learned.optimizer

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        return self.learned.update(batch, self.settings, calibrated)

    def reference_returns(self, transitions: Transitions) -> FloatArray:
        """Discounted returns of a dataset, with :func:`unseen_tail` where a time limit cut it off."""
        cut_off = transitions.ends & (transitions.terminations == 0)
        rewards = transitions.rewards.copy()
        rewards[cut_off] += self.gamma * unseen_tail(rewards[cut_off], self.gamma)
        return replace(transitions, rewards=rewards).returns(self.gamma)

    def replayed(self, n: int) -> Batch:
        """``n`` transitions of the replay buffer, with their returns.

        Raises:
            TypeError: rewards or observations are normalised on the way, so that returns mean something else.
        """
        if self._vec_normalize_env is not None:
            raise TypeError("CalQL compares values with returns: take VecNormalize off its environment")
        assert isinstance(self.replay_buffer, EpisodicReplay)
        rows, returns = self.replay_buffer.draw_with_returns(n)
        return self.replay_buffer.columns.batch(rows.to(self.device), self.gamma, OWN, returns.to(self.device))

    def _optimizers(self) -> list[th.optim.Optimizer]:
        """Those whose rate is ``learning_rate``."""
        return [self.critic.optimizer, *([] if self.multiplier_optimizer is None else [self.multiplier_optimizer])]
