import numpy as np
import pytest

from tiltyard.envs.driving.town.observe import NEIGHBOUR, NEIGHBOURS, blocks, nearest, see_neighbour, survey, wrapped
from tiltyard.envs.driving.town.raster import COLUMN, METRES, ROW, VEHICLES, fill_box
from tiltyard.envs.driving.town.state import ABSENT, AGENT, DRIVER, NONE, PERSON, WORLD


@pytest.fixture
def row():
    """The observer at the origin facing north, a lorry 10 m ahead of it, a pedestrian 20 m ahead, nobody, a far one."""
    agents = np.zeros(5, AGENT)
    agents["controller"], agents["length"], agents["width"] = DRIVER, 5.0, 2.0
    agents["heading"][0] = np.pi / 2
    agents["y"] = [0.0, 10.0, 20.0, 5.0, 200.0]
    agents["kind"][2], agents["controller"][3] = PERSON, ABSENT
    world = np.zeros(1, WORLD)[0]
    world["agents"] = 5
    return world, agents


def surveyed(world, agents):
    around = np.full((5, len(agents)), np.nan, np.float32)
    survey(world, agents, NONE, around)
    return around


def test_who_alone_looks_needs_no_headings_of_those_out_of_sight(row):
    all_of_them, in_sight = surveyed(*row), np.full((5, 5), np.nan, np.float32)
    survey(*row, 0, in_sight)
    assert (in_sight[:4, :3] == all_of_them[:4, :3]).all()
    assert np.isnan(in_sight[2:4, 4]).all()
    assert not np.isnan(all_of_them[2:4, 4]).any()


def seen(row, occlusion):
    found = np.zeros(NEIGHBOURS, np.int64)
    count = nearest(*row, 0, occlusion, surveyed(*row), found, np.zeros(NEIGHBOURS))
    return found[:count].tolist()


def test_the_nearest_come_first_without_those_who_are_absent_or_far(row):
    assert seen(row, False) == [1, 2]


def test_who_is_behind_a_lorry_is_hidden(row):
    assert seen(row, True) == [1]
    row[1]["x"][1] = 4.0  # out of the way
    assert seen(row, True) == [1, 2]


def test_a_line_of_sight_along_a_body_is_free(row):
    assert blocks(0.0, 20.0, row[1][1], row[1][0])
    assert not blocks(3.0, 5.0, row[1][1], row[1][0])


def test_only_the_nearest_sixteen_are_seen():
    agents = np.zeros(30, AGENT)
    agents["controller"] = DRIVER
    agents["x"] = np.arange(30)[::-1]
    world = np.zeros(1, WORLD)[0]
    world["agents"] = 30
    assert seen((world, agents), False) == list(range(1, 17))


def test_a_neighbour_by_hand(row):
    out = np.zeros(len(NEIGHBOUR), np.float32)
    world, agents = row
    agents["v"][:2], agents["x"][1], agents["heading"][1] = [5.0, 9.0], -8.0, np.pi
    around = surveyed(world, agents)
    see_neighbour(agents[0], agents[1], around, 0, 1, 0.0, out)
    expected = [1.0, 10.0 / 80.0, 8.0 / 80.0, 0.0, 1.0, -5.0 / 20.0, 9.0 / 20.0, 0.5, 2.0 / 3.0, 1.0]
    np.testing.assert_allclose(out, expected, atol=1e-6)
    see_neighbour(agents[0], agents[2], around, 0, 2, 0.0, out)
    assert out[9] == -1.0


def test_angles_are_wrapped():
    assert [wrapped(angle) for angle in (0.0, 3.5 * np.pi)] == pytest.approx([0.0, -0.5 * np.pi])


def test_a_box_fills_its_area_and_a_small_one_its_pixel():
    out = np.zeros((64, 64, 8), np.uint8)
    fill_box(out, VEHICLES, 200, 12.0, 3.0, 0.0, 6.0, 3.0)
    rows, columns = np.nonzero(out[:, :, VEHICLES])
    assert (rows.min(), rows.max() + 1) == (ROW - 15.0 / METRES, ROW - 9.0 / METRES)
    assert (columns.min(), columns.max() + 1) == (COLUMN - 4.5 / METRES, COLUMN - 1.5 / METRES)
    assert (out[:, :, VEHICLES] > 0).sum() == 8 * 4
    fill_box(out, VEHICLES, 255, 3.3, 0.3, 0.3, 0.1, 0.1)
    assert (out == 255).sum() == 1
    fill_box(out, VEHICLES, 255, 100.0, 0.0, 0.0, 5.0, 2.0)  # out of sight
    assert (out == 255).sum() == 1
