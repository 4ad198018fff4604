"""What a camera of the model sees, by casting MuJoCo's own rays, for machines without OpenGL."""

from copy import copy

import mujoco
import numpy as np
import numpy.typing as npt

SKY = np.array(((242, 247, 255), (191, 209, 230)))  # at the horizon, above
TILES = np.array(((204, 196, 184), (194, 186, 173)))  # of the table, alternating
TILE = 0.1  # metres
AMBIENT, HEADLIGHT, LAMP = 0.4, 0.25, 0.4  # how much light comes from everywhere, the camera, the model's first light
SHOWN = np.array([1, 1, 1, 0, 0, 0], np.uint8)  # groups of geoms, as MuJoCo shows them
ENDLESS = 1e6  # metres


class CameraView:
    """Looks through a camera of the model, with all geoms, in their own colours, and the shadows of one light.

    A ray a pixel: the time of a frame grows with their number.

    Args:
        model: the model; planes are drawn as tables of 10 cm tiles.
        width: of a frame, in pixels.
        height: of a frame, in pixels.
        camera_id: a camera of the model; the first if not given, also in place of a free camera.
        camera_name: the same by name.
    """

    backend = "software"

    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        width: int,
        height: int,
        camera_id: int | None = None,
        camera_name: str | None = None,
    ) -> None:
        camera = model.camera(camera_name).id if camera_name else camera_id or 0
        self._camera, self._shape = camera, (height, width)
        self._model = model = copy(model)
        # Before it casts, MuJoCo drops geoms outside the ray by the corners of their boxes; seen from above or below,
        # edges reach further than corners, and would be cut off.
        model.geom_aabb[:, 3:] *= 1.5
        model.bvh_aabb[:, 3:] *= 1.5
        half = np.tan(np.radians(model.cam_fovy[camera]) / 2)
        right = (2 * np.arange(width) + 1 - width) / height * half
        up = (height - 1 - 2 * np.arange(height)) / height * half
        rays = np.stack(np.broadcast_arrays(right, up[:, None], -1.0), axis=-1).reshape(-1, 3)
        self._rays = rays / np.linalg.norm(rays, axis=1, keepdims=True)  # [pixels, 3], in the camera's frame
        self._colours = 255 * model.geom_rgba[:, :3]
        self._plane = model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE

    def frame(self, data: mujoco.MjData) -> npt.NDArray[np.uint8]:
        """An RGB frame ``[height, width, 3]`` of a state whose kinematics have been computed."""
        eye = data.cam_xpos[self._camera].copy()
        rays = self._rays @ data.cam_xmat[self._camera].reshape(3, 3).T
        geom, distance, normal = self._cast(data, eye, rays)
        pixels = SKY[0] + np.clip(2 * rays[:, 2:], 0, 1) * (SKY[1] - SKY[0])
        hit = np.flatnonzero(geom >= 0)
        places, geom, normal, rays = eye + distance[hit, None] * rays[hit], geom[hit], normal[hit], rays[hit]
        colours = np.where(self._plane[geom, None], _tiled(places), self._colours[geom])
        light = AMBIENT + HEADLIGHT * np.abs((rays * normal).sum(axis=1)) + self._lamp(data, places, normal)
        pixels[hit] = colours * light[:, None]
        picture: npt.NDArray[np.uint8] = np.clip(pixels, 0, 255).astype(np.uint8)
        return picture.reshape(*self._shape, 3)

    def _cast(
        self, data: mujoco.MjData, eye: npt.NDArray[np.float64], rays: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What the rays from one point meet: geoms (-1 for none), how many of their lengths away, and the normals."""
        n = len(rays)
        geom, distance, normal = np.full(n, -1, np.int32), np.zeros(n), np.zeros((n, 3))
        mujoco.mj_multiRay(
            m=self._model,
            d=data,
            pnt=eye,
            vec=rays.ravel(),
            geomgroup=SHOWN,
            flg_static=True,
            bodyexclude=-1,
            geomid=geom,
            dist=distance,
            normal=normal.reshape(-1),
            nray=n,
            cutoff=ENDLESS,
        )
        return geom, distance, normal

    def _lamp(
        self, data: mujoco.MjData, places: npt.NDArray[np.float64], normal: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """The light ``[k]`` that the model's first lamp sheds on places, none in the shadow of others."""
        if not self._model.nlight or not len(places):
            return np.zeros(len(places))
        lamp = data.light_xpos[0].copy()
        rays = places - lamp
        away = np.linalg.norm(rays, axis=1)
        slant = np.maximum(-(rays * normal).sum(axis=1) / away, 0.0)
        _, reached, _ = self._cast(data, lamp, rays)
        lit: npt.NDArray[np.float64] = LAMP * slant * (reached * away > away - 0.001)
        return lit

    def close(self) -> None:
        """Nothing to free."""


def _tiled(places: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    odd = (np.floor(places[:, :2] / TILE).sum(axis=1) % 2).astype(int)
    colours: npt.NDArray[np.float64] = TILES[odd].astype(np.float64)
    return colours
