"""What a function loses or multiplies on the sample, and whether a sentence of the request or the plan speaks of it.

The notes come from `programs.loss_notes`, so they are bounded and not believed: they only become sentences that a
person reads. A loss becomes a question if nothing speaks of it and right functions hardly have it: texts that are not
read although they have a format, keys without a match where others have one, an exact word that is a part of others,
a gap in a sequence whose rows are compared with the row before.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from autocoder_jupyter.data.text_formats import examined
from autocoder_jupyter.engine.evidence.row_steps import Place
from autocoder_jupyter.engine.prompt import FUNCTION
from autocoder_jupyter.types import Loss
from autocoder_jupyter.untrusted.parsing import parse

MOST_NOTES, MOST_LOSSES = 100, 12
MOST_TEXTS, LONGEST_TEXT = 100, 64
NAMED = 8
"""Values that are named at most."""

MANY = 0.2
"""The share of values or keys from which a loss is asked about, whatever is lost."""

MOST_UNMATCHED = 0.5
"""If a larger share of the keys has no match, the join is a filter."""

_MARK = "\0"
"""Is around each text in a sentence that may be a value of the data."""

FEW_OTHERS = 3
"""An exact word that is a word of so many other values is asked about."""

_FILLS = re.compile(
    r"\b(?:fillna|isna|isnull|notna|notnull|dropna|combine_first|indicator|nan_to_num|where|mask|ffill|bfill)\b"
)


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})", re.I)


_SPEAKS: Mapping[str, re.Pattern[str]] = {
    kind: _any_of(words)
    for kind, words in {
        "parse": r"unreadable|unparse?able|invalid|malformed|(?:not|cannot be|can't be) (?:read|parsed|converted)\b|"
        r"not (?:a )?(?:valid )?(?:number|numeric|date)s?\b|non-?numeric|no (?:valid )?(?:number|date)s?\b|coerc",
        "join": r"match|unmatched|unknown|in both|(?:inner|left|outer) join",
        "fan": r"pair|combin|each of|every|several|multiple|more than one|twice|duplicate|repeated|once for|per ",
        "words": r"exact|only|just|alone|solely|purely|nothing (?:but|else)|as (?:it is )?written|case",
        "missing": r"(?:any|some|all|no|a) (?:missing|values?|columns?)|incomplete|complete",
        "input": r"not (?:used|needed|read)|unused|ignored",
        "repeated": r"duplicate|repeated|distinct|unique|different|once|occur|identical|same row",
        "labels": r"left out|dropped|excluded|ignored|only|other",
        "gap": r"gap|missing|consecutive|previous (?:row|entry|available)|row before|available|no data|skipp",
        "means": r"(?:mean|average)s? of (?:the )?(?:[\w' ]{0,30})(?:mean|average)|equal(?:ly)?|weigh|counts? the same|"
        r"first (?:per|by|for|within)|of (?:these|those)|per \w+ first|each \w+ counts|across (?:the )?\w+s",
    }.items()
}
"""What a sentence says that speaks of a loss."""

_LEFT_OUT = r"missing|without|lack|left out|dropped|excluded|ignored|skipped|empty|null|nan\b|not available"
_OF_ITS_NAMES: Mapping[str, re.Pattern[str]] = {
    "parse": _any_of(_LEFT_OUT),
    "missing": _any_of(rf"{_LEFT_OUT}|known|has (?:a|an)\b|no "),
    "join": _any_of(rf"{_LEFT_OUT}|known|listed|(?:are|is) (?:not )?in\b|not in\b|no "),
}
"""The same, if it also names a column, a table or a value."""


@dataclass(frozen=True)
class _FoundLoss:
    """A loss.

    Args:
        kind: the words that speak of it.
        words: a sentence, in which texts that may be values of the data are marked.
        names: values of the data, which complete it: ": Puerto Rico".
        about: names that a sentence about it may have: of columns and tables.
        asks: whether it is a question, if no sentence speaks of it.
    """

    kind: str
    place: Place
    words: str
    names: str = ""
    about: tuple[str, ...] = ()
    asks: bool = True


class _NotANote(Exception):
    """What came from the sandbox is no note."""


def losses(
    found: Any,
    places: Sequence[Place],
    code: str,
    request: Sequence[str],
    assumptions: Sequence[str],
    tables: Mapping[str, Any],
    may_show: Callable[[str], str] | None,
) -> tuple[Loss, ...]:
    """The losses, those that are asked about first.

    Args:
        found: what `programs.loss_notes` noted.
        places: what the numbers in it stand for.
        code: the source of the function.
        request: the texts of the request.
        assumptions: those of the plan.
        tables: the samples by name.
        may_show: masks a text with values of the data; None if they must not be kept. Then only this session has them.
    """
    try:
        notes = _Notes.of(found, places)
    except (_NotANote, KeyError, TypeError, ValueError, IndexError):
        return ()
    reading = _LossReading(notes, code, request, tables)
    by_words = dict[tuple[str, str], Loss]()
    spoken = [*assumptions, *(one for text in request for one in re.split(r"(?<=[.;!?])\s+|\n", text))]
    for one in reading.found():
        sentence = next((text for text in spoken if _speaks(text, one)), "")
        whole = f"{one.words}{one.names}".replace(_MARK, "")
        words = re.sub(f"{_MARK}[^{_MARK}]*{_MARK}", "…", one.words) if may_show is None else may_show(whole)
        if sentence or one.asks:
            loss = Loss(line=one.place.line, words=words, in_full=whole, said_by=sentence, asks=not sentence)
            by_words.setdefault((one.kind, loss.words), loss)
    return tuple(sorted(by_words.values(), key=lambda loss: not loss.asks)[:MOST_LOSSES])


def _speaks(sentence: str, found: _FoundLoss) -> bool:
    """Whether a sentence speaks of a loss."""
    if _SPEAKS[found.kind].search(sentence):
        return True
    words = set(re.findall(r"\w+", sentence.casefold()))
    named = any(
        {name.casefold(), name.casefold().removesuffix("s"), f"{name.casefold()}s"} & words for name in found.about
    )
    of_names = _OF_ITS_NAMES.get(found.kind)
    return named and of_names is not None and of_names.search(sentence) is not None


# What was noted


@dataclass(frozen=True)
class _Notes:
    notes: Sequence[tuple[str, Place, tuple[Any, ...]]]
    aggregated: int
    filtered: int

    @classmethod
    def of(cls, found: Any, places: Sequence[Place]) -> _Notes:
        """The notes, if all have their form.

        Raises:
            _NotANote: one has not.
        """
        if not isinstance(found, dict) or not isinstance(found["notes"], list) or len(found["notes"]) > MOST_NOTES:
            raise _NotANote
        ends = [_number(found[name]) for name in ("aggregated", "filtered")]
        notes = []
        for kind, place, *values in found["notes"]:
            shape = _SHAPES.get(kind) if isinstance(kind, str) else None
            if shape is None or len(shape) != len(values) or _number(place) >= len(places):
                raise _NotANote
            notes.append((kind, places[place], tuple(read(value) for read, value in zip(shape, values, strict=True))))
        return cls(notes, *ends)


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise _NotANote
    return value


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise _NotANote
    return value


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > LONGEST_TEXT:
        raise _NotANote
    return value.replace(_MARK, " ")


def _method(value: Any) -> str:
    if value not in ("diff", "pct_change", "shift", "rolling"):
        raise _NotANote
    return _text(value)


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list) or len(value) > MOST_TEXTS * 2:
        raise _NotANote
    return [_text(one) for one in value]


def _counts(value: Any) -> list[tuple[str, int]]:
    if not isinstance(value, list) or len(value) > MOST_TEXTS:
        raise _NotANote
    return [(_text(text), _number(count)) for text, count in value]


def _others(value: Any) -> list[tuple[str, int, bool]]:
    if not isinstance(value, list) or len(value) > MOST_TEXTS:
        raise _NotANote
    return [(_text(text), _number(count), _truth(is_list)) for text, count, is_list in value]


def _side(value: Any) -> tuple[int, int, int, int, bool]:
    rows, keys, missed, lost, unique = value
    return _number(rows), _number(keys), _number(missed), _number(lost), _truth(unique)


_SHAPES: Mapping[str, tuple[Callable[[Any], Any], ...]] = {
    "parse": (_truth, _number, _number, _texts),
    "words": (_truth, _text, _texts, _number, _others),
    "case": (_text, _number, _number, _counts),
    "map": (_number, _number, _number, _number, _texts),
    "dropna": (_number, _number, _counts),
    "repeated": (_number, _number, _texts),
    "keys": (_number, _number),
    "reindex": (_truth, _number, _number, _texts),
    "join": (_text, _text, _side, _side, _texts, _texts, _number, _number, _truth),
    "gap": (_method, _number, _text, _text, _number),
    "looked": (),
    "means": (_number, _number, _number),
}

# What it means


def never_read(code: str) -> Iterator[tuple[int, str]]:
    """Inputs that the function has and does not use, with the line of its head."""
    for node in parse(code).body:
        if isinstance(node, ast.FunctionDef) and node.name == FUNCTION:
            read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            constants = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
            texts = (value for value in constants if isinstance(value, str))
            read |= {name for text in texts for name in re.findall(r"@(\w+)", text)}  # of `query` and `eval`
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield from ((node.lineno, one.arg) for one in arguments if not {one.arg, "locals"} & read)


class _LossReading:
    def __init__(self, notes: _Notes, code: str, request: Sequence[str], tables: Mapping[str, Any]) -> None:
        self._notes, self._code, self._request = notes, code, "\n".join(request)
        self._tables = {name: one for name, one in tables.items() if isinstance(one, pd.DataFrame | pd.Series)}
        self._fills = _FILLS.search(code) is not None
        self._written = _written(code) | {name for table in self._tables.values() for name in _labels(table)}
        self._looks_for_gaps = any(kind == "looked" for kind, _, _ in notes.notes)

    def found(self) -> Iterator[_FoundLoss]:
        """All losses."""
        for line, name in never_read(self._code):
            yield _FoundLoss("input", Place(line, ""), f"{name} is never read", "", (name,))
        yield from self._of_parses([(place, values) for kind, place, values in self._notes.notes if kind == "parse"])
        of_kinds: Mapping[str, Callable[..., Iterator[_FoundLoss]]] = {
            "words": self._of_words,
            "case": self._of_case,
            "dropna": self._of_dropna,
            "repeated": self._of_repeated,
            "keys": self._of_keys,
            "reindex": self._of_reindex,
            "gap": self._of_gap,
            "means": self._of_means,
        }
        of_joins: Mapping[str, Callable[..., Iterator[_FoundLoss]]] = {"map": self._of_map, "join": self._of_join}
        for number, (kind, place, values) in enumerate(self._notes.notes):
            if kind in of_kinds:
                yield from of_kinds[kind](place, *values)
            elif kind in of_joins:
                is_aggregated, is_filtered = number < self._notes.aggregated, number < self._notes.filtered
                yield from of_joins[kind](place, *values, is_aggregated=is_aggregated, is_filtered=is_filtered)

    def _said(self, text: str, shown: str = "") -> str:
        """A text as it is in a sentence; marked if neither the code nor a table has it as a name or a word."""
        return shown or text if text in self._written else f"{_MARK}{shown or text}{_MARK}"

    # Values

    def _of_parses(self, parses: Sequence[tuple[Place, tuple[Any, ...]]]) -> Iterator[_FoundLoss]:
        """Values that no conversion of a column reads."""
        by_column = dict[str, list[tuple[Place, tuple[Any, ...]]]]()
        for place, values in parses:
            by_column.setdefault(place.of, []).append((place, values))
        for column, tried in by_column.items():
            place, (is_date, of, lost, texts) = min(tried, key=lambda one: one[1][2])
            never = set(texts).intersection(*(values[3] for _, values in tried))
            if not lost or not never:
                continue
            texts = [text for text in texts if text in never]
            forms = examined(texts)
            readable = [form for form in forms.phrases if _is_readable(form, is_date=is_date)]
            words = [text for text in texts if text.strip().casefold() in _MISSING]
            others = len(texts) - len(words)
            though = f", though they are {readable[0].partition(' (')[0]}" if readable and others else ""
            called = column or ("dates" if is_date else "numbers")
            yield _FoundLoss(
                "parse",
                place,
                f"{called}: {lost:,} of {of:,} values are not read{though}",
                _such_as(texts),
                (column,),
                asks=bool(though) or (others > 0 and lost > MANY * of),
            )

    def _of_words(
        self,
        place: Place,
        is_equal: bool,
        column: str,
        words: list[str],
        taken: int,
        others: list[tuple[str, int, bool]],
    ) -> Iterator[_FoundLoss]:
        """Values that are not compared, but are spelled otherwise, or have the word as one of several."""
        others = [one for one in others if not any(quoted in self._code for quoted in (repr(one[0]), f'"{one[0]}"'))]
        folded = {word.strip().casefold(): word for word in words}
        sign = {"ne": "!=", "!=": "!=", "isin": "isin"}.get(place.method, "==")
        column = column or place.of
        listed = ", ".join(self._said(one, repr(one)) for one in words)
        called = self._said(column) if column and column != place.of else column or "the column"
        start = f"{called} {sign} {listed}" if len(words) == 1 else f"{called} {sign} [{listed}]"
        spelled = [one for one in others if one[0].strip().casefold() in folded]
        if spelled:
            rows = sum(count for _, count, _ in spelled)
            about = f"{start} {'does not take' if is_equal else 'keeps'} {rows:,} rows with another spelling"
            yield _FoundLoss("words", place, about, _named([repr(value) for value, _, _ in spelled]), (column,))
        if not is_equal or not taken or len(words) > 1:
            return
        word = words[0].strip()
        within = [one for one in others if one not in spelled and _has_word(one[0], word)]
        if not within or re.search(rf"['\"“`]{re.escape(word)}['\"”`]", self._request):
            return
        is_common = word == word.lower() or (word not in self._request and word.lower() in self._request.casefold())
        rows = sum(count for _, count, _ in within)
        is_many = len(within) >= FEW_OTHERS and 10 * rows >= taken and is_common
        about = f"{start} takes {taken:,} rows; {rows:,} more contain it"
        asks = is_many or any(is_list for _, _, is_list in within)
        yield _FoundLoss("words", place, about, _named([value for value, _, _ in within]), (column,), asks=asks)

    def _of_case(
        self, place: Place, pattern: str, taken: int, more: int, others: list[tuple[str, int]]
    ) -> Iterator[_FoundLoss]:
        if more:
            of = f"{place.of or 'the column'} contains {self._said(pattern, repr(pattern))} in {taken:,} rows"
            words = f"{of}; {more:,} more have it in other letters"
            yield _FoundLoss("words", place, words, _named([value for value, _ in others]), (place.of,), asks=taken > 0)

    def _of_map(
        self,
        place: Place,
        of: int,
        lost: int,
        different: int,
        missed: int,
        names: list[str],
        *,
        is_aggregated: bool,
        is_filtered: bool,
    ) -> Iterator[_FoundLoss]:
        """Values without an entry, whose rows a later aggregation leaves out."""
        if lost:
            of_values = f"{missed:,} of {different:,} values of {place.of or 'a column'}"
            words = f"{of_values} have no entry in the map ({lost:,} of {of:,} rows)"
            asks = is_aggregated and not is_filtered and not self._fills and missed < different
            yield _FoundLoss("join", place, words, _named([repr(name) for name in names]), (place.of,), asks=asks)

    # Rows

    def _of_dropna(self, place: Place, rows: int, gone: int, alone: list[tuple[str, int]]) -> Iterator[_FoundLoss]:
        unused = [(name, count) for name, count in alone if count and not _is_in(self._code, name)]
        if gone and unused:
            count = sum(count for _, count in unused)
            names = " or ".join(self._said(name) for name, _ in unused[:3])
            of = f"dropna leaves out {gone:,} of {rows:,} rows"
            words = f"{of}, {count:,} of them only because of {names}, which is not used"
            yield _FoundLoss("missing", place, words, "", tuple(name for name, _ in unused))

    def _of_repeated(self, place: Place, rows: int, gone: int, columns: list[str]) -> Iterator[_FoundLoss]:
        whole = any(
            set(map(str, table.columns)) <= set(columns)
            for table in self._tables.values()
            if isinstance(table, pd.DataFrame)
        )
        if gone and whole:
            yield _FoundLoss(
                "repeated", place, f"drop_duplicates leaves out {gone:,} of {rows:,} rows that are repeated"
            )

    def _of_keys(self, place: Place, rows: int, missing: int) -> Iterator[_FoundLoss]:
        """Rows without a group, where the data themselves lack the key."""
        label = place.labels[0] if len(place.labels) == 1 else ""
        given = [table[label] for table in self._tables.values() if isinstance(table, pd.DataFrame) and label in table]
        if missing > MANY * rows and any(pd.Series(column).isna().mean() > MANY for column in given):
            yield _FoundLoss(
                "missing", place, f"{missing:,} of {rows:,} rows have no {label}, and are in no group", "", (label,)
            )

    def _of_reindex(
        self, place: Place, is_otherwise: bool, of: int, lost: int, names: list[str]
    ) -> Iterator[_FoundLoss]:
        """Labels that are written otherwise. With the labels of another table, those that are left out are meant."""
        if lost and is_otherwise:
            yield _FoundLoss("labels", place, f"reindex leaves out {lost:,} of {of:,} labels", _named(names))

    def _of_join(
        self,
        place: Place,
        how: str,
        key: str,
        left: tuple[int, int, int, int, bool],
        right: tuple[int, int, int, int, bool],
        lone_left: list[str],
        lone_right: list[str],
        alike: int,
        after: int,
        is_itself: bool,
        *,
        is_aggregated: bool,
        is_filtered: bool,
    ) -> Iterator[_FoundLoss]:
        """Keys without a match whose rows are lost, and rows that are multiplied because both tables repeat a key."""
        tables = (*place.tables, "", "")[:2]
        names = [table or side for table, side in zip(tables, ("the left table", "the right table"), strict=True)]
        about = (key, *tables)
        key = " and ".join(map(self._said, key.split(" and ")))
        if alike:
            of = f"{left[2]:,} of {left[1]:,} values of {key} in {names[0]} have no match in {names[1]}"
            yield _FoundLoss("join", place, f"{of}; {alike:,} differ only in blanks, case or leading zeros", "", about)
        sides = (
            (left, lone_left, names[1], how in ("inner", "right")),
            (right, lone_right, names[0], how in ("inner", "left")),
        )
        for number, (side, lone, other, drops) in enumerate(sides):
            rows, keys, missed, lost_rows, unique = side
            if not missed or alike:
                continue
            facts = not unique or (left[4] and right[4])
            is_few = missed <= MOST_UNMATCHED * keys
            asks = facts and is_few and (drops or (number == 0 and is_aggregated and not self._fills))
            have = "has" if missed == 1 else "have"
            of = f"{missed:,} of {keys:,} values of {key} in {names[number]} {have} no match in {other}"
            words = f"{of} ({lost_rows:,} of {rows:,} rows)"
            yield _FoundLoss("join", place, words, _named(lone), about, asks=asks)
        is_cross = left[1] == right[1] == 1  # as by a constant column
        if not left[4] and not right[4] and after > max(left[0], right[0]) and not is_itself and not is_cross:
            words = f"{names[1]} has several rows for one {key}: the join makes {left[0]:,} rows into {after:,}"
            yield _FoundLoss("fan", place, words, "", about, asks=not is_filtered)

    # Sequences and means

    def _of_gap(
        self, place: Place, method: str, missing: int, before: str, after: str, first: int
    ) -> Iterator[_FoundLoss]:
        year = f"{int(before) + 1} is" if first == 1 and re.fullmatch(r"\d{4}", before) else ""
        inside = year or f"{first:,} {'is' if first == 1 else 'are'}"
        if self._looks_for_gaps:
            return
        words = f"{method} takes the row before as the period before, but the sequence lacks {missing:,}"
        yield _FoundLoss("gap", place, words, f": {inside} missing between {before} and {after}")

    def _of_means(self, place: Place, groups: int, smallest: int, largest: int) -> Iterator[_FoundLoss]:
        words = f"a mean of {groups:,} means, of groups of {smallest:,} to {largest:,} rows, which count the same"
        yield _FoundLoss("means", place, words)


def _written(code: str) -> set[str]:
    """The texts in the code, and the names of its arguments."""
    nodes = list(ast.walk(parse(code)))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    quoted = [one for text in texts for pair in re.findall(r"'([^']*)'|\"([^\"]*)\"", text) for one in pair]
    return {*texts, *quoted, *(node.arg for node in nodes if isinstance(node, ast.keyword) and node.arg)}


def _labels(table: pd.DataFrame | pd.Series[Any]) -> list[str]:
    columns = table.columns if isinstance(table, pd.DataFrame) else [table.name]
    return [str(label) for label in (*columns, *table.index.names)]


_MISSING = frozenset(
    ("", "na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", "unknown", "missing", "#n/a", "nat", ".")
)


def _is_readable(form: str, *, is_date: bool) -> bool:
    if is_date:
        return form.startswith(("dates", "times"))
    return re.match(r"(?:decimal )?numbers|whole numbers|percentages|amounts|negative numbers", form) is not None


def _has_word(value: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", value, re.I) is not None


def _is_in(code: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code) is not None


def _named(names: Sequence[str]) -> str:
    shown = [repr(name) if "," in name and name[:1] not in "'\"" else name for name in names[:NAMED]]
    return f": {', '.join(shown)}{' …' if len(names) > NAMED else ''}" if names else ""


def _such_as(texts: Sequence[str]) -> str:
    return f", such as {texts[0]!r}" if texts else ""
