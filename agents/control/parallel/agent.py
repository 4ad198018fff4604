"""What off-policy agents over many environments share: how they collect, remember and normalise.

After Parallel Q-Learning (Li et al., 2023, arXiv 2307.12983) and FastTD3 (Seo et al., 2025, arXiv 2505.22642; "the
authors' code" is github.com/younggyoseo/FastTD3): a vector of many environments steps at once, a few updates follow
each of its steps, critics learn the distribution of returns (C51), observations and rewards are normalised.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import VectorizedActionNoise
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import RolloutReturn, Schedule
from stable_baselines3.common.utils import should_collect_more_steps
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ..actor_critic import ActorCritic
from ..base import check_step
from ..c51 import C51
from ..datasets import Transitions
from ..networks import Critics
from ..on_policy.sources import Source, Step, source_of
from ..replay import Batch, misfit
from ..settings import OffPolicySettings
from .normalisation import ReturnScale
from .policy import NormalizedActorCriticPolicy
from .replay import VectorReplay

Actions = npt.NDArray[np.float32]


@dataclass(frozen=True)
class ParallelSettings(OffPolicySettings):
    """Those of agents over many environments, beside what all agents take.

    Departures from FastTD3's code, whose numbers are for a GPU: there a critic's hidden layers have widths of 1,024,
    512 and 256 (the actor's half of these), a batch has 32,768 transitions, each step of 128 environments is followed
    by two updates of rate 3e-4 and tau 0.1, and with normalised rewards returns have 101 bins from -10 to 10. A core of
    a CPU learns from as many transitions a second in batches of 256 as in larger ones, so that here batches are of 256,
    of which more follow a step, with larger steps; layers have widths of 128, and returns 51 bins from -5 to 5, as wide
    as theirs.

    Args:
        learning_starts: environment steps before the first update, taken by uniform actions (there: 10 steps of the
            vector by the untrained actor with noise).
        train_freq: steps of the vector between calls of ``train``.
        gradient_steps: updates a call.
        n_steps: of n-step returns, which end with the episode.
        clipped_double_q: whether targets are the distribution with the smaller mean of two, and the actor climbs the
            smaller mean; if not, each critic has its own target, and the actor climbs the mean of all. FastTD3's code
            does the former unless told otherwise, FastSAC's the latter. Here both do the latter: with the former
            FastTD3 returned less on HalfCheetah and Hopper, of which one tuning seed each was tried.
        policy_delay: updates of the critics per update of the actor.
        norm_obs: whether observations are normalised by running moments (of what was acted on; in the authors' code,
            of each batch as well).
        norm_reward: whether rewards are divided so that returns stay in the critics' range; if not, give the range of
            returns: ``policy_kwargs={"critic_head_kwargs": {"v_min": ..., "v_max": ...}}``. What is measured are
            returns to the ends of episodes, those of time limits too, while values go on beyond these: in tasks that a
            time limit ends after fewer than some 3 / (1 - gamma) steps they would leave the range and are cut to it, so
            that there too the range is better given.
        clip_obs: limit of normalised observations, either way (there: none).
    """

    _: KW_ONLY
    learning_rate: float | Schedule = 1e-3
    buffer_size: int = 500_000
    learning_starts: int = 5_000
    batch_size: int = 256
    tau: float = 0.02
    gradient_steps: int = 2
    n_steps: int = 3
    clipped_double_q: bool = False
    policy_delay: int = 2
    norm_obs: bool = True
    norm_reward: bool = True
    clip_obs: float = 10.0


def projected(
    target: Critics, observations: Any, actions: Tensor, rewards: Tensor, discounts: Tensor, clipped: bool
) -> Tensor:
    """What critics learn: distributions of ``r + discount Z'(s', a')``, ``[n, B, n_bins]``, or clipped ``[B, n_bins]``.

    Clipped, each sample's is that of the target critic whose distribution has the least mean.
    """
    head = target.head
    assert isinstance(head, C51)
    found = head.project(target.outputs(observations, actions), rewards, discounts)
    if not clipped:
        return found
    least = (found @ head.values.to(found.dtype)).argmin(0)
    return found.gather(0, least[None, :, None].expand(1, *found.shape[1:])).squeeze(0)


class ParallelActorCritic(ActorCritic):
    """An agent over many environments; a method adds :meth:`update` and how it explores."""

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": NormalizedActorCriticPolicy}
    saved_parts: ClassVar[tuple[str, ...]] = ("reward_scale",)
    settings: ParallelSettings
    policy: NormalizedActorCriticPolicy
    replay_buffer: VectorReplay
    norm_obs: bool
    norm_reward: bool
    clip_obs: float

    def construct(self, settings: OffPolicySettings) -> None:
        """As of all agents, without buffers other than its own."""
        if settings.replay_buffer_class is not None or settings.optimize_memory_usage:
            raise ValueError(
                f"{type(self).__name__} has a replay buffer of its own: leave replay_buffer_class and "
                "optimize_memory_usage out"
            )
        self._source: Source | None = None
        self._acted_on = th.zeros(0)
        super().construct(settings)

    def _setup_model(self) -> None:
        if said := misfit(self.observation_space, self.action_space):
            name = type(self).__name__
            raise TypeError(f"{name} reads flat Box observations of floats, {said}, or take another agent")
        if self.policy_kwargs.get("critic_head", "c51") != "c51":
            raise ValueError(f'{type(self).__name__} has critics of the head "c51" alone: leave critic_head out')
        own: dict[str, Any] = {"critic_head": "c51", "norm_obs": self.norm_obs, "clip_obs": self.clip_obs}
        self.policy_kwargs = {**own, **self.policy_kwargs}
        self.replay_buffer = self._new_buffer()
        super()._setup_model()
        self.replay_buffer_class, self.replay_buffer_kwargs = VectorReplay, {}
        assert isinstance(self.critic.head, C51)
        self.reward_scale = ReturnScale(self.gamma, self.critic.head.v_max)

    def _new_buffer(self) -> VectorReplay:
        observations, actions = self.observation_space, self.action_space
        assert isinstance(observations, Box)
        assert isinstance(actions, Box)
        return VectorReplay(self.buffer_size, observations, actions, device=self.device, n_envs=self.n_envs)

    def replayed(self, n: int) -> Batch:
        """``n`` transitions of the replay buffer, with n-step returns."""
        return self.replay_buffer.drawn(n, self.gamma, self.n_steps, self.device)

    def scaled(self, rewards: Tensor) -> Tensor:
        """Rewards ``[B]`` as critics learn them."""
        return rewards * self.reward_scale.factor if self.norm_reward else rewards

    def on_dataset(self, transitions: Transitions) -> None:
        """Normalises by a dataset as well; its returns are those to the ends of episodes."""
        if self.policy.normalizer is not None:
            self.policy.normalizer.update(th.from_numpy(transitions.observations))
        self.reward_scale.take_in(th.from_numpy(transitions.returns(self.gamma)))

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        before = self._last_obs
        found = super()._setup_learn(*args, **kwargs)
        if self._last_obs is not before:
            self._source = None
        return found

    def _begin(self, num_envs: int) -> None:
        """All environments, which have just been reset, begin an episode."""
        self.replay_buffer.cut()
        self.reward_scale.reset(num_envs)
        self._acted_on = th.zeros(num_envs, self.replay_buffer.obs_shape[0])
        self._see(self._last_obs)

    def _see(self, observations: Any) -> None:
        """Copies what to act on next, which the environments' next step may change."""
        np.copyto(self._acted_on.numpy(), observations, casting="unsafe")

    def explored(self, observations: Tensor) -> Tensor:
        """Actions ``[N, A]`` to learn from at ``observations`` ``[N, O]``, scaled to [-1, 1] but not clipped to it."""
        actions: Tensor = self.actor(observations)
        return actions

    def on_ends(self, ended: npt.NDArray[np.bool_]) -> None:
        """Called with which environments' episodes have ended ``[N]``, where any has."""

    @th.no_grad()
    def _actions(self, learning_starts: int) -> Actions:
        """Actions ``[N, A]`` in [-1, 1]: uniform until ``learning_starts``, and then of the policy."""
        if self.policy.normalizer is not None:
            self.policy.normalizer.update(self._acted_on)
        taught = self.demonstrations is not None and self._n_updates > 0
        if self.num_timesteps < learning_starts and not taught:
            actions = 2 * th.rand(len(self._acted_on), self.actor.n_actions) - 1
        else:
            actions = self.explored(self._acted_on.to(self.device)).cpu()
        if self.action_noise is not None:
            actions += th.as_tensor(self.action_noise())
        found: Actions = actions.clamp_(-1, 1).numpy()
        return found

    def _stepped(self, actions: Actions) -> Step:
        """Steps all environments; with ``overlap`` due updates run meanwhile."""
        assert self._source is not None
        unscaled = self.policy.unscale_action(actions)
        if self._overlapped is None:
            return self._source.step(unscaled)
        return self._overlapped.beside(self._source.step, unscaled)

    def _remember(self, actions: Actions, step: Step) -> npt.NDArray[np.bool_]:
        """Stores a step; returns which episodes ended with it ``[N]``."""
        check_step(step.observation, step.rewards, step.last.values())
        self.replay_buffer.put(self._acted_on, actions, step)
        dones = step.terminated | step.truncated
        self.reward_scale.gamma = self.gamma
        self.reward_scale.step(step.rewards, dones, step.valid)
        self._see(step.observation)
        self._last_obs = step.observation
        if dones.any():
            self.on_ends(dones)
            if isinstance(self.action_noise, VectorizedActionNoise):
                self.action_noise.reset(np.flatnonzero(dones).tolist())
            elif self.action_noise is not None:  # of one environment
                self.action_noise.reset()
        return dones

    def collect_rollouts(self, env: VecEnv, callback: BaseCallback, train_freq: Any, *args: Any, **how: Any) -> Any:
        """As in SB3, over the vector itself where nothing stands between."""
        if self._source is None:
            self._source = source_of(env if self._overlapped is None else self._overlapped.venv)
            self._begin(env.num_envs)
        self.policy.set_training_mode(False)
        callback.on_rollout_start()
        steps, episodes, before = 0, 0, self.num_timesteps
        nothing: list[Mapping[str, Any]] = [{} for _ in range(env.num_envs)]
        while should_collect_more_steps(train_freq, steps, episodes):
            actions = self._actions(how.get("learning_starts", 0))
            step = self._stepped(actions)
            dones = self._remember(actions, step)
            new_obs, rewards, infos = step.observation, step.rewards, nothing
            steps, episodes = steps + 1, episodes + int(dones.sum())
            self.num_timesteps += int(np.count_nonzero(step.valid))
            if step.infos:
                infos = [step.infos.get(index, {}) for index in range(env.num_envs)]
                self._update_info_buffer(infos, dones)  # type: ignore[arg-type]
            callback.update_locals(locals())
            if not callback.on_step():
                return RolloutReturn(self.num_timesteps - before, episodes, continue_training=False)
            self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
            self._count_episodes(int(dones.sum()), how.get("log_interval"))
        callback.on_rollout_end()
        return RolloutReturn(self.num_timesteps - before, episodes, continue_training=True)

    def _count_episodes(self, ended: int, log_interval: int | None) -> None:
        """Writes the log once where the number of episodes has passed a multiple of ``log_interval``."""
        before, self._episode_num = self._episode_num, self._episode_num + ended
        if log_interval and before // log_interval != self._episode_num // log_interval:
            self.dump_logs()

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_source", "_acted_on"]
