"""DigiRL: hard-filtered imitation of a device-control agent's own good steps, led by two critics.

Paper: Bai, Zhou, Cemri, Pan, Suhr, Levine, Kumar, DigiRL: Training In-The-Wild Device-Control Agents with Autonomous
Reinforcement Learning (2024), and the authors' code.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

import numpy as np
import numpy.typing as npt
import torch as th
import torch.nn.functional as F
from torch import Tensor, nn

from ..models.elements import ElementsNetwork, Shape
from ..optimizers import Adam
from .settings import takes
from .trajectories import Pool
from .trajectory_agent import CHUNK, PARTS, TrajectoryAgent, TrajectorySettings

Floats = npt.NDArray[np.float64]


def step_advantage(
    outcome: Floats, left: npt.NDArray[np.int64], last: npt.NDArray[np.bool_], values: Floats, after: Floats, lam: float
) -> Floats:
    r""":math:`A_h = \lambda^{H-h} r_H + (1 - \lambda^{H-h} r_H)(V(s_{h+1}) + r_h - V(s_h))`, eq. 4.3; ``[N]``.

    Args:
        outcome: r_H of each step's episode, 0 or 1.
        left: H - h.
        last: where the episode ended by itself: r_h is r_H there, and nothing follows.
        values: V of what was seen at the step.
        after: V of what was seen after it.
        lam: lambda; 0 trusts the critic alone, 1 the outcome.
    """
    seen: Floats = lam**left * outcome
    here = np.where(left == 0, outcome, 0.0)
    found: Floats = seen + (1 - seen) * (np.where(last, 0.0, after) + here - values)
    return found


def best_episodes(outcome: Floats, values: Floats, top_p: float) -> npt.NDArray[np.bool_]:
    """The share ``top_p`` of episodes with the highest r_H - V(c), eq. 4.4, and those that equal its last; ``[E]``."""
    advantages = outcome - values
    chosen: npt.NDArray[np.bool_] = advantages >= np.quantile(advantages, 1 - top_p)
    return chosen


class StepCritic(nn.Module):
    """V(s, c): the probability that the episode will be a success, the lower of two heads on one network."""

    optimizer: th.optim.Optimizer

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.network = ElementsNetwork(shape)
        width = shape.width
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)) for _ in range(2)
        )

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Logits of both heads ``[2, B]``."""
        summary = self.network(observations["elements"], observations["goal"]).summary
        return th.stack([head(summary)[:, 0] for head in self.heads])

    def value(self, observations: dict[str, Tensor]) -> Tensor:
        """``[B]``, in (0, 1)."""
        lower: Tensor = self(observations).sigmoid().amin(0)
        return lower


class InstructionCritic(nn.Module):
    """V(c): the probability of success by the goal's words alone."""

    optimizer: th.optim.Optimizer

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.tokens = ElementsNetwork(shape).tokens
        self.head = nn.Sequential(nn.Linear(shape.token_width, shape.width), nn.ReLU(), nn.Linear(shape.width, 1))

    def forward(self, goal: Tensor) -> Tensor:
        """Logits ``[B]`` of goals ``[B, 48]``."""
        goal = goal.long()
        mean = self.tokens(goal).sum(1) / (goal > 0).sum(1, keepdim=True).clamp_min(1)
        logits: Tensor = self.head(mean)[:, 0]
        return logits


def cross_entropy(logits: Tensor, outcome: Tensor) -> Tensor:
    r""":math:`-E[r_H \log V + (1 - r_H) \log(1 - V)]`, eq. 4.5 and 4.6, of logits ``[..., B]``; the mean over all."""
    return F.binary_cross_entropy_with_logits(logits, outcome.expand_as(logits))


@dataclass(frozen=True)
class DigiRLSettings(TrajectorySettings):
    """Those of DigiRL, beside what agents of whole episodes take.

    Args:
        critic_learning_rate: of both critics.
        value_updates: of the step-level critic after each ``rollouts`` episodes.
        instruction_updates: of the instruction-level one.
        outcome_lambda: lambda of the step-level advantage.
        top_p: share of episodes that the curriculum lets through.
        horizon: H, the most steps of an episode: a step is imitated if its advantage is above 1 / H.
        curriculum: whether to filter by the instruction-level critic; else successes are learnt from.
        step_filter: whether to filter by the step-level critic.
        critic_width: of the critics' hidden states.
    """

    _: KW_ONLY
    critic_learning_rate: float = 1e-3
    value_updates: int = 5
    instruction_updates: int = 5
    outcome_lambda: float = 0.5
    top_p: float = 0.1
    horizon: int = 50
    curriculum: bool = True
    step_filter: bool = True
    critic_width: int = 64


