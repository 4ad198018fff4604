"""The reward of a policy step, the words for what went wrong, and when an episode ends.

``reward = route_completion * speed * ttc * gap * comfort * lane * courtesy + penalty``, with the factors of our own
driving: :mod:`..rewards` and :func:`..metrics.harm.courtesy`. See there for papers.

With ``rules="strict"`` an episode ends with its first infraction, as in our towns. With ``"leaderboard"`` it goes on
after collisions, signals and signs, and ends where the CARLA leaderboard ends a route: at its end, 30 m away from it,
after 180 s of standing, or out of time.
"""

from dataclasses import dataclass, field
from math import isnan
from typing import Literal

from ..metrics.harm import SAFE, courtesy, imposed_braking
from ..rewards import LEAST_TTC, STRADDLE_TIME, comfort_factor, gap_factor, speed_factor
from .scene import Scene
from .vocabulary import TERMS

Rules = Literal["strict", "leaderboard"]
STEP_DT = 0.2  # s
PENALTY = 0.1
ASTRAY = 30.0  # m from the way
STILL_SPEED = 0.1  # m/s
PATIENCE = {"strict": 60.0, "leaderboard": 180.0}  # s of standing
ENDING = {
    "strict": ("collision", "struck", "red_light", "stop_sign", "off_road", "wrong_way"),
    "leaderboard": (),
}
ALWAYS = ("off_route", "blocked", "late")
OFFENSIVE = {"red_light", "stop_sign", "collision", "struck", "off_road", "wrong_way"}


@dataclass
class Judge:
    """How an episode stands.

    Attributes:
        rules: see the module.
        length: m of the route.
        budget: s allowed for it.
    """

    rules: Rules
    length: float
    budget: float
    best: float = 0.0
    clock: float = 0.0
    straddle: float = 0.0
    still: float = 0.0
    infraction: str = ""
    offence: str = ""
    complete: bool = False
    unlawful: bool = False
    terms: dict[str, float] = field(default_factory=lambda: dict.fromkeys(TERMS, 0.0))
    reward: float = 0.0
    _last: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def ended(self) -> bool:
        """Whether the episode is over."""
        return self.complete or bool(self.infraction)

    @property
    def success(self) -> bool:
        """The route is complete, without an infraction and without an offence."""
        return self.complete and not (self.unlawful or self.infraction or self.offence)

    @property
    def ended_as(self) -> str:
        """The word of :data:`..metrics.log.ENDS`."""
        if self.complete:
            return "completed"
        names = {"off_route": "deviation", "late": "timeout", "struck": "collision"}
        return names.get(self.infraction, self.infraction)

    def step(self, scene: Scene, happened: list[str], follower: tuple[float, float], ttc: float) -> None:
        """Judges the policy step that just ended.

        Args:
            scene: now.
            happened: infractions in this step, of :data:`.vocabulary.INFRACTIONS`.
            follower: its acceleration, and that without the ego; NaN: no follower.
            ttc: time to collision, s.
        """
        self._keep_time(scene)
        before, self.best = self.best, min(max(self.best, scene.s), self.length)
        imposed = 0.0 if isnan(follower[0]) else imposed_braking(*follower)
        _, gap = scene.leader()
        self.terms = {
            "route_completion": (self.best - before) / self.length,
            "speed": float(speed_factor(abs(scene.ego.v), scene.limit)),
            "ttc": 0.5 if ttc < LEAST_TTC else 1.0,
            "gap": float(gap_factor(gap, scene.ego.v)),
            "comfort": self._comfort(scene),
            "lane": 0.0 if scene.place.outside > 0.1 else 0.5 if self.straddle > STRADDLE_TIME else 1.0,
            "courtesy": courtesy(imposed),
            "penalty": 0.0,
        }
        self.complete = self.best >= self.length - 1e-6
        self._find_infraction(scene, happened)
        self.offence = self.offence or self._offence(imposed)
        self.terms["penalty"] = -PENALTY if self.infraction not in ("", "struck") else 0.0
        quality = 1.0
        for name in TERMS[1:-1]:
            quality *= self.terms[name]
        self.reward = self.terms["route_completion"] * quality + self.terms["penalty"]

    def _keep_time(self, scene: Scene) -> None:
        self.clock += STEP_DT
        self.still = self.still + STEP_DT if abs(scene.ego.v) < STILL_SPEED else 0.0
        self.straddle = max(0.0, self.straddle + (STEP_DT if scene.place.over > 0.0 else -STEP_DT))

    def _find_infraction(self, scene: Scene, happened: list[str]) -> None:
        self.unlawful = self.unlawful or bool(OFFENSIVE & set(happened))
        ending = [one for one in happened if one in ENDING[self.rules]]
        if abs(scene.aside) > ASTRAY:
            ending.append("off_route")
        if self.still > PATIENCE[self.rules]:
            ending.append("blocked")
        if self.clock > self.budget and not self.complete:
            ending.append("late")
        self.infraction = ending[0] if ending else ""

    def _offence(self, imposed: float) -> str:
        if imposed > SAFE:
            return "imposed_braking"
        if self.terms["lane"] == 0.0:
            return "outside_lanes"
        if self.terms["speed"] < 0.5:
            return "speeding"
        return "straddling" if self.terms["lane"] < 1.0 else ""

    def _comfort(self, scene: Scene) -> float:
        v, last = scene.ego.v, self._last
        lon, lat, yaw = (v - last[0]) / STEP_DT, v * scene.ego.yaw_rate, scene.ego.yaw_rate
        jerks = ((lon - last[1]) / STEP_DT, (lat - last[2]) / STEP_DT)
        self._last = (v, lon, lat, yaw)
        return float(comfort_factor(lon, lat, *jerks, yaw, (yaw - last[3]) / STEP_DT))
