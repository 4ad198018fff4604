"""A body finds its way through a maze to a goal, and the first such body: the ball of D4RL's Maze2D.

:class:`BatchedMaze` is what all mazes share: goal-conditioned, ending on success as D4RL's AntMaze does. The ant is in
:mod:`.ant_maze`. Ball, motors, solver and mazes are Gymnasium-Robotics' PointMaze (de Lazcano et al.), which took them
from D4RL (Fu et al., D4RL: Datasets for Deep Data-Driven Reinforcement Learning, 2020): a ball of 4.19 kg and 0.1 m
radius, pushed by up to 100 N along x and y at 100 Hz, slowed by 1 N s/m, its speed along each axis cut to 5 m/s before
each step. The trajectories are theirs bit for bit. Departures:

- Start and goal lie at least seven tenths of the maze's longest path apart (``min_path``). Pushing at random reaches
  such goals in fewer than one episode in 200 of the smallest maze, and every second goal in the cell next to the start.
- The episode ends at the goal, as Gymnasium-Robotics' does with ``continuing_task=False``.
- The dense reward counts metres around the walls. Straight ones would pay for waiting behind a wall near the goal.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar
from xml.etree import ElementTree

import mujoco
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict

from ... import unknown
from ..core import BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv, check_options
from ..seeding import problem_rng
from .batched import BatchedBounded
from .maze_layouts import Maze
from .top_view import TopView

REWARDS = ("sparse", "dense")
MAX_SPEED = 5.0  # metres a second along an axis
NOISE = 0.25  # cells, each way, of start and goal around the middle of their cells
STIFFNESS, DRAG = 10.0, 1.0  # of the expert, in actions a metre and a metre a second
FIELD_OF_VIEW = math.radians(45)  # of MuJoCo's free camera, from the lower to the upper edge
BALL_RADIUS = 0.1  # metres
SUCCESS_RADIUS = 0.45  # metres between ball and goal that count as reached: Gymnasium-Robotics' (D4RL has 0.5)

Wish = Floats | None  # a place that reset's options ask for, else drawn


class BatchedMaze(BatchedBounded):
    """A body finds its way through a maze to a goal; a task gives the body.

    Observation: the body's state, x and y first, then the goal's x and y; or with ``goal_conditioned`` the dictionary
    of Gymnasium's goal environments: ``observation`` (the body's state), ``achieved_goal`` (x, y), ``desired_goal``.
    Reward, "sparse": 1 at the goal, else 0, as D4RL's and Gymnasium-Robotics'; as the episode ends there, a return is
    1 or 0. "dense": minus the metres still to go around the walls, at every step.
    Success: the body's middle is now within ``success_radius`` of the goal. A body whose middle is in or over a wall,
    or beyond them all, has not found its way: that ends the episode without success, and ``info["outside"]`` says so.

    ``reset(options={"start": (x, y), "goal": (x, y)})`` asks for a problem, or for half of one; vectors also take one
    place per environment, ``[n, 2]``. The info at reset names ``start``, ``goal``, and whether the goal is
    ``reachable``.

    Args:
        num_envs: number of environments.
        layout: "umaze", "medium", "large", or a maze of one's own as a list of strings; see :mod:`.maze_layouts`. The
            time limits that suit the larger two are their rows', ``...MazeMedium-v0`` and ``...MazeLarge-v0``.
        reward: "sparse" or "dense".
        continuing: True lets an episode go on at the goal until the time limit, as D4RL's Maze2D does.
        goal_conditioned: whether observations are dictionaries, which ``HerReplayBuffer`` needs.
        allow_unreachable: whether ``options`` may ask for a goal that the body cannot reach (in a wall, outside), as
            curricula that search a box of goals do.
        min_path: fewest cells from start to goal on a drawn problem; if not given, seven tenths of the longest path.
        default_camera_config: attributes of the free camera; from above, all of the maze, if not given.
        **simulation: see :class:`BatchedBounded`.

    Raises:
        ValueError: on a layout that is no closed maze, or another bad value.
    """

    reset_options = ("start", "goal")

    body: ClassVar[str]
    """What it is called in messages."""
    body_radius: ClassVar[float]
    """Metres that its middle keeps from walls."""
    success_radius: ClassVar[float]
    scale: ClassVar[float]
    """Metres a cell is wide."""
    wall_top: ClassVar[float]
    """Metres above the origin."""
    hidden: ClassVar[int] = 0
    """Columns of the body's state, the first, that goal-conditioned observations have as ``achieved_goal`` alone."""
    place: Floats
    """x and y of the body's middle ``[n, 2]``, a view of the state, as ``goal`` is."""
    goal: Floats

    def __init__(
        self,
        num_envs: int,
        *,
        layout: str | Sequence[str] = "umaze",
        reward: str = "sparse",
        continuing: bool = False,
        goal_conditioned: bool = False,
        allow_unreachable: bool = False,
        min_path: int | None = None,
        default_camera_config: Mapping[str, Any] | None = None,
        **simulation: Any,
    ) -> None:
        if reward not in REWARDS:
            raise ValueError(unknown("reward", reward, REWARDS))
        self.maze = Maze(layout, scale=self.scale, body=self.body_radius, success=self.success_radius)
        self.min_path = math.ceil(0.7 * self.maze.longest) if min_path is None else min_path
        if not 1 <= self.min_path <= self.maze.longest:
            raise ValueError(f"min_path must be from 1 to {self.maze.longest}, this maze's longest, got {min_path}")
        super().__init__(
            num_envs, default_camera_config=default_camera_config or self._above(**simulation), **simulation
        )
        self._open_view = partial(self._open_view, software=TopView)
        self.reward, self.continuing = reward, continuing
        self.goal_conditioned, self.allow_unreachable = goal_conditioned, allow_unreachable
        self._pairs = np.argwhere(self.maze.steps >= self.min_path)  # start and goal cells of all problems
        self._wishes: list[tuple[Wish, Wish]] = [(None, None)] * num_envs
        self.place, self.goal = self._places_in_state()
        size = self.body_state().shape[1]
        self.observation_space = Box(-np.inf, np.inf, (size + 2,), np.float64)
        if goal_conditioned:
            state, point = (Box(-np.inf, np.inf, (columns,), np.float64) for columns in (size - self.hidden, 2))
            self.observation_space = Dict({"observation": state, "achieved_goal": point, "desired_goal": point})
        self.terms: dict[str, Floats] = {}

    @abstractmethod
    def _places_in_state(self) -> tuple[Floats, Floats]:
        """Views of the state: x and y of the body's middle, and of the goal, ``[n, 2]`` each."""

    @abstractmethod
    def body_state(self) -> Floats:
        """What is seen of the body, x and y first, ``[n, columns]`` float64, no view of the state."""

    def _above(self, width: int = 480, height: int = 480, **_: Any) -> dict[str, Any]:
        """A camera over the middle that sees all of the maze and a little more."""
        tall = max(self.maze.height, self.maze.width * height / max(width, 1)) + 0.5
        distance = tall / 2 / math.tan(FIELD_OF_VIEW / 2) + self.wall_top
        return {"distance": distance, "azimuth": 90.0, "elevation": -90.0, "lookat": (0.0, 0.0, 0.0)}

    @contextmanager
    def asked(self, options: Mapping[str, Any] | None, indices: Ints) -> Iterator[None]:
        """Inside, problems that begin on ``indices`` are those that ``reset``'s options ask for.

        Raises:
            ValueError: on an option that is unknown or out of place; nothing has changed.
        """
        options = check_options(options, (*self.reset_options, "reset_mask"))
        starts, goals = (self._places(name, options.get(name), indices) for name in ("start", "goal"))
        wishes: list[tuple[Wish, Wish]] = [(None, None)] * self.num_envs
        for index in indices.tolist():
            wishes[index] = starts[index], goals[index]
            self._check_problem(starts[index], goals[index])
        self._wishes = wishes
        try:
            yield
        finally:
            self._wishes = [(None, None)] * self.num_envs

    def _places(self, name: str, value: Any, indices: Ints) -> list[Wish]:
        if value is None:
            return [None] * self.num_envs
        try:
            places = np.asarray(value, np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"options[{name!r}] must be two numbers (x, y) in metres, got {value!r}") from error
        if places.shape in ((2,), (self.num_envs, 2)):
            places = np.broadcast_to(places, (self.num_envs, 2))
            if np.isfinite(places[indices]).all():
                return list(places)
        shapes = "(x, y)" if self.num_envs == 1 else f"(x, y), or one for each of the {self.num_envs} environments"
        raise ValueError(f"options[{name!r}] must be finite metres {shapes}, got {value!r}")

    def _check_problem(self, start: Wish, goal: Wish) -> None:
        if start is not None and not self.maze.has_room(start):
            raise ValueError(
                f"options['start'] {start.tolist()} leaves no room for the {self.body}: choose a free cell"
            )
        if goal is None or self.allow_unreachable:
            return
        if not self.maze.reachable(goal if start is None else start, goal):
            raise ValueError(
                f"options['goal'] {goal.tolist()} is out of the {self.body}'s reach: choose another, "
                "or make the environment with allow_unreachable=True"
            )

    def _generator(self, index: int, seed: int, episode: int) -> np.random.Generator:
        return problem_rng(self.split, seed, episode)  # no stream: what options ask for changes no later problem

    def start(self, index: int, rng: np.random.Generator) -> None:
        """See :meth:`BatchedMujoco.start`: the body at rest in one cell, the goal in another, or as options ask."""
        self.place[index], self.goal[index] = self._problem(rng, *self._wishes[index])

    def _problem(self, rng: np.random.Generator, start: Wish, goal: Wish) -> tuple[Floats, Floats]:
        """Start and goal of a problem: as wished, the rest drawn at least :attr:`min_path` cells away."""
        here, there = self._pairs[rng.integers(len(self._pairs))]
        if start is not None:
            there = rng.choice(self.maze.far_from(start, self.min_path))
        elif goal is not None:
            here = rng.choice(self.maze.far_from(goal, self.min_path))
        noise = rng.uniform(-NOISE * self.scale, NOISE * self.scale, (2, 2))
        start = self.maze.centres[here] + noise[0] if start is None else start
        goal = self.maze.centres[there] + noise[1] if goal is None else goal
        return start, goal

    def observe(self) -> Any:
        """See the class; float64."""
        if not self.goal_conditioned:
            return np.concatenate((self.body_state(), self.goal), axis=1)
        return {
            "observation": self.body_state()[:, self.hidden :],
            "achieved_goal": self.place.copy(),
            "desired_goal": self.goal.copy(),
        }

    def score(self, actions: npt.NDArray[np.floating], qpos_before: Floats) -> tuple[Floats, Bools]:
        """See :meth:`BatchedMujoco.score`."""
        reward, outside = self.compute_reward(self.place, self.goal, None), self.maze.outside(self.place)
        if self.reward == "sparse":
            reward[outside] = 0.0
        self.terms = {"reward_goal" if self.reward == "sparse" else "reward_path": reward}
        return reward, outside | (self._reached(self.place, self.goal) & (not self.continuing))

    def _reached(self, achieved: Floats, desired: Floats) -> Bools:
        reached: Bools = np.linalg.norm(achieved - desired, axis=-1) <= self.success_radius
        return reached

    def compute_reward(self, achieved_goal: Floats, desired_goal: Floats, info: Any) -> Floats:
        """The reward ``[...]`` of being at ``achieved_goal`` ``[..., 2]`` when ``desired_goal`` ``[..., 2]`` is asked.

        Of Gymnasium's goal environments, for hindsight relabelling; ``info`` is not used.
        """
        achieved, desired = np.asarray(achieved_goal, np.float64), np.asarray(desired_goal, np.float64)
        if self.reward == "sparse":
            return self._reached(achieved, desired).astype(np.float64)
        return -self.maze.path_length(achieved, desired)

    def reset_info(self) -> Info:
        """``start`` and ``goal`` ``[n, 2]`` in metres, and whether the goal is ``reachable`` from there."""
        starts = self.first_qpos[:, :2]
        return {"start": starts.copy(), "goal": self.goal.copy(), "reachable": self.maze.reachable(starts, self.goal)}

    def step_info(self) -> Info:
        """See :meth:`BatchedMujoco.step_info`; ``success`` and ``outside`` as in the class."""
        outside = self.maze.outside(self.place)
        success = self._reached(self.place, self.goal) & ~self.unstable & ~outside
        return {**super().step_info(), "reward_terms": dict(self.terms), "outside": outside, "success": success}


