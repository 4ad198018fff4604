"""Route completion times soft factors, minus a penalty that comes with the end of the episode.

``reward = route_completion * speed * ttc * gap * comfort * lane * pace + penalty``: the share of the route driven in
this step times factors in [0, 1], so the undiscounted return of a complete and flawless route is 1 and no return
exceeds it. A hard infraction ends the episode with ``penalty = -0.1``, else it is 0.

Success is lawful: the route is complete, no hard infraction ends it, and on the way there was no offence either, which
is to leave the outer lanes, to drive across a marking for long, or to speed until half the reward is gone. That is the
success rate of CARLA's Bench2Drive (Jia et al., 2024): routes completed in time without an infraction.

Paper: CaRL: Learning Scalable Planning Policies with Simple Rewards (2025), eq. 1; factors after the authors' code:
speeding fades out over nuPlan's 2.23 m/s, half for a time to collision under nuPlan's 0.95 s, up to half for the share
of nuPlan's six comfort limits that are broken, half for driving across markings for long, nothing outside the lanes,
own speed relative to the traffic's (optional there). Ours: ``gap``, which fades with tailgating; and comfort is
measured by differences over a policy step instead of a smoothing filter.
"""

from typing import Any

from .compiled import compiled
from .roads import nearest_lane
from .state import (
    BLOCKED,
    COLLISION,
    LANE_WIDTH,
    LATE,
    OFF_ROAD,
    OUTSIDE_LANES,
    SPEEDING,
    STEP_DT,
    STRADDLING,
    WRONG_WAY,
    Cars,
    Vehicle,
    World,
)
from .traffic import neighbour
from .vehicle import clip

PENALTY = 0.1
OVERSPEED = 2.23  # m/s above the limit at which a step is worth nothing
LEAST_TTC = 0.95  # s
SAFE_GAP = 1.0  # s behind the leader from which the gap factor is 1
CLOSE_GAP = 0.5  # s at and below which it is one half
MAX_ACCEL, MIN_ACCEL, MAX_LATERAL = 2.40, -4.05, 4.89  # m/s2
MAX_LON_JERK, MAX_JERK = 4.13, 8.37  # m/s3
MAX_YAW_RATE, MAX_YAW_ACCEL = 0.95, 1.93  # rad/s, rad/s2
STRADDLE_TIME = 3.0  # s across the markings that a lane change may take
STILL_SPEED, STILL_TIME = 1.0, 5.0  # m/s and s: standing longer is "blocked"


@compiled
def speed_factor(v: float, limit: float) -> float:
    """1 up to the limit, fading to 0 at 2.23 m/s above it."""
    return clip(1.0 - (v - limit) / OVERSPEED, 0.0, 1.0)


@compiled
def gap_factor(gap: float, v: float) -> float:
    """1 from one second behind the leader, fading to one half at half a second."""
    seconds = gap / max(v, 1.0)
    return clip(0.5 + 0.5 * (seconds - CLOSE_GAP) / (SAFE_GAP - CLOSE_GAP), 0.5, 1.0)


@compiled
def ttc_factor(gap: float, closing: float) -> float:
    """One half if the gap would close within 0.95 s at the present speeds."""
    return 0.5 if gap < closing * LEAST_TTC else 1.0


@compiled
def comfort_factor(lon: float, lat: float, lon_jerk: float, lat_jerk: float, yaw: float, yaw_accel: float) -> float:
    """``1 - 0.5 n / 6`` for n broken limits: two accelerations, two jerks, yaw rate and yaw acceleration."""
    broken = 0
    broken += 1 if lon > MAX_ACCEL or lon < MIN_ACCEL else 0
    broken += 1 if abs(lat) > MAX_LATERAL else 0
    broken += 1 if abs(lon_jerk) > MAX_LON_JERK else 0
    broken += 1 if (lon_jerk * lon_jerk + lat_jerk * lat_jerk) ** 0.5 > MAX_JERK else 0
    broken += 1 if abs(yaw) > MAX_YAW_RATE else 0
    broken += 1 if abs(yaw_accel) > MAX_YAW_ACCEL else 0
    return 1.0 - 0.5 * broken / 6.0


