"""Any causal language model in Hugging Face's format as the network of a policy, whole or by LoRA: ``hf:<path>``.

Token numbers are shifted: a model's token i is i + 4 here, after the four marks that every tokenizer has, and ``END``
is the model's own end of text, or of a turn. So whatever reads tokens (masks, padding, rollouts) need not know which
network wrote.
"""

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn import functional as F

from ... import need
from ..archive import one_line
from .generation import BATCH_SIZE, Generated, Mask, allowing, check_sampling, choose
from .tokenizer import ANSWER, END, PAD, UNKNOWN, Tokens
from .transformer import FORBIDDEN

MARKS = 4
"""PAD, END, ANSWER and UNKNOWN come before the model's own tokens."""

ANSWERED = "<<what was answered>>"
"""Stands for a completion where a chat template is asked what follows it."""

LORA_PREFIX = "?lora="
"""``hf:<path>?lora=16`` trains adapters of rank 16 and leaves the model's weights alone."""


def parse(name: str) -> tuple[str, int]:
    """Path and LoRA rank (0: none) of a policy's name, ``hf:<path>`` or ``hf:<path>?lora=<rank>``.

    Raises:
        ValueError: no path, or a rank that is not a number from 1.
    """
    path, lora, rank = name.removeprefix("hf:").partition(LORA_PREFIX)
    if not path or (lora and (not rank.isdecimal() or int(rank) < 1)):
        raise ValueError(f"policy {name!r}: write hf:<path>, or hf:<path>?lora=<rank> with a rank from 1")
    return str(Path(path).expanduser()) if path.startswith("~") else path, int(rank or 0)


def _read_safely(kind: Any, path: str, **settings: Any) -> Any:
    """What lies at ``path``, without the Python code and the pickled weights that may lie there, too."""
    if path.startswith((".", "/", "~")) and not Path(path).is_dir():
        raise ValueError(f"there is no folder {path}: give the folder of a model, or its name on the Hub")
    try:
        return kind.from_pretrained(path, trust_remote_code=False, **settings)
    except (OSError, ValueError, SafetensorError) as error:
        raise ValueError(
            f"{path} cannot be read as a model without running code ({one_line(error)}): give a model of a kind that "
            "transformers knows, with weights in safetensors"
        ) from error


class HFTokenizer:
    """A model's own tokenizer, with this package's numbers and marks (see :class:`~.tokenizer.Tokenizer`).

    Args:
        path: folder of the model, or its name on the Hub.
    """

    def __init__(self, path: str) -> None:
        self.own = _read_safely(need("transformers", "hf").AutoTokenizer, path)
        if self.own.eos_token_id is None:
            raise ValueError(f"the tokenizer of {path} has no end-of-text token: completions could not end")
        self.pieces = tuple(self.own.convert_ids_to_tokens(list(range(len(self.own)))))
        self.vocabulary_size = MARKS + len(self.own)
        self.beginning = _beginning(self.own)
        self.end = int(self.own.eos_token_id)
        """The model's own token that ``END`` stands for."""

    def end_like(self, ends: Iterable[int]) -> None:
        """Has ``END`` stand for what a chat template writes after an answer, if that is among ``ends``.

        Chat models such as Gemma end a turn by another token than that of the end of a text.

        Args:
            ends: tokens at which the model itself stops.
        """
        first = self.own.encode(self._after_an_answer("?")[1], add_special_tokens=False)[:1]
        self.end = first[0] if self.own.chat_template and first and first[0] in ends else self.end

    def encode(self, text: str) -> Tokens:
        """Tokens of ``text``, without marks."""
        return np.array(self.own.encode(text, add_special_tokens=False), np.int64) + MARKS

    def decode(self, tokens: Iterable[int]) -> str:
        """The text of ``tokens``; marks and the model's own special tokens vanish."""
        text: str = self.own.decode([token - MARKS for token in tokens if token >= MARKS], skip_special_tokens=True)
        return text

    def prompt(self, question: str, completion_start: str = "") -> Tokens:
        """What the network reads before it writes: the chat template's user turn, or the question and a line's end.

        A chat template says itself how a text begins; without one, it begins as the model's tokenizer has it, such as
        with a token for beginnings of texts.
        """
        if self.own.chat_template:
            return self.encode(self._chat(("user", question)) + completion_start)
        return np.concatenate([self.beginning, self.encode(f"{question}\n{completion_start}")])

    def message(self, written: Tokens, message: str) -> Tokens:
        """What the network reads between two turns: an ``END`` if it wrote none, then the next turn as in a chat."""
        end = [] if len(written) and written[-1] == END else [END]
        if self.own.chat_template:
            answered, after = self._after_an_answer(message)
            if not answered:
                raise ValueError("the chat template leaves out what was answered before: it is of no use for dialogues")
            text = after.removeprefix(self.own.convert_ids_to_tokens(self.end))
        else:
            text = f"\n{message}\n"
        return np.concatenate([np.array(end, np.int64), self.encode(text)])

    def _after_an_answer(self, message: str) -> tuple[bool, str]:
        """Whether a chat shows an answer at all, and what stands after it up to the answer to ``message``."""
        if not self.own.chat_template:
            return False, ""
        whole = self._chat(("user", "?"), ("assistant", ANSWERED), ("user", message))
        _, answered, after = whole.partition(ANSWERED)
        return bool(answered), after

    def _chat(self, *turns: tuple[str, str]) -> str:
        said = [{"role": role, "content": content} for role, content in turns]
        text: str = self.own.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        return text


