"""What happens inside a run: the agent is built, trained under SB3's callbacks, evaluated and saved."""

import json
import time
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback, EvalCallback
from stable_baselines3.common.logger import Logger, configure

from .. import agents
from ..agents import presets
from ..agents.catalogue import ROWS, Row
from ..agents.checkpoint import check_keywords
from ..agents.language.methods import check_choices
from ..agents.schedules import of_remaining
from ..agents.settings import check_setting, check_settings
from ..agents.spaces import SPACES
from ..envs.catalogue import find as find_env
from .diverging import recorded
from .evaluation import Evaluation, check_held_out, evaluation_env, evaluation_seeds, play_episodes
from .overshoot import warn_of
from .runs import CHECKPOINT, CONTINUES, CURVE, DATA, FINAL, GROUPED, PRESET, RESUMED, SAMPLED, STEPS, Run
from .session import Session, earlier_points, keep, restored
from .threads import one_thread
from .time_limit import is_endless, warning_of
from .training_log import TRAINING, summary

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

OWN = ("env", "seed")
"""Constructor keywords that a run sets itself."""
OF_RUN = (*DATA, SAMPLED, GROUPED, RESUMED, CONTINUES)
"""Params that are the run's, and no keywords of the agent."""


def check_params(agent: Row, params: Mapping[str, Any]) -> None:
    """Refuses what the agent's constructor does not have or could not mean, and what is the run's own.

    As in :func:`tiltyard.agents.make`, ``n_envs``, ``env_kwargs`` and ``preset`` may stand among them, and ``dataset``
    with ``offline_steps`` for agents that can learn from data, and ``eval_sampled`` and ``eval_group``.

    Raises:
        TypeError: such a keyword, or a value of another kind than its own.
        ValueError: a number outside its range, or a method or component by a name that there is not.
    """
    check_keywords(agent.load(), params.keys() - {"n_envs", "env_kwargs", PRESET, *OF_RUN})
    check_settings(agent.load(), params if agent.speaks else of_remaining(params))
    agent.check_method(params)
    if agent.speaks and issubclass(agent.load(), agents.PolicyGradient):
        check_choices(params, agent.settings_for("").get("method", "grpo"), agent.name)
    check_setting("n_envs", params.get("n_envs"), int | None, of=agent.name)
    check_setting("env_kwargs", params.get("env_kwargs", {}), dict, of=agent.name)
    check_setting(PRESET, params.get(PRESET, presets.AUTO), str, of=agent.name)
    if not isinstance(params.get(SAMPLED, False), bool):
        raise TypeError(f"{SAMPLED} is true or false, got {params[SAMPLED]!r}")
    if type(params.get(GROUPED, 1)) is not int:
        raise TypeError(f"{GROUPED} is a number of episodes, got {params[GROUPED]!r}")
    for name in OWN:
        if name in params:
            raise TypeError(f"{name!r} is set by the run itself, not among its params")
    if any(name in params for name in DATA):
        _check_data(agent, params)
    elif getattr(agent.load(), "needs_data", False) and "base" not in (params.get("policy_kwargs") or {}):
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


def train(
    run: Run, folder: Path, progress: Callable[[int], None] | None = None, session: Session | None = None
) -> None:
    """Executes ``run`` on one thread and leaves its files (all but ``run.json``) in ``folder``."""
    session = session or Session()
    if (RESUMED in run.params) != (session.source is not None):
        raise ValueError(f"{RESUMED} is set by --resume alone: a run goes on from what it finds there")
    with one_thread(), session.tracked(run, folder) as writers:
        logger = configure(str(folder), ["csv"])
        logger.output_formats += writers
        _train(run, folder, session, logger, _Steps(folder / STEPS, progress))


def _train(run: Run, folder: Path, session: Session, logger: Logger, steps: "_Steps") -> None:
    start, used = time.perf_counter(), time.process_time()
    agent = _agent(run, session)
    training = agent.get_env()
    assert training is not None
    evaluation = evaluation_env(run.env_id, run.agent, run.eval_episodes, **run.params.get("env_kwargs", {}))
    try:
        check_held_out(training, evaluation, splits=find_env(run.env_id).splits)
        if is_endless(evaluation):
            warnings.warn(warning_of(run.env_id), UserWarning, 2)
        warn_of([run])
        agent.set_logger(logger)
        curve = HeldOutEvaluation(evaluation, run, folder, session)
        with recorded(agent, folder):
            if "dataset" in run.params:
                _learn_offline(agent, run, curve, steps)
            if run.budget:
                done = agent.num_timesteps
                agent.learn(run.budget - done, callback=[curve, steps], reset_num_timesteps=not done)
            final = curve.evaluate(None if run.budget else int(run.params["offline_steps"]))
        if session.keep and run.budget:
            keep(agent, folder)
        else:
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
        "clock": [[wall - start, processor - used] for wall, processor in curve.clock],
    }
    if told := summary(folder / "progress.csv"):
        record[TRAINING] = told
    (folder / FINAL).write_text(json.dumps(record, indent=1) + "\n")


