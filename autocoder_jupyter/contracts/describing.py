"""Read a contract from a schema of the user, and describe it: as JSON for keys, as text for the model, and as code."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from autocoder_jupyter.data.text_formats import cell_text, label_literal
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Contract

# The import of pandera

_INSTALL = 'pip install "pandera>=0.24"'


def pandera() -> Any:
    """The module `pandera.pandas`. It is imported when a schema is needed.

    Raises:
        InvalidRequest: pandera is missing or too old.
    """
    try:
        return importlib.import_module("pandera.pandas")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pandera":
            raise
        version = getattr(sys.modules.get("pandera"), "__version__", "")
        found = f"pandera {version} is too old" if version else "pandera is not installed"
        raise InvalidRequest(f"Schemas need pandera 0.24 or newer, and {found}.", hint=f"Run: {_INSTALL}") from None


# Contracts from the schemas and models that the user passes

_HELP = "Pass a DataFrameSchema or a DataFrameModel of pandera.pandas; for a Series a SeriesSchema."
_KINDS = {"DataFrameSchema": "DataFrame", "DataFrameModel": "DataFrame", "SeriesSchema": "Series"}


def backend_of(value: object) -> str:
    """The library of a schema's tables, such as `pandas` or `polars`; "" if the value is not a pandera schema.

    pandera is not imported: if there is a schema, it is imported already.
    """
    for kind in _classes(value):
        room, _, rest = kind.__module__.partition(".api.")
        if room == "pandera" and kind.__name__ in _KINDS and rest.partition(".")[0] not in ("dataframe", "base"):
            return rest.partition(".")[0]
        if kind.__module__ in ("pandera.schemas", "pandera.model"):  # before pandera 0.14
            return "pandas"
    return ""


def kind_of(value: object) -> str:
    """`DataFrame` or `Series`: the type of table that a pandera schema describes."""
    return next(_KINDS[kind.__name__] for kind in _classes(value) if kind.__name__ in _KINDS)


def _classes(value: object) -> tuple[type, ...]:
    return value.__mro__ if isinstance(value, type) else type(value).__mro__


def contract_of(place: str, name: str, value: object, *, is_output: bool) -> Contract:
    """The contract from a value that the user passed.

    Raises:
        InvalidRequest: it is not a schema of pandas tables, cannot be built, or pandera is missing or too old.
    """
    backend = backend_of(value)
    if not backend:
        shown = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise InvalidRequest(f"{place}: {shown} is not a schema of a table.", hint=_HELP)
    if backend != "pandas":
        raise InvalidRequest(
            f"{place}: a schema for {backend} is not supported.",
            why="The function gets and returns tables of every library as pandas tables.",
            hint="Write it with `import pandera.pandas as pa`. A polars table is converted before the check.",
        )

    pandera()
    schema = built(place, value)
    if schema.drop_invalid_rows and is_output:
        raise InvalidRequest(
            f"{place}: the schema has drop_invalid_rows, which would hide errors of the function.",
            hint="Leave it out for an output; say in the request which rows to drop.",
        )
    record = record_of(value, schema)
    return Contract(value, record, text_of(record), source_of(record))


def built(place: str, value: Any) -> Any:
    """The schema object of a schema or model."""
    if not isinstance(value, type):
        return value
    try:
        return value.to_schema()  # type: ignore[attr-defined]
    except Exception as error:
        raise InvalidRequest(
            f"{place}: the model {value.__name__} cannot be built.", why=f"{type(error).__name__}: {error}"
        ) from None


# JSON
#
# Equal schemas give equal records in every process. So a record has no memory address, no set order and no objects.

_MOST_COLUMNS = 100
_MOST_VALUES = 50
_LONGEST_SOURCE = 4_000


def record_of(given: Any, schema: Any) -> dict[str, Any]:
    """The content of a schema as JSON."""
    methods = _methods(given) if isinstance(given, type) else {}
    common = {"name": schema.name, "coerce": bool(schema.coerce), "checks": _checks(schema.checks)}
    common["parsers"] = [_source(parser._parser_fn) for parser in _listed(schema.parsers)]
    if not hasattr(schema, "columns"):
        parts = {**common, "kind": "Series", "columns": [_column("None", schema)], "index": _index(schema.index)}
        parts["checks"] = []  # the checks of a SeriesSchema are recorded with its column
    else:
        columns = [_column(label_literal(label), column) for label, column in schema.columns.items()]
        options = {
            "strict": schema.strict,
            "ordered": bool(schema.ordered),
            "unique": [label_literal(label) for label in _listed(schema.unique)],
            "unique_column_names": bool(schema.unique_column_names),
            "add_missing_columns": bool(schema.add_missing_columns),
            "drop_invalid_rows": bool(schema.drop_invalid_rows),
            "dtype": _dtype(schema.dtype),
        }
        parts = {**common, **options, "kind": "DataFrame", "columns": columns, "index": _index(schema.index)}
    return {**parts, "methods": methods}


def _column(label: str, column: Any) -> dict[str, Any]:
    return {
        "label": label,
        "dtype": _dtype(column.dtype),
        "nullable": bool(column.nullable),
        "unique": bool(column.unique),
        "coerce": bool(column.coerce),
        "required": bool(getattr(column, "required", True)),
        "regex": bool(getattr(column, "regex", False)),
        "default": _plain(getattr(column, "default", None)),
        "checks": _checks(column.checks),
        "parsers": [_source(parser._parser_fn) for parser in _listed(column.parsers)],
        "said": " ".join(filter(None, (column.title, column.description))),
    }


def _index(index: Any) -> list[dict[str, Any]]:
    if index is None:
        return []
    return [_column(label_literal(level.name), level) for level in getattr(index, "indexes", None) or [index]]


def _dtype(dtype: Any) -> str | None:
    if dtype is None:
        return None
    pandas = getattr(dtype, "type", None)
    if isinstance(pandas, pd.StringDtype):
        return "str" if pandas.na_value is not pd.NA else "string"
    return str(dtype)


def _checks(checks: Any) -> list[dict[str, Any]]:
    return [check_record(check) for check in _listed(checks)]


def check_record(check: Any) -> dict[str, Any]:
    """One check: a built-in check by its arguments, a custom check by its source."""
    is_native = check.is_builtin_check(check.name) and not check.groupby
    arguments = dict(check._check_kwargs or check.statistics or {}) if is_native else {}
    options = ("element_wise", "ignore_na", "raise_warning", "groupby", "groups")
    return {
        "name": str(check.name),
        "arguments": {name: _plain(value) for name, value in arguments.items()} if is_native else None,
        "is_literal": is_native and all(map(_is_literal, arguments.values())),
        "source": "" if is_native else _source(check._check_fn),
        "options": {option: _plain(getattr(check, option, None)) for option in options},
        "said": " ".join(filter(None, (check.title, check.description))),
        "error": "" if is_native else str(check.error or ""),
    }


def check_text(check: Mapping[str, Any]) -> str:
    """A short text of a check: `in_range(min_value=0, max_value=1)`, or the title that its author gave it."""
    if check["arguments"] is None:
        return str(check["error"] or check["name"])
    shown = (f"{name}={_shown(value)}" for name, value in check["arguments"].items())
    return f"{check['name']}({', '.join(shown)})"


def _shown(value: Any) -> str:
    if isinstance(value, list) and len(value) > _MOST_VALUES:
        return f"{value[:_MOST_VALUES]!r}".removesuffix("]") + f", … {len(value) - _MOST_VALUES} more]"
    return repr(value)


def _source(function: Callable[..., Any]) -> str:
    """The source of a check. If there is none, as after `exec`, its bytecode."""
    try:
        return textwrap.dedent(inspect.getsource(function)).strip()[:_LONGEST_SOURCE]
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        return f"<code {code.co_code.hex()} {code.co_names}>" if code else f"<{type(function).__name__}>"


def _methods(model: type) -> dict[str, str]:
    """The source of the methods of a model, which contain its checks and parsers."""
    found: dict[str, str] = {}
    for kind in model.__mro__:
        if kind.__module__.partition(".")[0] in ("pandera", "builtins", "typing"):
            continue
        for name, member in vars(kind).items():
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function) and name not in found and not name.startswith("__"):
                found[name] = _source(function)
    return found


def _plain(value: Any) -> Any:
    """A value of a schema as JSON."""
    if isinstance(value, re.Pattern):
        return value.pattern
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value), key=repr)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and value == value):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else cell_text(value)


def _is_literal(value: Any) -> bool:
    """Whether a check has the same result with the `_plain` form of a value."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_literal, value))
    return value is None or isinstance(value, bool | int | float | str | re.Pattern)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


