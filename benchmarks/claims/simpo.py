"""Is the mean log-probability a better reward to learn preferences with than the log-ratio to a reference?

An answer has up to twelve sentences. Each of the first three makes a point, rightly or in one of two wrong ways, which
of the three is right hangs on the prompt; sentences after that neither help nor harm. True quality is the number of
points made rightly. The base policy, a softmax at every place of the answer and linear in the prompt's features,
answers every prompt five times; a judge adds to the quality 0.15 a sentence and some noise, as judges favour length,
and the best and the worst answer are a preference pair (the paper's instruct setting). Quality, length and win rates of
a policy are exact, on prompts that no pair came from.

* ``simpo`` is the catalogue's.
* ``dpo`` is the catalogue's ``pacs`` on groups of two, a preferred answer and the other: cross-entropy between a label
  and the difference of beta times the summed log-ratios, -log sigmoid(s_w - s_l) to the letter.

Either arm has the best of nine settings, three learning rates times three betas (DPO) or betas and margins from the
paper's range (SimPO), by its true win rate against the base in worlds of its own. The claim has two parts and the
effect is the smaller: SimPO's true win rate against DPO less one half; and by how many sentences DPO's answers grow
more than SimPO's. ``details`` has the same with a judge who does not mind length, how often policies rank held-out
pairs right by mean log-probability, and all that was tried.
"""

from typing import NamedTuple

import numpy as np
import torch as th
from torch import Tensor

from ...agents.language.rollouts import PolicyOut, Rollouts
from ...agents.objectives.registry import Objective, load
from .comparisons import TUNING, summary, weakest
from .harness import Claim, Measurement

CLAIM = Claim(
    handle="simpo",
    sentence="With the mean log-probability as reward and a margin, preference optimisation beats DPO without making "
    "answers much longer (Meng et al. 2024, abstract)",
    effect="the smaller of: SimPO's true win rate against DPO minus 1/2; sentences by which DPO's answers grow more",
)

SEEDS, TUNING_SEEDS = 20, 3
SENTENCES, POINTS, WAYS = 12, 3, 3
STOP = WAYS  # tokens: a sentence put in one of three ways, or the end
PROMPTS, HELD_OUT, WIDTH, ANSWERS = 1024, 256, 16, 5
FAVOUR, NOISE = 0.15, 0.5
EPOCHS, PAIRS = 4, 32
RATES = (0.03, 0.1, 0.3)
SETTINGS: dict[str, tuple[dict[str, float], ...]] = {
    "simpo": ({"beta": 2.0, "margin": 0.5}, {"beta": 2.0, "margin": 1.6}, {"beta": 10.0, "margin": 5.0}),
    "dpo": tuple({"beta": beta} for beta in (0.03, 0.1, 0.3)),
}
Choice = tuple[float, int]
"""A learning rate, and which of an arm's settings."""


class World(NamedTuple):
    """N prompts, the first ``PROMPTS`` with preference pairs to learn from, the others with pairs to be judged on."""

    features: Tensor  # [N, F]; the last is 1
    right: Tensor  # [N, POINTS] the right way to put a point
    base: Tensor  # [F, SENTENCES * (WAYS + 1)]
    pairs: Tensor  # [N, 2, SENTENCES] tokens, the preferred answer first; what follows a stop is not part of it


def objective_of(arm: str, setting: int) -> Objective:
    """From the catalogue."""
    return load("simpo" if arm == "simpo" else "pacs", **SETTINGS[arm][setting])


def draw_world(seed: int, favour: float) -> World:
    """Prompts, a base policy, and the pairs of a judge who gives ``favour`` for a sentence."""
    rng, generator = np.random.default_rng([2405, seed]), th.Generator().manual_seed(seed)
    n = PROMPTS + HELD_OUT
    features = np.column_stack([rng.normal(size=(n, WIDTH)) * 2 / np.sqrt(WIDTH), np.ones(n)])
    teacher, error = (rng.normal(size=(WIDTH + 1, SENTENCES, WAYS + 1)) for _ in range(2))
    teacher[-1], teacher[..., STOP], teacher[:, POINTS:] = 0.0, 0.0, 0.0
    right = np.einsum("nf,fta->nta", features, teacher)[:, :POINTS, :WAYS].argmax(-1)
    base = 0.5 * teacher + 0.5 * error
    base[-1] = 0.0
    base[-1, :, STOP] = np.where(np.arange(SENTENCES) < POINTS, -1.0, 0.0)
    known, answer, weight = (th.from_numpy(part) for part in (features, right, base.reshape(WIDTH + 1, -1)))
    world = World(known, answer, weight, th.empty(0))
    answers = write(logps(world, world.base), generator)
    score = quality_of(world, answers) + favour * (written(answers).sum(-1) - 1)
    score = score + NOISE * th.from_numpy(rng.normal(size=score.shape))
    picked = th.stack([score.argmax(1), score.argmin(1)], 1)
    return world._replace(pairs=answers[th.arange(n)[:, None], picked])


