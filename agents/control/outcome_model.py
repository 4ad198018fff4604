"""A classifier of goals and last screens: the trained evaluator that says whether an episode was a success.

It stands where DigiRL (Bai et al. 2024) asks a vision-language model about the last two screenshots, after Pan et al.,
Autonomous Evaluation and Refinement of Digital Agents (2024).
"""

from collections.abc import Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import torch as th
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import save as tensor_bytes
from torch import Tensor, nn

from ..archive import one_line
from ..checkpoint import write_atomically
from ..models.elements import ElementsNetwork, Shape
from ..optimizers import AdamW
from .evaluator import Errors, error
from .trajectories import Trajectory

Floats = npt.NDArray[np.float64]
SCREENS = 2
KIND, SUFFIX = "tiltyard outcome model", ".safetensors"
CHUNK = 256  # episodes judged at once
WIDEST, DEEPEST = 1024, 16  # of networks that a file may ask for


def screens(trajectories: Sequence[Trajectory]) -> tuple[Tensor, Tensor]:
    """What is judged: elements ``[B, 2, 64, 24]`` and goals ``[B, 48]``, as a phone in numbers has them.

    The last screen, and before it the last one that looked otherwise: to say ``done`` changes nothing, so that the last
    two observations tend to be one. Where nothing ever changed both are the last.
    """
    seen = []
    for one in trajectories:
        elements = one.observations["elements"]
        other = np.flatnonzero((elements != elements[-1]).any((1, 2)))
        seen.append(elements[[other[-1] if len(other) else -1, -1]])
    goals = np.stack([one.observations["goal"][-1] for one in trajectories])
    return th.as_tensor(np.stack(seen)), th.as_tensor(goals)


