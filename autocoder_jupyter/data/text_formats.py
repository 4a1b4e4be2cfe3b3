"""Text in tables: the formats of a text column, and any cell or label as a short text."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import fractions
import json
import math
import re
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.view.numbers import number_text

# Formats of a text column: dates, numbers with signs and separators, ids, blanks, case

_MAX_LENGTH = 64
_MIN_SHARE = 0.005
"""Minimum share of texts for a format. Fewer are chance."""

_MIN_READABLE = 0.9
"""Minimum share of valid dates among texts that look like dates: of `2019-20`, `2011-12` only the second is valid."""

_DAY_OR_MONTH = re.compile(r"%[dm][/-]%[dm][/-]")

_DATE_SHAPES: tuple[tuple[str, tuple[str, ...]], ...] = tuple(
    (re.sub(r"\s+", " ", shape), formats)
    for shape, formats in (
        (r"\d{4}-\d{1,2}-\d{1,2}", ("%Y-%m-%d",)),
        (r"\d{4}/\d{1,2}/\d{1,2}", ("%Y/%m/%d",)),
        (r"\d{4}\.\d{1,2}\.\d{1,2}", ("%Y.%m.%d",)),
        (r"\d{1,2}/\d{1,2}/\d{4}", ("%d/%m/%Y", "%m/%d/%Y")),
        (r"\d{1,2}-\d{1,2}-\d{4}", ("%d-%m-%Y", "%m-%d-%Y")),
        (r"\d{1,2}\.\d{1,2}\.\d{4}", ("%d.%m.%Y",)),
        (r"\d{1,2}/\d{1,2}/\d{2}", ("%d/%m/%y", "%m/%d/%y")),
        (r"\d{1,2}\.\d{1,2}\.\d{2}", ("%d.%m.%y",)),
        (r"(?:19|20)\d{6}", ("%Y%m%d",)),
        (r"\d{4}-\d{2}", ("%Y-%m",)),
        (r"\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2}", ("%Y-%m-%d %H:%M",)),
        (r"\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2}:\d{2}", ("%Y-%m-%d %H:%M:%S",)),
        (r"\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2}:\d{2}\.\d{1,6}", ("%Y-%m-%d %H:%M:%S.%f",)),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}", ("%Y-%m-%dT%H:%M",)),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}", ("%Y-%m-%dT%H:%M:%S",)),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{1,6}", ("%Y-%m-%dT%H:%M:%S.%f",)),
        (
            r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:?\d{2})",
            ("%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z"),
        ),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{1,6}(?:Z|[+-]\d{2}:?\d{2})", ("%Y-%m-%dT%H:%M:%S.%f%z",)),
        (r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}", ("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M")),
        (r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}:\d{2}", ("%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S")),
        (r"\d{1,2}\.\d{1,2}\.\d{4} \d{1,2}:\d{2}(?::\d{2})?", ("%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S")),
        (r"\d{1,2}/\d{1,2}/\d{2} \d{1,2}:\d{2}", ("%d/%m/%y %H:%M", "%m/%d/%y %H:%M")),
        (r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2} [AaPp][Mm]", ("%d/%m/%Y %I:%M %p", "%m/%d/%Y %I:%M %p")),
        (r"\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d{2}:\d{2} [AaPp][Mm]", ("%d/%m/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M:%S %p")),
        (r"\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2} [AaPp][Mm]", ("%Y-%m-%d %I:%M %p",)),
        (r"\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{2}:\d{2} [AaPp][Mm]", ("%Y-%m-%d %I:%M:%S %p",)),
        (r"\d{1,2}-\d{1,2}-\d{2}", ("%d-%m-%y", "%m-%d-%y")),
        (r"[A-Za-z]{3}\. \d{1,2}, \d{4}", ("%b. %d, %Y",)),
        (r"\d{1,2}-[A-Za-z]{3}-\d{4}", ("%d-%b-%Y",)),
        (r"\d{1,2}-[A-Za-z]{3}-\d{2}", ("%d-%b-%y",)),
        (r"\d{1,2} [A-Za-z]{3,9} \d{4}", ("%d %b %Y", "%d %B %Y")),
        (r"[A-Za-z]{3,9} \d{1,2} \d{4}", ("%b %d %Y", "%B %d %Y")),
        (r"[A-Za-z]{3,9} \d{1,2}, \d{4}", ("%b %d, %Y", "%B %d, %Y")),
        (r"[A-Za-z]{3,9} \d{4}", ("%b %Y", "%B %Y")),
        (r"[A-Za-z]{3}-\d{2}", ("%b-%y",)),
        (r"\d{1,2}:\d{2}", ("%H:%M",)),
        (r"\d{1,2}:\d{2}:\d{2}", ("%H:%M:%S",)),
        (r"\d{1,2}:\d{2} [AaPp][Mm]", ("%I:%M %p",)),
        (r"\d{1,2}:\d{2}[AaPp][Mm]", ("%I:%M%p",)),
    )
)
_DATE = re.compile("|".join(f"({shape})" for shape, _ in _DATE_SHAPES))
"""The group that matches is that of the first shape. One pattern takes a fraction of the time of many."""

_CURRENCY = "€$£¥₹₽"
_CODES = (
    "AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|KRW|MXN|MYR|NOK|NZD|PLN|RON|RUB|SAR|SEK|SGD|THB|TRY"
    "|USD|ZAR"
)
_UNITS = (
    "kg|g|mg|t|lbs?|oz|km|m|cm|mm|mi|ft|in|l|ml|h|hrs?|min|ms|s|d|days?|kWh|MWh|kW|MW|kB|MB|GB|TB|°C|°F|K|px|pt|bps"
)
_DECIMAL_COMMA, _THOUSANDS, _GROUPED = "numbers with a decimal comma", "numbers like 1,234.50", "numbers like 1,234"
_DECIMAL_POINT, _EUROPEAN, _WHOLE = "decimal numbers as text", "numbers like 1.234,50", "whole numbers as text"
_TRUTHS = "truth values as text"
_FORMS = (
    (r"0\d+", "digits with leading zeros (an id, not a number)"),
    (r"[+-]?\d+", _WHOLE),
    (r"(?:\d{1,3}\.){3}\d{1,3}", "IP addresses"),
    (r"[+-]?[1-9]\d{0,2}(?:,\d{3})+", _GROUPED),
    (r"[+-]?[1-9]\d{0,2}(?:,\d{3})+\.\d+", _THOUSANDS),
    (r"[+-]?\d{1,3}(?:\.\d{3})+,\d+|[+-]?\d{1,3}(?:\.\d{3}){2,}", _EUROPEAN),
    (r"[+-]?\d*\.\d+", _DECIMAL_POINT),
    (r"[+-]?\d+,\d+", _DECIMAL_COMMA),
    (r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d+", "numbers like 1e5"),
    (r"[+-]?\d+(?:[.,]\d+)?\s?%", "percentages like 12%"),
    (rf"[+-]?[{_CURRENCY}]\s?[+-]?[\d.,]+", "amounts with a currency sign in front"),
    (rf"[+-]?[\d.,]+\s?(?:[{_CURRENCY}])", "amounts with a currency sign behind"),
    (rf"[+-]?[\d.,]*\d\s?(?:{_CODES})|(?:{_CODES})\s?[+-]?\d[\d.,]*", "amounts with a currency code"),
    (rf"[+-]?\d[\d.,]*\s?(?:{_UNITS})", "numbers with a unit behind"),
    (r"\([\d.,]+\)", "negative numbers in parentheses"),
    (r"\d{4}[- ]?Q[1-4]|Q[1-4][- ]\d{4}", "quarters like 2016-Q1"),
    (r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", "UUIDs"),
    (r"[^@\s]+@[^@\s]+\.[^@\s]+", "e-mail addresses"),
    (r"https?://\S+", "URLs"),
)
_FORM = re.compile("|".join(f"({pattern})" for pattern, _ in _FORMS))
"""The first pattern that matches a text is its format."""

_AMBIGUOUS_COMMA = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_EITHER_COMMA = "numbers like 1,234 (a thousands comma or a decimal one)"
_TRUTH = tuple(map(frozenset, (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"))))
_NULL_WORDS = {"na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "missing", "#n/a", "nat", "."}
_JSON_TRIES, _JSON_CHARACTERS = 20, 10_000
_WORDS_SHOWN, _REST_CHARACTERS = 3, 40
MISSING_WORDS = "words that may mean missing"
_PYTHON_LITERAL = re.compile(r"[\[({]\s*+(?:['\"\d\[({\]})-]|None|True|False)")


def text_formats(texts: Sequence[str]) -> tuple[str, ...]:
    """The formats of a text column that are needed to parse it, as short phrases with their shares."""
    return examined(texts).phrases


@dataclass(frozen=True)
class TextForms:
    """What a column of texts holds.

    Args:
        phrases: see `text_formats`. They contain no value of the data.
        rest: a text that has none of these formats, if there is one; else "".
        missing: the most frequent words that may stand for a missing value.
    """

    phrases: tuple[str, ...] = ()
    rest: str = ""
    missing: tuple[str, ...] = ()


def examined(texts: Sequence[str]) -> TextForms:
    """The formats of a text column, with an example of what has none of them."""
    if not texts:
        return TextForms()
    stripped = Counter(text[:_MAX_LENGTH].strip() for text in texts)
    forms, form_of = _forms_of(stripped)
    total = stripped.total()
    ranked = sorted(forms.items(), key=lambda pair: (-pair[1], pair[0]))
    common = [(name, count) for name, count in ranked if count >= max(1, _MIN_SHARE * total)][:5]
    phrases = [with_share(name, count, total) for name, count in common]
    ranked_texts = sorted(stripped, key=lambda text: (-stripped[text], text))
    names, missing = {name for name, _ in common}, [text for text in ranked_texts if text.lower() in _NULL_WORDS]
    others = (
        text
        for text in ranked_texts
        if 0 < len(text) <= _REST_CHARACTERS and form_of.get(text) not in names and text not in missing
    )
    rest = next(others, "") if common and _TRUTHS not in names else ""
    several = () if common else _several_labels(stripped)
    return TextForms(
        (*phrases, *several, *_structures(texts), *_flaws(texts, stripped)), rest, tuple(missing[:_WORDS_SHOWN])
    )


_SEPARATORS = ("|", ";", ",", "/")
_LONGEST_LABEL = 30
_SEVERAL = 0.1
"""The share of cells that have several labels."""


def _several_labels(texts: Counter[str]) -> tuple[str, ...]:
    """The separator of the labels in a cell, if they come back in other cells: `Rain, Fog` beside `Fog`."""
    for separator in _SEPARATORS:
        cells = [text for text in texts if separator in text and not text.startswith(("{", "[", "http"))]
        count = sum(texts[cell] for cell in cells)
        if len(cells) < 2 or count < _SEVERAL * texts.total():
            continue
        labels = Counter(label for text in texts for label in {part.strip() for part in text.split(separator)} if label)
        within = [part.strip() for cell in cells for part in cell.split(separator)]
        are_short = all(0 < len(label) <= _LONGEST_LABEL and not label.isdigit() for label in within)
        if are_short and sum(labels[label] > 1 for label in within) >= 0.8 * len(within):
            return (with_share(f"several labels in a cell, separated by {separator!r}", count, texts.total()),)
    return ()


def date_format(phrases: Sequence[str]) -> str:
    """The format of the dates in a column, if all have the same one; else ""."""
    dates = [phrase for phrase in phrases if phrase.startswith("dates ")]
    form = dates[0].removeprefix("dates ").partition(" (")[0] if len(dates) == 1 else ""
    return form if form.startswith("%") and " or " not in form else ""


def settled(columns: Sequence[tuple[str, ...]], of: str = "columns") -> list[tuple[str, ...]]:
    """The formats of columns. What `1,234` means in one is decided by the others, if they agree."""
    phrases = (phrase for phrases in columns for phrase in phrases if not phrase.startswith(_EITHER_COMMA))
    names = {phrase.partition(" (")[0] for phrase in phrases}
    point, comma = bool(names & {_THOUSANDS, _GROUPED, _DECIMAL_POINT}), bool(names & {_DECIMAL_COMMA, _EUROPEAN})
    if point == comma:
        return list(columns)
    meant = f"{_GROUPED if point else _DECIMAL_COMMA}, as other {of} show"
    return [tuple(phrase.replace(_EITHER_COMMA, meant) for phrase in phrases) for phrases in columns]


def percent(part: int, whole: int) -> str:
    """A share as a percentage. `0%` and `100%` are used only for none and all."""
    share = 100 * part / whole
    if 0 < share < 0.1:
        return "<0.1%"
    if 99 < share < 100:
        return ">99%"
    return f"{share:.1f}%" if 0 < share < 1 else f"{round(share)}%"


def with_share(phrase: str, part: int, whole: int) -> str:
    """A phrase with its share of the values, unless it is true for all."""
    return phrase if part == whole else f"{phrase} ({percent(part, whole)})"


def _forms_of(texts: Counter[str]) -> tuple[Counter[str], dict[str, str]]:
    """How many texts have each format, and which text has which. Dates of one shape count as one format."""
    forms: Counter[str] = Counter()
    form_of: dict[str, str] = {}
    shapes: dict[tuple[str, ...], list[str]] = {}
    others: list[str] = []
    for text in texts:
        formats = _date_candidates(text)
        shapes.setdefault(formats, []).append(text) if formats else others.append(text)
    for formats, members in shapes.items():
        found = _date_forms(formats, {text: texts[text] for text in members})
        forms.update(found)
        others += [] if found else members
        form_of.update(dict.fromkeys(members if found else (), next(iter(found), "")))
    for text in others:
        if (match := _FORM.fullmatch(text)) and match.lastindex:
            name = _FORMS[match.lastindex - 1][1]
            forms[name] += texts[text]
            form_of[text] = name
    _settle_commas(forms, form_of, {text: count for text, count in texts.items() if _AMBIGUOUS_COMMA.fullmatch(text)})
    if forms[_THOUSANDS]:
        forms[_THOUSANDS] += forms.pop(_GROUPED, 0)
        form_of |= {text: _THOUSANDS for text, name in form_of.items() if name == _GROUPED}
    if truths := _truth_values(texts):
        forms[_TRUTHS] = truths
    return forms, form_of


def _settle_commas(forms: Counter[str], form_of: dict[str, str], ambiguous: dict[str, int]) -> None:
    """Decide `1,234`: 1.234 if other texts have a decimal comma, 1234 if others are certain, else ambiguous."""
    count = sum(ambiguous.values())
    certain = forms[_GROUPED] - count + sum(forms[name] for name in (_THOUSANDS, _DECIMAL_POINT, _WHOLE))
    if not count or (certain and forms[_DECIMAL_COMMA] <= certain):
        return
    name = _DECIMAL_COMMA if forms[_DECIMAL_COMMA] > certain else _EITHER_COMMA
    forms[name] += count
    forms[_GROUPED] -= count
    form_of |= dict.fromkeys(ambiguous, name)


def _truth_values(texts: Counter[str]) -> int:
    """The number of truth values. It is 0 if there are other words, such as `M` beside `F`.

    `NO` alone may be a country code or a wind direction.
    """
    words = {text.casefold() for text in texts} - _NULL_WORDS - {""}
    letters = any(len(word) == 1 for word in words)
    if not any(words == pair or (words and words < pair and not letters and words != {"no"}) for pair in _TRUTH):
        return 0
    return sum(count for text, count in texts.items() if text.casefold() in words)


def _date_candidates(text: str) -> tuple[str, ...]:
    if not 4 <= len(text) <= 35:
        return ()
    found = _DATE.fullmatch(text)
    return _DATE_SHAPES[found.lastindex - 1][1] if found and found.lastindex else ()


def _date_forms(formats: tuple[str, ...], texts: dict[str, int]) -> dict[str, int]:
    """The number of texts of one shape that each date format can parse; {} if too few are dates."""
    reading: Counter[tuple[str, ...]] = Counter()
    for text, count in texts.items():
        reading[tuple(form for form in formats if reads(text, form))] += count
    total = reading.total()
    if formats == ("%H:%M",) and sum(count for text, count in texts.items() if text[-2:] < "60") == total:
        return {_clock(texts): total}
    if reading[()] > (1 - _MIN_READABLE) * total:
        return {}
    if len(formats) == 2 and all(map(_DAY_OR_MONTH.match, formats)):
        return _day_first_or_month_first(formats, reading)
    kind = "dates" if re.search(r"%[Yy]", formats[0]) else "times"
    readable = {form: sum(count for read, count in reading.items() if form in read) for form in formats}
    forms: Counter[str] = Counter()
    for read, count in reading.items():
        if read:
            forms[f"{kind} {max(read, key=lambda form: readable[form])}"] += count
    return forms


_GAME_CLOCK = 20
"""Longest game period in minutes. Times up to this value may be a game clock instead of a time of the day."""


def _clock(texts: Iterable[str]) -> str:
    """Decide `11:34`: a time of the day if some texts are in the evening, minutes and seconds if some exceed a day."""
    first = [int(text.partition(":")[0]) for text in texts]
    if max(first) > 24:
        return "minutes and seconds, or hours and minutes, like 47:59"
    return "times %H:%M" if max(first) > _GAME_CLOCK else "times like 11:34 (%H:%M, or minutes and seconds)"


def _day_first_or_month_first(formats: tuple[str, ...], reading: Counter[tuple[str, ...]]) -> dict[str, int]:
    """Decide between day-first and month-first formats: a day above 12 decides its text, and all if they agree."""
    only = {form: reading[(form,)] for form in formats}
    either = reading[formats]
    certain = [form for form in formats if only[form]]
    if len(certain) == 1:
        return {f"dates {certain[0]}": only[certain[0]] + either}
    names = " or ".join(formats)
    if not certain:
        return {f"dates {names} (day and month cannot be told apart)": either}
    return {f"dates {form}": only[form] for form in formats} | {f"dates that {names} read alike": either}


def reads(text: str, form: str) -> bool:
    """Whether a text is a date of this format."""
    try:
        dt.datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _structures(texts: Sequence[str]) -> list[str]:
    """Detect JSON, and the `repr` of lists and dicts, which JSON parsers refuse."""
    candidates = [text for text in texts if text[:1] in ("{", "[") and text[-1:] in ("}", "]")]
    tried = candidates[:_JSON_TRIES]
    if len(candidates) < max(1, _MIN_SHARE * len(texts)):
        return []
    if all(_is_json(text) for text in tried):
        return [with_share("JSON", len(candidates), len(texts))]
    if all(_PYTHON_LITERAL.match(text) for text in tried):
        return [with_share("lists or dicts as Python writes them, not JSON", len(candidates), len(texts))]
    return []


def _is_json(text: str) -> bool:
    """Whether a text is JSON. A text that is too long to parse counts as JSON if it looks like it."""
    if len(text) > _JSON_CHARACTERS:
        return text[1:].lstrip()[:1] in '"{[]}0123456789'
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _flaws(texts: Sequence[str], stripped: Counter[str]) -> list[str]:
    total = len(texts)
    flaws = []
    if empty := stripped[""]:
        flaws.append(with_share("empty or blank", empty, total))
    if blanks := sum(text[:1].isspace() or text[-1:].isspace() for text in texts if not text.isspace()):
        flaws.append(with_share("leading or trailing blanks", blanks, total))
    if words := sum(count for text, count in stripped.items() if text.lower() in _NULL_WORDS):
        flaws.append(with_share(MISSING_WORDS, words, total))
    if len(stripped) <= 200 and len({text.casefold() for text in stripped}) < len(stripped):
        flaws.append("some values differ only by case")
    return flaws


# Cells and labels as text, the same on every machine
#
# `repr` is never called on an object of an unknown type: it may contain an address, run foreign code, or be huge.

CELL_CHARACTERS = 60
"""Characters of a cell that are shown."""

RAW_CHARACTERS = 240
"""Characters that are kept until masking is done, so that a truncated secret is not missed."""

_CUT = re.compile(r"…\(\+(\d+)\)$")

_ITEMS = 5
_POINTS = 5
"""Points of a geometry that are shown."""

_DEPTH = 3


def is_null(value: Any) -> bool:
    """Whether a cell is missing (None, NaN, NaT, NA). Containers are never missing."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, float | np.floating):
        return bool(value != value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, decimal.Decimal) and value.is_nan()


