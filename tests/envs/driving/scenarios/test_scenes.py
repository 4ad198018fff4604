import pickle

import pytest

from tiltyard.envs.driving.maps import catalogue
from tiltyard.envs.driving.scenarios.library import library
from tiltyard.envs.driving.scenarios.scenes import SCENES, places
from tiltyard.envs.driving.scenarios.threads import PIECES, Parts


@pytest.mark.parametrize("name", SCENES)
def test_routes_begin_and_end_where_a_scene_says(name):
    scene = SCENES[name]
    graph = catalogue.make(scene.map, 0)
    begins, ends = places(scene, graph)
    if scene.through:
        assert all(len(graph.successors(lane)) == 0 for lane in ends)
        assert not {int(after) for lane in range(len(graph)) for after in graph.successors(lane)} & set(begins)
    if name == "merge":
        assert [graph.lane_ids[lane] for lane in begins] == ["on0"]


def test_a_library_is_built_once_and_is_pickled_by_its_name():
    one = library("intersection", "train", 2)
    assert one is library("intersection", "train", 2)
    assert pickle.loads(pickle.dumps(one)) is one
    assert len(pickle.dumps(one)) < 500


def test_a_world_has_room_for_the_densest_traffic():
    one = library("intersection", "train", 2)
    kilometres = float(one.places.kilometres.max())
    assert one.most(10.0, 0) == 1 + round(10.0 * kilometres)
    with pytest.raises(ValueError, match="a world holds 128 road users"):
        one.most(100.0, 0)


def test_parts_cover_all_worlds_once_and_copies_have_threads_of_their_own():
    seen = []
    parts = Parts(3, 10)
    parts.run(lambda first, last: seen.append((first, last)))
    assert sorted(seen) == [(i, i + 1) for i in range(10)]  # pieces of which each thread takes the next
    seen.clear()
    parts.run(lambda first, last: seen.append((first, last)), count=100)
    assert [w for first, last in sorted(seen) for w in range(first, last)] == list(range(100))
    assert len(seen) == 3 * PIECES
    parts.run(lambda first, last: seen.append((first, last)), count=7, few=8)
    assert seen.pop() == (0, 7)
    copied = pickle.loads(pickle.dumps(parts))
    parts.close()
    copied.run(lambda first, last: seen.append((first, last)), count=3)
    assert len(seen) == 3 * PIECES + 3
