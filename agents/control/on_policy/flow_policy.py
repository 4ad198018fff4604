"""An actor-critic whose actor is a flow-matching network, and how it acts in rollouts, a chunk of actions at a time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from .... import unknown
from ...optimizers import Adam
from .acting import BulkActing, on_device
from .chunks import check_flat_spaces, in_units, through_chunks
from .flow import FlowNetwork, NoiseChain, SDEChain, follow_ode
from .policies import NormalizedPolicy
from .rollout import Observations, Rollout, Samples, flat, part_of

VARIANTS = ("flow-noise", "flow-sde")
Arrays = npt.NDArray[Any]


@dataclass(frozen=True)
class ChainSamples(Samples):
    """:class:`~.rollout.Samples` of chunks: ``actions`` are their chains ``[B, K + 1, D]``.

    Attributes:
        noisy: ``[B]``, the step of each chain that followed the SDE.
    """

    noisy: Tensor


class FlowPolicy(NormalizedPolicy):
    """Chunks of actions from a flow-matching network, and the value of the observation.

    To act, SB3's ``predict`` follows the ODE, from noise, or from 0 if ``deterministic``. With a chunk of several
    actions its state is what is left of the chunk: give it back with the next observation, or every call begins one.

    Args:
        observation_space: of one environment; a flat Box.
        action_space: of one environment; a Box with finite bounds.
        lr_schedule: of the actor's learning rate.
        variant: "flow-noise" or "flow-sde".
        denoise_steps: K, of a chain.
        chunk_size: H, actions of a chunk.
        noise_level: of Flow-SDE.
        noise_min: least standard deviation of a step of Flow-Noise.
        noise_max: the largest.
        clone_learning_rate: of cloning.
        **kwargs: of :class:`~.policies.NormalizedPolicy`; ``net_arch`` has the actor's widths as "pi".

    Raises:
        TypeError: other spaces.
        ValueError: an unknown variant, or limits of noise that are none.
    """

    fixed: Tensor

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        variant: str = "flow-sde",
        denoise_steps: int = 4,
        chunk_size: int = 1,
        noise_level: float = 0.5,
        noise_min: float = 0.08,
        noise_max: float = 0.16,
        clone_learning_rate: float = 1e-3,
        **kwargs: Any,
    ) -> None:
        if variant not in VARIANTS:
            raise ValueError(unknown("variant", variant, VARIANTS))
        if not 0 < noise_min < noise_max:
            raise ValueError(f"noise_min must be above 0 and below noise_max, got {noise_min} and {noise_max}")
        check_flat_spaces(observation_space, action_space, "flow policy")
        kwargs.setdefault("activation_fn", nn.SiLU)
        arch = kwargs.pop("net_arch", None) or {"pi": [128, 128], "vf": [64, 64]}
        arch = arch if isinstance(arch, dict) else {"pi": arch, "vf": arch}
        super().__init__(
            observation_space, action_space, lr_schedule, net_arch={"pi": [], "vf": arch.get("vf", [])}, **kwargs
        )
        del self.log_std
        self.denoise_steps, self.chunk_size = denoise_steps, chunk_size
        self.chain_size = chunk_size * self.n_outputs
        noise_range = (noise_min, noise_max) if variant == "flow-noise" else None
        network = FlowNetwork(self.features_dim, self.chain_size, arch.get("pi", []), self.activation_fn, noise_range)
        self.action_net = network  # type: ignore[assignment]
        chain = NoiseChain(network, denoise_steps) if noise_range else SDEChain(network, denoise_steps, noise_level)
        self.chain: NoiseChain | SDEChain = chain
        self.register_buffer("fixed", th.zeros((), dtype=th.bool))
        actor = {id(part) for part in network.parameters()}
        groups = [
            {"params": [part for part in self.parameters() if (id(part) in actor) == acts]} for acts in (True, False)
        ]
        self.optimizer = self.optimizer_class(groups, lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]
        cloned = [*network.body.parameters(), *network.velocity.parameters()]
        self.clone_optimizer = Adam(cloned, lr=clone_learning_rate, eps=1e-5, fused=True)

    def update_moments(self, observations: Any, rows: Tensor | None = None) -> None:
        """As the base's, unless moments are those of a dataset, which stay: a cloned actor reads observations so."""
        if not self.fixed:
            super().update_moments(observations, rows)

    def fix_moments(self, observations: Tensor) -> None:
        """Takes in a dataset's observations ``[N, S]``, and from then on no others."""
        self.update_moments(observations)
        self.fixed.fill_(True)

    def drawn_chains(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Chains ``[B, K + 1, D]`` at normalised observations, to learn from, and their noisy steps ``[B]``."""
        start = th.randn(len(observations), self.chain_size, device=observations.device)
        return self.chain.sample(self._features(observations), start)

    def chain_logp(self, observations: Tensor, chains: Tensor, noisy: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies ``[B]`` of chains, at normalised observations."""
        return self.chain.logp(self._features(observations), chains, noisy)

    def chunks(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Chunks ``[B, H, ...]`` in the environment's units, by the ODE, at normalised observations."""
        size = (len(observations), self.chain_size)
        start = th.zeros(size, device=observations.device) if deterministic else th.randn(size, device=self.device)
        found = follow_ode(self.action_net, self._features(observations), start, self.denoise_steps)  # type: ignore[arg-type]
        return self.in_units(found)

    def in_units(self, states: Tensor) -> Tensor:
        """The last states ``[B, D]`` of chains, in which -1 and 1 are the bounds, as chunks ``[B, H, ...]``."""
        return in_units(self.action_space, states)

    def forward(self, obs: PyTorchObs, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        """First actions ``[B, ...]`` of chunks drawn to learn from, values ``[B, 1]``, log-probabilities ``[B]``.

        ``deterministic`` is of no meaning for a chain with a log-probability, and an error.
        """
        if deterministic:
            raise ValueError("a chain that is drawn without noise has no log-probability: use predict to act")
        seen: Any = self.normalized(obs)
        chains, noisy = self.drawn_chains(seen)
        logp, _ = self.chain_logp(seen, chains, noisy)
        return self.in_units(chains[:, -1])[:, 0], self.critic_values(seen).unsqueeze(-1), logp

    def outputs(self, observations: PyTorchObs) -> tuple[Tensor, Tensor]:
        """None: the actor has no means or logits.

        Raises:
            TypeError: always.
        """
        raise TypeError("a flow policy has no distribution of single actions: use drawn_chains and chain_logp")

    def actor_outputs(self, observations: PyTorchObs) -> Tensor:
        """None; see :meth:`outputs`."""
        return self.outputs(observations)[0]

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> Tensor:
        with th.no_grad():
            return self.chunks(self.normalized(observation), deterministic)[:, 0]  # type: ignore[arg-type]

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: tuple[Arrays, ...] | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[Arrays, tuple[Arrays, ...] | None]:
        """As in SB3; with chunks of several actions give the state that it returned with the next observation.

        The state is the chunks ``[n, H, ...]`` and how many actions of each are left ``[n]``.
        """
        if self.chunk_size == 1:
            return super().predict(observation, state, episode_start, deterministic)
        self.set_training_mode(False)
        seen, is_batch = self.obs_to_tensor(observation)
        chunks = self.chunks(self.normalized(seen), deterministic).cpu().numpy()  # type: ignore[arg-type]
        chosen, state = through_chunks(chunks, state, episode_start)
        assert isinstance(self.action_space, Box)
        chosen = np.clip(chosen, self.action_space.low, self.action_space.high)
        return (chosen if is_batch else chosen.squeeze(axis=0)), state

    def _features(self, observations: Any) -> Tensor:
        found = self.extract_features(observations)
        assert isinstance(found, Tensor)
        return found


class FlowActing(BulkActing):
    """Acts by chunks; a new one where an episode begins, where the last is spent, and at a rollout's beginning.

    Attributes:
        chains: ``[T, N, K + 1, D]``, of the chunks that begin with a step.
        noisy: ``[T, N]``, their steps that followed the SDE.
        decided: ``[T, N]``, whether a chunk begins with a step.
    """

    policy: FlowPolicy

    def begin(self, rollout: Rollout) -> None:
        """Makes room, and forgets what was left of chunks."""
        policy, size = self.policy, (rollout.n_steps, rollout.n_envs)
        self.chains = th.zeros(*size, policy.denoise_steps + 1, policy.chain_size, device=policy.device)
        self.noisy = th.zeros(size, dtype=th.int64, device=policy.device)
        self.decided = th.zeros(size, dtype=th.bool)
        self._left = th.zeros(rollout.n_envs, dtype=th.int64)
        self._pending = th.zeros(rollout.n_envs, policy.chunk_size, *rollout.actions.shape[2:])

    def act(self, rollout: Rollout, row: int) -> None:
        """See :class:`~.acting.Acting`."""
        policy, new = self.policy, self._left == 0
        if row:
            new |= rollout.terminated[row - 1] | rollout.truncated[row - 1] | ~rollout.valid[row - 1]
        if new.any():
            raw: Any = on_device(part_of(part_of(rollout.observations, row), new), policy.device)
            chains, noisy = policy.drawn_chains(policy.normalized(raw))  # type: ignore[arg-type]
            here = new.to(policy.device)
            self.chains[row, here], self.noisy[row, here] = chains, noisy
            self._pending[new] = policy.in_units(chains[:, -1]).cpu()
            self._left[new] = policy.chunk_size
        self.decided[row] = new
        rollout.actions[row] = self._pending[th.arange(len(new)), policy.chunk_size - self._left]
        self._left -= 1

    def finish(self, rollout: Rollout) -> Observations:
        """See :class:`~.acting.Acting`; log-probabilities are had later, of chunks alone."""
        policy = self.policy
        everything: Any = policy.normalized(on_device(flat(rollout.observations), policy.device))  # type: ignore[arg-type]
        rollout.values.copy_(self._critic(everything, rollout.values.numel()).view_as(rollout.values))
        return part_of(everything, slice(0, rollout.rewards.numel()))
