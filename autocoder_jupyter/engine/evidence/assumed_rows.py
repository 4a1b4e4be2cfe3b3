"""How many rows of the sample an assumption of the plan leaves out, where its words leave no doubt.

An assumption is read only if it is one plain sentence: rows of one kind "are left out". Its columns and its kind must
be those of steps of the function (`rows_used`), or the sample must have no such row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.types import RowStep

LONGEST = 200
"""Characters of an assumption."""

_LEFT_OUT = re.compile(
    r"(?:\b(?:is|are) (?:left out|dropped|excluded|ignored|skipped|removed|discarded|filtered out|not counted|not used)"
    r"|\bdo(?:es)? not count)\s*\.?\s*$"
)
_MISSING = re.compile(r"\b(?:without|missing|no|empty|null|nan|lacks?|lacking)\b")
_UNREADABLE = re.compile(
    r"\b(?:unreadable|unparsable|unparseable|invalid|malformed"
    r"|(?:cannot|can not|can't) be (?:read|parsed|converted)|(?:is|are) not readable)\b"
)
_REPEATED = re.compile(r"\b(?:duplicates?|duplicated|repeated)\b")
_UNMATCHED = re.compile(r"\b(?:(?:is|are) not in|(?:has|have|with) no (?:match|row) in|without a (?:match|row) in)\b")
_PLAIN = re.compile(
    r"\b(?:a|an|the|of|with|whose|that|which|where|is|are|be|have|has|values?|its?|their|in|rows?|as|or|and)\b"
)
_MOST_OTHER_WORDS = 1
"""Other words of the sentence, such as the name of what a row is. With more of them it may speak of fewer rows."""


@dataclass(frozen=True)
class _LeftOut:
    """A kind of rows that are left out.

    Args:
        words: what a sentence about them contains.
        reason: the reason of a step that leaves them out, with its columns.
        none_in: whether a table has no such row; None if that is not to be told.
    """

    words: re.Pattern[str]
    reason: re.Pattern[str]
    none_in: Callable[[pd.DataFrame, Sequence[str]], bool] | None


def _has_none_missing(table: pd.DataFrame, columns: Sequence[str]) -> bool:
    texts = [table[column].astype(str).str.strip() for column in columns]
    return not table[list(columns)].isna().to_numpy().any() and not any(text.eq("").any() for text in texts)


_KINDS = (
    _LeftOut(_UNREADABLE, re.compile(r"with an unreadable (?P<columns>.+)"), None),
    _LeftOut(_MISSING, re.compile(r"where (?P<columns>.+) is missing"), _has_none_missing),
    _LeftOut(
        _REPEATED,
        re.compile(r"with a repeated (?P<columns>.+)"),
        lambda table, columns: not table.duplicated(list(columns)).any(),
    ),
)
_WITH_VALUE = re.compile(r"with (?P<column>\w+) (?P<value>.+)")


def rows_left_out(assumptions: Sequence[str], steps: Sequence[RowStep], inputs: Mapping[str, Any]) -> dict[str, int]:
    """The number of rows that assumptions leave out, by assumption; only of those for which that is certain."""
    tables = {name: value for name, value in inputs.items() if isinstance(value, pd.DataFrame)}
    dropping = [step for step in steps if step.reason and step.after < step.before and not step.of_groups]
    reading = _Reading(dropping, tables)
    found = {text: reading.rows(text) for text in assumptions if len(text) <= LONGEST}
    return {text: rows for text, rows in found.items() if rows is not None}


class _Reading:
    def __init__(self, steps: Sequence[RowStep], tables: Mapping[str, pd.DataFrame]) -> None:
        self._steps, self._tables = steps, tables
        self._columns = {str(column) for table in tables.values() for column in table.columns}
        for step in steps:
            for kind in _KINDS:
                self._columns |= set(_columns_of(kind, step))

    def rows(self, text: str) -> int | None:
        """The rows that an assumption leaves out."""
        plain = re.sub(r"[`'\"]", "", text.strip()).casefold()
        end = _LEFT_OUT.search(plain)
        if end is None or re.search(r"[;:.,()]", subject := plain[: end.start()].strip()):
            return None
        if (unmatched := _UNMATCHED.search(subject)) is not None:
            return self._of_a_join(subject[: unmatched.start()], subject[unmatched.end() :].strip())
        kinds = [kind for kind in _KINDS if kind.words.search(subject)]
        if not kinds:
            return self._with_a_value(subject)
        for kind in kinds:
            subject = kind.words.sub(" ", subject)
        named = self._named(subject)
        if not named or not self._is_plain(subject, named):
            return None
        counts = [self._of_kind(kind, named) for kind in kinds]
        return sum(count for count in counts if count is not None) if None not in counts else None

    def _named(self, subject: str) -> list[str]:
        words = re.findall(r"\w+", subject)
        return sorted({column for column in self._columns if column.casefold() in words})

    def _is_plain(self, subject: str, known: Sequence[str]) -> bool:
        known = [one.casefold() for one in known]
        names = {name.casefold() for name in self._tables}
        words = set(re.findall(r"[\w']+", _PLAIN.sub(" ", subject))) - set(known) - names
        return len(words) <= _MOST_OTHER_WORDS

    def _of_kind(self, kind: _LeftOut, columns: Sequence[str]) -> int | None:
        found = [step for step in self._steps if set(_columns_of(kind, step)) & set(columns)]
        of = {column for step in found for column in _columns_of(kind, step)}
        if found:
            is_one_table = len({step.table for step in found}) == 1
            return _dropped(found) if of == set(columns) and is_one_table else None
        having = [table for table in self._tables.values() if not set(columns).isdisjoint(map(str, table.columns))]
        if kind.none_in is None or len(having) != 1 or not set(columns) <= set(having[0].columns):
            return None
        try:
            return 0 if kind.none_in(having[0], columns) else None
        except (TypeError, ValueError):  # values that cannot be compared
            return None

    def _with_a_value(self, subject: str) -> int | None:
        found = list[RowStep]()
        for step in self._steps:
            match = _WITH_VALUE.fullmatch(step.reason)
            if match is None or any(kind.reason.fullmatch(step.reason) for kind in _KINDS):
                continue
            column, value = match["column"], match["value"].casefold()
            named = self._named(re.sub(rf"\b{re.escape(value)}\b", " ", subject))
            is_said = re.search(rf"\b{re.escape(value)}\b", subject) is not None and value.isalpha()
            if is_said and set(named) <= {column} and self._is_plain(subject, [column, value]):
                found.append(step)
        return _dropped(found) if len(found) == 1 else None

    def _of_a_join(self, subject: str, table: str) -> int | None:
        names = [name for name in self._tables if name.casefold() == table]
        found = [step for step in self._steps if names and step.reason == f"that match no row of {names[0]}"]
        return _dropped(found) if len(found) == 1 and self._is_plain(subject, self._named(subject) + names) else None


def _columns_of(kind: _LeftOut, step: RowStep) -> list[str]:
    match = kind.reason.fullmatch(step.reason)
    return re.split(r", | or | and ", match["columns"]) if match is not None else []


def _dropped(steps: Sequence[RowStep]) -> int:
    return sum(step.before - step.after for step in steps)
