"""ARPO: entropy-based branching after the environment's replies, and advantages shared by a common beginning."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ....wrappers.components import Problem, Prompt
from ...objectives.parts.group_relative import group_relative
from ..context import Context
from ..episodes import Completion, Turn, Written
from ..rollouts import Rollouts
from .base import Sampler
from .groups import Begun, assembled, play_prompts, prompts_of


@dataclass(frozen=True)
class Leaf:
    """One episode of the tree of a problem.

    Attributes:
        problem: its position in the batch.
        prompt: what was read first.
        completion: the whole episode, what it shares with its parent included.
        parent: position of the leaf it branched off, -1 for none.
        shared: turns that it shares with its parent.
    """

    problem: int
    prompt: Prompt
    completion: Completion
    parent: int = -1
    shared: int = 0


class ARPO(Sampler):
    """Plays ``initial`` episodes of each problem, and branches off where the policy is less sure after a reply.

    After the environment's reply to turn t an episode splits with probability P = probability + weight (H_t - H_0)
    into itself and a branch that is another continuation, as long as the group has fewer than ``group_size`` episodes.
    H_t is the entropy of the first ``window`` tokens written in turn t, summed and divided by log |V|, and H_0 that of
    the first turn; branches may branch again. What is left of the group when no episode goes on is filled with new
    episodes. Environments of one turn have no reply to branch after: independent completions there.

    The rows of a tree repeat their common beginning; ``parent`` and ``branch_at`` say where they part, for the method
    ``"arpo"`` (:func:`advantage`), which gives a common token the mean advantage of its leaves. With ``"grpo"`` it is
    the paper's soft estimation, its default, since the ratios of common tokens agree.

    The paper measures H_t on the first tokens after the reply; its code, and so this, on those of turn t itself, which
    the reply answers, so that all episodes split with the plain probability after the first reply.

    Departures: entropies are exact, where the authors' code sums over the ten likeliest tokens, and H_0 is that of the
    episode's first turn for branches too (that code takes their own first one, and keeps what it noted in the first
    batch for all later ones). The environment is brought to a branch by playing the common turns again, and these turns
    are counted as timesteps, so that nothing of the paper's saving of tool calls shows here; whole episodes are played
    between two rounds of branching, which changes no decision.

    Args:
        initial: share of a group's episodes that begin at the prompt.
        probability: of branching where the entropy has not changed.
        weight: of the change of entropy.
        branches: at most so many from one episode after one reply.
        window: tokens whose entropies count.

    Paper: Agentic Reinforced Policy Optimization (2025), as in the authors'
    ``vllm_rollout_with_tools.py``, with the numbers of their scripts (8 of 16 episodes begin at the prompt, 0.5,
    0.2, beam of 2, 20 tokens).
    """

    def __init__(
        self,
        *,
        initial: float = 0.5,
        probability: float = 0.5,
        weight: float = 0.2,
        branches: int = 1,
        window: int = 20,
    ) -> None:
        if not 0 < initial <= 1:
            raise ValueError(f"initial lies above 0 and up to 1, got {initial}")
        if branches < 1 or window < 1:
            raise ValueError(f"branches and window are at least 1, got {branches} and {window}")
        self.initial, self.probability, self.weight = initial, probability, weight
        self.branches, self.window = branches, window

    def rollouts(self, context: Context, problems: Sequence[Problem], group_size: int) -> Rollouts:
        """``group_size`` episodes of each problem, with the links of their trees."""
        prompts = prompts_of(context.guidance, problems, [[] for _ in problems], group_size)
        first = math.ceil(self.initial * group_size)
        leaves = self._begin(context, problems, [(i, k) for i in range(len(problems)) for k in range(first)], prompts)
        turn = 1
        while self._missing(leaves, problems, group_size) and any(len(leaf.completion.turns) > turn for leaf in leaves):
            leaves += self._branch(context, problems, leaves, turn, group_size)
            turn += 1
        missing = self._missing(leaves, problems, group_size)
        which = [(i, group_size - n + k) for i, n in missing.items() for k in range(n)]
        return linked(context, problems, leaves + self._begin(context, problems, which, prompts))

    def splits(self, leaf: Leaf, turn: int, context: Context) -> bool:
        """Whether a branch begins after the reply to the ``turn``-th turn, drawn by ``context.rng``."""
        scale = math.log(context.policy.tokenizer.vocabulary_size)
        first, now = (float(leaf.completion.turns[t].entropy[: self.window].sum()) / scale for t in (0, turn - 1))
        return bool(context.rng.random() <= self.probability + self.weight * (now - first))

    def _missing(self, leaves: Sequence[Leaf], problems: Sequence[Problem], group_size: int) -> dict[int, int]:
        """How many episodes each problem lacks, of those that lack any."""
        counts = [group_size] * len(problems)
        for leaf in leaves:
            counts[leaf.problem] -= 1
        return {i: n for i, n in enumerate(counts) if n > 0}

    def _begin(
        self,
        context: Context,
        problems: Sequence[Problem],
        which: Sequence[tuple[int, int]],
        prompts: Sequence[Sequence[Prompt]],
    ) -> list[Leaf]:
        chosen = [prompts[i][k] for i, k in which]
        completions = play_prompts(context, [problems[i].seed for i, _ in which], chosen, mask=self.mask(context))
        return [
            Leaf(i, prompt, completion) for (i, _), prompt, completion in zip(which, chosen, completions, strict=True)
        ]

    def _branch(
        self, context: Context, problems: Sequence[Problem], leaves: Sequence[Leaf], turn: int, group_size: int
    ) -> list[Leaf]:
        """The branches that begin after the ``turn``-th turn of episodes that went on."""
        room = self._missing(leaves, problems, group_size)
        parents = []
        for number, leaf in enumerate(leaves):
            for _ in range(self.branches if len(leaf.completion.turns) > turn else 0):
                if room.get(leaf.problem, 0) > 0 and self.splits(leaf, turn, context):
                    room[leaf.problem] -= 1
                    parents.append(number)
        shared = [Begun([said(one) for one in leaves[number].completion.turns[:turn]]) for number in parents]
        seeds = [problems[leaves[number].problem].seed for number in parents]
        prompts = [leaves[number].prompt for number in parents]
        completions = play_prompts(context, seeds, prompts, begun=shared, mask=self.mask(context))
        return [
            Leaf(leaves[number].problem, leaves[number].prompt, completion, number, turn)
            for number, completion in zip(parents, completions, strict=True)
        ]


def said(turn: Turn) -> Written:
    """What was written in a turn, to be said again."""
    return Written(turn.text, turn.written, turn.logp, turn.entropy, turn.drawn)


def linked(context: Context, problems: Sequence[Problem], leaves: Sequence[Leaf]) -> Rollouts:
    """Leaves as a batch, a problem's together, with the rows of their parents and where they part."""
    order = sorted(range(len(leaves)), key=lambda number: leaves[number].problem)
    row_of = {-1: -1} | {number: row for row, number in enumerate(order)}
    rows = [leaves[number] for number in order]
    batch = assembled(
        context, problems, [(leaf.problem, leaf.completion) for leaf in rows], [leaf.prompt for leaf in rows]
    )
    parts = [
        sum(len(turn.read) + len(turn.written) for turn in leaf.completion.turns[: leaf.shared])
        + (len(leaf.completion.turns[leaf.shared].read) if leaf.shared else 0)
        for leaf in rows
    ]
    parents = [row_of[leaf.parent] for leaf in rows]
    device = batch.tokens.device
    return replace(batch, parent=torch.tensor(parents, device=device), branch_at=torch.tensor(parts, device=device))


