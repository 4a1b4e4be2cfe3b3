"""Calls a function for pieces of a table: in this process, or in a worker of an engine, which imports this module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd

from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.engine.evidence.split_inputs import below, by_groups, by_rows, deviation, difference
from autocoder_jupyter.equality.tables import is_numbered
from autocoder_jupyter.errors import (
    AutocodeError,
    ContractBroken,
    DataDrift,
    PackageError,
    PieceFailed,
    SandboxUnavailable,
    SplitBroken,
    TooBig,
)
from autocoder_jupyter.scaling.answers import Dtypes
from autocoder_jupyter.scaling.contract import split_output
from autocoder_jupyter.scaling.prepare import require_same_versions, versions_here
from autocoder_jupyter.scaling.running import Calls, collect, here
from autocoder_jupyter.types.interface import Split
from autocoder_jupyter.untrusted.parsing import visible

APART = "Or ask for the parts as functions of their own, for example the monthly sums and their growth."
"""What may be done about a function that may not be split."""

CHECKED = 2
"""The largest pieces, which are also computed in parts."""


@dataclass(frozen=True)
class Piece:
    """Rows that are computed alone."""

    name: str
    table: Callable[[], pd.DataFrame]


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

    def all(self, pieces: Iterable[tuple[int, Piece]], keep: Callable[[int, Piece, pd.DataFrame], None]) -> None:
        """Compute pieces, with one more than there are workers in memory."""
        require_same_versions(self.versions)
        names: dict[int, Piece] = {}

        def chunks() -> Iterator[Calls]:
            for place, piece in pieces:
                names[place] = piece
                yield {place: {**self.inputs, self.contract.input: _rows_of(piece)}}

        def kept(outcomes: Mapping[int, Any]) -> None:
            for place, outcome in outcomes.items():
                piece = names.pop(place)
                if isinstance(outcome, AutocodeError):
                    raise _failure(piece.name, outcome)
                keep(place, piece, self.table(outcome))

        collect(chunks(), here(self.function, self.options, self.workers), kept, self.workers + 1)

    def table(self, outcome: Any) -> pd.DataFrame:
        """An outcome as a table. A Series is a column with its name, or with that of the output."""
        if isinstance(outcome, pd.Series):
            name = split_output(self.function, self.options)[0] if outcome.name is None else outcome.name
            outcome = outcome.to_frame(name)
        table: pd.DataFrame = outcome
        return table

    def answers(self, tables: Sequence[pd.DataFrame], name: str) -> list[pd.DataFrame]:
        """The answers for some tables, in order."""
        found: dict[int, pd.DataFrame] = {}
        pieces = [(place, Piece(name, partial(table.copy, deep=False))) for place, table in enumerate(tables)]
        self.all(pieces, lambda place, _, answer: found.__setitem__(place, answer))
        return [found[place] for place in range(len(tables))]

    def checked(self, piece: Piece) -> pd.DataFrame | None:
        """The answer for a piece, which was also computed in parts; None if it has no parts."""
        table = _rows_of(piece)
        divisions = by_groups(table, self.keys) if self.contract.kind == "groups" else by_rows(len(table))
        division = next(iter(divisions), None)
        if division is None:
            return None
        parts = [self.dtypes.divided(table, rows) for rows in division.pieces]
        if is_numbered(table):
            parts = [part.reset_index(drop=True) for part in parts]
        whole, *answers = self.answers([table, *parts], piece.name)
        del table, parts
        said = deviation(whole, answers)
        if not said:
            together = below(answers)
            if self.contract.kind == "merge":
                together = self._of_answers.answers([together], piece.name)[0]
            said = difference(whole, together, in_order=self.contract.kind != "groups" and division.in_order)
        if said:
            raise SplitBroken(
                f"{visible(self.function.name)} may not be split like this: {piece.name}, {division.name}: {said}.",
                why=f"On the sample it seemed to be: {self.contract.words}. The data reach what the sample does not.",
                hint=f"Take more rows as the sample, or give more memory. {APART}",
            )
        return whole

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


def _failure(name: str, error: AutocodeError) -> AutocodeError:
    """The error of a piece, with its name."""
    if isinstance(error, SandboxUnavailable | PackageError):
        return error
    if isinstance(error, DataDrift | ContractBroken):
        error.what = f"{name}: {error.what}"
        return error
    failed = PieceFailed(f"{name}: {error.what}", why=error.why, hint=error.hint)
    failed.__cause__ = error
    return failed
