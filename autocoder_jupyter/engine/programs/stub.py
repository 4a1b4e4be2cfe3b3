"""A function that returns a default for each output and computes nothing. Tests that pass on it prove nothing.

`engine.vacuity` sets the constant when it sends the program.
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


def _figure(name: str) -> Any:
    from matplotlib.figure import Figure

    return Figure()


def _file(name: str) -> pathlib.Path:
    path = pathlib.Path(f"{name}.txt")
    path.write_text("")
    return path


def _folder(name: str) -> pathlib.Path:
    path = pathlib.Path(name)
    path.mkdir()
    return path


def _table(columns: list[tuple[str, str]]) -> pd.DataFrame:
    table = pd.DataFrame({name: [] for name, _ in columns})
    for name, dtype in columns:
        with contextlib.suppress(TypeError, ValueError):
            table[name] = table[name].astype(dtype)  # type: ignore[call-overload]
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


def run(**inputs: Any) -> Any:
    """A default for each output; a single one is not in a tuple."""
    values = [
        _table(columns) if kind == "DataFrame" else DEFAULTS[kind](f"output_{number}")
        for number, (kind, columns) in enumerate(OUTPUTS)
    ]
    return values[0] if len(values) == 1 else tuple(values)
