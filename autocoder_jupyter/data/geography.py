"""What a model is told of a GeoDataFrame: its class, the active geometry and the coordinate systems, without values."""

from __future__ import annotations

from typing import Any

import pandas as pd

from autocoder_jupyter.codec.geometry import is_geographic, is_geometry
from autocoder_jupyter.data.cells import label_literal
from autocoder_jupyter.data.profile import as_frame


def geography(value: pd.DataFrame | pd.Series[Any]) -> str:
    """A phrase; "" for a table without geometries."""
    frame = as_frame(value) if isinstance(value, pd.DataFrame) else pd.DataFrame({value.name: value.array})
    columns = [(label, column) for label, column in frame.items() if is_geometry(column.dtype)]
    if not columns:
        return ""
    systems = ", ".join(f"{label_literal(label)} in {system_of(column)}" for label, column in columns)
    if not is_geographic(value):
        return f"geometries of geopandas: {systems}"
    active = getattr(value, "active_geometry_name", None)
    told = f"a geopandas.{type(value).__name__}; geometries: {systems}"
    return told if active is None else f"{told}; active geometry {label_literal(active)}"


def system_of(column: Any) -> str:
    """The coordinate system of a column: `EPSG:4326`, its name, or `no coordinate system`."""
    crs = column.array.crs
    if crs is None:
        return "no coordinate system"
    code = crs.to_authority(min_confidence=100)
    return ":".join(code) if code else str(crs.name)
