r"""OpAgent: hybrid reward, the outcome and progress towards it read from the state by a tree of rules.

    env = HybridReward(gymnasium.make("tiltyard/Phone-v1", observation="elements"), gamma=0.99)

The outcome is the environment's own reward. The tree has a leaf for each difference between the first state of a phone
and the wanted one: a field that gets another value, a row that comes or goes, a column of a row, an answer.
:math:`\Phi(s)` is ``weight`` times the share of leaves that hold in ``s``, and what is paid is
:math:`r + \gamma \Phi(s') - \Phi(s)`, with :math:`\Phi = 0` where the episode terminates.

Paper: OpAgent: Operator Agent for Web Navigation (2026), its hybrid reward (abstract; the sections were not at hand),
and the authors' code, ``web_browser_tool.py:calculate_reward`` and ``tool_env.py`` of ``codefuse-ai/OpAgent``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from ...envs.gui.declare.aims import surplus
from ...envs.gui.declare.state import key_of
from ..checks import check_numbers, own_reward, own_rewards
from ..perturbations.streams import reset_mask
from ..phone_states import FIRST, NOW, WANTED, PhoneStates, Where, phone_states

Info = dict[str, Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Leaf:
    """One wanted difference of a field.

    Attributes:
        kind: "value" (the field is ``value``), "there" (at least ``count`` rows equal ``value``), "gone" (fewer than
            ``count`` do, and none has its key), or "column" (the row named ``key`` has ``value`` in ``column``).
    """

    kind: str
    value: Any
    count: int = 1
    key: Any = None
    column: str = ""

    def holds(self, now: Any) -> bool:
        """Whether it does in a field's present value."""
        if self.kind == "value":
            return bool(now == self.value)
        if self.kind == "column":
            return any(key_of(row) == self.key and getattr(row, self.column) == self.value for row in now)
        if self.kind == "there":
            return bool(now.count(self.value) >= self.count)
        return now.count(self.value) < self.count and not any(_key(row) == self.key for row in now)


def leaves(first: Any, wanted: Any) -> tuple[Leaf, ...]:
    """The leaves of a field that is to change from ``first`` to ``wanted``; an order alone is one.

    >>> [leaf.kind for leaf in leaves((1, 2), (2, 3))], [leaf.kind for leaf in leaves(1, 2)]
    (['there', 'gone'], ['value'])
    """
    if not isinstance(wanted, tuple) or not isinstance(first, tuple):
        return (Leaf("value", wanted),)
    new, gone = surplus(wanted, first), surplus(first, wanted)
    found: list[Leaf] = []
    old = {key_of(row): row for row in gone if _is_record(row)}
    for row in new:
        twin = old.pop(key_of(row), None) if _is_record(row) else None
        if twin is None:
            found.append(Leaf("there", row, wanted.count(row)))
            continue
        gone.remove(twin)
        differing = [name for name, value in vars(row).items() if value != getattr(twin, name)]
        found += [Leaf("column", getattr(row, name), key=key_of(row), column=name) for name in differing]
    keys = {_key(row) for row in wanted}
    found += [Leaf("gone", row, first.count(row), key=_key(row) if _key(row) not in keys else None) for row in gone]
    return tuple(found) or (Leaf("value", wanted),)


def _is_record(row: Any) -> bool:
    return hasattr(row, "first_field")


def _key(row: Any) -> Any:
    return key_of(row) if _is_record(row) else None


