"""Check data against what the user says: constraints as conditions on a table, and claims of a request."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict

from autocoder_jupyter.data.keys import fold
from autocoder_jupyter.data.sample import mentioned, missing_in, spread
from autocoder_jupyter.data.text_formats import cell_text, reads, text_formats
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share
from autocoder_jupyter.types import CheckOutcome
from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.untrusted.visible import visible

# Conditions on a table

CheckKind = Literal[
    "greater_than",
    "at_least",
    "less_than",
    "at_most",
    "between",
    "regex",
    "isin",
    "not_null",
    "unique",
    "row_count",
    "min_rows",
    "max_rows",
    "same_rows_as",
]

Scalar = bool | int | float | str

_EXAMPLES = 3

Match = Callable[[str, "pd.Series[Any]"], "pd.Series[Any]"]
"""Takes a pattern and texts. Returns for each text whether the pattern matches at its start."""


class ColumnCheck(BaseModel):
    """One condition on one table.

    Args:
        target: the name of the table, an input or output.
        column: the column as the user or the plan wrote it; None for conditions on the number of rows.
        kind: the kind of condition. Missing values satisfy every kind except `not_null`.
        value: the bound of a comparison, a number of rows, or the other table's name for `same_rows_as`. A text
            bound is a timestamp in ISO format.
        low, high: the bounds of `between`, both included.
        pattern: a regular expression that must match at the start of each text (as `re.match`).
        values: the allowed values of `isin`.
        sentence: the constraint as the user wrote it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    column: str | None = None
    kind: CheckKind
    value: Scalar | None = None
    low: Scalar | None = None
    high: Scalar | None = None
    pattern: str | None = None
    values: tuple[Scalar, ...] = ()
    sentence: str = ""


def evaluate(
    check: ColumnCheck,
    frame: pd.DataFrame | pd.Series[Any],
    *,
    others: Mapping[str, Any] | None = None,
    show_values: bool = True,
    match: Match | None = None,
) -> CheckOutcome:
    """Whether a condition holds, with the number of rows that violate it and up to three of their values, masked.

    Raises:
        Undecided: the pattern can only be applied in the sandbox.
    """
    name = check.sentence or check.kind
    try:
        message = _rows_message(check, frame, others or {}) if check.column is None else None
        if check.column is not None:
            message = _column_message(check, frame, show_values, match or match_in_linear_time)
    except (TypeError, ValueError, ArithmeticError, AttributeError, NotImplementedError) as error:
        message = f"{_place(check)} cannot be compared: {type(error).__name__}"
    return CheckOutcome(name=name, passed=message is None, message=message or "")


def find_column(frame: pd.DataFrame | pd.Series[Any], column: str) -> pd.Series[Any] | None:
    """A column or index level by its name. Case, blanks and underscores are ignored if the match is unique."""
    table = frame if isinstance(frame, pd.DataFrame) else frame.to_frame()
    exact: Callable[[Any], bool] = lambda label: str(label) == column  # noqa: E731
    alike: Callable[[Any], bool] = lambda label: fold(label) == fold(column)  # noqa: E731
    for same in (exact, alike):
        places = [place for place, label in enumerate(table.columns) if same(label)]
        if len(places) == 1:
            return table.iloc[:, places[0]]
        levels = [level for level, label in enumerate(table.index.names) if label is not None and same(label)]
        if not places and len(levels) == 1:
            return table.index.get_level_values(levels[0]).to_series().reset_index(drop=True)
    if isinstance(frame, pd.Series) and frame.name is None:
        return frame
    return None


_LONGEST_CONDITION = 200

_CONDITIONS = {
    "greater_than": "is greater than {value}",
    "at_least": "is at least {value}",
    "less_than": "is less than {value}",
    "at_most": "is at most {value}",
    "between": "is between {low} and {high}",
    "regex": "starts with the pattern {pattern}",
    "isin": "is one of {values}",
    "not_null": "is never missing",
    "unique": "has no value twice",
    "row_count": "has {value} rows",
    "min_rows": "has at least {value} rows",
    "max_rows": "has at most {value} rows",
    "same_rows_as": "has as many rows as {value}",
}


def condition_text(check: ColumnCheck) -> str:
    """What a condition tests: `column 'revenue' of monthly is at least 0`. Hidden characters are escaped."""
    parts = {name: repr(shortened(getattr(check, name))) for name in ("value", "low", "high", "pattern", "values")}
    place = check.target if check.column is None else _place(check)
    text = visible(f"{place} {_CONDITIONS[check.kind].format(**parts)}")
    return text if len(text) <= _LONGEST_CONDITION else f"{text[:_LONGEST_CONDITION]}…"


