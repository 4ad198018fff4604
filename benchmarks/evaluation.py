"""Evaluation on held-out problems: the ``test`` split, at seeds that no training run can reach.

Seeds are partitioned once, here, and the partition is checked wherever it matters:

===========================  =====================================================================
0 ... 9,999                  training seeds of reported runs
10,000 ... 999,999           training seeds of tuning runs (never raced, never on a leaderboard)
1,000,000,000 + i            evaluation environment i of reported runs
1,500,000,000 + i            evaluation environment i of tuning runs, so that tuning never sees reported problems
===========================  =====================================================================

Environments of other packages take no ``split``: there, held out means these seeds alone.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import inf, nan
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium.spaces import Box, Dict, Text
from gymnasium.vector import SyncVectorEnv

from .. import unknown
from ..agents.binomial import wilson_interval
from ..agents.catalogue import find as find_agent
from ..agents.catalogue import rows as agent_rows
from ..envs.catalogue import find as find_env
from ..envs.core import SingleEnv, select_env
from ..envs.seeding import Split, check_split
from ..wrappers.adapters import named
from ..wrappers.checks import check_returns
from .time_limit import LONGEST, error_of, is_endless

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

TUNING_FROM = 10_000
"""Training seeds from here on belong to tuning runs."""
SEED_LIMIT = 1_000_000
"""Training seeds stay below this."""
REPORTED_EVALUATION, TUNING_EVALUATION = 1_000_000_000, 1_500_000_000
POLICIES = ("expert", "random")
MAX_ENVS = 128
"""Evaluation environments; with more episodes than this, each goes on with the next problems of its seed's stream."""


