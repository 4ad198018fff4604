"""Route completion times soft factors, minus a penalty that comes with the end: CaRL's reward, on a lane graph.

``reward = route_completion * speed * ttc * gap * comfort * lane * courtesy + penalty``: the share of the route driven
in this step times factors in [0, 1], so the undiscounted return of a complete and flawless route is 1 and no return
exceeds it. What ends an episode as an infraction that is the agent's own costs ``penalty = -0.1``.

Each agent has a weight ``w`` in [0, 1] for each factor ``f``, which then counts as ``1 - w (1 - f)``, and one for the
penalty. All are 1 by default; self-play draws them for each agent and shows them to it.

Success is lawful: the route is complete, nothing ended it before, and there was no offence on the way.

Paper: CaRL: Learning Scalable Planning Policies with Simple Rewards (2025), eq. 1; its factors as in
:mod:`tiltyard.envs.driving.rewards`. Randomised weights: Robust Autonomy Emerges from Self-Play (GigaFlow, 2025),
sec. 3, there of a sum of terms. Ours: ``courtesy``, which fades with the braking that the agent imposes on others.
"""

from typing import Any

from ..compiled import compiled
from ..metrics.rules import SAFE, courtesy
from ..rewards import STRADDLE_TIME, comfort, gap_factor, speed_factor, ttc_factor
from .episode import (
    BLOCKED,
    COLLISION,
    FACTORS,
    IMPOSED_BRAKING,
    LATE,
    OFF_ROAD,
    OFF_ROUTE,
    OUTSIDE_LANES,
    RED_LIGHT,
    RIGHT_OF_WAY,
    SPEEDING,
    STOP_SIGN,
    STRADDLING,
    STRUCK,
    WRONG_WAY,
    Episode,
)
from .state import NONE, SIM_DT, SUBSTEPS, Agent

PENALTY = 0.1
STEP_DT = SIM_DT * SUBSTEPS
ASTRAY = 80.0  # m further from the goal than before, which is to have lost the route
WALKING = 2.0  # m/s
TOLERANCE = 0.1  # m over the edge of the road that are forgiven
courtesy_factor = compiled(courtesy)


@compiled
def weighted(factor: float, weight: float) -> float:
    """``1 - w (1 - f)``: a factor that counts by its weight."""
    return 1.0 - weight * (1.0 - factor)


@compiled
def lane_factor(episode: Episode, over: float, alone: bool, moves: bool) -> float:
    """0 over the edge of the road, one half after three seconds across a marking, else 1; keeps the clock of that.

    Args:
        episode: of the agent.
        over: m by which its body reaches over the marking of its lane; negative: it is inside.
        alone: there is no lane of this direction beyond the marking.
        moves: it is faster than walking pace; the clock stands in a queue.
    """
    if over <= 0.0:
        episode.straddle = max(0.0, episode.straddle - STEP_DT)
    elif moves:
        episode.straddle += STEP_DT
    if alone and over > TOLERANCE:
        return 0.0
    return 0.5 if episode.straddle > STRADDLE_TIME else 1.0


@compiled
def infraction(episode: Episode, agent: Agent, left: float) -> int:
    """What ends the episode without success (0: nothing), in order of gravity.

    Args:
        episode: of the agent; its counts are brought up to date.
        agent: its record.
        left: m to the goal, negative where no way leads there.
    """
    found = 0
    if agent.faults > episode.faults:
        found = COLLISION
    elif agent.collisions > episode.struck:
        found = STRUCK
    elif agent.reds > episode.reds:
        found = RED_LIGHT
    elif agent.stops > episode.stops:
        found = STOP_SIGN
    elif agent.lane == NONE:
        found = OFF_ROAD
    elif abs(agent.turn) > 1.5707963267948966:
        found = WRONG_WAY
    elif left < 0.0 or left > episode.left + ASTRAY:
        found = OFF_ROUTE
    elif agent.still > episode.patience:
        found = BLOCKED
    elif episode.clock > episode.budget:
        found = LATE
    episode.faults, episode.struck = agent.faults, agent.collisions
    episode.reds, episode.stops = agent.reds, agent.stops
    return found


@compiled
def offence(speed: float, lane: float, imposed: float, pushed_in: bool) -> int:
    """The offence of a step (0: none), from two factors of its reward and what it did to others."""
    if pushed_in:
        return RIGHT_OF_WAY
    if imposed > SAFE:
        return IMPOSED_BRAKING
    if lane == 0.0:
        return OUTSIDE_LANES
    if speed < 0.5:
        return SPEEDING
    return STRADDLING if lane < 1.0 else 0


@compiled
def judge(
    episode: Episode,
    agent: Agent,
    weights: Any,
    left: float,
    limit: float,
    leader_v: float,
    over: float,
    alone: bool,
    imposed: float,
    pushed_in: bool,
    outcome: Any,
) -> None:
    """The reward of the policy step just ended and its named terms; decides success, infraction and offence.

    Args:
        episode: of the agent.
        agent: its record.
        weights: ``[7]``, of :data:`.episode.FACTORS` and of the penalty.
        left: m to the goal, 0 or less than 0 as in :func:`infraction`.
        limit: m/s, here.
        leader_v: m/s of who is ahead in its way.
        over: see :func:`lane_factor`.
        alone: see :func:`lane_factor`.
        imposed: m/s2 of braking that it imposed on others in this step.
        pushed_in: it took the right of way of another in this step.
        outcome: ``[9]``, filled: :data:`.episode.OUTCOMES`.
    """
    episode.clock += STEP_DT
    before = episode.left
    arrived = 0.0 <= left <= 0.0
    if left >= 0.0:
        episode.left = min(before, left)
    completion = (before - episode.left) / episode.length
    speed, ttc = speed_factor(abs(agent.v), limit), ttc_factor(agent.gap, agent.v - leader_v)
    gap, ease = gap_factor(agent.gap, agent.v), comfort(episode, agent.v, agent.yaw_rate)
    lane, kindness = lane_factor(episode, over, alone, agent.v > WALKING), courtesy_factor(imposed)
    found = infraction(episode, agent, left)
    episode.infraction = 0 if arrived and found == LATE else found
    if episode.offence == 0:
        episode.offence = offence(speed, lane, imposed, pushed_in)
    lawful = episode.infraction == 0 and episode.offence == 0
    episode.success = 1 if lawful and arrived else 0
    own = episode.infraction != 0 and episode.infraction != STRUCK
    penalty = -PENALTY * weights[len(FACTORS)] if own else 0.0
    quality = weighted(speed, weights[0]) * weighted(ttc, weights[1])
    quality *= weighted(gap, weights[2]) * weighted(ease, weights[3])
    quality *= weighted(lane, weights[4]) * weighted(kindness, weights[5])
    outcome[0], outcome[1], outcome[2], outcome[3], outcome[4] = completion, speed, ttc, gap, ease
    outcome[5], outcome[6], outcome[7], outcome[8] = lane, kindness, penalty, completion * quality + penalty
