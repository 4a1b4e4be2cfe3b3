"""Convert constraints in words to checks, if the meaning is certain.

Patterns read the common English forms; the model is asked once about all others. A pattern must match the *whole*
sentence: "revenue is never negative when paid" is not "revenue is never negative". A constraint that cannot be
converted remains as text. Every prompt contains the text of all constraints, so nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from autocoder_jupyter.data.checks import CheckKind, ColumnCheck, Scalar
from autocoder_jupyter.data.column_profile import dtype_text
from autocoder_jupyter.data.keys import fold
from autocoder_jupyter.data.sample import mentioned
from autocoder_jupyter.data.text_formats import label_literal
from autocoder_jupyter.kinds.table import KINDS
from autocoder_jupyter.prompts import prompt
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.types import OutputSpec

# Patterns of common English forms. Names are taken as written, and resolved below.


@dataclass(frozen=True)
class Condition:
    """A condition of a sentence, before its names are resolved.

    `column` and `table` are as the user wrote them. `about_output` is for "one row per month": it is about the output,
    also if an input has a column of that name.
    """

    kind: CheckKind
    column: str = ""
    table: str = ""
    about_output: bool = False
    value: Scalar | None = None
    low: Scalar | None = None
    high: Scalar | None = None
    pattern: str | None = None
    values: tuple[Scalar, ...] = ()


_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d+)?(?<=[\d])|zero|one"
_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?"
_THERE = r"(?:there (?:are|must be|should be) )?"
_BOUND = rf"(?:{_DATE}|{_NUMBER})"
_BE = (
    r"(?:(?:values )?(?:must|should|shall|has to|have to|needs? to|may|can|will|is|are|be|stays?|remains?|lies?|always"
    r"|only|strictly|has|have|contains?)\s+)*"
)
_NOT = r"(?:(?:must|should|shall|may|can|could|will|is|are|be|do|does|has|have|contains?|values)\s*)*"
_MATCH = r"(?:(?:must|should|has to|have to|always)\s+)*match(?:es)?\s+(?:the\s+)?(?:regex\s+|pattern\s+)?"
_NOT += r"(?:never|not|n't|cannot|no)\s*(?:be|have|contain|ever)?\s*"


def _positive(match: re.Match[str]) -> dict[str, Any]:
    return {"value": 0}


def _value(match: re.Match[str]) -> dict[str, Any]:
    return {"value": _scalar(match["v"])}


def _interval(match: re.Match[str]) -> dict[str, Any]:
    return {"low": _scalar(match["a"]), "high": _scalar(match["b"])}


def _pattern(match: re.Match[str]) -> dict[str, Any]:
    return {"pattern": match["p"]}


def _list(match: re.Match[str]) -> dict[str, Any]:
    return {"values": tuple(_members(match["l"]))}


def _nothing(match: re.Match[str]) -> dict[str, Any]:
    return {}


def _rows(match: re.Match[str]) -> dict[str, Any]:
    return {"value": int(float(str(_scalar(match["v"]))))}


def _other(match: re.Match[str]) -> dict[str, Any]:
    return {"value": match["o"]}


@dataclass(frozen=True)
class _Form:
    pattern: re.Pattern[str]
    kind: CheckKind
    parameters: Callable[[re.Match[str]], dict[str, Any]] = field(default=_nothing)


def _forms() -> tuple[_Form, ...]:
    column = r"(?P<column>.+?)\s+"
    predicates: tuple[tuple[str, CheckKind, Callable[[re.Match[str]], dict[str, Any]]], ...] = (
        (rf"{_NOT}negative", "at_least", _positive),
        (rf"{_BE}(?:non-?negative|positive or zero|zero or (?:more|positive|above))", "at_least", _positive),
        (rf"{_NOT}positive", "at_most", _positive),
        (rf"{_BE}positive", "greater_than", _positive),
        (rf"{_BE}negative", "less_than", _positive),
        (
            rf"{_BE}(?:at least|no less than|not less than|not below|>=|≥|greater than or equal to|on or after"
            rf"|a minimum of)\s*(?P<v>{_BOUND})",
            "at_least",
            _value,
        ),
        (rf"{_BE}(?P<v>{_NUMBER}) or (?:more|greater|above|higher)", "at_least", _value),
        (rf"{_NOT}(?:below|under|less than|smaller than|before)\s+(?P<v>{_BOUND})", "at_least", _value),
        (
            rf"{_BE}(?:at most|no more than|not more than|not above|<=|≤|less than or equal to|on or before|up to"
            rf"|a maximum of)\s*(?P<v>{_BOUND})",
            "at_most",
            _value,
        ),
        (rf"{_BE}(?P<v>{_NUMBER}) or (?:less|smaller|below|lower)", "at_most", _value),
        (
            rf"{_NOT}(?:exceeds?|above|over|more than|greater than|larger than|after)\s+(?P<v>{_BOUND})",
            "at_most",
            _value,
        ),
        (
            rf"{_BE}(?:(?:greater|more|larger|higher|bigger|later) than|above|over|after|>|exceeds?)\s*(?P<v>{_BOUND})",
            "greater_than",
            _value,
        ),
        (
            rf"{_BE}(?:(?:less|lower|smaller|fewer|earlier) than|below|under|before|<)\s*(?P<v>{_BOUND})",
            "less_than",
            _value,
        ),
        (
            rf"{_BE}(?:between|in the range|within|from|in the range from)\s+(?P<a>{_BOUND})\s*(?:and|to|-|–|\.\.)\s*"
            rf"(?P<b>{_BOUND})(?:\s*\(?inclusive\)?)?",
            "between",
            _interval,
        ),
        (rf"{_BE}(?:in|within)\s*\[\s*(?P<a>{_BOUND})\s*,\s*(?P<b>{_NUMBER}|{_DATE})\s*\]", "between", _interval),
        (rf"{_MATCH}/(?P<p>.+)/", "regex", _pattern),
        (rf"{_MATCH}(?P<q>['\"`])(?P<p>.+)(?P=q)", "regex", _pattern),
        (rf"{_BE}(?:one of|any of|either|among|in)\s*(?P<l>.+)", "isin", _list),
        (rf"{_NOT}(?:null|nulls|nan|nans|missing|empty|blank|missing values|null values|gaps)", "not_null", _nothing),
        (rf"{_BE}(?:non-?null|not-null|required|mandatory|complete|filled|present|given)", "not_null", _nothing),
        (rf"{_NOT}(?:duplicates?|duplicated|repeated|repeats?|duplicate values)", "unique", _nothing),
        (rf"{_BE}(?:unique|distinct)(?: values)?", "unique", _nothing),
    )
    in_front: tuple[tuple[str, CheckKind, Callable[[re.Match[str]], dict[str, Any]]], ...] = (
        (
            rf"{_THERE}no (?:nulls?|nans?|missing(?: values?)?|null values|gaps|empty values) in (?P<column>.+)",
            "not_null",
            _nothing,
        ),
        (
            rf"{_THERE}no (?:duplicates?|duplicate values|repeated values) in (?P<column>.+)",
            "unique",
            _nothing,
        ),
        (rf"{_THERE}no duplicated? (?P<column>.+)", "unique", _nothing),
        (
            rf"{_THERE}no negative (?:values?|numbers) in (?P<column>.+)",
            "at_least",
            _positive,
        ),
        (r"no negative (?P<column>.+)", "at_least", _positive),
        (
            r"(?:exactly |only |there (?:is|must be) )*one (?:row|line|record|entry)"
            r" (?P<per>per|for each|for every|a|each) (?P<column>.+)",
            "unique",
            _nothing,
        ),
    )
    table = r"(?:(?P<table>.+?)\s+)?"
    rows: tuple[tuple[str, CheckKind, Callable[[re.Match[str]], dict[str, Any]]], ...] = (
        (rf"{table}{_BE}(?:the )?same number of (?:rows|lines|records) (?:as|like) (?P<o>.+)", "same_rows_as", _other),
        (rf"{table}{_BE}as many (?:rows|lines|records) as (?P<o>.+)", "same_rows_as", _other),
        (
            rf"{table}{_BE}(?:at least|no less than|no fewer than) (?P<v>{_NUMBER}) (?:rows?|lines|records)",
            "min_rows",
            _rows,
        ),
        (rf"{table}{_BE}(?:at most|no more than) (?P<v>{_NUMBER}) (?:rows?|lines|records)", "max_rows", _rows),
        (rf"{table}(?:{_BE})(?:exactly )?(?P<v>{_NUMBER}) (?:rows?|lines|records)", "row_count", _rows),
        (rf"{table}{_NOT}empty", "min_rows", lambda match: {"value": 1}),
    )
    flags = re.IGNORECASE
    return (
        *(_Form(re.compile(text, flags), kind, read) for text, kind, read in rows[:-1]),
        *(_Form(re.compile(text, flags), kind, read) for text, kind, read in in_front),
        *(_Form(re.compile(column + text, flags), kind, read) for text, kind, read in predicates),
        *(_Form(re.compile(text, flags), kind, read) for text, kind, read in rows[-1:]),
    )


_FORMS = _forms()
_LONGEST_SENTENCE = 300
_LONGEST_PATTERN = 1_000


def parse_sentence(sentence: str) -> Iterator[tuple[Condition, ...]]:
    """All possible readings of a complete sentence, the most literal first. The known names decide between them.

    A sentence with `;` or with `and` between complete conditions has several conditions. A very long sentence has no
    reading, because the patterns try every possible end of a column name.
    """
    if len(sentence) > _LONGEST_SENTENCE:
        return
    text = " ".join(sentence.replace("’", "'").split()).strip().rstrip(".!").strip()
    text = re.sub(r"\b(?:can't|cannot)\b", "can not", text, flags=re.IGNORECASE)
    text = re.sub(r"(?<=\w)n't\b", " not", text, flags=re.IGNORECASE)
    for condition in _parse_clause(text):
        yield (condition,)
    for separator in (r"\s*;\s*", r",?\s+and\s+"):
        clauses = re.split(separator, text)
        if 1 < len(clauses) <= 4:
            yield from product(*(tuple(_parse_clause(clause)) for clause in clauses))


def _parse_clause(clause: str) -> Iterator[Condition]:
    for form in _FORMS:
        match = form.pattern.fullmatch(clause)
        if match is None:
            continue
        parameters = form.parameters(match)
        if parameters.get("values") == () or not is_sane(parameters):
            continue
        groups = match.groupdict()
        column, table = _split_place(groups.get("column") or "")
        about_output = groups.get("per") is not None or "column" not in groups
        yield Condition(form.kind, column, groups.get("table") or table, about_output, **parameters)


_FILLERS = re.compile(r"^(?:(?:the|every|each|all|any|values? (?:of|in)|column|columns)\s+)+", re.IGNORECASE)
_TAILS = re.compile(r"\s+(?:columns?|values?|field)$", re.IGNORECASE)


def _split_place(words: str) -> tuple[str, str]:
    """Column and table of `quantity`, `orders.quantity`, `quantity in orders`, `the quantity column of orders`."""
    words = _FILLERS.sub("", words)
    column, table = words, ""
    if match := re.fullmatch(r"(.+?)\s+(?:in|of|from)\s+(?:the\s+)?(.+)", words):
        column, table = match.groups()
    elif match := re.fullmatch(r"([^\W\d]\w*)\.(.+)", words):
        table, column = match.groups()
    column = _TAILS.sub("", _FILLERS.sub("", column)).strip("`'\" ")
    return column, table.strip("`'\" ")


def _scalar(text: str) -> Scalar:
    """A number, or a timestamp as ISO text."""
    words = {"zero": 0, "one": 1}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(_DATE, text):
        return text
    number = float(text.replace(",", ""))
    return int(number) if number.is_integer() and "e" not in text.lower() else number


def _members(text: str) -> list[Scalar]:
    """The values of `(a, b or "c d")`, numbers as numbers; empty if the list is ambiguous."""
    inner = text.strip().removeprefix("of ").strip()
    if re.fullmatch(r"\(.*\)|\[.*\]|\{.*\}", inner):
        inner = inner[1:-1]
    parts = re.findall(r"\s*(\"[^\"]*\"|'[^']*'|`[^`]*`|[^,]+)\s*(?:,|$)", re.sub(r",?\s+(?:or|and)\s+", ", ", inner))
    if len(parts) < 2 and not re.fullmatch(r"[\"'(\[{].*", text.strip()):
        return []
    members: list[Scalar] = []
    for part in parts:
        bare = part.strip()
        quoted = bare[:1] in "\"'`" and bare[-1:] == bare[:1]
        if not quoted and len(bare.split()) > 3:
            return []  # prose, not a list
        members.append(_written(bare.strip("\"'`"), quoted))
    return members


def _written(text: str, quoted: bool) -> Scalar:
    if quoted:
        return text
    if text in ("True", "true", "False", "false"):
        return text.lower() == "true"
    return _scalar(text) if re.fullmatch(rf"(?:{_NUMBER})", text) and text not in ("zero", "one") else text


def is_sane(parameters: Mapping[str, Any]) -> bool:
    """Whether the parameters are valid: the pattern compiles, the interval is of one type and not empty."""
    if "pattern" in parameters:
        if len(parameters["pattern"]) > _LONGEST_PATTERN:
            return False
        try:
            re.compile(parameters["pattern"])
        except (re.error, RecursionError, OverflowError):
            return False
    low, high = parameters.get("low"), parameters.get("high")
    if low is not None and high is not None:
        if isinstance(low, str) != isinstance(high, str):
            return False
        return bool(low <= high)
    return True


# Constraints as checks

_MAX_COLUMNS = 100


@dataclass(frozen=True)
class Tables:
    """The names that a constraint can refer to.

    Args:
        columns: table name (an input's or an output's) → column name → dtype, as text.
    """

    columns: Mapping[str, Mapping[str, str]]
    outputs: tuple[str, ...] = ()


def tables_of(samples: Mapping[str, Any], outputs: Sequence[OutputSpec] = ()) -> Tables:
    """The tables of a request: its samples and its declared or planned outputs."""
    columns: dict[str, dict[str, str]] = {}
    for name, value in samples.items():
        if isinstance(value, pd.DataFrame):
            columns[name] = {
                str(label): dtype_text(dtype) for label, dtype in zip(value.columns, value.dtypes, strict=True)
            }
            columns[name] |= {str(level): "index" for level in value.index.names if level is not None}
        elif isinstance(value, pd.Series):
            columns[name] = {str(name if value.name is None else value.name): dtype_text(value.dtype)}
    tables = [output for output in outputs if KINDS[output.type].form == "table"]
    for output in tables:
        found = {column.name: column.dtype for column in output.columns}
        columns[output.name] = found or ({output.name: ""} if output.type == "Series" else {})
    return Tables(columns, tuple(output.name for output in tables))


@dataclass(frozen=True)
class ConstraintReading:
    """The result of reading constraints.

    Args:
        checks: conditions that can be executed, each with its sentence.
        unread: constraints that match no pattern, or whose names are unknown (so far).
    """

    checks: tuple[ColumnCheck, ...] = ()
    unread: tuple[str, ...] = ()


def read_constraints(constraints: Sequence[str], tables: Tables) -> ConstraintReading:
    """Read the constraints whose meaning is certain. A column that is in several tables is checked in each."""
    checks: list[ColumnCheck] = []
    unread: list[str] = []
    for sentence in constraints:
        found = _read(sentence, tables)
        checks.extend(found)
        if not found:
            unread.append(sentence)
    return ConstraintReading(tuple(checks), tuple(unread))


def _read(sentence: str, tables: Tables) -> tuple[ColumnCheck, ...]:
    """The checks of the first reading whose names are all known."""
    for conditions in parse_sentence(sentence):
        groups = [_resolve(condition, tables, sentence) for condition in conditions]
        if all(groups):
            return tuple(check for group in groups for check in group)
    return ()


# Names


def _resolve(condition: Condition, tables: Tables, sentence: str) -> tuple[ColumnCheck, ...]:
    """The checks of a condition, one for each table that it can refer to; () if a name is unknown."""
    places: list[tuple[str, str | None]]
    if condition.column:
        places = _places(condition, tables)
    else:
        places = [(table, None) for table in _tables_named(condition.table, tables)]
    value = condition.value
    if condition.kind == "same_rows_as":
        others = _tables_named(str(value), tables)
        if len(others) != 1:
            return ()
        value = others[0]
        places = [place for place in places if place[0] != value]
    return tuple(
        ColumnCheck(
            target=table,
            column=column,
            kind=condition.kind,
            value=value,
            low=condition.low,
            high=condition.high,
            pattern=condition.pattern,
            values=condition.values,
            sentence=sentence,
        )
        for table, column in places
    )


def _places(condition: Condition, tables: Tables) -> list[tuple[str, str | None]]:
    """The tables of the columns. `a and b` names two columns, except if they are a key together."""
    named = list(tables.columns)
    if condition.table:
        named = _tables_named(condition.table, tables)
    elif condition.about_output:
        named = list(tables.outputs)
    found = _column_places(condition.column, named, tables)
    if found or condition.kind == "unique":
        return found
    parts = [
        _column_places(part, named, tables) for part in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", condition.column)
    ]
    return [place for part in parts for place in part] if all(parts) else []


def _column_places(words: str, named: Sequence[str], tables: Tables) -> list[tuple[str, str | None]]:
    """The tables that have a column. An exact name has priority over a similar name or a plural."""
    wanted = fold(words)
    for same in (
        lambda name: name == words,
        lambda name: fold(name) == wanted,
        lambda name: wanted in (f"{fold(name)}s", f"{fold(name)}es"),
    ):
        found = [(table, column) for table in named for column in tables.columns[table] if same(column)]
        if found:
            return list(found)
    return []


def _tables_named(words: str, tables: Tables) -> list[str]:
    """The tables that a word refers to; `output`, `result` and no word refer to the outputs."""
    bare = re.sub(r"^(?:the|input|sample|table)\s+", "", words.strip("`'\" "), flags=re.IGNORECASE)
    if fold(bare) in ("", "output", "outputs", "result", "theoutput", "theresult", "it"):
        return list(tables.outputs) if len(tables.outputs) == 1 else []
    return [name for name in tables.columns if fold(name) == fold(bare)]


# The question to the model about the others


class ParsedConstraint(BaseModel):
    """How one constraint reads as a condition on one column; `none` when it is no such condition."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    number: int = Field(description="number of the constraint in the list")
    table: str = Field(default="", description="name of the table, exactly as listed")
    column: str = Field(default="", description="name of the column, exactly as listed; empty for row counts")
    kind: CheckKind | Literal["none"] = Field(description="none: cannot be said exactly by one of the other kinds")
    value: Scalar | None = Field(default=None, description="bound, number of rows, or table for same_rows_as")
    low: Scalar | None = Field(default=None, description="lower bound of between, included")
    high: Scalar | None = Field(default=None, description="upper bound of between, included")
    pattern: str | None = Field(default=None, description="regular expression of regex")
    values: tuple[Scalar, ...] = Field(default=(), description="allowed values of isin, in the column's own type")


