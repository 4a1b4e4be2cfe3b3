"""Bind a checked query to empty tables of DuckDB in memory: which columns it has, and what each name stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from autocoder_jupyter.databases import queries
from autocoder_jupyter.databases.catalogue import CatalogueTable
from autocoder_jupyter.databases.catalogue_readers import quoted
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

_CONFIG = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "256MB",
    "threads": "1",
}

READABLE = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL",
    "VARCHAR",
    "DATE",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "BLOB",
]


def definitions(tables: Iterable[CatalogueTable]) -> list[str]:
    """The statements that make these tables in DuckDB, empty. Columns that cannot be read are missing."""
    statements: dict[str, None] = {}
    for table in tables:
        if table.schema != "main":
            statements[f"CREATE SCHEMA IF NOT EXISTS {quoted(table.schema)}"] = None
        columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in usable(table))
        if not columns:
            raise queries.refused(f"{queries.shown(table.shown)} has no column that can be read.")
        statements[f"CREATE TABLE {quoted(table.schema, table.name)} ({columns})"] = None
    return list(statements)


def usable(table: CatalogueTable) -> list[Any]:
    """The columns that a query may name: not those of other types, nor those whose names differ in case only."""
    names = [column.name.lower() for column in table.columns]
    return [column for column in table.columns if column.type and names.count(column.name.lower()) == 1]


def engine() -> Any:
    """An empty DuckDB in memory that reaches nothing else."""
    try:
        import duckdb
    except ImportError:
        raise InvalidRequest(
            "Queries need the library duckdb, which is not installed.",
            hint='Install it: %pip install "autocoder-jupyter[databases]"',
        ) from None
    connection = duckdb.connect(":memory:", config=dict(_CONFIG))
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def bound(tree: Any, tables: Sequence[CatalogueTable]) -> tuple[queries.QueryColumn, ...]:
    """The columns of the result. The query is planned, and not run.

    Raises:
        InvalidRequest: DuckDB does not accept it, or its columns have no names, or types that pandas has no values for.
    """
    import duckdb

    _require_names(tree)
    connection = engine()
    try:
        for statement in definitions(tables):
            connection.execute(statement)
        try:
            relation = connection.sql(tree.sql("duckdb", comments=False))
            columns = list(zip(relation.columns, map(_type_name, relation.types), strict=True))
        except duckdb.Error as error:
            raise queries.refused("DuckDB does not accept it.", why=_first_lines(str(error))) from None
    finally:
        connection.close()
    lower = [name.lower() for name, _ in columns]
    for name, kind in columns:
        if lower.count(name.lower()) > 1:
            raise queries.refused(
                f"its result has more than one column {queries.shown(name)}.",
                hint="Give each a name of its own with AS.",
            )
        if kind.partition("(")[0] not in READABLE:
            raise queries.refused(
                f"the column {queries.shown(name)} has the type {queries.shown(kind)}.",
                hint="Cast it, for example to VARCHAR, or count it in days.",
            )
    return tuple(queries.QueryColumn(name, kind) for name, kind in columns)


def _type_name(kind: Any) -> str:
    text = str(kind)
    return "TIMESTAMPTZ" if text == "TIMESTAMP WITH TIME ZONE" else text


def _first_lines(text: str) -> str:
    text = text.partition("\n\nLINE")[0].partition("Candidate bindings")[0]  # these may be names of hidden columns
    return visible(" ".join(text.split())[:300])


def _outer_selects(tree: Any) -> list[Any]:
    """The SELECTs whose rows are the result; the first one names the columns."""
    from sqlglot import exp

    waiting, found = [tree], []
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, exp.SetOperation):
            waiting[:0] = [node.this, node.expression]
        elif isinstance(node, exp.Subquery):
            waiting.insert(0, node.this)
        else:
            found.append(node)
    return found


def _require_names(tree: Any) -> None:
    from sqlglot import exp

    first = _outer_selects(tree)[0]
    for each in getattr(first, "selects", ()):
        if not isinstance(each, (exp.Alias, exp.Column, exp.Star)):
            raise queries.refused(
                f"the column {queries.shown(each.sql('duckdb'))} has no name.", hint="Name it: ... AS total"
            )


def resolved(tree: Any, tables: Sequence[CatalogueTable], columns: Sequence[queries.QueryColumn]) -> Any:
    """The tree in which each column has its table, with the types of its parts.

    Raises:
        InvalidRequest: it is not clear what a name stands for.
    """
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.annotate_types import annotate_types
    from sqlglot.optimizer.qualify import qualify

    schema: dict[str, Any] = {}
    real = {table.key: {column.name.lower(): column.name for column in usable(table)} for table in tables}
    for table in tables:
        names = {column.name: column.type for column in usable(table)}
        schema.setdefault(table.schema.lower(), {})[table.name.lower()] = {
            name.lower(): kind for name, kind in names.items()
        }
    try:
        whole = qualify(
            tree.copy(), dialect="duckdb", schema=schema, quote_identifiers=True, validate_qualify_columns=True
        )
        whole = annotate_types(whole, schema=schema, dialect="duckdb")
    except (SqlglotError, RecursionError) as error:
        raise queries.refused("its names are not clear.", why=queries.shown(queries.plain(str(error)))) from None
    _name_groups(whole)
    keys = {(table.schema.lower(), table.name.lower()): table for table in tables}
    for scope in _scopes(whole):
        for name, source in scope.sources.items():
            if not isinstance(source, exp.Table):
                continue
            table = keys[source.db.lower(), source.name.lower()]
            for column in scope.columns:
                if column.table == name:
                    column.set("this", exp.to_identifier(real[table.key][column.name.lower()], quoted=True))
                    column.meta["of"] = (table.key, column.name)
    for node in whole.find_all(exp.Table):
        if node.db:
            table = keys[node.db.lower(), node.name.lower()]
            node.set("this", exp.to_identifier(table.name, quoted=True))
            node.set("db", exp.to_identifier(table.schema, quoted=True))
            node.set("catalog", None)
    selects = _outer_selects(whole)[0].selects
    if len(selects) != len(columns):
        raise queries.refused("its columns are not clear.", hint="Name each column instead of *.")
    for each, column in zip(selects, columns, strict=True):
        if isinstance(each, exp.Alias):
            each.set("alias", exp.to_identifier(column.name, quoted=True))
    order, named = whole.args.get("order"), {column.name.lower(): column.name for column in columns}
    for column in order.find_all(exp.Column) if order is not None else ():
        if not column.table and column.name.lower() in named:
            column.set("this", exp.to_identifier(named[column.name.lower()], quoted=True))
    return whole


def _name_groups(tree: Any) -> None:
    """Write the columns of `GROUP BY ALL`: those that have no aggregate."""
    from sqlglot import exp

    for select in tree.find_all(exp.Select):
        group = select.args.get("group")
        if group is None or not group.args.get("all"):
            continue
        keys = [each.unalias().copy() for each in select.selects if each.find(exp.AggFunc) is None]
        select.set("group", exp.Group(expressions=keys) if keys else None)


def _scopes(tree: Any) -> Iterable[Any]:
    from sqlglot.optimizer.scope import traverse_scope

    return list(traverse_scope(tree))
