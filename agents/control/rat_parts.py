"""Parts of RAT: a bounded adversary, a reward learnt from preferences over segments, and how both are weighted.

Paper: Bai et al., RAT: Adversarial Attacks on Deep Reinforcement Agents for Targeted Behaviors (2024); Lee et al.,
PEBBLE (2021). "The authors' code" is github.com/ChangWinde/RAT, whose ``train_RAT_mani.py`` has the updates.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor, nn

from ...wrappers.rewards.offline_rl_vlm_f import bradley_terry

Floats = npt.NDArray[np.float32]


def perceptron(inputs: int, outputs: int, width: int, *, bounded: bool = True) -> nn.Sequential:
    """Two hidden layers of ReLU, and outputs in (-1, 1) if ``bounded``."""
    layers = [nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs)]
    return nn.Sequential(*layers, *([nn.Tanh()] if bounded else []))


def matching_error(acted: Tensor, wanted: Tensor) -> Tensor:
    r"""The divergence of unit Gaussians around two actions, :math:`\frac12 \|a_v - a_\theta\|^2`, ``[B]``.

    Args:
        acted: by the victim that is attacked, ``[B, A]``.
        wanted: by the intention policy, ``[B, A]``.
    """
    return (acted - wanted).square().sum(dim=1) / 2


def influence(adversary: nn.Module, observations: Tensor, slopes: Tensor, direction: dict[str, Tensor]) -> Tensor:
    r""":math:`\langle \nabla_\alpha L_i, g \rangle` of each state, ``[B]``, without a gradient.

    Args:
        adversary: with parameters alpha.
        observations: ``[B, d]``.
        slopes: :math:`\partial L_i / \partial \delta_i` by the adversary's outputs, ``[B, d]``.
        direction: g, a tensor for each of the adversary's parameters.
    """

    def outputs(params: dict[str, Tensor]) -> Tensor:
        found: Tensor = th.func.functional_call(adversary, params, (observations,))
        return found

    params = {name: param.detach() for name, param in adversary.named_parameters()}
    moved: Tensor = th.func.jvp(outputs, (params,), (direction,))[1]
    found: Tensor = (slopes * moved).sum(dim=1).detach()
    return found


class SegmentRewards(nn.Module):
    r"""An ensemble of rewards of steps, learnt from preferences between segments.

    .. math:: P(\sigma_1 \succ \sigma_0) = \mathrm{sigmoid}(\sum_t r(s^1_t, a^1_t) - \sum_t r(s^0_t, a^0_t))

    Args:
        width: of an observation and an action together.
        members: of the ensemble.
        hidden: width of the hidden layers.
    """

    def __init__(self, width: int, members: int, hidden: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(perceptron(width, 1, hidden) for _ in range(members))

    def each(self, steps: Tensor) -> Tensor:
        """Of every member, ``[members, ...]``, for steps ``[..., width]``."""
        return th.stack([member(steps).squeeze(-1) for member in self.members])

    def forward(self, steps: Tensor) -> Tensor:
        """The ensemble's mean ``[...]`` in (-1, 1) for steps ``[..., width]``."""
        return self.each(steps).mean(dim=0)

    def loss(self, worse: Tensor, better: Tensor) -> Tensor:
        """Mean over preferences and sum over members of -log P, for segments ``[N, L, width]``."""
        totals = zip(self.each(worse).sum(dim=-1), self.each(better).sum(dim=-1), strict=True)
        return th.stack([bradley_terry(*of_one) for of_one in totals]).sum()


class Segments:
    """The last steps of each environment, with the teacher's scores, for segments within one episode.

    Args:
        length: of segments.
        kept: steps that are kept of all environments together, at least so many as a segment has.
    """

    def __init__(self, length: int, kept: int) -> None:
        self.length, self.kept = length, max(1, kept // length)
        self.running: dict[int, list[tuple[Floats, float]]] = {}
        self.found: list[tuple[Floats, float]] = []

    def add(self, env: int, step: Floats, score: float, done: bool) -> None:
        """Adds a step ``[width]``; what an episode leaves at its end that is too short is dropped."""
        running = self.running.setdefault(env, [])
        running.append((step, score))
        if len(running) == self.length:
            self.found.append((np.stack([row for row, _ in running]), float(sum(value for _, value in running))))
            self.found = self.found[-self.kept :]
        if done or len(running) == self.length:
            self.running[env] = []

    def pairs(self, n: int, disagreement: Callable[[Tensor, Tensor], Tensor]) -> tuple[Tensor, Tensor]:
        """The n of ten times as many random pairs that members disagree on most: worse and better ``[n, L, width]``.

        Pairs of equal scores are left out, so that there may be fewer, or none.
        """
        if len(self.found) < 2:
            nothing = th.zeros(0, self.length, 1)
            return nothing, nothing
        one, other = (th.randint(len(self.found), (10 * n,)) for _ in range(2))
        steps = th.as_tensor(np.stack([rows for rows, _ in self.found]))
        scores = th.tensor([score for _, score in self.found], dtype=th.float64)
        unlike = scores[one] != scores[other]
        one, other = one[unlike], other[unlike]
        first = disagreement(steps[one], steps[other]).cpu().argsort(descending=True)[:n]
        one, other = one[first], other[first]
        better = th.where(scores[one] > scores[other], one, other)
        return steps[one + other - better], steps[better]
