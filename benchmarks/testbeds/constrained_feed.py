"""Policies for a feed of short videos, learnt from logged sessions: most watch time with enough likes and follows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch as th
from scipy.optimize import linprog
from torch import Tensor

from ...agents.control.tscac import TSCAC
from ...agents.control.tscac_losses import stage_one_loss
from ...agents.control.vector_rewards import VectorBatch, VectorTransitions
from ..statistics import Floats
from .short_videos import GEM, SIGNALS, TOPICS, ShortVideos, logged, values

LEVELS = np.array([1.2, 1.0])
"""Likes and follows wanted of a session on average; logged sessions have 0.44 and 0.19, :class:`Gems` 3 and 2.7."""
CHOOSING, REPORTING = 10**6, 2 * 10**6
"""Seeds of the users on whom shares of policies are chosen, and of those on whom they are reported."""
KINDS = ("tscac", "linear", "lagrangian")


class Lagrangian(TSCAC):
    r"""One actor on :math:`A_0 + \sum_i \lambda_i A_i`, a critic for each, and dual steps of the multipliers.

    :math:`\lambda_i \leftarrow \max(0, \lambda_i + \eta (1 - V_i(s_0) / C_i))` at the first states of logged
    sessions: reward-constrained policy optimisation (Tessler et al., 2019) with a critic for each reward, from
    data. The update of actor and critics is that of TSCAC's first stage.

    Attributes:
        levels: C, the discounted returns that are wanted, ``[m]``.
        beginnings: first observations of sessions, ``[n, obs]``.
        dual: lambda, ``[m]``.
        dual_rate: eta.
    """

    levels: Tensor
    beginnings: Tensor
    dual: Tensor
    dual_rate: float

    def _first(self, batch: VectorBatch, log_behaviour: Tensor) -> dict[str, Tensor]:
        policy = self.policy
        self._follow(policy.auxiliary_target, policy.auxiliary_critic)
        rewards = th.cat([batch.rewards[None], batch.terms[:, 1:].T])
        logp_all, advantages, loss = self._judged(
            policy.actor, policy.auxiliary_critic, policy.auxiliary_target, batch, rewards, self.gammas
        )
        dual = th.cat([th.ones(1), self.dual])
        mixed = (dual[:, None] * advantages).sum(dim=0, keepdim=True) / dual.sum()
        acted = stage_one_loss(logp_all, batch.actions, log_behaviour, mixed, self.weight_limit, self.ent_coef)
        with th.no_grad():
            drawn = self.beginnings[th.randint(len(self.beginnings), (len(batch.rewards),))]
            reached = (policy.actor(drawn).softmax(dim=2) * policy.auxiliary_critic(drawn)).sum(dim=2).mean(dim=1)[1:]
            self.dual = (self.dual + self.dual_rate * (1 - reached / self.levels)).clamp(min=0)
        return {"auxiliary_critic": loss, "actor": acted}


class Drawing:
    """Draws actions from softmax of an ensemble's member.

    Args:
        net: the ensemble.
    """

    def __init__(self, net: Any) -> None:
        self.net = net

    @th.no_grad()
    def predict(self, observations: Any, deterministic: bool = False) -> tuple[Any, None]:
        """As of SB3's policies, but always drawn."""
        logits = self.net(th.as_tensor(observations))[0]
        return th.multinomial(logits.softmax(dim=1), 1)[:, 0].numpy(), None


class Gems:
    """Always the best video of the topic that suits most, which is among every condition's policies: it is liked."""

    def predict(self, observations: Any, deterministic: bool = True) -> tuple[Any, None]:
        """As of SB3's policies."""
        return 3 * np.asarray(observations)[:, :TOPICS].argmax(axis=1) + GEM, None


