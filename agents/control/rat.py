r"""RAT: perturbed observations that make a trained agent, the victim, do what a scripted teacher prefers.

    attack = make("rat", env, epsilon=0.1).against(victim).learn(50_000)
    attack.predict(observation)  # what the victim does under attack
    env = ObservationNoise(env, 0.1, kind="worst", adversary=attack.perturbation)  # for any agent

Paper: Bai et al., RAT: Adversarial Attacks on Deep Reinforcement Agents for Targeted Behaviors (2024). What it builds
on: Lee et al., PEBBLE (2021). "The authors' code" is github.com/ChangWinde/RAT, ``train_RAT_mani.py``.
"""

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.type_aliases import MaybeCallback
from torch import Tensor

from ..optimizers import Adam, FusedAdam
from .actor_critic import ActorCritic, Metrics
from .explicit import explicit
from .networks import SquashedGaussian
from .rat_parts import SegmentRewards, Segments, influence, matching_error, perceptron
from .replay import OWN, Batch, fits
from .sac import SAC, SACSettings, soft_update
from .settings import check_subset, takes
from .soft import Temperature


@dataclass(frozen=True)
class RATSettings(SACSettings):
    """Those of RAT, beside those of SAC, by which the intention policy learns.

    Args:
        epsilon: the most by which a number of an observation is perturbed, in its own units.
        weighting: whether states are weighted by a network; all alike if not.
        adversary_learning_rate: of the adversary.
        weight_learning_rate: of the weighting network.
        inner_interval: updates between trainings of the adversary.
        inner_updates: of the adversary each time.
        outer_interval: updates between those of the weighting network.
        segment_length: steps of a segment that the teacher compares.
        preferences_per_session: how many pairs the teacher compares at a time.
        max_preferences: in all.
        preference_interval: steps between two sessions, the first of which comes as soon.
        reward_learning_rate: of the learnt reward.
        reward_updates: of it after each session.
        n_reward_models: members of its ensemble.
        switch_steps: most steps of an episode that the attacked victim takes before the intention policy does.
        victim_timesteps: of SAC on the environment's reward, if no victim is given.
    """

    _: KW_ONLY
    epsilon: float = 0.1
    weighting: bool = True
    adversary_learning_rate: float = 3e-4
    weight_learning_rate: float = 1e-3
    inner_interval: int = 100
    inner_updates: int = 10
    outer_interval: int = 3000
    segment_length: int = 50
    preferences_per_session: int = 128
    max_preferences: int = 7000
    preference_interval: int = 5000
    reward_learning_rate: float = 3e-4
    reward_updates: int = 200
    n_reward_models: int = 3
    switch_steps: int = 500
    victim_timesteps: int = 100_000