# Text for the model


def text_of(record: Mapping[str, Any]) -> str:
    """The rules of a schema, one per line."""
    columns = record["columns"]
    lines = [f"- {line}" for line in _table_rules(record)]
    lines += [f"- column {column['label']}: {_column_rules(column)}" for column in columns[:_MOST_COLUMNS]]
    if len(columns) > _MOST_COLUMNS:
        rest = ", ".join(column["label"] for column in columns[_MOST_COLUMNS:])
        lines.append(f"- and {len(columns) - _MOST_COLUMNS} more columns: {rest[:2_000]}")
    lines += [f"- index {level['label']}: {_column_rules(level)}" for level in record["index"]]
    own = [*record["methods"].values(), *_sources(record)]
    if own:
        lines.append("- with these checks of its own:")
        lines += [textwrap.indent(source, "    ") for source in dict.fromkeys(own)]
    return "\n".join(lines)


def _table_rules(record: Mapping[str, Any]) -> Iterable[str]:
    if record["kind"] == "DataFrame":
        order = ", in this order" if record["ordered"] else ""
        if record["strict"] is True:
            yield f"exactly these columns{order}"
        else:
            yield f"at least these columns{order}"
        if record["unique"]:
            yield f"no two rows have the same {', '.join(record['unique'])}"
        if record["dtype"]:
            yield f"every column is {record['dtype']}"
    for check in record["checks"]:
        yield f"the table: {_check_line(check)}"