class PointMaze(BatchedMaze):
    """A ball finds its way through a maze to a goal.

    Observation: ``[x, y, vx, vy, goal x, goal y]`` in metres and m/s, or dictionaries; see :class:`BatchedMaze`, also
    for rewards and options. Action: the push along x and y, in units of 100 N, within [-1, 1].
    Success: the ball is now within 0.45 m of the goal.

    Args:
        num_envs: number of environments.
        frame_skip: physics steps (of 0.01 s) an action.
        **maze: see :class:`BatchedMaze`.
    """

    body = "ball"
    body_radius = BALL_RADIUS
    success_radius = SUCCESS_RADIUS
    scale = 1.0
    wall_top = 0.3

    def __init__(self, num_envs: int, *, frame_skip: int = 1, **maze: Any) -> None:
        super().__init__(num_envs, xml_file="", frame_skip=frame_skip, **maze)

    def build_model(self, xml_file: str) -> mujoco.MjModel:
        """See :meth:`BatchedMujoco.build_model`: the ball of Gymnasium-Robotics in the layout's walls.

        The first body holds the walls, so that a camera that looks at the first body looks at the middle of the maze.
        ``qpos`` is x and y of the ball, then x and y of the goal, which nothing can touch.
        """
        root = ElementTree.fromstring(_MODEL)
        walls = root.find(".//body[@name='maze']")
        assert walls is not None
        self.maze.add_walls(walls, middle=0.1, half=0.2)
        return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))

    def _places_in_state(self) -> tuple[Floats, Floats]:
        return self.qpos[:, :2], self.qpos[:, 2:]

    def body_state(self) -> Floats:
        """x, y and their speeds."""
        return np.concatenate((self.place, self.qvel[:, :2]), axis=1)

    def command(self, actions: npt.NDArray[np.floating], active: Bools) -> None:
        """See :meth:`BatchedMujoco.command`."""
        self.qvel[active] = self.qvel[active].clip(-MAX_SPEED, MAX_SPEED)
        super().command(actions, active)

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """A spring to the next waypoint of the shortest path, with drag."""
        ahead = self.maze.waypoint(self.place, self.goal) - self.place
        push = STIFFNESS * ahead - DRAG * self.qvel[:, :2]
        return push.clip(-1, 1).astype(np.float32)


