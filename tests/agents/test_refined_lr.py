"""Refined learning rates: by hand, the shapes that the paper names, and norms that an agent's training leaves."""

import numpy as np
import pytest
import torch

from tiltyard.agents import PPO
from tiltyard.agents.refined_lr import gradient_norms, linear_decay, refined, refined_schedule


def test_schedules_by_hand() -> None:
    assert refined([2.0, 1.0, 1.0, 1.0], smoothing=0).tolist() == [0.375, 1.0, 0.5, 0.0]
    assert refined([2.0, 1.0, 1.0, 1.0], power=1, smoothing=0).tolist() == [0.75, 1.0, 0.5, 0.0]  # w = 1/2, 1, 1, 1


def test_constant_norms_give_linear_decay_exactly() -> None:
    assert np.allclose(refined(np.full(50, 3.7)), 1 - (np.arange(50)) / 49, rtol=0, atol=1e-12)


def test_norms_that_fall_at_first_give_a_warm_up_and_those_that_fall_at_last_anneal_sooner() -> None:
    steps = np.linspace(0, 1, 400)
    early = refined(np.interp(steps, [0, 0.2, 1], [10, 1, 1]))
    assert early[0] < 0.05
    assert 0.1 < early.argmax() / 400 < 0.3
    late = refined(np.interp(steps, [0, 0.5, 1], [1, 1, 0.2]))
    assert late.argmax() / 400 > 0.7, "steps with small gradients are taken with large rates"
    rising = refined(np.interp(steps, [0, 0.5, 1], [1, 1, 5]))
    assert rising[200] < 0.3 < 1 - steps[200], "gradients that grow at the end anneal before"


def test_single_steps_far_off_are_smoothed_away() -> None:
    norms = np.ones(200)
    norms[100] = 1e3
    assert np.allclose(refined(norms), refined(np.ones(200)))
    assert refined(norms, smoothing=0)[100] < 1e-5


def test_the_schedule_is_of_the_remaining_progress() -> None:
    schedule = refined_schedule([2.0, 1.0, 1.0, 1.0], peak=0.1, smoothing=0)
    assert [schedule(left) for left in (1.0, 2 / 3, 1 / 3, 0.0)] == pytest.approx([0.0375, 0.1, 0.05, 0.0], abs=1e-4)
    assert [linear_decay(0.2)(left) for left in (1.0, 0.25, 0.0)] == [0.2, 0.05, 0.0]
    warm = linear_decay(0.2, warm_up=0.5)
    assert [warm(left) for left in (1.0, 0.75, 0.5, 0.25, 0.0)] == pytest.approx([0, 0.1, 0.2, 0.1, 0])


def test_norms_are_those_of_the_whole_gradient_at_every_step() -> None:
    weights = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(1))]
    optimizer = torch.optim.SGD(weights, lr=0.1)
    for order, expected in ((2, 13.0), (1, 19.0)):
        with gradient_norms(optimizer, order=order) as norms:
            weights[0].grad, weights[1].grad = torch.tensor([3.0, 4.0]), torch.tensor([-12.0])
            optimizer.step()
            weights[0].grad, weights[1].grad = None, torch.zeros(1)
            optimizer.step()
        assert norms == [expected]
    optimizer.step()
    assert norms == [19.0], "it goes on after the block"


def test_an_agent_is_trained_again_with_what_its_first_run_left(tmp_path) -> None:
    sizes = {"n_steps": 32, "batch_size": 16, "n_epochs": 1, "seed": 0, "policy_kwargs": {"net_arch": [8]}}
    agent = PPO("MlpPolicy", "CartPole-v1", **sizes)
    with gradient_norms(agent.policy.optimizer, order=1) as norms:
        agent.learn(128)
    assert len(norms) == 8
    again = PPO("MlpPolicy", "CartPole-v1", learning_rate=refined_schedule(norms, peak=1e-3, power=1), **sizes)
    again.learn(128)
    again.save(tmp_path / "agent.zip")
    loaded = PPO.load(tmp_path / "agent.zip")
    assert loaded.lr_schedule(0.5) == pytest.approx(again.lr_schedule(0.5))
    assert 0 < loaded.lr_schedule(0.5) <= 1e-3


@pytest.mark.parametrize(
    ("norms", "change", "message"),
    [
        ([1.0], {}, "at least two steps"),
        ([1.0, 0.0], {}, "finite and above 0"),
        ([1.0, float("nan")], {}, "finite and above 0"),
        ([1.0, 2.0], {"smoothing": 2.0}, "from 0 to 1"),
    ],
)
def test_bad_norms_are_a_sentence(norms: list[float], change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        refined(norms, **change)


def test_bad_options_are_a_sentence() -> None:
    with pytest.raises(ValueError, match="below 1"):
        linear_decay(0.1, warm_up=1.0)
    with pytest.raises(ValueError, match="1 or 2"), gradient_norms(torch.optim.SGD([torch.zeros(1)], lr=1), order=3):
        pass
