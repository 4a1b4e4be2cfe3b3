"""`growth.over` of a frame of Dask: a frame of the answers. Dask computes it when it is asked for them.

A partition is a piece. For groups Dask brings the rows with the same keys into one partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.engine.splitting.answers import difference
from autocoder_jupyter.equality.tables import has_own_index
from autocoder_jupyter.errors import AutocodeError, DataDrift, InvalidRequest, NotSplittable, PieceFailed, TooBig
from autocoder_jupyter.scaling.answers import require_same
from autocoder_jupyter.scaling.chunk import computed
from autocoder_jupyter.scaling.partition import row_hashes
from autocoder_jupyter.scaling.piece_calls import APART, CHECKED, Piece, PieceCalls
from autocoder_jupyter.untrusted.visible import visible

BUCKET = "_autocode_bucket"
"""The column by which Dask shuffles: the number of the rows' bucket."""

PLACE = "_autocode_place"
"""The place of a row in the whole table, by which each piece is sorted: Dask does not keep the order."""

BUCKETS = 8
"""Buckets for each partition. Dask divides them by their hash, so with one for each many partitions would be empty."""

MERGED = 16
"""Answers that are merged in one call."""


@dataclass(frozen=True)
class _Task:
    """What the tasks of Dask need besides the rows. It is sent once to each worker.

    Args:
        calls: calls the function for pieces.
        memory: bytes that a piece may have.
        empty: the table of the source, without rows.
        answer: the answer, without rows. Each has its columns and dtypes.
    """

    calls: PieceCalls
    memory: int
    empty: pd.DataFrame
    answer: pd.DataFrame

    def computed(self, table: pd.DataFrame, name: str, *, check: bool = False) -> pd.DataFrame:
        """The answer for a piece.

        Args:
            table: its rows.
            name: what it is, for messages.
            check: whether it is also computed in parts.

        Raises:
            TooBig: the piece is larger than the memory.
        """
        name = f"{name} ({len(table):,} rows)"
        if (size := _bytes(table)) > self.memory:
            raise TooBig(
                f"{name} has {size / 2**20:,.0f} MiB, more than {self.memory / 2**20:,.0f} MiB.",
                hint='Make the partitions smaller: frame.repartition(partition_size="100MB"); or give more memory.',
            )
        if is_numbered(table):
            table = table.reset_index(drop=True)
        answer = self.calls.checked(Piece(name, lambda: table)) if check else None
        return self._fitted(self.calls.answers([table], name)[0] if answer is None else answer, name)

    def _fitted(self, answer: pd.DataFrame, name: str) -> pd.DataFrame:
        """The answer with the dtypes that all answers have.

        Raises:
            DataDrift: it has other columns, or values that these dtypes cannot have.
        """
        require_same(self.answer, answer, name)
        if not len(answer):
            return self.answer
        fitted = answer.copy(deep=False)
        for place, dtype in enumerate(self.answer.dtypes):
            now = answer.dtypes.iloc[place]
            if now == dtype or (now.name, dtype.name) == ("category", "category"):
                continue
            values = answer.iloc[:, place]
            try:
                cast = values.astype(dtype)
                same = not difference(values.to_frame("value"), cast.to_frame("value"), in_order=True)
            except (TypeError, ValueError, OverflowError):
                same = False
            if not same:
                raise DataDrift(
                    f"The answer for {name} has {now} in {visible(str(answer.columns[place]))!r}, "
                    f"and that for the sample {dtype}.",
                    hint="Ask for a function whose columns have the same dtype for all data.",
                )
            fitted.isetitem(place, cast.array)
        return fitted


def is_numbered(table: pd.DataFrame) -> bool:
    """Whether its index is numbers without a name, which say nothing."""
    return table.index.name is None and table.index.dtype.kind in "iu"


