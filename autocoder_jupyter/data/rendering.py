"""Render the profile of a table as text for the model: masked, escaped, and within its budget."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.data.column_profile import ColumnProfile
from autocoder_jupyter.data.profile import FrameProfile, is_default_index
from autocoder_jupyter.data.sample import cells_of, sample_positions, sample_rows
from autocoder_jupyter.data.text_formats import (
    CELL_CHARACTERS,
    MISSING_WORDS,
    cell_text,
    label_literal,
    percent,
    shorten,
)
from autocoder_jupyter.data.tokens import estimate_tokens
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.request import Share
from autocoder_jupyter.view.numbers import number_text

ROWS_SHARE = 0.12
"""Share of a table's budget for rows. Descriptions of columns are more informative per token."""

SET_MIN_COUNT = 5
SET_MAX_VALUES = 20
"""With `share="stats"` the values of a column are named only when there are at most 20, each at least 5 times."""

_NAME_CHARACTERS = 100
_PHRASE_CHARACTERS = 2_000
_RAW_PHRASE = 10_000
_ROW_CELL = 32
_COUNTED = 6
_MOST_ROWS = 8
"""Maximum number of sample rows. They show how values belong together, for which a few are enough."""

_FEW_VALUES = 12
"""Values of a column that are listed even without room for those of all columns, because a request may mean one."""

_MOST_BLANK_NAMES = 6
_FEWEST_EMPTY = 3
"""So many columns without a value share a line."""

_ROW_COLUMNS = 60
_ROW_CHARACTERS = 1200

_LOOKALIKES = re.compile(r"<(?=\s*/?\s*data\b|\|)|`(?=``)", re.IGNORECASE)


def neutral(text: str) -> str:
    """Text that cannot end the data section: no line breaks, no control characters, no end tag."""
    shown = text
    if not text.isprintable():
        shown = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
    return _LOOKALIKES.sub(lambda match: f"\\x{ord(match.group()):02x}", shown)


