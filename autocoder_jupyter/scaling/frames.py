"""The rows of pieces as the table of pandas that a function was built on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.data.drift import column_literal, family
from autocoder_jupyter.errors import DataDrift
from autocoder_jupyter.untrusted.parsing import visible

_NULLABLE = ("Int", "UInt", "boolean")


@dataclass(frozen=True)
class Dtypes:
    """The dtypes that each piece gets: those of the sample, where pandas has several for the same values. A dtype that
    pandas would choose by the values of a piece could be another one in each.

    Args:
        by_name: the dtypes of the sample by the literals of its columns (`drift.shape_of`).
        categories: those of its columns that have categories.
        renames: the names that the function reads, by those in the data.
    """

    by_name: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, pd.CategoricalDtype] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)

    def of(self, label: Any, labels: Any) -> str:
        """The dtype of a column; "" if the sample has no such column."""
        return self.by_name.get(self._literal(label, labels), "")

    def _literal(self, label: Any, labels: Any) -> str:
        reads = self.renames.get(label, label) if isinstance(label, str) else label
        return column_literal(label if reads in labels else reads)

    def fitted(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table with these dtypes; the table itself is not changed.

        Raises:
            DataDrift: a value is none of the ordered categories of the sample.
        """
        labels = set(frame.columns)
        made = frame.copy(deep=False)
        for place, label in enumerate(frame.columns):
            dtype, now = self.of(label, labels), str(frame.dtypes.iloc[place])
            values = frame.iloc[:, place]
            if dtype.startswith("category"):
                kept = self.categories.get(self._literal(label, labels))
                made.isetitem(place, _with_categories(values, kept, str(label)))
            elif family(dtype) == "float" and family(now) == "int":
                made.isetitem(place, values.astype("float64").array)
            elif dtype == "object" and now == "bool":  # truth values with gaps
                made.isetitem(place, values.astype(object).array)
        return made

    def divided(self, frame: pd.DataFrame, rows: Any) -> pd.DataFrame:
        """Some rows of a table as if they were all: a part with only the categories that a piece would have."""
        part = frame.iloc[rows]
        made = part.copy(deep=False)
        for place, dtype in enumerate(part.dtypes):
            if isinstance(dtype, pd.CategoricalDtype):
                made.isetitem(place, part.iloc[:, place].cat.remove_unused_categories().array)
        return self.fitted(made)


def dtypes_of(function: Function, name: str) -> Dtypes:
    """The dtypes of an input.

    Args:
        function: the function, with its samples.
        name: of the input.
    """
    sample = function.samples.get(name)
    found = sample.dtypes.items() if isinstance(sample, pd.DataFrame) else ()
    return Dtypes(
        {str(literal): str(dtype) for literal, dtype in function.shapes.get(name, {}).get("columns", ())},
        {column_literal(label): dtype for label, dtype in found if isinstance(dtype, pd.CategoricalDtype)},
        {has: reads for reads, has in function.renames.items()},
    )


def frame_of(table: Any, dtypes: Dtypes) -> pd.DataFrame:
    """The rows as pandas reads them from a file, with the dtypes of the sample.

    Args:
        table: a `pyarrow.Table`.
        dtypes: of the sample.

    Raises:
        DataDrift: as those of `Dtypes.fitted`; or pandas has no values for a column.
    """
    labels = set(table.column_names)
    dates = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if _is_date(kind)]
    as_objects = all(family(dtypes.of(name, labels) or "object") == "object" for name in dates)
    try:
        frame: pd.DataFrame = table.to_pandas(date_as_object=as_objects)
    except Exception as error:  # a type of another library may raise any exception
        raise DataDrift(
            f"A table of the columns {visible(', '.join(table.column_names))[:200]} cannot be made one of pandas.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint="Convert the columns of unusual types first, or leave them out.",
        ) from error
    for place, label in enumerate(frame.columns):
        dtype, now = dtypes.of(label, labels), str(frame.dtypes.iloc[place])
        if dtype.startswith(_NULLABLE) and dtype != now and label in labels:
            kind = table.schema.field(label).type
            if pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind):
                nullable = str(kind).capitalize().replace("Uint", "UInt").replace("Bool", "boolean")
                column = table.column(label).to_pandas(types_mapper={kind: pd.api.types.pandas_dtype(nullable)}.get)
                frame.isetitem(place, column.array)
    return dtypes.fitted(frame)


def _with_categories(values: pd.Series[Any], like: pd.CategoricalDtype | None, name: str) -> Any:
    """Values as categories: those of the sample, and after them those that it lacks.

    Raises:
        DataDrift: the sample has an order, and not this value.
    """
    own = values.astype("category")
    if like is None:
        return own.array
    new = own.cat.remove_unused_categories().cat.categories.difference(like.categories)
    if len(new) and like.ordered:
        raise DataDrift(
            f"The column {visible(name)!r} has a category that the sample lacks: {visible(repr(new[0]))[:100]}.",
            why="The categories of the sample have an order, and this one has no place in it.",
            hint="Take a sample with all categories.",
        )
    return own.cat.set_categories([*like.categories, *new], ordered=bool(like.ordered)).array


def _is_date(kind: Any) -> bool:
    return bool(pyarrow.types.is_date(kind))
