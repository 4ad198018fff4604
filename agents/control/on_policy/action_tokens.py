"""A policy that writes actions as tokens, bins of an interval, and what is kept of its episodes."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import create_mlp
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from ...language.rollouts import PolicyOut, Rollouts
from ...optimizers import Adam
from ...policy_files import SafePolicy
from .chunks import check_flat_spaces, in_units, through_chunks
from .distributions import Categorical
from .moments import RunningMoments

Arrays = npt.NDArray[Any]
CLIP = 10.0
"""Limit of normalised observations, either way."""


def tokens_of(actions: Tensor, bins: int) -> Tensor:
    r""":math:`\lfloor n (a + 1) / 2 \rfloor` of actions from -1 to 1, in n bins of equal width; 1 is in the last."""
    return ((actions + 1) / 2 * bins).long().clamp(0, bins - 1)


def actions_of(tokens: Tensor, bins: int) -> Tensor:
    r"""The middle of each token's bin, :math:`2 (k + 1/2) / n - 1`."""
    return (tokens.float() + 0.5) / bins * 2 - 1


class ActionTokenPolicy(SafePolicy, BasePolicy):
    r"""H actions of D numbers at once, each number a token from a categorical distribution over ``bins`` of its own.

    All H D distributions follow from one pass of the network over the observation, as OpenVLA-OFT decodes in parallel:
    :math:`\pi(a|s) = \prod_{h,d} softmax(z_{hd}(s) / T)`. ``predict`` draws from it, at the temperature T of rollouts,
    or takes each token's likeliest value if ``deterministic``; with H above 1 its state is what is left of the chunk,
    as :class:`~.flow_policy.FlowPolicy`'s.

    Departures from OpenVLA: n bins have n values, where 256 edges there have 255; the bounds are the space's, where
    they are quantiles of the data.

    Args:
        observation_space: of one environment; a flat Box.
        action_space: of one environment; a Box with finite bounds.
        lr_schedule: of the learning rate.
        net_arch: widths of the hidden layers; two of 256 if None.
        activation_fn: between them.
        bins: n.
        chunk_size: H.
        temperature: T.
        clone_learning_rate: of cloning.

    Attributes:
        fixed: whether observations are normalised by a dataset's moments; they are taken as they are before.

    Raises:
        TypeError: other spaces.
        ValueError: a temperature of 0.
    """

    fixed: Tensor

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        net_arch: Sequence[int] | None = None,
        activation_fn: type[nn.Module] = nn.SiLU,
        bins: int = 256,
        chunk_size: int = 8,
        temperature: float = 1.6,
        clone_learning_rate: float = 1e-3,
    ) -> None:
        check_flat_spaces(observation_space, action_space, "policy of action tokens")
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}: predict(deterministic=True) is greedy")
        super().__init__(observation_space, action_space)
        assert isinstance(action_space, Box)
        self.bins, self.chunk_size, self.temperature = bins, chunk_size, temperature
        self.n_numbers = int(np.prod(action_space.shape))
        self.moments = RunningMoments(observation_space.shape or ())
        self.register_buffer("fixed", th.zeros((), dtype=th.bool))
        widths = [256, 256] if net_arch is None else list(net_arch)
        outputs = chunk_size * self.n_numbers * bins
        self.net = nn.Sequential(*create_mlp(self.moments.mean.numel(), outputs, widths, activation_fn))
        self.optimizer = Adam(self.net.parameters(), lr=lr_schedule(1), eps=1e-5)
        self.clone_optimizer = Adam(self.net.parameters(), lr=clone_learning_rate, eps=1e-5)

    def fix_moments(self, observations: Tensor) -> None:
        """Takes in a dataset's observations ``[N, S]``, the first time."""
        if not self.fixed:
            self.moments.update(observations)
            self.fixed.fill_(True)

    def logits(self, observations: Tensor) -> Tensor:
        """``[B, H, D, bins]``, before the temperature."""
        found: Tensor = self.net(self.moments(observations, CLIP))
        return found.view(len(observations), self.chunk_size, self.n_numbers, self.bins)

    def logp(self, observations: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies of each token ``[B, H, D]``, at the temperature of rollouts."""
        scaled = self.logits(observations) / self.temperature
        logp, entropy = Categorical().log_prob(scaled.flatten(0, 2), None, tokens.flatten())
        return logp.view_as(tokens), entropy.view_as(tokens)

    def drawn(self, observations: Tensor, deterministic: bool = False) -> Tensor:
        """Tokens ``[B, H, D]``."""
        return Categorical().sample(self.logits(observations) / self.temperature, None, deterministic)

    def chunks(self, tokens: Tensor) -> Tensor:
        """Tokens ``[B, H, D]`` as actions ``[B, H, ...]`` in the environment's units."""
        return in_units(self.action_space, actions_of(tokens, self.bins))

    def forward(self, obs: PyTorchObs, deterministic: bool = False) -> Tensor:
        """First actions ``[B, ...]`` of chunks."""
        assert isinstance(obs, Tensor)
        return self.chunks(self.drawn(obs, deterministic))[:, 0]

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> Tensor:
        return self(observation, deterministic)  # type: ignore[no-any-return]

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: tuple[Arrays, ...] | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[Arrays, tuple[Arrays, ...] | None]:
        """As in SB3; with chunks of several actions give the state that it returned with the next observation."""
        self.set_training_mode(False)
        seen, is_batch = self.obs_to_tensor(observation)
        assert isinstance(seen, Tensor)
        chunks = self.chunks(self.drawn(seen.float(), deterministic)).cpu().numpy()
        chosen, left = through_chunks(chunks, state, episode_start)
        return (chosen if is_batch else chosen.squeeze(axis=0)), (left if self.chunk_size > 1 else None)


@dataclass(frozen=True)
class Episodes:
    """B whole episodes of at most K chunks.

    Attributes:
        observations: ``[B, K, S]``, at which chunks were decided.
        tokens: ``[B, K, H, D]``.
        used: ``[B, K, H]``, whether the action was taken before the episode ended.
        reward: ``[B]``, 1 for a success and 0 for a failure.
        group: ``[B]``; episodes with equal numbers began alike.
    """

    observations: Tensor
    tokens: Tensor
    used: Tensor
    reward: Tensor
    group: Tensor

    def __len__(self) -> int:
        return len(self.reward)

    def take(self, index: Any) -> Self:
        """Those at ``index``."""
        return replace(self, **{one.name: getattr(self, one.name)[index] for one in fields(self)})

    def policy_out(self, policy: ActionTokenPolicy) -> PolicyOut:
        """What a policy says of the tokens ``[B, K H D]``; 0 where no action of a chunk was taken."""
        decided = self.used.any(-1)
        found = policy.logp(self.observations[decided], self.tokens[decided])
        blank = self.tokens.new_zeros(self.tokens.shape, dtype=th.float32)
        logp, entropy = (blank.index_put((decided,), one).flatten(1) for one in found)
        return PolicyOut(logp, entropy)

    def rollouts(self, logp_old: Tensor | None = None) -> Rollouts:
        """As objectives read them: an episode is a completion, whose reward is the outcome.

        Args:
            logp_old: ``[B, K H D]`` of the policy that acted; zeros if None.
        """
        mask = self.used.unsqueeze(-1).expand_as(self.tokens).flatten(1)
        blank = th.zeros(mask.shape, device=mask.device)
        turn = th.arange(self.used.shape[1], device=mask.device).repeat_interleave(self.tokens[0, 0].numel())
        return Rollouts(
            tokens=self.tokens.flatten(1),
            mask=mask,
            logp_old=blank if logp_old is None else logp_old,
            logp_ref=None,
            reward=self.reward,
            group=self.group,
            seed=self.group,
            turn=turn.expand_as(mask),
            length=mask.sum(1),
            entropy=blank,
            info={"success": self.reward > 0},
        )


def joined(parts: Sequence[Episodes]) -> Episodes:
    """Several batches as one, padded to the longest."""
    longest = max(part.used.shape[1] for part in parts)

    def padded(part: Tensor) -> Tensor:
        if part.dim() < 3:
            return part
        blank = part.new_zeros(len(part), longest - part.shape[1], *part.shape[2:])
        return th.cat([part, blank], dim=1)

    names = [one.name for one in fields(Episodes)]
    return Episodes(**{name: th.cat([padded(getattr(part, name)) for part in parts]) for name in names})
