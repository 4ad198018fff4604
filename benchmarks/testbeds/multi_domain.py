"""GRPO on one domain of text problems or on all: success in every domain afterwards, and in another template.

A base is a small transformer that has learnt from demonstrations of all domains, most of which end in an incorrect
answer, in two templates; it then learns by GRPO from rewards in the domains of a condition and in one template alone.
What GRPO did is success on held-out problems minus the base's on the same ones.

Bases and runs are kept in the testbed's folder, one JSON a run, and not made again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..evaluation import TUNING_FROM, evaluation_seeds
from ..studies._study import once
from .domains import DOMAINS, HARD, TEMPLATES, Asked, Domains, DomainsVectorEnv, PartialCredit, right_share

TESTS = (*DOMAINS, HARD)
TRAINED, OTHER = TEMPLATES
MIX = ("arithmetic", "arithmetic", "arithmetic", "code", "code", "code", "logic", HARD)
"""Domains of the base's demonstrations, each drawn with equal chance."""
NOISE = {"arithmetic": 0.4, "code": 0.4, "logic": 0.5, HARD: 0.97}
"""Shares of demonstrations that end in an incorrect answer; random answers are right for 1 of 32 hard puzzles."""
TUNED = 1000
"""Seeds from here on tune; they are scored on problems of their own."""


@dataclass(frozen=True)
class Training:
    """A condition.

    Attributes:
        domains: that it learns from, in equal shares.
        partial: the share of a puzzle's people that are right is paid, instead of whole successes alone.
    """

    domains: tuple[str, ...]
    partial: bool = False


@dataclass(frozen=True)
class Scores:
    """Success of sampled completions on held-out problems, by ``"<domain>, <template>"``.

    Attributes:
        domains: that were learnt from.
        before: of the base.
        after: after training.
    """

    domains: tuple[str, ...]
    before: Mapping[str, float]
    after: Mapping[str, float]

    def gain(self, domain: str, template: str = TRAINED) -> float:
        """Success after minus before."""
        name = test_name(domain, template)
        return self.after[name] - self.before[name]

    def overall(self, domains: Sequence[str] = DOMAINS) -> float:
        """Mean gain over domains, in the trained template."""
        return float(np.mean([self.gain(domain) for domain in domains]))


def test_name(domain: str, template: str) -> str:
    """Of a set of problems."""
    return f"{domain}, {template}"


