"""Read a file as the table that a function was built on: its columns get the recorded dtypes where they can."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from autocoder_jupyter.data.capture import with_absolute_path
from autocoder_jupyter.data.drift import family
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import File
from autocoder_jupyter.untrusted.visible import visible

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
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read as a table.",
            why=f"Files that can: {', '.join(_READERS)}.",
            hint=f"Read it yourself, and pass the DataFrame as {name}.",
        )
    wanted = dict(_recorded(shape or {}))
    texts = {label: str for label, dtype in wanted.items() if family(dtype) in _TEXT}
    try:
        frame = reader(path, texts)
    except Exception as error:  # a parser may raise any exception
        raise InvalidRequest(
            f"{name}: {visible(path.name)} cannot be read.", why=f"{type(error).__name__}: {visible(str(error)[:300])}"
        ) from error
    for place, label in enumerate(frame.columns):
        if label in wanted:
            frame.isetitem(place, _with_dtype(name, frame.iloc[:, place], wanted[label]).array)
    return frame


def _csv(separator: str) -> Callable[[Path, Mapping[Any, type]], pd.DataFrame]:
    return lambda path, texts: pd.read_csv(path, sep=separator, dtype=dict(texts))  # text keeps zeros: "00501"


_READERS: dict[str, Callable[[Path, Mapping[Any, type]], pd.DataFrame]] = {
    ".parquet": lambda path, texts: pd.read_parquet(path),
    ".pq": lambda path, texts: pd.read_parquet(path),
    ".feather": lambda path, texts: pd.read_feather(path),
    ".csv": _csv(","),
    ".tsv": _csv("\t"),
    ".xlsx": lambda path, texts: pd.read_excel(path, dtype=dict(texts)),
    ".json": lambda path, texts: pd.read_json(path, dtype=dict(texts)),
    ".jsonl": lambda path, texts: pd.read_json(path, dtype=dict(texts), lines=True),
}


def _recorded(shape: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """The labels that a file can have, with their dtypes. A masked name stands for no column."""
    found = []
    for literal, dtype in shape.get("columns", ()):
        try:
            label = ast.literal_eval(literal)
        except (ValueError, SyntaxError):
            continue
        if isinstance(label, str | int | float):
            found.append((label, str(dtype)))
    return found


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
            return pd.to_datetime(column, utc=True, format="ISO8601").dt.tz_convert(zone or "UTC")
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
