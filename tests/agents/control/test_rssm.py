"""The recurrent state-space model: divergences, their balance and lambda-returns by hand, and what states know."""

import math

import pytest
import torch as th

from tiltyard.agents.control.latent_policy import LatentActor
from tiltyard.agents.control.rssm import RSSM, Gaussian, balanced, divergence, lambda_returns


def gaussian(mean: float, std: float) -> Gaussian:
    return Gaussian(th.tensor([[mean]], requires_grad=True), th.tensor([[std]], requires_grad=True))


def model() -> RSSM:
    th.manual_seed(0)
    return RSSM(5, 2, belief_size=8, stoch_size=3, hidden_size=8, embedding_size=8)


def test_the_divergence_by_hand() -> None:
    q, p = Gaussian(th.tensor([[1.0, 0.0]]), th.tensor([[1.0, 2.0]])), Gaussian(th.zeros(1, 2), th.tensor([[2.0, 2.0]]))
    assert divergence(q, p).tolist() == pytest.approx([math.log(2) + (1 + 1) / 8 - 0.5])


def test_the_balance_shares_the_gradient_by_hand() -> None:
    q, p = gaussian(1.0, 1.0), gaussian(0.0, 1.0)
    found = balanced(q, p, 0.8)
    assert float(found.detach()) == pytest.approx(0.5)  # d^2 / 2, whose derivative is d = 1
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert q.mean.grad is not None
    assert p.mean.grad is not None
    assert float(p.mean.grad) == pytest.approx(-0.8)
    assert float(q.mean.grad) == pytest.approx(0.2)


def test_lambda_returns_by_hand() -> None:
    rewards, values = th.tensor([[1.0], [2.0]]), th.tensor([[10.0], [20.0]])
    found = lambda_returns(rewards, th.tensor([[0.5], [0.5]]), values, 0.75)
    assert found[:, 0].tolist() == pytest.approx([1 + 0.5 * (0.25 * 10 + 0.75 * 12), 2 + 0.5 * 20])
    ended = lambda_returns(rewards, th.tensor([[0.0], [0.5]]), values, 0.5)
    assert float(ended[0]) == 1


def test_a_state_knows_what_was_seen_so_far_and_nothing_of_what_follows() -> None:
    rssm, seen, done = model(), th.randn(1, 4, 5), th.randn(1, 3, 2)
    later_seen, later_done = seen.clone(), done.clone()
    later_seen[:, 2], later_done[:, 2] = 7, 7  # action 2 is taken after observation 2
    found = []
    for one, other in ((seen, done), (later_seen, later_done)):
        th.manual_seed(1)
        found.append(rssm.observe(one, other))
    before, after = (one.posterior.mean[0] for one in found)
    assert before[:2].equal(after[:2])
    assert not before[2].equal(after[2])
    priors = [one.prior.mean[0] for one in found]
    assert priors[0][:3].equal(priors[1][:3])  # the prior of a step has not seen its observation
    assert not priors[0][3].equal(priors[1][3])


def test_observing_and_imagining_believe_the_same_after_an_action() -> None:
    rssm, seen, done = model(), th.randn(2, 2, 5), th.randn(2, 1, 2)
    found = rssm.observe(seen, done)
    first = type(found.latents)(*(part[:, 0] for part in found.latents))
    assert rssm.imagined(first, done[:, 0]).belief.tolist() == found.latents.belief[:, 1].tolist()


def test_the_density_of_squashed_actions_is_that_of_torch() -> None:
    th.manual_seed(0)
    actor, features = LatentActor(4, 8, 2), th.randn(6, 4)
    actions, log_density = actor.sample(features)
    normal = th.distributions.Normal(*actor.gaussian(features))
    squashed = th.distributions.TransformedDistribution(normal, [th.distributions.TanhTransform()])
    expected = squashed.log_prob(actions).sum(dim=1)  # type: ignore[no-untyped-call]
    assert log_density.tolist() == pytest.approx(expected.tolist(), abs=1e-3)
