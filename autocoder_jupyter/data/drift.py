"""Compare the columns and dtypes of a table with those of the sample that a function was built on."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar, cast

import pandas as pd

from autocoder_jupyter.data.categories import Misfit, recorded_dtype, with_categories
from autocoder_jupyter.data.column_profile import dtype_name
from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead
from autocoder_jupyter.data.periods import expected_shape, period_of, periods_note
from autocoder_jupyter.data.sample import missing_in
from autocoder_jupyter.data.shapes import (
    KNOWN_OBJECTS,
    column_at,
    column_literal,
    family,
    kind_in_words,
    kind_of,
    kind_of_objects,
    plain_shape,
)

_NAMED = 5
_VALUES = "its values"


def has_shape(value: pd.DataFrame | pd.Series[Any], shape: Mapping[str, Any]) -> bool:
    """Whether a table has exactly the columns, dtypes, categories and index of a shape."""
    now = plain_shape(value)
    if any(now[part] != shape.get(part) for part in ("type", "columns", "index")):
        return False
    details = {**shape.get("categories", {}), **shape.get("objects", {})}
    return all(
        _has_details(column_at(value, place), details[literal])
        for place, (literal, _) in enumerate(now["columns"])
        if literal in details
    )


def _has_details(column: pd.Series[Any], detail: Any) -> bool:
    if not isinstance(detail, Mapping):
        return bool(kind_of_objects(column) == detail)
    try:
        return with_categories(column, detail) is column
    except Misfit:
        return False


def check_drift(
    name: str, frame: pd.DataFrame | pd.Series[Any], shape: Mapping[str, Any], reads: ColumnsRead = EVERY_COLUMN
) -> str | None:
    """One sentence about the changes in columns that the function reads, or None.

    Further columns, another order and another number of rows are fine. So is a dtype of the same family: whole
    numbers of any width, floats of any width, whole numbers where floats were, text as `object`, `str`, `string` or
    a category of text, times of any unit, each of them in its nullable or Arrow form, and numbers and times as `object`
    or category. Not fine: floats where
    whole numbers were (except a float column that is all whole, as reading a file with gaps gives), times that
    gained or lost their zone, numbers that became text, another order of categories, a value without a place in that
    order, objects of another kind. Of the index only levels that have a name count: that they are still there, with
    values of the same family. Columns that are periods and that the function takes as they come may be others
    (`data.periods`).
    """
    kind = "Series" if isinstance(frame, pd.Series) else "DataFrame"
    if kind != shape.get("type", kind):
        return f"{name} is a {kind}, but the function was built on a {shape['type']}."
    now = plain_shape(frame)
    if kind == "Series":
        changed = _changes([[_VALUES, now["columns"][0][1]]], _of_values(shape), frame)
        return _sentence(name, [], changed)
    must = expected_shape(shape, now["columns"], reads)
    then = must["columns"]
    missing = _missing(now["columns"], then)
    lost = [literal for literal, _ in shape.get("index", []) if literal != "None"]
    lost = [f"index level {literal}" for literal in lost if literal not in {label for label, _ in now["index"]}]
    doubled = _doubled(now["columns"], then)
    changed = [*_changes(now["columns"], must, frame), *_index_changes(now["index"], shape)]
    return _sentence(name, missing + lost, changed, doubled)


def _of_values(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a Series with `its values` as the name of its column."""
    details = {key: dict.fromkeys([_VALUES], *shape[key].values()) for key in ("categories", "objects") if key in shape}
    return {**shape, **details, "columns": [[_VALUES, shape["columns"][0][1]]]}


def _index_changes(now: list[list[str]], shape: Mapping[str, Any]) -> list[str]:
    """The levels of the index that have a name, and values of another family."""
    dtypes = {pair[0]: pair[1] for pair in now}
    return [
        f"index level {literal} is {dtypes[literal]} instead of {dtype}"
        for literal, dtype in shape.get("index", [])
        if literal != "None" and literal in dtypes and not _is_same_level(dtype, dtypes[literal])
    ]


def _is_same_level(then: str, now: str) -> bool:
    before, after = (family(dtype.removeprefix("ordered ")) for dtype in (then, now))
    return before == after or {before, after} in ({"text", "object"}, {"int", "float"})


