"""ArCHer: critics of utterances learn from all episodes; the policy learns, token by token, what they advise."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..models.critic import RATE, Critic
from ..models.language_model import LanguageModel
from ..models.tokenizer import Tokens
from ..models.turn_critics import Episode, Replay, TurnCritics, critic_loss, similar
from ..objectives.parts.ops import turn_ends
from ..objectives.registry import load
from ..optimizers import Adam
from .agent import LanguageAgent
from .collect import by_turns
from .context import Context
from .episodes import Completion, Turn, Written, assemble, rows_of
from .rollouts import Rollouts
from .update import policy_gradient_step


def episodes_of(rollouts: Rollouts) -> Iterator[Episode]:
    """Episodes of a batch, which must have ``step_reward``."""
    ends = turn_ends(rollouts.turn, rollouts.mask)
    columns = (rollouts.tokens, rollouts.mask, ends, rollouts.need("step_reward"))
    for tokens, mask, end, reward in zip(*(column.cpu().numpy() for column in columns), strict=True):
        said = np.flatnonzero(mask & ~np.append(False, mask[:-1] & ~end[:-1]))  # first written token of each turn
        heard = np.flatnonzero(end) + 1
        yield Episode(tokens[: heard[-1]].copy(), said, heard, reward[heard - 1].astype(np.float64))


class Renewed(NamedTuple):
    """An episode of the replay, and what the policy says now after each of its histories."""

    episode: Episode
    said: list[Written]

    @property
    def utterances(self) -> list[Tokens]:
        """The tokens of ``said``."""
        return [one.tokens for one in self.said]


class ArCHer(LanguageAgent):
    """Two levels: off-policy critics of whole utterances, and a policy gradient inside an utterance.

    With s the history of an episode, u an utterance, r its reward and s' the history after the environment's answer,

        L(Q_i) = (Q_i(s, u) - r - gamma V_i_target(s'))^2           both critics i, on turns from the replay,
        L(V_i) = (V_i(s) - Q_i_target(s, u'))^2                     u' ~ the policy as it is now,
        grad J = E [A(s, u') grad log policy(u' | s)]               A = min_i Q_i - min_i V_i,

    and targets follow their critics by ``tau`` after each step. An iteration plays ``episodes_per_iteration`` episodes,
    draws episodes of ``fresh_turns`` turns from the replay and has the policy say something new, u', after the history
    of each turn. On batches of these it takes ``gradient_steps`` steps of the critics and, after the first
    ``critic_warm_up`` iterations, ``actor_steps`` of the policy. With ``token_baseline`` a third network learns the A
    that can be expected before each token, and is taken off.

    ``total_timesteps`` counts turns that the environment answered.

    Beside PPO, both tuned, it is measured in ``docs/results/claims/archer.json``. Others, too, find that the published
    settings do not raise the reward (issue 20 of the authors' code).

    Departures: turns are drawn by whole episodes, so that a single pass reads all turns of one. u' is said once an
    iteration and not for each step, because the policy does not change while the critics learn. One causal encoder
    reads history and utterance together, and begins as a copy of the policy; the paper encodes each with RoBERTa.
    Learning rates are those of small networks: the authors' 2e-5 (critics) and 1e-6 to 1e-5 (policy) are for pretrained
    ones, and leave a small one where it was. An iteration has 20 steps of the critics (theirs 50), and the replay holds
    10,000 turns (theirs 100,000). The checkpoint holds the replay.

    Args:
        policy: ``"guess-my-city-base"``, ``"transformer-1m"`` and others, see
            :class:`~tiltyard.agents.language.agent.LanguageAgent`.
        env: a text environment, see :class:`~tiltyard.agents.language.agent.LanguageAgent`.
        episodes_per_iteration: played before each round of gradient steps.
        fresh_turns: of the replay an iteration, whose histories the policy answers anew (whole episodes: a few more).
        gradient_steps: of the critics an iteration.
        actor_steps: of the policy an iteration.
        batch_size: turns of each step (whole episodes: a few more).
        buffer_size: turns that are remembered.
        critic_warm_up: iterations in which only the critics learn.
        critic_learning_rate: of Adam.
        gamma: discount a turn.
        tau: share by which the targets follow.
        token_baseline: take off what each token's left side already promises.
        **settings: of :class:`~tiltyard.agents.language.agent.LanguageAgent`.

    Paper: ArCHer: Training Language Model Agents via Hierarchical Multi-Turn RL (2024), eqs. 1 to 4 and algorithm 1;
    other numbers from the authors' configuration of twenty questions.
    """

    counters: ClassVar[tuple[str, ...]] = (*LanguageAgent.counters, "iterations")

    def __init__(
        self,
        policy: str | LanguageModel = "transformer-1m",
        env: Any = None,
        *,
        episodes_per_iteration: int = 128,
        fresh_turns: int = 512,
        gradient_steps: int = 20,
        actor_steps: int = 3,
        batch_size: int = 256,
        buffer_size: int = 10_000,
        critic_warm_up: int = 20,
        critic_learning_rate: float = 1e-3,
        gamma: float = 0.95,
        tau: float = 0.1,
        token_baseline: bool = False,
        **settings: Any,
    ) -> None:
        if gradient_steps < 1:
            raise ValueError(f"gradient_steps must be at least 1, got {gradient_steps}")
        self.episodes_per_iteration, self.fresh_turns = episodes_per_iteration, fresh_turns
        self.gradient_steps = gradient_steps
        self.actor_steps, self.batch_size, self.critic_warm_up = actor_steps, batch_size, critic_warm_up
        self.critic_learning_rate, self.gamma, self.tau = critic_learning_rate, gamma, tau
        self.token_baseline, self.iterations = token_baseline, 0
        self.replay = Replay(buffer_size)
        self.objective = load("reinforce")
        super().__init__(policy, env, **{"n_envs": episodes_per_iteration, **settings})

    def iterate(self) -> None:
        """Episodes, then steps of the critics, then of the policy.

        Raises:
            StopTraining: a callback asked for it.
        """
        self.replay.add(episodes_of(self._play()))
        renewed = self._renew(self.replay.sample(self.fresh_turns, self.rng))
        self.policy.set_training_mode(True)
        losses = [self._critic_step(self._batch(renewed)) for _ in range(self.gradient_steps)]
        self.logger.record("train/critic_loss", float(torch.stack(losses).mean()))
        self.iterations += 1
        if self.iterations > self.critic_warm_up:
            self._update_learning_rate(self.policy.optimizer)
            metrics = [self._actor_step(self._batch(renewed)) for _ in range(self.actor_steps)]
            for name in metrics[0] if metrics else ():
                self.logger.record(f"train/{name}", float(torch.stack([each[name] for each in metrics]).mean()))
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _play(self) -> Rollouts:
        """An iteration's episodes, each of a problem of its own."""
        assert self.env is not None
        self.policy.set_training_mode(False)
        context = Context(self.policy, self.env, self.rng, on_step=self._on_step)
        seeds = self.rng.integers(0, 2**31, size=self.episodes_per_iteration).tolist()
        with self._rollout():
            rollouts = by_turns(context.play(seeds))
        self._log_completions(rollouts)
        return rollouts

    def _renew(self, episodes: Sequence[Episode]) -> list[Renewed]:
        """Has the policy as it is now speak after every history of the episodes."""
        histories = [history for one in episodes for history in one.histories]
        said = iter(rows_of(self.policy.write(histories), [""] * len(histories)))
        return [Renewed(one, list(islice(said, one.turns))) for one in episodes]

    def _batch(self, renewed: Sequence[Renewed]) -> list[Renewed]:
        """Some of them, which have ``batch_size`` turns or little more, or all if there are fewer."""
        batch, turns = [], 0
        for i in self.rng.permutation(len(renewed)):
            if turns >= self.batch_size:
                break
            batch.append(renewed[i])
            turns += renewed[i].episode.turns
        return batch

    def _critic_step(self, batch: Sequence[Renewed]) -> Tensor:
        """One step of both critics and their targets; returns the loss."""
        self.critic_optimizer.zero_grad()
        total, turns = torch.zeros((), device=self.device), sum(one.episode.turns for one in batch)
        for rows in similar([one.episode for one in batch]):
            episodes = [batch[row].episode for row in rows]
            with torch.no_grad():
                target = self.target_critics(episodes, [said for row in rows for said in batch[row].utterances])
            reward = torch.tensor([r for one in episodes for r in one.reward], device=self.device)
            done = torch.tensor(
                [k == one.turns for one in episodes for k in range(1, one.turns + 1)], device=self.device
            )
            loss = critic_loss(self.critics(episodes), target.v, target.q, reward.float(), done, self.gamma)
            loss = loss * (len(reward) / turns)
            loss.backward()  # type: ignore[no-untyped-call]
            total += loss.detach()
        torch.nn.utils.clip_grad_norm_(self.critics.parameters(), self.max_grad_norm)
        self.critic_optimizer.step()
        self.target_critics.follow(self.critics, self.tau)
        return total

    def _actor_step(self, batch: Sequence[Renewed]) -> dict[str, Tensor]:
        """One step of the policy on what it said."""
        said = [new for one in batch for new in one.utterances]
        gain = self.critics.advantages([one.episode for one in batch], said)
        rollouts = _utterances(batch, gain)
        advantage: Tensor = gain
        if self.token_baseline:
            promised = self.baseline.values(rollouts)
            advantage = (gain[:, None] - promised) * rollouts.mask
            rate = RATE * self.policy.optimizer.param_groups[0]["lr"]
            wanted = gain[:, None] * rollouts.mask
            self.baseline.fit(rollouts, wanted, learning_rate=rate, max_grad_norm=self.max_grad_norm)
        metrics = policy_gradient_step(
            self.policy, self.objective, rollouts, advantage, max_grad_norm=self.max_grad_norm
        )
        self._n_updates += 1
        return {**metrics, "advantage": gain.mean(), "advantage_std": gain.std(correction=0)}

    def _remember_start(self) -> None:
        """The critics know the language as the policy does."""
        self.critics = TurnCritics(self.policy.network, torch.Generator().manual_seed(self.seed or 0))
        self.target_critics = deepcopy(self.critics).requires_grad_(False)
        self.critic_optimizer = Adam(self.critics.parameters(), lr=self.critic_learning_rate)
        if self.token_baseline:
            self.baseline = Critic(self.policy.network)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names = ["policy", "policy.optimizer", "critics", "target_critics", "critic_optimizer", "replay"]
        return names + (["baseline", "baseline.optimizer"] if self.token_baseline else []), []


def _utterances(batch: Sequence[Renewed], gain: Tensor) -> Rollouts:
    """What was said anew as a batch, each utterance with its advantage for a reward."""
    said = [(history, new) for one in batch for history, new in zip(one.episode.histories, one.said, strict=True)]
    rows = [
        Completion((Turn(history, new.tokens, new.logp, new.entropy, worth, 0),), False, "")
        for (history, new), worth in zip(said, gain.tolist(), strict=True)
    ]
    return assemble(list(enumerate(rows)), range(len(rows)), gain.device)
