"""What the operations on a table compute. Nothing here knows what may be shown: `tables` decides that."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


# Columns
#
# Work on them must not block the other threads of the notebook. pandas releases the GIL while it works on numbers,
# times and Arrow strings, and holds it while it works on Python objects: grouping a million of them takes seconds. So
# columns of objects are read in pieces, and are grouped, sorted and joined by a column of Arrow strings or numbers that
# has the same order.

PIECE = 50_000
"""The number of objects that are worked on before other threads may run."""

PAUSE_SECONDS = 0.001


def pieces(count: int) -> Iterator[slice]:
    """The parts of a column with this number of cells, with a pause after each."""
    for start in range(0, count, PIECE):
        yield slice(start, start + PIECE)
        if start + PIECE < count:
            time.sleep(PAUSE_SECONDS)


def has_objects(column: pd.Series[Any]) -> bool:
    """Whether pandas works on the cells of a column as Python objects."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.StringDtype):
        return dtype.storage == "python"
    return pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.IntervalDtype | pd.SparseDtype)


def objects(column: pd.Series[Any]) -> Iterator[tuple[slice, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """The cells of a column in pieces, as objects, each with whether it is missing."""
    import numpy as np
    import pandas as pd

    for piece in pieces(len(column)):
        cells = column.iloc[piece].to_numpy(dtype=object)
        yield piece, cells, np.asarray(pd.isna(cells))


def tested(column: pd.Series[Any], condition: Callable[[Any], Any]) -> np.ndarray[Any, Any]:
    """For which cells a condition is true; not for missing ones."""
    import numpy as np

    held = np.zeros(len(column), dtype=bool)
    for piece in pieces(len(column)) if has_objects(column) else [slice(None)]:
        cells = column.iloc[piece]
        held[piece] = condition(cells).fillna(False).to_numpy(dtype=bool) & cells.notna().to_numpy(dtype=bool)
    return held


def key(column: pd.Series[Any], *, strict: bool = False) -> pd.Series[Any]:
    """A column without objects whose cells are equal, ordered and missing like those of this one."""
    cells = without_objects(column)
    return _numbers(column, strict=strict)[0] if cells is None else cells


def without_objects(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """The same cells, texts as Arrow texts; None if they are other objects."""
    return _texts(column) if has_objects(column) else column


def group_numbers(columns: Sequence[pd.Series[Any]]) -> np.ndarray[Any, Any]:
    """The number of each row's group, from 0, in the order of the keys. Missing keys are a group, the last one."""
    import numpy as np
    import pandas as pd

    if not len(columns[0]):
        return np.zeros(0, dtype="int64")
    keys = pd.DataFrame({place: key(column).array for place, column in enumerate(columns)}, copy=False)
    numbers: np.ndarray[Any, Any] = (
        keys.groupby(list(keys.columns), dropna=False, observed=True, sort=True).ngroup().to_numpy()
    )
    return numbers


def taken(column: pd.Series[Any], rows: np.ndarray[Any, Any]) -> pd.Series[Any]:
    """The cells of these rows; -1 is a missing cell."""
    import pandas as pd

    cells = column.set_axis(pd.RangeIndex(len(column)))
    found = cells.reindex(rows) if (rows < 0).any() else cells.take(rows)
    return found.set_axis(pd.RangeIndex(len(rows)))


def has_contents(column: pd.Series[Any]) -> bool:
    """Whether a copy of a cell copies its content, which may have any length: texts and lists of Arrow."""
    cells = getattr(column.array, "_pa_array", None)
    if cells is None:
        return False
    try:
        return not cells.type.bit_width
    except ValueError:  # the type has no fixed width
        return True


def size(column: pd.Series[Any], rows: np.ndarray[Any, Any]) -> int:
    """The bytes of these rows of a column; see `taken`."""
    import numpy as np

    if not has_contents(column):
        return max(getattr(column.dtype, "itemsize", None) or 0, 8) * len(rows)
    import pyarrow.compute as pc

    cells = column.array._pa_array
    try:
        sizes = pc.binary_length(cells).fill_null(0).to_numpy()
    except NotImplementedError:  # not texts: their length is not known for each cell
        return int(cells.nbytes) // max(len(cells), 1) * len(rows)
    return int(np.asarray(sizes)[rows[rows >= 0]].sum()) + 8 * len(rows)


def rows_of(table: pd.DataFrame, rows: np.ndarray[Any, Any]) -> pd.DataFrame:
    """These rows of a table, one column after the other."""
    return framed({name: taken(table[name], rows) for name in table.columns}, len(rows))


def framed(columns: dict[str, pd.Series[Any]], count: int) -> pd.DataFrame:
    """A table of columns with this number of rows. They are not copied into one block, which would take long."""
    import pandas as pd

    return pd.DataFrame(columns, index=pd.RangeIndex(count), columns=list(columns), copy=False)


def figure(column: pd.Series[Any], how: str, groups: np.ndarray[Any, Any], count: int) -> pd.Series[Any]:
    """A figure for each of the groups."""
    import numpy as np
    import pandas as pd

    if how == "count":
        return pd.Series(np.bincount(groups[column.notna().to_numpy()], minlength=count).astype("int64"))
    if not has_objects(column):
        return _aggregate(column, how, groups, count)
    if how == "sum":
        return _sums(column, groups, count)
    if how in ("mean", "median", "std"):
        return _aggregate(_floats(column), how, groups, count)
    if (texts := _texts(column)) is not None:
        found = _aggregate(texts, how, groups, count)
        return found if how == "nunique" else found.astype(column.dtype)
    numbers, cells = _numbers(column, strict=how != "nunique")
    found = _aggregate(numbers, how, groups, count)
    if how == "nunique":
        return found
    return taken(pd.Series(cells, dtype=object), found.fillna(-1).to_numpy(dtype="int64"))


def _aggregate(column: pd.Series[Any], how: str, groups: np.ndarray[Any, Any], count: int) -> pd.Series[Any]:
    import pandas as pd

    if count == 1:
        return pd.Series([getattr(column, how)()])
    found: pd.Series[Any] = column.set_axis(pd.RangeIndex(len(column))).groupby(groups).agg(how)
    return found.set_axis(pd.RangeIndex(count))


def _texts(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """The cells as Arrow texts; None if one is not a text."""
    import pandas as pd
    import pyarrow as pa

    parts = []
    for _, cells, _ in objects(column):
        try:
            part = pa.array(cells, from_pandas=True)
        except (pa.ArrowException, UnicodeError, TypeError, ValueError, OverflowError):
            return None
        if not (pa.types.is_string(part.type) or pa.types.is_large_string(part.type) or pa.types.is_null(part.type)):
            return None
        parts.append(part.cast(pa.large_string()))
    if not any(part.null_count < len(part) for part in parts):
        return None
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(parts)), name=column.name)


def _numbers(column: pd.Series[Any], *, strict: bool) -> tuple[pd.Series[Any], list[Any]]:
    """The place of each cell among the different cells, and these in order."""
    import numpy as np
    import pandas as pd

    found: dict[Any, int] = {}
    numbers = np.empty(len(column), dtype="int64")
    for piece, cells, missing in objects(column):
        numbers[piece] = [
            -1 if gone else found.setdefault(cell, len(found)) for cell, gone in zip(cells, missing, strict=True)
        ]
    distinct = list(found)
    try:
        in_order = list(heapq.merge(*(sorted(distinct[piece]) for piece in pieces(len(distinct)))))
    except TypeError:
        if strict:
            raise
        in_order = distinct
    places = np.full(len(distinct) + 1, -1, dtype="int64")  # the last one is that of missing cells
    for piece in pieces(len(in_order)):
        part = in_order[piece]
        of_cells = np.fromiter((found[cell] for cell in part), "int64", len(part))
        places[of_cells] = np.arange(piece.start, piece.start + len(part))
    _release(found)
    numbers = places[numbers]
    return pd.Series(pd.arrays.IntegerArray(numbers, numbers < 0), name=column.name), in_order


def _release(found: dict[Any, int]) -> None:
    """Empty it in pieces: Python frees a million objects at the end of a function without letting others run."""
    for piece in pieces(len(found)):
        for _ in range(piece.start, min(piece.stop, piece.start + len(found))):
            found.popitem()


def _sums(column: pd.Series[Any], groups: np.ndarray[Any, Any], count: int) -> pd.Series[Any]:
    import pandas as pd

    totals: list[Any] = [0] * count
    for piece, cells, missing in objects(column):
        for cell, gone, group in zip(cells, missing, groups[piece].tolist(), strict=True):
            if not gone:
                totals[group] += cell
    return pd.Series(totals, dtype=object)


def _floats(column: pd.Series[Any]) -> pd.Series[Any]:
    import numpy as np
    import pandas as pd

    floats = np.full(len(column), np.nan)
    for piece, cells, missing in objects(column):
        floats[piece][~missing] = cells[~missing].astype("float64")
    return pd.Series(floats, name=column.name)


# Operations

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
        held = tested(column, lambda cells: _CONDITIONS[operator](cells, value))
    return rows_of(table, np.flatnonzero(held))


def ordered(table: pd.DataFrame, names: list[str], descending: bool) -> pd.DataFrame:
    """The rows sorted by these columns. The sort is stable; missing values come last."""
    import pandas as pd

    keys = pd.DataFrame({place: key(table[name], strict=True).array for place, name in enumerate(names)})
    order = keys.sort_values(list(keys.columns), ascending=not descending, kind="stable", na_position="last").index
    return rows_of(table, order.to_numpy())


def aggregated(table: pd.DataFrame, figures: Figures, names: list[str]) -> pd.DataFrame:
    """One row for each group, or one row for all if there are no `names`."""
    import numpy as np

    for column, how in figures.values():
        if how in OF_NUMBERS:
            _require_no_text(table[column], how)
    made: dict[str, Any] = {}
    if names:
        groups = group_numbers([table[name] for name in names])
        _, first = np.unique(groups, return_index=True)
        made, count = {name: taken(table[name], first) for name in names}, len(first)
    else:
        groups, count = np.zeros(len(table), dtype="int64"), 1
    made |= {new: figure(table[column], how, groups, count) for new, (column, how) in figures.items()}
    return framed(made, count)


def joined(
    left: pd.DataFrame,
    right: pd.DataFrame,
    names: list[str],
    how: Join,
    hidden: Collection[str] = (),
    require: Callable[[int], None] = lambda size: None,
) -> pd.DataFrame:
    """A join on these columns. The tables have no other names in common."""
    import numpy as np
    import pandas as pd

    for name in names:
        _require_alike(left[name], right[name])
    keys = {name: pd.concat([left[name], right[name]], ignore_index=True) for name in names}
    numbers = group_numbers(list(keys.values()))
    ours, theirs = numbers[: len(left)], numbers[len(left) :]
    rows, most = _joined_rows(ours, theirs, how), max(JOINED_ROWS, 2 * len(left), 2 * len(right))
    if rows > most:
        raise ValueError(f"join would give {rows:,} rows, at most {most:,}: the keys are not unique enough")
    pairs = pd.DataFrame({"key": ours, "left": np.arange(len(left))}).merge(
        pd.DataFrame({"key": theirs, "right": np.arange(len(right))}), on="key", how=how
    )
    of_left, of_right = (pairs[side].fillna(-1).to_numpy(dtype="int64") for side in ("left", "right"))
    wide = [(name, table[name], rows) for table, rows in ((left, of_left), (right, of_right)) for name in table.columns]
    counted = [(cells, rows) for name, cells, rows in wide if name not in hidden or has_contents(cells)]
    require(sum(size(cells, rows) for cells, rows in counted))
    made = {name: taken(left[name], of_left) for name in left.columns}
    made |= {name: taken(right[name], of_right) for name in right.columns if name not in names or how == "right"}
    if how == "outer":
        either = np.where(of_left >= 0, of_left, len(left) + of_right)
        made |= {name: taken(cells, either) for name, cells in keys.items()}
    return framed(made, len(pairs))


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
    """Whether the values of a column may be shown where statistics are shared; see `data/rendering.py`."""
    import numpy as np

    from autocoder_jupyter.data.rendering import SET_MAX_VALUES, SET_MIN_COUNT

    cells = without_objects(column.dropna())
    if cells is None:
        return False  # the groups of some objects are in the order of the rows, and 1 and True are one group
    counts = np.bincount(group_numbers([cells]))
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
    """These columns, each sorted on its own. Columns without numbers keep their order, as only counts are shown."""
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
        is_text = any(isinstance(cell, str) for _, cells, _ in objects(column) for cell in cells)
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
    if has_objects(column):
        wanted = set()
        for value in values:  # not at once: other threads can run between two values, also if all hashes are equal
            wanted.add(value)
        for piece, cells, missing in objects(column):
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
