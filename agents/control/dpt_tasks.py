"""Problems of an environment as tasks: episodes of the same problems, the expert's labels, and batches of both."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Discrete
from gymnasium.vector import SyncVectorEnv
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch import Tensor

from ..models.in_context import Context

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


Player = Callable[[Any, list[Context]], tuple[Ints, Ints]]
"""From observations, and the columns of a context that were played so far, to actions and labels ``[n]``."""


class Step(NamedTuple):
    """One step of n environments, B = n.

    Attributes:
        transitions: a column of a context; valid where the first episode since the seed is under way.
        observations: before it, as the environment gave them.
        rewards: ``[n]``.
        dones: ``[n]`` whether an episode ended.
        infos: of the environments.
    """

    transitions: Context
    observations: Any
    rewards: Array
    dones: Array
    infos: list[dict[str, Any]]


def episode(env: VecEnv, seed: int, act: Callable[[Any], Ints]) -> Iterator[Step]:
    """Steps until each environment has ended its first episode of the problem that ``seed + i`` names.

    Args:
        env: the environments.
        seed: of environment 0.
        act: from observations to actions ``[n]``, counted from 0.
    """
    assert isinstance(env.action_space, Discrete)
    env.seed(seed)
    seen: Any = env.reset()
    n, running = env.num_envs, np.ones(env.num_envs, np.bool_)
    while running.any():
        actions = act(seen)
        after, rewards, dones, infos = env.step(actions + env.action_space.start)
        following = np.array(after)
        for i in np.flatnonzero(dones):
            following[i] = infos[i]["terminal_observation"]
        flat = (seen.reshape(n, 1, -1), actions[:, None], rewards[:, None], following.reshape(n, 1, -1))
        column = Context.of(*flat)._replace(valid=running[:, None].copy())
        yield Step(column, seen, rewards, dones, infos)
        running &= ~dones
        seen = after


def expert_of(env: VecEnv) -> Callable[[Any], Ints]:
    """From observations to what the environments' scripted experts do, ``[n]`` counted from 0.

    Raises:
        TypeError: they have none, or one whose actions are no numbers of the action space.
    """
    base: Any = env.unwrapped
    inner: Any = base if isinstance(base, DummyVecEnv) else getattr(base, "env", base).unwrapped
    each: list[Any] = [one.unwrapped for one in inner.envs] if isinstance(inner, DummyVecEnv | SyncVectorEnv) else []
    if not all(hasattr(one, "expert") for one in each or [inner]):
        raise TypeError(
            "DPT learns from the optimal actions that env.expert() says (a policy with predict), and this environment "
            "has no expert(): give it one"
        )
    space = env.action_space
    assert isinstance(space, Discrete)

    def said(observations: Any) -> Ints:
        if each:
            parts = [one.expert().predict(seen)[0] for one, seen in zip(each, observations, strict=True)]
            found = np.array(parts)
        else:
            found = np.asarray(inner.expert().predict(observations)[0])
        labels: Ints = found.reshape(-1).astype(np.int64) - int(space.start)
        if found.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= space.n:
            raise TypeError(f"the environment's expert() says {found.tolist()!r:.100}, which is no action of {space}")
        return labels

    return said


def mixtures(rng: np.random.Generator, tasks: int, n_actions: int) -> npt.NDArray[np.float64]:
    r"""Probabilities of actions ``[tasks, A]``, :math:`(1 - \omega) p + \omega e_i` for each task.

    p is drawn from Dirichlet(1), i evenly, and :math:`\omega` from 0, 0.1, ..., 1: the authors' ``rollin_bandit``.
    """
    omega = rng.integers(0, 11, (tasks, 1)) / 10
    favoured = np.eye(n_actions)[rng.integers(n_actions, size=tasks)]
    found: npt.NDArray[np.float64] = (1 - omega) * rng.dirichlet(np.ones(n_actions), tasks) + omega * favoured
    return found


def drawn(rng: np.random.Generator, probabilities: npt.NDArray[np.float64]) -> Ints:
    """One action for each row ``[tasks, A]``."""
    bounds = probabilities.cumsum(axis=1)
    below = (rng.random((len(bounds), 1)) * bounds[:, -1:] >= bounds).sum(axis=1)
    found: Ints = np.minimum(below, bounds.shape[1] - 1)
    return found


def side_by_side(columns: list[Context]) -> Context:
    """One context of columns, of which there is at least one."""
    return Context(*(np.concatenate(parts, axis=1) for parts in zip(*columns, strict=True)))


class Task(NamedTuple):
    """What is kept of a task: up to L transitions, and in each one's state the expert's action."""

    observations: Array  # [L, O]
    actions: Ints  # [L]
    rewards: Array  # [L]
    next_observations: Array  # [L, O]
    valid: Array  # [L]
    labels: Ints  # [L]


def kept(context: Context, labels: Ints, limit: int, rng: np.random.Generator) -> list[Task]:
    """A task for each row with a transition, of more than ``limit`` transitions that many at random.

    Args:
        context: of B tasks, n columns.
        labels: ``[B, n]`` the expert's actions.
        limit: L, to which arrays are filled up with zeros.
        rng: that chooses.
    """
    found = []
    for i in np.flatnonzero(context.valid.any(axis=1)):
        places = np.flatnonzero(context.valid[i])
        if len(places) > limit:
            places = rng.choice(places, limit, replace=False)
        parts = [*(part[i, places] for part in context), labels[i, places]]
        room = limit - len(places)
        found.append(Task(*(np.pad(part, [(0, room)] + [(0, 0)] * (part.ndim - 1)) for part in parts)))
    return found


class Batch(NamedTuple):
    """What the loss is of: m queries for each of B tasks.

    Attributes:
        context: of the tasks.
        queries: ``[B, m, O]`` states.
        seen: ``[B, m, n]`` bool, the transitions that each query is given.
        labels: ``[B, m]`` int64, the optimal actions.
    """

    context: Context
    queries: Array
    seen: Array
    labels: Tensor


def batch_of(tasks: list[Task], queries: int, rng: np.random.Generator) -> Batch:
    """Queries of tasks: a state of the task at random, and a random set of its transitions.

    A batch has sets of up to n transitions, n drawn evenly up to the most that a task has; within this bound their
    sizes are even from 0. So small sets, to which one more transition adds most, are the likelier ones.
    """
    observations, *rest, valid, labels = (np.stack(column) for column in zip(*tasks, strict=True))
    counts, rows = valid.sum(axis=1), np.arange(len(tasks))[:, None]
    places = rng.integers(0, counts[:, None], (len(tasks), queries))
    most = int(rng.integers(1, counts.max() + 1))
    order = np.where(valid, rng.random(valid.shape), 2.0).argsort(axis=1)[:, :most]
    context = Context(*(part[rows, order] for part in (observations, *rest, valid)))
    lengths = rng.integers(0, np.minimum(counts, most)[:, None] + 1, (len(tasks), queries))
    seen = np.arange(most) < lengths[:, :, None]
    return Batch(context, observations[rows, places], seen, th.as_tensor(labels[rows, places]))
