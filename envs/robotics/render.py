"""Pictures of a MuJoCo model: by OpenGL where the machine has one that works, else a plain view in software.

That is a side view, one from above, or the picture a camera would take, whichever shows the task.

A machine without a display has EGL or OSMesa at best. Whether they work is only known by trying, and a failed try
spoils the process for the next (PyOpenGL binds one platform for good), so a child process tries first.
"""

import atexit
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import mujoco
import numpy as np
import numpy.typing as npt

from ... import unknown
from .side_view import SideView

Frame = npt.NDArray[np.uint8]
log = logging.getLogger(__name__)

PACKAGES = "apt-get install libegl1 libgl1-mesa-dri (for EGL) or libosmesa6 (for OSMesa)"
CAMERA = tuple(name for name in dir(mujoco.MjvCamera) if not name.startswith("_"))
MAX_SIDE = 8192  # pixels: larger frames than graphics cards draw would end the process
OFF = ("disable", "disabled", "off", "false", "0")
_TRY = """
import mujoco, sys
from importlib import import_module
context = import_module("mujoco." + sys.argv[1]).GLContext(32, 32)
context.make_current()
mujoco.MjrContext(mujoco.MjModel.from_xml_string("<mujoco/>"), 100).free()
context.free()
"""


class View(Protocol):
    """Draws the state of one ``MjData`` after another."""

    backend: str

    def frame(self, data: mujoco.MjData) -> Frame:
        """An RGB frame ``[height, width, 3]``."""

    def close(self) -> None:
        """Frees what drawing needs."""


@cache
def works(backend: str) -> bool:
    """Whether OpenGL by "egl", "osmesa" or "glfw" can draw here, tried in a child process."""
    environment = {key: value for key, value in os.environ.items() if key != "PYOPENGL_PLATFORM"}
    environment["MUJOCO_GL"] = backend
    child = subprocess.run(
        [sys.executable, "-c", _TRY, backend], env=environment, capture_output=True, timeout=60, check=False
    )
    return child.returncode == 0


def pick_backend() -> str:
    """What ``MUJOCO_GL`` asks for, else the first of EGL and OSMesa (GLFW, with a display) that works, else "software".

    Raises:
        RuntimeError: when ``MUJOCO_GL`` asks for one that does not work.
    """
    wanted = os.environ.get("MUJOCO_GL", "").lower().strip()
    if wanted in OFF:
        return "software"
    if wanted in ("egl", "osmesa", "glfw"):
        if works(wanted):
            return wanted
        raise RuntimeError(
            f"MUJOCO_GL={wanted} does not work on this machine: unset it to draw in software, or {PACKAGES}"
        )
    candidates = ("glfw", "egl", "osmesa") if os.environ.get("DISPLAY") else ("egl", "osmesa")
    for backend in candidates:
        if works(backend):
            log.info("drawing MuJoCo by %s", backend)
            return backend
    log.warning("no OpenGL works on this machine, drawing MuJoCo in software; for full pictures: %s", PACKAGES)
    return "software"


