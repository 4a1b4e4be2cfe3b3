"""Validate tables against contracts: all rules at once, and one error that names the worst violations.

A schema is code of the user, so it runs in the notebook's process. The tables have come back from the sandbox as data.
The table that pandera returns is used from then on: with `coerce` it has other dtypes, with `strict="filter"` fewer
columns.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from autocoder_jupyter.contracts.describing import built, check_record, check_text, kind_of, pandera
from autocoder_jupyter.data.capture import origin_of, with_origin
from autocoder_jupyter.data.text_formats import cell_text, is_null, label_literal, shorten
from autocoder_jupyter.errors import ContractBroken, InvalidRequest
from autocoder_jupyter.request import Contract, Request

_MOST_RULES = 6
_MOST_ROWS = 3
_CELL = 40

_STRING = re.compile(r"string\[pyarrow\]")
"""pandera's name for the dtype `str` of pandas."""

_DTYPE = re.compile(
    r"bool(ean)?|object|category|str(ing)?|(u?int|U?Int|[fF]loat|complex)\d{1,3}|(datetime|timedelta)64\[\w+\]"
)
"""A name that is safe in a message without values of the data."""


@dataclass(frozen=True)
class Violation:
    """One violated rule.

    Args:
        column: the column; "" for a rule of the whole table.
        is_known: whether the contract names this column, so that its name is not a value of the data.
        rows: how many rows fail; 0 if the rule is not about rows.
        shown: the worst of them, as index label and value; for a rule that is not about rows, what pandera reports.
        is_plain: whether `shown` contains only names of the contract.
    """

    column: str
    is_known: bool
    check: str
    rows: int
    shown: tuple[tuple[str, str], ...] = ()
    is_plain: bool = False

    def line(self, of: int, *, values: bool) -> str:
        """`revenue: greater_than_or_equal_to(min_value=0): 2 of 12 rows (row 7: -3.5, row 3: -1.0)`."""
        place = self.column if values or self.is_known else "a column that it does not name"
        line = f"{place}: {self.check}" if place else self.check
        if self.rows:
            line += f": {self.rows:,} of {of:,} rows"
            shown = ", ".join(f"row {index}: {value}" for index, value in self.shown)
            return f"{line} ({shown})" if values and shown else line
        found = ", ".join(value for _, value in self.shown if value not in ("missing", "False", self.column))
        return f"{line}: {found}" if found and (values or self.is_plain or _DTYPE.fullmatch(found)) else line


@dataclass(frozen=True)
class Breach:
    """The violations of one table.

    Args:
        name: the name of the input or output.
        rows: the number of rows of the table.
    """

    name: str
    title: str
    rows: int
    violations: tuple[Violation, ...]
    failure_cases: Any = None

    def words(self, *, values: bool) -> str:
        """The worst violations, one per line, with or without values of the data."""
        lines = [violation.line(self.rows, values=values) for violation in self.violations[:_MOST_RULES]]
        more = len(self.violations) - _MOST_RULES
        return "\n".join([*lines, *([f"and {more} more rule{'s' if more > 1 else ''}"] if more > 0 else [])])

    def error(self, what: str, hint: str) -> ContractBroken:
        """The exception for the user, with values of the data."""
        return ContractBroken(
            what,
            why=self.words(values=True),
            hint=hint,
            without_values=f"{what}\n{self.words(values=False)}",
            name=self.name,
            failure_cases=self.failure_cases,
        )


def apply_contract(name: str, contract: Contract, table: Any) -> tuple[Any, Breach | None]:
    schema, pa = built(name, contract.given), pandera()
    try:
        with _switched_on():
            accepted = schema.validate(table, lazy=True)
    except (pa.errors.SchemaErrors, pa.errors.SchemaError) as error:
        cases = getattr(error, "failure_cases", None)
        if not isinstance(cases, pd.DataFrame) or not {"column", "check", "failure_case", "index"} <= set(cases):
            return table, _raised(name, contract, table, error)
        return table, Breach(name, contract.title, len(table), _violations(schema, cases, contract), cases)
    except Exception as error:
        return table, _raised(name, contract, table, error)
    return with_origin(accepted, origin_of(table)), None


def _raised(name: str, contract: Contract, table: Any, error: Exception) -> Breach:
    """The violation if the schema itself raised an exception, for example in a custom check."""
    shown = (("", f"{type(error).__name__}: {shorten(' '.join(str(error).split()), 300)}"),)
    return Breach(name, contract.title, len(table), (Violation("", True, "the schema raised an exception", 0, shown),))


@contextlib.contextmanager
def _switched_on() -> Iterator[None]:
    """Enable validation, also if PANDERA_VALIDATION_ENABLED switches it off: the evidence needs a real check."""
    from pandera.config import ValidationDepth, config_context

    with config_context(validation_enabled=True, validation_depth=ValidationDepth.SCHEMA_AND_DATA):
        yield


