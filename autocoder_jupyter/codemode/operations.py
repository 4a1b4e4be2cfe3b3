"""What the operations on a table compute. Nothing here knows what may be shown: `frame` decides that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from autocoder_jupyter.codemode import columns

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
VALUES = 10_000
"""The number of values that pandas looks up at once. Values of equal hashes take time that is quadratic in this."""

Figures = Mapping[str, tuple[str, str]]
"""Column and function of each figure, by the figure's name."""

OF_NUMBERS = ("sum", "mean", "std", "median")
"""Functions that texts do not have. The sum of a million texts would take minutes."""


def filtered(table: pd.DataFrame, name: str, operator: str, value: Any) -> pd.DataFrame:
    """The rows for which a condition on one column is true. A missing value satisfies only `is null`."""
    import numpy as np

    column = table[name]
    if operator == "is null":
        held = column.isna().to_numpy()
    elif operator in ("in", "not in"):
        held = _one_of(column, list(value))
        held = held if operator == "in" else ~held & column.notna().to_numpy()
    else:
        held = columns.tested(column, lambda cells: _CONDITIONS[operator](cells, value))
    return columns.rows_of(table, np.flatnonzero(held))


def ordered(table: pd.DataFrame, names: list[str], descending: bool) -> pd.DataFrame:
    """The rows sorted by these columns. The sort is stable; missing values come last."""
    import pandas as pd

    keys = pd.DataFrame({place: columns.key(table[name], strict=True).array for place, name in enumerate(names)})
    order = keys.sort_values(list(keys.columns), ascending=not descending, kind="stable", na_position="last").index
    return columns.rows_of(table, order.to_numpy())


def aggregated(table: pd.DataFrame, figures: Figures, names: list[str]) -> pd.DataFrame:
    """One row for each group, or one row for all if there are no `names`."""
    import numpy as np

    for column, how in figures.values():
        if how in OF_NUMBERS:
            _require_no_text(table[column], how)
    made: dict[str, Any] = {}
    if names:
        groups = columns.group_numbers([table[name] for name in names])
        _, first = np.unique(groups, return_index=True)
        made, count = {name: columns.taken(table[name], first) for name in names}, len(first)
    else:
        groups, count = np.zeros(len(table), dtype="int64"), 1
    made |= {new: columns.figure(table[column], how, groups, count) for new, (column, how) in figures.items()}
    return columns.framed(made, count)


def joined(
    left: pd.DataFrame,
    right: pd.DataFrame,
    names: list[str],
    how: Join,
    hidden: Collection[str] = (),
    require: Callable[[int], None] = lambda size: None,
) -> pd.DataFrame:
    """A join on these columns. The tables have no other names in common.

    Args:
        left: a table.
        right: the other table.
        names: the columns.
        how: the kind of join.
        hidden: columns of which the program does not know. They count toward the size only if they have contents.
        require: called with the bytes of the result before it is made; its errors are raised.

    Raises:
        ValueError: the result would have too many rows, or the keys are of kinds that are never equal.
    """
    import numpy as np
    import pandas as pd

    for name in names:
        _require_alike(left[name], right[name])
    keys = {name: pd.concat([left[name], right[name]], ignore_index=True) for name in names}
    numbers = columns.group_numbers(list(keys.values()))
    ours, theirs = numbers[: len(left)], numbers[len(left) :]
    rows, most = _joined_rows(ours, theirs, how), max(JOINED_ROWS, 2 * len(left), 2 * len(right))
    if rows > most:
        raise ValueError(f"join would give {rows:,} rows, at most {most:,}: the keys are not unique enough")
    pairs = pd.DataFrame({"key": ours, "left": np.arange(len(left))}).merge(
        pd.DataFrame({"key": theirs, "right": np.arange(len(right))}), on="key", how=how
    )
    of_left, of_right = (pairs[side].fillna(-1).to_numpy(dtype="int64") for side in ("left", "right"))
    wide = [(name, table[name], rows) for table, rows in ((left, of_left), (right, of_right)) for name in table.columns]
    counted = [(cells, rows) for name, cells, rows in wide if name not in hidden or columns.has_contents(cells)]
    require(sum(columns.size(cells, rows) for cells, rows in counted))
    made = {name: columns.taken(left[name], of_left) for name in left.columns}
    made |= {
        name: columns.taken(right[name], of_right) for name in right.columns if name not in names or how == "right"
    }
    if how == "outer":
        either = np.where(of_left >= 0, of_left, len(left) + of_right)
        made |= {name: columns.taken(cells, either) for name, cells in keys.items()}
    return columns.framed(made, len(pairs))


