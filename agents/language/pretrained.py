"""Networks that ship with their weights, each with the command that made it."""

from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import float16

from .transformer import Transformer

FOLDER = Path(__file__).parent / "checkpoints"


@dataclass(frozen=True)
class Pretrained:
    """One network on disk.

    Attributes:
        size: a name of :data:`~tiltyard.agents.language.transformer.SIZES`.
        file: in the folder ``checkpoints`` beside this file; half precision, no code.
        command: what made it.
    """

    size: str
    file: str
    command: str

    def fill(self, network: Transformer) -> None:
        """Loads the weights into ``network``."""
        network.load_state_dict(load_file(FOLDER / self.file))


PRETRAINED: dict[str, Pretrained] = {
    "countdown-warm": Pretrained(
        "transformer-1m", "countdown-warm.safetensors", "python benchmarks/proofs/countdown_warm.py"
    ),
}
"""Policies by name."""


def export(network: Transformer, file: str | Path) -> None:
    """Writes ``network``'s weights in half precision, for :data:`PRETRAINED`."""
    save_file({name: weight.to(float16) for name, weight in network.state_dict().items()}, file)
