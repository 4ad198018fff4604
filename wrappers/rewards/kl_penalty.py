"""KL penalty: every token costs its log-ratio to the policy as it was when training began."""

from typing import ClassVar

from torch import Tensor

from ..components import Context, Episodes, Reward


class KLPenalty(Reward):
    """R_t = r_t - coef * (log pi(y_t) - log pi_ref(y_t)) for every written token.

    Over a completion it costs coef * log(pi(y|x) / pi_ref(y|x)), the reward of reinforcement learning from human
    feedback (Ziegler et al. 2019, eq. 2; Stiennon et al. 2020, section 3.4). Methods of one reward an episode see the
    sum. pi is the policy that wrote the completion.

    Args:
        coef: beta.

    Raises:
        ValueError: a negative coefficient.
    """

    needs: ClassVar[tuple[str, ...]] = ("logp_ref",)

    def __init__(self, *, coef: float = 0.05) -> None:
        if coef < 0:
            raise ValueError(f"coef is at least 0, got {coef}")
        self.coef = coef

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Shaped rewards ``[B, T]``."""
        ratio = episodes.logp_old - context.score_reference(episodes.tokens, episodes.mask)
        return episodes.token_reward - self.coef * (ratio * episodes.mask).to(episodes.token_reward.dtype)
