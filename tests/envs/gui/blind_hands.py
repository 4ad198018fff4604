"""Hands that do not look at the phone: what they reach is luck that is to be had.

Each taps the same spots on every phone, swipes or not, and says that it is done. :func:`best` tries all of one tap and
all of two (from a coarser grid, the first one once or from the home screen) on the same test problems.
"""

import itertools

import numpy as np

from tiltyard.envs.gui.commands import parse, tap
from tiltyard.envs.gui.problems import Problem, generate, templates

FINE = [tap(x, y) for x in (0.2, 0.5, 0.9) for y in np.linspace(0.06, 0.98, 24).round(3).tolist()]
COARSE = [tap(x, y) for x in (0.2, 0.5, 0.9) for y in np.linspace(0.06, 0.98, 8).round(3).tolist()]
STARTS = ([], ["home"], ["swipe up"], ["back"])


def best(level: int, problems: int = 300) -> tuple[str, float]:
    """The blind hand that reaches most goals of a level's test split, and the share that it reaches."""
    some = templates(level, None)
    drawn = [generate("test", seed, 0, level, some) for seed in range(problems)]
    hands = [[*start, one] for start in STARTS for one in FINE]
    hands += [[*start, *pair] for start in STARTS[:2] for pair in itertools.product(COARSE, repeat=2)]
    rates = {", ".join(hand): float(np.mean([reaches(hand, problem) for problem in drawn])) for hand in hands}
    name = max(rates, key=lambda name: rates[name])
    return name, rates[name]


def reaches(hand: list[str], problem: Problem) -> bool:
    """Whether the goal holds after these actions."""
    phone = problem.phone()
    for action in hand:
        phone.act(parse(action))
    return bool(phone.state == problem.goal.expected)
