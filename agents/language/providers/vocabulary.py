"""Mean log-probabilities over the vocabulary."""

from dataclasses import replace

from ..context import Context
from ..rollouts import Rollouts
from ..update import vocabulary_means
from .base import Provider


class VocabularyMeans(Provider):
    """``Rollouts.logp_mean_old``, of the policy before this iteration's steps."""

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With ``logp_mean_old``."""
        return replace(rollouts, logp_mean_old=vocabulary_means(context.policy, rollouts))
