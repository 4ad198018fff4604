"""What a dataset holds: counts, the distribution of returns, TQ and SACo, in the terminal and as a picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...agents.control.datasets import Transitions, load, readable
from ...agents.control.elements_policy import reads
from ...agents.control.trajectories import read as read_episodes
from ..charts import INK, canvas, check_picture, colour
from .store import path_of, policies, recorded
from .tq_saco import BINS, state_action_coverage, trajectory_quality

if TYPE_CHECKING:
    from minari import MinariDataset


@dataclass(frozen=True)
class Summary:
    """A dataset in numbers; E episodes.

    Attributes:
        dataset_id: its id.
        env_id: of the environment it was recorded in, where it is known.
        returns: ``[E]``, undiscounted.
        lengths: ``[E]``.
        terminated: ``[E]``, whether the task itself ended the episode.
        policies: ``[E]`` names, "" where unknown.
        successes: ``[E]``, whether the last step was a success; None where it is not recorded.
        scores: the returns of a random and an expert policy, where they are known.
        reference: id of the dataset that SACo refers to, None where there is none.
        coverage: SACo.
        recorded: what Tiltyard wrote beside it.
    """

    dataset_id: str
    env_id: str
    returns: npt.NDArray[np.float64]
    lengths: npt.NDArray[np.int64]
    terminated: npt.NDArray[np.bool_]
    policies: npt.NDArray[np.str_]
    successes: npt.NDArray[np.bool_] | None
    scores: tuple[float, float] | None
    reference: str | None
    coverage: float | None
    recorded: dict[str, Any]

    @property
    def quality(self) -> float | None:
        """TQ, the normalised mean return."""
        if self.scores is None:
            return None
        return trajectory_quality(self.returns, random=self.scores[0], expert=self.scores[1])


def summarise(
    dataset: "MinariDataset | str", *, reference: "MinariDataset | str | None" = None, bins: int = BINS
) -> Summary:
    """Reads a dataset whole and describes it.

    Args:
        dataset: it, or its id.
        reference: what SACo refers to; by default the ``replay-v0`` beside it, where there is one.
        bins: cells a column in which SACo counts.

    Raises:
        FileNotFoundError: no such dataset or reference.
        TypeError: one of other than ``Box`` spaces.
        ValueError: a broken one, or a reference of other spaces.
    """
    dataset = load(dataset)
    observations, actions = dataset.observation_space, dataset.action_space
    if reads(observations):
        return _of_phones(dataset)
    read = Transitions.from_minari(dataset, observations, actions)
    beside = load(reference) if reference is not None else _replay_beside(dataset.id)
    coverage = None
    if beside is not None:
        seen = Transitions.from_minari(beside, observations, actions)
        coverage = state_action_coverage(*equal_parts(_pairs(read), _pairs(seen)), bins=bins)
    with readable(dataset.id):
        return Summary(
            dataset.id,
            "" if dataset.env_spec is None else dataset.env_spec.id,
            read.episode_returns,
            read.lengths,
            read.terminations[read.ends] > 0,
            np.array(policies(dataset)),
            _successes(dataset),
            _scores(dataset.storage.metadata),
            None if beside is None else beside.id,
            coverage,
            recorded(dataset),
        )


def _of_phones(dataset: "MinariDataset") -> Summary:
    """Of episodes in numbers of elements, whose coverage would mean nothing: they are names, not amounts."""
    episodes = read_episodes(dataset, dataset.observation_space, dataset.action_space)
    return Summary(
        dataset.id,
        "" if dataset.env_spec is None else dataset.env_spec.id,
        np.array([one.rewards.sum() for one in episodes]),
        np.array([len(one) for one in episodes]),
        np.array([one.terminated for one in episodes]),
        np.array(policies(dataset)),
        np.array([one.success for one in episodes]),
        _scores(dataset.storage.metadata),
        None,
        None,
        recorded(dataset),
    )


def _scores(metadata: dict[str, Any]) -> tuple[float, float] | None:
    """The returns of a random and an expert policy, where both are recorded."""
    low, high = (metadata.get(name) for name in ("ref_min_score", "ref_max_score"))
    if low is None or high is None:
        return None
    if not (np.isfinite(float(low)) and np.isfinite(float(high)) and low != high):
        raise ValueError(f"its reference scores are {low!r:.50} and {high!r:.50}")
    return float(low), float(high)


def _replay_beside(dataset_id: str) -> "MinariDataset | None":
    name = f"{dataset_id.rpartition('/')[0]}/replay-v0"
    return load(name) if path_of(name).exists() else None


def _pairs(read: Transitions) -> npt.NDArray[np.float32]:
    return np.concatenate((read.observations, read.actions), axis=1)


def equal_parts(
    pairs: npt.NDArray[np.float32], reference: npt.NDArray[np.float32], seed: int = 0
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The larger one thinned out at random to the size of the smaller: SACo compares datasets of equal size."""
    size = min(len(pairs), len(reference))
    rng = np.random.default_rng(seed)
    thin = (part if len(part) == size else part[rng.permutation(len(part))[:size]] for part in (pairs, reference))
    first, second = thin
    return first, second


