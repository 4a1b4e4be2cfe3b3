"""`growth.over` of a dataset of Ray: a dataset of the answers. Ray computes it when it is asked for them.

A block is a piece, and comes as Arrow. For groups Ray brings the rows with the same keys into one block; the keys are
read once before, so that it is known which blocks are large, and whether each block has all rows of its groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute as pc

from autocoder_jupyter.errors import DataDrift, InvalidRequest, NotSplittable, PieceFailed
from autocoder_jupyter.scaling.engine_pieces import (
    BUCKET,
    MERGED,
    NO_SIZES,
    PLACE,
    ArrowPieces,
    arrow_pieces,
    hashes_of,
    largest,
    sizes_of,
)
from autocoder_jupyter.scaling.partition import ROOM
from autocoder_jupyter.scaling.piece_calls import CHECKED, PieceCalls
from autocoder_jupyter.untrusted.parsing import visible

BUCKETS = 1024
"""Buckets of a dataset. Ray divides them by their hash."""

SEED = "_autocode_seed"
"""A column with which a row is none of the data."""

TASK_BITS = 33
"""The bits of a row's place that count the rows of a task; those above count the tasks."""

SMALLER = "Make the blocks smaller: dataset.repartition(target_num_rows_per_block=…)"


def arrow_schema(dataset: Any) -> Any:
    """The columns of a dataset as Arrow. Ray may have to read its first block."""
    found = dataset.schema()
    if found is None:
        raise InvalidRequest("The Ray dataset has no rows, so its columns are not known.")
    types = [kind if isinstance(kind, pyarrow.DataType) else pyarrow.null() for kind in found.types]
    return pyarrow.schema(list(zip(found.names, types, strict=True)))


def chosen(dataset: Any, columns: Sequence[str]) -> Any:
    """The dataset with these columns only."""
    return dataset.select_columns(list(columns))


def on_ray(dataset: Any, calls: PieceCalls, memory: int) -> Any:
    """A dataset of Ray with the answers for the pieces of another one. For groups their keys are read.

    Args:
        dataset: the columns that the function needs.
        calls: calls the function for pieces.
        memory: bytes that a piece may have.

    Raises:
        SandboxError: the function failed for its sample.
        NotSplittable: the order of the rows counts, and Ray does not keep it.
        InvalidRequest: this Ray is too old.
    """
    import ray

    kind = calls.contract.kind
    if kind != "rows" and calls.contract.ordered and not _keeps_order(dataset):
        raise NotSplittable(
            f"The order of the rows counts for {visible(calls.function.name)}, and Ray does not keep it.",
            hint="Set ray.data.DataContext.get_current().execution_options.preserve_order = True before the dataset is "
            "made; or ask for a function that sorts the rows itself.",
        )
    schema = arrow_schema(dataset)
    task = arrow_pieces(calls, memory, schema, kind="Ray dataset", smaller=SMALLER)

    def mapped(rows: Any, piece: Callable[..., Any], **given: Any) -> Any:
        return rows.map_batches(
            piece, batch_size=None, batch_format="pyarrow", fn_kwargs={"task": task, "schema": schema, **given}
        )

    if kind == "groups":
        return _groups(dataset, schema, task, mapped)
    # Ray calls nothing for blocks without rows; one answer is also needed if there are no rows at all.
    seed = ray.data.from_arrow(pyarrow.table({SEED: [True]}))
    if kind == "whole":
        return mapped(_placed(dataset, schema).union(seed).repartition(1), _whole)
    answers = mapped(_placed(dataset, schema), _block)
    if kind == "merge":
        return mapped(mapped(answers.repartition(MERGED), _merge).union(seed).repartition(1), _last)
    return answers


def _keeps_order(dataset: Any) -> bool:
    return bool(dataset.context.execution_options.preserve_order)


def _placed(dataset: Any, schema: Any) -> Any:
    """The dataset as blocks of Arrow, with the places of its rows. In blocks of pandas Ray gives wrong places."""
    import ray

    try:
        from ray.data.expressions import monotonically_increasing_id
    except ImportError:
        raise InvalidRequest(f"Ray {ray.__version__} cannot number rows.", hint="Install a newer one.") from None
    blocks = dataset.map_batches(_rows, batch_size=None, batch_format="pyarrow", fn_kwargs={"schema": schema})
    return blocks.with_column(PLACE, monotonically_increasing_id())


