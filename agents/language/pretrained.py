"""Networks that ship with their weights, each with the command that made it."""

from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import float16

from .policy import TextPolicy

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

    def fill(self, policy: TextPolicy) -> None:
        """Loads the weights into ``policy``."""
        policy.load_state_dict(load_file(FOLDER / self.file))


PRETRAINED: dict[str, Pretrained] = {
    "countdown-warm": Pretrained(
        "transformer-300k", "countdown-warm.safetensors", "python benchmarks/proofs/countdown_warm.py"
    ),
}
"""Policies by name."""


def export(policy: TextPolicy, file: str | Path) -> None:
    """Writes ``policy``'s weights in half precision, and its tokens, for :data:`PRETRAINED`."""
    state = policy.state_dict()
    save_file({name: value.to(float16) if value.is_floating_point() else value for name, value in state.items()}, file)
