"""MuJoCo tasks as environments: one block of states, stepped by a persistent pool of threads, bit-equal to ``mj_step``.

Why not ``mujoco.rollout`` (looked at again in MuJoCo 3.11): it takes warm-start accelerations but does not give them
back (its outputs are ``mjSTATE_FULLPHYSICS``, which leaves ``qacc_warmstart`` out, and sensors, none of which measures
it; and one ``MjData`` serves many trajectories), so a task that pauses after each action for the next one loses them,
and its trajectories leave Gymnasium's after a few steps. Here an environment is a row of ``mjSTATE_INTEGRATION``,
everything that decides the next step, and a thread carries blocks of environments in and out of its own ``MjData``
around ``mj_step``, in :mod:`.native` without the interpreter. What a task needs of the ``MjData`` besides, contact
forces say, that thread reads before it takes the next environment.
"""

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import gymnasium
import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.utils import seeding

from ... import unknown
from ..actions import OutOfBounds, bounded, check_mode, numbers
from ..core import BatchedEnv, Bools, Floats, Info, Ints
from ..seeding import check_split, problem_rng
from .native import STATE, Carrier, mark_diverged, safe, warnings_of
from .physics import scale_physics
from .render import View, check_view, open_view

HUGE = 1e10  # MuJoCo's own limit (mjMAXVAL): beyond it a simulation counts as unstable
TOLERANCE = 1e-6  # float32 rounding of an agent that clips to the space
ENVS_PER_THREAD = 4  # fewer are not worth waking another thread for
BLOCKS_PER_THREAD = 8  # small blocks even out environments that take longer, each costs a turn at the interpreter lock
IN_MEMORY = ("_data", "_pool", "_carriers", "_rows", "_view", "_picture")
"""What environments have of threads, of MuJoCo and of windows: made anew for a copy."""


class Window(NamedTuple):
    """Where a view lies in the block of states."""

    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]


def model_path(xml_file: str | Path) -> Path:
    """The path of a model: a file of Gymnasium's MuJoCo tasks by name, else a path starting with ``/``, ``.`` or ``~``.

    Raises:
        FileNotFoundError: when there is no such file.
    """
    if isinstance(xml_file, Path) or str(xml_file).startswith(("/", ".", "~")):
        path = Path(xml_file).expanduser()
        if not path.is_file():
            raise FileNotFoundError(f"xml_file {str(xml_file)!r} does not exist: give the path of a MuJoCo model")
        return path
    assets = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    names = [file.name for file in assets.glob("*.xml")]
    if xml_file not in names:
        raise FileNotFoundError(unknown("xml_file", xml_file, names))
    return assets / xml_file


def check_noise(reset_noise_scale: float) -> float:
    """Returns the scale of a first state's noise if it is finite and not negative; raises ``ValueError`` otherwise."""
    if not 0 <= reset_noise_scale < np.inf:
        raise ValueError(f"reset_noise_scale must be finite and not negative, got {reset_noise_scale}")
    return reset_noise_scale


def _columns(model: mujoco.MjModel, part: mujoco.mjtState) -> slice:
    """Where one part of the state lies in a row: parts follow each other in the order of their bits."""
    before = sum(mujoco.mj_stateSize(model, 1 << bit) for bit in range(part.value.bit_length() - 1) if STATE >> bit & 1)
    return slice(before, before + mujoco.mj_stateSize(model, part.value))


