"""A view from above of a MuJoCo model in a plane, in plain Pillow, for machines without OpenGL."""

import mujoco
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

FLOOR = (237, 232, 219)
EDGE = (52, 60, 72)
MARGIN = 0.25  # metres around the model
SAMPLES = 2  # pixels drawn a pixel shown, each way


class TopView:
    """Looks down along z, x to the right and y up, at all boxes, and at the outlines of round geoms and capsules.

    Geoms lie over each other in the order of their tops in the model's first state, whose boxes the frame holds.

    Args:
        model: the model; its geoms' own colours are used.
        width: of a frame, in pixels.
        height: of a frame, in pixels.
    """

    backend = "software"

    def __init__(self, model: mujoco.MjModel, *, width: int, height: int) -> None:
        self._model = model
        self._size = (width * SAMPLES, height * SAMPLES)
        start = mujoco.MjData(model)
        mujoco.mj_forward(model, start)
        shown = np.flatnonzero(model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE)
        boxes = shown[model.geom_type[shown] == mujoco.mjtGeom.mjGEOM_BOX]
        low = (start.geom_xpos[boxes] - model.geom_size[boxes]).min(axis=0)[:2] - MARGIN
        high = (start.geom_xpos[boxes] + model.geom_size[boxes]).max(axis=0)[:2] + MARGIN
        self._scale = float(np.min(self._size / (high - low)))  # pixels a metre
        self._middle = (low + high) / 2
        capsules = model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE
        top = start.geom_xpos[:, 2] + np.where(capsules, model.geom_size[:, 0], model.geom_aabb[:, 5])
        self._order = shown[np.argsort(top[shown], kind="stable")]

    def frame(self, data: mujoco.MjData) -> npt.NDArray[np.uint8]:
        """An RGB frame ``[height, width, 3]`` of a state whose kinematics have been computed."""
        image = Image.new("RGB", self._size, FLOOR)
        draw = ImageDraw.Draw(image)
        for geom in self._order:
            self._draw_geom(draw, data, int(geom))
        return np.asarray(image.resize((self._size[0] // SAMPLES, self._size[1] // SAMPLES), Image.Resampling.LANCZOS))

    def _draw_geom(self, draw: ImageDraw.ImageDraw, data: mujoco.MjData, geom: int) -> None:
        kind, size = self._model.geom_type[geom], self._model.geom_size[geom]
        red, green, blue = (int(255 * part) for part in self._model.geom_rgba[geom][:3])
        middle, colour = data.geom_xpos[geom][:2], (red, green, blue)
        if kind == mujoco.mjtGeom.mjGEOM_BOX:
            draw.rectangle(
                (*self._pixel(middle + (-size[0], size[1])), *self._pixel(middle + (size[0], -size[1]))), colour
            )
            return
        long = kind == mujoco.mjtGeom.mjGEOM_CAPSULE
        half = data.geom_xmat[geom].reshape(3, 3)[:2, 2] * size[1] if long else np.zeros(2)
        ends, radius = [self._pixel(middle + way * half) for way in (-1, 1)], size[0] * self._scale
        for fill, wide in ((EDGE, radius), (colour, max(radius - SAMPLES, radius / 2))):
            draw.line((*ends[0], *ends[1]), fill=fill, width=round(2 * wide))
            for x, y in ends:
                draw.ellipse((x - wide, y - wide, x + wide, y + wide), fill=fill)

    def _pixel(self, place: npt.NDArray[np.float64]) -> tuple[float, float]:
        x, y = np.asarray(self._size) / 2 + (place - self._middle) * (self._scale, -self._scale)
        return float(x), float(y)

    def close(self) -> None:
        """Nothing to free."""
