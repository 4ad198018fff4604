"""AWR: imitates actions by how much better they turned out than expected; returns in place of critics.

Paper: Peng, Kumar, Zhang, Levine, Advantage-Weighted Regression: Simple and Scalable Off-Policy Reinforcement Learning
(2019), and the authors' code.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .datasets import Transitions
from .replay import OWN, Batch, FloatArray, RowReplay, misfit
from .settings import OffPolicySettings, takes
from .updates import minimise

CHUNK = 2**16  # rows evaluated at once


def td_lambda(
    rewards: FloatArray, discounts: FloatArray, next_values: FloatArray, ends: npt.NDArray[np.bool_], lam: float
) -> FloatArray:
    r""":math:`G_t = r_t + \gamma_t ((1 - \lambda) V(s_{t+1}) + \lambda G_{t+1})` of each step, ``[N]`` like all arrays.

    Args:
        rewards: in the order of time, one stretch of steps after the other.
        discounts: gamma, or 0 where the episode terminated.
        next_values: V of the next observation.
        ends: the last step of each stretch, where :math:`G_t = r_t + \gamma_t V(s_{t+1})`; the last of all is one.
        lam: 0 gives one-step targets, 1 the return itself with V at a stretch's end.
    """
    last = np.flatnonzero(ends)
    lengths = np.diff(last, prepend=-1)
    following = next_values[last].astype(float)
    found = np.empty_like(rewards)
    for back in range(int(lengths.max())):  # all stretches at once, each from its own end
        alive = lengths > back
        steps = last[alive] - back
        ahead = following[alive]
        if back:
            ahead = (1 - lam) * next_values[steps] + lam * ahead
        following[alive] = rewards[steps] + discounts[steps] * ahead
        found[steps] = following[alive]
    return found


def advantage_weights(advantages: Tensor, temperature: float, limit: float) -> Tensor:
    r""":math:`\min(\exp(A / \beta), limit)` of advantages ``[B]``, first brought to mean 0 and deviation 1."""
    advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-5)
    return (advantages / temperature).exp().clamp_max(limit)


class OrderedReplay(RowReplay):
    """A replay buffer that can be read in the order of time; ``returns`` ``[buffer_size, n_envs]`` are the agent's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.returns = np.zeros((self.buffer_size, self.n_envs), np.float32)
        self.added = 0
        """Steps of all environments added so far, also those that have made room for others since."""

    def add(self, *args: Any, **kwargs: Any) -> None:
        """As in SB3."""
        super().add(*args, **kwargs)
        self.added += 1

    def in_order(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Positions of all rows by environment, oldest first, and which are the last of an unbroken stretch."""
        times = np.arange(self.size())
        times = np.roll(times, -self.pos) if self.full else times
        rows = self._rows.numpy()
        order = (times * self.n_envs + np.arange(self.n_envs)[:, None]).reshape(-1)
        ends = rows[order, self.columns.done] > 0
        gaps = rows[order[:-1], self.columns.next_observation] != rows[order[1:], self.columns.observation]
        ends[:-1] |= gaps.any(axis=1)  # left by a reset
        ends[len(times) - 1 :: len(times)] = True
        return order, ends

    def rows(self, positions: npt.NDArray[np.int64]) -> Tensor:
        """The rows at these positions, ``[n, width]`` on the CPU."""
        return self._rows[th.from_numpy(positions)]

    def draw_with_returns(self, n: int) -> tuple[Tensor, Tensor]:
        """``n`` rows ``[n, width]`` and their returns ``[n]``, on the CPU."""
        found = th.randint(self.transitions, (n,))
        return self._rows[found], th.from_numpy(self.returns).view(-1)[found]


@dataclass(frozen=True)
class AWRSettings(OffPolicySettings):
    """Those of AWR, beside what all agents take.

    Args:
        temperature: beta, of standardised advantages.
        td_lambda: lambda; 1 gives Monte Carlo returns.
        weight_limit: of an action's weight.
        action_std: the actor's fixed standard deviation, on actions scaled to [-1, 1]; the authors' 0.4 for Hopper,
            HalfCheetah and Walker2d (0.2 for Ant and Humanoid).
        refresh_interval: updates between new targets, where no experience comes.
        buffer_size: transitions kept.
        train_freq: steps (of each environment) between updates.
        gradient_steps: updates then.
    """

    _: KW_ONLY
    temperature: float = 1.0
    td_lambda: float = 0.95
    weight_limit: float = 20.0
    action_std: float = 0.4
    refresh_interval: int = 1000
    buffer_size: int = 50_000
    train_freq: int | tuple[int, str] = 2048
    gradient_steps: int = 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")


class AWR(ActorCritic):
    r"""Advantage-weighted regression.

    Whenever there is new experience or a dataset is given (so that learning from it in two calls differs from one), and
    every ``refresh_interval`` updates, all steps known get a target

    .. math::
        G_t = r_t + \gamma ((1 - \lambda) V(s_{t+1}) + \lambda G_{t+1})

    with V(s') at the end of what was seen of an episode, unless it terminated. An update moves V towards G (line 5 of
    its algorithm 1) and the actor down :math:`-E[\min(e^{A / \beta}, 20) \log \pi(a|s)]` with :math:`A = G - V(s)`
    (line 6). Steps are those of the dataset, of the replay buffer, or both: so it is the same offline, online, and from
    one to the other. Online the paper takes 2048 steps, then does 200 updates of V and 1000 of the actor.

    Departures from the authors' code: V and actor are updated together, not in turns, by Adam rather than by gradient
    descent with momentum; advantages are standardised over a batch, not over all data; tanh keeps the actor's mean
    inside, not a penalty; observations are not standardised. As there, outputs of V are multiplied by 1 / (1 - gamma).
    """

    policy_defaults: ClassVar[dict[str, Any]] = {
        "actor": "gaussian",
        "n_critics": 0,
        "n_values": 1,
        "net_arch": [128, 64],
    }

    refuses_vec_normalize: ClassVar[bool] = True
    settings: AWRSettings

    @takes(AWRSettings)
    def __init__(self, settings: AWRSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        if self.replay_buffer_class not in (None, OrderedReplay) or self.n_steps != 1:
            raise TypeError("AWR keeps trajectories in the order of time: leave replay_buffer_class and n_steps out")
        if said := misfit(self.observation_space, self.action_space):
            raise TypeError(f"AWR reads flat Box observations of floats, {said}, or take another agent")
        self.replay_buffer_class = OrderedReplay
        super()._setup_model()
        log_std = math.log(self.settings.action_std)
        self.actor.log_std_range = (log_std, log_std)
        self._scale = 1 / (1 - self.gamma) if self.gamma < 1 else 1.0
        self._ends: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)  # of the dataset's episodes
        self._known: object = None  # the data and the moment of the present targets

    def on_dataset(self, transitions: Transitions) -> None:
        """Keeps where its episodes end."""
        self._ends, self._known = transitions.ends, None

    def sample(self, batch_size: int) -> Batch:
        """As always; with new targets if those there are not of these data, or old."""
        buffer = self._ordered
        moment = (buffer.added, buffer.pos, buffer.size(), self._n_updates // self.settings.refresh_interval)
        if moment != self._known:
            self.refresh()
            self._known = moment
        return super().sample(batch_size)

    def replayed(self, n: int) -> Batch:
        """``n`` transitions of the replay buffer with their targets."""
        rows, returns = self._ordered.draw_with_returns(n)
        return self._columns().batch(rows.to(self.device), self.gamma, OWN, returns.to(self.device))

    def refresh(self) -> None:
        """Works out the targets of all data anew, with the present V."""
        buffer = self._ordered
        if self.demonstrations is not None:
            self.demonstrations.returns = th.from_numpy(self._targets_of(self.demonstrations.rows, self._ends))
        if buffer.size():
            order, ends = buffer.in_order()
            buffer.returns.reshape(-1)[order] = self._targets_of(buffer.rows(order), ends)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        assert batch.returns is not None
        assert self.policy.value is not None
        loss, values = self.policy.value.loss(batch.observations, None, batch.returns / self._scale)
        value_loss = minimise(self.policy.value.optimizer, loss.mean())
        asked = self.settings
        weights = advantage_weights(batch.returns - values[0] * self._scale, asked.temperature, asked.weight_limit)
        log_prob = self.actor.log_prob(batch.observations, batch.actions)
        actor_loss = minimise(self.actor.optimizer, -(weights * log_prob).mean())
        losses = {"value_loss": value_loss, "actor_loss": actor_loss}
        return losses | {"v": values.mean() * self._scale, "advantage_weight": weights.mean()}

    @property
    def _ordered(self) -> OrderedReplay:
        assert isinstance(self.replay_buffer, OrderedReplay)
        return self.replay_buffer

    @th.no_grad()
    def _targets_of(self, rows: Tensor, ends: npt.NDArray[np.bool_]) -> FloatArray:
        assert self.policy.value is not None
        batch = self._columns().batch(rows, self.gamma, OWN)
        parts = [self.policy.value(part.to(self.device))[0].cpu() for part in batch.next_observations.split(CHUNK)]
        values = (th.cat(parts) * self._scale).numpy()
        return td_lambda(batch.rewards.numpy(), batch.discounts.numpy(), values, ends, self.settings.td_lambda)
