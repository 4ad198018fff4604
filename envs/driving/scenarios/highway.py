"""``tiltyard/Highway-v0``: drive a stretch of multi-lane highway among traffic, in time, by the rules."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from .... import unknown
from ...actions import OutOfBounds, bounded, check_mode, numbers
from ...core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ...seeding import check_split, problem_keys
from ..compiled import compiled, uniform
from ..planner import expert_box, expert_discrete
from ..render import draw
from ..rewards import judge
from ..sensors import SIZE, sense
from ..state import INFRACTIONS, LANE_WIDTH, OFFENCES, SUBSTEPS, VEHICLE, WORLD, Cars, Vehicle, World
from ..traffic import drive_traffic, follow, move, sort
from ..vehicle import (
    LENGTH,
    LEVEL,
    MAX_BRAKE,
    MAX_THROTTLE,
    WIDTH,
    bicycle,
    choose,
    crashed,
    lane_steer,
    occupy,
    speed_pedal,
    steer_limit,
)
from .checks import check_ranges

Action = Literal["box", "discrete"]
ACTIONS: tuple[str, ...] = ("keep", "left", "right", "faster", "slower")
RING = 500.0  # m of traffic around the ego
LANES, DENSITY, ROUTE = (2, 4), (8.0, 16.0), (600.0, 900.0)  # what problems are drawn from
JAM_RELIEF = 0.0175  # of that share for each vehicle per km and lane beyond what problems are drawn from
MAX_LANES, MAX_DENSITY, MIN_ROUTE = 6, 24.0, 300.0
START_PACE = 0.4  # of the limit: the speed at which the ego joins
LEAST_PACE, START_TIME = 0.7, 3.0  # what the time budget asks for, as a share of the limit, after seconds to get going
WARM_UP = 60  # simulation steps in which the ego joins the traffic as a slow, well-behaved driver
TERMS = ("route_completion", "speed", "ttc", "gap", "comfort", "lane", "pace", "penalty")


@compiled
def draw_problem(world: World, stream: Any, lanes: int, density: float, length: float) -> None:
    """Draws road, rules and route; a positive ``lanes``, ``density`` or ``length`` is taken as it is."""
    drawn = LANES[0] + int(uniform(stream, 0.0, LANES[1] - LANES[0] + 1.0))
    world.lanes = lanes if lanes > 0 else drawn
    world.limit = (80.0 + 20.0 * int(uniform(stream, 0.0, 3.0))) / 3.6
    drawn_density = uniform(stream, DENSITY[0], DENSITY[1])
    world.density = density if density >= 0.0 else drawn_density
    drawn_length = uniform(stream, ROUTE[0], ROUTE[1])
    world.length = length if length > 0.0 else drawn_length
    pace = LEAST_PACE - max(0.0, world.density - DENSITY[1]) * JAM_RELIEF
    world.budget = START_TIME + world.length / (pace * world.limit)
    world.ring = RING
    lateral = uniform(stream, -0.5, 1.5)  # m/s2 asked for by the bends at the limit; a quarter of the roads is straight
    world.bend = max(0.0, lateral) / (world.limit * world.limit)
    world.wave = uniform(stream, 300.0, 800.0)
    world.phase = uniform(stream, 0.0, 6.283185307179586)
    world.vehicles = 1 + int(world.density * world.lanes * RING / 1000.0 + 0.5)


@compiled
def draw_driver(world: World, car: Vehicle, stream: Any) -> None:
    """Draws a driver and vehicle: in the two right lanes some are lorries, slower and heavier."""
    lorry = uniform(stream, 0.0, 1.0) < (0.3 if car.lane == 0 else 0.15 if car.lane == 1 else 0.0)
    pace = uniform(stream, 0.0, 1.0)
    car.desired = min(25.0, (0.7 + 0.1 * pace) * world.limit) if lorry else (0.8 + 0.25 * pace) * world.limit
    car.length = uniform(stream, 10.0, 14.0) if lorry else uniform(stream, 4.2, 5.0)
    car.width = 2.5 if lorry else uniform(stream, 1.7, 1.95)
    car.headway = uniform(stream, 1.5, 2.0) if lorry else uniform(stream, 1.0, 1.7)
    car.accel = uniform(stream, 0.6, 0.9) if lorry else uniform(stream, 1.0, 2.0)
    car.brake = uniform(stream, 1.4, 2.0)
    car.politeness = uniform(stream, 0.0, 0.5)
    car.patience = uniform(stream, 0.0, 1.0)


@compiled
def place(world: World, cars: Cars, order: Any, stream: Any) -> None:
    """Spreads the vehicles over the lanes of the ring, with the ego (index 0) in a lane drawn at random."""
    first = int(uniform(stream, 0.0, float(world.lanes)))
    for k in range(world.vehicles):
        car = cars[k]
        car.lane = (first + k) % world.lanes
        car.target = car.lane
        car.d = car.lane * LANE_WIDTH
        car.a = car.slip = 0.0
        draw_driver(world, car, stream)
        row = k // world.lanes
        spacing = RING / ((world.vehicles - 1 - k % world.lanes) // world.lanes + 1)
        car.s = (row + uniform(stream, -0.15, 0.15) + (0.3 * car.lane if row > 0 else 0.0)) * spacing
        car.v = max(0.0, min(0.8 * car.desired, (0.5 * spacing - car.length) / 1.5))
        order[k] = k
    ego = cars[0]
    ego.length, ego.width = LENGTH, WIDTH
    ego.desired, ego.headway, ego.accel, ego.brake, ego.politeness = START_PACE * world.limit, 1.5, 1.5, 2.0, 0.0
    ego.v = min(ego.v, ego.desired)


@compiled
def begin_world(world: World, cars: Cars, order: Any, key: Any, lanes: int, density: float, length: float) -> None:
    """Draws the problem of one environment from its key and lets the traffic settle with the ego in it."""
    stream = np.empty(1, np.uint64)
    stream[0] = key
    draw_problem(world, stream, lanes, density, length)
    place(world, cars, order, stream)
    ego = cars[0]
    for _ in range(WARM_UP):
        sort(world, cars, order)
        ego.a = follow(world, cars, order, world.rank, ego.lane)
        drive_traffic(world, cars, order)
        move(world, ego)
    start = ego.s
    for k in range(world.vehicles):
        cars[k].s -= start
    sort(world, cars, order)
    world.heading = world.steer = world.pedal = world.yaw_rate = 0.0
    world.level = int(START_PACE / LEVEL + 0.5)
    world.goal_lane = world.plan = ego.lane
    world.clock = world.best = world.still = world.straddle = 0.0
    world.last_v, world.last_lon, world.last_lat, world.last_yaw = ego.v, 0.0, 0.0, 0.0
    world.infraction = world.offence = world.success = 0
    occupy(world, ego)


@compiled
def step_world(world: World, cars: Cars, order: Any, command: Any, discrete: bool) -> None:
    """One policy step of one environment; ends early at a crash."""
    ego = cars[0]
    if discrete:
        choose(world, ego, int(command[0]))
    crash = False
    for _ in range(SUBSTEPS):
        if discrete:
            pedal = speed_pedal(world, ego, LEVEL * world.level * world.limit)
            steer = lane_steer(world, ego, world.goal_lane)
        else:
            pedal = command[0] * (MAX_THROTTLE if command[0] > 0.0 else MAX_BRAKE)
            steer = command[1] * steer_limit(ego.v)
        drive_traffic(world, cars, order)
        bicycle(world, ego, pedal, steer)
        sort(world, cars, order)
        crash = crash or crashed(world, cars)
    judge(world, cars, order, crash)


@compiled
def begin_worlds(
    worlds: Any, cars: Any, order: Any, which: Any, keys: Any, lanes: int, density: float, length: float
) -> None:
    """:func:`begin_world` for the environments in ``which`` ``[k]`` with their ``keys`` ``[k]``."""
    for j in range(len(which)):
        i = which[j]
        begin_world(worlds[i], cars[i], order[i], keys[j], lanes, density, length)


@compiled
def step_worlds(
    worlds: Any, cars: Any, order: Any, commands: Any, active: Any, discrete: bool, first: int, last: int
) -> None:
    """:func:`step_world` for the active environments among ``first <= i < last``; ``commands`` is ``[n, 2]``."""
    for i in range(first, last):
        if active[i]:
            step_world(worlds[i], cars[i], order[i], commands[i], discrete)


@compiled
def sense_worlds(worlds: Any, cars: Any, order: Any, discrete: bool, out: Any) -> None:
    """The observations of all environments into ``out`` ``[n, SIZE]``."""
    for i in range(len(worlds)):
        sense(worlds[i], cars[i], order[i], discrete, out[i])


@compiled
def expert_worlds(worlds: Any, cars: Any, order: Any, discrete: bool, out: Any) -> None:
    """The expert's commands of all environments into ``out`` ``[n, 2]``."""
    for i in range(len(worlds)):
        if discrete:
            out[i, 0] = expert_discrete(worlds[i], cars[i], order[i])
        else:
            expert_box(worlds[i], cars[i], order[i], out[i])


