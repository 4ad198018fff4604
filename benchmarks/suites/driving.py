"""Driving a lane graph: PPO in five scenes, with CaRL's reward and with the same terms added up instead of multiplied.

All learn on ten training maps and are evaluated on twenty others. Scores are returns of CaRL's reward there, whatever
an agent was trained with, between a random policy (0) and the scripted expert (1): a flawless route returns 1 and what
is driven carelessly less, which success alone (0 or 1 a route) would not tell apart in agents that rarely succeed.
Driving score, success, infractions and the gap to the training maps are those of ``benchmarks/studies/driving.py``.
Learning rates are those that did best, of four each, on tuning seeds of two scenes (docs/results/driving-v1-tuning).
"""

from typing import Any

from .suite import Comparison, Entry, Suite, Task

_PPO: dict[str, Any] = {
    "policy_kwargs": {"net_arch": [128, 128]},
    **{"n_envs": 128, "n_steps": 32, "batch_size": 1024, "n_epochs": 6},
    **{"gamma": 0.99, "gae_lambda": 0.95, "ent_coef": 0.003},
}
SUM: dict[str, Any] = {"training_reward": "sum"}
_RATES = {"carl": 3e-4, "sum": 1e-4}
_REFERENCE = f"fast-ppo, learning_rate={_RATES['carl']}"
_STEPS, _SECONDS = 700_000, 90.0


def _tasks(env_id: str) -> tuple[Task, Task]:
    """What races in a scene: with the reward as it is, and with its terms added up."""
    carl, of_sum = (Entry("fast-ppo", _STEPS, _SECONDS, {**_PPO, "learning_rate": rate}) for rate in _RATES.values())
    return Task(env_id, (carl,), eval_points=3), Task(env_id, (of_sum,), eval_points=3, env_kwargs=SUM)


_IDS = tuple(
    f"tiltyard/{name}" for name in ("Highway-v1", "Merge-v0", "Intersection-v0", "Roundabout-v0", "RaceTrack-v0")
)

_REMARK = (
    "PPO acts by manoeuvres (`action=discrete`), whose tracker keeps the lane and follows the route by itself; 0 is a "
    "random policy of pedal and steering, and docs/driving.md says what random manoeuvres earn. Both rewards have the "
    "same network, steps and number of trials of the learning rate: four values on two seeds in "
    "Intersection-v0 and RaceTrack-v0 (docs/results/driving-v1-tuning). The best rate of the sum, 0.0001, lies at the "
    "end of that grid, so that a lower one might serve it better. After 700,000 steps, a minute and a half of one "
    "core, returns still rise in most scenes: no agent here is as good as the scripted expert, "
    "which is 1. CaRL's authors train on 300 million samples. On the road: docs/results/driving-v1-road."
)

DRIVING = Suite(
    "driving-v1",
    "Driving scenes: PPO with CaRL's reward and with its terms added up, on maps never seen; about two core hours",
    tasks=tuple(task for env_id in _IDS for task in _tasks(env_id)),
    seeds=tuple(range(8)),
    comparisons=(
        Comparison("All scenes", _IDS, _REFERENCE, across=True, remark=_REMARK),
        *(Comparison(env_id.removeprefix("tiltyard/"), (env_id,), _REFERENCE, across=True) for env_id in _IDS),
    ),
)
