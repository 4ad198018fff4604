"""Policy-gradient training of a language model that acts in a text environment, with Stable-Baselines3's API."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ...wrappers.curricula.catalogue import load as load_curriculum
from ...wrappers.guidance.catalogue import load as load_guidance
from ...wrappers.rewards.catalogue import load as load_reward
from ...wrappers.seams import Choice, Curriculum, Guidance, Reward
from ..objectives.parts.gae import raw_gae
from ..objectives.parts.ops import masked_mean
from ..objectives.registry import Objective
from .agent import MAX_ANSWER_TOKENS, LanguageAgent
from .collect import Collector, by_turns, fill
from .critic import RATE, Critic
from .episodes import StopTraining
from .experts import with_experts
from .loop import Loop
from .methods import objective_of
from .rollouts import Rollouts
from .tracker import Tracker
from .update import logp_of, minibatches, policy_gradient_step, reference_logp, vocabulary_means
from .warm_start import BUCKET

SEAMS = ("curriculum", "guidance", "rewards")
"""Parts of a method that may remember."""


class PolicyGradient(LanguageAgent):
    """Trains a transformer on text tasks: a supervised warm start, then groups of answers and their rewards.

    One iteration samples ``prompts_per_batch`` problems of the train split from the agent's own seed, answers each
    ``group_size`` times, and takes ``n_epochs`` passes of gradient steps on the method's loss. A method is five parts:
    ``method`` names the advantage and the loss, and there are ``curriculum``, ``guidance`` and ``rewards``. What the
    method needs besides answers (a critic, greedy answers, a reference, ...) is made here.

    In an environment of several turns an answer is an episode: what was said in its turns, with the environment's words
    between them, which carry no loss. Its reward is the sum of its turns'.

    ``total_timesteps`` counts answers graded by the environment, each turn of an episode, those to problems that a
    curriculum threw away, to hinted prompts and the greedy ones of ``"remax"`` included. Demonstrations of the warm
    start are not; with ``method="sft"``, which only goes on learning from demonstrations, each counts as one.

    Args:
        policy: ``"transformer-1m"``, ``"chain-sum-base"``, ``"<path>.safetensors"``, ``"hf:<path>"`` and others, see
            :class:`~tiltyard.agents.language.agent.LanguageAgent`.
        env: a text environment: its id (an iteration's answers are lanes then), a ``VecEnv`` of strings
            (``sb3_env(..., strings=True)``), a Gymnasium vector or a single environment.
        method: a handle of :data:`tiltyard.agents.objectives.catalogue.ROWS`, or ``"sft"``.
        curriculum: which problems to learn from (a name, ``{"name": ..., parameters}`` or an object; None: uniform).
        guidance: what the policy is told beyond the question (likewise; None: nothing).
        rewards: how rewards are shaped (likewise; None: not at all).
        method_kwargs: other parameters of the method, such as ``{"scale": False}``.
        group_size: answers to each problem.
        prompts_per_batch: problems an iteration.
        batch_size: answers a gradient step (None: all of an iteration's; with ``"sft"``, demonstrations a step).
        n_epochs: passes over an iteration's answers.
        clip_low: how far a probability ratio may fall (None: as the method's row says).
        clip_high: how far it may rise (likewise).
        kl_coef: weight of the KL penalty towards the policy as it was when training began (likewise).
        ent_coef: weight of an entropy bonus.
        **settings: of :class:`~tiltyard.agents.language.agent.LanguageAgent`.

    Paper: the default method is GRPO, DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language
    Models (2024), sec. 4.1, with its outcome supervision.
    """

    def __init__(
        self,
        policy: str = "transformer-1m",
        env: Any = None,
        *,
        method: str = "grpo",
        curriculum: Choice | Curriculum = None,
        guidance: Choice | Guidance = None,
        rewards: Choice | Reward = None,
        method_kwargs: Mapping[str, Any] | None = None,
        group_size: int = 8,
        prompts_per_batch: int = 16,
        batch_size: int | None = None,
        n_epochs: int = 1,
        clip_low: float | None = None,
        clip_high: float | None = None,
        kl_coef: float | None = None,
        ent_coef: float = 0.0,
        **settings: Any,
    ) -> None:
        self.method = method
        given = {"clip_low": clip_low, "clip_high": clip_high, "kl_coef": kl_coef}
        given = {name: value for name, value in given.items() if value is not None} | dict(method_kwargs or {})
        longest = settings.get("max_answer_tokens", MAX_ANSWER_TOKENS)
        self.objective = objective_of(method, given, group_size=group_size, max_answer_tokens=longest)
        self.curriculum, self.guidance = load_curriculum(curriculum), load_guidance(guidance)
        self.rewards = load_reward(rewards)
        self.group_size, self.prompts_per_batch, self.batch_size = group_size, prompts_per_batch, batch_size
        self.n_epochs, self.ent_coef = n_epochs, ent_coef
        self._batches: Iterator[tuple[Tensor, Tensor]] | None = None
        self._taken = 0  # of a bucket of demonstrations
        self._bucket: Mapping[str, Any] = {}  # the generator before it was drawn
        super().__init__(policy, env, **{"n_lanes": group_size * prompts_per_batch, **settings})

    def iterate(self) -> None:
        """Answers, then gradient steps; with ``method="sft"``, one step on demonstrations.

        Raises:
            StopTraining: a callback asked for it.
        """
        if self.objective is not None:
            return self._improve(self.objective)
        self._imitate(*self._demonstrated())

    def train(self, rollouts: Rollouts, objective: Objective) -> None:
        """Takes ``n_epochs`` passes of gradient steps on one iteration's answers."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        advantage = objective.advantage(rollouts)
        size = self.batch_size or len(rollouts)
        seen: list[dict[str, Tensor]] = []
        for _ in range(self.n_epochs):
            for rows in minibatches(rollouts.group, size, self.rng, whole="groups" in objective.needs):
                part = rollouts.take(rows)
                own = advantage[rows] if advantage.dim() == 1 else advantage[rows, : part.tokens.shape[1]]
                metrics = policy_gradient_step(
                    self.policy, objective, part, own, ent_coef=self.ent_coef, max_grad_norm=self.max_grad_norm
                )
                seen += [metrics] if metrics else []
                self._n_updates += bool(metrics)
        for name in seen[0] if seen else ():
            self.logger.record(f"train/{name}", float(torch.stack([metrics[name] for metrics in seen]).mean()))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Goes on in another environment, of as many lanes."""
        super().set_env(env, force_reset)
        if self._batches is not None:  # they were demonstrations of the old one
            self._batches, self._taken = None, 0

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds this agent's own generators (problems, demonstrations, answers); touches nothing global."""
        super().set_random_seed(seed)
        if seed is not None:
            self._batches, self._taken = None, 0

    @property
    def streams(self) -> dict[str, Any]:
        """As in :class:`~tiltyard.agents.language.loop.Loop`, and what curriculum, guidance and rewards remember."""
        streams = {**super().streams, "taken": self._taken}
        if self._taken:
            streams["problems"] = self._bucket
        seams = {name: getattr(self, name) for name in SEAMS}
        return streams | {name: {"of": type(seam).__name__, "state": seam.state_dict()} for name, seam in seams.items()}

    @streams.setter
    def streams(self, state: dict[str, Any]) -> None:
        Loop.streams.__set__(self, state)  # type: ignore[attr-defined]
        self._batches, self._bucket = None, state["problems"]
        self._taken = state["taken"] if self.objective is None else 0
        for name in SEAMS:
            seam = getattr(self, name)
            if state[name]["of"] == type(seam).__name__:  # else it was exchanged when the agent was loaded
                seam.load_state_dict(state[name]["state"])

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
        """One iteration: answers, then gradient steps."""
        rollouts = self._sample()
        if rollouts is None:  # the curriculum threw everything away
            return
        self._log_answers(rollouts)
        rollouts = self._supplied(rollouts, objective)
        if rollouts.logp_ref is not None:
            moved = torch.where(rollouts.mask, rollouts.logp_ref - rollouts.logp_old, 0.0)
            self.logger.record("rollout/kl_ref", float(masked_mean(moved.exp() - moved - 1, rollouts.mask)))
        self.train(rollouts, objective)
        if "values" in objective.needs:
            self._fit_critic(rollouts, objective)

    def _sample(self) -> Rollouts | None:
        """Fills a batch of ``prompts_per_batch`` groups that the curriculum keeps."""
        assert self.env is not None
        self.policy.set_training_mode(False)
        collector = Collector(
            self.env,
            self.policy,
            self.guidance,
            group_size=self.group_size,
            on_step=self._on_step,
            greedy=self.objective is not None and "greedy" in self.objective.needs,
        )
        with self._rollout():
            return fill(collector, self.curriculum, self.rewards, self.prompts_per_batch, self.rng)

    def _supplied(self, rollouts: Rollouts, objective: Objective) -> Rollouts:
        """The answers with what the method's row needs besides them."""
        needs = objective.needs
        if "expert" in needs:
            assert self.env is not None
            own, rollouts = len(rollouts), with_experts(rollouts, self.env, self.policy)
            if not self._on_step([{}] * (len(rollouts) - own)):
                raise StopTraining
        if "logp_ref" in needs:
            rollouts = replace(rollouts, logp_ref=reference_logp(self.policy, self.reference, rollouts))
        if "logp_mean" in needs:
            rollouts = replace(rollouts, logp_mean_old=vocabulary_means(self.policy, rollouts))
        if "values" in needs:
            rollouts = replace(rollouts, values=self.critic.values(rollouts))
        if "tracker" in needs:
            rollouts = replace(rollouts, baseline=self.tracker.read(rollouts))
            self.tracker.update(rollouts, lambda tokens, mask: logp_of(self.policy, tokens, mask))
        return by_turns(rollouts) if needs & {"steps", "states"} else rollouts

    def _fit_critic(self, rollouts: Rollouts, objective: Objective) -> None:
        params = {name: objective.params[name] for name in ("gamma", "gae_lambda") if name in objective.params}
        returns = raw_gae(rollouts, **params) + rollouts.need("values")
        rate = RATE * self.policy.optimizer.param_groups[0]["lr"]
        loss = self.critic.fit(rollouts, returns, learning_rate=rate, max_grad_norm=self.max_grad_norm)
        self.logger.record("train/value_loss", float(loss))

    def _remember_start(self) -> None:
        """Makes what begins with the policy as it is now, where the method needs it."""
        needs = frozenset() if self.objective is None else self.objective.needs
        if "logp_ref" in needs:
            self.reference = deepcopy(self.policy.network).requires_grad_(False)
        if "values" in needs:
            self.critic = Critic(self.policy.network)
        if "tracker" in needs:
            self.tracker = Tracker()

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        kept = [
            name for name in ("reference", "critic", "critic.optimizer", "tracker") if hasattr(self, name.split(".")[0])
        ]
        return ["policy", "policy.optimizer", *kept], []
