"""A view from above of a MuJoCo model in a plane, in plain Pillow, for machines without OpenGL."""

import mujoco
import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

FLOOR = (237, 232, 219)
GRID = (214, 207, 190)
EDGE = (52, 60, 72)
MARGIN = 0.25  # metres around the model
SAMPLES = 2  # pixels drawn a pixel shown, each way

Region = tuple[tuple[float, float], tuple[float, float]]


class TopView:
    """Looks down along z, x to the right and y up, at all boxes, and at the outlines of round geoms and capsules.

    Geoms lie over each other in the order of their tops in the model's first state.

    Args:
        model: the model; its geoms' own colours are used.
        width: of a frame, in pixels.
        height: of a frame, in pixels.
        region: lowest and highest x and y of what the frame holds, metres; if not given, the boxes of the first state.
        follow: whether the region is about the first moving body, over a grid of metres.
    """

    backend = "software"

    def __init__(
        self, model: mujoco.MjModel, *, width: int, height: int, region: Region | None = None, follow: bool = False
    ) -> None:
        self._model = model
        self._size = (width * SAMPLES, height * SAMPLES)
        start = mujoco.MjData(model)
        mujoco.mj_forward(model, start)
        shown = np.flatnonzero(model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE)
        low, high = self._boxes(start) if region is None else np.array(region, np.float64)
        self._scale = float(np.min(self._size / (high - low)))  # pixels a metre
        self._middle, self._follow, self._at = (low + high) / 2, follow, np.zeros(2)
        capsules = model.geom_type == mujoco.mjtGeom.mjGEOM_CAPSULE
        top = start.geom_xpos[:, 2] + np.where(capsules, model.geom_size[:, 0], model.geom_aabb[:, 5])
        self._order = shown[np.argsort(top[shown], kind="stable")]

    def _boxes(self, start: mujoco.MjData) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        boxes = self._model.geom_type == mujoco.mjtGeom.mjGEOM_BOX
        places, sizes = start.geom_xpos[boxes, :2], self._model.geom_size[boxes, :2]
        return (places - sizes).min(axis=0) - MARGIN, (places + sizes).max(axis=0) + MARGIN

    def frame(self, data: mujoco.MjData) -> npt.NDArray[np.uint8]:
        """An RGB frame ``[height, width, 3]`` of a state whose kinematics have been computed."""
        image = Image.new("RGB", self._size, FLOOR)
        draw = ImageDraw.Draw(image)
        if self._follow:
            self._at = data.xpos[1, :2].copy()
            self._draw_grid(draw)
        for geom in self._order:
            self._draw_geom(draw, data, int(geom))
        return np.asarray(image.resize((self._size[0] // SAMPLES, self._size[1] // SAMPLES), Image.Resampling.LANCZOS))

    def _draw_grid(self, draw: ImageDraw.ImageDraw) -> None:
        middle, reach = self._middle + self._at, max(self._size) / self._scale / 2
        for metre in range(-int(reach) - 1, int(reach) + 2):
            x, y = self._pixel(np.floor(middle) + metre)
            draw.line((x, 0, x, self._size[1]), GRID, SAMPLES)
            draw.line((0, y, self._size[0], y), GRID, SAMPLES)

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
        x, y = np.asarray(self._size) / 2 + (place - self._middle - self._at) * (self._scale, -self._scale)
        return float(x), float(y)

    def close(self) -> None:
        """Nothing to free."""
