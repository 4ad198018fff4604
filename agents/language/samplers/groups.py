"""Groups of independent completions, with guidance; and what other samplers are made of: playing and assembling."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ....wrappers.components import Guidance, Problem, Prompt
from ...models.generation import Mask
from ...models.tokenizer import Tokens
from ..context import Context
from ..episodes import Completion, Turn, Written, assemble, final_answer, one_turn, play, rows_of
from ..rollouts import Rollouts
from . import masks
from .base import Sampler

Item = TypeVar("Item")


@dataclass(frozen=True)
class Begun:
    """The beginning of an episode that is played again, before the policy goes on.

    Attributes:
        turns: that were said, whole.
        partial: of the next turn, what has been said of it; its text is not read.
    """

    turns: Sequence[Written] = ()
    partial: Written | None = None


class Groups(Sampler):
    """Independent completions; guidance may change prompts and have completions sampled again.

    Args:
        characters: completions are written in these alone (None: in any).
        texts: each completion is one of these (None: any).

    Raises:
        ValueError: both.
    """

    def __init__(self, *, characters: str | None = None, texts: Sequence[str] | None = None) -> None:
        if characters is not None and texts is not None:
            raise ValueError("completions are restricted to characters= or to texts=, not to both")
        self.characters, self.texts = characters, texts

    def mask(self, context: Context) -> Mask | None:
        """What ``characters`` or ``texts`` leave."""
        tokenizer = context.policy.tokenizer
        if self.characters is not None:
            return masks.characters(tokenizer, self.characters)
        return None if self.texts is None else masks.one_of(tokenizer, self.texts)

    def max_turns(self, context: Context) -> int | None:
        """Turns after which an episode is cut off; None: never."""
        return None

    def rollouts(self, context: Context, problems: Sequence[Problem], group_size: int) -> Rollouts:
        """``group_size`` completions of each problem; the last round of each is what counts."""
        prompts = prompts_of(context.guidance, problems, [[] for _ in problems], group_size)
        every = [(i, k) for i in range(len(problems)) for k in range(group_size)]
        how = {"mask": self.mask(context), "max_turns": self.max_turns(context)}
        completions = dict(zip(every, _completion(context, problems, prompts, every, how), strict=True))
        history: list[list[float]] = [[] for _ in problems]
        changed = every
        while changed:
            for i in sorted({i for i, _ in changed}):
                history[i].append(sum(completions[i, k].success for k in range(group_size)) / group_size)
            wanted = prompts_of(context.guidance, problems, history, group_size)
            changed = [(i, k) for i, k in every if prompts[i][k] != wanted[i][k]]
            prompts = wanted
            completions |= dict(zip(changed, _completion(context, problems, prompts, changed, how), strict=True))
        rows = [(i, completions[i, k]) for i, k in every]
        return assembled(context, problems, rows, [prompts[i][k] for i, k in every])


def _completion(
    context: Context,
    problems: Sequence[Problem],
    prompts: Sequence[Sequence[Prompt]],
    which: Sequence[tuple[int, int]],
    how: Mapping[str, Any],
) -> list[Completion]:
    seeds = [problems[i].seed for i, _ in which]
    return play_prompts(context, seeds, [prompts[i][k] for i, k in which], **how)


def prompts_of(
    guidance: Guidance, problems: Sequence[Problem], history: Sequence[Sequence[float]], group_size: int
) -> list[list[Prompt]]:
    """The prompt of each completion, by problem, as ``guidance`` has it.

    Raises:
        ValueError: it returned something else than it promises.
    """
    given = guidance.prompts([replace(problem, group_size=group_size) for problem in problems], history)
    if isinstance(given, Sequence) and len(given) == len(problems):
        found = [[one] * group_size if isinstance(one, Prompt) else list(one) for one in given]
        if all(len(group) == group_size and all(isinstance(one, Prompt) for one in group) for group in found):
            return found
    raise ValueError(
        f"{type(guidance).__name__}.prompts must return a Prompt for each of the {len(problems)} problems, or "
        f"{group_size} Prompts for each"
    )


def play_prompts(
    context: Context,
    seeds: Sequence[int],
    prompts: Sequence[Prompt],
    *,
    deterministic: bool = False,
    temperature: float | None = None,
    begun: Sequence[Begun] | None = None,
    mask: Mask | None = None,
    max_turns: int | None = None,
) -> list[Completion]:
    """Plays an episode of each problem, as many at a time as the environment has sub-environments.

    Args:
        context: of the training.
        seeds: ``[n]`` problems.
        prompts: ``[n]``.
        deterministic: write the likeliest tokens.
        temperature: of sampling (None: the policy's).
        begun: ``[n]`` how each episode begins; the environment is brought there by playing it again.
        mask: says before each token which ones may be written (None: all).
        max_turns: turns after which an episode is cut off (None: never).

    Raises:
        StopTraining: a callback asked for it.
    """
    begun = [Begun()] * len(seeds) if begun is None else begun
    completions: list[Completion] = []
    for rows in _chunks(range(len(seeds)), context.env.num_envs):
        sampling = {"deterministic": deterministic, "temperature": temperature, "mask": mask}
        speaker = _Speaker(context, [prompts[i] for i in rows], [begun[i] for i in rows], sampling)
        played = [seeds[i] for i in rows]
        tokenizer, on_step = context.policy.tokenizer, context.on_step
        completions += play(context.env, tokenizer, played, speaker.prompts, speaker, on_step, max_turns)
    return completions


class _Speaker:
    """Says what comes next in the episodes of one batch: what is given of their beginnings, then the policy's words."""

    def __init__(
        self,
        context: Context,
        prompts: Sequence[Prompt],
        begun: Sequence[Begun],
        sampling: Mapping[str, Any],
    ) -> None:
        self.policy, self.begun, self.sampling = context.policy, begun, sampling
        self.hints = [prompt.completion_start for prompt in prompts]  # part of what is said in the first turn
        self.prompts = [prompt_tokens(context, prompt) for prompt in prompts]
        self.dialogues = None if one_turn(context.env) else self.policy.dialogues(self.prompts)
        self.turns = [0] * len(prompts)

    def __call__(self, episodes: Sequence[int], histories: Sequence[Tokens]) -> list[Written]:
        said: dict[int, Written] = {}
        asked: list[int] = []
        parts: dict[int, Written | None] = {}
        after: list[Tokens] = []
        for i, history in zip(episodes, histories, strict=True):
            turn, given = self.turns[i], self.begun[i]
            self.turns[i] += 1
            if turn < len(given.turns):
                said[i] = given.turns[turn]
                continue
            parts[i] = given.partial if turn == len(given.turns) else None
            partial = parts[i]
            asked.append(i)
            after.append(history if partial is None else np.concatenate([history, partial.tokens]))
        if asked:
            written = self.policy.write(after, dialogues=self.dialogues, episodes=asked, **self.sampling)
            for i, one in zip(asked, rows_of(written, self.policy.texts(written)), strict=True):
                said[i] = self._whole(i, parts[i], one)
        return [said[i] for i in episodes]

    def _whole(self, episode: int, partial: Written | None, written: Written) -> Written:
        """A turn with what was given of it."""
        hint = self.hints[episode] if self.turns[episode] == 1 else ""
        if partial is None:
            return written._replace(text=hint + written.text)
        earlier, later = ((one.tokens, one.logp, one.entropy, _drawn(one)) for one in (partial, written))
        columns = [np.concatenate([old, new]) for old, new in zip(earlier, later, strict=True)]
        return Written(hint + self.policy.tokenizer.decode(partial.tokens.tolist()) + written.text, *columns)


def _drawn(said: Written) -> np.ndarray:
    return said.logp if said.drawn is None else said.drawn


def prompt_tokens(context: Context, prompt: Prompt, *, trained: bool = False) -> Tokens:
    """What the policy reads first; with ``trained``, what it is taught to complete."""
    question = prompt.trained if trained and prompt.trained is not None else prompt.question
    return context.policy.tokenizer.prompt(question, prompt.completion_start)


def assembled(
    context: Context, problems: Sequence[Problem], rows: Sequence[tuple[int, Completion]], prompts: Sequence[Prompt]
) -> Rollouts:
    """Graded episodes, each with its problem's position in ``problems`` and its prompt, as one batch."""
    other = any(prompt.trained not in (None, prompt.question) for prompt in prompts)
    if other:
        rows = [
            (i, _asked(completion, prompt_tokens(context, prompt, trained=True)))
            for (i, completion), prompt in zip(rows, prompts, strict=True)
        ]
    batch = assemble(rows, [problem.seed for problem in problems], context.policy.device)
    batch = replace(
        batch,
        prompts=[prompt.question for prompt in prompts],
        hints=[prompt.completion_start for prompt in prompts],
        solve=context.solve,
    )
    return rescored(batch, context) if other else batch


def _asked(completion: Completion, prompt: Tokens) -> Completion:
    """The same episode as if ``prompt`` had been read first."""
    return replace(completion, turns=(completion.turns[0]._replace(read=prompt), *completion.turns[1:]))


def rescored(rollouts: Rollouts, context: Context) -> Rollouts:
    """For rows drawn from another distribution (prompt, temperature) than the one that is trained.

    What they were drawn from becomes ``behaviour_logp``, and ``logp_old`` is that of the policy as it is.
    """
    drawn = rollouts.logp_old if rollouts.behaviour_logp is None else rollouts.behaviour_logp
    return replace(rollouts, behaviour_logp=drawn, logp_old=context.score(rollouts.tokens, rollouts.mask))


def play_groups(
    context: Context,
    seeds: Sequence[int],
    *,
    group_size: int = 1,
    deterministic: bool = False,
    mask: Mask | None = None,
) -> Rollouts:
    """See :meth:`~tiltyard.agents.language.context.Context.play`."""
    problems = context.problems(seeds)
    which = [i for i in range(len(problems)) for _ in range(group_size)]
    prompts = [Prompt(problems[i].question) for i in which]
    played = [problems[i].seed for i in which]
    completions = play_prompts(context, played, prompts, deterministic=deterministic, mask=mask)
    return assembled(context, problems, list(zip(which, completions, strict=True)), prompts)


def graded_like(rollouts: Rollouts, context: Context, *, deterministic: bool) -> Rollouts:
    """One more episode of each group, after the prompt of its first row, in the order of the groups' numbers."""
    first = rollouts.first_of_groups()
    listed, seeds = first.tolist(), rollouts.seed[first].tolist()
    prompts = [Prompt(rollouts.prompts[row], rollouts.hints[row]) for row in listed]
    completions = play_prompts(context, seeds, prompts, deterministic=deterministic)
    batch = assemble(list(enumerate(completions)), seeds, context.policy.device)
    shown, begun = zip(*((prompt.question, prompt.completion_start) for prompt in prompts), strict=True)
    return replace(batch, group=rollouts.group[first], solve=rollouts.solve, prompts=shown, hints=begun)


def write_after(
    context: Context,
    prompts: Sequence[str],
    *,
    deterministic: bool = False,
    temperature: float | None = None,
    mask: Mask | None = None,
) -> Rollouts:
    """See :meth:`~tiltyard.agents.language.context.Context.sample`; seeds are the groups' numbers."""
    policy = context.policy
    read = [policy.tokenizer.prompt(prompt) for prompt in prompts]
    written = policy.write(read, deterministic=deterministic, temperature=temperature, mask=mask)
    number = {prompt: i for i, prompt in enumerate(dict.fromkeys(prompts))}
    rows = [
        (number[prompt], _ungraded(tokens, one))
        for prompt, tokens, one in zip(prompts, read, rows_of(written, policy.texts(written)), strict=True)
    ]
    batch = replace(assemble(rows, range(len(number)), policy.device), prompts=list(prompts), hints=[""] * len(prompts))
    return batch if temperature is None else rescored(batch, context)


def _ungraded(prompt: Tokens, said: Written) -> Completion:
    turn = Turn(prompt, said.tokens, said.logp, said.entropy, 0.0, 0, said.text, said.drawn)
    return Completion((turn,), False, final_answer(said.text))


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
