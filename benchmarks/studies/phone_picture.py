"""The first screens of Phone-v1's apps, in test themes: python benchmarks/studies/phone_picture.py docs/phone.png."""

import sys

import numpy as np
from PIL import Image

from tiltyard.envs.gui.compiled.env import BatchedPhoneV1
from tiltyard.envs.gui.problems_v1 import world

ACROSS = 6
ROWS = ("theme", "density", "advert")


def main(path: str) -> None:
    """Draws the picture."""
    names = [program.app.name for program in world().programs.values() if not program.app.hidden]
    phones = BatchedPhoneV1(
        len(names), level=2, split="test", held_out="theme", size=(384, 216), observation="pixels", rows=ROWS
    )
    indices, every = np.arange(len(names)), np.ones(len(names), np.bool_)
    phones.begin(indices, indices + 5, np.zeros(len(names), np.int64))
    phones.advance([f"open {name}" for name in names], every)
    screens = phones.observe()["screen"]
    lines = [np.concatenate(list(screens[i : i + ACROSS]), 1) for i in range(0, len(names), ACROSS)]
    Image.fromarray(np.concatenate(lines, 0)).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