def _beginning(own: Any) -> Tokens:
    """What a tokenizer puts before every text, as tokens of this package."""
    bare, whole = (own.encode("a", add_special_tokens=special) for special in (False, True))
    put = [n for n in range(len(whole) - len(bare) + 1) if whole[n : n + len(bare)] == bare]
    return np.array(whole[: put[0]] if put else [], np.int64) + MARKS


class HFNetwork(nn.Module):
    """A causal language model that maps tokens to hidden states, and these to logits.

    Args:
        path: folder of the model, or its name on the Hub.
        tokenizer: of the same path.
        lora: rank of the adapters that are trained in place of the model (0: the model itself is trained).

    Raises:
        ValueError: a model whose logits are more than a linear map of its last hidden states, or that embeds fewer
            tokens than its tokenizer has.
    """

    longest: int | None
    """Tokens that the model reads at most; None where its configuration does not say."""

    def __init__(self, path: str, tokenizer: HFTokenizer, *, lora: int = 0) -> None:
        super().__init__()
        kind = need("transformers", "hf").AutoModelForCausalLM
        model = _read_safely(kind, path, dtype=torch.float32, use_safetensors=True).eval()
        self.decoder = model.base_model
        head = model.get_output_embeddings()
        self.head = None if head.weight is self.embedding.weight else head  # a tied head would be stored twice
        known, self.width = self.embedding.weight.shape
        if known < len(tokenizer.own):
            raise ValueError(
                f"the tokenizer of {path} has {len(tokenizer.own)} tokens and the model knows {known}: they do not "
                "belong together"
            )
        limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        self.longest = limit if isinstance(limit, int) and limit > 0 else None
        names = inspect.signature(self.decoder.forward).parameters
        self.cache_name = "cache" if "cache" in names else "past_key_values"  # as older ones call it
        ids = torch.arange(-MARKS, len(tokenizer.own))
        line = int(tokenizer.encode("\n")[-1]) - MARKS
        ends = model.generation_config.eos_token_id if model.generation_config is not None else None
        tokenizer.end_like([ends] if isinstance(ends, int) else ends or [])
        eos = tokenizer.end
        for mark, own in ((PAD, eos), (END, eos), (ANSWER, line), (UNKNOWN, eos)):
            ids[mark] = own
        forbidden = torch.zeros(len(ids))
        forbidden[[PAD, ANSWER, UNKNOWN, MARKS + eos]] = FORBIDDEN  # the end is written as END alone
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("forbidden", forbidden, persistent=False)
        self.ids: Tensor
        self.forbidden: Tensor
        self._check(model, path)
        if lora:
            peft = need("peft", "hf")
            config = peft.LoraConfig(r=lora, lora_alpha=2 * lora, target_modules="all-linear")
            self.requires_grad_(False)
            self.decoder = peft.inject_adapter_in_model(config, self.decoder)

    @torch.no_grad()
    def _check(self, model: Any, path: str) -> None:
        probe = torch.arange(MARKS, min(MARKS + 8, len(self.ids)))[None]
        given, own = self.logits(self(probe)) - self.forbidden, model(self.ids[probe]).logits[..., self.ids]
        if not torch.allclose(given, own, atol=1e-3, rtol=1e-3):
            raise ValueError(f"the logits of {path} are not a linear map of its last hidden states: not supported")

    @property
    def embedding(self) -> nn.Embedding:
        """Of the model's own tokens."""
        embedding: nn.Embedding = self.decoder.get_input_embeddings()
        return embedding

    def train(self, mode: bool = True) -> "HFNetwork":
        """Leaves the model as it samples: with dropout the trainer's log-probabilities would be other ones."""
        super().train(mode)
        self.decoder.eval()
        return self

    def forward(self, tokens: Tensor) -> Tensor:
        """Hidden states ``[B, T, width]`` of ``tokens`` ``[B, T]`` (int64), padded on the right."""
        hidden: Tensor = self.decoder(input_ids=self.ids[tokens], use_cache=False).last_hidden_state
        return hidden

    def continuations(self, prefixes: Tensor, lengths: Tensor, row: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """What :meth:`.transformer.Transformer.continuations` says; each continuation reads its prefix anew."""
        own = torch.arange(tokens.shape[1], device=tokens.device)
        places = lengths[:, None] + own
        whole = F.pad(prefixes[row], (0, tokens.shape[1]), value=PAD).scatter(1, places, tokens)
        hidden = self(whole)
        return self(prefixes), hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))

    def logits(self, hidden: Tensor) -> Tensor:
        """Next-token logits ``[..., vocabulary]``; marks other than END are out of reach."""
        own = F.linear(hidden, self.embedding.weight) if self.head is None else self.head(hidden)
        return own.index_select(-1, self.ids) + self.forbidden


