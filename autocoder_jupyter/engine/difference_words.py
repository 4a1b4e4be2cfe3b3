"""The differences of two values in words: for an example of the user, and for a version and the one before."""

from __future__ import annotations

import datetime as dt
import reprlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.equality import Comparison, Path, ValueDifference
from autocoder_jupyter.untrusted.plain_json import shortened
from autocoder_jupyter.untrusted.visible import visible
from autocoder_jupyter.view.numbers import alike, in_full, rounded

MOST_LINES = 6
"""The number of changes of one output that are described; the others are counted."""

_LISTED = 3
"""The number of cells and names that are listed."""

_LONGEST = 80
"""The number of characters of a value or name."""

_LONGEST_PLACE = 2 * _LONGEST
"""The number of characters of the place in a nested value."""

_WITHHELD = "a value differs"


def expectation(found: Comparison, *, show_values: bool) -> str:
    """How an output differs from what was expected, in one line; "" if both are equal."""
    if found.verdict == "not compared":
        return "it cannot be compared with the expected value"
    if not found.differences:
        return ""
    first = found.differences[0]
    inner = _steps_into(first.path)
    if inner and not show_values:
        return _WITHHELD  # a key can be a value of the data too
    where = f"at {_cut(''.join(f'[{_quoted(step.name)}]' for step in inner), _LONGEST_PLACE)}: " if inner else ""
    if first.what == "columns":
        return f"{where}it comes {_missing_and_extra(first, show_values)}"
    if isinstance(first.other, pd.DataFrame | pd.Series):
        if first.what == "type":
            return f"{where}it is a {type(first.one).__name__}, expected a {type(first.other).__name__}"
        if first.what == "length":
            return f"{where}it has {_rows(len(first.one))}, expected {len(first.other)}"
        return f"{where}{_cells(found, show_values)}"
    if not show_values:
        return _WITHHELD
    if first.what == "cells":
        place = int(np.flatnonzero(first.wrong)[0])
        at = where.removesuffix(": ") or "at "
        return f"{at}[{place}]: it is {_quoted(first.one[place])}, expected {_quoted(first.other[place])}"
    return f"{where}it is {_quoted(first.one)}, expected {_quoted(first.other)}"


def _steps_into(path: Path) -> Path:
    return tuple(step for step in path if step.kind in ("key", "entry"))


def _missing_and_extra(difference: ValueDifference, show_values: bool) -> str:
    """Missing and extra columns. Their names may come from the program, so they are treated like values."""
    missing, extra = (_columns(names, show_values) for names in (difference.only_other, difference.only_one))
    parts = [f"without {missing}"] if missing else []
    return " and ".join([*parts, *([f"with {extra}, which was not expected"] if extra else [])])


def _columns(names: Sequence[Any], show_values: bool) -> str:
    if not names or not show_values:
        return f"{len(names)} columns" if len(names) > 1 else "a column" * len(names)
    return (
        f"the column{'s' * (len(names) > 1)} {', '.join(map(_quoted, names[:_LISTED]))}{' …' * (len(names) > _LISTED)}"
    )


def _cells(found: Comparison, show_values: bool) -> str:
    """The first cells that differ, column by column."""
    cells: list[str] = []
    inner = _steps_into(found.differences[0].path)
    same_table = (each for each in found.differences if each.what == "cells" and _steps_into(each.path) == inner)
    for difference in same_table:
        step = difference.path[-1] if len(difference.path) > len(inner) else None
        name = "the index" if step and step.kind == "index" else f"column {_quoted(step.name)}" if step else ""
        for row in np.flatnonzero(difference.wrong)[: _LISTED - len(cells)].tolist():
            place = f"{name}, row {row}" if name else f"row {row}"
            one, other = _quoted(difference.one.iloc[row]), _quoted(difference.other.iloc[row])
            cells.append(f"{place}: {one}, expected {other}" if show_values else f"{place} differs")
    further = found.more + sum(difference.count for difference in found.differences) - len(cells)
    return "; ".join([*cells, *([f"and {further} more cells differ"] if further else [])])


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def changes(found: Comparison, *, show_values: bool) -> tuple[str, ...]:
    """How an output differs from that of the version before, in a few sentences; empty if both are equal."""
    lines = [line for difference in found.differences for line in _change(difference, show_values)]
    more = len(lines) - MOST_LINES + found.more
    return tuple(lines) if more <= 0 else (*lines[:MOST_LINES], f"and {more:,} more")


