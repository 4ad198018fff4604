"""Minari datasets of D4RL's kinds, made by one command: random, medium, replay, expert, and mixtures of them.

==========  ===========================================================================================================
random      uniformly random actions (Fu et al. 2020, D4RL: their script's ``--random``; their paper says a randomly
            initialised policy)
medium      an agent of ours trained to a third of the way from random to expert, sampling from its policy
replay      every transition of that training (D4RL's medium-replay), the episodes it broke off included
expert      the environment's own scripted expert, ``env.unwrapped.expert()``
noisy-expert  on phones in numbers: the expert, each of whose actions is a random one with a probability
==========  ===========================================================================================================

The same seed gives the same dataset, bit for bit, on one machine with one set of versions: every episode has its own
seed, and PyTorch computes on one thread. Random and expert data do not hang on how many environments were recorded at
once.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from ... import unknown
from ...envs.seeding import generator
from .. import provenance
from .episodes import Episode
from .store import check_free, home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minari import MinariDataset

    from ...envs.catalogue import Row
    from .medium import Medium

POLICIES = ("random", "medium", "replay", "expert", "noisy-expert")
TRAINED = {"medium", "replay"}
"""Those that an agent is trained for."""
DEFAULT_EPISODES = 200

Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""Opens a progress bar: a label and a total in, what to call with the work done out."""


@contextmanager
def silent(label: str, total: int) -> "Iterator[Callable[[int], None]]":
    """No progress bar."""
    yield lambda done: None


@dataclass(frozen=True)
class Wanted:
    """What a dataset is to be made of.

    Attributes:
        env_id: where.
        policies: who acts, in this order.
        shares: of the episodes, one a policy, adding up to 1.
        episodes: in all; None stands for all there are of a replay, and else for :data:`DEFAULT_EPISODES`.
        seed: of everything random, the medium agent's training included.
        agent: which agent becomes the medium one.
        train_steps: that it may take at most.
        settings: its keywords beyond its row; ``env_kwargs`` among them hold for every policy.
        noise: the probability with which an action of the noisy expert is a random one.
    """

    env_id: str
    policies: tuple[str, ...]
    shares: tuple[float, ...]
    episodes: int | None = None
    seed: int = 0
    agent: str = "sac"
    train_steps: int = 200_000
    settings: Mapping[str, Any] = field(default_factory=dict)
    noise: float = 0.2

    def __post_init__(self) -> None:
        for name in self.policies:
            if name not in POLICIES:
                raise ValueError(unknown("policy", name, POLICIES))
        if not self.policies or len(set(self.policies)) < len(self.policies):
            raise ValueError(f"a dataset is made of one or several different policies, got {', '.join(self.policies)}")
        if len(self.shares) != len(self.policies) or not all(share > 0 for share in self.shares):
            raise ValueError(f"one share above 0 is needed for each of {', '.join(self.policies)}, got {self.shares}")
        if abs(sum(self.shares) - 1) > 1e-6:
            raise ValueError(f"shares add up to 1, got {' + '.join(f'{share:g}' for share in self.shares)}")
        if self.episodes is not None and self.episodes < 1:
            raise ValueError(f"a dataset needs at least 1 episode, got {self.episodes}")
        if not 0 <= self.noise <= 1:
            raise ValueError(f"noise is a probability from 0 to 1, got {self.noise}")
        if self.seed < 0 or self.train_steps < 1:
            raise ValueError("the seed is not negative, and train_steps is at least 1")

    @property
    def name(self) -> str:
        """``medium``, ``random-expert`` for equal shares, else ``random-95-expert-5`` (per cent)."""
        if len(set(self.shares)) == 1:
            name = "-".join(self.policies)
            return name.replace("medium-replay", "medium-and-replay")  # D4RL's medium-replay is our replay
        parts = (f"{name}-{100 * share:g}" for name, share in zip(self.policies, self.shares, strict=True))
        return "-".join(parts).replace(".", "_")

    @property
    def counts(self) -> dict[str, int | None]:
        """Episodes of each policy, by largest remainder; None: all there are.

        Raises:
            ValueError: too few episodes for every policy to have one.
        """
        if self.episodes is None and self.policies == ("replay",):
            return {"replay": None}
        total = self.episodes or DEFAULT_EPISODES
        exact = np.array(self.shares) * total
        counts = np.floor(exact + 1e-9).astype(int)
        for most in np.argsort(counts - exact, kind="stable")[: total - counts.sum()]:
            counts[most] += 1
        if (counts == 0).any():
            raise ValueError(f"{total} episodes are too few for shares of {self.shares}: one policy would have none")
        return dict(zip(self.policies, counts.tolist(), strict=True))


