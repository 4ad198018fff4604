"""Phones in numbers: the memory of a batch, problems put on them, steps taken, and what agents see of them."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.declared import tasks
from ..apps.system import POPUPS
from ..declare.interpreter import Program
from ..problems_v1 import LOCALES, OPEN, Split, world
from ..themes import TEST_THEMES, TRAIN_THEMES
from ..twists import ADVERT, AUTOCORRECT, FAILED, NOTICE, POPUP_COUNTS, ROWS, SLOW
from . import memory as w
from .acting import APP, ARG, DRAFTS, SCREEN_WORDS, VIEW
from .batch import begin_all, step_all
from .image import Image, image, key_boxes
from .program import Words
from .reading import Reader, makers

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
'''+"" if False else ''