class _Network(nn.Module):
    """Logits of success: one :class:`ElementsNetwork` reads both screens, a small head their two summaries."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.encoder = ElementsNetwork(shape)
        width = shape.width
        self.head = nn.Sequential(nn.Linear(SCREENS * width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, elements: Tensor, goals: Tensor) -> Tensor:
        """``[B]`` of ``[B, 2, 64, 24]`` and ``[B, 48]``."""
        summary = self.encoder(elements.flatten(0, 1), goals.repeat_interleave(SCREENS, 0)).summary
        logits: Tensor = self.head(summary.reshape(len(goals), -1))[:, 0]
        return logits


class OutcomeModel:
    r"""The probability that an episode was a success, by its goal and its last two screens.

    .. math:: \min -E[r_H \log p(g, s_{H-1}, s_H) + (1 - r_H) \log(1 - p(g, s_{H-1}, s_H))]

    half of each batch successes, half failures, so that ``p`` is meant for even odds. An episode counts as a success
    where ``p`` is above ``threshold``.

    Departures from DigiRL: theirs is a large pretrained model (Gemini 1.5 Pro) that reads pictures and is shown
    examples, and theirs judges after every step and ends the episode; this one is small, reads elements in numbers, is
    trained on labelled episodes, and judges episodes that are over. Where their two last screenshots are alike they
    call the episode a failure; see :func:`screens` for what is done here.

    Args:
        shape: of the network.
        learning_rate: of AdamW.
        weight_decay: of AdamW.
        batch_size: episodes an update.
        threshold: above which an episode is judged a success.
        seed: of weights and batches.
        device: where it computes.
    """

    def __init__(
        self,
        shape: Shape | None = None,
        *,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.05,
        batch_size: int = 64,
        threshold: float = 0.5,
        seed: int = 0,
        device: th.device | str = "cpu",
    ) -> None:
        self.shape, self.threshold, self.device = shape or Shape(width=64, token_width=32), threshold, device
        self._batch_size, self._rng = batch_size, np.random.default_rng(seed)
        with th.random.fork_rng(devices=()):
            th.manual_seed(seed)
            self.network = _Network(self.shape).to(device)
        self.optimizer = AdamW(self.network.parameters(), learning_rate, weight_decay=weight_decay)

    def fit(self, trajectories: Sequence[Trajectory], updates: int) -> float:
        """Learns from episodes whose ``success`` is true; the mean loss of the updates. Can be called again.

        Raises:
            ValueError: no failure or no success among them, or no number of updates.
        """
        if isinstance(updates, bool) or not isinstance(updates, int) or updates < 1:
            raise ValueError(f"updates must be a whole number of at least 1, got {updates!r:.100}")
        won = np.array([one.success for one in trajectories], np.bool_)
        kinds = [np.flatnonzero(won), np.flatnonzero(~won)]
        if not all(map(len, kinds)):
            raise ValueError("an outcome model learns from failures and successes: all of these episodes ended alike")
        elements, goals = screens(trajectories)
        halves = self._batch_size - self._batch_size // 2, self._batch_size // 2
        losses = []
        self.network.train()
        for _ in range(updates):
            some = np.concatenate([self._rng.choice(kind, n) for kind, n in zip(kinds, halves, strict=True)])
            wanted = th.as_tensor(won[some], dtype=th.float32, device=self.device)
            logits = self.network(elements[some].to(self.device), goals[some].to(self.device))
            loss = F.binary_cross_entropy_with_logits(logits, wanted)
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            th.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimizer.step()
            losses.append(float(loss.detach()))
        return float(np.mean(losses))

    @th.no_grad()
    def predict_proba(self, trajectories: Sequence[Trajectory]) -> Floats:
        """Probabilities of success ``[B]``."""
        self.network.eval()
        found = [np.zeros(0)]
        for i in range(0, len(trajectories), CHUNK):
            elements, goals = screens(trajectories[i : i + CHUNK])
            logits = self.network(elements.to(self.device), goals.to(self.device))
            found.append(logits.sigmoid().cpu().double().numpy())
        probabilities: Floats = np.concatenate(found)
        return probabilities

    def judge(self, trajectory: Trajectory) -> bool:
        """Whether an episode counts as a success."""
        return bool(self.predict_proba([trajectory])[0] > self.threshold)

    def error(self, trajectories: Sequence[Trajectory]) -> Errors:
        """Rates of false positives and false negatives on episodes whose ``success`` is true, with Wilson intervals.

        Raises:
            ValueError: no failure or no success among them.
        """
        judged = self.predict_proba(trajectories) > self.threshold
        return error(judged.tolist(), [one.success for one in trajectories])

    def save(self, path: str | Path) -> None:
        """Writes weights and settings as safetensors (which hold no code); the file appears whole or not at all."""
        about = {name: str(value) for name, value in {**asdict(self.shape), "threshold": self.threshold}.items()}
        state = {name: value.detach().cpu().contiguous() for name, value in self.network.state_dict().items()}
        data = tensor_bytes(state, {"kind": KIND, **about})

        def put(opened: IO[bytes]) -> None:
            opened.write(data)

        write_atomically(path, put, SUFFIX)

    @classmethod
    def load(cls, path: str | PathLike[str], *, device: th.device | str = "cpu") -> "OutcomeModel":
        """The model that was saved at ``path`` (``.safetensors`` may be left out); runs no code from the file.

        Raises:
            FileNotFoundError: no such file.
            ValueError: no outcome model, or a damaged one.
        """
        file = Path(path)
        file = file if file.suffix else file.with_name(file.name + SUFFIX)
        if not file.is_file():
            raise FileNotFoundError(f"there is no outcome model {file}: OutcomeModel.save makes one")
        try:
            with safe_open(file, "pt") as opened:
                about = opened.metadata() or {}
                weights = {name: opened.get_tensor(name) for name in opened.keys()}
            found = cls(_shape(about), threshold=_threshold(about), device=device)
            found.network.load_state_dict(weights)
        except Exception as problem:  # safetensors and PyTorch have many kinds of errors for broken files
            raise ValueError(f"{file} is no outcome model, or is damaged ({one_line(problem)})") from problem
        return found


def _shape(about: dict[str, Any]) -> Shape:
    if about.get("kind") != KIND:
        raise ValueError("it does not say that it is one")
    shape = Shape(*(int(about[name]) for name in ("width", "layers", "heads", "token_width")))
    wide = max(shape.width, shape.token_width, shape.heads)
    if not (0 < shape.heads <= shape.width and wide <= WIDEST and 0 < shape.layers <= DEEPEST):
        raise ValueError(f"it asks for a network of {shape}")
    return shape


def _threshold(about: dict[str, Any]) -> float:
    threshold = float(about["threshold"])
    if not 0 <= threshold <= 1:
        raise ValueError(f"its threshold is {threshold:g}")
    return threshold
