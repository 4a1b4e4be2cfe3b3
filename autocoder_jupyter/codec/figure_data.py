"""Read the content of a figure as plain data: matplotlib's series, or the specification of Plotly and Altair.

It is read in the process that made the figure. With it, tests can check more than a picture.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

MAX_POINTS = 200_000
"""Most points of one matplotlib figure. A series beyond the limit has no points, and `left_out` is True."""


def specification(value: Any) -> tuple[str, dict[str, Any]]:
    """The kind of a figure (`matplotlib`, `plotly`, `altair`) and its content as JSON values.

    The content of a matplotlib figure is
    `{"axes": [{"title", "xlabel", "ylabel", "series": [{"type", "name", "x", "y"}]}]}`. That of Plotly and Altair is
    their own specification. A value that is not a figure gives `("", {})`.
    """
    library = type(value).__module__.partition(".")[0]
    if library == "plotly" and callable(getattr(value, "to_plotly_json", None)):
        return "plotly", _plain(value.to_plotly_json())
    if library == "altair" and callable(getattr(value, "to_dict", None)):
        with sys.modules["altair"].data_transformers.disable_max_rows():
            return "altair", _plain(value.to_dict())
    figure = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    if callable(getattr(figure, "savefig", None)) and not isinstance(figure, type):
        return "matplotlib", {"axes": _axes(getattr(figure, "figure", figure))}
    return "", {}


def data_of(kind: str, spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The data of a figure: one dict for each series (matplotlib, Plotly) or for each row of a table (Altair).

    Args:
        kind: `matplotlib`, `plotly` or `altair`.
        spec: the content from `specification`.

    Raises:
        KeyError, TypeError, AttributeError, ValueError: the specification does not have that kind.
    """
    if kind == "matplotlib":
        return [series for axes in spec.get("axes", []) for series in axes["series"]]
    if kind == "plotly":
        return [dict(trace) for trace in spec.get("data", [])]
    return [dict(row) for rows in _tables(spec) for row in rows]


def _tables(spec: Mapping[str, Any]) -> Iterator[list[Any]]:
    yield from spec.get("datasets", {}).values()
    values = spec.get("data", {}).get("values") if isinstance(spec.get("data"), dict) else None
    if isinstance(values, list):
        yield values


def _axes(figure: Any) -> list[dict[str, Any]]:
    found = []
    left = MAX_POINTS
    for axes in getattr(figure, "axes", ()):
        series = []
        try:
            for one in _series(axes):
                left -= len(one["y"])
                series.append(one if left >= 0 else {**one, "x": [], "y": [], "left_out": True})
        except Exception:  # the artist of another library may have any interface
            series.append({"type": "unknown", "name": "", "x": [], "y": []})
        labels = {"title": axes.get_title(), "xlabel": axes.get_xlabel(), "ylabel": axes.get_ylabel()}
        found.append({**labels, "series": series})
    return found


def _series(axes: Any) -> Iterator[dict[str, Any]]:
    bars = [container for container in axes.containers if hasattr(container, "patches")]
    for line in axes.get_lines():
        x = _positions(axes.xaxis, line.get_xdata(orig=True))
        yield _one("line", line.get_label(), x, line.get_ydata(orig=True))
    for container in bars:
        yield _bars(container, axes)
    of_bars = {patch for container in bars for patch in container.patches}
    wedges = [patch for patch in axes.patches if hasattr(patch, "theta1") and patch not in of_bars]
    if wedges:
        names = [wedge.get_label() for wedge in wedges]
        yield _one("pie", "", names, [(wedge.theta2 - wedge.theta1) / 360 for wedge in wedges])
    for collection in axes.collections:
        points: Any = np.ma.filled(np.ma.asarray(collection.get_offsets(), dtype=float), np.nan)
        is_area = hasattr(collection, "set_verts")  # between two lines, or below one
        if hasattr(collection, "get_sizes") and points.ndim == 2 and not is_area:
            yield _one("scatter", collection.get_label(), points[:, 0], points[:, 1])
    for image in axes.get_images():
        yield _one("image", image.get_label(), [], np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan))


def _bars(container: Any, axes: Any) -> dict[str, Any]:
    flat = getattr(container, "orientation", "vertical") == "horizontal"
    centers = [bar.get_y() + bar.get_height() / 2 if flat else bar.get_x() + bar.get_width() / 2 for bar in container]
    lengths = [bar.get_width() if flat else bar.get_height() for bar in container]
    axis = axes.yaxis if flat else axes.xaxis
    tick_labels = {
        round(float(position), 9): label.get_text()
        for position, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
    }
    places = _positions(axis, centers)
    if places is centers:
        places = [tick_labels.get(round(float(center), 9)) or center for center in centers]
    return _one("barh" if flat else "bar", container.get_label(), places, lengths)


def _positions(axis: Any, values: Any) -> Any:
    """Positions on an axis. On one of periods pandas draws their ordinals: these become the periods again, as text."""
    freq, pandas = getattr(axis, "freq", None), sys.modules.get("pandas")
    ordinals = np.asarray(values)
    if freq is None or pandas is None or ordinals.dtype.kind not in "iuf" or not np.isfinite(ordinals).all():
        return values
    return [str(pandas.Period(ordinal=round(ordinal), freq=freq)) for ordinal in ordinals.tolist()]


def _one(kind: str, name: Any, x: Any, y: Any) -> dict[str, Any]:
    label = "" if str(name).startswith("_") else str(name)
    return {"type": kind, "name": label, "x": _plain(x), "y": _plain(y)}


def _plain(value: Any) -> Any:
    """`value` as JSON values: times as ISO text, NaN and infinity as None, arrays as lists."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return int(value)
    if isinstance(value, dict):
        if value.keys() >= {"bdata", "dtype"}:
            return _plain(_typed(value))
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return None if value != value else value.isoformat()
    if isinstance(value, list | tuple | set | range) or hasattr(value, "tolist"):
        return [_plain(item) for item in value]
    return str(value)


def _typed(value: dict[str, Any]) -> Any:
    """Decode an array as Plotly writes it: its bytes in base64 and their dtype."""
    array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    shape = value.get("shape")
    return array if shape is None else array.reshape([int(side) for side in str(shape).split(",")])