def cell_text(value: Any, limit: int = RAW_CHARACTERS, depth: int = 0) -> str:
    """A cell as text of at most about `limit` characters; empty for a missing value."""
    return "" if is_null(value) else shorten(_text(value, limit, depth), limit)


def shorten(text: str, limit: int) -> str:
    """Truncate a text and append the number of missing characters, also if it was truncated before."""
    if len(text) <= limit:
        return text
    before = _CUT.search(text)
    missing = len(text) - limit if before is None else before.start() - limit + int(before.group(1))
    return f"{text[:limit]}…(+{missing})" if missing > 0 else text


def time_text(value: Any) -> str:
    """A timestamp in ISO format, without the time of day if it is midnight."""
    text = value.isoformat(sep=" ")
    return str(text.removesuffix(" 00:00:00"))


def label_literal(label: Any) -> str:
    """The label of a column or level as Python source (`'a'`, `7`, `('a', 1)`), else a description."""
    if isinstance(label, tuple):
        inner = ", ".join(label_literal(part) for part in label)
        return f"({inner},)" if len(label) == 1 else f"({inner})"
    if isinstance(label, np.generic) and not isinstance(label, np.datetime64 | np.timedelta64):
        label = label.item()
    if isinstance(label, str):
        return repr(str(label))
    if isinstance(label, bool | int | float | bytes | complex) or label is None:
        return repr(label)
    if label is pd.NaT or label is pd.NA:
        return f"pd.{label}"
    if isinstance(label, pd.Timestamp | pd.Timedelta | pd.Period | pd.Interval):
        return f"pd.{label!r}"
    return f"<{cell_text(label)}>"