def remaining_differences(
    name: str, frame: pd.DataFrame | pd.Series[Any], shape: Mapping[str, Any], reads: ColumnsRead
) -> str:
    """One sentence about what could not be given its recorded form and may change an answer; "" if nothing is left.

    Args: as those of `check_drift`, which the frame has passed.
    """
    now = plain_shape(frame)
    is_table = isinstance(frame, pd.DataFrame)
    dtypes = _by_name(expected_shape(shape, now["columns"], reads)["columns"] if is_table else shape["columns"])
    found = [
        f"{literal if is_table else _VALUES} {_is_or_are(is_table)} {dtype} instead of {dtypes[literal]}"
        for literal, dtype in now["columns"]
        if literal in dtypes and dtype != dtypes[literal]
    ]
    levels = [
        [dtype for literal, dtype in part if literal == "None"] for part in (now["index"], shape.get("index", []))
    ]
    if (
        len(shape.get("index", [])) == 1
        and len(levels[1]) == 1
        and not (levels[0] and _is_same_level(levels[1][0], levels[0][0]))
    ):
        found.append(f"the index is {', '.join(dtype for _, dtype in now['index'])} instead of {levels[1][0]}")
    return f"{name}: {_listed(found)}." if found else ""


def _is_or_are(is_table: bool) -> str:
    return "is" if is_table else "are"


def _by_name(columns: list[list[str]]) -> dict[str, str]:
    return dict(zip((label for label, _ in columns), (dtype for _, dtype in columns), strict=True))


def unread_drift(name: str, frame: pd.DataFrame, shape: Mapping[str, Any], reads: ColumnsRead) -> str | None:
    """One sentence about the changes in columns that the function does not read, or takes as they come; or None.

    Args: as those of `check_drift`.
    """
    now = plain_shape(frame)["columns"]
    if reads.all:
        return periods_note(name, shape["columns"], now, reads) or None
    then = [column for column in shape["columns"] if not reads.covers(column[0])]
    changed = _changes(now, {**shape, "columns": then}, frame)
    changes = _parts(_missing(now, then), changed, _doubled(now, then))
    return f"{name} {changes}; the function does not read that." if changes else None


def missing_columns(
    frame: pd.DataFrame, shape: Mapping[str, Any], reads: ColumnsRead = EVERY_COLUMN
) -> list[tuple[str, str]]:
    """The columns that the function reads and the frame lacks: literal and dtype. The arguments are as above."""
    now = plain_shape(frame)["columns"]
    then = expected_shape(shape, now, reads)["columns"]
    dtypes = _by_name(then)
    return [(literal, dtypes[literal]) for literal in _missing(now, then)]


def conversions(
    name: str,
    frame: pd.DataFrame,
    shape: Mapping[str, Any],
    reads: ColumnsRead = EVERY_COLUMN,
    sample: pd.DataFrame | None = None,
) -> list[str]:
    """The lines of code that convert the columns with another dtype. The first arguments are those of `check_drift`.

    Each line was run on the column: no value is lost, and the column then fits. On the column of the sample, written
    as this one is, it gives the values of the sample; a period that the sample lacks has those of its pattern.
    """
    columns = plain_shape(frame)["columns"]
    found = []
    lines = dict(column_conversions(frame, shape, reads, sample))
    for change in _changed(columns, expected_shape(shape, columns, reads), frame):
        column, place = frame.iloc[:, change.place], f"{name}[{change.literal}]"
        if (system := _SYSTEM.fullmatch(change.before)) is not None:
            if str(column.dtype) == "geometry" and column.array.crs is not None:
                found.append(f'{name} = {name}.to_crs("{system[1]}")')
            continue
        if change.literal in lines:
            found.append(f"{place} = {lines[change.literal].replace('{}', place)}")
    return found


def column_conversions(
    frame: pd.DataFrame, shape: Mapping[str, Any], reads: ColumnsRead, sample: pd.DataFrame | None
) -> list[tuple[str, str]]:
    """Code that converts columns with another dtype, each by the literal of its column, which stands for `{}` in it.

    Args: as those of `conversions`.
    """
    columns = plain_shape(frame)["columns"]
    found = []
    for change in _changed(columns, expected_shape(shape, columns, reads), frame):
        if _SYSTEM.fullmatch(change.before) is not None:
            continue
        column = frame.iloc[:, change.place]
        line = next((made for made in _candidates(column, change) if _holds(made, column, change, sample)), None)
        if line is not None:
            found.append((change.literal, line.code))
    return found


