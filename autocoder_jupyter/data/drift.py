"""Compare the columns and dtypes of a table with those of the sample that a function was built on."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from autocoder_jupyter.codec.frames import arrays_of
from autocoder_jupyter.codec.geometry import is_geographic, is_geometry
from autocoder_jupyter.data.column_profile import dtype_name
from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.periods import expected, periods_note
from autocoder_jupyter.data.profile import as_frame, index_levels
from autocoder_jupyter.data.sample import missing_in
from autocoder_jupyter.data.text_formats import label_literal
from autocoder_jupyter.redaction.masking import Masker

# Geometries


def geography(value: pd.DataFrame | pd.Series[Any]) -> str:
    """The class, the active geometry and the coordinate systems of a table, for the model; "" without geometries."""
    frame = as_frame(value) if isinstance(value, pd.DataFrame) else pd.DataFrame({value.name: value.array})
    columns = [(label, column) for label, column in frame.items() if is_geometry(column.dtype)]
    if not columns:
        return ""
    systems = ", ".join(f"{label_literal(label)} in {system_of(column)}" for label, column in columns)
    if not is_geographic(value):
        return f"geometries of geopandas: {systems}"
    active = getattr(value, "active_geometry_name", None)
    text = f"a geopandas.{type(value).__name__}; geometries: {systems}"
    return text if active is None else f"{text}; active geometry {label_literal(active)}"


def system_of(column: Any) -> str:
    """The coordinate system of a column: `EPSG:4326`, its name, or `no coordinate system`."""
    crs = column.array.crs
    if crs is None:
        return "no coordinate system"
    code = crs.to_authority(min_confidence=100)
    return ":".join(code) if code else str(crs.name)


# Columns and dtypes

_NAMED = 5


def shape_of(value: pd.DataFrame | pd.Series[Any]) -> dict[str, Any]:
    """Columns, index and their dtypes, as JSON: `{"type", "rows", "columns": [[literal, dtype], …], "index": […]}`.

    Columns are a list of pairs, because a name may occur twice; each name is a Python literal. The shape is written to
    files, so a private name (for example after a pivot) is masked. Any private name of that kind then matches.
    """
    columns = (
        [
            [column_literal(label), _dtype_of(value, place, array.dtype)]
            for place, (label, array) in enumerate(zip(value.columns.tolist(), arrays_of(value), strict=True))
        ]
        if isinstance(value, pd.DataFrame)
        else [[column_literal(value.name), _dtype_of(value, 0, value.dtype)]]
    )
    return {
        "type": "Series" if isinstance(value, pd.Series) else "DataFrame",
        "rows": len(value),
        "columns": columns,
        "index": [[column_literal(name), _masked(dtype)] for name, dtype in index_levels(value.index)],
    }


def _dtype_of(value: pd.DataFrame | pd.Series[Any], place: int, dtype: Any) -> str:
    """The name of a column's dtype; that of geometries has the coordinate system: `geometry[EPSG:4326]`."""
    name = dtype_name(dtype)
    if name == "geometry":
        column = value.iloc[:, place] if isinstance(value, pd.DataFrame) else value
        name = f"geometry[{system_of(column)}]"
    return _masked(name)


def column_literal(label: Any) -> str:
    """The name of a column as a Python literal, masked if it is private."""
    return _masked(label_literal(label))


@functools.lru_cache(maxsize=50_000)
def _masked(literal: str) -> str:
    return Masker().mask(literal, bare_numbers=False)


def has_shape(value: pd.DataFrame | pd.Series[Any], shape: Mapping[str, Any]) -> bool:
    """Whether a table has exactly the columns, dtypes and index of a shape."""
    now = shape_of(value)
    return all(now[part] == shape.get(part) for part in ("type", "columns", "index"))


def check_drift(
    name: str, frame: pd.DataFrame | pd.Series[Any], shape: Mapping[str, Any], reads: ColumnsRead = EVERY_COLUMN
) -> str | None:
    """One sentence about the changes in columns that the function reads, or None.

    Further columns, another order and another number of rows are fine. So is a dtype of the same family: whole
    numbers of any width, floats of any width, whole numbers where floats were, text as `object`, `str`, `string` or
    a category of text, times of any unit, each of them in its nullable or Arrow form, and numbers and times as `object`
    or category. Not fine: floats where
    whole numbers were (except a float column that is all whole, as reading a file with gaps gives), times that
    gained or lost their zone, numbers that became text. Of the index only levels that have a name count, and only
    that they are still there. Columns that are periods and that the function takes as they come may be others
    (`data.periods`).
    """
    kind = "Series" if isinstance(frame, pd.Series) else "DataFrame"
    if kind != shape.get("type", kind):
        return f"{name} is a {kind}, but the function was built on a {shape['type']}."
    now = shape_of(frame)
    if kind == "Series":
        changed = _changes([["its values", now["columns"][0][1]]], [["its values", shape["columns"][0][1]]], frame)
        return _sentence(name, [], changed)
    then = _expected(now["columns"], shape, reads)
    missing = _missing(now["columns"], then)
    lost = [literal for literal, _ in shape.get("index", []) if literal != "None"]
    lost = [f"index level {literal}" for literal in lost if literal not in {label for label, _ in now["index"]}]
    doubled = _doubled(now["columns"], then)
    return _sentence(name, missing + lost, _changes(now["columns"], then, frame), doubled)


