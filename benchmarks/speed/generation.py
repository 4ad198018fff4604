"""Tokens a second of sampling, beside Hugging Face ``generate``.

    python benchmarks/speed/generation.py [--repeats 3]
    python benchmarks/speed/generation.py --out docs/results/generation-speed [--page]

The peer is a ``LlamaForCausalLM`` with the same weights, and it is checked that both compute the same logits. It
answers the same prompts batch after batch; ours takes them as one queue, with as many sequences as the peer's batch (at
most its default, 128). Completions end where the network writes END, or after 128 tokens; useful tokens are those up to
END. The limit is the time of the matrix products of these tokens alone (PyTorch's, of the sequences' size, without any
reading of prompts), in tokens a second. In groups of 8, as in training, a prompt is read once by ours and 8 times by
the peer.

One thread, and its CPU time: what else the machine does is not counted. Repeats are interleaved, and a ratio is the
median over repeats of the ratio within one. The peer needs transformers; where it is not installed the script says how
to put it into an environment of its own. ``--out`` keeps all rates, and a page of them, in a folder.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from tiltyard.agents.models.generation import BATCH_SIZE, generate
from tiltyard.agents.models.policy import TextPolicy
from tiltyard.agents.models.tokenizer import END, Tokens
from tiltyard.agents.models.transformer import SIZES, Transformer
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.studies._study import keep, write_again

PROMPT, ANSWER = 20, 128
END_SCALE = 2.75
"""END's embedding is so many times as long as others: its probability differs from text to text, as do lengths."""

HEADS = ("batch", "HF generate", "ours", "ratio", "ours, groups of 8", "ratio", "matrix products alone")
HOW = """transformers is not installed: without it there is no peer. To have one, beside the packages that are here:
  python -m venv --system-site-packages peer && peer/bin/pip install transformers && peer/bin/python {script}"""


def network_of(size: str) -> Transformer:
    """Random weights, completions of various lengths."""
    torch.manual_seed(0)
    network: Transformer = TextPolicy(None, None, lambda _: 1e-4, size=size).network  # type: ignore[arg-type]
    with torch.no_grad():
        network.embedding.weight[END] *= END_SCALE
    network.forbidden.zero_()  # the peer forbids nothing
    return network


def llama(network: Transformer, size: str) -> Any:
    """The same network as a ``LlamaForCausalLM``, or None without transformers."""
    try:
        from transformers import LlamaConfig, LlamaForCausalLM
    except ImportError:
        return None
    vocabulary, width = network.embedding.weight.shape
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=network.layers[0].down.in_features,
            num_hidden_layers=SIZES[size]["depth"],
            num_attention_heads=SIZES[size]["heads"],
            tie_word_embeddings=True,
            rms_norm_eps=1e-6,
            pad_token_id=0,
            bos_token_id=None,
            eos_token_id=END,
        )
    ).eval()
    state = {"model.embed_tokens.weight": network.embedding.weight, "model.norm.weight": network.norm.weight}
    for i, block in enumerate(network.layers):
        q, k, v = block.qkv.weight.chunk(3)
        gate, up = block.up.weight.chunk(2)
        parts = {
            "input_layernorm": block.norm_1.weight,
            "post_attention_layernorm": block.norm_2.weight,
            "self_attn.q_proj": q,
            "self_attn.k_proj": k,
            "self_attn.v_proj": v,
            "self_attn.o_proj": block.out.weight,
            "mlp.gate_proj": gate,
            "mlp.up_proj": up,
            "mlp.down_proj": block.down.weight,
        }
        state |= {f"model.layers.{i}.{name}.weight": weight for name, weight in parts.items()}
    model.load_state_dict(state | {"lm_head.weight": network.embedding.weight})
    tokens = torch.randint(4, 100, (3, 30))
    with torch.inference_mode():
        torch.testing.assert_close(model(tokens).logits, network.logits(network(tokens)), atol=1e-4, rtol=1e-4)
    return model


def ours(network: Transformer, prompts: list[Tokens], batch_size: int) -> Callable[[], int]:
    """Completions ``prompts``; returns the number of tokens."""
    return lambda: int(
        generate(network, prompts, max_new_tokens=ANSWER, batch_size=min(batch_size, BATCH_SIZE)).length.sum()
    )


