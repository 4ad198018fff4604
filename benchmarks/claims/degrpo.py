"""Does learning when to think need a loss of its own for the token that decides it?

The first token of an answer says whether it thinks. Who does writes 32 more tokens, who does not four; the last of them
is one of four results, the others are of no account. Half of the problems are hard, which their features tell: without
thought their result is luck. A small network, shared by all places, is first taught to take either mode half of the
time and to give right results about half of the time; then it learns from the authors' rewards, 1 for a right result
without thought, 0.5 for one with it, -1 for a wrong one. So it should think about hard problems and not about easy
ones, and how much it does is computed exactly, on problems that it has not been trained on.

The arms are the catalogue's:

* ``grpo``: without standard deviation, as DeGRPO's row; no arm has the KL penalty of either row;
* ``degrpo``: the same with the first token's loss apart, for an alpha of 0.001, 0.01 and 0.1. The authors take 0.001
  where thoughts have thousands of tokens and say to try more.

Each arm has the learning rate, and DeGRPO the alpha, that earned most over training in worlds of its own. Discernment
is the share of hard problems thought about minus that of easy ones; the effect is DeGRPO's minus GRPO's at the end.
``details`` says in how many worlds an arm fell into one mode (it thinks about less than 5% of all problems, or about
more than 95%), and what share of the gradient stands on the first token for answers of both lengths.
"""

from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ...agents.language.rollouts import PolicyOut, Rollouts
from ...agents.objectives.registry import Objective, load
from ..statistics import Floats
from .comparisons import best_rates, interval, summary
from .harness import Claim, Measurement

CLAIM = Claim(
    handle="degrpo",
    sentence="With a loss of its own for the token that chooses the mode, a model learns when to think, where GRPO "
    "falls into one mode (Fang et al. 2025, abstract)",
    effect="share of hard problems thought about minus that of easy ones, DeGRPO's minus GRPO's",
)

SEEDS, TUNING_SEEDS = 20, 3
SHORT, LONG, RESULTS = 4, 32, 4
PLACES = 1 + SHORT + LONG  # the mode, and the places of an answer without thought and with
TRAINED, HELD_OUT, WIDTH, HIDDEN = 128, 128, 8, 32
TAUGHT, PROMPTS, GROUP, ITERATIONS, EVERY = 300, 8, 8, 150, 15
RATES = (0.001, 0.003, 0.01, 0.03)
WORTH = (1.0, 0.5)  # of a right result, without thought and with
ALPHAS = {"degrpo, alpha 0.001": 0.001, "degrpo, alpha 0.01": 0.01, "degrpo, alpha 0.1": 0.1}
ARMS = ("grpo", *ALPHAS)
COLUMNS = ("reward", "success", "thinks, easy", "thinks, hard", "tokens")


class World(NamedTuple):
    """N problems, the first ``TRAINED`` to learn from, and a network that has been taught to answer them."""

    features: Tensor  # [N, WIDTH]
    hard: Tensor  # [N] bool
    right: Tensor  # [N] result
    base: "Thinker"


class Thinker(nn.Module):
    """``self(features)`` is the log-probability of every token at every place, ``[n, PLACES, RESULTS]``.

    At place 0 the tokens are modes, of which there are two. All weights serve all places.
    """

    places: Tensor

    def __init__(self, generator: th.Generator) -> None:
        super().__init__()
        sizes = {
            "problem": (WIDTH, HIDDEN),
            "place": (WIDTH, HIDDEN),
            "both": (WIDTH, HIDDEN),
            "out": (HIDDEN, RESULTS),
        }
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(th.randn(*size, generator=generator) / np.sqrt(WIDTH)) for name, size in sizes.items()}
        )
        self.register_buffer("places", th.randn(PLACES, WIDTH, generator=generator))

    def forward(self, features: Tensor) -> Tensor:
        """See the class."""
        w = self.weights
        mixed = (features @ w["problem"])[:, None] * (self.places @ w["both"])
        logits = (mixed + self.places @ w["place"]).tanh() @ w["out"]
        no_mode = th.zeros(PLACES, RESULTS, dtype=th.bool)
        no_mode[0, 2:] = True
        logps: Tensor = logits.masked_fill(no_mode, -30.0).log_softmax(-1)
        return logps