def logps(world: World, weight: Tensor, prompts: Tensor | slice = slice(None)) -> Tensor:
    """Log-probabilities of every token at every place, for all prompts or some; ``[n, SENTENCES, WAYS + 1]``."""
    return (world.features[prompts] @ weight).view(-1, SENTENCES, WAYS + 1).log_softmax(-1)


def write(logp: Tensor, generator: th.Generator) -> Tensor:
    """Answers to each prompt, ``[N, ANSWERS, SENTENCES]``."""
    flat = logp.exp().flatten(0, 1)
    drawn = th.multinomial(flat, ANSWERS, replacement=True, generator=generator)
    return drawn.view(-1, SENTENCES, ANSWERS).transpose(1, 2)


def written(answers: Tensor) -> Tensor:
    """What belongs to an answer: tokens up to the first stop, that included; ``[..., SENTENCES]`` bool."""
    stops = (answers == STOP).long()
    return stops.cumsum(-1) - stops == 0


def quality_of(world: World, answers: Tensor) -> Tensor:
    """Points made rightly, of answers ``[N, n, SENTENCES]``."""
    hit = (answers[..., :POINTS] == world.right[:, None]) & written(answers)[..., :POINTS]
    return hit.sum(-1).double()


def lengths(logp: Tensor) -> float:
    """Expected sentences of an answer to the prompts held out."""
    going_on = (1 - logp[PROMPTS:, :, STOP].exp()).cumprod(1)
    return float(going_on.sum(1).mean())


def qualities(world: World, logp: Tensor) -> Tensor:
    """The chance of each number of points, ``[HELD_OUT, POINTS + 1]``."""
    chance = logp[PROMPTS:].exp()
    at = th.zeros(len(chance), POINTS + 1, dtype=chance.dtype)
    at[:, 0] = 1.0
    over = th.zeros_like(at)
    for t in range(POINTS):
        stop, hit = chance[:, t, STOP, None], chance[:, t].gather(1, world.right[PROMPTS:, t, None])
        over = over + at * stop
        at = at * (1 - stop - hit) + (at * hit).roll(1, 1)
    return over + at


def win_rate(ours: Tensor, theirs: Tensor) -> float:
    """How often an answer has more points than another's to the same prompt, ties counting half."""
    below = theirs.cumsum(1)
    return float((ours * (below - theirs / 2)).sum(1).mean())


def as_rollouts(world: World, prompts: Tensor, logp_base: Tensor) -> Rollouts:
    """The pairs of prompts as objectives read them: groups of two, whose better answer earns 1 and the other 0."""
    tokens = world.pairs[prompts].flatten(0, 1)
    mask, rows = written(tokens), prompts.repeat_interleave(2)
    better = th.tensor([True, False]).repeat(len(prompts))
    return Rollouts(
        tokens=tokens,
        mask=mask,
        logp_old=logp_base[rows].gather(2, tokens[..., None])[..., 0],
        logp_ref=None,
        reward=better.float(),
        group=rows,
        seed=rows,
        turn=th.zeros_like(tokens),
        length=mask.sum(1),
        entropy=th.zeros(tokens.shape),
        info={"success": better},
    )


