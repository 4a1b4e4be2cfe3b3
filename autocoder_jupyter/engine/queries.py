"""The queries of a function that reads tables of a database: found in its code, never by running it, and checked.

What cannot be found or is refused is a failure that the fixer is told. What is found is all that a database is sent.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.databases.catalogue import CatalogueColumn, CatalogueTable
from autocoder_jupyter.databases.queries import Query, checked
from autocoder_jupyter.engine.programs import program_text
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.types import HELPERS, Helper, Helpers, SampledDatabase, TestFailure
from autocoder_jupyter.types.helpers import module_of
from autocoder_jupyter.untrusted.parsing import complaint, parse
from autocoder_jupyter.untrusted.visible import visible

if TYPE_CHECKING:
    import pandas as pd

QUERY = "query"
"""The function of the module of helpers that runs a SELECT."""

_ONCE = f"`from {HELPERS} import {QUERY}`"
_FORM = f'{QUERY}("SELECT …", orders=orders)'


def with_query(helpers: Helpers, database: SampledDatabase) -> Helpers:
    """The helpers of a request, and what reads the tables of its database.

    Raises:
        InvalidRequest: one of them has its name.
    """
    own = [one for one in helpers.given if one.kind != "built-in"]
    if any(one.name == QUERY for one in own):
        raise InvalidRequest(
            f"@{QUERY} cannot be a helper of a request that refers to a database.",
            why="The function reads the tables through something of that name.",
            hint=f"Give it another name: my_{QUERY} = {QUERY}",
        )
    types = {
        name: {column.name: column.type for column in table.columns if column.type}
        for name, table in database.tables.items()
    }
    source = program_text(QUERY, TYPES=types)
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    return helpers.model_copy(
        update={
            "given": (*own, Helper(name=QUERY, kind="built-in", digest=digest)),
            "results": {**helpers.results, module_of(QUERY): source},
            "packages": tuple(dict.fromkeys((*helpers.packages, "duckdb"))),
        }
    )


@dataclass(frozen=True)
class FoundQuery:
    """A query as the code has it.

    Args:
        select: its text, exactly.
        tables: the inputs that are passed to it.
        line: where it is called.
    """

    select: str
    tables: tuple[str, ...]
    line: int


class WrongQueries(ValueError):
    """Queries that cannot be found in the code, or are refused; `problems` are sentences for the model."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__(" ".join(self.problems))


def queries_of(code: str, tables: Collection[str]) -> tuple[FoundQuery, ...]:
    """The queries of a module over these inputs, in the order of their lines.

    Raises:
        WrongQueries: a query is not one literal text, or an input is used elsewhere.
    """
    try:
        module = parse(code)
    except SyntaxError as error:
        raise WrongQueries([f"the module does not parse: {complaint(error)}"]) from None
    reader = _Reader(module, frozenset(tables))
    found = tuple(sorted(reader.found(), key=lambda one: one.line))
    if reader.problems:
        raise WrongQueries(reader.problems)
    return found


