import pytest

from tiltyard.benchmarks import RaceIncomplete, Suite, race
from tiltyard.benchmarks.suites import Entry, Task

PARAMS = {
    "learning_starts": 60,
    "n_envs": 1,
    "gradient_steps": 1,
    "policy_kwargs": {"net_arch": [16]},
    "buffer_size": 1000,
}


@pytest.mark.slow
def test_a_real_ray_gives_the_same_bits_as_the_local_engine_and_names_what_fails(tmp_path):
    entries = (Entry("sac", 150, 1.0, PARAMS), Entry("td3", 150, 1.0, {"policy": "NoPolicy"}))
    suite = Suite("tiny", "", (Task("tiltyard/Hopper-v5", entries, eval_episodes=4, eval_points=3),), (0, 1))
    local = race(suite, agents=["sac"], root=tmp_path / "local", workers=2)
    assert [run.scores for run in race(suite, agents=["sac"], root=tmp_path / "ray", engine="ray", workers=2)] == [
        run.scores for run in local
    ]
    with pytest.raises(RaceIncomplete, match="NoPolicy") as caught:
        race(suite, root=tmp_path / "ray", engine="ray", seeds=[0])
    assert len(caught.value.failures) == 1
    assert len(caught.value.finished) == 1
