"""Drive a route among traffic on a lane graph: the one implementation of all scenes of :mod:`.scenes`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ...actions import OutOfBounds, check_mode
from ...buffers import Buffers
from ...columns import names_of
from ...core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ...seeding import check_split, problem_keys
from ..metrics.log import EpisodeLog
from ..town import account, observe, raster, session
from ..town.episode import ADVICE, EPISODE, FACTORS, INFRACTIONS, OFFENCES, TERMS, WEIGHTS
from ..town.frame import Dashboard, draw
from ..town.recording import Recorder, tape
from ..town.results import results
from ..town.staging import fired, staged
from ..town.state import allocate
from .checks import check_choices, check_flags, check_ranges
from .commands import CONTROLLERS, Action, action_space, commands_of
from .library import Library, library
from .scenes import SCENES
from .sums import sum_of
from .threads import Parts
from .triggers import TRIGGERS, HeldOut, chosen

Observation = Literal["vector", "bev"]
Reward = Literal["carl", "sum"]
Imposed = Literal["cut-ins", "all"]
INFRACTION_NAMES, OFFENCE_NAMES, TRIGGER_NAMES = map(np.array, (INFRACTIONS, OFFENCES, ("", *TRIGGERS)))
MAPS, RASTER = 10, (raster.PIXELS, raster.PIXELS, len(raster.CHANNELS))


class Driving(BatchedEnv):
    """Drive a route through a scene among rule-following traffic, within a time budget.

    **Problem** (named in the reset info): a map of the scene, begin and end of a route, traffic, pedestrians, the state
    of the signals. Maps of the test split are never among those of the train split.

    **Observation**: ``"vector"`` is ``Box(-1, 1, (233,), float32)``, described entry by entry in :mod:`..town.observe`;
    ``"bev"`` is ``Box(0, 255, (64, 64, 8), uint8)``, described in :mod:`..town.raster`.

    **Action** at 5 Hz: ``"box"`` is pedal (1: 3 m/s2 of throttle, -1: 8 m/s2 of brakes, 0: engine drag) and steering
    (positive to the left, 1: the largest angle at the present speed); ``"discrete"`` is keep, left, right, faster,
    slower: the lane and the target speed of a tracker that follows the route and watches neither traffic nor signals;
    ``"waypoints"`` is a point ahead (x from 0 to 40 m, y from -10 to 10 m to the left) and the speed there (0 to 40
    m/s), which a tracker heads for.

    **Reward**: see :mod:`..town.reward`; at most 1 an episode. **Termination**: route complete, or an infraction
    (``info["infraction"]``). **Success**: route complete without an infraction and without an offence
    (``info["offence"]``, the episode's first).

    Args:
        num_envs: number of environments.
        scene: of :data:`.scenes.SCENES`.
        split: "train" or "test".
        render_mode: None or "rgb_array".
        action: "box", "discrete" or "waypoints".
        observation: "vector" or "bev".
        invalid_action: "raise" refuses numbers outside [-1, 1]; "clip" clips them, if finite (box and waypoints).
        maps: training maps, 1 to 1000; the test split has 20 of its own.
        density: vehicles per km of lane, 0 to 40; drawn for each problem if None.
        pedestrians: 0 to 32; drawn if None.
        careless: share of drivers who ignore a rule now and then.
        noise: standard deviation of what is observed of others, as a share of distance and speed.
        occlusion: whether vehicles hide who is behind them.
        trigger: a situation of :data:`.triggers.TRIGGERS` on the way; or several, or "any", of which one that fits is
            drawn for each problem; None: none.
        held_out: what the test split has of its own: "maps", or with "triggers" also the situations: the train split
            has those of its own, and the test split the others.
        courtesy: weight of the reward's factor for braking imposed on others, 0 to 1; 0 leaves it out.
        imposed: what braking of others that factor and the offence of the same name count: "cut-ins" of the agent, or
            "all" that its followers would not have had to do were it not there, :func:`..town.account.follower`.
        parked: cars that stand along the streets, per km of lane, 0 to 40; fewer where there is no place.
        jaywalkers: people who cross streets away from crossings, per km of lane, likewise.
        threads: threads that share the environments of a step; the result does not depend on it.
        training_reward: "carl", or "sum": the same terms added up, :func:`sum_of`. The test split pays "carl" anyway,
            so that scores compare.
        record: whether every state is kept, for :meth:`log` and the scores that need it; slower.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}
    env_state = (
        *("worlds", "agents", "episodes", "advice", "weights"),
        *("_routes", "_events", "_keys", "_order", "_crossings", "_scripts", "_vehicles"),
    )
    typed = fresh_infos = True
    last_frames: npt.NDArray[Any] | None = None  # rasters just before the last problems began, where they are kept

    def __init__(
        self,
        num_envs: int,
        *,
        scene: str = "town",
        split: Literal["train", "test"] = "train",
        render_mode: Literal["rgb_array"] | None = None,
        action: Action = "box",
        observation: Observation = "vector",
        invalid_action: OutOfBounds = "raise",
        maps: int = MAPS,
        density: float | None = None,
        pedestrians: int | None = None,
        careless: float = 0.0,
        noise: float = 0.0,
        occlusion: bool = False,
        trigger: str | Sequence[str] | None = None,
        held_out: HeldOut = "maps",
        courtesy: float = 1.0,
        imposed: Imposed = "cut-ins",
        parked: float = 0.0,
        jaywalkers: float = 0.0,
        threads: int = 1,
        training_reward: Reward = "carl",
        record: bool = False,
    ) -> None:
        super().__init__(num_envs, render_mode)
        self.split = check_split(split)
        check_choices(
            scene=(scene, tuple(SCENES)),
            action=(action, tuple(CONTROLLERS)),
            observation=(observation, ("vector", "bev")),
            training_reward=(training_reward, ("carl", "sum")),
            held_out=(held_out, ("maps", "triggers")),
            imposed=(imposed, ("cut-ins", "all")),
        )
        check_ranges(0.0, 40.0, density=density, parked=parked, jaywalkers=jaywalkers)
        check_ranges(0, 32, pedestrians=pedestrians)
        check_ranges(0.0, 1.0, careless=careless, noise=noise, courtesy=courtesy)
        check_ranges(1, 1000, maps=maps)
        check_ranges(1, 1024, threads=threads)
        check_flags(occlusion=occlusion, record=record)
        self.invalid_action = check_mode(invalid_action)
        if action == "discrete" and invalid_action == "clip":
            raise ValueError('invalid_action="clip" needs action="box" or "waypoints": there is no nearest manoeuvre')
        self.scene, self.action, self.observation = scene, action, observation
        self.training_reward, self._courtesy = training_reward, float(courtesy)
        triggers = chosen(trigger, held_out, self.split)
        if triggers and self.policies > 1:
            raise ValueError("triggers watch one agent a world: agents must be 1")
        self.library: Library = library(scene, self.split, maps, triggers)
        self._options = session.Options(
            density=-1.0 if density is None else float(density),
            people=-1 if pedestrians is None else int(pedestrians),
            careless=float(careless),
            noise=float(noise),
            occlusion=bool(occlusion),
            controller=CONTROLLERS[action],
            policies=self.policies,
            parked=float(parked),
            jaywalkers=float(jaywalkers),
            cut_ins=imposed == "cut-ins",
        )
        self._parts, self._buffers = Parts(threads, self.world_count), Buffers()
        self._allocate()
        self._recorder = Recorder(self.batch, self.episodes, self.policies) if record else None
        self._tape = self._recorder.tape if self._recorder else tape(0, 0, 0)

    @property
    def policies(self) -> int:
        """Agents of each world that are driven by policies: one."""
        return 1

    @property
    def world_count(self) -> int:
        """Worlds."""
        return self.num_envs // self.policies

    def _allocate(self) -> None:
        """The spaces and the arrays of the batch."""
        options = self._options
        kerbside = options.parked, options.jaywalkers
        size = self.library.most(options.density, options.people, self.policies, kerbside)
        self.batch = allocate(self.world_count, size, crossings=self.library.crossings, scripts=self.library.actors)
        self.worlds, self.agents = self.batch.worlds, self.batch.agents
        self._routes, self._events, self._keys = self.batch.routes, self.batch.events, self.batch.keys
        self._order, self._crossings = self.batch.order, self.batch.crossings
        self._scripts = self.batch.scripts
        self._vehicles = np.zeros(self.world_count, np.int64)
        self._slots = np.arange(self.num_envs)
        self._world_of = self._slots // self.policies
        self._nothing = np.empty((0, observe.SIZE), np.float32)
        self._results = results(self.num_envs, self._nothing)
        for array in self._results:
            array.fill(0)
        self._stale, self._names = np.ones(self.num_envs, np.bool_), np.array(self.library.names)
        self.episodes, self.advice = np.zeros(self.num_envs, EPISODE), np.zeros(self.num_envs, ADVICE)
        self.weights = np.ones((self.num_envs, WEIGHTS))
        self.weights[:, FACTORS.index("courtesy")] = self._courtesy
        if self.observation == "bev":
            self.observation_space: Any = Box(0, 255, RASTER, np.uint8)
        else:
            self.observation_space = Box(-1.0, 1.0, (observe.SIZE,), np.float32)
        self.action_space: Any = action_space(self.action)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Draws the problems and lets their traffic settle."""
        if self.last_frames is not None and self.episodes["length"].all():
            self.last_frames = self.view("bev")
        self._begin_worlds(indices, problem_keys(self.split, seeds, episodes))
        self._note_begun(indices)

    def _begin_worlds(self, worlds: Ints, keys: npt.NDArray[np.uint64]) -> None:
        arguments = (self.library.atlas, self.library.places, self.batch, self.episodes, worlds, keys, self._options)
        self._parts.run(session.begin_worlds, *arguments, count=len(worlds))

    def _note_begun(self, indices: Ints) -> None:
        worlds = self._world_of[indices]
        self._stale[indices] = True
        self._vehicles[worlds] = session.count_vehicles(self.agents, worlds)
        if self._recorder is not None:
            self._recorder.begin(self.library.atlas, indices)

    def check(self, actions: Any) -> npt.NDArray[np.float32]:
        """Returns commands ``[n, 3]`` float32."""
        return commands_of(self.action, actions, self.num_envs, self.invalid_action)

    def advance(self, actions: npt.NDArray[np.float32], active: Bools) -> tuple[Floats, Bools]:
        """Steps the active environments, in threads if asked to."""
        arguments = (self.library.atlas, self.batch, self.episodes, self.weights, actions, active, self._options)
        alone = self.policies == 1 and self.observation == "vector"  # what others do later in the step, it does not see
        self._results = found = results(self.num_envs, self._room(self.num_envs) if alone else self._nothing)
        self._stale[:] = not alone
        self._parts.run(session.step_worlds, *arguments, self._tape, found)
        if self._recorder is not None:
            self._recorder.keep(active)
        summed = self.training_reward == "sum" and self.split == "train"
        return sum_of(self.terms) if summed else found.outcomes[-1], found.over

    @property
    def terms(self) -> dict[str, Floats]:
        """The named terms of the last rewards, each ``[n]``."""
        return dict(zip(TERMS, self._results.outcomes, strict=False))

    def _room(self, slots: int) -> npt.NDArray[Any]:
        """An array for the observations of so many slots."""
        return self._buffers.empty((slots, *self.observation_space.shape), self.observation_space.dtype)

    def observe(self) -> npt.NDArray[Any]:
        """Observations ``[n, 233]``, or ``[n, 64, 64, 8]``; those that the last step has made are handed out once."""
        if self._stale.all():
            return self.observe_at(self._slots)
        out, stale = self._results.seen, np.flatnonzero(self._stale)
        if len(stale):
            out[stale] = self.observe_at(stale)
        self._stale[:] = True
        return out

    def observe_at(self, indices: Ints) -> npt.NDArray[Any]:
        """Observations of some slots, ``[k, 233]``, or ``[k, 64, 64, 8]``."""
        if not self._stale[indices].any():
            return self._results.seen[indices]
        out = self._room(len(indices))
        self._look(self.observation, indices, out)
        return out

    def view(self, observation: Observation) -> npt.NDArray[Any]:
        """What agents would see if they observed in another way: ``[n, 233]``, or rasters ``[n, 64, 64, 8]``."""
        if observation == self.observation:
            return self.observe()
        bev = observation == "bev"
        out = np.empty((self.num_envs, *(RASTER if bev else (observe.SIZE,))), np.uint8 if bev else np.float32)
        self._look(observation, self._slots, out)
        return out

    def _look(self, observation: Observation, slots: Ints, out: npt.NDArray[Any]) -> None:
        look: Any = session.rasterise_slots if observation == "bev" else session.observe_slots
        further = self.library.ground if observation == "bev" else self.weights
        arguments = (self.library.atlas, self.batch, self.episodes, further)
        few = 32 if observation == "bev" else 512  # take as long as to wake a thread, a tenth of a millisecond
        self._parts.run(look, *arguments, self._options, slots, out, count=len(slots), few=few)

    def reset_info(self) -> Info:
        """The problem.

        ``map, route_length`` (m)``, limit`` (m/s, the highest)``, time_budget`` (s)``, vehicles, trigger`` ("": none).
        """
        names = {"route_length": "length", "limit": "limit", "time_budget": "budget"}
        return {
            "map": self._names[self.worlds["map"]].repeat(self.policies),
            "vehicles": self._vehicles.repeat(self.policies),
            "trigger": names_of(TRIGGER_NAMES, staged(self.batch.scripts) + 1).repeat(self.policies),
            **{key: self.episodes[field].copy() for key, field in names.items()},
        }

    @property
    def _task(self) -> list[Any]:
        """What tells whether a state is of the same maps and commands, as plain data."""
        scene, split, maps, triggers = self.library.made_by
        return [scene, split, maps, list(triggers), self.action]

    def snapshot(self, index: int) -> dict[str, Any]:
        """All of ``index`` that decides its coming steps, and which maps it is on."""
        return {**super().snapshot(index), "task": self._task}

    def restore(self, index: int, state: Mapping[str, Any]) -> None:
        """Puts an environment where :meth:`snapshot` saw one.

        Raises:
            ValueError: a state of another task, such as one on other maps; nothing has changed.
        """
        if state.get("task") != self._task:
            raise ValueError(
                f"this is no state of {self._task}: restore it in an environment of these maps and actions"
            )
        super().restore(index, {name: column for name, column in state.items() if name != "task"})
        self._stale[index] = True

    def _need_env_state(self) -> None:
        if self._recorder is not None:
            raise TypeError("what is recorded cannot be put back: snapshots need record=False")
        super()._need_env_state()

    def step_info(self) -> Info:
        """``success, infraction, offence, route_completion, scores`` (so far)``, trigger_fired, reward_terms``.

        ``scores`` are :data:`..town.account.SCORES`; with ``record=True`` they have also those of
        :func:`..metrics.scores.summary` where an episode has just ended (elsewhere NaN).
        """
        totals, ends, scores = self._results.totals, self._results.ends, account.SCORES
        return {
            "success": ends[2] != 0,
            "infraction": names_of(INFRACTION_NAMES, ends[0]),
            "offence": names_of(OFFENCE_NAMES, ends[1]),
            "route_completion": totals[-1],
            "scores": {**self._log_scores(), **dict(zip(scores, totals, strict=False))},
            "trigger_fired": fired(self.batch.scripts).repeat(self.policies),
            "reward_terms": self.terms,
        }

    def _log_scores(self) -> Info:
        if self._recorder is None:
            return {}
        from ..metrics.scores import summary  # late: it takes SciPy

        columns: Info = {}
        ended = (self.episodes["infraction"] != 0) | (self.episodes["left"] <= 0.0)
        for index in np.flatnonzero(ended):
            for name, value in summary([self.log(int(index))]).items():
                columns.setdefault(name, np.full(self.num_envs, np.nan))[index] = value
        return columns

    def log(self, index: int = 0) -> EpisodeLog:
        """The log of the episode of an environment so far, for :mod:`..metrics`.

        Raises:
            ValueError: made without ``record=True``, or no step has been taken yet.
        """
        if self._recorder is None:
            raise ValueError("nothing is recorded: make the environment with record=True")
        number = int(self.worlds[self.episodes[index]["world"]]["map"])
        return self._recorder.log(index, {"scene": self.scene, "split": self.split, "map": self.library.names[number]})

    def expert_actions(self) -> Any:
        """The rule-following driver, through the same actions: :mod:`..town.expert`."""
        out = np.zeros((self.num_envs, 3), np.float32)
        arguments = (self.library.atlas, self.batch, self.episodes, self.advice, self._options)
        self._parts.run(session.expert_worlds, *arguments, out)
        return out[:, 0].astype(np.int64) if self.action == "discrete" else out[:, : self.action_space.shape[0]]

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """A frame ``[520, 800, 3]`` from above, north up, the ego orange and its route before it."""
        episode = self.episodes[index]
        world, me = int(episode["world"]), int(episode["agent"])
        agents = self.agents[world, : int(self.worlds[world]["agents"])]
        number = int(self.worlds[world]["map"])
        return draw(
            self.library.paints[number],
            agents,
            me,
            route=session.way(self.library.atlas, self._routes[world, me], agents[me]),
            colours=session.colours(self.library.atlas, self.worlds[world]),
            dashboard=Dashboard.of(episode, agents[me], self.library.atlas.lanes),
            policies=np.flatnonzero(np.isin(agents["controller"], tuple(CONTROLLERS.values()))).tolist(),
        )

    def close(self) -> None:
        """Ends the threads."""
        self._parts.close()


class DrivingEnv(SingleEnv):
    """:class:`Driving` as a ``gymnasium.Env``."""

    batched_class = Driving
    batched: Driving

    @property
    def log(self) -> EpisodeLog:
        """The log of the episode so far, see :meth:`Driving.log`."""
        return self.batched.log()


class DrivingVectorEnv(BatchedVectorEnv):
    """:class:`Driving` as a native ``gymnasium.vector.VectorEnv``."""

    batched_class = Driving
