"""The tables on which a function is compared: the sample, its variations, and large ones."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from autocoder_jupyter.engine.second_opinion.sizes import numbers_in
from autocoder_jupyter.engine.second_opinion.variations import Variation, stretched, variations
from autocoder_jupyter.untrusted.parsing import parse

MOST_ROWS = 200_000
LEAST_ROWS = 2_500

REACH = 5
"""How often the large tables have as many rows as the largest number in the code: *the 500 largest* of 240 rows are
all rows."""


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


def large_enough(code: str, arguments: Iterable[Any]) -> tuple[int, str]:
    """How many rows a table needs, so that a number in the code or in an argument is no limit that it does not reach.

    Args:
        code: the source of the function.
        arguments: the inputs that are no tables.

    Returns:
        The number of rows; and, if a number that may limit rows is too large for that, a sentence, else "".
    """
    try:
        nodes = list(ast.walk(parse(code)))
    except SyntaxError:
        return MOST_ROWS, "its code cannot be read"
    given = [value for value in arguments if isinstance(value, int | float) and not isinstance(value, bool)]
    largest = max((abs(value) for value in (*given, *numbers_in(code)) if value == value), default=0)
    names = {node.id if isinstance(node, ast.Name) else node.attr for node in nodes if isinstance(node, _NAMED)}
    if REACH * largest >= MOST_ROWS and names & _OF_ROWS:
        counts = ", ".join(sorted(names & _OF_ROWS)[:3])
        return MOST_ROWS, (
            f"its code has the number {min(largest, 1e15):,.0f} and counts rows ({counts}), and tables of "
            f"{MOST_ROWS:,} rows do not show what such a number does"
        )
    return int(min(max(REACH * largest + 1, LEAST_ROWS), MOST_ROWS)), ""


_NAMED = (ast.Name, ast.Attribute)

_OF_ROWS = frozenset({"len", "shape", "size", "head", "tail", "sample", "nlargest", "nsmallest", "iloc", "take"})
"""Names in code for which the number of rows may count."""
