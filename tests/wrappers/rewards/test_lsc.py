import math
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tiltyard.wrappers.rewards.catalogue import load
from tiltyard.wrappers.rewards.lsc import LSC

sys.path.insert(0, str(Path(__file__).parent))
from made_up import Read, played, sigmoid  # noqa: E402


def test_lsc_centres_by_a_quantile_of_the_problems_references():
    episodes, context, _ = played()
    found = LSC(of=Read(), quantile=0.5, references=2).shape(episodes, context)  # the median: means 0 and 2
    assert found.tolist() == pytest.approx([math.log(sigmoid(one)) for one in (1 - 2, -1 - 0, 0 - 2)])
    higher = LSC(of=Read(), references=2).shape(episodes, context)
    bars = {3: 1.03643339 * math.sqrt(0.5), 7: 2 + 1.03643339 * math.sqrt(2)}  # of N(0, 1): 0.85 lies below 1.0364
    expected = [math.log(sigmoid(one)) for one in (1 - bars[7], -1 - bars[3], 0 - bars[7])]
    assert higher.tolist() == pytest.approx(expected, rel=1e-5)


def test_lsc_of_two_rewards_is_the_sum_of_both_and_none_makes_up_for_the_other():
    episodes, context, _ = played()
    parts = [LSC(of=Read(name), references=2).shape(episodes, context) for name in ("first", "second")]
    both = LSC(of=[Read("first"), Read("second")], references=2)
    torch.testing.assert_close(both.shape(episodes, context), parts[0] + parts[1])
    balanced, lopsided = (
        SimpleNamespace(seed=torch.tensor([7]), info={"first": torch.tensor([a]), "second": torch.tensor([b])})
        for a, b in ((3.0, 4.0), (-20.0, 90.0))
    )
    assert both.shape(balanced, context) > both.shape(lopsided, context)


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"name": "lsc", "references": 1}, "references is at least 2, got 0.85 and 1"),
        ({"name": "lsc", "quantile": 1.0}, "quantile lies between 0 and 1"),
        ({"name": "lsc", "of": []}, "at least one"),
    ],
)
def test_settings_that_mean_nothing_are_refused(choice, says):
    with pytest.raises(ValueError, match=says):
        load(choice)
