"""A batch to learn from: sampled, with the providers' own rows, shaped by the rewards, chosen by the curriculum."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...wrappers.components import Curriculum, Reward
from .context import Context
from .providers.base import Provider
from .rollouts import Rollouts, join
from .samplers.base import Sampler
from .samplers.groups import Groups

MAX_ROUNDS = 8
"""Batches sampled at most to fill one, where a curriculum throws completions away."""


@dataclass
class Collector:
    """The components that make a batch, in the order in which they act.

    Attributes:
        context: of the training.
        sampler: produces rollouts.
        providers: may add rows.
        rewards: shape all rows, in order.
        curriculum: chooses problems, and what to learn from.
        group_size: completions of each problem.
    """

    context: Context
    group_size: int
    sampler: Sampler = field(default_factory=Groups)
    providers: Sequence[Provider] = ()
    rewards: Sequence[Reward] = ()
    curriculum: Curriculum = field(default_factory=Curriculum)

    def collect(self, seeds: Sequence[int]) -> Rollouts:
        """Shaped rows of the problems ``seeds``, the providers' own included; group numbers are positions in ``seeds``.

        Raises:
            StopTraining: a callback asked for it.
            ValueError: rewards that are not finite numbers, one for each row or one for each token.
        """
        return self.shaped(self.sampler.rollouts(self.context, self.context.problems(seeds), self.group_size))

    def shaped(self, rollouts: Rollouts) -> Rollouts:
        """Rows with the providers' own and with the rewards' shaping.

        Raises:
            StopTraining: a callback asked for it.
            ValueError: rewards that are not finite numbers, one for each row or one for each token.
        """
        for provider in self.providers:
            rollouts = provider.extend(rollouts, self.context)
        for reward in self.rewards:
            given = reward.shape(_apart(rollouts), self.context)
            rollouts = shaped(rollouts, given, of=f"{type(reward).__name__}.shape: ")
        return shaped(rollouts, rollouts.reward)

    def draw(self, n: int, missing: int) -> Rollouts:
        """Shaped rows of up to ``n`` problems that the curriculum chooses; ``missing`` more are wanted, these included.

        Raises:
            StopTraining: a callback asked for it.
            ValueError: a component returned something else than it promises.
        """
        return self.collect(chosen(self.curriculum, n, self.context.rng))

    def fill(self, n_groups: int) -> Rollouts | None:
        """A batch of ``n_groups`` groups that the curriculum keeps, sampled in at most ``MAX_ROUNDS`` rounds.

        Returns:
            Rows with shaped rewards, fewer groups if the rounds ran out; None where nothing was kept.

        Raises:
            StopTraining: a callback asked for it.
            ValueError: a component returned something else than it promises; nothing has been learnt.
        """
        return together(list(self.stream(n_groups, n_groups)))

    def stream(self, n_groups: int, size: int) -> Iterator[Rollouts]:
        """The same batch in parts of up to ``size`` groups, each as soon as it is there; ``MAX_ROUNDS`` for each part.

        Raises:
            StopTraining: a callback asked for it.
            ValueError: a component returned something else than it promises.
        """
        groups, rounds = 0, MAX_ROUNDS * -(-n_groups // size)
        for turn in range(rounds):
            missing = min(n_groups - groups, (rounds - turn) * size)
            if missing <= 0:
                return
            rollouts = self.draw(min(size, missing), missing)
            rollouts = replace(rollouts, group=rollouts.group + turn * n_groups)
            own = rollouts.own()
            self.curriculum.update(own)
            part = _kept(rollouts, own, self.curriculum)
            if len(part):
                groups += len(torch.unique(part.group))
                yield part


def _apart(rollouts: Rollouts) -> Rollouts:
    """The same with rewards of its own, which a component may change in place without changing these."""
    spread = rollouts.step_reward
    return replace(rollouts, reward=rollouts.reward.clone(), step_reward=None if spread is None else spread.clone())


def together(parts: list[Rollouts]) -> Rollouts | None:
    """Several batches as one, with rewards of turns where any has them; None for none."""
    if any(part.step_reward is not None for part in parts):
        parts = [by_turns(part) for part in parts]
    return join(parts) if parts else None


def chosen(curriculum: Curriculum, n: int, rng: np.random.Generator) -> list[int]:
    """Up to ``n`` problems; a curriculum that has fewer is asked again.

    Raises:
        ValueError: the curriculum named something else.
    """
    given: Any = curriculum.sample(n, rng)
    seeds = list(given) if isinstance(given, Iterable) else []
    whole = all(isinstance(seed, int | np.integer) and seed >= 0 for seed in seeds)
    if not (1 <= len(seeds) <= n and whole):
        raise ValueError(
            f"{type(curriculum).__name__}.sample({n}) must name 1 to {n} problems by seeds (integers from 0), got "
            f"{len(seeds) if len(seeds) >= 8 else seeds or given}"
        )
    return seeds


def _kept(rollouts: Rollouts, own: Rollouts, curriculum: Curriculum) -> Rollouts:
    """What the curriculum keeps of the policy's ``own`` rows, with the ``extra`` rows of groups that are kept."""
    kept = torch.as_tensor(curriculum.keep(own), device=own.reward.device)
    shapes = ((len(own),), tuple(own.mask.shape))
    if kept.dtype != torch.bool or tuple(kept.shape) not in shapes:
        raise ValueError(
            f"{type(curriculum).__name__}.keep must say of each of the {len(own)} completions, or tokens, whether "
            f"to learn from it (bool), got {kept.dtype} of shape {tuple(kept.shape)}"
        )
    rows = kept if kept.dim() == 1 else (kept & own.mask).any(1)
    mask = rollouts.mask.clone()
    which = torch.ones_like(rollouts.mask[:, 0]) if rollouts.extra is None else ~rollouts.extra
    if kept.dim() == 2:
        mask[which, : kept.shape[1]] &= kept
    left = torch.isin(rollouts.group, own.group[rows])
    left[which] = rows
    if left.all() and kept.dim() == 1:
        return rollouts
    return replace(rollouts, mask=mask).take(left)


