"""Do the fifth of all tokens with the highest entropy carry what a policy gradient teaches?

An answer has 25 tokens of an alphabet of four. Five of them are forks: which token is right hangs on the problem. The
other twenty only copy, the same for all problems. An answer is right if every token is. A small network with one hidden
layer, shared by all places, is first taught as a language model would be, by likelihood, from writers who take a fork
rightly about two times in three and slip in one copied token of a hundred; then it learns from rewards of 0 and 1. Its
success is computed exactly, on problems that were in neither.

All arms are the catalogue's ``forking-tokens-80-20``, which differ in the tokens that learn:

* ``top 20%``: as in its row, by entropy;
* ``all``: ``share=1``, DAPO's objective;
* ``bottom 80%``: ``share=0.8``, and the method is told the negative of the entropies;
* ``random 20%``: as in its row, and the method is told random numbers.

Each arm has the best of three learning rates by its score on other worlds. The claim has two parts, and the effect is
the smaller: the lead of ``top 20%`` over ``all`` plus 2 points ("maintaining performance"), and its lead over ``bottom
80%``. ``details`` says how often the chosen tokens are the forks, and how much of the gain random tokens bring.
"""

from dataclasses import asdict, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ...agents.language.rollouts import PolicyOut, Rollouts
from ...agents.objectives.registry import load
from .comparisons import Arm, Course, best_rates, interval, report, summary, weakest
from .harness import Claim, Measurement

CLAIM = Claim(
    handle="forking-tokens-80-20",
    sentence="Policy gradients of the 20% of tokens with the highest entropy alone maintain the performance of all "
    "tokens', while the other 80% alone are much worse (Wang et al. 2025, abstract)",
    effect="the smaller of: held-out success of the top 20% minus all tokens', plus 0.02, and minus the bottom 80%'s",
)

SEEDS, TUNING_SEEDS = 12, 2
PLACES, FORKS, TOKENS = 25, 5, 4
TRAINED, HELD_OUT, WIDTH, HIDDEN = 256, 128, 8, 32
TAUGHT, TAUGHT_AT_ONCE = 400, 64  # gradient steps of likelihood, and problems in each
SURENESS, SLIP = 2.0, 0.01
PROMPTS, GROUP, ITERATIONS, EVERY = 8, 8, 100, 10
RATES = (0.003, 0.01, 0.03)
ARMS = {"top 20%": 0.2, "all": 1.0, "bottom 80%": 0.8, "random 20%": 0.2}


class World(NamedTuple):
    """N problems, the first ``TRAINED`` to learn from, and a network that has been taught to answer them."""

    features: Tensor  # [N, WIDTH]
    right: Tensor  # [N, PLACES] tokens
    fork: Tensor  # [PLACES] bool
    base: "Writer"


class Writer(nn.Module):
    """``self(features)`` is the log-probability of every token at every place, ``[n, PLACES, TOKENS]``."""

    def __init__(self, generator: th.Generator) -> None:
        super().__init__()
        sizes = {
            "problem": (WIDTH, HIDDEN),
            "place": (PLACES, HIDDEN),
            "gate": (PLACES, HIDDEN),
            "out": (HIDDEN, TOKENS),
        }
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(th.randn(*size, generator=generator) / np.sqrt(WIDTH)) for name, size in sizes.items()}
        )

    def forward(self, features: Tensor) -> Tensor:
        """See the class."""
        w = self.weights
        hidden = (features @ w["problem"])[:, None] * w["gate"] + w["place"]
        logps: Tensor = (hidden.tanh() @ w["out"]).log_softmax(-1)
        return logps


@lru_cache(maxsize=64)
def draw_world(seed: int) -> World:
    """A world and its base, the same for all arms."""
    rng, generator = np.random.default_rng([2506, seed]), th.Generator().manual_seed(seed)
    n = TRAINED + HELD_OUT
    features = th.from_numpy(rng.normal(size=(n, WIDTH))).float()
    fork = th.zeros(PLACES, dtype=th.bool)
    fork[rng.permutation(PLACES)[:FORKS]] = True
    liked = th.einsum("nf,fpt->npt", features, th.from_numpy(rng.normal(size=(WIDTH, PLACES, TOKENS))).float())
    copied = th.arange(PLACES) % TOKENS
    right = th.where(fork, liked.argmax(-1), copied)
    slips = F.one_hot(copied, TOKENS) * (1 - SLIP * TOKENS / (TOKENS - 1)) + SLIP / (TOKENS - 1)
    written = th.where(fork[:, None], (SURENESS * liked / np.sqrt(WIDTH)).softmax(-1), slips)
    base = Writer(generator)
    optimizer = th.optim.Adam(base.parameters(), lr=0.03)
    for _ in range(TAUGHT):
        few = th.randperm(TRAINED, generator=generator)[:TAUGHT_AT_ONCE]
        taught = base(features[few]).flatten(0, 1)
        optimizer.zero_grad()
        F.kl_div(taught, written[few].flatten(0, 1), reduction="batchmean").backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return World(features, right, fork, base)


