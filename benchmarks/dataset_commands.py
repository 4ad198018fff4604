"""``tiltyard dataset``: one dataclass a subcommand, as in :mod:`.cli`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from . import commands
from .datasets.tq_saco import BINS
from .options import Whole


@dataclass
class Make:
    """Records a Minari dataset with our own policies: random, medium, replay, expert, noisy-expert, or a mixture."""

    env: str
    """environment id, such as tiltyard/Hopper-v5"""
    policy: str = "medium"
    """random, medium, replay, expert, noisy-expert (of phones), or several with commas between"""
    shares: str | None = None
    """of the episodes of each policy, adding up to 1, such as 0.95,0.05; equal by default"""
    episodes: Whole | None = None
    """in all, 200 by default; of replay, so many evenly spread over the training, and by default all"""
    seed: int = 0
    """of everything random, the medium agent's training included"""
    agent: str = "sac"
    """which agent becomes the medium one: trained to a third of the way from random to expert"""
    train_steps: Whole = 200_000
    """environment steps it may take for that, at most"""
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE")] = ()
    """the medium agent's keywords, such as gamma=0.98; env_kwargs='{...}' holds for every policy"""
    noise: float = 0.2
    """probability with which each action of the noisy expert is a random one"""
    id: str | None = None
    """of the dataset; tiltyard/<environment>/<policies>-v0 by default"""
    force: bool = False
    """overwrite a dataset of that id"""
    retrain: bool = False
    """train the medium agent anew where one is kept from before"""

    def run(self) -> int:
        """Makes the dataset and says where it is."""
        from .datasets import make_dataset

        dataset = make_dataset(
            self.env,
            self.policy,
            shares=_shares(self.shares),
            episodes=self.episodes,
            seed=self.seed,
            agent=self.agent,
            train_steps=self.train_steps,
            settings=commands.parse_settings(self.settings),
            noise=self.noise,
            dataset_id=self.id,
            force=self.force,
            retrain=self.retrain,
            bar=commands.bar,
        )
        _say(dataset)
        return 0


@dataclass
class Show:
    """Shows what a dataset holds: counts, returns, trajectory quality (TQ) and state-action coverage (SACo)."""

    dataset: tyro.conf.Positional[str]
    """its id, such as tiltyard/hopper/medium-v0"""
    reference: str | None = None
    """id of the dataset SACo refers to; by default the replay-v0 beside it, where there is one"""
    bins: int = BINS
    """cells a column in which SACo counts"""
    out: Path | None = None
    """file for a picture of the returns, such as returns.png"""

    def run(self) -> int:
        """Prints, and draws if asked."""
        from .charts import check_picture
        from .datasets.show import draw, print_summary, summarise

        if self.out is not None:
            check_picture(self.out)
        found = summarise(self.dataset, reference=self.reference, bins=self.bins)
        print_summary(found)
        if self.out is not None:
            print(f"wrote {draw(found, self.out)}")
        return 0


@dataclass
class Catalogue:
    """Lists the datasets that Tiltyard can make with a known digest, and makes one or all of them."""

    make: str | None = None
    """its id, such as tiltyard/d5rl/point-maze-play-v0, or all"""
    force: bool = False
    """overwrite a dataset of that id"""

    def run(self) -> int:
        """Lists, or makes and verifies."""
        from .datasets import catalogue

        if self.make is None:
            for row in catalogue.ROWS:
                told = f"{row.env_id:28} {row.policy:9} {row.episodes:4} episodes {row.steps:6,} steps"
                print(f"{row.id:36} {told}  success {row.success:.2f}  sha256 {row.sha256:.12}")
            return 0
        ids = [row.id for row in catalogue.ROWS] if self.make == "all" else [self.make]
        for one in ids:
            _say(catalogue.make(one, force=self.force, bar=commands.bar))
        return 0


@dataclass
class ImportD4RL:
    """Turns a downloaded D4RL file (HDF5) into a Minari dataset."""

    file: tyro.conf.Positional[Path]
    """such as hopper_medium-v2.hdf5"""
    env: str
    """the environment of ours with the same observations and actions"""
    task: str | None = None
    """D4RL's name, such as hopper-medium-v2, for its reference scores; the file's name by default"""
    id: str | None = None
    """of the dataset; d4rl/hopper/medium-v2 by default"""
    force: bool = False
    """overwrite a dataset of that id"""

    def run(self) -> int:
        """Imports and says where it is."""
        from .datasets import import_d4rl

        _say(import_d4rl(self.file, self.env, task=self.task, dataset_id=self.id, force=self.force))
        return 0


@dataclass
class Overlap:
    """Decontamination: finds rows of text that overlap with an environment's test problems, and writes the others."""

    file: tyro.conf.Positional[Path]
    """JSON lines with a prompt each, as data={"name": "stored", "path": ...} reads them"""
    env: tyro.conf.Positional[str]
    """whose test problems, such as tiltyard/ChainSum-v0"""
    problems: Whole = 1_000
    """of the evaluation that rows are compared with"""
    n: Whole = 8
    """tokens of an n-gram: words and single marks"""
    threshold: float = 0.5
    """share of a problem's tokens above which a row overlaps with it"""
    out: Path | None = None
    """file for the rows that do not overlap, which must not exist"""

    def run(self) -> int:
        """Says which rows overlap, and writes the others if asked."""
        from .datasets import decontamination

        decontamination.report(
            self.file, self.env, problems=self.problems, n=self.n, threshold=self.threshold, out=self.out
        )
        return 0


@dataclass
class Dataset:
    """Makes, lists, shows, imports and cleans datasets: make, catalogue, show, import-d4rl, overlap."""

    commands: ClassVar[dict[str, type[Any]]] = {
        "make": Make,
        "catalogue": Catalogue,
        "show": Show,
        "import-d4rl": ImportD4RL,
        "overlap": Overlap,
    }


def _shares(text: str | None) -> list[float] | None:
    """``"0.95,0.05"`` as numbers.

    Raises:
        ValueError: anything else.
    """
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--shares takes numbers with commas between, such as 0.95,0.05; got {text!r}") from None


def _say(dataset: Any) -> None:
    print(f"{dataset.id}: {dataset.total_episodes:,} episodes, {dataset.total_steps:,} steps")
    print(f"minari.load_dataset({dataset.id!r}); now: tiltyard dataset show {dataset.id}")