class ProgressTree:
    """How much of what is wanted holds, of several phones.

    Only what may have changed is looked at again, so that a step in which nothing changes costs a comparison.
    """

    def __init__(self, states: PhoneStates, num_envs: int) -> None:
        self.states, self.num_envs = states, num_envs
        self._known: list[tuple[Any, Any, float]] = [(None, None, 0.0)] * num_envs
        self._trees: list[dict[Where, tuple[Leaf, ...]]] = [{} for _ in range(num_envs)]

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: what is known is read anew, since rows of phones cannot be pickled."""
        return {"states": self.states, "num_envs": self.num_envs}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(**kept)  # type: ignore[misc]

    def shares(self) -> Floats:
        """The share of leaves that hold now, ``[n]``; 0 where nothing is wanted."""
        return np.array([self._share(index) for index in range(self.num_envs)])

    def tree(self, index: int) -> Mapping[Where, tuple[Leaf, ...]]:
        """The leaves of a phone's problem by field; an answer is not among them."""
        self._share(index)
        return self._trees[index]

    def _share(self, index: int) -> float:
        states, (problem, marks, share) = self.states, self._known[index]
        now = states.problem(index)
        if now != problem:
            self._trees[index] = {
                where: leaves(states.value(index, FIRST, where), states.value(index, WANTED, where))
                for where in states.differing(index)
            }
            problem, marks = now, None
        found = states.marks(index)
        if found != marks:
            share = self._looked_at(index)
        self._known[index] = problem, found, share
        return share

    def _looked_at(self, index: int) -> float:
        held = total = 0
        for where, own in self._trees[index].items():
            total += len(own)
            if self.states.is_as(index, WANTED, where):
                held += len(own)
            elif not self.states.is_as(index, FIRST, where):
                now = self.states.value(index, NOW, where)
                held += sum(leaf.holds(now) for leaf in own)
        given, wanted = self.states.answers(index)
        if wanted:
            total, held = total + 1, held + (given == wanted)
        return held / total if total else 0.0