def make_dataset(
    env_id: str,
    policy: str | Sequence[str],
    *,
    shares: Sequence[float] | None = None,
    episodes: int | None = None,
    seed: int = 0,
    agent: str = "sac",
    train_steps: int = 200_000,
    settings: Mapping[str, Any] | None = None,
    noise: float = 0.2,
    dataset_id: str | None = None,
    force: bool = False,
    retrain: bool = False,
    bar: Bar = silent,
) -> "MinariDataset":
    """Records a dataset and stores it where Minari keeps datasets (``MINARI_DATASETS_PATH``).

    Args:
        env_id: an environment of ours with ``Box`` observations and actions, or a phone (in numbers).
        policy: one or several of :data:`POLICIES`, in a sequence or with commas between.
        shares: of the episodes of each policy, adding up to 1; equal by default.
        episodes: in all, 200 by default; of a replay that has more, so many evenly spread over the training, and by
            default all.
        seed: of everything random.
        agent: which agent becomes the medium one.
        train_steps: that it may take at most.
        settings: its keywords beyond its row's; ``env_kwargs`` among them hold for every policy.
        noise: the probability with which an action of the noisy expert is a random one.
        dataset_id: ``tiltyard/<environment>/<policies>-v0`` by default.
        force: whether to overwrite a dataset of that id.
        retrain: whether to train the medium agent anew where one is kept from before.
        bar: opens progress bars.

    Raises:
        FileExistsError: there is such a dataset, and no ``force``.
        KeyError: no such environment or agent.
        RuntimeError: the medium agent did not become good enough in ``train_steps``.
        TypeError: an environment of strings, dicts or discrete actions, or unknown settings.
        ValueError: unknown policies, bad shares, or no episodes.
    """
    names = tuple(policy.split(",") if isinstance(policy, str) else policy)
    names = tuple(name.strip() for name in names)
    parts = tuple(shares) if shares is not None else (1 / max(len(names), 1),) * len(names)
    wanted = Wanted(env_id, names, parts, episodes, seed, agent, train_steps, dict(settings or {}), noise)
    dataset_id = dataset_id or f"{home(env_id)}/{wanted.name}-v0"
    return _Making(wanted, dataset_id, retrain, bar).make(force)


