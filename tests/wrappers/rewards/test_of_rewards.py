import sys
from pathlib import Path

from tiltyard.wrappers.rewards.of_rewards import OfRewards

sys.path.insert(0, str(Path(__file__).parent))
from made_up import Read  # noqa: E402


def test_others_are_told_of_everything_and_asked_for_what_they_hold():
    first, second = Read("first"), Read("second")
    both = OfRewards([first, second])
    both.start(None)
    both.begin(None)
    assert first.told == second.told == ["start", "begin"]
    assert both.needs == ("logp_ref",)
    assert both.fit(None, None) == {"loss": 5.5, "first": 1.0, "second": 1.0}
    assert list(both.networks()) == ["net_0", "net_1"]
    assert list(OfRewards([first]).networks()) == ["net"]
    copy = OfRewards([Read("first"), Read("second")])
    copy.load_state_dict(both.state_dict())
    assert copy.of[1].told == ["start", "begin"]