def _column_rules(column: Mapping[str, Any]) -> str:
    kind = column["dtype"] or "any dtype"
    parts = [
        f"{kind}, converted to it" if column["coerce"] and column["dtype"] else kind,
        "may be missing" if column["nullable"] else "never missing",
        "no value twice" if column["unique"] else "",
        "" if column["required"] else "the column may be left out",
        "the name is a regular expression" if column["regex"] else "",
        *map(_check_line, column["checks"]),
        column["said"],
    ]
    return "; ".join(filter(None, parts))


def _check_line(check: Mapping[str, Any]) -> str:
    title = check["said"] if check["said"] not in ("", check_text(check)) else ""
    return f"{check_text(check)} ({title})" if title else check_text(check)


def _sources(record: Mapping[str, Any]) -> Iterable[str]:
    """The source of checks that are not methods of a model, if it is available."""
    if record["methods"]:
        return
    for part in (record, *record["columns"], *record["index"]):
        yield from (check["source"] for check in part["checks"] if check["source"] and check["source"][0] != "<")


# Code for an exported script

_PLAIN_OPTIONS = {"element_wise": False, "ignore_na": True, "raise_warning": False, "groupby": None, "groups": None}


def source_of(record: Mapping[str, Any]) -> str:
    """An expression for the schema of a record, with pandera imported as `pa`.

    Returns "" if the schema has custom checks or a value without a literal.
    """
    parts = (record, *record["columns"], *record["index"])
    if any(not _is_expressible(check) for part in parts for check in part["checks"]):
        return ""
    if record["methods"] or any(part["parsers"] for part in parts) or not _has_literal_labels(record):
        return ""
    index = _index_code(record["index"])
    if record["kind"] == "Series":
        column = record["columns"][0]
        return f"pa.SeriesSchema({_arguments_code(column)}, index={index})"
    columns = "".join(
        f"        {column['label']}: pa.Column({_column_code(column)}),\n" for column in record["columns"]
    )
    options = ("strict", "coerce", "ordered", "unique_column_names", "add_missing_columns", "drop_invalid_rows")
    settings = [f"    {option}={record[option]!r},\n" for option in options]
    unique = f"    unique=[{', '.join(record['unique'])}],\n" if record["unique"] else ""
    checks = f"    checks=[{', '.join(map(_check_code, record['checks']))}],\n"
    return (
        f"pa.DataFrameSchema(\n    {{\n{columns}    }},\n{checks}    index={index},\n    dtype={record['dtype']!r},\n"
        f"{unique}{''.join(settings)})"
    )


def _is_expressible(check: Mapping[str, Any]) -> bool:
    return bool(check["is_literal"]) and check["options"] == _PLAIN_OPTIONS


def _has_literal_labels(record: Mapping[str, Any]) -> bool:
    labels = [part["label"] for part in (*record["columns"], *record["index"])] + list(record.get("unique", ()))
    return not any(label.startswith(("<", "pd.")) or "<" in label[:2] for label in labels)


def _index_code(levels: list[Mapping[str, Any]]) -> str:
    made = [f"pa.Index({_arguments_code(level)}, name={level['label']})" for level in levels]
    return "None" if not made else made[0] if len(made) == 1 else f"pa.MultiIndex([{', '.join(made)}])"


def _column_code(column: Mapping[str, Any]) -> str:
    more = f", required={column['required']}, regex={column['regex']}"
    default = "" if column["default"] is None else f", default={column['default']!r}"
    return _arguments_code(column) + more + default


def _arguments_code(column: Mapping[str, Any]) -> str:
    checks = ", ".join(map(_check_code, column["checks"]))
    flags = ", ".join(f"{flag}={column[flag]}" for flag in ("nullable", "unique", "coerce"))
    return f"{column['dtype']!r}, checks=[{checks}], {flags}"


def _check_code(check: Mapping[str, Any]) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in check["arguments"].items())
    return f"pa.Check.{check['name']}({arguments})"