# Numbers of the ball, the motors and the solver: gymnasium_robotics/envs/assets/point/point.xml, which are D4RL's.
_MODEL = f"""
<mujoco model="point maze">
  <option timestep="0.01" gravity="0 0 0" iterations="20" integrator="Euler"/>
  <visual>
    <headlight ambient="0.45 0.45 0.45" diffuse="0.45 0.45 0.45" specular="0 0 0"/>
    <map znear="0.01"/>
  </visual>
  <default>
    <joint type="slide" damping="1"/>
    <geom condim="1" margin="0.002" density="1000"/>
    <motor gear="100" ctrllimited="true" ctrlrange="-1 1"/>
    <default class="unfelt">
      <geom contype="0" conaffinity="0"/>
      <default class="mark"><geom type="cylinder"/></default>
    </default>
  </default>
  <worldbody>
    <geom name="floor" class="unfelt" type="plane" size="40 40 0.25" pos="0 0 -0.1" rgba="0.93 0.91 0.86 1"/>
    <body name="maze"/>
    <body name="ball">
      <joint name="ball_x" axis="1 0 0"/>
      <joint name="ball_y" axis="0 1 0"/>
      <geom name="ball" type="sphere" size="{BALL_RADIUS}" rgba="0.13 0.45 0.85 1"/>
    </body>
    <body name="goal">
      <joint name="goal_x" axis="1 0 0"/>
      <joint name="goal_y" axis="0 1 0"/>
      <geom name="zone" class="mark" pos="0 0 -0.09" size="{SUCCESS_RADIUS} 0.005" rgba="0.95 0.75 0.55 1"/>
      <geom name="goal" class="mark" pos="0 0 -0.08" size="{BALL_RADIUS} 0.005" rgba="0.85 0.2 0.15 1"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="ball_x"/>
    <motor joint="ball_y"/>
  </actuator>
</mujoco>
"""


