"""Columns whose name in the data differs from the one that a function reads.

`--rename price=unit_price` says that the column `price` of the function is the column `unit_price` of the data. It is
recorded with the function. Likely pairs are found by dtype and values, and offered; none is used by itself.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import pandas as pd

from autocoder_jupyter.data.capture import origin_of, with_origin
from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.drift import is_compatible, missing_columns
from autocoder_jupyter.data.shapes import column_literal
from autocoder_jupyter.data.value_drift import TableValues, similar_values
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.parsing import literal

LIKE_NAMES = 0.6
"""The similarity of two names (`difflib`) from which they may be the same column if no values are recorded."""

MOST_PAIRS = 10_000
"""If more pairs of a lacking and a new column are possible, none is searched. The record of a table is not trusted."""

LONGEST = 200
"""Characters. Longer names are not compared: the time grows with the square of their length."""


def renamed(table: Any, renames: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    """A table with the names that a function reads, and the renames that were used. The table is not changed.

    A column is renamed only if the table lacks the name that is read.
    """
    if not renames or not isinstance(table, pd.DataFrame):
        return table, {}
    labels = list(table.columns)
    used = {reads: has for reads, has in renames.items() if reads not in labels and labels.count(has) == 1}
    if not used:
        return table, {}
    return with_origin(table.rename(columns={has: reads for reads, has in used.items()}), origin_of(table)), used


def renamed_samples(samples: Mapping[str, Any], renames: Mapping[str, str]) -> dict[str, Any]:
    """The samples of a request with the names that its function reads.

    Raises:
        InvalidRequest: a rename fits none of them.
    """
    tables = [value for value in samples.values() if isinstance(value, pd.DataFrame)]
    for reads, has in renames.items():
        if not any(name in table.columns for table in tables for name in (reads, has)):
            raise InvalidRequest(
                f"There is no column {has!r} to be read as {reads!r}.",
                hint="Write --rename READS=HAS, or renames={READS: HAS}: the name that the function reads, then the "
                "one that the data have.",
            )
    return with_names_read(samples, renames)


def with_names_read(samples: Mapping[str, Any], renames: Mapping[str, str]) -> dict[str, Any]:
    """Samples with the names that a function reads. A rename that fits none of them does nothing."""
    return {name: renamed(value, renames)[0] for name, value in samples.items()}


def likely_renames(
    frame: pd.DataFrame, shape: Mapping[str, Any], values: TableValues | None, reads: ColumnsRead = EVERY_COLUMN
) -> dict[str, str]:
    """The likely new names of columns that a table lacks, by the name that the function reads.

    Two columns are a pair if their dtypes are of one family, and their values are alike; where no values were recorded,
    their names must be.
    """
    lacking = {name: dtype for text, dtype in missing_columns(frame, shape, reads) if (name := _text(text)) is not None}
    known = {text for text, _ in shape["columns"]}
    new = [
        label
        for label in frame.columns
        if isinstance(label, str) and len(label) <= LONGEST and column_literal(label) not in known
    ]
    if not lacking or len(lacking) * len(new) > MOST_PAIRS or not frame.columns.is_unique:
        return {}
    recorded = {column.label: column for column in values.columns} if values is not None else {}
    scored = []
    for name, dtype in lacking.items():
        for label in new:
            column = frame[label]
            if not is_compatible(dtype, str(column.dtype), column):
                continue
            then, alike = recorded.get(repr(name)), difflib.SequenceMatcher(None, name, label).ratio()
            are_similar = similar_values(then, values.compared, column) if then is not None and values else None
            if are_similar or (are_similar is None and alike >= LIKE_NAMES):
                scored.append((bool(are_similar), alike, name, label))
    found: dict[str, str] = {}
    for _, _, name, label in sorted(scored, key=lambda pair: (not pair[0], -pair[1])):
        if name not in found and label not in found.values():
            found[name] = label
    return found


def _text(written: str) -> str | None:
    """The name that a literal spells; None if it is not a string, masked, or too long."""
    if len(written) > LONGEST:
        return None
    try:
        label = literal(written)
    except (ValueError, SyntaxError):
        return None
    return label if isinstance(label, str) and repr(label) == written else None


def call_with(function: str, name: str, pairs: Mapping[str, str]) -> str:
    """The call that renames: `growth.run(sales.rename(columns={'unit_price': 'price'}))`."""
    columns = {has: reads for reads, has in pairs.items()}
    return f"{function}.run({name}.rename(columns={columns!r}))"


def option_of(pairs: Mapping[str, str]) -> str:
    """The options of a cell that rename: `--rename price=unit_price`; "" if a name cannot be written there."""
    if any("=" in reads or not (reads + has).isprintable() or '"' in reads + has for reads, has in pairs.items()):
        return ""
    return " ".join(f"--rename {_word(f'{reads}={has}')}" for reads, has in pairs.items())


def _word(text: str) -> str:
    """A word of the first line of a cell, quoted if it has to be."""
    return text if text.replace("=", "").isidentifier() else f'"{text}"'
