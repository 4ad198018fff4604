import numpy as np
import pytest

from tiltyard.wrappers.curricula.clustering import GaussianMixture, fit_mixture, k_means


def test_one_gaussian_by_hand() -> None:
    points = np.array([[0.0], [2.0]])
    fit = fit_mixture(points, 1, np.random.default_rng(0))
    assert fit.means == pytest.approx(1.0)
    assert fit.covariances[0, 0, 0] == pytest.approx(1.0, abs=1e-5)  # ((0 - 1)^2 + (2 - 1)^2) / 2
    # log N(1 +- 1; 1, 1) = -(log 2 pi + 1) / 2 = -1.418939 for each point; two parameters, a mean and a variance
    assert fit.log_likelihood(points) == pytest.approx(-2.837877, abs=1e-5)
    assert fit.aic(points) == pytest.approx(2 * 2 + 2 * 2.837877, abs=1e-5)


def test_the_density_of_a_correlated_gaussian_by_hand() -> None:
    mixture = GaussianMixture(np.array([0.5]), np.array([[1.0, 0.0]]), np.array([[[2.0, 1.0], [1.0, 2.0]]]))
    # x - mean = (1, 1); the inverse of the covariance is [[2, -1], [-1, 2]] / 3, its determinant 3: x' S^-1 x = 2 / 3
    expected = np.log(0.5) - np.log(2 * np.pi) - np.log(3) / 2 - 1 / 3
    assert mixture.log_joint(np.array([[2.0, 1.0]]))[0, 0] == pytest.approx(expected)


def test_aic_counts_every_parameter_of_full_covariances() -> None:
    points = np.random.default_rng(0).normal(size=(50, 3))
    fit = fit_mixture(points, 2, np.random.default_rng(1))
    # two components of three means and six covariances each, and one free weight: 19
    assert fit.aic(points) + 2 * fit.log_likelihood(points) == pytest.approx(2 * 19)


def drawn(rng: np.random.Generator, n: int) -> np.ndarray:
    """A third around (0, 0), round; two thirds around (4, 4), stretched along the diagonal."""
    first = rng.normal(size=(n, 2)) * 0.3
    second = [4, 4] + rng.multivariate_normal([0, 0], [[1.0, 0.9], [0.9, 1.0]], size=n)
    return np.where(rng.random((n, 1)) < 1 / 3, first, second)


def test_a_known_mixture_is_found_again() -> None:
    points = drawn(np.random.default_rng(0), 4000)
    fit = fit_mixture(points, 2, np.random.default_rng(1))
    order = np.argsort(fit.weights)
    np.testing.assert_allclose(fit.weights[order], [1 / 3, 2 / 3], atol=0.03)
    np.testing.assert_allclose(fit.means[order], [[0, 0], [4, 4]], atol=0.1)
    np.testing.assert_allclose(fit.covariances[order], [np.eye(2) * 0.09, [[1, 0.9], [0.9, 1]]], atol=0.1)


def test_aic_chooses_as_many_components_as_there_are() -> None:
    points, rng = drawn(np.random.default_rng(2), 400), np.random.default_rng(3)
    criteria = [fit_mixture(points, k, rng).aic(points) for k in (1, 2)]
    assert criteria[1] < criteria[0]
    one = np.random.default_rng(4).normal(size=(400, 2))
    assert fit_mixture(one, 1, rng).aic(one) < fit_mixture(one, 6, rng).aic(one)


def test_likelihood_never_falls_from_the_clusters_it_starts_from() -> None:
    points = drawn(np.random.default_rng(5), 300)
    for k in (2, 5, 10):
        labels = k_means(points, k, np.random.default_rng(k))
        parts = [points[labels == i] for i in range(k)]
        start = GaussianMixture(
            np.array([len(part) for part in parts]) / len(points),
            np.array([part.mean(axis=0) for part in parts]),
            np.array([np.cov(part.T, bias=True) + 1e-6 * np.eye(2) for part in parts]),
        )
        fit = fit_mixture(points, k, np.random.default_rng(k))
        assert fit.log_likelihood(points) > start.log_likelihood(points)


def test_points_that_are_all_alike_still_give_a_density() -> None:
    fit = fit_mixture(np.full((20, 2), 0.5), 4, np.random.default_rng(0))
    assert fit.weights.max() == pytest.approx(1.0)
    assert np.isfinite(fit.log_joint(np.array([[0.5, 0.5]]))).all()


def test_k_means_by_hand() -> None:
    points = np.array([[0.0], [1.0], [10.0], [11.0], [30.0]])
    labels = k_means(points, 3, np.random.default_rng(0))
    assert labels[0] == labels[1]
    assert labels[2] == labels[3]
    assert len(set(labels.tolist())) == 3


def test_fewer_distinct_points_than_clusters_leave_some_empty() -> None:
    labels = k_means(np.array([[1.0], [1.0], [2.0]]), 6, np.random.default_rng(0))
    assert labels[0] == labels[1] != labels[2]
