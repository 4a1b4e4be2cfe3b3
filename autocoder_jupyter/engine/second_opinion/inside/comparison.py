"""Compares two sets of outputs: where they differ, how much, and what cannot be compared."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from autocoder_jupyter.engine.second_opinion.inside import frames
from autocoder_jupyter.engine.second_opinion.inside.values import comparable, is_missing, plain, same, shown

MOST = 20
"""The maximum number of differences in one comparison."""

SHOWN_TEXT = 1_000_000
"""The number of characters of a file that are compared."""


@dataclass(frozen=True)
class Difference:
    """One place where two results differ.

    Args:
        where: `best_month`, `monthly.growth`, or `monthly` for its rows.
        first, second: the two results there, as text for the user.
        at: for a column, the row that is shown.
        count, of: `count` of `of` rows differ.
        both: whether both have a value there, in at least one row.
        ones, others: all values there, as JSON, in the order of the first; only for a small result.
        keys: for rows, the columns that identify them.
    """

    where: str
    first: str
    second: str
    at: str = ""
    count: int = 1
    of: int = 1
    both: bool = True
    ones: tuple[Any, ...] = ()
    others: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass
class Comparison:
    """The differences, and the parts that were not compared, with reasons."""

    differences: list[Difference] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)

    @property
    def places(self) -> set[str]:
        """The places that differ."""
        return {difference.where for difference in self.differences}


def compare(first: Mapping[str, Any], second: Mapping[str, Any], pairs: Sequence[Sequence[str]]) -> Comparison:
    """Compare outputs.

    Args:
        first: outputs by name.
        second: outputs of the other solution by name.
        pairs: (name in the first, name in the second) of outputs that belong together.
    """
    found = Comparison()
    for one, other in pairs:
        for difference in _between(one, first[one], second[other], found.not_compared):
            if len(found.differences) < MOST:
                found.differences.append(difference)
    return found


def leaves(name: str, value: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The places of an output, named as in `compare`, with all their values as JSON."""
    if isinstance(value, pd.DataFrame | pd.Series):
        frame = frames.as_frame(value, name)
        if len(frame) <= MOST:
            yield from ((f"{name}.{column}", tuple(map(plain, frame[column]))) for column in frame.columns)
    elif _is_scalar(value):
        yield name, (plain(value),)


def _between(name: str, one: Any, other: Any, notes: list[str]) -> Iterator[Difference]:
    if isinstance(one, pd.DataFrame | pd.Series) and isinstance(other, pd.DataFrame | pd.Series):
        yield from _tables(name, frames.as_frame(one, name), frames.as_frame(other, name), notes)
    elif isinstance(one, dict) and isinstance(other, dict):
        yield from _dicts(name, one, other, notes)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        yield from _lists(name, list(one), list(other), notes)
    elif isinstance(one, pathlib.Path) and isinstance(other, pathlib.Path):
        yield from _files(name, one, other, notes)
    elif _is_scalar(one) and _is_scalar(other) and comparable(one, other):
        if not same(one, other):
            both = not is_missing(one) and not is_missing(other)
            yield Difference(name, shown(one), shown(other), both=both, ones=(plain(one),), others=(plain(other),))
    else:
        notes.append(f"{name}: {type(one).__name__} here, {type(other).__name__} there")


def _is_scalar(value: Any) -> bool:
    return is_missing(value) or pd.api.types.is_scalar(value)


def _dicts(name: str, one: dict[Any, Any], other: dict[Any, Any], notes: list[str]) -> Iterator[Difference]:
    by_text = {str(key): value for key, value in other.items()}
    for key, value in one.items():
        if str(key) in by_text:
            yield from _between(f"{name}.{key}", value, by_text[str(key)], notes)
        else:
            notes.append(f"{name}.{key}: only in the function")
    notes.extend(f"{name}.{key}: only in the second solution" for key in by_text if key not in set(map(str, one)))