def _place(check: ColumnCheck) -> str:
    return f"column {check.column!r} of {check.target}"


def _column_message(
    check: ColumnCheck, frame: pd.DataFrame | pd.Series[Any], show_values: bool, match: Match
) -> str | None:
    column = find_column(frame, check.column or "")
    if column is None:
        return f"{check.target} has no column {check.column!r}"
    if check.kind == "not_null":
        count = int(missing_in(column).sum())
        return f"{_place(check)} is missing in {count} of {len(column)} rows" if count else None
    present = column[~missing_in(column).to_numpy()]
    bad = present[~_holds(check, present, match).astype(bool).to_numpy()]
    if len(bad) == 0:
        return None
    message = f"{_place(check)} violates it in {len(bad)} of {len(column)} rows"
    if not show_values:
        return message
    mask = Masker().for_column([cell_text(value) for value in bad.iloc[:100]])
    return f"{message}, for instance {', '.join(mask(cell_text(value)) for value in bad.iloc[:_EXAMPLES])}"


def texts_of(check: ColumnCheck, frame: pd.DataFrame | pd.Series[Any]) -> pd.Series[Any] | None:
    """The texts to which the pattern of a condition is applied, in order; None if the column does not exist."""
    column = find_column(frame, check.column or "")
    return None if column is None else column[~missing_in(column).to_numpy()].astype(str).reset_index(drop=True)


class Undecided(Exception):
    """It cannot be decided outside of the sandbox whether a condition holds."""


def match_in_linear_time(pattern: str, texts: pd.Series[Any]) -> pd.Series[Any]:
    """Which texts a pattern matches, by RE2, which takes linear time.

    Python's `re` is not used: patterns come from users, folders or models, and `re` can take exponential time, cannot
    be interrupted, and blocks other threads.
    """
    plain = all(text.isascii() and "\n" not in text for text in texts)
    if not plain and _READ_OTHERWISE.search(pattern):
        raise Undecided
    return match_by_re2(pattern, texts)


