"""Columns and attributes of a table that cannot cross into a sandbox. They are left out if nobody needs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from autocoder_jupyter.codec import Unencodable, encode
from autocoder_jupyter.codec.frames import arrays_of
from autocoder_jupyter.codec.plain import to_json
from autocoder_jupyter.data.text_formats import label_literal, shorten

_PLAIN_KINDS = "biufcmM"
_PLAIN_VALUES = frozenset({"string", "empty", "integer", "floating", "boolean", "datetime64", "timedelta64"})
_MOST_NAMED = 3


def that_crosses(table: Any, is_needed: Callable[[Any], bool], *, attrs_too: bool = True) -> tuple[Any, str]:
    """A table without what cannot cross and is not needed, and what that is, in words; "" if it is nothing.

    Args:
        table: a DataFrame or a Series; any other value is returned as it is.
        is_needed: whether a column with this label is needed. Such a column stays, and whoever sends the table reports
            it.
        attrs_too: whether entries of `attrs` may be left out.
    """
    if not isinstance(table, pd.DataFrame | pd.Series):
        return table, ""
    attrs = {name: value for name, value in table.attrs.items() if _crosses(name) and _crosses(value)}
    attrs = attrs if attrs_too else dict(table.attrs)
    odd = _odd_places(table, is_needed) if isinstance(table, pd.DataFrame) else []
    if not odd and len(attrs) == len(table.attrs):
        return table, ""
    words = [f"column {shorten(label_literal(table.columns[place]), 60)}" for place in odd]
    words += [f"attrs[{shorten(label_literal(name), 60)}]" for name in table.attrs if name not in attrs]
    kind = next((kind for kind in (pd.DataFrame, pd.Series) if type(table) is kind), None)
    made: Any = table if kind is None else kind(table, copy=False)  # without `attrs`, which pandas would copy deeply
    if odd:
        made = made.iloc[:, [place for place in range(made.shape[1]) if place not in set(odd)]]
    elif made is table:
        made = table.copy(deep=False)
    made.attrs = attrs
    more = len(words) - _MOST_NAMED
    return made, ", ".join(words[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def left_out(name: str, words: str) -> str:
    """The sentence about what was left out of a table."""
    return f"{name} is used without {words}: the sandbox cannot take it, and nothing here needs it."


def _odd_places(frame: pd.DataFrame, is_needed: Callable[[Any], bool]) -> list[int]:
    """The places of the columns that cannot cross and are not needed; none if that is all of them."""
    places = []
    for place, (label, array) in enumerate(zip(frame.columns.tolist(), arrays_of(frame), strict=True)):
        if isinstance(label, str) and (getattr(array.dtype, "kind", "O") in _PLAIN_KINDS or is_needed(label)):
            continue  # to find out whether values cross may take as long as to send them
        if not (_crosses(label) and _values_cross(array)) and not is_needed(label):
            places.append(place)
    return places if len(places) < frame.shape[1] else []


def _crosses(value: Any) -> bool:
    if isinstance(value, str):
        return True
    try:
        to_json(value, "")
    except Exception:  # a value of any class, which may raise anything
        return False
    return True


def _values_cross(array: Any) -> bool:
    if getattr(array.dtype, "kind", "O") in _PLAIN_KINDS and not hasattr(array.dtype, "pyarrow_dtype"):
        return True
    if isinstance(array.dtype, pd.StringDtype) and array.dtype.storage != "python":  # Arrow's texts are valid Unicode
        return True
    if array.dtype == object and pd.api.types.infer_dtype(array, skipna=True) in _PLAIN_VALUES:
        return True
    try:
        encode(pd.Series(array, copy=False), "Series")
    except Unencodable:
        return False
    except Exception:  # whoever sends it reports that
        return True
    return True
