"""Samples of tables whose rows are not in memory: lazy frames, queries, datasets, Parquet files.

The engine of a table counts its rows and draws some, on a thread, while the cell waits. An interrupt or the time limit
ends the wait.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

import pandas as pd

from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, report_progress
from autocoder_jupyter.data.capture import Origin, joined_rows, kind_of, with_origin
from autocoder_jupyter.data.sources import (
    IN_PROCESS,
    TableEngine,
    engine_of,
    few_of,
    lazy_kind,
    native,
    parquet_dataset,
    require_readable,
)
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.types.records import Drawn
from autocoder_jupyter.untrusted.visible import visible

MOST_ROWS = 10_000
MOST_CELLS = 2**22
MOST_BYTES = 2**28
"""The limits of one sample."""

SECONDS = 60.0
"""How long a cell waits for its samples."""

MOST_COLUMNS = 10_000

_SUFFIXES = (".parquet", ".pq")

_PART = "Read a part of it yourself, such as one file, and pass the DataFrame."


def is_source(value: Any) -> bool:
    """Whether a sample is drawn from a value: a table that its engine reads, or the path of Parquet files.

    Of a path only whether it is a folder is looked up. A text is a path if it ends as one of a Parquet file.
    """
    if isinstance(value, str):
        return value.endswith(_SUFFIXES)
    if isinstance(value, PurePath):
        return value.suffix in _SUFFIXES or Path(value).is_dir()
    kind = lazy_kind(value)
    return kind is not None and (kind.library == "narwhals" or engine_of(value) is not None)


async def sampled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, with a sample in place of each table whose rows are not in memory; all of it if it is small.

    Raises:
        InvalidRequest: a table cannot be read, or the samples are not there in time.
    """
    sources = {name: value for name, value in values.items() if is_source(value)}
    if not sources:
        return dict(values)
    drawing = _Drawing(sources)
    report_progress(Awaited(", ".join(sources), lambda: drawing.doing, "interrupt to stop it"))
    try:
        async with asyncio.timeout(SECONDS):
            return {**values, **await background.call_blocking(drawing.done, on_cancel=drawing.stop)}
    except TimeoutError as error:
        name = drawing.name
        raise InvalidRequest(
            f"There was no sample of {name} after {SECONDS:g} s.",
            why="Its engine counts the rows, then draws some. If it cannot be stopped, it may continue.",
            hint=few_of(sources[name], name) or _PART,
        ) from error


class _Drawing:
    """Draws samples on its thread, which another thread may stop.

    Attributes:
        name: the table that is read now.
        doing: the current step.
    """

    def __init__(self, sources: Mapping[str, Any]) -> None:
        self._sources = sources
        self._is_stopped = False
        self._interrupt: Callable[[], None] | None = None
        self.name = next(iter(sources))
        self.doing = ""

    def stop(self) -> None:
        """End as soon as possible. DuckDB and SQLite behind Ibis stop at once, others after the next batch."""
        self._is_stopped = True
        if self._interrupt is not None:
            with contextlib.suppress(Exception):
                self._interrupt()

    def done(self) -> dict[str, pd.DataFrame]:
        """The samples by name. It blocks."""
        found = {}
        for name, value in self._sources.items():
            self.name = name
            try:
                found[name] = self._drawn(value)
            except (InvalidRequest, MemoryError) as error:
                if isinstance(error, InvalidRequest):
                    error.what = f"{name}: {error.what}"
                raise
            except BaseException as error:  # another library may raise anything; polars raises KeyboardInterrupt
                raise InvalidRequest(
                    f"{name}: a sample of it cannot be drawn.",
                    why=f"{type(error).__name__}: {visible(str(error)[:300])}",
                    hint=few_of(value, name) or _PART,
                ) from error
        return found

    def _drawn(self, value: Any) -> pd.DataFrame:
        self.doing = "looks at its columns"
        if isinstance(value, str | PurePath):
            value = parquet_dataset(local_path(value, "Pass a dataset of PyArrow, or a part of it as a DataFrame."))
        inner = native(value)
        engine = _usable(value, inner)
        self._interrupt = _interrupt_of(inner)
        schema = engine.schema(inner)
        if len(schema) > MOST_COLUMNS:
            raise InvalidRequest(f"It has {len(schema):,} columns; at most {MOST_COLUMNS:,} are read.")
        require_readable(schema)
        wanted = max(1, min(MOST_ROWS, MOST_CELLS // max(1, len(schema))))
        self.doing = "counts its rows"
        of = engine.count(inner)
        self.doing = f"draws a sample of {of:,} rows"
        rows, seeded = (engine.first(inner, wanted), True) if of <= wanted else engine.sample(inner, wanted, of)
        try:
            table = joined_rows(self._few(rows, wanted), schema)
        finally:
            if isinstance(rows, Generator):
                rows.close()  # else an error keeps the query open
        drawn = None if of <= len(table) else Drawn(kind=kind_of(value), rows=len(table), of=of, seeded=seeded)
        return with_origin(table, Origin(kind_of(value), drawn))

    def _few(self, tables: Iterable[Any], wanted: int) -> Iterator[Any]:
        """The tables, without the rows that are too many."""
        size = 0
        for table in tables:
            if self._is_stopped:
                return
            part = table.iloc[:wanted] if isinstance(table, pd.DataFrame) else table.slice(0, wanted)
            size += int(part.memory_usage(deep=True).sum() if isinstance(part, pd.DataFrame) else part.nbytes)
            if size > MOST_BYTES:
                raise InvalidRequest(
                    f"A sample of it has more than {MOST_BYTES // 2**20:,} MiB.",
                    hint="Leave out the columns with long values, or take fewer rows yourself.",
                )
            wanted -= len(part)
            yield part
            if not wanted:
                return


def _usable(value: Any, inner: Any) -> TableEngine:
    engine = engine_of(inner)
    if engine is None:
        raise InvalidRequest(f"A {kind_of(value)} cannot be a sample.", hint="Convert it to a DataFrame first.")
    backend = inner.get_backend().name if kind_of(inner).startswith("ibis ") else ""
    if backend and backend not in IN_PROCESS:
        raise InvalidRequest(
            f"A sample is not drawn from a table of {visible(str(backend))}.",
            why="It would be counted and read by a query each time that the cell runs, which may cost money there.",
            hint=few_of(value, "table"),
        )
    return engine


def _interrupt_of(value: Any) -> Callable[[], None] | None:
    """What ends the computation of an Ibis table; None if nothing is known to."""
    if not kind_of(value).startswith("ibis "):
        return None
    stop = getattr(getattr(value.get_backend(), "con", None), "interrupt", None)
    return stop if callable(stop) else None
