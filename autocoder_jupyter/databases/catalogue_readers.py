"""How DuckDB, SQLite and PostgreSQL tell what they contain."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from autocoder_jupyter.databases.catalogue import (
    MOST_COLUMNS,
    MOST_TABLES,
    Catalogue,
    CatalogueColumn,
    ForeignKey,
    RowCount,
    TableDraft,
    bounded,
)

Ask = Callable[[str], Iterable[tuple[Any, ...]]]
"""Runs a query of ours and gives its rows."""

MOST_COUNTED = 200
"""Most tables whose rows are counted."""

_TABLES = MOST_TABLES + 1
_COLUMNS = MOST_TABLES * 50

Drafts = dict[tuple[str, str], TableDraft]


def quoted(*names: str) -> str:
    """A name with its schema, as each of these dialects quotes it."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names if name)


def read_catalogue(dialect: str, ask: Ask) -> Catalogue:
    """The catalogue of a connection of one of these dialects."""
    return bounded(list(_READERS[dialect](ask).values()))


# DuckDB

_SAME = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT|FLOAT|DOUBLE|DECIMAL\(\d+, ?\d+\)|VARCHAR|DATE|TIME|BLOB"
    r"|TIMESTAMP|TIMESTAMP WITH TIME ZONE"
)
_NATIVE_TYPES = (  # what has another type in a result
    (re.compile(r"TIMESTAMP_(S|MS|NS)"), "TIMESTAMP"),
    (re.compile(r"UUID|JSON|ENUM\(.*"), "VARCHAR"),
)


def _of_duckdb(ask: Ask) -> Drafts:
    drafts: Drafts = {}
    here = "database_name = current_database() AND NOT internal"
    collated = set[tuple[str, str]]()
    for schema, name, comment, default, sql in ask(
        "SELECT schema_name, table_name, comment, schema_name = current_schema(), sql FROM duckdb_tables() "
        f"WHERE {here} AND NOT temporary ORDER BY 4 DESC, 1, 2 LIMIT {_TABLES}"
    ):
        if _COLLATES.search(sql or ""):
            collated.add((schema, name))
        drafts[schema, name] = TableDraft(name, schema, comment=comment or "", in_default=default)
    views = list(
        ask(
            "SELECT schema_name, view_name, comment, schema_name = current_schema(), sql FROM duckdb_views() "
            f"WHERE {here} AND NOT temporary ORDER BY 4 DESC, 1, 2 LIMIT {_TABLES}"
        )
    )
    is_file = any(
        path for (path,) in ask("SELECT path FROM duckdb_databases() WHERE database_name = current_database()")
    )
    within = _only_of_tables({name for _, name in drafts}, {name: sql for _, name, _, _, sql in views}, ask)
    for schema, name, comment, default, _ in views:
        if is_file and name not in within:  # who made the file would choose what is read here
            continue
        drafts[schema, name] = TableDraft(name, schema, comment=comment or "", in_default=default, is_view=True)
    for schema, name, column, native, nullable, comment in ask(
        "SELECT schema_name, table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns() "
        f"WHERE {here} AND column_index <= {MOST_COLUMNS} ORDER BY 1, 2, column_index LIMIT {_COLUMNS}"
    ):
        if (draft := drafts.get((schema, name))) is not None:
            kind, is_cast = _duckdb_type(native)
            if kind == "VARCHAR" and ((schema, name) in collated or (draft.is_view and collated)):
                kind = ""  # texts that differ may be equal there
            draft.columns.append(CatalogueColumn(column, kind, bool(nullable), comment or "", native, is_cast))
    for schema, name, kind, columns, other, others in ask(
        "SELECT schema_name, table_name, constraint_type, constraint_column_names, referenced_table, "
        "referenced_column_names FROM duckdb_constraints() WHERE database_name = current_database() "
        f"AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') LIMIT {_COLUMNS}"
    ):
        if (draft := drafts.get((schema, name))) is None:
            continue
        if kind == "PRIMARY KEY":
            draft.primary_key = tuple(columns)
        elif other:
            draft.foreign_keys.append(ForeignKey(tuple(columns), schema, other, tuple(others or ())))
    _count(drafts, ask)
    return drafts


def _only_of_tables(tables: Collection[str], views: Mapping[str, str], ask: Ask) -> set[str]:
    """The views that read nothing but tables, and views of this kind: no files, networks, variables or macros."""
    from autocoder_jupyter.databases.queries import view_parts

    own = {name.lower() for (name,) in ask("SELECT function_name FROM duckdb_functions() WHERE NOT internal")}
    parts = {name: view_parts(sql) for name, sql in views.items()}
    allowed = {
        name: found[0]
        for name, found in parts.items()
        if found and not found[1] & own and not any(map(_reaches, found[1]))
    }
    known = {name.lower() for name in tables}
    while more := {name for name, read in allowed.items() if name.lower() not in known and read <= known}:
        known |= {name.lower() for name in more}
    return {name for name in views if name.lower() in known}


