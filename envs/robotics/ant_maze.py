"""An ant finds its way through a maze to a goal: D4RL's AntMaze, goal-conditioned.

Body, mazes and their size are those of D4RL (Fu et al., D4RL: Datasets for Deep Data-Driven Reinforcement Learning,
2020), in Gymnasium-Robotics' version (de Lazcano et al., ``gymnasium_robotics/envs/maze/ant_maze_v5.py``): Gymnasium's
``ant.xml`` among walls 2 m high, cells 4 m wide, 20 actions a second; a fall does not end the episode. The physics are
theirs bit for bit. Where the two differ, D4RL is followed: the goal is reached within 0.5 m (Gymnasium-Robotics says so
and has 0.45), and the first state has the noise of Ant (Gymnasium-Robotics' has none). For the rest see :mod:`.maze`.

Departure: a ceiling lies on the walls, unseen. Torques at their limits throw the ant 6 m high, over the walls of the
originals and out of the maze. As long as no limb comes up to 2 m the ceiling changes nothing.
"""

import math
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np
import numpy.typing as npt

from ..core import Floats, Ints
from .ant import Ant
from .batched import check_noise, model_path
from .experts import along, clock, forward, load_expert, positive, turned, unit
from .maze import BatchedMaze, MazeEnv, MazeVectorEnv

LATE = 0.7  # share of the line between two cells' middles that the expert heads for
RADIUS = 0.5  # metres between torso and goal that count as reached
MARKS = (("zone", RADIUS, 0.01, "0.95 0.75 0.55 1"), ("goal", 0.2, 0.02, "0.85 0.2 0.15 1"))  # size, height, colour
QUARTERS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])  # cosine and sine of 0 to 3 quarter turns
HALVES = np.array([[1.0, 0.0], [math.sqrt(0.5), math.sqrt(0.5)], [0.0, 1.0], [-math.sqrt(0.5), math.sqrt(0.5)]])
BENDS = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, -1.0], [1.0, 1.0]])  # of hip and ankle of legs 1 to 4
MOTORS = [6, 7, 0, 1, 2, 3, 4, 5]  # columns of the legs' joints, 1 to 4, in the order of the motors
LEGS = [2, 3, 4, 5, 6, 7, 0, 1]  # and back


class AntMaze(BatchedMaze):
    """An ant finds its way through a maze to a goal.

    Observation: ``[x, y, z, orientation (w, x, y, z), 8 joints, 3 velocities, 3 rotations, 8 joints' speeds, goal x,
    goal y]`` (31 numbers; D4RL's 29 and the goal), or dictionaries, whose ``observation`` leaves out x and y (27, as
    Gymnasium-Robotics'); see :class:`BatchedMaze`, also for rewards and options. Contact forces are not seen.
    Action: the torques of the eight motors, in units of 150 Nm, within [-1, 1], as Ant's.
    Success: the torso's middle is now within 0.5 m of the goal.

    Args:
        num_envs: number of environments.
        frame_skip: physics steps (of 0.01 s) an action.
        reset_noise_scale: of the first posture, uniform in positions and normal in velocities, as Ant's; the place on
            the floor is the problem's.
        **maze: see :class:`BatchedMaze`.
    """

    body = "ant"
    body_radius = 0.9  # with straight legs, as an episode begins, it covers 0.88 m along x and y
    success_radius = RADIUS
    scale = 4.0
    wall_top = 2.0
    hidden = 2

    def __init__(self, num_envs: int, *, frame_skip: int = 5, reset_noise_scale: float = 0.1, **maze: Any) -> None:
        self.reset_noise_scale = check_noise(reset_noise_scale)
        super().__init__(num_envs, xml_file="ant.xml", frame_skip=frame_skip, **maze)

    def build_model(self, xml_file: str) -> mujoco.MjModel:
        """See :meth:`BatchedMujoco.build_model`: the ant in the layout's walls, and the goal, which nothing can touch.

        The first body is nothing but the middle of the maze, as that is where a camera looks. The goal is no part of
        ``qpos``, and the walls are the world's: more degrees of freedom or bodies to touch would change rounding.
        """
        root = ElementTree.parse(model_path(xml_file)).getroot()
        world = root.find("worldbody")
        assert world is not None
        self.maze.add_walls(world, middle=self.wall_top / 2, half=self.wall_top / 2)
        # A plane is the half space behind it, which nothing can pass however fast.
        lid = {"pos": f"0 0 {self.wall_top}", "zaxis": "0 0 -1", "size": "1 1 1", "rgba": "0 0 0 0", "conaffinity": "1"}
        ElementTree.SubElement(world, "geom", {"name": "ceiling", "type": "plane", **lid})
        goal = ElementTree.SubElement(world, "body", {"name": "goal", "mocap": "true"})
        for name, size, height, colour in MARKS:
            look = {"type": "cylinder", "size": f"{size} 0.005", "pos": f"0 0 {height}", "rgba": colour}
            ElementTree.SubElement(goal, "geom", {"name": name, "contype": "0", "conaffinity": "0", **look})
        world.insert(0, ElementTree.Element("body", {"name": "maze"}))
        _repaint(root)
        return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))

    def _places_in_state(self) -> tuple[Floats, Floats]:
        return self.qpos[:, :2], self.part(mujoco.mjtState.mjSTATE_MOCAP_POS)[:, :2]

    def start(self, index: int, rng: np.random.Generator) -> None:
        """See :meth:`BatchedMaze.start`; the posture has noise."""
        super().start(index, rng)
        scale = self.reset_noise_scale
        self.qpos[index, 2:] += rng.uniform(-scale, scale, self.model.nq - 2)
        self.qvel[index] += scale * rng.standard_normal(self.model.nv)

    def body_state(self) -> Floats:
        """Positions and velocities, as D4RL's."""
        return np.concatenate((self.qpos, self.qvel), axis=1)

    def expert_actions(self) -> npt.NDArray[np.float32]:
        """Ant's gait, towards the next waypoint of the shortest path.

        The gait runs along x and keeps to that course by itself; so it is shown the world in a frame whose x axis
        points at the waypoint. As the ant is the same from four sides, it need not turn around: the gait is also shown
        the body as seen from the side that is nearest to the way.
        """
        ahead = unit(self.maze.waypoint(self.place, self.goal, share=LATE) - self.place)
        side = nearest_side(self.qpos, ahead)
        view = np.concatenate(
            (seen_along(ahead, side, self.qpos, self.qvel), clock(self.time, Ant.expert_hertz)), axis=1
        )
        torques = load_expert("ant").act(view).astype(np.float64)
        return turned_legs(torques[:, LEGS], -side)[:, MOTORS].astype(np.float32)


