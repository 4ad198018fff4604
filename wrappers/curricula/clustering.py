"""Two ways to group points: k-means, and mixtures of full-covariance Gaussians fitted by expectation-maximisation.

Both are small and in NumPy, since the curricula that need them fit a few hundred points every few hundred episodes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

REGULARISATION = 1e-6  # added to the diagonal of every covariance, so that none is singular
TOLERANCE = 1e-3  # of the mean log-likelihood, below which a fit has converged
MAX_ROUNDS = 100


def k_means(points: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Labels ``[n]`` below ``k``: Lloyd's algorithm from k-means++ centres; with few distinct points, some stay empty.

    Args:
        points: ``[n, d]``.
        k: clusters, at least 1.
        rng: draws the first centres.

    Paper: k-means++: The Advantages of Careful Seeding (2007), section 2.2.
    """
    centres = _seeded_centres(points, k, rng)
    labels = _nearest(points, centres)
    for _ in range(MAX_ROUNDS):
        members = np.eye(k)[labels]  # [n, k]
        sizes = members.sum(axis=0)
        filled = sizes > 0
        centres[filled] = (members.T @ points)[filled] / sizes[filled, None]
        before, labels = labels, _nearest(points, centres)
        if np.array_equal(before, labels):
            break
    return labels


def _seeded_centres(points: Floats, k: int, rng: np.random.Generator) -> Floats:
    centres = points[rng.integers(len(points), size=k)]
    distance = np.full(len(points), np.inf)
    for i in range(1, k):
        distance = np.minimum(distance, np.square(points - centres[i - 1]).sum(axis=1))
        if distance.sum() > 0:
            centres[i] = points[rng.choice(len(points), p=distance / distance.sum())]
    return centres


def _nearest(points: Floats, centres: Floats) -> Ints:
    nearest: Ints = (np.square(centres).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)  # less |point|^2
    return nearest


@dataclass(frozen=True)
class GaussianMixture:
    """A density: ``p(x) = sum_k weights[k] N(x; means[k], covariances[k])``.

    Attributes:
        weights: ``[k]``, summing to 1.
        means: ``[k, d]``.
        covariances: ``[k, d, d]``.
    """

    weights: Floats
    means: Floats
    covariances: Floats

    def log_joint(self, points: Floats) -> Floats:
        """``log weights[k] + log N(x; means[k], covariances[k])`` of ``points`` ``[n, d]``, as ``[n, k]``."""
        whitening = np.linalg.inv(np.linalg.cholesky(self.covariances))  # [k, d, d]
        means = whitening @ self.means[:, :, None]
        squares = np.square(whitening @ points.T - means).sum(axis=1)  # Mahalanobis, [k, n]
        log_scales = np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
        constant = points.shape[1] * np.log(2 * np.pi) / 2
        logs: Floats = (np.log(self.weights) + log_scales - constant)[:, None] - squares / 2
        return logs.T

    def log_likelihood(self, points: Floats) -> float:
        """Sum over ``points`` ``[n, d]`` of ``log p(x)``."""
        return float(_log_sum(self.log_joint(points)).sum())

    def aic(self, points: Floats) -> float:
        """Akaike's criterion, ``2 free parameters - 2 log-likelihood``: of two fits the one with less is to be kept."""
        k, d = self.means.shape
        return float(2 * (k * (d + d * (d + 1) / 2) + k - 1) - 2 * self.log_likelihood(points))


def fit_mixture(points: Floats, k: int, rng: np.random.Generator) -> GaussianMixture:
    """Expectation-maximisation from the clusters of :func:`k_means`, until the likelihood stops growing.

    Args:
        points: ``[n, d]``, in units in which 1e-6 is a negligible variance.
        k: components, at most n.
        rng: draws the first centres.
    """
    shares = np.eye(k)[k_means(points, k, rng)]
    mixture, before = _maximised(points, shares), -np.inf
    for _ in range(MAX_ROUNDS):
        logs = mixture.log_joint(points)
        totals = _log_sum(logs)
        if abs(totals.mean() - before) < TOLERANCE:
            break
        before = totals.mean()
        mixture = _maximised(points, np.exp(logs - totals[:, None]))
    return mixture


def _maximised(points: Floats, shares: Floats) -> GaussianMixture:
    """The most likely mixture where ``shares`` ``[n, k]`` says how much of each point belongs to each component."""
    sizes = shares.sum(axis=0) + 1e-12  # a component that no point belongs to stays finite
    means = shares.T @ points / sizes[:, None]
    squares = (shares.T[:, None] * points.T) @ points / sizes[:, None, None]  # [k, d, d]
    covariances = squares - means[:, :, None] * means[:, None] + REGULARISATION * np.eye(points.shape[1])
    return GaussianMixture(sizes / sizes.sum(), means, covariances)


def _log_sum(logs: Floats) -> Floats:
    peak = logs.max(axis=1)
    total: Floats = peak + np.log(np.exp(logs - peak[:, None]).sum(axis=1))
    return total