def _reaches(function: str) -> bool:
    return bool(re.match(r"read_|parquet_|sniff_|glob$|query|getenv|getvariable|current_setting|nextval", function))


def _duckdb_type(native: str) -> tuple[str, bool]:
    """The type in a result, and whether the value is converted to it."""
    if _SAME.fullmatch(native):
        return native, False
    return next(((kind, True) for pattern, kind in _NATIVE_TYPES if pattern.fullmatch(native)), ("", False))


def _count(drafts: Drafts, ask: Ask) -> None:
    """Count the rows of tables, which takes no time in DuckDB."""
    tables = [draft for draft in drafts.values() if not draft.is_view][:MOST_COUNTED]
    counts = [f"(SELECT count(*) FROM {quoted(draft.schema, draft.name)})" for draft in tables]
    if tables:
        for draft, rows in zip(tables, next(iter(ask(f"SELECT {', '.join(counts)}"))), strict=True):
            draft.rows = RowCount(int(rows), is_exact=True)


# SQLite: a column has no type of its own, only a preference for one

_DECLARED = (
    (re.compile(r"BOOL"), "BOOLEAN"),
    (re.compile(r"DATETIME|TIMESTAMP"), "TIMESTAMP"),
    (re.compile(r"^DATE"), "DATE"),
    (re.compile(r"INT"), "BIGINT"),
    (re.compile(r"CHAR|CLOB|TEXT|JSON|UUID|STRING|ENUM"), "VARCHAR"),
    (re.compile(r"REAL|FLOA|DOUB|DEC|NUM"), "DOUBLE"),
    (re.compile(r"BLOB|BINARY"), "BLOB"),
)
_COLLATES = re.compile(r"\bcollate\b", re.IGNORECASE)


def _of_sqlite(ask: Ask) -> Drafts:
    drafts: Drafts = {}
    entries = list(
        ask(
            "SELECT name, type, coalesce(sql, '') FROM main.sqlite_master WHERE type IN ('table', 'view') "
            f"AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT {_TABLES}"
        )
    )
    any_collates = any(_COLLATES.search(sql) for _, _, sql in entries)
    for name, kind, sql in entries:
        if "VIRTUAL TABLE" in sql[:60].upper():  # its module may do anything when it is read
            continue
        draft = drafts["main", name] = TableDraft(name, "main", is_view=kind == "view")
        text = "'" + name.replace("'", "''") + "'"
        keys: dict[int, str] = {}
        collates = any_collates if kind == "view" else _COLLATES.search(sql)
        try:
            columns_of = list(ask(f"PRAGMA main.table_xinfo({text})"))
        except sqlite3.OperationalError as error:  # a view of what is not there, or calls what may not be called
            if kind != "view" or "interrupted" in str(error):
                raise
            del drafts["main", name]
            continue
        for _, column, native, not_null, _, place, hidden in columns_of:
            if hidden != 1:
                kind_of = "" if collates and _affinity(native) == "VARCHAR" else _affinity(native)
                draft.columns.append(CatalogueColumn(column, kind_of, not (not_null or place), "", native))
            if place:
                keys[place] = column
        draft.primary_key = tuple(keys[place] for place in sorted(keys))
        links: dict[int, list[tuple[str, str, str | None]]] = {}
        for number, _, other, column, target, *_ in ask(f"PRAGMA main.foreign_key_list({text})"):
            links.setdefault(number, []).append((other, column, target))
        for parts in links.values():
            references = tuple(target for _, _, target in parts if target)
            columns = tuple(column for _, column, _ in parts)
            draft.foreign_keys.append(ForeignKey(columns, "main", parts[0][0], references))
    _count_sqlite(drafts, ask)
    return drafts


def _affinity(native: str) -> str:
    upper = native.upper()
    return next((kind for pattern, kind in _DECLARED if pattern.search(upper)), "")


def _count_sqlite(drafts: Drafts, ask: Ask) -> None:
    """The highest row number, which is the number of rows if none was deleted; to count them reads the whole table."""
    for draft in list(drafts.values())[:MOST_COUNTED]:
        if draft.is_view:
            continue
        name = quoted(draft.schema, draft.name)
        few = next(iter(ask(f"SELECT count(*) FROM (SELECT 1 FROM {name} LIMIT {_FEW + 1})")))[0]
        if few <= _FEW:
            draft.rows = RowCount(int(few), is_exact=True)
            continue
        rows = [row[0] for row in ask(f"SELECT max(rowid) FROM {name}")] if not _without_rowid(draft, ask) else []
        if rows and isinstance(rows[0], int):
            draft.rows = RowCount(rows[0])


_FEW = 10_000
_WITHOUT = re.compile(r"\bwithout\s+rowid\b", re.IGNORECASE)


def _without_rowid(draft: TableDraft, ask: Ask) -> bool:
    name = draft.name.replace("'", "''")
    return any(
        _WITHOUT.search(sql or "") for (sql,) in ask(f"SELECT sql FROM main.sqlite_master WHERE name = '{name}'")
    )


# PostgreSQL

