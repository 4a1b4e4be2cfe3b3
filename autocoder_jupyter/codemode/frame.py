"""The operations of programs on a table: each has plain arguments and a result of limited size.

No expressions are evaluated: a condition is a column, one of a few operators, and a value.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from autocoder_jupyter.codemode.recording import encode
from autocoder_jupyter.errors import UnsupportedData
from autocoder_jupyter.request import Share
from autocoder_jupyter.settings.parameters import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

HEAD_ROWS = 100
"""The maximum number of rows of `head`."""

GROUP_ROWS = 5
"""If only statistics are shared, a figure must be computed from at least this many rows."""

JOINED_ROWS = 2_000_000
"""A join is refused if its result has more rows than this, and more than twice the rows of either frame."""

OPERATORS = (
    *("==", "!=", "<", "<=", ">", ">=", "in", "not in"),
    *("contains", "starts with", "ends with", "is null", "not null"),
)
AGGREGATES = ("count", "sum", "mean", "median", "min", "max", "std", "nunique")
Join = Literal["inner", "left", "right", "outer"]


MASKED = "<masked>"
"""The placeholder for values of a masked column."""


@dataclass(frozen=True)
class Sight:
    """What the code may see of tables.

    Args:
        share: the sharing level: rows, statistics or the schema.
        hide: names of columns that the code does not see; they stay in the tables.
        mask: names of columns whose values the code does not see.
    """

    share: Share = "rows"
    hide: frozenset[str] = frozenset()
    mask: frozenset[str] = frozenset()


class Room:
    """The memory limit for all tables of one run.

    Args:
        limit: the limit in bytes; None for no limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._taken = 0

    def take(self, count: int) -> None:
        """Count a new table.

        Raises:
            MemoryError: the limit is exceeded.
        """
        if self._limit is not None and self._taken + count > self._limit:
            raise MemoryError(
                f"the tables that this run makes would take more than {self._limit // 2**20:,} MiB together. "
                "Select the columns and filter the rows that are needed, once, and aggregate"
            )
        self._taken += count


class Withheld(PermissionError):
    """The sharing level does not allow this."""


