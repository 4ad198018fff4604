from math import inf, pi

import numpy as np
import pytest

from tiltyard.envs.driving.metrics.geometry import overlap
from tiltyard.envs.driving.metrics.ttc import time_to_collision

EGO = [0.0, 0.0, 0.0, 10.0, 5.0, 2.0]


def test_a_leader_is_hit_when_the_gap_is_closed() -> None:
    # 12.4 m between the bumpers, closing at 6 m/s: 2.07 s, which is seen at the next tenth
    assert time_to_collision(EGO, [[17.4, 0.0, 0.0, 4.0, 5.0, 2.0]]) == pytest.approx(2.1)
    assert time_to_collision(EGO, [[17.4, 0.0, 0.0, 10.0, 5.0, 2.0]]) == inf
    assert time_to_collision(EGO, [[29.0, 0.0, 0.0, 0.0, 5.0, 2.0], [17.4, 0.0, 0.0, 4.0, 5.0, 2.0]]) == pytest.approx(
        2.1
    )
    assert time_to_collision(EGO, []) == inf
    assert time_to_collision([0.0, 0.0, 0.0, 0.0, 5.0, 2.0], [[5.1, 0.0, pi, 4.0, 5.0, 2.0]]) == inf  # stands


def test_beyond_the_horizon_nothing_is_seen() -> None:
    # a gap of 28.5 m at 10 m/s: 2.85 s, seen at 2.9; one of 29.5 m is seen at 3.0, which is not looked at
    assert time_to_collision(EGO, [[33.5, 0.0, 0.0, 0.0, 5.0, 2.0]]) == pytest.approx(2.9)
    assert time_to_collision(EGO, [[34.5, 0.0, 0.0, 0.0, 5.0, 2.0]]) == inf


def test_who_is_beside_counts_only_when_asked() -> None:
    merging = [[0.0, 3.0, -0.3, 10.0, 5.0, 2.0]]
    assert time_to_collision(EGO, merging) == inf
    assert time_to_collision(EGO, merging, lateral=True) < 1.0
    behind = [[-7.0, 0.0, 0.0, 30.0, 5.0, 2.0]]
    assert time_to_collision(EGO, behind, lateral=True) == inf


def test_the_frame_does_not_matter() -> None:
    def turned(x: float, y: float, heading: float, *rest: float) -> list[float]:
        return [x * np.cos(1) - y * np.sin(1), x * np.sin(1) + y * np.cos(1), heading + 1, *rest]

    crossing = [25.0, -14.0, pi / 2, 7.0, 4.0, 1.8]
    seen = time_to_collision(EGO, [crossing])
    assert 1.5 < seen < 3.0
    assert time_to_collision(turned(*EGO), [turned(*crossing)]) == seen


def test_boxes_overlap_where_sampled_points_say_so() -> None:
    rng = np.random.default_rng(0)
    one = np.array([0.0, 0.0, 0.4, 5.0, 2.0])
    others = np.column_stack([rng.uniform(-6, 6, (400, 2)), rng.uniform(-pi, pi, 400), rng.uniform(0.5, 5, (400, 2))])
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 0.5, 60), np.linspace(-0.5, 0.5, 60)), -1).reshape(-1, 2)

    def inside(points: np.ndarray, box: np.ndarray) -> np.ndarray:
        to = points - box[:2]
        c, s = np.cos(box[2]), np.sin(box[2])
        return (np.abs(to @ [c, s]) <= box[3] / 2) & (np.abs(to @ [-s, c]) <= box[4] / 2)

    def points(box: np.ndarray) -> np.ndarray:
        c, s = np.cos(box[2]), np.sin(box[2])
        return box[:2] + (grid * box[3:5]) @ np.array([[c, s], [-s, c]])

    met = np.array([inside(points(box), one).any() or inside(points(one), box).any() for box in others])
    said = overlap(one, others)
    assert 80 < met.sum() < 320
    assert not (met & ~said).any()  # a common point proves it
    assert (said & ~met).sum() <= 4  # a sliver that no point fell into
