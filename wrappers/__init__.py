"""Wrappers: adapters to Stable-Baselines3 (:mod:`.spaces`), rewards, curricula and guidance."""

from importlib import import_module
from typing import Any

from .. import unknown

_EXPORTS = {
    "ALPGMM": ".curricula.alp_gmm",
    "ActionDelay": ".perturbations.action_delay",
    "AutonomousPractice": ".practice",
    "ClassifierReward": ".rewards.classifier_reward",
    "DriveVLMRL": ".rewards.drivevlm_rl",
    "GROOVE": ".curricula.groove",
    "HybridReward": ".rewards.opagent",
    "LapPractice": ".laps",
    "LevelReplay": ".curricula.groove",
    "MBTL": ".curricula.mbtl",
    "NoisyJudge": ".rewards.offline_rl_vlm_f",
    "ObservationNoise": ".perturbations.observation_noise",
    "ObserveTask": ".practice",
    "PerceptualReward": ".rewards.perceptualreward",
    "PotentialShaping": ".rewards.potential_shaping",
    "PreferenceModel": ".rewards.offline_rl_vlm_f",
    "PreferenceReward": ".rewards.offline_rl_vlm_f",
    "PracticePair": ".practice_pair",
    "RandomPhysics": ".perturbations.random_physics",
    "RandomTeacher": ".curricula.alp_gmm",
    "Reflector": ".reflector",
    "RuleGuard": ".harmonyguard",
    "S3RL": ".curricula.s3rl",
    "ShapedDriving": ".rewards.shaped_driving",
    "SourceSelection": ".curricula.mbtl",
    "StepRewards": ".rewards.perceptualreward",
    "SuccessClassifier": ".rewards.success_classifier",
    "TaughtEnv": ".curricula.alp_gmm",
    "TextJudge": ".rewards.offline_rl_vlm_f",
    "VLMRL": ".rewards.vlm_rl",
    "VLMRM": ".rewards.vlm_rm",
    "VectorActionDelay": ".perturbations.action_delay",
    "VectorDriveVLMRL": ".rewards.drivevlm_rl",
    "VectorHybridReward": ".rewards.opagent",
    "VectorObservationNoise": ".perturbations.observation_noise",
    "VectorPerceptualReward": ".rewards.perceptualreward",
    "VectorPotentialShaping": ".rewards.potential_shaping",
    "VectorShapedDriving": ".rewards.shaped_driving",
    "VectorVLMRL": ".rewards.vlm_rl",
    "VectorVLMRM": ".rewards.vlm_rm",
    "observation_scale": ".perturbations.observation_noise",
    "published_potential": ".rewards.potentials",
    "sb3_env": ".spaces",
    "sb3_spaces": ".spaces",
    "teacher_snapshots": ".curricula.snapshots",
    "to_sb3": ".spaces",
}

__all__ = sorted(_EXPORTS)


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(unknown("attribute of tiltyard.wrappers", name, _EXPORTS))
    return getattr(import_module(_EXPORTS[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(_EXPORTS)