class _Making:
    def __init__(self, wanted: Wanted, dataset_id: str, retrain: bool, bar: Bar) -> None:
        from ...agents.catalogue import find as find_agent
        from ...envs.catalogue import find_scored

        self._wanted, self._id, self._retrain, self._bar = wanted, dataset_id, retrain, bar
        self._row: Row = find_scored(wanted.env_id)
        find_agent(wanted.agent)
        self._env_kwargs = dict(wanted.settings.get("env_kwargs", {}))
        if self._row.domain == "gui":
            self._env_kwargs = {"observation": "elements"} | self._env_kwargs
        self._trained: Medium | None = None
        others = [name for name in wanted.settings if name != "env_kwargs"]
        if others and not TRAINED & set(wanted.policies):
            raise ValueError(
                f"{others[0]} is a setting of the medium agent, and {' and '.join(wanted.policies)} need none: leave "
                "it out"
            )
        if "split" in self._env_kwargs:
            raise ValueError("datasets hold training problems alone: leave split out of env_kwargs")

    def make(self, force: bool) -> "MinariDataset":
        """Checks, records, writes."""
        from .record import boxed
        from .store import write

        check_free(self._id, force)
        counts = self._wanted.counts
        env = boxed(self._wanted.env_id, **self._env_kwargs)
        episodes = [episode for name, count in counts.items() for episode in self._episodes(name, count)]
        return write(self._id, episodes, env, self._metadata(episodes), force=force)

    def _episodes(self, policy: str, count: int | None) -> list[Episode]:
        if policy == "replay":
            return self._replay(count)
        from .record import record
        from .training import seeded

        assert count is not None
        agent = self._medium().agent() if policy == "medium" else None
        rng = generator(self._wanted.seed, crc32(policy.encode()))
        noise = int(rng.integers(2**31))
        seeds = rng.integers(2**31, size=count).tolist()
        label = f"recording {policy} in {self._wanted.env_id}"
        with self._bar(label, count) as progress, seeded(noise):
            return record(
                self._wanted.env_id,
                policy,
                seeds,
                agent=agent,
                env_kwargs=self._env_kwargs,
                noise=self._wanted.noise,
                progress=progress,
            )

    def _replay(self, count: int | None) -> list[Episode]:
        episodes = self._medium().replay()
        if count is None:
            return episodes
        if count > len(episodes):
            raise ValueError(
                f"the training of the medium agent has {len(episodes)} episodes: ask for no more of replay than these"
            )
        return [episodes[i] for i in np.linspace(0, len(episodes) - 1, count).round().astype(int)]

    def _medium(self) -> "Medium":
        """Trained at most once."""
        from .medium import Recipe, medium

        if self._trained is None:
            wanted = self._wanted
            recipe = Recipe(wanted.env_id, wanted.agent, wanted.seed, wanted.settings)
            with self._bar(f"training {wanted.agent} to medium, at most", wanted.train_steps) as progress:
                self._trained = medium(recipe, steps=wanted.train_steps, retrain=self._retrain, progress=progress)
        return self._trained

    def _metadata(self, episodes: Sequence[Episode]) -> dict[str, Any]:
        from ...agents.catalogue import find as find_agent
        from ..packages import behind_both

        wanted = self._wanted
        trained = None if self._trained is None else dict(self._trained.record)
        learner = None if trained is None else find_agent(wanted.agent)
        return {
            "algorithm_name": "+".join(wanted.policies) + (f" ({wanted.agent})" if trained else ""),
            "description": f"{len(episodes)} episodes of {' and '.join(wanted.policies)} in {wanted.env_id}",
            "ref_min_score": self._row.random_score,
            "ref_max_score": self._row.expert_score,
            "requirements": [f"tiltyard>={provenance.versions()['tiltyard']}"],
            "tiltyard": {
                "command": self._command(),
                "env_id": wanted.env_id,
                "env_kwargs": self._env_kwargs,
                "policies": dict(zip(wanted.policies, wanted.shares, strict=True)),
                "seed": wanted.seed,
                "medium": trained,
                "versions": provenance.versions() | behind_both(wanted.env_id, learner, loaded=True),
                "commit": provenance.commit(),
                "hardware": provenance.hardware(),
            },
        }

    def _command(self) -> str:
        """The line that makes it again."""
        import json

        wanted = self._wanted
        words = ["tiltyard", "dataset", "make", "--env", wanted.env_id, "--policy", ",".join(wanted.policies)]
        if len(set(wanted.shares)) > 1:
            words += ["--shares", ",".join(f"{share:g}" for share in wanted.shares)]
        if wanted.episodes is not None:
            words += ["--episodes", str(wanted.episodes)]
        words += ["--seed", str(wanted.seed)]
        if "noisy-expert" in wanted.policies:
            words += ["--noise", f"{wanted.noise:g}"]
        if self._trained is not None:
            words += ["--agent", wanted.agent, "--train-steps", str(wanted.train_steps)]
        for name, value in wanted.settings.items():
            words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
        if self._id != f"{home(wanted.env_id)}/{wanted.name}-v0":
            words += ["--id", self._id]
        return shlex.join(words)
