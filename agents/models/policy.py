"""The policy of language agents: a transformer, its tokenizer and its optimiser, with SB3's ``predict`` on strings."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from gymnasium.spaces import Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor

from ... import unknown
from ..optimizers import AdamW
from .dialogues import Dialogues
from .generation import Generated, Mask, generate
from .hf import HFNetwork, HFTokenizer, generate_with, parse
from .outputs import PolicyOut, Support
from .sharing import hidden_before
from .tokenizer import PIECES, Tokenizer, Tokens
from .transformer import FORBIDDEN, SIZES, Transformer


class TextPolicy(BasePolicy):
    """Reads a question, writes a completion.

    Args:
        observation_space: a ``Text`` space.
        action_space: a ``Text`` space.
        lr_schedule: learning rate by remaining progress (1 to 0).
        size: a name of :data:`~tiltyard.agents.models.transformer.SIZES`, or ``hf:<path>`` (with LoRA
            ``hf:<path>?lora=<rank>``) for a causal language model in Hugging Face's format.
        temperature: of sampling, and of the distribution that is trained.
        top_k: sample among the k likeliest tokens only (0: all).
        top_p: sample among the likeliest tokens of this total probability (1: all).
        max_answer_tokens: a completion ends here at the latest.
        context_length: tokens that a prompt, or a whole episode of several turns, may have with its answer; at most
            as many as a model of Hugging Face's says that it reads.
        pieces: of the tokenizer; a model of Hugging Face has its own.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        size: str = "transformer-1m",
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        max_answer_tokens: int = 128,
        context_length: int = 4096,
        pieces: Sequence[str] = PIECES,
    ) -> None:
        super().__init__(observation_space, action_space)
        self.tokenizer, self.network = _build(size, pieces)
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.max_answer_tokens, self.context_length = max_answer_tokens, context_length
        if isinstance(self.network, HFNetwork) and self.network.longest is not None:
            self.context_length = min(context_length, self.network.longest)
        if max_answer_tokens >= self.context_length:
            raise ValueError(
                f"completions of {max_answer_tokens} tokens (max_answer_tokens) leave no room for a prompt in a "
                f"context of {self.context_length}: {self._more_room()}, or write less"
            )
        self.optimizer = AdamW(
            [p for p in self.network.parameters() if p.requires_grad],
            lr=lr_schedule(1),
            betas=(0.9, 0.98),
            weight_decay=0.0,
            fused=True,
        )
        self.generator: torch.Generator | None = None
        self.asked: torch.Generator | None = None  # of predict: whoever asks changes nothing of what is learnt
        text = "\0".join(self.tokenizer.pieces).encode()
        self.register_buffer("pieces", torch.tensor(list(text), dtype=torch.uint8))  # stored beside the weights

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Loads weights, after checking that they were trained on this policy's tokens and are those of its network.

        Raises:
            ValueError: other tokens (every number of the network would mean something else) or another network; nothing
                has been loaded.
        """
        self.check_tokens(state_dict)
        if strict:
            _check_shapes(self.state_dict(), state_dict)
        return super().load_state_dict(state_dict, strict, assign)

    def check_tokens(self, state_dict: Mapping[str, Any]) -> None:
        """Raises ``ValueError`` for weights that were trained on other tokens than this policy's."""
        if pieces_of(state_dict) != self.tokenizer.pieces:
            raise ValueError(
                "these weights were trained on other tokens: name the checkpoint or base itself (load, or policy=), "
                "which brings its tokens, or build the policy with its pieces="
            )

    def reseed(self, seed: int) -> None:
        """Makes the draws of this policy repeatable, whatever else draws random numbers.

        What learning samples and what :meth:`predict` samples are streams of their own, so that an evaluation on the
        way leaves what is learnt as it was.
        """
        self.generator = torch.Generator(self.device).manual_seed(seed)
        self.asked = torch.Generator(self.device).manual_seed(seed)

    def dialogues(self, prompts: Sequence[Tokens]) -> Dialogues | None:
        """Remembers episodes that begin with ``prompts`` from one :meth:`write` to the next (None: it cannot)."""
        return None if isinstance(self.network, HFNetwork) else Dialogues(self.network, prompts)

    def write(
        self,
        prompts: Sequence[Tokens],
        *,
        deterministic: bool = False,
        temperature: float | None = None,
        dialogues: Dialogues | None = None,
        episodes: Sequence[int] = (),
        generator: torch.Generator | None = None,
        mask: Mask | None = None,
        max_new_tokens: int | None = None,
    ) -> Generated:
        """Completes token prompts (see :meth:`Tokenizer.prompt`).

        Args:
            prompts: a prompt or a whole history each.
            deterministic: write the likeliest tokens.
            temperature: of sampling (None: the policy's).
            dialogues: knows most of these histories already.
            episodes: their numbers in ``dialogues``.
            generator: source of randomness (None: the policy's own).
            mask: says before each token which ones may be written (None: all).
            max_new_tokens: at most so many tokens a completion (None: ``max_answer_tokens``).

        Raises:
            ValueError: a prompt that leaves no room for a completion (nothing has been written), or a mask that allows
                no token.
        """
        longest, new = max(map(len, prompts)), max_new_tokens or self.max_answer_tokens
        if longest + new > self.context_length:
            raise ValueError(
                f"a prompt of {longest} tokens and a completion of {new} do not fit the context "
                f"of {self.context_length}: {self._more_room()}, or choose a lower level of the environment"
            )
        whole: Callable[..., Generated] = generate_with if isinstance(self.network, HFNetwork) else generate
        make = partial(whole, self.network) if dialogues is None else partial(dialogues.generate, episodes)
        return make(
            prompts,
            max_new_tokens=new,
            temperature=0.0 if deterministic else self.temperature if temperature is None else temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            generator=generator or self.generator,
            mask=mask,
        )

    def _more_room(self) -> str:
        limit = self.network.longest if isinstance(self.network, HFNetwork) else None
        return "raise context_length" if self.context_length != limit else "take a model that reads more"

    def texts(self, generated: Generated) -> list[str]:
        """The strings that were written."""
        return [self.tokenizer.decode(row) for row in generated.tokens.tolist()]

    def predict(
        self,
        observation: Any,
        state: tuple[np.ndarray, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[Any, tuple[np.ndarray, ...] | None]:
        """Completes a question (``str`` to ``str``) or many (list, tuple or array ``[n]`` to object array ``[n]``).

        Environments of several turns show their new message alone: give ``episode_start`` as SB3's recurrent policies
        want it, and hand ``state`` back in the next call. It holds the tokens of each environment's episode so far.

        Args:
            observation: what the environment shows.
            state: what the last call returned (None: all episodes begin).
            episode_start: which environments' episodes begin, bool ``[n]``.
            deterministic: write the likeliest tokens.

        Returns:
            The completions, and the next state (None where neither ``state`` nor ``episode_start`` was given).

        Raises:
            TypeError: an observation that is not text.
            ValueError: a state or ``episode_start`` of another number of episodes.
        """
        alone = isinstance(observation, str)
        many = isinstance(observation, list | tuple) or (isinstance(observation, np.ndarray) and observation.ndim > 0)
        questions = list(observation) if many else [observation]
        for question in questions:
            if not isinstance(question, str):
                raise TypeError(f"a language agent completes strings, got {type(question).__name__}")
        if not questions:
            return np.empty(0, dtype=object), state
        self.set_training_mode(False)
        remembers = state is not None or episode_start is not None
        prompts = self._continued(questions, state, episode_start)
        written = self.write(prompts, deterministic=deterministic, generator=self.asked)
        completions = self.texts(written)
        if remembers:
            state = (np.empty(len(questions), dtype=object),)
            for i, prompt in enumerate(prompts):
                state[0][i] = np.concatenate([prompt, written.tokens[i, : int(written.length[i])].cpu().numpy()])
        return (completions[0] if alone else np.array(completions, dtype=object)), state

    def _continued(
        self, observations: Sequence[str], state: tuple[np.ndarray, ...] | None, episode_start: np.ndarray | None
    ) -> list[Tokens]:
        """The tokens of each environment's episode, up to what it is to write now."""
        if state is None:
            return [self.tokenizer.prompt(question) for question in observations]
        begins = np.zeros(len(observations), np.bool_) if episode_start is None else np.ravel(episode_start)
        if not len(observations) == len(begins) == len(state[0]):
            raise ValueError(
                f"{len(observations)} observations need a state and an episode_start of as many episodes, got "
                f"{len(state[0])} and {len(begins)}"
            )
        return [
            self.tokenizer.prompt(said) if new else np.concatenate([history, self.tokenizer.message(history, said)])
            for said, new, history in zip(observations, begins, state[0], strict=True)
        ]

    def evaluate(
        self,
        tokens: Tensor,
        mask: Tensor,
        network: Transformer | None = None,
        *,
        vocabulary_mean: bool = False,
        support: Support | None = None,
    ) -> PolicyOut:
        """Log-probabilities and entropies of the tokens in ``mask``, given what stands to their left; with gradients.

        Args:
            tokens: ``[B, T]`` int64, padded on the right.
            mask: ``[B, T]`` bool, never True in the first column.
            network: another one than the policy's own.
            vocabulary_mean: also the mean log-probability of all tokens that can be written, by the whole policy.
            support: the tokens among which the probabilities are made 1 (None: all).

        Returns:
            ``[B, T]`` each, 0 outside the mask.
        """
        network = self.network if network is None else network
        logits = network.logits(hidden_before(network, tokens, mask)) / self.temperature
        among = logits if support is None else logits.masked_fill(~support(tokens, mask), FORBIDDEN)
        logps = torch.log_softmax(among, dim=-1)
        rows, columns = mask.nonzero(as_tuple=True)
        logp, entropy = (torch.zeros(mask.shape, dtype=logps.dtype, device=logps.device) for _ in range(2))
        logp = logp.index_put((rows, columns), logps.gather(-1, tokens[mask][:, None])[:, 0])
        entropy = entropy.index_put((rows, columns), -(logps.exp() * logps).sum(-1))
        if not vocabulary_mean:
            return PolicyOut(logp, entropy)
        whole = logps if support is None else torch.log_softmax(logits, dim=-1)
        mean = whole.detach()[:, network.forbidden == 0].mean(-1)
        return PolicyOut(logp, entropy, torch.zeros_like(logp).index_put((rows, columns), mean))

    def forward(self, tokens: Tensor, mask: Tensor) -> PolicyOut:
        """See :meth:`evaluate`."""
        return self.evaluate(tokens, mask)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        raise TypeError("a language policy acts in strings: call predict")

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {"pieces": self.tokenizer.pieces}


def pieces_of(state: Mapping[str, Tensor]) -> tuple[str, ...]:
    """The texts of the tokens that stored weights were trained on; none, if it is not said."""
    return tuple(bytes(state["pieces"].tolist()).decode().split("\0")) if "pieces" in state else ()


def _check_shapes(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> None:
    """Refuses other weights than a network has, before some of them are loaded."""
    for name in [*own, *given]:
        here, there = (tuple(state[name].shape) if name in state else "missing" for state in (own, given))
        if here != there:
            raise ValueError(f"these weights are of another network: {name} is {there} there, and here {here}")


def _build(size: str, pieces: Sequence[str]) -> tuple[Tokenizer, Transformer]:
    """Tokenizer and network by name; those of Hugging Face have what a policy and a trainer use of ours."""
    if size.startswith("hf:"):
        path, lora = parse(size)
        tokenizer = HFTokenizer(path)
        return cast(Tokenizer, tokenizer), cast(Transformer, HFNetwork(path, tokenizer, lora=lora))
    if size not in SIZES:
        raise ValueError(unknown("policy", size, SIZES))
    made = Tokenizer(pieces)
    return made, Transformer(made.vocabulary_size, **SIZES[size])
