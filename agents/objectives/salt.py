"""SALT: step-level advantages, group-relative ones averaged over the steps that trajectories share in a graph."""

from collections import defaultdict
from typing import Any

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.group_relative import group_relative


def advantage(rollouts: Rollouts, *, history: int = 1, scale: bool = True, epsilon: float = 1e-6) -> Tensor:
    """A_(i,t) = mean of A_j over the trajectories j that took the same step, constant over its tokens; ``[B, T]``.

    A_i is the group-relative advantage of the whole trajectory. Every turn is an edge (state, action, next state) of a
    graph of the group's trajectories. Edges of equal states, equal action (token for token) and equal next state, whose
    ``history`` states before agree too, are merged, and their advantages averaged: steps that successes and failures
    share go towards 0, and those at which they part keep their credit. A trajectory that takes the same step twice
    counts twice. The last step of an episode leads to its reward, so that only steps of equal advantage merge there:
    in tasks of one turn SALT is GRPO.

    Args:
        rollouts: reads ``state``, ``turn``, ``tokens``, ``mask``, ``reward`` and ``group``.
        history: states before the step that have to agree, where there are as many.
        scale: divide the trajectories' advantages by their group's standard deviation.
        epsilon: added to it.

    Raises:
        ValueError: ``rollouts.state`` is None, or a negative ``history``.

    Paper: SALT: Step-level Advantage Assignment for Long-horizon Agents via Trajectory Graph (2025), its trajectory
    graph and advantage assignment as the registry of papers words them: neither equations nor code of the authors' were
    at hand. Departures: observations are compared as the environment numbers its states, and the default of ``history``
    is ours.
    """
    if history < 0:
        raise ValueError(f"history is a number of states, 0 or more, got {history}")
    trajectory = group_relative(rollouts, scale=scale, epsilon=epsilon)
    merged: dict[Any, list[tuple[int, Tensor]]] = defaultdict(list)
    for row in range(len(rollouts)):
        for step, columns in _steps(rollouts, row, history):
            merged[step].append((row, columns))
    shared = torch.zeros(rollouts.mask.shape, device=rollouts.mask.device)
    for edges in merged.values():
        mean = trajectory[[row for row, _ in edges]].double().mean().float()
        for row, columns in edges:
            shared[row, columns] = mean
    return shared


def _steps(rollouts: Rollouts, row: int, history: int) -> list[tuple[Any, Tensor]]:
    """What identifies each step of an episode, and the columns of its tokens."""
    written = rollouts.mask[row].nonzero()[:, 0]
    counts = torch.unique_consecutive(rollouts.turn[row, written], return_counts=True)[1]
    turns = torch.split(written, counts.tolist())
    states = [int(state) for state in rollouts.need("state")[row, [int(columns[0]) for columns in turns]]]
    actions = [tuple(rollouts.tokens[row, columns].tolist()) for columns in turns]
    targets = [*zip(states[1:], strict=False), ("end", float(rollouts.reward[row]))]
    group = int(rollouts.group[row])
    return [
        ((group, tuple(states[max(0, i - history) : i + 1]), actions[i], targets[i]), columns)
        for i, columns in enumerate(turns)
    ]