class GLView:
    """MuJoCo's own pictures, with Gymnasium's camera, which here follows the body."""

    def __init__(
        self,
        model: mujoco.MjModel,
        backend: str,
        *,
        width: int,
        height: int,
        camera: mujoco.MjvCamera,
        max_geom: int,
        visual_options: Mapping[int, bool],
    ) -> None:
        model = _endless(model)
        self.backend, self._model, self._camera = backend, model, camera
        offscreen = model.vis.global_
        offscreen.offwidth, offscreen.offheight = max(offscreen.offwidth, width), max(offscreen.offheight, height)
        self._gl: Any = import_module(f"mujoco.{backend}").GLContext(width, height)
        self._gl.make_current()
        self._scene = mujoco.MjvScene(model, max_geom)
        self._option, self._perturb = mujoco.MjvOption(), mujoco.MjvPerturb()
        for flag, value in visual_options.items():
            self._option.flags[flag] = value
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._rect = mujoco.MjrRect(0, 0, width, height)
        atexit.register(self.close)  # after the interpreter's end the drivers' clean-up fails, loudly

    def frame(self, data: mujoco.MjData) -> Frame:
        """See :class:`View`."""
        self._gl.make_current()
        if self._camera.type == mujoco.mjtCamera.mjCAMERA_FREE and self._model.nbody > 1:
            self._camera.lookat[:2] = data.xpos[1, :2]  # Gymnasium's stays behind, and the body runs out of the frame
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, data, self._option, self._perturb, self._camera, everything, self._scene)
        mujoco.mjr_render(self._rect, self._scene, self._context)
        pixels = np.empty((self._rect.height, self._rect.width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._rect, self._context)
        return pixels[::-1].copy()  # OpenGL counts rows from below

    def close(self) -> None:
        """See :class:`View`."""
        if self._gl is not None:
            atexit.unregister(self.close)
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None


def _endless(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy whose planes are drawn as endless as they are to the physics: runners leave Gymnasium's after 40 m."""
    model = copy(model)
    for plane in np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE):
        size, material = model.geom_size[plane, :2], model.geom_matid[plane]
        if material >= 0 and size.all():
            model.mat_texrepeat[material] /= size  # counted over half the plane where it ends, else over a metre
        model.geom_size[plane, :2] = 0
    return model


def open_view(
    model: mujoco.MjModel,
    *,
    width: int,
    height: int,
    camera_id: int | None,
    camera_name: str | None,
    config: Mapping[str, Any],
    max_geom: int,
    visual_options: Mapping[int, bool],
    software: Callable[..., View] = SideView,
) -> View:
    """A view of ``model`` by the best means of this machine, at the least ``software``; its ``backend`` says which."""
    camera = _camera(model, camera_id, camera_name, config)
    backend = pick_backend()
    if backend == "software":
        return software(model, width=width, height=height)
    return GLView(
        model, backend, width=width, height=height, camera=camera, max_geom=max_geom, visual_options=visual_options
    )


def check_view(
    model: mujoco.MjModel,
    *,
    width: int,
    height: int,
    camera_id: int | None,
    camera_name: str | None,
    config: Mapping[str, Any],
    max_geom: int,
    visual_options: Mapping[int, bool],
) -> None:
    """Whether :func:`open_view` can be asked for this, before there is anything to draw.

    Raises:
        ValueError: on what is out of range, or unknown to MuJoCo or to the model.
    """
    for name, value, most in (("width", width, MAX_SIDE), ("height", height, MAX_SIDE), ("max_geom", max_geom, None)):
        if value < 1 or (most is not None and value > most):
            raise ValueError(f"{name} must be at least 1{f' and at most {most}' if most else ''}, got {value}")
    if camera_id is not None and camera_name is not None:
        raise ValueError("camera_id and camera_name exclude each other: give one")
    names = [model.camera(i).name for i in range(model.ncam)]
    if (camera_name is not None and camera_name not in names) or not -1 <= (camera_id or 0) < max(model.ncam, 1):
        raise ValueError(f"the model has no camera {camera_name or camera_id!r}: it has {names}")
    camera = mujoco.MjvCamera()
    for key, value in config.items():
        if key not in CAMERA:
            raise ValueError(unknown("attribute of default_camera_config", key, CAMERA))
        if np.shape(value) != np.shape(getattr(camera, key)) or not np.isfinite(np.asarray(value, np.float64)).all():
            many = np.size(getattr(camera, key))
            wanted = "a finite number" if many == 1 else f"{many} finite numbers"
            raise ValueError(f"default_camera_config[{key!r}] must be {wanted}, got {value!r:.200}")
    for flag in visual_options:
        known = isinstance(flag, int | np.integer | mujoco.mjtVisFlag)
        if not (known and 0 <= int(flag) < int(mujoco.mjtVisFlag.mjNVISFLAG)):
            raise ValueError(f"visual_options are MuJoCo's flags by number (mjtVisFlag), got {flag!r:.200}")


def _camera(
    model: mujoco.MjModel, camera_id: int | None, camera_name: str | None, config: Mapping[str, Any]
) -> mujoco.MjvCamera:
    """Gymnasium's camera: the named one, else a free one that looks at the model's middle, then ``config``."""
    if camera_name is not None:
        camera_id = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera_name)
    camera, start = mujoco.MjvCamera(), mujoco.MjData(model)
    mujoco.mj_forward(model, start)
    camera.lookat[:] = np.median(start.geom_xpos, axis=0)
    camera.distance = model.stat.extent
    if camera_id is not None and camera_id >= 0:
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, camera_id
    for key, value in config.items():
        if np.ndim(value):
            getattr(camera, key)[:] = value
        else:
            setattr(camera, key, value)
    return camera
