"""How a run is executed, as far as that leaves the run what it is: who is told, what is kept, what it goes on from.

A run that was kept can be gone on from: at each point of its curve its folder gets the agent's checkpoint and, of
agents that have one, the replay buffer. What goes on from there is a run of its own, with ``resumed_at`` in its params,
because the command of the first one does not give its numbers: an agent's generators and environments begin anew
(language agents alone go on bit for bit). A finished run of updates on a dataset is gone on from at step 0.
"""

import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import need, unknown
from .folders import is_claimed, remove
from .records import part, read_points, read_record
from .runs import CHECKPOINT, CONTINUES, CURVE, MOST_BYTES, MOST_EPISODES, NAME, RESUMED, RUN, STEPS, Run, is_finished

if TYPE_CHECKING:
    from stable_baselines3.common.logger import KVWriter

TRACKERS = ("tensorboard", "trackio", "wandb")
REPLAY = "replay.npz"
SPENT = "replay.removed"
"""Empty, in place of a replay buffer that was kept until a population had gone on from it."""
MOST_REPLAY = 1 << 30
"""Bytes in memory of a replay buffer that is still kept; it lies in the run's folder, compressed."""


@dataclass(frozen=True)
class Session:
    """How a run is executed.

    Attributes:
        track: one of :data:`TRACKERS`, which gets all that is logged.
        keep: write what the run can be gone on from at each point of its curve.
        source: the folder to go on from.
    """

    track: str | None = None
    keep: bool = False
    source: Path | None = None

    def __post_init__(self) -> None:
        if self.track is not None and self.track not in TRACKERS:
            raise ValueError(unknown("tracker", self.track, TRACKERS))
        if self.track is not None:
            need(self.track, extra=self.track)

    @contextmanager
    def tracked(self, run: Run, folder: Path) -> "Iterator[list[KVWriter]]":
        """What SB3's logger writes to besides files of its own; closed at the end."""
        writers = [] if self.track is None else [_writer(self.track, run, folder)]
        try:
            yield writers
        finally:
            for writer in writers:
                writer.close()


def _writer(track: str, run: Run, folder: Path) -> "KVWriter":
    from stable_baselines3.common.logger import KVWriter, make_output_format

    if track == "tensorboard":
        return make_output_format("tensorboard", str(folder))
    tracker: Any = need(track, extra=track)
    tracker.init(project="tiltyard", name=run.name, config=asdict(run))

    class Tracker(KVWriter):
        """The numbers of each dump, to a module with wandb's functions."""

        def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
            """As SB3 asks; what is kept from TensorBoard is kept from others alike."""
            shown = {name: value for name, value in key_values.items() if "tensorboard" not in key_excluded[name]}
            tracker.log({name: float(value) for name, value in shown.items() if _is_number(value)}, step=step)

        def close(self) -> None:
            """Ends the tracker's run."""
            tracker.finish()

    return Tracker()


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__")


def keep(agent: Any, folder: Path) -> None:
    """Writes the agent's checkpoint, and its replay buffer if it has one of moderate size, into ``folder``."""
    buffer = getattr(agent, "replay_buffer", None)
    if buffer is not None and 0 < _bytes(buffer) <= MOST_REPLAY:
        agent.save_replay_buffer(folder / REPLAY)
    agent.save(folder / CHECKPOINT)


def spend(folder: Path) -> None:
    """Removes the replay buffer in ``folder``, if there is one, and leaves :data:`SPENT` to tell of it."""
    if (folder / REPLAY).is_file():
        (folder / SPENT).touch()
        (folder / REPLAY).unlink()


def _bytes(buffer: Any) -> int:
    """Of the filled part of a buffer that can be saved as plain arrays; 0 of others."""
    if getattr(buffer, "optimize_memory_usage", False) or hasattr(buffer, "ep_length"):
        return 0
    stored = buffer.observations, buffer.next_observations, buffer.actions
    arrays = [array for part in stored for array in (part.values() if isinstance(part, Mapping) else [part])]
    return sum(int(array.nbytes) for array in arrays) * int(buffer.size()) // int(buffer.buffer_size)


def find_source(run: Run, root: Path) -> tuple[Path, int] | None:
    """The folder under ``root``, and its step, of the same run or a shorter one that got furthest; None without one."""
    found = []
    for folder in sorted(root.glob(f"{run.name[:-8]}*")):
        if (folder / CHECKPOINT).is_file() and (step := _step(run, folder)) is not None:
            found.append((folder, step))
    return max(found, key=lambda pair: pair[1], default=None)


