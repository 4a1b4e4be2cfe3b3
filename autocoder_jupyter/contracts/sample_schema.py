"""The schemas of samples from their records, as objects and as source.

Nothing in a record is executed, because it is not trusted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from pydantic import ValidationError

from autocoder_jupyter.contracts.describing import pandera
from autocoder_jupyter.data.checks import ColumnCheck, Scalar, match_by_re2
from autocoder_jupyter.data.schema import ColumnSchema, TableSchema, schema_source, zone_of
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import Report
from autocoder_jupyter.untrusted.parsing import parse_expression
from autocoder_jupyter.untrusted.visible import visible

_ROWS = {"row_count": "__eq__", "min_rows": "__ge__", "max_rows": "__le__"}
_BOUNDS = {"greater_than": "gt", "at_least": "ge", "less_than": "lt", "at_most": "le"}
_MOMENTS: Mapping[str, Any] = {"Timestamp": pd.Timestamp, "Timedelta": pd.Timedelta}

_DTYPE = re.compile(
    r"bool|object|category|str|string|boolean|u?int(8|16|32|64)|U?Int(8|16|32|64)|float(16|32|64|128)|Float(32|64)"
    r"|complex(64|128)|string\[\w+\]|period\[[\w-]+\]|(datetime64|timedelta64)\[\w+(, [\w/+:-]+)?\]"
)
"""The dtypes that a record may contain. Other names are refused, because a library could interpret them in any way."""


def schemas_of(report: Report) -> Mapping[str, Any]:
    """See `CodeGenEvalResult.schemas`."""
    return {name: schema_of(name, record) for name, record in report.sample_schemas.items()}


def sources_of(report: Report) -> Mapping[str, str] | None:
    """See `CodeGenEvalResult.generated_schemas`. For an older report, the source that was recorded in it."""
    if not report.sample_schemas:
        return report.generated_schemas
    return {name: source_of(name, record) for name, record in report.sample_schemas.items()}


def schema_of(name: str, record: Mapping[str, Any]) -> Any:
    """A `DataFrameSchema` or `SeriesSchema` with the properties of a sample.

    Its `metadata["autocode"]` lists the constraints that are not in it: those that the sample violates (`broken`), and
    those that pandera cannot express (`left_out`).
    """
    schema, pa = _read(name, record), pandera()
    try:
        return _series_schema(pa, name, schema) if schema.kind == "Series" else _frame_schema(pa, name, schema)
    except (ValueError, TypeError, SyntaxError) as error:
        raise _unreadable(name, str(error)) from None


def source_of(name: str, record: Mapping[str, Any]) -> str:
    """The same schema as source code. See `data.schema`."""
    schema = _read(name, record)
    try:
        for column in schema.columns:
            _require_plain(column)
        return schema_source(schema)
    except (ValueError, TypeError, SyntaxError) as error:
        raise _unreadable(name, str(error)) from None


def _read(name: str, record: Mapping[str, Any]) -> TableSchema:
    try:
        schema = TableSchema.model_validate(record)
    except ValidationError as error:
        raise _unreadable(name, f"{error.error_count()} fields are not valid") from None
    if schema.kind == "Series" and len(schema.columns) != 1:
        raise _unreadable(name, "a Series has one column")
    return schema


def _unreadable(name: str, why: str) -> InvalidRequest:
    return InvalidRequest(
        f"The recorded schema of {visible(name)} cannot be read.", why=visible(why), hint="Run its cell again."
    )


def _frame_schema(pa: Any, name: str, schema: TableSchema) -> Any:
    columns = {_label(column.label): pa.Column(**_arguments(pa, column)) for column in schema.columns}
    return pa.DataFrameSchema(columns, name=name, checks=_of_rows(pa, schema.rows), metadata=_metadata(schema))


def _series_schema(pa: Any, name: str, schema: TableSchema) -> Any:
    arguments = _arguments(pa, schema.columns[0])
    checks = [*arguments.pop("checks"), *_of_rows(pa, schema.rows)]
    return pa.SeriesSchema(**arguments, checks=checks, metadata=_metadata(schema))


def _metadata(schema: TableSchema) -> dict[str, Any]:
    return {"autocode": {"broken": list(schema.broken), "left_out": list(schema.left_out)}}


def _arguments(pa: Any, column: ColumnSchema) -> dict[str, Any]:
    _require_plain(column)
    checks = [_check(pa, check, zone_of(column)) for check in column.checks]
    return {"dtype": column.dtype, "nullable": column.nullable, "unique": column.unique, "checks": checks}


def _require_plain(column: ColumnSchema) -> None:
    _label(column.label)
    if column.dtype is not None and not _DTYPE.fullmatch(column.dtype):
        raise ValueError(f"{column.dtype!r} is not a dtype of a sample")


def _check(pa: Any, check: ColumnCheck, zone: str) -> Any:
    title = check.sentence or None
    if check.kind == "between":
        return pa.Check.in_range(_bound(check.low, zone), _bound(check.high, zone), title=title)
    if check.kind == "isin":
        return pa.Check.isin(list(check.values), title=title)
    if check.kind == "regex":
        pattern = check.pattern or ""
        text = f"str_matches({pattern!r})"
        return pa.Check(lambda texts: match_by_re2(pattern, texts), name="str_matches", error=text, title=title)
    if check.kind in _BOUNDS:
        return getattr(pa.Check, _BOUNDS[check.kind])(_bound(check.value, zone), title=title)
    raise ValueError(f"{check.kind} is not a check of a column")


def _of_rows(pa: Any, checks: Sequence[ColumnCheck]) -> list[Any]:
    return [_row_check(pa, check) for check in checks]


def _row_check(pa: Any, check: ColumnCheck) -> Any:
    method, wanted = _ROWS.get(check.kind), check.value
    if method is None or not isinstance(wanted, int):
        raise ValueError(f"{check.kind} is not a check of the number of rows")
    compare = getattr(int, method)
    text = f"{check.kind}({wanted})"
    return pa.Check(lambda table: bool(compare(len(table), wanted)), name=check.kind, error=text, title=check.sentence)


def _bound(value: Scalar | None, zone: str) -> Any:
    if value is None:
        raise ValueError("a bound is missing")
    if not isinstance(value, str):
        return value
    moment = pd.Timestamp(value)
    return moment.tz_localize(zone) if zone and moment.tzinfo is None else moment


def _label(literal: str) -> Any:
    """The column label of a literal: a text, a number, a timestamp, or a tuple of these; None for a Series."""
    return _value(parse_expression(literal))


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Tuple):
        return tuple(map(_value, node.elts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _value(node.operand)
        if isinstance(number, int | float):
            return -number
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOMENTS:
        words = {str(word.arg): _text(word.value) for word in node.keywords}
        if len(node.args) == 1 and words.keys() <= {"tz"}:
            return _MOMENTS[node.func.attr](_text(node.args[0]), **words)
    raise ValueError("it is not the name of a column")


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("it is not the name of a column")
