import pytest
import torch as th

from tiltyard.agents.control.hl_gauss import HLGauss


def test_hl_gauss_by_hand() -> None:
    # Sigma 0.75 and a target on a bin's centre: that bin gets Phi(2/3) - Phi(-2/3) = 0.49502, the next on either side
    # Phi(2) - Phi(2/3) = 0.22974, the next but one Phi(10/3) - Phi(2) = 0.02232.
    made = HLGauss(1, v_min=0.0, v_max=10.0, n_bins=17)
    assert made.width == 1
    found = made.encode(th.tensor(5.0)).tolist()
    assert found[5 + 3 :][:3] == pytest.approx([0.49502, 0.22974, 0.02232], abs=1e-4)
    assert found[: 5 + 4] == pytest.approx(found[5 + 3 :][::-1][-9:], abs=1e-6)
