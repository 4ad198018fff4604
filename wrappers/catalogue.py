"""One row a wrapper of control agents' environments that is no curriculum (those are in ``curricula/catalogue.py``)."""

from importlib import import_module
from typing import Any

from .. import unknown
from .components import Row

PRACTICE: tuple[Row, ...] = (
    Row("autonomous-practice", "tiltyard.wrappers.practice:AutonomousPractice", paper="serl"),
    Row("lap-practice", "tiltyard.wrappers.laps:LapPractice", paper="fastrlap"),
    Row("practice-pair", "tiltyard.wrappers.practice_pair:PracticePair", paper="serl"),
)
"""Training without resets."""

REWARDS: tuple[Row, ...] = (
    Row("potential-shaping", "tiltyard.wrappers.rewards.potential_shaping:PotentialShaping"),
    Row("success-classifier", "tiltyard.wrappers.rewards.classifier_reward:ClassifierReward", paper="serl"),
    Row("shaped-driving", "tiltyard.wrappers.rewards.shaped_driving:ShapedDriving", paper="carl"),
    Row("vlm-rl", "tiltyard.wrappers.rewards.vlm_rl:VLMRL"),
    Row("drivevlm-rl", "tiltyard.wrappers.rewards.drivevlm_rl:DriveVLMRL"),
    Row("perceptualreward", "tiltyard.wrappers.rewards.perceptualreward:PerceptualReward"),
    Row("vlm-rm", "tiltyard.wrappers.rewards.vlm_rm:VLMRM"),
    Row("offline-rl-vlm-f", "tiltyard.wrappers.rewards.offline_rl_vlm_f:PreferenceReward"),
)
"""Rewards beside or instead of the environment's."""

PERTURBATIONS: tuple[Row, ...] = (
    Row("observation-noise", "tiltyard.wrappers.perturbations.observation_noise:ObservationNoise"),
    Row("action-delay", "tiltyard.wrappers.perturbations.action_delay:ActionDelay"),
    Row("random-physics", "tiltyard.wrappers.perturbations.random_physics:RandomPhysics"),
)
"""What robots meet that simulators leave out."""

ROWS = PRACTICE + REWARDS + PERTURBATIONS

PHONE_REWARDS: tuple[Row, ...] = (Row("opagent", "tiltyard.wrappers.rewards.opagent:HybridReward"),)
"""Rewards of simulated phones."""

GUARDS: tuple[Row, ...] = (Row("harmonyguard", "tiltyard.wrappers.harmonyguard:RuleGuard"),)
"""What refuses actions of simulated phones, or lets them cost."""

POLICIES: tuple[Row, ...] = (Row("reflector", "tiltyard.wrappers.reflector:Reflector", paper="opagent"),)
"""What goes around a policy, not around an environment."""

PHONES = PHONE_REWARDS + GUARDS + POLICIES


def load(handle: str) -> type[Any]:
    """The class of a wrapper; ``KeyError`` with the nearest handles otherwise."""
    by_handle = {row.handle: row for row in ROWS + PHONES}
    if handle not in by_handle:
        raise KeyError(unknown("wrapper", handle, by_handle))
    module, _, name = by_handle[handle].entry_point.partition(":")
    loaded: type[Any] = getattr(import_module(module), name)
    return loaded
