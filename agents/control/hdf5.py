"""HDF5 files by strangers: all that one holds is looked at before any of it is read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import h5py  # type: ignore[import-untyped]

MOST_BYTES = 2**35
"""Of all arrays of a file, which are held in memory at once; the largest of D4RL's are below a gigabyte."""
MOST_GROWTH, FREE = 200, 2**28
"""How many times as large as the file its arrays may be (recorded numbers are, at most, ten times), and how large
those of any file may be: compression makes a thousandth of what is all the same, and what was never written is nothing.
"""


def check_hdf5(file: "h5py.File") -> None:
    """Refuses what could make a reader open other files, or take memory without end.

    Raises:
        ValueError: a link to another place or file, one object by two names, an array whose values lie elsewhere or are
            neither numbers nor texts, or more bytes than the constants of this module allow.
    """
    from h5py import h5d, h5l, h5o

    total = 0

    def link(name: bytes, found: Any) -> str | None:
        return None if found.type == h5l.TYPE_HARD else f"its {_text(name)} is a link to something else"

    def part(name: bytes, found: Any) -> str | None:
        nonlocal total
        if found.rc > 1:
            return f"its {_text(name)} has another name, too"
        if found.type != h5o.TYPE_DATASET:
            return None
        array = h5d.open(file.id, name)
        total += array.get_space().get_simple_extent_npoints() * array.get_type().get_size()
        return _oddity(_text(name), array)

    # the plain functions of HDF5, which go on until something is returned; objects would take ten times as long
    if said := file.id.links.visit(link, info=True) or h5o.visit(file.id, part, info=True):
        raise ValueError(said)
    most = min(MOST_BYTES, max(FREE, MOST_GROWTH * Path(file.filename).stat().st_size))
    if total > most:
        raise ValueError(f"its arrays have {total:,} bytes, and {most:,} are the most that are read from such a file")


def _text(name: bytes) -> str:
    return name.decode(errors="replace")[:100]


def _oddity(name: str, array: Any) -> str | None:
    """What an array (HDF5's own handle of it) has that none of ours has."""
    from h5py import h5d, h5t

    made = array.get_create_plist()
    if made.get_layout() == h5d.VIRTUAL or made.get_external_count():
        return f"the values of its {name} lie in other files"
    if array.get_type().get_class() not in (h5t.INTEGER, h5t.FLOAT, h5t.ENUM, h5t.STRING, h5t.VLEN):
        return f"its {name} holds {array.dtype}, which is neither numbers nor texts"
    return None
