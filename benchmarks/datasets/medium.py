"""The medium agent of D4RL, trained to a third of the way from random to expert, and all it saw until then.

In D4RL (Fu et al. 2020, sec. 5 and scripts/generation/mujoco) "medium" is SAC stopped early, at about a third of the
expert's return, and "medium-replay" all that its replay buffer held by then. One training serves both here: it is kept
in a hidden folder beside the datasets, under a name that holds everything its outcome hangs on.
"""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import provenance
from .episodes import Episode, packed, unpacked
from .store import home, path_of, whole, write_json

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

TARGET = 1 / 3
"""Normalised return (0 random, 1 expert) at which the training stops."""
EVERY, EPISODES = 2000, 16
"""Steps between two looks at the agent, and the episodes (tuning seeds, sampled actions) of each."""
CHECKPOINT, REPLAY, RECORD = "checkpoint.zip", "replay.npz", "training.json"


@dataclass(frozen=True)
class Recipe:
    """What decides how a medium agent turns out.

    Attributes:
        env_id: where it is trained.
        agent: a name of the agents' catalogue.
        seed: of the training.
        settings: keywords of :func:`tiltyard.agents.make` beyond the agent's row.
    """

    env_id: str
    agent: str = "sac"
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where it is kept: hidden, so that Minari does not take it for a dataset."""
        from ...agents.catalogue import find
        from ..packages import behind_both

        versions = provenance.versions() | behind_both(self.env_id, find(self.agent), loaded=True)
        decisive = [self.env_id, dict(self.settings), versions, TARGET, EVERY, EPISODES]
        digest = sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()[:12]
        return path_of(home(self.env_id)) / f".medium-{self.agent}-{self.seed}-{digest}"


@dataclass(frozen=True)
class Medium:
    """A trained medium agent.

    Attributes:
        folder: with its checkpoint and replay.
        record: how it was trained and what it reached.
    """

    folder: Path
    record: Mapping[str, Any]

    def agent(self) -> "BaseAlgorithm":
        """The agent itself."""
        from ...agents.catalogue import find

        loaded: BaseAlgorithm = find(self.record["agent"]).load().load(self.folder / CHECKPOINT, device="cpu")
        return loaded

    def replay(self) -> list[Episode]:
        """All episodes of its training, in the order in which they ended."""
        with np.load(self.folder / REPLAY, allow_pickle=False) as file:
            return unpacked(file, "replay")


def medium(
    recipe: Recipe, *, steps: int, retrain: bool = False, progress: Callable[[int], None] | None = None
) -> Medium:
    """The medium agent of ``recipe``: the one kept from before, or else trained now.

    Args:
        recipe: what to train.
        steps: of the environment, at most.
        retrain: whether to train even where one is kept.
        progress: is told the steps done.

    Raises:
        RuntimeError: it does not reach :data:`TARGET` within ``steps``, or these end before the first look at it.
    """
    if retrain or not (recipe.folder / RECORD).is_file():
        with whole(recipe.folder) as folder:
            _train(recipe, steps, folder, progress)
    return Medium(recipe.folder, json.loads((recipe.folder / RECORD).read_text()))


def _train(recipe: Recipe, steps: int, folder: Path, progress: Callable[[int], None] | None) -> None:
    from ... import agents
    from ...envs.catalogue import find as find_env
    from ..evaluation import evaluation_env
    from ..threads import one_thread
    from .record import Recorder
    from .training import UntilGood

    with one_thread():
        agent = agents.make(recipe.agent, recipe.env_id, seed=recipe.seed, **deepcopy(dict(recipe.settings)))
        training = agent.get_env()
        assert training is not None
        recorder = Recorder(training, "replay")
        agent.set_env(recorder)
        kwargs = dict(recipe.settings.get("env_kwargs", {}))
        evaluation = evaluation_env(recipe.env_id, recipe.agent, EPISODES, **kwargs)
        watch = UntilGood(evaluation, find_env(recipe.env_id).normalise, TARGET, every=EVERY, progress=progress)
        try:
            agent.learn(steps, callback=watch)
        finally:
            recorder.close()
            evaluation.close()
    if not watch.looked:
        raise RuntimeError(
            f"{recipe.agent} trained for {agent.num_timesteps} steps and was never scored, which is done every "
            f"{EVERY:,}: give it more --train-steps"
        )
    if watch.reached < TARGET:
        raise RuntimeError(
            f"{recipe.agent} came {watch.best:.2f} of the way from random to expert in {agent.num_timesteps} steps, "
            f"but a medium agent needs {TARGET:.2f}: give it more --train-steps, or other --set"
        )
    agent.save(folder / CHECKPOINT)
    np.savez(folder / REPLAY, allow_pickle=False, **packed(recorder.finish()))  # type: ignore[arg-type]
    record = {
        "agent": recipe.agent,
        "seed": recipe.seed,
        "settings": dict(recipe.settings),
        "steps": agent.num_timesteps,
        "normalised": watch.reached,
        "versions": provenance.versions(),
        "commit": provenance.commit(),
        "hardware": provenance.hardware(),
    }
    write_json(folder / RECORD, record)
