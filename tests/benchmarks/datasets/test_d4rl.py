from pathlib import Path

import h5py
import minari
import numpy as np
import pytest

from tiltyard.agents.control.datasets import Transitions
from tiltyard.benchmarks.datasets import d4rl_normalise, import_d4rl
from tiltyard.benchmarks.datasets.d4rl import read_d4rl, task_of
from tiltyard.benchmarks.datasets.d4rl_scores import SCORES

HOPPER = "tiltyard/Hopper-v5"


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


def write(path, terminals, timeouts=None, *, following=True, **changed):
    """A file as D4RL's collect_data.py writes it; observation t is all t, what follows it t + 0.5, the reward t."""
    steps = len(terminals)
    t = np.arange(steps, dtype=np.float32)
    arrays = {
        "observations": np.tile(t[:, None], 11),
        "actions": np.full((steps, 3), 0.5, np.float32),
        "rewards": t,
        "terminals": np.array(terminals, bool),
        "infos/qpos": np.tile(t[:, None], 6),
        "infos/action_log_probs": t,
    }
    if following:
        arrays["next_observations"] = np.tile(t[:, None] + 0.5, 11)
    if timeouts is not None:
        arrays["timeouts"] = np.array(timeouts, bool)
    with h5py.File(path, "w") as file:
        for name, array in (arrays | changed).items():
            if array is not None:
                file.create_dataset(name, data=array, compression="gzip")
        file["metadata/algorithm"] = np.bytes_("SAC")
        file["metadata/iteration"] = np.int32(600)
        file["metadata/policy/fc0/weight"] = np.zeros((4, 4))
    return path


def firsts(episodes):
    return [episode.observations[:, 0].tolist() for episode in episodes]


def test_episodes_end_at_terminals_and_timeouts(tmp_path):
    path = write(tmp_path / "a.hdf5", [0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0])
    episodes = read_d4rl(path, 1000)
    assert firsts(episodes) == [[0, 1, 1.5], [2, 3, 3.5], [4, 5, 5.5]]  # the last was cut off by the end of the file
    assert [episode.terminated for episode in episodes] == [True, False, False]
    assert [episode.rewards.tolist() for episode in episodes] == [[0, 1], [2, 3], [4, 5]]
    np.testing.assert_array_equal(episodes[1].infos["qpos"][:, 0], [2, 3])
    np.testing.assert_array_equal(episodes[1].infos["action_log_probs"], [2, 3])


def test_a_timeout_without_what_followed_loses_its_last_step(tmp_path):
    path = write(tmp_path / "a.hdf5", [0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0], following=False)
    episodes = read_d4rl(path, 1000)
    assert firsts(episodes) == [[0, 1, 1], [2, 3], [4, 5]]
    assert [episode.rewards.tolist() for episode in episodes] == [[0, 1], [2], [4]]
    assert [episode.terminated for episode in episodes] == [True, False, False]
    assert [len(episode.infos["qpos"]) for episode in episodes] == [2, 1, 1]


def test_files_of_v0_are_cut_at_the_time_limit(tmp_path):
    path = write(tmp_path / "a.hdf5", [0, 0, 0, 0, 1, 0, 0, 0], None)
    episodes = read_d4rl(path, 3)
    assert [episode.rewards.tolist() for episode in episodes] == [[0, 1, 2], [3, 4], [5, 6, 7]]
    assert [episode.terminated for episode in episodes] == [False, True, False]


def test_an_episode_of_one_step_that_timed_out_leaves_nothing_without_what_followed(tmp_path):
    path = write(tmp_path / "a.hdf5", [0, 0, 1], [1, 0, 0], following=False)
    assert firsts(read_d4rl(path, 1000)) == [[1, 2, 2]]


def test_columns_are_flattened(tmp_path):
    columns = [[0], [0], [1]]
    path = write(tmp_path / "a.hdf5", columns, [0, 0, 0], rewards=np.ones((3, 1), np.float32))
    (episode,) = read_d4rl(path, 1000)
    assert episode.rewards.tolist() == [1, 1, 1]


def test_import_makes_a_dataset_that_minari_and_agents_read(tmp_path):
    path = write(tmp_path / "hopper_medium-v2.hdf5", [0, 1, 0, 0], [0, 0, 0, 1])
    made = import_d4rl(path, HOPPER)
    assert made.id == "d4rl/hopper/medium-v2"
    dataset = minari.load_dataset("d4rl/hopper/medium-v2")
    assert [len(episode) for episode in dataset] == [2, 2]
    assert dataset.env_spec.id == HOPPER
    metadata = dataset.storage.metadata
    assert (metadata["ref_min_score"], metadata["ref_max_score"]) == (-20.272305, 3234.3)
    assert metadata["algorithm_name"] == "SAC"
    assert metadata["tiltyard"]["d4rl"]["metadata"] == {"algorithm": "SAC", "iteration": 600}
    np.testing.assert_array_equal(dataset[1].infos["qpos"][:, 0], [2, 3])
    read = Transitions.from_minari(dataset, dataset.observation_space, dataset.action_space)
    np.testing.assert_array_equal(read.next_observations[:, 0], [1, 1.5, 3, 3.5])
    np.testing.assert_array_equal(read.terminations, [0, 1, 0, 0])


