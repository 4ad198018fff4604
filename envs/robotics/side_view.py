"""A side view of a planar MuJoCo model in plain Pillow, for machines without OpenGL."""

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

SKY = ((176, 203, 228), (236, 243, 248))  # above, at the horizon
FLOOR = ((214, 205, 190), (198, 188, 171))  # tiles of one metre, alternating
EDGE = (96, 88, 76)
INK = (120, 112, 100)
MOTOR = (52, 60, 72)
SAMPLES = 2  # pixels drawn a pixel shown, each way

Colour = tuple[int, int, int]
LONG = (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER)


class SideView:
    """Looks along y at the x-z plane, ``span`` metres high, and follows the first moving body along x.

    Capsules and cylinders are drawn in full, other geoms as a ball of their size; the plane ``z = 0`` is the floor,
    with a tile a metre.

    Args:
        model: the model; its geoms' own colours are used.
        width: of a frame, in pixels.
        height: of a frame, in pixels.
        span: metres from the bottom to the top of a frame.
    """

    backend = "software"

    def __init__(self, model: mujoco.MjModel, *, width: int, height: int, span: float = 2.4) -> None:
        self._model = model
        self._size = (width * SAMPLES, height * SAMPLES)
        self._scale = self._size[1] / span  # pixels a metre
        self._horizon = self._size[1] - int(0.45 * self._scale)
        self._sky = self._gradient()

    def _gradient(self) -> Image.Image:
        share = np.linspace(0, 1, self._size[1])[:, None]
        column = np.asarray(SKY[0]) * (1 - share) + np.asarray(SKY[1]) * share
        return Image.fromarray(np.repeat(column[:, None].astype(np.uint8), self._size[0], axis=1))

    def frame(self, data: mujoco.MjData) -> npt.NDArray[np.uint8]:
        """An RGB frame ``[height, width, 3]`` of a state whose kinematics have been computed."""
        self._middle = float(data.xpos[min(1, self._model.nbody - 1), 0])
        image = self._sky.copy()
        draw = ImageDraw.Draw(image)
        self._draw_floor(draw)
        self._draw_shadows(draw, data)
        for outline in (True, False):  # outlines first, so that overlapping parts read as one body
            for geom in range(self._model.ngeom):
                if self._model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_PLANE:
                    self._draw_geom(draw, data, geom, outline)
        for joint in range(self._model.njnt):
            if self._model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE and self._model.jnt_bodyid[joint] > 1:
                self._dot(draw, data.xanchor[joint], 0.014, MOTOR)
        return np.asarray(image.resize((self._size[0] // SAMPLES, self._size[1] // SAMPLES), Image.Resampling.LANCZOS))

    def _point(self, place: Any) -> tuple[float, float]:
        x = self._size[0] / 2 + (float(place[0]) - self._middle) * self._scale
        return x, self._horizon - float(place[2]) * self._scale

    def _draw_floor(self, draw: ImageDraw.ImageDraw) -> None:
        width, height = self._size
        reach = width / self._scale
        vanish = self._horizon - 2.2 * (height - self._horizon)  # a tile's sides run away from the viewer
        for metre in range(int(np.floor(self._middle - reach)), int(np.ceil(self._middle + reach)) + 1):
            near = [self._point((x, 0, 0))[0] for x in (metre, metre + 1)]
            spread = (height - vanish) / (self._horizon - vanish)
            far = [width / 2 + (x - width / 2) * spread for x in near]
            corners = [(near[0], self._horizon), (near[1], self._horizon), (far[1], height), (far[0], height)]
            draw.polygon(corners, fill=FLOOR[metre % 2])
            label = f"{metre} m"
            draw.text((near[0], height - 10 * SAMPLES), label, fill=INK, anchor="mm", font_size=11 * SAMPLES)
            draw.line((near[0], self._horizon, near[0], self._horizon + 8 * SAMPLES), fill=EDGE, width=SAMPLES)
        draw.line((0, self._horizon, width, self._horizon), fill=EDGE, width=SAMPLES)

    def _draw_shadows(self, draw: ImageDraw.ImageDraw, data: mujoco.MjData) -> None:
        for geom in range(self._model.ngeom):
            if self._model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_PLANE:
                a, b, radius = self._bone(data, geom)
                (left, y), (right, _) = self._point((min(a[0], b[0]), 0, -0.06)), self._point((max(a[0], b[0]), 0, 0))
                size = radius * self._scale
                draw.ellipse((left - size, y - size / 3, right + size, y + size / 3), fill=(168, 158, 142))

    def _bone(self, data: mujoco.MjData, geom: int) -> tuple[Any, Any, float]:
        """The ends and the radius of a geom, metres."""
        centre, size = data.geom_xpos[geom], self._model.geom_size[geom]
        if self._model.geom_type[geom] in LONG:
            half = data.geom_xmat[geom].reshape(3, 3)[:, 2] * size[1]
            return centre - half, centre + half, float(size[0])
        return centre, centre, float(self._model.geom_rbound[geom])

    def _draw_geom(self, draw: ImageDraw.ImageDraw, data: mujoco.MjData, geom: int, outline: bool) -> None:
        a, b, radius = self._bone(data, geom)
        colour = tuple(int(255 * part) for part in self._model.geom_rgba[geom][:3])
        fill: Colour = EDGE if outline else colour  # type: ignore[assignment]
        radius += 0.008 if outline else 0.0
        draw.line((*self._point(a), *self._point(b)), fill=fill, width=round(2 * radius * self._scale))
        for end in (a, b):
            self._dot(draw, end, radius, fill)

    def _dot(self, draw: ImageDraw.ImageDraw, place: Any, radius: float, fill: Colour) -> None:
        x, y = self._point(place)
        size = radius * self._scale
        draw.ellipse((x - size, y - size, x + size, y + size), fill=fill)

    def close(self) -> None:
        """Nothing to free."""
