import numpy as np
import pytest

from tiltyard.envs.driving.maps.build import Lane, StopLine, build
from tiltyard.envs.driving.maps.graph import STOP_SIGN
from tiltyard.envs.driving.town.frame import SIZE, Dashboard, draw
from tiltyard.envs.driving.town.paint import box, dashes, paint, ribbon
from tiltyard.envs.driving.town.raster import (
    CELL,
    CHANNELS,
    COLUMN,
    METRES,
    ON_MARK,
    ON_ROAD,
    PIXELS,
    ROW,
    bitmap,
    grounds,
    lay_ground,
)
from tiltyard.envs.driving.town.state import AGENT, CAR, CONTROLS


@pytest.fixture
def street():
    """Two lanes of 4 m eastwards, 60 m long, with a stop line at the end of the right one."""
    lanes = [
        Lane("right", [[0.0, 0.0], [60.0, 0.0]], 4.0, 10.0, left="left", right=""),
        Lane("left", [[0.0, 4.0], [60.0, 4.0]], 4.0, 10.0, left="", right="right"),
    ]
    return build("street", lanes, stops=[StopLine("right", 50.0, STOP_SIGN)])


def test_a_box_has_its_corners_where_they_belong():
    corners = box(10.0, 5.0, np.pi / 2, 4.0, 2.0)
    assert sorted(map(tuple, np.round(corners, 9).tolist())) == [(9.0, 3.0), (9.0, 7.0), (11.0, 3.0), (11.0, 7.0)]


def test_a_ribbon_is_as_wide_as_asked():
    outline = ribbon(np.array([[0.0, 0.0], [10.0, 0.0]]), 2.0)
    assert (outline.min(axis=0), outline.max(axis=0)) == (
        pytest.approx(np.array([0.0, -1.0])),
        pytest.approx(np.array([10.0, 1.0])),
    )


def test_a_broken_line_has_a_dash_each_nine_metres():
    pieces = list(dashes(np.array([[0.0, 0.0], [60.0, 0.0]])))
    assert [round(float(piece[0, 0]), 6) for piece in pieces] == [3.0, 12.0, 21.0, 30.0, 39.0, 48.0, 57.0]


def test_outer_edges_are_solid_and_the_line_between_two_lanes_is_broken(street):
    painted = paint(street)
    lengths = sorted(round(float(np.ptp(mark[:, 0])), 3) for mark in painted.marks)
    assert lengths == [3.0] * 7 + [60.0] * 2
    assert len(painted.stops) == 1
    assert painted.stops[0][:, 0] == pytest.approx([50.25, 50.25, 49.75, 49.75])


def test_the_bitmap_of_the_ground_knows_road_and_markings(street):
    bits, low = bitmap(paint(street))

    def at(x, y):
        i, j = ((np.array([x, y]) - low) / CELL).astype(int)
        return bits[i, j]

    assert at(30.0, 0.4) == ON_ROAD
    assert at(50.0, 0.4) & ON_MARK
    assert at(30.0, -3.9) == 0
    assert abs((bits & ON_ROAD).sum() * CELL * CELL - 60.0 * 8.0) < 45.0


@pytest.mark.parametrize(("x", "y", "heading"), [(30.0, 1.0, 0.0), (22.0, -2.0, 0.7), (58.0, 3.0, -2.5)])
def test_every_pixel_of_the_ground_shows_the_cell_that_it_is_on(street, x, y, heading):
    painted = paint(street)
    bits, low = bitmap(painted)
    own = np.zeros(1, AGENT)
    own["x"], own["y"], own["heading"] = x, y, heading
    out = np.ones((PIXELS, PIXELS, len(CHANNELS)), np.uint8)
    lay_ground(grounds([painted]), 0, own[0], 51, 102, np.empty(PIXELS, np.uint32), out)
    forward = (ROW - 0.5 - np.arange(PIXELS))[:, None] * METRES
    left = (COLUMN - 0.5 - np.arange(PIXELS)) * METRES
    i = np.floor((x + forward * np.cos(heading) - left * np.sin(heading) - low[0]) / CELL).astype(int)
    j = np.floor((y + forward * np.sin(heading) + left * np.cos(heading) - low[1]) / CELL).astype(int)
    inside = (i >= 0) & (j >= 0) & (i < bits.shape[0]) & (j < bits.shape[1])
    wanted = np.where(inside, bits[np.where(inside, i, 0), np.where(inside, j, 0)], 0)
    for channel, bit in ((0, ON_ROAD), (1, ON_MARK)):
        assert set(np.unique(out[..., channel])) == {0, 255}
        assert ((out[..., channel] > 0) == (wanted & bit > 0)).mean() > 0.998  # but for the rounding of edges
    assert (out[..., 7] == np.where(np.arange(PIXELS) < 32, 51, 102)).all()
    assert not out[..., 2:7].any()


def test_a_frame_shows_the_ego_in_the_middle_and_its_road_around_it(street):
    agents = np.zeros(1, AGENT)
    agents["x"], agents["length"], agents["width"] = 30.0, 4.8, 1.9
    agents["controller"], agents["kind"] = CONTROLS, CAR
    shown = Dashboard(speed=10.0, limit=10.0, route=0.5, time=0.2, left=30.0, infraction=0, success=False)
    frame = draw(paint(street), agents, 0, route=np.zeros((0, 2)), colours=[], dashboard=shown)
    assert frame.shape == (SIZE[1], SIZE[0], 3)
    middle = frame[SIZE[1] // 2 + 22, SIZE[0] // 2 - 4]
    assert middle[0] > 200
    assert middle[2] < 90  # orange
    beside = frame[SIZE[1] // 2 + 22, SIZE[0] // 2 + 60]
    assert int(beside.max()) - int(beside.min()) < 20  # tarmac is grey
