import numpy as np
import pytest
import torch

from tiltyard.agents.control.backward_lstm import backward_lstm


def test_it_is_torchs_lstm_on_the_steps_turned_round() -> None:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(5, 3)
    x = torch.randn(7, 2, 5)
    expected = lstm(x.flip(0))[0].flip(0)
    order = torch.cat([torch.arange(6), torch.arange(9, 12), torch.arange(6, 9)])  # torch has the content third
    given = x @ lstm.weight_ih_l0[order].T + lstm.bias_ih_l0[order] + lstm.bias_hh_l0[order]
    found = backward_lstm(given, lstm.weight_hh_l0[order], torch.zeros(7, 2))
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), atol=1e-6)


def test_written_gradients_are_those_of_finite_differences() -> None:
    torch.manual_seed(1)
    given = torch.randn(4, 3, 8, dtype=torch.float64, requires_grad=True)
    recurrent = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    done = (torch.rand(4, 3) < 0.3).double()
    assert 0 < done.sum() < 12
    assert torch.autograd.gradcheck(lambda *weights: backward_lstm(*weights, done), (given, recurrent))


def test_nothing_goes_back_past_the_end_of_an_episode() -> None:
    torch.manual_seed(2)
    given, recurrent, done = torch.randn(5, 1, 8), torch.randn(8, 2), torch.zeros(5, 1)
    done[2] = 1
    other = given.clone()
    other[3:] += 1
    same = [
        torch.equal(a, b)
        for a, b in zip(backward_lstm(given, recurrent, done), backward_lstm(other, recurrent, done), strict=True)
    ]
    assert same == [True, True, True, False, False]


def test_one_step_by_hand() -> None:
    # Gates at 0 let half through, and the new content is tanh(1): the cell holds tanh(1) / 2, half of its tanh shows.
    given = torch.tensor([[[0.0, 0.0, 0.0, 1.0]]])
    found = backward_lstm(given, torch.zeros(4, 1), torch.zeros(1, 1))
    assert float(found) == pytest.approx(np.tanh(np.tanh(1) / 2) / 2)
