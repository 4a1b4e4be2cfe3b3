"""Columns that are periods (`2019`, `sales_2020-01`, `Q3 2021`), of which every year has others.

A function that finds them itself, and names none of them, is not refused because a table has later ones: it needs
columns of that pattern. One that is missing between two others is an accident, and is still required.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.data.categories import common_record
from autocoder_jupyter.data.columns_read import ColumnsRead
from autocoder_jupyter.untrusted.parsing import literal

_LONGEST = 200
"""Characters of a name that is looked at."""

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PART, _SEPARATOR = rf"(?:[QHWM]?\d{{1,2}}|{_MONTH})", r"[-_/. ]?"
_PERIOD = re.compile(
    rf"(?:(?<![0-9A-Za-z])(?P<before>(?:{_PART}{_SEPARATOR}){{1,2}})|(?<!\d))(?P<year>(?:19|20|21)\d\d)"
    rf"(?P<after>(?:{_SEPARATOR}{_PART}){{0,2}})(?![0-9A-Za-z])"
    rf"|(?<![0-9A-Za-z])(?:FY|(?P<part>{_MONTH}|[QH]\d){_SEPARATOR})'?(?P<short>\d\d)(?![0-9A-Za-z])",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"{_MONTH}|\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Period:
    """A name that is a period.

    Args:
        pattern: a regular expression of the names that differ only in the period.
        place: its place in time: the year, and what is below it.
        year: the year, of two or four digits.
    """

    pattern: str
    place: tuple[int, ...]
    year: int


@functools.lru_cache(maxsize=10_000)
def period_of(label: str) -> Period | None:
    """The period in the name of a column, which is given as a literal; None if there is none."""
    text = _text(label) if len(label) <= _LONGEST else ""
    found = _PERIOD.search(text)
    if found is None:
        return None
    year = int(found["year"] or found["short"])
    before, after = _numbers(found["before"]), _numbers(found["after"])
    place = (year, *reversed(before), *_numbers(found["part"]), *after)
    start, end = found.span()
    return Period(f"{re.escape(text[:start])}{_pattern(found[0])}{re.escape(text[end:])}", place, year)


def _is_text(label: str) -> bool:
    return label.startswith(("'", '"'))


def _text(label: str) -> str:
    """The text of a name: that of a text without quotes."""
    try:
        value = literal(label)
    except (ValueError, SyntaxError):
        return label
    return value if isinstance(value, str) else label


def _numbers(text: str | None) -> list[int]:
    found = (match[0].lower() for match in _NUMBER.finditer(text or ""))
    return [int(one) if one.isdigit() else _MONTHS.index(one[:3]) + 1 for one in found]


def _pattern(text: str) -> str:
    parts, end = [], 0
    for match in _NUMBER.finditer(text):
        digits = r"\d{1,2}" if len(match[0]) <= 2 else rf"\d{{{len(match[0])}}}"
        parts += [re.escape(text[end : match.start()]), digits if match[0].isdigit() else r"[A-Za-z]{3,9}"]
        end = match.end()
    return "".join([*parts, re.escape(text[end:])])


def patterns(columns: Sequence[Sequence[str]], reads: ColumnsRead) -> dict[str, dict[str, str]]:
    """The patterns of columns that a function takes as they come: for each the recorded names, with their dtypes.

    Args:
        columns: the recorded columns, as literal and dtype.
        reads: what the code reads.
    """
    groups: dict[str, dict[str, str]] = {}
    named: set[str] = set()
    if reads.all and reads.is_known:
        for label, dtype in columns:
            if (period := period_of(label)) is not None:
                groups.setdefault(period.pattern, {})[label] = dtype
                if reads.states(_text(label), period.year):
                    named.add(label)
    found = {pattern: group for pattern, group in groups.items() if len(group) > 1}
    return {
        pattern: {label: dtype for label, dtype in group.items() if label not in named}
        for pattern, group in found.items()
        if not named >= group.keys()
    }


def usual_dtype(group: Mapping[str, str]) -> str:
    """The dtype of most columns of a pattern."""
    return Counter(group.values()).most_common(1)[0][0]


def expected(columns: Sequence[Sequence[str]], now: Sequence[Sequence[str]], reads: ColumnsRead) -> list[list[str]]:
    """The columns that a table must have, as literal and dtype: the recorded ones, but of those that are taken by a
    pattern the ones that it has.

    Args:
        columns: the recorded columns.
        now: those of the table.
        reads: what the code reads.
    """
    taken = patterns(columns, reads)
    recorded, absent, new = {label for label, _ in columns}, set[str](), list[list[str]]()
    periods = {label: period for label, _ in now if (period := period_of(label)) is not None} if taken else {}
    for pattern, group in taken.items():
        kinds = {_is_text(label) for label in group}  # "2024" is another name than 2024
        mine = {
            label: period
            for label, period in periods.items()
            if period.pattern == pattern and (label in recorded or _is_text(label) in kinds)
        }
        if not mine:
            continue
        places = [period.place for period in mine.values()]
        usual = usual_dtype(group)
        for label, dtype in now:
            if label in mine and label not in recorded:
                new.append([label, dtype if dtype in group.values() else usual])
        for label in group.keys() - mine.keys():
            period = period_of(label)
            if period is not None and not min(places) < period.place < max(places):
                absent.add(label)
    return [*([*column] for column in columns if column[0] not in absent), *new]


def details_of(group: Mapping[str, str], dtype: str, shape: Mapping[str, Any]) -> dict[str, Any]:
    """The records of a further column of a pattern, by their keys in a shape (`data.shapes`).

    Args:
        group: the recorded columns of the pattern, with their dtypes.
        dtype: that of the further column.
        shape: the recorded shape.
    """
    labels = [label for label, other in group.items() if other == dtype]
    records = [shape.get("categories", {}).get(label) for label in labels]
    kinds = {shape.get("objects", {}).get(label) for label in labels} - {"empty"}
    if records and all(isinstance(record, Mapping) for record in records):
        return {"categories": common_record(records)}
    return {"objects": kinds.pop()} if len(kinds) == 1 and None not in kinds else {}


def expected_shape(shape: Mapping[str, Any], now: Sequence[Sequence[str]], reads: ColumnsRead) -> dict[str, Any]:
    """The shape that a table must have of what the function reads; see `expected`."""
    read = [column for column in shape["columns"] if reads.covers(column[0])]
    made = {**shape, "columns": expected(read, now, reads)}
    known = {label for label, _ in read}
    new = [(label, dtype) for label, dtype in made["columns"] if label not in known]
    taken = patterns(read, reads) if new else {}
    for label, dtype in new:
        if (period := period_of(label)) is not None:
            for key, detail in details_of(taken[period.pattern], dtype, shape).items():
                made[key] = {**made.get(key, {}), label: detail}
    return made


def periods_note(name: str, columns: Sequence[Sequence[str]], now: Sequence[Sequence[str]], reads: ColumnsRead) -> str:
    """What a table has other than the recorded columns that are taken by a pattern; "" if nothing."""
    before, must = {label for label, _ in columns}, {label for label, _ in expected(columns, now, reads)}
    gone, new = sorted(before - must), sorted(must - before)
    if not gone and not new:
        return ""
    parts = [
        f"{word} {', '.join(labels)}" for word, labels in (("has the new", new), ("no longer has", gone)) if labels
    ]
    return f"{name} {' and '.join(parts)}; the function takes such columns as they come."
