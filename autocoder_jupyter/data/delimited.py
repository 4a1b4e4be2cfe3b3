"""Detect how to read a file of delimited text: delimiter, header, lines to skip, decimal sign."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

DELIMITERS = ",;\t|"
DELIMITED_SUFFIXES = (".csv", ".tsv", ".psv", ".tab", ".dat")

_LINES = 60
_NUMBER = re.compile(r"\s*+[-+]?[\d.,]*\d\s*+%?\s*+|\s*+[-+]?\d++(?:\.\d++)?[eE][-+]?\d++\s*+")
_DATE = re.compile(r"\s*+\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T].*)?")
_DECIMAL_COMMA = re.compile(r"\s*+-?\d{1,3}(?:\.\d{3})*+,\d++\s*+|\s*+-?\d++,\d++\s*+")


@dataclass(frozen=True)
class CsvDialect:
    """The parameters for `pandas.read_csv`.

    Args:
        delimiter: one character.
        header: whether the first record names the columns.
        skip: lines before the table.
        decimal_comma: whether numbers are written like 1,5.
        width: the number of fields of a record.
    """

    delimiter: str
    header: bool
    skip: int = 0
    decimal_comma: bool = False
    width: int = 1


def sniff(text: str, *, certain: bool) -> CsvDialect | None:
    """The dialect of the beginning of a file, or None if it is not a table.

    Args:
        text: whole lines.
        certain: whether the file name says that it is delimited; otherwise all lines must have the same number of
            fields.
    """
    lines = [line for line in text.splitlines() if line.strip()][:_LINES]
    if not lines:
        return None
    best: tuple[float, int, str, list[list[str]]] | None = None
    for delimiter in DELIMITERS:
        records = _records(lines, delimiter)
        width, count = Counter(map(len, records)).most_common(1)[0]
        if width < 2:
            continue
        score = count / len(records), width, delimiter, records
        if best is None or score[:2] > best[:2]:
            best = score
    if best is None:
        return CsvDialect(",", _has_header([[line] for line in lines])) if certain else None
    consistency, width, delimiter, records = best
    if not certain and (consistency < 1 or len(records) < 3):
        return None
    skip = _preamble(records, width)
    table = [record for record in records[skip:] if len(record) == width] or records[skip:]
    commas = delimiter != "," and _has_decimal_commas(table)
    return CsvDialect(delimiter, _has_header(table), skip, commas, width)


def _records(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter)) or [[]]
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def _preamble(records: list[list[str]], width: int) -> int:
    """The number of title lines above a table: they have fewer fields and come before the first full record."""
    first = next((place for place, record in enumerate(records) if len(record) == width), 0)
    return first if all(len(record) <= max(1, width // 2) for record in records[:first]) else 0


def _has_header(table: list[list[str]]) -> bool:
    first, rest = table[0], table[1:]
    names = [field.strip() for field in first]
    if any(_NUMBER.fullmatch(name) or _DATE.fullmatch(name) for name in names if name):
        return False
    if len(set(names)) < len(names):
        return False
    if not rest:
        return True
    typed = any(
        _NUMBER.fullmatch(record[place]) or _DATE.fullmatch(record[place])
        for record in rest
        for place in range(min(len(names), len(record)))
    )
    # All cells are text: if the words of the first line occur again below, it is a record.
    again = any(
        name and name in {record[place].strip() for record in rest if place < len(record)}
        for place, name in enumerate(names)
    )
    return typed or not again


def _has_decimal_commas(table: list[list[str]]) -> bool:
    fields = [field for record in table[1:] for field in record if _NUMBER.fullmatch(field)]
    with_comma = sum(bool(_DECIMAL_COMMA.fullmatch(field)) for field in fields)
    with_point = sum("." in field and "," not in field for field in fields)
    return with_comma > with_point and with_comma > 0


def read_call(dialect: CsvDialect, encoding: str) -> tuple[dict[str, object], str]:
    """The keyword arguments for `pandas.read_csv`, and the call as source."""
    arguments: dict[str, object] = {}
    if dialect.delimiter != ",":
        arguments["sep"] = dialect.delimiter
    if encoding != "utf-8":
        arguments["encoding"] = encoding
    if not dialect.header:
        arguments["header"] = None
    if dialect.skip:
        arguments["skiprows"] = dialect.skip
    if dialect.decimal_comma:
        arguments |= {"decimal": ",", "thousands": "."}
    shown = "".join(f", {name}={value!r}" for name, value in arguments.items())
    return arguments, f"pd.read_csv(path{shown})"
