"""PPO for native vectors of many environments, with Stable-Baselines3's API."""

from concurrent.futures import Future, ThreadPoolExecutor
from copy import deepcopy
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback, Schedule
from stable_baselines3.common.utils import FloatSchedule, explained_variance
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ..base import ControlAgent, check_step
from ..elements_policy import ElementsPolicy
from .acting import Acting, acting_of
from .fused import FusedPolicy, is_fusable
from .moments import RewardScale
from .policies import NormalizedCnnPolicy, NormalizedMultiInputPolicy, NormalizedPolicy
from .rollout import Observations, Rollout, Samples, flat, part_of, put
from .sources import Source, Step, source_of
from .update import Gradients, Settings, autograd_of, run_update

Self = TypeVar("Self", bound="FastPPO")
Update = tuple[dict[str, float], int]


class FastPPO(ControlAgent, OnPolicyAlgorithm):
    """Proximal policy optimisation, for 64 environments and more in one native vector.

    L = -E[min(rho A, clip(rho, 1 - eps, 1 + eps) A)] + vf_coef E[(R - V)^2] - ent_coef E[H], as in SB3's PPO, whose
    names these arguments have. Paper: Proximal Policy Optimization Algorithms (2017), eq. 7 and 9.

    What differs from SB3's: a native Gymnasium vector is stepped without a dict an environment; a rollout's tensors are
    allocated once; minibatches are views of one shuffled copy an epoch; observations and rewards are normalised by
    running moments that are saved with the agent (SB3 has ``VecNormalize`` for it); the value of an episode's last
    observation at a truncation is computed once a rollout for all of them; other rollout buffers are left out.
    Observations are normalised by what was seen before the rollout, and each rollout's rewards by what was seen up to
    its end.

    Args:
        policy: "MlpPolicy", "CnnPolicy", "MultiInputPolicy", "ElementsPolicy" or a class of such.
        env: to learn in.
        learning_rate: of Adam, or a function of the remaining progress.
        n_steps: of each environment in a rollout.
        batch_size: of a minibatch.
        n_epochs: passes over each rollout.
        gamma: discount.
        gae_lambda: lambda of generalised advantage estimation.
        clip_range: of the ratio, or a function of the remaining progress.
        clip_range_vf: limit of a value's change in an update, if any.
        normalize_advantage: whether advantages have mean 0 and deviation 1 in each minibatch.
        ent_coef: weight of the entropy.
        vf_coef: weight of the value loss.
        max_grad_norm: limit of the gradient's norm.
        use_sde: whether noise is linear in the actor's last hidden layer (gSDE, 2021), with the same matrix for many
            steps, so that exploration is smooth; for actions in a Box. Its gradient is by autograd, which is slower.
        sde_sample_freq: steps after which that matrix is drawn anew; -1 is once a rollout.
        norm_obs: whether observations are normalised.
        norm_reward: whether rewards are divided by the standard deviation of the discounted return.
        clip_obs: limit of normalised observations, either way.
        clip_reward: limit of normalised rewards, either way.
        overlap: whether the next rollout is collected while this one is learnt from, on a second core. Experience is
            one update old then, which the ratio accounts for, since it is that of the policy that acted. In callbacks
            use the agent's methods, which wait for the update, and not its ``policy``.
        target_kl: an update ends at 1.5 times this divergence, if given.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the networks.
    """

    acts_in: ClassVar[tuple[type[Space[Any]], ...]] = (Box, Discrete, MultiDiscrete, MultiBinary)
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": NormalizedPolicy,
        "CnnPolicy": NormalizedCnnPolicy,
        "MultiInputPolicy": NormalizedMultiInputPolicy,
        "ElementsPolicy": ElementsPolicy,
    }
    rollout_buffer: Rollout  # type: ignore[assignment]
    policy: ActorCriticPolicy

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 3e-4,
        n_steps: int = 64,
        batch_size: int = 2048,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip_range: float | Schedule = 0.2,
        clip_range_vf: float | Schedule | None = None,
        normalize_advantage: bool = True,
        ent_coef: float = 0.0,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        use_sde: bool = False,
        sde_sample_freq: int = -1,
        norm_obs: bool = True,
        norm_reward: bool = True,
        clip_obs: float = 10.0,
        clip_reward: float = 10.0,
        overlap: bool = False,
        target_kl: float | None = None,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.norm_obs, self.norm_reward, self.overlap = norm_obs, norm_reward, overlap
        self.clip_obs, self.clip_reward = clip_obs, clip_reward
        self.batch_size, self.n_epochs, self.target_kl = batch_size, n_epochs, target_kl
        self.clip_range, self.clip_range_vf, self.normalize_advantage = clip_range, clip_range_vf, normalize_advantage
        self._source: Source | None = None
        self._fused: FusedPolicy | None = None
        self._seen: Observations = th.zeros(0)
        self._pool: ThreadPoolExecutor | None = None
        self._update: Future[Update] | None = None
        super().__init__(
            policy,
            env,
            learning_rate,
            n_steps,
            gamma,
            gae_lambda,
            ent_coef,
            vf_coef,
            max_grad_norm,
            use_sde=use_sde,
            sde_sample_freq=sde_sample_freq,
            rollout_buffer_class=Rollout,  # type: ignore[arg-type]
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=_init_setup_model,
            supported_action_spaces=self.acts_in,
        )

    def _setup_model(self) -> None:
        if issubclass(self.policy_class, NormalizedPolicy):
            self.policy_kwargs = {"norm_obs": self.norm_obs, "clip_obs": self.clip_obs, **self.policy_kwargs}
        super()._setup_model()
        self.reward_scale = RewardScale(self.gamma, self.clip_reward)
        self.clip_range = FloatSchedule(self.clip_range)
        if self.clip_range_vf is not None:
            self.clip_range_vf = FloatSchedule(self.clip_range_vf)
        self._acting = self._acting_by(deepcopy(self.policy) if self.overlap else self.policy)
        self._spare = Rollout(**self._rollout_kwargs()) if self.overlap else self.rollout_buffer

    def _acting_by(self, policy: ActorCriticPolicy) -> Acting:
        return acting_of(policy)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy: buffers of gradients are made anew with its own parameters."""
        vars(self).update(state)
        self._fused = None
        self._acting = self._acting_by(self._acting.policy)

    def _rollout_kwargs(self) -> dict[str, Any]:
        return {
            "buffer_size": self.n_steps,
            "observation_space": self.observation_space,
            "action_space": self.action_space,
            "gae_lambda": self.gae_lambda,
            "gamma": self.gamma,
            "n_envs": self.n_envs,
        }

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        before = self._last_obs
        found = super()._setup_learn(*args, **kwargs)
        if self._source is None or self._last_obs is not before:
            assert self.env is not None
            self._source = source_of(self.env)
            self.reward_scale.reset(self.env.num_envs)
        self._act_by_policy()
        return found

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "PPO",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """As in SB3."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="update") if self.overlap else None
        try:
            super().learn(total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar)
            self._finish_update()
        finally:
            if self._pool is not None:
                self._pool.shutdown()
            self._pool = self._update = None
        return self

    @th.no_grad()
    def collect_rollouts(  # type: ignore[override]
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Rollout, n_rollout_steps: int
    ) -> bool:
        """Fills the rollout; False if the callback ended the training, as in SB3."""
        assert self._source is not None
        rollout, acting = rollout_buffer, self._acting
        acting.policy.set_training_mode(False)
        rollout.gamma, rollout.gae_lambda, self.reward_scale.gamma = self.gamma, self.gae_lambda, self.gamma
        rollout.begin(self._last_obs, env.num_envs)
        acting.begin(rollout)
        callback.on_rollout_start()
        nothing: list[dict[str, Any]] = [{} for _ in range(env.num_envs)]
        for n_steps in range(n_rollout_steps):
            if self.use_sde and (n_steps % self.sde_sample_freq == 0 if self.sde_sample_freq > 0 else n_steps == 0):
                acting.policy.reset_noise(env.num_envs)
            acting.act(rollout, n_steps)
            actions = rollout.actions[n_steps].numpy()
            step = self._source.step(self._clipped(actions))
            self._store(rollout, n_steps, step)
            new_obs, rewards, dones = step.observation, step.rewards, step.terminated | step.truncated
            self._last_obs, self._last_episode_starts = new_obs, dones
            self.num_timesteps += int(np.count_nonzero(step.valid))
            infos = nothing
            if step.infos:
                infos = [step.infos.get(index, {}) for index in range(env.num_envs)]
                self._update_info_buffer(infos, dones)
            callback.update_locals(locals())
            if not callback.on_step():
                return False
        self._seen = acting.finish(rollout)
        rollout.finish(acting.last_values(rollout))
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def _store(self, rollout: Rollout, row: int, step: Step) -> None:
        check_step(step.observation, step.rewards, step.last.values())
        put(part_of(rollout.observations, row + 1), step.observation)
        for name in ("rewards", "terminated", "truncated", "valid"):
            np.copyto(getattr(rollout, name)[row].numpy(), getattr(step, name))
        rollout.last_observations += [(row, index, one) for index, one in step.last.items()]

    def _clipped(self, actions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        space = self.action_space
        if not isinstance(space, Box):
            return actions
        actions = actions.reshape(-1, *space.shape)
        if self.policy.squash_output:
            return self.policy.unscale_action(actions)  # type: ignore[return-value]
        clipped: npt.NDArray[Any] = np.clip(actions, space.low, space.high)
        return clipped

    def train(self) -> None:
        """Learns from the last rollout; with ``overlap`` begins to, after the update before has ended."""
        self._finish_update()
        samples, settings = self._samples(), self._update_settings()
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        gradients, optimizer = self._gradients(), self.policy.optimizer
        generator = th.Generator().manual_seed(int(th.randint(2**62, ())))

        def learnt() -> Update:
            return run_update(samples, gradients, optimizer, settings, generator)

        self._log_samples(samples, settings)
        if self._pool is None:
            self._note_update(learnt())
        else:
            self._act_by_policy()
            self.rollout_buffer, self._spare = self._spare, self.rollout_buffer
            self._update = self._pool.submit(learnt)

    def _samples(self) -> Samples:
        """Those of the rollout, normalised; the moments take in what they have not seen."""
        rollout = self.rollout_buffer
        rewards = rollout.rewards
        if self.norm_reward:
            rewards = self.reward_scale.scaled(rewards, rollout.terminated | rollout.truncated, rollout.valid)
        if isinstance(self.policy, NormalizedPolicy):
            raw = flat(part_of(rollout.observations, slice(0, rollout.n_steps)))
            self.policy.update_moments(raw, None if bool(rollout.valid.all()) else rollout.valid.flatten())
        return self._samples_of(rewards).to(self.device)

    def _samples_of(self, rewards: Tensor) -> Samples:
        """Those of the rollout, whose ``rewards`` ``[T, N]`` are as they are learnt from."""
        return self.rollout_buffer.samples(rewards, self._seen)

    def _gradients(self) -> Gradients:
        policy = self.policy
        if is_fusable(policy):
            if self._fused is None or self._fused.policy is not policy:
                self._fused = FusedPolicy(policy)  # type: ignore[arg-type]
            return self._fused.gradients
        evaluate: Any = getattr(policy, "evaluate_normalized", policy.evaluate_actions)
        return autograd_of(evaluate, policy.optimizer)

    def _act_by_policy(self) -> None:
        """With ``overlap``, the policy that acts is a copy of the one that learns."""
        if self.overlap:
            self._acting.policy.load_state_dict(self.policy.state_dict())

    def _update_settings(self) -> Settings:
        progress = self._current_progress_remaining
        of_values = self.clip_range_vf
        return Settings(
            batch_size=self.batch_size,
            n_epochs=self.n_epochs,
            clip_range=self.clip_range(progress),  # type: ignore[operator]
            clip_range_vf=None if of_values is None else of_values(progress),  # type: ignore[operator]
            normalize_advantage=self.normalize_advantage,
            ent_coef=self.ent_coef,
            vf_coef=self.vf_coef,
            max_grad_norm=self.max_grad_norm,
            target_kl=self.target_kl,
        )

    def _log_samples(self, samples: Samples, settings: Settings) -> None:
        values, returns = (part.flatten().cpu().numpy() for part in (samples.values_old, samples.returns))
        self.logger.record("train/explained_variance", explained_variance(values, returns))
        self.logger.record("train/clip_range", settings.clip_range)
        if settings.clip_range_vf is not None:
            self.logger.record("train/clip_range_vf", settings.clip_range_vf)

    def _finish_update(self) -> None:
        """Waits for the update that is under way, if one is."""
        if self._update is not None:
            update, self._update = self._update, None
            self._note_update(update.result())

    def _note_update(self, update: Update) -> None:
        metrics, epochs = update
        self._n_updates += epochs
        for name, value in metrics.items():
            self.logger.record(name, value)
        if isinstance(log_std := getattr(self.policy, "log_std", None), Tensor):
            self.logger.record("train/std", float(log_std.detach().exp().mean()))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return [*names, "reward_scale"], variables

    def predict(self, *args: Any, **kwargs: Any) -> Any:
        """As in SB3; waits for an update that is under way."""
        self._finish_update()
        return super().predict(*args, **kwargs)

    def get_parameters(self) -> dict[str, dict[str, Any]]:
        """As in SB3; waits for an update that is under way."""
        self._finish_update()
        return super().get_parameters()

    def set_parameters(self, *args: Any, **kwargs: Any) -> None:
        """As in SB3; waits for an update that is under way, and acts by what was set."""
        self._finish_update()
        super().set_parameters(*args, **kwargs)
        self._act_by_policy()

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_source", "_pool", "_update", "_acting", "_spare", "_seen", "_fused"]
