"""What language agents ask of a policy: whatever has these members can be trained, whoever wrote it.

:class:`~.policy.TextPolicy` is ours. A model of one's own is given as an object, ``PolicyGradient(mine, env)``; it need
not subclass anything.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from .generation import Generated, Mask
from .outputs import PolicyOut, Support
from .tokenizer import Tokens


@runtime_checkable
class TextTokenizer(Protocol):
    """Texts as tokens and back, and how a conversation is laid out; :class:`~.tokenizer.Tokenizer` is ours.

    Token 0 pads and token 1 ends a completion (``PAD`` and ``END`` of :mod:`.tokenizer`).
    """

    @property
    def vocabulary_size(self) -> int:
        """How many tokens there are."""

    def encode(self, text: str) -> Tokens:
        """Tokens ``[n]`` (NumPy int64) of ``text``, without marks."""

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``; marks vanish."""

    def prompt(self, question: str, completion_start: str = "") -> Tokens:
        """What the network reads before it writes."""

    def message(self, written: Tokens, message: str) -> Tokens:
        """What the network reads between two turns, after it has ``written``."""


@runtime_checkable
class LanguageModel(Protocol):
    """What trainer, samplers and components ask of a policy."""

    @property
    def tokenizer(self) -> TextTokenizer:
        """Makes tokens of texts."""

    @property
    def network(self) -> Any:
        """What is trained, an ``nn.Module``; a reference and learned rewards are deep copies of it.

        It maps tokens ``[B, T]`` to hidden states ``[B, T, width]``, if components ask for those
        (``context.hidden``, which reads ``network.width``); critics also read ``network.embedding.weight``.
        """

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """Of the network's parameters; the agent sets its learning rate."""

    @property
    def generator(self) -> torch.Generator | None:
        """Draws what learning samples; its state is in every checkpoint, so :meth:`reseed` makes it."""

    @property
    def device(self) -> torch.device:
        """Where the network computes, and so the agent."""

    @property
    def context_length(self) -> int:
        """Tokens that a prompt, or a whole episode of several turns, may have with its completion."""

    def reseed(self, seed: int) -> None:
        """Makes all draws repeatable, those of learning and those of :meth:`predict` each by a stream of their own."""

    def set_training_mode(self, mode: bool) -> None:
        """Told before gradient steps (True) and before sampling (False)."""

    def write(
        self,
        prompts: Sequence[Tokens],
        *,
        deterministic: bool = False,
        temperature: float | None = None,
        dialogues: Any = None,
        episodes: Sequence[int] = (),
        mask: Mask | None = None,
        max_new_tokens: int | None = None,
    ) -> Generated:
        """Completes token prompts, or whole histories, each up to an ``END`` or the longest completion.

        Args:
            prompts: what stands before.
            deterministic: write the likeliest tokens.
            temperature: of sampling (None: the model's).
            dialogues: what :meth:`dialogues` returned for these episodes.
            episodes: their numbers in it.
            mask: which tokens may be written next (None: all).
            max_new_tokens: at most so many tokens a completion (None: the model's longest); T-PPO alone gives it.
        """

    def texts(self, generated: Generated) -> list[str]:
        """The strings that were written."""

    def dialogues(self, prompts: Sequence[Tokens]) -> Any:
        """Remembers episodes that begin with ``prompts`` from one :meth:`write` to the next; None if it does not."""

    def evaluate(
        self,
        tokens: Tensor,
        mask: Tensor,
        network: Any = None,
        *,
        vocabulary_mean: bool = False,
        support: Support | None = None,
    ) -> PolicyOut:
        """Log-probabilities and entropies of the tokens in ``mask``, given what stands to their left; with gradients.

        Args:
            tokens: ``[B, T]`` int64, padded on the right.
            mask: ``[B, T]`` bool, never True in the first column.
            network: a copy of :attr:`network` in its place.
            vocabulary_mean: also the mean log-probability of all tokens that can be written.
            support: the tokens among which the probabilities are made 1; the sampler ``nlpo`` alone gives it.

        Returns:
            ``[B, T]`` each, 0 outside the mask.
        """

    def predict(
        self,
        observation: Any,
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[Any, tuple[np.ndarray, ...] | None]:
        """Stable-Baselines3's: completes one text, or many."""

    def state_dict(self) -> Mapping[str, Any]:
        """Its weights as tensors by name, as checkpoints keep them."""

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Takes such weights."""


def check_model(model: Any) -> LanguageModel:
    """``model``, once it is known to have all that agents ask of it.

    Raises:
        TypeError: it lacks a member, which is named.
    """
    if model is None or isinstance(model, int | float | Sequence | Mapping):
        raise TypeError(
            f'policy is the name of one ("transformer-1m"), a file, or a language model, got {model!r:.100}'
        )
    lacking = _lacking(model, LanguageModel)
    if not lacking:
        lacking = [f"tokenizer.{name}" for name in _lacking(model.tokenizer, TextTokenizer)]
    if lacking:
        raise TypeError(
            f"a {type(model).__name__} is no policy of language agents, because it has no {' and no '.join(lacking)}: "
            f"see {LanguageModel.__module__}"
        )
    checked: LanguageModel = model
    return checked


def _lacking(thing: Any, protocol: type[Any]) -> list[str]:
    return [name for name in vars(protocol) if not name.startswith("_") and not hasattr(thing, name)]
