"""Write a checked query in the dialect of a connection, so that it means the same there.

sqlglot translates the words. What engines understand differently is corrected in the tree before (`for_postgres`,
`for_sqlite`), or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from autocoder_jupyter.databases.functions import FUNCTIONS
from autocoder_jupyter.databases.queries import refused, shown
from autocoder_jupyter.errors import InvalidRequest

if TYPE_CHECKING:
    from autocoder_jupyter.databases.queries import Query

DIALECTS = ("duckdb", "sqlite", "postgres")
"""The dialects whose answers are compared with those of DuckDB in our tests."""

Rule = Callable[[Any], Any]
"""Gives what a node becomes, or None if it stays. Its parts have been through the rules before."""


def written(query: Query, dialect: str) -> str:
    """The text of a query in a dialect.

    Raises:
        InvalidRequest: something has another meaning there.
    """
    from sqlglot.errors import ErrorLevel, SqlglotError

    if dialect not in DIALECTS:
        raise InvalidRequest(
            f"Queries cannot be written for {shown(dialect)}.",
            why="It is not known whether they would give the same answer there.",
            hint="Read the tables into frames, or into DuckDB.",
        )
    tree = query.tree.copy()
    _require_known(tree, dialect)
    if dialect != "duckdb":
        _name_groups(tree, dialect)
    casts = {
        (table.key, column.name): column.type for table in query.tables for column in table.columns if column.is_cast
    }
    tree = _with_casts(tree, casts)
    for rules in _rules(dialect):
        tree = _changed(tree, rules)
    try:
        return str(tree.sql(dialect, comments=False, identify=True, unsupported_level=ErrorLevel.RAISE))
    except SqlglotError as error:
        raise refused(f"it cannot be written for {dialect}.", why=shown(error)) from None


def _rules(dialect: str) -> Iterable[Mapping[str, Rule]]:
    if dialect == "postgres":
        from autocoder_jupyter.databases.for_postgres import RULES

        return (RULES,)
    if dialect == "sqlite":
        from autocoder_jupyter.databases import for_sqlite

        return (for_sqlite.RULES,)
    return ()


def _require_known(tree: Any, dialect: str) -> None:
    for node in tree.walk():
        name = type(node).__name__
        if name in FUNCTIONS and dialect not in FUNCTIONS[name]:
            raise differs(node, dialect)
        if name == "TryCast" and dialect != "duckdb":  # there is none; SQLite would give 0 for a text
            raise differs(node, dialect, "Convert it in pandas, where errors='coerce' gives missing values.")
        if name == "DateDiff" and dialect != "duckdb" and node.args["unit"].name.upper().startswith("WEEK"):
            raise differs(node, dialect, "Count days.")  # DuckDB's versions differ: whole weeks, or Mondays between


def _name_groups(tree: Any, dialect: str) -> None:
    """Write the columns of GROUP BY ALL, which only DuckDB knows."""
    from sqlglot import exp

    for group in list(tree.find_all(exp.Group)):
        if not group.args.get("all"):
            continue
        plain = [each.unalias() for each in group.parent.selects if not each.find(exp.AggFunc)]
        if any(each.find(exp.Window, exp.Subquery) for each in group.parent.selects):
            raise differs(group, dialect, "Name the columns of GROUP BY.")
        named = [each.copy() for each in plain if not isinstance(each, exp.Literal)]
        group.replace(exp.Group(expressions=named)) if named else group.pop()


def _changed(tree: Any, rules: Mapping[str, Rule]) -> Any:
    for node in reversed(list(tree.walk(bfs=True))):
        rule = rules.get(type(node).__name__)
        if rule is None or (other := rule(node)) is None or other is node:
            continue
        other.type = other.type or node.type
        if node is tree:
            return other
        node.replace(other)
    return tree


def _with_casts(tree: Any, casts: Mapping[tuple[tuple[str, str], str], str]) -> Any:
    """The tree in which the database converts the columns that have other types."""
    from sqlglot import exp

    for column in list(tree.find_all(exp.Column)):
        kind = casts.get(column.meta.get("of", ()))
        if kind is not None:
            cast = exp.cast(column.copy(), kind)
            cast.type = cast.to
            cast.meta["is_ours"] = True
            column.replace(cast)
    return tree


# Shared by the rules


def differs(node: Any, dialect: str, hint: str = "") -> InvalidRequest:
    """The error for what would silently mean something else."""
    names = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
    return refused(
        f"{shown(node.sql('duckdb'))} is not supported for {names.get(dialect, dialect)}.",
        why="It could give another answer there than in DuckDB.",
        hint=hint or "Write it in another way, or finish the computation in pandas.",
    )


_FAMILIES = {
    "whole": "TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT UINT128 INT256",
    "decimal": "DECIMAL",
    "float": "FLOAT DOUBLE",
    "text": "VARCHAR TEXT CHAR NCHAR NVARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP TIMESTAMPNTZ DATETIME",
    "moment": "TIMESTAMPTZ TIMESTAMPLTZ",
    "time": "TIME",
    "boolean": "BOOLEAN",
    "interval": "INTERVAL",
    "null": "NULL",
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names.split()}
NUMBERS = frozenset({"whole", "decimal", "float"})
TEMPORAL = frozenset({"date", "timestamp", "moment"})


def family(node: Any) -> str:
    """The family of the type of a node, such as `whole`; "" if it is not known."""
    from sqlglot import exp

    while isinstance(node, (exp.Paren, exp.Alias)):
        node = node.this
    if isinstance(node, exp.Interval):
        return "interval"
    if isinstance(node, exp.Subquery) and node.this.selects:
        return family(node.this.selects[0])
    kind = node.type
    return _FAMILY.get(kind.this.name, "") if kind is not None else ""


def is_literal(node: Any) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Literal) or (isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal))


def count_of(node: Any) -> int | None:
    """The whole number that a node is, if it is written there."""
    from sqlglot import exp

    if isinstance(node, exp.Neg):
        inner = count_of(node.this)
        return None if inner is None else -inner
    return int(node.name) if isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal() else None


def never_zero(node: Any) -> bool:
    """Whether a divisor cannot be zero: a number, or `NULLIF(x, 0)`."""
    from sqlglot import exp

    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    if isinstance(node, exp.Nullif):
        return is_literal(node.expression) and float(node.expression.name or 1) == 0
    return is_literal(node) and not node.is_string and float(node.name) != 0


def call(name: str, *parts: Any) -> Any:
    """A call of a function of the target dialect."""
    from sqlglot import exp

    return exp.Anonymous(this=name, expressions=[_node(part) for part in parts])


def text(value: str) -> Any:
    from sqlglot import exp

    return exp.Literal.string(value)


def number(value: int | str) -> Any:
    from sqlglot import exp

    return exp.Literal.number(value)


def _node(part: Any) -> Any:
    return part.copy() if hasattr(part, "copy") else number(part) if isinstance(part, int) else text(part)


def paren(node: Any) -> Any:
    from sqlglot import exp

    return (
        node.copy() if isinstance(node, (exp.Paren, exp.Column, exp.Literal, exp.Func)) else exp.Paren(this=node.copy())
    )


def cast_to(node: Any, kind: str) -> Any:
    """A cast that is not checked again."""
    from sqlglot import exp

    made = exp.cast(node.copy(), kind)
    made.type = made.to
    made.meta["is_ours"] = True
    return made


COMPARISONS = ("EQ", "NEQ", "GT", "GTE", "LT", "LTE", "NullSafeEQ", "NullSafeNEQ")
ORDERED = frozenset({"GT", "GTE", "LT", "LTE"})


def compared(node: Any, dialect: str, time_of: Callable[[Any, str], Any] = cast_to) -> None:
    """Give a text that is compared with a date the type of the date, and refuse texts beside numbers."""
    from sqlglot import exp

    parts = [each for each in operands(node) if family(each) != "null"]
    families = {family(each) for each in parts}
    if times := families & TEMPORAL:
        kind = "TIMESTAMP" if "timestamp" in times else "TIMESTAMPTZ" if "moment" in times else "DATE"
        for each in parts:
            if isinstance(each, exp.Literal) and each.is_string:
                each.replace(time_of(each, kind))
        families = {family(each) for each in operands(node)} - {"null"}
    numbers = bool(families & NUMBERS)
    if "" in families or len(families - NUMBERS - TEMPORAL) + numbers + bool(families & TEMPORAL) > 1:
        raise differs(node, dialect, "Cast both sides to the same type.")


def operands(node: Any) -> list[Any]:
    """What a comparison compares."""
    from sqlglot import exp

    if isinstance(node, exp.Between):
        return [node.this, node.args["low"], node.args["high"]]
    if isinstance(node, exp.In):
        query = node.args.get("query")
        return [node.this, *node.expressions, *([query] if query is not None else [])]
    if isinstance(node, (exp.Coalesce, exp.Greatest, exp.Least)):
        return [node.this, *node.expressions]
    return [node.this, node.expression]


PLAIN_FORMAT = frozenset("YmdHMSj")
PLAIN_SIGNS = frozenset("-/:. ,_")


def require_plain_format(node: Any, dialect: str) -> str:
    """The format of a `strftime`, if it means the same everywhere."""
    form = node.args.get("format")
    written_form = form.name if is_literal(form) and form.is_string else "%?"
    rest, place = True, 0
    while place < len(written_form):
        if written_form[place] == "%":
            rest = rest and written_form[place + 1 : place + 2] in PLAIN_FORMAT and place + 1 < len(written_form)
            place += 2
        else:
            rest = rest and written_form[place] in PLAIN_SIGNS
            place += 1
    if not rest:
        raise differs(node, dialect, "Use %Y, %m, %d, %H, %M, %S or %j, and signs between them.")
    return str(written_form)
