r"""OTA: offline learning to reach goals, with a policy over subgoals whose value is backed up over whole options.

    agent = make("ota", gymnasium.make("tiltyard/PointMazeLarge-v0", goal_conditioned=True), abstraction_factor=10)
    agent.learn_offline(walks, 100_000)

Paper: Ahn, Choi, Han, Moon, Option-aware Temporally Abstracted Value for Offline Goal-Conditioned Reinforcement
Learning (2025). Of its text the abstract and a summary were at hand, so "the authors' code" (github.com/ota-v/ota-v,
ota.py) is the source of losses and defaults, and OGBench's HIQL (github.com/seohongpark/ogbench) that of the rest.
"""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from .base import OffPolicyAgent
from .goal_data import GoalBatch, GoalTransitions, Hindsight, RecordedWalks, WalkReplay, check_goals
from .iql import advantage_weight
from .offline import LearnsFromData, from_data, logged_updates
from .ota_policy import OTAPolicy, Values
from .settings import sb3_keywords, takes
from .updates import polyak

if TYPE_CHECKING:
    from minari import MinariDataset

Self = TypeVar("Self", bound="OTA")
Metrics = dict[str, Tensor]
FIRST = 10_000
"""States and moves of a dataset that its mean and deviation are taken from, at most."""


def option_value_loss(
    values: Tensor, here: Tensor, after: Tensor, reached: Tensor, gamma: float, expectile: float
) -> Tensor:
    r"""Expectile regression of V(s, g) to one step or one option: :math:`w (r + \gamma (1 - d) V'_i(s', g) - V_i)^2`.

    r is -1 and d 0, or where the goal is reached (by s itself for steps, by s' for options) r is 0 and d is 1. The
    weight w is ``expectile`` where :math:`r + \gamma (1 - d) \min_i V'_i(s', g)` is at least the mean of
    :math:`V'_i(s, g)`, else 1 - ``expectile``. An option costs as much as a step, and is discounted as one.

    Args:
        values: :math:`V_i(s, g)`, ``[2, B]``.
        here: of the targets, ``[2, B]``.
        after: of the targets at s', ``[2, B]``.
        reached: d, ``[B]`` bool.
        gamma: discount.
        expectile: tau.

    Returns:
        The sum of both estimates' means.
    """
    reward, open_ = reached.float() - 1, gamma * (~reached).float()
    better = reward + open_ * after.amin(dim=0) >= here.mean(dim=0)
    weights = th.where(better, expectile, 1 - expectile)
    return (weights * (reward + open_ * after - values).square()).mean(dim=1).sum()


def cloning_loss(mean: Tensor, wanted: Tensor, weights: Tensor) -> Tensor:
    """Weighted log-likelihood of ``wanted`` ``[B, size]`` under unit Gaussians, but for its constant and its sign."""
    return 0.5 * (weights * (mean - wanted).square().sum(dim=1)).mean()


