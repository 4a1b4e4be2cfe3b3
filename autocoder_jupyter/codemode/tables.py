"""The tables of a program, and the rule on what the program sees of them.

Each table shows its cells, aggregates, or names:

- *cells*: everything except the cells of masked columns. With `share="rows"`, every table from the user or a tool.
- *aggregates*: the number of rows, and aggregates of single columns. With `share="stats"`, a table from the user.
- *names*: the names and dtypes of its columns. Every other table.

**An operation makes a table that shows cells only if all cells that it reads are shown. Any other operation makes a
table that shows names.** Its columns, dtypes and errors are those of the same operation on tables without rows, so they
are the same whatever the cells are. An operation that fails on the rows is found out when the table leaves: it ends the
run, and the model is not asked again. A table that shows names is not lost: it can go to tools and to the user.

Aggregates of a column are computed from its cells in sorted order, without the other columns. So they do not reveal in
which row a cell is. Such a table cannot be filtered, grouped or joined, because the difference of two aggregates over
overlapping rows can be the value of one row.

The rule is tested by comparing what two programs see: of tables that differ in what is not shown, they see the same.
"""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from autocoder_jupyter.codemode import operations
from autocoder_jupyter.codemode.limits import Limits
from autocoder_jupyter.codemode.operations import AGGREGATES, OPERATORS, Join
from autocoder_jupyter.codemode.tools import require_free_name
from autocoder_jupyter.codemode.values import Crossing, encode, is_frame
from autocoder_jupyter.errors import BudgetSpent, InvalidRequest, UnsupportedData
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.request import Share
from autocoder_jupyter.settings.parameters import suggestion

if TYPE_CHECKING:
    import pandas as pd


# Frames

HEAD_ROWS = 100
"""The maximum number of rows of `head`."""

LEAST_CELLS = 5
"""The minimum number of cells of an aggregate that is not a count."""

MASKED = "<masked>"
"""The placeholder for values of a masked column."""

SUFFIX = "_right"
"""The ending of a column's name after a join, if both tables have a column with this name."""

Shows = Literal["cells", "aggregates", "names"]
"""What the program sees of a table; see the module's docstring."""

_PLAIN = (str, bytes, bool, int, float, complex, dt.date, dt.time, dt.timedelta, decimal.Decimal, type(None))
_FORBIDDEN = {
    "rows": "this table depends on cells of a masked column, so only its columns and dtypes are shown",
    "stats": "only statistics are shared here. Of a table that was passed: count(); after aggregate without `by`, the "
    f"count and nunique of a column, and the sum, mean and std of numbers (at least {LEAST_CELLS}, none larger than "
    "the others together); after aggregate({'rows': (column, 'count')}, by=column), the values of a column that has "
    "few and frequent ones. Of other tables only columns and dtypes are shown",
    "schema": "only names and dtypes of the columns are shared here, no values",
}
_WAY_OUT = "A tool can take this table, and the person gets it as the value of the answer"


@dataclass(frozen=True)
class Visibility:
    """What the code may see of tables.

    Args:
        share: the sharing level: rows, statistics or the schema.
        hide: names of columns that the code does not see; they stay in the tables.
        mask: names of columns whose values the code does not see.
    """

    share: Share = "rows"
    hide: frozenset[str] = frozenset()
    mask: frozenset[str] = frozenset()

    @property
    def is_everything(self) -> bool:
        """Whether the code may see all cells of all tables."""
        return self.share == "rows" and not self.hide and not self.mask

    def hidden(self, names: Iterable[str]) -> frozenset[str]:
        """The hidden ones of these columns."""
        return frozenset(name for name in names if _without_suffix(name, self.hide))

    def masked(self, names: Iterable[str]) -> frozenset[str]:
        """The masked ones of these columns."""
        return frozenset(name for name in names if _without_suffix(name, self.mask))