class HybridReward(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    r"""Adds the discounted change of the share of wanted differences that hold to the reward of a phone.

    ``info["progress"]`` is that share, 0 to 1; ``info["true_reward"]`` the environment's reward; ``reward_terms`` gets
    ``progress`` (and ``idle``). An episode that ends with the goal reached is paid its progress back at the last step:
    what stays, discounted, is the outcome.

    The potential-based form is taken, not a bonus for each leaf when it first holds: every policy's discounted return
    changes by the same :math:`-\Phi(s_0) = 0`, so that the best policy stays the best (Ng, Harada and Russell 1999),
    and doing and undoing earns nothing. Bonuses that are kept pull a policy to the way on which credit comes early,
    even if it is longer. On a way on which no leaf is undone both pay at the same steps, but for the factor ``gamma``.

    Departures: the authors judge the outcome by a language model (WebJudge), here the state is judged exactly. Their
    rule tree pays no credit: it takes 0.01 off for an action by which neither the address changed, nor a control was
    hit, nor (pixels alike, or else as a language model sees it) anything was gained, and 0.05 for one that cannot be
    read. Here gain is read from the state and credited; ``idle`` is their penalty, for a step that neither changed
    anything to be seen nor made progress. It is no potential, and where a screen must be waited for it costs the best
    policy too: off, unless asked for. What cannot be read costs what the environment takes, 0.01.

    Args:
        env: a simulated phone (``tiltyard/Phone-v0``, ``tiltyard/Phone-v1``), with any observation.
        gamma: the agent's discount.
        weight: of full progress; success pays 1.
        idle: penalty of a step that changes nothing; the authors' is 0.01.

    Raises:
        TypeError: ``env`` is no simulated phone.
        ValueError: ``gamma`` outside (0, 1], or ``weight`` or ``idle`` negative or not finite.

    Paper: OpAgent: Operator Agent for Web Navigation (2026).
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], *, gamma: float = 0.99, weight: float = 0.5, idle: float = 0.0
    ) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, gamma=gamma, weight=weight, idle=idle)
        super().__init__(env)
        _check(gamma, weight, idle)
        self.progress = ProgressTree(phone_states(env), 1)
        self.gamma, self.weight, self.idle = gamma, weight, idle
        self._before = 0.0
        self._seen: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._before, self._seen = float(self.progress.shares()[0]), observation
        return observation, {**info, "progress": self._before}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps and shapes."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        share = float(self.progress.shares()[0])
        shaping = self.weight * (self.gamma * (0.0 if terminated else share) - self._before)
        idles = not terminated and share <= self._before and _alike(observation, self._seen)
        idle = -self.idle if idles else 0.0
        self._before, self._seen = share, observation
        terms = {**info.get("reward_terms", {}), "progress": shaping, **({"idle": idle} if self.idle else {})}
        info = {**info, "true_reward": own_reward(info, reward), "progress": share, "reward_terms": terms}
        return observation, float(reward) + shaping + idle, terminated, truncated, info


class VectorHybridReward(VectorWrapper[Any, Any, Any]):
    """:class:`HybridReward` of all phones of a native vector environment, in any autoreset mode.

    The infos have columns ``progress`` and ``true_reward``. In the mode SAME_STEP an episode's last state is gone when
    its step returns; so the phones are made to tell their progress in their own step infos, from which
    ``final_info["progress"]`` comes.

    Args:
        env: a native vector of simulated phones.
        gamma: see :class:`HybridReward`.
        weight: likewise.
        idle: likewise.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], *, gamma: float = 0.99, weight: float = 0.5, idle: float = 0.0
    ) -> None:
        super().__init__(env)
        _check(gamma, weight, idle)
        states = phone_states(env)
        self.progress = ProgressTree(states, env.num_envs)
        self.gamma, self.weight, self.idle = gamma, weight, idle
        batched: Any = states.batched  # type: ignore[attr-defined]
        vars(batched)["step_info"] = _Telling(batched.step_info, self.progress)
        self._before = np.zeros(env.num_envs)
        self._ended = np.zeros(env.num_envs, np.bool_)
        self._seen: Any = None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets."""
        self._ended = self._ended & ~reset_mask(options, self.num_envs)
        observations, info = self.env.reset(seed=seed, options=options)
        self._before, self._seen = self.progress.shares(), observations
        return observations, {**info, "progress": self._before.copy(), "_progress": np.ones(self.num_envs, np.bool_)}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Steps and shapes."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        now = self.progress.shares()
        last = now.copy()
        if "final_info" in info:
            told = info["_final_info"]
            last[told] = info["final_info"]["progress"][told]
        shaping = self.weight * (self.gamma * np.where(terminated, 0.0, last) - self._before)
        over = np.logical_or(terminated, truncated)
        idle = 0.0 * shaping
        if self.idle:
            idle = -self.idle * (self._idle(observations, info) & ~terminated & (last <= self._before))
        if self.env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP:
            shaping[self._ended] = idle[self._ended] = 0.0  # they spent this step on their reset
        self._before, self._ended, self._seen = now, over, observations
        everywhere = np.ones(self.num_envs, np.bool_)
        told = {"progress": now, "_progress": everywhere}
        told |= {"true_reward": own_rewards(info, rewards), "_true_reward": everywhere}
        return observations, rewards + shaping + idle, terminated, truncated, {**info, **told}

    def _idle(self, observations: Any, info: Info) -> Bools:
        """Whether each phone ``[n]`` looks as before; one whose episode ended, by what was seen last."""
        final = info.get("_final_obs", np.zeros(self.num_envs, np.bool_))
        shown = (info["final_obs"][i] if final[i] else _one(observations, i) for i in range(self.num_envs))
        return np.array([_alike(seen, _one(self._seen, i)) for i, seen in enumerate(shown)])


class _Telling:
    """The step infos of phones with a column ``progress``."""

    def __init__(self, own: Any, progress: ProgressTree) -> None:
        self.own, self.progress = own, progress

    def __call__(self) -> Info:
        return {**self.own(), "progress": self.progress.shares()}


def _one(observations: Any, index: int) -> Any:
    return {name: part[index] for name, part in observations.items()}


def _alike(observation: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two observations of one phone are the same."""
    return all(np.array_equal(part, other[name]) for name, part in observation.items())


def _check(gamma: float, weight: float, idle: float) -> None:
    check_numbers(gamma=gamma, weight=weight, idle=idle)
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma is the agent's discount, in (0, 1], got {gamma}")
    for name, value in (("weight", weight), ("idle", idle)):
        if not 0 <= value < np.inf:
            raise ValueError(f"{name} must be finite and not negative, got {value}")
