"""``tiltyard/Carla-v0``: drive a route in CARLA with the observations, actions, rewards and scores of our own towns.

    env = gymnasium.make("tiltyard/Carla-v0", port=2000)                            # random routes of the map there
    env = gymnasium.make("tiltyard/Carla-v0", routes="routes_devtest.xml", rules="leaderboard")
    env.unwrapped.log().to_json()                                                   # for tiltyard.envs.driving.metrics

A server that dies ends the episode: ``truncated``, ``info["lost"]``, and a log that ends as ``"lost"``. The next reset
connects anew and, unless it names a seed, restarts the problem that was lost: ``info["restarts"]`` counts that.
"""

import weakref
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from .... import need, unknown
from ...actions import OutOfBounds, bounded, check_mode, numbers
from ...core import BatchedEnv, Bools, Floats, Info, Ints, SingleEnv
from ...seeding import check_split, problem_rng
from ..metrics.log import EpisodeLog
from ..metrics.scores import SCORES, score
from .errors import ServerLost
from .judging import Rules
from .routes import choose, read_routes
from .server import Address, Server
from .session import Problem, Session
from .vocabulary import SIZE, TERMS

WANTED = "an action is pedal and steering, two numbers in [-1, 1]"
RULES = ("strict", "leaderboard")


class BatchedCarla(BatchedEnv):
    """A CARLA server, driven at 5 Hz.

    **Problem**: a way of ``route_length`` metres from a drawn place with drawn turns, or a route of a file; traffic.

    **Observation**: ``Box(-1, 1, (233,), float32)``, described in :mod:`.vocabulary`. **Action**: pedal (1: full
    throttle, -1: full brakes) and steering (positive to the left, 1: the largest angle at the present speed).

    **Reward**, **termination** and **success**: :mod:`.judging`.

    Args:
        num_envs: 1: a server has one world.
        split: which stream of problems, "train" or "test"; of a file of routes both draw from all of it.
        render_mode: None; the server has windows and cameras of its own.
        invalid_action: "raise" refuses numbers outside [-1, 1]; "clip" clips them, if finite.
        town: the map to load; None: the one that is there, or that a route names.
        routes: a route file of the CARLA leaderboard.
        route: the id of one of its routes; None: drawn for each problem.
        route_length: m of drawn ways, 50 to 5000.
        vehicles: others that drive, as many as find a place, 0 to 200.
        pedestrians: 0 to 100.
        rules: "strict" or "leaderboard".
        reload: whether the map is loaded anew for each problem.
        host: of the server.
        port: of the server.
        traffic_port: of its traffic manager.
        timeout: s that one call may take.
        patience: s for which a server that does not answer is tried again.
        client: what speaks for the package ``carla``; None: the package.

    Raises:
        MissingExtra: the package ``carla`` is not installed.
        NoServer: at reset, if no server answers; the sentence says how to start one.
    """

    metadata = {"render_modes": [], "render_fps": 5}
    typed = True

    def __init__(
        self,
        num_envs: int,
        *,
        split: Literal["train", "test"] = "train",
        render_mode: None = None,
        invalid_action: OutOfBounds = "raise",
        town: str | None = None,
        routes: str | Path | None = None,
        route: str | None = None,
        route_length: float = 300.0,
        vehicles: int = 30,
        pedestrians: int = 0,
        rules: Rules = "strict",
        reload: bool = False,
        host: str = "127.0.0.1",
        port: int = 2000,
        traffic_port: int = 8000,
        timeout: float = 20.0,
        patience: float = 60.0,
        client: ModuleType | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        if num_envs != 1:
            raise ValueError(f"a CARLA server has one world: make {num_envs} environments, each with a port of its own")
        self.split, self.invalid_action = check_split(split), check_mode(invalid_action)
        if rules not in RULES:
            raise ValueError(unknown("rules", rules, RULES))
        for name, value, low, high in (
            ("route_length", route_length, 50, 5000),
            ("vehicles", vehicles, 0, 200),
            ("pedestrians", pedestrians, 0, 100),
        ):
            if not low <= value <= high:
                raise ValueError(f"{name} must be between {low} and {high}, got {value!r}")
        self.routes = read_routes(routes) if routes is not None else ()
        if route is not None:
            self.routes = (choose(self.routes, route),)
        self.town, self.route_length, self.rules, self.reload = town, float(route_length), rules, reload
        self.crowd = (vehicles, pedestrians)
        self.carla = client if client is not None else need("carla", extra="carla")
        self.server = Server(self.carla, Address(host, port, traffic_port, timeout, patience))
        self._finalizer = weakref.finalize(self, self.server.close)
        self.observation_space = Box(-1.0, 1.0, (SIZE,), np.float32)
        self.action_space = Box(-1.0, 1.0, (2,), np.float32)
        self.session: Session | None = None
        self._seen = np.zeros((1, SIZE), np.float32)
        self._lost, self._why = False, ""
        self._seed, self._episode, self._behind, self._restarts = -1, -1, 0, 0

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Puts the ego before its problem; connects if need be, and once more if the server dies meanwhile.

        Raises:
            NoServer: nothing answers.
            ServerLost: it died twice.
            Unreachable: a route of the file leads nowhere.
        """
        seed, episode = int(seeds[0]), int(episodes[0])
        again = self._lost and seed == self._seed and episode == self._episode + 1
        self._behind = 0 if seed != self._seed or episode == 0 else self._behind + again
        self._restarts = self._restarts + 1 if again else 0
        self._seed, self._episode = seed, episode
        for attempt in range(2):
            try:
                self._open(problem_rng(self.split, seed, episode - self._behind))
                break
            except ServerLost:
                self.server.drop()
                if attempt == 1:
                    raise
        self._lost, self._why = False, ""

    def _open(self, rng: np.random.Generator) -> None:
        if not self.server.connected:
            self.server.connect()
        given = self.routes[int(rng.integers(len(self.routes)))] if self.routes else None
        town = self.town or (given.town if given is not None else "")
        problem = Problem(given, self.route_length, *self.crowd, rules=self.rules)
        self.server.open(town, int(rng.integers(2**31)), reload=self.reload)
        self.session = Session(self.server, problem, rng)
        self._seen[0] = self.session.observe()

    def check(self, actions: Any) -> npt.NDArray[np.float64]:
        """Returns ``[1, 2]``."""
        array = numbers(actions, (1, 2), kinds="fiu", wanted=WANTED)
        return bounded(array, -1.0, 1.0, wanted=WANTED, invalid_action=self.invalid_action).astype(np.float64)

    def advance(self, actions: npt.NDArray[np.float64], active: Bools) -> tuple[Floats, Bools]:
        """Drives for 0.2 s; a server that is lost breaks the episode off, without reward."""
        session = self._running()
        if not active[0]:
            return np.zeros(1), np.zeros(1, np.bool_)
        try:
            session.step(float(actions[0, 0]), float(actions[0, 1]))
            self._seen[0] = session.observe()
        except ServerLost as error:
            self._lost, self._why = True, str(error)
            self.server.drop()
            return np.zeros(1), np.zeros(1, np.bool_)
        return np.array([session.judge.reward]), np.array([session.judge.ended])

    def _running(self) -> Session:
        if self.session is None:
            raise ValueError("call reset() first")
        return self.session

    def broken(self) -> Bools:
        """Whether the server was lost."""
        return np.array([self._lost])

    def observe(self) -> npt.NDArray[np.float32]:
        """``[1, 233]``; of an episode that was lost, as last seen."""
        return self._seen.copy()

    def reset_info(self) -> Info:
        """The problem: ``map, route, route_length`` (m)``, time_budget`` (s)``, vehicles, pedestrians, restarts``."""
        names = self._running().problem_names()
        return {name: [value] for name, value in {**names, "restarts": self._restarts}.items()}

    def step_info(self) -> Info:
        """As our towns', and ``lost`` with the reason, and at the end ``scores`` by name."""
        session = self._running()
        judge = session.judge
        over = judge.ended and not self._lost
        marks = {name: np.array([score(name, self.log())["score"]]) for name in SCORES} if over else {}
        terms = {name: 0.0 if self._lost else judge.terms[name] for name in TERMS}
        return {
            "success": np.array([judge.success and not self._lost]),
            "infraction": np.array([judge.infraction]),
            "offence": np.array([judge.offence]),
            "route_completion": np.array([judge.best / judge.length]),
            "reward_terms": {name: np.array([value]) for name, value in terms.items()},
            **({"scores": marks} if over else {}),
            "lost": np.array([self._lost]),
            "lost_because": [self._why],
        }

    def log(self) -> EpisodeLog:
        """The episode so far, for :mod:`tiltyard.envs.driving.metrics`."""
        session = self._running()
        return session.recorder.log("lost" if self._lost else session.judge.ended_as)

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """The scripted driver of :mod:`.expert`, ``[1, 2]``."""
        return np.array([self._running().expert()], np.float32)

    def close(self) -> None:
        """Removes what was put into the world, and gives the server back to its own time."""
        self._finalizer()


class CarlaEnv(SingleEnv):
    """One server as a ``gymnasium.Env``; keywords of :class:`BatchedCarla`."""

    batched_class = BatchedCarla

    def log(self) -> EpisodeLog:
        """The episode so far, for :mod:`tiltyard.envs.driving.metrics`."""
        batched = self.batched
        assert isinstance(batched, BatchedCarla)
        return batched.log()
