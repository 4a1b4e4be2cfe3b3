"""`growth.over`: a table that is larger than memory, in pieces that may be computed alone."""

from __future__ import annotations

import itertools
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc

from autocoder_jupyter.calls.binding import bind, misfit
from autocoder_jupyter.calls.call import on_this_machine
from autocoder_jupyter.calls.callable import warn_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.data.columns_read import columns_read
from autocoder_jupyter.data.readers import Recorded
from autocoder_jupyter.data.storage import Stored, is_in_storage, stored
from autocoder_jupyter.engine.evidence.pieces import deviation, difference
from autocoder_jupyter.errors import (
    AutocodeError,
    DataDrift,
    InvalidRequest,
    NotSplittable,
)
from autocoder_jupyter.kinds.paths import local_path
from autocoder_jupyter.sandbox.temporary_folder import temporary_folder
from autocoder_jupyter.sandbox.worker.frames import give_back_buffers
from autocoder_jupyter.scaling.answers import Answers, InMemory, answers_in, place_of
from autocoder_jupyter.scaling.contract import split_input, split_of, split_output
from autocoder_jupyter.scaling.converting import Conversions, Convert
from autocoder_jupyter.scaling.narrowing import Stretch, rows_in_words, where_in
from autocoder_jupyter.scaling.partition import Bucket, partition
from autocoder_jupyter.scaling.pieces import APART, CHECKED, Dtypes, Piece, PieceCalls, dtypes_of, frame_of
from autocoder_jupyter.scaling.rare_rows import RareRows
from autocoder_jupyter.scaling.running import Calls, begin, computed, inputs_first, with_absolute_paths
from autocoder_jupyter.scaling.sources import HERE, Batch, Batches, Carrier, Partitions, TableSource, source_of
from autocoder_jupyter.scaling.tally import Progress, Tally, look
from autocoder_jupyter.types import Dir, File, parse_memory
from autocoder_jupyter.types.interface import Split
from autocoder_jupyter.types.of_flyte import declared_of_flyte
from autocoder_jupyter.untrusted.visible import visible

PART = 4
"""A piece has at most this part of the memory, over the workers. The rest is for copies, and for what is read."""

PART_OF_ROWS = 7
"""The same for pieces of rows, whose answers may be as large: then there are ten times a piece here, and what the
sandboxes need (measured with two workers, of whose pieces three are here with their answers, and a fourth is read).
"""

LEAST = 2**22
"""Bytes of a piece, if the table has so many."""

UNKNOWN = 2**26
"""Bytes of a piece of a table whose number of rows is not known."""

TRIED = 8
"""Pieces that are looked at for that: one with a single group has no parts."""


@dataclass(frozen=True)
class Explained:
    """What `growth.over` would do with a source.

    Args:
        split: how the function may be split.
        rows: how many rows the source has; None if that is not known before it is read.
        pieces: in how many pieces it would be computed, about; None if that is not known.
        engine: what reads the rows and makes the pieces: `pyarrow, here`, `Polars`, `DuckDB`, `Ibis`, `Dask`, `Spark`
            or `Ray`.
    """

    split: Split
    columns: tuple[str, ...]
    rows: int | None
    pieces: int | None
    engine: str

    def __repr__(self) -> str:
        rows = "an unknown number of rows" if self.rows is None else f"{self.rows:,} rows"
        pieces = "an unknown number of pieces" if self.pieces is None else f"about {self.pieces:,} pieces"
        return visible(f"{rows} of {', '.join(self.columns)}, in {pieces}, by {self.engine}; {self.split!r}")