class Relabels:
    """What both faces offer to hindsight relabelling, when their observations name goals."""

    batched: BatchedMaze

    @property
    def compute_reward(self) -> Callable[[Floats, Floats, Any], Floats]:
        """:meth:`BatchedMaze.compute_reward`; without goals in the observation there is none, which libraries go by."""
        if not self.batched.goal_conditioned:
            raise AttributeError("compute_reward needs an environment made with goal_conditioned=True")
        return self.batched.compute_reward


class MazeEnv(Relabels, SingleEnv):
    """One environment of any maze."""

    batched: BatchedMaze

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """See :meth:`SingleEnv.reset`; ``options`` may ask for a ``start`` and a ``goal``."""
        with self.batched.asked(options, np.zeros(1, np.int64)):
            return super().reset(seed=seed, options=options)


class MazeVectorEnv(Relabels, BatchedVectorEnv):
    """Any maze, native vector."""

    batched: BatchedMaze

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, Info]:
        """See :meth:`BatchedVectorEnv.reset`; ``options``: ``start`` and ``goal``, one for all or one each."""
        with self.batched.asked(options, np.flatnonzero(self._reset_mask(options))):
            return super().reset(seed=seed, options=options)


class PointMazeEnv(MazeEnv):
    """``tiltyard/PointMaze-v0`` and its other layouts."""

    batched_class = PointMaze


class PointMazeVectorEnv(MazeVectorEnv):
    """``tiltyard/PointMaze-v0`` and its other layouts, native vector."""

    batched_class = PointMaze
