"""Rows of a database as an Arrow table, with the types that DuckDB would give them, within limits."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import re
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

BATCH_ROWS = 10_000
FIRST_ROWS = 16
BATCH_BYTES = 2**22
"""Most rows that are read at once, so many at first, and about so many bytes."""


@dataclass(frozen=True)
class QueryLimits:
    """The most that a query may take: seconds, rows, and bytes of its result in memory."""

    seconds: float = 60.0
    rows: int = 1_000_000
    bytes: int = 2**28


class ReadSession(Protocol):
    """Read-only access, as long as one reading takes. It is separate from what the person does with the connection."""

    def ask(self, sql: str) -> Iterable[tuple[Any, ...]]:
        """The rows of a query of ours."""

    def batches(self, sql: str, schema: Any, limits: QueryLimits) -> Generator[Any, None, None]:
        """The rows of a checked query, as tables of Arrow with these columns."""

    def stop(self) -> None:
        """End what runs. Called by another thread."""


# Limits


@dataclass
class Deadline:
    """Whether the time is over."""

    seconds: float
    ends: float
    is_over: bool = False

    @property
    def left(self) -> float:
        return self.ends - time.monotonic()

    def require(self) -> None:
        if self.is_over or self.left <= 0:
            raise too_long(self.seconds)


@contextlib.contextmanager
def deadline(seconds: float, stop: Callable[[], None]) -> Iterator[Deadline]:
    """Call `stop` when the time is over."""
    until = Deadline(seconds, time.monotonic() + seconds)

    def end() -> None:
        until.is_over = True
        with contextlib.suppress(Exception):  # it has ended meanwhile
            stop()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield until
    finally:
        timer.cancel()


def too_long(seconds: float) -> InvalidRequest:
    return InvalidRequest(
        f"The query was stopped after {seconds:g} s.",
        why="That is the most that a query may take; nothing of its result was used.",
        hint="Let it read fewer rows: filter by date, or join fewer tables.",
    )


def open_transaction(hint: str) -> InvalidRequest:
    """The error for a connection whose changes would not be seen."""
    return InvalidRequest(
        "The connection has an open transaction.",
        why="Queries are sent by a session of their own, which does not see what was changed in it.",
        hint=hint,
    )


def gathered(batches: Iterable[Any], schema: Any, limits: QueryLimits, until: Deadline) -> Any:
    """All batches as one table.

    Raises:
        InvalidRequest: there is more than the limits allow. Nothing is cut.
    """
    import pyarrow

    tables, rows, size = [schema.empty_table()], 0, 0
    for table in batches:
        until.require()
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows > limits.rows:
            raise _too_much(f"more than {limits.rows:,} rows")
        if size > limits.bytes:
            raise _too_much(f"more than {limits.bytes / 2**20:,.0f} MB")
        tables.append(table)
    until.require()
    return pyarrow.concat_tables(tables)


def _too_much(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"The result of the query has {what}.",
        why="It was stopped there; nothing of it was used, because a part of the rows would be another answer.",
        hint="Let the query reduce more: group, filter, or name fewer columns.",
    )


def batched(fetch: Callable[[int], Sequence[Sequence[Any]]], schema: Any) -> Iterator[Any]:
    """The rows that `fetch(n)` gives, at most n at a time, as tables; few at first, because rows may be large."""
    count = FIRST_ROWS
    while rows := fetch(count):
        table = table_of(rows, schema)
        yield table
        count = max(1, min(BATCH_ROWS, 4 * count, int(BATCH_BYTES / max(1.0, table.nbytes / len(rows)))))


# Types

_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")


def arrow_type(kind: str) -> Any:
    """The type of Arrow for one of DuckDB. A sum of whole numbers is int64, if its values fit."""
    import pyarrow as pa

    if found := _DECIMAL.fullmatch(kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    return {
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "HUGEINT": pa.int64(),
        "UTINYINT": pa.uint8(),
        "USMALLINT": pa.uint16(),
        "UINTEGER": pa.uint32(),
        "UBIGINT": pa.uint64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "DATE": pa.date32(),
        "TIME": pa.time64("us"),
        "TIMESTAMP": pa.timestamp("us"),
        "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"),
        "BLOB": pa.binary(),
    }[kind]


def arrow_schema(columns: Iterable[tuple[str, str]]) -> Any:
    """The columns of a result, from their names and their types in DuckDB."""
    import pyarrow

    return pyarrow.schema([(name, arrow_type(kind)) for name, kind in columns])


def converted(table: Any, schema: Any) -> Any:
    """A table or batch of Arrow with the columns of a schema, in their order.

    Raises:
        InvalidRequest: a value would become another one.
    """
    import pyarrow as pa

    columns = []
    for place, field in enumerate(schema):
        column = table.column(place)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        try:
            columns.append(_cast(column, field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            columns.append(_array(column.to_pylist(), field))
    return pa.Table.from_arrays(
        [pa.chunked_array([each]) if isinstance(each, pa.Array) else each for each in columns], schema=schema
    )


def _cast(column: Any, kind: Any) -> Any:
    import pyarrow as pa

    if column.type == kind:
        return column
    by_value = (pa.types.is_string, pa.types.is_large_string, pa.types.is_floating)
    if any(is_such(column.type) for is_such in by_value) and not any(is_such(kind) for is_such in by_value):
        raise pa.ArrowInvalid("by its values")  # Arrow reads texts in other ways than we do
    return column.cast(kind)


def table_of(rows: Sequence[Sequence[Any]], schema: Any) -> Any:
    """Rows of Python values as a table.

    Raises:
        InvalidRequest: a value is not of the type of its column.
    """
    import pyarrow

    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    if len(columns) != len(schema):
        raise InvalidRequest(f"The database gave {len(columns)} columns instead of {len(schema)}.")
    arrays = [_array(values, field) for values, field in zip(columns, schema, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], field: Any) -> Any:
    import pyarrow as pa

    convert = _converter(field.type)
    try:
        return pa.array([None if value is None else convert(value) for value in values], type=field.type)
    except (ValueError, TypeError, OverflowError, pa.ArrowException, decimal.InvalidOperation) as error:
        raise InvalidRequest(
            f"A value of the column {visible(field.name)!r} is not of the type {field.type}.",
            why=visible(str(error)[:200]),
            hint="Cast the column in the query, for example to VARCHAR or DOUBLE.",
        ) from None


def _converter(kind: Any) -> Callable[[Any], Any]:
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(kind):
        return _boolean
    if types.is_integer(kind):
        return _integer
    if types.is_floating(kind):
        return _floating
    if types.is_decimal(kind):
        return lambda value: _decimal(value, kind.scale)
    if types.is_date(kind):
        return _date
    if types.is_timestamp(kind):
        return (lambda value: _timestamp(value, dt.UTC)) if kind.tz else (lambda value: _timestamp(value, None))
    if types.is_time(kind):
        return lambda value: value if isinstance(value, dt.time) else dt.time.fromisoformat(value)
    if types.is_binary(kind):
        return lambda value: value if isinstance(value, bytes) else bytes(_of(value, (bytearray, memoryview)))
    return lambda value: value if isinstance(value, str) else str(_of(value, (uuid.UUID,)))


def _of(value: Any, kinds: tuple[type, ...]) -> Any:
    if not isinstance(value, kinds):
        raise TypeError(f"{value!r:.80} is a {type(value).__name__}")
    return value


def _boolean(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError(f"{value!r:.80} is neither 0 nor 1")
    return bool(value)


def _number(value: Any) -> Any:
    """A number; some drivers give decimal numbers as texts."""
    if isinstance(value, bool):
        raise TypeError("a truth value")
    if not isinstance(value, str):
        return _of(value, (int, float, decimal.Decimal))
    try:
        return decimal.Decimal(value)
    except decimal.InvalidOperation:
        raise ValueError(f"{value!r:.80} is not a number") from None


def _integer(value: Any) -> int:
    if (number := _number(value)) != (whole := int(number)):
        raise ValueError(f"{value!r:.80} is not a whole number")
    return whole


def _floating(value: Any) -> float:
    return float(_number(value))


_TOLERANCE = decimal.Decimal("1e-6")


def _decimal(value: Any, scale: int) -> decimal.Decimal:
    """The decimal number that a database without them has as a float, such as 0.30000000000000004."""
    number = _number(value)
    exact = number if isinstance(number, decimal.Decimal) else decimal.Decimal(repr(number))
    with decimal.localcontext(prec=60):
        rounded = exact.quantize(decimal.Decimal(1).scaleb(-scale))
        if abs(rounded - exact) > _TOLERANCE * decimal.Decimal(1).scaleb(-scale) * max(decimal.Decimal(1), abs(exact)):
            raise ValueError(f"{value} has more than {scale} digits after the point")
    return rounded


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        moment = value
    elif isinstance(value, dt.date):
        return value
    else:
        moment = dt.datetime.fromisoformat(_of(value, (str,)))
    if moment.time() != dt.time() or moment.tzinfo is not None:
        raise ValueError(f"{value!r:.80} is not a date")
    return moment.date()


def _timestamp(value: Any, zone: dt.tzinfo | None) -> dt.datetime:
    if isinstance(value, dt.datetime):
        moment = value
    elif isinstance(value, dt.date):
        moment = dt.datetime(value.year, value.month, value.day)
    else:
        moment = dt.datetime.fromisoformat(_of(value, (str,)))
    if (moment.tzinfo is None) != (zone is None):
        raise ValueError(f"{value!r:.80} has {'no' if zone else 'a'} time zone")
    return moment.astimezone(zone) if zone else moment
