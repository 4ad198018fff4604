import copy
from typing import Any

import numpy as np
import pytest
import torch as th
from torch import nn

from tiltyard.agents.control.updates import ACTIVATIONS, Mlp, polyak


def member(net: Mlp, i: int) -> nn.Sequential:
    """One perceptron of the ensemble, of torch's own layers."""
    params, layers = [param[i].detach() for param in net.weights], []
    activation = next((kind for kind, known in ACTIVATIONS.items() if known is net.plan.activation), nn.Softsign)
    while params:
        weight, bias, *params = params
        layer = nn.Linear(*weight.shape)
        layer.weight.data, layer.bias.data = weight.T.clone(), bias[0].clone()
        layers.append(layer)
        if params and net.plan.layer_norm:
            scale, shift, *params = params
            norm = nn.LayerNorm(len(scale[0]), eps=1e-6)
            norm.weight.data, norm.bias.data = scale[0].clone(), shift[0].clone()
            layers.append(norm)
        if params:
            layers.append(activation())
    return nn.Sequential(*layers)


def gradients(network: nn.Sequential) -> list[Any]:
    return [param.grad.T if param.dim() == 2 else param.grad[None] for param in network.parameters()]


@pytest.mark.parametrize("activation", [*ACTIVATIONS, nn.Softsign])
@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize("n_out", [1, 3])
def test_output_and_gradients_are_those_of_torchs_own_layers(activation: Any, layer_norm: bool, n_out: int) -> None:
    th.manual_seed(0)
    net = Mlp(3, 5, [8, 7], n_out, activation=activation, layer_norm=layer_norm)
    for param in net.parameters():
        param.data += 0.1 * th.randn_like(param)  # scales and shifts of the normalisation too
    x, g = th.randn(6, 5, requires_grad=True), th.randn(3, 6, n_out)
    out = net(x)
    out.backward(g)
    theirs = x.detach().clone().requires_grad_()
    for i in range(3):
        alone = member(net, i)
        expected = alone(theirs)
        expected.backward(g[i])
        th.testing.assert_close(out[i], expected)
        for param, grad in zip(net.weights, gradients(alone), strict=True):
            th.testing.assert_close(param.grad[i], grad)
    th.testing.assert_close(x.grad, theirs.grad)


@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU])
@pytest.mark.parametrize("layer_norm", [False, True])
def test_gradients_of_inputs_can_be_those_of_one_member_a_sample(activation: Any, layer_norm: bool) -> None:
    th.manual_seed(1)
    net = Mlp(2, 4, [16, 16], 1, activation=activation, layer_norm=layer_norm)
    x = th.randn(32, 4, requires_grad=True)
    net.weights[-1].data -= net(x).detach().mean(1, keepdim=True)  # so that neither is the least everywhere
    expected, least = net(x).squeeze(-1).min(0)
    assert 0 < least.sum() < 32
    (wanted,) = th.autograd.grad((expected * th.arange(32)).sum(), x)
    with th.no_grad():
        passed = net.passed(x)
        th.testing.assert_close(passed.out.squeeze(-1).min(0).values, expected)
        g = th.arange(32.0).expand(2, 32).unsqueeze(-1)
        th.testing.assert_close(passed.by_inputs_of(least, g, 4), wanted)
        th.testing.assert_close(passed.by_inputs_of(least, g, 2), wanted[:, 2:])


def test_frozen_leaves_the_parameters_without_gradient() -> None:
    net, x = Mlp(3, 4, [8], 2), th.randn(5, 4, requires_grad=True)
    out = net.frozen(x, members=2)
    th.testing.assert_close(out, net(x)[:2])
    out.sum().backward()
    assert x.grad is not None
    assert all(param.grad is None for param in net.parameters())


def test_by_hand() -> None:
    # 2 -> 1 -> 1: relu(1*1 + 2*(-0.5) + 0.5) = 0.5, times 3 plus 1 = 2.5. d/dw = 3 * (1, 2), d/dx = 3 * (1, -0.5).
    net = Mlp(1, 2, [1], 1)
    for param, value in zip(net.weights, ([[[1.0], [-0.5]]], [[[0.5]]], [[[3.0]]], [[[1.0]]]), strict=True):
        param.data = th.tensor(value)
    net._params = tuple(net.weights)
    x = th.tensor([[1.0, 2.0]], requires_grad=True)
    out = net(x)
    out.backward(th.ones(1, 1, 1))
    assert out.item() == 2.5
    assert x.grad.tolist() == [[3.0, -1.5]]  # type: ignore[union-attr]
    assert net.weights[0].grad.flatten().tolist() == [3.0, 6.0]


def test_bf16_is_near_fp32_and_keeps_weights_and_gradients_in_fp32() -> None:
    th.manual_seed(0)
    net = Mlp(2, 8, [64, 64], 1)
    x, g = th.randn(128, 8), th.randn(2, 128, 1)
    exact = net(x)
    exact.backward(g)
    grads = [param.grad.clone() for param in net.parameters()]
    net.zero_grad()
    net.set_precision("bf16")
    rough = net(x)
    rough.backward(g)
    assert rough.dtype == th.float32
    assert 0 < (rough - exact).abs().max() < 0.02 * exact.abs().max()
    for param, grad in zip(net.parameters(), grads, strict=True):
        assert param.grad.dtype == th.float32
        assert th.cosine_similarity(param.grad.flatten(), grad.flatten(), dim=0) > 0.99


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown matmul_precision 'fp16'; did you mean"):
        Mlp(1, 1, [1], 1).set_precision("fp16")
    with pytest.raises(ValueError, match="PReLU has parameters of its own"):
        Mlp(1, 1, [1], 1, activation=nn.PReLU)


def test_polyak_by_hand() -> None:
    target, source = [th.tensor([1.0])], [th.tensor([3.0])]
    polyak(target, source, 0.25)
    assert target[0].item() == 1.5


def test_copies_and_moves_keep_computing_with_their_own_parameters() -> None:
    net, x = Mlp(2, 3, [4], 1), th.randn(2, 3)
    twin = copy.deepcopy(net)
    for param in twin.parameters():
        param.data.zero_()
    assert twin(x).abs().max() == 0
    assert net(x).abs().max() > 0
    assert np.isclose(net.double()(x.double()).shape[0], 2)