def _expected(now: list[list[str]], shape: Mapping[str, Any], reads: ColumnsRead) -> list[list[str]]:
    """The columns that a table with the columns `now` must have."""
    return expected([column for column in shape["columns"] if reads.covers(column[0])], now, reads)


def _by_name(columns: list[list[str]]) -> dict[str, str]:
    return dict(zip((label for label, _ in columns), (dtype for _, dtype in columns), strict=True))


def unread_drift(name: str, frame: pd.DataFrame, shape: Mapping[str, Any], reads: ColumnsRead) -> str | None:
    """One sentence about the changes in columns that the function does not read, or takes as they come; or None.

    Args: as those of `check_drift`.
    """
    now = shape_of(frame)["columns"]
    if reads.all:
        return periods_note(name, shape["columns"], now, reads) or None
    then = [column for column in shape["columns"] if not reads.covers(column[0])]
    changes = _parts(_missing(now, then), _changes(now, then, frame), _doubled(now, then))
    return f"{name} {changes}; the function does not read that." if changes else None


def missing_columns(
    frame: pd.DataFrame, shape: Mapping[str, Any], reads: ColumnsRead = EVERY_COLUMN
) -> list[tuple[str, str]]:
    """The columns that the function reads and the frame lacks: literal and dtype. The arguments are as above."""
    now = shape_of(frame)["columns"]
    then = _expected(now, shape, reads)
    dtypes = _by_name(then)
    return [(literal, dtypes[literal]) for literal in _missing(now, then)]


def conversions(
    name: str, frame: pd.DataFrame, shape: Mapping[str, Any], reads: ColumnsRead = EVERY_COLUMN
) -> list[str]:
    """The lines of code that convert the columns with another dtype. The arguments are those of `check_drift`."""
    columns = shape_of(frame)["columns"]
    found = []
    for literal, before, now in _changed(columns, _expected(columns, shape, reads), frame):
        place = f"{name}[{literal}]"
        if line := _converted(place, before, now):
            found.append(f"{place} = {line}")
        elif (system := _SYSTEM.fullmatch(before)) and now.startswith("geometry"):
            found.append(f'{name} = {name}.to_crs("{system[1]}")')
    return found


_SYSTEM = re.compile(r"geometry\[([A-Za-z]+:\w+)\]")
_DTYPE = re.compile(r"[\w., \[\]/+-]{1,80}")
"""A dtype that may stand in a line of code. It comes from a record that is not trusted."""


def _converted(place: str, then: str, now: str) -> str:
    """The expression that converts a column; "" if there is none."""
    before, after = family(then), family(now)
    if not _DTYPE.fullmatch(then) or before.startswith("geometry"):
        return ""
    if before in ("int", "float") and after in ("text", "object"):
        return f"pd.to_numeric({place})"
    if (before, after) == ("int", "float"):
        return f'{place}.round().astype("Int64")'
    if before == "time with zone":
        zone = then.rpartition(",")[2].strip(" ]").removeprefix("tz=")
        parsed = f"{place}.dt.tz_localize" if after == "time" else f"pd.to_datetime({place}, utc=True).dt.tz_convert"
        return f'{parsed}("{zone}")'
    if before == "time":
        return f"{place}.dt.tz_localize(None)" if after == "time with zone" else f"pd.to_datetime({place})"
    if before == "duration":
        return f"pd.to_timedelta({place})"
    if before == "bool" and after in ("text", "object"):
        return f'{place}.map({{"True": True, "False": False}})'
    return f"{place}.astype(str)" if before == "text" else f'{place}.astype("{then}")'


def _missing(now: list[list[str]], then: list[list[str]]) -> list[str]:
    left = Counter(literal for literal, _ in then) - Counter(literal for literal, _ in now)
    return [literal for literal in dict.fromkeys(literal for literal, _ in then) if literal in left]


def _doubled(now: list[list[str]], then: list[list[str]]) -> list[str]:
    """Columns whose name is now used by several columns."""
    counts, before = Counter(literal for literal, _ in now), Counter(literal for literal, _ in then)
    return [literal for literal, count in before.items() if counts[literal] > count]


