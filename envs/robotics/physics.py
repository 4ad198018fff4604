"""Other physics for the same model: gravity, friction, mass and damping times a factor each.

What a policy learnt in one physics is worth in another is the question of dynamics-aware methods (H2O, Niu et al.,
When to Trust Your Simulator, 2022) and of robustness tests.
"""

import math
from collections.abc import Callable, Mapping

import mujoco

from ... import unknown
from ..keywords import fits


def _gravity(model: mujoco.MjModel, factor: float) -> None:
    model.opt.gravity *= factor


def _friction(model: mujoco.MjModel, factor: float) -> None:
    model.geom_friction *= factor
    model.pair_friction *= factor  # contacts that a model names outright have friction of their own


def _mass(model: mujoco.MjModel, factor: float) -> None:
    model.body_mass *= factor
    model.body_inertia *= factor


def _damping(model: mujoco.MjModel, factor: float) -> None:
    model.dof_damping *= factor
    model.dof_dampingpoly *= factor


SCALES: Mapping[str, Callable[[mujoco.MjModel, float], None]] = {
    "gravity": _gravity,
    "friction": _friction,
    "mass": _mass,
    "damping": _damping,
}


def scale_physics(model: mujoco.MjModel, factors: Mapping[str, float]) -> None:
    """Multiplies parts of a model in place.

    Args:
        model: the model.
        factors: of "gravity", of "friction" (of every geom, all three coefficients), of "mass" (of every body, with
            its inertia) and of "damping" (of every joint).

    Raises:
        ValueError: on another name, or a factor that is not positive and finite; nothing was changed.
    """
    for name, factor in factors.items():
        if name not in SCALES:
            raise ValueError(unknown("physics_scale", name, SCALES))
        if not (fits(factor, float) and math.isfinite(factor) and factor > 0):
            raise ValueError(f"physics_scale[{name!r}] must be a positive finite factor, got {factor!r}")
    for name, factor in factors.items():
        SCALES[name](model, factor)
    if factors:
        mujoco.mj_setConst(model, mujoco.MjData(model))  # what the compiler had worked out from masses and damping
