"""Geometries are compared by their coordinates, with the tolerance of numbers."""

from __future__ import annotations

import geopandas as gpd
import pytest
from shapely.geometry import Point, Polygon, box

from autocoder_jupyter.equality import INDEPENDENT, STRICT, compare, equal

ONE = gpd.GeoDataFrame({"n": [1, 2, 3], "geometry": [Point(1, 2), box(0, 0, 1e6, 1), None]}, crs="EPSG:25832")


def with_shapes(*shapes: object, crs: str = "EPSG:25832") -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame({"n": [1, 2, 3], "geometry": list(shapes)}, crs=crs)


def test_the_same_shapes_are_equal_within_the_tolerance_of_numbers() -> None:
    assert equal(ONE, ONE.copy(), STRICT)
    assert equal(ONE, with_shapes(Point(1, 2 + 1e-12), box(0, 0, 1e6 + 1e-5, 1), None), STRICT)


@pytest.mark.parametrize(
    "shapes",
    [
        (Point(1, 2.001), box(0, 0, 1e6, 1), None),
        (Point(1, 2), box(0, 0, 1e6, 1), Point(1, 2)),
        (Point(1, 2), None, None),
    ],
)
def test_another_shape_is_different(shapes: tuple[object, ...]) -> None:
    assert not equal(ONE, with_shapes(*shapes), STRICT) and not equal(ONE, with_shapes(*shapes), INDEPENDENT)


def test_the_order_of_points_counts_only_in_a_strict_comparison() -> None:
    turned = with_shapes(Point(1, 2), Polygon([(0, 0), (1e6, 0), (1e6, 1), (0, 1)]), None)
    assert not equal(ONE, turned, STRICT) and equal(ONE, turned, INDEPENDENT)


def test_another_coordinate_system_is_a_difference() -> None:
    (found,) = compare(ONE, ONE.set_crs("EPSG:25833", allow_override=True), STRICT).differences
    assert found.what == "dtype" and "33N" in str(found.other) and "32N" in str(found.one)
