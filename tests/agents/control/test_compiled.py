from typing import Any

import pytest
import torch as th
from stable_baselines3.common.utils import set_random_seed

from tiltyard.agents import DSACT, SAC
from tiltyard.agents.control.compiled import CompiledUpdate

SETTINGS: dict[str, Any] = {"learning_starts": 300, "seed": 0, "device": "cpu"}
KINDS: dict[str, dict[str, Any]] = {
    "SAC": {},
    "delayed actor, fixed temperature": {"policy_delay": 2, "ent_coef": 0.1},
    "RLPD": {
        "critic_subset": 2,
        "backup_entropy": False,
        "actor_objective": "mean",
        "policy_kwargs": {"n_critics": 4, "critic_layer_norm": True},
    },
}


def agents(kind: str) -> tuple[SAC, SAC]:
    one, other = (SAC("MlpPolicy", "Pendulum-v1", **SETTINGS, **KINDS[kind]).learn(300) for _ in range(2))
    for agent in (one, other):
        agent.policy.double()
        agent._temperature.log.data = agent._temperature.log.data.double()
        agent._pair_targets()
    return one, other


def compare(one: SAC, other: SAC, updates: int) -> None:
    th.set_default_dtype(th.float64)
    for seed in range(updates):
        batch = one.sample(64)
        batch = type(batch)(*(None if part is None else part.double() for part in batch))
        for agent in (one, other):
            set_random_seed(seed)
            agent.update(batch)
            agent._n_updates += 1
    th.set_default_dtype(th.float32)
    for name, parameter in one.policy.state_dict().items():
        th.testing.assert_close(parameter, other.policy.state_dict()[name], rtol=1e-8, atol=1e-9, msg=name)
    th.testing.assert_close(one._temperature.log, other._temperature.log)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_compiled_is_sacs_update(kind: str) -> None:
    one, other = agents(kind)
    whole = CompiledUpdate(other)
    whole._critics, whole._both = whole._update_critics, whole._update_both  # as written, without the compiler
    other._compiled = whole
    compare(one, other, 20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_compiler_keeps_the_numbers(kind: str) -> None:
    one, other = agents(kind)
    other._compiled = CompiledUpdate(other)
    compare(one, other, 20)


def test_agents_that_change_the_update_refuse_to_compile_it() -> None:
    with pytest.raises(ValueError, match="SAC's own update, which DSACT changes"):
        DSACT("MlpPolicy", "Pendulum-v1", compiled=True, **SETTINGS)
    with pytest.raises(ValueError, match="squared-error critics"):
        SAC("MlpPolicy", "Pendulum-v1", compiled=True, policy_kwargs={"critic_head": "gaussian"}, **SETTINGS)
    for unknown in ({"optimizer_kwargs": {"weight_decay": 0.1}}, {"log_std_offset": -1.0}):
        with pytest.raises(ValueError, match="knows neither optimizer_kwargs nor log_std_offset"):
            SAC("MlpPolicy", "Pendulum-v1", compiled=True, policy_kwargs=unknown, **SETTINGS)


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="needs a C\\+\\+ compiler"):
        SAC("MlpPolicy", "Pendulum-v1", compiled=True, **SETTINGS)
