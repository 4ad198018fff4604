"""Encoders of pictures and texts into one space: a small one that is trained on captions of a scene, and CLIP.

An encoder is any object with the two methods of :class:`Encoder`. :class:`DualEncoder` is trained within seconds on
frames of which is known what is true; CLIP (Radford et al. 2021) needs ``tiltyard[hf]`` and its weights.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ... import unknown
from ..driving import Array

SIZE = 64
Batch = tuple[Array, list[str], Array]


class Encoder(Protocol):
    """Pictures and texts in one space."""

    def pictures(self, frames: Array) -> Tensor:
        """Unit vectors ``[n, d]`` of frames ``uint8 [n, H, W, channels]``."""

    def words(self, texts: list[str]) -> Tensor:
        """Unit vectors ``[m, d]`` of texts."""


def check_encoder(encoder: object) -> None:
    """Raises ``TypeError`` for what has not the methods of an :class:`Encoder`."""
    if not (callable(getattr(encoder, "pictures", None)) and callable(getattr(encoder, "words", None))):
        raise TypeError(
            f"an encoder has the methods pictures and words, {type(encoder).__name__} has not: take a DualEncoder "
            "or a ClipEncoder of tiltyard.wrappers.rewards.encoders"
        )


class DualEncoder(nn.Module):
    """Three convolutions over a picture, and the mean of a text's words through two layers.

    Args:
        lexicon: the words that texts may have; "and" joins statements and is not read.
        channels: of a picture; pictures that are not 64 by 64 are scaled to that.
        filters: of the three convolutions.
        width: of the common space.
        seed: of its first weights.
        name: what messages call it.
        centred: whether :meth:`fit_statements` takes the mean of its frames from every picture, and divides by their
            standard deviation: what never changes in a scene is not seen, and little things are seen sooner.
    """

    def __init__(
        self,
        lexicon: Sequence[str],
        *,
        channels: int = 3,
        filters: tuple[int, int, int] = (16, 32, 64),
        width: int = 64,
        seed: int = 0,
        name: str = "encoder",
        centred: bool = False,
    ) -> None:
        super().__init__()
        self.name, self.numbers = name, {word: number for number, word in enumerate(lexicon)}
        self.built: dict[str, Any] = {
            "lexicon": list(lexicon),
            "channels": channels,
            "filters": list(filters),
            "width": width,
            "centred": centred,
        }
        self.average: Tensor | None
        self.spread: Tensor | None
        self.register_buffer("average", th.zeros(channels, SIZE, SIZE) if centred else None)
        self.register_buffer("spread", th.ones(()) if centred else None)
        first, second, third = filters
        with th.random.fork_rng():
            th.manual_seed(seed)
            self.eye = nn.Sequential(
                nn.Conv2d(channels, first, 5, stride=2, padding=2),
                nn.ReLU(),
                nn.Conv2d(first, second, 3, stride=2, padding=1),
                nn.ReLU(),
                nn.Conv2d(second, third, 3, stride=2, padding=1),
                nn.ReLU(),
                nn.AdaptiveMaxPool2d(4),
                nn.Flatten(),
                nn.Linear(16 * third, width),
            )
            self.lexicon = nn.EmbeddingBag(len(lexicon), 64, mode="mean")
            self.reader = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, width))
        self.scale = nn.Parameter(th.tensor(2.3))  # log of 10
        self.bias = nn.Parameter(th.tensor(-3.0))

    def see(self, frames: Tensor) -> Tensor:
        """Unit vectors ``[n, d]`` of pictures ``[n, H, W, channels]``, with gradients."""
        pixels = _scaled(frames)
        if self.average is not None and self.spread is not None:
            pixels = (pixels - self.average) / self.spread
        return F.normalize(self.eye(pixels), dim=1)

    def read(self, texts: list[str]) -> Tensor:
        """Unit vectors ``[m, d]`` of texts, with gradients.

        Raises:
            KeyError: a word that is not in the lexicon.
            ValueError: a text without words.
        """
        numbers: list[int] = []
        begins: list[int] = []
        for text in texts:
            begins.append(len(numbers))
            for word in text.split():
                if word == "and":
                    continue
                if word not in self.numbers:
                    raise KeyError(unknown(f"word of the {self.name}", word, self.numbers))
                numbers.append(self.numbers[word])
            if len(numbers) == begins[-1]:
                raise ValueError(f"the {self.name} was given the text {text!r}, which has no words: say something")
        return F.normalize(self.reader(self.lexicon(th.tensor(numbers), th.tensor(begins))), dim=1)

    @th.no_grad()
    def pictures(self, frames: Array) -> Tensor:
        """See :class:`Encoder`."""
        return self.see(th.from_numpy(np.ascontiguousarray(frames)))

    @th.no_grad()
    def words(self, texts: list[str]) -> Tensor:
        """See :class:`Encoder`."""
        return self.read(texts)

    def pair_loss(self, frames: Tensor, texts: list[str], fits: Array) -> Tensor:
        r"""The mean over all pairs of :math:`-\log \sigma(z_{ij} (e^t \cos_{ij} + b))`, z 1 if text j fits i, else -1.

        Paper: Zhai et al., Sigmoid Loss for Language Image Pre-Training (2023), sec. 3.2, with one change: there each
        picture has one caption, here every caption that is true of it counts as its own.

        Args:
            frames: ``[n, H, W, channels]``.
            texts: ``[m]``.
            fits: which text is true of which picture, booleans ``[n, m]``.
        """
        logits = self.scale.exp() * self.see(frames) @ self.read(texts).T + self.bias
        signs = th.from_numpy(np.where(fits, 1.0, -1.0)).float()
        return -F.logsigmoid(signs * logits).mean()

    def learn(self, draw: Callable[[], Batch], *, steps: int, learning_rate: float = 1e-3) -> list[float]:
        """Adam on :meth:`pair_loss` of ``steps`` batches (frames, texts, fits) that ``draw`` makes; their losses."""
        optimizer = th.optim.Adam(self.parameters(), lr=learning_rate)
        losses = []
        for _ in range(steps):
            frames, texts, fits = draw()
            loss = self.pair_loss(th.from_numpy(frames), texts, fits)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
        return losses

    def fit_statements(
        self,
        frames: Array,
        statements: Sequence[Sequence[str]],
        *,
        subject: str,
        steps: int,
        rng: np.random.Generator,
        batch: int = 128,
        learning_rate: float = 1e-3,
    ) -> list[float]:
        """Trains on frames and what is true of each: a caption is the subject and some statements, drawn anew.

        Each statement is said with probability one half. A caption is true of every frame that has its statements;
        that of the subject alone is true of all.

        Args:
            frames: ``uint8 [n, H, W, channels]``.
            statements: of each frame, ``[n]``.
            subject: what every frame shows.
            steps: batches.
            rng: draws frames and captions.
            batch: frames of a batch.
            learning_rate: of Adam.

        Returns:
            The loss of each step.

        Raises:
            ValueError: not as many frames as lists of statements.
        """
        if len(frames) != len(statements):
            raise ValueError(f"each frame needs its statements, got {len(frames)} frames and {len(statements)} lists")
        if self.built["centred"]:
            pixels = _scaled(th.from_numpy(frames))
            self.average, self.spread = pixels.mean(dim=0), pixels.std().clamp(min=1e-3)
        true = [frozenset(of) for of in statements]

        def draw() -> Batch:
            chosen = rng.integers(len(frames), size=batch)
            said = [[one for one in statements[i] if rng.random() < 0.5] for i in chosen]
            fits = np.array([[true[i].issuperset(words) for words in said] for i in chosen])
            return frames[chosen], [" and ".join([subject, *words]) for words in said], fits

        return self.learn(draw, steps=steps, learning_rate=learning_rate)

    def save(self, path: Path, told: dict[str, Any]) -> None:
        """Writes the weights, half as wide, and what is to be told of them."""
        from safetensors.torch import save_file

        weights = {name: value.half().contiguous() for name, value in self.state_dict().items()}
        save_file(weights, path, metadata={"told": json.dumps(told), "built": json.dumps(self.built)})


def _scaled(frames: Tensor) -> Tensor:
    """Pixels in [0, 1] ``[n, channels, 64, 64]`` of frames ``[n, H, W, channels]``."""
    pixels = frames.permute(0, 3, 1, 2).float() / 255.0
    return pixels if pixels.shape[2:] == (SIZE, SIZE) else F.interpolate(pixels, (SIZE, SIZE), mode="area")


def load_encoder(path: Path) -> tuple[DualEncoder, dict[str, Any]]:
    """The encoder of a file that :meth:`DualEncoder.save` wrote, and what is told of it.

    Raises:
        ValueError: no such file, or none of an encoder.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            built, told = json.loads(metadata["built"]), json.loads(metadata["told"])
            weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
        encoder = DualEncoder(**{**built, "filters": tuple(built["filters"])})
        encoder.load_state_dict(weights)
    except (OSError, SafetensorError, KeyError, TypeError, RuntimeError) as error:
        raise ValueError(f"{path} holds no encoder of pictures and texts ({error}): write one with save") from error
    return encoder.eval(), told


class ClipEncoder:
    """A CLIP of Hugging Face's as an :class:`Encoder`: ``ClipEncoder(CLIPModel..., CLIPProcessor...)``.

    Needs ``pip install "tiltyard[hf]"``; no weights are downloaded by us.

    Args:
        model: a ``transformers.CLIPModel``.
        processor: its ``transformers.CLIPProcessor``.
    """

    def __init__(self, model: Any, processor: Any) -> None:
        self.model, self.processor = model.eval(), processor

    @th.no_grad()
    def pictures(self, frames: Array) -> Tensor:
        """See :class:`Encoder`; frames ``uint8 [n, H, W, 3]``."""
        given = self.processor(images=list(frames), return_tensors="pt")
        return F.normalize(_vectors(self.model.get_image_features(**given)), dim=1)

    @th.no_grad()
    def words(self, texts: list[str]) -> Tensor:
        """See :class:`Encoder`."""
        given = self.processor(text=texts, return_tensors="pt", padding=True)
        return F.normalize(_vectors(self.model.get_text_features(**given)), dim=1)


def _vectors(features: Any) -> Tensor:
    """The tensor of features, which later releases of transformers wrap."""
    return features if isinstance(features, Tensor) else features.pooler_output
