import sys
from pathlib import Path

import pytest

from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.rm_ensemble import RewardEnsemble

sys.path.insert(0, str(Path(__file__).parent))
from made_up import Read, played  # noqa: E402


def test_ensembles_by_hand():
    episodes, context, _ = played()
    ensembles = {name: RewardEnsemble(objective=name, members=2, weight=0.5) for name in ("wco", "uwo", "mean")}
    for one in ensembles.values():
        one.of = (Read("first"), Read("second"))
    found = {name: one.shape(episodes, context).tolist() for name, one in ensembles.items()}
    assert found["wco"] == [1.0, -1.0, -2.0]
    assert found["mean"] == [1.5, -0.5, -1.0]
    assert found["uwo"] == pytest.approx([1.5 - 0.25, -0.5 - 0.25, -1.0 - 1.0])  # variances 1/2, 1/2 and 2


def test_members_of_an_ensemble_differ():
    noisy = RewardEnsemble(members=3, of={"name": "outcome", "deviation": 1.0, "noise_seed": 4})
    assert [member.noise_seed for member in noisy.of] == [4, 5, 6]
    assert [member.noise_seed for member in RewardEnsemble(members=2, of="outcome").of] == [0, 1]
    models = RewardEnsemble(members=3, of={"name": "tldr-rlhf", "flips": 0.25}).of
    assert len(set(map(id, models))) == 3
    assert {model.flips for model in models} == {0.25}
    with pytest.raises(ValueError, match="all members of an ensemble of 'laser' would pay the same"):
        RewardEnsemble(of="laser")
    with pytest.raises(TypeError, match="of= is a reward by name"):
        RewardEnsemble(of=Read())


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"name": "rm-ensemble", "members": 1}, "members is at least 2"),
        ({"name": "rm-ensemble", "objective": "best"}, "objective"),
    ],
)
def test_settings_that_mean_nothing_are_refused(choice, says):
    with pytest.raises(ValueError, match=says):
        load(choice)
