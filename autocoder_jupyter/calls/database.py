"""Calls on a database: its answers to the queries of the function, which then finishes them in the sandbox.

Only the queries that are found in the code and pass the check are sent, and only if the person has agreed to exactly
these for exactly this database.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.calls.call import call
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, report_progress
from autocoder_jupyter.databases.catalogue import Catalogue, CatalogueTable
from autocoder_jupyter.databases.connections import SAMPLE_ROWS
from autocoder_jupyter.databases.connections import Database as Connected
from autocoder_jupyter.databases.queries import Query
from autocoder_jupyter.engine.queries import (
    FoundQuery,
    WrongQueries,
    as_frame,
    checked_queries,
    queries_of,
    recorded_tables,
)
from autocoder_jupyter.equality import Leniency, compare
from autocoder_jupyter.errors import AutocodeError, DataDrift, InvalidRequest
from autocoder_jupyter.trust.answers import keep, kept
from autocoder_jupyter.types import InputSpec, OutputSpec, SampledDatabase
from autocoder_jupyter.types.helpers import module_of
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    import pandas as pd

_PREFIX = "_answer_"


def database_of(function: Function, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Connected:
    """The database that is passed in place of the tables.

    Raises:
        InvalidRequest: the function reads no database, or something else is passed by position or for a table.
    """
    if not function.databases:
        raise InvalidRequest(
            f"{function.name} reads no database.", hint="Query what it needs yourself, and pass that as a DataFrame."
        )
    if function.unverified:
        raise InvalidRequest(
            f"{function.name} is not verified here, so it sends nothing to a database.",
            hint=f"Pass the tables as DataFrames, or verify it first: {function.name}.verify().",
        )
    tables = function.databases[0].tables.keys()
    if checked := sorted(tables & function.contracts.keys()):
        raise InvalidRequest(
            f"{function.name} has a contract for {checked[0]}, so it is not run on a database.",
            why="The rows of a table stay in the database, where a contract is not checked.",
            hint=f"Pass the tables as DataFrames, or leave the contract of {checked[0]} out.",
        )
    given = positional[0] if len(positional) == 1 else None
    if not isinstance(given, Connected) or tables & keywords.keys():
        raise InvalidRequest(
            f"A database stands for all tables of {function.name}: {', '.join(tables)}.",
            hint=f"Write {function.name}.run({function.databases[0].name}), and other inputs by name.",
        )
    return given


def require_no_part(function: Function, positional: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Refuse DataFrames for some tables of a database where the sample of another one would stand for all its rows.

    Raises:
        InvalidRequest: such a table is not passed.
    """
    names = [spec.name for spec in function.inputs]
    given = {*names[: len(positional)], *keywords}
    for database in function.databases:
        left = [name for name in names if name in database.tables and name not in given]
        if part := [name for name in left if given & database.tables.keys() and not database.tables[name].is_whole]:
            raise InvalidRequest(
                f"{function.name} also reads {' and '.join(part)}.",
                why="There is only a sample of its rows here, and the result would be one of both.",
                hint=f"Pass all tables as DataFrames, or the connection: {function.name}.run({database.name}).",
            )


# What would be sent


@dataclass(frozen=True)
class Sending:
    """The queries of a function for one database.

    Args:
        queries: by their text in the code.
        texts: by the same, what is sent.
    """

    name: str
    connected: Connected
    queries: Mapping[str, Query]
    texts: Mapping[str, str]

    @property
    def is_agreed(self) -> bool:
        """Whether the person has agreed to exactly these queries for this database."""
        return bool(kept(self.key, [self._question]))

    def agree(self) -> None:
        """Remember that the person agrees.

        Raises:
            InvalidRequest: the record cannot be written.
        """
        keep(self.key, [self._question])

    def require_agreed(self, call: str) -> None:
        """Require that the person has agreed.

        Raises:
            InvalidRequest: else; the message has the queries.
        """
        if not self.is_agreed:
            count = f"{len(self.texts)} queries" if len(self.texts) > 1 else "a query"
            raise InvalidRequest(
                f"{self.name} sends {count} to {visible(self.connected.identity)}, to which you have not agreed.",
                why="\n".join(map(visible, self.texts.values())),
                hint=f"Read it. %autocode reply {self.name} send {call} agrees to exactly that, for this database.",
            )

    def answers(self) -> dict[str, Any]:
        """The answers of the database, as tables of Arrow. Blocks.

        Raises:
            InvalidRequest: it does not answer, or gives more than the limits allow.
        """
        return {select: self.connected.fetch(query) for select, query in self.queries.items()}

    @property
    def key(self) -> str:
        """The queries as one text."""
        return json.dumps(["queries of a function", sorted(self.texts.values())])

    @property
    def _question(self) -> str:
        return f"are sent to {self.connected.identity}"


