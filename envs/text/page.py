"""Text tasks as pictures, for videos and for people."""

import textwrap
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, MARGIN, LINE, COLUMNS, ROWS = 640, 360, 20, 20, 60, 15
COLOURS = ((20, 20, 20), (30, 70, 160), (20, 120, 60))


def draw(parts: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Question, answer and verdict, each in its own colour, on a white page ``[360, 640, 3]``.

    Long answers keep their last lines, where the answer is; long questions their first.
    """
    lines = [(line, colour) for part, colour in zip(parts, COLOURS, strict=False) for line in [*_wrapped(part), ""]]
    if len(lines) > ROWS:
        question = min(len(_wrapped(parts[0])) + 1, ROWS // 2)
        lines = lines[:question] + lines[len(lines) - (ROWS - question) :]
    page = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(16)
    for row, (line, colour) in enumerate(lines):
        pen.text((MARGIN, MARGIN + row * LINE), line, fill=colour, font=font)
    return np.asarray(page, np.uint8).copy()


def _wrapped(text: str) -> list[str]:
    return [
        piece for line in text.splitlines() for piece in textwrap.wrap(line, COLUMNS, drop_whitespace=False) or [""]
    ]