@lru_cache(maxsize=64)
def draw_world(seed: int) -> World:
    """A world and its base, the same for all arms."""
    rng, generator = np.random.default_rng([2505, seed]), th.Generator().manual_seed(seed)
    features = th.from_numpy(rng.normal(size=(TRAINED + HELD_OUT, WIDTH))).float()
    hard = features @ th.from_numpy(rng.normal(size=WIDTH)).float() > 0
    liked = features @ th.from_numpy(rng.normal(size=(WIDTH, RESULTS))).float()
    shown = th.full((len(features), PLACES, RESULTS), 1 / RESULTS)
    shown[:, 0] = th.tensor([0.5, 0.5, 0.0, 0.0])
    for last in (SHORT, SHORT + LONG):
        shown[:, last] = (2 * liked / np.sqrt(WIDTH)).softmax(-1)
    base = Thinker(generator)
    optimizer = th.optim.Adam(base.parameters(), lr=0.03)
    for _ in range(TAUGHT):
        taught = base(features[:TRAINED]).flatten(0, 1)
        optimizer.zero_grad()
        F.kl_div(taught, shown[:TRAINED].flatten(0, 1), reduction="batchmean").backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return World(features, hard, liked.argmax(-1), base)


def objective_of(arm: str) -> Objective:
    """From the catalogue."""
    params = {"scale": False} if arm == "grpo" else {"alpha": ALPHAS[arm]}
    return load("grpo" if arm == "grpo" else "degrpo", kl_coef=0.0, **params)


def places_of(thinks: Tensor) -> Tensor:
    """The place of each token of answers with thought and without, ``[B, 1 + LONG]``."""
    body = th.arange(LONG) + 1 + SHORT * thinks[:, None]
    return F.pad(body, (1, 0)).clamp(max=PLACES - 1)


@th.no_grad()
def answer(world: World, thinker: Thinker, generator: th.Generator) -> Rollouts:
    """A group of answers to each of some problems, as objectives read them."""
    problem = th.randperm(TRAINED, generator=generator)[:PROMPTS].repeat_interleave(GROUP)
    logps = thinker(world.features[problem])
    drawn = th.multinomial(logps.exp().flatten(0, 1), 1, generator=generator).view(-1, PLACES)
    thinks = drawn[:, 0]
    tokens = drawn.gather(1, places_of(thinks))
    length = 1 + th.where(thinks == 1, LONG, SHORT)
    luck = th.randint(RESULTS, length.shape, generator=generator)
    goal = th.where(world.hard[problem] & (thinks == 0), luck, world.right[problem])
    right = tokens.gather(1, length[:, None] - 1)[:, 0] == goal
    return Rollouts(
        tokens=tokens,
        mask=th.arange(1 + LONG) < length[:, None],
        logp_old=logp_of(logps, tokens),
        logp_ref=None,
        reward=th.where(right, th.tensor(WORTH)[thinks], -1.0),
        group=problem,
        seed=problem,
        turn=th.zeros_like(tokens),
        length=length,
        entropy=th.zeros(tokens.shape),
    )


def logp_of(logps: Tensor, tokens: Tensor) -> Tensor:
    """Log-probabilities ``[B, 1 + LONG]`` of answers, from those of all tokens at all places."""
    rows = th.arange(len(tokens))[:, None]
    return logps[rows, places_of(tokens[:, 0]), tokens]