def train(arm: str, world: World, choice: Choice, seed: int) -> Tensor:
    """Log-probabilities of the policy that an arm has made of the base; as :func:`logps`."""
    rate, setting = choice
    objective, generator = objective_of(arm, setting), th.Generator().manual_seed(seed)
    base, weight = logps(world, world.base), world.base.clone().requires_grad_()
    optimizer = th.optim.Adam([weight], lr=rate)
    for _ in range(EPOCHS):
        for prompts in th.randperm(PROMPTS, generator=generator).view(-1, PAIRS):
            rollouts = as_rollouts(world, prompts, base)
            chosen = logps(world, weight, rollouts.group).gather(2, rollouts.tokens[..., None])[..., 0]
            loss, _ = objective(rollouts, PolicyOut(chosen, rollouts.entropy))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return logps(world, weight).detach()


def ranked_right(world: World, logp: Tensor) -> float:
    """How often the truly better answer of a held-out pair has the higher mean log-probability; equals left out."""
    pairs = world.pairs[PROMPTS:]
    chosen = logp[PROMPTS:, None].expand(-1, 2, -1, -1).gather(3, pairs[..., None])[..., 0]
    mask, quality = written(pairs), quality_of(world, world.pairs)[PROMPTS:]
    level = (chosen * mask).sum(-1) / mask.sum(-1)
    differ = quality[:, 0] != quality[:, 1]
    right = (level[:, 0] > level[:, 1]) == (quality[:, 0] > quality[:, 1])
    return float(right[differ].double().mean())


def against_base(arm: str, choice: Choice, seed: int, favour: float = FAVOUR) -> float:
    """An arm's true win rate against the policy it began as."""
    world = draw_world(seed, favour)
    return win_rate(qualities(world, train(arm, world, choice, seed)), qualities(world, logps(world, world.base)))


def best_choices(seeds: int) -> tuple[dict[str, Choice], dict[str, dict[str, float]]]:
    """Each arm's best learning rate and setting on tuning seeds, and what all of them came to."""
    tuning = range(TUNING, TUNING + seeds)
    tried: dict[str, dict[Choice, float]] = {
        arm: {
            (rate, setting): float(np.mean([against_base(arm, (rate, setting), seed) for seed in tuning]))
            for rate in RATES
            for setting in range(len(SETTINGS[arm]))
        }
        for arm in SETTINGS
    }
    named = {arm: {f"{SETTINGS[arm][s]}, rate {r}": v for (r, s), v in scores.items()} for arm, scores in tried.items()}
    return {arm: max(scores, key=lambda choice: scores[choice]) for arm, scores in tried.items()}, named


def compare(choices: dict[str, Choice], seed: int, favour: float) -> dict[str, float]:
    """Everything measured in one world."""
    world = draw_world(seed, favour)
    base = logps(world, world.base)
    policies = {"base": base, **{arm: train(arm, world, choice, seed) for arm, choice in choices.items()}}
    made = {name: qualities(world, logp) for name, logp in policies.items()}
    found = {"simpo's win rate against dpo": win_rate(made["simpo"], made["dpo"])}
    for name, logp in policies.items():
        found[f"win rate against the base, {name}"] = win_rate(made[name], made["base"])
        found[f"sentences, {name}"] = lengths(logp)
        found[f"held-out pairs ranked right, {name}"] = ranked_right(world, logp)
    return found


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains both arms in ``seeds`` worlds (20 by default), after choosing their settings: one minute."""
    count = SEEDS if seeds is None else seeds
    tuning = min(count, TUNING_SEEDS)
    choices, tried = best_choices(tuning)
    runs = {favour: [compare(choices, seed, favour) for seed in range(count)] for favour in (FAVOUR, 0.0)}
    found = {favour: {name: np.array([run[name] for run in of]) for name in of[0]} for favour, of in runs.items()}
    main = found[FAVOUR]
    parts = {
        "simpo's win rate against dpo minus 1/2": main["simpo's win rate against dpo"] - 0.5,
        "sentences, dpo minus simpo": main["sentences, dpo"] - main["sentences, simpo"],
    }
    details = {
        "seeds": count,
        "updates": EPOCHS * PROMPTS // PAIRS,
        "settings tried, by win rate against the base": tried,
        "chosen": {arm: {"learning rate": rate, **SETTINGS[arm][s]} for arm, (rate, s) in choices.items()},
        "tuning seeds": tuning,
        "parts": summary(parts),
        f"a judge who favours length by {FAVOUR} a sentence": summary(main),
        "a judge who does not": summary(found[0.0]),
    }
    return Measurement(weakest(parts), details)