class RAT(ActorCritic):
    r"""Targeted attacks on observations by an intention policy, an adversary and weights of states.

    - The intention policy :math:`\pi_\theta` is SAC on a reward that is learnt from a scripted teacher, who compares
      segments by their summed ``info["target_score"]`` (minus the environment's reward where a step tells none).
      Replayed rewards are always those of the newest model.
    - The adversary :math:`\delta = \epsilon \tanh(f_\alpha(s))`, within an l_inf ball, makes the victim :math:`\pi_\nu`
      act as the intention policy would, with the weights w of a network h:

      .. math::
          L_{in} = E[w(s) \tfrac12 \|\pi_\nu(s + \delta(s)) - \pi_\theta(s)\|^2], \quad w(s) = 1 + \tanh h_\omega(s)

    - Weights descend what the attack costs by the intention's critics, through one gradient step of the adversary:

      .. math::
          L_{out} = -E[\min_i Q_i(s, \pi_\nu(s + \delta(s)))], \quad \frac{\partial L_{out}}{\partial w(s)} =
          -\eta_\alpha \langle \nabla_\alpha L_{out}, \nabla_\alpha \tfrac12 \|\cdot\|^2(s) \rangle

    Experience is of episodes that the attacked victim begins and the intention policy ends (the authors' code).

    :meth:`predict` is the victim under attack; ``attack.policy`` and ``attack.actor`` are the intention policy.

    Departures from the authors' code: the weights' gradient is of each state, where the code multiplies the mean weight
    by one inner product of mean gradients, so that weights of all states rise or fall together; the adversary is
    deterministic and each number moves by at most epsilon, where the code draws perturbations and, by default, scales
    them to an l1 norm of epsilon; the divergence has unit deviations, where the code divides by the intention's; there
    is no exploration by state entropy at first, and critics are not begun anew after the first session; segments do not
    overlap; adversary, weights and rewards have two hidden layers of 64. The victim is white-box, as in the code: its
    actor is copied.
    """

    settings: RATSettings
    log_ent_coef: Tensor | None
    ent_coef_optimizer: FusedAdam | None
    saved_parts = (
        "ent_coef_optimizer",
        *("victim", "adversary", "weights", "reward_model"),
        *("adversary_optimizer", "weights_optimizer", "reward_optimizer"),
    )
    saved_tensors = ("log_ent_coef", "progress")

    @takes(RATSettings)
    def __init__(self, settings: RATSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        if not fits(self.observation_space, self.action_space) or self.n_steps != 1:
            raise TypeError(
                f"rat needs flat Box observations and actions and n_steps=1, not {self.observation_space}: flatten them"
            )
        super()._setup_model()
        asked, device = self.settings, self.device
        check_subset(asked.critic_subset, self.critic.net.n)
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=self.lr_schedule(1), device=device
        )
        self.ent_coef_optimizer = self._temperature.optimizer
        self.log_ent_coef = None if self.ent_coef_optimizer is None else self._temperature.log
        made: Any = self.policy_class
        other = made(self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs)
        self.victim: SquashedGaussian = other.actor.to(device)
        seen, acted = (int(np.prod(space.shape or ())) for space in (self.observation_space, self.action_space))
        self.adversary = perceptron(seen, seen, 64).to(device)
        self.weights = perceptron(seen, 1, 64).to(device)
        self.reward_model = SegmentRewards(seen + acted, asked.n_reward_models, 64).to(device)
        self.adversary_optimizer = Adam(self.adversary.parameters(), lr=asked.adversary_learning_rate)
        self.weights_optimizer = Adam(self.weights.parameters(), lr=asked.weight_learning_rate)
        self.reward_optimizer = Adam(self.reward_model.parameters(), lr=asked.reward_learning_rate)
        self.progress = th.zeros(3, dtype=th.int64)  # whether there is a victim, preferences told, step of last session
        self.segments = Segments(asked.segment_length, self.buffer_size)
        self._pairs: list[tuple[Tensor, Tensor]] = []
        self._attacked = np.zeros(self.n_envs, np.int64)

    # -- the victim ------------------------------------------------------------------------------------------------

    def against(self, victim: Any) -> Self:
        """Sets the victim: the actor of ``victim`` is copied, and stays as it is.

        Args:
            victim: an agent with an actor of ours of the same ``policy_kwargs``, such as "sac".

        Raises:
            TypeError: it has no such actor.
            ValueError: its networks or spaces are others.
        """
        actor = getattr(victim, "actor", None)
        if not isinstance(actor, SquashedGaussian):
            raise TypeError(f"rat attacks agents with the actor of sac, which {type(victim).__name__} has not")
        try:
            self.victim.load_state_dict(actor.state_dict())
        except RuntimeError as error:
            raise ValueError("the victim's networks differ from rat's: give both the same policy_kwargs") from error
        self.progress[0] = 1
        return self

    @th.no_grad()
    def perturbation(self, observation: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Delta, of the shape of the observation ``[d]`` or observations ``[B, d]``, none beyond epsilon."""
        given = th.as_tensor(np.asarray(observation, np.float32), device=self.device)
        found: npt.NDArray[np.float32] = (self.settings.epsilon * self.adversary(given)).cpu().numpy()
        return found

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """What the victim does at the perturbed observation, as SB3's ``predict``."""
        space: Any = self.observation_space
        given = np.asarray(observation, np.float32)
        shown = np.clip(given + self.perturbation(given), space.low, space.high)
        return self.victim.predict(shown, state, episode_start, deterministic)

    def _acts(self, actor: Any, observations: Tensor) -> Tensor:
        """The central actions of an actor ``[B, A]``, with gradients by the observations alone."""
        out = actor.lined(actor.net.frozen(actor.features(observations)).squeeze(0))
        found: Tensor = actor.actions(out, None)
        return found

    # -- experience ------------------------------------------------------------------------------------------------

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 4,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """As SB3's ``learn``; without a victim, SAC is trained to be one first, in steps that are not counted."""
        if not self.progress[0]:
            names = {one.name for one in fields(SACSettings)} - {"policy", "env", "_init_setup_model"}
            own = {name: getattr(self.settings, name) for name in names}
            victim = SAC(self.settings.policy, self.env, **own)
            self.against(victim.learn(self.settings.victim_timesteps))
            self._last_obs = None
        super().learn(total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar)
        return self

    def _sample_action(self, learning_starts: int, action_noise: Any = None, n_envs: int = 1) -> Any:
        if self.num_timesteps < learning_starts:
            return super()._sample_action(learning_starts, action_noise, n_envs)
        seen: Any = self._last_obs
        intended, _ = self.policy.predict(seen, deterministic=False)
        attacked, _ = self.predict(seen)
        action = np.where((self._attacked > 0)[:, None], attacked, intended)
        self._attacked -= 1
        return action, self.policy.scale_action(action)

    def _store_transition(self, replay_buffer: Any, buffer_action: Any, new_obs: Any, reward: Any, *rest: Any) -> None:
        seen, (dones, infos) = self._last_obs, rest
        super()._store_transition(replay_buffer, buffer_action, new_obs, reward, *rest)
        steps = np.concatenate([np.asarray(seen), buffer_action], axis=1).astype(np.float32)
        for i, (info, done) in enumerate(zip(infos, dones, strict=True)):
            self.segments.add(i, steps[i], float(info.get("target_score", -reward[i])), bool(done))
            if done:
                self._attacked[i] = np.random.randint(self.settings.switch_steps + 1)
        if self.num_timesteps - int(self.progress[2]) >= self.settings.preference_interval:
            self.progress[2] = self.num_timesteps
            self.ask()

    # -- updates ---------------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """A session with the teacher, after which the reward is trained on all preferences that were told."""
        asked = self.settings
        n = min(asked.preferences_per_session, asked.max_preferences - int(self.progress[1]))
        worse, better = self.segments.pairs(max(n, 0), self._disagreement)
        if len(worse):
            self._pairs.append((worse, better))
            self.progress[1] += len(worse)
        if not self._pairs:
            return
        told = [th.cat(side).to(self.device) for side in zip(*self._pairs, strict=True)]
        for _ in range(asked.reward_updates):
            rows = th.randint(len(told[0]), (min(asked.preferences_per_session, len(told[0])),))
            loss = self.reward_model.loss(told[0][rows], told[1][rows])
            self.reward_optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.reward_optimizer.step()

    @th.no_grad()
    def _disagreement(self, one: Tensor, other: Tensor) -> Tensor:
        """The deviation between members of P(one over other), ``[N]``."""
        totals = [self.reward_model.each(steps.to(self.device)).sum(dim=-1) for steps in (one, other)]
        return (totals[0] - totals[1]).sigmoid().std(dim=0, correction=0)

    def update(self, batch: Batch) -> Metrics:
        """One of the intention policy, and in their turns those of the adversary and of the weights."""
        asked, at = self.settings, self._n_updates + 1
        own = batch.is_from(OWN)
        with th.no_grad():
            learnt = self.reward_model(th.cat([batch.observations, batch.actions], dim=1))
        batch = batch._replace(rewards=th.where(own, learnt, batch.rewards))
        metrics = self._improve_intention(batch)
        if at % asked.inner_interval == 0:
            for _ in range(asked.inner_updates):
                metrics["matching_error"] = self._improve_adversary(self.sample(self.batch_size).observations)
        if asked.weighting and at % asked.outer_interval == 0:
            metrics["outer_loss"] = self._improve_weights(self.sample(self.batch_size).observations)
        return metrics

    @explicit
    def _improve_intention(self, batch: Batch) -> Metrics:
        return soft_update(self, self.settings, batch, self._temperature)

    def weights_of(self, observations: Tensor) -> Tensor:
        """w, ``[B]`` in (0, 2): 1 everywhere without ``weighting``."""
        if not self.settings.weighting:
            return th.ones(len(observations), device=self.device)
        found: Tensor = 1 + self.weights(observations).squeeze(1)
        return found

    def shown(self, observations: Tensor) -> Tensor:
        """What the victim sees of observations ``[B, d]``, with the adversary's gradients."""
        found: Tensor = observations + self.settings.epsilon * self.adversary(observations)
        return found

    @th.enable_grad()
    def _improve_adversary(self, observations: Tensor) -> Tensor:
        with th.no_grad():
            wanted, weights = self._acts(self.actor, observations), self.weights_of(observations)
        errors = matching_error(self._acts(self.victim, self.shown(observations)), wanted)
        loss = (weights * errors).mean()
        self.adversary_optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.adversary_optimizer.step()
        return errors.detach().mean()

    @th.enable_grad()
    def _improve_weights(self, observations: Tensor) -> Tensor:
        named = dict(self.adversary.named_parameters())
        outer = -self.critic.minimum(observations, self._acts(self.victim, self.shown(observations)))
        slopes = th.autograd.grad(outer.mean(), list(named.values()))
        moves = self.adversary(observations).detach().requires_grad_()
        acted = self._acts(self.victim, observations + self.settings.epsilon * moves)
        errors = matching_error(acted, self._acts(self.actor, observations).detach())
        by_moves = th.autograd.grad(errors.sum(), moves)[0]
        influences = influence(self.adversary, observations, by_moves, dict(zip(named, slopes, strict=True)))
        loss = -self.settings.adversary_learning_rate * (influences * self.weights_of(observations)).mean()
        self.weights_optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.weights_optimizer.step()
        return outer.detach().mean()

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])

    def _excluded_save_params(self) -> list[str]:
        unsaved = ["segments", "_pairs", "_attacked"]
        return [*super()._excluded_save_params(), *unsaved]