class MemoryBudget:
    """The memory limit for all tables of one run.

    Tables whose cells are not shown are counted apart: otherwise the error at the limit would reveal their size.

    Args:
        limit: the limit in bytes of each of the two sorts; None for no limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._taken = {True: 0, False: 0}

    def take(self, count: int, *, shown: bool) -> None:
        """Count a new table."""
        self.require(self._taken[shown] + count)
        self._taken[shown] += count

    def require(self, count: int) -> None:
        """Check that tables of this size are allowed, before they are made."""
        if self._limit is not None and count > self._limit:
            raise MemoryError(
                f"the tables that this run makes would take more than {self._limit // 2**20:,} MiB together. "
                "Select the columns and filter the rows that are needed, once, and aggregate"
            )


class NotShared(PermissionError):
    """The sharing level does not allow this operation."""


class FailedOnData(Exception):
    """An operation failed on rows that are not shown. The program must not learn this: it ends the run."""


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """A table whose rows stay in the notebook. Its methods never change it.

    Args:
        table: the table. Its column names are unique texts. If it shows cells, hidden and masked columns hold row
            numbers of `sources` instead, so that no operation can depend on them.
        origin: how it was made; the same in every run of the same code.
        visibility: what the code may see of tables.
        shows: what the code sees of this one.
        hidden: names of the columns that the code does not see.
        masked: names of the columns whose cells the code does not see.
        sources: the cells of hidden and masked columns, if the table has row numbers in their place.
        pattern: the table without rows, if the code sees only its names.
        failure: why there is no table.
        memory: the memory limit for tables that are derived from it.
        given: the original object from the user or a tool, if it is not `table`. It is returned unchanged.
    """

    table: pd.DataFrame
    origin: str
    visibility: Visibility
    shows: Shows
    hidden: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    sources: Mapping[str, pd.Series[Any]] = field(default_factory=dict)
    pattern: pd.DataFrame | None = None
    failure: str = ""
    memory: MemoryBudget = field(default_factory=MemoryBudget)
    given: Any = None

    def __repr__(self) -> str:
        """Without cells, because errors quote wrong arguments, and a program can pass a frame as any of them."""
        return "<Frame>"

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        table = self.table if self.pattern is None else self.pattern
        return [name for name in table.columns if name not in self.hidden]

    @property
    def dtypes(self) -> dict[str, str]:
        """Dtype of each column."""
        from autocoder_jupyter.data.column_profile import dtype_name

        return {name: dtype_name(self._dtype(name)) for name in self.columns}

    def count(self) -> int:
        """Number of rows."""
        if self.shows == "names":
            raise self._withheld("count")
        return len(self.table)

    def head(self, n: int = 5) -> list[dict[str, Any]]:
        """The first rows, as dicts by column; a missing value is None."""
        self._require_cells("head")
        if not _is_count(n) or n > HEAD_ROWS:
            raise ValueError(f"head gives 1 to {HEAD_ROWS} rows, not {n!r}")
        columns = self.columns
        rows = self.table[columns].head(n).itertuples(index=False, name=None)
        return [{name: self._seen(name, cell) for name, cell in zip(columns, row, strict=True)} for row in rows]

    def scalar(self, column: str | None = None) -> Any:
        """The value of a column in a frame of one row."""
        self._require_cells("scalar")
        if column is None and len(self.columns) != 1:
            raise ValueError(f"scalar needs the name of a column: {self._known()}")
        name = self.columns[0] if column is None else self._column(column)
        if len(self.table) != 1:
            raise ValueError(f"scalar needs a frame of one row, and this one has {len(self.table)}")
        return self._seen(name, self.table[name].iloc[0])

    def filter(self, column: str, operator: str, value: Any = None) -> Frame:
        """The rows for which a condition on one column is true. A missing value satisfies only `is null`."""
        name = self._column(column)
        if operator not in OPERATORS:
            raise ValueError(f"filter knows {', '.join(OPERATORS)}, not {operator!r}")
        if operator in ("in", "not in"):
            if not isinstance(value, list | tuple | set | frozenset) or not all(
                isinstance(one, _PLAIN) for one in value
            ):
                raise TypeError(f"filter {operator!r} needs a list of values")
        elif not isinstance(value, _PLAIN):
            raise TypeError(f"filter {operator!r} needs one value")
        return self._made(
            "filter", [name, operator, value], lambda table: operations.filtered(table, name, operator, value), [name]
        )

    def select(self, *columns: str) -> Frame:
        """These columns, in this order."""
        names = self._columns(columns)
        return self._made("select", names, lambda table: table[names], [], keeps_rows=True)

    def sort(self, by: str | Sequence[str], descending: bool = False) -> Frame:
        """The rows sorted by one or more columns. The sort is stable; missing values come last."""
        names = self._columns(by)
        if not isinstance(descending, bool):
            raise ValueError(f"descending must be True or False, for all columns, not {descending!r:.100}")
        return self._made(
            "sort", [names, descending], lambda table: operations.ordered(table, names, descending), names
        )

    def aggregate(self, figures: dict[str, Any], by: str | Sequence[str] = ()) -> Frame:
        """One row for each group, or one row for all. Each figure is a new name with a column and a function."""
        names = self._columns(by) if by else []
        wanted = {new: self._figure(new, figure) for new, figure in _dict("aggregate", figures).items()}
        if taken := [new for new in wanted if new in names]:
            raise ValueError(f"aggregate: {taken[0]!r} is a column already; give the figure another name")
        read = [*names, *(column for column, _ in wanted.values())]
        source = self._single_columns(wanted, names) or self
        return source._made(
            "aggregate",
            [wanted, names],
            lambda table: operations.aggregated(table, wanted, names),
            read,
            computed=wanted,
        )

    def join(self, other: Frame, on: str | Sequence[str], how: Join = "inner") -> Frame:
        """A join on these columns. Other columns that both frames have become `name` and `name_right`."""
        if not isinstance(other, Frame):
            raise TypeError("join needs another Frame")
        if how not in get_args(Join):
            raise ValueError(f"join knows {', '.join(get_args(Join))}, not {how!r}")
        names = self._columns(on)
        other._columns(on)
        ours, theirs = (
            one._renamed(to) for one, to in zip((self, other), _joined_names(self, other, names), strict=True)
        )
        hidden = ours.hidden | theirs.hidden
        return ours._made(
            "join",
            [other.origin, names, how],
            lambda left, right: operations.joined(left, right, names, how, hidden, self.memory.require),
            names,
            [theirs],
        )

    def released(self) -> Any:
        """The table for a tool or the user."""
        return self._whole() if self.given is None else self.given

    # How tables are made

    def _made(
        self,
        step: str,
        arguments: Any,
        work: Callable[..., pd.DataFrame],
        reads: Sequence[str],
        others: Sequence[Frame] = (),
        *,
        keeps_rows: bool = False,
        computed: Collection[str] = (),
    ) -> Frame:
        """The table that an operation makes; see the rule in the module's docstring."""
        frames = (self, *others)
        steps = encode([self.origin, step, arguments], lambda value: type(value).__name__)
        hidden = frozenset[str]().union(*(frame.hidden for frame in frames))
        masked = frozenset[str]().union(*(frame.masked for frame in frames))
        shows: Shows = "names"
        if all(frame.shows == "cells" for frame in frames) and not masked.intersection(reads):
            shows = "cells"
        elif keeps_rows:
            shows = self.shows
        table, pattern, failure, sources = self.table, None, "", {}
        if shows == "names":
            pattern = operations.without_rows(work(*(frame._without_rows() for frame in frames)))
            table, failure = self._unseen(step, work, frames)
        else:
            table = work(*(frame.table for frame in frames))
            # Hidden columns are not counted: an error would reveal that there are any. Each takes 8 bytes in a row.
            kept = set(table.columns).difference(computed)
            self.memory.take(int(table.drop(columns=list(hidden & kept)).memory_usage().sum()), shown=True)
            sources = {name: cells for frame in frames for name, cells in frame.sources.items() if name in kept}
        names = set((table if pattern is None else pattern).columns).difference(computed)
        return replace(
            self,
            table=table,
            origin=hashlib.sha256(json.dumps(steps, sort_keys=True).encode()).hexdigest(),
            shows=shows,
            hidden=hidden.intersection(names),
            masked=masked.intersection(names),
            sources=sources,
            pattern=pattern,
            failure=failure,
            given=None,
        )

    def _unseen(
        self, step: str, work: Callable[..., pd.DataFrame], frames: Sequence[Frame]
    ) -> tuple[pd.DataFrame, str]:
        """A table that the code does not see, and why there is none."""
        try:
            table = work(*(frame._whole() for frame in frames))
            self.memory.take(int(table.memory_usage().sum()), shown=False)
        except FailedOnData as error:
            return self.table.iloc[:0], str(error)
        except Exception as error:  # pandas may raise any error for cells that do not fit the operation
            return self.table.iloc[:0], f"{step} failed with {type(error).__name__}"
        return table, ""

    def _whole(self) -> pd.DataFrame:
        """The table with the cells of all columns."""
        if self.failure:
            raise FailedOnData(self.failure)
        cells = {name: _cells_at(cells, self.table[name]) for name, cells in self.sources.items()}
        return self.table.assign(**cells) if cells else self.table

    def _without_rows(self) -> pd.DataFrame:
        """The table with its columns and dtypes, without rows."""
        if self.pattern is not None:
            return self.pattern
        empty = {name: self._missing(name).iloc[:0] for name in self.sources}
        return operations.without_rows(self.table.iloc[:0].assign(**empty) if empty else self.table)

    def _missing(self, name: str) -> pd.Series[Any]:
        """A hidden or masked column with at most one cell. It has the dtype of the whole column."""
        rows = self.table[name]
        return _cells_at(self.sources[name], rows[rows.isna()].iloc[:1])

    def _dtype(self, name: str) -> Any:
        if name in self.sources:
            return self._missing(name).dtype
        return (self.table if self.pattern is None else self.pattern)[name].dtype

    def _renamed(self, names: dict[str, str]) -> Frame:
        """The same frame with other names of columns."""
        pattern = None if self.pattern is None else self.pattern.rename(columns=names)
        return replace(
            self,
            table=self.table.rename(columns=names),
            hidden=frozenset(names[name] for name in self.hidden),
            masked=frozenset(names[name] for name in self.masked),
            sources={names[name]: cells for name, cells in self.sources.items()},
            pattern=pattern,
        )

    def _single_columns(self, figures: operations.Figures, by: Sequence[str]) -> Frame | None:
        """The columns for these figures, each in an order of its own; None if the figures are not shown."""
        columns = {*by, *(column for column, _ in figures.values())}
        if self.shows != "aggregates" or self.masked.intersection(columns):
            return None
        if by:
            is_shown = all([column, how] == [*by, "count"] for column, how in figures.values())
            is_shown = is_shown and operations.has_few_frequent_values(self.table[by[0]])
        else:
            is_shown = all(
                how in ("count", "nunique")
                or (how in ("sum", "mean", "std") and operations.has_many_cells(self.table[column], LEAST_CELLS))
                for column, how in figures.values()
            )
        if not is_shown:
            return None
        table = operations.separated(self.table, sorted(columns))
        return replace(self, table=table, shows="cells", hidden=frozenset(), masked=frozenset(), sources={})

    # What the code may see

    def _require_cells(self, what: str) -> None:
        if self.shows != "cells":
            raise self._withheld(what)

    def _withheld(self, what: str) -> NotShared:
        return NotShared(f"{what}: {_FORBIDDEN[self.visibility.share]}. {_WAY_OUT}")

    def _columns(self, columns: str | Sequence[str]) -> list[str]:
        given = [columns] if isinstance(columns, str) else list(columns)
        if not given:
            raise ValueError(f"name at least one column: {self._known()}")
        return list(dict.fromkeys(map(self._column, given)))

    def _column(self, column: str) -> str:
        if isinstance(column, str) and column in self.columns:
            return column
        hint = suggestion(str(column), self.columns)
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
        return self._column(column), how

    def _seen(self, name: str, cell: Any) -> Any:
        """A cell for the code; None if it is missing."""
        import pandas as pd

        if pd.api.types.is_scalar(cell) and pd.isna(cell):
            return None
        return MASKED if name in self.masked else cell


