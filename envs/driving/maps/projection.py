"""From latitude and longitude to metres: the universal transverse Mercator projection (UTM) of Lanelet2 files."""

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]

RADIUS, FLATTENING, SCALE = 6378137.0, 1 / 298.257223563, 0.9996  # of WGS 84 (m), and on UTM's central meridian


def zone_of(longitude: float) -> int:
    """The UTM zone, 1 to 60, of a longitude in degrees (without the exceptions of Norway and Svalbard)."""
    return int((longitude + 180.0) // 6.0) % 60 + 1


def utm(latitude: npt.ArrayLike, longitude: npt.ArrayLike, zone: int) -> F64:
    """Easting and northing in m, ``[n, 2]``, from the central meridian and the equator; good to 1 nm within the zone.

    Krueger's series to the sixth order in the third flattening n.

    Paper: Transverse Mercator with an accuracy of a few nanometers (2011), eqs. 7 to 11, 35.
    """
    n = FLATTENING / (2.0 - FLATTENING)
    eccentricity = np.sqrt(FLATTENING * (2.0 - FLATTENING))
    phi = np.radians(np.asarray(latitude, float))
    away = np.radians(np.asarray(longitude, float) - (6.0 * zone - 183.0))
    tau = np.tan(phi)
    sigma = np.sinh(eccentricity * np.arctanh(eccentricity * tau / np.hypot(1.0, tau)))
    conformal = tau * np.hypot(1.0, sigma) - sigma * np.hypot(1.0, tau)
    xi, eta = np.arctan2(conformal, np.cos(away)), np.arcsinh(np.sin(away) / np.hypot(conformal, np.cos(away)))
    north, east = xi.copy(), eta.copy()
    for j, alpha in enumerate(_alpha(n), 1):
        north += alpha * np.sin(2 * j * xi) * np.cosh(2 * j * eta)
        east += alpha * np.cos(2 * j * xi) * np.sinh(2 * j * eta)
    rectifying = RADIUS / (1 + n) * (1 + n**2 / 4 + n**4 / 64 + n**6 / 256)
    return SCALE * rectifying * np.stack([east, north], axis=-1)


def _alpha(n: float) -> tuple[float, ...]:
    return (
        n / 2 - 2 * n**2 / 3 + 5 * n**3 / 16 + 41 * n**4 / 180 - 127 * n**5 / 288 + 7891 * n**6 / 37800,
        13 * n**2 / 48 - 3 * n**3 / 5 + 557 * n**4 / 1440 + 281 * n**5 / 630 - 1983433 * n**6 / 1935360,
        61 * n**3 / 240 - 103 * n**4 / 140 + 15061 * n**5 / 26880 + 167603 * n**6 / 181440,
        49561 * n**4 / 161280 - 179 * n**5 / 168 + 6601661 * n**6 / 7257600,
        34729 * n**5 / 80640 - 3418889 * n**6 / 1995840,
        212378941 * n**6 / 319334400,
    )
