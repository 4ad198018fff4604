"""Maps by path, content and package."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

from tiltyard import MissingExtra
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.maps.document import MapError
from tiltyard.envs.driving.maps.load import find, installed, kind_of, load


@pytest.mark.parametrize(("name", "lanes"), [("small.osm", 4), ("small.xodr", 8), ("small.net.xml", 11)])
def test_maps_are_known_by_their_names_and_by_their_contents(write, tmp_path: Path, name: str, lanes: int) -> None:
    path = write(name)
    assert len(load(path)) == len(load(str(path))) == lanes
    assert load(path).source == str(path)
    renamed = tmp_path / "town.map"
    renamed.write_bytes(path.read_bytes())
    assert kind_of(renamed) == kind_of(path)
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert kind_of(packed) == kind_of(path)


def test_generators_are_named_with_their_seeds() -> None:
    assert load("roundabout:3").lane_ids == make("roundabout", 3).lane_ids
    np.testing.assert_array_equal(load("roundabout").columns.x, make("roundabout", 0).columns.x)
    with pytest.raises(ValueError, match="the seed 'x' of roundabout:x is no whole number"):
        load("roundabout:x")


def test_what_is_no_map_is_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("turn left")
    with pytest.raises(MapError, match=r"notes\.txt, line 1: it is no XML, not <osm>"):
        load(path)
    path.write_text("<html/>")
    with pytest.raises(MapError, match="its root is <html>, not <osm>"):
        load(path)
    with pytest.raises(FileNotFoundError, match=r"there is no map file none\.osm; tiltyard maps lists"):
        load("none.osm")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write) -> Path:
    """A package ``sumo`` that holds the small net twice."""
    for folder in ("game/grid", "sumolib/scenario/scenarios/grid"):
        inner = tmp_path / "sumo" / "tools" / folder
        inner.mkdir(parents=True)
        (inner / "small.net.xml").write_bytes(write("small.net.xml").read_bytes())
    (tmp_path / "sumo" / "tools" / "game" / "one.net.xml.gz").write_bytes(b"")
    (tmp_path / "sumo" / "__init__.py").write_text("")
    monkeypatch.delitem(sys.modules, "sumo", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "sumo"


def test_maps_of_packages_have_short_names(package: Path) -> None:
    assert list(installed("sumo")) == ["grid/small", "one"]
    assert find("sumo:small") == find("sumo:grid/small") == package / "tools/game/grid/small.net.xml"
    assert len(load("sumo:grid/small")) == 11
    with pytest.raises(ValueError, match="unknown map of sumo 'grid/smaller'; did you mean 'grid/small'"):
        find("sumo:grid/smaller")


def test_a_missing_package_is_told_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltyard.envs.driving.maps.load.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "torchdrivesim", None)
    assert installed("torchdrivesim") == {}
    with pytest.raises(MissingExtra, match=r"pip install .*\[maps\]"):
        load("torchdrivesim:Town03")
