"""Comfort: whether accelerations, jerks and yaw stay within what human drivers of nuPlan's data kept to.

Accelerations are smoothed (Savitzky and Golay, second order, 8 states); jerks are derivatives of the smoothed ones (15
states), yaw rate and yaw acceleration those of the heading (5 states, second and third order). Every state of an
episode must be within all six bounds. The bound called jerk is of the derivative of the acceleration's magnitude, as in
the authors' code, not of the magnitude of the derivative.

Departures: where an episode has fewer states than a filter needs, the filter's window and order shrink with it; and
each life of the ego is judged by itself, since a respawn is no motion.

Source: nuplan-devkit 1.2, ``state_extractors.py`` and the settings in ``simulation_metric/low_level/``.
"""

import numpy as np
import numpy.typing as npt
from scipy.signal import savgol_filter

from .log import EpisodeLog

MIN_ACCEL, MAX_ACCEL = -4.05, 2.40  # m/s2
MAX_LATERAL_ACCEL = 4.89
MAX_JERK, MAX_LON_JERK = 8.37, 4.13  # m/s3
MAX_YAW_RATE, MAX_YAW_ACCEL = 0.95, 1.93  # rad/s, rad/s2
Array = npt.NDArray[np.float64]


def _filtered(values: Array, window: int, order: int, derivative: int, dt: float) -> Array:
    width = min(window, len(values))
    order = min(order, width - 1)
    if derivative > order:
        return np.zeros_like(values)
    return np.asarray(np.round(savgol_filter(values, width, order, deriv=derivative, delta=dt), 8), np.float64)


def quantities(log: EpisodeLog) -> list[dict[str, Array]]:
    """The six that have bounds, by the names of :data:`BOUNDS`, ``[t]`` each; one dict a life."""
    found = []
    for life in log.lives():
        lon, lat, dt = log.accel[life], log.lateral_accel[life], log.dt
        smooth = {"lon": lon, "lat": lat, "size": np.hypot(lon, lat)}
        smooth = {name: _filtered(values, 8, 2, 0, dt) for name, values in smooth.items()}
        heading = np.unwrap(log.heading[life])
        found.append(
            {
                "accel": smooth["lon"],
                "lateral_accel": smooth["lat"],
                "jerk": _filtered(smooth["size"], 15, 2, 1, dt),
                "lon_jerk": _filtered(smooth["lon"], 15, 2, 1, dt),
                "yaw_rate": _filtered(heading, 5, 2, 1, dt),
                "yaw_accel": _filtered(heading, 5, 3, 2, dt),
            }
        )
    return found


BOUNDS = {
    "accel": (MIN_ACCEL, MAX_ACCEL),
    "lateral_accel": (-MAX_LATERAL_ACCEL, MAX_LATERAL_ACCEL),
    "jerk": (-MAX_JERK, MAX_JERK),
    "lon_jerk": (-MAX_LON_JERK, MAX_LON_JERK),
    "yaw_rate": (-MAX_YAW_RATE, MAX_YAW_RATE),
    "yaw_accel": (-MAX_YAW_ACCEL, MAX_YAW_ACCEL),
}


def within(log: EpisodeLog) -> dict[str, bool]:
    """Whether each of the six stayed strictly within its bounds in all states of all lives."""
    lives = quantities(log)
    return {
        name: all(bool(((one[name] > low) & (one[name] < high)).all()) for one in lives)
        for name, (low, high) in BOUNDS.items()
    }
