r"""Features of low-rank transitions: the contrastive loss that learns them, the bonus on them, and planning with them.

In a low-rank process :math:`P(s'|s, a) = \phi(s, a)^T \mu(s')`, with features of d numbers. Here :math:`\phi` is a
distribution over d latent outcomes, and :math:`\mu_k(s') = P^-(s') \psi_k(s')` where :math:`P^-` is the distribution of
the next states stored, from which the loss takes its negatives.

Paper: Qiu et al., Contrastive UCB: Provably Efficient Contrastive Self-Supervised Learning in Online Reinforcement
Learning (2022). Of its text the abstract was at hand; the bonus was compared with the authors' code
(github.com/Baichenjia/Contrastive-UCB, src/algos.py), which adds it to Rainbow and learns features with SPR, without
negatives. The loss is that of noise-contrastive estimation (Gutmann and Hyvärinen 2010).
"""

from typing import NamedTuple

import torch as th
from torch import Tensor


def log_ratios(log_phi: Tensor, log_psi: Tensor) -> Tensor:
    r""":math:`\log \phi(s_i, a_i)^T \psi(s'_j)` for all pairs.

    Args:
        log_phi: ``[B, d]``.
        log_psi: ``[N, d]``.

    Returns:
        ``[B, N]``.
    """
    largest = log_psi.detach().amax(dim=1, keepdim=True)  # [N, 1], so that no exponential overflows
    f: Tensor = log_phi.exp() @ (log_psi - largest).exp().T
    return (f + 1e-20).log() + largest.T


def contrastive_loss(log_f: Tensor) -> Tensor:
    r"""Cross-entropy of telling the next state of (s, a) from that of another pair.

    .. math:: \frac{1}{2} E[\log(1 + 1 / f(s, a, s'))] + \frac{1}{2} E[\log(1 + f(s, a, s^-))]

    It is least where :math:`f = P(s'|s, a) / P^-(s')`. All other next states of the batch are negatives, of which one
    drawn a pair would have the same expectation.

    Args:
        log_f: log f of every pair with every next state, ``[B, B]``; a pair's own next state is on the diagonal.

    Raises:
        ValueError: fewer than two pairs, or no square.
    """
    n = len(log_f)
    if n < 2 or log_f.shape != (n, n):
        raise ValueError(f"log_f must be [B, B] with at least two pairs, got {list(log_f.shape)}")
    softplus = th.nn.functional.softplus
    own = log_f.diagonal()
    negative = (softplus(log_f).sum() - softplus(own).sum()) / (n * (n - 1))
    loss: Tensor = 0.5 * softplus(-own).mean() + 0.5 * negative
    return loss


def inverse_covariance(phi: Tensor, ridge: float) -> Tensor:
    r""":math:`\Sigma^{-1}` with :math:`\Sigma = \lambda I + \sum_i \phi_i \phi_i^T`, in double precision.

    Args:
        phi: of all pairs visited, ``[n, d]``.
        ridge: lambda.

    Returns:
        ``[d, d]``.
    """
    phi = phi.double()
    sigma = ridge * th.eye(phi.shape[1], dtype=phi.dtype, device=phi.device) + phi.T @ phi
    inverse: Tensor = th.linalg.inv(sigma)
    return inverse


def elliptical_bonus(phi: Tensor, inverse: Tensor, weight: float, limit: float) -> Tensor:
    r""":math:`\min(\beta \sqrt{\phi^T \Sigma^{-1} \phi}, limit)`.

    Args:
        phi: ``[..., d]``.
        inverse: :math:`\Sigma^{-1}`, ``[d, d]``.
        weight: beta.
        limit: the largest bonus.

    Returns:
        ``[...]``, of the type of ``phi``.
    """
    x = phi.to(inverse.dtype)
    squared = ((x @ inverse) * x).sum(dim=-1)
    return (weight * squared.clamp(min=0).sqrt()).clamp(max=limit).to(phi.dtype)


def count_bonus(counts: Tensor, ridge: float, weight: float, limit: float) -> Tensor:
    r""":math:`\min(\beta / \sqrt{n + \lambda}, limit)`: the bonus of one-hot features of all pairs.

    Args:
        counts: n, visits of each pair.
        ridge: lambda.
        weight: beta.
        limit: the largest bonus.
    """
    return (weight / (counts + ridge).sqrt()).clamp(max=limit)


class Support(NamedTuple):
    """The next states that planning is over."""

    log_psi: Tensor  # [N, d]
    phi: Tensor  # [N, A, d] of every action there
    going_on: Tensor  # [N] 0 where the episode ended there, else 1
    bonus: Tensor  # [N, A] of every action there


def planned(support: Support, reward: Tensor, gamma: float, horizon: int, bonus: bool) -> Tensor:
    r"""Value iteration on the learnt model: w of :math:`Q(s, a) = \phi(s, a)^T (\theta + \gamma w) + b(s, a)`.

    Component k of w is the expected value of the next state after latent outcome k, where
    :math:`P(s'_i | k) = \psi_k(s'_i) / \sum_j \psi_k(s'_j)` over the support.

    Args:
        support: of the model.
        reward: theta, ``[d]``: expected reward of each latent outcome.
        gamma: discount.
        horizon: backups.
        bonus: whether b counts.

    Returns:
        w, ``[d]``.
    """
    to = support.log_psi.softmax(dim=0).T  # [d, N]
    w = th.zeros_like(reward)
    for _ in range(horizon):
        q = support.phi @ (reward + gamma * w) + (support.bonus if bonus else 0.0)
        w = to @ (support.going_on * q.amax(dim=1))
    return w


def subspace_alignment(learnt: Tensor, true: Tensor, rank: int | None = None) -> float:
    r"""Share of the true features' span that lies within that of the learnt ones, from 0 to 1.

    The mean squared cosine of the principal angles, :math:`||U^T V||_F^2 / d`, of orthonormal bases U of the learnt
    and V (d columns) of the true features' columns.

    Args:
        learnt: features of the same pairs, ``[n, k]``.
        true: ``[n, d]``.
        rank: how many leading directions of ``learnt`` count; as many as ``true`` has if None.

    Raises:
        ValueError: of different numbers of pairs.
    """
    if len(learnt) != len(true):
        raise ValueError(f"both must be features of the same pairs, got {len(learnt)} and {len(true)}")
    v = _basis(true)
    u = _basis(learnt)[:, : v.shape[1] if rank is None else rank]
    return float((u.T @ v).square().sum() / v.shape[1])


def _basis(features: Tensor) -> Tensor:
    """Left singular vectors of all directions that are there, the strongest first."""
    u, s, _ = th.linalg.svd(features.double(), full_matrices=False)
    basis: Tensor = u[:, s > 1e-9 * s[0].clamp(min=1e-30)]
    return basis
