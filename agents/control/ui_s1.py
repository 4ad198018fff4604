"""UI-S1: semi-online reinforcement learning, whose rollouts follow recorded episodes as far as the policy gets.

Paper: Lu, Ye, Tang, Shen, Xu, Zheng, Lu, Yan, Huang, Xiao, Zhuang, UI-S1: Advancing GUI Automation via Semi-online
Reinforcement Learning (2025), and the authors' code.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch as th

from .action_match import Agreement, agreement
from .recorded_steps import Attempts, Bools, Floats, Ints, RecordedSteps, RecordedStepsSettings, filled
from .settings import takes
from .trajectories import Pool, Trajectory

DRAWS = 3
"""How often episodes are drawn anew, at most, where all rollouts along one are alike."""
TOGETHER = 256  # episodes that are predicted on at once


def step_reward(found: Agreement) -> Floats:
    """0.1 [format] + 0.4 [type] + 0.5 [type and argument], eq. 8; the format is always right here."""
    rewards: Floats = 0.1 + 0.4 * found.verb + 0.5 * (found.verb & found.exact)
    return rewards


def reached(matched: Bools, valid: Bools, patch_limit: float) -> Bools:
    """Which steps a rollout comes to ``[E, T, G]``: those before which at most ``patch_limit`` actions did not match.

    Args:
        matched: whether the action at each step is the recorded one ``[E, T, G]``.
        valid: whether the episode has this step ``[E, T]``.
        patch_limit: epsilon, how many wrong actions are replaced by recorded ones.
    """
    missed = valid[:, :, None] & ~matched
    found: Bools = valid[:, :, None] & (missed.cumsum(1) - missed <= patch_limit)
    return found


def future_returns(rewards: Floats, matched: Bools, gamma: float) -> Floats:
    r""":math:`R_t = \sum_{k=t}^{t_{end}} \gamma^{k-t} r_k` up to the first action that does not match, eq. 9.

    Args:
        rewards: ``[E, T, G]``, 0 after an episode's end.
        matched: ``[E, T, G]``.
        gamma: discount.
    """
    found = rewards.copy()
    for t in reversed(range(rewards.shape[1] - 1)):
        found[:, t] += gamma * matched[:, t] * found[:, t + 1]
    return found


def standardised(values: Floats, counted: Bools) -> Floats:
    """``(v - mean) / (deviation + 1e-6)`` over those counted in the last axis; 0 for others."""
    n = np.maximum(counted.sum(-1, keepdims=True), 1)
    centred = np.where(counted, values - np.where(counted, values, 0.0).sum(-1, keepdims=True) / n, 0.0)
    found: Floats = centred / (np.sqrt((centred**2).sum(-1, keepdims=True) / n) + 1e-6)
    return found


def dual_advantages(
    rewards: Floats, matched: Bools, came: Bools, gamma: float, step_weight: float, episode_weight: float = 1.0
) -> Floats:
    r""":math:`A = A^E + \omega A^S`, eq. 10 to 12; ``[E, T, G]``, 0 where a rollout did not come.

    Args:
        rewards: ``[E, T, G]``.
        matched: ``[E, T, G]``.
        came: which steps each rollout came to ``[E, T, G]``.
        gamma: discount.
        step_weight: omega, of the advantage of a step's return over those of the group at this step.
        episode_weight: of the advantage of the reward at the last step of a rollout.
    """
    step = standardised(future_returns(rewards, matched, gamma), came)
    last = np.maximum(came.sum(1) - 1, 0)
    final = np.take_along_axis(rewards, last[:, None], 1)
    episode = standardised(final, np.ones(final.shape, np.bool_))
    found: Floats = np.where(came, episode_weight * episode + step_weight * step, 0.0)
    return found


@dataclass(frozen=True)
class UIS1Settings(RecordedStepsSettings):
    """Those of UI-S1, beside what agents of recorded steps take.

    Args:
        gamma: discount of rewards to come.
        patch_limit: epsilon, how many wrong actions of a rollout are replaced by recorded ones; infinity for all.
        step_weight: omega, of the step-level advantage.
        episode_weight: of the episode-level advantage.
        min_deviation: eta: rollouts whose advantages deviate by no more are drawn anew.
    """

    _: KW_ONLY
    gamma: float = 0.5
    patch_limit: float = 1
    step_weight: float = 1.0
    episode_weight: float = 1.0
    min_deviation: float = 0.3


class UIS1(RecordedSteps):
    r"""Rolls the policy out along recorded episodes, several times each, and learns from what its actions came to.

    Where an action matches the recorded one, a rollout goes on to the next recorded state (eq. 7); where not, the
    patch module puts the recorded one in its place, at most ``patch_limit`` times, and then the rollout ends (algorithm
    1). A wrong action is learnt from, patched or not. Rewards are :math:`r = 0.1 + 0.4 [type] + 0.5 [type, argument]`
    (eq. 8), and

    .. math:: R_t = \sum_{k=t}^{t_{end}} \gamma^{k-t} r_k, \quad A = A^E + \omega A^S

    (eq. 9 to 12), with :math:`t_{end}` the first step from t on whose action does not match, :math:`A^S` the return
    less the mean of all rollouts at this step, by their deviation, and :math:`A^E` the same of the reward of the last
    step reached. The policy takes clipped steps (eq. 13). Episodes along which all rollouts fare alike are drawn anew
    (:math:`\sigma(A) > \eta`). gamma 0.5, epsilon 1, omega 1 and eta 0.3 are the paper's, 8 rollouts its code's.

    What of it can act here. Policies of elements have neither thoughts nor a history: what they do at a recorded state
    does not depend on how a rollout came there. So all states are acted in at once, with the same result, and what is
    left of "semi-online" is which steps are learnt from (a rollout that ends early never comes to late ones) and how
    they are weighted: since :math:`E[R_t | a_t] = r_t + \gamma [a_t matches] E[R_{t+1}]`, a match is worth more where
    the policy would get on from there. That a policy learns to go on from its *own* words, the paper's main point,
    cannot show; nor can its two patches with thoughts. The patch is the paper's choice, the thought-free one.

    Departures: no penalty for leaving a reference policy (theirs has weight 1e-4); all actions of a mini-batch count
    alike; of episodes that are alike, at most three rounds are drawn. The code differs from the paper, which we follow,
    in these places: there the return ends *before* the first action that does not match, the episode-level advantage
    is that of each step's own reward over all steps of all rollouts, eta is compared with the deviation of the returns
    at the first step, deviations are of samples, not of populations, r is 0.19, 0.55 and 1 (here 0.1, 0.5 and 1), and
    its example patches twice. Begin with :meth:`clone`, as the paper begins with supervised learning.
    """

    settings: UIS1Settings

    @takes(UIS1Settings)
    def __init__(self, settings: UIS1Settings) -> None:
        self.construct(settings)

    def tried(self, pool: Pool, experts: Ints, progress: float) -> Attempts:
        """Rollouts along drawn episodes, until there are steps enough or it was tried :data:`DRAWS` times."""
        wanted = self.settings.batch_size * self.settings.rollout_updates
        found = []
        for _ in range(DRAWS):
            found.append(self.rolled_out(pool, self.drawn(pool, experts, wanted)))
            wanted -= len(found[-1].steps)
            if wanted <= 0:
                break
        steps, actions, log_prob, advantages, counted = zip(*found, strict=True)
        return Attempts(
            np.concatenate(steps),
            th.cat(actions),
            th.cat(log_prob),
            np.concatenate(advantages),
            np.concatenate(counted),
        )

    def drawn(self, pool: Pool, experts: Ints, wanted: int) -> Ints:
        """Numbers of episodes with so many steps in all."""
        order = experts[filled(self.rng, len(experts), wanted)]  # none has less than one step
        steps = np.cumsum(pool.left[pool.first[order]] + 1)
        return order[: int(np.searchsorted(steps, wanted)) + 1]

    def rolled_out(self, pool: Pool, episodes: Ints) -> Attempts:
        """``group_size`` rollouts along each of these episodes; those that fare alike are left out."""
        asked = self.settings
        lengths = pool.left[pool.first[episodes]] + 1
        valid = np.arange(lengths.max()) < lengths[:, None]
        steps = (pool.first[episodes][:, None] + np.arange(lengths.max()))[valid]
        actions, log_prob = self.attempt(pool, steps)
        found = self.agree(pool, steps, actions)
        rewards = np.zeros((*valid.shape, asked.group_size))
        matched = np.zeros(rewards.shape, np.bool_)
        rewards[valid], matched[valid] = step_reward(found), found.exact
        came = reached(matched, valid, asked.patch_limit)
        advantages = dual_advantages(rewards, matched, came, asked.gamma, asked.step_weight, asked.episode_weight)
        kept = differ(advantages, came, asked.min_deviation)[:, None] & came.any(2)
        at = np.flatnonzero(kept[valid])
        return Attempts(steps[at], actions[at], log_prob[at], advantages[valid][at], came[valid][at])


def differ(advantages: Floats, came: Bools, least: float) -> Bools:
    """Whether the advantages ``[E, T, G]`` of the rollouts along an episode deviate by more than ``least``; ``[E]``."""
    n = np.maximum(came.sum((1, 2)), 1)
    mean = np.where(came, advantages, 0.0).sum((1, 2)) / n
    squares = np.where(came, (advantages - mean[:, None, None]) ** 2, 0.0).sum((1, 2))
    found: Bools = np.sqrt(squares / n) > least
    return found


# -- SOP -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SOP:
    """Semi-online performance, appendix A.3.

    Attributes:
        progress: mean over episodes of the share of steps before the first action that does not match, PG.
        success: share of episodes all of whose steps match, TSR.
    """

    progress: float
    success: float

    @property
    def score(self) -> float:
        """Mean of both."""
        return (self.progress + self.success) / 2


def semi_online_performance(agent: Any, trajectories: Sequence[Trajectory]) -> SOP:
    """How far an agent would get along recorded episodes, by its likeliest actions and without patches.

    It knows one way to each goal: a step off it counts as the end, even where it leads there too.

    Args:
        agent: anything with SB3's ``predict``; one with a state is told where episodes begin.
        trajectories: recorded by an expert.

    Raises:
        ValueError: there are none.
    """
    matches = recorded_matches(agent, trajectories)
    ahead = np.array([one.argmin() if not one.all() else len(one) for one in matches])
    lengths = np.array([len(one) for one in matches])
    return SOP(float((ahead / lengths).mean()), float((ahead == lengths).mean()))


def step_accuracy(agent: Any, trajectories: Sequence[Trajectory]) -> float:
    """Share of recorded steps at which the agent's likeliest action is the recorded one, whatever it did before.

    Raises:
        ValueError: there are no episodes.
    """
    return float(np.concatenate(recorded_matches(agent, trajectories)).mean())


def recorded_matches(agent: Any, trajectories: Sequence[Trajectory]) -> list[Bools]:
    """Whether an agent's likeliest action is the recorded one, at each step of each episode.

    Raises:
        ValueError: there are no episodes.
    """
    if not len(trajectories):
        raise ValueError("there are no recorded episodes to measure an agent on")
    parts = (trajectories[i : i + TOGETHER] for i in range(0, len(trajectories), TOGETHER))
    return [row for part in parts for row in _matches(agent, part)]


def _matches(agent: Any, some: Sequence[Trajectory]) -> list[Bools]:
    """Step after step, so that an agent with a memory sees an episode in its order and at one place of the batch."""
    state, columns = None, []
    for t in range(max(map(len, some))):
        at = [min(t, len(one) - 1) for one in some]
        seen = {
            name: np.stack([one.observations[name][k] for one, k in zip(some, at, strict=True)])
            for name in ("elements", "goal")
        }
        starts = np.full(len(some), t == 0)
        actions, state = agent.predict(seen, state=state, episode_start=starts, deterministic=True)
        recorded = np.stack([one.actions[k] for one, k in zip(some, at, strict=True)])
        columns.append(agreement(np.asarray(actions), recorded, seen["elements"], seen["goal"]).exact)
    table = np.stack(columns, 1)
    return [row[: len(one)] for row, one in zip(table, some, strict=True)]