METHODS = ("count", "head", "scalar", "filter", "select", "sort", "aggregate", "join")
"""The methods that the program may call."""


def frame_of(
    value: Any, origin: str, visibility: Visibility, memory: MemoryBudget | None = None, *, passed: bool = False
) -> Frame:
    """A handle for a table from the user or a tool. A Series becomes a frame with one column."""
    import pandas as pd

    from autocoder_jupyter.data.capture import capture, computed

    value = capture(computed(value))  # a tool may give back a lazy frame
    table = value.to_frame(_series_name(value)) if isinstance(value, pd.Series) else value
    names = [name if isinstance(name, str) else str(name) for name in table.columns]
    if twins := sorted({name for name in names if names.count(name) > 1}):
        raise UnsupportedData(f"Two columns of a DataFrame have the name {twins[0]!r}.", hint="Rename one of them.")
    if names != list(table.columns):
        table = table.set_axis(names, axis=1)
    hidden, masked = visibility.hidden(names), visibility.masked(names)
    sources = {name: table[name].reset_index(drop=True) for name in names if name in hidden | masked}
    if sources:
        table = table.assign(**dict.fromkeys(sources, range(len(table))))
    shows: Shows = "aggregates" if passed and visibility.share == "stats" else "names"
    return Frame(
        table,
        origin,
        visibility,
        "cells" if visibility.share == "rows" else shows,
        hidden,
        masked,
        sources,
        memory=memory or MemoryBudget(),
        given=None if table is value else value,
    )


