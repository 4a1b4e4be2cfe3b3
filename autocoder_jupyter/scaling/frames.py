"""Rows of Arrow as the table of pandas that a function was built on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow

from autocoder_jupyter.data.drift import column_literal, family

_NULLABLE = ("Int", "UInt", "boolean")


def frame_of(table: Any, shape: Mapping[str, Any] | None) -> pd.DataFrame:
    """The rows as pandas reads them from a file. Where pandas has several dtypes for the same values, it is that of the
    sample, in each piece.

    Args:
        table: a `pyarrow.Table`.
        shape: the recorded columns and dtypes of the sample (`drift.shape_of`).
    """
    dtypes = {str(literal): str(dtype) for literal, dtype in (shape or {}).get("columns", ())}
    dates = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if _is_date(kind)]
    as_objects = all(family(dtypes.get(column_literal(name), "object")) == "object" for name in dates)
    frame: pd.DataFrame = table.to_pandas(date_as_object=as_objects)
    for place, label in enumerate(frame.columns):
        dtype = dtypes.get(column_literal(label), "")
        now = str(frame.dtypes.iloc[place])
        if dtype.startswith(_NULLABLE) and dtype != now and label in table.column_names:
            kind = table.schema.field(label).type
            if pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind):
                nullable = str(kind).capitalize().replace("Uint", "UInt").replace("Bool", "boolean")
                column = table.column(label).to_pandas(types_mapper={kind: pd.api.types.pandas_dtype(nullable)}.get)
                frame.isetitem(place, column.array)
        elif dtype.startswith("category"):
            frame.isetitem(place, frame.iloc[:, place].astype("category").array)
        elif family(dtype) == "float" and family(now) == "int":
            frame.isetitem(place, frame.iloc[:, place].astype("float64").array)
    return frame


def _is_date(kind: Any) -> bool:
    return bool(pyarrow.types.is_date(kind))