def on_dask(frame: Any, calls: PieceCalls, memory: int) -> Any:
    """A frame of Dask with the answers for the pieces of another one. Of that frame nothing is computed.

    Args:
        frame: the columns that the function needs.
        calls: calls the function for pieces.
        memory: bytes that a piece may have.

    Raises:
        SandboxError: the function failed for its sample.
    """
    from dask.delayed import delayed

    function, contract = calls.function, calls.contract
    samples = {name: value for name, value in function.samples.items() if name != contract.input}
    sent = replace(
        calls, function=function.without_samples(), inputs={**samples, **calls.inputs}, workers=1, limit=memory
    )
    answer = _meta(calls)
    task = delayed(_Task(sent, memory, frame._meta, answer), traverse=False)
    parts = {"rows": _rows, "groups": _groups, "merge": _merged, "whole": _whole}[contract.kind]
    return parts(frame, task, answer)


def _meta(calls: PieceCalls) -> pd.DataFrame:
    """The answer for the sample, without rows: what Dask knows of a frame before it is computed."""
    answer = background.run(computed(calls.function, calls.options, {0: calls.inputs}))[0]
    if isinstance(answer, AutocodeError):
        raise answer
    if not all(isinstance(name, str) for name in answer.columns) or answer.columns.has_duplicates:
        raise InvalidRequest(
            "A Dask frame needs different texts as the names of its columns, and the answer has others."
        )
    empty: pd.DataFrame = answer.iloc[:0]
    if not has_own_index(answer):
        empty = empty.reset_index(drop=True)
    for place, dtype in enumerate(empty.dtypes):
        if dtype.name == "category":  # which categories there are depends on the data
            empty.isetitem(place, pd.Categorical([], ["__UNKNOWN_CATEGORIES__"], ordered=dtype.ordered))
    return empty


