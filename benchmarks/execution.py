"""What happens inside a run: the agent is built, trained under SB3's callbacks, evaluated and saved."""

import json
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.logger import configure

from .. import agents
from ..agents.catalogue import Row
from ..agents.checkpoint import check_keywords
from ..envs.catalogue import find as find_env
from .evaluation import Evaluation, check_held_out, evaluation_env, evaluation_seeds, play_episodes
from .runs import CHECKPOINT, CURVE, FINAL, STEPS, Run

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

OWN = ("env", "seed")
"""Constructor keywords that a run sets itself."""


def check_params(agent: Row, params: Mapping[str, Any]) -> None:
    """Raises ``TypeError`` for a keyword that the agent's constructor does not have, or that is the run's own.

    As in :func:`tiltyard.agents.make`, ``n_envs`` and ``env_kwargs`` may stand among them.
    """
    check_keywords(agent.load(), params.keys() - {"n_envs", "env_kwargs"})
    for name in OWN:
        if name in params:
            raise TypeError(f"{name!r} is set by the run itself, not among its params")


def train(run: Run, folder: Path, progress: Callable[[int], None] | None = None) -> None:
    """Executes ``run`` on one thread and leaves its files (all but ``run.json``) in ``folder``."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums over more threads round differently: the same command must give the same number
    try:
        _train(run, folder, progress)
    finally:
        torch.set_num_threads(threads)


def _train(run: Run, folder: Path, progress: Callable[[int], None] | None) -> None:
    start = time.perf_counter()
    agent = agents.make(run.agent, run.env_id, seed=run.seed, **deepcopy(dict(run.params)))  # SB3 writes into dicts
    training = agent.get_env()
    assert training is not None
    evaluation = evaluation_env(run.env_id, run.agent, run.eval_episodes, **run.params.get("env_kwargs", {}))
    try:
        check_held_out(training, evaluation)
        agent.set_logger(configure(str(folder), ["csv"]))
        curve = HeldOutEvaluation(evaluation, run, folder)
        agent.learn(run.budget, callback=[curve, _Steps(folder / STEPS, progress)])
        final = curve.evaluate()
        agent.save(folder / CHECKPOINT)
    finally:
        training.close()
        evaluation.close()
    record = {
        "scores": final.scores,
        "successes": final.successes,
        "normalised": find_env(run.env_id).normalise(final.mean),
        "timesteps": agent.num_timesteps,
        "wall_seconds": time.perf_counter() - start,
    }
    (folder / FINAL).write_text(json.dumps(record, indent=1) + "\n")


class HeldOutEvaluation(EvalCallback):
    """SB3's ``EvalCallback`` on the same held-out problems at every point, spaced by environment steps.

    Spacing by steps rather than by calls makes the points of agents with other numbers of lanes comparable; the final
    point is taken by :meth:`evaluate` after ``learn`` has returned, because off-policy agents go on updating after
    their last step.
    """

    def __init__(self, env: "VecEnv", run: Run, folder: Path) -> None:
        super().__init__(env, n_eval_episodes=run.eval_episodes, verbose=0)
        self.path = folder / CURVE
        self._seeds = evaluation_seeds(run.seed, env.num_envs)
        self._due = [run.budget * i // run.eval_points for i in range(1, run.eval_points)]

    def _on_step(self) -> bool:
        if self._due and self.num_timesteps >= self._due[0]:
            self._due = [step for step in self._due if step > self.num_timesteps]
            self.evaluate()
        return True

    def evaluate(self) -> Evaluation:
        """Evaluates now, and writes ``evaluations.npz`` and the logger's ``eval/`` columns."""
        found = play_episodes(self.model, self.eval_env, self.n_eval_episodes, seeds=self._seeds)
        self.last_mean_reward = found.mean
        self.best_mean_reward = max(self.best_mean_reward, found.mean)
        self.evaluations_timesteps.append(self.model.num_timesteps)
        self.evaluations_results.append(list(found.scores))
        self.evaluations_length.append(list(found.lengths))
        self.evaluations_successes.append(list(found.successes))
        np.savez(
            self.path,
            timesteps=self.evaluations_timesteps,
            results=self.evaluations_results,
            ep_lengths=self.evaluations_length,
            successes=self.evaluations_successes,
        )
        self.logger.record("eval/mean_reward", found.mean)
        self.logger.record("eval/success_rate", found.success_rate)
        self.logger.record("time/total_timesteps", self.model.num_timesteps)
        self.logger.dump(self.model.num_timesteps)
        return found


class _Steps(BaseCallback):
    """Writes the steps done to a file, twice a second, for whoever watches; and tells ``progress``."""

    def __init__(self, path: Path, progress: Callable[[int], None] | None) -> None:
        super().__init__()
        self._path, self._progress, self._next = path, progress, 0.0

    def _on_step(self) -> bool:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.5
            self._path.write_text(str(self.num_timesteps))
            if self._progress is not None:
                self._progress(self.num_timesteps)
        return True
