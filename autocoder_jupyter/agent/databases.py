"""Databases among the data of a request: a connection is replaced by samples of the tables that the request names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from autocoder_jupyter.agent.rules import RuleFile, rules_about
from autocoder_jupyter.concurrency import background
from autocoder_jupyter.concurrency.awaited import Awaited, report_progress
from autocoder_jupyter.databases.catalogue import Catalogue, CatalogueTable, chosen
from autocoder_jupyter.databases.connections import SAMPLE_ROWS, is_connection, opened
from autocoder_jupyter.databases.connections import Database as Connected
from autocoder_jupyter.engine.queries import as_frame, require_libraries, with_query
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.request import Request
from autocoder_jupyter.settings.parameters import is_input_name
from autocoder_jupyter.types import DatabaseColumn, DatabaseTable, InputSpec, SampledDatabase
from autocoder_jupyter.types.records import Drawn

MOST_TABLES = 8
"""Tables of a database that are inputs. Others are named."""

SECONDS = 60.0
"""How long a cell waits for the catalogue and the samples."""


def connected(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, with the database of each connection. SQLite opens one only on the caller's thread.

    Raises:
        InvalidRequest: a connection is closed, or no queries can be written for its database.
    """
    return {name: opened(value) if is_connection(value) else value for name, value in values.items()}


async def with_tables(
    values: Mapping[str, Any], texts: Iterable[str], rules: Callable[[], Iterable[RuleFile]]
) -> tuple[dict[str, Any], tuple[SampledDatabase, ...]]:
    """Values by name, with samples of tables in place of each database; and the databases that these are of.

    Args:
        values: the data of a request, with the databases of its connections.
        texts: those of the request, which say which tables are meant.
        rules: the house rules that may be used. Those that apply to the texts say it too.

    Raises:
        InvalidRequest: a database cannot be read, has no table that fits, or there are two of a name.
    """
    connections = {name: value for name, value in values.items() if isinstance(value, Connected)}
    if not connections:
        return dict(values), ()
    if len(connections) > 1:
        raise InvalidRequest(
            f"The request refers to {len(connections)} databases: {', '.join(connections)}.",
            why="A query is answered by one database.",
            hint="Refer to one of them, and pass what you need of the other as a DataFrame.",
        )
    (name, connection), said = next(iter(connections.items())), list(texts)
    said += [rule.text for rule in rules_about(said, {}, rules())]
    report_progress(Awaited(name, lambda: "reads its catalogue and samples", "interrupt to stop it"))
    try:
        async with asyncio.timeout(SECONDS):
            found, database = await background.call_blocking(lambda: _sampled(name, connection, said))
    except TimeoutError as error:
        raise InvalidRequest(
            f"There was no sample of {name} after {SECONDS:g} s.",
            why="Its catalogue is read, then some rows of the tables that the request names.",
            hint="Query what you need yourself, and pass the DataFrame.",
        ) from error
    others = {other: value for other, value in values.items() if other != name}
    if both := sorted(others.keys() & found.keys()):
        raise InvalidRequest(
            f"{both[0]} is a table of {name} and a sample of its own.", hint="Give the sample another name."
        )
    return {**others, **found}, (database,)


def with_databases(request: Request) -> Request:
    """A request with the tables of its databases as optional inputs: its function needs some of them."""
    if not request.databases:
        return request
    known = {spec.name for spec in request.inputs}
    tables = (name for database in request.databases for name in database.tables if name not in known)
    inputs = (*request.inputs, *(InputSpec(name=name, type="DataFrame", required=False) for name in tables))
    return replace(request, inputs=inputs, helpers=with_query(request.helpers, request.databases[0]))


def _sampled(name: str, database: Connected, words: list[str]) -> tuple[dict[str, Any], SampledDatabase]:
    from autocoder_jupyter.data.capture import Origin, with_origin

    require_libraries()
    catalogue = database.catalogue()
    usable = Catalogue(tuple(table for table in catalogue.tables if table.in_default and is_input_name(table.name)))
    picked = chosen(usable, words, most=MOST_TABLES)
    if not picked.tables:
        raise _nothing_fits(name, catalogue)
    frames, tables = {}, {}
    for table in picked.tables:
        rows = database.sample(table, SAMPLE_ROWS + 1)
        frame, is_whole = as_frame(table.name, rows.slice(0, SAMPLE_ROWS)), rows.num_rows <= SAMPLE_ROWS
        count = rows.num_rows if is_whole else table.rows.rows if table.rows else None
        drawn = None
        if count is not None and not is_whole:
            drawn = Drawn(kind=f"{database.dialect} table", rows=len(frame), of=max(count, len(frame) + 1))
        frames[table.name] = with_origin(frame, Origin("", drawn))
        tables[table.name] = _record(table, count, is_whole)
    given = set(tables)
    others = tuple(table.shown for table in catalogue.tables if table.shown not in given)
    return frames, SampledDatabase(name=name, dialect=database.dialect, tables=tables, others=others)


def _record(table: CatalogueTable, rows: int | None, is_whole: bool) -> DatabaseTable:
    return DatabaseTable(
        home=table.schema,
        columns=tuple(DatabaseColumn(name=one.name, type=one.type, comment=one.comment) for one in table.columns),
        keys=tuple(_keys(table)),
        comment=table.comment,
        rows=rows,
        is_whole=is_whole,
    )


def _keys(table: CatalogueTable) -> Iterator[str]:
    if table.primary_key:
        yield f"primary key: {', '.join(table.primary_key)}"
    for key in table.foreign_keys:
        yield f"{', '.join(key.columns)} refers to {key.table}.{', '.join(key.references)}"


def _nothing_fits(name: str, catalogue: Catalogue) -> InvalidRequest:
    if not catalogue.tables:
        return InvalidRequest(f"{name} has no tables that this connection may read.")
    shown = ", ".join(table.shown for table in catalogue.tables[:20])
    return InvalidRequest(
        f"The request names none of the tables of {name} that can be passed.",
        why="A table is chosen by its name, columns and comments; it must be one that a query finds by its name alone.",
        hint=f"Name those that it is about. There are: {shown}{' …' if len(catalogue.tables) > 20 else ''}.",
    )