_SYSTEM = re.compile(r"geometry\[([A-Za-z]+:\w+)\]")
_FORMATS = tuple(
    date + clock
    for date in ("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d")
    for clock in ("", " %H:%M", " %H:%M:%S")
)
_WORDS = (("True", "False"), ("true", "false"), ("TRUE", "FALSE"))
_MOST_IN_ORDER = 30
_LOSES_DIGITS = re.compile(r"\s*[+-]?0\d.*|.*_.*", re.DOTALL)
_HAS_UNIT = re.compile(r".*[A-Za-z:].*", re.DOTALL)
_HAS_ZONE = re.compile(r".*(?:Z|[+-]\d\d:?\d\d)", re.DOTALL)


@dataclass(frozen=True)
class _Candidate:
    """A line that converts a column, which stands for `{}`.

    Args:
        run: does the same.
        back: writes a column of the sample as this one is written.
    """

    code: str
    run: Callable[[Any], Any]
    back: Callable[[Any], Any]


def _candidates(column: pd.Series[Any], change: DtypeChange) -> Iterator[_Candidate]:
    """Lines that may convert a column; no other reading of its values is likely."""
    before, has = family(change.before), kind_of(column)
    if change.record is not None:
        yield from _in_order(column, change.record)
    elif not _NAME.fullmatch(change.before):
        return
    elif has == "string":
        yield from _of_texts(column, before, change.before)
    elif before == "bool" and has in ("boolean", "number"):
        dtype = "boolean" if missing_in(column).any() else change.before
        yield _Candidate(
            f'{{}}.astype("{dtype}")', lambda part: part.astype(dtype), lambda part: part.astype(column.dtype)
        )
    elif before in ("int", "float") and has in ("boolean", "number"):
        dtype = change.before
        yield _Candidate(
            f'{{}}.astype("{dtype}")', lambda part: part.astype(dtype), lambda part: part.astype(column.dtype)
        )
    elif before == "text" and family(dtype_name(column.dtype)) in ("int", "float"):
        yield _Candidate(
            '{}.astype("Int64").astype("string")',
            lambda part: part.astype("Int64").astype("string"),
            lambda part: pd.to_numeric(part).astype(column.dtype),
        )
    elif before in ("time", "time with zone") and _is_in_utc(column, change.before):
        zone = None if before == "time" else "UTC"
        yield _Candidate(
            f"{{}}.dt.tz_localize({zone and chr(34) + zone + chr(34)})",
            lambda part: part.dt.tz_localize(zone),
            lambda part: part.dt.tz_localize("UTC" if zone is None else None),
        )


def _is_in_utc(column: pd.Series[Any], then: str) -> bool:
    """Whether times without a zone and times in UTC are meant. In any other zone they could be local or not."""
    dtypes = sorted((then, str(column.dtype)), key=len)
    return [family(dtype) for dtype in dtypes] == ["time", "time with zone"] and "UTC" in dtypes[1]


def _in_order(column: pd.Series[Any], record: Mapping[str, Any]) -> Iterator[_Candidate]:
    like = recorded_dtype(record)
    if like is None or not isinstance(column.dtype, pd.CategoricalDtype) or len(like.categories) > _MOST_IN_ORDER:
        return
    if all(isinstance(value, str) for value in like.categories):
        listed = ", ".join(map(repr, like.categories))
        code = f"{{}}.cat.set_categories([{listed}], ordered={bool(like.ordered)})"
        yield _Candidate(code, lambda part: part.astype(like), lambda part: part.astype(column.dtype))


def _of_texts(column: pd.Series[Any], before: str, dtype: str) -> Iterator[_Candidate]:
    present = column[~missing_in(column)].astype(str)
    if before in ("int", "float") and not present.map(_LOSES_DIGITS.fullmatch).astype(bool).any():
        yield _Candidate("pd.to_numeric({})", pd.to_numeric, _as_text)
    elif before == "bool":
        for yes, no in _WORDS:
            if present.isin([yes, no]).all():
                words, ending = {yes: True, no: False}, '.astype("boolean")' if len(present) < len(column) else ""
                code = f'{{}}.map({{"{yes}": True, "{no}": False}}){ending}'
                kind = "boolean" if ending else "bool"
                yield _Candidate(
                    code, partial(_mapped, words, kind), partial(_mapped, {True: yes, False: no}, "object")
                )
    elif before == "duration" and present.map(_HAS_UNIT.fullmatch).astype(bool).all():
        yield _Candidate("pd.to_timedelta({})", pd.to_timedelta, _as_text)
    elif before in ("time", "time with zone"):
        yield from _of_dates(present, before, dtype)