@dataclass(frozen=True)
class Frame:
    """A table whose rows stay in the notebook. Its methods never change it.

    Args:
        table: the table. Its column names are unique texts.
        origin: how it was made; the same in every run of the same code.
        sight: what the code may see of it.
        smallest: the smallest number of rows behind a figure in it; 1 for a table of rows.
        room: the memory limit for tables that are derived from it.
        given: the original object from the user or a tool, if it was not a DataFrame. It is returned unchanged.
    """

    table: pd.DataFrame
    origin: str
    sight: Sight = Sight()
    smallest: int = 1
    room: Room = field(default_factory=Room, compare=False, repr=False)
    given: Any = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return [name for name in self.table.columns if name not in self.sight.hide]

    @property
    def dtypes(self) -> dict[str, str]:
        """Dtype of each column."""
        return {name: str(self.table[name].dtype) for name in self.columns}

    def count(self) -> int:
        """Number of rows."""
        if self.sight.share == "schema":
            raise Withheld("count: only names and dtypes of the columns are shared here")
        return len(self.table)

    def head(self, n: int = 5) -> list[dict[str, Any]]:
        """The first rows, as dicts by column; a missing value is None."""
        self._require_visible("head")
        if not _is_count(n) or n > HEAD_ROWS:
            raise ValueError(f"head gives 1 to {HEAD_ROWS} rows, not {n!r}")
        columns = self.columns
        rows = self.table[columns].head(n).itertuples(index=False, name=None)
        return [{name: self._seen(name, cell) for name, cell in zip(columns, row, strict=True)} for row in rows]

    def scalar(self, column: str | None = None) -> Any:
        """The value of a column in a frame of one row."""
        self._require_visible("scalar")
        if column is None and len(self.columns) != 1:
            raise ValueError(f"scalar needs the name of a column: {self._known()}")
        name = self.columns[0] if column is None else self._column(column)
        if len(self.table) != 1:
            raise ValueError(f"scalar needs a frame of one row, and this one has {len(self.table)}")
        return self._seen(name, self.table[name].iloc[0])

    def filter(self, column: str, operator: str, value: Any = None) -> Frame:
        """The rows for which a condition on one column is true. A missing value satisfies only `is null`."""
        name = self._column(column)
        condition = _CONDITIONS.get(operator)
        if condition is None:
            raise ValueError(f"filter knows {', '.join(OPERATORS)}, not {operator!r}")
        is_list = isinstance(value, list | tuple | set | frozenset)
        if is_list != (operator in ("in", "not in")) or isinstance(value, dict | Frame):
            raise TypeError(f"filter {operator!r} needs {'one value' if is_list else 'a list of values'}")
        cells = self.table[name]
        held = condition(cells, value).fillna(False).astype(bool)
        table = self.table[held if operator == "is null" else held & cells.notna()]
        return self._derived(table, "filter", [name, operator, value])

    def select(self, *columns: str) -> Frame:
        """These columns, in this order."""
        names = self._columns(columns)
        return self._derived(self.table[names], "select", names)

    def sort(self, by: str | Sequence[str], descending: bool = False) -> Frame:
        """The rows sorted by one or more columns. The sort is stable; missing values come last."""
        names = self._columns(by)
        table = self.table.sort_values(names, ascending=not descending, kind="stable", na_position="last")
        return self._derived(table, "sort", [names, bool(descending)])

    def aggregate(self, figures: dict[str, Any], by: str | Sequence[str] = ()) -> Frame:
        """One row for each group, or one row for all. Each figure is a new name with a column and a function."""
        names = self._columns(by) if by else []
        wanted = {new: self._figure(new, figure) for new, figure in _dict("aggregate", figures).items()}
        if taken := [new for new in wanted if new in names or new in self.sight.hide | self.sight.mask]:
            raise ValueError(f"aggregate: {taken[0]!r} is a column already; give the figure another name")
        grouped = self.table.groupby(names, dropna=False, observed=True, sort=True) if names else None
        if grouped is None:
            table = _table({new: [getattr(self.table[column], how)()] for new, (column, how) in wanted.items()})
            least = len(self.table)
        else:
            table = grouped.agg(**wanted).reset_index()
            least = int(grouped.size().min()) if len(table) else 0
        made = self._derived(table, "aggregate", [wanted, names])
        return replace(made, smallest=least * self.smallest)

    def join(self, other: Frame, on: str | Sequence[str], how: Join = "inner") -> Frame:
        """A join on these columns. Other columns that both frames have become `name` and `name_right`."""
        if not isinstance(other, Frame):
            raise TypeError("join needs another Frame")
        if how not in get_args(Join):
            raise ValueError(f"join knows {', '.join(get_args(Join))}, not {how!r}")
        names = self._columns(on)
        other._columns(on)
        rows = _joined_rows(self.table, other.table, names, how)
        most = max(JOINED_ROWS, 2 * len(self.table), 2 * len(other.table))
        if rows > most:
            raise ValueError(f"join would give {rows:,} rows, at most {most:,}: the keys are not unique enough")
        table = self.table.merge(other.table, on=names, how=how, suffixes=("", "_right"))
        made = self._derived(table, "join", [other.origin, names, how])
        return replace(made, smallest=min(self.smallest, other.smallest), sight=_joined_sight(self, other))

    def _derived(self, table: pd.DataFrame, step: str, arguments: Any) -> Frame:
        said = encode([self.origin, step, arguments], lambda value: type(value).__name__)
        self.room.take(int(table.memory_usage().sum()))
        origin = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        return replace(self, table=table.reset_index(drop=True), origin=origin, given=None)

    def _require_visible(self, what: str) -> None:
        if self.sight.share == "schema":
            raise Withheld(f"{what}: only names and dtypes of the columns are shared here, no values")
        if self.sight.share == "stats" and self.smallest < GROUP_ROWS:
            raise Withheld(
                f"{what}: only statistics are shared here. "
                f"Use aggregate first; each of its rows must stand for {GROUP_ROWS} rows or more"
            )

    def _columns(self, columns: str | Sequence[str]) -> list[str]:
        given = [columns] if isinstance(columns, str) else list(columns)
        if not given:
            raise ValueError(f"name at least one column: {self._known()}")
        return list(dict.fromkeys(map(self._column, given)))

    def _column(self, column: str) -> str:
        if isinstance(column, str) and column in self.columns:
            return column
        hint = did_you_mean(str(column), self.columns)
        raise KeyError(f"there is no column {column!r}. {f'{hint} ' if hint else ''}{self._known()}")

    def _known(self) -> str:
        shown = ", ".join(map(repr, self.columns[:50]))
        return f"Columns: {shown}{', …' if len(self.columns) > 50 else ''}"

    def _figure(self, new: Any, figure: Any) -> tuple[str, str]:
        if not isinstance(new, str) or not isinstance(figure, list | tuple) or len(figure) != 2:
            raise TypeError('aggregate takes figures as {"total": ("amount", "sum")}')
        column, how = figure
        if how not in AGGREGATES:
            raise ValueError(f"aggregate knows {', '.join(AGGREGATES)}, not {how!r}")
        if column in self.sight.mask and how not in ("count", "nunique"):
            raise Withheld(f"aggregate: no value of {column!r} is shared here, only count and nunique")
        return self._column(column), how

    def _seen(self, name: str, cell: Any) -> Any:
        """A cell for the code; None if it is missing."""
        import pandas as pd

        if pd.api.types.is_scalar(cell) and pd.isna(cell):
            return None
        return MASKED if name in self.sight.mask else cell