def theirs(model: Any, prompts: list[Tokens], batch: int) -> Callable[[], int]:
    """The same by Hugging Face ``generate``."""
    batches = torch.split(torch.from_numpy(np.stack(prompts)), batch)

    def sample() -> int:
        useful = 0
        for tokens in batches:
            with torch.inference_mode():
                out = model.generate(
                    tokens, attention_mask=torch.ones_like(tokens), do_sample=True, top_k=0, max_new_tokens=ANSWER
                )[:, PROMPT:]
            useful += int(((out == END).cumsum(1) - (out == END).int() == 0).sum())
        return useful

    return sample


def products(network: Transformer, batch_size: int) -> Callable[[], int]:
    """The matrix products of 20 tokens per sequence, and nothing else."""
    weights = [w for b in network.layers for w in (b.qkv.weight, b.out.weight, b.up.weight, b.down.weight)]
    pairs = [(torch.randn(batch_size, w.shape[1]), w.t()) for w in [*weights, network.embedding.weight]]

    def multiply() -> int:
        with torch.inference_mode():
            for _ in range(20):
                for x, w in pairs:
                    torch.mm(x, w)
        return 20 * batch_size

    return multiply


def measure(jobs: dict[str, Callable[[], int]], repeats: int) -> dict[str, list[float]]:
    """Tokens per second of CPU time of each job, in interleaved repeats after one that warms up."""
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    for repeat in range(repeats + 1):
        for name, job in jobs.items():
            start = time.process_time()
            tokens = job()
            if repeat > 0:
                rates[name].append(tokens / (time.process_time() - start))
    return rates


def measured(size: str, batches: Sequence[int], queue: int, repeats: int) -> dict[str, Any]:
    """Rates of every contender at every batch size, and what was sampled; without the peer where it cannot be had."""
    network = network_of(size)
    model = llama(network, size)
    rates = []
    for batch in batches:
        n = max(8, batch * queue)
        rng = np.random.default_rng(0)
        distinct = list(rng.integers(4, 100, (n, PROMPT)))
        grouped = [distinct[i // 8] for i in range(n)]
        jobs = {"ours": ours(network, distinct, batch), "groups": ours(network, grouped, batch)}
        jobs |= {"limit": products(network, min(batch, BATCH_SIZE))}
        jobs |= {"peer": theirs(model, distinct, batch)} if model else {}
        rates.append({"batch": batch, **measure(jobs, repeats)})
    length = float(generate(network, distinct, max_new_tokens=ANSWER).length.float().mean())
    told = {"size": size, "queue": queue, "repeats": repeats, "prompt": PROMPT, "longest": ANSWER, "length": length}
    return {**told, "transformers": version("transformers") if model else None, "rates": rates}


def cells(rates: Mapping[str, Any]) -> list[str]:
    """A row of the table: medians, and the median ratio to the peer within a repeat."""

    def rate(name: str) -> str:
        return f"{median(rates[name]):,.0f}" if name in rates else "-"

    ours = [rate("ours"), ratio(rates, "ours"), rate("groups"), ratio(rates, "groups")]
    return [str(rates["batch"]), rate("peer"), *ours, rate("limit")]


def ratio(rates: Mapping[str, Any], name: str) -> str:
    """The median over repeats of the ratio to the peer."""
    return f"{median(a / b for a, b in zip(rates[name], rates['peer'], strict=True)):.1f}" if "peer" in rates else "-"


def page(found: Mapping[str, Any]) -> str:
    """The page of ``results.json``."""
    rows = {rates["batch"]: cells(rates) for rates in found["rates"]}
    ratios = {batch: (row[3], row[5]) for batch, row in rows.items()}
    return render("generation_speed.md.jinja", **{**found, "heads": HEADS, "rows": rows, "ratios": ratios})


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16, 64, 256])
    parser.add_argument("--queue", type=int, default=4, help="batches of completions (at least 8 completions)")
    parser.add_argument("--size", choices=SIZES, default="transformer-1m")
    parser.add_argument("--out", type=Path, help="keep results.json and a page of it in this folder")
    parser.add_argument("--page", action="store_true", help="write the page again, from results.json in --out")
    args = parser.parse_args()
    if args.page:
        if args.out is None:
            parser.error("--page needs --out")
        write_again(args.out, page)
        return
    torch.set_num_threads(1)
    found = measured(args.size, args.batch, args.queue, args.repeats)
    table = Table(*HEADS, title=f"useful tokens/s, {args.size}, one thread")
    for rates in found["rates"]:
        table.add_row(*cells(rates))
    Console().print(table)
    if found["transformers"] is None:
        Console().print(HOW.format(script=parser.prog), markup=False)
        if args.out:
            raise SystemExit(f"nothing was written to {args.out}: its page is of ratios to the peer")
    elif args.out:
        keep(args.out, found, page)


if __name__ == "__main__":
    main()
