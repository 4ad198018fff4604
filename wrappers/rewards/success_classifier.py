"""Does this state look like success? A classifier learned from examples, as SERL rewards its robots.

    classifier = SuccessClassifier()
    report = classifier.fit(successes, failures)  # states [n, ...] or frames [n, height, width, channels]
    report.plot("reliability.png")
    env = ClassifierReward(gymnasium.make("tiltyard/PegInsertion-v0"), classifier)  # .classifier_reward

An agent that is paid by a classifier looks for what the classifier takes for success: its false positives.
``benchmarks/studies/classifier_exploit.py`` measures that, and what adding visited states as failures does about it.
"""

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from .calibration import Calibration, Floats, calibration, fit_temperature, sigmoid

Array = npt.NDArray[Any]
Sets = tuple[Array, Array]

SHIFT = 4  # pixels that frames are shifted in training, as SERL's
MOST_ROWS = 4096  # judged at once


class SuccessClassifier:
    """A binary classifier of states (a small MLP) or of uint8 frames (a small CNN).

    Each batch holds as many successes as failures, whatever their numbers, as SERL's do; the loss is the binary
    cross-entropy. Part of the examples is held out: half of that sets the temperature, half is reported on.

    Args:
        hidden: widths of the hidden layers.
        threshold: calibrated probability from which on a state is called a success; SERL has 0.5.
        seed: of everything random here.

    Raises:
        ValueError: a threshold outside (0, 1), or no layers.

    Papers: Luo et al., SERL (2024); Fu et al., Variational Inverse Control with Events (2018), for
    :meth:`add`.
    """

    def __init__(self, *, hidden: Sequence[int] = (64, 64), threshold: float = 0.5, seed: int = 0) -> None:
        if not 0 < threshold < 1:
            raise ValueError(f"threshold is a probability between 0 and 1, got {threshold}")
        if not hidden or min(hidden) < 1:
            raise ValueError(f"hidden holds the widths of at least one layer, got {list(hidden)}")
        self.hidden, self.threshold, self.seed = tuple(hidden), threshold, seed
        self.temperature = 1.0
        self.shape: tuple[int, ...] | None = None
        self.network: nn.Module | None = None
        self._rng = np.random.default_rng(seed)
        self._train: Sets | None = None
        self._temper: Sets | None = None
        self._report: Sets | None = None

    def fit(
        self,
        successes: npt.ArrayLike,
        failures: npt.ArrayLike,
        *,
        held_out: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        holdout: float = 0.2,
        steps: int = 1000,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
    ) -> Calibration:
        """Trains anew.

        Args:
            successes: states ``[n, ...]``, or frames ``[n, height, width, channels]`` of uint8.
            failures: likewise ``[m, ...]``.
            held_out: successes and failures to calibrate with, best of episodes of their own; if None, ``holdout`` of
                the given ones, which flatters where neighbours of one episode land on both sides.
            holdout: share of either class, if ``held_out`` is not given.
            steps: gradient steps.
            batch_size: half of it successes.
            learning_rate: of AdamW.
            weight_decay: likewise.

        Returns:
            How the classifier judges held-out states.

        Raises:
            ValueError: fewer than 4 of either class are held out or fewer than 1 is left, states of different shapes,
                or states that are not finite.
        """
        given = tuple(examples(states, name) for states, name in ((successes, "successes"), (failures, "failures")))
        self._rng = np.random.default_rng(self.seed)
        held: tuple[Array, ...]
        if held_out is None:
            parts = [_split(states, holdout, self._rng) for states in given]
            given, held = tuple(part[0] for part in parts), tuple(part[1] for part in parts)
        else:
            held = tuple(examples(states, "held-out states") for states in held_out)
        _check_examples(given, held)
        halves = [_split(states, 0.5, self._rng) for states in held]
        self._train, self._temper = (given[0], given[1]), (halves[0][0], halves[1][0])
        self._report = halves[0][1], halves[1][1]
        self.shape = given[0].shape[1:]
        with th.random.fork_rng():
            th.manual_seed(self.seed)
            self.network = build_network(self.shape, self.hidden)
        if isinstance(self.network, Standardised):
            self.network.measure(np.concatenate(given))
        return self._learn(steps, batch_size, learning_rate, weight_decay)

    def add(
        self,
        *,
        successes: npt.ArrayLike | None = None,
        failures: npt.ArrayLike | None = None,
        steps: int = 200,
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
    ) -> Calibration:
        """Learns on, with more examples, such as states where the agent has been.

        VICE (Fu et al. 2018) takes all that the policy visits for failures, successes included; half of each batch is
        still of given successes, so that what is visited as often as it succeeds is judged 0.5.

        Args:
            successes: more of them ``[n, ...]``.
            failures: likewise.
            steps: see :meth:`fit`, as the rest.
            batch_size: likewise.
            learning_rate: likewise.
            weight_decay: likewise.

        Raises:
            RuntimeError: there is nothing to learn on from: not fitted here.
            ValueError: states of another shape, or that are not finite.
        """
        if self._train is None:
            raise RuntimeError("add() goes on from fit(), whose examples a loaded classifier no longer has")
        grown = []
        for old, more, name in zip(self._train, (successes, failures), ("successes", "failures"), strict=True):
            new = old[:0] if more is None else examples(more, name)
            if new.shape[1:] != self.shape:
                raise ValueError(f"these {name} have shape {new.shape[1:]}, the classifier judges {self.shape}")
            grown.append(np.concatenate((old, new)))
        self._train = grown[0], grown[1]
        return self._learn(steps, batch_size, learning_rate, weight_decay)

    def _learn(self, steps: int, batch_size: int, learning_rate: float, weight_decay: float) -> Calibration:
        assert self.network is not None
        assert self._train is not None
        assert self._temper is not None
        assert self._report is not None
        optimiser = th.optim.AdamW(self.network.parameters(), lr=learning_rate, weight_decay=weight_decay)
        half = max(batch_size // 2, 1)
        labels = th.tensor([1.0] * half + [0.0] * half)
        frames = self._train[0].dtype == np.uint8
        for _ in range(steps):
            rows = [states[self._rng.integers(len(states), size=half)] for states in self._train]
            batch = np.concatenate(rows)
            batch = shifted(batch, self._rng) if frames else batch
            loss = nn.functional.binary_cross_entropy_with_logits(self.network(th.from_numpy(batch)), labels)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        self.temperature = 1.0
        self.temperature = fit_temperature(*(self.logits(states) for states in self._temper))
        temperature, self.temperature = self.temperature, 1.0
        raw = [self.logits(states) for states in self._report]
        self.temperature = temperature
        return calibration(*raw, temperature=temperature, threshold=self.threshold)

    def logits(self, states: npt.ArrayLike) -> Floats:
        """Calibrated log-odds ``[n]`` that states ``[n, ...]`` are successes, where both were as many.

        Raises:
            RuntimeError: it was never fitted.
            ValueError: states of another shape.
        """
        if self.network is None:
            raise RuntimeError("this classifier has learned nothing yet: call fit() or load() first")
        batch = np.asarray(states)
        if batch.shape[1:] != self.shape:
            raise ValueError(f"states to judge have shape [n, {self.shape}], got {batch.shape}")
        batch = batch if batch.dtype == np.uint8 else batch.astype(np.float32)
        with th.no_grad():
            parts = [
                self.network(th.from_numpy(part)) for part in np.split(batch, range(MOST_ROWS, len(batch), MOST_ROWS))
            ]
        judged: Floats = th.cat(parts).double().numpy() / self.temperature
        return judged

    def probability(self, states: npt.ArrayLike) -> Floats:
        """Calibrated probability ``[n]`` of success of states ``[n, ...]``."""
        return sigmoid(self.logits(states))

    def claims(self, states: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether states ``[n, ...]`` are called successes ``[n]``."""
        claimed: npt.NDArray[np.bool_] = self.probability(states) >= self.threshold
        return claimed

    def save(self, path: str | Path) -> None:
        """Writes weights and settings as one safetensors file, whole or not at all; the examples are not in it."""
        if self.network is None or self.shape is None:
            raise RuntimeError("this classifier has learned nothing yet: call fit() before save()")
        settings = {"hidden": self.hidden, "threshold": self.threshold, "seed": self.seed, "shape": self.shape}
        said = {"success_classifier": json.dumps({**settings, "temperature": self.temperature})}
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            save_file(self.network.state_dict(), temporary, said)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | Path) -> "SuccessClassifier":
        """Reads what :meth:`save` wrote; runs no code from the file.

        Raises:
            FileNotFoundError: no such file.
            ValueError: not a classifier's file.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f"there is no classifier at {path}: give the file that save() wrote")
        try:
            with safe_open(str(path), "pt") as file:
                settings = json.loads((file.metadata() or {})["success_classifier"])
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            return cls._filled(weights, **settings)
        except Exception as error:  # whatever is wrong with the file
            said = " ".join(str(error).split())[:400]
            raise ValueError(f"{path} is no success classifier saved by Tiltyard, or is damaged ({said})") from error

    @classmethod
    def _filled(
        cls, weights: dict[str, Tensor], *, temperature: float, shape: list[int], hidden: list[int], **settings: Any
    ) -> "SuccessClassifier":
        """A classifier of stored weights, which are taken as they are: nothing else is allocated."""
        if not (0 < temperature < np.inf and all(type(size) is int and size > 0 for size in (*shape, *hidden))):
            raise ValueError("its temperature or its sizes are not numbers above 0")
        if len(hidden) > len(weights):
            raise ValueError("it has more layers than weights")
        made = cls(hidden=hidden, **settings)
        with th.device("meta"):
            made.network = build_network(tuple(shape), made.hidden)
        if any(weights[name].dtype != own.dtype for name, own in made.network.state_dict().items()):
            raise ValueError("its weights are not of the network's type")
        made.network.load_state_dict(weights, assign=True)
        made.temperature, made.shape = float(temperature), tuple(shape)
        return made


class Standardised(nn.Module):
    """An MLP of states ``[B, ...]`` that are first brought to mean 0 and deviation 1; logits ``[B]``."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, shape: tuple[int, ...], hidden: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("mean", th.zeros(shape))
        self.register_buffer("deviation", th.ones(shape))
        widths = [int(np.prod(shape)), *hidden]
        layers = [part for i, o in zip(widths, widths[1:], strict=False) for part in (nn.Linear(i, o), nn.ReLU())]
        self.layers = nn.Sequential(nn.Flatten(), *layers, nn.Linear(widths[-1], 1), nn.Flatten(0))

    def measure(self, states: Array) -> None:
        """Takes mean and deviation of all examples ``[n, ...]``; what never varies keeps its unit."""
        deviation = states.std(axis=0)
        self.mean.copy_(th.from_numpy(states.mean(axis=0)))
        self.deviation.copy_(th.from_numpy(np.where(deviation > 1e-6, deviation, 1.0)))

    def forward(self, states: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.layers((states - self.mean) / self.deviation)
        return logits


class Frames(nn.Module):
    """A CNN of uint8 frames ``[B, height, width, channels]``; logits ``[B]``."""

    def __init__(self, shape: tuple[int, ...], hidden: Sequence[int]) -> None:
        super().__init__()
        widths = [shape[-1], 16, 32, 32]
        convolutions = [
            part
            for i, o in zip(widths, widths[1:], strict=False)
            for part in (nn.Conv2d(i, o, 3, stride=2, padding=1), nn.ReLU())
        ]
        self.encoder = nn.Sequential(*convolutions, nn.AdaptiveAvgPool2d(4))
        self.head = Standardised((widths[-1] * 16,), hidden)

    def forward(self, frames: Tensor) -> Tensor:
        """Logits."""
        pixels = frames.float().movedim(-1, 1) / 255 - 0.5
        logits: Tensor = self.head(self.encoder(pixels).flatten(1))
        return logits


def build_network(shape: tuple[int, ...], hidden: Sequence[int]) -> nn.Module:
    """What judges states of ``shape``: three dimensions are a frame."""
    return Frames(shape, hidden) if len(shape) == 3 else Standardised(shape, hidden)


def shifted(frames: Array, rng: np.random.Generator) -> Array:
    """Frames ``[B, height, width, channels]``, each shifted by up to four pixels, its edge repeated."""
    height, width = frames.shape[1:3]
    wide = np.pad(frames, ((0, 0), (SHIFT, SHIFT), (SHIFT, SHIFT), (0, 0)), "edge")
    offsets = rng.integers(2 * SHIFT + 1, size=(len(frames), 2))
    cut = [frame[y : y + height, x : x + width] for frame, (y, x) in zip(wide, offsets, strict=True)]
    return np.stack(cut)


def examples(states: npt.ArrayLike, name: str) -> Array:
    """States as float32 ``[n, ...]``, or uint8 frames ``[n, height, width, channels]`` as they are.

    Raises:
        ValueError: neither, or numbers that are not finite; ``name`` says of what.
    """
    given = np.asarray(states)
    given = given if given.dtype == np.uint8 and given.ndim == 4 else given.astype(np.float32)
    if given.ndim < 2 or given.ndim == 4 and given.dtype != np.uint8:
        raise ValueError(f"{name} are states [n, size] or frames [n, height, width, channels] of uint8")
    if not np.isfinite(given).all():
        raise ValueError(f"{name} hold numbers that are not finite")
    return given


def _check_examples(given: Sequence[Array], held: Sequence[Array]) -> None:
    if len({states.shape[1:] for states in (*given, *held)}) > 1:
        raise ValueError(f"all states must have one shape, got {[states.shape[1:] for states in (*given, *held)]}")
    for name, train, kept in zip(("successes", "failures"), given, held, strict=True):
        if len(train) < 1 or len(kept) < 4:
            raise ValueError(
                f"too few {name}: {len(train)} to learn from and {len(kept)} held out, where 1 and 4 are the least"
            )


def _split(states: Array, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """The states but ``share`` of them, and those."""
    order = rng.permutation(len(states))
    cut = len(states) - int(np.ceil(share * len(states)))
    return states[order[:cut]], states[order[cut:]]
