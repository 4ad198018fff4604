"""T-PPO: PPO on windows of completions, of which the unfinished ones are carried on in the next step."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from ... import unknown
from ..models.critic import RATE, Critic
from ..models.language_model import LanguageModel
from ..models.tokenizer import Tokens
from ..objectives.parts.gae import raw_gae
from ..objectives.parts.ops import masked_sum, whiten
from ..objectives.registry import load
from .agent import LanguageAgent
from .context import Context
from .episodes import Completion, Written, assemble, play, rows_of
from .rollouts import Rollouts
from .slots import Piece, Unfinished, cut, episode
from .streaming import means
from .update import corrected, minibatches, policy_gradient_step

CUTS = ("held", "evaluated")


class Step(NamedTuple):
    """What one step wrote, S slots.

    Attributes:
        windows: ``[S]`` rows; ``mask`` is True on the tokens of this step's window alone, and what a sequence has
            earned, if it ended, is its reward.
        unfinished: ``[S]`` bool, which of them go on.
        finished: the sequences that ended, whole, with ``mask`` on all that was written of them in any step; or None.
        kept: the sequences that go on.
    """

    windows: Rollouts
    unfinished: Tensor
    finished: Rollouts | None
    kept: list[Piece]


def egae(
    windows: Rollouts,
    unfinished: Tensor,
    *,
    after: Tensor | None = None,
    gamma: float = 1.0,
    gae_lambda: float = 0.95,
) -> Tensor:
    """EGAE: A_t = sum over i < l - t of (gamma lambda)^i delta_{t+i} up to the last written token; ``[B, T]``.

    delta_t = r_t + gamma V(s_{t+1}) - V(s_t). At the end of a sequence the last V is 0, so that without a cut this is
    GAE. At a cut V(s_l) is taken to be V(s_{l-1}), so that the last delta is 0 (at gamma 1). With the true V that is no
    bias of any token but the last, whose advantage is 0 whatever it was worth: the others miss a term of mean 0. With
    ``after``, V(s_l) itself, no token's is biased.

    Args:
        windows: reads ``values``, ``reward`` and ``mask``, whose last True in a row is the token before the cut.
        unfinished: ``[B]`` bool, rows that are cut; their reward is still to come.
        after: ``[B]`` values V(s_l) of the states behind the last tokens (None: as above).
        gamma: discount a token.
        gae_lambda: as in GAE.

    Paper: Truncated Proximal Policy Optimization (2025), EGAE.
    """
    held = masked_sum(windows.need("values"), windows.last_token(), 1)
    following = torch.where(unfinished, held if after is None else after, 0.0)
    return raw_gae(windows, gamma=gamma, gae_lambda=gae_lambda, after=following)


def monte_carlo(finished: Rollouts, gamma: float = 1.0) -> Tensor:
    """Returns gamma^(tokens still to come) R before each written token of whole sequences, ``[B, T]``; 0 elsewhere."""
    still = finished.mask.flip(1).cumsum(1).flip(1) - 1
    return torch.where(finished.mask, finished.reward[:, None] * gamma ** still.to(finished.reward.dtype), 0.0)


class TPPO(LanguageAgent):
    """PPO whose steps wait for no long completion: one writes at most ``window`` tokens a sequence.

    An iteration is a step:

    1. slots whose sequence has ended take new prompts; every sequence is written on, by ``window`` tokens at most;
    2. sequences that ended (``END``, or ``max_answer_tokens``) are graded, the others stay for the next step;
    3. the policy learns from the tokens of this window alone, all of which it wrote itself, by PPO's clipped loss with
       advantages by :func:`egae`, whitened over the step;
    4. the value network learns from the sequences that ended, and from these alone: (V - R)^2 / 2 on all their tokens,
       earlier windows included, with Monte-Carlo returns R (lambda = 1), which no bootstrap biases.

    With ``window`` at ``max_answer_tokens`` this is synchronous PPO. ``generation_steps`` counts the forward passes of
    writing when all slots write side by side, a token each (the longest of each step), and ``tokens_written`` what they
    wrote: 1 - tokens_written / (slots * generation_steps) is the share of slots that idled.

    ``total_timesteps`` counts completions that were graded. Sequences under way stay for the next call of ``learn`` and
    are part of a checkpoint. For environments of one turn.

    The paper's abstract, public reviews and summaries of it were read, not its own text. They agree on windows, carried
    sequences, V(s_l) = V(s_{l-1}) at the cut, a policy that learns from truncated rows and a value network that learns
    from finished ones. They do not say which lambda and clip the policy has, whether advantages are whitened, and how
    many finished sequences a value update takes: the first are those of PPO here, and an update takes what one step
    finished.

    Args:
        policy: see :class:`~tiltyard.agents.language.agent.LanguageAgent`.
        env: a text environment of one turn, likewise.
        slots: sequences written side by side.
        window: tokens of a sequence a step (l).
        value_at_cut: "held" takes V(s_l) = V(s_{l-1}) at a cut, as the paper does; "evaluated" asks the value network.
        gamma: discount a token.
        gae_lambda: of the policy's advantages; the value network's is 1.
        clip_low: how far a probability ratio may fall.
        clip_high: how far it may rise.
        batch_size: sequences a gradient step of the policy (None: all slots).
        n_epochs: passes over a step's windows.
        ent_coef: weight of an entropy bonus.
        **settings: of :class:`~tiltyard.agents.language.agent.LanguageAgent`.

    Raises:
        ValueError: settings that mean nothing.

    Paper: Truncated Proximal Policy Optimization (2025), abstract; PPO: Proximal Policy Optimization Algorithms (2017).
    """

    counters: ClassVar[tuple[str, ...]] = (*LanguageAgent.counters, "generation_steps", "tokens_written")

    def __init__(
        self,
        policy: str | LanguageModel = "transformer-1m",
        env: Any = None,
        *,
        slots: int = 64,
        window: int = 32,
        value_at_cut: str = "held",
        gamma: float = 1.0,
        gae_lambda: float = 0.95,
        clip_low: float = 0.2,
        clip_high: float = 0.2,
        batch_size: int | None = None,
        n_epochs: int = 1,
        ent_coef: float = 0.0,
        **settings: Any,
    ) -> None:
        if value_at_cut not in CUTS:
            raise ValueError(unknown("value_at_cut", value_at_cut, CUTS))
        self.slots, self.window, self.value_at_cut = slots, window, value_at_cut
        self.gamma, self.gae_lambda, self.batch_size, self.n_epochs = gamma, gae_lambda, batch_size, n_epochs
        self.clip_low, self.clip_high, self.ent_coef = clip_low, clip_high, ent_coef
        self.objective = load("ppo", clip_low=clip_low, clip_high=clip_high)
        self.unfinished = Unfinished()
        self.generation_steps = self.tokens_written = 0
        super().__init__(policy, env, **{"n_envs": slots, **settings})

    def iterate(self) -> None:
        """One window of every slot, then gradient steps of the policy and of the value network.

        Raises:
            StopTraining: a callback asked for it.
            ValueError: an environment that goes on after a completion.
        """
        self.policy.set_training_mode(False)
        with self._rollout():
            step = self.write()
        self._count(step)
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        windows = replace(step.windows, values=self.critic.values(step.windows))
        self._learn_policy(windows, self.advantages(windows, step.unfinished))
        if step.finished is not None:
            self._log_completions(step.finished)
            self._learn_values(step.finished)
        self.unfinished.kept = step.kept  # at the end: what a callback saves in between is where the step began

    def write(self) -> Step:
        """The next window of every sequence, graded where it is the last; changes nothing that is kept."""
        assert self.env is not None
        context = Context(self.policy, self.env, self.rng, on_step=self._on_step)
        begun = [*self.unfinished.kept, *self._new(context)]
        longest = self.policy_kwargs["max_answer_tokens"]
        most = min(self.window, max(longest - len(one.written.tokens) for one in begun))
        made = self.policy.write([one.history for one in begun], max_new_tokens=most)
        said = rows_of(made, [""] * len(begun))
        said = [cut(new, longest - len(one.written.tokens)) for one, new in zip(begun, said, strict=True)]
        now = [one.go_on(new) for one, new in zip(begun, said, strict=True)]
        ends = [i for i, one in enumerate(now) if one.ended(longest)]
        graded = dict(zip(ends, self._graded([now[i] for i in ends]), strict=True))
        seeds = [one.seed for one in now]
        rows = []
        for i, (one, new) in enumerate(zip(begun, said, strict=True)):
            earned = (graded[i].reward, graded[i].success) if i in graded else (0.0, False)
            rows.append((i, episode(one.history, new, *earned)))
        finished = assemble([(i, graded[i]) for i in ends], seeds, self.device) if ends else None
        unfinished = torch.tensor([i not in graded for i in range(len(now))], device=self.device)
        kept = [one for i, one in enumerate(now) if i not in graded]
        return Step(assemble(rows, seeds, self.device), unfinished, finished, kept)

    def advantages(self, windows: Rollouts, unfinished: Tensor) -> Tensor:
        """:func:`egae` with this agent's settings, whitened; ``[S, T]``."""
        after = self._values_behind(windows) if self.value_at_cut == "evaluated" else None
        raw = egae(windows, unfinished, after=after, gamma=self.gamma, gae_lambda=self.gae_lambda)
        return whiten(raw.double(), windows.mask).float()

    def _new(self, context: Context) -> list[Piece]:
        """Problems for the slots that are free."""
        free = self.slots - len(self.unfinished)
        seeds = self.rng.integers(0, 2**31, size=free).tolist()
        asked = context.problems(seeds)
        return [Piece(one.seed, self.policy.tokenizer.prompt(one.question)) for one in asked]

    def _graded(self, ended: Sequence[Piece]) -> list[Completion]:
        """Sequences as the environment's episodes, as many at a time as it has sub-environments."""
        assert self.env is not None
        tokenizer, graded = self.policy.tokenizer, []
        for start in range(0, len(ended), self.env.num_envs):
            some = ended[start : start + self.env.num_envs]
            said = [one.written._replace(text=tokenizer.decode(one.written.tokens.tolist())) for one in some]
            seeds, prompts = [one.seed for one in some], [one.prompt for one in some]
            graded += play(self.env, tokenizer, seeds, prompts, _Once(said), self._on_step)
        return graded

    def _count(self, step: Step) -> None:
        lengths = step.windows.length
        longest, written = int(lengths.max()), int(lengths.sum())
        self.generation_steps += longest
        self.tokens_written += written
        self.logger.record("rollout/idle_share", 1 - written / (len(lengths) * longest))
        self.logger.record("rollout/unfinished", float(step.unfinished.float().mean()))
        self.logger.record("rollout/generation_steps", self.generation_steps)

    def _values_behind(self, windows: Rollouts) -> Tensor:
        """V of the states behind the last written tokens, ``[S]``."""
        behind = pad(windows.last_token(), (1, 0))
        tokens, logp = pad(windows.tokens, (0, 1)), pad(windows.logp_old, (0, 1))
        return self.critic.values(replace(windows, tokens=tokens, mask=behind, logp_old=logp)).sum(1)

    def _learn_policy(self, windows: Rollouts, advantage: Tensor) -> None:
        rows, seen = corrected(windows, "weight"), []
        for _ in range(self.n_epochs):
            for some in minibatches(rows.group, self.batch_size or len(rows), self.rng, whole=False):
                part = rows.take(some)
                own = advantage[some, : part.tokens.shape[1]]
                metrics = policy_gradient_step(
                    self.policy, self.objective, part, own, ent_coef=self.ent_coef, max_grad_norm=self.max_grad_norm
                )
                seen += [metrics] if metrics else []
                self._n_updates += bool(metrics)
        for name, value in means(seen).items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")

    def _learn_values(self, finished: Rollouts) -> None:
        rate = RATE * float(self.policy.optimizer.param_groups[0]["lr"])
        returns = monte_carlo(finished, self.gamma)
        loss = self.critic.fit(finished, returns, learning_rate=rate, max_grad_norm=self.max_grad_norm)
        self.logger.record("train/value_loss", float(loss))

    def set_env(self, env: Any, force_reset: bool = True) -> None:
        """Goes on in another environment; sequences of the old one are dropped."""
        super().set_env(env, force_reset)
        self.unfinished.kept = []

    def _remember_start(self) -> None:
        """The value network knows the language as the policy does."""
        self.critic = Critic(self.policy.network)

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "policy.optimizer", "critic", "critic.optimizer", "unfinished"], []


class _Once:
    """Says one thing in each episode.

    Raises:
        ValueError: an episode that goes on after it.
    """

    def __init__(self, said: Sequence[Written]) -> None:
        self.said, self.asked = said, False

    def __call__(self, episodes: Sequence[int], histories: Sequence[Tokens]) -> list[Written]:
        if self.asked:
            raise ValueError("t-ppo trains on environments of one turn, and this one goes on after a completion")
        self.asked = True
        return [self.said[i] for i in episodes]