def _mapped(words: Mapping[Any, Any], dtype: str, column: pd.Series[Any]) -> pd.Series[Any]:
    made: pd.Series[Any] = column.map(words).astype(pd.api.types.pandas_dtype(dtype))
    return made


def _of_dates(present: pd.Series[Any], before: str, dtype: str) -> Iterator[_Candidate]:
    zones = present.map(_HAS_ZONE.fullmatch).astype(bool) & present.str.contains(":")
    if before == "time with zone":
        zone = dtype.rpartition(",")[2].strip(" ]").removeprefix("tz=")
        if zones.all():
            code = f'pd.to_datetime({{}}, format="ISO8601", utc=True).dt.tz_convert("{zone}")'
            yield _Candidate(
                code, lambda part: pd.to_datetime(part, format="ISO8601", utc=True).dt.tz_convert(zone), _as_text
            )
        return
    if zones.any():
        return
    yield _Candidate(
        'pd.to_datetime({}, format="ISO8601")', lambda part: pd.to_datetime(part, format="ISO8601"), _as_text
    )
    fitting = [form for form in _FORMATS if not pd.to_datetime(present, format=form, errors="coerce").isna().any()]
    if len(fitting) == 1:
        form = fitting[0]
        yield _Candidate(
            f'pd.to_datetime({{}}, format="{form}")',
            lambda part: pd.to_datetime(part, format=form),
            lambda part: part.dt.strftime(form),
        )


def _as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.astype(object).where(column.isna(), column.astype(str))