def best_shares(points: Floats, levels: Floats) -> Floats | None:
    """How often each of k policies is drawn for a session so that most is watched at ``levels``, ``[k]``.

    Args:
        points: mean returns of each policy, ``[k, 3]``, the main one first.
        levels: that the others must reach, ``[2]``.

    Returns:
        None where no shares reach the levels.
    """
    found = linprog(-points[:, 0], A_ub=-points[:, 1:].T, b_ub=-levels, A_eq=np.ones((1, len(points))), b_eq=[1.0])
    return np.asarray(found.x) if found.success else None


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A condition.

    Attributes:
        kind: of :data:`KINDS`.
        strengths: of the constraints, one policy each: TSCAC's multiplier, the weight of a sum, or the share of the
            levels that Lagrange multipliers ask for.
        ent_coef: of actors in the first stage, or of the only one.
        dual_rate: eta of Lagrange multipliers.
    """

    kind: str
    strengths: tuple[float, ...]
    ent_coef: float = 0.1
    dual_rate: float = 0.0

    @property
    def params(self) -> dict[str, Any]:
        """What is tried besides learning rates."""
        own = {"dual_rate": self.dual_rate} if self.dual_rate else {}
        return {"strengths": list(self.strengths), "ent_coef": self.ent_coef, **own}


@dataclass(frozen=True)
class Family:
    """What a condition's policies do.

    Attributes:
        chosen: mean returns ``[k + 1, 3]`` of each policy, :class:`Gems` last, on the users of :data:`CHOOSING`.
        told: on those of :data:`REPORTING`.
        shares: with which they are drawn, ``[k + 1]``.
    """

    chosen: Floats
    told: Floats
    shares: Floats

    @property
    def at_levels(self) -> Floats:
        """Mean returns ``[3]`` with these shares."""
        found: Floats = self.shares @ self.told
        return found


@dataclass(frozen=True, kw_only=True)
class ConstrainedFeed:
    """The testbed.

    Attributes:
        sessions: that were logged.
        updates: of every actor and critic: TSCAC's first stage, which its policies share, has as many as its second.
        tests: sessions on which a policy is measured.
        settings: of all agents.
    """

    sessions: int = 3000
    updates: int = 1200
    tests: int = 4000
    settings: tuple[tuple[str, Any], ...] = (
        ("gamma", 0.95),
        ("batch_size", 128),
        ("tau", 0.01),
        ("device", "cpu"),
    )

    def run(self, condition: Learner, rate: float, seed: int) -> Family:
        """A policy for every strength, and the best shares of them and :class:`Gems`."""
        data = scaled(logged(self.sessions, seed))
        policies = getattr(self, f"_{condition.kind}")(data, condition, rate, seed)
        chosen, told = (self._points(policies, of + seed) for of in (CHOOSING, REPORTING))
        shares = best_shares(chosen, LEVELS)
        assert shares is not None, "one of them reaches the levels"
        return Family(chosen, told, shares)

    def _points(self, policies: Sequence[Any], seed: int) -> Floats:
        th.manual_seed(seed)
        return np.stack([values(one, self.tests, seed) for one in (*map(Drawing, policies), Gems())])

    def _made(self, kind: type[TSCAC], how: Learner, rate: float, seed: int, **settings: Any) -> Any:
        given = {**dict(self.settings), "ent_coef": how.ent_coef, "learning_rate": rate, "seed": seed, **settings}
        return kind("MlpPolicy", ShortVideos(1), policy_kwargs={"net_arch": [64]}, **given)

    def _tscac(self, data: VectorTransitions, how: Learner, rate: float, seed: int) -> list[Any]:
        policies: list[Any] = []
        first = self._made(TSCAC, how, rate, seed, auxiliary=SIGNALS[1:], stage_one=1.0)
        taught(first, data, self.updates)
        for strength in how.strengths:
            agent = self._made(TSCAC, how, rate, seed, auxiliary=SIGNALS[1:], stage_one=0.0, multiplier=strength)
            agent.policy.load_state_dict(first.policy.state_dict())
            policies.append(taught(agent, data, self.updates).actor)
        return policies

    def _linear(self, data: VectorTransitions, how: Learner, rate: float, seed: int) -> list[Any]:
        policies: list[Any] = []
        for strength in how.strengths:
            total = data.terms[:, 0] + strength * data.terms[:, 1:].sum(axis=1)
            summed = replace(data, terms=total[:, None] / (1 + 2 * strength), names=("sum",))
            agent = self._made(TSCAC, how, rate, seed, auxiliary=("sum",), stage_one=1.0)
            policies.append(taught(agent, summed, self.updates).auxiliary)
        return policies

    def _lagrangian(self, data: VectorTransitions, how: Learner, rate: float, seed: int) -> list[Any]:
        policies: list[Any] = []
        begins, gamma = np.roll(data.ends, 1), dict(self.settings)["gamma"]
        had = np.array([replace(data, rewards=data.terms[:, i]).returns(gamma)[begins].mean() for i in (1, 2)])
        for strength in how.strengths:
            agent = self._made(Lagrangian, how, rate, seed, auxiliary=SIGNALS, stage_one=1.0)
            agent.dual, agent.dual_rate = th.zeros(2), how.dual_rate
            agent.levels, agent.beginnings = th.tensor(strength * had), th.from_numpy(data.observations[begins])
            policies.append(taught(agent, data, self.updates).actor)
        return policies

    def smallest(self) -> Self:
        """A few updates on a few sessions."""
        return replace(self, sessions=200, updates=4, tests=500)


def taught(agent: Any, data: VectorTransitions, updates: int) -> Any:
    """The policy of an agent after so many updates."""
    agent.learn_offline(data, 0).train(updates, agent.batch_size)
    return agent.policy


def scaled(data: VectorTransitions) -> VectorTransitions:
    """The same with every reward in units of its mean a step."""
    means = data.terms.mean(axis=0)
    return replace(data, rewards=data.rewards / means[0], terms=data.terms / means)
