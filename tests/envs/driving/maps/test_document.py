"""Broken XML is one sentence that names the file and the line, and costs no time."""

import gzip
from pathlib import Path

import pytest

from tiltyard.envs.driving.maps import document
from tiltyard.envs.driving.maps.document import MapError, read, root_of

BOMB = """<?xml version="1.0"?>
<!DOCTYPE bomb [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<osm>&b;</osm>"""


def file(tmp_path: Path, content: str | bytes, name: str = "a.osm") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_elements_know_their_lines(tmp_path: Path) -> None:
    root = read(file(tmp_path, '<osm>\n<node id="1" lat="0.5"/>\n<way>\n<nd ref="1"/></way></osm>'), "osm")
    assert [child.line for child in root.children] == [2, 3]
    assert root.one("way", "nd").line == 4
    assert root.one("node").number("lat") == 0.5
    assert root.one("node").number("ele", 2.0) == 2.0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "a.osm, line 1: no element found"),
        ("a town", "a.osm, line 1: syntax error"),
        ("<osm>\n<node>\n", "a.osm, line 3: no element found"),
        ("<osm>\n</way>", "a.osm, line 2: mismatched tag"),
        ("<osm/><osm/>", "a.osm, line 1: junk after document element"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a.osm, line 1: not well-formed"),
        ("<net>\n</net>", "a.osm, line 1: the root is <net>, not <osm>"),
        (BOMB, "a.osm, line 2: it declares the entity 'a'"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<osm>&x;</osm>', "it declares the entity 'x'"),
        ("<osm>\n" + "<a>\n" * 100_000, "a.osm, line 65: elements are nested more than 64 levels deep"),
        ('<?xml version="1.0" encoding="none-such"?><osm/>', "unknown encoding"),
    ],
)  # fmt: skip
def test_what_is_no_xml_is_told_with_its_line(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    with pytest.raises(MapError) as error:
        read(file(tmp_path, content), "osm")
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "told"), [("x", "no number"), ("nan", "not finite"), ("1e999", "not finite"), ("", "no number")]
)
def test_what_is_no_finite_number_is_told(tmp_path: Path, value: str, told: str) -> None:
    root = read(file(tmp_path, f'<osm>\n<node lat="{value}"/></osm>'))
    with pytest.raises(MapError, match=rf"a\.osm, line 2: lat of <node> is .* which is {told}"):
        root.one("node").number("lat")
    with pytest.raises(MapError, match=r"line 2: <node> has no attribute 'lon'"):
        root.one("node").number("lon")
    with pytest.raises(MapError, match=r"line 1: <osm> has no <way>"):
        root.one("way")


def test_packed_files_are_read_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"<osm>" + b" " * 100_000 + b"</osm>")
    path = file(tmp_path, packed, "a.osm.gz")
    assert read(path).tag == "osm"
    monkeypatch.setattr(document, "LARGEST", 50_000)
    with pytest.raises(MapError, match="more than 0 MiB"):
        read(path)
    with pytest.raises(MapError, match="cannot be unpacked"):
        read(file(tmp_path, packed[:50], "a.osm.gz"))
    with pytest.raises(MapError, match="cannot be unpacked"):
        read(file(tmp_path, "<osm/>", "a.osm.gz"))


def test_the_root_is_found_in_damaged_files_too(tmp_path: Path) -> None:
    assert root_of(file(tmp_path, "<net>\n<edge")) == "net"
    assert root_of(file(tmp_path, "no XML")) == ""