def _repaint(root: ElementTree.Element) -> None:
    """The colours of the ball's maze, in an even light: seen from above, Ant's own floor is all that one sees."""
    world, body, floor = (root.find(path) for path in ("worldbody", "default/geom", "worldbody/geom[@type='plane']"))
    assert world is not None
    assert body is not None
    assert floor is not None
    for light in world.findall("light"):
        world.remove(light)
    del floor.attrib["material"]
    floor.set("rgba", "0.93 0.91 0.86 1")
    body.set("rgba", "0.13 0.45 0.85 1")
    even = {"ambient": "0.45 0.45 0.45", "diffuse": "0.45 0.45 0.45", "specular": "0 0 0"}
    ElementTree.SubElement(ElementTree.SubElement(root, "visual"), "headlight", even)


def nearest_side(qpos: Floats, ahead: Floats) -> Ints:
    """Which of the ant's sides looks most along ``ahead`` ``[n, 2]``: 0 to 3 for front, left, back and right."""
    front = forward(qpos[:, 3:7])
    left = np.stack((-front[:, 1], front[:, 0]), axis=1)
    near = np.stack((np.vecdot(front, ahead), np.vecdot(left, ahead)), axis=1)
    side: Ints = np.argmax(np.concatenate((near, -near), axis=1), axis=1)
    return side


def seen_along(ahead: Floats, side: Ints, qpos: Floats, qvel: Floats) -> Floats:
    """Ant's posture and velocities ``[n, 27]`` in a frame whose x axis is ``ahead``, if ``side`` were its front."""
    joints, speeds = turned_legs(qpos[:, 7:], side), turned_legs(qvel[:, 6:], side)
    w, x, y, z = turned(qpos[:, 3:7], ahead).T
    c, s = HALVES[side].T  # the body's own turn
    orientation = positive(np.stack((w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s), axis=1))
    velocity, rotation = along(qvel[:, :2], ahead), along(qvel[:, 3:5], QUARTERS[side])
    parts = (qpos[:, 2:3], orientation, joints, velocity, qvel[:, 2:3], rotation, qvel[:, 5:6], speeds)
    return np.concatenate(parts, axis=1)


def turned_legs(joints: Floats, side: Ints) -> Floats:
    """Values of hip and ankle of legs 1 to 4 ``[n, 8]``, for an ant of which ``side`` is the front."""
    legs = joints.reshape(-1, 4, 2) * BENDS
    order = (np.arange(4) + side[:, None]) % 4
    turned: Floats = np.take_along_axis(legs, order[:, :, None], axis=1) * BENDS
    return turned.reshape(joints.shape)


class AntMazeEnv(MazeEnv):
    """``tiltyard/AntMaze-v0`` and its other layouts."""

    batched_class = AntMaze


class AntMazeVectorEnv(MazeVectorEnv):
    """``tiltyard/AntMaze-v0`` and its other layouts, native vector."""

    batched_class = AntMaze