@dataclass(frozen=True)
class OTASettings:
    """Those of OTA.

    Args:
        policy: "MultiInputPolicy".
        env: any goal environment with Box actions, or its id.
        learning_rate: of all networks.
        abstraction_factor: n, steps of an option; with 1 both levels share one value of steps, which is HIQL.
        subgoal_steps: k, how far ahead subgoals lie.
        expectile: tau; 0.5 is the value of the data's policy, towards 1 that of its best actions.
        high_beta: inverse temperature of the high-level policy; 0 imitates.
        low_beta: that of the low-level policy.
        weight_limit: of both policies' weights.
        current_goal_ratio: share of values' goals that are achieved already.
        ahead_goal_ratio: share of values' goals that lie ahead in the same episode; the rest are of any step.
        actor_random_goal_ratio: share of the high-level policy's goals that are of any step; the rest lie ahead.
        gamma: discount of a step and of an option.
        buffer_size: transitions kept of its own episodes.
        learning_starts: environment steps before the first update.
        batch_size: transitions an update.
        tau: step of the target values.
        train_freq: environment steps between calls of ``train``, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        action_noise: standard deviation of what is added to actions online.
        offline_ratio: share of each online batch that is drawn from the dataset; None draws from both as if they were
            one buffer.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.ota_policy.OTAPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy: str | type[Any]
    env: Any
    _: KW_ONLY
    learning_rate: float | Schedule = 3e-4
    abstraction_factor: int = 5
    subgoal_steps: int = 25
    expectile: float = 0.7
    high_beta: float = 3.0
    low_beta: float = 3.0
    weight_limit: float = 100.0
    current_goal_ratio: float = 0.2
    ahead_goal_ratio: float = 0.5
    actor_random_goal_ratio: float = 0.0
    gamma: float = 0.99
    buffer_size: int = 100_000
    learning_starts: int = 100
    batch_size: int = 1024
    tau: float = 0.005
    train_freq: int | tuple[int, str] = 1
    gradient_steps: int = 1
    action_noise: float | None = 0.1
    offline_ratio: float | None = None
    stats_window_size: int = 100
    tensorboard_log: str | None = None
    policy_kwargs: dict[str, Any] | None = None
    verbose: int = 0
    seed: int | None = None
    device: th.device | str = "auto"
    _init_setup_model: bool = True

    def __post_init__(self) -> None:
        if (total := self.current_goal_ratio + self.ahead_goal_ratio) > 1 + 1e-9:
            raise ValueError(f"current_goal_ratio and ahead_goal_ratio must be at most 1 together, got {total:g}")

    def hindsight(self, goal_size: int) -> Hindsight:
        """How goals are drawn."""
        return Hindsight(
            goal_size=goal_size,
            gamma=self.gamma,
            current=self.current_goal_ratio,
            ahead=self.ahead_goal_ratio,
            actor_random=self.actor_random_goal_ratio,
            subgoal_steps=self.subgoal_steps,
            option_steps=self.abstraction_factor,
        )


class OTA(LearnsFromData, OffPolicyAgent):
    r"""HIQL with a high-level value of options.

    The low-level value is backed up over steps, the high-level one over options, the next n steps of the data
    (:func:`option_value_loss`), fewer if the goal or the episode's end comes before; so a goal d steps away is about
    d / n backups away. Both policies learn by advantage-weighted regression,

    .. math::
        L_{high} &= -E[e^{\beta (V^h(s_{t + k}, g) - V^h(s_t, g))} \log \pi^h(s_{t + k}|s_t, g)] \\
        L_{low} &= -E[e^{\beta (V^l(s_{t + 1}, s_{t + k}) - V^l(s_t, s_{t + k}))} \log \pi^l(a_t|s_t, s_{t + k})]

    each weight up to ``weight_limit``, with goals in hindsight (:class:`~.goal_data.Hindsight`); rewards of the data
    and the goals that its episodes had are not used. With ``abstraction_factor=1`` it is HIQL: one value of steps.

    Episodes come from a dataset (:meth:`learn_offline`); :meth:`learn` adds the agent's own once they end.

    Departures from both codes: goals and subgoals are of the environment's goal space, not whole states, and subgoals
    are moves in it, without a learnt representation; inputs are standardised; each network has an optimiser.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MultiInputPolicy": OTAPolicy, "MlpPolicy": OTAPolicy}
    acts_in = (Box,)
    needs_data: ClassVar[bool] = True
    needs_goals: ClassVar[bool] = True
    """Whether it learns in goal environments alone."""
    refuses_vec_normalize: ClassVar[bool] = True
    policy: OTAPolicy
    replay_buffer: WalkReplay | None

    @takes(OTASettings)
    def __init__(self, settings: OTASettings) -> None:
        self.settings = replace(settings, env=None)
        self.offline_ratio = settings.offline_ratio
        self.demonstrations: RecordedWalks | None = None
        super().__init__(
            **sb3_keywords(
                OffPolicyAlgorithm,
                settings,
                replay_buffer_class=WalkReplay,
                policy_kwargs={**(settings.policy_kwargs or {}), "two_values": settings.abstraction_factor > 1},
                sde_support=False,
                supported_action_spaces=(Box,),
            )
        )
        if settings._init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        check_goals(self.observation_space, self.action_space, "OTA")
        super()._setup_model()
        self.hindsight = self.settings.hindsight(self.policy.goal_size)

    def train(self, gradient_steps: int, batch_size: int = 256) -> None:
        """Does ``gradient_steps`` updates.

        Raises:
            ValueError: there is no dataset yet to learn from.
        """
        if self.demonstrations is None and not self._stored:
            raise ValueError("OTA has no episodes to learn from: call learn_offline(dataset, n)")
        logged_updates(self, gradient_steps, batch_size)

    def update(self, batch: GoalBatch) -> Metrics:
        """One update of values and policies; see the class."""
        policy = self.policy
        losses = {"value": self._backup(policy.value, batch.states, batch.next_states, batch.goals, batch.reached)}
        if policy.high_value is not policy.value:
            losses["own_value"] = self._backup(
                policy.high_value, batch.states, batch.option_ends, batch.option_goals, batch.option_reached
            )
        for name, loss in self._imitation(batch).items():
            losses[name] = loss
        th.autograd.backward(list(losses.values()))  # of networks that have nothing in common
        for name in losses:
            getattr(policy, f"{name}_optimizer").step()
        for value in {policy.value, policy.high_value}:
            polyak(list(value.target.parameters()), list(value.net.parameters()), self.tau)
        return {f"{name}_loss": loss.detach() for name, loss in losses.items()}

    def _backup(self, value: Values, states: Tensor, after: Tensor, goals: Tensor, reached: Tensor) -> Tensor:
        inputs = self.policy.with_goals(states, goals)
        both = value.of_target(th.cat([inputs, self.policy.with_goals(after, goals)]))
        here, following = both.chunk(2, dim=1)
        return option_value_loss(value(inputs), here, following, reached, self.gamma, self.settings.expectile)

    def _imitation(self, batch: GoalBatch) -> Metrics:
        policy, asked = self.policy, self.settings
        high = advantages(policy, policy.high_value, batch.states, batch.targets, batch.actor_goals)
        low = advantages(policy, policy.value, batch.states, batch.next_states, batch.subgoals)
        achieved = batch.targets[:, -policy.goal_size :]
        named = policy.high_actor(policy.with_goals(batch.states, batch.actor_goals))[0]
        acted = policy.low_actor(policy.with_moves(batch.states, policy.moves(batch.states, batch.subgoals)))[0]
        weights = [
            advantage_weight(advantage, beta, asked.weight_limit)
            for advantage, beta in ((high, asked.high_beta), (low, asked.low_beta))
        ]
        return {
            "high_actor": cloning_loss(named, policy.moves(batch.states, achieved), weights[0]),
            "low_actor": cloning_loss(acted, batch.actions, weights[1]),
        }

    def _sample_action(self, learning_starts: int, *args: Any, **kwargs: Any) -> Any:
        """As in SB3, but not at random once it has learnt."""
        return super()._sample_action(0 if self._n_updates else learning_starts, *args, **kwargs)

    @property
    def _stored(self) -> int:
        return 0 if self.replay_buffer is None else self.replay_buffer.transitions

    def sample(self, batch_size: int) -> GoalBatch:
        """A batch from the dataset, its own episodes, or both in the shares that ``offline_ratio`` says."""
        data = self.demonstrations
        count = from_data(batch_size, 0 if data is None else len(data), self._stored, self.offline_ratio)
        parts = []
        if count and data is not None:
            parts.append(self.hindsight.batch(data, count))
        if count < batch_size and self.replay_buffer is not None:
            parts.append(self.hindsight.batch(self.replay_buffer, batch_size - count))
        return parts[0] if len(parts) == 1 else parts[0].beside(parts[1])

    def learn(self: Self, total_timesteps: int, *args: Any, **kwargs: Any) -> Self:
        """As SB3's ``learn``, from the dataset and from its own episodes once they end.

        Raises:
            ValueError: no dataset was given.
        """
        if self.demonstrations is None:
            raise ValueError("OTA learns from data: call learn_offline(dataset, gradient_steps) first")
        learnt: Self = super().learn(total_timesteps, *args, **kwargs)
        return learnt

    def _demonstrations(self, dataset: "MinariDataset | str | GoalTransitions") -> RecordedWalks:
        spaces = self.observation_space, self.action_space
        if isinstance(dataset, GoalTransitions):
            dataset.check(*spaces)
        else:
            dataset = GoalTransitions.from_minari(dataset, *spaces)
        walks = RecordedWalks(dataset, self.policy.scale_action(dataset.actions))
        self._fit(walks)
        return walks

    def _fit(self, data: RecordedWalks) -> None:
        at = th.arange(len(data))[:: max(1, len(data) // FIRST)]
        states = data.states(at, th.zeros_like(at))
        after = data.states(at, data.left(at).clamp_max(self.settings.subgoal_steps))
        size = self.policy.goal_size
        self.policy.fit(states.to(self.device), (after - states)[:, -size:].to(self.device))

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", *(f"policy.{name}_optimizer" for name in self.policy.learning)], []

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "hindsight"]


@th.no_grad()
def advantages(policy: OTAPolicy, value: Values, states: Tensor, after: Tensor, goals: Tensor) -> Tensor:
    """V(s', g) - V(s, g) ``[B]``, means of both estimates."""
    inputs = [policy.with_goals(some, goals) for some in (after, states)]
    following, here = value(th.cat(inputs)).mean(dim=0).chunk(2)
    found: Tensor = following - here
    return found
