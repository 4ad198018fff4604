"""A rollout worker: samples problems with weights that it is sent, in the learner's process or in one of its own.

A process is ``python -m tiltyard.agents.language.rollout_worker FD``, FD being its end of a socket to the learner. Both
ends unpickle what the other sends, over a socket that no third process has. It ends when the learner does: the learner
holds the other end of its standard input, which closes even if the learner is killed. An error is its last line on
stderr.
"""

import inspect
import io
import os
import pickle
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from ...wrappers.components import Component, Guidance
from ..models.language_model import LanguageModel
from .context import Context
from .rollouts import Rollouts
from .samplers.base import Sampler

Streams = Mapping[str, Any]
"""Where random generators stand: ``answers``, the policy's, and ``problems``, the agent's."""


@dataclass(frozen=True)
class Task:
    """Problems that are sampled together.

    Attributes:
        seeds: of the problems.
        group_size: completions of each.
        progress: of the training.
        seed: of the draws, so that who samples it again draws the same; or the learner's own streams, to be gone on
            from.
        version: of the weights, where only these will do; None: the newest.
    """

    seeds: tuple[int, ...]
    group_size: int
    progress: float
    seed: int | Streams
    version: int | None = None


@dataclass(frozen=True)
class Sampled:
    """The result of a task.

    Attributes:
        rollouts: group numbers are positions in the task's seeds.
        steps: the infos of each environment step, for callbacks and logs.
        streams: where the generators stand now.
    """

    rollouts: Rollouts
    steps: list[list[dict[str, Any]]]
    streams: Streams


def streams_of(policy: LanguageModel, rng: np.random.Generator) -> Streams:
    """Where the generators of a policy and of an agent stand."""
    assert policy.generator is not None
    return {"answers": policy.generator.get_state(), "problems": rng.bit_generator.state}


def go_on_from(streams: Streams, policy: LanguageModel, rng: np.random.Generator) -> None:
    """Sets both generators to where ``streams`` says."""
    assert policy.generator is not None
    policy.generator.set_state(streams["answers"])
    rng.bit_generator.state = streams["problems"]


class RolloutWorker:
    """A copy of policy and environment that samples tasks.

    Args:
        recipe: what :func:`recipe` made.
    """

    def __init__(self, recipe: bytes) -> None:
        self.policy, self.env, self.sampler, self.guidance = pickle.loads(recipe)
        self.policy.set_training_mode(False)
        self.rng = np.random.default_rng(0)  # set by each task

    def load(self, weights: bytes) -> None:
        """Takes weights, as :func:`weights_of` gives them."""
        self.policy.load_state_dict(torch.load(io.BytesIO(weights), map_location=self.policy.device, weights_only=True))

    def sample(self, task: Task) -> Sampled:
        """Samples all problems of a task.

        Raises:
            ValueError: the environment or the sampler returned something else than it promises.
        """
        if isinstance(task.seed, int):
            self.policy.reseed(task.seed)
            self.rng = np.random.default_rng([task.seed, 1])
        else:
            go_on_from(task.seed, self.policy, self.rng)
        steps: list[list[dict[str, Any]]] = []

        def on_step(infos: list[dict[str, Any]]) -> bool:
            steps.append(infos)
            return True

        context = Context(
            self.policy, self.env, self.rng, progress=task.progress, guidance=self.guidance, on_step=on_step
        )
        rollouts = self.sampler.rollouts(context, context.problems(task.seeds), task.group_size)
        return Sampled(replace(rollouts, solve=None), steps, streams_of(self.policy, self.rng))


def weights_of(policy: LanguageModel) -> bytes:
    """A policy's weights as they are now."""
    stored = io.BytesIO()
    torch.save(dict(policy.state_dict()), stored)
    return stored.getvalue()


def recipe(policy: LanguageModel, env: VecEnv, sampler: Sampler, guidance: Guidance) -> bytes:
    """All that a worker is made of.

    Raises:
        TypeError: a sampler or a guidance that remembers something, which workers would not share; or a part that
            cannot be sent to another process.
    """
    for part in (sampler, guidance):
        if part.state_dict() or part.networks() or type(part).begin is not Component.begin:
            raise TypeError(
                f"{type(part).__name__} remembers what it has seen, which rollout workers do not share: sample in the "
                "learner (rollout_workers=0, max_staleness=0)"
            )
    stored = io.BytesIO()
    try:
        _Pickler(stored).dump((policy, env, sampler, guidance))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise TypeError(
            f"rollout workers need copies of policy, environment, sampler and guidance, one of which cannot be sent to "
            f"another process ({error}): sample in the learner (rollout_workers=0, max_staleness=0)"
        ) from error
    return stored.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # knows lambdas and classes of a script
    """Knows SB3's environment wrappers besides, which keep the members of their class."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, VecEnvWrapper):
            return _wrapper, (type(obj), {key: value for key, value in vars(obj).items() if key != "class_attributes"})
        return super().reducer_override(obj)


def _wrapper(kind: type[VecEnvWrapper], state: dict[str, Any]) -> VecEnvWrapper:
    made = kind.__new__(kind)
    vars(made).update(state, class_attributes=dict(inspect.getmembers(kind)))
    return made


def main(fd: int) -> None:
    """Samples what the learner asks for until it asks for no more."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    learner = Connection(fd)
    threads, stored = pickle.loads(learner.recv_bytes())
    torch.set_num_threads(threads)
    worker = RolloutWorker(stored)
    while asked := learner.recv_bytes():
        task, weights = pickle.loads(asked)
        if weights is not None:
            worker.load(weights)
        learner.send_bytes(cloudpickle.dumps(worker.sample(task)))


def _end_with_parent() -> None:
    while os.read(0, 1):  # not sys.stdin, whose lock an interpreter that ends with an error would wait for
        pass
    os._exit(130)


if __name__ == "__main__":
    main(int(sys.argv[1]))
