"""Features of frames: what the layers of a small convolutional network give, of random weights or of an autoencoder."""

import numpy as np
import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ..driving import Array, Floats
from .frame_reward import check_frames

SIZE = 64
"""Pixels each way to which frames are scaled."""


class ConvolutionalFeatures(nn.Module):
    """Activations of three convolutions, each averaged over a grid of cells; all of them, lower layers first.

    Weights are random (orthogonal, which keeps the scale of what passes) until :meth:`fit`.

    Args:
        filters: of the three convolutions, each of which halves width and height.
        cells: of the grid each way; 8 at most.
        seed: of the weights.

    Raises:
        ValueError: another number of filters or cells.
    """

    def __init__(self, *, filters: tuple[int, int, int] = (16, 32, 32), cells: int = 8, seed: int = 0) -> None:
        super().__init__()
        if len(filters) != 3 or min(filters) < 1 or not 1 <= cells <= SIZE // 8:
            raise ValueError(f"there are three convolutions and 1 to 8 cells each way, got {filters} and {cells}")
        self.filters, self.cells = filters, cells
        inputs = (3, *filters[:2])
        with th.random.fork_rng():
            th.manual_seed(seed)
            self.down = nn.ModuleList(
                nn.Conv2d(one, out, 3, stride=2, padding=1) for one, out in zip(inputs, filters, strict=True)
            )
            self.up = nn.ModuleList(
                nn.ConvTranspose2d(out, one, 4, stride=2, padding=1)
                for one, out in zip(reversed(inputs), reversed(filters), strict=True)
            )
            for layer in self.down:
                assert isinstance(layer, nn.Conv2d)
                nn.init.orthogonal_(layer.weight, 2**0.5)
                nn.init.zeros_(layer.bias)  # type: ignore[arg-type]

    @th.no_grad()
    def __call__(self, frames: Array) -> Floats:
        """Features ``[n, sum(filters) * cells**2]`` of frames ``uint8 [n, H, W, 3]``.

        Raises:
            ValueError: these are no such frames.
        """
        check_frames(frames)
        found = [
            th.cat([F.adaptive_avg_pool2d(one, self.cells).flatten(1) for one in self.activations(_scaled(some))], 1)
            for some in np.array_split(frames, range(256, len(frames), 256))
        ]
        features: Floats = th.cat(found).numpy().astype(np.float64)
        return features

    def activations(self, pixels: Tensor) -> list[Tensor]:
        """Of each layer ``[n, filters, side, side]``, of pixels in [-0.5, 0.5] ``[n, 3, 64, 64]``."""
        found = [pixels]
        for layer in self.down:
            found.append(layer(found[-1]).relu())
        return found[1:]

    def fit(
        self,
        frames: Array,
        *,
        steps: int,
        rng: np.random.Generator,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
    ) -> list[float]:
        """Trains the network as an autoencoder's first half, by Adam on the mean squared error of pixels.

        Args:
            frames: ``uint8 [n, H, W, 3]``; nothing need be known of them.
            steps: batches.
            rng: draws them.
            batch_size: frames of a batch.
            learning_rate: of Adam.

        Returns:
            The loss of each step.

        Raises:
            ValueError: these are no such frames.
        """
        check_frames(frames)
        optimizer = th.optim.Adam(self.parameters(), lr=learning_rate)
        losses = []
        for _ in range(steps):
            pixels = _scaled(frames[rng.integers(len(frames), size=batch_size)])
            restored = self.activations(pixels)[-1]
            for number, layer in enumerate(self.up):
                restored = layer(restored if number == 0 else restored.relu())
            loss = F.mse_loss(restored, pixels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        return losses


def pixels(frames: Array, *, side: int = 16) -> Floats:
    """Frames ``uint8 [n, H, W, 3]`` scaled to ``side`` pixels each way, flat, in [0, 1]: ``[n, 3 * side**2]``.

    Raises:
        ValueError: these are no such frames.
    """
    check_frames(frames)
    whole = th.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float() / 255
    flat: Floats = F.interpolate(whole, (side, side), mode="area").flatten(1).numpy().astype(np.float64)
    return flat


def _scaled(frames: Array) -> Tensor:
    """Pixels in [-0.5, 0.5] ``[n, 3, 64, 64]`` of frames ``uint8 [n, H, W, 3]``."""
    whole = th.from_numpy(np.ascontiguousarray(frames)).permute(0, 3, 1, 2).float() / 255 - 0.5
    return whole if whole.shape[2:] == (SIZE, SIZE) else F.interpolate(whole, (SIZE, SIZE), mode="area")
