"""Encoders of pictures and words into one space: a small one of our own scenes, and CLIP.

An encoder is any object with the two methods of :class:`Encoder`. The built-in one is trained by
``python benchmarks/studies/driving_encoder.py train`` on captions that the simulator writes (:mod:`.driving_captions`)
and is shipped trained; CLIP (Radford et al. 2021), which the papers use, needs ``tiltyard[hf]`` and its weights.
"""

import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ... import unknown
from ..driving import Array
from .driving_captions import WORDS, Bools, Ints, caption, true_of

WEIGHTS = Path(__file__).with_name("driving-encoder.safetensors")
CHANNELS, SIZE = 8, 64


class Encoder(Protocol):
    """Pictures and words in one space."""

    def pictures(self, frames: Array) -> Tensor:
        """Unit vectors ``[n, d]`` of rasters ``uint8 [n, 64, 64, 8]``."""

    def words(self, texts: list[str]) -> Tensor:
        """Unit vectors ``[m, d]`` of texts."""


class DualEncoder(nn.Module):
    """Three convolutions over a raster, and the mean of a text's words through two layers; about 90,000 weights.

    Args:
        width: of the common space.
        seed: of its first weights.
    """

    def __init__(self, width: int = 64, *, seed: int = 0) -> None:
        super().__init__()
        with th.random.fork_rng():
            th.manual_seed(seed)
            self.eye = nn.Sequential(
                nn.Conv2d(CHANNELS, 16, 5, stride=2, padding=2),
                nn.ReLU(),
                nn.Conv2d(16, 32, 3, stride=2, padding=1),
                nn.ReLU(),
                nn.Conv2d(32, 64, 3, stride=2, padding=1),
                nn.ReLU(),
                nn.AdaptiveMaxPool2d(4),
                nn.Flatten(),
                nn.Linear(1024, width),
            )
            self.lexicon = nn.EmbeddingBag(len(WORDS), 64, mode="mean")
            self.reader = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, width))
        self.scale = nn.Parameter(th.tensor(2.3))  # log of 10
        self.bias = nn.Parameter(th.tensor(-3.0))

    def see(self, frames: Tensor) -> Tensor:
        """Unit vectors ``[n, d]`` of rasters ``[n, 64, 64, 8]``, with gradients."""
        return F.normalize(self.eye(frames.permute(0, 3, 1, 2).float() / 255.0), dim=1)

    def read(self, texts: list[str]) -> Tensor:
        """Unit vectors ``[m, d]`` of texts, with gradients.

        Raises:
            KeyError: a word that no caption has.
        """
        known = {word: number for number, word in enumerate(WORDS)}
        numbers: list[int] = []
        begins: list[int] = []
        for text in texts:
            begins.append(len(numbers))
            for word in text.split():
                if word == "and":
                    continue
                if word not in known:
                    raise KeyError(unknown("word of the driving encoder", word, known))
                numbers.append(known[word])
        return F.normalize(self.reader(self.lexicon(th.tensor(numbers), th.tensor(begins))), dim=1)

    @th.no_grad()
    def pictures(self, frames: Array) -> Tensor:
        """See :class:`Encoder`."""
        return self.see(th.from_numpy(np.ascontiguousarray(frames)))

    @th.no_grad()
    def words(self, texts: list[str]) -> Tensor:
        """See :class:`Encoder`."""
        return self.read(texts)

    def loss(self, frames: Tensor, values: Ints, told: Bools) -> Tensor:
        r"""The mean over all pairs of :math:`-\log \sigma(z_{ij} (e^t \cos_{ij} + b))`, z 1 if j fits i, else -1.

        Paper: Zhai et al., Sigmoid Loss for Language Image Pre-Training (2023), sec. 3.2, with one change: there each
        picture has one caption, here every caption that is true of it counts as its own.
        """
        texts = [caption(value, say) for value, say in zip(values, told, strict=True)]
        logits = self.scale.exp() * self.see(frames) @ self.read(texts).T + self.bias
        signs = th.from_numpy(np.where(true_of(values, values, told), 1.0, -1.0)).float()
        return -F.logsigmoid(signs * logits).mean()

    def fit(
        self, frames: Array, values: Ints, *, steps: int, rng: np.random.Generator, batch: int = 128
    ) -> list[float]:
        """Trains on scenes ``[n]`` and what is true of them ``[n, 6]``; the loss of each step.

        Captions say each attribute with probability one half, anew each time; a quarter of a batch are scenes with an
        accident, if there are any, since they are rare.
        """
        optimizer = th.optim.Adam(self.parameters(), lr=1e-3)
        rare = np.flatnonzero(values[:, 0] == 1)
        losses = []
        for _ in range(steps):
            chosen = rng.integers(len(frames), size=batch)
            if len(rare):
                chosen[: batch // 4] = rng.choice(rare, batch // 4)
            told = rng.random((batch, values.shape[1])) < 0.5
            told[np.arange(batch), rng.integers(values.shape[1], size=batch)] = True
            loss = self.loss(th.from_numpy(frames[chosen]), values[chosen], told)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        return losses

    def save(self, path: Path, told: dict[str, Any]) -> None:
        """Writes the weights, half as wide, and what is to be told of them."""
        from safetensors.torch import save_file

        weights = {name: value.half().contiguous() for name, value in self.state_dict().items()}
        save_file(weights, path, metadata={"told": json.dumps(told)})


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


class ClipEncoder:
    """A CLIP of Hugging Face's as an :class:`Encoder`: ``ClipEncoder(CLIPModel..., CLIPProcessor...)``.

    Rasters are painted as pictures first (:func:`painted`). The authors of VLM-RL used ``ViT-bigG-14``, trained on
    LAION-2B. Needs ``pip install "tiltyard[hf]"``; no weights are downloaded by us.

    Args:
        model: a ``transformers.CLIPModel``.
        processor: its ``transformers.CLIPProcessor``.
    """

    def __init__(self, model: Any, processor: Any) -> None:
        self.model, self.processor = model.eval(), processor

    @th.no_grad()
    def pictures(self, frames: Array) -> Tensor:
        """See :class:`Encoder`."""
        given = self.processor(images=list(painted(frames)), return_tensors="pt")
        return F.normalize(_vectors(self.model.get_image_features(**given)), dim=1)

    @th.no_grad()
    def words(self, texts: list[str]) -> Tensor:
        """See :class:`Encoder`."""
        given = self.processor(text=texts, return_tensors="pt", padding=True)
        return F.normalize(_vectors(self.model.get_text_features(**given)), dim=1)


def _vectors(features: Any) -> Tensor:
    """The tensor of features, which later releases of transformers wrap."""
    return features if isinstance(features, Tensor) else features.pooler_output


COLOURS = ((90, 90, 90), (230, 230, 230), (60, 110, 160), (200, 40, 40), (240, 160, 40), None, (250, 90, 200), None)
"""Of the channels of a raster, bottom to top; None: it is not painted."""


def painted(frames: Array) -> Array:
    """Pictures ``uint8 [n, 64, 64, 3]`` for people and for CLIP: what is in more than one channel shows the last."""
    pictures = np.zeros((*frames.shape[:3], 3), np.uint8)
    for channel, colour in enumerate(COLOURS):
        if colour is not None:
            pictures[frames[..., channel] > 0] = colour
    return pictures
