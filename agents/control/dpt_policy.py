"""The policy of DPT with SB3's ``predict``: what it knows of a task comes in as the state."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor

from ..models.in_context import ArmTransformer, Context, InContextTransformer
from ..optimizers import AdamW
from ..policy_files import SafePolicy

Array = npt.NDArray[Any]


class DPTPolicy(SafePolicy, BasePolicy):
    """A distribution over actions in a query state, given transitions of the same task.

    Numbers of an observation with finite bounds are scaled to [-1, 1]; rewards are read as they are.

    Args:
        observation_space: a ``Box``, flattened.
        action_space: a ``Discrete``.
        lr_schedule: of the learning rate.
        width: channels; a multiple of ``heads``.
        depth: blocks.
        heads: of the attention.
        weight_decay: of AdamW.

    Raises:
        TypeError: other spaces.
        ValueError: a width that heads cannot share.
    """

    action_space: Discrete
    network_class: ClassVar[type[InContextTransformer]] = InContextTransformer

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        width: int = 64,
        depth: int = 3,
        heads: int = 4,
        weight_decay: float = 1e-4,
    ) -> None:
        if not isinstance(observation_space, Box) or not isinstance(action_space, Discrete):
            raise TypeError(
                f"DPT reads Box observations and acts in Discrete spaces, not {observation_space} and {action_space}"
            )
        if min(width, depth, heads) < 1 or width % heads:
            raise ValueError(
                f"width must be a multiple of heads, and depth at least 1, got width {width}, heads {heads} and depth "
                f"{depth}"
            )
        super().__init__(observation_space, action_space)
        self.observation_size = int(np.prod(observation_space.shape))
        low, high = (bound.reshape(-1).astype(np.float32) for bound in (observation_space.low, observation_space.high))
        bounded = np.isfinite(low) & np.isfinite(high) & (high > low)
        with np.errstate(invalid="ignore", over="ignore"):
            self._middle = np.where(bounded, low / 2 + high / 2, np.float32(0))
            self._half = np.where(bounded, high / 2 - low / 2, np.float32(1))
        sizes = {"width": width, "depth": depth, "heads": heads}
        self.network = self.network_class(self.observation_size, int(action_space.n), **sizes)
        self.optimizer = AdamW(self.parameters(), lr=lr_schedule(1), weight_decay=weight_decay)

    def scaled(self, observations: Array) -> Tensor:
        """Observations ``[..., O]`` as the network reads them."""
        scaled = (np.asarray(observations, np.float32) - self._middle) / self._half
        return th.as_tensor(scaled, dtype=th.float32, device=self.device)

    def read(self, context: Context) -> Tensor:
        """Keys and values of transitions; see :meth:`~.InContextTransformer.read`."""
        actions, rewards = (th.as_tensor(one, device=self.device) for one in (context.actions, context.rewards))
        seen, following = self.scaled(context.observations), self.scaled(context.next_observations)
        read: Tensor = self.network.read(seen, actions, rewards, following)
        return read

    def logits(self, queries: Array, context: Context, seen: Array | None = None) -> Tensor:
        """Logits of actions ``[B, m, A]``.

        Args:
            queries: ``[B, m, O]`` states.
            context: of the B tasks.
            seen: ``[B, m, n]`` bool, which transitions each query is given; all that are valid if None.
        """
        given = context.valid[:, None, :] & (np.True_ if seen is None else seen)
        shown = th.as_tensor(given, device=self.device).expand(*queries.shape[:2], -1)
        logits: Tensor = self.network(self.scaled(queries), self.read(context), shown)
        return logits

    def check(self, context: Any, tasks: int) -> Context:
        """A context for so many tasks.

        Raises:
            TypeError: no context.
            ValueError: of other tasks, observations or actions.
        """
        if not isinstance(context, tuple) or len(context) != len(Context._fields):
            raise TypeError(f"the state of DPT is a Context of transitions, got {type(context).__name__}")
        found = Context(*context)
        wanted = (tasks, found.rewards.shape[1], self.observation_size)
        if found.observations.shape != wanted or found.next_observations.shape != wanted:
            raise ValueError(
                f"a context for {tasks} observations of {self.observation_size} numbers has observations of shape "
                f"{wanted}, got {found.observations.shape}"
            )
        if found.actions.size and not 0 <= found.actions.min() <= found.actions.max() < self.network.n_actions:
            raise ValueError(
                f"actions of a context are counted from 0 to {self.network.n_actions - 1}, got "
                f"{found.actions.min()} to {found.actions.max()}"
            )
        return found

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Array | None = None,
        deterministic: bool = False,
    ) -> tuple[Array, Any]:
        """Actions, sampled or the likeliest, and the state as it came.

        Args:
            observation: of one environment, or of several.
            state: a :class:`Context` of their tasks; None for no transitions.
            episode_start: not looked at: a context outlasts episodes.
            deterministic: the likeliest action, as offline, instead of a sample, as online.

        Raises:
            TypeError, ValueError: a state that is no context for these observations.
        """
        self.set_training_mode(False)
        tensor, vectorized = self.obs_to_tensor(observation)
        assert isinstance(tensor, Tensor)
        queries = tensor.cpu().numpy().reshape(len(tensor), self.observation_size)
        tasks = len(queries)
        context = Context.empty(tasks, self.observation_size) if state is None else self.check(state, tasks)
        logits = self.logits(queries[:, None], context)[:, 0]
        actions = self.chosen(logits, deterministic)
        return (actions if vectorized else actions[0]), state

    def chosen(self, logits: Tensor, deterministic: bool) -> Array:
        """Actions ``[B]`` by logits ``[B, A]``, as the environment takes them."""
        if deterministic:
            found = logits.argmax(dim=-1)
        else:
            found = th.multinomial(logits.softmax(dim=-1), 1).squeeze(-1)
        actions: Array = found.cpu().numpy() + self.action_space.start
        return actions

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> Tensor:
        """Actions without a context."""
        assert isinstance(observation, Tensor)
        return th.as_tensor(self.predict(observation.cpu().numpy(), deterministic=deterministic)[0])


class ArmPolicy(DPTPolicy):
    """One for observations that list the features of each action, ``[A, d]``: see :class:`~.ArmTransformer`."""

    network_class = ArmTransformer


class Memory:
    """A context that grows, of which each transition is read once.

    Args:
        policy: that reads.
        context: to begin with.
        limit: columns at most; the oldest go.
    """

    def __init__(self, policy: DPTPolicy, context: Context, limit: int) -> None:
        self.policy, self.limit = policy, limit
        self.context = context.latest(limit)
        self._read = policy.read(self.context)

    def add(self, transitions: Context) -> None:
        """Appends."""
        self.context = self.context.joined(transitions).latest(self.limit)
        self._read = th.cat([self._read, self.policy.read(transitions)], dim=-2)[..., -self.limit :, :]

    def logits(self, queries: Array) -> Tensor:
        """Of actions ``[B, A]`` in states ``[B, O]``."""
        shown = th.as_tensor(self.context.valid[:, None], device=self.policy.device)
        logits: Tensor = self.policy.network(self.policy.scaled(queries[:, None]), self._read, shown)
        return logits[:, 0]
