"""UTM by known values."""

import numpy as np

from tiltyard.envs.driving.maps.projection import utm, zone_of


def test_the_meridian_arc_to_45_degrees() -> None:
    np.testing.assert_allclose(utm(45.0, 9.0, 32), [0.0, 0.9996 * 4_984_944.378], atol=1e-3)


def test_a_degree_of_longitude_at_the_equator() -> None:
    """On the equator the projection is Gauss's: eta = artanh(sin(d)), to first order 0.9996 times the arc."""
    east, north = utm(0.0, 3.001, 31)
    np.testing.assert_allclose([east, north], [0.9996 * 6_378_137 * np.radians(0.001), 0.0], atol=1e-3)


def test_zones() -> None:
    assert [zone_of(longitude) for longitude in (-180.0, -0.1, 0.0, 8.4, 179.9, 180.0)] == [1, 30, 31, 32, 60, 1]
