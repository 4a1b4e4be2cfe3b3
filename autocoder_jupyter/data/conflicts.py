"""What a request says of the data that is not so: a format of dates, the name, type or value of a column.

This is found by a check of the data. The data win, because a function that follows the words gives an empty result.
Only what is certain counts: a format that hardly any value has, and a name or value that is there in another spelling.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from autocoder_jupyter.data.mentions import mentioned
from autocoder_jupyter.data.sample import spread
from autocoder_jupyter.data.text_formats import reads, text_formats
from autocoder_jupyter.request import Share

MOST = 6
"""The maximum number of conflicts that are told."""

TEXTS = 500
"""Values of a column that are examined."""

_LONGEST = 200
"""Characters. A quoted value has at most 60, so a longer text is not the same one with blanks around it."""

_FEW = 0.1
"""The part of the values that may have the format of the request, although it is not theirs."""

_PATTERN = re.compile(
    r"(?<!\w)(?:[DMY]{1,4}[-/. ]){2}[DMY]{1,4}(?!\w)|%[dmYy][-/. ]%[dmYy][-/. ]%[dmYy]", re.IGNORECASE
)
_PARTS = {"d": "%d", "m": "%m", "yyyy": "%Y", "yy": "%y"}
_QUOTED = re.compile(r"(?<!\w)(?:'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"|“([^”\n]{1,60})”)(?!\w)")
_NAMED = re.compile(r"`([^`\n]{1,60})`|\bcolumns? ['\"“]([^'\"”\n]{1,60})['\"”]")
_IS_A = (
    r"(?<!\w)['\"`]?{name}['\"`]?\s*(?:,|:|\(|is|are|as|has|contains)\s*(?:an?\s+|of\s+|the\s+)?(?:dtype\s+|type\s+)?"
    r"(integer|int64|int|whole number|float64|float|number|numeric|datetime64|datetime|timestamp|boolean|bool)s?\b"
)
_KINDS = {
    **dict.fromkeys(("integer", "int64", "int", "whole number"), "a whole number"),
    **dict.fromkeys(("float64", "float", "number", "numeric"), "a number"),
    **dict.fromkeys(("datetime64", "datetime", "timestamp"), "a datetime"),
    **dict.fromkeys(("boolean", "bool"), "a truth value"),
}


def conflicts(
    request: str, tables: Mapping[str, pd.DataFrame], *, share: Share = "rows", masked: Collection[str] = ()
) -> tuple[str, ...]:
    """One sentence for each thing that the request says and the data contradict.

    Args:
        request: the user's text.
        tables: the tables by input name, without hidden columns.
        share: the sharing level. Values are quoted only with `rows`, and formats are told unless only the schema is.
        masked: columns whose values are withheld.
    """
    shown = tables
    if masked:
        shown = {
            name: table.loc[:, [str(label) not in masked for label in table.columns]] for name, table in tables.items()
        }
    found = [*_names(request, tables), *_types(request, tables)]
    found += _formats(request, shown) if share != "schema" else ()
    found += _values(request, shown) if share == "rows" else ()
    return tuple(dict.fromkeys(found))[:MOST]


def _formats(request: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Formats of dates that no column of dates has."""
    said = {pattern: form for pattern in _PATTERN.findall(request) if (form := _as_format(pattern))}
    if not said:
        return
    dates = [
        (name, label, texts, forms[0])
        for name, table in tables.items()
        for label, texts in _text_columns(table)
        if (forms := [form for form in text_formats(texts) if form.startswith("dates ")])
    ]
    meant = [entry for entry in dates if mentioned([entry[1]], request)] or dates
    for pattern, form in said.items():
        if meant and not any(sum(reads(text, form) for text in texts) > _FEW * len(texts) for _, _, texts, _ in meant):
            name, label, _, phrase = meant[0]
            real = phrase.removeprefix("dates ").partition(" (")[0]
            yield f"The request says {pattern}, but the dates in {name}.{label} have the format {real}"


def _as_format(pattern: str) -> str:
    """The format of `strptime`; "" if it is not one of a day, a month and a year."""
    if "%" in pattern:
        return pattern
    parts = re.split(r"[-/. ]", pattern.lower())
    directives = [_PARTS.get(part if part[0] == "y" else part[0], "") for part in parts if len(set(part)) == 1]
    if {directive.lower() for directive in directives} != {"%d", "%m", "%y"}:
        return ""
    separator = re.sub(r"\w", "", pattern)[:1]
    return separator.join(directives)


def _names(request: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Names of columns that the data have in another spelling."""
    labels = [(name, str(label)) for name, table in tables.items() for label in table.columns]
    known = {label for _, label in labels} | set(tables)
    for written in dict.fromkeys(first or second for first, second in _NAMED.findall(request)):
        wanted = _letters(written)
        alike = [(name, label) for name, label in labels if wanted and _letters(label) == wanted]
        if written not in known and alike:
            name, label = alike[0]
            yield f"The request says {written}, but the column of {name} is called {label}"


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold()).removesuffix("s")


def _types(request: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Types that a column does not have."""
    for name, table in tables.items():
        for label in (label for label in table.columns if isinstance(label, str) and label in request):
            found = re.search(_IS_A.replace("{name}", re.escape(label)), request, re.IGNORECASE)
            column = table[label]
            if found is None or not isinstance(column, pd.Series):
                continue
            said, dtype = _KINDS[found[1].lower()], column.dtype
            if not _is_of(said, column):
                yield f"The request says that {label} is {said}, but in {name} its dtype is {dtype}"


def _is_of(kind: str, column: pd.Series[Any]) -> bool:
    types = pd.api.types
    if kind == "a datetime":
        return bool(types.is_datetime64_any_dtype(column.dtype))
    if kind == "a truth value":
        return bool(types.is_bool_dtype(column.dtype) or types.is_integer_dtype(column.dtype))
    if not types.is_numeric_dtype(column.dtype):
        return False
    if kind == "a whole number" and types.is_float_dtype(column.dtype):
        return bool((column.dropna() % 1 == 0).all())
    return True


def _values(request: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Quoted values that no column has as they are written, but one has in other letters or with blanks."""
    quoted = dict.fromkeys(next(filter(None, groups)) for groups in _QUOTED.findall(request))
    if not quoted:
        return
    columns = [
        (name, label, {_folded(text): text for text in sorted(texts, reverse=True)}, set(texts))
        for name, table in tables.items()
        for label, found in _text_columns(table, labels_only=True)
        if (texts := [text for text in found if len(text) <= _LONGEST])
    ]
    names = {str(label) for table in tables.values() for label in table.columns}
    for value in quoted:
        if value in names or any(value in values for _, _, _, values in columns):
            continue
        for name, label, alike, _ in columns:
            if (other := alike.get(_folded(value))) is not None:
                yield f"The request says {value!r}, but in {name}.{label} it is {other!r}"
                break


def _folded(text: str) -> str:
    return text.strip().casefold()


def _text_columns(table: pd.DataFrame, *, labels_only: bool = False) -> Iterator[tuple[Any, list[str]]]:
    """The columns of text with some of their values: spread over the column, or all that are different."""
    for label, column in table.items():
        if not isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype) and column.dtype.kind != "O":
            continue
        try:
            cells = column.dropna().drop_duplicates().tolist() if labels_only else spread(column.dropna(), TEXTS)
        except (TypeError, ArithmeticError):
            continue  # lists and dicts; a Decimal that signals when it is compared
        texts = [cell for cell in list(cells)[: 10 * TEXTS] if isinstance(cell, str)]
        if texts:
            yield label, texts
