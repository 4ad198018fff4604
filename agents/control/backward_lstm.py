"""An LSTM from the last step to the first, which forgets where an episode ends.

Gradients are written out: on one thread and for tens of units this takes half the time of automatic ones.
"""

from typing import Any, cast

import torch
from torch import Tensor


class _BackwardLSTM(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, given: Tensor, recurrent: Tensor, keeps: Tensor) -> Tensor:
        steps, n, units = given.shape[0], given.shape[1], recurrent.shape[1]
        gates, before = torch.empty_like(given), given.new_empty(2, steps, n, units)
        shown, hidden = given.new_empty(steps, n, units), given.new_empty(steps, n, units)
        h = c = given.new_zeros(n, units)
        for t in range(steps - 1, -1, -1):
            h, c = torch.mul(h, keeps[t], out=before[0, t]), torch.mul(c, keeps[t], out=before[1, t])
            gate = torch.addmm(given[t], h, recurrent.T, out=gates[t])
            gate[:, : 3 * units].sigmoid_()
            gate[:, 3 * units :].tanh_()
            let_in, forgets, shows, wish = gate.chunk(4, dim=-1)
            c = torch.addcmul(forgets * c, let_in, wish)
            h = torch.mul(torch.tanh(c, out=shown[t]), shows, out=hidden[t])
        ctx.save_for_backward(gates, before, shown, keeps, recurrent)
        return hidden

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        gates, before, shown, keeps, recurrent = ctx.saved_tensors
        steps, units = len(gates), recurrent.shape[1]
        let_in, forgets, shows, wish = gates.chunk(4, dim=-1)
        slopes = torch.cat([gates[..., : 3 * units] * (1 - gates[..., : 3 * units]), 1 - wish.square()], dim=-1)
        slopes = slopes.reshape(steps, -1, 4, units) * torch.stack([wish, before[1], shown, let_in], dim=2)
        to_cell, forgets = shows * (1 - shown.square()), forgets * keeps
        by_gates = torch.empty_like(gates)
        by_h = by_c = torch.zeros_like(shown[0])
        for t in range(steps):
            by_h = by_h + gradients[0][t]
            by_c = torch.addcmul(by_c, by_h, to_cell[t])
            each = by_gates[t].view(-1, 4, units)
            torch.mul(slopes[t], by_c[:, None], out=each)
            torch.mul(slopes[t, :, 2], by_h, out=each[:, 2])
            by_h, by_c = (by_gates[t] @ recurrent) * keeps[t], by_c * forgets[t]
        return by_gates, by_gates.flatten(0, 1).T @ before[0].flatten(0, 1), None


def backward_lstm(given: Tensor, recurrent: Tensor, done: Tensor) -> Tensor:
    """Outputs ``[T, N, units]`` of an LSTM that runs from the last step to the first.

    Args:
        given: ``[T, N, 4 units]`` what the inputs add to the gates (input, forget, output) and to the new content.
        recurrent: ``[4 units, units]`` weights of the state.
        done: ``[T, N]``, 1 where an episode ended with the step: what comes after it is forgotten.
    """
    return cast(Tensor, _BackwardLSTM.apply(given, recurrent, 1 - done[..., None]))  # type: ignore[no-untyped-call]