def _series_name(series: Any) -> Any:
    return "value" if series.name is None else series.name


def _cells_at(cells: pd.Series[Any], rows: pd.Series[Any]) -> pd.Series[Any]:
    """The cells of these rows; missing where the row is. The result has the index of `rows`."""
    return cells.reindex(rows.array).set_axis(rows.index)


def _joined_names(left: Frame, right: Frame, keys: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The names of both tables' columns in a join.

    The names of hidden columns are chosen last, so that they change no name that the code sees.
    """
    names: tuple[dict[str, str], dict[str, str]] = ({}, {key: key for key in keys})
    taken: set[str] = set()
    for is_hidden in (False, True):
        for frame, chosen in zip((left, right), names, strict=True):
            for name in frame._without_rows().columns:
                if name in chosen or (name in frame.hidden) != is_hidden:
                    continue
                new = name
                while new in taken:
                    new += SUFFIX
                chosen[name] = new
                taken.add(new)
    return names


def _without_suffix(name: str, names: frozenset[str]) -> bool:
    """Whether a name is one of these, or became so by joins."""
    while name not in names and name.endswith(SUFFIX):
        name = name.removesuffix(SUFFIX)
    return name in names


def _is_count(n: Any) -> bool:
    return isinstance(n, int) and not isinstance(n, bool) and n >= 1


def _dict(what: str, value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict) or not value:
        raise TypeError(f"{what} needs a dict that is not empty")
    return value


# The tables of a run, and the text about them for the model

COLUMNS = 200
"""The maximum number of columns of a frame in the text for the model."""

LONGEST = 2_000
"""The maximum number of characters of an operation's error."""


def about(visibility: Visibility) -> str:
    """The description of Frames for the model."""
    masks = visibility.mask and visibility.share == "rows"
    seen = "Any of it can be seen." if visibility.share == "rows" else prompt(f"code_mode.frames at {visibility.share}")
    if masks:
        seen += f" {prompt('code_mode.frames masked')}"
    if masks or visibility.share != "rows":
        seen += f" {prompt('code_mode.frames unseen')}"
    return prompt("code_mode.frames", seen=seen)


class Frames:
    """The tables of one run.

    Args:
        visibility: what the code may see of them.
        limits: the limits of values that go into the sandbox, and of tables that are made.
        tables: the tables that the program has from the beginning, by name.
    """

    def __init__(self, visibility: Visibility, limits: Limits, tables: Mapping[str, Any]) -> None:
        self._visibility = visibility
        self._tables = tables
        self._limits = limits
        self._memory = MemoryBudget()
        self._seconds = 0.0
        self.crossing = Crossing(limits.crossing, self._wrap, self._unwrap)

    def globals(self) -> dict[str, Any]:
        """The handles for a new sandbox by name. Tables of the previous sandbox are dropped."""
        both = self._visibility.mask and self._visibility.share == "rows"  # only then there are tables of both sorts
        self._memory = MemoryBudget(self._limits.table_bytes // (2 if both else 1))
        return {name: self._wrap(table, name, passed=True) for name, table in self._tables.items()}

    def _wrap(self, table: Any, origin: str, *, passed: bool = False) -> Any:
        return frame_of(table, origin, self._visibility, self._memory, passed=passed)

    def operate(self, frame: Frame, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The outcome of an operation for the program."""
        started = time.monotonic()
        try:
            return self._operated(frame, name, args, kwargs)
        finally:
            self._seconds += time.monotonic() - started
            self._require_time()

    def _require_time(self) -> None:
        if self._seconds > self._limits.table_seconds:
            raise BudgetSpent(
                f"The operations of the code on tables took more than {self._limits.table_seconds:g} seconds.",
                hint="Ask for less at once, pass smaller tables, or raise limits.table_seconds.",
                limit="table_seconds",
            )

    def _operated(self, frame: Frame, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        try:
            if name not in METHODS:
                raise AttributeError(f"'Frame' object has no attribute {name!r}")
            value = getattr(frame, name)(*args, **kwargs)
            return value if isinstance(value, Frame) else self.crossing.inward(value, name, "")
        except Exception as error:  # pandas may raise any error for a wrong argument
            kinds = (KeyError, PermissionError, AttributeError, TypeError, MemoryError)
            kind = next((kind for kind in kinds if isinstance(error, kind)), ValueError)
            raise kind(str(error.args[0] if error.args else error)[:LONGEST]) from None

    @staticmethod
    def _unwrap(value: Any) -> Any:
        if not isinstance(value, Frame):
            raise LookupError
        from autocoder_jupyter.data.capture import capture

        return capture(value.released())


def key_form(value: Any) -> Any:
    """The form in a call's key of a value that is not plain."""
    if isinstance(value, Frame):
        return {"$type": "frame", "value": value.origin}
    return {"$type": "other", "value": type(value).__name__}


def checked_frames(frames: Mapping[str, Any] | None, tools: Iterable[str]) -> dict[str, Any]:
    """The captured frames of a run by name."""
    if frames is None:
        return {}
    if not isinstance(frames, Mapping):
        raise InvalidRequest("frames must be a dict of DataFrames by name.")
    from autocoder_jupyter.data.capture import capture, is_table

    found = {}
    for name, table in frames.items():
        require_free_name("frames", name)
        if name in set(tools):
            raise InvalidRequest(f"frames: {name!r} is the name of a tool.", hint="Give the frame another name.")
        if not is_frame(table) and not is_table(table):
            raise InvalidRequest(f"frames: {name} is a {type(table).__name__}, not a DataFrame or Series.")
        found[name] = capture(table)
        frame_of(found[name], name, Visibility())  # refuses duplicate column names now
    return found


def described(tables: Mapping[str, Any], visibility: Visibility) -> str:
    """The text about the tables of a request for the model: columns and dtypes. It does not depend on the rows."""
    lines = []
    for name, table in tables.items():
        dtypes = frame_of(table, name, visibility).dtypes
        shown = [f"{column!r} {dtype}" for column, dtype in list(dtypes.items())[:COLUMNS]]
        shown += [f"and {len(dtypes) - COLUMNS} more"] if len(dtypes) > COLUMNS else []
        lines.append(f"- {name}: {', '.join(shown)}")
    return "\n".join(["Frames that your code has by name:", *lines]) if lines else ""