def shaped(rollouts: Rollouts, reward: Any, *, of: str = "") -> Rollouts:
    """With other rewards: ``[B]``, or ``[B, T]`` by tokens, as a tensor or as what one can be made of.

    Of ``[B]``, what they add joins an episode's last token where rewards have been spread over tokens. ``of`` begins
    the message of an error.

    Raises:
        ValueError: something else, or a number that is not finite.
    """
    reward = _checked(reward, rollouts, of)
    if reward.dim() == 2:
        spread = torch.where(rollouts.mask, reward, 0.0)
        return replace(rollouts, reward=spread.sum(1), step_reward=spread)
    if rollouts.step_reward is None:
        return replace(rollouts, reward=reward)
    step_reward = rollouts.step_reward + rollouts.last_token() * (reward - rollouts.reward)[:, None]
    return replace(rollouts, reward=reward, step_reward=step_reward)


def _checked(given: Any, rollouts: Rollouts, of: str) -> Tensor:
    n, own = len(rollouts), rollouts.reward
    wanted = f"{of}rewards must be one number for each of the {n} completions, or for each of their tokens"
    try:
        reward = torch.as_tensor(given, device=own.device).detach()
    except (TypeError, ValueError, RuntimeError) as error:  # None, words, lists of lists of several lengths
        raise ValueError(f"{wanted}, got {type(given).__name__}: {given!r:.100}") from error
    if tuple(reward.shape) not in ((n,), tuple(rollouts.mask.shape)):
        raise ValueError(f"{wanted}, got the shape {tuple(reward.shape)}")
    if reward.is_complex():
        raise ValueError(f"{wanted}, got {reward.dtype}")
    reward = reward if reward.is_floating_point() else reward.to(own.dtype)
    bad = ~reward.isfinite() if reward.dim() == 1 else (~reward.isfinite() & rollouts.mask).any(1)
    if bad.any():
        row = int(bad.nonzero()[0])
        worst = reward[row] if reward.dim() == 1 else reward[row][~reward[row].isfinite()][0]
        raise ValueError(f"{of}the reward of completion {row} is {float(worst)}: rewards must be finite numbers")
    return reward


def by_turns(rollouts: Rollouts) -> Rollouts:
    """The same with a reward and a state for each turn, where a turn is all there is: the episode's, and the problem's.

    Raises:
        ValueError: several turns whose rewards or states were not collected.
    """
    if rollouts.step_reward is not None and rollouts.state is not None:
        return rollouts
    if (rollouts.turn * rollouts.mask).any():
        raise ValueError("this method reads rewards and states of turns, which were not collected with these episodes")
    state = rollouts.seed[:, None].expand(rollouts.mask.shape)
    return replace(rollouts, step_reward=rollouts.token_reward, state=state)


def appended(rollouts: Rollouts, more: Rollouts, kind: str) -> Rollouts:
    """Both batches as one: ``more`` is ``extra``, and ``info[kind]`` (bool) says which rows it is."""
    columns = rollouts.info.keys() & more.info.keys()
    parts = []
    for part, new in ((rollouts, False), (more, True)):
        flag = torch.full_like(part.reward, new, dtype=torch.bool)
        extra = flag if part.extra is None else part.extra | flag
        parts.append(replace(part, info=_infos(part, columns) | {kind: flag}, extra=extra))
    return renumbered(join(parts))


def _infos(rollouts: Rollouts, columns: Iterable[str]) -> dict[str, Tensor]:
    return {name: rollouts.info[name] for name in columns}


def renumbered(rollouts: Rollouts) -> Rollouts:
    """With ``info["answer"]`` equal for equal final answers, whichever batch they came from."""
    from .episodes import final_answer

    if "answer" not in rollouts.info or len(rollouts.completions) != len(rollouts):
        return rollouts
    finals = [final_answer(said[-1]) for said in rollouts.completions]
    numbers = torch.as_tensor(np.unique(finals, return_inverse=True)[1], device=rollouts.reward.device)
    return replace(rollouts, info=rollouts.info | {"answer": numbers})
