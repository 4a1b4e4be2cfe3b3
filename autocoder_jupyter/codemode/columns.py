"""Columns of tables, without blocking the other threads of the notebook.

pandas releases the GIL while it works on numbers, times and texts of Arrow. It keeps the GIL while it works on Python
objects: to group a million of them takes seconds. So columns of objects are read in pieces, and are grouped, sorted
and joined by a column of Arrow texts or of numbers that has the same order.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

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
    """A column without objects whose cells are equal, ordered and missing like those of this one.

    Args:
        column: the column.
        strict: whether it is an error if the cells cannot be ordered. Otherwise they are in the order of the rows.

    Raises:
        TypeError: cells cannot be hashed, or not be ordered.
    """
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
    """A figure for each of the groups.

    Args:
        column: the column.
        how: the function.
        groups: the number of each cell's group.
        count: the number of groups.

    Raises:
        TypeError: cells do not have this function.
    """
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
