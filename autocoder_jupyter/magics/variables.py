"""Describe the variables that a request can refer to: name, type, size and columns. Nothing is computed on the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NotRequired, TypedDict

from autocoder_jupyter.magics.notebook import is_ours
from autocoder_jupyter.magics.references import kind_of
from autocoder_jupyter.redaction.logs import redacting_logger
from autocoder_jupyter.untrusted.parsing import visible

_log = redacting_logger(__name__)

MOST_VARIABLES = 200
MOST_COLUMNS = 100
"""Maximum number of columns that are listed for one variable."""

MOST_COLUMNS_IN_ALL = 3000
"""With more columns in total, only their number is sent: messages must stay small and fast."""

MOST_OTHERS = 1000
"""Maximum number of other variables, which are listed with their type only."""

HINTED_COLUMNS = 3

MOST_CHARACTERS = 120
"""Maximum length of a label or a dtype."""


class Column(TypedDict):
    """One column of a table; `IColumn` on the page's side."""

    name: str
    dtype: str


class Facts(TypedDict):
    """Facts about a value that need no computation."""

    rows: NotRequired[int]
    columns: NotRequired[list[Column]]
    column_count: NotRequired[int]
    path: NotRequired[str]


class Variable(Facts):
    """A value of the notebook that a request can refer to; `IVariable` on the page's side."""

    name: str
    type: str


def describe(namespace: Mapping[str, Any]) -> list[Variable]:
    """Describe each variable as JSON. Call it on the thread that owns the data.

    For tables of polars and pyarrow, size and columns are available without computation. For other libraries only
    the type is sent, because an attribute could start a computation.
    """
    described: list[Variable] = []
    left = MOST_COLUMNS_IN_ALL
    for name, value in tuple(namespace.items()):
        kind = None if name.startswith("_") else kind_of(value)
        if kind is None:
            continue
        if len(described) == MOST_VARIABLES:
            break
        facts = _facts(kind, name, value, min(left, MOST_COLUMNS))
        left -= len(facts.get("columns", ()))
        described.append({"name": name, "type": kind, **facts})
    return described


def others(namespace: Mapping[str, Any]) -> dict[str, str]:
    """The types of the other variables by name: a request cannot refer to them, and a result must not replace them.

    The values are not inspected. Results are left out, because a new result may replace them.
    """
    found: dict[str, str] = {}
    for name, value in tuple(namespace.items()):
        if len(found) == MOST_OTHERS:
            break
        if not name.startswith("_") and kind_of(value) is None and not is_ours(value):
            found[_short(name)] = _short(type(value).__name__)
    return found


def hint(variable: Variable) -> str:
    """A described variable in one line: `DataFrame 1,000 × 20: price float64, day datetime64[ns] …`."""
    columns = variable.get("columns", ())
    size = ""
    if "rows" in variable:
        wide = "" if variable["type"] == "Series" else f" × {variable['column_count']:,}"
        size = f" {variable['rows']:,}{wide}"
    named = ", ".join(f"{column['name']} {column['dtype']}" for column in columns[:HINTED_COLUMNS])
    more = " …" if len(columns) > HINTED_COLUMNS else ""
    return f"{variable['type']}{size}{': ' if named else ''}{named}{more}"


def _facts(kind: str, name: str, value: Any, most: int) -> Facts:
    try:
        if kind in ("File", "Dir"):
            return {"path": visible(value.path)}
        if kind == "DataFrame":
            rows, count = value.shape
            return _table(rows, count, zip(value.columns, value.dtypes.array, strict=False), most)
        if kind == "Series":
            return _table(len(value), 1, [(name if value.name is None else value.name, value.dtype)], most)
        return _foreign(value, most)
    except Exception:  # a subclass or another library may raise anything; the variable is still listed
        _log.debug("%s cannot be described", name, exc_info=True)
        return {}


def _foreign(value: Any, most: int) -> Facts:
    library = type(value).__module__.partition(".")[0]
    if library == "polars" and type(value).__name__ == "DataFrame":
        return _table(value.height, value.width, value.schema.items(), most)
    if library == "pyarrow" and type(value).__name__ in ("Table", "RecordBatch"):
        fields = zip(value.schema.names, value.schema.types, strict=True)
        return _table(value.num_rows, value.num_columns, fields, most)
    return {}


def _table(rows: int, count: int, columns: Iterable[tuple[Any, Any]], most: int) -> Facts:
    dtypes: dict[int, tuple[Any, str]] = {}  # most columns share a few dtypes, and formatting one takes microseconds
    shown: list[Column] = []
    for label, dtype in islice(columns, most):
        if id(dtype) not in dtypes:
            dtypes[id(dtype)] = (dtype, _short(dtype))
        shown.append({"name": _short(label), "dtype": dtypes[id(dtype)][1]})
    return {"rows": int(rows), "columns": shown, "column_count": int(count)}


def _short(value: object) -> str:
    try:
        text = visible(str(value)[: MOST_CHARACTERS + 1])
    except Exception:  # a label can be an object of any type
        text = f"<{type(value).__name__}>"
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
