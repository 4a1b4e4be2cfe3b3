"""The numbers that two figures show, as tables that can be compared.

How they are drawn does not count: bars may lie or stand, and a line may be points. Figures with other kinds or numbers
of series, or whose bars are classes of their own choice, are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.kinds.values import Figure

OTHERWISE = "it is drawn in another way there"
"""Why two figures are not compared."""

MOST_SERIES = 40

_FORMS = {
    "line": "points",
    "scatter": "points",
    "scattergl": "points",
    "bar": "bars",
    "barh": "bars",
    "pie": "parts",
}


@dataclass(frozen=True)
class _Series:
    form: str
    points: Any

    @property
    def values(self) -> Any:
        """Its values without their places, which may be written in another way."""
        values = self.points[["y"]]
        return values if self.form == "points" else values.sort_values("y", ignore_index=True)

    @property
    def has_classes(self) -> bool:
        """Whether its bars stand on an axis of numbers."""
        return self.form == "bars" and pd.api.types.is_numeric_dtype(self.points["x"])


def drawn_tables(one: Figure, other: Figure) -> list[tuple[Any, Any]] | None:
    """Pairs of tables with what both figures show; None if they cannot be compared."""
    left, right = _series(one), _series(other)
    if not left or not right or [each.form for each in left] != [each.form for each in right]:
        return None
    found = []
    for mine, theirs in zip(left, right, strict=True):
        same_length, shares = len(mine.points) == len(theirs.points), _share_places(mine.points, theirs.points)
        if not same_length and (not shares or mine.has_classes or theirs.has_classes):
            return None
        found.append((mine.points, theirs.points) if shares else (mine.values, theirs.values))
    return found


def _share_places(one: Any, other: Any) -> bool:
    return bool(set(map(str, one["x"])) & set(map(str, other["x"])))


def _series(figure: Figure) -> list[_Series] | None:
    """The series of a figure; None if some have another form."""
    if figure.kind == "altair" or not 0 < len(figure.data) <= MOST_SERIES:
        return None
    found = []
    for one in figure.data:
        kind = str(one.get("type", ""))
        x, y = _places_and_values(kind, one)
        if kind not in _FORMS or one.get("left_out") or not isinstance(x, list) or not isinstance(y, list):
            return None
        if len(x) != len(y) or not y:
            return None
        found.append(_Series(_FORMS[kind], pd.DataFrame({"x": x, "y": y})))
    return found


def _places_and_values(kind: str, series: Mapping[str, Any]) -> tuple[Any, Any]:
    if kind == "pie" and "labels" in series:  # of Plotly
        return series.get("labels"), series.get("values")
    x, y = series.get("x"), series.get("y")
    return (y, x) if kind == "bar" and series.get("orientation") == "h" else (x, y)
