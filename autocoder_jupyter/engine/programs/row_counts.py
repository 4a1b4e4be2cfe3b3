"""Runs an instrumented module, and follows how many rows its tables have.

`engine.evidence.row_steps` has instrumented it, and `engine.evidence.rows_used` sets the constants and reads what comes
back. Rows are followed by the identity of an index, which pandas passes on wherever the rows stay the same. Where that
does not help, the rows are said to be unknown, and nothing is guessed.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import operator
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.typing import DataFrameGroupBy, Resampler, SeriesGroupBy

CODE = ""
"""The instrumented source."""

NAME = "autocode_rows"
"""The name by which it calls a `Follower`."""

TABLES: list[str] = []
"""The inputs that may be tables."""

OUTPUTS = 1
"""The number of outputs."""

DEFAULTS: dict[str, Any] = {}
"""The values of inputs that may be missing, if the function has no default of its own."""

LABELS: dict[int, list[str]] = {}
"""For the place of a condition: of each part, what must not be missing; "" if it is another condition."""

CONVERTED: dict[int, str] = {}
"""For the place of a conversion: what its values are assigned to."""

SKIPS: dict[int, list[str]] = {}
"""For the place of an aggregation: the columns whose missing values it skips."""

LossNotes: Any = None
"""The class of `loss_notes`, which may be the second part of this program; None if losses are not noted."""

MOST, MOST_TABLES = 2_000, 20_000
"""The maximum numbers of steps, and of tables that are followed. A function with more of them is not followed."""

INPUT, READ, FILTER, KEYS, GROUP, JOIN, CONCAT, GROW, UNKNOWN = range(9)
"""Kinds of steps."""

KEPT_MASKS = 8

FRAMES = (pd.DataFrame, pd.Series)
GROUPED = (DataFrameGroupBy, SeriesGroupBy, Resampler)
INDEXERS = (type(pd.DataFrame().loc), type(pd.DataFrame().iloc))
TEXTS = type(pd.Series(dtype=object).str)
CELLS = (type(pd.DataFrame().at), type(pd.DataFrame().iat))

LISTS = (list, np.ndarray, pd.Index, pd.Series)

FILTERS = frozenset(
    [
        "dropna",
        "drop_duplicates",
        "query",
        "head",
        "tail",
        "nlargest",
        "nsmallest",
        "sample",
        "drop",
        "truncate",
        "between_time",
        "at_time",
        "first",
        "last",
        "xs",
        "filter",
        "take",
    ]
)
SAME_LABELS = frozenset(["sort_values", "sort_index", "copy", "assign", "astype", "to_frame"]) | FILTERS
SAME_ROWS = SAME_LABELS | frozenset(
    [
        "reset_index",
        "set_index",
        "set_axis",
        "rename",
        "rename_axis",
        "droplevel",
        "swaplevel",
        "reorder_levels",
        "tz_convert",
        "tz_localize",
        "to_timestamp",
        "to_period",
        "infer_objects",
        "convert_dtypes",
        "squeeze",
    ]
)
AGGREGATES = frozenset(
    [
        "agg",
        "aggregate",
        "describe",
        "value_counts",
        "pivot_table",
        "sum",
        "mean",
        "median",
        "min",
        "max",
        "count",
        "nunique",
        "std",
        "var",
        "prod",
        "quantile",
        "mode",
        "any",
        "all",
        "idxmin",
        "idxmax",
        "corr",
        "cov",
        "sem",
        "skew",
        "kurt",
        "memory_usage",
    ]
)
GROWS = frozenset(("explode", "melt", "stack"))
LOOPS = frozenset(["iterrows", "itertuples", "to_dict", "to_records", "to_numpy", "tolist", "to_list", "items"])
OF_GROUPS = frozenset(["head", "tail", "nth", "sample", "filter", "nlargest", "nsmallest", "get_group"])
PER_ROW = frozenset(
    [
        "shift",
        "cumsum",
        "cumcount",
        "cumprod",
        "cummax",
        "cummin",
        "rank",
        "diff",
        "pct_change",
        "transform",
        "ffill",
        "bfill",
        "ngroup",
        "fillna",
        "rolling",
        "expanding",
        "ewm",
    ]
)
JOINS = frozenset(("merge", "join", "merge_asof", "merge_ordered"))
ALIGNS = frozenset(("reindex", "reindex_like", "set_axis", "set_index"))
READS = frozenset(["read_csv", "read_parquet", "read_json", "read_excel", "read_table", "read_feather", "read_fwf"])
CONVERSIONS = frozenset(("to_datetime", "to_numeric"))
OF_PANDAS = (JOINS - {"join"}) | READS | CONVERSIONS | {"concat", "pivot_table", "melt", "DataFrame", "Series"}

_OURS, _THEIRS = "autocode_left_row", "autocode_right_row"


class Follower:
    """What an instrumented module calls. It returns and raises what the module would get without it."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, list[int], int, list[Any]]] = []
        self.ends: dict[int, None] = {}
        self.counts: dict[int, None] = {}
        self.loose: dict[int, None] = {}
        self.looped: dict[int, None] = {}
        self.skipped: list[list[int]] = []
        self.is_lost = False
        self._by_index: dict[int, tuple[object, int, int]] = {}
        self._groups: dict[int, tuple[object, int]] = {}
        self._masks: list[tuple[Any, int, Sequence[Any]]] = []
        self._unreadable: dict[str, tuple[int, pd.Index, Any]] = {}
        self._families = 0
        self.losses = LossNotes() if LossNotes is not None else None

    def item(self, place: int, owner: Any, key: Any, /) -> Any:
        """`owner[key]`."""
        value = owner[key]
        self._noting(self._note_item, place, owner, key, value)
        if self.losses is not None:
            self._note_losses(self.losses.item, owner, key, value)
        return value

    def compared(self, place: int, owner: Any, is_equal: bool, word: Any, /) -> Any:
        """`owner == word` or `owner != word`."""
        if self.losses is not None:
            self._note_losses(self.losses.compared, place, owner, is_equal, [word])
        return owner == word if is_equal else owner != word

    def every(self, place: int, /, *parts: Any) -> Any:
        """The parts with `&` between them."""
        value = functools.reduce(operator.and_, parts)
        if type(value) is pd.Series or type(value) is np.ndarray:
            self._masks = [*self._masks[1 - KEPT_MASKS :], (value, place, parts)]
        return value

    def over(self, place: int, value: Any, /) -> Any:
        """What is about to be looped over."""
        if type(value) is pd.Series or isinstance(value, GROUPED):  # of a DataFrame, it would be the names of columns
            self._noting(self._note_loop, place, value)
        return value

    def method(self, place: int, owner: Any, name: str, /) -> Any:
        """`owner.name`, which is about to be called."""
        function = getattr(owner, name)
        is_of_pandas = type(owner) in FRAMES or isinstance(owner, GROUPED) or (owner is pd and name in OF_PANDAS)
        if is_of_pandas or owner is np or (self.losses is not None and type(owner) is TEXTS):
            return functools.partial(self._called, place, owner, name, function)
        return function

    def counted(self, place: int, value: Any, /) -> Any:
        """What `len` is about to be called with."""
        if type(value) in FRAMES:
            self._noting(self._note_count, value)
        return value

    def array(self, place: int, owner: Any, /) -> Any:
        """The owner, whose `values` are about to be taken."""
        if type(owner) in FRAMES:
            self._noting(self._note_loop, place, owner)
        return owner

    slice = staticmethod(slice)

    def add_input(self, number: int, table: Any) -> None:
        """Follow an input."""
        if self._known(table)[0] >= 0:  # two inputs share an index, and could not be told apart
            self.is_lost = True
        self._link(table, self._step(INPUT, number, [], len(table.index), []))

    def found(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """All that was noted, in numbers; nothing if something was missed."""
        if self.is_lost:
            return {}
        steps = [list(step) for step in self.steps]
        noted = {name: list(getattr(self, name)) for name in ("ends", "counts", "loose", "looped", "skipped")}
        return {"steps": steps, "outputs": [self._of(value) for value in outputs], **noted}

    # Notes

    def _note_losses(self, note: Callable[..., None], *given: Any) -> None:
        try:
            note(*given)
        except Exception:  # what cannot be noted must not be an error of the function
            self.losses = None

    def _noting(self, note: Callable[..., None], *given: Any) -> None:
        if not self.is_lost:
            try:
                note(*given)
            except Exception:  # what cannot be noted must not be an error of the function
                self.is_lost = True

    def _step(self, kind: int, place: int, parents: list[int], rows: int, more: list[Any]) -> int:
        if len(self.steps) >= MOST:
            raise OverflowError
        self.steps.append((kind, place, parents, rows, more))
        return len(self.steps) - 1

    def _link(self, table: Any, step: int, family: int | None = None) -> None:
        """Note that a table has the rows of a step. Rows of one family have the same labels in all their tables."""
        if len(self._by_index) + len(self._groups) >= MOST_TABLES:
            raise OverflowError
        if family is None:
            self._families += 1
            family = self._families
        index = table.index
        if (earlier := self._known(table)[0]) >= 0 and earlier != step:
            raise ValueError("other rows have this index")
        if index._id is None:
            index._reset_identity()
        self._by_index[id(index._id)] = index._id, step, family

    def _known(self, table: Any) -> tuple[int, int]:
        """The step whose rows a table has, and their family; -1 if they are not known."""
        token, step, family = self._by_index.get(id(table.index._id), (None, -1, -1))
        if step < 0 or token is not table.index._id or self.steps[step][3] != len(table.index):
            return -1, -1
        return step, family

    def _of(self, value: Any) -> int:
        if type(value) in FRAMES:
            return self._known(value)[0]
        if isinstance(value, GROUPED):
            return self._groups.get(id(_grouper(value)), (None, -1))[1]
        return -1

    def _note_loop(self, place: int, value: Any) -> None:
        self.looped[self._of(value)] = None

    def _note_count(self, value: Any) -> None:
        self.counts[self._of(value)] = None

    def _note_item(self, place: int, owner: Any, key: Any, value: Any) -> None:
        is_indexer = type(owner) in INDEXERS or type(owner) in CELLS
        table = owner.obj if is_indexer else owner
        if type(table) is np.ndarray:
            if type(value) is np.ndarray and _is_mask(key) and len(value) != len(table):
                self.loose[place] = None
            return
        rows = key[0] if is_indexer and type(key) is tuple and key else key
        is_mask = _is_mask(rows)
        is_by_label = is_indexer or type(table) is pd.Series
        if is_by_label and pd.api.types.is_scalar(rows):  # a row that the code chooses
            if (step := self._known(table)[0]) >= 0:
                self.looped[step] = None
            elif type(table) is pd.DataFrame:
                self.loose[place] = None
        takes_rows = is_mask or isinstance(rows, slice) or callable(rows) or (is_by_label and isinstance(rows, LISTS))
        if type(table) not in FRAMES or type(value) not in FRAMES or not takes_rows:
            return
        dropped = self._dropped_by(place, table, rows) if is_mask else []
        kind = UNKNOWN if isinstance(rows, LISTS) and not is_mask and _repeats(table, value) else FILTER
        self._note_rows(place, table, len(table.index), self._known(table), value, kind, dropped)

    def _note_rows(
        self, place: int, table: Any, before: int, known: tuple[int, int], value: Any, kind: int, more: list[Any]
    ) -> None:
        """Note a table that has rows of another one; with `UNKNOWN`, some may come twice."""
        (step, family), after = known, len(value.index)
        if step < 0:
            if after != before:
                self.loose[place] = None
        elif after == before and kind != UNKNOWN:
            self._link(value, step, family)
        elif kind == FILTER and after < before:
            self._link(value, self._step(FILTER, place, [step], after, more), family)
        else:
            self._link(value, self._step(UNKNOWN, place, [step], after, []))

    def _dropped_by(self, place: int, table: Any, mask: Any) -> list[Any]:
        """For each part of a condition the rows that it drops of those that the parts before it keep."""
        if type(mask) is pd.Series and not mask.index.is_(table.index):
            return []
        known = next(((one, parts) for value, one, parts in self._masks if value is mask), None)
        of, parts = known if known is not None else (place, (mask,))
        labels, left = LABELS.get(of, []), np.ones(len(table.index), dtype=bool)
        dropped: list[Any] = []
        for number, part in enumerate(parts):
            if type(part) is pd.Series and not part.index.is_(table.index):
                return []
            holds = _truth(part)
            if holds.shape != left.shape:
                return []
            gone = left & ~holds
            label = labels[number] if number < len(labels) else ""
            dropped.append([of, number, int(gone.sum()), self._unreadable_of(label, table, gone)])
            left &= holds
        is_as_it_was = np.array_equal(left, _truth(mask))  # since its parts were put together
        return dropped if is_as_it_was else []

    def _unreadable_of(self, label: str, table: Any, gone: Any) -> int:
        """How many of some rows had a value that could not be converted."""
        if not label or label not in self._unreadable:
            return 0
        family, index, unreadable = self._unreadable[label]
        if self._known(table)[1] != family or not index.is_unique:
            return 0
        places = index.get_indexer(table.index)
        return 0 if (places < 0).any() else int((gone & unreadable[places]).sum())

    # Calls

    def _called(
        self, place: int, owner: Any, name: str, function: Callable[..., Any], /, *given: Any, **named: Any
    ) -> Any:
        is_table = type(owner) in FRAMES
        before, known = (owner.index, self._known(owner)) if is_table and not self.is_lost else (None, (-1, -1))
        if is_table and name in ("query", "eval"):  # they look for variables in the frame of their caller
            value = function(*given, **{**named, "level": named.get("level", 0) + 1})
        else:
            value = function(*given, **named)
        if is_table:
            self._noting(self._note_call, place, owner, name, given, named, value, before, known)
        elif owner is np:
            self._noting(self._note_of_numpy, given, value)
        elif owner is pd:
            self._noting(self._note_of_pandas, place, name, given, named, value)
        elif type(owner) is not TEXTS:
            self._noting(self._note_of_groups, place, owner, name, given, value)
        if self.losses is not None:
            self._note_losses(self.losses.called, place, owner, name, given, named, value)
        return value

    def _note_call(
        self,
        place: int,
        owner: Any,
        name: str,
        given: tuple[Any, ...],
        named: dict[str, Any],
        value: Any,
        index: Any,
        known: tuple[int, int],
    ) -> None:
        step, before = known[0], len(index)
        if isinstance(value, GROUPED):
            if step >= 0:
                self._note_groups(place, owner, value, given, named, step)
            return
        if name in LOOPS:
            self.looped[step] = None
            return
        result = owner if value is None else value
        if type(result) not in FRAMES:
            is_condition = name == "sum" and type(owner) is pd.Series and owner.dtype.kind == "b"
            if is_condition or name == "count":
                self.looped[step] = None  # the rows for which something holds, or that have a value
            elif name not in ("any", "all"):  # a condition of the code, and no answer of the rows
                self.ends[step] = None
                if type(owner) is pd.Series:
                    self._note_skipped(place, step, [owner])
            return
        if name in JOINS:
            right = given[0] if given else named.get("right", named.get("other"))
            more = {key: one for key, one in named.items() if key not in ("right", "other")}
            self._note_join(
                place, owner, right, lambda ours, theirs: getattr(ours, name)(theirs, *given[1:], **more), result
            )
            return
        if self._known(result)[0] >= 0:
            if name in ALIGNS and self._known(result)[0] != step:
                raise ValueError("rows of one table under the labels of another one")
            return  # the same rows, or those of a function that was called
        if step < 0:
            if name in FILTERS and len(result.index) != before:
                self.loose[place] = None
            return
        if name in AGGREGATES:
            self._note_aggregate(place, step, owner, name, given, named, result)
        elif name in GROWS:
            self._link(result, self._step(GROW, place, [step], len(result.index), []))
        elif name in SAME_ROWS:
            is_labelled = name in SAME_LABELS and not named.get("ignore_index")
            known = (step, known[1] if is_labelled else self._new_family())
            more_rows = self._missing_in(place, owner, named) if name == "dropna" and value is not None else []
            if name == "drop":  # a label may stand for further rows
                more_rows = [[place, 0 if index.is_unique else 1, before - len(result.index), 0]]
            may_repeat = name in ("sample", "take") and (len(result.index) > before or _repeats(owner, result))
            self._note_rows(place, owner, before, known, result, UNKNOWN if may_repeat else FILTER, more_rows)
        else:
            self._link(result, self._step(UNKNOWN, place, [step], len(result.index), []))

    def _new_family(self) -> int:
        self._families += 1
        return self._families

    def _missing_in(self, place: int, table: Any, named: dict[str, Any]) -> list[Any]:
        """For each column the rows that lack a value, of those that have one in the columns before it."""
        labels = LABELS.get(place, [])
        if not all(labels) or not labels or named.get("how", "any") != "any" or named.get("thresh") is not None:
            return []
        left, dropped = np.ones(len(table.index), dtype=bool), list[Any]()
        for number, label in enumerate(labels):
            column = table if type(table) is pd.Series else table[label]
            gone = left & column.isna().to_numpy()
            dropped.append([place, number, int(gone.sum()), self._unreadable_of(label, table, gone)])
            left &= ~gone
        return dropped

    def _note_groups(
        self, place: int, table: Any, groups: Any, given: tuple[Any, ...], named: dict[str, Any], step: int
    ) -> None:
        if isinstance(groups, Resampler):
            on = named.get("on")
            keys: Any = table.index if on is None else table[on]
            missing = np.asarray(pd.isna(keys))
        else:
            numbers = groups.ngroup()
            missing = (numbers.isna() | (numbers < 0)).to_numpy()
        labels, count = LABELS.get(place, []), int(missing.sum())
        unreadable = 0
        if len(labels) == 1 and type(table) is pd.DataFrame and labels[0] in table.columns:
            column = table[labels[0]].isna().to_numpy()  # `ngroup` of a `Grouper` has another order
            unreadable = self._unreadable_of(labels[0], table, column) if column.sum() == count else 0
        more = [[place, 0, count, unreadable]]
        of = self._step(KEYS, place, [step], len(table.index) - count, more)
        self._groups[id(_grouper(groups))] = _grouper(groups), of

    def _note_skipped(self, place: int, step: int, columns: Sequence[Any]) -> None:
        """Note how many of some rows lack a value that is aggregated."""
        for number, column in enumerate(columns):
            if step >= 0 and type(column) is pd.Series and len(self.skipped) < MOST:
                self.skipped.append([place, number, step, int(column.isna().sum())])

    def _note_skipped_of_groups(self, place: int, groups: Any, step: int) -> None:
        if place not in SKIPS or isinstance(groups, Resampler):
            return
        table = groups.obj
        if self.steps[step][3] != len(table.index):  # rows without a key
            numbers = groups.ngroup()
            if hasattr(_grouper(groups), "binlabels") or not numbers.index.equals(table.index):
                return  # `ngroup` of a `Grouper` has another order
            table = table[(numbers.notna() & (numbers >= 0)).to_numpy()]
        if self.steps[step][3] == len(table.index):
            self._note_skipped(place, step, [table if type(table) is pd.Series else table[one] for one in SKIPS[place]])

    def _note_of_groups(self, place: int, groups: Any, name: str, given: tuple[Any, ...], value: Any) -> None:
        of = self._of(groups)
        if name in PER_ROW or isinstance(value, GROUPED):
            return
        if name in LOOPS:
            self.looped[of] = None
        elif of < 0:
            return
        elif type(value) not in FRAMES:
            self.ends[of] = None
        elif self._known(value)[0] >= 0:
            return
        elif name in OF_GROUPS:
            _, _, parent, rows, more = self.steps[of]
            left = [*more, [place, 0, rows - len(value.index), 0]]
            kind = FILTER if value.index.is_unique else UNKNOWN  # `sample` may take a row twice
            self._link(value, self._step(kind, place, parent, len(value.index), left if kind == FILTER else []))
        else:
            if name in ("apply", "pipe") and not _is_of_module(given):
                self.loose[place] = None
            self.ends[of] = None
            self._note_skipped_of_groups(place, groups, of)
            self._link(value, self._step(GROUP, place, [of], len(value.index), []))

    def _note_aggregate(
        self,
        place: int,
        step: int,
        table: Any,
        name: str,
        given: tuple[Any, ...],
        named: dict[str, Any],
        result: Any,
    ) -> None:
        more: list[Any] = []
        rows = len(table.index)
        if name in ("value_counts", "pivot_table") and named.get("dropna", True):
            labels = LABELS.get(place, [])
            gone = np.zeros(rows, dtype=bool)
            for column in _key_columns(table, name, given, named):
                gone |= column.isna().to_numpy()
            more = [[place, 0, int(gone.sum()), self._unreadable_of(labels[0], table, gone) if len(labels) == 1 else 0]]
            rows -= int(gone.sum())
        of = self._step(KEYS, place, [step], rows, more)
        self.ends[of] = None
        self._link(result, self._step(GROUP, place, [of], len(result.index), []))

    def _note_of_pandas(self, place: int, name: str, given: tuple[Any, ...], named: dict[str, Any], value: Any) -> None:
        if name in CONVERSIONS:
            source = given[0] if given else named.get("arg")
            label = CONVERTED.get(place, "")
            if label and named.get("errors") == "coerce" and type(value) is type(source) is pd.Series:
                unreadable = (value.isna() & source.notna()).to_numpy()
                self._unreadable[label] = self._known(value)[1], value.index, unreadable
            return
        if type(value) not in FRAMES:
            return
        if name in READS:
            self._link(value, self._step(READ, place, [], len(value.index), []))
        elif name in JOINS:
            bound = inspect.signature(getattr(pd, name)).bind(*given, **named).arguments
            left, right = bound.pop("left"), bound.pop("right")
            self._note_join(place, left, right, lambda ours, theirs: getattr(pd, name)(ours, theirs, **bound), value)
        elif name in ("DataFrame", "Series"):
            self._note_new(given[0] if given else named.get("data"), value)
        elif name == "concat":
            self._note_concat(place, given[0] if given else named.get("objs"), value)
        elif (step := self._of(table := given[0] if given else named.get("data", named.get("frame")))) >= 0:
            if name == "pivot_table":
                named = {key: one for key, one in named.items() if key != "data"} if not given else named
                self._note_aggregate(place, step, table, name, given[1:], named, value)
            else:
                self._link(value, self._step(GROW, place, [step], len(value.index), []))

    def _note_of_numpy(self, given: tuple[Any, ...], value: Any) -> None:
        """What numpy makes of rows is not followed, unless it has a value for each of them."""
        for one in given:
            if type(one) in FRAMES and np.shape(value)[:1] != (len(one.index),):
                self._note_loop(0, one)

    def _note_new(self, data: Any, value: Any) -> None:
        """Note a table of columns that have the same rows and, in an equal index, the same labels."""
        if self._known(value)[0] >= 0:
            return
        columns = [one for one in data.values() if type(one) in FRAMES] if isinstance(data, dict) else [data]
        known = {self._known(one) if type(one) in FRAMES else (-1, -1) for one in columns}
        if len(known) == 1 and value.index.equals(columns[0].index):
            step, family = known.pop()
            if step >= 0:
                self._link(value, step, family)

    def _note_concat(self, place: int, tables: Any, value: Any) -> None:
        if self._known(value)[0] >= 0:
            return  # side by side
        listed = list(tables.values()) if isinstance(tables, dict) else tables
        parents = [self._of(table) for table in listed] if isinstance(listed, list | tuple) else [-1]
        rows = sum(self.steps[parent][3] for parent in parents if parent >= 0)
        is_whole = min(parents, default=-1) >= 0 and rows == len(value.index)
        kept = [parent for parent in parents if parent >= 0]
        self._link(value, self._step(CONCAT if is_whole else UNKNOWN, place, kept, len(value.index), []))

    def _note_join(self, place: int, left: Any, right: Any, joined: Callable[[Any, Any], Any], value: Any) -> None:
        """Join the tables once more, with numbers of their rows, to see which of them are in the result."""
        parents = [self._of(left), self._of(right)]
        if self._known(value)[0] >= 0:
            return  # the rows of a table, with its index
        if max(parents) < 0:
            self.loose[place] = None
            return
        more: list[Any] = []
        if type(left) in FRAMES and type(right) in FRAMES:
            marked = joined(_numbered(left, _OURS), _numbered(right, _THEIRS))
            ours, theirs = (marked[name].to_numpy("float64", na_value=np.nan) for name in (_OURS, _THEIRS))
            if len(marked.index) == len(value.index):
                pairs = ~np.isnan(ours) & ~np.isnan(theirs)
                for table, numbers in ((left, ours), (right, theirs)):
                    matched, kept = np.unique(numbers[pairs]).size, np.unique(numbers[~np.isnan(numbers)]).size
                    more += [len(table.index), int(matched), int(kept)]
                more.append(int((np.isnan(ours) | np.isnan(theirs)).sum()))
        kind = JOIN if more else UNKNOWN
        kept_parents = parents if more else [parent for parent in parents if parent >= 0]
        self._link(value, self._step(kind, place, kept_parents, len(value.index), more))


def _repeats(table: Any, value: Any) -> bool:
    """Whether a table may have some rows of another one twice."""
    return not (table.index.is_unique and value.index.is_unique)


def _numbered(table: Any, name: str) -> Any:
    frame = table.to_frame() if type(table) is pd.Series else table
    return frame.assign(**{name: np.arange(len(frame.index))})


def _key_columns(table: Any, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> list[pd.Series]:
    """The columns whose values are the keys of `pivot_table` or `value_counts`.

    Raises:
        TypeError: a key is none of the columns.
    """
    if type(table) is pd.Series:
        return [table]
    method: Callable[..., Any] = table.pivot_table if name == "pivot_table" else table.value_counts
    bound = inspect.signature(method).bind(*given, **named).arguments
    keys: list[Any] = []
    for key in (bound.get("index"), bound.get("columns")) if name == "pivot_table" else (bound.get("subset"),):
        if key is not None:
            keys += key if isinstance(key, list) else [key]
    if name == "value_counts" and not keys:
        keys = list(table.columns)
    columns = [table[key.key] if isinstance(key, pd.Grouper) else table[key] for key in keys]
    if not all(type(column) is pd.Series for column in columns):
        raise TypeError("a key that is no column")
    return columns


def _is_of_module(given: tuple[Any, ...]) -> bool:
    """Whether a function was written in the module, so that it is followed."""
    return bool(given) and isinstance(given[0], types.FunctionType) and given[0].__code__.co_filename == "solution.py"


def _grouper(groups: Any) -> Any:
    return groups._grouper if hasattr(groups, "_grouper") else groups.grouper


def _is_mask(key: Any) -> bool:
    if type(key) is pd.Series or isinstance(key, np.ndarray | pd.api.extensions.ExtensionArray):
        return bool(pd.api.types.is_bool_dtype(key.dtype)) or (
            key.dtype == object and len(key) > 0 and all(isinstance(one, bool | np.bool_) for one in key)
        )
    return isinstance(key, list) and bool(key) and all(isinstance(one, bool | np.bool_) for one in key)


def _truth(mask: Any) -> Any:
    return pd.Series(np.asarray(mask) if isinstance(mask, list) else mask).fillna(False).to_numpy(dtype=bool)


def _definitions() -> dict[tuple[str, str], int]:
    """What the counts rest on."""
    starts: tuple[type, ...] = (*FRAMES, *GROUPED, *INDEXERS, pd.RangeIndex, pd.MultiIndex)
    classes = dict.fromkeys(one for start in starts for one in start.__mro__)
    owners = {**{repr(one): vars(one) for one in classes if one is not object}, "builtins": vars(builtins)}
    owners["pandas"] = {name: getattr(pd, name) for name in OF_PANDAS}
    return {(owner, name): id(value) for owner, values in owners.items() for name, value in dict(values).items()}


def run(**inputs: Any) -> Any:
    """The outputs of the function, and what was noted."""
    module = sys.modules["solution"] = types.ModuleType("solution")
    module.__file__ = "solution.py"
    follower, before = Follower(), _definitions()
    module.__dict__[NAME] = follower
    exec(compile(CODE, "solution.py", "exec", dont_inherit=True), module.__dict__)
    function: Callable[..., Any] = module.run
    for number, name in enumerate(TABLES):
        if type(inputs.get(name)) in FRAMES:
            follower.add_input(number, inputs[name])
    missing = {name: value for name, value in DEFAULTS.items() if name not in inputs}
    parameters = inspect.signature(function).parameters if missing else {}
    needed = (name for name in missing if name in parameters and parameters[name].default is inspect.Parameter.empty)
    value = function(**inputs, **{name: missing[name] for name in needed})
    outputs = () if OUTPUTS == 0 else (value,) if OUTPUTS == 1 else value
    after = _definitions()
    changed = any(after.get(name) != one for name, one in before.items())
    found = {} if changed else {**follower.found(outputs), "losses": follower.losses and follower.losses.found()}
    return (*outputs, found) if OUTPUTS else found