def _holds(line: _Candidate, column: pd.Series[Any], change: DtypeChange, sample: Any) -> bool:
    """Whether a line loses no value of the column, and gives back the values of the sample."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = line.run(column)
            if not (missing_in(made) == missing_in(column)).all() or not change.fits(made):
                return False
            if kind_of(column) != "string" and not _same(line.back(made), column):
                return False
            if (
                kind_of(column) == "string"
                and family(str(made.dtype)) in ("int", "float")
                and not _same_digits(made, column)
            ):
                return False
            if not isinstance(sample, pd.DataFrame):
                # A text that numbers stand for could have had zeros in front, which only the sample can tell.
                return family(change.before) != "text" or change.record is not None
            like = [sample.iloc[:, at] for at in _places_of(change.literal, list(map(column_literal, sample)))]
            return bool(like) and all(_same(line.run(line.back(part)), part) for part in like)
    except Exception:  # a library may raise any exception for values that it cannot convert
        return False


def _places_of(literal: str, literals: Sequence[str]) -> list[int]:
    """Where a column is in the sample; of a period that it lacks, where the others of its pattern are."""
    if literal in literals:
        return [literals.index(literal)]
    period = period_of(literal)
    found = [(place, period_of(other)) for place, other in enumerate(literals)]
    return [place for place, other in found if period and other and other.pattern == period.pattern]


def _same(column: pd.Series[Any], other: pd.Series[Any]) -> bool:
    missing = missing_in(other)
    if not (missing_in(column) == missing).all():
        return False
    return list(column[~missing].astype(object)) == list(other[~missing].astype(object))


def _same_digits(numbers: pd.Series[Any], texts: pd.Series[Any]) -> bool:
    """Whether numbers have all the digits of the texts that they were read from."""
    present = ~missing_in(texts)
    pairs = zip(numbers[present], texts[present], strict=True)
    return all(float(Decimal(text.strip())) == number and _whole_is_exact(number, text) for number, text in pairs)


def _whole_is_exact(number: Any, text: str) -> bool:
    exact = Decimal(text.strip())
    return exact != exact.to_integral_value() or abs(exact) < 2**53 or int(exact) == int(number)


@dataclass(frozen=True)
class DtypeChange:
    """A column that cannot stand for the recorded one.

    Args:
        before: the recorded dtype; `record` and `kind` are those of its categories and objects.
        words: why, as the end of the sentence "the column …".
    """

    literal: str
    place: int
    before: str
    words: str
    record: Any = None
    kind: Any = None

    def fits(self, column: pd.Series[Any]) -> bool:
        """Whether another column can stand for the recorded one."""
        return not _misfit(self.before, dtype_name(column.dtype), column, self.record, self.kind)


def _missing(now: list[list[str]], then: list[list[str]]) -> list[str]:
    left = Counter(literal for literal, _ in then) - Counter(literal for literal, _ in now)
    return [literal for literal in dict.fromkeys(literal for literal, _ in then) if literal in left]


def _doubled(now: list[list[str]], then: list[list[str]]) -> list[str]:
    """Columns whose name is now used by several columns."""
    counts, before = Counter(literal for literal, _ in now), Counter(literal for literal, _ in then)
    return [literal for literal, count in before.items() if counts[literal] > count]


def _changes(now: list[list[str]], shape: Mapping[str, Any], frame: pd.DataFrame | pd.Series[Any]) -> list[str]:
    return [f"{change.literal} {change.words}" for change in _changed(now, shape, frame)]


def _changed(now: list[list[str]], shape: Mapping[str, Any], frame: pd.DataFrame | pd.Series[Any]) -> list[DtypeChange]:
    places: dict[str, list[int]] = {}
    for place, (literal, _) in enumerate(now):
        places.setdefault(literal, []).append(place)
    changed = []
    for literal, dtype in shape["columns"]:
        if not places.get(literal):
            continue
        place = places[literal].pop(0)
        record, kind = shape.get("categories", {}).get(literal), shape.get("objects", {}).get(literal)
        if now[place][1] == dtype and record is None and kind is None:
            continue  # checked before the column is extracted, which is the most expensive step here
        if words := _misfit(dtype, now[place][1], column_at(frame, place), record, kind):
            changed.append(DtypeChange(literal, place, dtype, words, record, kind))
    return changed


def _misfit(dtype: str, now: str, column: pd.Series[Any], record: Any, kind: Any) -> str:
    """Why a column cannot stand for the recorded one; "" if it can."""
    if isinstance(record, Mapping):
        try:
            with_categories(column, record)
        except Misfit as error:
            return str(error)
        return ""
    if dtype == "object" and kind in KNOWN_OBJECTS:
        has = kind_of(column)
        if has in ("empty", KNOWN_OBJECTS[kind]) or not len(column) or missing_in(column).all():
            return ""
        if now == "object":
            return f"has {kind_in_words(has)} instead of {kind_in_words(kind)}"
        return f"is {now} instead of object"
    return "" if is_compatible(dtype, now, column) else f"is {now} instead of {dtype}"


def is_compatible(then: str, now: str, column: pd.Series[Any]) -> bool:
    """Whether a column can stand for one of another dtype; see `check_drift`."""
    if len(column) == 0:
        return True
    before, after = family(then), family(now)
    if before not in ("text", "object") and before != after:
        column = _plain(column)
        after = family(str(column.dtype))
    if then in ("boolean", "bool[pyarrow]") and now == "object" and kind_of(column) == "boolean":
        return True  # truth values with gaps
    if before == "text" and not then.startswith(("category", "dictionary")) and now in ("object", "category"):
        return kind_of(column) in ("string", "empty") or bool(missing_in(column).all())
    if before == after or (before, after) in {("float", "int"), ("object", "text"), ("text", "object")}:
        return True
    if (before, after) == ("int", "float"):
        present = column.dropna()
        return bool((present == present.round()).all())
    # The dtype of an empty column depends only on the reader.
    return bool(missing_in(column).all())


Table = TypeVar("Table", bound="pd.DataFrame | pd.Series[Any]")


def restore_dtypes(frame: Table, shape: Mapping[str, Any], reads: ColumnsRead = EVERY_COLUMN) -> Table:
    """The table with the dtypes, the categories and the order of the index levels of the sample. No value is lost, and
    no whole number gets less room. The table itself stays as it is.

    Args: as those of `check_drift`, which the frame has passed.
    """
    frame = _with_levels_in_order(frame, shape)
    if isinstance(frame, pd.Series):
        values = _of_values(shape)
        return cast(Table, restored(frame, values["columns"][0][1], *_details(values, _VALUES)))
    columns = plain_shape(frame)["columns"]
    must = expected_shape(shape, columns, reads)
    then = _by_name(must["columns"])
    made: pd.DataFrame = frame
    for place, (literal, now) in enumerate(columns):
        record, kind = _details(must, literal)
        if literal not in then or (now == then[literal] and record is None):
            continue
        column = frame.iloc[:, place]
        as_recorded: Any = restored(column, then[literal], record, kind)
        if as_recorded is not column:
            made = frame.copy(deep=False) if made is frame else made
            made.isetitem(place, as_recorded)  # an array of objects would be inferred anew
    return cast(Table, made)


def _with_levels_in_order(frame: Table, shape: Mapping[str, Any]) -> Table:
    """The table with the levels of its index as in the sample, if it has these levels and all have names."""
    now, then = ([literal for literal, _ in part] for part in (plain_shape(frame)["index"], shape.get("index", ())))
    if now == then or len(set(now)) < len(now) or set(now) != set(then):
        return frame
    made: Any = frame
    return cast(Table, made.reorder_levels([now.index(literal) for literal in then]))


def with_known_categories(shape: Mapping[str, Any], sample: Any) -> Mapping[str, Any]:
    """The shape with the categories of the sample where they may not be written down, if the sample is at hand."""
    if not isinstance(sample, pd.DataFrame | pd.Series):
        return shape
    records = dict(shape.get("categories", {}))
    unknown = {
        literal
        for literal, dtype in shape.get("columns", ())
        if dtype == "category" and records.get(literal, {}).get("values") is None
    }
    for place, (literal, dtype) in enumerate(plain_shape(sample)["columns"]) if unknown else ():
        if literal in unknown and dtype == "category":
            records[literal] = {"dtype": column_at(sample, place).dtype}
    return {**shape, "categories": records} if unknown else shape


def _details(shape: Mapping[str, Any], literal: str) -> tuple[Any, Any]:
    """The record of the categories of a column, and what its objects are; None for what was not recorded."""
    return shape.get("categories", {}).get(literal), shape.get("objects", {}).get(literal)


_NAME = re.compile(
    r"bool|object|str|string|boolean|u?int(8|16|32|64)|U?Int(8|16|32|64)|float(16|32|64)|Float(32|64)|string\[\w+\]"
    r"|(datetime64|timedelta64)\[\w+(, [\w/+:-]+)?\]|[\w\[\], =/+:-]+\[pyarrow\]|Sparse\[\w+\]"
)
"""The dtypes to which columns are converted. The record is not trusted."""


def restored(column: pd.Series[Any], dtype: str, record: Any = None, kind: Any = None) -> pd.Series[Any]:
    """The column with the recorded dtype if no value changes by that, else the column itself."""
    if isinstance(record, Mapping):
        return with_categories(column, record)
    if dtype_name(column.dtype) == dtype or not _NAME.fullmatch(dtype):
        return column
    if dtype == "object" and kind != "string" and family(str(column.dtype)) == "text":
        return column
    plain = _plain(column)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named = dtype_named(dtype)
            if _is_narrower(named, plain.dtype):
                return column
            made = plain.astype(named)
            return made if _is_equal(plain, made) else column
    except Exception:  # of a library that has no such dtype, or a value that cannot be converted
        return column


def dtype_named(name: str) -> Any:
    """The dtype with this name. Before pandas 3, `str` is a dtype of numpy, and that of pandas has another name.

    Raises:
        TypeError, ImportError: this pandas has none.
    """
    found = pd.api.types.pandas_dtype(name)
    if name != "str" or isinstance(found, pd.StringDtype):
        return found
    make: Any = pd.StringDtype
    try:
        return make(na_value=float("nan"))
    except TypeError:  # before pandas 2.3
        return make("pyarrow_numpy")


_ALIKE = {("int", "float"), ("float", "int"), ("text", "object"), ("object", "text"), ("object", "bool")}
_ALIKE |= {(kind, "object") for kind in ("bool", "int", "float")}


def _is_equal(column: pd.Series[Any], made: pd.Series[Any]) -> bool:
    """Whether two columns have the same values in two dtypes."""
    missing = missing_in(column)
    if not (missing_in(made) == missing).all():
        return False
    present, back = column[~missing], made[~missing]
    families = family(str(column.dtype)), family(str(made.dtype))
    if len(present) and families[0] != families[1] and families not in _ALIKE:
        return False
    if set(families) <= {"int", "float"} and ((back < 0) != (present < 0)).any():  # wrapped, there and back
        return False
    return bool((back.astype(present.dtype) == present).all())


def _is_narrower(dtype: Any, now: Any) -> bool:
    """Whether whole numbers could become too large for a dtype when they are computed with, and not for that of now."""
    sizes = [getattr(each, "itemsize", 8) for each in (dtype, now)]
    return family(str(dtype)) == family(str(now)) == "int" and sizes[0] < sizes[1]


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """The values of a category or object column with their own dtype."""
    if isinstance(column.dtype, pd.CategoricalDtype) and not column.hasnans:
        return column.astype(column.dtype.categories.dtype)
    return column.infer_objects() if column.dtype == object else column


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
