"""A small language model of English, by characters: pretrained on the documentation that comes with Python.

    model = english_model()  # the weights that are shipped
    python -m tiltyard.agents.models.english --out english.safetensors  # makes them again, in two minutes

The text is that of ``pydoc_data.topics`` (Python's language reference), which every installation has; it differs a
little between versions of Python, so that the weights are shipped beside the bases of :mod:`.pretrained`.
"""

import argparse
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from torch import Tensor
from torch.nn import functional as F

from ..optimizers import AdamW
from .pretrained import FOLDER
from .tokenizer import ALPHABET, Tokenizer
from .transformer import SIZES, Transformer

SIZE, HELD_OUT = "transformer-100k", 0.1
SHIPPED = FOLDER / "english.safetensors"


@lru_cache(maxsize=1)
def english_tokens() -> Tensor:
    """All of the text, ``[N]`` int64, of which the last tenth is held out; other characters are left out."""
    from pydoc_data.topics import topics

    known = set(ALPHABET)
    text = "".join(char for name in sorted(topics) for char in topics[name] if char in known)
    return torch.from_numpy(Tokenizer(tuple(ALPHABET)).encode(text))


def english_batch(
    size: int, length: int, *, held_out: bool = False, generator: torch.Generator | None = None
) -> Tensor:
    """Stretches of the text, ``[size, length]`` int64, drawn uniformly from what is held out or from the rest."""
    tokens = english_tokens()
    first = round((1 - HELD_OUT) * len(tokens))
    low, high = (first, len(tokens) - length) if held_out else (0, first - length)
    starts = torch.randint(low, high + 1, (size,), generator=generator)
    return tokens[starts[:, None] + torch.arange(length)]


def language_loss(model: Transformer, tokens: Tensor) -> Tensor:
    """Mean nats a character, of all but the first of stretches ``[B, T]``."""
    logits = model.logits(model(tokens[:, :-1]))
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def untrained_model() -> Transformer:
    """The network before it has read anything; of torch's generator."""
    return Transformer(Tokenizer(tuple(ALPHABET)).vocabulary_size, **SIZES[SIZE])


def english_model(file: str | Path = SHIPPED) -> Transformer:
    """The network with the weights of a file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file of something else.
    """
    model = untrained_model()
    try:
        weights = load_file(file)
        model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no language model {file}: give the path of one") from None
    except Exception as error:
        raise ValueError(f"{file} holds no language model of {SIZE} ({type(error).__name__})") from error
    return model


def pretrained(
    steps: int, *, seed: int = 0, batch_size: int = 16, length: int = 128, rate: float = 3e-3
) -> Transformer:
    """A network that has read that many batches, with a rate that rises over 100 of them and falls by a cosine."""
    torch.manual_seed(seed)
    model = untrained_model()
    optimizer = AdamW(model.parameters(), lr=rate)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = (
            rate * min(1.0, (step + 1) / 100) * (0.55 + 0.45 * math.cos(math.pi * step / steps))
        )
        loss = language_loss(model, english_batch(batch_size, length))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


@torch.no_grad()
def held_out_loss(model: Transformer, size: int = 64, length: int = 128) -> float:
    """Nats a character on the same held-out stretches each time; e to its power is the perplexity."""
    tokens = english_batch(size, length, held_out=True, generator=torch.Generator().manual_seed(0))
    return float(language_loss(model, tokens))


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the shipped weights."""
    parser = argparse.ArgumentParser(description="Pretrains the small language model of English that lamo begins from.")
    parser.add_argument("--out", type=Path, required=True, help="file of weights in half precision (.safetensors)")
    parser.add_argument("--steps", type=int, default=2000, help="batches that it reads (default: 2000)")
    asked = parser.parse_args(arguments)
    model = pretrained(asked.steps)
    weights = {name: weight.half().contiguous() for name, weight in model.state_dict().items()}
    asked.out.write_bytes(save(weights))
    print(f"perplexity a character on held-out text: {math.exp(held_out_loss(model)):.2f}")


if __name__ == "__main__":
    main()