class BatchedMujoco(BatchedEnv):
    """``n`` copies of one MuJoCo model. A task adds its observation, its reward and the noise of its first state.

    A train problem is drawn as Gymnasium draws it: ``reset(seed=s)`` starts the generator that Gymnasium's tasks use
    for ``s``, and an environment's later episodes draw on from it. A test problem has a generator of its own.

    Args:
        num_envs: number of environments.
        xml_file: a model of Gymnasium's by file name, or a path.
        frame_skip: physics steps an action.
        default_camera_config: attributes of MuJoCo's free camera.
        split: "train" (Gymnasium's problems) or "test" (others).
        render_mode: ``None`` or "rgb_array".
        nthread: most threads to step with; one a processor if not given. Trajectories do not depend on it.
        width: of a frame, in pixels.
        height: of a frame, in pixels.
        camera_id: a camera of the model; a free camera otherwise.
        camera_name: the same by name.
        max_geom: most geoms in a frame.
        visual_options: MuJoCo's rendering flags.
        physics_scale: factors of the model's "gravity", "friction", "mass" or "damping"; see :mod:`.physics`.
    """

    typed: ClassVar[bool] = True
    env_state: ClassVar[tuple[str, ...]] = ("_state", "first_qpos", "unstable")
    limits: ClassVar[str] = f"below {HUGE:g} in size"
    """Of actions, in words."""

    def __init__(
        self,
        num_envs: int,
        *,
        xml_file: str,
        frame_skip: int,
        default_camera_config: Mapping[str, Any] | None = None,
        split: str = "train",
        render_mode: str | None = None,
        nthread: int | None = None,
        width: int = 480,
        height: int = 480,
        camera_id: int | None = None,
        camera_name: str | None = None,
        max_geom: int = 1000,
        visual_options: Mapping[int, bool] | None = None,
        physics_scale: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        if frame_skip < 1:
            raise ValueError(f"frame_skip must be at least 1, got {frame_skip}")
        if nthread is not None and nthread < 1:
            raise ValueError(f"nthread must be at least 1, got {nthread}")
        self.split = check_split(split)
        self.model = self.build_model(xml_file)
        scale_physics(self.model, physics_scale or {})
        # MuJoCo would silently restart a simulation that blew up; here that ends the episode, see `advance`.
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET.value
        self.frame_skip = frame_skip
        self.dt = self.model.opt.timestep * frame_skip  # seconds an action lasts
        self.metadata = {"render_modes": ["rgb_array"], "render_fps": int(np.round(1.0 / self.dt))}
        low, high = self.model.actuator_ctrlrange.astype(np.float32).T
        self.action_space = Box(low, high, dtype=np.float32)
        view: dict[str, Any] = {
            **{"width": width, "height": height, "camera_id": camera_id, "camera_name": camera_name},
            **{"config": default_camera_config or {}, "max_geom": max_geom, "visual_options": visual_options or {}},
        }
        check_view(self.model, **view)
        self._open_view = partial(open_view, self.model, **view)
        self._allocate(nthread or os.cpu_count() or 1)

    def build_model(self, xml_file: str) -> mujoco.MjModel:
        """The physics; a task that puts its model together from parts does so here."""
        return mujoco.MjModel.from_xml_path(str(model_path(xml_file)))

    def _start_threads(self) -> None:
        """Gives each thread an ``MjData``, a place to step environments in that keeps nothing of them."""
        self._data = [mujoco.MjData(self.model) for _ in range(self._threads)]
        self._pool = ThreadPoolExecutor(self._threads - 1, "mujoco") if self._threads > 1 else None
        self._view: View | None = None

    def _allocate(self, nthread: int) -> None:
        n, model = self.num_envs, self.model
        self._threads = max(1, min(nthread, n // ENVS_PER_THREAD))
        self._start_threads()
        self._first = np.empty(mujoco.mj_stateSize(model, STATE))
        mujoco.mj_getState(model, self._data[0], self._first, STATE)
        first = np.concatenate((self._first, np.zeros(self.count_readings())))
        self._state = np.tile(first, (n, 1))  # [n, size of mjSTATE_INTEGRATION + readings]
        self._take_rows()
        self.readings: Floats = self._state[:, len(self._first) :]
        self.time: Floats = self._state[:, _columns(model, mujoco.mjtState.mjSTATE_TIME).start]  # seconds
        qpos, qvel = (_columns(model, part) for part in (mujoco.mjtState.mjSTATE_QPOS, mujoco.mjtState.mjSTATE_QVEL))
        self.qpos: Floats = self._state[:, qpos]
        self.qvel: Floats = self._state[:, qvel]
        self._qpos_columns = qpos
        self._motion_columns = qpos.start, qvel.stop
        self._motion = self._state[:, qpos.start : qvel.stop]  # both
        self._ctrl = self._state[:, _columns(model, mujoco.mjtState.mjSTATE_CTRL)]
        self.first_qpos: Floats = self.qpos.copy()  # of the current episodes
        self.unstable: Bools = np.zeros(n, np.bool_)
        self.unstable_episodes: Ints = np.zeros(n, np.int64)  # that ended so in each environment, ever
        self._diverged: Bools = np.zeros(n, np.bool_)  # environments of which MuJoCo warned in the last step
        self._streams: list[tuple[int, int, np.random.Generator] | None] = [None] * n

    def _take_rows(self) -> None:
        self._rows = list(self._state[:, : len(self._first)])

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: all but what :data:`IN_MEMORY` names; views of the state as where they lie in it."""
        kept = {name: value for name, value in vars(self).items() if name not in IN_MEMORY}
        for name, value in kept.items():
            if isinstance(value, np.ndarray) and value is not self._state and np.may_share_memory(value, self._state):
                kept[name] = Window(value.shape, value.ctypes.data - self._state.ctypes.data, value.strides)
        return kept

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """A copy has threads and a state of its own, on which its views lie as those of the original on its."""
        state = kept["_state"]
        for name, value in kept.items():
            own = isinstance(value, Window)
            setattr(self, name, np.ndarray(value.shape, state.dtype, state, *value[1:]) if own else value)
        self._take_rows()
        self._start_threads()

    def sources(self, data: mujoco.MjData) -> tuple[Floats, ...]:
        """Arrays of ``data``, each in one piece, of which the task keeps copies as its readings (none here).

        Taken after a step, with ``mj_rnePostConstraint`` done as Gymnasium does, and after a reset with ``mj_forward``
        done. Readings are a part of the environment's state and restored with it. ``model`` is there when this is first
        asked, what a subclass sets after ``super().__init__`` is not.
        """
        return ()

    def count_readings(self) -> int:
        """How many numbers per environment :meth:`read` keeps; ``model`` is there when this is asked."""
        return sum(source.size for source in self.sources(self._data[0]))

    def read(self, data: mujoco.MjData, readings: Floats) -> None:
        """Writes what the task needs of ``data`` beyond the state (contact forces, places of bodies) to ``readings``.

        A task that must compute something for it overrides this and :meth:`count_readings`; copies of ``data``'s own
        arrays are :meth:`sources`, which are taken without the interpreter. Called by the thread that stepped the
        environment.
        """
        readings[:] = np.concatenate([source.ravel() for source in self.sources(data)])

    def part(self, part: mujoco.mjtState) -> Floats:
        """One part of every environment's state, ``[n, size]``: a view."""
        return self._state[:, _columns(self.model, part)]

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The first ``qpos`` and ``qvel`` of an episode, as departures from the model's own (none here)."""
        return np.zeros(self.model.nq), np.zeros(self.model.nv)

    def start(self, index: int, rng: np.random.Generator) -> None:
        """Makes an environment's first state; it holds the model's own. For problems of more than :meth:`draw`."""
        qpos, qvel = self.draw(rng)
        self.qpos[index] += qpos
        self.qvel[index] += qvel

    @abstractmethod
    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """Reward and terminated ``[n]`` of the step from ``qpos_before`` to ``qpos``; keeps what the info needs."""

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """See :meth:`BatchedEnv.begin`."""
        for index, seed, episode in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            rng = self._generator(index, seed, episode)
            self._rows[index][:] = self._first
            self.start(index, rng)
            if self.readings.shape[1]:
                self._read_first(index)
        self.first_qpos[indices] = self.qpos[indices]
        self.unstable[indices] = False

    def _read_first(self, index: int) -> None:
        data = self._data[0]
        mujoco.mj_resetData(self.model, data)  # else forces of another environment's last step would linger
        mujoco.mj_setState(self.model, data, self._rows[index], STATE)
        mujoco.mj_forward(self.model, data)
        self.read(data, self.readings[index])

    def _generator(self, index: int, seed: int, episode: int) -> np.random.Generator:
        if self.split == "test":
            return problem_rng("test", seed, episode)
        stream = self._streams[index]
        if stream is None or stream[:2] != (seed, episode):
            rng, _ = seeding.np_random(seed)
            for _ in range(episode):
                self.draw(rng)
        else:
            rng = stream[2]
        self._streams[index] = (seed, episode + 1, rng)
        return rng

    def check(self, actions: Any) -> npt.NDArray[np.floating]:
        """Actions ``[n, nu]``, any finite numbers below 1e10, as in Gymnasium's tasks: motors saturate, costs do not.

        float32 stays float32, as Gymnasium's control cost is taken in it. Gymnasium takes NaN, infinity and what
        MuJoCo holds for infinite as well (MuJoCo warns and lets all motors rest); here they are an error.
        """
        shape = (self.num_envs, *(self.action_space.shape or ()))
        wanted = f"an action must be finite numbers of shape {shape[1:]} {self.limits}"
        batch = self.within(numbers(actions, shape, kinds="fiu", wanted=wanted), wanted)
        # In rows, as the order in which a row's squares are summed hangs on how it lies in memory.
        return np.ascontiguousarray(batch, np.float32 if batch.dtype == np.float32 else np.float64)

    def within(self, batch: npt.NDArray[Any], wanted: str) -> npt.NDArray[Any]:
        """The numbers ``[n, nu]`` that the physics can take; ``wanted`` says what an action is."""
        return bounded(batch, -HUGE, HUGE, wanted=wanted)

    def command(self, actions: npt.NDArray[np.floating], active: Bools) -> None:
        """Writes the active environments' actions into their states before the physics: the motors' controls."""
        np.copyto(self._ctrl, actions, where=active[:, None])

    def advance(self, actions: npt.NDArray[np.floating], active: Bools) -> tuple[Floats, Bools]:
        """See :meth:`BatchedEnv.advance`. Where physics diverge, the last finite state stays, and the episode ends."""
        before = self._state.copy()
        self.command(actions, active)
        self._diverged.fill(False)
        self._simulate(np.flatnonzero(active))
        self.unstable = self.unstable & ~active
        mark_diverged(self._state, *self._motion_columns, HUGE, self._diverged)
        if self._diverged.any():
            broken = self._diverged & active
            self._state[broken] = before[broken]
            self.unstable |= broken
            self.unstable_episodes += broken
        reward, terminated = self.score(actions, before[:, self._qpos_columns])
        return reward, terminated | self.unstable

    def _simulate(self, indices: Ints) -> None:
        threads = max(1, min(len(self._data), len(indices) // ENVS_PER_THREAD))
        size = len(indices) if threads == 1 else -(-len(indices) // (threads * BLOCKS_PER_THREAD))
        # Shared: each thread takes the next block when it has finished its last.
        queue = iter([indices[start : start + size] for start in range(0, len(indices), size or 1)])
        waits = [self._pool.submit(self._drain, queue, thread) for thread in range(1, threads) if self._pool]
        self._drain(queue, 0)
        for wait in waits:
            wait.result()

    def _drain(self, queue: Iterator[Ints], thread: int) -> None:
        carrier = self._carriers[thread]
        for indices in queue:
            if carrier is not None:
                carrier.carry(self._state, indices, self.frame_skip, self._diverged)
            else:
                self._step_in_python(indices.tolist(), self._data[thread])

    @cached_property
    def _carriers(self) -> list[Carrier | None]:
        """One a thread; none for tasks that compute their readings, and for models short of memory."""
        if type(self).read is not BatchedMujoco.read or not safe(self.model):
            return [None] * len(self._data)
        return [Carrier(self.model, data, self.sources(data)) for data in self._data]

    def _step_in_python(self, indices: list[int], data: mujoco.MjData) -> None:
        model, rows, nstep, warnings = self.model, self._rows, self.frame_skip, warnings_of(data)
        for index in indices:
            before = warnings.sum()
            mujoco.mj_setState(model, data, rows[index], STATE)
            mujoco.mj_step(model, data, nstep=nstep)
            mujoco.mj_getState(model, data, rows[index], STATE)
            if self.readings.shape[1]:
                mujoco.mj_rnePostConstraint(model, data)
                self.read(data, self.readings[index])
            self._diverged[index] = warnings.sum() != before

    def step_info(self) -> Info:
        """See :meth:`BatchedEnv.step_info`.

        ``unstable`` says that the physics blew up and ended the episode, ``unstable_episodes`` how often they did.
        """
        return {"unstable": self.unstable.copy(), "unstable_episodes": self.unstable_episodes.copy()}

    def render(self, index: int = 0) -> npt.NDArray[np.uint8]:
        """An RGB frame ``[height, width, 3]`` of one environment; :mod:`.render` says by what it is drawn."""
        if self._view is None:
            self._view = self._open_view()
            self._picture = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, self._picture, self._rows[index], STATE)
        mujoco.mj_forward(self.model, self._picture)
        return self._view.frame(self._picture)

    def close(self) -> None:
        """Frees the threads and the renderer."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        if self._view is not None:
            self._view.close()
            self._view = None


class BatchedBounded(BatchedMujoco):
    """MuJoCo tasks that are not Gymnasium's: an action outside the space is an error, or is clipped.

    Args:
        num_envs: number of environments.
        invalid_action: "raise" refuses an action outside the space, which agents clip to; "clip" clips it, if finite.
        **simulation: see :class:`BatchedMujoco`.
    """

    limits = "within the space's bounds"

    def __init__(self, num_envs: int, *, invalid_action: OutOfBounds = "raise", **simulation: Any) -> None:
        self.invalid_action = check_mode(invalid_action)
        super().__init__(num_envs, **simulation)

    def within(self, batch: npt.NDArray[Any], wanted: str) -> npt.NDArray[Any]:
        """See :meth:`BatchedMujoco.within`."""
        space: Any = self.action_space
        mode = self.invalid_action
        return bounded(batch, space.low, space.high, wanted=wanted, invalid_action=mode, slack=TOLERANCE)