@dataclass(frozen=True)
class Evaluation:
    """What an agent did in each evaluation episode, ordered by problem: entry j is the same problem for everyone.

    Attributes:
        scores: raw (undiscounted) returns.
        successes: whether each episode ended in ``info["success"]`` (or ``"is_success"``); () where the environment
            does not say.
        lengths: steps.
    """

    scores: tuple[float, ...]
    successes: tuple[bool, ...]
    lengths: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Mean raw return."""
        return sum(self.scores) / len(self.scores)

    @property
    def success_rate(self) -> float:
        """Share of successful episodes; NaN where the environment does not say."""
        return sum(self.successes) / len(self.successes) if self.successes else nan


def wilson(successes: Sequence[bool]) -> tuple[float, float]:
    """95% interval of a success rate, never of zero width (Wilson 1927).

    >>> tuple(round(end, 4) for end in wilson([True] * 10))
    (0.7225, 1.0)
    """
    return wilson_interval(sum(map(bool, successes)), len(successes))


def is_tuning(seed: int) -> bool:
    """Whether a run with this training seed is a tuning run."""
    return seed >= TUNING_FROM


def evaluation_seeds(seed: int, num_envs: int, group: int = 1) -> list[int]:
    """The published seeds ``[num_envs]`` on which a run with training seed ``seed`` is evaluated.

    Each stands there ``group`` times in a row, so that as many episodes are of one problem.
    """
    base = TUNING_EVALUATION if is_tuning(seed) else REPORTED_EVALUATION
    return [base + i // group for i in range(num_envs)]


def check_group(episodes: int, group: int) -> None:
    """Refuses groups that an evaluation's episodes cannot be divided into.

    Raises:
        ValueError: the message says which are possible.
    """
    if group < 1 or episodes % group or min(episodes, MAX_ENVS) % group:
        raise ValueError(
            f"eval_group is at least 1 and divides the episodes of an evaluation and the {MAX_ENVS} environments they "
            f"are played in, got {group} for {episodes} episodes"
        )


def check_held_out(training: "VecEnv", evaluation: "VecEnv", *, splits: bool = True) -> None:
    """Looks at both environments as built, and refuses an evaluation on anything but held-out problems.

    Args:
        training: where the agent learns, about to be reset for the first time.
        evaluation: where it is evaluated.
        splits: whether they take a split; of those that do not, the training seeds are looked at.

    Raises:
        ValueError: the training environment makes test problems, the evaluation environment training problems, or
            training begins at seeds of evaluations.
    """
    if not splits:
        highest = max(seed or 0 for seed in training.unwrapped.next_seeds)  # type: ignore[attr-defined]
        if highest >= REPORTED_EVALUATION:
            raise ValueError(f"training seeds end below {REPORTED_EVALUATION:,}, where evaluation's begin: {highest:,}")
        return
    for env, wanted, use in ((training, "train", "training"), (evaluation, "test", "evaluation")):
        split = split_of(env)
        if split != wanted:
            raise ValueError(
                f"the {use} environment makes problems of the {split!r} split, which would let training and evaluation "
                f"overlap: build it with split={wanted!r}"
            )


def split_of(env: "VecEnv") -> str:
    """The split of a ``VecEnv`` made by :func:`tiltyard.wrappers.spaces.sb3_env`, read from the environment itself."""
    spec = env.unwrapped.env.spec  # type: ignore[attr-defined]
    return str(spec.kwargs.get("split", "train"))


@dataclass(frozen=True)
class View:
    """How a policy sees an environment: with which keywords, and whether text stays text."""

    env_kwargs: dict[str, Any]
    strings: bool


def view_of(agent: Any, env_id: str) -> View:
    """How ``agent`` (an agent's name, ``"expert"``, ``"random"``, or an agent with ``predict``) sees ``env_id``.

    Experts, random policies and plain functions act in the environment's own spaces. An agent sees what its row says;
    one of a class that no row names sees the environment's own keywords, and text as text if its ``action_space`` is a
    ``Text`` space, else as the numbers of :mod:`tiltyard.wrappers.adapters`.

    Raises:
        KeyError: no such environment.
        ValueError: a string that names neither an agent nor a policy.
    """
    domain = find_env(env_id).domain
    if isinstance(agent, str):
        if agent in POLICIES:
            return View({}, True)
        try:
            row = find_agent(agent, domain)
        except KeyError as error:
            raise ValueError(unknown("policy", agent, [*POLICIES, *(row.name for row in agent_rows())])) from error
        return View(row.env_kwargs_for(env_id), row.speaks)
    if is_function(agent):
        return View({}, True)
    rows = [row for row in agent_rows() if type(agent).__name__ in (row.class_name, row.entry_point)]
    return View(rows[0].env_kwargs_for(env_id) if rows else {}, isinstance(getattr(agent, "action_space", None), Text))


def evaluation_env(env_id: str, agent: Any, episodes: int, *, split: Split = "test", **env_kwargs: Any) -> "VecEnv":
    """A ``VecEnv`` of up to :data:`MAX_ENVS` environments for ``episodes`` episodes, as ``agent`` sees it.

    One that takes no split is held out by its seeds alone.
    """
    from ..wrappers.spaces import sb3_env

    view = view_of(agent, env_id)
    if check_split(split) and not find_env(env_id).splits:
        split = "train"
    if isinstance(episodes, bool) or not isinstance(episodes, int | np.integer) or episodes < 1:
        raise ValueError(f"an evaluation needs a whole number of at least 1 episode, got {episodes!r:.200}")
    num_envs = min(int(episodes), MAX_ENVS)
    return sb3_env(env_id, num_envs, split=split, strings=view.strings, **{**view.env_kwargs, **env_kwargs})


def evaluate(
    agent: Any,
    env_id: str,
    *,
    episodes: int = 100,
    split: Split = "test",
    seeds: Sequence[int] | None = None,
    deterministic: bool = True,
    **env_kwargs: Any,
) -> Evaluation:
    """Plays ``episodes`` whole episodes on the native vector environment, by SB3's ``evaluate_policy``.

    An agent that learns in a ``VecNormalize`` sees observations as they are normalised there, whose statistics stay as
    they are; scores are of the environment's own rewards.

    Args:
        agent: an agent with SB3's ``predict``, ``"expert"``, ``"random"``, or a function of one observation that
            returns an action, such as one of a question that returns its answer. A policy of one's own with ``predict``
            reads and writes strings if its ``action_space`` is a ``Text`` space, and numbers if it has none.
        env_id: where.
        episodes: how many; up to :data:`MAX_ENVS` of them run at once.
        split: "test" problems (held out), or "train".
        seeds: one per environment, ``min(episodes, MAX_ENVS)`` of them; the published ones by default.
        deterministic: whether the agent takes its best action or samples.
        **env_kwargs: the environment's own keywords, where they differ from those the agent was trained with.

    Raises:
        KeyError: no such environment.
        TypeError: another action space, a class in place of an agent, a function that returns None, or a broken seed.
        RuntimeError: an episode that no time limit ends takes more than :data:`.time_limit.LONGEST` steps.
        ValueError: fewer than 1 episode, no such split, not one seed per environment, an agent whose ``VecNormalize``
            is of other observations, or a return that is NaN or infinite.
    """
    env = evaluation_env(env_id, agent, episodes, split=split, **env_kwargs)
    try:
        return play_episodes(policy_for(agent, env), env, episodes, seeds=seeds, deterministic=deterministic)
    finally:
        env.close()


def play_episodes(
    policy: Any, env: "VecEnv", episodes: int, *, seeds: Sequence[int] | None = None, deterministic: bool = True
) -> Evaluation:
    """SB3's ``evaluate_policy`` over ``env``, its environments seeded with ``seeds``, every episode kept.

    Raises:
        RuntimeError: an episode that no time limit ends takes more than :data:`.time_limit.LONGEST` steps.
        ValueError: not one seed per environment, a ``VecNormalize`` of other observations, or a return that is NaN.
    """
    from stable_baselines3.common.evaluation import evaluate_policy

    env = as_seen_by(policy, env)
    seeds = evaluation_seeds(0, env.num_envs) if seeds is None else seeds
    env.unwrapped.seed_envs(seeds)  # type: ignore[attr-defined]
    ended: list[tuple[int, int, bool | None]] = []
    longest = LONGEST if is_endless(env) else inf

    def note(scope: dict[str, Any], _: dict[str, Any]) -> None:
        if scope["current_lengths"][scope["i"]] > longest:
            raise RuntimeError(error_of(env))
        if scope["done"]:
            index = scope["i"]
            ended.append((index, int(scope["episode_counts"][index]), success_of(scope["info"])))

    scores, lengths = cast(
        tuple[list[float], list[int]],
        evaluate_policy(policy, env, episodes, deterministic, callback=note, return_episode_rewards=True),
    )
    check_returns(scores)
    order = sorted(range(len(ended)), key=lambda j: ended[j][1::-1])
    return Evaluation(
        tuple(float(scores[j]) for j in order),
        () if all(success is None for _, _, success in ended) else tuple(bool(ended[j][2]) for j in order),
        tuple(int(lengths[j]) for j in order),
    )


def as_seen_by(policy: Any, env: "VecEnv") -> "VecEnv":
    """``env`` with observations as the ``VecNormalize`` that ``policy`` learns in has them; else ``env`` itself.

    Its statistics are copied and learn nothing here; rewards stay the environment's.

    Raises:
        ValueError: it normalises observations of another shape.
    """
    from stable_baselines3.common.utils import check_shape_equal
    from stable_baselines3.common.vec_env import unwrap_vec_normalize

    own = policy.get_vec_normalize_env() if hasattr(policy, "get_vec_normalize_env") else None
    if own is None or unwrap_vec_normalize(env) is not None:
        return env
    try:
        check_shape_equal(own.observation_space, env.observation_space)
    except AssertionError as error:
        raise ValueError(
            f"this agent's VecNormalize is of observations {named(own.observation_space)}; those of the environment "
            f"are {named(env.observation_space)}: evaluate it with evaluate_policy in an environment wrapped as its own"
        ) from error
    frozen = deepcopy(own)  # without its environments
    frozen.set_venv(env)
    frozen.training = frozen.norm_reward = False
    return cast("VecEnv", frozen)


def success_of(info: Mapping[str, Any]) -> bool | None:
    """Whether an episode with this last ``info`` succeeded; None where the environment does not say."""
    said = info.get("success", info.get("is_success"))
    return None if said is None else bool(said)


class RandomPolicy:
    """Uniformly random actions, with SB3's ``predict``."""

    def __init__(self, env: "VecEnv", seed: int = 0) -> None:
        self._batched, self._space = env.num_envs, deepcopy(env.action_space)
        self._space.seed(seed)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """One random action per environment, whatever is observed."""
        return _batch([self._space.sample() for _ in range(self._batched)]), state


class FunctionPolicy:
    """Functions of one observation that return an action, one for each environment, with SB3's ``predict``."""

    def __init__(self, acts: Sequence[Callable[[Any], Any]]) -> None:
        self.acts = acts

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """Each function's action in its environment; ``TypeError`` if one returns None."""
        actions = [act(select_env(observation, index)) for index, act in enumerate(self.acts)]
        if any(action is None for action in actions):
            raise TypeError("the function that was given returned None for an observation: it returns an action")
        return _batch(actions), state


def _batch(actions: list[Any]) -> Any:
    """Actions of single environments as a vector takes them."""
    return actions if isinstance(actions[0], str | dict) else np.stack(actions)


def is_function(agent: Any) -> bool:
    """Whether ``agent`` is a plain function of one observation, not something with ``predict``."""
    return callable(agent) and not hasattr(agent, "predict")


def _alike(seen: Any, space: Any) -> bool:
    """Whether who sees ``seen`` can see ``space``: images may have their channels first or last, texts any length."""
    if isinstance(seen, Dict) and isinstance(space, Dict):
        return seen.keys() == space.keys() and all(_alike(seen[key], space[key]) for key in seen)
    if isinstance(seen, Box) and isinstance(space, Box):
        return sorted(seen.shape) == sorted(space.shape)
    return bool(type(seen) is type(space) is Text or seen == space)


def _acting(expert: Any) -> Callable[[Any], Any]:
    """The expert's action by its observation."""
    return lambda seen: expert.predict(seen)[0]


def _expert_of(base: Any) -> Any:
    """The scripted expert of a vector, or those of its environments."""
    alone: list[Any] = [one.unwrapped for one in base.envs] if isinstance(base, SyncVectorEnv) else []
    if alone and all(isinstance(one, SingleEnv) for one in alone):
        return FunctionPolicy([_acting(one.expert()) for one in alone])
    if not hasattr(base, "expert"):
        raise ValueError(f"{base.spec.id} has no expert: evaluate an agent, or random")
    return base.expert()


def policy_for(agent: Any, env: "VecEnv") -> Any:
    """``agent`` itself, or what ``"expert"``, ``"random"`` and a function mean in ``env``.

    Texts may be longer or shorter than where an agent was trained: nothing is cut off, and a question that does not fit
    a language agent's context is its own error.

    Raises:
        TypeError: an agent whose actions or observations are not those of ``env``.
        ValueError: an expert where there is none.
    """
    if isinstance(agent, type):
        raise TypeError(f"{agent.__name__} is a class: evaluate an agent made of it")
    if isinstance(agent, str) and agent == "random":
        return RandomPolicy(env)
    if isinstance(agent, str) and agent == "expert":
        return _expert_of(env.unwrapped.env.unwrapped)  # type: ignore[attr-defined]
    if is_function(agent):
        return FunctionPolicy([agent] * env.num_envs)
    if not hasattr(agent, "predict"):
        raise TypeError(f'what is evaluated has SB3\'s predict, or is "expert" or "random", got {agent!r:.200}')
    own, space = getattr(agent, "action_space", env.action_space), env.action_space
    if type(own) is type(space) is Text:
        if other := "".join(sorted(space.character_set - own.character_set)):
            raise TypeError(f"this agent writes other characters: those of the environment are also {other!r:.40}")
    elif own != space:
        raise TypeError(f"this agent's actions are {named(own)}; those of the environment are {named(space)}")
    sees = getattr(agent, "observation_space", env.observation_space)
    normalised = hasattr(agent, "get_vec_normalize_env") and agent.get_vec_normalize_env() is not None
    if not normalised and not _alike(sees, env.observation_space):  # otherwise :func:`as_seen_by` checks
        shown = named(env.observation_space)
        raise TypeError(f"this agent's observations are {named(sees)}; those of the environment are {shown}")
    return agent