def _lists(name: str, one: list[Any], other: list[Any], notes: list[str]) -> Iterator[Difference]:
    if len(one) != len(other):
        yield Difference(name, f"{len(one)} entries", f"{len(other)} entries", ones=_all(one), others=_all(other))
        return
    if all(map(_is_scalar, (*one, *other))):
        wrong = [number for number, pair in enumerate(zip(one, other, strict=True)) if not same(*pair)]
        if wrong:
            at = wrong[0]
            told = shown(one[at]), shown(other[at]), f"entry {at + 1}"
            yield Difference(name, *told, len(wrong), len(one), ones=_all(one), others=_all(other))
        return
    for number, (left, right) in enumerate(zip(one, other, strict=True), 1):
        yield from _between(f"{name}[{number}]", left, right, notes)


def _all(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(map(plain, values))


def _files(name: str, one: pathlib.Path, other: pathlib.Path, notes: list[str]) -> Iterator[Difference]:
    try:
        left = one.read_text(encoding="utf-8")[:SHOWN_TEXT].splitlines()
        right = other.read_text(encoding="utf-8")[:SHOWN_TEXT].splitlines()
    except (OSError, UnicodeDecodeError):
        notes.append(f"{name}: no text file")
        return
    yield from _lists(name, left, right, notes)


def _tables(name: str, one: Any, other: Any, notes: list[str]) -> Iterator[Difference]:
    columns = frames.matched_columns(one, other)
    notes.extend(f"{name}.{left}: no such column in the second solution" for left in one.columns if left not in columns)
    if not columns:
        return
    one, other = one[list(columns)], other[list(columns.values())].set_axis(list(columns), axis=1)
    keys = frames.key_columns(one, other)
    if not keys:
        if len(one) != len(other):
            yield _rows(name, one, other, [])
            return
        yield from _columns(name, one, other, [str(number) for number in range(1, len(one) + 1)], list(columns))
        return
    left, right = frames.labels(one, keys), frames.labels(other, keys)
    if set(left) != set(right):
        yield _rows(name, one, other, keys)
    place = {label: number for number, label in enumerate(right)}
    common = [number for number, label in enumerate(left) if label in place]
    partners = [place[left.iloc[number]] for number in common]
    rest = [column for column in columns if column not in keys]
    both = one.iloc[common].reset_index(drop=True), other.iloc[partners].reset_index(drop=True)
    rows = frames.told(both[0], keys)
    yield from _columns(name, *both, rows, rest)


def _rows(name: str, one: Any, other: Any, keys: list[str]) -> Difference:
    """Rows that only one side has."""
    counts = f"{len(one)} rows", f"{len(other)} rows"
    if not keys:
        return Difference(name, *counts)
    left, right = frames.labels(one, keys), frames.labels(other, keys)
    here, there = frames.told(one, keys), frames.told(other, keys)
    only_here = [text for text, label in zip(here, left, strict=True) if label not in set(right)]
    only_there = [text for text, label in zip(there, right, strict=True) if label not in set(left)]
    at = f"{only_here[0]} only in the function" if only_here else f"{only_there[0]} only in the second solution"
    if counts[0] == counts[1]:
        counts = f"{len(only_here)} other rows", f"{len(only_there)} other rows"
    more = len(only_here) + len(only_there)
    ones, others = (tuple(here), tuple(there)) if max(len(here), len(there)) <= MOST else ((), ())
    return Difference(name, *counts, at, more, more, ones=ones, others=others, keys=tuple(keys))


def _columns(name: str, one: Any, other: Any, rows: list[str], columns: list[str]) -> Iterator[Difference]:
    for column in columns:
        wrong = frames.differing(one[column], other[column])
        if wrong.any():
            told = wrong & one[column].notna().to_numpy() & other[column].notna().to_numpy()
            at = int((told if told.any() else wrong).argmax())  # a row where both have a value is a better example
            yield Difference(
                f"{name}.{column}",
                shown(one[column].iloc[at]),
                shown(other[column].iloc[at]),
                rows[at],
                int(wrong.sum()),
                len(wrong),
                bool(told.any()),
                _all(one[column]) if len(one) <= MOST else (),
                _all(other[column]) if len(one) <= MOST else (),
            )
