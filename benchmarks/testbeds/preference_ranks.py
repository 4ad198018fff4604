"""Preference ranks: pairs whose Bradley-Terry probability is known, and what a policy makes of every single one.

The task of :mod:`.preferences` with other pairs: two completions of the base policy, of which a judge prefers one with
probability sigmoid(sharpness x the difference of their true quality). Length earns nothing.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch as th
from torch import Tensor

from ..analysis.preference_ranking_accuracy import dpo_loss, idealised_accuracy, ranking_accuracy
from ..statistics import Floats
from .preferences import WAYS, Judged, PreferenceLearner, Preferences, Prompts, quality_of, win_rate, written


class Ranks(NamedTuple):
    """A policy at one moment."""

    judged: Judged
    logp: Floats  # [N, 2] of whole completions, the preferred first; pairs learnt from first


class Outcome(NamedTuple):
    """Before training and after, with what is known of the pairs."""

    before: Ranks
    after: Ranks
    preference: Floats  # [N] probability that the preferred one is preferred
    trained: int

    @property
    def win_rate(self) -> float:
        """The true one against the policy that it began as."""
        return win_rate(self.after.judged.quality, self.before.judged.quality)


@dataclass(frozen=True)
class RankedPairs(Preferences):
    """The task.

    Attributes:
        sharpness: of the judge, by a point of quality.
    """

    sharpness: float = 2.0

    def prompts(self, seed: int) -> Prompts:
        """Prompts and base policy as they are, with other pairs."""
        found = super().prompts(seed)
        generator = th.Generator().manual_seed(seed + 1)
        logits = (found.features @ found.base).view(-1, self.sentences, WAYS + 1)
        drawn = th.multinomial(logits.softmax(-1).flatten(0, 1), 2, replacement=True, generator=generator)
        two = drawn.view(-1, self.sentences, 2).transpose(1, 2)
        first = th.rand(len(two), generator=generator, dtype=th.float64) < self.preferred(found.correct, two)
        order = th.where(first[:, None], th.tensor([0, 1]), th.tensor([1, 0]))
        return found._replace(pairs=two.gather(1, order[..., None].expand_as(two)))

    def preferred(self, correct: Tensor, pairs: Tensor) -> Tensor:
        """The probability that the first of each pair is preferred, ``[N]``."""
        quality = quality_of(correct, pairs)
        return th.sigmoid(self.sharpness * (quality[:, 0] - quality[:, 1]))

    def learner(self, seed: int) -> "RankLearner":
        """The policy that training starts from."""
        return RankLearner(self, self.prompts(seed), seed)

    def outcome(self, moments: list[Any], every: int) -> Any:
        """See :class:`Outcome`; moments carry what is known of the pairs."""
        (before, preference), (after, _) = moments[0], moments[-1]
        return Outcome(before, after, preference, self.trained)


class RankLearner(PreferenceLearner):
    """Tells log-probabilities of all pairs."""

    task: RankedPairs

    @th.no_grad()
    def exact(self) -> Any:
        """A :class:`Ranks` and the preferences."""
        pairs = self.prompts.pairs
        logp = self.logps()[:, None].expand(-1, 2, -1, -1).gather(3, pairs[..., None])[..., 0]
        total = (logp * written(pairs)).sum(-1)
        preference = self.task.preferred(self.prompts.correct, pairs)
        return Ranks(super().exact(), total.numpy()), preference.numpy()


def mistakes(run: Outcome) -> tuple[Floats, Floats]:
    """Of the pairs learnt from that the reference ranks wrong: by how much (log-ratio), and which are right at last."""
    reference, after = (
        ranks.logp[: run.trained, 0] - ranks.logp[: run.trained, 1] for ranks in (run.before, run.after)
    )
    wrong = reference < 0
    return -reference[wrong], np.asarray(after[wrong] > 0, np.float64)


def told_of_pairs(run: Outcome, beta: float) -> dict[str, float]:
    """What a DPO-trained policy makes of the pairs that it learnt from."""
    (chosen_ref, rejected_ref), (chosen, rejected) = (ranks.logp[: run.trained].T for ranks in (run.before, run.after))
    sizes, flipped = mistakes(run)
    small = sizes <= np.median(sizes)
    best = idealised_accuracy(chosen_ref, rejected_ref, run.preference[: run.trained], beta=beta)
    return {
        "ranking accuracy of the reference": ranking_accuracy(chosen_ref, rejected_ref),
        "ranking accuracy": ranking_accuracy(chosen, rejected),
        "idealised ranking accuracy": best,
        "DPO loss": float(dpo_loss(chosen, rejected, chosen_ref, rejected_ref, beta=beta).mean()),
        "mistakes set right": float(flipped.mean()),
        "small mistakes set right": float(flipped[small].mean()),
        "large mistakes set right": float(flipped[~small].mean()),
        "win rate against the reference": run.win_rate,
    }