@torch.inference_mode()
def generate_with(
    network: HFNetwork,
    prompts: Sequence[Tokens],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    batch_size: int = BATCH_SIZE,
    mask: Mask | None = None,
) -> Generated:
    """:func:`~.generation.generate` by a model's own cache: ``batch_size`` completions at once, ended ones dropped.

    Arguments, results and draws are those of :func:`~.generation.generate`.
    """
    check_sampling(max_new_tokens, temperature, top_k, top_p, batch_size)
    device = network.ids.device
    shape = (len(prompts), max_new_tokens)
    draws = torch.rand(shape, dtype=torch.float64, generator=generator, device=device)
    tokens = torch.full(shape, PAD, device=device)
    logp, entropy, drawn = torch.zeros(3, *shape, device=device)
    allow = allowing(mask, network.forbidden, prompts)
    for start in range(0, len(prompts), batch_size):
        completion = torch.arange(start, min(start + batch_size, len(prompts)), device=device)
        hidden, cache, seen = _read(network, [prompts[i] for i in completion.tolist()])
        for n in range(max_new_tokens):
            chosen, logp[completion, n], entropy[completion, n], drawn[completion, n] = choose(
                network.logits(hidden),
                draws[completion, n],
                temperature=temperature,
                top_k=top_k,
                top_p=top_p,
                allowed=None if allow is None else allow(completion, tokens[completion]),
            )
            tokens[completion, n] = chosen
            alive = (chosen != END).nonzero()[:, 0]
            if len(alive) == 0 or n + 1 == max_new_tokens:
                break
            if len(alive) < len(completion):
                cache.batch_select_indices(alive)
                completion, chosen, seen = completion[alive], chosen[alive], seen[alive]
            seen = F.pad(seen, (0, 1), value=1)
            out = network.decoder(
                input_ids=network.ids[chosen][:, None],
                attention_mask=seen,
                position_ids=seen.sum(1, keepdim=True) - 1,
                use_cache=True,
                **{network.cache_name: cache},
            )
            hidden = out.last_hidden_state[:, -1]
    length = (tokens != PAD).sum(1)
    longest = int(length.max())
    return Generated(tokens[:, :longest], logp[:, :longest], entropy[:, :longest], length, drawn[:, :longest])


def _read(network: HFNetwork, prompts: Sequence[Tokens]) -> tuple[Tensor, Any, Tensor]:
    """Runs distinct prompts once, padded on the left: last hidden states, the cache, and which columns hold tokens."""
    number: dict[bytes, int] = {}
    rows = torch.tensor([number.setdefault(prompt.tobytes(), len(number)) for prompt in prompts])
    distinct = [np.frombuffer(key, np.int64) for key in number]
    if not all(map(len, distinct)):
        raise ValueError("a prompt holds at least one token")
    longest = max(map(len, distinct))
    batch, seen = np.full((len(distinct), longest), PAD, np.int64), np.zeros((len(distinct), longest), np.int64)
    for i, prompt in enumerate(distinct):
        batch[i, longest - len(prompt) :], seen[i, longest - len(prompt) :] = prompt, 1
    columns, device = torch.from_numpy(seen).to(network.ids.device), network.ids.device
    out = network.decoder(
        input_ids=network.ids[torch.from_numpy(batch).to(device)],
        attention_mask=columns,
        position_ids=(columns.cumsum(1) - 1).clamp(min=0),
        use_cache=True,
    )
    rows = rows.to(device)
    cache = out[network.cache_name]
    cache.batch_select_indices(rows)
    return out.last_hidden_state[rows, -1], cache, columns[rows]
