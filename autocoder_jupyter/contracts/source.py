"""Write a contract as pandera code for an exported script, if all its rules can be expressed as code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PLAIN_OPTIONS = {"element_wise": False, "ignore_na": True, "raise_warning": False, "groupby": None, "groups": None}


def source_of(record: Mapping[str, Any]) -> str:
    """An expression for the schema of a record, with pandera imported as `pa`.

    Returns "" if the schema has custom checks or a value without a literal.
    """
    parts = (record, *record["columns"], *record["index"])
    if any(not _is_plain(check) for part in parts for check in part["checks"]):
        return ""
    if record["methods"] or any(part["parsers"] for part in parts) or not _labels_are_plain(record):
        return ""
    index = _index(record["index"])
    if record["kind"] == "Series":
        column = record["columns"][0]
        return f"pa.SeriesSchema({_arguments(column)}, index={index})"
    columns = "".join(f"        {column['label']}: pa.Column({_of_column(column)}),\n" for column in record["columns"])
    options = ("strict", "coerce", "ordered", "unique_column_names", "add_missing_columns", "drop_invalid_rows")
    said = [f"    {option}={record[option]!r},\n" for option in options]
    unique = f"    unique=[{', '.join(record['unique'])}],\n" if record["unique"] else ""
    checks = f"    checks=[{', '.join(map(_check, record['checks']))}],\n"
    return (
        f"pa.DataFrameSchema(\n    {{\n{columns}    }},\n{checks}    index={index},\n    dtype={record['dtype']!r},\n"
        f"{unique}{''.join(said)})"
    )


def _is_plain(check: Mapping[str, Any]) -> bool:
    return bool(check["is_literal"]) and check["options"] == _PLAIN_OPTIONS


def _labels_are_plain(record: Mapping[str, Any]) -> bool:
    labels = [part["label"] for part in (*record["columns"], *record["index"])] + list(record.get("unique", ()))
    return not any(label.startswith(("<", "pd.")) or "<" in label[:2] for label in labels)


def _index(levels: list[Mapping[str, Any]]) -> str:
    made = [f"pa.Index({_arguments(level)}, name={level['label']})" for level in levels]
    return "None" if not made else made[0] if len(made) == 1 else f"pa.MultiIndex([{', '.join(made)}])"


def _of_column(column: Mapping[str, Any]) -> str:
    more = f", required={column['required']}, regex={column['regex']}"
    default = "" if column["default"] is None else f", default={column['default']!r}"
    return _arguments(column) + more + default


def _arguments(column: Mapping[str, Any]) -> str:
    checks = ", ".join(map(_check, column["checks"]))
    flags = ", ".join(f"{flag}={column[flag]}" for flag in ("nullable", "unique", "coerce"))
    return f"{column['dtype']!r}, checks=[{checks}], {flags}"


def _check(check: Mapping[str, Any]) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in check["arguments"].items())
    return f"pa.Check.{check['name']}({arguments})"
