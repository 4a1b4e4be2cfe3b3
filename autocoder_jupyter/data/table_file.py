"""Read a file as the table that a function was built on: its columns get the recorded dtypes where they can."""

from __future__ import annotations

import os
import zoneinfo
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from autocoder_jupyter.data.capture import with_absolute_path
from autocoder_jupyter.data.drift import family, shape_of
from autocoder_jupyter.data.json_table import read_json
from autocoder_jupyter.data.workbook_size import require_moderate
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import File
from autocoder_jupyter.untrusted.parsing import visible

_TEXT = ("text", "object")


def read_table(name: str, value: str | os.PathLike[str] | File, shape: Mapping[str, Any] | None) -> pd.DataFrame:
    """The table in a file: Parquet, Feather, CSV, TSV, Excel, JSON or JSON lines, by its suffix.

    Args:
        name: the input, for messages.
        value: the file.
        shape: the recorded columns and dtypes (`drift.shape_of`); without it, dtypes are those that pandas finds.

    Raises:
        InvalidRequest: it does not exist, has another format, or cannot be read.
    """
    file = value if isinstance(value, File) else File(Path(value))
    path = with_absolute_path(file).path
    suffix = path.suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read as a table.",
            why=f"Files that can: {', '.join(_READERS)}.",
            hint=f"Read it yourself, and pass the DataFrame as {name}.",
        )
    recorded = {str(literal): str(dtype) for literal, dtype in (shape or {}).get("columns", ())}
    try:
        if suffix == ".xlsx":
            require_moderate(path)
        header = reader(path, {}, 0) if recorded and suffix not in _TYPED else pd.DataFrame()
        texts = {
            label: str
            for label, dtype in zip(header.columns, _dtypes(header, recorded), strict=True)
            if family(dtype) in _TEXT
        }
        frame = _with_geometry(path) if _has_geometry(recorded, suffix) else reader(path, texts, None)
    except Exception as error:  # a parser may raise any exception
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read.", why=f"{type(error).__name__}: {visible(str(error)[:300])}"
        ) from error
    for place, dtype in enumerate(_dtypes(frame, recorded)):
        if dtype:
            column = frame.iloc[:, place]
            if suffix.startswith(".json") and family(dtype).startswith("time") and is_numeric_dtype(column.dtype):
                column = pd.to_datetime(column, unit="ms")  # as pandas writes a time
            frame.isetitem(place, _with_dtype(name, column, dtype).array)
    return frame


def _has_geometry(recorded: Mapping[str, str], suffix: str) -> bool:
    return suffix in (".parquet", ".pq") and any(dtype.startswith("geometry") for dtype in recorded.values())


def _with_geometry(path: Path) -> pd.DataFrame:
    import geopandas

    read: pd.DataFrame = geopandas.read_parquet(path)
    return read


_Reader = Callable[[Path, Mapping[Any, type], int | None], pd.DataFrame]
"""Reads a file: the columns that are text, and how many rows; None for all."""


def _csv(separator: str) -> _Reader:
    # Text keeps its zeros: "00501".
    return lambda path, texts, rows: pd.read_csv(path, sep=separator, dtype=dict(texts), nrows=rows)


_READERS: dict[str, _Reader] = {
    ".parquet": lambda path, texts, rows: pd.read_parquet(path),
    ".pq": lambda path, texts, rows: pd.read_parquet(path),
    ".feather": lambda path, texts, rows: pd.read_feather(path),
    ".csv": _csv(","),
    ".tsv": _csv("\t"),
    ".xlsx": lambda path, texts, rows: pd.read_excel(path, dtype=dict(texts), nrows=rows),
    ".json": lambda path, texts, rows: read_json(path, lines=False),
    ".jsonl": lambda path, texts, rows: read_json(path, lines=True),
}
_TYPED = frozenset(_READERS) - {".csv", ".tsv", ".xlsx"}
"""Formats whose values have types, so the columns that are text need not be known before."""


def _dtypes(frame: pd.DataFrame, recorded: Mapping[str, str]) -> list[str]:
    """The recorded dtype of each column; "" for a column that was not there. Names of a record are only compared."""
    return [recorded.get(literal, "") for literal, _ in shape_of(frame)["columns"]]


def _with_dtype(name: str, column: pd.Series[Any], dtype: str) -> pd.Series[Any]:
    """The column with the recorded dtype, if its text or numbers stand for such values.

    Raises:
        InvalidRequest: a value does not.
    """
    then, now = family(dtype), family(str(column.dtype))
    if dtype.startswith("category"):
        return column.astype("category")
    if then == now or column.empty:
        return column
    try:
        if then == "time":
            return pd.to_datetime(column, format="ISO8601")  # 01/02/2024 is ambiguous, and nothing is guessed
        if then == "time with zone":
            zone = dtype.partition(",")[2].strip(" ]")
            times = pd.to_datetime(column, utc=True, format="ISO8601")
            return times.dt.tz_convert(zone) if zone in zoneinfo.available_timezones() else times
        if then == "duration":
            return pd.to_timedelta(column)
        if then in ("int", "float") and now in _TEXT:
            return pd.to_numeric(column)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidRequest(
            f"{name}: the column {visible(str(column.name))} cannot be read as {dtype}.",
            why=visible(str(error)[:300]),
            hint="Correct the file, or read it yourself and pass the DataFrame.",
        ) from error
    return column
