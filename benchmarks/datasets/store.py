"""Where datasets lie and how they come to be there: whole, or not at all."""

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .episodes import Episode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gymnasium import Env
    from minari import MinariDataset


def home(env_id: str) -> str:
    """The namespace of an environment's datasets: ``tiltyard/hopper`` for ``tiltyard/Hopper-v5``."""
    return f"tiltyard/{_plain(env_id)}"


def _plain(env_id: str) -> str:
    return re.sub(r"-v\d+$", "", env_id.rpartition("/")[2]).lower()


def check_id(dataset_id: str) -> None:
    """Raises ``ValueError`` for what is no full id of a dataset (Minari takes no namespace of one character)."""
    if not re.fullmatch(r"(?!./[^/]*$)([-\w]+/)*[-\w]+-v\d+", dataset_id):
        raise ValueError(f"a dataset's id is like tiltyard/hopper/medium-v0, got {dataset_id!r}")


def path_of(name: str) -> Path:
    """The folder of a dataset or namespace."""
    from minari.storage import get_dataset_path

    return Path(get_dataset_path(name))


def check_free(dataset_id: str, force: bool) -> None:
    """Raises ``FileExistsError`` where there is such a dataset already, unless ``force``."""
    check_id(dataset_id)
    if path_of(dataset_id).exists() and not force:
        raise FileExistsError(
            f"there is a dataset {dataset_id} already: show it with tiltyard dataset show {dataset_id}, give another "
            "--id, or overwrite it with --force"
        )


@contextmanager
def whole(target: Path) -> "Iterator[Path]":
    """A hidden folder beside ``target`` that takes its name, and its place, when the block is left without an error."""
    partial, old = (target.with_name(f".{target.name}.{kind}") for kind in ("partial", "old"))
    for folder in (partial, old):
        shutil.rmtree(folder, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        if target.exists():
            os.rename(target, old)
        os.rename(partial, target)
    finally:
        for folder in (partial, old):
            shutil.rmtree(folder, ignore_errors=True)


def write(
    dataset_id: str,
    episodes: Sequence[Episode],
    env: "Env[Any, Any]",
    metadata: Mapping[str, Any],
    *,
    force: bool,
) -> "MinariDataset":
    """Writes a dataset, reads it back as an agent would, and only then gives it its name.

    Args:
        dataset_id: its id.
        episodes: what it holds; each one's policy is kept in its metadata.
        env: the environment it was recorded in; with ``split="test"``, the one to evaluate in.
        metadata: what Minari keeps beside it.
        force: whether to take the place of a dataset with that id.

    Raises:
        FileExistsError: there is one already.
        ValueError: no valid id, or episodes that no agent could learn from (:class:`~tiltyard.agents.control.datasets
            .Transitions` says why).
    """
    import minari
    from minari.dataset.minari_storage import MinariStorage
    from minari.namespace import create_namespace, list_local_namespaces

    from ...agents.control.datasets import Transitions
    from ...agents.control.elements_policy import reads
    from ...agents.control.trajectories import read

    check_free(dataset_id, force)
    assert env.spec is not None
    evaluation = deepcopy(env.spec)
    evaluation.kwargs["split"] = "test"
    namespace = dataset_id.rpartition("/")[0]
    if namespace and namespace not in list_local_namespaces():
        create_namespace(namespace)
    with whole(path_of(dataset_id)) as folder:
        storage = MinariStorage.new(folder / "data", env.observation_space, env.action_space, env.spec)
        described = {"dataset_id": dataset_id, "minari_version": minari.__version__, "author": {"Tiltyard"}}
        storage.update_metadata({**described, "eval_env_spec": evaluation.to_json(), **metadata})
        storage.update_episodes(episode.buffer() for episode in episodes)
        storage.update_episode_metadata([{"policy": episode.policy} for episode in episodes])
        check: Any = read if reads(env.observation_space) else Transitions.from_minari
        check(minari.MinariDataset(storage), env.observation_space, env.action_space)
    return minari.load_dataset(dataset_id)


def recorded(dataset: "MinariDataset") -> dict[str, Any]:
    """What Tiltyard wrote beside a dataset (command, versions, seed, ...); empty for datasets of others."""
    return dict(dataset.storage.metadata.get("tiltyard", {}))


def policies(dataset: "MinariDataset") -> list[str]:
    """Who acted in each episode; "" where that is not recorded."""
    return [str(known.get("policy", "")) for known in dataset.storage.get_episode_metadata(dataset.episode_indices)]


def write_json(path: Path, data: Any) -> None:
    """Writes indented JSON."""
    path.write_text(json.dumps(data, indent=1) + "\n")
