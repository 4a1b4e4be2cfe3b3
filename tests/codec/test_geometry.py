"""Tables of GeoPandas cross unchanged, and hostile geometries are refused before GEOS reads them."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.geometry import (
    GeometryCollection,
    LinearRing,
    LineString,
    MultiLineString,
    MultiPoint,
    MultiPolygon,
    Point,
    Polygon,
    box,
)

from autocoder_jupyter.codec import Corrupt, Unencodable, decode, encode, geometry
from autocoder_jupyter.codec.geometry import MAX_DEPTH
from tests.cases import each
from tests.codec.test_hostile import receive, stream
from tests.deadline import at_most

SHAPES = [
    Point(1, 2), Point(1, 2, 3), Point(), None, LineString([(0, 0), (1, 1)]), Polygon(),
    Polygon([(0, 0), (9, 0), (9, 9)], [[(2, 1), (3, 1), (3, 2)]]), MultiPoint([(0, 0), (1, 1)]),
    MultiLineString([[(0, 0), (1, 1)], [(2, 2), (3, 3)]]), MultiPolygon([box(0, 0, 1, 1), box(2, 2, 3, 3)]),
    GeometryCollection([Point(1, 2), GeometryCollection([LineString([(0, 0, 1), (1, 1, 1)])])]),
    shapely.from_wkt("POINT M (1 2 4)"), shapely.set_srid(Point(1, 2), 4326), Point(float("inf"), -0.0),
]  # fmt: skip
TOWNS = gpd.GeoDataFrame({"shape": SHAPES, "n": range(len(SHAPES))}, geometry="shape", crs="EPSG:4326")
NOTE = {"kind": "geometry", "crs": None, "at": [1, 0]}


@pytest.mark.parametrize("trusted", [True, False])
def test_every_kind_of_geometry_comes_back_as_it_was(cross: Callable[..., Any], trusted: bool) -> None:
    came = cross(TOWNS, trusted=trusted)
    assert type(came) is gpd.GeoDataFrame and came.active_geometry_name == "shape" and came.crs == TOWNS.crs
    assert shapely.equals_identical(came["shape"].array, TOWNS["shape"].array).tolist() == [
        shape is not None for shape in SHAPES
    ]
    assert shapely.get_srid(came["shape"].array).tolist() == shapely.get_srid(TOWNS["shape"].array).tolist()
    assert came["shape"][3] is None and came["n"].tolist() == TOWNS["n"].tolist()
    assert encode(came, "DataFrame").digest() == encode(TOWNS, "DataFrame").digest()


def test_each_class_of_geopandas_and_a_plain_table_with_geometries_keep_their_class(cross: Callable[..., Any]) -> None:
    series = cross(TOWNS["shape"], "Series")
    assert type(series) is gpd.GeoSeries and series.name == "shape" and series.crs == TOWNS.crs
    plain = cross(pd.DataFrame(TOWNS))
    assert type(plain) is pd.DataFrame and str(plain["shape"].dtype) == "geometry"
    two = TOWNS.assign(other=TOWNS["shape"].to_crs(3857))
    came = cross(two)
    assert came["shape"].crs == "EPSG:4326" and came["other"].crs == "EPSG:3857"
    without = gpd.GeoDataFrame({"geometry": ["no", "geometry"]})
    assert type(came := cross(without)) is gpd.GeoDataFrame and came["geometry"].tolist() == ["no", "geometry"]
    assert came.active_geometry_name is None
    empty = cross(TOWNS.iloc[:0])
    assert len(empty) == 0 and empty.crs == TOWNS.crs


SYSTEMS = [
    None, "EPSG:25832", "OGC:CRS84", "ESRI:102001", "+proj=lcc +lat_1=49 +lat_2=44 +lat_0=46.5 +lon_0=3",
    "+proj=utm +zone=32 +ellps=bessel +towgs84=598.1,73.7,418.2,0.202,0.045,-2.455,6.7", "EPSG:4326+5773",
]  # fmt: skip


@each("system", SYSTEMS)
def test_coordinate_systems_come_back_as_they_were(cross: Callable[..., Any], system: str | None) -> None:
    came = cross(gpd.GeoDataFrame({"geometry": [Point(1, 2)]}, crs=system))
    assert came.crs is None if system is None else came.crs == pyproj.CRS(system)


@each(
    ("shapes", "crs", "reason"),
    [
        ([LinearRing([(0, 0), (1, 1), (1, 0)])], None, "rings or curves"),
        ([GeometryCollection([LinearRing([(0, 0), (1, 1), (1, 0)])])], None, "rings or curves"),
        ([shapely.set_precision(Point(1, 2), 0.5)], None, "grid of precision"),
        ([Point(1, 2)], "+proj=longlat +ellps=bessel +nadgrids=/etc/passwd +type=crs", "files"),
    ],
)
def test_what_would_be_changed_is_refused_by_name(shapes: list[Any], crs: Any, reason: str) -> None:
    with pytest.raises(Unencodable, match=f"column 'geometry'.*{reason}"):
        encode(gpd.GeoDataFrame({"geometry": shapes}, crs=crs), "DataFrame")


def test_a_geometry_that_is_nested_too_deeply_is_refused_on_both_sides() -> None:
    deep: Any = Point(1, 2)
    for _ in range(MAX_DEPTH + 1):
        deep = GeometryCollection([deep])
    with pytest.raises(Unencodable, match="nested deeper"):
        encode(gpd.GeoSeries([deep]), "Series")
    with pytest.raises(Corrupt, match="nested too deeply"):
        received(b"\x01\x07\0\0\0\x01\0\0\0" * 1_000_000 + shapely.to_wkb(Point(1, 2)))


def received(binary: bytes, **changes: Any) -> Any:
    return receive(stream(pa.array([binary], pa.large_binary())), {**NOTE, **changes}, 1)


POINT, POLYGON = shapely.to_wkb(Point(1, 2)), shapely.to_wkb(box(0, 0, 1, 1))


def test_the_geometries_of_these_tests_are_sound() -> None:
    assert received(POINT).tolist() == [Point(1, 2)] and received(POLYGON).tolist() == [box(0, 0, 1, 1)]


@pytest.mark.parametrize(
    "binary",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(POINT[:-1], id="cut off"),
        pytest.param(POINT + b"\0", id="more than a geometry"),
        pytest.param(b"\0" + POINT[1:], id="big endian, which is never written"),
        pytest.param(b"\x01\x63\0\0\0" + POINT[5:], id="an unknown kind"),
        pytest.param(b"\x01" + struct.pack("<I", 1001) + POINT[5:] + bytes(8), id="a kind in another notation"),
        pytest.param(b"\x01\x02\0\0\0\xff\xff\xff\xff" + bytes(64), id="a line of four billion points"),
        pytest.param(b"\x01\x03\0\0\0\xff\xff\xff\xff" + bytes(64), id="four billion rings"),
        pytest.param(b"\x01\x07\0\0\0\xff\xff\xff\xff" + POINT, id="four billion parts"),
        pytest.param(b"\x01\x06\0\0\0\x01\0\0\0" + POINT, id="a point in a multipolygon"),
        pytest.param(POLYGON[:-8] + struct.pack("<d", 5.0), id="a ring that is not closed"),
    ],
)
def test_a_malformed_geometry_is_refused(binary: bytes) -> None:
    with at_most(5), pytest.raises(Corrupt):
        received(binary)


@given(st.binary(max_size=64), st.integers(0, 200), st.sampled_from([POINT, POLYGON, shapely.to_wkb(SHAPES[10])]))
@settings(max_examples=150, deadline=None)
def test_any_change_of_bytes_gives_a_geometry_or_is_refused(noise: bytes, place: int, binary: bytes) -> None:
    try:
        came = received(binary[:place] + noise + binary[place + len(noise) :])
    except Corrupt:
        return
    assert isinstance(came[0], shapely.Geometry)


@pytest.mark.parametrize(
    "crs",
    [
        "+init=/etc/passwd:1", "+proj=longlat +nadgrids=/etc/passwd", "/etc/passwd", "urn:ogc:def:crs:EPSG::4326", 4326,
        'GEOGCS["a",EXTENSION["PROJ4","+proj=longlat +nadgrids=/etc/passwd"]]', "EPSG:0", "A" * 30_000, ["EPSG:4326"],
        "GEOGCS[" * 100_000, pyproj.CRS(4326).to_json(),
    ],
)  # fmt: skip
def test_only_codes_and_descriptions_without_files_are_read_as_coordinate_systems(crs: Any) -> None:
    with at_most(5), pytest.raises(Corrupt):
        received(POINT, crs=crs)


@each("geo", ["n", "other", 5, ["a"], {"$": "int", "v": "0x1"}])
def test_an_active_geometry_that_is_none_is_refused(geo: Any, tmp_path: Path) -> None:
    header = encode(pd.DataFrame({"n": [1]}), "DataFrame").header
    payload = bytearray(b"".join(encode(pd.DataFrame({"n": [1]}), "DataFrame").buffers))
    with pytest.raises(Corrupt):
        decode({**header, "geo": geo}, memoryview(payload), folder=tmp_path, trusted=False)


def test_a_geoseries_of_numbers_is_refused() -> None:
    with pytest.raises(Corrupt, match="a GeoSeries of int64"):
        note = {"kind": "numpy", "dtype": "<i8", "at": [2, 0]}
        receive(bytes(16), note, 2, geo=None, numbers=[[2, 8, 0, 1]], streams=[])


def test_many_points_are_checked_at_once() -> None:
    points = gpd.GeoSeries(gpd.points_from_xy(np.arange(200_000.0), np.arange(200_000.0)))
    encoded = encode(points, "Series")
    assert encoded.size < 200_000 * 30


WITHOUT = """
import sys, json
sys.modules["geopandas"] = None
from pathlib import Path
from autocoder_jupyter.codec import Corrupt, decode
try:
    decode(json.loads(sys.argv[1]), memoryview(bytearray.fromhex(sys.argv[2])), folder=Path(), trusted=False)
except Corrupt as error:
    print(error)
"""


def test_without_geopandas_it_is_refused_by_name() -> None:
    encoded = encode(gpd.GeoDataFrame({"geometry": [Point(1, 2)]}), "DataFrame")
    arguments = [json.dumps(encoded.header), b"".join(encoded.buffers).hex()]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, timeout=60)
    assert "needs GeoPandas; it is not installed here" in done.stdout, done.stderr


def test_a_geometry_that_ends_too_early_is_refused_as_such() -> None:
    """Also where the bytes are not from outside: the library writes them, and odd shapes exist."""
    for binary in (b"", b"\x01", POINT[:4], b"\x01\x03\0\0\0\x01", b"\x01\x07\0\0\0"):
        array = pa.array([binary], pa.large_binary())
        with pytest.raises(Corrupt, match=r"ends too early|another size"):
            geometry._check(array)