@compiled
def comfort(episode: Any, v: float, yaw_rate: float) -> float:
    """:func:`comfort_factor` of the policy step that just ended; the record remembers it for the next.

    Args:
        episode: a record with ``last_v, last_lon, last_lat, last_yaw`` of the step before.
        v: m/s, now.
        yaw_rate: rad/s, now.
    """
    lon = (v - episode.last_v) / STEP_DT
    lat = v * yaw_rate
    factor = comfort_factor(
        lon,
        lat,
        (lon - episode.last_lon) / STEP_DT,
        (lat - episode.last_lat) / STEP_DT,
        yaw_rate,
        (yaw_rate - episode.last_yaw) / STEP_DT,
    )
    episode.last_v, episode.last_lon, episode.last_lat, episode.last_yaw = v, lon, lat, yaw_rate
    return factor


@compiled
def lane_factor(world: World, ego: Vehicle) -> float:
    """0 when the body leaves the outer lanes, one half after three seconds across a marking, else 1."""
    spare = 0.5 * (LANE_WIDTH - ego.width)
    if ego.d < -spare or ego.d > (world.lanes - 1) * LANE_WIDTH + spare:
        return 0.0
    return 0.5 if world.straddle > STRADDLE_TIME else 1.0


@compiled
def pace_factor(world: World, cars: Cars) -> float:
    """Own speed as a share of the traffic's mean speed (at most the limit), up to 1."""
    total = 0.0
    for k in range(1, world.vehicles):
        total += cars[k].v
    pace = world.limit if world.vehicles == 1 else min(total / (world.vehicles - 1), world.limit)
    return clip(cars[0].v / max(pace, 1.0), 0.0, 1.0)


@compiled
def keep_time(world: World, ego: Vehicle) -> None:
    """Advances the clocks of a policy step: the budget, standing still, driving across markings."""
    world.clock += STEP_DT
    world.still = world.still + STEP_DT if ego.v < STILL_SPEED else 0.0
    off = abs(ego.d - nearest_lane(world, ego.d) * LANE_WIDTH)
    world.straddle = max(0.0, world.straddle + (STEP_DT if off > 0.5 * (LANE_WIDTH - ego.width) else -STEP_DT))


@compiled
def hard_infraction(world: World, ego: Vehicle, crashed: bool) -> int:
    """The hard infraction that the state amounts to (0: none), in order of gravity."""
    if crashed:
        return COLLISION
    if ego.d < -0.5 * LANE_WIDTH or ego.d > (world.lanes - 0.5) * LANE_WIDTH:
        return OFF_ROAD
    if abs(world.heading) > 1.5707963267948966:
        return WRONG_WAY
    if world.still > STILL_TIME:
        return BLOCKED
    if world.clock > world.budget and world.best < world.length:
        return LATE
    return 0


@compiled
def offence(lane: float, speed: float) -> int:
    """The offence of a step with these factors (0: none); :data:`.state.OFFENCES` has the names."""
    if lane == 0.0:
        return OUTSIDE_LANES
    if speed < 0.5:
        return SPEEDING
    return STRADDLING if lane < 1.0 else 0


@compiled
def judge(world: World, cars: Cars, order: Any, crashed: bool) -> None:
    """Fills the reward of the policy step just ended and its named terms; decides success, infraction and offence."""
    ego = cars[0]
    keep_time(world, ego)
    before = world.best
    world.best = min(max(before, ego.s), world.length)
    world.route_completion = (world.best - before) / world.length
    world.speed = speed_factor(ego.v, world.limit)
    world.ttc = world.gap = 1.0
    for lane in range(min(ego.lane, ego.target), max(ego.lane, ego.target) + 1):
        k, gap = neighbour(world, cars, order, world.rank, lane, 1, 1)
        if k >= 0:
            world.ttc = min(world.ttc, ttc_factor(gap, ego.v - cars[k].v))
            world.gap = min(world.gap, gap_factor(gap, ego.v))
    world.comfort = comfort(world, ego.v, world.yaw_rate)
    world.lane = lane_factor(world, ego)
    world.pace = pace_factor(world, cars)
    world.infraction = hard_infraction(world, ego, crashed)
    if world.offence == 0:
        world.offence = offence(world.lane, world.speed)
    lawful = world.infraction == 0 and world.offence == 0
    world.success = 1 if lawful and world.best >= world.length else 0
    world.penalty = -PENALTY if world.infraction != 0 else 0.0
    quality = world.speed * world.ttc * world.gap * world.comfort * world.lane * world.pace
    world.reward = world.route_completion * quality + world.penalty