class Highway(BatchedEnv):
    """Drive 600 to 900 m of winding multi-lane highway among IDM and MOBIL traffic, within a time budget.

    **Problem** (named in the reset info): 2 to 4 lanes, a limit of 80, 100 or 120 km/h, 8 to 16 vehicles per km and
    lane of which some are lorries, bends up to 1.5 m/s2 at the limit. The ego joins at 40 % of the limit; the budget
    asks for 70 % of it (less beyond 16 vehicles per km and lane), so neither coasting nor keeping that speed is enough.

    **Observation**: ``Box(-1, 1, (54,), float32)``, described entry by entry in :mod:`..sensors`.

    **Action** at 5 Hz: ``"box"`` is pedal (1: 3 m/s2 of throttle, -1: 8 m/s2 of brakes, 0: engine drag) and steering
    (positive to the left, 1: the largest angle at the present speed); ``"discrete"`` is keep, left, right, faster,
    slower: the lane and the target speed (in tenths of the limit) of a tracker that does not watch the traffic.

    **Reward**: see :mod:`..rewards`; at most 1 an episode. **Termination**: route complete or a hard infraction
    (``info["infraction"]``: collision, off_road, wrong_way, blocked, late). **Success**: route complete without either
    that or an offence (``info["offence"]``, the episode's first: outside_lanes, speeding, straddling).

    Args:
        num_envs: number of environments.
        split: "train" or "test".
        render_mode: None or "rgb_array".
        action: "box" or "discrete".
        invalid_action: "raise" refuses a pedal or steering outside [-1, 1]; "clip" clips it, if finite (box alone).
        lanes: lanes of the road, 1 to 6; drawn for each problem if None.
        density: vehicles per km and lane, 0 to 24; drawn if None.
        route_length: in m, at least 300; drawn if None (beyond 900, raise ``max_episode_steps`` as well).
        threads: threads that share the environments of a step; the result does not depend on it.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}
    typed = True
    env_state = ("worlds", "cars", "_order")

    def __init__(
        self,
        num_envs: int,
        *,
        split: Literal["train", "test"] = "train",
        render_mode: Literal["rgb_array"] | None = None,
        action: Action = "box",
        invalid_action: OutOfBounds = "raise",
        lanes: int | None = None,
        density: float | None = None,
        route_length: float | None = None,
        threads: int = 1,
    ) -> None:
        super().__init__(num_envs, render_mode)
        self.split = check_split(split)
        if action not in ("box", "discrete"):
            raise ValueError(unknown("action", action, ("box", "discrete")))
        check_ranges(1, MAX_LANES, lanes=lanes)
        check_ranges(0.0, MAX_DENSITY, density=density)
        check_ranges(MIN_ROUTE, 1e5, route_length=route_length)
        check_ranges(1, 1024, threads=threads)
        self.discrete = action == "discrete"
        self.invalid_action = check_mode(invalid_action)
        if self.discrete and invalid_action == "clip":
            raise ValueError('invalid_action="clip" needs action="box": there is no nearest of five meta-actions')
        self.observation_space = Box(-1.0, 1.0, (SIZE,), np.float32)
        self.action_space = Discrete(len(ACTIONS)) if self.discrete else Box(-1.0, 1.0, (2,), np.float32)
        self._given = (lanes or 0, -1.0 if density is None else float(density), float(route_length or 0.0))
        most = (lanes or LANES[1]) * (DENSITY[1] if density is None else density) * RING / 1000.0
        self.worlds = np.zeros(num_envs, WORLD)
        self.cars = np.zeros((num_envs, int(most + 0.5) + 1), VEHICLE)
        self._order = np.zeros(self.cars.shape, np.int64)
        bounds = np.linspace(0, num_envs, min(threads, num_envs) + 1).astype(int)
        self._parts = [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
        self._start_threads()

    def _start_threads(self) -> None:
        self._pool = ThreadPoolExecutor(len(self._parts)) if len(self._parts) > 1 else None

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: all but the threads."""
        return {name: value for name, value in vars(self).items() if name != "_pool"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """A copy has threads of its own."""
        vars(self).update(kept)
        self._start_threads()

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Draws the problems and settles their traffic."""
        keys = problem_keys(self.split, seeds, episodes)
        begin_worlds(self.worlds, self.cars, self._order, indices, keys, *self._given)

    def check(self, actions: Any) -> npt.NDArray[np.float64]:
        """Returns commands ``[n, 2]``: (pedal, steering), or (index of the meta-action, 0)."""
        return self._check_discrete(actions) if self.discrete else self._check_box(actions)

    def _check_box(self, actions: Any) -> npt.NDArray[np.float64]:
        wanted = "an action is pedal and steering, two numbers in [-1, 1]"
        array = numbers(actions, (self.num_envs, 2), kinds="fiu", wanted=wanted)
        return bounded(array, -1.0, 1.0, wanted=wanted, invalid_action=self.invalid_action).astype(np.float64)

    def _check_discrete(self, actions: Any) -> npt.NDArray[np.float64]:
        wanted = "an action is an integer: " + ", ".join(f"{i} {name}" for i, name in enumerate(ACTIONS))
        array = bounded(
            numbers(actions, (self.num_envs,), kinds="iu", wanted=wanted), 0, len(ACTIONS) - 1, wanted=wanted
        )
        return np.stack([array.astype(np.float64), np.zeros(self.num_envs)], axis=1)

    def advance(self, actions: npt.NDArray[np.float64], active: Bools) -> tuple[Floats, Bools]:
        """Steps the active environments, in threads if asked to."""
        args = (self.worlds, self.cars, self._order, actions, active, self.discrete)
        if self._pool is None:
            step_worlds(*args, 0, self.num_envs)
        else:
            list(self._pool.map(lambda part: step_worlds(*args, *part), self._parts))
        ended = (self.worlds["infraction"] != 0) | (self.worlds["best"] >= self.worlds["length"])
        return self.worlds["reward"].copy(), ended

    def observe(self) -> npt.NDArray[np.float32]:
        """Observations ``[n, 54]``."""
        out = np.empty((self.num_envs, SIZE), np.float32)
        sense_worlds(self.worlds, self.cars, self._order, self.discrete, out)
        return out

    def reset_info(self) -> Info:
        """The problem: ``lanes, limit`` (m/s)``, density, route_length`` (m)``, time_budget`` (s)``, vehicles``."""
        names = {"limit": "limit", "density": "density", "route_length": "length", "time_budget": "budget"}
        columns = {key: self.worlds[field].copy() for key, field in names.items()}
        return {"lanes": self.worlds["lanes"].copy(), "vehicles": self.worlds["vehicles"] - 1, **columns}

    def step_info(self) -> Info:
        """``success, infraction, offence, route_completion`` (so far)``, reward_terms``."""
        return {
            "success": self.worlds["success"] != 0,
            "infraction": np.array(INFRACTIONS)[self.worlds["infraction"]],
            "offence": np.array(OFFENCES)[self.worlds["offence"]],
            "route_completion": self.worlds["best"] / self.worlds["length"],
            "reward_terms": {term: self.worlds[term].copy() for term in TERMS},
        }

    def expert_actions(self) -> Any:
        """The scripted planner of :mod:`..planner`."""
        out = np.zeros((self.num_envs, 2))
        expert_worlds(self.worlds, self.cars, self._order, self.discrete, out)
        return out[:, 0].astype(np.int64) if self.discrete else out.astype(np.float32)

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """A frame ``[240, 800, 3]`` from above, the ego driving to the right."""
        return draw(self.worlds[index], self.cars[index])

    def close(self) -> None:
        """Ends the threads."""
        if self._pool is not None:
            self._pool.shutdown()


class HighwayEnv(SingleEnv):
    """:class:`Highway` as a ``gymnasium.Env``."""

    batched_class = Highway


class HighwayVectorEnv(BatchedVectorEnv):
    """:class:`Highway` as a native ``gymnasium.vector.VectorEnv``."""

    batched_class = Highway