class DigiRL(TrajectoryAgent):
    r"""Imitates the good steps of the most surprising successes.

    Two critics learn by cross-entropy how probably an episode will be a success: :math:`V(c)` from the goal (eq. 4.5),
    :math:`V(s, c)` from goal and screen (eq. 4.6). Of all episodes kept the share ``top_p`` with the highest
    :math:`r_H - V(c)` is taken (eq. 4.4), of their steps those with

    .. math:: A = \lambda^{H-h} r_H + (1 - \lambda^{H-h} r_H)(V(s_{h+1}) + r_h - V(s_h)) > 1/H

    (eq. 4.3), and the actor learns :math:`-E[\log \pi(a|s, c)]` on what is left (eq. 4.2). Offline, before there is
    experience of its own, successes take the place of the curriculum, as in the paper's experiments.

    Begin with :meth:`clone`, as the paper begins with a model trained on demonstrations; then :meth:`learn_offline` on
    episodes of that policy, then :meth:`learn`.

    lambda 0.5, batches of 128, 16 episodes an iteration, 20 updates of the actor and 5 of each critic are the paper's
    table 6, the share of 10% and the lower of two heads the authors' code. Departures: a small network of elements
    trained from nothing, where theirs is a pretrained model of images, so that learning rates (theirs 3e-3) and the
    clipping of gradients (theirs 0.01) differ; states are one screen, not two; V of what follows the end is 0; and the
    code's simpler filter :math:`V(s') - V(s) - 0.05 + r + \gamma^{H-h} r_H > 0` is not used.
    """

    critic_names = ("step_critic", "instruction_critic")
    settings: DigiRLSettings
    step_critic: StepCritic
    instruction_critic: InstructionCritic

    @takes(DigiRLSettings)
    def __init__(self, settings: DigiRLSettings) -> None:
        self.construct(settings)

    def build_critics(self) -> None:
        """Both, with Adam."""
        shape = Shape(width=self.settings.critic_width, layers=1)
        self.step_critic = StepCritic(shape).to(self.device)
        self.instruction_critic = InstructionCritic(shape).to(self.device)
        for critic in (self.step_critic, self.instruction_critic):
            critic.optimizer = Adam(critic.parameters(), self.settings.critic_learning_rate)

    def improve(self, pool: Pool, updates: int, *, offline: bool) -> dict[str, float]:
        """See the class; offline the critics are updated half as often as the actor, as in the paper (100 to 200)."""
        asked = self.settings
        often = (updates // 2, updates // 2) if offline else (asked.instruction_updates, asked.value_updates)
        losses = self.fit_instructions(pool, often[0]), self.fit_steps(pool, often[1])
        steps = self.chosen(pool, offline=offline)
        told = {"instruction_loss": losses[0], "value_loss": losses[1], "steps_kept": len(steps) / len(pool)}
        return told | {"actor_loss": self.imitate(pool, steps, updates)}

    def fit_instructions(self, pool: Pool, updates: int) -> float:
        """Updates of V(c) on the goals of all episodes; the mean loss."""
        losses = []
        for _ in range(updates):
            episodes = self.rng.integers(len(pool.outcome), size=self.settings.batch_size)
            goals = pool.observations(pool.first[episodes], self.device)["goal"]
            loss = cross_entropy(self.instruction_critic(goals), self._outcome(pool, episodes))
            losses.append(self.minimise(self.instruction_critic, loss))
        return float(np.mean(losses)) if losses else float("nan")

    def fit_steps(self, pool: Pool, updates: int) -> float:
        """Updates of V(s, c) on what was seen at and after all steps, as in the authors' code; the mean loss."""
        losses = []
        for _ in range(updates):
            steps = self.rng.integers(len(pool), size=self.settings.batch_size)
            losses.append(self.minimise(self.step_critic, self._value_losses(pool, steps)))
        return float(np.mean(losses)) if losses else float("nan")

    def _value_losses(self, pool: Pool, steps: npt.NDArray[np.int64]) -> Iterator[Tensor]:
        """The parts of a batch's loss."""
        for places in pool.alike(steps, PARTS):
            some = steps[places]
            outcome, share = self._outcome(pool, pool.episode[some]), len(some) / len(steps)
            for after in (False, True):
                seen = pool.observations(some, self.device, after=after)
                yield share * cross_entropy(self.step_critic(seen), outcome)

    def chosen(self, pool: Pool, *, offline: bool) -> npt.NDArray[np.int64]:
        """The steps that are imitated."""
        episodes = self.episodes(pool, offline=offline)
        steps: npt.NDArray[np.int64] = np.flatnonzero(episodes[pool.episode])
        if self.settings.step_filter and len(steps):
            steps = steps[self.advantages(pool, steps) > 1 / self.settings.horizon]
        return steps

    @th.no_grad()
    def episodes(self, pool: Pool, *, offline: bool) -> npt.NDArray[np.bool_]:
        """Which of them ``[E]`` are learnt from."""
        if offline or not self.settings.curriculum:
            return pool.outcome > 0
        goals = pool.observations(pool.first, self.device)["goal"]
        values = self.instruction_critic(goals).sigmoid().cpu().double().numpy()
        return best_episodes(pool.outcome, values, self.settings.top_p)

    def advantages(self, pool: Pool, steps: npt.NDArray[np.int64]) -> Floats:
        """Of some steps."""
        values, after = (self._values(pool, steps, after=later) for later in (False, True))
        outcome = pool.outcome[pool.episode[steps]]
        return step_advantage(
            outcome, pool.left[steps], pool.terminal[steps], values, after, self.settings.outcome_lambda
        )

    @th.no_grad()
    def _values(self, pool: Pool, steps: npt.NDArray[np.int64], *, after: bool) -> Floats:
        parts = [steps[i : i + CHUNK] for i in range(0, len(steps), CHUNK)]
        found = [self.step_critic.value(pool.observations(part, self.device, after=after)) for part in parts]
        values: Floats = th.cat(found).cpu().double().numpy()
        return values

    def _outcome(self, pool: Pool, episodes: npt.NDArray[np.int64]) -> Tensor:
        return th.as_tensor(pool.outcome[episodes], dtype=th.float32, device=self.device)
