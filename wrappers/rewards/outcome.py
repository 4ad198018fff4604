"""Outcome reward: 1 for a success and 0 for a failure, as a verifier says it or as a reward model that errs."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from torch import Tensor

from ..components import Context, Episodes, Reward


class Outcome(Reward):
    """R = s + deviation * n, s the episode's success (0 or 1), the other way round with the probability ``flips``.

    Terms of the environment's reward besides success (its format penalty) are left out, so that episodes that fail are
    alike. Flips and noise (n is standard normal) are drawn by the problem and the text of the completion: as a reward
    model does, it gives the same text the same score whenever it reads it, and errs on it in the same way.

    Args:
        flips: the probability that a success counts as a failure, and a failure as a success.
        deviation: of the noise.
        noise_seed: decides flips and noise.

    Raises:
        ValueError: flips that are no probability, or a negative deviation.
    """

    def __init__(self, *, flips: float = 0.0, deviation: float = 0.0, noise_seed: int = 0) -> None:
        if not 0 <= flips <= 1 or deviation < 0:
            raise ValueError(
                f"flips is a probability from 0 to 1 and deviation at least 0, got {flips} and {deviation}"
            )
        self.flips, self.deviation, self.noise_seed = flips, deviation, noise_seed

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]`` of successes; what the environment paid is not read."""
        success: Tensor = episodes.info["success"].to(episodes.reward.dtype)
        if not self.flips and not self.deviation:
            return success
        read = zip(episodes.seed.tolist(), episodes.completions, strict=True)
        drawn = np.array([self._drawn(seed, said) for seed, said in read]).reshape(len(episodes), 2)
        flipped = success.new_tensor(drawn[:, 0] < self.flips)
        noisy: Tensor = (success - flipped).abs() + self.deviation * success.new_tensor(drawn[:, 1])
        return noisy

    def _drawn(self, seed: int, said: Sequence[str]) -> tuple[float, float]:
        """A uniform and a standard normal number that belong to a completion of a problem."""
        text = "\0".join([str(self.noise_seed), str(seed), *said])
        rng = np.random.default_rng(int.from_bytes(blake2b(text.encode(), digest_size=16).digest(), "little"))
        return rng.random(), rng.standard_normal()
