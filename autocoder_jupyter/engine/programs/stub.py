"""A function that returns the same for each output, whatever it gets. Tests that pass on it prove nothing.

`engine.verdict` sets the constants when it sends the program.
"""

from __future__ import annotations

import contextlib
import datetime
import pathlib
from collections.abc import Callable
from typing import Any

import pandas as pd

OUTPUTS: list[tuple[str, list[tuple[str, str]]]] = []
"""For each output its type, and the names and dtypes of its columns, if any."""

IS_EMPTY = True
"""Whether it returns empty defaults, or other values of the right types."""


def _figure(name: str) -> Any:
    from matplotlib.figure import Figure

    return Figure()


def _file(name: str) -> pathlib.Path:
    path = pathlib.Path(f"{name}.txt")
    path.write_text("" if IS_EMPTY else "?")
    return path


def _folder(name: str) -> pathlib.Path:
    path = pathlib.Path(name)
    path.mkdir()
    if not IS_EMPTY:
        _file(f"{name}/file")
    return path


def _table(columns: list[tuple[str, str]]) -> pd.DataFrame:
    """A table without rows, or with one whose values fit the dtypes."""
    table = pd.DataFrame({name: [] if IS_EMPTY else [7] for name, _ in columns})
    for name, dtype in columns:
        for values in (table[name], pd.Series([] if IS_EMPTY else ["7"])):
            with contextlib.suppress(TypeError, ValueError):
                table[name] = values.astype(dtype)  # type: ignore[call-overload]
                break
    return table


DEFAULTS: dict[str, Callable[[str], Any]] = {
    "str": lambda name: "",
    "int": lambda name: 0,
    "float": lambda name: 0.0,
    "bool": lambda name: False,
    "datetime": lambda name: datetime.datetime(1970, 1, 1),
    "date": lambda name: datetime.date(1970, 1, 1),
    "timedelta": lambda name: datetime.timedelta(0),
    "File": _file,
    "Dir": _folder,
    "Series": lambda name: pd.Series([], dtype="float64"),
    "dict": lambda name: {},
    "list": lambda name: [],
    "Figure": _figure,
}
"""Functions that make the default of each type. They get the name of the output."""

OTHERS: dict[str, Callable[[str], Any]] = {
    **DEFAULTS,
    "str": lambda name: "?",
    "int": lambda name: 7,
    "float": lambda name: 7.5,
    "bool": lambda name: True,
    "datetime": lambda name: datetime.datetime(2001, 2, 3, 4, 5),
    "date": lambda name: datetime.date(2001, 2, 3),
    "timedelta": lambda name: datetime.timedelta(hours=7),
    "Series": lambda name: pd.Series([7.5]),
    "dict": lambda name: {"?": 7.5},
    "list": lambda name: ["?"],
}
"""The same for other values."""


def run(**inputs: Any) -> Any:
    """A value for each output; a single one is not in a tuple."""
    made = DEFAULTS if IS_EMPTY else OTHERS
    values = [
        _table(columns) if kind == "DataFrame" else made[kind](f"output_{number}")
        for number, (kind, columns) in enumerate(OUTPUTS)
    ]
    return values[0] if len(values) == 1 else tuple(values)
