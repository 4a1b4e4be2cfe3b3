"""The shape of a table: its columns with their dtypes, categories and kinds of objects, and its index."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pandas as pd

from autocoder_jupyter.codec.frames import arrays_of
from autocoder_jupyter.codec.geometry import is_geographic, is_geometry
from autocoder_jupyter.data.categories import category_record
from autocoder_jupyter.data.column_profile import dtype_name
from autocoder_jupyter.data.profile import as_frame, index_levels
from autocoder_jupyter.data.text_formats import label_literal
from autocoder_jupyter.redaction.masking import Masker

# Geometries


def geography(value: pd.DataFrame | pd.Series[Any]) -> str:
    """The class, the active geometry and the coordinate systems of a table, for the model; "" without geometries."""
    frame = as_frame(value) if isinstance(value, pd.DataFrame) else pd.DataFrame({value.name: value.array})
    columns = [(label, column) for label, column in frame.items() if is_geometry(column.dtype)]
    if not columns:
        return ""
    systems = ", ".join(f"{label_literal(label)} in {system_of(column)}" for label, column in columns)
    if not is_geographic(value):
        return f"geometries of geopandas: {systems}"
    active = getattr(value, "active_geometry_name", None)
    text = f"a geopandas.{type(value).__name__}; geometries: {systems}"
    return text if active is None else f"{text}; active geometry {label_literal(active)}"


def system_of(column: Any) -> str:
    """The coordinate system of a column: `EPSG:4326`, its name, or `no coordinate system`."""
    crs = column.array.crs
    if crs is None:
        return "no coordinate system"
    code = crs.to_authority(min_confidence=100)
    return ":".join(code) if code else str(crs.name)


# Shapes


def shape_of(
    value: pd.DataFrame | pd.Series[Any], may_name: Callable[[Any, pd.Series[Any]], bool] = lambda label, column: True
) -> dict[str, Any]:
    """Columns, index and their dtypes, as JSON: `{"type", "rows", "columns": [[literal, dtype], …], "index": […]}`.

    Columns are a list of pairs, because a name may occur twice; each name is a Python literal. The shape is written to
    files, so a private name (for example after a pivot) is masked. Any private name of that kind then matches.
    `categories` has the records of categories, `objects` what the cells of dtype object are, both by literal.

    Args:
        value: the table.
        may_name: whether the categories of a column may be written down.
    """
    shape = plain_shape(value)
    names = Counter(literal for literal, _ in shape["columns"])
    categories, objects = {}, {}
    for place, (literal, dtype) in enumerate(shape["columns"]):
        if names[literal] > 1 or dtype not in ("category", "object"):
            continue
        column = column_at(value, place)
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories[literal] = category_record(column.dtype, with_values=may_name(column.name, column))
        else:
            objects[literal] = kind_of_objects(column)
    more = {"categories": categories, "objects": objects}
    return shape | {key: part for key, part in more.items() if part}


def column_at(value: pd.DataFrame | pd.Series[Any], place: int) -> pd.Series[Any]:
    return value.iloc[:, place] if isinstance(value, pd.DataFrame) else value


def plain_shape(value: pd.DataFrame | pd.Series[Any]) -> dict[str, Any]:
    """The shape without records of categories and objects."""
    columns = (
        [
            [column_literal(label), _dtype_of(value, place, array.dtype)]
            for place, (label, array) in enumerate(zip(value.columns.tolist(), arrays_of(value), strict=True))
        ]
        if isinstance(value, pd.DataFrame)
        else [[column_literal(value.name), _dtype_of(value, 0, value.dtype)]]
    )
    return {
        "type": "Series" if isinstance(value, pd.Series) else "DataFrame",
        "rows": len(value),
        "columns": columns,
        "index": [[column_literal(name), _masked(dtype)] for name, dtype in index_levels(value.index)],
    }


def _dtype_of(value: pd.DataFrame | pd.Series[Any], place: int, dtype: Any) -> str:
    """The name of a column's dtype; that of geometries has the coordinate system: `geometry[EPSG:4326]`."""
    name = dtype_name(dtype)
    if name == "geometry":
        name = f"geometry[{system_of(column_at(value, place))}]"
    return _masked(name)


def column_literal(label: Any) -> str:
    """The name of a column as a Python literal, masked if it is private."""
    return _masked(label_literal(label))


@functools.lru_cache(maxsize=50_000)
def _masked(literal: str) -> str:
    return Masker().mask(literal, bare_numbers=False)


def family(dtype: str) -> str:
    """The kind of values of a dtype: `int`, `float`, `bool`, `time`, `time with zone`, `duration`, `text`, `object`."""
    text = dtype.removesuffix("[pyarrow]").lower()
    if text.startswith("sparse["):
        text = text[len("sparse[") :].split(",")[0]
    zone = "tz" in text.partition("[")[2] or ("," in text and text.startswith(("datetime64", "timestamp")))
    families = (
        (("uint", "int"), "int"),
        (("float", "double", "halffloat"), "float"),
        (("bool",), "bool"),
        (("datetime64", "timestamp"), "time with zone" if zone else "time"),
        (("timedelta64", "duration"), "duration"),
        (("str", "string", "large_string", "category", "dictionary"), "text"),
        (("object",), "object"),
    )
    if text.startswith("interval"):
        return text
    return next((family for prefixes, family in families if text.startswith(prefixes)), text)


# Cells of dtype object

KNOWN_OBJECTS = {
    "string": "string",
    "boolean": "boolean",
    "integer": "number",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "decimal",
    "date": "date",
}
"""Kinds of cells, as `pandas.api.types.infer_dtype` calls them, of which a column has only one, with their groups."""


def kind_of_objects(column: pd.Series[Any]) -> str:
    """What the cells of a column are that are not missing; see `pandas.api.types.infer_dtype`."""
    try:
        return pd.api.types.infer_dtype(column, skipna=True)
    except Exception:  # objects of others may raise anything
        return "mixed"


def kind_of(column: pd.Series[Any]) -> str:
    """The group of the values of a column of any dtype."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = pd.Series(column.cat.categories)
    if column.dtype == object:
        kind = kind_of_objects(column)
        return KNOWN_OBJECTS.get(kind, kind)
    found = family(str(column.dtype))
    return {"text": "string", "bool": "boolean", "int": "number", "float": "number"}.get(found, found)


def kind_in_words(kind: str) -> str:
    words = {"string": "texts", "boolean": "truth values", "integer": "numbers", "floating": "numbers"}
    words |= {"number": "numbers", "mixed-integer-float": "numbers", "decimal": "decimals", "date": "dates"}
    return words.get(kind, "values of several kinds")
