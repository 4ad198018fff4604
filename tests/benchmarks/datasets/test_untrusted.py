"""Datasets by strangers: no code runs, no other file is opened, sizes are known first, and errors are sentences."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from gymnasium.spaces import Box
from minari import create_dataset_from_buffers
from minari.data_collector import EpisodeBuffer

from tiltyard.agents.control import hdf5
from tiltyard.agents.control.datasets import Transitions, load
from tiltyard.benchmarks.datasets.d4rl import read_d4rl
from tiltyard.benchmarks.datasets.show import summarise

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:minari")

NAME = "test/small-v0"
OBSERVATIONS, ACTIONS = Box(-9.0, 9.0, (2,), np.float32), Box(-1.0, 1.0, (1,), np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a dataset of three episodes of four steps lies."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    rng = np.random.default_rng(0)
    episodes = [
        EpisodeBuffer(
            observations=rng.uniform(-1, 1, (5, 2)).astype(np.float32),
            actions=rng.uniform(-1, 1, (4, 1)).astype(np.float32),
            rewards=rng.uniform(size=4),
            terminations=np.arange(4) == 3,
            truncations=np.zeros(4, bool),
            infos={},
        )
        for _ in range(3)
    ]
    create_dataset_from_buffers(NAME, episodes, observation_space=OBSERVATIONS, action_space=ACTIONS)
    assert len(read()) == 12
    return tmp_path / "test" / "small-v0" / "data"


@pytest.fixture
def d4rl(tmp_path: Path) -> Path:
    with h5py.File(tmp_path / "hopper.hdf5", "w") as file:
        for name, shape in {"observations": (8, 2), "actions": (8, 1), "rewards": (8,), "terminals": (8,)}.items():
            file[name] = np.zeros(shape, np.float32)
        file["metadata/algorithm"] = "SAC"
    assert len(read_d4rl(tmp_path / "hopper.hdf5", 4)) == 2
    return tmp_path / "hopper.hdf5"


def read() -> Transitions:
    return Transitions.from_minari(NAME, OBSERVATIONS, ACTIONS)


def refused(reading: Callable[[], object], message: str, name: str = NAME) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        reading()
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def sentence(reading: Callable[[], object]) -> str:
    """The ``ValueError`` that ``reading`` ended in, if it did."""
    try:
        reading()
    except ValueError as error:
        return str(error)
    return ""


def change(folder: Path, **new: Any) -> None:
    """Writes other metadata; None takes away."""
    metadata = json.loads((folder / "metadata.json").read_text()) | new
    kept = {name: value for name, value in metadata.items() if value is not None}
    (folder / "metadata.json").write_text(json.dumps(kept))


def test_no_environment_is_made_to_find_out_its_spaces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "evilmod.py").write_text("X = int\n")
    monkeypatch.syspath_prepend(folder.parent)
    spec = {"id": "Evil-v0", "entry_point": "evilmod:X", "additional_wrappers": [], "kwargs": {}}
    change(folder, observation_space=None, env_spec=json.dumps(spec))
    refused(read, "do not say its observation_space")
    assert "evilmod" not in sys.modules


@pytest.mark.parametrize(
    "new",
    [
        {"dataset_id": "../../elsewhere-v0"},
        {"dataset_id": 3},
        {"data_format": "pickle"},
        {"minari_version": "99"},
        {"action_space": '{"type": "Graph"}'},
        {"action_space": '{"type": "Box", "dtype": "O", "shape": [1], "low": [0], "high": [1]}'},
        {"action_space": '{"type": "Box", "dtype": "float32", "shape": [1000000], "low": [0], "high": [1]}'},
        {"action_space": "[" * 10**5},
        {"env_spec": "{}"},
        {"total_episodes": 10**12},
        {"total_episodes": 2},
        {"total_episodes": "3"},
    ],
    ids=lambda new: str(new)[:70],
)
def test_metadata_of_another_form_are_a_sentence(new: dict[str, Any], folder: Path) -> None:
    change(folder, **new)
    refused(read, "cannot be read")


@pytest.mark.parametrize(
    "new", [{"ref_min_score": "0", "ref_max_score": [1]}, {"tiltyard": 3}, {"ref_min_score": 1, "ref_max_score": 1}]
)
def test_a_summary_of_bad_metadata_is_a_sentence(new: dict[str, Any], folder: Path) -> None:
    change(folder, **new)
    refused(lambda: summarise(NAME), "cannot be read")


def test_metadata_are_of_a_size(folder: Path) -> None:
    with open(folder / "metadata.json", "r+b") as file:
        file.truncate(2**27)
    refused(read, "its metadata have 134,217,728 bytes")


def replaced(file: h5py.File, name: str, make: Callable[[], object]) -> None:
    del file[name]
    make()


def test_arrays_are_in_the_file_and_once(folder: Path, d4rl: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.hdf5"
    with h5py.File(secret, "w") as file:
        file["x"] = np.zeros(8, np.float32)
    layout = h5py.VirtualLayout((8,), "f4")
    layout[:] = h5py.VirtualSource(str(secret), "x", (8,))
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(32))
    for make, message in (
        (lambda file: file.__setitem__("rewards", h5py.ExternalLink(str(secret), "x")), "its rewards is a link"),
        (lambda file: file.__setitem__("rewards", h5py.SoftLink("/terminals")), "its rewards is a link"),
        (lambda file: file.__setitem__("rewards", file["terminals"]), "has another name"),
        (lambda file: file.create_virtual_dataset("rewards", layout), "lie in other files"),
        (lambda file: file.create_dataset("rewards", (8,), "f4", external=[(str(raw), 0, 32)]), "lie in other files"),
        (lambda file: file.create_dataset("rewards", (8,), [("a", "f4")]), "neither numbers nor texts"),
        (lambda file: file.create_dataset("rewards", (8,), h5py.ref_dtype), "neither numbers nor texts"),
        (lambda file: file.create_dataset("rewards", data=["a"] * 8), "no numbers a step"),
    ):
        with h5py.File(d4rl, "a") as file:
            replaced(file, "rewards", lambda file=file, make=make: make(file))
        refused(lambda: read_d4rl(d4rl, 4), message, "hopper.hdf5")
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        replaced(file, "episode_1", lambda: file.__setitem__("episode_1", h5py.ExternalLink(str(secret), "/")))
    refused(read, "its episode_1 is a link")


def test_arrays_are_no_larger_than_a_file_can_hold(folder: Path, d4rl: Path) -> None:
    for path, name in ((d4rl, "observations"), (folder / "main_data.hdf5", "episode_1/observations")):
        with h5py.File(path, "a") as file:
            del file[name]
            file.create_dataset(name, (10**10, 2), "f4", chunks=(1000, 2), compression="gzip")
    refused(lambda: read_d4rl(d4rl, 4), "its arrays have 80,000,000,[0-9]+ bytes", "hopper.hdf5")
    refused(read, "its arrays have 80,000,000,[0-9]+ bytes")


def test_arrays_may_be_as_large_as_real_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "FREE", 0)  # as if the file were large
    assert len(read()) == 12


@pytest.mark.parametrize("field", ["rewards", "terminations", "observations", "actions"])
def test_fields_are_numbers(field: str, folder: Path) -> None:
    with h5py.File(folder / "main_data.hdf5", "a") as file:
        del file[f"episode_2/{field}"]
        file[f"episode_2/{field}"] = ["a"] * 4
    refused(read, f"episode 2 holds {field} that are no numbers")


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_a_sentence(seed: int, folder: Path, d4rl: Path) -> None:
    rng = np.random.default_rng(seed)
    for path, reading in (
        (d4rl, lambda: read_d4rl(d4rl, 4)),
        (folder / "main_data.hdf5", read),
        (folder / "metadata.json", lambda: summarise(load(NAME))),
    ):
        whole = path.read_bytes()
        spoilt = bytearray(whole)
        for place in rng.integers(min(len(spoilt), 4000), size=4):
            spoilt[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(spoilt[: int(rng.integers(len(spoilt)))] if seed % 4 == 0 else spoilt))
        said = sentence(reading)
        assert "\n" not in said
        assert not said or path.name in said or NAME in said
        path.write_bytes(whole)


@pytest.mark.parametrize("name", ["metadata.json", "main_data.hdf5"])
def test_a_missing_file_is_a_sentence(name: str, folder: Path) -> None:
    (folder / name).unlink()
    refused(read, "cannot be read")
