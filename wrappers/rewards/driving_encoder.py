"""The encoders of driving: a small one that is shipped trained, and CLIP on painted rasters.

Both are those of :mod:`.encoders`. The built-in one is trained by
``python benchmarks/studies/driving_encoder.py train`` on captions that the simulator writes (:mod:`.driving_captions`).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ..driving import Array
from . import encoders
from .driving_captions import WORDS, Bools, Ints, caption, true_of
from .encoders import Encoder

__all__ = ["WEIGHTS", "ClipEncoder", "DualEncoder", "Encoder", "load", "painted"]

WEIGHTS = Path(__file__).with_name("driving-encoder.safetensors")
CHANNELS = 8


class DualEncoder(encoders.DualEncoder):
    """The dual encoder of rasters ``uint8 [n, 64, 64, 8]`` and of captions; about 90,000 weights.

    Args:
        width: of the common space.
        seed: of its first weights.
    """

    def __init__(self, width: int = 64, *, seed: int = 0) -> None:
        super().__init__(WORDS, channels=CHANNELS, width=width, seed=seed, name="driving encoder")

    def loss(self, frames: Tensor, values: Ints, told: Bools) -> Tensor:
        """:meth:`~.encoders.DualEncoder.pair_loss` of the captions that say what is ``told`` of ``values``."""
        return self.pair_loss(frames, *_captions(values, told))

    def fit(
        self, frames: Array, values: Ints, *, steps: int, rng: np.random.Generator, batch: int = 128
    ) -> list[float]:
        """Trains on scenes ``[n]`` and what is true of them ``[n, 6]``; the loss of each step.

        Captions say each attribute with probability one half, anew each time; a quarter of a batch are scenes with an
        accident, if there are any, since they are rare.
        """
        rare = np.flatnonzero(values[:, 0] == 1)

        def draw() -> encoders.Batch:
            chosen = rng.integers(len(frames), size=batch)
            if len(rare):
                chosen[: batch // 4] = rng.choice(rare, batch // 4)
            told = rng.random((batch, values.shape[1])) < 0.5
            told[np.arange(batch), rng.integers(values.shape[1], size=batch)] = True
            return (frames[chosen], *_captions(values[chosen], told))

        return self.learn(draw, steps=steps)


def _captions(values: Ints, told: Bools) -> tuple[list[str], Bools]:
    """The captions of scenes, and which of them are true of which."""
    return [caption(value, say) for value, say in zip(values, told, strict=True)], true_of(values, values, told)


def load(path: Path = WEIGHTS) -> tuple[DualEncoder, dict[str, Any]]:
    """The trained encoder of a file, and what is told of it: held-out accuracies, and the range of its contrasts.

    Raises:
        ValueError: no such file, or none of this encoder.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            told = json.loads((file.metadata() or {})["told"])
            weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
        encoder = DualEncoder(weights["eye.8.bias"].shape[0])
        encoder.load_state_dict(weights)
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        raise ValueError(f"{path} holds no driving encoder ({error}): train one with driving_encoder.py") from error
    return encoder.eval(), told


class ClipEncoder(encoders.ClipEncoder):
    """CLIP on rasters, which are painted as pictures first (:func:`painted`); see :class:`.encoders.ClipEncoder`.

    The authors of VLM-RL used ``ViT-bigG-14``, trained on LAION-2B.
    """

    def pictures(self, frames: Array) -> Tensor:
        """See :class:`Encoder`; rasters ``uint8 [n, 64, 64, 8]``."""
        return super().pictures(painted(frames))


COLOURS = ((90, 90, 90), (230, 230, 230), (60, 110, 160), (200, 40, 40), (240, 160, 40), None, (250, 90, 200), None)
"""Of the channels of a raster, bottom to top; None: it is not painted."""


def painted(frames: Array) -> Array:
    """Pictures ``uint8 [n, 64, 64, 3]`` for people and for CLIP: what is in more than one channel shows the last."""
    pictures = np.zeros((*frames.shape[:3], 3), np.uint8)
    for channel, colour in enumerate(COLOURS):
        if colour is not None:
            pictures[frames[..., channel] > 0] = colour
    return pictures