def is_literal(label: Any) -> bool:
    """Whether generated source can name a column by `label_literal`, with `pd` imported."""
    if isinstance(label, tuple):
        return all(is_literal(part) for part in label)
    if isinstance(label, float | np.floating):
        return math.isfinite(label)
    return isinstance(label, str | bool | int | np.integer | np.bool_ | pd.Timestamp | pd.Timedelta) and not is_null(
        label
    )


def _text(value: Any, limit: int, depth: int) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        value = value.item()
    for kinds, render in _RENDERERS:
        if isinstance(value, kinds):
            return render(value)
    if isinstance(value, np.datetime64 | np.timedelta64):
        return str(value)
    return _container_text(value, limit, depth)


def _float_text(value: float) -> str:
    return number_text(value)


def _bytes_text(value: bytes | bytearray | memoryview) -> str:
    head = repr(bytes(value[:16]))
    return head if len(value) <= 16 else f"{head}…(+{len(value) - 16} bytes)"


_RENDERERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (bool, str),
    (int, lambda value: str(value) if value.bit_length() < 1000 else f"<int of {value.bit_length()} bits>"),
    (float, _float_text),
    (complex, str),
    ((bytes, bytearray, memoryview), _bytes_text),
    ((pd.Timestamp, dt.datetime), time_text),
    ((dt.date, dt.time), lambda value: str(value.isoformat())),
    ((pd.Timedelta, dt.timedelta), str),
    ((pd.Period, pd.Interval, decimal.Decimal, fractions.Fraction, uuid.UUID), str),
)


