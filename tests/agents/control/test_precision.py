import warnings

import pytest
import torch as th

from tiltyard.agents import SAC
from tiltyard.agents.control.precision import warn_if_slow

CPU = th.device("cpu")


@pytest.mark.parametrize(
    ("precision", "device", "capability", "slow"),
    [
        ("bf16", CPU, "AVX2", True),
        ("fp32", CPU, "AVX2", False),
        ("bf16", CPU, "AVX512", False),
        ("bf16", th.device("cuda"), "AVX2", False),
    ],
)
def test_emulated_half_precision_is_warned_of(
    precision: str, device: th.device, capability: str, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(th.backends.cpu, "get_cpu_capability", lambda: capability)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warn_if_slow(precision, device)
    assert len(told) == slow
    assert all('leave matmul_precision="fp32"' in str(one.message) for one in told)


def test_an_agent_warns_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(th.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    with pytest.warns(UserWarning, match="emulates bf16 products"):
        SAC("MlpPolicy", "Pendulum-v1", matmul_precision="bf16")
