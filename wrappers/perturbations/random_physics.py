"""Other masses, frictions, dampings and gravity in every episode: domain randomisation.

    env = RandomPhysics(gymnasium.make("tiltyard/Hopper-v5"), mass=(0.8, 1.2), friction=(0.5, 1.5))

One fixed physics needs no wrapper: ``gymnasium.make("tiltyard/Hopper-v5", physics_scale={"mass": 1.2})``.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.mujoco.mujoco_env import MujocoEnv
from gymnasium.utils import RecordConstructorArgs

from ...envs.core import SingleEnv
from ...envs.robotics.physics import SCALES, scale_physics
from .streams import ALL, EnvStreams

Info = dict[str, Any]
Range = tuple[float, float]
SCALED = ("body_mass", "body_inertia", "geom_friction", "pair_friction", "dof_damping", "dof_dampingpoly")
"""All that ``scale_physics`` multiplies beside gravity; MuJoCo works the rest of the model out from it anew."""


class RandomPhysics(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Each reset draws a factor for each property named, uniformly, and scales the model by it before it resets.

    What the factors scale is said in :mod:`tiltyard.envs.robotics.physics`; ``info["physics_scale"]`` of the reset
    names them. The model is changed where it is, which costs a fraction of a millisecond: nothing is built anew, and
    nothing adds up from episode to episode. A sensor that was tared for the model's own masses (the arm's force) stays
    so, as a real one would.

    The indices of a native vector share one model. To train on several at once, wrap single environments:
    ``gymnasium.make_vec(env_id, n, "sync", wrappers=[lambda env: RandomPhysics(env, mass=(0.8, 1.2))])``.

    Args:
        env: a MuJoCo task of ours or of Gymnasium's; one wrapper names all that is randomised.
        gravity: lowest and highest factor.
        friction: likewise, of all contacts.
        mass: likewise, of all bodies and their inertia.
        damping: likewise, of all joints.

    Raises:
        TypeError: no MuJoCo task.
        ValueError: no range at all, one that is not positive, finite and in order, or an environment whose physics are
            randomised already.

    Paper: Peng et al., Sim-to-Real Transfer of Robotic Control with Dynamics Randomization (2018).
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        *,
        gravity: Range | None = None,
        friction: Range | None = None,
        mass: Range | None = None,
        damping: Range | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, gravity=gravity, friction=friction, mass=mass, damping=damping)
        super().__init__(env)
        given = {"gravity": gravity, "friction": friction, "mass": mass, "damping": damping}
        self.ranges = {name: limits for name, limits in given.items() if limits is not None}
        if not self.ranges:
            raise ValueError(f"name what to randomise: {', '.join(SCALES)}, each as (low, high)")
        for name, limits in self.ranges.items():
            pair = isinstance(limits, Sequence | np.ndarray) and len(limits) == 2
            pair = pair and all(isinstance(limit, int | float | np.number) for limit in limits)
            if not (pair and 0 < limits[0] <= limits[1] < np.inf):
                raise ValueError(f"{name} must be (low, high) with 0 < low <= high, both finite, got {limits!r:.200}")
        _check_alone(env)
        model = _model(env)
        self._gravity = model.opt.gravity.copy()
        self._own = {name: getattr(model, name).copy() for name in SCALED}
        self._streams = EnvStreams(1, "random physics")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Draws the physics of the episode, then resets; ``seed`` decides them too."""
        self._streams.seed(seed, ALL)
        draws = self._streams.uniform(np.zeros(1, np.int64), len(SCALES))[0]
        factors = {}
        for draw, name in zip(draws, SCALES, strict=True):  # a factor does not hang on which others are randomised
            if name in self.ranges:
                low, high = self.ranges[name]
                factors[name] = low + float(draw) * (high - low)
        model = _model(self.env)  # looked up each time: a copy of one of Gymnasium's tasks builds another
        model.opt.gravity[:] = self._gravity
        for name, own in self._own.items():
            getattr(model, name)[...] = own
        scale_physics(model, factors)
        observation, info = self.env.reset(seed=seed, options=options)
        return observation, {**info, "physics_scale": factors}


def _check_alone(env: gymnasium.Env[Any, Any]) -> None:
    """Of two wrappers, the inner one's reset would undo the physics of the outer one."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, RandomPhysics):
            raise ValueError(
                f"the environment is in a RandomPhysics of {' and '.join(env.ranges)} already: name all ranges in one"
            )
        env = env.env


def _model(env: gymnasium.Env[Any, Any]) -> mujoco.MjModel:
    bare: Any = env.unwrapped
    model = getattr(bare.batched, "model", None) if isinstance(bare, SingleEnv) else None
    if isinstance(bare, MujocoEnv):
        model = bare.model
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"{bare} has no physics to randomise: it is no MuJoCo task")
    return model
