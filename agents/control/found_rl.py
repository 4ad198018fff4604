"""Found-RL: SAC with the advice of a slow teacher, who answers some steps late.

Paper: Qu et al., Found-RL: Foundation model-enhanced reinforcement learning for autonomous driving (2026). "The
authors' code" is github.com/ys-qu/found-rl, whose ``sac.py`` has the numbers.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch import Tensor

from ...wrappers.late import Late
from .actor_critic import ActorCritic, Metrics
from .replay import Batch, FloatArray, RowReplay, fits
from .sac import SACSettings
from .settings import check_subset, takes
from .soft import Temperature, soft_target
from .updates import minimise


class TaughtReplay(RowReplay):
    """A replay buffer that has room for a teacher's action beside each transition.

    The rows are wider by the action and by 1 where there is one; a row is asked about before it is stored, and answered
    at any time after.
    """

    views = (*RowReplay.views, "advice", "advised")

    def __init__(self, buffer_size: int, observation_space: Box, action_space: Box, *args: Any, **kwargs: Any) -> None:
        super().__init__(buffer_size, observation_space, action_space, *args, **kwargs)
        columns = self.columns
        self._view(np.zeros((self.buffer_size, self.n_envs, columns.width + self.action_dim + 1), np.float32))

    def _view(self, table: FloatArray) -> None:
        super()._view(table)
        width = self.columns.width
        if table.shape[-1] > width:  # the table of SB3's arrays alone comes first, from the constructor
            self.advice, self.advised = table[..., width:-1], table[..., -1]


class Advice(NamedTuple):
    """What a teacher was asked, and what it will say."""

    row: int  # of the replay buffer
    step: int  # since the first question
    actions: FloatArray  # [n_envs, A] scaled to [-1, 1]


def margin_loss(taught: Tensor, own: Tensor, advised: Tensor, margin: float) -> Tensor:
    r"""Value-margin regularisation: :math:`E[(Q(s, a_T) - sg(Q(s, a)) - m)^2]` where there is advice, of all critics.

    Args:
        taught: ``[n, B]`` values of the teacher's actions.
        own: ``[n, B]`` of the actions taken, without gradient.
        advised: ``[B]`` whether there is a teacher's action.
        margin: m.
    """
    error = (taught - own.detach() - margin) ** 2 * advised
    return error.sum() / advised.sum().clamp_min(1)


def guidance_weights(advantages: Tensor, temperature: float, limit: float) -> Tensor:
    r""":math:`\min(e^{A / \tau}, w_{max})` where the teacher's action is worth more than one's own, else 0, ``[B]``."""
    return (advantages / temperature).exp().clamp_max(limit) * (advantages > 0)


@dataclass(frozen=True)
class FoundRLSettings(SACSettings):
    """Those of Found-RL, beside SAC's.

    Args:
        delay: steps between a question to the teacher and its answer.
        ask_every: steps between two questions, to which it answers for all environments at once.
        teacher_accuracy: share of its answers that are the expert's; the others are drawn at random.
        margin: by which the value of its action is to exceed that of the action taken.
        margin_weight: of that regularisation at first; 0 leaves it out.
        margin_kept: steps after which the weight begins to fall,
        margin_gone: and after which it is 0.
        guidance_weight: of the imitation of its better actions; 0 leaves it out.
        guidance_temperature: of the imitation's weights.
        guidance_limit: they are at most this.
    """

    _: KW_ONLY
    delay: int = 5
    ask_every: int = 5
    teacher_accuracy: float = 1.0
    margin: float = 2.0
    margin_weight: float = 1.0
    margin_kept: int = 50_000
    margin_gone: int = 150_000
    guidance_weight: float = 0.01
    guidance_temperature: float = 2.0
    guidance_limit: float = 20.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.margin_kept < self.margin_gone:
            raise ValueError(
                f"margin_kept is below margin_gone, got {self.margin_kept} and {self.margin_gone}: see margin_weight"
            )


class FoundRL(ActorCritic):
    r"""Soft actor-critic with a slow teacher.

    Every ``ask_every`` steps the teacher is asked what it would do; its answer comes ``delay`` steps later and is
    written beside the transition in the replay buffer. The environment never waits. Where a batch has advice
    :math:`a_T`, the critics learn besides that it is worth more than what was done (value-margin regularisation),

    .. math:: L_Q + \lambda (Q(s, a_T) - sg(Q(s, a)) - m)^2,

    with lambda falling to 0, and the actor imitates advice that the critics think better than its own action
    (advantage-weighted action guidance),

    .. math:: L_\pi - 0.01\, E[\min(e^{A / \tau}, 20) \log \pi(a_T|s) \mid A > 0], \quad
        A = \min_i Q_i(s, a_T) - \min_i Q_i(s, \pi(s)).

    The teacher is the expert of the environment, a stated number of steps late, and wrong as often as it is told to be:
    it stands for the authors' vision-language model, which is not run here. Departures: the margin's mean is over what
    has advice, where the code scales the mean over everything by the share that has; the bonus by CLIP is left out
    (:mod:`tiltyard.wrappers.rewards.vlm_rl` is a reward of its kind); answers that have not come when an agent is saved
    are lost, as is advice when a replay buffer is. Margin and temperature are in units of value: the authors' are for
    rewards of up to 1 a step, the row's for scenes whose episodes pay 1 in all.
    """

    settings: FoundRLSettings
    saved_parts = ("ent_coef_optimizer",)
    saved_tensors = ("log_ent_coef",)

    @takes(FoundRLSettings)
    def __init__(self, settings: FoundRLSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        if not fits(self.observation_space, self.action_space) or self.n_steps != 1:
            raise TypeError(
                f"found-rl needs flat Box observations and actions and n_steps=1, not {self.observation_space}"
            )
        if self.replay_buffer_class is None:
            self.replay_buffer_class = TaughtReplay
        super()._setup_model()
        asked = self.settings
        check_subset(asked.critic_subset, self.critic.net.n)
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=self.lr_schedule(1), device=self.device
        )
        self.log_ent_coef, self.ent_coef_optimizer = self._temperature.log, self._temperature.optimizer
        self._queue: Late[Advice, FloatArray] = Late(
            lambda asked: [one.actions for one in asked], delay=self.settings.delay
        )
        self._turn = 0
        self._wrong = np.random.default_rng(self.seed)
        self._advice: tuple[Tensor, Tensor] | None = None

    def _sample_action(self, *args: Any, **kwargs: Any) -> Any:
        self._consult()
        return super()._sample_action(*args, **kwargs)

    def _consult(self) -> None:
        """Takes what answers have come, and asks about the state in which the agent is to act now."""
        buffer = self.replay_buffer
        assert isinstance(buffer, TaughtReplay)
        buffer.advised[buffer.pos] = 0.0  # of what is about to be written over
        if self._turn % self.settings.ask_every == 0:
            self._queue.ask(Advice(buffer.pos, self._turn, self._teach()))
        for one, actions in self._queue.step():
            if self._turn - one.step < buffer.buffer_size:
                buffer.advice[one.row], buffer.advised[one.row] = actions, 1.0
        self._turn += 1

    def _teach(self) -> FloatArray:
        """What the teacher says to the present states, ``[n_envs, A]``; it reads them now, and speaks later."""
        assert self.env is not None
        said = self.policy.scale_action(expert_actions(self.env))
        wrong = self._wrong.random(len(said)) >= self.settings.teacher_accuracy
        said[wrong] = self._wrong.uniform(-1.0, 1.0, said[wrong].shape)
        return np.asarray(said, np.float32)

    def sample(self, batch_size: int) -> Batch:
        """As in other agents; :meth:`update` finds the advice of the batch beside it."""
        self._advice = None
        batch = super().sample(batch_size)
        actions, advised = batch.actions.new_zeros(batch.actions.shape), batch.rewards.new_zeros(batch.rewards.shape)
        if self._advice is not None:  # demonstrations, which have none, come first
            replayed = len(self._advice[1])
            actions[batch_size - replayed :], advised[batch_size - replayed :] = self._advice
        self._advice = actions, advised
        return batch

    def replayed(self, n: int) -> Batch:
        """``n`` transitions of the replay buffer."""
        buffer = self.replay_buffer
        if not isinstance(buffer, TaughtReplay) or self._vec_normalize_env is not None:
            return super().replayed(n)
        rows = buffer.draw(n).to(self.device)
        width = buffer.columns.width
        self._advice = rows[:, width:-1], rows[:, -1]
        return buffer.columns.batch(rows, self.gamma, 0)

    @property
    def margin_share(self) -> float:
        """What is left of ``margin_weight`` now, from 1 to 0."""
        begin, end = self.settings.margin_kept, self.settings.margin_gone
        return float(np.clip((end - self.num_timesteps) / (end - begin), 0.0, 1.0))

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked = self.settings
        none = batch.actions.new_zeros(batch.actions.shape), batch.rewards.new_zeros(batch.rewards.shape)
        advice, advised = none if self._advice is None else self._advice
        alpha = self._temperature.value if asked.backup_entropy else None
        target = soft_target(self.actor, self.critic_target, batch, alpha, asked.critic_subset)
        loss, values = self.critic.loss(batch.observations, batch.actions, target)
        taught = self.critic(batch.observations, advice)
        margin = margin_loss(taught, values, advised, asked.margin)
        weight = asked.margin_weight * self.margin_share
        critic_loss = minimise(self.critic.optimizer, loss.mean(dim=1).sum() + weight * margin)
        self.update_targets()
        metrics = {"critic_loss": critic_loss, "q": values.mean(), "margin_loss": margin.detach()}
        if (self._n_updates + 1) % asked.policy_delay == 0:
            metrics |= self._improve(batch, advice, advised)
        return metrics

    def _improve(self, batch: Batch, advice: Tensor, advised: Tensor) -> Metrics:
        """One step of the actor, with guidance, and one of the temperature."""
        asked, alpha = self.settings, self._temperature.value
        actions, log_prob = self.actor.action_log_prob(batch.observations)
        value = self.critic.minimum if asked.actor_objective == "min" else self.critic.mean
        usual = (alpha * log_prob - value(batch.observations, actions)).mean()
        with th.no_grad():
            own = self.critic.minimum(batch.observations, self.actor(batch.observations, deterministic=True))
            advantages = self.critic.minimum(batch.observations, advice) - own
            weights = guidance_weights(advantages, asked.guidance_temperature, asked.guidance_limit) * advised
            better = (weights > 0).sum()
        imitation = -(weights * self.actor.log_prob(batch.observations, advice)).sum() / better.clamp_min(1)
        metrics = {
            "actor_loss": minimise(self.actor.optimizer, usual + asked.guidance_weight * imitation),
            "ent_coef": alpha,
            "advised": advised.mean(),
            "better_advice": better / advised.sum().clamp_min(1),
        }
        self._temperature.update(log_prob)
        return metrics

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_queue", "_turn", "_wrong", "_advice"]


def expert_actions(env: VecEnv) -> npt.NDArray[Any]:
    """What the scripted experts of all environments would do now, ``[n_envs, A]``.

    Raises:
        TypeError: they have none.
    """
    base: Any = env.unwrapped
    if isinstance(base, DummyVecEnv):
        owners: list[Any] = [one.unwrapped for one in base.envs]
    else:
        owners = [getattr(base, "env", base).unwrapped]
    if not all(hasattr(one, "batched") for one in owners):
        raise TypeError("found-rl asks the expert of its environment, and this one has none")
    return np.concatenate([np.asarray(one.batched.expert_actions()) for one in owners])