@th.no_grad()
def exact(world: World, thinker: Thinker) -> tuple[float, ...]:
    """:data:`COLUMNS`, expected over the problems held out."""
    features, hard, right = (part[TRAINED:] for part in world[:3])
    chances = thinker(features).exp()
    mode = chances[:, 0, :2]
    known = chances[:, [SHORT, SHORT + LONG]].gather(2, right[:, None, None].expand(-1, 2, 1))[..., 0]
    known[:, 0] = th.where(hard, 1 / RESULTS, known[:, 0])
    reward = (mode * (known * th.tensor(WORTH) - (1 - known))).sum(1).mean()
    thinks = mode[:, 1]
    tokens = 1 + SHORT + (LONG - SHORT) * thinks.mean()
    found = (reward, (mode * known).sum(1).mean(), thinks[~hard].mean(), thinks[hard].mean(), tokens)
    return tuple(map(float, found))


def course(arm: str, rate: float, seed: int) -> Floats:
    """:data:`COLUMNS` at the start and after every ``EVERY`` iterations, ``[moments, columns]``."""
    world, objective, generator = draw_world(seed), objective_of(arm), th.Generator().manual_seed(seed)
    thinker = Thinker(generator)
    thinker.load_state_dict(world.base.state_dict())
    optimizer = th.optim.Adam(thinker.parameters(), lr=rate)
    found: list[tuple[float, ...]] = []
    for iteration in range(ITERATIONS + 1):
        if iteration % EVERY == 0:
            found.append(exact(world, thinker))
        rollouts = answer(world, thinker, generator)
        logp = logp_of(thinker(world.features[rollouts.group]), rollouts.tokens)
        loss, _ = objective(rollouts, PolicyOut(logp, rollouts.entropy))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return np.array(found)


def first_tokens_share(arm: str) -> dict[str, float]:
    """The share of the weights on an answer's tokens that its first token has, without thought and with."""
    length = th.tensor([[1 + SHORT], [1 + LONG]])
    weights = objective_of(arm).aggregate(th.arange(1 + LONG) < length)
    share = weights[:, 0] / weights.sum(1)
    return {"without thought": float(share[0]), "with": float(share[1])}


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (20 by default), after choosing rates and alpha: two minutes."""
    count = SEEDS if seeds is None else seeds
    tried: dict[tuple[str, float], list[float]] = {}

    def earned(arm: str, rate: float, seed: int) -> float:
        found = float(course(arm, rate, seed)[:, 0].mean())
        tried.setdefault((arm, rate), []).append(found)
        return found

    rates = best_rates(earned, ARMS, seeds=min(count, TUNING_SEEDS), grid=RATES)
    ours = max(ALPHAS, key=lambda arm: float(np.mean(tried[arm, rates[arm]])))
    found = {arm: np.array([course(arm, rates[arm], seed) for seed in range(count)]) for arm in ARMS}
    ends = {arm: dict(zip(COLUMNS, of[:, -1].T, strict=True)) for arm, of in found.items()}
    discernment = {arm: end["thinks, hard"] - end["thinks, easy"] for arm, end in ends.items()}
    thinks = {arm: (end["thinks, hard"] + end["thinks, easy"]) / 2 for arm, end in ends.items()}
    details: dict[str, Any] = {
        "seeds": count,
        "iterations": ITERATIONS,
        "learning rates": {"grid": list(RATES), "chosen": rates},
        "DeGRPO's arm": ours,
        "discernment": summary(discernment),
        "worlds in one mode": {arm: int(((of < 0.05) | (of > 0.95)).sum()) for arm, of in thinks.items()},
        "before": dict(zip(COLUMNS, found["grpo"][:, 0].mean(0).tolist(), strict=True)),
        "reward over training": summary({arm: of[..., 0].mean(1) for arm, of in found.items()}),
        "reward at the end, DeGRPO's minus GRPO's": asdict(interval(ends[ours]["reward"] - ends["grpo"]["reward"])),
        "at the end": {arm: summary(end) for arm, end in ends.items()},
        "weight of the first token in an answer": {arm: first_tokens_share(arm) for arm in ARMS},
    }
    return Measurement(interval(discernment[ours] - discernment["grpo"], 50), details)
