"""Tokens a second of sampling and of a GRPO update: python benchmarks/speed/generation.py [--repeats 3] [--batch 64].

The peers sample with the same number of parameters, batch, prompt and answer length, on one thread: HF ``generate`` (a
Llama of the same shape; stated as absent where transformers is not installed) and our network without a cache. Repeats
are interleaved, and a ratio is the median over repeats of the ratio within one.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from tiltyard.agents.language.generation import generate
from tiltyard.agents.language.policy import TextPolicy
from tiltyard.agents.language.tokenizer import END
from tiltyard.agents.language.transformer import SIZES

PROMPT, ANSWER = 20, 64


def ours(policy: TextPolicy, batch: int, *, groups: int, cached: bool = True) -> Callable[[], int]:
    """Samples ``batch`` answers to ``groups`` different prompts; returns the number of tokens."""
    rng = np.random.default_rng(0)
    prompts = [prompt for prompt in rng.integers(4, 100, (groups, PROMPT)) for _ in range(batch // groups)]
    network = policy.network
    network.forbidden[END] = -1e4  # every answer runs its full length, as in the peers

    def sample() -> int:
        if cached:
            return int(generate(network, prompts, max_new_tokens=ANSWER).length.sum())
        tokens = torch.from_numpy(np.stack(prompts))
        with torch.inference_mode():
            for _ in range(ANSWER):
                logits = network.logits(network(tokens)[:, -1])
                tokens = torch.cat([tokens, logits.softmax(-1).multinomial(1)], 1)
        return batch * ANSWER

    return sample


def update(policy: TextPolicy, batch: int) -> Callable[[], int]:
    """Forward, backward and step on ``batch`` answers; counts the tokens of prompts and answers."""
    from tiltyard.agents.language.update import imitation_step

    tokens = torch.randint(4, 100, (batch, PROMPT + ANSWER))
    mask = (torch.arange(PROMPT + ANSWER) >= PROMPT).expand(batch, -1)

    def step() -> int:
        imitation_step(policy, tokens, mask)
        return tokens.numel()

    return step


def hf(size: str, batch: int) -> Callable[[], int] | None:
    """HF ``generate`` on a Llama of the same shape, or None without transformers."""
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        return None
    shape = SIZES[size]
    config = LlamaConfig(
        vocab_size=100,
        hidden_size=shape["width"],
        intermediate_size=8 * round(shape["width"] / 3),
        num_hidden_layers=shape["depth"],
        num_attention_heads=shape["heads"],
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).eval()
    prompt = torch.randint(4, 100, (batch, PROMPT))

    def sample() -> int:
        with torch.inference_mode():
            out = model.generate(prompt, do_sample=True, min_new_tokens=ANSWER, max_new_tokens=ANSWER, pad_token_id=0)
        return int(out[:, PROMPT:].numel())

    return sample


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", choices=SIZES, default="transformer-1m")
    args = parser.parse_args()
    torch.set_num_threads(1)
    policy = TextPolicy(None, None, lambda _: 1e-4, size=args.size)  # type: ignore[arg-type]
    jobs: dict[str, Callable[[], int] | None] = {
        "HF generate": hf(args.size, args.batch),
        "ours": ours(policy, args.batch, groups=args.batch),
        "ours, groups of 8 answers": ours(policy, args.batch, groups=args.batch // 8),
        "ours without a cache": ours(policy, args.batch, groups=args.batch, cached=False),
        "ours, one update": update(policy, args.batch),
    }
    rates: dict[str, list[float]] = {name: [] for name, job in jobs.items() if job}
    for repeat in range(args.repeats + 1):
        for name, job in jobs.items():
            if job:
                start = time.perf_counter()
                tokens = job()
                if repeat > 0:  # the first round warms up
                    rates[name].append(tokens / (time.perf_counter() - start))
    table = Table("work", "tokens/s", "ratio to HF", title=f"{args.size}, batch {args.batch}, one thread")
    for name in jobs:
        if name not in rates:
            table.add_row(name, "absent: transformers is not installed", "-")
            continue
        peer = rates.get("HF generate")
        ratio = median(a / b for a, b in zip(rates[name], peer, strict=True)) if peer and "update" not in name else None
        table.add_row(name, f"{median(rates[name]):,.0f}", "-" if ratio is None else f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