def _step(run: Run, folder: Path) -> int | None:
    """How far the agent in ``folder`` has come, if it is one that ``run`` could go on from."""
    from ..agents.checkpoint import read_checkpoint

    try:
        there = Run(**part(read_record(folder / RUN, MOST_BYTES), "run", dict))
        step = int(read_checkpoint(folder / CHECKPOINT)[0]["counters"]["num_timesteps"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        warnings.warn(f"{folder} cannot be gone on from: {error}", UserWarning, 3)
        return None
    alike = (there.env_id, there.agent, there.seed) == (run.env_id, run.agent, run.seed)
    params = {name: value for name, value in there.params.items() if name != RESUMED}
    learnt = not there.budget  # from its dataset, and the same updates as ours would begin with
    return step if alike and params == run.params and (step or learnt) and step < run.budget else None


def gone_on(run: Run, root: Path) -> tuple[Run, Path | None]:
    """The run that goes on from what :func:`find_source` finds, and where; ``run`` if there is nothing."""
    found = find_source(run, root)
    if found is None:
        print(f"nothing to go on from in {root}: {run.name} begins at step 0", file=sys.stderr)
        return run, None
    folder, step = found
    print(describe(folder, step), file=sys.stderr)
    return replace(run, params={**run.params, RESUMED: step}), folder


def set_aside(run: Run, root: Path) -> None:
    """Renames what is there of ``run`` from before it was stopped, which starting it anew would remove.

    It stays what :func:`find_source` finds, and so does what was set aside before: each gets a name of its own,
    ``NAME.stopped.partial``, ``NAME.stopped-2.partial`` and so on.
    """
    partial = run.partial(root)
    if is_finished(run.folder(root)) or is_claimed(partial) or not (partial / CHECKPOINT).is_file():
        return
    names = (f"{run.name}.stopped{'' if number == 1 else f'-{number}'}.partial" for number in count(1))
    aside = next(root / name for name in names if not (root / name).exists())
    partial.rename(aside)
    print(f"begins at step 0; what was stopped is kept in {aside}, where --resume goes on from", file=sys.stderr)


@contextmanager
def unbegun_removed(run: Run, root: Path) -> Iterator[None]:
    """Removes the folder of a run that ends before its first step, in an error or stopped."""
    partial = run.partial(root)
    try:
        yield
    finally:
        begun = any((partial / name).exists() for name in (STEPS, CURVE, CHECKPOINT))
        if partial.is_dir() and not begun and not is_claimed(partial):
            remove(partial)


def of_population(run: Run, root: Path) -> Session | None:
    """How a run of a population is executed: kept, and going on from the run that it names; None for other runs.

    Raises:
        ValueError: what it names is no name of a run.
    """
    if CONTINUES not in run.params:
        return None
    source = run.params[CONTINUES]
    if source and ("/" in source or not NAME.fullmatch(source)):
        raise ValueError(f"{CONTINUES} is the name of a run's folder beside this one, got {source!r:.100}")
    return Session(keep=True, source=root / source if source else None)


def restored(agent: Any, source: Path, seed: int, changes: Mapping[str, Any] | None = None) -> Any:
    """The agent of the checkpoint in ``source``, with its replay buffer, in the environment of ``agent``.

    Of agents whose checkpoint holds no generators, all draws begin anew, from the seed and the step; with ``changes``,
    settings that replace those of the checkpoint, so they do of all.

    Raises:
        ValueError: the replay buffer of the checkpoint was removed since.
    """
    import numpy as np

    loaded = type(agent).load(source / CHECKPOINT, env=agent.get_env(), device=agent.device, **changes or {})
    if getattr(loaded, "replay_buffer", None) is not None:
        if (source / REPLAY).is_file():
            loaded.load_replay_buffer(source / REPLAY)
        elif (source / SPENT).is_file():
            raise ValueError(
                f"the replay buffer of {source.name} was removed when its population had gone on, and without it the "
                "run would be another: train the population anew in another folder (--out)"
            )
    if "streams" not in loaded.counters or changes is not None:
        anew = np.random.SeedSequence([seed, loaded.num_timesteps]).generate_state(1)[0]
        loaded.set_random_seed(int(anew >> 8))  # times the number of environments, it stays within 32 bits
    return loaded


def describe(source: Path, step: int) -> str:
    """What going on from ``source`` restores, in a sentence."""
    replay = "replay buffer" if (source / REPLAY).is_file() else "no replay buffer"
    return (
        f"goes on from {source} at step {step:,}: weights, optimisers, counters and {replay} are restored; "
        "environments begin anew, and so do all draws but those of language agents; it is a run of its own, with "
        "resumed_at among its params"
    )


def earlier_points(source: Path | None, episodes: int, step: int) -> dict[str, list[Any]]:
    """The points of the curve in ``source`` up to ``step``, if they are of as many episodes; none otherwise."""
    if source is None or not (source / CURVE).is_file():
        return {}
    try:
        points = read_points(source / CURVE, episodes, MOST_EPISODES)
    except ValueError as error:  # of another number of episodes, or killed while it was written
        warnings.warn(f"the curve of {source} is left out: {error}", UserWarning, 2)
        return {}
    kept = bisect_right(points.timesteps, step)
    columns = {"timesteps": points.timesteps, "results": points.results.tolist(), "ep_lengths": points.lengths.tolist()}
    if points.successes.size:
        columns["successes"] = points.successes.tolist()
    return {name: column[:kept] for name, column in columns.items()}