def match_by_re2(pattern: str, texts: pd.Series[Any]) -> pd.Series[Any]:
    r"""Which texts a pattern fits as RE2 reads it: `\d` and `\w` are of ASCII, `$` is the end of the text.

    Raises:
        Undecided: RE2 does not support the pattern.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        fits = pc.match_substring_regex(pa.array(texts, type=pa.large_string()), f"^(?:{pattern})")
    except (pa.ArrowInvalid, UnicodeError):
        raise Undecided from None
    return pd.Series(fits.to_numpy(zero_copy_only=False), index=texts.index, dtype=bool)


_READ_OTHERWISE = re.compile(r"[$\\]|\(\?")
"""Syntax in which RE2 and Python may differ: ends of lines, non-ASCII character classes, and flags."""

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "greater_than": operator.gt,
    "at_least": operator.ge,
    "less_than": operator.lt,
    "at_most": operator.le,
}


def _holds(check: ColumnCheck, present: pd.Series[Any], match: Match) -> pd.Series[Any]:
    """A truth value for each row that is not missing."""
    if check.kind in _COMPARISONS:
        result = _COMPARISONS[check.kind](present, _bound(check.value, present))
    elif check.kind == "between":
        result = (present >= _bound(check.low, present)) & (present <= _bound(check.high, present))
    elif check.kind == "regex":
        result = match(check.pattern or "", present.astype(str))
    elif check.kind == "isin":
        result = present.isin(list(_members(check.values, present)))
    elif check.kind == "unique":
        result = ~present.duplicated()
    else:
        raise ValueError(f"{check.kind} is not a condition on a column")
    return pd.Series(result)


def _bound(value: Scalar | None, present: pd.Series[Any]) -> Any:
    if value is None:
        raise ValueError("the bound is missing")
    if not isinstance(value, str):
        return value
    moment = pd.Timestamp(value)
    if isinstance(present.dtype, pd.PeriodDtype):
        return moment.to_period(present.dtype.freq.freqstr)
    zone = getattr(present.dtype, "tz", None)
    if zone is not None and moment.tzinfo is None:
        return moment.tz_localize(zone)
    if present.dtype == object:
        return moment.date()
    return moment


def _members(values: tuple[Scalar, ...], present: pd.Series[Any]) -> list[Any]:
    """The allowed values. In a text column a number also allows its digits as text, and vice versa."""
    members: list[Any] = list(values)
    if present.dtype == object or isinstance(present.dtype, pd.StringDtype | pd.CategoricalDtype):
        members += [str(value) for value in values if not isinstance(value, str)]
    return members


def _rows_message(check: ColumnCheck, frame: pd.DataFrame | pd.Series[Any], others: Mapping[str, Any]) -> str | None:
    rows = len(frame)
    if check.kind == "same_rows_as":
        other = others.get(str(check.value))
        if other is None:
            return f"there is no table {check.value!r} to compare with"
        return None if rows == len(other) else f"{check.target} has {rows} rows, {check.value} has {len(other)}"
    wanted = int(check.value or 0)
    holds = {"row_count": rows == wanted, "min_rows": rows >= wanted, "max_rows": rows <= wanted}[check.kind]
    return None if holds else f"{check.target} has {rows} rows"


# Conflicts between a request and the data: a format of dates, the name, type or value of a column
#
# The data win, because a function that follows the words gives an empty result. Only what is certain counts: a format
# that hardly any value has, and a name or value that is there in another spelling.

MOST_CONFLICTS = 6
"""The maximum number of conflicts that are reported."""

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
_DTYPE = r"integer|int64|int|float64|float|numeric|datetime64|datetime|timestamp|boolean|bool"
_KIND = rf"whole number|number|{_DTYPE}"
_END = r"(?=\s*(?:$|[.,;:!?)\]]))"
_CLAIMS = tuple(
    rf"(?<!\w)['\"`]?{{name}}['\"`]?{words}"
    for words in (
        rf"\s+(?:is|are)\s+(?:(?:stored|given|saved|recorded)\s+as\s+)?(?:an?\s+|of\s+)?(?:d?type\s+)?(?P<kind>{_KIND})s?"
        r"(?:(?=\s+(?:and|but|in|id|key|code|column|value)s?\b)|(?=\s*(?:$|[.,;:!?)\]])))",
        rf"\s+(?:has|contains?)\s+(?P<kind>{_KIND})s?{_END}",
        rf"\s*:\s*(?P<kind>{_DTYPE})(?=\s*(?:$|[.,;)\]]|and\b))",
        rf"\s*\(\s*(?P<kind>{_DTYPE})\s*\)",
        rf"\s*[,(]\s*an?\s+(?P<kind>{_KIND}){_END}",
    )
)
"""What a request says of the type of a column. A comma, a colon or a bracket before *number* does not."""

_NO_CLAIM = re.compile(
    r"\b(?:if|whether|where|whose|unless|when|which|until"
    r"|convert|parse|read|return|give|treat|write|ensure|make sure|check)\b",
    re.IGNORECASE,
)
"""What makes a condition or an instruction of it."""

_KINDS = {
    **dict.fromkeys(("integer", "int64", "int", "whole number"), "a whole number"),
    **dict.fromkeys(("float64", "float", "number", "numeric"), "a number"),
    **dict.fromkeys(("datetime64", "datetime", "timestamp"), "a datetime"),
    **dict.fromkeys(("boolean", "bool"), "a truth value"),
}


def conflicts(
    request: str, tables: Mapping[str, pd.DataFrame], *, share: Share = "rows", masked: Collection[str] = ()
) -> tuple[str, ...]:
    """One sentence for each claim of the request that the data contradict."""
    shown = tables
    if masked:
        shown = {
            name: table.loc[:, [str(label) not in masked for label in table.columns]] for name, table in tables.items()
        }
    found = [*_names(request, tables), *_types(request, tables)]
    found += _formats(request, shown) if share != "schema" else ()
    found += _values(request, shown) if share == "rows" else ()
    return tuple(dict.fromkeys(found))[:MOST_CONFLICTS]


def _formats(request: str, tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Formats of dates that no column of dates has."""
    named = {pattern: form for pattern in _PATTERN.findall(request) if (form := _as_format(pattern))}
    if not named:
        return
    dates = [
        (name, label, texts, forms[0])
        for name, table in tables.items()
        for label, texts in _text_columns(table)
        if (forms := [form for form in text_formats(texts) if form.startswith("dates ")])
    ]
    meant = [entry for entry in dates if mentioned([entry[1]], request)] or dates
    for pattern, form in named.items():
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
            claim, column = _claim(label, request), table[label]
            if not claim or not isinstance(column, pd.Series):
                continue
            claimed, dtype = _KINDS[claim], column.dtype
            if not _is_of(claimed, column):
                yield f"The request says that {label} is {claimed}, but in {name} its dtype is {dtype}"


def _claim(label: str, request: str) -> str:
    """The type that a request says a column has, as it is written; "" if it says none."""
    for claim in _CLAIMS:
        for found in re.finditer(claim.replace("{name}", re.escape(label)), request, re.IGNORECASE):
            clause = re.split(r"[.;!?\n]", request[: found.start()])[-1]
            if not _NO_CLAIM.search(clause):
                return found["kind"].lower()
    return ""


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
