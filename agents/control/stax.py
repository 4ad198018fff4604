r"""STAX: novelty search in a behaviour space that an autoencoder learns, and emitters that improve the rewards found.

Paper: Paolo et al., Discovering and Exploiting Sparse Rewards in a Learned Behavior Space (2021). Of its text the
abstract alone was at hand; everything else follows the authors' code, github.com/GPaolo/STAX.
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch as th
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback, Schedule
from stable_baselines3.common.utils import safe_mean
from torch import Tensor

from ..optimizers import Adam
from .base import ControlAgent, check_step
from .stax_networks import Autoencoder, GenomePolicy
from .stax_search import Search, SearchSettings

Self = TypeVar("Self", bound="STAX")


@dataclass
class Batch:
    """Individuals under evaluation.

    Attributes:
        genomes: ``[B, G]``.
        rewards: ``[B]``.
        views: ``[B, V]``.
        done: ``[B]``, whether each has been evaluated.
    """

    genomes: Tensor
    rewards: Tensor
    views: Tensor
    done: Tensor


@dataclass
class Evaluation:
    """An environment's episode.

    Attributes:
        individual: index of that which acts, -1 for none.
        total: its rewards so far.
        seen: its observations, the last alone where one describes it.
    """

    individual: int
    total: float = 0.0
    seen: list[Any] = field(default_factory=list)


class STAX(ControlAgent, BaseAlgorithm):
    r"""Population search that alternates novelty search in a learnt behaviour space with emitters on rewards.

    An individual is a deterministic policy, evaluated in one episode. Its behaviour descriptor :math:`b` is what an
    autoencoder makes of its ``n_views`` observations (the last one, by default), its surprise the reconstruction error,
    and its novelty the mean distance of :math:`b` to its k nearest neighbours among population, children, the archive
    of novelty and that of rewards.

    Chunks of ``chunk_size`` evaluations alternate:

    * Exploration: each parent has two children. ``archived_per_generation`` random children join the archive of
      novelty; the most novel or the most surprising of parents and children go on, which of both is drawn anew in every
      generation. Each individual with a reward above 0 joins the archive of rewards and becomes a candidate.
    * Exploitation: candidates, the most novel among the rewarded first, get an emitter
      (:class:`.stax_parts.Emitter`) and six generations; of those whose rewards rise the emitter goes on. Of all
      emitters one on the Pareto front of novelty and improvement is drawn, until the chunk is used up or it stagnates.
      Better individuals join the archive of rewards, and of an ended emitter those that were novel the archive of
      novelty.

    After 1, 2, 3, ... chunks of exploration the autoencoder learns from archives, population and children, and
    everything is described anew. ``predict`` acts by the individual of highest reward that was evaluated, or, as long
    as none had a reward above 0, by the most novel of the latest population; policies are deterministic either way.

    Every step of every environment counts, also those of environments that wait for the last episodes of a generation.
    A generation that the budget interrupts is finished by the next :meth:`learn`, an episode too where
    ``reset_num_timesteps=False`` leaves environments where they are; checkpoints hold the search up to the
    last generation that was finished.

    Variants: without emitters this is novelty search (TAXONS with the autoencoder), and with ``descriptor_key`` it is
    SERENE, which is given the behaviour space.

    Departures: episodes begin wherever the environment has them begin, where the authors' all have one seed; the
    autoencoder is fully connected, where theirs is convolutional; it sees the observations that policies see, where
    theirs sees rendered images; each unit has a bias of its own; an emitter keeps its latest novel individuals for the
    archive, of which theirs draws some of all.

    Args:
        policy: "MlpPolicy" or "GenomePolicy", which are the same; ``policy_kwargs`` has ``net_arch``.
        env: to search in; Box observations of at most 12,288 numbers, Discrete or bounded Box actions.
        learning_rate: of the autoencoder, or a function of the remaining progress.
        population_size: of novelty search.
        chunk_size: evaluations of each search until it is the other's turn.
        mutation_std: deviation of mutations in novelty search.
        genome_limit: weights lie within it, and begin uniformly there.
        n_neighbors: k.
        archived_per_generation: children that join the archive of novelty.
        emitter_size: parents of an emitter; 0 for novelty search alone.
        n_views: observations of an episode, evenly spaced and the last included, that describe it.
        descriptor_key: of the info at an episode's end that holds its descriptor ``[descriptor_size]``; None for the
            autoencoder.
        descriptor_size: numbers of a descriptor of one observation.
        autoencoder_width: of the autoencoder's hidden layers.
        batch_size: of the autoencoder.
        n_epochs: of the autoencoder at most, each time.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: "cpu", where small policies are fastest.

    Attributes:
        search: archives, population and emitters.
        autoencoder: of the behaviour space; None with ``descriptor_key``.
        idle_timesteps: steps of environments that waited for others; they are part of ``num_timesteps``.

    Raises:
        ValueError: spaces that it cannot search in, or another device.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": GenomePolicy, "GenomePolicy": GenomePolicy}
    acts_in = (Box, Discrete)
    numbered_from_0 = False
    policy: GenomePolicy
    search_class: ClassVar[type[Search]] = Search

    def __init__(
        self,
        policy: str | type[GenomePolicy],
        env: GymEnv | str,
        *,
        learning_rate: float | Schedule = 1e-3,
        population_size: int = 10,
        chunk_size: int = 1000,
        mutation_std: float = 0.05,
        genome_limit: float = 5.0,
        n_neighbors: int = 15,
        archived_per_generation: int = 5,
        emitter_size: int = 6,
        n_views: int = 1,
        descriptor_key: str | None = None,
        descriptor_size: int = 10,
        autoencoder_width: int = 128,
        batch_size: int = 128,
        n_epochs: int = 100,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        if str(device) not in {"auto", "cpu"}:
            raise ValueError(f"STAX evaluates small policies on the processor: device='cpu', not {str(device)!r}")
        super().__init__(
            policy,
            env,
            learning_rate,
            policy_kwargs=policy_kwargs,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            verbose=verbose,
            device="cpu",
            support_multi_env=True,
            seed=seed,
        )
        self.population_size, self.chunk_size, self.mutation_std = population_size, chunk_size, mutation_std
        self.genome_limit, self.n_neighbors, self.emitter_size = genome_limit, n_neighbors, emitter_size
        self.archived_per_generation, self.n_views = archived_per_generation, n_views
        self.descriptor_key, self.descriptor_size = descriptor_key, descriptor_size
        self.autoencoder_width, self.batch_size, self.n_epochs = autoencoder_width, batch_size, n_epochs
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        self.policy = self.policy_class(  # type: ignore[assignment]
            self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs
        )
        n_in = self.policy.widths[0]
        self.autoencoder: Autoencoder | None = None
        if self.descriptor_key is None:
            image = is_image_space(self.observation_space)
            self.autoencoder = Autoencoder(n_in, self.descriptor_size, self.autoencoder_width, standardise=not image)
            self.autoencoder_optimizer = Adam(self.autoencoder.parameters(), lr=self.lr_schedule(1))
        settings = SearchSettings(
            genome_size=self.policy.genome.numel(),
            view_size=self.descriptor_size if self.autoencoder is None else n_in * self.n_views,
            surprise=self.autoencoder is not None,
            population_size=self.population_size,
            chunk_size=self.chunk_size,
            mutation_std=self.mutation_std,
            genome_limit=self.genome_limit,
            n_neighbors=self.n_neighbors,
            archived_per_generation=self.archived_per_generation,
            emitter_size=self.emitter_size,
        )
        self.search = self.search_class(settings, self._described, self._rng)
        self.policy.genome.data.copy_(self.search.random_genomes(1)[0])
        self.autoencoder_loss, self.idle_timesteps = float("nan"), 0
        self._pending: Batch | None = None
        self._running: list[Evaluation] = []
        self._waiting: list[int] = []
        self._under_way = np.zeros(self.n_envs, np.bool_)
        for name, tensor in self.search.state().items():
            setattr(self, f"saved_{name}", tensor)

    def _described(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Descriptors ``[B, D]`` and surprise ``[B]`` of views ``[B, V]``."""
        if self.autoencoder is None:
            return views, views.new_zeros(len(views))
        return self.autoencoder.described(views, self.n_views)

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds all randomness, mutations included."""
        super().set_random_seed(seed)
        self._rng = np.random.default_rng(seed)
        if "search" in vars(self):
            self.search.rng = self._rng

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 10,
        tb_log_name: str = "stax",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Searches for ``total_timesteps`` steps of all environments together, and goes on where it was.

        Args:
            total_timesteps: steps to take; the last one of all environments may exceed them.
            callback: as in SB3; a generation is a rollout.
            log_interval: generations between logs; 0 or None for no logs.
            tb_log_name: of the run, for tensorboard.
            reset_num_timesteps: False to go on counting.
            progress_bar: show one.

        Raises:
            ValueError: a reward that is not finite, or a descriptor that is not where ``descriptor_key`` says.
        """
        fresh = reset_num_timesteps or self._last_obs is None  # then environments are reset at once
        total_timesteps, callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        if fresh:
            self._under_way[:], self._running = False, []
        callback.on_training_start(locals(), globals())
        while self.num_timesteps < total_timesteps:
            callback.on_rollout_start()
            batch = self._evaluate(callback)
            callback.on_rollout_end()
            if batch is None:
                break
            self._take_in(batch)
            if log_interval and self._n_updates % log_interval == 0:
                self.dump_logs()
        callback.on_training_end()
        return self

    def _evaluate(self, callback: BaseCallback) -> Batch | None:
        """Runs an episode of every individual of a generation; None where steps or a callback ended it before."""
        if self._pending is None:
            genomes = self.search.ask()
            n, width = len(genomes), self.search.settings.view_size
            self._pending = Batch(genomes, th.zeros(n), th.zeros(n, width), th.zeros(n, dtype=th.bool))
        batch = self._pending
        assert self.env is not None
        if not self._running:
            waiting = th.nonzero(~batch.done).flatten().tolist()
            if self._under_way.any():
                self._last_obs = self.env.reset()  # type: ignore[assignment]
            self._running = [Evaluation(i) for i in (waiting + [-1] * self.n_envs)[: self.n_envs]]
            self._waiting = waiting[self.n_envs :]
        evaluations, waiting = self._running, self._waiting
        while not batch.done.all():
            if self.num_timesteps >= self._total_timesteps:
                return None
            who = [max(one.individual, 0) for one in evaluations]
            actions = self.policy.act(batch.genomes[who], self._last_obs)
            new_obs, rewards, dones, infos = self.env.step(actions)
            check_step(new_obs, rewards)
            self.num_timesteps += self.n_envs
            self.idle_timesteps += sum(one.individual < 0 for one in evaluations)
            self._under_way = ~dones
            for i, one in enumerate(evaluations):
                self._note(one, batch, float(rewards[i]), new_obs[i], bool(dones[i]), infos[i])  # type: ignore[index]
                if dones[i]:
                    evaluations[i] = Evaluation(waiting.pop(0) if waiting else -1)
            self._last_obs = new_obs  # type: ignore[assignment]
            self._update_info_buffer(infos, dones)
            callback.update_locals(locals())
            if not callback.on_step():
                return None
        self._pending, self._running = None, []
        return batch

    def _note(
        self, one: "Evaluation", batch: Batch, reward: float, observation: Any, done: bool, info: Mapping[str, Any]
    ) -> None:
        """Notes a step of an individual, and at the end of its episode what it came to; of none nothing."""
        if one.individual < 0:
            return
        one.total += reward
        if done or self.n_views > 1:
            one.seen.append(np.copy(info["terminal_observation"] if done else observation))
        if done:
            batch.rewards[one.individual] = one.total
            batch.views[one.individual] = self._view(one.seen, info)
            batch.done[one.individual] = True
            self._episode_num += 1

    def _view(self, seen: list[Any], info: Mapping[str, Any]) -> Tensor:
        """What an individual is described by, ``[view_size]``: observations of its episode, or what the info says."""
        if self.descriptor_key is None:
            moments = np.ceil(np.linspace(0, len(seen) - 1, self.n_views + 1)[1:]).astype(int)
            return self.policy.features(np.stack([seen[moment] for moment in moments])).flatten()
        found = np.asarray(info.get(self.descriptor_key, []), np.float32).ravel()
        if found.shape != (self.descriptor_size,) or not np.isfinite(found).all():
            raise ValueError(
                f"info[{self.descriptor_key!r}] at an episode's end must be descriptor_size={self.descriptor_size} "
                f"finite numbers, got {found.tolist()}"
            )
        return th.as_tensor(found)

    def _take_in(self, batch: Batch) -> None:
        """The search goes on from what an evaluation gave, and the autoencoder learns where it is due."""
        self.search.tell(batch.genomes, batch.rewards, batch.views)
        self._n_updates += 1
        if self.search.due and self.autoencoder is not None:
            self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
            self._update_learning_rate(self.autoencoder_optimizer)
            views = self.search.reference().views.reshape(-1, self.policy.widths[0])
            self.autoencoder_loss = self.autoencoder.learn(
                views, self.autoencoder_optimizer, n_epochs=self.n_epochs, batch_size=self.batch_size, rng=self._rng
            )[1]
            self.search.describe_anew()
        self.policy.genome.data.copy_(self.search.best.genomes[0])

    def dump_logs(self) -> None:
        """Writes the log."""
        seconds = max((time.time_ns() - self.start_time) / 1e9, sys.float_info.epsilon)
        search, progress = self.search, self.search.progress
        if episodes := self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([episode["r"] for episode in episodes]))
            self.logger.record("rollout/ep_len_mean", safe_mean([episode["l"] for episode in episodes]))
        if successes := self.ep_success_buffer:
            self.logger.record("rollout/success_rate", safe_mean(successes))
        self.logger.record("search/best_reward", float(search.best.rewards[0]))
        self.logger.record("search/archived", len(search.archive))
        self.logger.record("search/rewarded", len(search.rewarded))
        self.logger.record("search/emitters", len(search.emitters))
        self.logger.record("search/evaluations", progress.evaluations)
        self.logger.record("search/exploited", progress.exploited)
        self.logger.record("train/autoencoder_loss", self.autoencoder_loss)
        self.logger.record("time/episodes", self._episode_num, exclude="tensorboard")
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / seconds))
        self.logger.record("time/idle_timesteps", self.idle_timesteps)
        self.logger.record("time/time_elapsed", int(seconds), exclude="tensorboard")
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.dump(step=self.num_timesteps)

    def save(self, path: Any, exclude: Any = None, include: Any = None) -> None:
        """As of all our agents, archives, population and emitters included."""
        for name, tensor in self.search.state().items():
            setattr(self, f"saved_{name}", tensor)
        super().save(path, exclude, include)

    def _fill(self, stored: Any, tensors: Mapping[str, Tensor], *rest: Any) -> None:
        for name in self._get_torch_save_params()[1]:
            setattr(self, name, th.zeros_like(tensors[f"variables/{name}"]))  # they have grown
        super()._fill(stored, tensors, *rest)
        self.search.restore({name: getattr(self, f"saved_{name}") for name in self.search.state()})
        if self.seed is not None:  # not the mutations of the beginning once more
            self._rng = self.search.rng = np.random.default_rng([self.seed, self._n_updates])

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        learnt = [] if self.autoencoder is None else ["autoencoder", "autoencoder_optimizer"]
        return ["policy", *learnt], [f"saved_{name}" for name in self.search.state()]

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_rng", "_pending", "search"]
