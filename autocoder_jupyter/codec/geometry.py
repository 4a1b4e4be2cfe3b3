"""Columns of geometries and the tables of GeoPandas: well-known binary, and the coordinate system as text.

GeoPandas is imported only for values that need it. GEOS reads a geometry with recursion and trusts its counts less than
it should, so the structure is checked before it gets the bytes. A coordinate system can name files of this machine;
only its authority and code, or a description without files, is written and read.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from .ipc import ArrowReader, ArrowWriter
from .plain import Corrupt, Unencodable, from_json, to_json

LIBRARY = "geopandas"
MAX_DEPTH = 16
MAX_CRS = 20_000

_POINT, _LINE, _POLYGON, _COLLECTION = 1, 2, 3, 7
_RING = 2  # the number of shapely, not of the binary form, which has no rings of their own
_Z, _M, _SRID = 0x80000000, 0x40000000, 0x20000000
_PLANE_POINT = np.frombuffer(struct.pack("<BI", 1, _POINT), dtype="u1")
_AT_ONCE = 1 << 20
_MANY = 10_000
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,30}:[A-Za-z0-9_.]{1,30}")
_FILES = re.compile(r"PARAMETERFILE|EXTENSION", re.IGNORECASE)


def is_geometry(dtype: Any) -> bool:
    """Whether a column with this dtype holds geometries."""
    return type(dtype).__module__.partition(".")[0] == LIBRARY


def is_geographic(value: Any) -> bool:
    """Whether it is exactly a GeoDataFrame or a GeoSeries."""
    library = sys.modules.get(LIBRARY)
    return library is not None and type(value) in (library.GeoDataFrame, library.GeoSeries)


def has_geometry(value: Any) -> bool:
    """Whether a table can be read only where GeoPandas is installed."""
    dtypes = value.dtypes if hasattr(value, "columns") else [value.dtype] if hasattr(value, "dtype") else ()
    return is_geographic(value) or any(map(is_geometry, dtypes))


def write_geometry(values: Any, out: ArrowWriter, path: str) -> dict[str, Any]:
    """Add a column of geometries. Arguments and errors are those of `columns.write_column`."""
    import shapely

    shapes = np.asarray(values)
    parts = shapes
    while len(parts):
        kinds = shapely.get_type_id(parts)
        if (kinds == _RING).any() or (kinds > _COLLECTION).any():
            raise Unencodable(path, "holds rings or curves, which cannot cross", "convert them to lines or polygons")
        parts = shapely.get_parts(parts[kinds == _COLLECTION])
    if (shapely.get_precision(shapes) > 0).any():
        raise Unencodable(path, "has a grid of precision, which cannot cross", "take .set_precision(0) of it")
    written = [  # in parts, so that other threads run
        pa.array(
            shapely.to_wkb(shapes[start : start + _MANY], byte_order=1, include_srid=True, output_dimension=4),
            pa.large_binary(),
        )
        for start in range(0, max(len(shapes), 1), _MANY)
    ]
    binary = pa.concat_arrays(written)
    try:
        _check(binary)
    except Corrupt:
        raise Unencodable(path, f"holds geometries nested deeper than {MAX_DEPTH} levels", "flatten them") from None
    return {"kind": "geometry", "crs": _crs_text(values.crs, path), "at": out.add(binary, path)}


def read_geometry(note: Mapping[str, Any], source: ArrowReader) -> Any:
    """The array of geometries that was given to `write_geometry`."""
    library = _library()
    import shapely

    binary = source.take(note["at"])
    if binary.type != pa.large_binary():
        raise Corrupt(f"{binary.type} where geometries belong")
    if not source.trusted:
        _check(binary)
    shapes = np.empty(len(binary), dtype=object)
    start = 0
    for end in _ends(binary):  # in parts, so that other threads run
        shapes[start:end] = shapely.from_wkb(binary[start:end].to_numpy(zero_copy_only=False))
        start = end
    return library.array.GeometryArray(shapes, crs=_crs(note["crs"]))


def note_of(value: Any) -> dict[str, Any]:
    """What the header of a table says of its class; {} for a plain table."""
    if not is_geographic(value):
        return {}
    return {"geo": to_json(getattr(value, "active_geometry_name", None), "the name of the active geometry")}


def with_class(value: Any, header: Mapping[str, Any]) -> Any:
    """A table of pandas with the class that the header says."""
    if "geo" not in header:
        return value
    library = _library()
    if value.ndim == 1:
        if not is_geometry(value.dtype):
            raise Corrupt(f"a GeoSeries of {value.dtype}")
        value.__class__ = library.GeoSeries
        return value
    name = from_json(header["geo"])
    if name is not None and not any(
        label == name and is_geometry(dtype) for label, dtype in zip(value.columns, value.dtypes, strict=True)
    ):
        raise Corrupt("an active geometry that is no column of geometries")
    # Its constructor would convert a column with the name "geometry", whatever that holds.
    value.__class__ = library.GeoDataFrame
    value._geometry_column_name = name
    return value


def _library() -> Any:
    try:
        import geopandas
    except ImportError:
        raise Corrupt("a table with geometries, which needs GeoPandas; it is not installed here") from None
    return geopandas


def _crs_text(crs: Any, path: str) -> str | None:
    if crs is None:
        return None
    code = crs.to_authority(min_confidence=100)
    text = ":".join(code) if code else ""
    if _CODE.fullmatch(text) and type(crs).from_authority(*code).is_exact_same(crs):
        return text
    text = str(crs.to_wkt())
    if len(text) > MAX_CRS or _FILES.search(text):
        raise Unencodable(path, "has a coordinate system with files or extensions", "convert it: .to_crs('EPSG:4326')")
    return text


def _crs(text: Any) -> Any:
    import pyproj

    if text is None:
        return None
    if not isinstance(text, str) or len(text) > MAX_CRS or _FILES.search(text):
        raise Corrupt("a coordinate system that cannot cross")
    if _CODE.fullmatch(text):
        return pyproj.CRS.from_authority(*text.split(":"))
    return pyproj.CRS.from_wkt(text)


def _ends(binary: Any) -> list[int]:
    """The ends of parts of about a megabyte."""
    ends = _offsets(binary)[1:] - (_offsets(binary)[0] if len(binary) else 0)
    cuts = np.flatnonzero(np.diff(ends // _AT_ONCE)) + 1
    return [*cuts.tolist(), len(binary)]


def _offsets(binary: Any) -> Any:
    return np.frombuffer(binary.buffers()[1], dtype="i8")[binary.offset : binary.offset + len(binary) + 1]


def _check(binary: Any) -> None:
    """Check the structure of all geometries."""
    data = binary.buffers()[2]
    if not len(binary) or data is None:
        return
    offsets, view = _offsets(binary), memoryview(data)
    known = binary.is_valid().to_numpy(zero_copy_only=False)
    plain = known & (np.diff(offsets) == 21)  # most are points in a plane, which are checked at once
    if plain.any():
        starts = offsets[:-1][plain]
        bytes_of = np.frombuffer(view, dtype="u1")
        plain[plain] = np.logical_and.reduce([bytes_of[starts + at] == byte for at, byte in enumerate(_PLANE_POINT)])
    for place in np.flatnonzero(known & ~plain).tolist():
        try:
            _check_one(view[int(offsets[place]) : int(offsets[place + 1])])
        except struct.error:
            raise Corrupt("a geometry that ends too early") from None


def _check_one(data: memoryview) -> None:
    place, left = 0, [1]  # the parts that are still to come, at each level
    while left:
        if not left[-1]:
            left.pop()
            continue
        left[-1] -= 1
        order, kind = struct.unpack_from("<BI", data, place)
        width = 16 + 8 * bool(kind & _Z) + 8 * bool(kind & _M)
        place += 5 + 4 * bool(kind & _SRID)
        kind &= ~(_Z | _M | _SRID)
        if order != 1 or not _POINT <= kind <= _COLLECTION:
            raise Corrupt(f"a geometry of kind {kind}")
        if kind == _POINT:
            place += width
        elif kind == _LINE:
            place = _after_points(data, place, width)
        elif kind == _POLYGON:
            (rings,) = struct.unpack_from("<I", data, place)
            place += 4
            for _ in range(rings):  # each takes bytes, so a wrong number ends at the end of the data
                place = _after_points(data, place, width)
        else:
            left.append(struct.unpack_from("<I", data, place)[0])
            place += 4
            if len(left) > MAX_DEPTH:
                raise Corrupt("a geometry that is nested too deeply")
    if place != len(data):
        raise Corrupt("a geometry of another size")


def _after_points(data: memoryview, place: int, width: int) -> int:
    end = place + 4 + width * int(struct.unpack_from("<I", data, place)[0])
    if end > len(data):
        raise Corrupt("a geometry that reaches beyond its bytes")
    return end