METHODS = ("count", "head", "scalar", "filter", "select", "sort", "aggregate", "join")
"""The methods that the program may call."""


def frame_of(value: Any, origin: str, sight: Sight, room: Room | None = None) -> Frame:
    """A handle for a table from the user or a tool. A Series becomes a frame with one column.

    Raises:
        UnsupportedData: two columns have the same name.
    """
    import pandas as pd

    from autocoder_jupyter.data.capture import capture

    value = capture(value)
    given, table = (value, value.to_frame(_series_name(value))) if isinstance(value, pd.Series) else (None, value)
    names = [name if isinstance(name, str) else str(name) for name in table.columns]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise UnsupportedData(f"Two columns of a DataFrame have the name {twins[0]!r}.", hint="Rename one of them.")
    if names != list(table.columns):
        given, table = value, table.set_axis(names, axis=1)
    return Frame(table, origin, sight, room=room or Room(), given=given)


def _series_name(series: Any) -> Any:
    return "value" if series.name is None else series.name


def _is_count(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 1


def _dict(what: str, value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict) or not value:
        raise TypeError(f"{what} needs a dict that is not empty")
    return value


def _table(columns: dict[str, list[Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns)


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


def _joined_sight(left: Frame, right: Frame) -> Sight:
    """What the code may see of a join. A hidden or masked column stays so under its new name."""
    sight = left.sight
    hide = {f"{name}_right" for name in right.table.columns if name in sight.hide}
    mask = {f"{name}_right" for name in right.table.columns if name in sight.mask}
    return replace(sight, hide=sight.hide | right.sight.hide | hide, mask=sight.mask | right.sight.mask | mask)


def _joined_rows(left: pd.DataFrame, right: pd.DataFrame, names: list[str], how: Join) -> int:
    """The number of rows of a join, computed without the join."""
    ours = left.groupby(names, dropna=False, observed=True).size()
    theirs = right.groupby(names, dropna=False, observed=True).size()
    rows = int((ours * theirs).dropna().sum())
    if how in ("left", "outer"):
        rows += int(ours[~ours.index.isin(theirs.index)].sum())
    if how in ("right", "outer"):
        rows += int(theirs[~theirs.index.isin(ours.index)].sum())
    return rows
