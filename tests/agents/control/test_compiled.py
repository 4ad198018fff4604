"""What is compiled has the numbers of what is not."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch as th

from tiltyard.agents import BC, SAC
from tiltyard.agents.control import compiled

sys.path.insert(0, str(Path(__file__).parent))
from written_out import KINDS, batches, made

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(autouse=True)
def _doubles() -> Iterator[None]:
    th.set_default_dtype(th.float64)
    yield
    th.set_default_dtype(th.float32)


def compare(kind: str) -> None:
    one, other = made(kind), made(kind, compiled=True)
    drawn = list(batches(one, 6))
    one._n_updates = 0
    for agent in (one, other):
        for seed, batch in enumerate(drawn):
            th.manual_seed(seed)
            agent.update(batch)
            agent._n_updates += 1
    assert other._compiled._made
    for name, parameter in one.policy.state_dict().items():
        th.testing.assert_close(parameter, other.policy.state_dict()[name], rtol=1e-8, atol=1e-9, msg=name)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind[0].islower() else []) for kind in KINDS]
)  # of each class in the default suite, of settings in the slow one
def test_updates_can_be_traced_whole(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = th.compile

    def traced(function: Any, **settings: Any) -> Any:
        return whole(function, backend="eager", **settings)

    monkeypatch.setattr(compiled.th, "compile", traced)
    compare(kind)


@pytest.mark.slow
@each_kind
def test_the_compiler_keeps_the_numbers(kind: str) -> None:
    compare(kind)


def test_other_updates_refuse_to_be_compiled() -> None:
    with pytest.raises(ValueError, match="gradients are written out, and BC's are not"):
        BC("MlpPolicy", "Pendulum-v1", compiled=True)


def test_other_activations_refuse_to_be_compiled() -> None:
    with pytest.raises(ValueError, match="knows the activations ReLU, Tanh"):
        SAC("MlpPolicy", "Pendulum-v1", compiled=True, policy_kwargs={"activation_fn": th.nn.Softsign})


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="needs a C\\+\\+ compiler"):
        SAC("MlpPolicy", "Pendulum-v1", compiled=True)
