"""What the operations on a table compute. Nothing here knows what may be shown: `frame` decides that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

JOINED_ROWS = 2_000_000
"""A join is refused if its result has more rows than this, and more than twice the rows of either table."""

OPERATORS = (
    *("==", "!=", "<", "<=", ">", ">=", "in", "not in"),
    *("contains", "starts with", "ends with", "is null", "not null"),
)
AGGREGATES = ("count", "sum", "mean", "median", "min", "max", "std", "nunique")
Join = Literal["inner", "left", "right", "outer"]
Figures = Mapping[str, tuple[str, str]]
"""Column and function of each figure, by the figure's name."""

OF_NUMBERS = ("sum", "mean", "std", "median")
"""Functions that texts do not have. The sum of a million texts would take minutes."""


def filtered(table: pd.DataFrame, name: str, operator: str, value: Any) -> pd.DataFrame:
    """The rows for which a condition on one column is true. A missing value satisfies only `is null`."""
    cells = table[name]
    held = _CONDITIONS[operator](cells, value).fillna(False).astype(bool)
    rows: pd.DataFrame = table[held if operator == "is null" else held & cells.notna()]
    return rows.reset_index(drop=True)


def ordered(table: pd.DataFrame, names: list[str], descending: bool) -> pd.DataFrame:
    """The rows sorted by these columns. The sort is stable; missing values come last."""
    return table.sort_values(names, ascending=not descending, kind="stable", na_position="last", ignore_index=True)


def aggregated(table: pd.DataFrame, figures: Figures, names: list[str]) -> pd.DataFrame:
    """One row for each group, or one row for all if there are no `names`."""
    import pandas as pd

    for column, how in figures.values():
        if how in OF_NUMBERS:
            _require_no_text(table[column], how)
    if names:
        return table.groupby(names, dropna=False, observed=True, sort=True).agg(**figures).reset_index()
    return pd.DataFrame({new: [getattr(table[column], how)()] for new, (column, how) in figures.items()})


def joined(left: pd.DataFrame, right: pd.DataFrame, names: list[str], how: Join) -> pd.DataFrame:
    """A join on these columns. The tables have no other names in common.

    Raises:
        ValueError: the result would have too many rows.
    """
    rows = joined_rows(left, right, names, how)
    most = max(JOINED_ROWS, 2 * len(left), 2 * len(right))
    if rows > most:
        raise ValueError(f"join would give {rows:,} rows, at most {most:,}: the keys are not unique enough")
    return left.merge(right, on=names, how=how)


def joined_rows(left: pd.DataFrame, right: pd.DataFrame, names: list[str], how: Join) -> int:
    """The number of rows of a join, computed without the join."""
    ours = left.groupby(names, dropna=False, observed=True).size()
    theirs = right.groupby(names, dropna=False, observed=True).size()
    rows = int((ours * theirs).dropna().sum())
    if how in ("left", "outer"):
        rows += int(ours[~ours.index.isin(theirs.index)].sum())
    if how in ("right", "outer"):
        rows += int(theirs[~theirs.index.isin(ours.index)].sum())
    return rows


def without_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The table without rows, and without the values that a categorical dtype has."""
    import pandas as pd

    empty = {
        name: pd.Series(
            pd.Categorical([], pd.Index([], dtype=dtype.categories.dtype), ordered=dtype.ordered)
            if isinstance(dtype, pd.CategoricalDtype)
            else table[name].iloc[:0],
            name=name,
        )
        for name, dtype in table.dtypes.items()
    }
    return pd.DataFrame(empty, columns=table.columns, index=pd.RangeIndex(0))


def has_few_frequent_values(column: pd.Series[Any]) -> bool:
    """Whether the values of a column may be told where statistics are shared; see `data/rendering.py`."""
    from autocoder_jupyter.data.rendering import SET_MAX_VALUES, SET_MIN_COUNT

    counts = column.value_counts()
    return len(counts) <= SET_MAX_VALUES and bool((counts >= SET_MIN_COUNT).all())


def has_many_cells(column: pd.Series[Any], least: int) -> bool:
    """Whether a column has this many numbers, and none is larger than the others together."""
    import numpy as np
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype):
        return False
    sizes = np.abs(column.dropna().to_numpy(dtype="float64"))
    return len(sizes) >= least and bool(np.isfinite(sizes).all()) and bool(2 * sizes.max() <= sizes.sum())


def separated(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """These columns, each sorted on its own. Columns that are no numbers keep their order, as only counts are shown."""
    import pandas as pd

    columns = {name: table[name] for name in names}
    return pd.DataFrame(
        {
            name: (column.sort_values() if pd.api.types.is_numeric_dtype(column.dtype) else column).array
            for name, column in columns.items()
        }
    )


def _require_no_text(column: pd.Series[Any], how: str) -> None:
    import pandas as pd

    is_text = isinstance(column.dtype, pd.StringDtype)
    if is_text or (column.dtype == object and any(isinstance(cell, str) for cell in column)):
        raise TypeError(f"aggregate: {column.name!r} has texts, which have no {how}")


def _text(test: str) -> Callable[[Any, Any], Any]:
    """A condition on texts, taken literally."""

    def condition(column: Any, value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError(f"this condition needs a text, not {type(value).__name__}")
        texts = column.astype("string").str
        return texts.contains(value, regex=False) if test == "contains" else getattr(texts, test)(value)

    return condition


_CONDITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "in": lambda column, value: column.isin(list(value)),
    "not in": lambda column, value: ~column.isin(list(value)),
    "contains": _text("contains"),
    "starts with": _text("startswith"),
    "ends with": _text("endswith"),
    "is null": lambda column, value: column.isna(),
    "not null": lambda column, value: column.notna(),
}
