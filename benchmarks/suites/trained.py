"""One trained agent an environment: those that ``--agent trained`` plays, and their settings.

Nothing was tuned but for the swimmer, which stays where it is with the runners' settings (a normalised return of 0.03):
it has those of ``control-v2-swimmer-rollouts``. Text and phones have base models and studies of their own.
"""

from typing import Any

from .suite import Entry, Suite, Task

_RATE = {"schedule": "linear", "start": 1e-3, "end": 0.0}
_PPO: dict[str, Any] = {"n_steps": 64, "batch_size": 2048, "n_epochs": 4, "learning_rate": _RATE}
_SMALL = {**_PPO, "n_envs": 32, "batch_size": 512}
_SWIMMER: dict[str, Any] = {
    **{"n_envs": 16, "n_steps": 1024, "batch_size": 512, "n_epochs": 10, "learning_rate": 3e-4},
    **{"gamma": 0.9999, "gae_lambda": 0.98},
}
_DRIVER: dict[str, Any] = {
    "policy_kwargs": {"net_arch": [128, 128]},
    **{"n_envs": 128, "n_steps": 32, "batch_size": 1024, "n_epochs": 6, "ent_coef": 0.003},
    "learning_rate": {"schedule": "linear", "start": 3e-4, "end": 0.0},
}
_BUDGETS: dict[str, tuple[int, float, dict[str, Any]]] = {
    "HalfCheetah-v5": (2_000_000, 120, _PPO),
    "Hopper-v5": (2_000_000, 150, _PPO),
    "Walker2d-v5": (2_000_000, 150, _PPO),
    "Ant-v5": (2_000_000, 200, _PPO),
    "Humanoid-v5": (4_000_000, 900, _PPO),
    "Swimmer-v5": (1_000_000, 150, _SWIMMER),
    "Pusher-v5": (1_000_000, 60, _PPO),
    "Reacher-v5": (1_000_000, 60, _PPO),
    "InvertedPendulum-v5": (200_000, 15, _SMALL),
    "InvertedDoublePendulum-v5": (500_000, 30, _SMALL),
    "Highway-v1": (1_000_000, 90, _DRIVER),
    "Merge-v0": (1_000_000, 90, _DRIVER),
    "Intersection-v0": (1_000_000, 100, _DRIVER),
    "Roundabout-v0": (1_000_000, 90, _DRIVER),
    "RaceTrack-v0": (1_000_000, 70, _DRIVER),
}

TRAINED = Suite(
    "trained-v1",
    "One agent an environment, which is shipped: PPO from many environments, 40 minutes of one core in all",
    tasks=tuple(
        Task(f"tiltyard/{name}", (Entry("fast-ppo", *budget),), eval_points=4) for name, budget in _BUDGETS.items()
    ),
    seeds=(0,),
)
