from pathlib import Path

import pytest

from tiltyard.envs.driving.carla.routes import choose, read_routes

GOOD = """<routes>
   <route id="0" town="Town12">
      <weathers>
         <weather route_percentage="0" cloudiness="5.0" fog_density="2.0"/>
         <weather route_percentage="100" cloudiness="50.0"/>
      </weathers>
      <waypoints>
         <position x="983.5" y="5382.2" z="371"/>
         <position x="824.2" y="5575.3" z="371"/>
      </waypoints>
      <scenarios><scenario name="a" type="Accident"/><scenario name="b" type="Accident"/></scenarios>
   </route>
   <route id="1" town="Town13">
      <waypoints><position x="0" y="1" z="2"/><position x="3" y="4" z="5"/></waypoints>
   </route>
</routes>
"""


def write(folder: Path, text: str) -> Path:
    (folder / "routes.xml").write_text(text)
    return folder / "routes.xml"


def test_a_file_of_the_leaderboard_is_read(tmp_path: Path) -> None:
    first, second = read_routes(write(tmp_path, GOOD))
    assert (first.id, first.town, first.scenarios) == ("0", "Town12", 2)
    assert first.keypoints == ((983.5, 5382.2, 371.0), (824.2, 5575.3, 371.0))
    assert first.weather == {"cloudiness": 5.0, "fog_density": 2.0}
    assert (second.keypoints, second.weather) == (((0.0, 1.0, 2.0), (3.0, 4.0, 5.0)), {})
    assert second.where.endswith("routes.xml, line 13")
    assert choose([first, second], "1") is second


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("</route>\n</routes>", "</routes>", r"routes.xml, line 15: no XML \(mismatched tag\)"),
        ("<routes>", "<map>", "line 16: no XML"),
        (' town="Town12"', "", "line 2: <route> lacks town"),
        ('x="824.2"', 'x="far"', "line 9: x of <position> is no number: 'far'"),
        ('x="824.2"', 'x="nan"', "line 9: x of <position> is no number: 'nan'"),
        ('         <position x="824.2" y="5575.3" z="371"/>\n', "", r"line 2: route '0' has 1 <position>, needs two"),
        ('cloudiness="5.0"', 'cloudiness="grey"', "line 4: cloudiness of <weather> is no number"),
        ('id="1"', 'id="0"', "line 13: a second route has the id '0'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    with pytest.raises(ValueError, match=says):
        read_routes(write(tmp_path, GOOD.replace(old, new, 1)))


def test_other_files_are_no_files_of_routes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no <routes> here"):
        read_routes(write(tmp_path, "<OpenDRIVE/>"))
    with pytest.raises(ValueError, match="line 1: <routes> holds no <route>"):
        read_routes(write(tmp_path, "<routes/>"))
    with pytest.raises(FileNotFoundError):
        read_routes(tmp_path / "none.xml")
    with pytest.raises(ValueError, match="unknown route '9'"):
        choose(read_routes(write(tmp_path, GOOD)), "9")
