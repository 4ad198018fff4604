"""RCSL: return-conditioned supervised learning, which imitates actions given states and the returns that followed them.

Papers: Emmons et al., RvS: What is Essential for Offline RL via Supervised Learning? (2021); Zhou et al., Free from
Bellman Completeness: Trajectory Stitching via Model-based Return-conditioned Supervised Learning (2023), called MBRCSL.
"The authors' code" is the latter's, github.com/zhaoyizhou1123/mbrcsl, ``offlinerlkit/policy/rcsl/rcsl_mlp.py`` and
``policy_trainer/rcsl_policy_trainer.py``.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .actor_critic_policy import ActorCriticPolicy
from .datasets import Transitions
from .networks import Actor, Deterministic
from .replay import Batch, FloatArray, fits
from .settings import OffPolicySettings, takes
from .td3_bc import Standardised
from .updates import Mlp, minimise

State = tuple[npt.NDArray[Any], ...]
LEAST_STD = 1e-3
"""Of rewards, so that those that never change divide by something."""


def with_returns(observations: Tensor, returns: Tensor) -> Tensor:
    """What the policy reads, ``[B, obs + 1]``: the observation ``[B, obs]``, then the return ``[B]``."""
    return th.cat([observations.float(), returns[:, None].float()], dim=1)


def space_with_returns(space: Box) -> Box:
    """The space of :func:`with_returns`, without bounds."""
    return Box(-np.inf, np.inf, (space.shape[0] + 1,), np.float32)


class ReturnActor(Deterministic):
    """pi(s, G), and beside it a perceptron of its own for what a step pays, r(s, a, s').

    Args:
        observation_space: as of :func:`space_with_returns`.
        action_space: of the environment.
        extractor: of observations and returns.
        **kwargs: of :class:`~.networks.Actor`.
    """

    reward_mean: Tensor
    reward_std: Tensor

    def __init__(
        self, observation_space: Box, action_space: Box, extractor: BaseFeaturesExtractor, **kwargs: Any
    ) -> None:
        super().__init__(observation_space, action_space, extractor, **kwargs)
        self.reward_net = Mlp(1, 2 * extractor.features_dim + self.n_actions, kwargs["net_arch"], 1)
        self.register_buffer("reward_mean", th.zeros(()))
        self.register_buffer("reward_std", th.ones(()))

    def unit_rewards(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """What steps pay, ``[B]``, as deviations from the mean in units of :attr:`reward_std`."""
        none = th.zeros(len(observations), device=observations.device)
        seen = [self.features(with_returns(one, none)) for one in (observations, next_observations)]
        found: Tensor = self.reward_net(th.cat([*seen, actions], dim=1))[0, :, 0]
        return found

    def rewards(self, observations: Tensor, actions: Tensor, next_observations: Tensor) -> Tensor:
        """What steps pay, ``[B]``, of observations ``[B, obs]`` and actions ``[B, act]`` scaled to [-1, 1]."""
        return self.reward_mean + self.reward_std * self.unit_rewards(observations, actions, next_observations)

    def fit_moments(self, inputs: Tensor, rewards: Tensor) -> None:
        """Takes means and deviations of :func:`with_returns` ``[N, obs + 1]`` and of rewards ``[N]``, once."""
        extractor = self.features_extractor
        if isinstance(extractor, Standardised) and not extractor.fitted:
            extractor.fit(inputs)
            self.reward_mean.copy_(rewards.mean())
            self.reward_std.copy_(rewards.std(correction=0).clamp_min(LEAST_STD))


class ReturnPolicy(ActorCriticPolicy):
    """Acts by the return that is still to be had: ``target`` at first, then less what the steps taken paid.

    As SB3's ``predict`` is not told rewards, it predicts those of the steps taken. Its state is the return still to be
    had ``[n]``, and the observations ``[n, obs]`` and actions ``[n, act]`` of the last step: give it back with the next
    observations. Without a state every step asks for ``target``.
    """

    actor: ReturnActor
    target: Tensor

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.register_buffer("target", th.zeros(()))

    def _actor(self, kind: str) -> Actor:
        if kind != "deterministic":
            raise ValueError(f"a return-conditioned policy is deterministic: leave actor={kind!r} out")
        assert isinstance(self.observation_space, Box)
        assert isinstance(self.action_space, Box)
        space = space_with_returns(self.observation_space)
        extractor = self.features_extractor_class(space, **self.features_extractor_kwargs)
        made = ReturnActor(space, self.action_space, extractor, **self._actor_kwargs)
        made.extractor_kwargs = self.features_extractor_kwargs
        return made

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        found: Tensor = self.actor(with_returns(observation, self.target.expand(len(observation))))
        return found

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], State | None]:
        """As in SB3; see the class for the state."""
        self.set_training_mode(False)
        seen, is_batch = self.obs_to_tensor(observation)
        assert isinstance(seen, Tensor)
        to_go = self._to_go(seen, state, episode_start)
        taken = self.actor(with_returns(seen, to_go))
        actions = self.unscale_action(taken.cpu().numpy().reshape(-1, *(self.action_space.shape or ())))
        following = (to_go.cpu().numpy(), seen.cpu().numpy(), taken.cpu().numpy())
        return (actions if is_batch else actions.squeeze(axis=0)), following

    def _to_go(self, seen: Tensor, state: State | None, episode_start: npt.NDArray[Any] | None) -> Tensor:
        begun = self.target.expand(len(seen))
        if state is None:
            return begun
        to_go, before, actions = (th.as_tensor(part, device=seen.device) for part in state)
        left = to_go - self.actor.rewards(before, actions, seen)
        if episode_start is None:
            return left
        return th.where(th.as_tensor(episode_start, dtype=th.bool, device=seen.device), begun, left)


CONDITIONED: dict[str, Any] = {"actor": "deterministic", "n_critics": 0, "features_extractor_class": Standardised}
"""What return-conditioned agents ask of their policy."""


@dataclass(frozen=True)
class RCSLSettings(OffPolicySettings):
    """Those of RCSL, beside what all agents take.

    Args:
        target_return: that actions are asked for, of a whole episode and undiscounted; the largest of those learnt
            from if None.
    """

    _: KW_ONLY
    target_return: float | None = None


def imitation_loss(actor: ReturnActor, batch: Batch) -> Tensor:
    """Squared errors of actions, and of rewards in units of their deviation, which is learnt apart; means."""
    assert batch.returns is not None
    acted = actor(with_returns(batch.observations, batch.returns))
    wanted = (batch.rewards - actor.reward_mean) / actor.reward_std
    paid = actor.unit_rewards(batch.observations, batch.actions, batch.next_observations)
    loss: Tensor = (acted - batch.actions).square().mean() + (paid - wanted).square().mean()
    return loss


def condition(policy: ReturnPolicy, observations: Tensor, returns: Tensor, rewards: Tensor, *, target: float) -> None:
    """Fits moments, if these data are the first, and sets what is asked for.

    Args:
        policy: of the agent.
        observations: ``[N, obs]``.
        returns: from there on ``[N]``.
        rewards: ``[N]``.
        target: the return of a whole episode to ask for.
    """
    policy.actor.fit_moments(with_returns(observations, returns).to(policy.device), rewards.to(policy.device))
    policy.target.fill_(target)


def check_flat(agent: ActorCritic) -> None:
    """Raises ``TypeError`` unless observations and actions are flat boxes."""
    seen, acts = agent.observation_space, agent.action_space
    if not fits(seen, acts):
        raise TypeError(f"{type(agent).__name__} needs flat Box observations and actions, not {seen} and {acts}")


class RCSL(ActorCritic):
    r"""A deterministic policy of state and return.

    .. math:: \min_\pi E|\pi(s_t, G_t) - a_t|^2, \quad G_t = \sum_{k \ge t} r_k

    Returns are those of the dataset, undiscounted (``gamma`` is of no use here, like ``tau``). To act, it is asked for
    the return that is still missing to ``target_return``; it cannot put together parts of different trajectories, as a
    return that no trajectory had through a state is one that it never learnt what leads to. What it meets in
    :meth:`learn` it does not imitate.

    Departures from the authors' code: inputs are standardised, and tanh keeps actions inside; two layers of 256 at a
    learning rate of 3e-4, without weight decay (theirs: of 1024, 5e-5 and 0.1); no early stopping by data kept aside;
    rewards of steps taken, which theirs subtracts from the target, are predicted by a perceptron that learns beside the
    policy (:class:`ReturnPolicy` says why).
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": ReturnPolicy}
    policy_defaults: ClassVar[dict[str, Any]] = CONDITIONED
    needs_data: ClassVar[bool] = True
    settings: RCSLSettings
    policy: ReturnPolicy

    @takes(RCSLSettings)
    def __init__(self, settings: RCSLSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        check_flat(self)
        super()._setup_model()

    def reference_returns(self, transitions: Transitions) -> FloatArray:
        """Undiscounted returns from each step on, ``[N]``."""
        return transitions.returns(1.0)

    def on_dataset(self, transitions: Transitions) -> None:
        """Takes the data's moments and the largest return."""
        parts = transitions.observations, self.reference_returns(transitions), transitions.rewards
        seen, returns, rewards = map(th.from_numpy, parts)
        asked, best = self.settings.target_return, float(returns[begins(transitions)].max())
        condition(self.policy, seen, returns, rewards, target=best if asked is None else asked)

    def sample(self, batch_size: int) -> Batch:
        """A batch of the dataset."""
        return super().sample(batch_size) if self.demonstrations is None else self.demonstrated(batch_size)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        return {"actor_loss": minimise(self.actor.optimizer, imitation_loss(self.policy.actor, batch))}


def begins(transitions: Transitions) -> npt.NDArray[np.int64]:
    """The first step of each episode ``[E]``."""
    return np.flatnonzero(np.r_[True, transitions.ends[:-1]])
