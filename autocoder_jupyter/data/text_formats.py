"""Which written forms the texts of a column have: dates, numbers with signs and separators, ids, blanks, case."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Sequence

_MAX_TEXTS = 1000
_MAX_LENGTH = 64
_MIN_SHARE = 0.02

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
        (r"\d{1,2}-[A-Za-z]{3}-\d{4}", ("%d-%b-%Y",)),
        (r"\d{1,2}-[A-Za-z]{3}-\d{2}", ("%d-%b-%y",)),
        (r"\d{1,2} [A-Za-z]{3,9} \d{4}", ("%d %b %Y", "%d %B %Y")),
        (r"[A-Za-z]{3,9} \d{1,2} \d{4}", ("%b %d %Y", "%B %d %Y")),
        (r"[A-Za-z]{3,9} \d{1,2}, \d{4}", ("%b %d, %Y", "%B %d, %Y")),
        (r"[A-Za-z]{3,9} \d{4}", ("%b %Y", "%B %Y")),
        (r"[A-Za-z]{3}-\d{2}", ("%b-%y",)),
        (r"\d{1,2}:\d{2}", ("%H:%M",)),
        (r"\d{1,2}:\d{2}:\d{2}", ("%H:%M:%S",)),
    )
)
_DATES = tuple((re.compile(shape), formats) for shape, formats in _DATE_SHAPES)

_CURRENCY = "€$£¥₹₽"
_FORMS = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"0\d+", "digits with leading zeros (an id, not a number)"),
        (r"[+-]?\d+", "whole numbers as text"),
        (r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", "numbers like 1,234.50"),
        (r"[+-]?\d{1,3}(?:\.\d{3})+,\d+|[+-]?\d{1,3}(?:\.\d{3}){2,}", "numbers like 1.234,50"),
        (r"[+-]?\d*\.\d+", "decimal numbers as text"),
        (r"[+-]?\d+,\d+", "numbers with a decimal comma"),
        (r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d+", "numbers like 1e5"),
        (r"[+-]?\d+(?:[.,]\d+)?\s?%", "percentages like 12%"),
        (rf"[+-]?[{_CURRENCY}]\s?[+-]?[\d.,]+", "amounts with a currency sign in front"),
        (rf"[+-]?[\d.,]+\s?(?:[{_CURRENCY}])", "amounts with a currency sign behind"),
        (r"[+-]?[\d.,]*\d\s?[A-Z]{3}|[A-Z]{3}\s?[+-]?\d[\d.,]*", "amounts with a currency code"),
        (r"\([\d.,]+\)", "negative numbers in parentheses"),
        (r"(?i:true|false|yes|no|y|n|t|f)", "truth values as text"),
        (r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}", "UUIDs"),
        (r"[^@\s]+@[^@\s]+\.[^@\s]+", "e-mail addresses"),
        (r"https?://\S+", "URLs"),
        (r"[\[{][\s\S]*[\]}]", "JSON-like text"),
    )
)
_NULL_WORDS = {"na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "missing", "#n/a", "nat", "."}


def text_formats(texts: Sequence[str]) -> tuple[str, ...]:
    """What a reader of a text column must know to parse it, each as a short phrase with its share.

    Args:
        texts: sampled values, missing ones left out. The first thousand are looked at.
    """
    looked = list(texts[:_MAX_TEXTS])
    if not looked:
        return ()
    stripped = [text[:_MAX_LENGTH].strip() for text in looked]
    phrases = _share_phrases(stripped)
    phrases += _flaws(looked, stripped)
    return tuple(phrases)


def _share_phrases(texts: list[str]) -> list[str]:
    forms: Counter[str] = Counter()
    date_texts: dict[tuple[str, ...], list[str]] = {}
    for text in texts:
        formats = _date_candidates(text)
        if formats:
            date_texts.setdefault(formats, []).append(text)
            continue
        forms.update(name for pattern, name in _FORMS if pattern.fullmatch(text))
    for formats, members in date_texts.items():
        forms.update(_date_forms(formats, members))
    total = len(texts)
    ranked = sorted(forms.items(), key=lambda pair: (-pair[1], pair[0]))
    return [_with_share(name, count, total) for name, count in ranked if count >= max(1, _MIN_SHARE * total)][:5]


def _with_share(name: str, count: int, total: int) -> str:
    return name if count == total else f"{name} ({max(1, round(100 * count / total))}%)"


def _date_candidates(text: str) -> tuple[str, ...]:
    if not 4 <= len(text) <= 35:
        return ()
    return next((formats for pattern, formats in _DATES if pattern.fullmatch(text)), ())


def _date_forms(formats: tuple[str, ...], texts: list[str]) -> dict[str, int]:
    """How many texts each format reads. Formats that read all of them alike are named together, as ambiguous."""
    readable = {form: sum(_reads(text, form) for text in texts) for form in formats}
    best = max(readable.values())
    if best == 0:
        return {}
    winners = [form for form in formats if readable[form] == best]
    day_or_month = {"%d", "%m"} <= set(re.findall(r"%[dm]", winners[0])) and winners[0].startswith(("%d", "%m"))
    if len(winners) > 1 and day_or_month:
        return {f"dates {' or '.join(winners)} (day and month cannot be told apart)": best}
    kind = "times" if not re.search(r"%[Yy]", winners[0]) else "dates"
    return {f"{kind} {winners[0]}": best}


def _reads(text: str, form: str) -> bool:
    try:
        dt.datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _flaws(texts: list[str], stripped: list[str]) -> list[str]:
    total = len(texts)
    flaws = []
    if (empty := sum(not text for text in stripped)) > 0:
        flaws.append(_with_share("empty or blank", empty, total))
    blanks = sum(text[:_MAX_LENGTH] != short for text, short in zip(texts, stripped, strict=True) if short)
    blanks += sum(text[-1:].isspace() for text in texts if len(text) > _MAX_LENGTH)
    if blanks:
        flaws.append(_with_share("leading or trailing blanks", blanks, total))
    if (words := sum(text.lower() in _NULL_WORDS for text in stripped)) > 0:
        flaws.append(_with_share("words for missing such as 'N/A'", words, total))
    distinct = set(stripped)
    if len(distinct) <= 200 and len({text.casefold() for text in distinct}) < len(distinct):
        flaws.append("some values differ only by case")
    return flaws