def _container_text(value: Any, limit: int, depth: int) -> str:
    if depth >= _DEPTH and isinstance(value, dict | list | tuple | set | frozenset | np.ndarray):
        return "…"

    def item(one: Any) -> str:
        if isinstance(one, str):
            return repr(shorten(str(one), limit))
        return "None" if is_null(one) else cell_text(one, limit, depth + 1)

    def joined(items: Iterable[str], size: int) -> str:
        shown = list(islice(items, _ITEMS))
        return ", ".join(shown) + (f", … {size - len(shown)} more" if size > len(shown) else "")

    if isinstance(value, dict):
        pairs = (f"{item(key)}: {item(one)}" for key, one in value.items())
        return "{" + joined(pairs, len(value)) + "}"
    if isinstance(value, list):
        return "[" + joined(map(item, value), len(value)) + "]"
    if isinstance(value, tuple):
        return "(" + joined(map(item, value), len(value)) + ")"
    if isinstance(value, set | frozenset):
        # The order of a set differs between runs of Python.
        return "{" + joined(iter(sorted(map(item, value))), len(value)) + "}"
    if isinstance(value, np.ndarray):
        shape = "×".join(map(str, value.shape))
        return f"array({shape} {value.dtype}: {joined(map(item, value.flat), value.size)})"
    if isinstance(value, pd.DataFrame | pd.Series | pd.Index):
        return f"<{type(value).__name__} {'×'.join(map(str, value.shape))}>"
    shapely = sys.modules.get("shapely")
    if shapely is not None and isinstance(value, shapely.Geometry):
        return _geometry_text(shapely, value)
    return f"<{type(value).__name__}>"


def _geometry_text(shapely: Any, value: Any) -> str:
    """A small geometry as well-known text; of a large one its kind, and the box that it lies in."""
    if shapely.get_num_coordinates(value) <= _POINTS:
        return str(shapely.to_wkt(value, rounding_precision=6))
    low, high = shapely.bounds(value)[:2], shapely.bounds(value)[2:]
    box = " to ".join(" ".join(number_text(float(side), 6) for side in corner) for corner in (low, high))
    return f"<{value.geom_type} of {shapely.get_num_coordinates(value)} points from {box}>"
