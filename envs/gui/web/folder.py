"""Where MiniWoB++'s pages are: HTML files of the ``miniwob`` package, which is found but never imported."""

from importlib.util import find_spec
from pathlib import Path

from .... import need, unknown

PACKAGE = "miniwob"


def installed() -> Path | None:
    """The package's folder of HTML, or None if it is not installed."""
    spec = find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) / "html" if places else None


def tasks(html: Path | None = None) -> list[str]:
    """The names of the tasks in a folder of HTML (default: the package's): ``click-test`` and so on, sorted."""
    folder = html or installed()
    return sorted(page.stem for page in (folder / "miniwob").glob("*.html")) if folder else []


def page(task: str, html: Path | None = None) -> str:
    """The address of a task's page.

    Raises:
        MissingExtra: the package is not installed.
        ValueError: it has no such task.
    """
    folder = html or installed()
    if folder is None:
        need(PACKAGE, extra="web")
        raise AssertionError("a package that can be imported has a folder")
    if task not in (names := tasks(folder)):
        raise ValueError(unknown("MiniWoB++ task", task, names))
    return (folder / "miniwob" / f"{task}.html").resolve().as_uri()