def _changes(now: list[list[str]], then: list[list[str]], frame: pd.DataFrame | pd.Series[Any]) -> list[str]:
    return [f"{literal} is {dtype} instead of {before}" for literal, before, dtype in _changed(now, then, frame)]


def _changed(
    now: list[list[str]], then: list[list[str]], frame: pd.DataFrame | pd.Series[Any]
) -> list[tuple[str, str, str]]:
    """The columns with another dtype: literal, dtype then, dtype now."""
    places: dict[str, list[int]] = {}
    for place, (literal, _) in enumerate(now):
        places.setdefault(literal, []).append(place)
    changed = []
    for literal, dtype in then:
        if not places.get(literal):
            continue
        place = places[literal].pop(0)
        if now[place][1] == dtype:
            continue  # checked before the column is extracted, which is the most expensive step here
        column = frame.iloc[:, place] if isinstance(frame, pd.DataFrame) else frame
        if not is_compatible(dtype, now[place][1], column):
            changed.append((literal, dtype, now[place][1]))
    return changed


def is_compatible(then: str, now: str, column: pd.Series[Any]) -> bool:
    """Whether a column can stand for one of another dtype; see `check_drift`."""
    if len(column) == 0:
        return True
    before, after = family(then), family(now)
    if before not in ("text", "object") and before != after:
        column = _plain(column)
        after = family(str(column.dtype))
    if before == after or (before, after) in {("float", "int"), ("object", "text"), ("text", "object")}:
        return True
    if (before, after) == ("int", "float"):
        present = column.dropna()
        return bool((present == present.round()).all())
    # The dtype of an empty column depends only on the reader.
    return bool(missing_in(column).all())


def family(dtype: str) -> str:
    """The kind of values of a dtype: `int`, `float`, `bool`, `time`, `time with zone`, `duration`, `text`, `object`."""
    text = dtype.removesuffix("[pyarrow]").lower()
    if text.startswith("sparse["):
        text = text[len("sparse[") :].split(",")[0]
    zone = "tz" in text.partition("[")[2] or ("," in text and text.startswith(("datetime64", "timestamp")))
    families = (
        (("uint", "int"), "int"),
        (("float", "double", "halffloat"), "float"),
        (("bool",), "bool"),
        (("datetime64", "timestamp"), "time with zone" if zone else "time"),
        (("timedelta64", "duration"), "duration"),
        (("str", "string", "large_string", "category", "dictionary"), "text"),
        (("object",), "object"),
    )
    if text.startswith("interval"):
        return text
    return next((family for prefixes, family in families if text.startswith(prefixes)), text)


def restore_dtypes(frame: pd.DataFrame, shape: Mapping[str, Any], reads: ColumnsRead = EVERY_COLUMN) -> pd.DataFrame:
    """The frame with the dtypes of the sample, where the conversion loses nothing.

    It converts numbers, truth values and times in an `object` column or a category, and whole numbers that are stored
    as floats without missing values. The frame itself is not changed.

    Args: as those of `check_drift`, which the frame has passed.
    """
    columns = shape_of(frame)["columns"]
    then = _by_name(_expected(columns, shape, reads))
    made = frame
    for place, (literal, now) in enumerate(columns):
        if literal not in then or family(now) == family(then[literal]):
            continue
        column = _plain(frame.iloc[:, place])
        if family(then[literal]) == "int" and _is_whole(column):
            column = column.astype("int64")
        if family(str(column.dtype)) == family(then[literal]):
            made = frame.copy(deep=False) if made is frame else made
            made.isetitem(place, column.array)
    return made


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """The values of a category or object column with their own dtype."""
    if isinstance(column.dtype, pd.CategoricalDtype) and not column.hasnans:
        return column.astype(column.dtype.categories.dtype)
    return column.infer_objects() if column.dtype == object else column


def _is_whole(column: pd.Series[Any]) -> bool:
    if family(str(column.dtype)) != "float" or column.hasnans:
        return False
    return bool(((column == column.round()) & (column.abs() < 2**53)).all())


def _sentence(name: str, missing: list[str], changed: list[str], doubled: Sequence[str] = ()) -> str | None:
    changes = _parts(missing, changed, doubled)
    return f"{name} {changes}; the function was built on a table that differs." if changes else None


def _parts(missing: list[str], changed: list[str], doubled: Sequence[str]) -> str:
    parts = []
    if missing:
        parts.append(f"lacks {_listed(missing)}")
    if changed:
        parts.append(f"has other dtypes: {_listed(changed)}")
    if doubled:
        parts.append(f"has more than one {_listed(doubled)}")
    return " and ".join(parts)


def _listed(items: Sequence[str]) -> str:
    more = len(items) - _NAMED
    return ", ".join(items[:_NAMED]) + (f" and {more} more" if more > 0 else "")
