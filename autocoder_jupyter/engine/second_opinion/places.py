"""Compares the outputs of two solutions, and describes the places where they differ for the user and the model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from autocoder_jupyter.equality.comparison import compare
from autocoder_jupyter.equality.leniency import INDEPENDENT
from autocoder_jupyter.equality.result import Path, ValueDifference
from autocoder_jupyter.equality.scalars import is_missing, is_single, kind_of
from autocoder_jupyter.equality.tables import flat

MOST = 20
"""The maximum number of places in one comparison, and of values of a place."""

LOOKED_AT = 10_000
"""The number of rows that differ from which an example is taken."""

MOST_DECIMALS = 6
"""The number of decimals that a rounded number has at most."""

LONGEST = 80
"""The number of characters of a value that are shown."""

BOTH_EMPTY = "it is empty in both, so there was no value to compare"

SIDES = ("the function", "the second solution")


@dataclass(frozen=True)
class OutputPlace:
    """One place where two results differ.

    Args:
        where: `best_month`, `monthly.growth`, or `monthly` for its rows.
        first, second: the two results there, as text for the user.
        at: for a column, the row that is shown.
        count, of: `count` of `of` rows differ.
        both: whether both have a value there, in at least one row.
        ones, others: all values there, as JSON, in the order of the first; only for a small result.
        keys: for rows, the columns that identify them.
    """

    where: str
    first: str
    second: str
    at: str = ""
    count: int = 1
    of: int = 1
    both: bool = True
    ones: tuple[Any, ...] = ()
    others: tuple[Any, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass
class Compared:
    """The places that differ, the parts that were not compared, and the outputs of which something was compared."""

    places: list[OutputPlace] = field(default_factory=list)
    not_compared: list[tuple[str, str]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def compared_outputs(first: Mapping[str, Any], second: Mapping[str, Any], pairs: Sequence[Sequence[str]]) -> Compared:
    """Compare outputs.

    Args:
        first: outputs by name.
        second: outputs of the other solution by name.
        pairs: (name in the first, name in the second) of outputs that belong together.
    """
    all_found = Compared()
    for one, other in pairs:
        found = compare(first[one], second[other], INDEPENDENT, name=one, sides=SIDES)
        all_found.places.extend(_place(one, difference) for difference in found.differences)
        all_found.not_compared.extend((_where(one, note.path), note.why) for note in found.not_compared)
        all_found.outputs.extend([one] if found.compared or found.differences else [])
        if found.verdict == "equal" and not found.compared:
            all_found.not_compared.append((one, BOTH_EMPTY))
    del all_found.places[MOST:]
    return all_found


def is_rounded_otherwise(place: OutputPlace) -> bool:
    """Whether two lists of rounded numbers differ by one unit of their last decimal at most.

    A number in the middle between two is rounded up by one way to compute it, and down by another. One number of a list
    may take what is left of a sum by rounding the others: it may differ by as much as they do together.
    """
    numbers = [value for value in (*place.ones, *place.others) if isinstance(value, float)]
    texts = [repr(number) for number in numbers]
    decimals = max((len(text.partition(".")[2].rstrip("0")) for text in texts), default=0)
    if not 1 <= decimals <= MOST_DECIMALS or any("e" in text for text in texts) or place.keys:
        return False
    unit = 1.001 * 10.0**-decimals
    pairs = [(one, other) for one, other in zip(place.ones, place.others, strict=False) if one != other]
    if len(place.ones) != len(place.others) or not all(_is_float(*pair) for pair in pairs):
        return False
    deviations = [one - other for one, other in pairs]
    far = [deviation for deviation in deviations if not abs(deviation) <= unit]
    return not far or (len(far) == 1 and abs(sum(deviations)) < unit / 2)


def _is_float(*values: Any) -> bool:
    return all(isinstance(value, float) for value in values)


def against_an_error(said: str, second: Mapping[str, Any], pairs: Sequence[Sequence[str]]) -> Compared:
    """The outputs of the second solution as differences, if the first fails.

    Args:
        said: the error.
        second: outputs of the second solution by name.
        pairs: as for `compared_outputs`.
    """
    places = [place for one, other in pairs for place in _results(one, second[other], said)]
    return Compared(places[:MOST], outputs=[one for one, _ in pairs])


def _results(name: str, value: Any, said: str) -> Iterator[OutputPlace]:
    if is_single(value):
        yield OutputPlace(name, said, shown(value), others=(plain(value),))
    elif not isinstance(value, pd.DataFrame | pd.Series):
        yield OutputPlace(name, said, f"a {type(value).__name__}")
    elif len(value) > MOST:
        yield OutputPlace(name, said, f"{len(value)} rows")
    else:
        frame = flat(value, name)
        for column in frame.columns:
            values = _few(frame[column])
            yield OutputPlace(f"{name}.{column}", said, ", ".join(map(str, values[:3])) or "no rows", others=values)


def _where(name: str, path: Path) -> str:
    return name + "".join(f"[{step.name + 1}]" if step.kind == "entry" else f".{step.name}" for step in path)


def _place(name: str, difference: ValueDifference) -> OutputPlace:
    where, one, other = _where(name, difference.path), difference.one, difference.other
    if difference.what == "rows":
        return _rows(where, difference)
    if difference.what == "cells":
        return _cells(where, difference)
    if difference.what == "length":
        unit = "rows" if isinstance(one, pd.DataFrame) else "entries"
        values = ((), ()) if unit == "rows" else (_few(one), _few(other))
        return OutputPlace(where, f"{len(one)} {unit}", f"{len(other)} {unit}", ones=values[0], others=values[1])
    if difference.what == "value":
        both = not is_missing(one) and not is_missing(other)
        return OutputPlace(where, shown(one), shown(other), both=both, ones=(plain(one),), others=(plain(other),))
    return OutputPlace(where, f"{len(difference.only_one)} other files", f"{len(difference.only_other)} other files")


def _rows(where: str, difference: ValueDifference) -> OutputPlace:
    """Rows that only one side has."""
    one, other, keys = difference.one, difference.other, difference.keys
    only_here, only_there = ([_told(row) for row in rows] for rows in (difference.only_one, difference.only_other))
    counts = f"{len(one)} rows", f"{len(other)} rows"
    if counts[0] == counts[1]:
        counts = f"{len(only_here)} other rows", f"{len(only_there)} other rows"
    at = f"{only_here[0]} only in the function" if only_here else f"{only_there[0]} only in the second solution"
    count = len(only_here) + len(only_there)
    few = max(len(one), len(other)) <= MOST
    ones, others = (tuple(map(_told, _tuples(side, keys))) if few else () for side in (one, other))
    return OutputPlace(where, *counts, at, count, count, ones=ones, others=others, keys=keys)


def _cells(where: str, difference: ValueDifference) -> OutputPlace:
    one, other = (side if isinstance(side, pd.Series) else list(side) for side in (difference.one, difference.other))
    wrong = np.flatnonzero(difference.wrong)[:LOOKED_AT]
    values = [[side.iloc[at] if isinstance(side, pd.Series) else side[at] for at in wrong] for side in (one, other)]
    told = [at for at, *both in zip(wrong, *values, strict=True) if not any(map(is_missing, both))]
    at = int(told[0] if told else wrong[0])  # a row where both have a value is a better example
    if not isinstance(one, pd.Series):
        row = f"entry {at + 1}"
    elif difference.keys:
        (named,) = _tuples(difference.rows.iloc[[at]], difference.keys)
        row = ", ".join(_named(key, value) for key, value in zip(difference.keys, named, strict=True))
    else:
        row = f"row {at + 1}"
    left, right = (shown(side.iloc[at] if isinstance(side, pd.Series) else side[at]) for side in (one, other))
    counts = difference.count, len(difference.wrong)
    return OutputPlace(where, left, right, row, *counts, bool(told), _few(one), _few(other))


def _tuples(table: Any, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(table[name] for name in keys), strict=True)


def _named(key: str, value: Any) -> str:
    """The value of a key; a number alone would be taken for the number of a row."""
    return f"{key} {shown(value)}" if kind_of(value) == "number" else shown(value)


def _told(row: Iterable[Any]) -> str:
    return ", ".join(map(shown, row))


def _few(values: Any) -> tuple[Any, ...]:
    return tuple(map(plain, values)) if len(values) <= MOST else ()


def shown(value: Any) -> str:
    """A value as one short line of text for the user."""
    if is_missing(value):
        return "nothing"
    if isinstance(value, float | np.floating):
        text = f"{value:.6g}"
    elif kind_of(value) == "time":
        text = str(value).removesuffix(" 00:00:00")
    else:
        text = _text(value) or '""'
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _text(value: Any) -> str:
    try:
        return str(value)
    except ValueError:  # an integer with too many digits
        return hex(value)


def plain(value: Any) -> Any:
    """A value as JSON."""
    if is_missing(value):
        return None
    if isinstance(value, np.generic) and kind_of(value) in ("number", "truth", "text"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else shown(value)
