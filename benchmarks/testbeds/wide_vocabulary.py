"""Wide vocabulary: short texts of hundreds of possible tokens, of which few are good and most are never read.

A text has eight tokens. At every place of each problem a hidden teacher likes some tokens, and others spoil the text.
The true reward, paid at the end, is the share of a text's tokens that the teacher likes, or 0 if one spoils it. As in a
language, tokens have frequencies of Zipf's law, which the policy begins with, along with something of the teacher's
taste: a few tokens are likely at a place, a long tail is not, and of what is good some is in the tail. The policy is
linear in a problem's features at every place, so that rewards and likelihoods are expected ones, computed exactly, on
problems that were not trained on.

A condition may restrict its policy to the nucleus of an older copy of itself, in training and afterwards, as the
sampler ``nlpo`` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch as th
from torch import Tensor
from torch.nn.functional import pad

from ...agents.language.rollouts import Rollouts
from ...agents.models.following import nucleus
from ...agents.objectives.parts.gae import raw_gae
from ..statistics import Floats
from .sequences import SequenceMethod, Sequences

OUT = -1e4
"""The logit of a token that is out of the nucleus."""

TINY = 1e-30
"""In place of a probability of 0."""

CRITIC_STEPS, CRITIC_RATE = 4, 0.03
"""Steps of Adam on a batch, and their learning rate."""


class Texts(NamedTuple):
    """N problems, the first ``trained`` to learn from. F features, T places, V tokens."""

    features: Tensor  # [N, F]; the last is 1
    good: Tensor  # [N, T, V] bool
    spoiling: Tensor  # [N, T, V] bool
    base: Tensor  # [F, T * V] weights that training starts from


class Written(NamedTuple):
    """What a policy is expected to write on the problems held out, at K moments of training.

    Attributes:
        reward: ``[K]`` the true reward of what it writes, restricted if its condition is.
        whole: ``[K]`` of the whole policy, without a restriction.
        cut: ``[K]`` of the policy cut to its own nucleus, whether it was trained so or not.
        nll: ``[K]`` nats a token, the negative log-likelihood of what it writes under the base policy.
        entropy: ``[K]`` nats a token, of what it writes.
    """

    reward: Floats
    whole: Floats
    cut: Floats
    nll: Floats
    entropy: Floats


@dataclass(frozen=True)
class Restricted(SequenceMethod):
    """A condition.

    Attributes:
        task: changes of the task for it, such as ``{"top_p": 0.9}`` or ``{"kl_coef": 0.1}``.
    """

    task: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WideVocabulary:
    """The task; its outcome is :class:`Written`.

    Attributes:
        vocabulary: V.
        places: T, tokens of a text.
        width: features of a problem.
        sureness: length of its feature vector.
        good: share of the vocabulary that the teacher likes at a place.
        spoiling: share of it that spoils a text.
        skill: weight of the teacher's taste in the base policy.
        noise: weight of another in it.
        trained: problems to learn from.
        held_out: problems to be judged on only.
        prompts: problems an iteration.
        group: texts of each.
        kl_coef: what a nat of divergence from the base policy costs, token by token.
        top_p: probability of the nucleus that the policy is restricted to (1: it is not).
        refresh: iterations after which the nucleus is that of a newer policy.
        cut: probability of the nucleus that every policy is cut to for :attr:`Written.cut`.
    """

    vocabulary: int = 512
    places: int = 8
    width: int = 8
    sureness: float = 2.0
    good: float = 0.03
    spoiling: float = 0.3
    skill: float = 0.5
    noise: float = 0.5
    trained: int = 128
    held_out: int = 64
    prompts: int = 8
    group: int = 4
    kl_coef: float = 0.0
    top_p: float = 1.0
    refresh: int = 5
    cut: float = 0.9

    def texts(self, seed: int) -> Texts:
        """Problems, tastes and a base policy of their own for each seed."""
        rng = np.random.default_rng([2210, seed])
        n, size = self.trained + self.held_out, (self.width, self.places, self.vocabulary)
        directions = rng.normal(size=(n, self.width))
        features = self.sureness * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        teacher, other = rng.normal(size=size), rng.normal(size=size)
        liked = th.from_numpy(np.einsum("nf,ftv->ntv", features, teacher).astype(np.float32))
        place = liked.argsort(2, descending=True).argsort(2)
        good = place < max(1, round(self.good * self.vocabulary))
        spoiling = place >= self.vocabulary - round(self.spoiling * self.vocabulary)
        ranks = np.array([rng.permutation(self.vocabulary) for _ in range(self.places)])
        base = np.concatenate([self.skill * teacher + self.noise * other, -np.log(1 + ranks)[None]])
        features = np.column_stack([features, np.ones(n)])
        return Texts(_tensor(features), good, spoiling, _tensor(base).flatten(1))

    def learner(self, seed: int) -> "TextLearner":
        """The policy that training starts from."""
        return TextLearner(self, self.texts(seed), seed)

    def outcome(self, moments: list[Any], every: int) -> Written:
        """Its moments in a row."""
        return Written(*np.array(moments).T)

    def smallest(self) -> Self:
        """A few tokens."""
        return replace(self, vocabulary=16, places=3, trained=8, held_out=4, prompts=2)


@dataclass(frozen=True, kw_only=True)
class WideTexts(Sequences):
    """The testbed."""

    def run(self, condition: Restricted, rate: float, seed: int) -> Written:  # type: ignore[override]
        """Trains a condition on the task of ``seed``."""
        task: Any = self.with_task(**condition.task)
        found: Written = Sequences.run(task, condition, rate, seed)
        return found


class TextLearner:
    """A policy as one table of weights, an older copy of it, and a critic, linear as it is."""

    def __init__(self, task: WideVocabulary, texts: Texts, seed: int) -> None:
        self.task, self.data = task, texts
        self.rng, self.generator = np.random.default_rng([1, seed]), th.Generator().manual_seed(seed)
        self.weight = texts.base.clone().requires_grad_()
        self.older, self.iterations = texts.base.clone(), 0
        self.critic = th.zeros(texts.features.shape[1], task.places, requires_grad=True)
        self.critic_optimizer = th.optim.Adam([self.critic], lr=CRITIC_RATE)

    def weights(self) -> list[Tensor]:
        """See :class:`.sequences.SequenceLearner`."""
        return [self.weight]

    def rollouts(self) -> Rollouts:
        """Texts of some problems by the policy, restricted if it is to be; the critic learns from them."""
        task = self.task
        if self.iterations % task.refresh == 0:
            self.older = self.weight.detach().clone()
        self.iterations += 1
        drawn = th.from_numpy(self.rng.choice(task.trained, task.prompts, replace=False))
        problems, allowed = drawn.repeat_interleave(task.group), self.allowed(drawn)
        allowed = None if allowed is None else allowed.repeat_interleave(task.group, 0)
        with th.no_grad():
            below = self.among(self.logits(problems), allowed).exp().cumsum(-1)
        fallen = th.rand(*below.shape[:2], 1, generator=self.generator) * below[..., -1:]
        words = th.searchsorted(below, fallen, right=True)[..., 0].clamp(max=task.vocabulary - 1)
        batch = self.batch(problems, words, allowed)
        self.fit(batch)
        return batch

    @th.no_grad()
    def batch(self, problems: Tensor, words: Tensor, allowed: Tensor | None = None) -> Rollouts:
        """Texts ``[B, T]`` of problems ``[B]``, drawn among what was allowed, with what they earned."""
        tokens = th.cat([problems[:, None], words], 1)
        mask = th.ones_like(tokens, dtype=th.bool)
        mask[:, 0] = False
        liked, spoilt = (_of(kind[problems], words) for kind in (self.data.good, self.data.spoiling))
        earned = liked.float().mean(1) * ~spoilt.any(1)
        logits, base = self.logits(problems), self.logits(problems, self.data.base)
        moved = _of(logits.log_softmax(-1), words) - _of(base.log_softmax(-1), words)
        step_reward = -self.task.kl_coef * moved  # of the whole policy, as in the authors' code
        step_reward[:, -1] += earned
        logps = self.among(logits, allowed)
        return Rollouts(
            tokens=tokens,
            mask=mask,
            logp_old=_column(_of(logps, words)),
            logp_ref=None,
            reward=step_reward.sum(1),
            group=problems,
            seed=problems,
            turn=th.zeros_like(tokens),
            length=mask.sum(1),
            entropy=th.zeros(tokens.shape),  # which nothing here reads
            info={"success": earned == 1, "earned": earned, "allowed": allowed},
            values=_column(self.data.features[problems] @ self.critic),
            step_reward=_column(step_reward),
        )

    def logp(self, rollouts: Rollouts) -> Tensor:
        """See :class:`.sequences.SequenceLearner`."""
        problems, words = rollouts.tokens[:, 0], rollouts.tokens[:, 1:]
        return _column(_of(self.among(self.logits(problems), rollouts.info["allowed"]), words))

    def logits(self, problems: Tensor, weight: Tensor | None = None) -> Tensor:
        """``[B, T, V]`` by the policy, or by other weights."""
        weight = self.weight if weight is None else weight
        return (self.data.features[problems] @ weight).view(len(problems), self.task.places, -1)

    @th.no_grad()
    def allowed(self, problems: Tensor) -> Tensor | None:
        """The nucleus of the older copy, bool ``[B, T, V]``; None without a restriction."""
        if self.task.top_p == 1:
            return None
        return nucleus(self.logits(problems, self.older).softmax(-1), self.task.top_p)

    @staticmethod
    def among(logits: Tensor, allowed: Tensor | None) -> Tensor:
        """Log-probabilities among what is allowed."""
        return (logits if allowed is None else logits.masked_fill(~allowed, OUT)).log_softmax(-1)

    def fit(self, batch: Rollouts) -> None:
        """Steps of the critic on the batch's returns, of a critic that has not seen it."""
        wanted = raw_gae(batch)[:, 1:] + batch.need("values")[:, 1:]
        for _ in range(CRITIC_STEPS):
            loss = (self.data.features[batch.group] @ self.critic - wanted).square().mean()
            self.critic_optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.critic_optimizer.step()

    @th.no_grad()
    def exact(self) -> tuple[float, ...]:
        """A moment of :class:`Written`."""
        held = th.arange(self.task.trained, len(self.data.features))
        logits = self.logits(held)
        logps = self.among(logits, self.allowed(held))
        whole = logits.softmax(-1)
        cut = self.among(logits, nucleus(whole, self.task.cut)).exp()
        base = self.logits(held, self.data.base).log_softmax(-1)
        nll, entropy = (-(logps.exp() * of).sum(-1) for of in (base, logps))
        found = (*(self.expected(held, of) for of in (logps.exp(), whole, cut)), nll, entropy)
        return tuple(float(one.mean()) for one in found)

    def expected(self, problems: Tensor, chances: Tensor) -> Tensor:
        """The true reward ``[B]`` of texts whose tokens have these probabilities ``[B, T, V]``."""
        good, kept = ((chances * kind[problems]).sum(-1) for kind in (self.data.good, ~self.data.spoiling))
        return (good / kept.clamp(min=TINY)).mean(1) * kept.prod(1)


def _of(logps: Tensor, words: Tensor) -> Tensor:
    return logps.gather(2, words[..., None])[..., 0]


def _column(of_words: Tensor) -> Tensor:
    """``[B, T]`` as ``[B, 1 + T]``, 0 where the problem's number stands."""
    return pad(of_words, (1, 0))


def _tensor(array: Floats) -> Tensor:
    return th.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
