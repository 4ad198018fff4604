"""The tree of completions, a task on it, and log-probabilities under a policy that is linear in features."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


class Tree:
    """All completions: paths of ``depth`` choices among ``branching``, each node numbered, shallow ones first.

    Args:
        depth: D, choices of a whole path.
        branching: b.
        stops: choice 0 ends a completion, so that completions have 1 to D tokens.

    Attributes:
        choices: ``[L, D]`` of every completion; 0 after a stop.
        written: ``[L, D]`` bool, which of them are part of it.
        nodes: ``[L, D]`` the node at which each is made.
        possible: ``[b^D]`` bool, which paths are completions.
        reached: ``[nodes]`` bool, where a completion may come by.
    """

    def __init__(self, depth: int, branching: int, *, stops: bool = False) -> None:
        self.depth, self.branching = depth, branching
        self.n_nodes = sum(branching**d for d in range(depth))
        paths = torch.from_numpy(np.array(list(np.ndindex(*(branching,) * depth))))
        over = ((paths == 0) & stops).cumsum(1).bool().roll(1, 1)  # a stop came before
        over[:, 0] = False
        possible = ((paths == 0) | ~over).all(1)
        self.choices, self.written = paths[possible], ~over[possible]
        self.nodes = self.node_of(self.choices)
        self.possible = possible
        self.reached = torch.zeros(self.n_nodes, dtype=torch.bool)
        self.reached[self.nodes[self.written]] = True

    def __len__(self) -> int:
        return len(self.choices)

    def node_of(self, choices: Tensor) -> Tensor:
        """The node of each choice ``[B, T]``, from those before it in the row; ``[B, T]`` int64."""
        node, nodes = torch.zeros(len(choices), dtype=torch.int64), []
        for choice in choices.T:
            nodes.append(node)
            node = node * self.branching + choice + 1
        return torch.stack(nodes, 1)


@dataclass(frozen=True)
class TreeTask:
    """Problems ``0..trained - 1`` are learnt from, the others held out. N problems, L completions, F features."""

    tree: Tree
    features: Tensor  # [N, F]
    reward: Tensor  # [N, L] of every completion
    base: Tensor  # [F, nodes * b] weights that training starts from
    trained: int


def node_logp(tree: Tree, features: Tensor, weight: Tensor) -> Tensor:
    """Log-probability of every choice at every node, ``[N, nodes, b]``, for features ``[N, F]``."""
    return (features @ weight).view(len(features), tree.n_nodes, tree.branching).log_softmax(-1)


def completion_logp(tree: Tree, features: Tensor, weight: Tensor) -> Tensor:
    """Log-probability of every completion, ``[N, L]``."""
    return along_paths(tree, node_logp(tree, features, weight))


@torch.no_grad()
def node_success(task: TreeTask, weight: Tensor) -> Tensor:
    """The expected reward from every node on, ``[N, nodes]``; 0 where no completion comes by."""
    tree, chance = task.tree, node_logp(task.tree, task.features, weight).exp()
    below = chance.new_zeros(len(chance), len(tree.possible))  # a path; a stop's goes on with 0
    below[:, tree.possible] = task.reward.to(chance.dtype)
    found, first = chance.new_zeros(chance.shape[:2]), tree.n_nodes
    for d in reversed(range(tree.depth)):
        size = tree.branching**d
        first -= size
        each, reached = below.view(len(chance), size, tree.branching), tree.reached[first : first + size]
        expected = (chance[:, first : first + size] * each).sum(-1)
        below = torch.where(reached, expected, each[..., 0])  # after a stop nothing is chosen
        found[:, first : first + size] = expected * reached
    return found


def along_paths(tree: Tree, each: Tensor) -> Tensor:
    """The sum over every completion's choices, ``[N, L]``, of a number for each, ``[N, nodes, b]``."""
    each = each * tree.reached[:, None]  # what is not written counts nothing
    total, first = torch.zeros(len(each), 1, dtype=each.dtype), 0
    for d in range(tree.depth):
        size = tree.branching**d
        total = (total[..., None] + each[:, first : first + size]).flatten(1)
        first += size
    return total[:, tree.possible]
