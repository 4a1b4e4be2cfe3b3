"""Mutations of the SELECTs of a function."""

from __future__ import annotations

import pytest

from autocoder_jupyter.engine.evidence.mutants import mutants
from autocoder_jupyter.engine.evidence.sql_mutants import select_mutants


@pytest.mark.parametrize(
    ("select", "other"),
    [
        ("SELECT a FROM t JOIN u ON t.i = u.i", "SELECT a FROM t LEFT JOIN u ON t.i = u.i"),
        ("SELECT a FROM t LEFT JOIN u ON t.i = u.i", "SELECT a FROM t JOIN u ON t.i = u.i"),
        ("SELECT a FROM t WHERE a < 3", "SELECT a FROM t WHERE a <= 3"),
        ("SELECT a FROM t WHERE a < 3", "SELECT a FROM t WHERE a < 4"),
        ("SELECT a FROM t WHERE a < 3", "SELECT a FROM t"),
        ("SELECT a FROM t WHERE a > 1 AND b = 2", "SELECT a FROM t WHERE b = 2"),
        ("SELECT COUNT(a) AS n FROM t", "SELECT COUNT(DISTINCT a) AS n FROM t"),
        ("SELECT COUNT(DISTINCT a) AS n FROM t", "SELECT COUNT(a) AS n FROM t"),
        ("SELECT COUNT(a) AS n FROM t", "SELECT COUNT(*) AS n FROM t"),
        ("SELECT SUM(COALESCE(a, 0)) AS n FROM t", "SELECT SUM(a) AS n FROM t"),
        ("SELECT a FROM t WHERE a IS NULL", "SELECT a FROM t WHERE NOT a IS NULL"),
        ("SELECT a FROM t UNION ALL SELECT a FROM u", "SELECT a FROM t UNION SELECT a FROM u"),
        ("WITH s AS (SELECT DISTINCT a FROM t) SELECT a FROM s", "WITH s AS (SELECT a FROM t) SELECT a FROM s"),
    ],
)
def test_a_select_is_changed(select: str, other: str) -> None:
    assert other in [whole for _, _, whole in select_mutants(select)]


def test_other_texts_and_what_is_no_select_are_left_alone() -> None:
    for text in ("select one", "SELECT FROM WHERE", "DROP TABLE t", "with care", "SELECT a FROM t; SELECT b FROM t"):
        assert list(select_mutants(text)) == []


def test_the_change_of_a_function_is_shown_as_the_part_of_its_select() -> None:
    code = 'def run(t=None):\n    return query("""\nSELECT SUM(a) AS n\nFROM t\nWHERE a < 3""", t=t)\n'
    found = mutants(code)
    assert ("a < 3", "a <= 3", 2) in [(one.was, one.now, one.line) for one in found]
    assert all(compile(one.code, "x", "exec") for one in found)
