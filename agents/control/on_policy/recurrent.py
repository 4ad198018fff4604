"""Actor-critic policies with a memory between the observations and the networks, and how they act in a rollout."""

from abc import abstractmethod
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, CombinedExtractor, MlpExtractor, NatureCNN
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from .acting import on_device
from .policies import NormalizedPolicy
from .rollout import Observations, Rollout, flat, part_of, stacked

Arrays = tuple[npt.NDArray[Any], ...]


class MemoryPolicy(NormalizedPolicy):
    """:class:`~.policies.NormalizedPolicy` whose networks read a memory's output in place of the features.

    Actor and critic share the memory, which is one tensor ``[2, layers, N, size]`` of N environments. ``predict`` takes
    and returns it as SB3's recurrent policies do, a pair of arrays ``[layers, N, size]``; without them it begins with
    an empty memory.

    Args:
        observation_space: of one environment.
        action_space: of one environment; Box, Discrete, MultiDiscrete or MultiBinary.
        lr_schedule: of the learning rate.
        **kwargs: of :class:`~.policies.NormalizedPolicy`.

    Raises:
        TypeError: ``share_features_extractor`` is False.
    """

    extractor: ClassVar[type[BaseFeaturesExtractor] | None] = None
    """What reads observations where ``features_extractor_class`` does not say; None: they are flattened."""

    def __init__(
        self, observation_space: Space[Any], action_space: Space[Any], lr_schedule: Schedule, **kwargs: Any
    ) -> None:
        if not kwargs.get("share_features_extractor", True):
            raise TypeError(
                "a recurrent policy shares one features extractor: leave out share_features_extractor=False"
            )
        if self.extractor is not None:
            kwargs.setdefault("features_extractor_class", self.extractor)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build_mlp_extractor(self) -> None:
        width = self._build_memory()
        self.mlp_extractor = MlpExtractor(
            width, net_arch=self.net_arch, activation_fn=self.activation_fn, device=self.device
        )

    @abstractmethod
    def _build_memory(self) -> int:
        """Makes the networks that remember; returns the width of their outputs."""

    @property
    @abstractmethod
    def memory_size(self) -> tuple[int, int]:
        """Layers, and numbers of each in either half of the memory."""

    @abstractmethod
    def remembered(self, features: Tensor, memory: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """The memory's outputs over ``L`` steps of ``N`` environments.

        Args:
            features: ``[L, N, F]``.
            memory: before the first step.
            starts: ``[L, N]``, whether an episode begins with a step: nothing before it is remembered.

        Returns:
            outputs ``[L, N, H]``, and the memory after the last step.
        """

    def empty(self, n: int) -> Tensor:
        """The memory of ``n`` environments that have seen nothing."""
        layers, size = self.memory_size
        return th.zeros(2, layers, n, size, device=self.device)

    def sequence_outputs(
        self, observations: PyTorchObs, memory: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Of normalised observations ``[L N, ...]``, step after step.

        Returns:
            means or logits ``[L N, K]``, values ``[L N]``, and the memory after the last step.
        """
        features: Any = self.extract_features(observations)
        out, memory = self.remembered(features.view(*starts.shape, -1), memory, starts)
        actor, critic = self.mlp_extractor(out.flatten(0, 1))
        values: Tensor = self.value_net(critic).squeeze(-1)
        return self._allowed(self.action_net(actor), observations), values, memory

    def forward(  # type: ignore[override]
        self, obs: PyTorchObs, memory: Tensor, starts: Tensor, deterministic: bool = False
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """One step: actions ``[N, ...]``, values ``[N, 1]``, log-probabilities ``[N]`` and the memory after it.

        Args:
            obs: ``[N, ...]``.
            memory: before the step.
            starts: ``[N]``, whether an episode begins with it.
            deterministic: the best actions in place of drawn ones.
        """
        outputs, values, memory = self.sequence_outputs(self.normalized(obs), memory, starts.view(1, -1))
        actions = self.distribution.sample(outputs, self.noise_scale, deterministic)
        logp, _ = self.distribution.log_prob(outputs, self.noise_scale, actions)
        return actions, values.unsqueeze(-1), logp, memory

    def evaluate_sequences(
        self, observations: PyTorchObs, actions: Tensor, memory: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values, log-probabilities and entropies, ``[L N]`` each (or one entropy), of normalised observations."""
        outputs, values, _ = self.sequence_outputs(observations, memory, starts)
        logp, entropy = self.distribution.log_prob(outputs, self.noise_scale, actions)
        return values, logp, entropy

    def evaluate_actions(  # type: ignore[override]
        self, obs: PyTorchObs, actions: Tensor, memory: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values ``[N, 1]``, log-probabilities and entropies ``[N]`` (or one entropy) of one step's actions."""
        values, logp, entropy = self.evaluate_sequences(self.normalized(obs), actions, memory, starts.view(1, -1))
        return values.unsqueeze(-1), logp, entropy

    def predict_values(self, obs: PyTorchObs, memory: Tensor, starts: Tensor) -> Tensor:  # type: ignore[override]
        """``[N, 1]``, of the observations of one step."""
        return self.sequence_outputs(self.normalized(obs), memory, starts.view(1, -1))[1].unsqueeze(-1)

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: Arrays | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], Arrays]:
        """As in SB3; give the state that it returned with the next observation."""
        if isinstance(observation, tuple):
            raise ValueError(
                "predict() was given a tuple, such as reset() returns: give it the observation alone "
                "(observation, info = env.reset())"
            )
        self.set_training_mode(False)
        seen, is_batch = self.obs_to_tensor(observation)
        n = len(next(iter(seen.values())) if isinstance(seen, Mapping) else seen)
        memory = self.empty(n)
        if state is not None:
            memory = th.as_tensor(np.stack(state), dtype=th.float32, device=self.device)
        if memory.shape != (shape := self.empty(n).shape):
            raise ValueError(f"a state for {n} observations is two arrays {list(shape[1:])}, not {list(memory.shape)}")
        starts = np.zeros(n, np.bool_) if episode_start is None else np.asarray(episode_start, np.bool_).reshape(-1)
        if len(starts) != n:
            raise ValueError(f"an episode_start for {n} observations is {n} truth values, not {len(starts)}")
        actions, _, _, memory = self(seen, memory, th.as_tensor(starts, device=self.device), deterministic)
        chosen = actions.cpu().numpy().reshape(-1, *(self.action_space.shape or ()))
        if isinstance(self.action_space, Box):
            chosen = np.clip(chosen, self.action_space.low, self.action_space.high)
        hidden, cell = memory.cpu().numpy()
        return (chosen if is_batch else chosen.squeeze(axis=0)), (hidden, cell)


class RecurrentPolicy(MemoryPolicy):
    """A policy whose memory is an LSTM: hidden states and cell states.

    Paper: Hausknecht and Stone, Deep Recurrent Q-Learning for Partially Observable MDPs (2015), for memory in place of
    stacked observations; names of arguments are those of sb3-contrib's ``RecurrentPPO``.

    Args:
        observation_space: of one environment.
        action_space: of one environment; Box, Discrete, MultiDiscrete or MultiBinary.
        lr_schedule: of the learning rate.
        lstm_hidden_size: width of the LSTM.
        n_lstm_layers: how many LSTMs lie on each other.
        **kwargs: of :class:`MemoryPolicy`.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        lstm_hidden_size: int = 64,
        n_lstm_layers: int = 1,
        **kwargs: Any,
    ) -> None:
        self.lstm_hidden_size, self.n_lstm_layers = lstm_hidden_size, n_lstm_layers
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build_memory(self) -> int:
        self.lstm = nn.LSTM(int(self.features_dim), self.lstm_hidden_size, self.n_lstm_layers)
        return self.lstm_hidden_size

    @property
    def memory_size(self) -> tuple[int, int]:
        """See :class:`MemoryPolicy`."""
        return self.n_lstm_layers, self.lstm_hidden_size

    def remembered(self, features: Tensor, memory: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """See :class:`MemoryPolicy`."""
        begins = [0, *(1 + starts[1:].any(dim=1).nonzero().squeeze(1)).tolist(), len(features)]
        found = []
        for first, last in pairwise(begins):
            hidden, cell = memory.masked_fill(starts[first].view(1, 1, -1, 1), 0.0)
            out, after = self.lstm(features[first:last], (hidden, cell))
            memory = th.stack(after)
            found.append(out)
        return th.cat(found), memory


class RecurrentCnnPolicy(RecurrentPolicy):
    """Images, read by the network of the Nature paper (2015)."""

    extractor = NatureCNN


class RecurrentMultiInputPolicy(RecurrentPolicy):
    """Dictionaries of observations, each part read by a network of its kind."""

    extractor = CombinedExtractor


class RecurrentActing:
    """Acts with a memory, and keeps what sequences of a rollout begin with; see :class:`~.acting.Acting`.

    Args:
        policy: that acts.
        every: steps of a sequence.

    Attributes:
        late: whether an environment spends the step after an episode on its reset (Gymnasium's NEXT_STEP).
        starts: ``[T + 1, N]``, whether an episode begins with a step.
        kept: the memory before each sequence, in their order.
    """

    def __init__(self, policy: MemoryPolicy, every: int) -> None:
        self.policy, self.every, self.late = policy, every, False
        self.memory, self.starts = th.zeros(0), th.zeros(0, 0, dtype=th.bool)
        self.kept: list[Tensor] = []
        self._of_last: list[Tensor] = []

    def forget(self, n: int) -> None:
        """All of ``n`` environments begin an episode."""
        self.memory, self._begins = self.policy.empty(n), th.ones(n, dtype=th.bool)

    def begin(self, rollout: Rollout) -> None:
        """Makes room for what is kept."""
        if self.starts.shape != (size := (rollout.n_steps + 1, rollout.n_envs)):
            self.starts = th.zeros(size, dtype=th.bool)
        self.starts[0] = self._begins
        self.kept, self._of_last = [], []

    def act(self, rollout: Rollout, row: int) -> None:
        """See :class:`~.acting.Acting`."""
        self._note(rollout, row)
        if row % self.every == 0:
            self.kept.append(self.memory)
        actions, values, logp, self.memory = self.policy(self._seen(rollout, row), self.memory, self._start(row))
        rollout.actions[row], rollout.values[row], rollout.logp[row] = actions, values.squeeze(-1), logp

    def finish(self, rollout: Rollout) -> Observations:
        """See :class:`~.acting.Acting`."""
        last = rollout.n_steps
        self._note(rollout, last)
        rollout.values[-1] = self.policy.predict_values(
            self._seen(rollout, last), self.memory, self._start(last)
        ).squeeze(-1)
        self._begins = self.starts[-1].clone()
        raw: Any = on_device(flat(part_of(rollout.observations, slice(0, last))), self.policy.device)
        return self.policy.normalized(raw)

    def last_values(self, rollout: Rollout) -> Tensor:
        """See :class:`~.acting.Acting`."""
        if not rollout.last_observations:
            return th.zeros(0)
        last = stacked(rollout.observation_space, [one for _, _, one in rollout.last_observations])
        seen: Any = on_device(last, self.policy.device)
        memory = th.stack(self._of_last, dim=2)
        goes_on = th.zeros(memory.shape[2], dtype=th.bool, device=self.policy.device)
        return self.policy.predict_values(seen, memory, goes_on).squeeze(-1)

    def _note(self, rollout: Rollout, row: int) -> None:
        """Which episodes begin with this row, and what was remembered of those that were cut before it."""
        if row:
            done = rollout.terminated[row - 1] | rollout.truncated[row - 1]
            self.starts[row] = ~rollout.valid[row - 1] if self.late else done
        cut = rollout.last_observations[len(self._of_last) :]
        self._of_last += [self.memory[:, :, env] for _, env, _ in cut]

    def _start(self, row: int) -> Tensor:
        return self.starts[row].to(self.policy.device)

    def _seen(self, rollout: Rollout, row: int) -> Any:
        return on_device(part_of(rollout.observations, row), self.policy.device)
