"""D4RL's reference scores: what a random and an expert policy return, by task.

Numbers of ``d4rl/infos.py`` in Farama-Foundation/D4RL (Fu et al., D4RL: Datasets for Deep Data-Driven Reinforcement
Learning, 2020); versions of one task share them.
"""

from collections.abc import Iterator

from ... import unknown

Scores = tuple[float, float]

_RUNNERS: dict[str, Scores] = {
    "halfcheetah": (-280.178953, 12135.0),
    "hopper": (-20.272305, 3234.3),
    "walker2d": (1.629008, 4592.3),
    "ant": (-325.6, 3879.7),
}
_HANDS: dict[str, Scores] = {
    "pen": (96.262799, 3076.8331017826877),
    "hammer": (-274.856578, 12794.134825156867),
    "relocate": (-6.425911, 4233.877797728884),
    "door": (-56.512833, 2880.5693087298737),
}
_BULLET_RUNNERS: dict[str, Scores] = {
    "halfcheetah": (-1275.766996, 2381.6725),
    "hopper": (20.058972, 1441.8059623430963),
    "ant": (373.705955, 2650.495),
    "walker2d": (16.523877, 1623.6476303317536),
}
_ANT_MAZES = ("umaze", "umaze-diverse", "medium-play", "medium-diverse", "large-play", "large-diverse")
_SINGLE: dict[str, Scores] = {
    "maze2d-open-v0": (0.01, 20.66),
    "maze2d-umaze-v1": (23.85, 161.86),
    "maze2d-medium-v1": (13.13, 277.39),
    "maze2d-large-v1": (6.7, 273.99),
    "maze2d-open-dense-v0": (11.17817, 27.166538620695782),
    "maze2d-umaze-dense-v1": (68.537689, 193.66285642381482),
    "maze2d-medium-dense-v1": (44.264742, 297.4552547777125),
    "maze2d-large-dense-v1": (30.569041, 303.4857382709002),
    "bullet-maze2d-open-v0": (8.75, 64.15),
    "bullet-maze2d-umaze-v0": (32.46, 153.99),
    "bullet-maze2d-medium-v0": (14.87, 238.05),
    "bullet-maze2d-large-v0": (1.82, 285.92),
    "minigrid-fourrooms-v0": (0.01442, 2.89685),
    "minigrid-fourrooms-random-v0": (0.01442, 2.89685),
    "kitchen-complete-v0": (0.0, 4.0),
    "kitchen-partial-v0": (0.0, 4.0),
    "kitchen-mixed-v0": (0.0, 4.0),
    "flow-ring-random-v0": (-165.22, 24.42),
    "flow-ring-controller-v0": (-165.22, 24.42),
    "flow-merge-random-v0": (118.67993, 330.03179),
    "flow-merge-controller-v0": (118.67993, 330.03179),
    "carla-lane-v0": (-0.8503839912088142, 1023.5784385429523),
    "carla-town-v0": (-114.81579500772153, 2440.1772022247314),
}


def _locomotion() -> Iterator[tuple[str, Scores]]:
    kinds = ("random", "medium", "expert", "medium-replay", "medium-expert")
    for name, scores in _RUNNERS.items():
        for version in (0, 1, 2):
            for kind in (*kinds, "full-replay") if version else kinds:
                yield f"{name}-{kind}-v{version}", scores
    for name, scores in _BULLET_RUNNERS.items():
        for kind in kinds:
            yield f"bullet-{name}-{kind}-v0", scores


def _hands_and_mazes() -> Iterator[tuple[str, Scores]]:
    for name, scores in _HANDS.items():
        for kind in ("human", "cloned", "expert"):
            for version in (0, 1):
                yield f"{name}-{kind}-v{version}", scores
    for maze in _ANT_MAZES:
        for version in (0, 2):
            yield f"antmaze-{maze}-v{version}", (0.0, 1.0)


SCORES: dict[str, Scores] = _SINGLE | dict(_locomotion()) | dict(_hands_and_mazes())
"""``(random, expert)`` by task."""


def d4rl_normalise(task: str, score: float) -> float:
    """A mean return of ``task`` where 0 is D4RL's random policy and 1 its expert (papers print 100 times this).

    >>> d4rl_normalise("antmaze-umaze-v2", 0.75)
    0.75

    Raises:
        KeyError: a task without reference scores.
    """
    if task not in SCORES:
        raise KeyError(unknown("D4RL task", task, SCORES))
    low, high = SCORES[task]
    return (score - low) / (high - low)