def sending(function: Function, connected: Connected) -> Sending:
    """What a call would send to a database. Only its catalogue is read. Blocks.

    Raises:
        InvalidRequest: the database cannot be read, or the code has queries that are not sent.
        DataDrift: a table or column is missing there, or has another type.
    """
    database = function.databases[0]
    found = _found(function, database)
    tables = _present(function, database, connected.catalogue(), found)
    before = _checked(function, found, recorded_tables(database))
    try:
        queries = checked_queries(found, tables)
    except WrongQueries as error:
        raise _drift(function, str(error)) from None
    for select, query in queries.items():
        if difference := _differing(before[select], query):
            raise _drift(function, difference)
    texts = {select: query.to(connected.dialect) for select, query in queries.items()}
    return Sending(function.name, connected, queries, texts)


def _found(function: Function, database: SampledDatabase) -> tuple[FoundQuery, ...]:
    try:
        return queries_of(function.code, database.tables)
    except WrongQueries as error:
        raise _not_sent(function, error) from None


def _checked(function: Function, found: Iterable[FoundQuery], tables: Mapping[str, CatalogueTable]) -> dict[str, Query]:
    try:
        return checked_queries(found, tables)
    except WrongQueries as error:
        raise _not_sent(function, error) from None


def _not_sent(function: Function, error: WrongQueries) -> InvalidRequest:
    return InvalidRequest(
        f"The queries of {function.name} are not sent to a database.",
        why=visible(str(error)),
        hint="Run its cell again, or pass the tables as DataFrames.",
    )


def _present(
    function: Function, database: SampledDatabase, catalogue: Catalogue, found: Iterable[FoundQuery]
) -> dict[str, CatalogueTable]:
    """The tables that the queries read, as they are now."""
    tables = {}
    for name in dict.fromkeys(name for one in found for name in one.tables):
        table = catalogue.table(database.tables[name].home, name) or catalogue.table("", name)
        if table is None:
            raise _drift(function, f"The database has no table {name}.")
        tables[name] = table
    return tables


def _drift(function: Function, what: str) -> DataDrift:
    return DataDrift(
        f"The database is not as {function.name} needs it: {visible(what)}",
        hint=f"Use one with the tables and columns that {function.name} was made with, or run its cell on this one.",
    )


_NUMBERS = "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE DECIMAL"
_SORTS = {"number": _NUMBERS.split(), "time": ["DATE", "TIMESTAMP", "TIMESTAMPTZ"]}


def _differing(before: Query, now: Query) -> str:
    """A column of the result that has become another sort of value; "" if there is none."""
    for then, column in zip(before.columns, now.columns, strict=False):
        if then.name != column.name or _sort(then.type) != _sort(column.type):
            return f"the column {column.name} of a query is {column.type}, and was {then.name} {then.type}."
    return ""


def _sort(kind: str) -> str:
    bare = kind.partition("(")[0]
    return next((name for name, kinds in _SORTS.items() if bare in kinds), bare)


# The call


async def answered_by(
    function: Function, positional: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Function, dict[str, Any], Sending]:
    """What `on_answers` gives for the database that is passed in place of the tables, and what was sent to it.

    Raises:
        InvalidRequest: the person has not agreed to the queries, or the database does not answer them.
        DataDrift: a table or column is missing there, or has another type.
    """
    connected = database_of(function, positional, keywords)
    report_progress(Awaited(f"{function.name}.run", lambda: "asks the database", "interrupt to stop waiting"))

    def ask() -> tuple[Sending, dict[str, Any]]:
        found = sending(function, connected)
        found.require_agreed(function.databases[0].name)
        return found, found.answers()

    found, answers = await background.call_blocking(ask)
    return *on_answers(function, answers), found


