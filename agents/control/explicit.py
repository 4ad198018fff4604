"""Gradients of critics and actors, written out: autograd builds no graph and calls no hooks.

Functions here take networks and tensors and change nothing; what is random is drawn before and given. So they compute
at once or, compiled (:mod:`.compiled`), as machine code. Each returns a loss and its gradients, in the order of the
parameters of that network's optimiser, for :meth:`~.networks.Network.descend`. Where the extractor of features learns
as well, :func:`explicit` leaves autograd on, and it does the backward pass instead, of the same loss.

``tests/agents/control/test_explicit.py`` holds the gradients of every agent's update to autograd's.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

import torch as th
from torch import Tensor

from .heads import Categorical
from .networks import Critics, Deterministic, Drawn, Network, SquashedGaussian
from .replay import Batch
from .updates import Passed

P = ParamSpec("P")
Result = TypeVar("Result")


class Learner(Protocol):
    """An agent."""

    @property
    def networks(self) -> Sequence[Network]:
        """Those that learn."""


Agent = TypeVar("Agent", bound=Learner)


def explicit(update: Callable[Concatenate[Agent, P], Result]) -> Callable[Concatenate[Agent, P], Result]:
    """An update of an agent, or a part of one, whose gradients are written out."""

    @wraps(update)
    def updated(agent: Agent, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        with th.set_grad_enabled(any(network.learns_features for network in agent.networks)):
            return update(agent, *args, **kwargs)

    return updated


def is_explicit(update: Callable[..., Any]) -> bool:
    """Whether it is one of :func:`explicit`."""
    return hasattr(update, "__wrapped__")


class Step(NamedTuple):
    """What one network learns from a batch."""

    loss: Tensor
    gradients: Sequence[Tensor]
    seen: Tensor  # values or log-probabilities on the way, to log


class Acted(NamedTuple):
    """Actions drawn by a squashed Gaussian actor, and the pass that found them."""

    drawn: Drawn
    passed: Passed

    def rows(self, first: int, last: int) -> "Acted":
        """Those of some samples."""
        return Acted(Drawn(*(part[first:last] for part in self.drawn)), self.passed.rows(first, last))


def act(actor: SquashedGaussian, features: Tensor, noise: Tensor) -> Acted:
    """Actions at states of ``features`` ``[B, n]`` with ``noise`` ``[B, A]``."""
    passed = actor.net.passed(features)
    return Acted(Drawn.by(actor.lined(passed.out[0]), noise), passed)


def regression(critic: Critics, observations: Any, actions: Tensor | None, target: Tensor) -> Step:
    """All critics towards ``target`` ``[B]``, by the loss of their head."""
    passed = critic.passed(observations, actions)
    loss = critic.head.loss(passed.out, target).mean(dim=1).sum()
    slope = critic.head.loss_slope(passed.out, target) / len(target)
    return Step(loss, passed.gradients(slope), critic.head.value(passed.out).detach().mean())


def distributional_regression(critic: Critics, observations: Any, actions: Tensor, wanted: Tensor) -> Step:
    """All critics (of a categorical head) towards ``wanted`` probabilities ``[B, n_bins]`` or ``[n, B, n_bins]``."""
    passed, head = critic.passed(observations, actions), critic.head
    assert isinstance(head, Categorical)
    loss = head.cross_entropy(passed.out, wanted).mean(dim=1).sum()
    slope = head.cross_entropy_slope(passed.out, wanted) / len(actions)
    return Step(loss, passed.gradients(slope), head.value(passed.out).detach().mean())


def judged(critic: Critics, observations: Any, actions: Tensor, objective: str) -> tuple[Tensor, Tensor]:
    """The "min", the "mean" or the "first" of the critics ``[B]``, and its gradient by the actions ``[B, A]``."""
    features = critic.features(observations).detach()
    passed = critic.net.passed(th.cat([features, actions], dim=1), slice(1) if objective == "first" else None)
    values, slope = critic.head.value(passed.out), critic.head.value_slope(passed.out)
    if objective == "min":
        value, member = values.min(0)
        return value, passed.by_inputs_of(member, slope, critic.n_actions)
    return values.mean(0), passed.by_inputs(slope / len(values), critic.n_actions)


def soft_improvement(
    actor: SquashedGaussian, critic: Critics, observations: Any, acted: Acted, alpha: Tensor, objective: str
) -> Step:
    r"""The actor down :math:`\alpha \log \pi(a|s) - Q(s, a)` where it has ``acted``; log-probabilities are seen."""
    drawn, size = acted.drawn, len(acted.drawn.actions)
    value, slope = judged(critic, observations, drawn.actions, objective)
    g = drawn.by_outputs(slope / -size, alpha / size)
    loss = (alpha * drawn.log_prob - value).mean()
    return Step(loss, actor.gradients(acted.passed, g), drawn.log_prob.detach())


def improvement(actor: Deterministic, critic: Critics, batch: Batch, objective: str) -> Step:
    """A deterministic actor up the "first" critic, as in TD3, or up the "min" or "mean" of them."""
    passed = actor.net.passed(actor.features(batch.observations))
    actions = actor.actions(passed.out[0], None)
    value, slope = judged(critic, batch.observations, actions, objective)
    return Step(-value.mean(), actor.gradients(passed, slope / -len(value) * (1 - actions * actions)), value.detach())


def imitation(actor: Any, passed: Passed, actions: Tensor, weights: Tensor) -> Step:
    """The actor, which ``passed`` the states, up the log-probabilities of ``actions`` by ``weights`` ``[B]``."""
    loss, gradients = actor.imitation(passed, actions, weights)
    return Step(loss, gradients, weights)


@th.no_grad()
def least(critics: Critics, observations: Any, actions: Tensor, members: Tensor | None = None) -> Tensor:
    """The least value ``[B]`` of all critics, or of some ``members`` alone, without gradient."""
    return critics.head.value(critics.passed(observations, actions, members).out).amin(0)