class _Reader:
    """Reads the queries of one module."""

    def __init__(self, module: ast.Module, tables: frozenset[str]) -> None:
        self._module = module
        self._tables = tables
        self._texts = dict(_constants(module))
        self._passed: set[int] = set()  # the ids of the nodes that pass a table to a query
        self.problems: list[str] = []

    def found(self) -> Iterator[FoundQuery]:
        calls = [node for node in ast.walk(self._module) if _is_query(node)]
        for call in calls:
            assert isinstance(call, ast.Call)
            yield from self._read(call)
        called = {id(call.func) for call in calls if isinstance(call, ast.Call)}
        for node in ast.walk(self._module):
            if isinstance(node, ast.Name):
                self._check_name(node, called)
            elif isinstance(node, ast.ImportFrom | ast.Import):
                self._check_import(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == QUERY:
                self.problems.append(f"line {node.lineno}: {QUERY} is that of {_ONCE}, and must not be defined again")
            elif isinstance(node, ast.arg) and node.arg == QUERY:
                self.problems.append(f"line {node.lineno}: a parameter must not be called {QUERY}")

    def _read(self, call: ast.Call) -> Iterator[FoundQuery]:
        text = self._text(call.args[0]) if len(call.args) == 1 else None
        if text is None:
            self.problems.append(
                f"line {call.lineno}: the SELECT is the one positional argument of {QUERY}, a literal string or a "
                "constant of the module: no f-string, no parts put together, no parameters"
            )
            return
        passed = []
        for keyword in call.keywords:
            name = keyword.value.id if isinstance(keyword.value, ast.Name) else ""
            if keyword.arg is None or keyword.arg != name or name not in self._tables:
                self.problems.append(f"line {call.lineno}: each table is passed by its own name, as in {_FORM}")
                return
            self._passed.add(id(keyword.value))
            passed.append(name)
        if not passed:
            self.problems.append(f"line {call.lineno}: the query is passed no table; write it as in {_FORM}")
            return
        yield FoundQuery(text, tuple(passed), call.lineno)

    def _text(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return self._texts.get(node.id) if isinstance(node, ast.Name) else None

    def _check_name(self, node: ast.Name, called: Collection[int]) -> None:
        if node.id == QUERY and (id(node) not in called or not isinstance(node.ctx, ast.Load)):
            self.problems.append(f"line {node.lineno}: {QUERY} is only called, as in {_FORM}")
        if node.id in self._tables and id(node) not in self._passed:
            self.problems.append(
                f"line {node.lineno}: {node.id} is a table of a database, and only passed to {QUERY}, as in {_FORM}; "
                "no variable has its name"
            )

    def _check_import(self, node: ast.ImportFrom | ast.Import) -> None:
        for alias in node.names:
            is_ours = isinstance(node, ast.ImportFrom) and node.module == HELPERS and alias.name == QUERY
            bound = alias.asname or alias.name.partition(".")[0]
            if is_ours != (bound == QUERY) or bound in self._tables:
                self.problems.append(f"line {node.lineno}: {QUERY} is imported by {_ONCE}, in this form")
            if not isinstance(node, ast.ImportFrom) and alias.name.partition(".")[0] == HELPERS:
                self.problems.append(f"line {node.lineno}: {QUERY} is imported by {_ONCE}, in this form")


def _is_query(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == QUERY


def _constants(module: ast.Module) -> Iterator[tuple[str, str]]:
    """The texts that the module assigns once, at its top level."""
    assigned = [node.id for node in ast.walk(module) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    bound = [*assigned, *(node.arg for node in ast.walk(module) if isinstance(node, ast.arg))]
    declared = {name for node in ast.walk(module) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    for node in module.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and isinstance(value, ast.Constant):
            name = targets[0].id
            if isinstance(value.value, str) and bound.count(name) == 1 and name not in declared:
                yield name, value.value


# Checked queries


def as_frame(name: str, rows: Any) -> pd.DataFrame:
    """The rows of a database as the function gets them.

    Raises:
        InvalidRequest: pandas cannot hold a value.
    """
    from autocoder_jupyter.engine.programs.query import frame_of

    try:
        return frame_of(rows)
    except ValueError as error:
        raise InvalidRequest(
            f"A value of {visible(name)} cannot be held by pandas.",
            why=visible(str(error))[:300],
            hint="It may be a date such as infinity. Leave it out, or query a view without it.",
        ) from None


def require_libraries() -> None:
    """Require what checks a query, before a model is asked for one.

    Raises:
        InvalidRequest: sqlglot or duckdb is not installed.
    """
    table = CatalogueTable("t", "main", (CatalogueColumn("a", "INTEGER"),))
    checked("SELECT a FROM t", [table])


def checked_queries(found: Iterable[FoundQuery], tables: Mapping[str, CatalogueTable]) -> dict[str, Query]:
    """The queries by their text, each checked against a catalogue: that of the record, or of a database as it is now.

    Args:
        found: as `queries_of` finds them.
        tables: the tables of the catalogue, by the name of their input.

    Raises:
        WrongQueries: one is not only a SELECT over the tables that it is passed.
    """
    queries, problems = dict[str, Query](), list[str]()
    for one in found:
        try:
            queries[one.select] = checked(one.select, [tables[name] for name in one.tables if name in tables])
        except InvalidRequest as error:
            parts = (error.what, error.why, error.hint)
            problems.append(f"line {one.line}: {' '.join(filter(None, parts))}")
    if problems:
        raise WrongQueries(problems)
    return queries


def recorded_tables(database: SampledDatabase) -> dict[str, CatalogueTable]:
    """The tables as the catalogue had them when the function was made, by the name of their input."""
    return {
        name: CatalogueTable(
            name, table.home, tuple(CatalogueColumn(column.name, column.type) for column in table.columns)
        )
        for name, table in database.tables.items()
    }


def with_queries(
    code: str, databases: Iterable[SampledDatabase]
) -> tuple[tuple[SampledDatabase, ...], tuple[TestFailure, ...]]:
    """The databases of a function with its queries as they would be sent; and the failures, if one cannot be."""
    problems, found = list[str](), list[SampledDatabase]()
    for database in databases:
        try:
            queries = checked_queries(queries_of(code, database.tables), recorded_tables(database))
            sent = tuple(query.to(database.dialect) for query in queries.values())
            found.append(database.model_copy(update={"queries": sent}))
        except WrongQueries as error:
            problems += error.problems
        except InvalidRequest as error:
            problems.append(" ".join(filter(None, (error.what, error.why, error.hint))))
    return tuple(found), tuple(
        TestFailure(
            test_name="queries that a database can answer",
            error_message=problem,
            expected_behavior="Each query is one literal SELECT over the tables that it is passed.",
            error_type="logic",
        )
        for problem in problems
    )