@dataclass(frozen=True)
class _Work:
    """A call of `over`, before anything is read.

    Args:
        contract: how it may be split.
        workers: so many pieces are computed at once.
        memory: bytes.
        every_column: whether columns that the code does not name are needed, because they are in the answer.
    """

    function: Function
    options: CallOptions
    inputs: Mapping[str, Any]
    source: TableSource
    contract: Split
    workers: int
    memory: int
    every_column: bool = False

    @property
    def limit(self) -> int:
        """Bytes of a piece."""
        return max(1, self.memory // PART // self.workers)

    @property
    def keys(self) -> list[str]:
        """The keys, as the source calls them."""
        return [self._in_source(key) for key in self.contract.keys]

    @property
    def calls(self) -> PieceCalls:
        """Calls the function for pieces."""
        return PieceCalls(
            self.function,
            self.options,
            self.inputs,
            self.contract,
            tuple(self.keys),
            self.workers,
            self.limit,
            self.dtypes,
        )

    @property
    def conversions(self) -> Conversions:
        """What the function needs of files with other dtypes."""
        labels = set(self.source.names)
        dtypes = {name: self.dtypes.of(name, labels) for name in self.source.names}
        return Conversions(self.function, self.contract.input, {name: dtype for name, dtype in dtypes.items() if dtype})

    @cached_property
    def dtypes(self) -> Dtypes:
        """Those of the sample."""
        return dtypes_of(self.function, self.contract.input)

    @property
    def columns(self) -> list[str]:
        """The columns of the source that the function needs, in its order."""
        reads = columns_read(self.function.code, self.function.inputs)
        every = self.every_column or self.contract.input in self.function.contracts
        own = {has: name for name, has in self.function.renames.items()}
        needed = {
            name
            for name in self.source.names
            if every or any(reads.covers(repr(n)) for n in (name, own.get(name, name)))
        }
        needed |= {*self.keys, *self.source.index}
        if lacking := [key for key in self.keys if key not in self.source.names]:
            raise DataDrift(f"The source has no column {visible(lacking[0])!r}, the key of its groups.")
        return [name for name in self.source.names if name in needed] or self.source.names[:1]

    @property
    def size(self) -> int:
        """Bytes of a piece that is cut by its rows."""
        expected = self.source.expected_bytes(self.columns)
        fair = UNKNOWN if expected is None else expected // (PART * self.workers)
        return min(max(1, self.memory // PART_OF_ROWS // self.workers), max(fair, LEAST))

    def piece_bytes(self, table: Any) -> int:
        """The same for the rows of a batch, which may be larger in pandas, such as lists and texts as objects."""
        some = table.slice(0, 1000)
        in_pandas = int(self.frame(some).memory_usage(index=False, deep=True).sum())
        return max(1, int(self.size / max(1.0, in_pandas / max(1, some.nbytes))))

    def frame(self, table: Any) -> pd.DataFrame:
        """Rows as the function takes them."""
        return frame_of(table, self.dtypes)

    def _in_source(self, name: str) -> str:
        renamed = self.function.renames.get(name, name)
        return renamed if renamed in self.source.names else name

    def pieces(self) -> int | None:
        """About how many pieces there are."""
        if isinstance(self.source, Partitions):
            return 1 if self.contract.kind == "whole" else self.source.engine.pieces(self.source.frame)
        expected = self.source.expected_bytes(self.columns)
        if self.contract.kind == "whole":
            return 1
        return None if expected is None else max(1, -(-expected // self.size))


class Over:
    """Calls a function for a table that may be larger than memory.

    Args:
        ready: waits for the function and returns it.
    """

    def __init__(self, ready: Callable[[], Awaitable[Function]], options: CallOptions) -> None:
        self._ready = ready
        self._options = options

    @inputs_first
    def __call__(
        self,
        source: Any,
        /,
        *,
        to: Any = None,
        workers: int | None = None,
        memory: int | str = "2GiB",
        resume: bool = False,
        progress: Progress | None = None,
        convert: Convert | None = None,
        **fixed: Any,
    ) -> Any:
        """Call the function for pieces of a table, and put the answers together. An interrupt ends the calls.

        How the table may be divided is `growth.split`. Only the columns that the code reads are loaded. The two largest
        pieces, and rows with rare values of all files, are also computed in parts, and compared.

        Raises:
            NotSplittable: it may not be divided, and does not fit into `memory`.
            TooBig: a group, or the answer of a merge, is larger than a piece.
            DataDrift: a file or an answer has other columns or types.
            SplitBroken: the answer for a piece is another one in parts.
            PieceFailed: the call for a piece failed.
            InvalidRequest: the source cannot be read, or an argument does not fit.
        """
        place = None if to is None else place_of(to)
        work = self._work(source, workers, memory, resume, fixed, progress, convert)
        if place is not None:
            _require_outside(place, source)
        if isinstance(work.source, Partitions):
            _require_left_to(work.source.engine, to=to, workers=workers, progress=progress)
        _require_types(work)
        warn_of(work.function)
        if isinstance(work.source, Partitions):
            engine = work.source.engine
            return engine.carry(engine.chosen(work.source.frame, work.columns), work.calls, work.memory)
        assert isinstance(work.source, Batches)
        _require_held(work, work.source)
        try:
            tally = Tally(f"{work.function.name}.over", progress, unit="pieces", rows=work.source.rows)
            # Else the error of a piece keeps a query open.
            with tally.shown(), closing(work.source.read(work.columns)) as batches:
                return work.source.like(self._answer(work, _looked_at(batches, tally), place, tally))
        finally:
            _give_back_memory()

    @inputs_first
    def explain(
        self, source: Any, /, *, workers: int | None = None, memory: int | str = "2GiB", **fixed: Any
    ) -> Explained:
        """What a call would do. Of the source only its columns and the number of its rows are read; for these, all of a
        file of text.

        Args: as those of a call.
        """
        work = self._work(source, workers, memory, False, fixed)
        return Explained(work.contract, tuple(work.columns), work.source.rows, work.pieces(), work.source.carried_by)

    def _work(
        self,
        given: Any,
        workers: int | None,
        memory: int | str,
        resume: bool,
        fixed: Mapping[str, Any],
        progress: Any = None,
        convert: Convert | None = None,
    ) -> _Work:
        from autocoder_jupyter.sandbox.host.capacity import usable_cores

        function, inputs, options = begin(
            self._ready, self._options, fixed, resume=resume, workers=workers, progress=progress
        )
        try:
            size = parse_memory(memory)
        except (ValueError, AttributeError):
            size = 0
        if size < 1:
            raise InvalidRequest(f"memory must be a size such as '4GiB', not {memory!r}.")
        if declared_of_flyte(type(given)) in ("File", "Dir"):
            given = on_this_machine({"source": given}, options.timeout)["source"]
        known = on_this_machine(inputs, options.timeout)
        source = source_of(given, partial(_recorded, function, known))
        if why := split_output(function, options)[1]:
            raise InvalidRequest(f"{visible(function.name)}.over: {visible(why)}.")
        contract = background.run(split_of(function, options, known))
        if isinstance(function.samples.get(contract.input), pd.Series):
            raise InvalidRequest(
                f"{visible(function.name)} takes {visible(contract.input)} as a Series, and a piece of the source is a "
                "table.",
                hint="Ask for a function that takes a DataFrame.",
            )
        # The workers of an engine fetch what they need.
        inputs = dict(known) if isinstance(source, Batches) else with_absolute_paths(function, inputs)
        work = _Work(function, options, inputs, source, contract, workers or usable_cores(), size)
        work = replace(work, source=work.conversions.converted(source, convert))
        return replace(work, every_column=not _needs_only_read(work))

    def _answer(self, work: _Work, batches: Iterator[Batch], to: Path | Stored | None, tally: Tally) -> Any:
        """The answer for rows that are read here."""
        if work.contract.kind == "whole":
            pieces: Iterable[Piece] = [_whole(work, batches)]
            return self._run(work, pieces, 1, to, tally)
        with temporary_folder("pieces") as folder:
            rare = RareRows(folder)
            read = rare.passed(batches)
            if work.contract.kind != "groups":
                return self._run(work, _by_rows(work, read), None, to, tally, rare)
            listed = _by_groups(work, read, folder)
            return self._run(work, listed, len(listed), to, tally, rare)

    def _run(
        self,
        work: _Work,
        pieces: Iterable[Piece],
        count: int | None,
        to: Path | Stored | None,
        tally: Tally,
        rare: RareRows | None = None,
    ) -> Any:
        """Compute the pieces, the checked ones first, and put the answers together."""
        merges = work.contract.kind == "merge"
        run = work.calls
        left = _made(pieces, tally)
        tally.begin(count)
        with closing(answers_in(to)) as answers:
            level: Answers = InMemory() if merges else answers
            done = 0

            def keep(place: int, piece: Piece, answer: pd.DataFrame, was_kept: bool = False) -> None:
                nonlocal done
                level.put(place, answer, piece.name)
                done += 1
                del answer
                tally.count(rows=piece.count, kept=int(was_kept))

            # Pieces of rows hold them, so no list has more than two of these.
            first = list(itertools.islice(left, 2 if count is None else TRIED))
            is_only, checked = len(first) == 1, 0
            while first:
                place, piece = first.pop(0)
                known = None if is_only or checked >= CHECKED or piece.count < 2 else run.checked(piece)
                if known is None:
                    run.all([(place, piece)], keep)
                else:
                    checked += 1
                    keep(place, piece, *known)
                del piece, known
            run.all(left, keep)
            for table, numbers in rare.groups() if rare is not None and done > 1 else ():
                run.check_rare(work.frame(table), numbers)
            if isinstance(level, InMemory) and merges:
                answers.put(0, run.merged(level.in_order()), "all pieces")
            tally.finish()
            return answers.finish()


def _recorded(function: Function, fixed: Mapping[str, Any]) -> Recorded:
    """What was recorded of the table that the source takes the place of."""
    tables = [spec.name for spec in function.inputs if spec.type == "DataFrame" and spec.name not in fixed]
    name = tables[0] if len(tables) == 1 else split_input(function, bind(function, (), fixed), fixed)
    return Recorded.of(function.shapes.get(name, {}), function.renames, columns_read(function.code, function.inputs))


def _give_back_memory() -> None:
    """Return what is kept for later to the system: hundreds of megabytes after large pieces."""
    pyarrow.default_memory_pool().release_unused()
    give_back_buffers()


def _needs_only_read(work: _Work) -> bool:
    """Whether the answer for the sample is the same without the columns that the code does not name.

    A filter names few columns, and all are in its answer.
    """
    function, name = work.function, work.contract.input
    sample = function.samples[name]
    unread = {*work.source.names} - {*work.columns}
    kept = [label for label in sample.columns if function.renames.get(label, label) not in unread]
    if len(kept) == len(sample.columns):
        return not unread
    calls: Calls = {0: {**work.inputs}, 1: {**work.inputs, name: sample[kept]}}
    whole, narrow = (
        background.run(computed(function, work.options, {place: call}))[place] for place, call in calls.items()
    )
    if isinstance(whole, AutocodeError) or isinstance(narrow, AutocodeError):
        return False
    return not deviation(whole, [narrow]) and not difference(whole, narrow, in_order=True)


# Checks before the source is read


def _require_outside(to: Path | Stored, source: Any) -> None:
    """Check that the answer is not written into the folder that is read: the next call would read it too."""
    path = source.path if isinstance(source, File | Dir) else source
    if not isinstance(path, str | os.PathLike):
        return
    read: Path | Stored = stored(path) if isinstance(path, str) and is_in_storage(path) else local_path(path)
    if isinstance(to, Path) and isinstance(read, Path):
        inside = read.resolve() in to.resolve().parents
        answer = str(to.absolute() / "part.parquet")
    elif isinstance(to, Stored) and isinstance(read, Stored) and to.filesystem == read.filesystem:
        inside, answer = f"{to.path}/".startswith(f"{read.path}/"), f"{to.path}/part.parquet"
    else:
        return
    if inside or fnmatch(answer, str(read.absolute()) if isinstance(read, Path) else read.path):
        raise InvalidRequest(
            f"{visible(str(to)) if isinstance(to, Path) else to.shown} is in the folder that is read.",
            why="The next call would read the answer too.",
            hint="Choose a folder beside it.",
        )


def _require_left_to(engine: Carrier, **given: Any) -> None:
    """Check that no argument was given that the engine decides."""
    instead = {
        "to": f"Write what it returns: {engine.written}.",
        "workers": f"The engine decides how many pieces are computed at once: {engine.at_once}.",
        "progress": f"Nothing is computed yet; {engine.shown}.",
    }
    for name, hint in instead.items():
        if given[name] is not None:
            raise InvalidRequest(f"{name}= is not supported for a {engine.kind}.", hint=hint)


def _require_types(work: _Work) -> None:
    """Compare the first rows of each kind of file with the sample. An error offers what converts a column."""
    try:
        _compare_types(work)
    except DataDrift as error:
        if offered := work.conversions.offer(work.source, work.columns):
            error.hint = " ".join(filter(None, (offered, error.hint)))
        raise


def _compare_types(work: _Work) -> None:
    name = work.contract.input
    dtypes = replace(work.dtypes, categories={})  # of a query, the rows are invented
    for batch in work.source.examples(work.columns):
        frame = frame_of(batch.table.slice(0, 1000), dtypes)
        if problem := misfit(work.function, name, work.dtypes.with_categories(frame) if batch.is_invented else frame):
            raise DataDrift(f"{visible(batch.place)}: {problem}" if batch.place else problem)


def _require_held(work: _Work, source: Batches) -> None:
    """Make a table of the source's kind of the answer for the sample: that of the whole table comes much later."""
    if source.carried_by == HERE:
        return
    answer = background.run(computed(work.function, work.options, {0: work.inputs}))[0]
    if isinstance(answer, AutocodeError):
        raise answer
    source.like(work.calls.table(answer))


# Pieces of a source that is read here


def _looked_at(batches: Iterator[Batch], tally: Tally) -> Iterator[Batch]:
    """The batches; what waits for them shows that they are read."""
    read = 0
    for batch in batches:
        read += batch.table.num_rows
        tally.step = tally.step and f"{read:,} rows read"
        look()
        yield batch


def _made(pieces: Iterable[Piece], tally: Tally) -> Iterator[tuple[int, Piece]]:
    """The pieces, each with its place. Nothing here holds one that was taken."""
    iterator = iter(pieces)
    for place in itertools.count():
        piece = next(iterator, None)
        if piece is None:
            return
        tally.make(piece.count)
        held = [(place, piece)]
        del piece
        yield held.pop()


def _whole(work: _Work, batches: Iterator[Batch]) -> Piece:
    """All rows as one piece."""
    tables: list[Any] = []
    stretches: list[Stretch] = []
    rows_of, size = _RowsOfFiles(), 0
    expected = work.source.expected_bytes(work.columns) or 0
    while size <= work.memory and expected <= 8 * work.memory:
        batch = next(batches, None)
        if batch is None:
            together = pyarrow.concat_tables(tables) if tables else _empty(work)
            return Piece("the table", partial(work.frame, together), together.num_rows, partial(where_in, stretches))
        tables.append(batch.table)
        stretches.append(Stretch(batch.place, rows_of.next(batch), batch.table.num_rows))
        size += batch.table.nbytes
    raise NotSplittable(
        f"{visible(work.function.name)} may not be computed in pieces, and the table does not fit into "
        f"{work.memory / 2**20:,.0f} MiB.",
        why=visible(work.contract.counterexample),
        hint=f"Give more memory. {APART}",
    )


def _empty(work: _Work) -> Any:
    from autocoder_jupyter.scaling.sources import part_of

    return part_of(work.source.schema, work.columns).empty_table()


def _by_rows(work: _Work, batches: Iterable[Batch]) -> Iterator[Piece]:
    """Pieces of neighbouring rows. One, without rows, if there are none."""
    most, size, start = 0, 0, 0
    waiting: list[Any] = []
    stretches: list[Stretch] = []
    rows_of = _RowsOfFiles()

    def piece() -> Piece:
        nonlocal waiting, stretches, size, start
        held = [pyarrow.concat_tables(waiting) if waiting else _empty(work)]
        places = list(dict.fromkeys(stretch.place for stretch in stretches))
        files = f" ({_listed(places)})" if any(places) else ""
        end = start + held[0].num_rows
        name = f"rows {start:,} to {end:,}{files}"
        made = Piece(name, lambda: work.frame(held.pop()), end - start, partial(where_in, stretches))
        waiting, stretches, size, start = [], [], 0, end
        return made

    for batch in batches:
        most = most or work.piece_bytes(batch.table)
        first = rows_of.next(batch)
        for table in _cut(batch.table, most):
            if waiting and size + table.nbytes > most:
                yield piece()
            waiting.append(table)
            size += table.nbytes
            stretches.append(Stretch(batch.place, first, table.num_rows))
            first += table.num_rows
    if waiting or not start:
        yield piece()


class _RowsOfFiles:
    """Counts the rows of each file, whose batches follow each other."""

    def __init__(self) -> None:
        self._place, self._rows = "", 0

    def next(self, batch: Batch) -> int:
        """The place of the first row of a batch in its file."""
        if batch.place != self._place:
            self._place, self._rows = batch.place, 0
        first = self._rows
        self._rows += batch.table.num_rows
        return first


def _listed(places: Sequence[str]) -> str:
    more = f" and {len(places) - 3:,} more" if len(places) > 3 else ""
    return f"{', '.join(map(visible, places[:3]))}{more}"


def _cut(table: Any, most: int) -> Iterator[Any]:
    """The table in parts of at most so many bytes, or of one row."""
    rows = table.num_rows
    if not rows:
        return
    step = max(1, int(rows * min(1.0, most / max(1, table.nbytes))))
    for start in range(0, rows, step):
        yield table.slice(start, step)


def _by_groups(work: _Work, batches: Iterable[Batch], folder: Path) -> list[Piece]:
    """Pieces of whole groups, the largest first."""
    buckets = partition(
        (batch.table for batch in batches),
        work.keys,
        folder,
        expected=work.source.expected_bytes(work.columns),
        limit=work.limit,
        workers=work.workers,
    )
    buckets.sort(key=lambda bucket: -bucket.size)
    if not buckets:
        empty = _empty(work)
        return [Piece("no rows", lambda: work.frame(empty))]
    keys = visible(", ".join(work.keys))
    return [
        Piece(
            f"groups of {keys}, piece {number:,} of {len(buckets):,} ({bucket.rows:,} rows)",
            partial(_rows_of, work, bucket),
            bucket.rows,
            partial(_where_of_groups, work, bucket),
        )
        for number, bucket in enumerate(buckets, 1)
    ]


def _rows_of(work: _Work, bucket: Bucket) -> pd.DataFrame:
    return work.frame(bucket.table())


def _where_of_groups(work: _Work, bucket: Bucket, rows: Any) -> str:
    """Where some rows of a bucket are in the source, whose keys are read again: a bucket has their order only."""
    assert isinstance(work.source, Batches)
    own = bucket.table().select(work.keys)
    groups = own.take(pyarrow.array(rows)).group_by(work.keys).aggregate([]).to_pylist()
    if len(groups) > 1 or work.source.carried_by != HERE:
        return f"{rows_in_words(rows.tolist())} of this piece"
    key = groups[0]
    places = np.flatnonzero(_has_key(own, key))
    wanted = np.flatnonzero(np.isin(places, rows))  # which of the rows of the group
    name = visible(", ".join(f"{name} = {value!r}" for name, value in key.items()))[:200]
    found: list[Stretch] = []
    seen, rows_of = 0, _RowsOfFiles()
    with suppress(AutocodeError), closing(work.source.read(work.keys)) as batches:  # a reader is read only once
        for batch in batches:
            first = rows_of.next(batch)
            mine = np.flatnonzero(_has_key(batch.table, key))
            chosen = mine[np.isin(np.arange(seen, seen + len(mine)), wanted)]
            found += [Stretch(batch.place, first + int(row), 1) for row in chosen]
            seen += len(mine)
    if len(found) != len(rows):
        return f"{rows_in_words(wanted.tolist())} of the group {name}"
    return f"{where_in(found, np.arange(len(found)))}, of the group {name}"


def _has_key(table: Any, key: Mapping[str, Any]) -> Any:
    """Which rows have this key."""
    mask = np.ones(table.num_rows, dtype=bool)
    for name, value in key.items():
        column = table.column(name)
        same = pc.is_null(column) if value is None else pc.equal(column, pyarrow.scalar(value, column.type))
        mask &= same.fill_null(False).to_numpy()
    return mask
