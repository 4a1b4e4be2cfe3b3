"""What Dask, Ray and Spark share: the pieces that their workers compute. The workers import this module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.data.struct_fields import lost_key, require_same_fields
from autocoder_jupyter.engine.evidence.pieces import difference
from autocoder_jupyter.equality.tables import flat, has_own_index
from autocoder_jupyter.errors import AutocodeError, DataDrift, InvalidRequest, NotSplittable, PieceFailed, TooBig
from autocoder_jupyter.scaling.answers import require_same, rounds
from autocoder_jupyter.scaling.partition import largest_group, row_hashes
from autocoder_jupyter.scaling.pieces import APART, CHECKED, Piece, PieceCalls, frame_of
from autocoder_jupyter.scaling.running import computed
from autocoder_jupyter.untrusted.visible import visible

BUCKET = "_autocode_bucket"
"""The column by which an engine shuffles: the number of the rows' bucket."""

PLACE = "_autocode_place"
"""The place of a row in the whole table, by which each piece is sorted: engines do not keep the order."""

MERGED = 16
"""Answers that are merged in one call."""


@dataclass(frozen=True)
class EnginePieces:
    """What the workers of an engine need besides the rows. It is sent once to each of them.

    Args:
        memory: bytes that a piece may have.
        smaller: how the pieces are made smaller, as a sentence.
        empty: the table of the source, without rows.
        answer: the answer, without rows. Each has its columns and dtypes.
    """

    calls: PieceCalls
    memory: int
    smaller: str
    empty: pd.DataFrame
    answer: pd.DataFrame

    def computed(self, table: pd.DataFrame, name: str, *, check: bool = False) -> pd.DataFrame:
        """The answer for a piece."""
        name = f"{name} ({len(table):,} rows)"
        self.require_room(bytes_of(table), name)
        if is_numbered(table):
            table = table.reset_index(drop=True)
        known = self.calls.checked(Piece(name, lambda: table)) if check else None
        return self._fitted(self.calls.answers([table], name)[0] if known is None else known[0], name)

    def require_room(self, size: int, name: str) -> None:
        """Check the size of a piece in bytes."""
        if size > self.memory:
            raise TooBig(
                f"{name} has {size / 2**20:,.0f} MiB, more than {self.memory / 2**20:,.0f} MiB.",
                hint=f"{self.smaller}; or give more memory.",
            )

    def require_group_room(self, size: int, rows: Callable[[], Any]) -> None:
        """Check the size of a piece of groups in bytes."""
        if size > self.memory:
            largest, count = largest_group([rows()], self.calls.keys)
            self.require_room(size, f"a piece of groups, of which {visible(largest)[:200]} has {count:,} rows,")

    def require_whole(self, size: int) -> None:
        """Check the bytes of all rows together, of a function that needs them in one call."""
        if size > self.memory:
            raise NotSplittable(
                f"{visible(self.calls.function.name)} may not be computed in pieces, and the table does not fit into "
                f"{self.memory / 2**20:,.0f} MiB.",
                why=visible(self.calls.contract.counterexample),
                hint=f"Give more memory. {APART}",
            )

    def of_groups(self, table: pd.DataFrame, *, check: bool) -> pd.DataFrame:
        """The answer for a piece of whole groups, whose rows get the order that they had."""
        keys = visible(", ".join(self.calls.keys))
        if table[list(self.calls.keys)].isna().any(axis=1).all():
            raise PieceFailed(
                f"{len(table):,} rows without a key ({keys}) ended up in a piece of their own.",
                why="Nothing was compared for such a piece.",
                hint=f"Leave the rows out whose {keys} is missing.",
            )
        keyed = table[list(self.calls.keys)]
        self.require_group_room(bytes_of(table), lambda: pyarrow.Table.from_pandas(keyed, preserve_index=False))
        return self.computed(in_order(table), f"a piece of groups of {keys}", check=check)

    def merged(self, answers: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """The answer for the rows of several answers; without rows if there are none."""
        filled = [answer for answer in answers if len(answer)]
        return self._fitted(self.calls.merged(filled), "the answers for pieces") if filled else self.answer

    def last(self, answer: pd.DataFrame) -> pd.DataFrame:
        """The merged answer. If no piece had rows, it is that for a table without rows."""
        return answer if len(answer) else self.computed(self.empty, "no rows")

    def _fitted(self, answer: pd.DataFrame, name: str) -> pd.DataFrame:
        """The answer with the dtypes that all answers have."""
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
                same = not (dtype.kind == "f" and now.kind in "iu" and rounds(values))
                same = same and not difference(values.to_frame("value"), cast.to_frame("value"), in_order=True)
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


def bytes_of(table: pd.DataFrame) -> int:
    """The bytes of a table; of a text in an object column only those of its reference."""
    return int(table.memory_usage(deep=False).sum())


def is_numbered(table: pd.DataFrame) -> bool:
    """Whether its index is numbers without a name, which say nothing."""
    return table.index.name is None and table.index.dtype.kind in "iu"


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The rows in the order of their places, without what was added to them."""
    sorted_rows = table.sort_values(PLACE) if PLACE in table else table
    return sorted_rows.drop(columns=[name for name in (BUCKET, PLACE) if name in table])


def for_workers(calls: PieceCalls, memory: int) -> PieceCalls:
    """The calls as they are sent to workers: with the samples of the other inputs only, one piece at a time."""
    function, contract = calls.function, calls.contract
    samples = {name: value for name, value in function.samples.items() if name != contract.input}
    bare = function.without_samples()
    return replace(calls, function=bare, inputs={**samples, **calls.inputs}, workers=1, limit=memory)


def sample_answer(calls: PieceCalls, kind: str) -> pd.DataFrame:
    """The answer for the sample: what is known of a frame before it is computed."""
    answer = background.run(computed(calls.function, calls.options, {0: calls.inputs}))[0]
    if isinstance(answer, AutocodeError):
        raise answer
    frame = calls.table(answer)
    if not all(isinstance(name, str) for name in frame.columns) or frame.columns.has_duplicates:
        raise InvalidRequest(
            f"The names of the columns of a {kind} must be unique strings, and those of the answer are not."
        )
    return frame if has_own_index(frame) else frame.reset_index(drop=True)


# Sizes of buckets

NO_SIZES = pd.DataFrame({"bucket": np.zeros(0, "int64"), "rows": np.zeros(0, "int64")}).assign(
    least=np.zeros(0, "uint64"), most=np.zeros(0, "uint64")
)
"""The rows of each bucket, and the bounds of their hashes, which are the same in a bucket with one group."""


def hashes_of(table: Any, keys: Sequence[str], count: int) -> tuple[Any, Any, Any]:
    """The hashes of the keys of rows of Arrow, which rows have no key, and the buckets; -1 for rows without a key."""
    hashes, missing = row_hashes(table, keys)
    return hashes, missing, np.where(missing, -1, (hashes % np.uint64(count)).astype("int64"))


def sizes_of(buckets: Any, hashes: Any) -> pd.DataFrame:
    """The sizes of buckets, like `NO_SIZES`."""
    rows = pd.DataFrame({"bucket": buckets, "hash": hashes})
    counted: pd.DataFrame = rows.groupby("bucket")["hash"].agg(rows="count", least="min", most="max").reset_index()
    return counted


def largest(sizes: pd.DataFrame) -> set[int]:
    """The buckets whose pieces are also computed in parts: the largest, if there are any those of several groups."""
    each = sizes[sizes["bucket"] >= 0].groupby("bucket").agg({"rows": "sum", "least": "min", "most": "max"})
    several = each.assign(several=each["least"] != each["most"])
    return set(several.sort_values(["several", "rows"], kind="stable").index[-CHECKED:])


# Pieces as Arrow


@dataclass(frozen=True)
class ArrowPieces:
    """`EnginePieces` for engines whose rows are Arrow: they are read as those of a file.

    Args:
        schema: that of all answers, a `pyarrow.Schema`. An index of the function is columns.
    """

    pieces: EnginePieces
    schema: Any

    def frame(self, table: Any) -> pd.DataFrame:
        """Rows of the source as the function takes them."""
        return frame_of(table, self.pieces.calls.dtypes)

    def computed(self, table: Any, name: str, *, check: bool = False) -> Any:
        """The answer for a piece, both as Arrow. See `EnginePieces.computed`."""
        return self.table(self.pieces.computed(in_order(self.frame(table)), name, check=check), name)

    def whole(self, table: Any) -> Any:
        """The answer for all rows, both as Arrow."""
        self.pieces.require_whole(table.nbytes)
        return self.computed(table, "the table")

    def of_groups(self, table: Any, *, check: bool) -> Any:
        """The answer for a piece of whole groups, both as Arrow. See `EnginePieces.of_groups`."""
        return self.table(self.pieces.of_groups(self.frame(table), check=check), "a piece of groups")

    def merged(self, answers: Sequence[Any], *, is_last: bool) -> Any:
        """The answer for the rows of several answers, all as Arrow. Engines divide these rows as they like.

        Rows that have places are in any order, and are sorted by them.
        """
        name = "the answers for pieces"
        table = pyarrow.concat_tables(answers) if answers else self.schema.empty_table()
        if PLACE in table.column_names:
            table = table.sort_by(PLACE).drop_columns([PLACE])
        answer = self.pieces.computed(self._answer(table), name) if table.num_rows else self.pieces.answer
        return self.table(self.pieces.last(answer) if is_last else answer, name)

    def table(self, answer: pd.DataFrame, name: str) -> Any:
        """An answer with the types of the schema."""
        try:
            columns = flat(answer, "values")
            if key := lost_key(columns):
                raise ValueError(f"it has {key}")
            table = pyarrow.Table.from_pandas(columns, preserve_index=False)
            require_same_fields(table.schema, self.schema, f"the answer for {name}", "that for the sample")
            return table.cast(self.schema)
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise DataDrift(
                f"The answer for {name} has different types than the answer for the sample.",
                why=visible(str(error)[:300]),
            ) from error

    def _answer(self, table: Any) -> pd.DataFrame:
        """An answer as the function gave it."""
        frame: pd.DataFrame = table.to_pandas()
        like = self.pieces.answer
        if not has_own_index(like):
            return frame
        return frame.set_index(list(frame.columns[: like.index.nlevels])).rename_axis(like.index.names)


def arrow_pieces(
    calls: PieceCalls, memory: int, schema: Any, *, kind: str, smaller: str, own: Any = None
) -> ArrowPieces:
    """What the workers of an engine need whose rows are Arrow."""
    answer = sample_answer(calls, kind)
    try:
        found = pyarrow.Schema.from_pandas(flat(answer, "values"), preserve_index=False).remove_metadata()
        plain = [
            field.with_type(field.type.value_type) if pyarrow.types.is_dictionary(field.type) else field
            for field in found
        ]
        if untyped := next((field.name for field in plain if pyarrow.types.is_null(field.type)), None):
            raise ValueError(f"the column {untyped} has no value in the answer for the sample")
        answers = own(pyarrow.schema(plain)) if own else pyarrow.schema(plain)
    except Exception as error:  # another library may raise any exception
        raise InvalidRequest(
            f"The answer of {visible(calls.function.name)} cannot be in a {kind}.", why=visible(str(error)[:300])
        ) from error
    empty = frame_of(schema.empty_table(), calls.dtypes)
    pieces = EnginePieces(for_workers(calls, memory), memory, smaller, empty, answer.iloc[:0])
    return ArrowPieces(pieces, answers)