def _groups(dataset: Any, schema: Any, task: ArrowPieces, mapped: Callable[..., Any]) -> Any:
    import ray

    from autocoder_jupyter.scaling.sources import TableSource

    calls = task.pieces.calls
    keys = list(calls.keys)
    sizes: Any = mapped(dataset.select_columns(keys), _sizes).to_pandas()
    sizes = sizes if len(sizes) else NO_SIZES  # without blocks there are no columns
    rows = {int(bucket): int(count) for bucket, count in sizes.groupby("bucket")["rows"].sum().items()}
    # Rows without a key go to a bucket that has others: nothing was compared for a piece that has only such rows.
    home = next((bucket for bucket in rows if bucket >= 0), 0)
    if missing := rows.pop(-1, 0):
        rows[home] = rows.get(home, 0) + missing
    expected = TableSource(schema, sum(rows.values())).expected_bytes(schema.names) or 0
    fitting = math.ceil(expected * ROOM / task.pieces.memory)
    count = max(1, min(BUCKETS, max(int(ray.cluster_resources().get("CPU", 1)), fitting)))
    placed = _placed(dataset, schema) if calls.contract.ordered else dataset
    divided = mapped(placed, _with_buckets, home=home).repartition(count, keys=[BUCKET])
    return mapped(divided, _group, expected=rows, checked=largest(sizes))


# In the workers


def _rows(table: Any, schema: Any) -> Any:
    """Rows with the types that the dataset has; blocks without values may have others.

    Raises:
        DataDrift: they have other types.
    """
    fields = [
        schema.field(field.name)
        if field.name in schema.names and not pyarrow.types.is_null(schema.field(field.name).type)
        else field
        for field in table.schema
    ]
    try:
        return table.cast(pyarrow.schema(fields))
    except pyarrow.ArrowException as error:
        raise DataDrift("A block has other types than the dataset.", why=visible(str(error)[:300])) from error


def _block(table: Any, task: ArrowPieces, schema: Any) -> Any:
    if not table.num_rows:
        return task.schema.empty_table()
    number = table.column(PLACE)[0].as_py() >> TASK_BITS
    return task.computed(_rows(table, schema), f"block {number:,}", check=number < CHECKED)


def _sizes(table: Any, task: ArrowPieces, schema: Any) -> Any:
    hashes, _, buckets = hashes_of(_rows(table, schema), task.pieces.calls.keys, BUCKETS)
    return pyarrow.Table.from_pandas(sizes_of(buckets, hashes), preserve_index=False)


def _with_buckets(table: Any, task: ArrowPieces, schema: Any, home: int) -> Any:
    rows = _rows(table, schema)
    buckets = hashes_of(rows, task.pieces.calls.keys, BUCKETS)[2]
    return rows.append_column(BUCKET, pyarrow.array(np.where(buckets < 0, home, buckets)))


def _group(table: Any, task: ArrowPieces, schema: Any, expected: Mapping[int, int], checked: set[int]) -> Any:
    if not table.num_rows:
        return task.schema.empty_table()
    counted = {each["values"]: each["counts"] for each in table.column(BUCKET).value_counts().to_pylist()}
    if (
        other := next((bucket for bucket, count in counted.items() if count != expected.get(bucket)), None)
    ) is not None:
        raise PieceFailed(
            f"A piece has {counted[other]:,} rows of some groups, and {expected.get(other, 0):,} were counted before.",
            why="The dataset gave other rows than before, so an answer could be wrong.",
            hint="Compute its rows once: dataset.materialize().",
        )
    return task.of_groups(_rows(table, schema), check=not checked.isdisjoint(counted))


def _whole(table: Any, task: ArrowPieces, schema: Any) -> Any:
    rows = _without_seed(table)
    return task.whole(_rows(rows, schema) if rows.num_rows else schema.empty_table())


def _without_seed(table: Any) -> Any:
    return table.filter(pc.is_null(table.column(SEED))).drop_columns([SEED])


def _merge(table: Any, task: ArrowPieces, schema: Any) -> Any:
    return task.merged([table], is_last=False)


def _last(table: Any, task: ArrowPieces, schema: Any) -> Any:
    answers = _without_seed(table)
    return task.merged([answers.select(task.schema.names).cast(task.schema)] if answers.num_rows else [], is_last=True)
