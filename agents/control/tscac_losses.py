"""The formulas of TSCAC; see :mod:`.tscac`. A is an advantage of the main reward, lambda a signal's multiplier."""

import math

from torch import Tensor


def closed_form(log_auxiliary: Tensor, advantages: Tensor, multipliers: Tensor) -> Tensor:
    r"""The best policy near the auxiliary ones, :math:`\pi^*(a|s)`, in logarithms ``[B, n]``.

    .. math::
        \pi^*(a|s) \propto \prod_i \pi_i(a|s)^{\lambda_i / \Lambda} e^{A(s, a) / \Lambda}, \quad
        \Lambda = \sum_i \lambda_i

    It maximises :math:`E_\pi[A] - \sum_i \lambda_i KL(\pi \| \pi_i)`.

    Args:
        log_auxiliary: log-probabilities of all actions under the auxiliary policies, ``[m, B, n]``.
        advantages: of the main reward, ``[B, n]``.
        multipliers: lambda, ``[m]``, not all 0.
    """
    total = multipliers.sum()
    mean = (multipliers[:, None, None] / total * log_auxiliary).sum(dim=0)
    return (mean + advantages / total).log_softmax(dim=1)


def imitation_weights(
    log_auxiliary: Tensor, log_behaviour: Tensor, advantages: Tensor, multipliers: Tensor, limit: float
) -> Tensor:
    r""":math:`\min(\prod_i (\pi_i / \pi_b)^{\lambda_i / \Lambda} e^{A / \Lambda}, limit)` of logged actions, ``[B]``.

    Args:
        log_auxiliary: log-probabilities of the actions under the auxiliary policies, ``[m, B]``.
        log_behaviour: under the policy that took them, ``[B]``.
        advantages: of the main reward, ``[B]``.
        multipliers: lambda, ``[m]``, not all 0.
        limit: of a weight.
    """
    total = multipliers.sum()
    mean = (multipliers[:, None] / total * (log_auxiliary - log_behaviour)).sum(dim=0)
    return (mean + advantages / total).clamp_max(math.log(limit)).exp()


def stage_two_loss(logp: Tensor, weights: Tensor) -> Tensor:
    r""":math:`-E_b[w \log \pi(a|s)]`, of log-probabilities ``[B]``; ``weights`` ``[B]`` have no gradient."""
    return -(weights.detach() * logp).mean()


def stage_one_loss(
    logp_all: Tensor, actions: Tensor, log_behaviour: Tensor, advantages: Tensor, limit: float, ent_coef: float
) -> Tensor:
    r""":math:`-E_b[\min(\pi_i / \pi_b, limit) A_i \log \pi_i(a|s)] - \eta H(\pi_i)`, summed over policies.

    Args:
        logp_all: log-probabilities of all actions, ``[m, B, n]``.
        actions: that were taken, ``[B]``.
        log_behaviour: their log-probabilities under the policy that took them, ``[B]``.
        advantages: of each signal, ``[m, B]``, without gradient.
        limit: of a ratio.
        ent_coef: eta.
    """
    logp = taken(logp_all, actions)
    ratios = (logp.detach() - log_behaviour).clamp_max(math.log(limit)).exp()
    entropy = -(logp_all.exp() * logp_all).sum(dim=2)
    return -(ratios * advantages * logp + ent_coef * entropy).mean(dim=1).sum()


def taken(of_all: Tensor, actions: Tensor) -> Tensor:
    """Of numbers of all actions ``[m, B, n]`` those of ``actions`` ``[B]``, ``[m, B]``."""
    return of_all.gather(2, actions.expand(len(of_all), -1)[:, :, None]).squeeze(2)