def _successes(dataset: "MinariDataset") -> npt.NDArray[np.bool_] | None:
    found = [episode.infos.get("success") if episode.infos else None for episode in dataset]
    kept = [bool(part[-1]) for part in found if part is not None]
    return np.array(kept) if len(kept) == len(found) else None


def print_summary(found: Summary) -> None:
    """Prints the tables and the histogram."""
    from rich.console import Console

    console = Console()
    console.print(f"[bold]{found.dataset_id}[/bold]" + (f", of {found.env_id}" if found.env_id else ""))
    console.print(_counts(found))
    console.print(_qualities(found))
    console.print(_histogram(found))
    if command := found.recorded.get("command"):
        print(f"made by: {command}")


def _counts(found: Summary) -> Any:
    from ..commands import table

    shown = table("", "", "#")
    shown.add_row("episodes", f"{len(found.returns):,}")
    names, counts = np.unique(found.policies, return_counts=True)
    if len(names) > 1:
        for name, count in zip(names, counts, strict=True):
            shown.add_row(f"  of {name}", f"{count:,}")
    shown.add_row("steps", f"{found.lengths.sum():,}")
    shown.add_row(
        "steps an episode", f"{found.lengths.min()} to {found.lengths.max()}, mean {found.lengths.mean():.1f}"
    )
    shown.add_row("ended by the task itself", f"{found.terminated.mean():.1%}")
    if found.successes is not None:
        shown.add_row("successful", f"{found.successes.mean():.1%}")
    return shown


def _qualities(found: Summary) -> Any:
    from ..commands import interval_of, table

    shown = table("", "", "mean#", "95% interval#")
    shown.add_row("return", f"{found.returns.mean():.2f}", interval_of(found.returns.tolist()))
    if found.scores is not None:
        low, high = found.scores
        normalised = (found.returns - low) / (high - low)
        shown.add_row("TQ (return; 0 random, 1 expert)", f"{found.quality:.3f}", interval_of(normalised.tolist()))
    if found.coverage is not None:
        shown.add_row(f"SACo (pairs; 1 {str(found.reference).rpartition('/')[2]})", f"{found.coverage:.3f}", "")
    return shown


def _histogram(found: Summary, bars: int = 12, width: int = 44) -> str:
    counts, edges = np.histogram(found.returns, bins=bars)
    lines = ["return              episodes"]
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        bar = "█" * round(width * count / counts.max()) or ("▏" if count else "")
        lines.append(f"{low:>9.1f} to {high:<9.1f} {bar} {count if count else ''}".rstrip())
    return "\n".join(lines)


def draw(found: Summary, path: str | Path) -> Path:
    """Writes the distribution of returns as a picture: one colour a policy, lines where random and expert are.

    Raises:
        ValueError: a format that matplotlib does not write.
    """
    check_picture(path)
    names = list(dict.fromkeys(found.policies.tolist()))
    parts = [found.returns[found.policies == name] for name in names]
    ends = np.array([*found.returns, *(found.scores or ())])
    edges = np.linspace(ends.min(), max(ends.max(), ends.min() + 1e-9), 51).tolist()
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with canvas(7.2, 3.6) as figure:
        axes = figure.subplots()
        colours = [colour(place) for place in range(len(names))]
        axes.hist(parts, bins=edges, stacked=True, color=colours, label=names, edgecolor="white", linewidth=0.4)
        for name, score in zip(("random", "expert"), found.scores or (), strict=False):
            axes.axvline(score, color=INK, lw=1, ls=(0, (4, 3)))
            where = (score, 1.0)
            axes.annotate(name, where, xycoords=("data", "axes fraction"), va="bottom", ha="center", fontsize=8)
        if len(names) > 1:
            axes.legend()
        axes.set(xlabel="return of an episode", ylabel="episodes")
        axes.grid(visible=False, axis="x")
        axes.spines["left"].set_visible(False)
        axes.tick_params(length=0)
        axes.set_title(_title(found), loc="left", pad=16)
        figure.savefig(target, dpi=150)
    return target


def _title(found: Summary) -> str:
    parts = [found.dataset_id, f"{len(found.returns):,} episodes", f"{found.lengths.sum():,} steps"]
    if found.quality is not None:
        parts.append(f"TQ {found.quality:.2f}")
    if found.coverage is not None:
        parts.append(f"SACo {found.coverage:.2f}")
    return ", ".join(parts)