@dataclass(frozen=True, kw_only=True)
class MultiDomain:
    """The testbed.

    Attributes:
        folder: where bases and runs are kept, under ``runs``; or an absolute path.
        start: a network, or the base that bases go on from.
        bases: how many; a seed's base is its remainder.
        pretraining: gradient steps on demonstrations.
        completions: of training.
        prompts: problems an iteration, 8 completions each.
        problems: of each test.
        longest: tokens that a completion may have.
    """

    folder: str = "multi-domain"
    start: str = "knights-knaves-base"
    bases: int = 2
    pretraining: int = 3000
    completions: int = 2048
    prompts: int = 16
    problems: int = 256
    longest: int = 64

    def run(self, condition: Training, rate: float, seed: int) -> Scores:
        """What GRPO at a learning rate makes of a condition and a seed's base."""
        name = f"{'-'.join(condition.domains)}{'-partial' if condition.partial else ''}-{rate:g}-{seed}"
        settings = {**self.sizes, "partial": condition.partial, "rate": rate, "seed": seed}
        if not (self.home / f"{name}.json").exists():
            self.base(seed)  # before the run, whose processor time is its own
        work = partial(self._trained, condition, rate, seed)
        found = once(self.home, name, settings, work)
        return Scores(tuple(found["domains"]), found["before"], found["after"])

    def smallest(self) -> Self:
        """A network that has learnt nothing, and one iteration."""
        return replace(self, start="transformer-100k", pretraining=1, completions=16, prompts=2, problems=4)

    @property
    def home(self) -> Path:
        """The folder."""
        return Path("runs") / self.folder

    @property
    def sizes(self) -> dict[str, Any]:
        """All but the folder."""
        return {name: value for name, value in vars(self).items() if name != "folder"}

    def base(self, seed: int) -> dict[str, Any]:
        """A seed's base: its file, and its successes on the problems that the seed is scored on."""
        number, tuned = seed % self.bases, seed >= TUNED
        file = self.home / f"base-{number}.safetensors"
        once(self.home, f"base-{number}", self.sizes, lambda: self._pretrained(number, file))
        if not file.exists():  # its record alone is here
            self._pretrained(number, file)
        name = f"base-{number}-{'tuning' if tuned else 'reported'}"
        tests = [(domain, template) for domain in TESTS for template in TEMPLATES]
        made = once(self.home, name, self.sizes, lambda: self._scored(self._agent(str(file), number), tests, seed))
        return {"file": str(file), **made}

    def _trained(self, condition: Training, rate: float, seed: int) -> dict[str, Any]:
        base = self.base(seed)
        reward = PartialCredit() if condition.partial else "outcome"
        env = DomainsVectorEnv(8 * self.prompts, domains=condition.domains, templates=(TRAINED,))
        agent = self._agent(base["file"], seed, env, learning_rate=rate, rewards=reward)
        agent.learn(self.completions)
        tests = [*((domain, TRAINED) for domain in TESTS), *((domain, OTHER) for domain in condition.domains)]
        scored = self._scored(agent, tests, seed)
        return {"domains": condition.domains, "before": base["success"], "after": scored["success"], **scored}

    def _agent(self, policy: str, seed: int, env: Any = None, **settings: Any) -> Any:
        from ...agents.language.trainer import PolicyGradient

        return PolicyGradient(
            policy,
            env or DomainsVectorEnv(8 * self.prompts),
            kl_coef=0.0,
            prompts_per_batch=self.prompts,
            batch_size=4 * self.prompts,
            max_answer_tokens=self.longest,
            seed=seed,
            device="cpu",
            **settings,
        )

    def _pretrained(self, number: int, file: Path) -> dict[str, Any]:
        from ...agents.language.trainer import PolicyGradient
        from ...agents.models.pretrained import write_base

        env = DomainsVectorEnv(1, domains=MIX, noise=NOISE)
        agent = PolicyGradient(
            self.start,
            env,
            warm_start_steps=self.pretraining,
            warm_start_noise=0.5,
            warm_start_batch_size=16,
            max_answer_tokens=self.longest,
            seed=number,
            device="cpu",
        )
        losses = agent.warm_start()
        file.parent.mkdir(parents=True, exist_ok=True)
        made = f"python benchmarks/studies/multi_domain.py run, base {number}"
        write_base(agent.policy, file, {"size": agent.size, "env": "domains", "command": made})
        return {"loss of the last tenth": float(np.mean(losses[-max(1, len(losses) // 10) :]))}

    def _scored(self, agent: Any, tests: Sequence[tuple[str, str]], seed: int) -> dict[str, Any]:
        """Success on each test, and the share of people that are right in puzzles."""
        success, people = {}, {}
        for domain, template in tests:
            env, asked = problems_of(domain, template, self.problems, seed >= TUNED)
            said = agent.predict([env.prompt(one) for one in asked], deterministic=False)[0]
            success[test_name(domain, template)] = float(env.grade(said, asked)[0].mean())
            if domain in ("logic", HARD):
                shares = [right_share(text, env.solve(one)) for text, one in zip(said, asked, strict=True)]
                people[test_name(domain, template)] = float(np.mean(shares))
        return {"success": success, "people": people}


@cache
def problems_of(domain: str, template: str, count: int, tuned: bool) -> tuple[Domains, list[Asked]]:
    """Held-out problems of a domain: those that tuning is scored on, or those that results come from."""
    env = Domains(1, domains=(domain,), templates=(template,), split="test")
    seeds = evaluation_seeds(TUNING_FROM if tuned else 0, count)
    return env, env.problems(seeds, np.zeros(count, np.int64))
