"""MENTOR: an actor of experts that explores while its neurons are dormant, and perturbations towards its best episodes.

    agent = make("mentor", "tiltyard/Hopper-v5")
    agent = make("mentor", env, policy_kwargs={"actor": "deterministic"}, perturbation="random")  # DrM

Paper: Huang et al., MENTOR: Mixture-of-Experts Network with Task-Oriented Perturbation for Visual Reinforcement
Learning (2024). What it builds on: Xu et al., DrM: Mastering Visual Reinforcement Learning through Dormant Ratio
Minimization (2024). "The authors' code" is github.com/suninghuang19/mentor.
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch as th
from stable_baselines3.common.noise import ActionNoise, NormalActionNoise, VectorizedActionNoise
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .explicit import explicit, least, regression
from .iql import expectile, value_gradients
from .mixture import ExpertActor, dormant_ratio, entropy
from .perturbing import BestEpisodes, forget, linear_parameters, perturb
from .replay import Batch
from .settings import OffPolicySettings, takes
from .spr import augmented


@dataclass(frozen=True)
class MENTORSettings(OffPolicySettings):
    r"""Those of MENTOR, beside what all agents take.

    Args:
        action_noise: standard deviation of exploration and of the actions in updates, on actions scaled to [-1, 1]; if
            None the dormant ratio decides. Of other noise than Gaussian, which explores, it decides in updates.
        max_action_noise: the largest deviation then.
        noise_clip: limit of the noise on actions in updates.
        dormant_threshold: tau of :func:`~.mixture.dormant_ratio`.
        target_dormant_ratio: the ratio :math:`\hat\beta` at which noise and exploitation are half of their largest.
        dormant_temperature: how sharply noise changes there.
        exploit_ratio: :math:`\hat\lambda`, the largest share of V in targets.
        exploit_temperature: how sharply that changes at the target ratio.
        expectile: of the values that V learns.
        perturbation: "task-oriented", towards the best episodes, or "random", towards fresh weights.
        perturb_interval: updates between two perturbations; 0 for none.
        perturb_rate: kappa, how much is perturbed for each unit of the dormant ratio.
        min_kept: the least share of the weights that a perturbation keeps.
        max_kept: the largest; the paper's tasks have 0.6 to 1.
        best_episodes: how many are remembered.
        gate_entropy_coef: weight of the entropy of the gate's choice, which is minimised.
        max_grad_norm: longer gradients of the actor are cut to it.
        shift: pixels by which images are moved at random.
    """

    _: KW_ONLY
    learning_rate: float | Schedule = 1e-4
    learning_starts: int = 2000
    tau: float = 0.01
    train_freq: int | tuple[int, str] = 2
    n_steps: int = 3
    action_noise: ActionNoise | float | None = None
    max_action_noise: float = 0.8
    noise_clip: float = 0.3
    dormant_threshold: float = 0.025
    target_dormant_ratio: float = 0.2
    dormant_temperature: float = 10.0
    exploit_ratio: float = 0.6
    exploit_temperature: float = 50.0
    expectile: float = 0.9
    perturbation: Literal["task-oriented", "random"] = "task-oriented"
    perturb_interval: int = 10_000
    perturb_rate: float = 2.0
    min_kept: float = 0.2
    max_kept: float = 0.9
    best_episodes: int = 10
    gate_entropy_coef: float = 1.0
    max_grad_norm: float = 0.001
    shift: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_kept > self.max_kept:
            raise ValueError(f"min_kept is at most max_kept, not {self.min_kept} above {self.max_kept}")


def sigmoid_at(ratio: float, centre: float, temperature: float) -> float:
    """From 0 where ``ratio`` is well below ``centre`` to 1 where it is well above."""
    return 1 / (1 + math.exp(min(700.0, -temperature * (ratio - centre))))


class DormancyNoise(ActionNoise):
    """Gaussian noise on actions whose deviation is what the agent's dormant ratio asks for.

    Args:
        agent: whose ``deviation`` it is.
        shape: of actions.
    """

    def __init__(self, agent: "MENTOR", shape: tuple[int, ...]) -> None:
        super().__init__()
        self.agent, self.shape = agent, shape

    def __call__(self) -> Any:
        """Draws it, as SB3's noises do from NumPy's own generator."""
        return np.random.normal(scale=self.agent.deviation, size=self.shape).astype(np.float32)


class MENTOR(ActorCritic):
    r"""Mixture of experts with task-oriented perturbation.

    The actor's middle is a mixture of experts (:class:`~.mixture.Mixture`), of which a gate chooses few for every
    state. With :math:`\beta` the share of the actor's neurons that are dormant, V an upper expectile of the critics and
    :math:`\epsilon \sim \mathrm{clip}(N(0, \sigma), -c, c)`, critics and actor follow DrM:

    .. math::
        y &= r + \gamma (\lambda V(s') + (1 - \lambda) \min_i Q'_i(s', \pi(s') + \epsilon)), \\
        \lambda &= \hat\lambda / (1 + e^{50 (\beta - \hat\beta)}), \quad
        \sigma = 0.8 / (1 + e^{-10 (\beta - \hat\beta)}), \\
        L_\pi &= -\min_i Q_i(s, \pi(s) + \epsilon) + c_g H(g(s))

    r and s' are of n steps; H is the entropy of the gate's choice. Every ``perturb_interval`` updates all weights of
    linear layers, and their optimisers' moments forgotten, become

    .. math:: \theta \leftarrow \alpha \theta + (1 - \alpha) \phi, \quad
        \alpha = \mathrm{clip}(1 - \kappa \beta, \alpha_\min, \alpha_\max)

    where DrM takes fresh weights for :math:`\phi`, MENTOR draws them from Gaussians of the weights at the ends of the
    ``best_episodes`` best episodes. Until an episode has ended, and in environments without SB3's Monitor, they are
    fresh. Best episodes are not saved: an agent that was loaded gathers them anew.

    In the authors' code the load of experts is in the loss too, where it has no gradient, and the loss of the gate is
    not multiplied by its scale: what acts, and stands here, is the entropy with weight 1.

    Departures: V learns from the target critics, where in the authors' code it learns from the critics themselves (with
    0.6 of V in their targets and no slow copy in between, values diverged here); vectors are taken besides images;
    actor, critics and V have an encoder each, SB3's for images, in place of one that the critics train; target critics
    are perturbed towards the same fresh weights as the critics, and experts once, where in the authors' code experts
    are perturbed twice; convolutions and shared encoders never are.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"actor": "mixture-of-experts", "n_values": 1, "orthogonal_init": 1.0}
    saved_tensors = ("dormancy",)
    settings: MENTORSettings

    @takes(MENTORSettings)
    def __init__(self, settings: MENTORSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.dormancy = th.ones((), device=self.device)
        self.best = BestEpisodes(self.settings.best_episodes)
        shape = (self.n_envs, *(self.action_space.shape or ()))
        self._exploration = DormancyNoise(self, shape if self.n_envs > 1 else shape[1:])

    @property
    def deviation(self) -> float:
        """Sigma, the standard deviation of noise on actions, which ``action_noise`` says, or the dormant ratio."""
        noise, asked = self.action_noise, self.settings
        noise = noise.base_noise if isinstance(noise, VectorizedActionNoise) else noise
        if isinstance(noise, NormalActionNoise):  # as a number is kept, too
            return float(np.mean(noise._sigma))
        ratio = float(self.dormancy)
        return asked.max_action_noise * sigmoid_at(ratio, asked.target_dormant_ratio, asked.dormant_temperature)

    @property
    def exploitation(self) -> float:
        """Lambda, the share of V in targets."""
        asked = self.settings
        awake = 1 - sigmoid_at(float(self.dormancy), asked.target_dormant_ratio, asked.exploit_temperature)
        return asked.exploit_ratio * awake

    @property
    def kept(self) -> float:
        """Alpha, the share of the weights that a perturbation would keep now."""
        asked = self.settings
        return min(max(asked.min_kept, 1 - asked.perturb_rate * float(self.dormancy)), asked.max_kept)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked = self.settings
        if asked.perturb_interval and (self._n_updates + 1) % asked.perturb_interval == 0:
            self.perturb()
        if len(self.observation_space.shape or ()) == 3 and asked.shift:
            seen = (augmented(one, asked.shift, 0.0) for one in (batch.observations, batch.next_observations))
            batch = batch._replace(**dict(zip(("observations", "next_observations"), seen, strict=True)))
        self.dormancy.copy_(dormant_ratio(self.actor, batch.observations, asked.dormant_threshold))
        metrics = {"dormant_ratio": self.dormancy, **self._learn_values(batch)}
        metrics |= self._improve(batch)
        self.update_targets()
        return metrics

    def perturb(self) -> None:
        """Perturbs the weights of all networks, towards the best episodes or fresh ones; see the class."""
        task = self.settings.perturbation == "task-oriented" and len(self.best) > 0
        if task:
            towards = self.best.sample()
        else:
            made: Any = self.policy_class
            fresh = made(self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs)
            towards = list(linear_parameters(fresh.to(self.device)).values())
        perturb(list(linear_parameters(self.policy).values()), towards, self.kept)
        for network in self.networks:
            forget(network.optimizer)

    @explicit
    def _learn_values(self, batch: Batch) -> Metrics:
        """Of V and the critics."""
        asked, value, critic = self.settings, self.policy.value, self.critic
        assert value is not None
        step = self.compute(value_gradients, value, self.critic_target, batch, expectile, (asked.expectile,))
        metrics = {"value_loss": value.descend(*step[:2])}
        with th.no_grad():
            explored = least(self.critic_target, batch.next_observations, self._noisy(batch.next_observations)[0])
            exploited = value(batch.next_observations)[0]
            y = batch.rewards + batch.discounts * explored.lerp(exploited, self.exploitation)
        step = self.compute(regression, critic, batch.observations, batch.actions, y)
        return metrics | {"critic_loss": critic.descend(*step[:2]), "q": step.seen}

    @th.enable_grad()
    def _improve(self, batch: Batch) -> Metrics:
        """Of the actor, by autograd."""
        actor, critic, asked = self.actor, self.critic, self.settings
        actions, log_shares = self._noisy(batch.observations)
        features = critic.features(batch.observations).detach()
        values = critic.head.value(critic.net.frozen(th.cat([features, actions], dim=1)))
        loss = -values.min(dim=0).values.mean()
        metrics = {"actor_loss": loss.detach()}
        if log_shares is not None:
            uncertain = entropy(log_shares)
            loss = loss + asked.gate_entropy_coef * uncertain
            metrics["gate_entropy"] = uncertain.detach()
        actor.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        th.nn.utils.clip_grad_norm_(actor.parameters(), asked.max_grad_norm)
        actor.optimizer.step()
        return metrics

    def _noisy(self, observations: Any) -> tuple[Tensor, Tensor | None]:
        """Actions ``[B, A]`` with clipped noise, cut to [-1, 1] forwards only; and the gate's log p, or None."""
        actor, log_shares = self.actor, None
        if isinstance(actor, ExpertActor):
            out, log_shares = actor.out_and_log_shares(observations)
        else:
            out = actor.out(observations)
        mean = actor.actions(out, None)
        limit = self.settings.noise_clip
        actions = mean + (th.randn_like(mean) * self.deviation).clamp(-limit, limit)
        return actions + (actions.clamp(-1, 1) - actions).detach(), log_shares

    def _sample_action(self, learning_starts: int, action_noise: Any = None, n_envs: int = 1) -> Any:
        return super()._sample_action(learning_starts, action_noise or self._exploration, n_envs)

    def _store_transition(self, replay_buffer: Any, *transition: Any) -> None:
        super()._store_transition(replay_buffer, *transition)
        *_, dones, infos = transition
        for done, info in zip(dones, infos, strict=True):
            if done and "episode" in info and self.settings.perturbation == "task-oriented":
                self.best.offer(float(info["episode"]["r"]), lambda: list(linear_parameters(self.policy).values()))