_POSTGRES = (
    (re.compile(r"boolean"), "BOOLEAN", False),
    (re.compile(r"smallint"), "SMALLINT", False),
    (re.compile(r"integer"), "INTEGER", False),
    (re.compile(r"bigint"), "BIGINT", False),
    (re.compile(r"real"), "FLOAT", False),
    (re.compile(r"double precision"), "DOUBLE", False),
    (re.compile(r"numeric"), "DOUBLE", True),  # with any number of digits
    (re.compile(r"text|character varying(\(\d+\))?"), "VARCHAR", False),
    (re.compile(r'character(\(\d+\))?|uuid|json|jsonb|name|citext|"char"'), "VARCHAR", True),
    (re.compile(r"date"), "DATE", False),
    (re.compile(r"timestamp(\(\d\))? without time zone"), "TIMESTAMP", False),
    (re.compile(r"timestamp(\(\d\))? with time zone"), "TIMESTAMP WITH TIME ZONE", False),
    (re.compile(r"time(\(\d\))? without time zone"), "TIME", False),
    (re.compile(r"bytea"), "BLOB", False),
)
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_MOST_DIGITS = 38
_OURS = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'"


def _of_postgres(ask: Ask) -> Drafts:
    drafts: Drafts = {}
    for schema, name, kind, comment, rows, default in ask(
        "SELECT n.nspname::text, c.relname::text, c.relkind::text, pg_catalog.obj_description(c.oid, 'pg_class'), "
        "c.reltuples::bigint, pg_catalog.pg_table_is_visible(c.oid) FROM pg_catalog.pg_class c "
        f"JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE {_OURS} AND NOT c.relispartition "
        "AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') "
        "AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT') "
        f"ORDER BY 6 DESC, 1, 2 LIMIT {_TABLES}"
    ):
        count = RowCount(int(rows)) if kind not in "vf" and rows >= 0 else None
        drafts[schema, name] = TableDraft(
            name, schema, comment=comment or "", rows=count, is_view=kind == "v", in_default=default
        )
    for schema, name, column, native, kind, not_null, comment in ask(
        "SELECT n.nspname::text, c.relname::text, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), "
        "t.typtype::text, a.attnotnull, pg_catalog.col_description(c.oid, a.attnum) FROM pg_catalog.pg_attribute a "
        "JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
        f"WHERE {_OURS} AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') "
        "AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') "
        f"ORDER BY 1, 2, a.attnum LIMIT {_COLUMNS}"
    ):
        if (draft := drafts.get((schema, name))) is not None:
            type_, is_cast = ("VARCHAR", True) if kind == "e" else _postgres_type(native)
            draft.columns.append(CatalogueColumn(column, type_, not not_null, comment or "", native, is_cast))
    _read_keys(drafts, ask)
    return drafts


def _read_keys(drafts: Drafts, ask: Ask) -> None:
    def columns(keys: str, table: str) -> str:
        return (
            f"(SELECT array_to_string(array_agg(replace(replace(a.attname::text, '\\', '\\\\'), ',', '\\,') "
            f"ORDER BY k.place), ',') FROM unnest({keys}) WITH ORDINALITY k(number, place) "
            f"JOIN pg_catalog.pg_attribute a ON a.attrelid = {table} AND a.attnum = k.number)"
        )

    for schema, name, kind, own, other_schema, other, others in ask(
        f"SELECT n.nspname::text, c.relname::text, o.contype::text, {columns('o.conkey', 'o.conrelid')}, "
        f"m.nspname::text, f.relname::text, {columns('o.confkey', 'o.confrelid')} FROM pg_catalog.pg_constraint o "
        "JOIN pg_catalog.pg_class c ON c.oid = o.conrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "LEFT JOIN pg_catalog.pg_class f ON f.oid = o.confrelid "
        "LEFT JOIN pg_catalog.pg_namespace m ON m.oid = f.relnamespace "
        f"WHERE o.contype IN ('p', 'f') AND {_OURS} ORDER BY 1, 2, o.conname LIMIT {_COLUMNS}"
    ):
        if (draft := drafts.get((schema, name))) is None:
            continue
        if kind == "p":
            draft.primary_key = _names(own)
        elif other:
            draft.foreign_keys.append(ForeignKey(_names(own), other_schema, other, _names(others)))


def _names(joined: str | None) -> tuple[str, ...]:
    parts = re.findall(r"(?:[^,\\]|\\.)+", joined or "")
    return tuple(re.sub(r"\\(.)", r"\1", part) for part in parts)


def _postgres_type(native: str) -> tuple[str, bool]:
    if found := _NUMERIC.fullmatch(native):
        digits, scale = int(found[1]), int(found[2])
        return (f"DECIMAL({digits},{scale})", False) if digits <= _MOST_DIGITS else ("DOUBLE", True)
    return next(((kind, is_cast) for pattern, kind, is_cast in _POSTGRES if pattern.fullmatch(native)), ("", False))


_READERS: dict[str, Callable[[Ask], Drafts]] = {
    "duckdb": _of_duckdb,
    "sqlite": _of_sqlite,
    "postgres": _of_postgres,
}