def _rows(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    return frame.map_partitions(
        _partition, task, meta=answer, enforce_metadata=False, transform_divisions=False
    ).clear_divisions()


def _partition(table: pd.DataFrame, task: _Task, partition_info: dict[str, Any] | None = None) -> pd.DataFrame:
    if not len(table):
        return task.answer
    number = (partition_info or {}).get("number", CHECKED)
    return task.computed(table, f"partition {number:,}", check=number < CHECKED)


def _groups(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    count = BUCKETS * frame.npartitions
    numbered = frame._meta.assign(**{BUCKET: np.zeros(0, "int64"), PLACE: np.zeros(0, "int64")})
    plain = {"enforce_metadata": False, "transform_divisions": False}
    divided = frame.map_partitions(_with_buckets, task, count, meta=numbered, **plain)
    # Rows without a key go to a bucket that has others: nothing was compared for a piece that has only such rows.
    home = divided.partitions[0].map_partitions(_a_bucket, meta=numbered[[BUCKET]], **plain)
    divided = divided.map_partitions(_at_home, home, meta=numbered, **plain)
    sizes = divided.map_partitions(_sizes, task, meta=_NO_SIZES, **plain).repartition(npartitions=1)
    shuffled = divided.shuffle(BUCKET, npartitions=frame.npartitions)
    return shuffled.map_partitions(_bucket, sizes, task, meta=answer, **plain).clear_divisions()


_NO_SIZES = pd.DataFrame({"bucket": np.zeros(0, "int64"), "rows": np.zeros(0, "int64")}).assign(
    least=np.zeros(0, "uint64"), most=np.zeros(0, "uint64")
)


def _hashes(table: pd.DataFrame, task: _Task) -> tuple[Any, Any]:
    """The hashes of the keys, and which rows have none. Numbers have the dtype that Dask knows: 1 and 1.0 are a key."""
    keys = list(task.calls.keys)
    numbers = {
        key: task.empty[key].dtype
        for key in keys
        if task.empty[key].dtype.kind in "iuf" and table[key].dtype != task.empty[key].dtype
    }
    return row_hashes(pyarrow.Table.from_pandas(table[keys].astype(numbers), preserve_index=False), keys)


def _with_buckets(
    table: pd.DataFrame, task: _Task, count: int, partition_info: dict[str, Any] | None = None
) -> pd.DataFrame:
    """The rows with their buckets and places; the bucket of those without a key is -1."""
    hashes, missing = _hashes(table, task)
    buckets = np.where(missing, -1, (hashes % np.uint64(count)).astype("int64"))
    first = (partition_info or {}).get("number", 0) << 40  # more rows than a partition has
    return table.assign(**{BUCKET: buckets, PLACE: first + np.arange(len(table))})


def _a_bucket(table: pd.DataFrame) -> pd.DataFrame:
    """One bucket that has rows with a key; nothing if none has."""
    return table.loc[table[BUCKET] >= 0, [BUCKET]].head(1)


def _at_home(table: pd.DataFrame, home: pd.DataFrame) -> pd.DataFrame:
    """The rows with those without a key in a bucket with others."""
    number = int(home[BUCKET].iloc[0]) if len(home) else 0
    return table.assign(**{BUCKET: np.where(table[BUCKET] >= 0, table[BUCKET], number)})


def _sizes(table: pd.DataFrame, task: _Task) -> pd.DataFrame:
    """The rows of each bucket, and the bounds of their hashes: a bucket with one group has no parts."""
    hashes, missing = _hashes(table, task)
    rows = pd.DataFrame({"bucket": table[BUCKET].to_numpy(), "hash": hashes})[~missing]
    counted: pd.DataFrame = rows.groupby("bucket")["hash"].agg(rows="count", least="min", most="max").reset_index()
    return counted


def _largest(sizes: pd.DataFrame) -> set[int]:
    """The largest buckets of several groups."""
    each = sizes.groupby("bucket").agg({"rows": "sum", "least": "min", "most": "max"})
    several = each[each["least"] != each["most"]]
    return set(several.sort_values("rows", kind="stable").index[-CHECKED:])


def _bucket(table: pd.DataFrame, sizes: pd.DataFrame, task: _Task) -> pd.DataFrame:
    if not len(table):
        return task.answer
    keys = visible(", ".join(task.calls.keys))
    if table[list(task.calls.keys)].isna().any(axis=1).all():
        raise PieceFailed(
            f"{len(table):,} rows without a key ({keys}) came into a piece of their own.",
            why="Nothing was compared for such a piece.",
            hint=f"Leave them out: frame.dropna(subset={list(task.calls.keys)!r}).",
        )
    check = not _largest(sizes).isdisjoint(table[BUCKET].unique().tolist())
    in_order = table.sort_values(PLACE).drop(columns=[BUCKET, PLACE])
    return task.computed(in_order, f"a piece of groups of {keys}", check=check)


def _merged(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    merge = delayed(_merge)
    level = _rows(frame, task, answer).to_delayed()
    while len(level) > 1:
        level = [merge(level[start : start + MERGED], task) for start in range(0, len(level), MERGED)]
    last = delayed(_last)(level[0], task)
    return from_delayed([last], meta=answer, verify_meta=False)


def _merge(answers: Sequence[pd.DataFrame], task: _Task) -> pd.DataFrame:
    filled = [answer for answer in answers if len(answer)]
    return task._fitted(task.calls.merged(filled), "the answers for pieces") if filled else task.answer


def _last(answer: pd.DataFrame, task: _Task) -> pd.DataFrame:
    """The merged answer. If no piece had rows, it is that for a table without rows."""
    return answer if len(answer) else task.computed(task.empty, "no rows")


def _whole(frame: Any, task: Any, answer: pd.DataFrame) -> Any:
    from dask.dataframe import from_delayed
    from dask.delayed import delayed

    parts = frame.to_delayed()
    total = delayed(_fits)([delayed(_bytes)(part) for part in parts], task)
    together = delayed(_together)([delayed(_after)(part, total) for part in parts], task)
    return from_delayed([together], meta=answer, verify_meta=False)


def _bytes(table: pd.DataFrame) -> int:
    return int(table.memory_usage(deep=False).sum())


def _fits(sizes: Sequence[int], task: _Task) -> int:
    """The bytes of all partitions. No worker gets all of them before this is known."""
    if sum(sizes) > task.memory:
        raise NotSplittable(
            f"{visible(task.calls.function.name)} may not be computed in pieces, and the table does not fit into "
            f"{task.memory / 2**20:,.0f} MiB.",
            why=visible(task.calls.contract.counterexample),
            hint=f"Give more memory. {APART}",
        )
    return sum(sizes)


def _after(part: pd.DataFrame, _: int) -> pd.DataFrame:
    return part


def _together(parts: Sequence[pd.DataFrame], task: _Task) -> pd.DataFrame:
    return task.computed(pd.concat(list(parts)), "the table")
