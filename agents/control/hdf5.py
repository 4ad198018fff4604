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
    import h5py

    total = 0

    def link(name: str, found: Any) -> str | None:
        return None if isinstance(found, h5py.HardLink) else f"its {name:.100} is a link to something else"

    def part(name: str, found: Any) -> str | None:
        nonlocal total
        if h5py.h5o.get_info(found.id).rc > 1:
            return f"its {name:.100} has another name, too"
        if not isinstance(found, h5py.Dataset):
            return None
        total += int(found.size or 0) * int(found.dtype.itemsize)
        return _oddity(name, found)

    if said := file.visititems_links(link) or file.visititems(part):  # HDF5 goes on until something is returned
        raise ValueError(said)
    most = min(MOST_BYTES, max(FREE, MOST_GROWTH * Path(file.filename).stat().st_size))
    if total > most:
        raise ValueError(f"its arrays have {total:,} bytes, and {most:,} are the most that are read from such a file")


def _oddity(name: str, found: "h5py.Dataset") -> str | None:
    """What an array has that none of ours has."""
    import h5py

    if found.is_virtual or found.external:
        return f"the values of its {name:.100} lie in other files"
    texts = h5py.check_string_dtype(found.dtype) or h5py.check_vlen_dtype(found.dtype)
    if found.dtype.kind not in "biufSU" and not texts:
        return f"its {name:.100} holds {found.dtype}, which is neither numbers nor texts"
    return None
