"""Mutations of a SELECT: small changes, as somebody makes them by mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from autocoder_jupyter.databases.queries import parsed
from autocoder_jupyter.errors import InvalidRequest

_SELECT = re.compile(r"\s*(?:select|with|\()\s", re.IGNORECASE)

Change = tuple[str, str, str]
"""What was changed, into what, and the whole SELECT after that."""


def select_mutants(text: str) -> Iterator[Change]:
    """The changes of a SELECT in the SQL of DuckDB; none of any other text."""
    if not _SELECT.match(text):
        return
    try:
        tree = parsed(text)
    except InvalidRequest:
        return
    for node in list(tree.walk()):
        for new in _others(node):
            was, now = node.sql("duckdb"), new.sql("duckdb")
            copy = tree.copy()
            twin = next(other for other, one in zip(copy.walk(), tree.walk(), strict=True) if one is node)
            if twin is copy:
                yield was, now, now
            else:
                twin.replace(new)
                yield was, now, copy.sql("duckdb")


def _others(node: Any) -> Iterator[Any]:
    """The nodes that may replace one."""
    from sqlglot import exp

    other: Any
    match node:
        case exp.Select():
            yield from _without_parts(node)
        case exp.Join() if node.args.get("on") is not None:
            yield _with(node, side=None if node.side else "LEFT", kind=None)
        case exp.And() | exp.Or():
            yield (exp.Or if isinstance(node, exp.And) else exp.And)(
                this=node.left.copy(), expression=node.right.copy()
            )
            yield from (node.left.copy(), node.right.copy())
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            other = {"LT": exp.LTE, "LTE": exp.LT, "GT": exp.GTE, "GTE": exp.GT}[type(node).__name__]
            yield other(this=node.left.copy(), expression=node.right.copy())
        case exp.EQ() | exp.NEQ() if node.find_ancestor(exp.Join) is None:
            other = exp.NEQ if isinstance(node, exp.EQ) else exp.EQ
            yield other(this=node.left.copy(), expression=node.right.copy())
        case exp.Count():
            yield from _counts(node)
        case exp.Sum() | exp.Avg() | exp.Min() | exp.Max():
            other = {"Sum": exp.Avg, "Avg": exp.Sum, "Min": exp.Max, "Max": exp.Min}[type(node).__name__]
            yield other(this=node.this.copy())
        case exp.Coalesce() | exp.Nullif() | exp.Round() | exp.Abs() | exp.Lower() | exp.Upper() | exp.Trim():
            yield node.this.copy()
        case exp.Not():
            yield node.this.copy()
        case exp.Is() if not isinstance(node.parent, exp.Not):
            yield exp.Not(this=node.copy())
        case exp.Union():
            yield _with(node, distinct=not node.args.get("distinct"))
        case exp.Literal() if not node.is_string and node.name.isdecimal():
            yield exp.Literal.number(int(node.name) + 1)


def _without_parts(select: Any) -> Iterator[Any]:
    """A SELECT without its filter, without the one on groups, without DISTINCT."""
    for part in ("where", "having", "distinct"):
        if select.args.get(part) is not None:
            yield _with(select, **{part: None})


def _counts(count: Any) -> Iterator[Any]:
    """Rows, values and different values, one in place of another."""
    from sqlglot import exp

    if isinstance(count.this, exp.Star):
        return
    if isinstance(count.this, exp.Distinct):
        yield exp.Count(this=count.this.expressions[0].copy())
    else:
        yield exp.Count(this=exp.Distinct(expressions=[count.this.copy()]))
        yield exp.Count(this=exp.Star())


def _with(node: Any, **parts: Any) -> Any:
    other = node.copy()
    for part, value in parts.items():
        other.set(part, value)
    return other
