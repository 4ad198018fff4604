"""Registers Tiltyard's environments when Gymnasium is imported, so that ``gymnasium.make`` needs no import of ours.

Gymnasium 1.0 dropped the ``gymnasium.envs`` entry points that used to do this. The wheel therefore ships a one-line
``tiltyard_gymnasium.pth`` that runs this module when Python starts; it imports only what Python itself has loaded, and
waits for ``gymnasium.envs``.
"""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _AfterGymnasium:
    """A finder that leaves the finding to Python, but registers once ``gymnasium.envs`` has been executed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "gymnasium.envs":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        spec = PathFinder.find_spec(name, path)  # type: ignore[arg-type]
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_then_register(module: ModuleType) -> None:
            execute(module)
            if "tiltyard.envs" not in sys.modules:  # else it is being imported right now and registers itself
                import tiltyard.envs  # noqa: F401

        spec.loader.exec_module = execute_then_register  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Starts waiting for Gymnasium (once); does nothing where it has been imported already."""
    if "gymnasium.envs" not in sys.modules and not any(isinstance(f, _AfterGymnasium) for f in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())  # type: ignore[arg-type]