def _violations(schema: Any, cases: pd.DataFrame, contract: Contract) -> tuple[Violation, ...]:
    named = _check_texts(schema)
    known = {part["label"] for part in (*contract.record["columns"], *contract.record["index"])}
    found = []
    for (context, column, check), group in cases.groupby(
        ["schema_context", "column", "check"], dropna=False, sort=False
    ):
        is_about_a_column = context in ("Column", "Index") or (context == "DataFrameSchema" and len(group) > 0)
        of_rows = group[group["index"].notna()]
        labels = of_rows["index"].map(str)
        rows = int(labels.nunique()) if len(labels) else 0
        few = _worst(of_rows.drop_duplicates("index"), str(check)) if rows else group.head(_MOST_ROWS)
        shown = tuple(
            (_cell(index), _cell(case)) for index, case in zip(few["index"], few["failure_case"], strict=True)
        )
        is_named = is_about_a_column and not _is_missing(column) and column != schema.name
        literal = label_literal(column) if is_named else ""
        place = str(column) if is_named else ""
        rule = f"the {context} is another one" if _is_missing(check) else _rule(str(check), named)
        is_plain = not rows and all(label_literal(case) in known for case in group["failure_case"])
        found.append(Violation(place, not literal or literal in known, rule, rows, shown, is_plain))
    return tuple(sorted(found, key=lambda violation: (violation.rows > 0, -violation.rows)))


def _worst(cases: pd.DataFrame, check: str) -> pd.DataFrame:
    """The rows that are farthest beyond a bound; the first rows if the check has no bound."""
    cells = cases["failure_case"].infer_objects()
    if cells.dtype.kind in "iufmM" and not cells.hasnans:
        if check.startswith("greater_than"):
            return cases.loc[cells.nsmallest(_MOST_ROWS).index]
        if check.startswith("less_than"):
            return cases.loc[cells.nlargest(_MOST_ROWS).index]
    return cases.head(_MOST_ROWS)


def _rule(check: str, named: Mapping[str, str]) -> str:
    return named.get(check) or _STRING.sub("str", check)


def _check_texts(schema: Any) -> dict[str, str]:
    """Our text of each check by pandera's text. The order of a set in pandera's text is not stable."""
    parts = [schema, *getattr(schema, "columns", {}).values()]
    index = getattr(schema, "index", None)
    parts += getattr(index, "indexes", None) or ([index] if index is not None else [])
    checks = [check for part in parts for check in part.checks or ()]
    return {str(check.error or check.name): check_text(check_record(check)) for check in checks}


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _cell(value: Any) -> str:
    if is_null(value):
        return "missing"
    return shorten(cell_text(value), _CELL) or repr(value)


# Inputs and outputs of requests and calls


def with_checked_samples(request: Request) -> Request:
    """Check that the contracts of a request fit its inputs and outputs, and validate the samples.

    Returns the request with the samples that pandera returned.

    Raises:
        InvalidRequest: a contract does not name a table of the request.
        ContractBroken: a sample does not satisfy its contract.
    """
    if not request.contracts:
        return request
    declared: dict[str, str] = {spec.name: spec.type for spec in request.inputs}
    declared |= {spec.name: spec.type for spec in request.outputs}
    kinds = {**{name: type(value).__name__ for name, value in request.samples.items()}, **declared}
    for name, contract in request.contracts.items():
        _require_fit(name, kind_of(contract.given), kinds)
    samples = dict(request.samples)
    for name, contract in request.contracts.items():
        if name in samples:
            samples[name] = checked_input(name, contract, samples[name])
    return replace(request, samples=samples)


def _require_fit(name: str, kind: str, kinds: Mapping[str, str]) -> None:
    tables = [table for table, found in kinds.items() if found in ("DataFrame", "Series")]
    if name not in kinds:
        raise InvalidRequest(
            f"There is no input or output {name!r} for this contract.",
            hint=f"Tables here: {', '.join(tables)}." if tables else f'Declare it: -o "{name}: {kind}".',
        )
    if kinds[name] != kind:
        schema = "a SeriesSchema" if kind == "Series" else "a schema of a DataFrame"
        raise InvalidRequest(
            f"The contract of {name} is {schema}, and {name} is a {kinds[name]}.",
            hint=f'Declare it as a {kind}, or check it with --check "…".',
        )


def checked_input(name: str, contract: Contract, table: Any) -> Any:
    """Validate an input. Returns the table that pandera returned.

    Raises:
        ContractBroken: the input does not satisfy its contract. Nothing was run.
    """
    accepted, breach = apply_contract(name, contract, table)
    if breach is not None:
        raise breach.error(
            f"The input {name} does not satisfy {contract.title}; nothing was run.",
            "Correct the table or the schema. error.failure_cases lists every row.",
        )
    return accepted


def checked_outputs(function: str, contracts: Mapping[str, Contract], values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the outputs of a call. Returns them with the tables that pandera returned.

    Raises:
        ContractBroken: an output does not satisfy its contract; the error is about the first one.
    """
    result = dict(values)
    for name in (name for name in values if name in contracts):
        result[name], breach = apply_contract(name, contracts[name], values[name])
        if breach is not None:
            raise breach.error(
                f"{function} ran, and its output {name} does not satisfy {contracts[name].title}.",
                f"Check the inputs of this call; or run the cell of {function} again with them, which fixes the "
                "function. error.failure_cases lists every row.",
            )
    return result


def records(contracts: Mapping[str, Contract]) -> dict[str, Mapping[str, Any]]:
    """The records of contracts, by name, for keys and files."""
    return {name: contract.record for name, contract in contracts.items()}


def names(contracts: Mapping[str, Contract], tables: Sequence[str]) -> tuple[str, ...]:
    """The names of the tables that have a contract, in the order of the tables."""
    return tuple(name for name in tables if name in contracts)
