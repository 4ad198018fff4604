"""Driving a lane graph: PPO and DSAC-T in every scene, and PPO with the same rewards added up instead of multiplied.

All learn on ten training maps and are evaluated on twenty others. Scores are returns of CaRL's reward there, whatever
an agent was trained with, between a random policy (0) and the scripted expert (1): a flawless route returns 1 and what
is driven carelessly less, which success alone (0 or 1 a route) would not tell apart in agents that rarely succeed.
Driving score, success, infractions and the gap to the training maps are those of ``benchmarks/studies/driving.py``.
"""

from dataclasses import dataclass
from typing import Any

from .suite import Comparison, Entry, Suite, Task

_NETWORK: dict[str, Any] = {"policy_kwargs": {"net_arch": [128, 128]}}
_PPO: dict[str, Any] = {
    **_NETWORK,
    **{"n_envs": 64, "n_steps": 64, "batch_size": 512, "n_epochs": 6},
    **{"gamma": 0.995, "gae_lambda": 0.95, "ent_coef": 0.005},
}
_DSAC_T: dict[str, Any] = {**_NETWORK, "n_envs": 16, "gradient_steps": 4, "gamma": 0.99, "learning_starts": 2000}
SUM: dict[str, Any] = {"training_reward": "sum"}


@dataclass(frozen=True)
class _Scene:
    """A scene's row: steps of PPO and of DSAC-T that take about as long, and the rates of learning that were tuned."""

    name: str
    steps: int
    dsac_t_steps: int
    ppo: float = 1e-3
    ppo_of_sum: float = 1e-3
    dsac_t: float = 3e-4
    seconds: float = 220.0

    @property
    def env_id(self) -> str:
        return f"tiltyard/{self.name}"

    def tasks(self) -> tuple[Task, Task]:
        """What races: with the reward as it is, and with its terms added up."""
        dsac_t = Entry("dsac-t", self.dsac_t_steps, self.seconds, {**_DSAC_T, "learning_rate": self.dsac_t})
        ppo, of_sum = (
            Entry("ppo", self.steps, self.seconds, {**_PPO, "learning_rate": rate})
            for rate in (self.ppo, self.ppo_of_sum)
        )
        return Task(self.env_id, (ppo, dsac_t), eval_points=4), Task(
            self.env_id, (of_sum,), eval_points=4, env_kwargs=SUM
        )


_SCENES = (
    _Scene("Intersection-v0", 700_000, 50_000),
    _Scene("Roundabout-v0", 700_000, 50_000),
    _Scene("RaceTrack-v0", 800_000, 50_000),
    _Scene("Town-v0", 500_000, 50_000),
)
_IDS = tuple(scene.env_id for scene in _SCENES)

DRIVING = Suite(
    "driving-v1",
    "Driving scenes: PPO, DSAC-T, and PPO with rewards added up, scored on maps never seen; about six core hours",
    tasks=tuple(task for scene in _SCENES for task in scene.tasks()),
    seeds=tuple(range(8)),
    comparisons=(
        *(Comparison(env_id.removeprefix("tiltyard/"), (env_id,), "ppo") for env_id in _IDS),
        Comparison("All scenes", _IDS, "ppo"),
    ),
)
