"""Components of a language method besides its advantage and its loss: rewards, curricula, guidance; what they read.

Each is a small class that does nothing by default; a method subclasses one and overrides what it changes. Components
live in :mod:`.rewards`, :mod:`.curricula` and :mod:`.guidance`, one file a paper, named by the rows of each folder's
``catalogue``. Samplers, providers and data sources, which handle networks and environments, are components too: see
:mod:`tiltyard.agents.language`.

A component is chosen by name (``"laser"``), by name with parameters (``{"name": "laser", "target": 60}``) or as an
object.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from .. import unknown

if TYPE_CHECKING:
    from torch import Tensor  # only a type here: listing methods must not wait for torch


class Episodes(Protocol):
    """What components read of a batch of B episodes (``tiltyard.agents.language.rollouts.Rollouts`` satisfies it).

    A position's value in ``[B, T]`` belongs to the token *at* it; outside ``mask`` nothing is meant.
    """

    @property
    def reward(self) -> "Tensor":
        """``[B]``, as earlier rewards of the list shaped it."""

    @property
    def token_reward(self) -> "Tensor":
        """``[B, T]``, the same by tokens: 0 but at the end of each turn, or as an earlier reward spread it."""

    @property
    def group(self) -> "Tensor":
        """``[B]`` int64: rows with equal numbers are completions of the same problem."""

    @property
    def seed(self) -> "Tensor":
        """``[B]`` int64: the problem; ``reset(seed=...)`` brings it back."""

    @property
    def length(self) -> "Tensor":
        """``[B]`` int64: tokens written."""

    @property
    def tokens(self) -> "Tensor":
        """``[B, T]`` int64: prompt, completion (all turns, with the environment's words between), padding."""

    @property
    def mask(self) -> "Tensor":
        """``[B, T]`` bool: written by the policy."""

    def last_token(self) -> "Tensor":
        """``[B, T]`` bool: the last written token of each row."""

    @property
    def turn(self) -> "Tensor":
        """``[B, T]`` int64: which turn of the episode a token belongs to."""

    @property
    def logp_old(self) -> "Tensor":
        """``[B, T]`` log-probability under the policy before this iteration's steps."""

    @property
    def entropy(self) -> "Tensor":
        """``[B, T]`` nats, of the distribution that each token was drawn from."""

    @property
    def info(self) -> dict[str, Any]:
        """Columns ``[B]``: ``success`` (bool) always; others where there are such.

        ``answer`` (int64: equal for equal final answers to a problem), ``expert`` and ``greedy`` (bool).
        """

    @property
    def prompts(self) -> Sequence[str]:
        """``[B]`` the question of each row, as the policy was shown it."""

    @property
    def completions(self) -> Sequence[Sequence[str]]:
        """``[B]`` what was said in each turn of each row."""

    def references(self) -> list[str]:
        """``[B]`` the worked solution of the environment's scripted expert (its first turn), asked for when called."""

    def __len__(self) -> int:
        """B."""


class Context(Protocol):
    """What a component may ask of the training under way (``tiltyard.agents.language.context.Context``)."""

    @property
    def rng(self) -> np.random.Generator:
        """The agent's generator, whose state is in every checkpoint."""

    @property
    def progress(self) -> float:
        """How far this call of ``learn`` has come, 0 to 1."""

    @property
    def policy(self) -> Any:
        """The policy, for the rare component that copies its network (``policy.network``)."""

    def score(self, tokens: "Tensor", mask: "Tensor", network: Any = None) -> "Tensor":
        """Log-probabilities ``[B, T]`` of the tokens in ``mask`` under the policy as it is now; 0 elsewhere.

        Args:
            tokens: ``[B, T]`` int64, padded on the right.
            mask: ``[B, T]`` bool, never True in the first column.
            network: another network of the policy's kind, such as a component's own copy.
        """

    def score_reference(self, tokens: "Tensor", mask: "Tensor") -> "Tensor":
        """The same under the policy as it was when training began; whoever asks has ``needs = ("logp_ref",)``."""

    def hidden(self, tokens: "Tensor", mask: "Tensor | None" = None) -> "Tensor":
        """Last hidden states ``[B, T, width]`` of the policy *at* each token (without gradients)."""

    def sample(
        self,
        prompts: Sequence[str],
        *,
        deterministic: bool = False,
        temperature: float | None = None,
        mask: Callable[[Any], "Tensor"] | None = None,
    ) -> Any:
        """One completion (a turn) after each prompt text, ungraded, as ``Rollouts`` of reward 0.

        ``mask`` says before each token which ones may be written (:mod:`tiltyard.agents.language.samplers.masks`).
        """

    def play(
        self,
        seeds: Sequence[int],
        *,
        group_size: int = 1,
        deterministic: bool = False,
        mask: Callable[[Any], "Tensor"] | None = None,
    ) -> Any:
        """``group_size`` graded episodes of each problem, by the policy as it is now, as ``Rollouts``."""

    def play_reference(self, seeds: Sequence[int], *, group_size: int = 1) -> Any:
        """:meth:`play` by the policy as it was when training began; whoever asks has ``needs = ("logp_ref",)``."""

    def tokenize(self, text: str) -> Any:
        """Tokens ``[n]`` (NumPy int64) of a text."""

    def detokenize(self, tokens: Any) -> str:
        """The text of tokens ``[n]``."""


class Component:
    """What all components have: hooks into the training, and a memory that checkpoints keep. This one has none.

    Attributes:
        needs: providers that the component wants besides those of the method, such as ``("logp_ref",)`` for
            ``context.score_reference``; see :mod:`tiltyard.agents.language.providers.catalogue`.
    """

    needs: ClassVar[tuple[str, ...]] = ()

    def start(self, context: Any) -> None:
        """Makes what begins with the policy as it is now: called when the agent is built, and after a warm start.

        Networks are made here, not in the constructor: the policy, its device and its size are known then.
        """

    def begin(self, context: Any) -> None:
        """Called before each iteration."""

    def state_dict(self) -> dict[str, Any]:
        """What has been learnt, as plain data: numbers, strings, NumPy arrays, and lists or dicts (by strings) of them.

        With it, and with :meth:`load_state_dict`, an agent that was saved trains on as if it had not been.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""

    def networks(self) -> dict[str, Any]:
        """What is trained or large, by name: PyTorch modules, or objects whose ``state_dict`` holds tensors.

        Checkpoints keep them as they keep the policy, as safetensors. A module with an attribute ``optimizer`` is kept
        with its optimiser. They have to exist after :meth:`start`.
        """
        return {}


class Curriculum(Component):
    """Chooses problems. This one draws training seeds uniformly and keeps every completion."""

    def sample(self, n: int, rng: np.random.Generator) -> list[int]:
        """Seeds of the next ``n`` problems, of the train split."""
        return [int(seed) for seed in rng.integers(0, 2**31, size=n)]

    def keep(self, episodes: Episodes) -> "Tensor":
        """What to learn from, bool: rows ``[B]`` (whole groups, please) or tokens ``[B, T]``.

        Sampling goes on until a batch is full; a row of which no token is kept is left out.
        """
        return episodes.reward == episodes.reward

    def update(self, episodes: Episodes) -> None:
        """Learns from a batch of the policy's own samples, kept or not."""


class Prompt(NamedTuple):
    """What the policy is given for one completion.

    Attributes:
        question: what it reads.
        completion_start: how its completion begins, which carries no loss.
        trained: the question that is learnt from, where the policy shall do without what it was told here (None:
            ``question``); what was sampled is then weighed by ``Rollouts.behaviour_logp``.
    """

    question: str
    completion_start: str = ""
    trained: str | None = None


@dataclass(frozen=True)
class Problem:
    """One problem of a batch.

    Attributes:
        seed: ``reset(seed=...)`` brings it back.
        question: the environment's observation.
        solve: calls the environment's expert for its worked solution; the slow part, so only guidance asks.
        group_size: completions of it in the batch.
    """

    seed: int
    question: str
    solve: Callable[[], str]
    group_size: int = 1


class Guidance(Component):
    """Changes prompts. This one leaves them as the environment wrote them."""

    def prompts(
        self, problems: Sequence[Problem], history: Sequence[Sequence[float]]
    ) -> Sequence[Prompt | Sequence[Prompt]]:
        """The prompt of each problem, or a prompt for each completion of its group, given what came of earlier rounds.

        Called before each round of sampling. A completion is sampled in the first round, and in a later one only if its
        prompt has changed; its last round is what is learnt from.

        Args:
            problems: of the batch, P of them.
            history: of each problem, the share of its group that succeeded, a number for each round so far.
        """
        return [Prompt(problem.question) for problem in problems]


class Reward(Component):
    """Shapes rewards where more than a step is needed (else: ``gymnasium.RewardWrapper``). This one does not.

    Several compose as a list, in order: each sees as ``episodes.reward`` (and ``token_reward``) what the one before it
    returned, and what it returns takes its place. A bonus returns ``episodes.reward + bonus``, so that a list of
    bonuses is their sum. Greedy completions and those of experts are rows of the batch too: a baseline is shaped as
    what it is compared with.
    """

    def shape(self, episodes: Episodes, context: Context) -> "Tensor":
        """The rewards to learn from: ``[B]``, or ``[B, T]`` by tokens, whose sum is the episode's; finite numbers.

        Where ``[B]`` is returned and rewards have been spread over tokens, the difference joins the last token.
        """
        return episodes.reward

    def fit(self, episodes: Episodes, context: Context) -> dict[str, float]:
        """Trains what the reward has learnt, on an iteration's episodes; returns metrics to log."""
        return {}


@dataclass(frozen=True)
class Row:
    """One named component.

    Attributes:
        handle: what users type.
        entry_point: ``"module:Class"``; the class's keyword-only arguments are the component's parameters.
        params: values that differ from the class's defaults.
        paper: handle of its paper in :mod:`tiltyard.papers`, where that is not its own.
    """

    handle: str
    entry_point: str
    params: tuple[tuple[str, Any], ...] = ()
    paper: str = ""


Choice = str | Mapping[str, Any] | None
"""A component by name, or by name with parameters; None for the default, which does nothing."""

Chosen = TypeVar("Chosen", bound=Component)

_NUMBERS: dict[Any, tuple[Any, str]] = {
    int: ((int, np.integer), "a whole number"),
    float: ((int, float, np.number), "a number"),
}
"""By annotation of a parameter, what it may be and how to say so."""


def choose(kind: str, choice: Choice | Chosen, rows: Sequence[Row], default: type[Chosen]) -> Chosen:
    """The object that ``choice`` names among ``rows``; an object of the component's class is returned as it is.

    Raises:
        KeyError: no such name.
        TypeError: an unknown parameter, or one of another kind than the component takes; something that is neither a
            name nor an object of the component's class, or an object that overrides nothing of it.
        ValueError: a number that is not finite or out of range.
    """
    if choice is None:
        return default()
    if isinstance(choice, default):
        _check_overrides(choice, default)
        return choice
    if isinstance(choice, Mapping):
        params = dict(choice)
        name = params.pop("name", None)
    else:
        name, params = choice, {}
    if not isinstance(name, str):
        raise TypeError(
            f'a {kind} is a name, {{"name": ..., parameters}} or a {default.__name__}; got {choice!r:.200}'
            f"{_how_to_wrap(choice, default)}"
        )
    by_name = {row.handle: row for row in rows}
    if name not in by_name:
        raise KeyError(unknown(kind, name, by_name))
    row = by_name[name]
    module, _, attribute = row.entry_point.partition(":")
    built: type[Chosen] = getattr(import_module(module), attribute)
    valid = list(keywords_of(built))
    for key, value in params.items():
        if key not in valid:
            raise TypeError(f"{kind} {name!r}: {unknown('parameter', key, valid)}")
        _check_kind(key, value, keywords_of(built)[key].annotation, of=f"{kind} {name!r}")
    return built(**{**dict(row.params), **params})


def _check_kind(name: str, value: Any, annotation: Any, *, of: str) -> None:
    """Refuses a parameter that is no number where the constructor's annotation says one, or one that is not finite."""
    if annotation not in _NUMBERS:
        return
    kind, words = _NUMBERS[annotation]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{of}: {name} must be {words}, got {value!r:.100}")
    if not math.isfinite(value):
        raise ValueError(f"{of}: {name} must be {words} that is finite, got {value!r}")


def _methods(kind: type[Component]) -> list[str]:
    """The public methods of a component's class, its own before those that all components have."""
    return [name for owner in kind.__mro__ for name, it in vars(owner).items() if name[0] != "_" and callable(it)]


def _check_overrides(component: Component, default: type[Component]) -> None:
    """Refuses an object of a subclass that overrides no method: a misspelt one would do nothing, and not say so."""
    kind, valid = type(component), _methods(default)
    if kind is default or any(getattr(kind, name) is not getattr(default, name) for name in valid):
        return
    other = [name for name in vars(kind) if name not in valid and (name[0] != "_" or name == "__call__")]
    hint = unknown("method", other[0], valid) if other else f"override {valid[0]}"
    raise TypeError(f"{kind.__name__} overrides no method of {default.__name__} and so does nothing: {hint}")


def _how_to_wrap(choice: object, default: type[Component]) -> str:
    """What to do with a class or a function in place of a component."""
    if isinstance(choice, type) and issubclass(choice, default):
        return f": give an object, {choice.__name__}()"
    if callable(choice):
        return f": make it the method {_methods(default)[0]} of a subclass of {default.__module__}.{default.__name__}"
    return ""


def keywords_of(kind: type[Component]) -> dict[str, inspect.Parameter]:
    """The keywords of a component's constructor, with those of the next constructor for its ``**settings``."""
    found: dict[str, inspect.Parameter] = {}
    for owner in kind.__mro__:
        if "__init__" not in vars(owner) or owner is object:
            continue
        own = list(inspect.signature(vars(owner)["__init__"]).parameters.values())[1:]
        found = {one.name: one for one in own if one.kind is one.KEYWORD_ONLY} | found
        if not any(one.kind is one.VAR_KEYWORD for one in own):
            break
    return found
