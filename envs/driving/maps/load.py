"""Maps by name: a file's path, ``package:map`` of an installed package, or ``generator:seed``."""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from .... import need, unknown
from . import catalogue, lanelet2, opendrive, sumo
from .document import MapError, root_of
from .graph import LaneGraph

READERS: Mapping[str, Callable[[Path], LaneGraph]] = {
    "osm": lanelet2.read,
    "OpenDRIVE": lambda path: opendrive.describe(path).graph(path),
    "net": lambda path: sumo.describe(path).graph(path),
}
"""By the root of the file."""
SUFFIXES = {".osm": "osm", ".xodr": "OpenDRIVE", ".net.xml": "net"}
PACKAGES = {"torchdrivesim": ("resources/maps", ".osm"), "sumo": ("tools", ".net.xml")}
"""Packages with maps: the folder within, and how the maps end."""


def load(name: str | Path) -> LaneGraph:
    """The lane graph of a map.

    >>> load("torchdrivesim:Town03")  # doctest: +SKIP
    >>> load("sumo:A10KW/osm")  # doctest: +SKIP
    >>> load("my-town.xodr")  # doctest: +SKIP

    Args:
        name: a path (Lanelet2 ``.osm``, OpenDRIVE ``.xodr``, SUMO ``.net.xml``, each also with ``.gz``), or a map of an
            installed package, such as ``torchdrivesim:Town03`` or ``sumo:racing/spreewaldring``, or a generator's with
            its seed, such as ``town:7`` (alone: seed 0).

    Raises:
        MapError: the file is broken: the sentence names the line, or it is of no known format.
        MissingExtra: the package is not installed.
        ValueError: the package has no such map, or the lanes make no graph.
        FileNotFoundError: there is no such file.
    """
    generator, _, seed = str(name).partition(":")
    if generator in catalogue.NAMES:
        if not (seed or "0").isdecimal():
            raise ValueError(f"the seed {seed!r} of {name} is no whole number from 0 on")
        return catalogue.make(generator, int(seed or 0))
    path = find(name)
    return READERS[kind_of(path)](path)


def find(name: str | Path) -> Path:
    """The file of a map, see :func:`load`."""
    package, colon, inner = str(name).partition(":")
    if not colon or package not in PACKAGES:
        path = Path(name)
        if path.is_file():
            return path
        raise FileNotFoundError(f"there is no map file {name}; tiltyard maps lists the maps of packages")
    if find_spec(package) is None:
        need(package, extra="maps")
    there = installed(package)
    exact = [one for one in there if one == inner] or [one for one in there if f"/{one}".endswith(f"/{inner}")]
    if len(exact) != 1:
        raise ValueError(unknown(f"map of {package}", inner, there))
    return there[exact[0]]


def kind_of(path: Path) -> str:
    """The root that a map file has, by its name or else its content: ``osm``, ``OpenDRIVE`` or ``net``.

    Raises:
        MapError: it is none of these.
    """
    name = path.name.removesuffix(".gz")
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix):
            return kind
    kind = root_of(path)
    if kind not in READERS:
        told = f"its root is <{kind[:40]}>" if kind else "it is no XML"
        raise MapError(f"{path.name}, line 1: {told}, not <osm> (Lanelet2), <OpenDRIVE> or <net> (SUMO)")
    return kind


def installed(package: str) -> dict[str, Path]:
    """The maps of a package by name, empty if it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return {}
    folder, suffix = PACKAGES[package]
    maps: dict[str, Path] = {}
    for root in spec.submodule_search_locations:
        top = Path(root) / folder
        for path in sorted([*top.rglob(f"*{suffix}"), *top.rglob(f"*{suffix}.gz")]):
            inner = path.relative_to(top).as_posix().removesuffix(".gz").removesuffix(suffix)
            maps.setdefault(_short(package, inner), path)
    return maps


def _short(package: str, inner: str) -> str:
    """``Town03`` of ``carla_Town03/carla_Town03``, ``A10KW/osm`` of ``game/A10KW/osm``."""
    if package == "torchdrivesim":
        return inner.rsplit("/", 1)[-1].removeprefix("carla_")
    return inner.removeprefix("game/").removeprefix("sumolib/scenario/scenarios/")