def on_answers(function: Function, answers: Mapping[str, Any]) -> tuple[Function, dict[str, Any]]:
    """The function with the answers to its queries as inputs in place of the tables, and these."""
    tables = {name for database in function.databases for name in database.tables}
    names = {f"{_PREFIX}{number}": select for number, select in enumerate(answers)}
    others = tuple(spec for spec in function.inputs if spec.name not in tables)
    needed = [spec.name for spec in function.inputs if spec.name in tables]
    code = _ON_ANSWERS.format(code=function.code, module=module_of("query"), selects=names, tables=needed)
    kept = {name: value for name, value in function.samples.items() if name not in tables}
    finishing = replace(
        function,
        code=code,
        inputs=(*(InputSpec(name=name, type="DataFrame") for name in names), *others),
        samples=kept,
        shapes={name: shape for name, shape in function.shapes.items() if name not in tables},
        values={name: value for name, value in function.values.items() if name not in tables},
        rows=None,
        databases=(),
    )
    return finishing, {name: as_frame("a query", answers[select]) for name, select in names.items()}


_ON_ANSWERS = """\
{code}


_finished = run


def run(**given):
    from {module} import DatabaseAnswers

    names = {selects!r}
    answers = DatabaseAnswers({{select: given.pop(name) for name, select in names.items()}})
    return _finished(**dict.fromkeys({tables!r}, answers), **given)
"""


# What DuckDB answers on the same rows

_compared: set[tuple[str, str]] = set()
"""The databases and queries that were compared in this process."""


async def differences(
    function: Function, options: CallOptions, sent: Sending, answers: Mapping[str, pd.DataFrame]
) -> list[str]:
    """A sentence for each query that the database answers otherwise than DuckDB in the sandbox, on which it was tested.

    It is found out once, if the samples had all rows of its tables.
    """
    known = function.databases[0].tables
    tables = {table.name: table for query in sent.queries.values() for table in query.tables}
    mark = (sent.connected.identity, sent.key)
    if mark in _compared or not all(name in known and known[name].is_whole for name in tables):
        return []
    _compared.add(mark)
    with contextlib.suppress(AutocodeError):
        frames = await background.call_blocking(lambda: _whole(sent.connected, tables))
        if frames is not None:
            query_of_each = dict(zip(answers, sent.queries.values(), strict=True))
            outputs = tuple(OutputSpec(name=name, type="DataFrame") for name in answers)
            code = _ON_TABLES.format(
                module=module_of("query"),
                selects=[(query.text, [table.name for table in query.tables]) for query in query_of_each.values()],
            )
            inputs = tuple(InputSpec(name=name, type="DataFrame") for name in frames)
            asking = Function(
                function.name,
                code,
                inputs,
                outputs,
                function.environment,
                sandbox=function.sandbox,
                helpers=function.helpers,
                root=function.root,
            )
            values = await call(asking, replace(options, output="", tables="pandas"), (), frames)
            by_duckdb = dict(zip(answers, (values,) if len(answers) == 1 else tuple(values), strict=True))
            return [
                f"{function.name}: the database answers a query otherwise than DuckDB does on the same rows "
                f"({_size(answers[name])}, not {_size(by_duckdb[name])}, or other values), or its rows have changed "
                f"meanwhile: {visible(' '.join(query_of_each[name].text.split())[:200])}"
                for name in answers
                if compare(_sorted(answers[name]), _sorted(by_duckdb[name]), _SAME_ROWS).verdict == "different"
            ]
    return []


_SAME_ROWS = Leniency(types=True)


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows in an order that does not depend on the engine; numbers last, because they may differ a little."""
    columns = sorted(frame.columns, key=lambda name: frame[name].dtype.kind == "f")
    try:
        return frame.sort_values(columns, kind="stable", ignore_index=True)
    except TypeError:  # lists and the like
        return frame.reset_index(drop=True)


def _size(frame: pd.DataFrame) -> str:
    return f"{len(frame):,} row{'' if len(frame) == 1 else 's'}"


def _whole(connected: Connected, tables: Mapping[str, CatalogueTable]) -> dict[str, pd.DataFrame] | None:
    """All rows of these tables; None if one has become large."""
    found = {}
    for name, table in tables.items():
        rows = connected.sample(table, SAMPLE_ROWS + 1)
        if rows.num_rows > SAMPLE_ROWS:
            return None
        found[name] = as_frame(name, rows)
    return found


_ON_TABLES = """\
from {module} import run as query


def run(**tables):
    answers = [query(select, **{{name: tables[name] for name in names}}) for select, names in {selects!r}]
    return answers[0] if len(answers) == 1 else tuple(answers)
"""
