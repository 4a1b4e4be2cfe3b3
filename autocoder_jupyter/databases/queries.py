"""Check a query that a model or a person wrote: one SELECT over known tables, with known functions.

It is parsed as DuckDB's dialect, and each node of its tree must be known (`functions`). Then DuckDB itself binds it to
empty tables with the same columns, which finds what the tree does not tell, and the types of its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from autocoder_jupyter.databases.catalogue import CatalogueTable
from autocoder_jupyter.databases.functions import FUNCTIONS, PARTS, STRUCTURE, TYPES, UNITS
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.untrusted.visible import visible

CHARACTERS = 20_000
TOKENS = 4_000
NESTING = 40
REPEATED = 12
DEPTH = 200
"""Most characters and tokens of a query, brackets and words inside each other, equal words in a row, and levels of its
tree. Parser and writer are recursive."""

JOINS = 30
"""Most tables of a query, counted as often as they stand in it."""

_SHOWN = 80


@dataclass(frozen=True)
class QueryColumn:
    """A column of a result, with its type in DuckDB."""

    name: str
    type: str


@dataclass(frozen=True)
class Query:
    """A query that was checked.

    Args:
        text: as it was written.
        tables: what it reads.
        columns: its result.
        tree: the checked tree with resolved names; it is not changed.
    """

    text: str
    tables: tuple[CatalogueTable, ...]
    columns: tuple[QueryColumn, ...]
    tree: Any

    def reads(self) -> dict[tuple[str, str], set[str]]:
        """The columns that it reads, by the key of their table."""
        from sqlglot import exp

        found: dict[tuple[str, str], set[str]] = {table.key: set() for table in self.tables}
        for column in self.tree.find_all(exp.Column):
            if (of := column.meta.get("of")) is not None:
                found[of[0]].add(of[1])
        return found

    def to(self, dialect: str) -> str:
        """The same query in another dialect.

        Raises:
            InvalidRequest: it would not be the same there.
        """
        from autocoder_jupyter.databases.writing import written

        return written(self, dialect)


def checked(sql: str, tables: Iterable[CatalogueTable]) -> Query:
    """A query over these tables, if it does nothing else than read them.

    Raises:
        InvalidRequest: it is not one SELECT, or names a table, column, function or anything else that is not known.
    """
    from autocoder_jupyter.databases.binding import bound, resolved

    tree = parsed(sql)
    by_name = _TableNames(tables)
    ctes = _check_ctes(tree, by_name)
    _check_nodes(tree)
    used = _resolve_tables(tree, by_name, ctes)
    columns = bound(tree, used)
    return Query(sql, tuple(used), columns, resolved(tree, used, columns))


def refused(what: str, *, why: str = "", hint: str = "") -> InvalidRequest:
    """The error for a query that is not sent."""
    return InvalidRequest(f"The query was not accepted: {what}", why=why, hint=hint)


def shown(text: object) -> str:
    """A part of a query for a message."""
    one_line = visible(" ".join(str(text).split()))
    return one_line if len(one_line) <= _SHOWN else f"{one_line[: _SHOWN - 1]}…"


# Parsing

_OPENING, _CLOSING = (
    frozenset({"L_PAREN", "L_BRACKET", "L_BRACE", "CASE"}),
    frozenset({"R_PAREN", "R_BRACKET", "R_BRACE", "END"}),
)
_ONE = "Write one SELECT, which may begin with WITH and use UNION, INTERSECT or EXCEPT."


def parsed(sql: str) -> Any:
    """The tree of one SELECT.

    Raises:
        InvalidRequest: it is none, or too long.
    """
    sqlglot = _sqlglot()
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if len(sql) > CHARACTERS:
        raise refused(f"it has {len(sql):,} characters; the most are {CHARACTERS:,}.", hint="Write a shorter one.")
    if bad := next((sign for sign in sql if sign in "\0\ufeff" or "\ud800" <= sign <= "\udfff"), None):
        raise refused(f"it has the character {bad!a}.", hint="Leave it out.")
    try:
        tokens = sqlglot.tokenize(sql, read="duckdb")
        _require_moderate(tokens)
        statements = [tree for tree in sqlglot.parse(sql, read="duckdb") if tree is not None]
    except SqlglotError as error:
        raise refused("it cannot be parsed as SQL of DuckDB.", why=shown(plain(str(error))), hint=_ONE) from None
    except RecursionError:
        raise refused("its parts are nested too deeply.", hint="Use WITH for its parts.") from None
    if len(statements) != 1:
        raise refused(f"it has {len(statements)} statements.", hint=_ONE)
    tree = statements[0]
    while (
        isinstance(tree, exp.Subquery)
        and not tree.alias
        and not any(value for part, value in tree.args.items() if part != "this")
    ):
        tree = tree.this
        tree.pop() if tree.parent else None
    if not isinstance(tree, (exp.Select, exp.Union, exp.Intersect, exp.Except)):
        raise refused(f"it is no SELECT but {_kind(tree)}.", hint=_ONE)
    for node in list(tree.walk()):
        node.comments = None
        if isinstance(node, (exp.Like, exp.ILike)) and node.args.get("negate"):  # of NOT LIKE
            node.set("negate", None)
            whole = node.parent if isinstance(node.parent, exp.Escape) else node
            whole.replace(exp.Not(this=exp.Paren(this=whole.copy())))
    return tree


def view_parts(sql: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The names of the tables and of the unusual functions of a view of DuckDB; None if it reads something else."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = _sqlglot().parse_one(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return None
    query = tree.expression if isinstance(tree, exp.Create) else None
    if query is None:
        return None
    ctes = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    tables = list(query.find_all(exp.Table))
    if any(not isinstance(table.this, exp.Identifier) or table.catalog for table in tables):
        return None
    names = (one.name for one in query.find_all(exp.Func) if isinstance(one, (exp.Anonymous, exp.AnonymousAggFunc)))
    known = (one.sql_name() for one in query.find_all(exp.Func) if not isinstance(one, exp.Anonymous))
    functions = frozenset(name.lower() for name in (*names, *known))
    return frozenset(table.name.lower() for table in tables) - ctes, functions


def _sqlglot() -> Any:
    try:
        import sqlglot
    except ImportError:
        raise InvalidRequest(
            "Queries need the library sqlglot, which is not installed.",
            hint='Install it: %pip install "autocoder-jupyter[databases]"',
        ) from None
    return sqlglot


def _require_moderate(tokens: Sequence[Any]) -> None:
    if len(tokens) > TOKENS:
        raise refused(f"it has {len(tokens):,} words and signs; the most are {TOKENS:,}.", hint="Write a shorter one.")
    depth = repeated = 0
    before = ""
    for token in tokens:
        kind = token.token_type.name
        depth += (kind in _OPENING) - (kind in _CLOSING)
        repeated = repeated + 1 if kind == before else 1
        before = kind
        if depth > NESTING or repeated > REPEATED:
            raise refused("its parts are nested too deeply.", hint="Use WITH for its parts.")


def plain(text: str) -> str:
    """A message of the parser without the escape sequences for a terminal."""
    return text.replace("\x1b[4m", "").replace("\x1b[0m", "").partition("\n")[0]


def _kind(tree: Any) -> str:
    return str(getattr(tree, "key", type(tree).__name__)).upper()


# Nodes


def _check_nodes(tree: Any) -> None:
    from sqlglot import exp

    level = {id(tree): 0}
    for node in tree.walk(bfs=True):
        level[id(node)] = level.get(id(node.parent), 0) + 1
        if level[id(node)] > DEPTH:
            raise refused("its parts are nested too deeply.", hint="Use WITH for its parts.")
        name = type(node).__name__
        if name in STRUCTURE:
            _check_parts(node, name)
        elif name not in FUNCTIONS:
            raise _unknown(node)
        match node:
            case exp.With() if node.args.get("recursive"):
                raise refused("it is recursive.", hint="Write it without RECURSIVE, or finish it in pandas.")
            case exp.DataType():
                _check_type(node)
            case exp.Interval() if not isinstance(node.args.get("unit"), exp.Var):
                raise refused(
                    f"an interval without a unit: {shown(node.sql('duckdb'))}.", hint="Write INTERVAL 3 MONTH."
                )
            case exp.Var():
                _check_word(node)
            case exp.Literal() if not node.is_string and not _is_number(node.name):
                raise refused(f"the number {shown(node.name)}.", hint="Write digits only.")
            case exp.Limit() | exp.Offset() if not _is_count(node.expression):
                raise refused("LIMIT and OFFSET must be whole numbers.", hint="Write LIMIT 10.")
            case exp.Limit() | exp.Offset() if node.parent is None or not node.parent.args.get("order"):
                raise refused("LIMIT or OFFSET without ORDER BY.", hint="Say by ORDER BY which rows are meant.")
            case exp.Ordered() if isinstance(node.this, exp.Var):
                raise refused("ORDER BY ALL.", hint="Name the columns.")


def _check_parts(node: Any, name: str) -> None:
    known = STRUCTURE[name]
    for part, value in node.args.items():
        if value in (None, False, [], "") or part in known:
            continue
        if name == "With" and part == "recursive":
            continue
        raise refused(
            f"{_part_words(name, part)} is not supported.",
            why="Only what reads tables, and means the same in each database, is sent.",
            hint="Write it without that.",
        )
    if name == "Join" and (node.args.get("method") or str(node.args.get("kind") or "").upper() in _JOIN_KINDS):
        raise refused(
            "this kind of join is not supported.", hint="Use JOIN, LEFT JOIN, FULL JOIN or CROSS JOIN with ON."
        )


_JOIN_KINDS = frozenset({"ASOF", "POSITIONAL", "STRAIGHT", "SEMI", "ANTI", "APPLY", "LATERAL"})
_PART_WORDS = {
    "into": "SELECT INTO",
    "locks": "FOR UPDATE",
    "sample": "USING SAMPLE",
    "pivots": "PIVOT",
    "catalog": "A table of another database",
    "this": "A part",
    "laterals": "LATERAL",
    "replace": "REPLACE",
}


def _part_words(name: str, part: str) -> str:
    return _PART_WORDS.get(part, f"{part.strip('_').upper()} in {name.upper()}")


def _unknown(node: Any) -> InvalidRequest:
    from sqlglot import exp

    if isinstance(node, (exp.Insert, exp.Update, exp.Delete, exp.DDL, exp.Command, exp.Drop, exp.Alter)):
        return refused(f"it contains {_kind(node)}.", why="Only what reads is sent.", hint=_ONE)
    if isinstance(node, (exp.Placeholder, exp.Parameter, exp.PositionalColumn)):
        return refused("it has a parameter.", hint="Write the value, or the name of the column.")
    if isinstance(node, exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        return refused(
            f"the function {shown(name).lower()} is not supported.",
            why="Only functions that compute, and mean the same in each database, are sent.",
            hint="Use another one, or finish the computation in pandas.",
        )
    return refused(f"{_kind(node)} is not supported.", hint="Write it in another way, or finish it in pandas.")


def _check_type(node: Any) -> None:
    name = getattr(node.this, "name", str(node.this))
    if name not in TYPES or (node.expressions and name != "DECIMAL"):
        if name in ("VARCHAR", "TEXT", "TIMESTAMP"):
            raise refused(f"the type {shown(node.sql('duckdb'))}.", hint="Leave out its length.")
        raise refused(f"the type {shown(node.sql('duckdb'))}.", hint=f"Use one of {', '.join(sorted(TYPES))}.")


def _check_word(node: Any) -> None:
    word, parent = node.name.upper(), type(node.parent).__name__
    allowed = PARTS if parent == "Extract" else UNITS
    if word.removesuffix("S") not in allowed and word not in allowed:
        raise refused(f"the word {shown(node.name)}.", hint=f"Use one of {', '.join(sorted(allowed))}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and len(text) <= 40 and "_" not in text and text.lower() not in ("nan", "inf", "infinity")


def _is_count(node: Any) -> bool:
    return type(node).__name__ == "Literal" and not node.is_string and node.name.isdecimal() and len(node.name) < 16


# Tables


class _TableNames:
    """The tables by the names that a query may use, as DuckDB compares them: without case."""

    def __init__(self, tables: Iterable[CatalogueTable]) -> None:
        self.tables = tuple(tables)
        self._by_name: dict[tuple[str, str], list[CatalogueTable]] = {}
        for table in self.tables:
            self._by_name.setdefault((table.schema.lower(), table.name.lower()), []).append(table)
            if table.in_default:
                self._by_name.setdefault(("", table.name.lower()), []).append(table)

    def find(self, schema: str, name: str) -> CatalogueTable:
        found = self._by_name.get((schema.lower(), name.lower()), ())
        if len(found) == 1:
            return found[0]
        full = ".".join(filter(None, (schema, name)))
        if found:
            raise refused(
                f"{shown(full)} may be {' or '.join(shown(table.shown) for table in found[:3])}.",
                why="Their names differ in case only, which DuckDB does not distinguish.",
                hint="Use another table, or a view with another name.",
            )
        known = ", ".join(shown(table.shown) for table in self.tables[:12])
        raise refused(f"there is no table {shown(full)}.", hint=f"Tables are {known}." if known else "")


def _check_ctes(tree: Any, names: _TableNames) -> frozenset[str]:
    from sqlglot import exp

    ctes = [cte.alias.lower() for cte in tree.find_all(exp.CTE)]
    own = {table.name.lower() for table in names.tables}
    for name in ctes:
        if name in own or ctes.count(name) > 1:
            raise refused(
                f"the name {shown(name)} in WITH stands for more than one table.", hint="Give each a name of its own."
            )
    return frozenset(ctes)


def _resolve_tables(tree: Any, names: _TableNames, ctes: frozenset[str]) -> list[CatalogueTable]:
    """Give each table its schema, and an alias if it has none."""
    from sqlglot import exp

    used: dict[tuple[str, str], CatalogueTable] = {}
    places = list(tree.find_all(exp.Table))
    if len(places) > JOINS:
        raise refused(f"it reads {len(places)} tables; the most are {JOINS}.", hint="Write a shorter one.")
    for node in places:
        if not isinstance(node.this, exp.Identifier):
            raise _unknown(node.this)
        if not node.db and node.name.lower() in ctes:
            continue
        table = names.find(node.db, node.name)
        used[table.key] = table
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        node.set("this", exp.to_identifier(table.name, quoted=True))
        node.set("db", exp.to_identifier(table.schema, quoted=True))
    return list(used.values())