def advantage(rollouts: Rollouts, *, scale: bool = True, epsilon: float = 1e-6) -> Tensor:
    """A_(i,t) = mean of A_j over the completions j that have token t of completion i in common; ``[B, T]``.

    A_j is the group-relative advantage. A token before a branch belongs to every completion that continues it; a token
    of a single completion has that completion's advantage. Without branches it is GRPO's.

    Args:
        rollouts: reads ``reward``, ``group``, ``mask``, and ``parent`` and ``branch_at`` where there are branches.
        scale: divide by the group's standard deviation.
        epsilon: added to it.

    Paper: Agentic Reinforced Policy Optimization (2025), hard advantage estimation.
    """
    own = group_relative(rollouts, scale=scale, epsilon=epsilon).double()
    shape = rollouts.mask.shape
    columns = torch.arange(shape[1], device=own.device).expand(shape)
    owner = owners(rollouts, columns)
    key = owner * shape[1] + columns
    total, count = own.new_zeros(2, shape[0] * shape[1])
    total = total.index_add(0, key.flatten(), own[:, None].expand(shape).flatten())
    count = count.index_add(0, key.flatten(), torch.ones_like(key, dtype=own.dtype).flatten())
    return torch.where(rollouts.mask, (total / count.clamp(min=1))[key], 0.0).float()


def owners(rollouts: Rollouts, columns: Tensor) -> Tensor:
    """The row that each token was first written in, ``[B, T]`` int64: that of the ancestor before its branch."""
    owner = torch.arange(len(rollouts), device=columns.device)[:, None].expand(columns.shape)
    if rollouts.parent is None or rollouts.branch_at is None:
        return owner
    while True:
        older = (columns < rollouts.branch_at[owner]) & (rollouts.parent[owner] >= 0)
        if not older.any():
            return owner
        owner = torch.where(older, rollouts.parent[owner], owner)
