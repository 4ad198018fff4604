"""Driving six scenes, a town with held-out hazards among them: PPO and soft actor-critic at about equal computing time.

Both learn on ten training maps, step many environments at once, and are evaluated on twenty other maps; in the town
also in situations that training never shows (``TownTriggers-v0``). Scores are returns of CaRL's reward, between a
random policy (0) and the scripted expert (1). PPO takes 400,000 steps and soft actor-critic 140,000, which is about
half a minute of one idle core for either.

``driving-v2`` lets PPO drive by manoeuvres, as it does by default, and soft actor-critic by pedal and steering.
``driving-v3`` has both by pedal and steering.
"""

from dataclasses import replace
from typing import Any

from .suite import Comparison, Entry, Suite, Task

PPO: dict[str, Any] = {
    "policy_kwargs": {"net_arch": [128, 128]},
    **{"n_envs": 128, "n_steps": 32, "batch_size": 1024, "n_epochs": 6},
    **{"gamma": 0.99, "gae_lambda": 0.95, "ent_coef": 0.003, "learning_rate": 1e-4},
}
SAC: dict[str, Any] = {"gamma": 0.99, "learning_rate": 3e-3}
_REFERENCE = "fast-ppo"
_NAMES = ("Highway-v1", "Merge-v0", "Intersection-v0", "Roundabout-v0", "RaceTrack-v0", "TownTriggers-v0")
_IDS = tuple(f"tiltyard/{name}" for name in _NAMES)

_REMARK = (
    "The two act differently: PPO by manoeuvres (`action=discrete`), whose tracker keeps the lane and follows the "
    "route by itself, soft actor-critic by pedal and steering (`action=box`), so that differences are those of agent "
    "and actions together. Random manoeuvres, and none at all, earn far more than the random pedal and steering that "
    "are 0 here; docs/driving.md says how much. Each agent had five learning rates on two tuning seeds in "
    "Intersection-v0 and RaceTrack-v0 (docs/results/driving-v2-tuning and -tuning-sac). Curves still rise at the end "
    "of these short runs. A flawless drive returns 1 and the expert returns 0.94 to 1, so that no agent could beat it "
    "by much."
)

DRIVING_V2 = Suite(
    "driving-v2",
    "Driving scenes and a town with held-out hazards: PPO and soft actor-critic at equal time; under two core hours",
    tasks=tuple(
        Task(
            env_id,
            (Entry("fast-ppo", 400_000, 50.0, PPO, "fast-ppo"), Entry("fast-sac", 140_000, 50.0, SAC, "fast-sac")),
            eval_points=4,
        )
        for env_id in _IDS
    ),
    seeds=tuple(range(8)),
    comparisons=(
        Comparison("All scenes", _IDS, _REFERENCE, across=True, remark=_REMARK),
        *(Comparison(env_id.removeprefix("tiltyard/"), (env_id,), _REFERENCE, across=True) for env_id in _IDS),
    ),
)

_RATE = 3e-4
_REMARK_V3 = (
    "Both drive by pedal and steering (`action=box`). Each agent had five learning rates on two tuning seeds in "
    "Intersection-v0 and RaceTrack-v0 (docs/results/driving-v2-tuning-sac, of an earlier form of the agent, and "
    "driving-v3-tuning). Curves still rise at the end of these short runs."
)


def _by_pedals(task: Task) -> tuple[Task, Task]:
    """A scene of ``driving-v2`` with the same agents, PPO by pedal and steering as well."""
    ppo, sac = task.entries
    ppo = replace(ppo, params={**ppo.params, "learning_rate": _RATE})
    return replace(task, entries=(ppo,), env_kwargs={"action": "box"}), replace(task, entries=(sac,))


DRIVING_V3 = replace(
    DRIVING_V2,
    name="driving-v3",
    summary="The scenes of driving-v2 with PPO and soft actor-critic both by pedal and steering; under two core hours",
    tasks=tuple(one for task in DRIVING_V2.tasks for one in _by_pedals(task)),
    comparisons=(
        Comparison("All scenes", _IDS, "fast-sac", across=True, remark=_REMARK_V3),
        *(Comparison(env_id.removeprefix("tiltyard/"), (env_id,), "fast-sac", across=True) for env_id in _IDS),
    ),
)