def test_an_unknown_task_keeps_the_scores_of_the_environment(tmp_path):
    made = import_d4rl(write(tmp_path / "mine.hdf5", [0, 1], [0, 0]), HOPPER, dataset_id="mine/hopper/odd-v3")
    assert made.id == "mine/hopper/odd-v3"
    assert made.storage.metadata["ref_min_score"] == 16.8


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"observations": np.zeros((2, 17))}, r"its observations have shape \(17,\), those of .* \(11,\)"),
        ({"actions": np.zeros((2, 6))}, r"its actions have shape \(6,\), those of .* \(3,\)"),
        ({"actions": None}, "is not a D4RL file: it lacks actions"),
        (
            {"rewards": np.zeros(3)},
            r"its arrays are empty or not of one length \(observations \(2, 11\), .* rewards \(3,\)",
        ),
        ({"rewards": np.array([0.0, np.nan])}, "episode 0 holds NaN or infinity in its rewards"),
        ({"actions": np.full((2, 3), 1.5)}, "episode 0 holds an action outside the agent's space"),
    ],
)
def test_bad_files_are_named_and_leave_nothing(tmp_path, changed, message):
    path = write(tmp_path / "hopper_medium-v2.hdf5", [0, 1], [0, 0], **changed)
    with pytest.raises(ValueError, match=message):
        import_d4rl(path, HOPPER)
    assert not list((tmp_path / "minari").glob("**/main_data.hdf5"))
    assert minari.list_local_datasets() == {}


def test_what_is_no_such_file_is_said(tmp_path):
    (tmp_path / "text.hdf5").write_text("not this")
    with pytest.raises(ValueError, match="is not an HDF5 file"):
        import_d4rl(tmp_path / "text.hdf5", HOPPER)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        import_d4rl(tmp_path / "nowhere.hdf5", HOPPER)
    with pytest.raises(KeyError, match="did you mean 'hopper-medium-v2'"):
        import_d4rl(tmp_path / "text.hdf5", HOPPER, task="hopper-medum-v2")
    with pytest.raises(TypeError, match="datasets hold Box"):
        import_d4rl(tmp_path / "text.hdf5", "tiltyard/Countdown-v0")


def test_there_is_no_overwriting_without_force(tmp_path):
    path = write(tmp_path / "hopper_medium-v2.hdf5", [0, 1], [0, 0])
    import_d4rl(path, HOPPER)
    write(path, [0, 0, 1], [0, 0, 0])
    with pytest.raises(FileExistsError, match="there is a dataset d4rl/hopper/medium-v2 already"):
        import_d4rl(path, HOPPER)
    assert import_d4rl(path, HOPPER, force=True).total_steps == 3


@pytest.mark.parametrize(
    ("file", "task"),
    [
        ("hopper_medium-v2.hdf5", "hopper-medium-v2"),
        ("halfcheetah_medium_replay-v2.hdf5", "halfcheetah-medium-replay-v2"),
        ("walker_mixed.hdf5", "walker2d-medium-replay-v0"),
        ("hopper_medium_expert.hdf5", "hopper-medium-expert-v0"),
        ("maze2d-umaze-sparse-v1.hdf5", "maze2d-umaze-v1"),
        ("maze2d-umaze-dense-v1.hdf5", "maze2d-umaze-dense-v1"),
    ],
)
def test_published_files_say_their_task(file, task):
    assert task_of(Path(file)) == task
    assert task in SCORES


def test_normalised_scores_worked_by_hand():
    # (1740.45 + 20.272305) / (3234.3 + 20.272305) = 1760.722305 / 3254.572305
    assert d4rl_normalise("hopper-medium-v2", 1740.45) == pytest.approx(0.541, abs=1e-5)
    assert d4rl_normalise("halfcheetah-medium-expert-v0", 12135.0) == 1.0
    assert d4rl_normalise("maze2d-large-v1", 6.7) == 0.0
    with pytest.raises(KeyError, match="unknown D4RL task 'hoper-medium-v2'"):
        d4rl_normalise("hoper-medium-v2", 0.0)


def test_every_task_of_d4rl_that_has_scores_is_there():
    # d4rl/infos.py: 23 single tasks, 4 runners x (5 of v0 + 2 x 6 of v1 and v2), 4 x 5 on Bullet, 4 hands x 3 x 2,
    # 6 ant mazes x 2.
    assert len(SCORES) == 23 + 68 + 20 + 24 + 12
    assert all(low < high for low, high in SCORES.values())
