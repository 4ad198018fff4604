"""S5 layers: their recurrence, their resets, and PPO that remembers by them."""

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.evaluation import evaluate_policy

from tiltyard.agents import S5PPO
from tiltyard.agents.control.on_policy.recurrent_ppo import step_after_step
from tiltyard.agents.control.on_policy.s5_rl import S5Policy
from tiltyard.agents.control.on_policy.state_space import Recurrence, S5Layer, doubled, hippo, scanned, stepped
from tiltyard.wrappers.spaces import to_sb3

SMALL: dict[str, Any] = {"n_steps": 8, "bptt_steps": 4, "batch_size": 16, "n_epochs": 2, "seed": 0, "device": "cpu"}
MEMORY = {"s5_width": 8, "s5_states": 8, "n_s5_layers": 2}
TINY: dict[str, Any] = {**SMALL, "policy_kwargs": {"net_arch": [8], **MEMORY}}


class Sign(gymnasium.Env[Any, Any]):
    """Shows a sign at the first step alone; the last action of an episode is paid if it names it."""

    observation_space = Box(-1.0, 1.0, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, length: int = 5) -> None:
        self.length, self.count, self.sign = length, 0, 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count, self.sign = 0, int(self.np_random.integers(2))
        return np.array([2 * self.sign - 1], np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        over = self.count == self.length
        return np.zeros(1, np.float32), float(over and int(action) == self.sign), over, False, {}


def signs(*lengths: int, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> Any:
    return SyncVectorEnv([lambda n=n: Sign(n) for n in lengths], autoreset_mode=mode)


def test_hippo_diagonalises_the_normal_part_of_its_matrix() -> None:
    """By hand for n = 2: A + p p^T is [[-1/2, sqrt(3)/2], [-sqrt(3)/2, -1/2]], of eigenvalues -1/2 -+ i sqrt(3)/2."""
    values, vectors = hippo(2)
    assert values.tolist() == pytest.approx([complex(-0.5, -math.sqrt(3) / 2), complex(-0.5, math.sqrt(3) / 2)])
    normal = (vectors @ th.diag(values) @ vectors.conj().T).real
    expected = th.tensor([[-0.5, math.sqrt(3) / 2], [-math.sqrt(3) / 2, -0.5]], dtype=th.float64)
    assert th.allclose(normal, expected)


@pytest.mark.parametrize("length", [1, 2, 7, 16])
def test_the_associative_scan_steps_and_the_definition_agree(length: int) -> None:
    th.manual_seed(0)
    factors, inputs = (th.randn(length, 3, dtype=th.complex128) for _ in range(2))
    factors[length // 2] = 0.0  # an episode begins
    state, expected = th.zeros(3, dtype=th.complex128), []
    for a, b in zip(factors, inputs, strict=True):
        state = a * state + b
        expected.append(state)
    found = th.stack(expected)
    inputs_before = inputs.clone()
    for one in (doubled, stepped, scanned):
        start = factors.clone()
        start[0] = 5.0  # of no effect: nothing is before the first step
        assert th.allclose(one(start, inputs), found)
    assert inputs.equal(inputs_before)


def test_the_gradient_of_the_recurrence_is_that_of_its_definition() -> None:
    th.manual_seed(0)
    factors, inputs = (th.randn(5, 2, dtype=th.complex128, requires_grad=True) for _ in range(2))
    assert th.autograd.gradcheck(Recurrence.apply, (factors, inputs))


def test_a_layer_by_hand() -> None:
    """One state with Lambda = -1 + 0i and dt = ln 2 keeps a half: B' = (1/2 - 1) / -1 = 1/2, y = 2 Re(C x) + D u."""
    layer = S5Layer(1, 2)
    with th.no_grad():
        for name, value in {"decay": 0.0, "turn": 0.0, "log_step": math.log(math.log(2.0)), "d": 0.25}.items():
            getattr(layer, name).fill_(value)
        layer.b.copy_(th.tensor([[[1.0, 0.0]]]))
        layer.c.copy_(th.tensor([[[1.0, 0.5]]]))
        layer.gate.weight.copy_(th.tensor([[1.0], [0.0]]))
        layer.gate.bias.zero_()
        inputs = th.tensor([4.0, 0.0, 2.0]).view(3, 1, 1)
        starts = th.tensor([False, False, True]).view(3, 1)
        out, state = layer(inputs, th.full((1, 1), 8.0 + 4.0j), starts)
    states = [(8.0 + 4.0j) / 2 + 4.0 / 2, (6.0 + 2.0j) / 2, 2.0 / 2 + 0.0j]  # the last step forgets
    expected = []
    for x, u in zip(states, [4.0, 0.0, 2.0], strict=True):
        y = th.tensor(2.0 * ((1.0 + 0.5j) * x).real + 0.25 * u)
        expected.append(u + 0.5 * float(th.nn.functional.gelu(y)))  # the gate is at sigmoid(0)
    assert out.flatten().tolist() == pytest.approx(expected, rel=1e-5)
    assert state.item() == pytest.approx(1.0)


def test_a_sequence_at_once_equals_its_steps_and_resets_forget() -> None:
    th.manual_seed(0)
    policy = S5Policy(Box(-1, 1, (3,), np.float32), Discrete(2), lambda _: 0.0, **MEMORY)
    features, starts = th.randn(7, 4, 3), th.rand(7, 4) < 0.3
    with th.no_grad():
        whole, after = policy.remembered(features, policy.empty(4), starts)
        memory, steps = policy.empty(4), []
        for one, begins in zip(features, starts, strict=True):
            out, memory = policy.remembered(one[None], memory, begins[None])
            steps.append(out[0])
        assert th.allclose(whole, th.stack(steps), atol=1e-5)
        assert th.allclose(after, memory, atol=1e-5)
        starts[3] = True
        cut, _ = policy.remembered(features, policy.empty(4), starts)
        anew, _ = policy.remembered(features[3:], policy.empty(4), starts[3:])
    assert th.allclose(cut[3:], anew, atol=1e-5)
    assert not th.allclose(cut[3:], whole[3:], atol=1e-3)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_update_reads_what_the_rollout_did(mode: AutoresetMode) -> None:
    agent = S5PPO("MlpPolicy", signs(3, 100, 5, mode=mode), **TINY)
    _, callback = agent._setup_learn(1, None)
    agent.collect_rollouts(agent.env, callback, agent.rollout_buffer, agent.n_steps)  # type: ignore[arg-type]
    samples = agent._samples()
    with th.no_grad():
        values, logp, _ = agent.policy.evaluate_sequences(
            step_after_step(samples.observations),
            step_after_step(samples.actions),
            samples.memory.permute(1, 2, 0, 3),  # type: ignore[attr-defined]
            samples.starts.t(),  # type: ignore[attr-defined]
        )
    assert logp.tolist() == pytest.approx(samples.logp_old.t().flatten().tolist(), abs=1e-5)
    assert values.tolist() == pytest.approx(samples.values_old.t().flatten().tolist(), abs=1e-5)


def test_it_is_saved_with_its_memory_and_predicts_by_the_state_it_is_given(tmp_path: Path) -> None:
    agent = S5PPO("MlpPolicy", signs(5, 7), **TINY).learn(64)
    agent.save(tmp_path / "agent")
    loaded = S5PPO.load(tmp_path / "agent")
    seen = np.array([[1.0], [-1.0]], np.float32)
    _, state = agent.predict(seen)
    assert [part.shape for part in state] == [(2, 2, 4)] * 2
    for mine, other in zip(agent.predict(seen, state=state)[1], loaded.predict(seen, state=state)[1], strict=True):
        assert np.array_equal(mine, other)
    _, anew = agent.predict(seen, state=state, episode_start=np.array([True, False]))
    assert np.allclose(anew[0][:, 0], state[0][:, 0])
    assert not np.allclose(anew[0][:, 1], state[0][:, 1])


def test_layers_that_cannot_be_are_refused() -> None:
    for wrong, said in (({"s5_states": 3}, "an even number of at least 2, got 3"), ({"n_s5_layers": 0}, "at least 1")):
        with pytest.raises(ValueError, match=said):
            S5PPO("MlpPolicy", signs(5), **{**SMALL, "policy_kwargs": wrong})


@pytest.mark.slow
def test_it_recalls_a_sign() -> None:
    settings: dict[str, Any] = {"n_steps": 20, "bptt_steps": 10, "batch_size": 320, "n_epochs": 4, "seed": 0}
    env = SyncVectorEnv([Sign] * 32, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = S5PPO("MlpPolicy", env, learning_rate=3e-3, gamma=0.95, device="cpu", **settings).learn(16_000)
    test = to_sb3(SyncVectorEnv([Sign] * 8, autoreset_mode=AutoresetMode.SAME_STEP))
    test.seed(1)
    assert evaluate_policy(agent, test, 200)[0] > 0.95  # chance is one half