def _change(difference: ValueDifference, show_values: bool) -> Iterator[str]:
    where = _where(difference.path, show_values)
    prefix = f"{where}: " if where else ""
    match difference.what:
        case "columns":
            yield from (f"{prefix}{line}" for line in _new_and_gone("column", difference))
        case "keys":
            yield from (f"{prefix}{line}" for line in _new_and_gone("", difference, show_values=show_values))
        case "length":
            of = "rows" if isinstance(difference.one, pd.DataFrame | pd.Series) else "elements"
            yield f"{prefix}{len(difference.one):,} → {len(difference.other):,} {of}"
        case "dtype":
            yield f"{prefix}{_one_line(str(difference.one))} → {_one_line(str(difference.other))}"
        case "order":
            yield f"{prefix}another order of columns"
        case "content":
            yield f"{prefix}another {'picture' if hasattr(difference.one, 'png') else 'content'}"
        case "type":
            yield f"{prefix}{_with_article(difference.one)} → {_with_article(difference.other)}"
        case "cells":
            yield f"{prefix}{_differing(difference, show_values)}"
        case _:
            yield f"{prefix}{_arrow(difference.one, difference.other)}" if show_values else f"{prefix}another value"


def _where(path: Path, show_values: bool) -> str:
    """The place in a value. Keys of a dict can be values of the data."""
    text = ""
    for step in path:
        if step.kind == "index":
            name = "the index"
        elif step.kind == "entry":
            text += f"[{step.name}]"
            continue
        else:
            name = _one_line(step.name) if step.kind != "key" or show_values else "a key"
        text += f".{name}" if text else name
    return _cut(text, _LONGEST_PLACE)


def _new_and_gone(what: str, difference: ValueDifference, *, show_values: bool = True) -> Iterator[str]:
    for how, names in (("new", difference.only_other), ("no more", difference.only_one)):
        if names and not show_values:
            yield f"{len(names):,} {'missing' if how == 'no more' else how} key{'s' * (len(names) > 1)}"
        elif names:
            named = f" {what}{'s' * (len(names) > 1)}" if what else ""
            shown = ", ".join(map(_one_line, names[:MOST_LINES]))
            rest = len(names) - MOST_LINES
            yield f"{how}{named} {shown}{f' and {rest:,} more' if rest > 0 else ''}"


def _differing(difference: ValueDifference, show_values: bool) -> str:
    in_table = isinstance(difference.one, pd.Series)
    counted = f"{difference.count:,} of {len(difference.wrong):,} {'values' if in_table else 'elements'} differ"
    if not show_values:
        return counted
    place = int(np.flatnonzero(difference.wrong)[0])
    values = (side.iloc[place] if in_table else side[place] for side in (difference.one, difference.other))
    return f"{counted}, first in {'row' if in_table else 'element'} {place}: {_arrow(*values)}"


def _arrow(one: Any, other: Any) -> str:
    texts = [in_full(float(value)) if isinstance(value, float) else _one_line(value) for value in (one, other)]
    before, after = alike(texts) if isinstance(one, float) and isinstance(other, float) else map(rounded, texts)
    return f"{before} → {after}" if before != after else f"{_quoted(one)} → {_quoted(other)}"


def _with_article(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


class _Brief(reprlib.Repr):
    """`repr` that looks only at the beginning of a long value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = _LONGEST // 3
        self.maxother = 2 * _LONGEST

    def repr_str(self, x: str, level: int) -> str:
        return repr(x[: _LONGEST + 1])

    def repr_int(self, x: int, level: int) -> str:
        return repr(shortened(x))

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:  # in the order of the dict, without sorting all keys
        if level <= 0 and x:
            return "{...}"
        shown = [f"{self.repr1(key, level - 1)}: {self.repr1(x[key], level - 1)}" for key in islice(x, self.maxdict)]
        return f"{{{', '.join([*shown, *(['...'] if len(x) > self.maxdict else [])])}}}"

    def repr_set(self, x: Any, level: int) -> str:  # without sorting all items
        shown = sorted(self.repr1(item, level - 1) for item in islice(x, self.maxset))
        return f"{{{', '.join(shown)}}}" if x else "set()"

    repr_frozenset = repr_set


_BRIEF = _Brief()


def _quoted(value: Any) -> str:
    """A value as source, cut."""
    if isinstance(value, np.generic):
        value = value.item()
    return _cut(str(value) if isinstance(value, dt.date | dt.timedelta) else _BRIEF.repr(value))


def _one_line(value: Any) -> str:
    """A value as text in one line, cut."""
    if isinstance(value, str):
        return visible(_cut(value))
    return visible(_quoted(value))


def _cut(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
