"""Laps of a race track without resets: what FastRLAP practises in, and how fast a lap can be.

Paper: Stachowicz et al., FastRLAP: A System for Learning High-Speed Driving via Deep RL and Autonomous Practicing
(2023). "The authors' code" is github.com/kylestach/fastrlap-release, whose ``inference_agent.py`` has the reward of the
car, ``task.py`` that of the simulator, and ``state_machine.py`` the recovery.
"""

import math
from collections import deque
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs

from ..envs.driving.town.places import put_on_lane
from ..envs.driving.town.reward import STEP_DT
from ..envs.driving.town.state import NONE
from ..envs.driving.town.vehicle import TYRE_GRIP
from ..envs.driving.vehicle import MAX_BRAKE, MAX_THROTTLE
from .checks import check_numbers, own_reward

Floats = npt.NDArray[np.float64]
Info = dict[str, Any]
FAST = 20.0  # m/s towards the next part of the course that pay 1 a step
SIGHT = 50.0  # m/s that the last entry of observations ends at
STANDING = ("v", "a", "pedal", "steer", "yaw_rate", "still")
"""Numbers of a car that is put back: all 0."""


class LapPractice(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    r"""One track, lap after lap; who leaves it is put back where it was a little before, standing, and goes on.

    The reward is FastRLAP's: the speed towards the next part of the course, here the metres of the route a second, in
    units of 20 m/s, minus ``penalty`` where a recovery is needed. The step that needs one terminates the episode (the
    end of a lap truncates it: driving goes on), and the next reset is the recovery: the car stands in the middle of its
    lane, along it, where it was ``back`` seconds ago, its lap goes on, and ``pause`` seconds are charged to it. The
    authors' car backs out with random steering; ours cannot reverse, so it is put back, and straight: at the edge of
    the road and across it there would be no way on. In their unit, 1 m/s, a recovery costs 20 here, 10 and up to 5 more
    by the shock there, and 100 in their simulator, which also pays 100 for each part of the course reached. After a lap
    the car is at the first metre again, near where the lap ended. The scene's time budget does not count, and a time
    limit below this wrapper (``max_episode_steps`` of ``gymnasium.make``) cuts no lap: it goes on. A reset in the
    middle of a lap, as after a ``TimeLimit`` around this wrapper, begins the lap anew.

    Observations are those of the scene and the own speed / 50 m/s, since the scene's ends at 20 m/s. ``info`` holds the
    ``recoveries`` and ``laps`` so far, and at the end of a lap its ``lap_time`` in s, recoveries and pauses included. A
    reset with a seed begins practice anew, on the track of that seed.

    Args:
        env: ``tiltyard/RaceTrack-v0`` with ``observation="vector"``.
        back: s that a car is put back.
        pause: s that it costs.
        penalty: of a recovery.

    Raises:
        TypeError: a setting that is no number.
        ValueError: another observation, or a setting that is below 0 or not finite.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], *, back: float = 3.0, pause: float = 5.0, penalty: float = 1.0
    ) -> None:
        RecordConstructorArgs.__init__(self, back=back, pause=pause, penalty=penalty)
        super().__init__(env)
        space = env.observation_space
        scene = getattr(getattr(env.unwrapped, "batched", None), "scene", None)
        if not isinstance(space, Box) or len(space.shape) != 1 or scene != "racetrack":
            raise ValueError("laps are practised in tiltyard/RaceTrack-v0 with observation='vector'")
        check_numbers(back=back, pause=pause, penalty=penalty)
        if not all(0 <= setting < math.inf for setting in (back, pause, penalty)):
            raise ValueError(f"back, pause and penalty are finite and at least 0, got {back}, {pause} and {penalty}")
        self.back, self.pause, self.penalty = back, pause, penalty
        self.observation_space = Box(-1.0, 1.0, (space.shape[0] + 1,), np.float32)
        self.recoveries = self.laps = 0
        self._seed: int | None = None
        self._past: deque[Info] = deque(maxlen=1 + math.ceil(back / STEP_DT))
        self._spent, self._done, self._spoilt, self._cut = 0.0, 0.0, False, False

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Goes on: with the next lap, or from where the car is put back."""
        if seed is not None or self._seed is None:
            self._seed = int(self.np_random.integers(2**31)) if seed is None else seed
            self.recoveries = self.laps = 0
            self._spoilt = self._cut = False
        if self._spoilt:
            return self._recover()
        if self._cut:
            self._cut = False
            return self._go_on(self._past[-1])
        observation, info = self.env.reset(seed=self._seed, options=options)
        self._length, self._spent, self._done = float(info["route_length"]), 0.0, 0.0
        self._past.clear()
        self._past.append(self._base.snapshot())
        return self._seen(observation), self._told(info)

    def _recover(self) -> tuple[Any, Info]:
        state = next((past for past in self._past if past["agents"][0]["lane"] != NONE), self._past[0])
        car = state["agents"][0]
        episode = np.array(state["episodes"])  # one's own: what is written into an unpickled np.void is lost
        if car["lane"] != NONE:
            atlas = self._base.batched.library.atlas
            car["d"] = car["turn"] = 0
            put_on_lane(atlas, atlas.lanes[int(car["lane"])], car)
        for name in STANDING:
            car[name] = 0
        episode["clock"] = episode["straddle"] = episode["last_v"] = episode["last_lon"] = 0.0
        self.recoveries += 1
        self._spent += self.pause
        self._spoilt = False
        self._done = 1.0 - float(episode["left"]) / float(episode["length"])
        self._past.clear()
        return self._go_on({**state, "episodes": episode[()]})

    def _go_on(self, state: Info) -> tuple[Any, Info]:
        self.env.reset()  # so that wrappers in between begin to count anew
        observation, info = self._base.restore(state)
        self._past.append(self._base.snapshot())
        return self._seen(observation), self._told(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps, and pays by speed along the course."""
        self._base.batched.episodes["clock"][0] = 0.0  # who is slow may be: there is no time budget here
        observation, paid, terminated, truncated, info = self.env.step(action)
        self._spent += STEP_DT
        done = float(info["route_completion"])
        metres, self._done = (done - self._done) * self._length, done
        bad = terminated and info["infraction"] != ""
        terms = {"speed": metres / (STEP_DT * FAST), "recovery": -self.penalty * bad}
        told = {**self._told(info), "true_reward": own_reward(info, paid), "reward_terms": terms}
        arrived = terminated and not bad
        if arrived:
            self.laps += 1
            told |= {"laps": self.laps, "lap_time": self._spent}
        self._spoilt, self._cut = bad, truncated and not terminated
        if not terminated:
            self._past.append(self._base.snapshot())
        return self._seen(observation), sum(terms.values()), bad, truncated or arrived, told

    @property
    def _base(self) -> Any:
        return self.env.unwrapped

    def _seen(self, observation: Any) -> Any:
        speed = float(self._base.batched.agents[0, 0]["v"]) / SIGHT
        return np.append(observation, np.float32(min(max(speed, -1.0), 1.0)))

    def _told(self, info: Info) -> Info:
        return {**info, "recoveries": self.recoveries, "laps": self.laps}


def course(batched: Any, index: int = 0) -> Floats:
    """The middle of the lane from the agent to the end of its route, ``[n, 2]`` m, of an environment of a vector."""
    atlas, episode = batched.library.atlas, batched.episodes[index]
    car = batched.agents[int(episode["world"]), int(episode["agent"])]
    goal = int(atlas.lanes[atlas.goal_lane[int(car["goal"])]]["road"])
    lane, begin = int(car["lane"]), int(car["point"]) + 1
    parts = [np.array([[car["x"], car["y"]]], np.float64)]
    while True:
        one = atlas.lanes[lane]
        points = atlas.points[begin : int(one["final"]) + 1]
        parts.append(np.stack([points["x"], points["y"]], axis=1).astype(np.float64))
        if int(one["road"]) == goal:
            return np.concatenate(parts)
        lane = int(atlas.next_lane[int(one["next"])])
        begin = int(atlas.lanes[lane]["point"]) + 1


def curvature(line: Floats, step: float = 1.0) -> tuple[Floats, float]:
    """Curvature ``[n]`` 1/m of a line ``[m, 2]`` at even distances, and that distance in m, about ``step``."""
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    keep = np.concatenate([[True], np.diff(s) > 1e-6])
    count = max(int(round(s[-1] / step)), 4)
    at = np.linspace(0.0, s[-1], count + 1)
    x, y = (np.interp(at, s[keep], line[keep, axis]) for axis in (0, 1))
    wide = 3  # m to either side over which directions are taken: corners of the polyline are no bends
    headings = np.unwrap(np.arctan2(np.gradient(y), np.gradient(x)))
    smooth = np.convolve(np.pad(headings, wide, mode="edge"), np.ones(2 * wide + 1) / (2 * wide + 1), mode="valid")
    return np.gradient(smooth, at[1]), float(at[1])


def fastest(
    bends: Floats,
    step: float,
    *,
    start: float = 0.0,
    grip: float = TYRE_GRIP,
    throttle: float = MAX_THROTTLE,
    brake: float = MAX_BRAKE,
    resistance: tuple[float, float] = (0.3, 0.00035),
) -> Floats:
    r"""The fastest speed profile ``[n]`` m/s of a line by the quasi-steady-state method.

    In bends :math:`v \le \sqrt{a_{lat} / |\kappa|}`; then once forward, where a car speeds up by at most
    ``throttle`` less what resists it (:math:`c_0 + c_2 v^2`), and once backward, where it slows down by at most
    ``brake`` and that. The numbers are those of the simulated car, which has no circle of friction.

    Args:
        bends: curvature ``[n]``, 1/m, at even distances.
        step: between them, m.
        start: m/s at the first.
        grip: largest lateral acceleration, m/s2.
        throttle: m/s2.
        brake: m/s2.
        resistance: c0 in m/s2 and c2 in 1/m.
    """
    v = np.sqrt(grip / np.maximum(np.abs(bends), 1e-6))
    v[0] = min(v[0], start)
    steady, rising = resistance
    for i in range(len(v) - 1):
        gained = max(throttle - steady - rising * v[i] ** 2, 0.0)
        v[i + 1] = min(v[i + 1], math.sqrt(v[i] ** 2 + 2.0 * gained * step))
    for i in range(len(v) - 1, 0, -1):
        lost = brake + steady + rising * v[i] ** 2
        v[i - 1] = min(v[i - 1], math.sqrt(v[i] ** 2 + 2.0 * lost * step))
    return v


def seconds(speeds: Floats, step: float) -> float:
    """The time of a profile: each piece at the mean of its ends, which is exact where the acceleration is constant."""
    return float(np.sum(2.0 * step / np.maximum(speeds[1:] + speeds[:-1], 1e-6)))


def best_time(batched: Any, index: int = 0) -> float:
    """The shortest time, s, in which the car model can follow the middle of its lane to the end of the route.

    A car that uses the width of the road can be faster: this is a mark, not a bound of all lines.
    """
    bends, step = curvature(course(batched, index))
    episode = batched.episodes[index]
    car = batched.agents[int(episode["world"]), int(episode["agent"])]
    count = int(float(episode["left"]) / step) + 1
    return seconds(fastest(bends[:count], step, start=float(car["v"])), step)
