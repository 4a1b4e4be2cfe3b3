"""The tables on which a function is compared: the sample, its variations, and large ones."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.engine.second_opinion.variations import Profile, Variation, stretched, trimmed, variations
from autocoder_jupyter.untrusted.parsing import parse

MOST_ROWS = 200_000
LEAST_ROWS = 2_500

REACH = 5
"""How often the large tables have as many rows as the largest number in the code: *the 500 largest* of 240 rows are
all rows."""

MOST_TIED = 12
"""Columns in which values are made equal."""

SMALL = 40
"""In place of a number that is out of reach: more than most samples' groups have rows, and fewer than all tables."""


def compared_tables(tables: Mapping[str, Any], name: str, rows: int) -> Iterator[Variation]:
    """The sample, then its variations, then the large ones.

    Args:
        tables: the tables among the inputs, by name.
        name: the one that is split.
        rows: how many rows the large ones have.
    """
    whole = {**tables, name: tables[name].iloc[:MOST_ROWS]}
    yield Variation("", whole)
    later = []
    for variation in stretched(tables, name, rows):
        if len(variation.tables[name]) < rows:
            yield variation
        else:
            later.append(variation)
    yield from variations(tables)
    yield from later


def tied(table: Any) -> Iterator[Any]:
    """The same rows with equal values in one column, and in all columns but one, so that a sort does not decide.

    *The largest three orders* depend on the order of the rows if a fourth is as large. Columns that identify rows stay.
    """
    base, profile = trimmed(table), Profile.of(table)
    if not isinstance(base, pd.DataFrame):
        return
    places = [place for place in range(base.shape[1]) if place not in profile.keys | profile.pair][:MOST_TIED]
    for place in places:
        yield _alike(base, [place])
        if len(places) > 2:
            yield _alike(base, [other for other in places if other != place])


def _alike(table: Any, places: Iterable[int]) -> Any:
    """The table with the most frequent value everywhere in these columns."""
    frame = table.copy()
    for place in places:
        column = frame.iloc[:, place]
        try:
            number = int(np.argmax(column.map(column.value_counts()).fillna(0).to_numpy(dtype=float)))
        except (TypeError, ValueError):  # lists and dicts
            number = 0
        frame.isetitem(place, column.iloc[np.full(len(column), number)].set_axis(column.index))
    return frame


def large_enough(numbers: Iterable[int | float]) -> int:
    """How many rows a table needs, so that none of these numbers is a limit that it does not reach; at most
    `MOST_ROWS`.
    """
    largest = max((abs(number) for number in numbers if not is_out_of_reach(number)), default=0)
    return int(max(REACH * largest + 1, LEAST_ROWS))


def is_out_of_reach(number: int | float) -> bool:
    """Whether no table is large enough to show what a number does that limits rows."""
    return not REACH * abs(number) < MOST_ROWS


def small_numbers(numbers: Iterable[int | float]) -> dict[int | float, int]:
    """For each number that is out of reach a small one, in the same order."""
    large = sorted({abs(number) for number in numbers if is_out_of_reach(number) and number == number})
    return {number: SMALL + place for place, number in enumerate(large)}


def counts_rows(code: str) -> str:
    """Names in code for which the number of rows may count; "" if there are none.

    Raises:
        SyntaxError: it does not parse.
    """
    nodes = (node for node in ast.walk(parse(code)) if isinstance(node, ast.Name | ast.Attribute))
    names = {node.id if isinstance(node, ast.Name) else node.attr for node in nodes}
    return ", ".join(sorted(names & _OF_ROWS)[:3])


_OF_ROWS = frozenset({"len", "shape", "size", "head", "tail", "sample", "nlargest", "nsmallest", "iloc", "take"})