def told(arm: str, entropy: Tensor, generator: th.Generator) -> Tensor:
    """What an arm's method is told that the entropies ``[B, PLACES]`` are."""
    if arm == "random 20%":
        return th.rand(entropy.shape, generator=generator)
    return -entropy if arm == "bottom 80%" else entropy


@th.no_grad()
def answer(world: World, writer: Writer, generator: th.Generator) -> Rollouts:
    """A group of answers to each of some problems, as objectives read them."""
    problem = th.randperm(TRAINED, generator=generator)[:PROMPTS].repeat_interleave(GROUP)
    logps = writer(world.features[problem])
    tokens = th.multinomial(logps.exp().flatten(0, 1), 1, generator=generator).view(-1, PLACES)
    right = (tokens == world.right[problem]).all(1)
    return Rollouts(
        tokens=tokens,
        mask=th.ones_like(tokens, dtype=th.bool),
        logp_old=logps.gather(2, tokens[..., None])[..., 0],
        logp_ref=None,
        reward=right.float(),
        group=problem,
        seed=problem,
        turn=th.zeros_like(tokens),
        length=th.full_like(problem, PLACES),
        entropy=-(logps.exp() * logps).sum(-1),
    )


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm from the base of a seed."""
    world, objective = draw_world(seed), load("forking-tokens-80-20", share=ARMS[arm])
    generator = th.Generator().manual_seed(seed)
    writer = Writer(generator)
    writer.load_state_dict(world.base.state_dict())
    optimizer = th.optim.Adam(writer.parameters(), lr=rate)
    success, entropy = [], []
    for iteration in range(ITERATIONS + 1):
        if iteration % EVERY == 0:
            with th.no_grad():
                logps = writer(world.features)
            success.append(logps.gather(2, world.right[..., None]).sum((1, 2)).exp().double().numpy())
            entropy.append(-(logps.exp() * logps).sum((1, 2)).double().numpy())
        seen = answer(world, writer, generator)
        logp = writer(world.features[seen.group]).gather(2, seen.tokens[..., None])[..., 0]
        rollouts = replace(seen, entropy=told(arm, seen.entropy, generator))
        loss, _ = objective(rollouts, PolicyOut(logp, seen.entropy))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    answers = np.arange(0, ITERATIONS + 1, EVERY) * PROMPTS * GROUP
    return Course(answers, np.array(success), np.array(entropy), TRAINED)


def forks_chosen(seed: int) -> float:
    """The share of forks among the base's fifth of tokens with the highest entropy."""
    world = draw_world(seed)
    seen = answer(world, world.base, th.Generator().manual_seed(seed))
    chosen = load("forking-tokens-80-20").advantage(replace(seen, reward=th.rand(len(seen)))) != 0
    return float(world.fork.expand_as(chosen)[chosen].double().mean())


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (12 by default): half a minute."""
    count = SEEDS if seeds is None else seeds
    rates = best_rates(lambda arm, rate, seed: run(arm, rate, seed).mean_held_out, ARMS, seeds=TUNING_SEEDS, grid=RATES)
    arms = {arm: Arm(rate, [run(arm, rate, seed) for seed in range(count)]) for arm, rate in rates.items()}
    score = {arm: of.scores for arm, of in arms.items()}
    parts = {
        "top 20% minus all, plus 0.02": score["top 20%"] - score["all"] + 0.02,
        "top 20% minus bottom 80%": score["top 20%"] - score["bottom 80%"],
    }
    gain = {arm: of.each(lambda course: course.mean_held_out - course.held_out[0]) for arm, of in arms.items()}
    details = {
        "parts": summary(parts),
        "gain over the base": summary(gain),
        "top 20% minus random 20%": asdict(interval(score["top 20%"] - score["random 20%"])),
        "share of forks among the tokens chosen": float(np.mean([forks_chosen(i) for i in range(count)])),
        **report(arms),
        "learning rates tried": RATES,
    }
    return Measurement(weakest(parts), details)
