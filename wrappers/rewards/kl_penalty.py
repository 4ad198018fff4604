"""KL penalty: every token costs its log-ratio to the policy as it was when training began."""

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import Tensor

from ..components import Context, Episodes, Reward

GAIN, CLIP = 0.1, 0.2
"""Of the adaptive coefficient."""


class KLPenalty(Reward):
    """R_t = r_t - coef * (log pi(y_t) - log pi_ref(y_t)) for every written token.

    Over a completion it costs coef * log(pi(y|x) / pi_ref(y|x)), the reward of reinforcement learning from human
    feedback (Ziegler et al. 2019, eq. 2; Stiennon et al. 2020, section 3.4). Methods of one reward an episode see the
    sum. pi is the policy that wrote the completion.

    With ``target`` the coefficient follows the divergence: after each iteration it is multiplied by
    1 + 0.1 clip((KL - target) / target, -0.2, 0.2), KL being the mean log-ratio of the iteration's tokens. That is the
    controller of Ziegler et al. (2019, section 2.2) with the gain and the divergence of a token, not of a completion,
    that Ramamurthy et al. (2023) have in their code of NLPO.

    Args:
        coef: beta, or with ``target`` the one to begin with.
        target: divergence a token (nats) that the coefficient shall bring about (None: it stays as it is).

    Raises:
        ValueError: a negative coefficient, a target that is not above 0, or one with a coefficient of 0, which would
            stay 0.
    """

    needs: ClassVar[tuple[str, ...]] = ("logp_ref",)

    def __init__(self, *, coef: float = 0.05, target: float | None = None) -> None:
        if coef < 0:
            raise ValueError(f"coef is at least 0, got {coef}")
        if target is not None and not (target > 0 and coef > 0):
            raise ValueError(f"target and the coefficient to begin with must be above 0, got {target} and {coef}")
        self.coef, self.target = coef, target

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Shaped rewards ``[B, T]``."""
        ratio = _log_ratio(episodes, context)
        return episodes.token_reward - self.coef * ratio.to(episodes.token_reward.dtype)

    def fit(self, episodes: Episodes, context: Context) -> dict[str, float]:
        """Moves the coefficient towards what brings about the target."""
        if self.target is None:
            return {}
        kl = float(_log_ratio(episodes, context).sum() / episodes.mask.sum())
        self.coef *= 1 + GAIN * min(max((kl - self.target) / self.target, -CLIP), CLIP)
        return {"kl_penalty_coef": self.coef, "kl_penalty_kl": kl}

    def state_dict(self) -> dict[str, Any]:
        """The coefficient, where it moves."""
        return {} if self.target is None else {"coef": self.coef}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on with it."""
        self.coef = state.get("coef", self.coef)


def _log_ratio(episodes: Episodes, context: Context) -> Tensor:
    """The log-ratio log pi - log pi_ref of the written tokens ``[B, T]``, 0 elsewhere."""
    return (episodes.logp_old - context.score_reference(episodes.tokens, episodes.mask)) * episodes.mask
