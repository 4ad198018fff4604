"""Wrappers: adapters to Stable-Baselines3 (:mod:`.spaces`), rewards, curricula and guidance."""

from importlib import import_module
from typing import Any

from .. import unknown

_EXPORTS = {
    "ALPGMM": ".curricula.alp_gmm",
    "RandomTeacher": ".curricula.alp_gmm",
    "S3RL": ".curricula.s3rl",
    "TaughtEnv": ".curricula.alp_gmm",
    "sb3_env": ".spaces",
    "sb3_spaces": ".spaces",
    "teacher_snapshots": ".curricula.snapshots",
    "to_sb3": ".spaces",
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(unknown("attribute of tiltyard.wrappers", name, _EXPORTS))
    return getattr(import_module(_EXPORTS[name], __name__), name)