def _agent(run: Run, session: Session) -> Any:
    """A new agent, or the one to go on with."""
    params = {name: value for name, value in deepcopy(dict(run.params)).items() if name not in OF_RUN}
    agent = agents.make(run.agent, run.env_id, seed=run.seed, **params)  # SB3 writes into dicts
    if session.source is None:
        return agent
    if CONTINUES not in run.params:
        return restored(agent, session.source, run.seed)
    return restored(agent, session.source, run.seed, {name: params[name] for name in SPACES if name in params})


def _learn_offline(agent: Any, run: Run, curve: "HeldOutEvaluation", steps: "_Steps") -> None:
    """Learns from the run's dataset; a run that goes on in the environment starts its curve with what that gave."""
    _warn_of_origin(run)
    learnt = RESUMED in run.params  # then the data are only taken in again
    updates = 0 if learnt else int(run.params.get("offline_steps", 0))
    agent.learn_offline(run.params["dataset"], updates, callback=[steps] if run.budget else [curve, steps])
    if run.budget and not agent.num_timesteps:
        curve.init_callback(agent)
        curve.evaluate()


def _warn_of_origin(run: Run) -> None:
    """Says so where the run's dataset was recorded in another environment than the run's; some do not say in which."""
    from ..agents.control.datasets import load

    made_in = load(run.params["dataset"]).spec.env_spec
    if made_in is not None and made_in.id != run.env_id.rpartition(":")[2]:
        warnings.warn(
            f"dataset {run.params['dataset']} was recorded in {made_in.id}, and {run.agent} is evaluated in "
            f"{run.env_id}: what it learns from may hold there or not",
            UserWarning,
            2,
        )


class HeldOutEvaluation(EvalCallback):
    """SB3's ``EvalCallback`` on the same held-out problems at every point, spaced by environment steps.

    Spacing by steps rather than by calls makes the points of agents with other numbers of environments comparable; the
    final point is taken by :meth:`evaluate` after ``learn`` has returned, because off-policy agents go on updating
    after their last step.
    """

    def __init__(self, env: "VecEnv", run: Run, folder: Path, session: Session) -> None:
        super().__init__(env, n_eval_episodes=run.eval_episodes, verbose=0)
        self.path = folder / CURVE
        self._keep = session.keep and run.budget > 0
        self.clock: list[tuple[float, float]] = []  # by the wall and of the processor, as each point began
        begin = run.params.get(RESUMED, 0)
        for name, values in earlier_points(session.source, run.eval_episodes, begin).items():
            setattr(self, {"ep_lengths": "evaluations_length"}.get(name, f"evaluations_{name}"), values)
        self._seeds = evaluation_seeds(run.seed, env.num_envs, run.params.get(GROUPED, 1))
        self.deterministic = not run.params.get(SAMPLED, False)
        length = run.budget or int(run.params["offline_steps"])
        points = (length * i // run.eval_points for i in range(1, run.eval_points))
        self._due = [step for step in points if step > begin]

    def _on_step(self) -> bool:
        if self._due and self.num_timesteps >= self._due[0]:
            self._due = [step for step in self._due if step > self.num_timesteps]
            self.evaluate()
            if self._keep:
                keep(self.model, self.path.parent)
        return True

    def evaluate(self, at: int | None = None) -> Evaluation:
        """Evaluates now, and writes ``evaluations.npz`` and the logger's ``eval/`` columns.

        Args:
            at: how long the agent has trained; its own count by default.
        """
        at = self.model.num_timesteps if at is None else at
        self.clock.append((time.perf_counter(), time.process_time()))
        found = play_episodes(
            self.model, self.eval_env, self.n_eval_episodes, seeds=self._seeds, deterministic=self.deterministic
        )
        self.last_mean_reward = found.mean
        self.best_mean_reward = max(self.best_mean_reward, found.mean)
        self.evaluations_timesteps.append(at)
        self.evaluations_results.append(list(found.scores))
        self.evaluations_length.append(list(found.lengths))
        self.evaluations_successes.append(list(found.successes))
        told: Any = {"successes": self.evaluations_successes} if found.successes else {}  # else left out, as SB3 does
        np.savez(
            self.path,
            timesteps=self.evaluations_timesteps,
            results=self.evaluations_results,
            ep_lengths=self.evaluations_length,
            **told,
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