class ParsedConstraints(BaseModel):
    """The answer about all constraints. One constraint may give several conditions."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    constraints: tuple[ParsedConstraint, ...] = ()


def constraint_question_text(constraints: Sequence[str], tables: Tables) -> str:
    """The question to the model: the constraints that match no pattern, and the known names."""
    masker = Masker()
    lines = ["Constraints:"]
    lines += [f"{number}. {' '.join(text.split())}" for number, text in enumerate(constraints, 1)]
    lines.append(prompt("constraints.tables"))
    for name, columns in tables.columns.items():
        role = "output" if name in tables.outputs else "input"
        shown = [
            masker.mask(f"{label_literal(column)} {dtype}".strip(), bare_numbers=False)
            for column, dtype in _listed_columns(columns, constraints)
        ]
        more = f" and {len(columns) - len(shown)} more" if len(columns) > len(shown) else ""
        lines.append(f"- {name} ({role}): {', '.join(shown) or 'columns not fixed yet'}{more}")
    lines.append(prompt("constraints.answer"))
    return "\n".join(lines)


def _listed_columns(columns: Mapping[str, str], constraints: Sequence[str]) -> list[tuple[str, str]]:
    """The first columns, and all columns that the constraints mention."""
    named = set(mentioned(columns, "\n".join(constraints)))
    return [pair for place, pair in enumerate(columns.items()) if place < _MAX_COLUMNS - len(named) or place in named]


def apply(answer: ParsedConstraints, constraints: Sequence[str], tables: Tables) -> ConstraintReading:
    """The model's answer as checks. Constraints without an answer, or with unknown names, stay unread."""
    checks: list[ColumnCheck] = []
    read: set[int] = set()
    for parsed in answer.constraints:
        if parsed.kind == "none" or not 1 <= parsed.number <= len(constraints):
            continue
        condition = Condition(
            kind=parsed.kind,
            column=parsed.column,
            table=parsed.table,
            value=parsed.value,
            low=parsed.low,
            high=parsed.high,
            pattern=parsed.pattern,
            values=parsed.values,
        )
        if not _complete(condition):
            continue
        found = _resolve(condition, tables, constraints[parsed.number - 1])
        checks.extend(found)
        if found:
            read.add(parsed.number)
    unread = tuple(text for number, text in enumerate(constraints, 1) if number not in read)
    return ConstraintReading(tuple(checks), unread)


_ROW_KINDS = ("row_count", "min_rows", "max_rows", "same_rows_as")


def _complete(condition: Condition) -> bool:
    """Whether a condition has the parameters of its kind. Defaults are not used: the user did not state them."""
    if bool(condition.column) == (condition.kind in _ROW_KINDS):
        return False
    needed: dict[str, bool] = {
        "between": condition.low is not None and condition.high is not None,
        "regex": bool(condition.pattern),
        "isin": bool(condition.values),
        "not_null": True,
        "unique": True,
    }
    parameters = {"low": condition.low, "high": condition.high}
    if condition.pattern is not None:
        parameters["pattern"] = condition.pattern
    try:
        moments = [one for one in (condition.low, condition.high) if isinstance(one, str)]
        if condition.kind in ("greater_than", "at_least", "less_than", "at_most") and isinstance(condition.value, str):
            moments.append(condition.value)
        if condition.kind in ("row_count", "min_rows", "max_rows"):
            int(float(str(condition.value)))
        for moment in moments:
            pd.Timestamp(moment)
    except ValueError:
        return False
    return needed.get(condition.kind, condition.value is not None) and is_sane(parameters)
