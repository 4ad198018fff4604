"""What happens inside a run: the agent is built, trained under SB3's callbacks, evaluated and saved."""

import json
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.logger import configure

from .. import agents
from ..agents.catalogue import ROWS, Row
from ..agents.checkpoint import check_keywords
from ..agents.settings import check_setting, check_settings
from ..envs.catalogue import find as find_env
from .evaluation import Evaluation, check_held_out, evaluation_env, evaluation_seeds, play_episodes
from .runs import CHECKPOINT, CURVE, DATA, FINAL, SAMPLED, STEPS, Run
from .threads import one_thread

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

OWN = ("env", "seed")
"""Constructor keywords that a run sets itself."""


def check_params(agent: Row, params: Mapping[str, Any]) -> None:
    """Refuses what the agent's constructor does not have or could not mean, and what is the run's own.

    As in :func:`tiltyard.agents.make`, ``n_envs`` and ``env_kwargs`` may stand among them, and ``dataset`` with
    ``offline_steps`` for agents that can learn from data, and ``eval_sampled``.

    Raises:
        TypeError: such a keyword, or a value of another kind than its own.
        ValueError: a number outside its range.
    """
    check_keywords(agent.load(), params.keys() - {"n_envs", "env_kwargs", SAMPLED, *DATA})
    check_settings(agent.load(), params)
    check_setting("n_envs", params.get("n_envs"), int | None, of=agent.name)
    check_setting("env_kwargs", params.get("env_kwargs", {}), dict, of=agent.name)
    if not isinstance(params.get(SAMPLED, False), bool):
        raise TypeError(f"{SAMPLED} is true or false, got {params[SAMPLED]!r}")
    for name in OWN:
        if name in params:
            raise TypeError(f"{name!r} is set by the run itself, not among its params")
    if any(name in params for name in DATA):
        _check_data(agent, params)
    elif getattr(agent.load(), "needs_data", False):
        raise TypeError(f"{agent.name} learns from data: give it a dataset and offline_steps (--set dataset=ID)")


def _check_data(agent: Row, params: Mapping[str, Any]) -> None:
    if not hasattr(agent.load(), "learn_offline"):
        able = [row.name for row in ROWS if hasattr(row.load(), "learn_offline")]
        raise TypeError(f"{agent.name} cannot learn from a dataset: agents that can are {', '.join(able)}")
    dataset, steps = params.get("dataset"), params.get("offline_steps", 0)
    if not isinstance(dataset, str):
        raise TypeError(f"dataset is the id of a Minari dataset, such as tiltyard/hopper/medium-v0, got {dataset!r}")
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise TypeError(f"offline_steps is a number of updates of at least 0, got {steps!r}")


def train(run: Run, folder: Path, progress: Callable[[int], None] | None = None) -> None:
    """Executes ``run`` on one thread and leaves its files (all but ``run.json``) in ``folder``."""
    with one_thread():
        _train(run, folder, progress)


def _train(run: Run, folder: Path, progress: Callable[[int], None] | None) -> None:
    start = time.perf_counter()
    params = {name: value for name, value in deepcopy(dict(run.params)).items() if name not in (*DATA, SAMPLED)}
    agent: Any = agents.make(run.agent, run.env_id, seed=run.seed, **params)  # SB3 writes into dicts
    training = agent.get_env()
    assert training is not None
    evaluation = evaluation_env(run.env_id, run.agent, run.eval_episodes, **run.params.get("env_kwargs", {}))
    try:
        check_held_out(training, evaluation, splits=find_env(run.env_id).splits)
        agent.set_logger(configure(str(folder), ["csv"]))
        curve = HeldOutEvaluation(evaluation, run, folder)
        steps = _Steps(folder / STEPS, progress)
        if "dataset" in run.params:
            _learn_offline(agent, run, curve, steps)
        if run.budget:
            agent.learn(run.budget, callback=[curve, steps])
        final = curve.evaluate(None if run.budget else int(run.params["offline_steps"]))
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


def _learn_offline(agent: Any, run: Run, curve: "HeldOutEvaluation", steps: "_Steps") -> None:
    """Learns from the run's dataset; a run that goes on in the environment starts its curve with what that gave."""
    updates = int(run.params.get("offline_steps", 0))
    agent.learn_offline(run.params["dataset"], updates, callback=[steps] if run.budget else [curve, steps])
    if run.budget:
        curve.init_callback(agent)
        curve.evaluate()


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
        self.deterministic = not run.params.get(SAMPLED, False)
        length = run.budget or int(run.params["offline_steps"])
        self._due = [length * i // run.eval_points for i in range(1, run.eval_points)]

    def _on_step(self) -> bool:
        if self._due and self.num_timesteps >= self._due[0]:
            self._due = [step for step in self._due if step > self.num_timesteps]
            self.evaluate()
        return True

    def evaluate(self, at: int | None = None) -> Evaluation:
        """Evaluates now, and writes ``evaluations.npz`` and the logger's ``eval/`` columns.

        Args:
            at: how long the agent has trained; its own count by default.
        """
        at = self.model.num_timesteps if at is None else at
        found = play_episodes(
            self.model, self.eval_env, self.n_eval_episodes, seeds=self._seeds, deterministic=self.deterministic
        )
        self.last_mean_reward = found.mean
        self.best_mean_reward = max(self.best_mean_reward, found.mean)
        self.evaluations_timesteps.append(at)
        self.evaluations_results.append(list(found.scores))
        self.evaluations_length.append(list(found.lengths))
        untold: list[Any] = [np.nan] * len(found.scores)
        self.evaluations_successes.append(list(found.successes) or untold)
        np.savez(
            self.path,
            timesteps=self.evaluations_timesteps,
            results=self.evaluations_results,
            ep_lengths=self.evaluations_length,
            successes=self.evaluations_successes,
        )
        self.logger.record("eval/mean_reward", found.mean)
        if found.successes:
            self.logger.record("eval/success_rate", found.success_rate)
        self.logger.record("time/total_timesteps", at)
        self.logger.dump(at)
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
