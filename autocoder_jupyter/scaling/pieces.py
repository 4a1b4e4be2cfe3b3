"""Pieces of a table: as pandas tables with the dtypes of the sample, and the calls of a function for them.

The calls run in this process, or in a worker of an engine, which imports this module.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.data.categories import Misfit, recorded_dtype, with_categories
from autocoder_jupyter.data.drift import with_known_categories
from autocoder_jupyter.data.shapes import column_literal, family
from autocoder_jupyter.engine.evidence.pieces import (
    Division,
    below,
    by_groups,
    by_numbers,
    by_rows,
    deviation,
    difference,
    numbered,
)
from autocoder_jupyter.equality.tables import is_numbered
from autocoder_jupyter.errors import (
    AutocodeError,
    ContractBroken,
    DataDrift,
    PackageError,
    PieceFailed,
    SandboxUnavailable,
    SolutionError,
    SplitBroken,
    TooBig,
)
from autocoder_jupyter.scaling.contract import split_output
from autocoder_jupyter.scaling.narrowing import fewest_rows, rows_in_words
from autocoder_jupyter.scaling.prepare import require_same_versions, versions_here
from autocoder_jupyter.scaling.running import Calls, collect, computed, here
from autocoder_jupyter.scaling.tally import look
from autocoder_jupyter.types.interface import Split
from autocoder_jupyter.untrusted.visible import visible

# Rows as pandas tables

_NULLABLE = ("Int", "UInt", "boolean")


@dataclass(frozen=True)
class Dtypes:
    """The dtypes that each piece gets: those of the sample, where pandas has several for the same values. A dtype that
    pandas would choose by the values of a piece could be another one in each.

    Args:
        by_name: the dtypes of the sample by the literals of its columns (`drift.shape_of`).
        categories: the records of its columns that have categories (`data.categories`).
        renames: the names that the function reads, by those in the data.
    """

    by_name: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)

    def of(self, label: Any, labels: Any) -> str:
        """The dtype of a column; "" if the sample has no such column."""
        return self.by_name.get(self._literal(label, labels), "")

    def _literal(self, label: Any, labels: Any) -> str:
        reads = self.renames.get(label, label) if isinstance(label, str) else label
        return column_literal(label if reads in labels else reads)

    def fitted(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table with these dtypes; the table itself is not changed."""
        labels = set(frame.columns)
        made = frame.copy(deep=False)
        for place, (label, now) in enumerate(zip(frame.columns, map(str, frame.dtypes), strict=True)):
            dtype = self.of(label, labels)
            if dtype.startswith("category"):
                kept, values = self.categories.get(self._literal(label, labels)), frame.iloc[:, place]
                values = values if len(values) else values.astype(object)  # without rows, Dask invents categories
                made.isetitem(place, _as_categories(values, kept, str(label)))
            elif family(dtype) == "float" and family(now) == "int":
                made.isetitem(place, frame.iloc[:, place].astype("float64").array)
            elif dtype == "object" and now == "bool":  # truth values with gaps
                made.isetitem(place, frame.iloc[:, place].astype(object).array)
        return made

    def with_categories(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table of invented values, whose texts are categories of the sample where that has categories."""
        labels = set(frame.columns)
        for label in frame.columns:
            like = recorded_dtype(self.categories.get(self._literal(label, labels), {}))
            if like is None or like.categories.inferred_type != "string":
                continue
            if all(isinstance(value, str) for value in frame[label].dropna()):
                frame = frame.assign(**{label: pd.Categorical([like.categories[0]] * len(frame), dtype=like)})
        return frame

    def divided(self, frame: pd.DataFrame, rows: Any) -> pd.DataFrame:
        """Some rows of a table as if they were all: a part with only the categories that a piece would have."""
        is_range = len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows) and bool((np.diff(rows) == 1).all())
        part = frame.iloc[rows[0] : rows[-1] + 1] if is_range else frame.iloc[rows]  # of a range without a copy
        made = part.copy(deep=False)
        for place, dtype in enumerate(part.dtypes):
            if isinstance(dtype, pd.CategoricalDtype):
                made.isetitem(place, part.iloc[:, place].cat.remove_unused_categories().array)
        return self.fitted(made)


def dtypes_of(function: Function, name: str) -> Dtypes:
    """The dtypes of an input."""
    shape = with_known_categories(function.shapes.get(name, {}), function.samples.get(name))
    return Dtypes(
        {str(literal): str(dtype) for literal, dtype in shape.get("columns", ())},
        shape.get("categories", {}),
        {has: reads for reads, has in function.renames.items()},
    )


def frame_of(table: Any, dtypes: Dtypes) -> pd.DataFrame:
    """The rows as pandas reads them from a file, with the dtypes of the sample."""
    labels = set(table.column_names)
    dates = [name for name, kind in zip(table.column_names, table.schema.types, strict=True) if _is_date(kind)]
    as_objects = all(family(dtypes.of(name, labels) or "object") == "object" for name in dates)
    try:
        frame: pd.DataFrame = table.to_pandas(date_as_object=as_objects)
    except Exception as error:  # a type of another library may raise any exception
        raise DataDrift(
            f"A table with the columns {visible(', '.join(table.column_names))[:200]} cannot be converted to pandas.",
            why=f"{type(error).__name__}: {visible(str(error)[:300])}",
            hint="Convert the columns of unusual types first, or leave them out.",
        ) from error
    for place, (label, now) in enumerate(zip(frame.columns, map(str, frame.dtypes), strict=True)):
        dtype = dtypes.of(label, labels)
        if dtype.startswith(_NULLABLE) and dtype != now and label in labels:
            kind = table.schema.field(label).type
            if pyarrow.types.is_integer(kind) or pyarrow.types.is_boolean(kind):
                nullable = str(kind).capitalize().replace("Uint", "UInt").replace("Bool", "boolean")
                column = table.column(label).to_pandas(types_mapper={kind: pd.api.types.pandas_dtype(nullable)}.get)
                frame.isetitem(place, column.array)
    return dtypes.fitted(frame)


def _as_categories(values: pd.Series[Any], record: Mapping[str, Any] | None, name: str) -> Any:
    """Values as the recorded categories, and after them those that were not recorded."""
    if record is None:
        return values.astype("category").array
    try:
        made = with_categories(values, record)
    except Misfit as error:
        raise DataDrift(
            f"The column {visible(name)!r} {error}.",
            why="The categories of the sample have an order, which is a part of what the function was tested with.",
            hint="Take a sample with all categories, or bring the data into the order of the sample.",
        ) from None
    return made.astype("category").array


def _is_date(kind: Any) -> bool:
    return bool(pyarrow.types.is_date(kind))


# Calls for pieces

APART = "Or ask for a separate function for each part, for example one for the monthly sums and one for their growth."
"""What may be done about a function that may not be split."""

CHECKED = 2
"""The largest pieces, which are also computed in parts."""

MOST_PARTS = 8
"""Parts of the rows with rare values: those of each batch, or of neighbouring ones."""


@dataclass(frozen=True)
class Piece:
    """Rows that are computed alone.

    Args:
        table: takes the rows; only once of what is not in a file, so that nothing else holds them.
        count: how many there are.
        where: says where some of its rows are in the source, by their places in the piece. None if an error need not
            name rows.
    """

    name: str
    table: Callable[[], pd.DataFrame]
    count: int = 0
    where: Callable[[Any], str] | None = None


Keep = Callable[[int, Piece, pd.DataFrame, bool], None]
"""Takes an answer: the place of its piece, the piece, the answer, and whether an earlier call has kept it."""


@dataclass(frozen=True)
class PieceCalls:
    """Calls a function for pieces.

    Args:
        contract: how it may be split.
        keys: for groups their columns, as the table calls them.
        workers: so many pieces are computed at once.
        limit: bytes that the answers have at most that are merged in one call.
    """

    function: Function
    options: CallOptions
    inputs: Mapping[str, Any]
    contract: Split
    keys: tuple[str, ...]
    workers: int
    limit: int
    dtypes: Dtypes
    versions: Mapping[str, str] = field(default_factory=versions_here)

    def all(self, pieces: Iterable[tuple[int, Piece]], keep: Keep) -> None:
        """Compute pieces, with one more than there are workers in memory. An error names the rows with which a piece
        fails.
        """
        require_same_versions(self.versions)
        names: dict[int, tuple[Piece, pd.DataFrame]] = {}
        failed: list[tuple[Piece, pd.DataFrame]] = []
        known: set[int] = set()

        def chunks() -> Iterator[Calls]:
            for place, piece in pieces:
                table = _rows_of(piece)
                names[place] = replace(piece, table=_taken), table
                del piece
                yield {place: {**self.inputs, self.contract.input: table}}
                del table

        def kept(outcomes: Mapping[int, Any]) -> None:
            for place, outcome in outcomes.items():
                piece, table = names.pop(place)
                if isinstance(outcome, AutocodeError):
                    failed.append((piece, table))
                    raise outcome
                del table
                keep(place, piece, self.table(outcome), place in known)
                del outcome

        try:
            collect(chunks(), here(self.function, self.options, self.workers, known), kept, self.workers + 1)
        except AutocodeError as error:
            if not failed:
                raise
            piece, table = failed.pop()
            names.clear()
            raise _failure(piece.name, error, self._fewest_rows(piece, table, error)) from error

    def table(self, outcome: Any) -> pd.DataFrame:
        """An outcome as a table. A Series is a column with its name, or with that of the output."""
        if isinstance(outcome, pd.Series):
            name = split_output(self.function, self.options)[0] if outcome.name is None else outcome.name
            outcome = outcome.to_frame(name)
        table: pd.DataFrame = outcome
        return table

    def _fewest_rows(self, piece: Piece, table: pd.DataFrame, error: AutocodeError) -> str:
        """A sentence about the fewest rows of a piece that fail in the same way; "" if they cannot be found."""
        if piece.where is None or not isinstance(error, _OF_ROWS) or len(table) < 2:
            return ""
        options = replace(self.options, cache="disable")

        def fails(rows: Any) -> bool:
            part = self.dtypes.divided(table, rows)
            part = part.reset_index(drop=True) if is_numbered(part) else part
            call = {**self.inputs, self.contract.input: part}
            again = background.run(computed(self.function, options, {0: call}))[0]
            look()
            return type(again) is type(error) and _exception_of(again) == _exception_of(error)

        groups = numbered(table, self.keys)[0] if self.contract.kind == "groups" else None
        rows, how = fewest_rows(np.arange(len(table)), groups, fails)
        if len(rows) == len(table):
            return ""
        where = piece.where(rows)
        return f"It fails with {where or rows_in_words(rows.tolist())} (counted from 0; {how})."

    def answers(self, tables: Sequence[pd.DataFrame], name: str) -> list[pd.DataFrame]:
        """The answers for some tables, in order."""
        return self._answers([Piece(name, partial(table.copy, deep=False)) for table in tables])[0]

    def _answers(self, listed: Sequence[Piece]) -> tuple[list[pd.DataFrame], bool]:
        """The answers for pieces, in order, and whether an earlier call has kept all of them."""
        found: dict[int, tuple[pd.DataFrame, bool]] = {}
        pieces = list(enumerate(listed))
        self.all(pieces, lambda place, _, answer, was_kept: found.__setitem__(place, (answer, was_kept)))
        return [found[place][0] for place, _ in pieces], all(was_kept for _, was_kept in found.values())

    def checked(self, piece: Piece) -> tuple[pd.DataFrame, bool] | None:
        """The answer for a piece, which was also computed in parts, and whether an earlier call has kept all that; None
        if it has no parts.
        """
        table = _rows_of(piece)
        divisions = by_groups(table, self.keys) if self.contract.kind == "groups" else by_rows(len(table))
        division = next(iter(divisions), None)
        return None if division is None else self._compared(piece, table, division)

    def check_rare(self, table: pd.DataFrame, batches: Sequence[int]) -> None:
        """Compare the answer for rows with rare values with those for the rows of each batch, or of other parts.

        Parts that are refused are not compared: as a piece, each would be an error.
        """
        found, parts = np.unique(batches, return_inverse=True)
        if len(found) > MOST_PARTS:
            parts = parts * MOST_PARTS // len(found)
        further = by_groups(table, self.keys) if self.contract.kind == "groups" else by_rows(len(table))
        ordered = self.contract.kind == "merge" and self.contract.ordered
        rare = Piece("rows with rare values of all files", _taken)
        for division in itertools.chain(by_numbers(table, parts, self.keys), further):
            if division.in_order or not ordered:
                with contextlib.suppress(PieceFailed, ContractBroken, DataDrift):
                    self._compared(rare, table, division)
                    return

    def _compared(self, piece: Piece, table: pd.DataFrame, division: Division) -> tuple[pd.DataFrame, bool]:
        name, where = piece.name, piece.where

        def part(rows: Any) -> pd.DataFrame:
            made = self.dtypes.divided(table, rows)
            return made.reset_index(drop=True) if is_numbered(table) else made

        def of(rows: Any) -> Piece:
            return Piece(name, partial(part, rows), where=where and (lambda places: where(rows[places])))

        (whole, *answers), were_kept = self._answers(
            [replace(piece, table=lambda: table.copy(deep=False)), *map(of, division.pieces)]
        )
        problem = deviation(whole, answers)
        if not problem:
            together = below(answers)
            if self.contract.kind == "merge":
                together = self._of_answers.answers([together], name)[0]
            problem = difference(whole, together, in_order=self.contract.kind != "groups" and division.in_order)
        if problem:
            raise SplitBroken(
                f"{visible(self.function.name)} may not be split like this: {name}, {division.name}: {problem}.",
                why=f"On the sample it seemed to be: {self.contract.words}. The data has cases that the sample lacks.",
                hint=f"Take more rows as the sample, or give more memory. {APART}",
            )
        return whole, were_kept

    @property
    def _of_answers(self) -> PieceCalls:
        """The same for tables that are answers. They need not have the index of the source."""
        shapes, name = self.function.shapes, self.contract.input
        if name not in shapes:
            return self
        return replace(self, function=replace(self.function, shapes={**shapes, name: {**shapes[name], "index": []}}))

    def merged(self, answers: list[pd.DataFrame]) -> pd.DataFrame:
        """The answer for all, from the answers for pieces: neighbours are merged until one is left."""
        while len(answers) > 1:
            groups: list[list[pd.DataFrame]] = [[]]
            size = 0
            for answer in answers:
                own = int(answer.memory_usage(deep=False).sum())
                if groups[-1] and size + own > self.limit:
                    groups.append([])
                    size = 0
                groups[-1].append(answer)
                size += own
            if len(groups) == len(answers):
                raise TooBig(
                    f"The answers for pieces are too large to be merged: two of them have more than "
                    f"{self.limit / 2**20:,.1f} MiB.",
                    hint='Give more memory: over(source, memory="8GiB").',
                )
            tables = [below(group) for group in groups if len(group) > 1]
            merged = iter(self._of_answers.answers(tables, "the answers for pieces"))
            answers = [next(merged) if len(group) > 1 else group[0] for group in groups]
        return answers[0]


def _rows_of(piece: Piece) -> pd.DataFrame:
    try:
        return piece.table()
    except DataDrift as error:
        raise _failure(piece.name, error) from error


def _taken() -> pd.DataFrame:
    raise AssertionError("the rows of a piece are taken once")


_OF_ROWS = (SolutionError, ContractBroken, DataDrift)
"""Errors that some rows may be the cause of. A limit of time or memory has no rows, and each try would reach it."""


def _exception_of(error: AutocodeError) -> str:
    return error.exception_type if isinstance(error, SolutionError) else ""


def _failure(name: str, error: AutocodeError, rows: str = "") -> AutocodeError:
    """The error of a piece, with its name and a sentence about the rows."""
    if isinstance(error, SandboxUnavailable | PackageError):
        return error
    why = " ".join(filter(None, (rows, error.why)))
    if isinstance(error, DataDrift | ContractBroken):
        error.what, error.why = f"{name}: {error.what}", why
        return error
    failed = PieceFailed(f"{name}: {error.what}", why=why, hint=error.hint)
    failed.__cause__ = error
    return failed
