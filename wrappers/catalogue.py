"""One row a wrapper of control agents' environments that is no curriculum (those are in ``curricula/catalogue.py``)."""

from importlib import import_module
from typing import Any

from .. import unknown
from .seams import Row

_SERL = "SERL: A Software Suite for Sample-Efficient Robotic Reinforcement Learning (2024)"
_NOISE = "Robust Deep Reinforcement Learning against Adversarial Perturbations on State Observations (2020)"

PRACTICE: tuple[Row, ...] = (
    Row("autonomous-practice", _SERL, "tiltyard.wrappers.practice:AutonomousPractice"),
    Row("practice-pair", _SERL, "tiltyard.wrappers.practice_pair:PracticePair"),
)
"""Training without resets."""

REWARDS: tuple[Row, ...] = (
    Row(
        "potential-shaping",
        "Policy Invariance under Reward Transformations: Theory and Application to Reward Shaping (1999)",
        "tiltyard.wrappers.rewards.potential_shaping:PotentialShaping",
    ),
    Row("success-classifier", _SERL, "tiltyard.wrappers.rewards.classifier_reward:ClassifierReward"),
)
"""Rewards beside or instead of the environment's."""

PERTURBATIONS: tuple[Row, ...] = (
    Row("observation-noise", _NOISE, "tiltyard.wrappers.perturbations.observation_noise:ObservationNoise"),
    Row(
        "action-delay",
        "Reinforcement Learning with Random Delays (2021)",
        "tiltyard.wrappers.perturbations.action_delay:ActionDelay",
    ),
    Row(
        "random-physics",
        "Sim-to-Real Transfer of Robotic Control with Dynamics Randomization (2018)",
        "tiltyard.wrappers.perturbations.random_physics:RandomPhysics",
    ),
)
"""What robots meet that simulators leave out."""

ROWS = PRACTICE + REWARDS + PERTURBATIONS


def load(handle: str) -> type[Any]:
    """The class of a wrapper; ``KeyError`` with the nearest handles otherwise."""
    by_handle = {row.handle: row for row in ROWS}
    if handle not in by_handle:
        raise KeyError(unknown("wrapper", handle, by_handle))
    module, _, name = by_handle[handle].entry_point.partition(":")
    loaded: type[Any] = getattr(import_module(module), name)
    return loaded
