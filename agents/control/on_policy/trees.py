"""An additive ensemble of oblivious regression trees, which grows by one tree at each step of gradient boosting.

Paper: Fuhrer et al., Gradient Boosting Reinforcement Learning (2024), sec. 4, of which this follows the authors' code
(github.com/NVlabs/gbrl): trees that ask the same question at all nodes of a level, quantiles of each feature as
candidates, and the cosine score of a split.
"""

import numpy as np
import numpy.typing as npt
import torch as th
from numba import njit
from torch import Tensor, nn

Floats = npt.NDArray[np.float32]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _candidates(x, bins, cuts, codes):  # type: ignore[no-untyped-def]
    """Writes thresholds ``[F, bins]`` at quantiles and below how many each number lies, ``[N, F]``; counts ``[F]``."""
    n, width = x.shape
    counts = np.zeros(width, np.int64)
    for f in range(width):
        ordered, count = np.sort(x[:, f]), 0
        for b in range(bins):
            value = ordered[(b * n) // bins]
            if value < ordered[n - 1] and (count == 0 or value > cuts[f, count - 1]):
                cuts[f, count] = value
                count += 1
        counts[f] = count
        for i in range(n):
            codes[i, f] = np.searchsorted(cuts[f, :count], x[i, f])
    return counts


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _score(sums, sizes, total, size):  # type: ignore[no-untyped-def]
    r""":math:`\sqrt{|S_l|^2 / n_l + |S_r|^2 / n_r}` of a node: sums ``[K]`` and sizes of its left side, and of all."""
    square, others = 0.0, size - sizes
    for j in range(len(sums)):
        if sizes > 0.0:
            square += sums[j] ** 2 / sizes
        if others > 0.0:
            square += (total[j] - sums[j]) ** 2 / others
    return np.sqrt(square)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _best_split(codes, steps, leaf, n_leaves, counts):  # type: ignore[no-untyped-def]
    """Feature and threshold of the largest sum over nodes of :func:`_score`; -1: none.

    That is the cosine between the steps and their sides' means, but for a factor that all candidates share.
    """
    n, width = codes.shape
    k = steps.shape[1]
    most = counts.max() + 1
    sums, sizes = np.zeros((n_leaves, most, k)), np.zeros((n_leaves, most))
    total, size = np.zeros((n_leaves, k)), np.zeros(n_leaves)
    for i in range(n):
        total[leaf[i]] += steps[i]
        size[leaf[i]] += 1.0
    best, feature, cut = -1.0, -1, -1
    for f in range(width):
        if counts[f] == 0:
            continue
        sums[:], sizes[:] = 0.0, 0.0
        for i in range(n):
            sums[leaf[i], codes[i, f]] += steps[i]
            sizes[leaf[i], codes[i, f]] += 1.0
        for c in range(counts[f]):
            score = 0.0
            for node in range(n_leaves):
                if c > 0:
                    sums[node, c] += sums[node, c - 1]
                    sizes[node, c] += sizes[node, c - 1]
                score += _score(sums[node, c], sizes[node, c], total[node], size[node])
            if score > best:
                best, feature, cut = score, f, c
    return feature, cut


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _fit(x, steps, bins, features, thresholds, leaves):  # type: ignore[no-untyped-def]
    """Fits a tree to ``steps`` ``[N, K]`` at ``x`` ``[N, F]``; fills its ``[depth]``, ``[depth]``, ``[2^depth, K]``."""
    n, width = x.shape
    cuts, codes = np.zeros((width, bins), np.float32), np.zeros((n, width), np.int64)
    counts, leaf = _candidates(x, bins, cuts, codes), np.zeros(n, np.int64)
    for level in range(len(features)):
        feature, cut = _best_split(codes, steps, leaf, 1 << level, counts)
        if feature < 0:  # nothing differs: all go left
            features[level], thresholds[level] = 0, np.inf
            leaf *= 2
            continue
        features[level], thresholds[level] = feature, cuts[feature, cut]
        for i in range(n):
            leaf[i] = 2 * leaf[i] + (codes[i, feature] > cut)
    sums, sizes = np.zeros(leaves.shape), np.zeros(len(leaves))
    for i in range(n):
        sums[leaf[i]] += steps[i]
        sizes[leaf[i]] += 1.0
    for node in range(len(leaves)):
        leaves[node] = sums[node] / max(sizes[node], 1.0)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _add(x, features, thresholds, leaves, out):  # type: ignore[no-untyped-def]
    """Adds what all trees say of each row of ``x`` to ``out`` ``[N, K]``."""
    for i in range(len(x)):
        for t in range(len(features)):
            node = 0
            for level in range(features.shape[1]):
                node = 2 * node + (x[i, features[t, level]] > thresholds[t, level])
            for j in range(out.shape[1]):
                out[i, j] += leaves[t, node, j]


class Trees(nn.Module):
    """The ensemble; what it holds is in its ``state_dict``, also the room for trees that it has not grown yet.

    Args:
        n_outputs: numbers that it gives.
        max_depth: questions of a tree.
        n_bins: candidates of a feature.
        max_trees: room.

    Raises:
        ValueError: a size below 1, or trees deeper than 12.
    """

    n_trees: Tensor
    features: Tensor
    thresholds: Tensor
    leaves: Tensor

    def __init__(self, n_outputs: int, *, max_depth: int = 4, n_bins: int = 250, max_trees: int = 10_000) -> None:
        super().__init__()
        if not (1 <= max_depth <= 12 and n_bins >= 1 and max_trees >= 1):
            raise ValueError(
                "trees have a max_depth of 1 to 12, n_bins of at least 1 and a max_trees of at least 1, got "
                f"{max_depth}, {n_bins} and {max_trees}"
            )
        self.n_bins = n_bins
        self.bias = nn.Parameter(th.zeros(n_outputs), requires_grad=False)
        self.register_buffer("n_trees", th.zeros((), dtype=th.int64))
        self.register_buffer("features", th.zeros(max_trees, max_depth, dtype=th.int64))
        self.register_buffer("thresholds", th.zeros(max_trees, max_depth))
        self.register_buffer("leaves", th.zeros(max_trees, 2**max_depth, n_outputs))

    @property
    def room(self) -> int:
        """How many more trees it can grow."""
        return len(self.features) - int(self.n_trees)

    def forward(self, x: Tensor) -> Tensor:
        """``[N, F]`` to ``[N, n_outputs]``; no gradient flows back."""
        n = int(self.n_trees)
        out = self.bias.detach().repeat(len(x), 1)
        features, thresholds, leaves = (part[:n].numpy() for part in (self.features, self.thresholds, self.leaves))
        _add(_array(x), features, thresholds, leaves, out.numpy())
        return out

    def grow(self, x: Tensor, steps: Tensor) -> None:
        """Adds a tree that takes a minibatch ``[N, F]`` about the ``steps`` ``[N, n_outputs]`` further.

        Raises:
            RuntimeError: there is no room.
        """
        n = int(self.n_trees)
        if self.room < 1:
            raise RuntimeError(f"all {n} trees are grown: make the agent with a larger policy_kwargs['max_trees']")
        features, thresholds, leaves = (part[n].numpy() for part in (self.features, self.thresholds, self.leaves))
        _fit(_array(x), steps.detach().double().numpy(), self.n_bins, features, thresholds, leaves)
        self.n_trees += 1


def _array(x: Tensor) -> Floats:
    return np.ascontiguousarray(x.detach().float().numpy())