def cost(text: str) -> int:
    """The cost of a line: its tokens, or a quarter of its characters if that is more."""
    return max(estimate_tokens(text), (len(text) + 3) // 4) + 1


@dataclass(frozen=True)
class TableView:
    """The parts of a table that may be shown.

    Args:
        rows: sampled rows with the original index, or None if none may be shown.
        remarks: phrases for the head (for a file: how to read it).
        total_rows: the total number of rows, if the profile covers only the beginning.
        places: the positions of its columns in the table that the function gets, if that has more columns.
    """

    profile: FrameProfile
    rows: pd.DataFrame | None = None
    remarks: tuple[str, ...] = ()
    total_rows: int | None = None
    places: tuple[int, ...] = ()

    def place(self, column: ColumnProfile) -> int:
        """The position by which the function can access a column."""
        return self.places[column.position] if self.places else column.position


@dataclass(frozen=True)
class Rendered:
    """The text of a section, and the parts that were left out."""

    text: str
    left_out: tuple[str, ...] = ()


class TableText:
    """Renders one table in more or less detail. Each value is masked once, in a fixed order."""

    def __init__(self, view: TableView, share: Share, masker: Masker, max_rows: int) -> None:
        self._view = view
        self._share = share
        self._masker = masker
        self._mask_name = masker.for_column(
            text for column in view.profile.detailed if (text := label_literal(column.label)).isdigit()
        )
        self._head = self._head_lines()
        columns = view.profile.detailed
        self._named = [column.position in view.profile.named for column in columns]
        self._full = [self._column_line(column) for column in columns]
        brief = [replace(column, top=(), examples=(), contents=(), formats=()) for column in columns]
        self._brief = [
            full if named or _few_values(column) else self._column_line(short)
            for column, short, full, named in zip(columns, brief, self._full, self._named, strict=True)
        ]
        self._bare = [f"{self._column_name(column)} {self._plain(column.dtype)}" for column in columns]
        self._rows = self._row_lines(max_rows)

    def render(self, budget: int) -> Rendered:
        """The most detailed text that fits. Rows are left out first, then values, then details of the last columns."""
        room = budget - sum(map(cost, self._head)) - 10
        tail = self._tail_lines(room // 4)
        room -= sum(map(cost, tail))
        for columns, left_out in ((self._full, ""), (self._brief, "values and formats of columns")):
            lines = self._with_empty_in_one(columns)
            used = sum(map(cost, lines))
            if used <= room:
                rows, rows_left_out = self._fitting_rows(min(room - used, int(budget * ROWS_SHARE)))
                omitted = tuple(text for text in (left_out, rows_left_out) if text)
                return Rendered("\n".join([*self._head, *lines, *tail, *rows]), omitted)
        return self._narrow(room, tail)

    def _with_empty_in_one(self, lines: Sequence[str]) -> list[str]:
        """The lines of the columns, with one for all that have no value."""
        columns = self._view.profile.detailed
        empty = (
            []
            if self._share == "schema"
            else [at for at, one in enumerate(columns) if one.rows and one.nulls == one.rows]
        )
        if len(empty) < _FEWEST_EMPTY:
            return list(lines)
        told = f"all missing: {', '.join(self._bare[at] for at in empty)}"
        return [*(line for at, line in enumerate(lines) if at not in empty), told]

    def _narrow(self, room: int, tail: list[str]) -> Rendered:
        """The mentioned columns, statistics of the first other columns, as many names as fit, then counts."""
        first = [place for place, named in enumerate(self._named) if named]
        first += [place for place, column in enumerate(self._view.profile.detailed) if _few_values(column)]
        first = list(dict.fromkeys(first))
        first = sorted(first[: _fitting([self._brief[place] for place in first], room)])
        room -= sum(cost(self._brief[place]) for place in first) + 20
        others = [place for place in range(len(self._brief)) if place not in set(first)]
        described = _fitting([self._brief[place] for place in others], int(room * 0.6))
        lines = [self._brief[place] for place in sorted(first + others[:described])]
        rest = [self._bare[place] for place in others[described:]]
        room -= sum(cost(self._brief[place]) for place in others[:described])
        named = _fitting(rest, room)
        if named:
            lines.append("name and dtype only: " + ", ".join(rest[:named]))
        if named < len(rest):
            unnamed = others[described + named :]
            ends = [self._column_name(self._view.profile.detailed[place]) for place in (unnamed[0], unnamed[-1])]
            lines.append(f"and {len(unnamed)} more columns, from {ends[0]} to {ends[1]}")
        left_out = (f"statistics of {len(rest)} columns", *(("rows",) if self._rows else ()))
        return Rendered("\n".join([*self._head, *lines, *tail]), left_out)

    # The head

    def _head_lines(self) -> list[str]:
        profile = self._view.profile
        size = f"{profile.rows} rows" if self._view.total_rows is None else f"{self._view.total_rows} rows"
        shape = f"{profile.kind}, {size}" + (f" × {profile.columns} columns" if profile.kind == "DataFrame" else "")
        head = [*self._view.remarks, f"{shape}; {self._index_phrase()}"]
        if self._view.total_rows not in (None, profile.rows):
            head.append(f"what follows is from the first {profile.rows} rows")
        if profile.column_levels:
            head.append(f"columns are a MultiIndex with levels {', '.join(map(self._plain, profile.column_levels))}")
        if profile.duplicate_labels:
            head.append("some columns have the same name")
        if blank := [column for column in profile.detailed if _has_blanks(column.label)]:
            names = ", ".join(map(self._column_name, blank[:_MOST_BLANK_NAMES]))
            more = f" and {len(blank) - _MOST_BLANK_NAMES} more" if len(blank) > _MOST_BLANK_NAMES else ""
            head.append(f"blanks belong to the names {names}{more}")
        if self._share != "schema":
            head += self._head_statistics()
        return head

    def _index_phrase(self) -> str:
        profile = self._view.profile
        if not profile.index:
            return "default index"
        phrase = f"index {self._plain(profile.index)}"
        if self._share == "schema":
            phrase = re.sub(r", (?:ascending|not sorted), (?:unique|with repeated labels)$", "", phrase)
        if self._share == "rows" and profile.index_examples:
            phrase += f" (such as {', '.join(self._value(text) for text in profile.index_examples)})"
        return phrase

    def _head_statistics(self) -> list[str]:
        profile = self._view.profile
        lines = []
        if profile.duplicates:
            scope = "" if profile.duplicates_of == profile.rows else f" among the first {profile.duplicates_of}"
            lines.append(f"{profile.duplicates} rows repeat an earlier one{scope}")
        if profile.empty:
            lines.append(_rows(profile.empty, "is empty", "are empty"))
        lines += self._sheet_lines()
        if profile.panel_key:
            lines.append(f"one row for each pair of {self._plain(' and '.join(profile.panel_key))}")
        if profile.sampled < profile.rows:
            lines.append(
                f"rows, missing, minimum and maximum are of all rows; the rest is from {profile.sampled} of them"
            )
        return lines

    def _sheet_lines(self) -> Iterable[str]:
        """Rows that are not data. Their texts are shown completely, because a note decides how the others are read."""
        sheet = self._view.profile.sheet
        if sheet.header is not None:
            names = ", ".join(self._value(text) for _, text in sheet.names) if self._share == "rows" else ""
            yield f"row {sheet.header} looks like the header" + (f": {names}" if names else "")
        if self._share == "rows":
            for note in sheet.notes:
                text = neutral(self._masker.mask(note.text))
                yield f"row {note.row} has only this cell, a title or a note: '{text}'"
        elif sheet.notes:
            yield _rows(
                len(sheet.notes), "has only one cell, a title or a note", "have only one cell, a title or a note"
            )

    # Columns

    def _column_line(self, column: ColumnProfile) -> str:
        name = f"{self._column_name(column)} {self._plain(column.dtype)}"
        if self._share == "schema":
            return name
        texts = [text for text, _ in column.top] + [*column.examples, column.low, column.high, column.rest]
        mask = _then_cut(self._masker.for_column(texts), CELL_CHARACTERS)
        facts = [
            *self._count_facts(column),
            *self._range_facts(column, mask),
            *(note for note in column.notes if column.low == "" or not note.startswith("constant")),
            *(self._format_fact(phrase, column, mask) for phrase in column.formats),
            *self._value_facts(column, mask),
        ]
        return " | ".join([name, *facts])

    def _count_facts(self, column: ColumnProfile) -> Iterable[str]:
        if column.nulls:
            share = percent(column.nulls, column.rows)
            yield f"{column.nulls} missing ({share})" if column.nulls < column.rows else "all missing"
        is_noted = any(note.startswith(("unique", "constant", "no repeats")) for note in column.notes)
        measured = column.dtype.lower().startswith("float") and (column.distinct or 0) > column.looked_at // 2
        if column.distinct and not is_noted and not measured and not self._lists_every_value(column):
            yield f"{column.distinct} distinct" + ("" if column.exact else " in the sample")

    def _lists_every_value(self, column: ColumnProfile) -> bool:
        """Whether the listed values already show the number of distinct values and the range."""
        return self._share == "rows" and column.complete and column.distinct != 1 and bool(column.top)

    def _range_facts(self, column: ColumnProfile, mask: Callable[[str], str]) -> Iterable[str]:
        if column.low == "" or (column.exact and self._lists_every_value(column)):
            return
        if column.low == column.high:
            yield f"always {neutral(mask(column.low))}"
            return
        spread = f"{neutral(mask(column.low))} … {neutral(mask(column.high))}"
        if column.quartiles and column.position in self._view.profile.named:
            spread += f", quartiles {' '.join(neutral(mask(text)) for text in column.quartiles)}"
        yield spread

    def _format_fact(self, phrase: str, column: ColumnProfile, mask: Callable[[str], str]) -> str:
        if self._share != "rows" or not phrase.startswith(MISSING_WORDS) or not column.missing_words:
            return phrase
        return f"{phrase}: " + ", ".join(f"'{neutral(mask(text))}'" for text in column.missing_words)

    def _value_facts(self, column: ColumnProfile, mask: Callable[[str], str]) -> Iterable[str]:
        def quote(text: str) -> str:
            shown = neutral(mask(text))
            return f"'{shown}'" if column.quoted else shown

        if column.distinct == 1 and column.low != "":
            return  # the only value
        if self._share == "stats":
            if column.complete and column.rarest >= SET_MIN_COUNT and len(column.top) <= SET_MAX_VALUES:
                yield _counted("values", quote, column.top)
            return
        yield from (self._plain(text) for text in column.contents)
        if column.rest and not column.complete:
            yield f"others such as {quote(column.rest)}"
        if column.top:
            start = "values" if column.complete else "most frequent"
            yield _counted(start if column.exact else f"{start} in the sample", quote, column.top)
        if column.examples:
            yield "e.g. " + ", ".join(quote(text) for text in column.examples)

    def _tail_lines(self, room: int) -> list[str]:
        """The columns without a profile: runs of one dtype while they fit, then counts by dtype."""
        runs = self._view.profile.tail
        if not runs:
            return []
        texts = [
            f"{self._plain(run.first)} {self._plain(run.dtype)}"
            if run.count == 1
            else f"{self._plain(run.first)} … {self._plain(run.last)} {run.count} columns {self._plain(run.dtype)}"
            for run in runs[:500]
        ]
        shown = _fitting(texts, room)
        lines = ["name and dtype only: " + ", ".join(texts[:shown])] if shown else []
        rest: Counter[str] = Counter()
        for run in runs[shown:]:
            rest[self._plain(run.dtype)] += run.count
        if rest:
            kinds = ", ".join(f"{count} {dtype}" for dtype, count in rest.most_common(8))
            lines.append(f"and {sum(rest.values())} more columns ({kinds})")
        return lines

    # Rows

    def _row_lines(self, max_rows: int) -> list[str]:
        frame = self._view.rows
        if frame is None or self._share != "rows" or max_rows <= 0 or frame.shape[1] == 0 or len(frame) == 0:
            return []
        max_rows = min(max_rows, _MOST_ROWS)
        places = self._row_places(frame.shape[1])
        frame = sample_rows(frame, max_rows)
        frame = frame if places == list(range(frame.shape[1])) else frame.iloc[:, places]
        columns: list[list[str]] = []
        names: list[str] = []
        if not is_default_index(frame.index) and self._view.profile.index:
            columns.append([cell_text(label) for label in frame.index])
            names.append("(index)")
        for label, column in frame.items():
            columns.append([_row_cell(value) for value in cells_of(column)])
            names.append(self._name(label).strip("'"))
        masked = [self._masked_cells(texts) for texts in columns]
        lines = [shorten(",".join(row), _ROW_CHARACTERS) for row in zip(*masked, strict=True)]
        return [",".join(map(_quoted, names)), *lines]

    def _row_places(self, width: int) -> list[int]:
        """The columns of the rows: all, or the mentioned ones and then the first others."""
        if width <= _ROW_COLUMNS:
            return list(range(width))
        named = sorted(self._view.profile.named)
        return [*named, *(place for place in range(width) if place not in self._view.profile.named)][:_ROW_COLUMNS]

    def _masked_cells(self, texts: list[str]) -> list[str]:
        mask = _then_cut(self._masker.for_column(texts), _ROW_CELL)
        return [_quoted(neutral(mask(text))) for text in texts]

    def _fitting_rows(self, room: int) -> tuple[list[str], str]:
        if not self._rows:
            return [], ""
        total = len(self._rows) - 1
        fits = _fitting(self._rows, room - 20) - 1
        if fits < min(2, total):
            return [], "rows"
        places = sample_positions(total, fits) + 1
        title = f'{fits} sample rows as CSV (empty: missing; "": empty text)'
        left_out = f"{total - fits} of {total} sample rows" if fits < total else ""
        return [title + ":", self._rows[0], *(self._rows[place] for place in places)], left_out

    # Words

    def _column_name(self, column: ColumnProfile) -> str:
        """A name that code can use. A private or truncated name is followed by its position."""
        literal, whole = label_literal(column.label), self._plain(label_literal(column.label))
        name = whole if column.position in self._view.profile.named else shorten(whole, _NAME_CHARACTERS)
        if self._mask_name(literal) != literal:
            return f"{name} (a private name; say columns[{self._view.place(column)}])"
        return name if name == neutral(literal) else f"{name} (cut; say columns[{self._view.place(column)}])"

    def _name(self, label: Any) -> str:
        return shorten(self._plain(label_literal(label)), _NAME_CHARACTERS)

    def _plain(self, text: str) -> str:
        """Masks names, and phrases that contain names."""
        return shorten(neutral(self._mask_name(shorten(text, _RAW_PHRASE))), _PHRASE_CHARACTERS)

    def _value(self, text: str) -> str:
        return neutral(shorten(self._masker.mask(text), CELL_CHARACTERS))


def _rows(count: int, one: str, several: str) -> str:
    return f"1 row {one}" if count == 1 else f"{count} rows {several}"


def _counted(start: str, quote: Callable[[str], str], ranked: Sequence[tuple[str, int]]) -> str:
    """Values with their counts; of many values, only the counts of the first and the last."""
    if len(ranked) > _COUNTED and (ends := _ends_of_run([text for text, _ in ranked])):
        counts = sorted({count for _, count in ranked})
        each = f"×{counts[0]}" if len(counts) == 1 else f"×{counts[0]} to ×{counts[-1]}"
        return f"{start} {quote(ends[0])}, {quote(ends[1])} and all whole numbers between, each {each}"
    if len(ranked) <= _COUNTED:
        return f"{start} " + ", ".join(f"{quote(text)} ×{count}" for text, count in ranked)
    between = f"×{ranked[0][1]}" + (f" to ×{ranked[-1][1]}" if ranked[-1][1] < ranked[0][1] else "")
    return f"{len(ranked)} {start}, {between}: " + ", ".join(quote(text) for text, _ in ranked)


def _ends_of_run(texts: Sequence[str]) -> tuple[str, str] | None:
    """The first and the last of whole numbers that follow each other, such as years."""
    if not all(re.fullmatch(r"[1-9]\d{0,8}", text) for text in texts):
        return None
    numbers = sorted(map(int, texts))
    return (str(numbers[0]), str(numbers[-1])) if numbers[-1] - numbers[0] == len(numbers) - 1 else None


def _few_values(column: ColumnProfile) -> bool:
    """Whether a column has so few values that all can be listed."""
    return column.kind == "text" and column.complete and len(column.top) <= _FEW_VALUES


def _has_blanks(label: Any) -> bool:
    return isinstance(label, str) and label != label.strip()


def _then_cut(mask: Callable[[str], str], limit: int) -> Callable[[str], str]:
    """Mask first and truncate afterwards, because a part of a secret matches no pattern."""
    return lambda text: shorten(mask(text), limit)


def _fitting(lines: Sequence[str], room: int) -> int:
    """The number of first lines that fit."""
    for count, line in enumerate(lines):
        room -= cost(line)
        if room < 0:
            return count
    return len(lines)


def _row_cell(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        # Rows show the form of values; further digits only cost tokens.
        return number_text(value, 6)
    return '""' if isinstance(value, str) and value == "" else cell_text(value)


def _quoted(text: str) -> str:
    if text != '""' and any(sign in text for sign in ',"'):
        return '"' + text.replace('"', '""') + '"'
    return text
