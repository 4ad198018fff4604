"""Policy-gradient training of a language model that acts in a text environment, with Stable-Baselines3's API."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from ... import unknown
from ...wrappers.components import Choice, Component, Curriculum, Guidance, Reward
from ...wrappers.curricula.catalogue import load as load_curriculum
from ...wrappers.guidance.catalogue import load as load_guidance
from ...wrappers.rewards.catalogue import load_all as load_rewards
from ..models.language_model import LanguageModel
from ..objectives.registry import Objective
from ..schedules import at
from .agent import MAX_ANSWER_TOKENS, LanguageAgent
from .asynchronous import Collection, Pipelined
from .choices import CORRECTIONS
from .collect import Collector
from .context import Context
from .data.base import DataSource
from .data.catalogue import load_all as load_data
from .episodes import StopTraining
from .loop import Loop
from .methods import check_unused, objective_of
from .providers.base import Provider, supplied
from .providers.catalogue import load as load_providers
from .rollouts import Rollouts
from .samplers.base import Sampler
from .samplers.catalogue import load as load_sampler
from .streaming import MicroBatches, means
from .update import Term, corrected, descend_drawn, minibatches, policy_gradient_step, step
from .warm_start import BUCKET


class PolicyGradient(LanguageAgent):
    """Trains a transformer on text tasks: a supervised warm start, then groups of completions and their rewards.

    One iteration samples ``prompts_per_batch`` problems of the train split from the agent's own seed, completes each
    ``group_size`` times, and takes ``n_epochs`` passes of gradient steps on the method's loss. ``method`` names the
    advantage and the loss; the other components are ``sampler``, ``curriculum``, ``guidance`` and ``rewards``. A paper
    that acts through several is one method whose row names them all; keywords given here win. What an objective or a
    component needs besides (a critic, greedy completions, a reference, ...) its providers supply.

    In an environment of several turns a completion is an episode: what was said in its turns, with the environment's
    words between them, which carry no loss. Its reward is the sum of its turns'.

    ``total_timesteps`` counts completions graded by the environment, each turn of an episode, those to problems that a
    curriculum threw away, to hinted prompts and the greedy ones of ``"remax"`` included. Demonstrations of the warm
    start are not; with ``method="sft"``, which only goes on learning from demonstrations, each counts as one.

    Args:
        policy: ``"transformer-1m"``, ``"chain-sum-base"``, ``"<path>.safetensors"``, ``"hf:<path>"`` and others, see
            :class:`~tiltyard.agents.language.agent.LanguageAgent`.
        env: a text environment: its id (an iteration's completions are environments then), a ``VecEnv`` of strings
            (``sb3_env(..., strings=True)``), a Gymnasium vector or a single environment.
        method: a handle of :data:`tiltyard.agents.objectives.catalogue.ROWS`, ``"sft"``, or None to learn from ``data``
            alone.
        curriculum: which problems to learn from (a name, ``{"name": ..., parameters}`` or an object; None: uniform).
        guidance: what the policy is told beyond the question (likewise; None: nothing).
        rewards: how rewards are shaped (likewise, or a list, each shaping what the one before it returned; None: not at
            all).
        sampler: who produces the rollouts (likewise; None: groups of independent completions).
        data: stored completions, preference pairs or demonstrations, whose losses join the method's in each gradient
            step (a name, ``{"name": "stored", "path": ..., "method": "simpo", "weight": 1.0}``, an object, or a list).
        correction: for tokens drawn from another distribution than the one that is trained (a hint that was taken away,
            ``top_p``, ``top_k``, another temperature): ``"weight"`` weighs them by a capped pi_old / behaviour,
            ``"ratio"`` has objectives take their ratio against the behaviour, ``"none"`` does nothing (None: as the
            method's row says, else ``"weight"``).
        method_kwargs: the method's other parameters, keywords of its functions, such as ``{"omega": 0.5}`` of
            ``"gigpo"`` (``--set 'method_kwargs={"omega": 0.5}'``); a number may be a schedule, such as
            ``{"kl_coef": {"schedule": "linear", "start": 0.04, "end": 0.0}}`` (:mod:`tiltyard.agents.schedules`).
        group_size: completions to each problem. Of 1, methods that compare with the others of a group learn from its
            reward alone, without a baseline; those that would learn nothing refuse it.
        prompts_per_batch: problems an iteration.
        batch_size: completions a gradient step (None: all of an iteration's; with ``"sft"``, demonstrations a step).
        n_epochs: passes over an iteration's completions.
        clip_low: how far a probability ratio may fall (None: as the method's row says).
        clip_high: how far it may rise (likewise).
        kl_coef: weight of the KL penalty towards the policy as it was when training began (likewise).
        ent_coef: weight of an entropy bonus.
        rollout_workers: processes that sample while the agent updates; 0: the agent samples (None: as the method's row
            says, else 0). They come and go with :attr:`collection`'s ``resize``; see docs/scaling.md.
        max_staleness: iterations that the weights which wrote a completion may be behind those that learn from it; 0
            is the synchronous loop, bit for bit (likewise). ``correction`` is for such completions, too.
        exact_staleness: the staleness is ``max_staleness``, and what is learnt repeats with the seed.
        groups_per_task: problems that a worker samples together (None: a quarter of an iteration's).
        micro_batch_groups: problems whose gradient is added up, in the first pass, as soon as they are sampled (None:
            as the row says, else all of an iteration's; :class:`~tiltyard.agents.language.streaming.MicroBatches`).
        **settings: of :class:`~tiltyard.agents.language.agent.LanguageAgent`.

    Paper: the default method is GRPO, DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language
    Models (2024), sec. 4.1, with its outcome supervision.
    """

    def __init__(
        self,
        policy: str | LanguageModel = "transformer-1m",
        env: Any = None,
        *,
        method: str | None = "grpo",
        curriculum: Choice | Curriculum = None,
        guidance: Choice | Guidance = None,
        rewards: Choice | Reward | Sequence[Choice | Reward] = None,
        sampler: Choice | Sampler = None,
        data: Choice | DataSource | Sequence[Choice | DataSource] = None,
        correction: str | None = None,
        method_kwargs: Mapping[str, Any] | None = None,
        group_size: int = 8,
        prompts_per_batch: int = 16,
        batch_size: int | None = None,
        n_epochs: int = 1,
        clip_low: float | None = None,
        clip_high: float | None = None,
        kl_coef: float | None = None,
        ent_coef: float = 0.0,
        rollout_workers: int | None = None,
        max_staleness: int | None = None,
        exact_staleness: bool = False,
        groups_per_task: int | None = None,
        micro_batch_groups: int | None = None,
        **settings: Any,
    ) -> None:
        self.method = method
        given = {"clip_low": clip_low, "clip_high": clip_high, "kl_coef": kl_coef}
        given = {name: value for name, value in given.items() if value is not None} | dict(method_kwargs or {})
        longest = settings.get("max_answer_tokens", MAX_ANSWER_TOKENS)
        chosen = dict(group_size=group_size, max_answer_tokens=longest)
        self.objective = None if method is None else objective_of(method, given, **chosen)
        default = {} if self.objective is None else self.objective.components
        self.sampler = load_sampler(_first(sampler, default.get("sampler")))
        self.curriculum = load_curriculum(_first(curriculum, default.get("curriculum")))
        self.guidance = load_guidance(_first(guidance, default.get("guidance")))
        self.rewards = load_rewards(_first(rewards, default.get("rewards")))
        self.data = load_data(_first(data, default.get("data")))
        if method is None and (given or not self.data):
            raise ValueError("method=None learns from stored data alone: name some with data=, with their parameters")
        if self.objective is None:
            samples = {"curriculum": curriculum, "guidance": guidance, "rewards": rewards, "sampler": sampler}
            check_unused(method, {**samples, "data": method and data, "ent_coef": ent_coef})
        self.correction = _first(correction, default.get("correction"), "weight")
        if self.correction not in CORRECTIONS:
            raise ValueError(unknown("correction", self.correction, CORRECTIONS))
        self.providers = load_providers(self._needs())
        lag = _first(max_staleness, default.get("max_staleness"), 0)
        workers = _first(rollout_workers, default.get("rollout_workers"), 0)
        self.collection = Collection(workers, lag, exact_staleness, groups_per_task, self.objective is not None)
        self.micro_batch_groups = _first(micro_batch_groups, default.get("micro_batch_groups"))
        self.group_size, self.prompts_per_batch, self.batch_size = group_size, prompts_per_batch, batch_size
        self.n_epochs, self.ent_coef = n_epochs, ent_coef
        self._batches: Iterator[tuple[Tensor, Tensor]] | None = None
        self._taken = 0  # of a bucket of demonstrations
        self._bucket: Mapping[str, Any] = {}  # the generator before it was drawn
        super().__init__(policy, env, **{"n_envs": group_size * prompts_per_batch, **settings})

    def prepare(self) -> None:
        """Has all components begin an iteration.

        Raises:
            StopTraining: a callback asked for it.
        """
        self.policy.set_training_mode(False)
        for component in dict.fromkeys(self.components.values()):
            component.begin(self.context())

    def iterate(self) -> None:
        """Completions, then gradient steps; with ``method="sft"``, one step on demonstrations.

        Raises:
            StopTraining: a callback asked for it.
        """
        if self.objective is not None:
            return self._improve(self.objective.at(1 - self._current_progress_remaining))
        if self.method is None:
            return self._learn_from_data()
        self._imitate(*self._demonstrated())

    def train(self, rollouts: Rollouts, objective: Objective, epochs: int | None = None) -> None:
        """Takes passes of gradient steps on one iteration's completions (None: ``n_epochs`` of them)."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        advantage = objective.advantage(rollouts)
        size = self.batch_size or len(rollouts)
        seen: list[dict[str, Tensor]] = []
        for _ in range(self.n_epochs if epochs is None else epochs):
            for rows in minibatches(rollouts.group, size, self.rng, whole="groups" in objective.needs):
                part = rollouts.take(rows)
                own = advantage[rows] if advantage.dim() == 1 else advantage[rows, : part.tokens.shape[1]]
                metrics = policy_gradient_step(
                    self.policy,
                    objective,
                    part,
                    own,
                    ent_coef=self.ent_coef,
                    max_grad_norm=self.max_grad_norm,
                    terms=self._terms(),
                )
                seen += [metrics] if metrics else []
                self._n_updates += bool(metrics)
        self._log("train", means(seen))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _terms(self) -> list[Term]:
        """A fresh batch of each data source, with its objective as it is now."""
        progress, terms = 1 - self._current_progress_remaining, []
        for i, source in enumerate(self.data):
            objective = source.objective.at(progress)
            context = replace(self.context(), objective=objective)
            needed = [self.providers[name] for name in self.providers if name in objective.needs]
            rows = supplied(source.batch(context), needed, context)
            terms.append(Term(f"data{i or ''}", objective, rows, float(at(source.weight, progress))))
        return terms

    def _learn_from_data(self) -> None:
        """One gradient step on stored data alone, each row counted as a timestep."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        terms, losses = descend_drawn(self.policy, self._terms)
        losses["grad_norm"] = step(self.policy, self.max_grad_norm)
        self._n_updates += 1
        self._log("train", {name: float(value) for name, value in losses.items()})
        self._begun = None  # what a callback saves now has taken this step
        if not self._on_step([{}] * sum(len(term.rollouts) for term in terms)):
            raise StopTraining

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Goes on in another environment, of as many environments."""
        super().set_env(env, force_reset)
        self.collection.forget()
        if self._batches is not None:  # they were demonstrations of the old one
            self._batches, self._taken = None, 0

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds this agent's own generators (problems, demonstrations, completions); touches nothing global."""
        super().set_random_seed(seed)
        if seed is not None:
            self._batches, self._taken = None, 0
            self.collection.forget()

    def finish(self) -> None:
        """Ends the rollout workers."""
        self.collection.end()

    @property
    def components(self) -> dict[str, Component]:
        """All components by name; several rewards are ``rewards``, ``rewards1``, ..."""
        rewards = {f"rewards{i or ''}": reward for i, reward in enumerate(self.rewards)}
        chosen = {"sampler": self.sampler, "curriculum": self.curriculum, "guidance": self.guidance}
        data = {f"data{i or ''}": source for i, source in enumerate(self.data)}
        return {**chosen, **rewards, **data, **self.providers}

    @property
    def networks(self) -> SimpleNamespace:
        """What components train or copy, by the names under which checkpoints keep it."""
        found: dict[str, Any] = {}
        for name, component in self.components.items():
            prefix = "" if name in self.providers else f"{name}_"
            found |= {f"{prefix}{key}": network for key, network in component.networks().items()}
        return SimpleNamespace(**found)

    @property
    def streams(self) -> dict[str, Any]:
        """As in :class:`~tiltyard.agents.language.loop.Loop`, and what components remember."""
        streams = {**super().streams, "taken": self._taken}
        if self._taken:
            streams["problems"] = self._bucket
        return streams | {
            name: {"of": type(component).__name__, "state": component.state_dict()}
            for name, component in self.components.items()
        }

    @streams.setter
    def streams(self, state: dict[str, Any]) -> None:
        Loop.streams.__set__(self, state)  # type: ignore[attr-defined]
        self._batches, self._bucket = None, state["problems"]
        self._taken = state["taken"] if self.objective is None else 0
        for name, component in self.components.items():
            stored = state.get(name, {})
            if stored.get("of") == type(component).__name__:  # else it was exchanged when the agent was loaded
                component.load_state_dict(stored["state"])

    def _demonstrated(self) -> tuple[Tensor, Tensor]:
        """The next batch of demonstrations; a loaded agent is where it was in its bucket."""
        if self._taken == 0 or self._batches is None:
            self._bucket = self.rng.bit_generator.state
        if self._batches is None:
            self._batches = self._demonstrations(self.batch_size or self.warm_start_batch_size)
            for _ in range(self._taken):
                next(self._batches)
        self._taken = (self._taken + 1) % BUCKET
        return next(self._batches)

    def _improve(self, objective: Objective) -> None:
        """One iteration: rollouts, then gradient steps; or both by micro-batches."""
        context = replace(self.context(), objective=objective)
        streamed = None if self.micro_batch_groups is None else MicroBatches(self, objective)
        rollouts = self._sample(context, streamed)
        if rollouts is None:  # the curriculum threw everything away
            return
        self._log_completions(rollouts.own())
        for reward in self.rewards:
            self._log("train", reward.fit(rollouts, context))
        if streamed is None:
            rollouts = self.readied(rollouts, context)
            self.train(rollouts, objective)
        else:
            self.train(streamed.rows(), objective, self.n_epochs - 1)
            self._log("train", means(streamed.seen))
        for provider in _distinct(self.providers):
            self._log("train", provider.fit(rollouts, context))

    def _sample(self, context: Context, streamed: MicroBatches | None = None) -> Rollouts | None:
        """A batch of ``prompts_per_batch`` groups that the curriculum keeps; ``streamed`` learns from its parts."""
        self.policy.set_training_mode(False)
        n, collector = self.prompts_per_batch, self._collector(context)
        with self._rollout():
            found = (
                collector.fill(n) if streamed is None else streamed.learn(collector, n, self.micro_batch_groups or n)
            )
        if isinstance(collector, Pipelined):
            self._log("rollout", collector.measured())
        return found

    def _collector(self, context: Context) -> Collector:
        parts = (context, self.group_size, self.sampler, _distinct(self.providers), self.rewards, self.curriculum)
        if self.collection.synchronous:
            return Collector(*parts)
        self.collection.begin(self.policy, context.env, self.sampler, self.guidance, self.prompts_per_batch)
        return Pipelined(*parts, source=self.collection, rescore=self.correction != "ratio")

    def readied(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """The rows with what the objective reads, and corrected for what drew them."""
        return corrected(self._supplied(rollouts, context), self.correction)

    def _supplied(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """The rows with what the objective reads besides them."""
        rollouts = supplied(rollouts, self.providers.values(), context)
        for provider in _distinct(self.providers):
            self._log("rollout", provider.measure(rollouts))
        return rollouts

    def _log(self, kind: str, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self.logger.record(f"{kind}/{name}", value)

    def context(self) -> Context:
        """What components may ask of this agent now."""
        return Context(
            self.policy,
            self.env,
            self.rng,
            progress=1 - self._current_progress_remaining,
            guidance=self.guidance,
            objective=self.objective,
            providers=self.providers,
            on_step=self._on_step,
            max_grad_norm=self.max_grad_norm,
        )

    def _needs(self) -> set[str]:
        """Providers that the objective and the components ask for."""
        needs = set() if self.objective is None else set(self.objective.needs)
        parts: list[Component] = [self.sampler, self.curriculum, self.guidance, *self.rewards, *self.data]
        return needs.union(*(part.needs for part in parts), *(source.objective.needs for source in self.data))

    def _remember_start(self) -> None:
        """Has all components make what begins with the policy as it is now."""
        context = self.context()
        for component in dict.fromkeys(self.components.values()):
            component.start(context)

    def _fill_networks(self, parameters: dict[str, Any], device: torch.device | str) -> None:
        """As stored, also by checkpoints that kept networks of providers beside the policy."""
        wanted = self._get_torch_save_params()[0]
        moved = {name: f"networks.{name}" for name in parameters if f"networks.{name}" in wanted}
        super()._fill_networks({moved.get(name, name): state for name, state in parameters.items()}, device)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        kept = []
        for name, network in vars(self.networks).items():
            kept += [f"networks.{name}"]
            kept += [f"networks.{name}.optimizer"] if hasattr(network, "optimizer") else []
        return ["policy", "policy.optimizer", *kept], []


def _first(*choices: Any) -> Any:
    """The first that is not None, if there is one."""
    return next((choice for choice in choices if choice is not None), None)


def _distinct(providers: Mapping[str, Provider]) -> list[Provider]:
    """Each provider once: some supply what has two names."""
    return list(dict.fromkeys(providers.values()))