def _joined_rows(ours: Any, theirs: Any, how: Join) -> int:
    """The number of rows of a join of keys with these numbers."""
    import numpy as np

    count = 1 + max((int(numbers.max()) for numbers in (ours, theirs) if len(numbers)), default=-1)
    left, right = (np.bincount(numbers, minlength=count) for numbers in (ours, theirs))
    rows = int((left * right).sum())
    rows += int(left[right == 0].sum()) if how in ("left", "outer") else 0
    return rows + (int(right[left == 0].sum()) if how in ("right", "outer") else 0)


def without_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The table without rows, and without the values that a categorical dtype has."""
    import pandas as pd

    empty = {}
    for name, dtype in table.dtypes.items():
        none: Any = table[name].iloc[:0]
        if isinstance(dtype, pd.CategoricalDtype):
            none = pd.Categorical([], pd.Index([], dtype=dtype.categories.dtype), ordered=dtype.ordered)
        empty[name] = pd.Series(none, name=name)
    return pd.DataFrame(empty, columns=table.columns, index=pd.RangeIndex(0))


def has_few_frequent_values(column: pd.Series[Any]) -> bool:
    """Whether the values of a column may be told where statistics are shared; see `data/rendering.py`."""
    import numpy as np

    from autocoder_jupyter.data.rendering import SET_MAX_VALUES, SET_MIN_COUNT

    cells = columns.without_objects(column.dropna())
    if cells is None:
        return False  # the groups of some objects are in the order of the rows, and 1 and True are one group
    counts = np.bincount(columns.group_numbers([cells]))
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
    if column.dtype == object:
        is_text = any(isinstance(cell, str) for _, cells, _ in columns.objects(column) for cell in cells)
    if is_text:
        raise TypeError(f"aggregate: {column.name!r} has texts, which have no {how}")


def _require_alike(left: pd.Series[Any], right: pd.Series[Any]) -> None:
    ours, theirs = _kind(left), _kind(right)
    if ours and theirs and ours != theirs:
        raise ValueError(
            f"join: {left.name!r} has {ours} in one table and {theirs} in the other, which are never equal"
        )


def _kind(column: pd.Series[Any]) -> str:
    """The kind of cells in a column that is a key; "" if they can be equal to other kinds."""
    import pandas as pd

    check, dtype = pd.api.types, column.dtype
    if isinstance(dtype, pd.StringDtype) or (
        check.is_object_dtype(dtype) and check.infer_dtype(column.iloc[:1_000]) == "string"
    ):
        return "texts"
    if check.is_numeric_dtype(dtype):
        return "numbers"
    if isinstance(dtype, pd.DatetimeTZDtype):
        return "times with a time zone"
    return "times" if check.is_datetime64_dtype(dtype) else ""


def _one_of(column: pd.Series[Any], values: list[Any]) -> Any:
    """Which cells are among these values."""
    import numpy as np

    held = np.zeros(len(column), dtype=bool)
    if columns.has_objects(column):
        wanted = set()
        for value in values:  # not at once: other threads can run between two values, also if all hashes are equal
            wanted.add(value)
        for piece, cells, missing in columns.objects(column):
            held[piece] = [not gone and _is_key(cell, wanted) for cell, gone in zip(cells, missing, strict=True)]
        return held
    for start in range(0, len(values), VALUES):
        held |= column.isin(values[start : start + VALUES]).to_numpy(dtype=bool)
    return held & column.notna().to_numpy()


def _is_key(cell: Any, wanted: set[Any]) -> bool:
    try:
        return cell in wanted
    except TypeError:  # a list, for instance, is equal to no plain value
        return False


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
    "contains": _text("contains"),
    "starts with": _text("startswith"),
    "ends with": _text("endswith"),
    "not null": lambda column, value: column.notna(),
}
