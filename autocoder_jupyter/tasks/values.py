"""Whether a value is what an input was declared to be. Said before anything runs, with what to write instead."""

from __future__ import annotations

import datetime as dt
import numbers
import os
from collections.abc import Callable, Mapping
from typing import Any

from autocoder_jupyter.element_types import misfit
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Dir, File, InputSpec, TypeName


def checked_value(spec: InputSpec, value: Any) -> Any:
    """The value in the form that crosses into the sandbox; the caller's own object is never changed.

    An int is a float, numpy's scalars are Python's, a tuple is a list, a table of polars or PyArrow is one of pandas;
    nothing else is converted.

    Raises:
        InvalidRequest: it is not of the declared type.
    """
    if value is None and not spec.required and spec.default is None:
        return None
    accepted = _CHECKS[spec.type](value)
    if accepted is _REFUSED:
        raise InvalidRequest(
            f"{spec.name} must be {_article(spec.type)} {spec.type}, not {_kind(value)}.",
            hint=_hint(spec, value),
        )
    if problem := misfit(accepted, spec.elements):
        raise InvalidRequest(f"{spec.name} must be a {spec.written_type}: {problem}.")
    return _located(spec, accepted) if isinstance(accepted, File | Dir) else accepted


_REFUSED = object()


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, str) else _REFUSED


def _bool(value: Any) -> Any:
    numpys = type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")
    return bool(value) if isinstance(value, bool) or numpys else _REFUSED


def _int(value: Any) -> Any:
    return int(value) if isinstance(value, numbers.Integral) and _is_number(value) else _REFUSED


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, numbers.Real) and _is_number(value) else _REFUSED


def _is_number(value: object) -> bool:
    """Durations of numpy and truth values count as whole numbers in Python; not here."""
    return not isinstance(value, bool) and type(value).__name__ != "timedelta64"


def _datetime(value: Any) -> Any:
    return value if isinstance(value, dt.datetime) and value == value else _REFUSED  # NaT is not equal to itself


def _date(value: Any) -> Any:
    return value if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else _REFUSED


def _timedelta(value: Any) -> Any:
    return value if isinstance(value, dt.timedelta) and value == value else _REFUSED


def _file(value: Any) -> Any:
    return value if isinstance(value, File) else _REFUSED


def _dir(value: Any) -> Any:
    return value if isinstance(value, Dir) else _REFUSED


def _frame(value: Any) -> Any:
    import pandas as pd

    table = _table(value)
    return table if isinstance(table, pd.DataFrame) else _REFUSED


def _series(value: Any) -> Any:
    import pandas as pd

    table = _table(value)
    return table if isinstance(table, pd.Series) else _REFUSED


def _table(value: Any) -> Any:
    """A table of another library as one of pandas; any other value as it is."""
    from autocoder_jupyter.data.foreign import converted

    table = converted(value)
    return value if table is None else table


def _dict(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else _REFUSED


def _list(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else _REFUSED


def _never(value: Any) -> Any:
    return _REFUSED


_CHECKS: dict[TypeName, Callable[[Any], Any]] = {
    "str": _text,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "datetime": _datetime,
    "date": _date,
    "timedelta": _timedelta,
    "File": _file,
    "Dir": _dir,
    "DataFrame": _frame,
    "Series": _series,
    "dict": _dict,
    "list": _list,
    "Figure": _never,
}


def _hint(spec: InputSpec, value: Any) -> str:
    if spec.type in ("File", "Dir") and isinstance(value, str | os.PathLike):
        return f"Write {spec.name}={spec.type}({os.fspath(value)!r})."
    if spec.type == "DataFrame" and hasattr(value, "to_frame"):
        return f"Pass {spec.name}.to_frame()."
    if spec.type == "Series" and hasattr(value, "columns"):
        return f"Pass one column of it, for instance {spec.name}[{spec.name}.columns[0]]."
    if spec.type == "date" and isinstance(value, dt.datetime):
        return "Pass its .date()."
    if spec.type == "datetime" and (isinstance(value, str | dt.date) or hasattr(value, "astype")):
        return "Pass pd.Timestamp(…) of it."
    if spec.type == "timedelta" and (isinstance(value, str | numbers.Real) or hasattr(value, "astype")):
        return "Pass pd.Timedelta(…) of it, with a unit."
    return ""


def _located(spec: InputSpec, value: File | Dir) -> File | Dir:
    from autocoder_jupyter.data.capture import located

    try:
        return located(value)
    except InvalidRequest as error:
        raise InvalidRequest(f"{spec.name}: {error.what}", hint=error.hint) from None


def _article(name: str) -> str:
    return "an" if name == "int" else "a"


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__}"
