"""``tiltyard maps``: the list, what is in a map, its picture, and mistakes."""

from pathlib import Path

import pytest
from PIL import Image

from tiltyard.benchmarks.cli import main
from tiltyard.envs.driving.maps.catalogue import NAMES

NET = """<net><edge id="a"><lane id="a_0" index="0" speed="9" length="10" shape="0,0 1000,0"/></edge>
<edge id="b"><lane id="b_0" index="0" speed="8" length="10" shape="1000,0 1500,0"/></edge>
<connection from="a" to="b" fromLane="0" toLane="0" dir="s" state="m"/></net>"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "a.net.xml"
    path.write_text(NET)
    return path


def test_a_map_is_counted_and_drawn(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = net.with_name("a.png")
    assert main(["maps", str(net), "--picture", str(picture)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"a: 2 lanes (2 driving), 1.5 lane-km, from {net}"
    assert lines[1] == "successors 1, lane changes 0, conflicts 0, junctions 0"
    assert lines[2].startswith("stop lines 1 (0 at signals, 0 at stop signs, 1 at give-way signs)")
    assert lines[3] == "driving lanes without a successor: 1"
    with Image.open(picture) as image:
        assert len(image.convert("RGB").reduce(4).getcolors(1 << 20)) > 3


def test_the_list_names_packages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = {"torchdrivesim": {"Town03": Path("x")}, "sumo": {}}
    monkeypatch.setattr("tiltyard.envs.driving.maps.load.installed", found.__getitem__)
    assert main(["maps"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        *(f"{name}:SEED" for name in NAMES),
        "torchdrivesim:Town03",
        "sumo is not installed; docs/maps.md says how",
    ]


def test_a_broken_map_is_one_sentence(net: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net.write_text(NET.replace('speed="8"', 'speed="x"'))
    assert main(["maps", str(net)]) == 2
    assert capsys.readouterr().err == "tiltyard: a.net.xml, line 2: speed of <lane> is 'x', which is no number\n"
    assert main(["maps", "--picture", "a.png"]) == 2
    assert "name the map to draw" in capsys.readouterr().err


def test_a_picture_of_no_format_is_refused_before_anything_is_told(
    net: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["maps", str(net), "--picture", str(net.with_suffix(".txt"))]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "a picture's name ends in .png, .svg, .pdf or .jpg" in said.err
