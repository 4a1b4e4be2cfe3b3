from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data.checks import ColumnCheck, Undecided, evaluate
from autocoder_jupyter.data.constraints import (
    ParsedConstraint,
    ParsedConstraints,
    Tables,
    apply,
    constraint_question_text,
    read_constraints,
    tables_of,
)
from autocoder_jupyter.types import ColumnSpec, OutputSpec
from tests.cases import each
from tests.data.conftest import FRAMES

SALES = pd.DataFrame(
    {
        "quantity": [1, 2],
        "unit_price": [1.5, 2.5],
        "status": ["paid", "open"],
        "date": pd.to_datetime(["2024-01-01"] * 2),
        "month": [1, 1],
    }
)
MONTHLY = OutputSpec(
    name="monthly",
    type="DataFrame",
    columns=(ColumnSpec(name="month", dtype="int64"), ColumnSpec(name="Revenue", dtype="float64")),
)
TABLES = tables_of({"sales": SALES}, [MONTHLY])


def read(sentence: str) -> list[dict[str, Any]]:
    reading = read_constraints([sentence], TABLES)
    assert all(check.sentence == sentence for check in reading.checks)
    assert bool(reading.unread) != bool(reading.checks)
    return [
        {key: value for key, value in check.model_dump().items() if value not in (None, ()) and key != "sentence"}
        for check in reading.checks
    ]


@each(
    ("sentence", "expected"),
    [
        ("quantity must be positive", {"column": "quantity", "kind": "greater_than", "value": 0}),
        ("Quantity > 0", {"column": "quantity", "kind": "greater_than", "value": 0}),
        ("quantity must be at least 5", {"column": "quantity", "kind": "at_least", "value": 5}),
        ("quantity is 3 or more", {"column": "quantity", "kind": "at_least", "value": 3}),
        ("quantity must not exceed 1,000", {"column": "quantity", "kind": "at_most", "value": 1000}),
        ("quantity is at most 10.", {"column": "quantity", "kind": "at_most", "value": 10}),
        ("quantity is less than 10", {"column": "quantity", "kind": "less_than", "value": 10}),
        ("unit price between 0 and 10000", {"column": "unit_price", "kind": "between", "low": 0, "high": 10000}),
        (
            "date between 2024-01-01 and 2024-12-31",
            {"column": "date", "kind": "between", "low": "2024-01-01", "high": "2024-12-31"},
        ),
        ("date is after 2020-01-01", {"column": "date", "kind": "greater_than", "value": "2020-01-01"}),
        (
            "status in (paid, open, 'on hold')",
            {"column": "status", "kind": "isin", "values": ("paid", "open", "on hold")},
        ),
        ("quantity is one of 1, 2 or 3", {"column": "quantity", "kind": "isin", "values": (1, 2, 3)}),
        ("status matches /^[a-z]+$/", {"column": "status", "kind": "regex", "pattern": "^[a-z]+$"}),
        ("no nulls in status", {"column": "status", "kind": "not_null"}),
        ("the status column of sales is never missing", {"column": "status", "kind": "not_null"}),
        ("sales.status is unique", {"column": "status", "kind": "unique"}),
    ],
)
def test_a_sentence_about_an_input_is_read(sentence: str, expected: dict[str, Any]) -> None:
    assert read(sentence) == [{"target": "sales", **expected}]


@each(
    ("sentence", "expected"),
    [
        ("revenue is never negative", {"column": "Revenue", "kind": "at_least", "value": 0}),
        ("revenue can't be negative", {"column": "Revenue", "kind": "at_least", "value": 0}),
        ("no negative values in revenue", {"column": "Revenue", "kind": "at_least", "value": 0}),
        ("one row per month", {"column": "month", "kind": "unique"}),
        ("the output has 12 rows", {"kind": "row_count", "value": 12}),
        ("at least 5 rows", {"kind": "min_rows", "value": 5}),
        ("monthly is not empty", {"kind": "min_rows", "value": 1}),
        ("same number of rows as sales", {"kind": "same_rows_as", "value": "sales"}),
    ],
)
def test_a_sentence_about_an_output_is_read(sentence: str, expected: dict[str, Any]) -> None:
    assert read(sentence) == [{"target": "monthly", **expected}]


@each(
    "sentence",
    [
        "revenue is never negative when status is paid",
        "revenue exceeds cost",
        "one row per month and status",
        "the result is sorted by month",
        "unit_price in euros",
        "status is one of the usual suspects",
        "quantity between 0 and 100%",
        "quantity between 10 and 0",
        "at least 5",
        "status matches /[/",
        "weight is positive",
        "",
    ],
)
def test_what_is_not_certain_stays_in_words(sentence: str) -> None:
    assert read(sentence) == []


def test_several_conditions_in_one_sentence_are_all_read() -> None:
    assert [check["column"] for check in read("quantity is positive and unit_price is at most 10")] == [
        "quantity",
        "unit_price",
    ]
    assert [check["column"] for check in read("no nulls in quantity and status")] == ["quantity", "status"]


def test_a_column_of_several_tables_is_checked_in_each() -> None:
    tables = tables_of({"a": SALES, "b": SALES})
    assert [check.target for check in read_constraints(["quantity is positive"], tables).checks] == ["a", "b"]


def test_order_of_samples_loses_nothing() -> None:
    sentences = ["quantity is positive", "weight is positive", "nobody understands this"]
    for samples in ({"a": SALES, "b": pd.DataFrame({"weight": [1]})}, {"b": pd.DataFrame({"weight": [1]}), "a": SALES}):
        reading = read_constraints(sentences, tables_of(samples))
        assert {check.column for check in reading.checks} == {"quantity", "weight"}
        assert reading.unread == ("nobody understands this",)


def test_the_question_names_tables_columns_and_constraints() -> None:
    text = constraint_question_text(["revenue grows"], TABLES)
    assert "1. revenue grows" in text
    assert "- monthly (output): 'month' int64, 'Revenue' float64" in text


def test_an_answer_becomes_checks_and_the_rest_stays_unread() -> None:
    answer = ParsedConstraints(
        constraints=(
            ParsedConstraint(number=1, table="sales", column="quantity", kind="isin", values=(1, 2)),
            ParsedConstraint(number=2, kind="none"),
            ParsedConstraint(number=3, table="sales", column="no such", kind="unique"),
            ParsedConstraint(number=4, table="sales", column="quantity", kind="between", low=1),
            ParsedConstraint(number=9, table="sales", column="quantity", kind="unique"),
            ParsedConstraint(number=5, table="sales", column="status", kind="regex", pattern="["),
            ParsedConstraint(number=6, table="sales", column="date", kind="at_least", value="someday"),
        )
    )
    reading = apply(answer, ["a", "b", "c", "d", "e", "f"], TABLES)
    assert [(check.kind, check.values, check.sentence) for check in reading.checks] == [("isin", (1, 2), "a")]
    assert reading.unread == ("b", "c", "d", "e", "f")


# On real tables


def check(column: str | None, kind: Any, **parameters: Any) -> ColumnCheck:
    return ColumnCheck(target="t", column=column, kind=kind, sentence="a sentence", **parameters)


FRAME = pd.DataFrame(
    {
        "n": [1, -2, None, 4],
        "s": ["a", "b", None, "b"],
        "d": pd.to_datetime(["2024-01-01", "2024-06-01", None, "2025-01-01"]),  # type: ignore[arg-type]
        "z": pd.to_datetime(["2024-01-01", "2024-06-01", None, "2025-01-01"]).tz_localize("UTC"),  # type: ignore[arg-type]
        "mixed": [1, "a", None, [1]],
    }
)


@each(
    ("one", "bad"),
    [
        (check("n", "greater_than", value=1), 2),
        (check("n", "at_least", value=1), 1),
        (check("n", "less_than", value=4), 1),
        (check("n", "at_most", value=4), 0),
        (check("N", "between", low=0, high=4), 1),
        (check("n", "isin", values=(1, 4)), 1),
        (check("s", "isin", values=("a",)), 2),
        (check("s", "regex", pattern="a"), 2),
        (check("s", "not_null"), 1),
        (check("s", "unique"), 1),
        (check("d", "at_least", value="2024-06-01"), 1),
        (check("z", "between", low="2024-01-01", high="2024-12-31"), 1),
    ],
)
def test_violating_rows_are_counted(one: ColumnCheck, bad: int) -> None:
    outcome = evaluate(one, FRAME)
    assert outcome.passed == (bad == 0)
    assert outcome.name == "a sentence"
    assert f"in {bad} of 4 rows" in outcome.message or bad == 0


def test_examples_are_shown_masked_or_not_at_all() -> None:
    mails = pd.DataFrame({"m": ["a@example.org"] * 5})
    assert "<email-1>" in evaluate(check("m", "regex", pattern="x"), mails).message
    assert "for instance" not in evaluate(check("m", "regex", pattern="x"), mails, show_values=False).message


def test_what_cannot_be_compared_fails_with_the_reason() -> None:
    for column in ("s", "mixed", "d"):
        outcome = evaluate(check(column, "greater_than", value=0), FRAME)
        assert not outcome.passed
        assert "cannot be compared" in outcome.message
    assert "has no column" in evaluate(check("nope", "unique"), FRAME).message


def test_an_index_level_counts_as_a_column() -> None:
    assert not evaluate(check("n", "at_least", value=0), FRAME.set_index("n")).passed


def test_numbers_of_rows_are_checked() -> None:
    assert evaluate(check(None, "row_count", value=4), FRAME).passed
    assert not evaluate(check(None, "min_rows", value=5), FRAME).passed
    assert evaluate(check(None, "max_rows", value=4), FRAME).passed
    assert evaluate(check(None, "same_rows_as", value="o"), FRAME, others={"o": FRAME}).passed
    assert (
        "has 4 rows, o has 2"
        in evaluate(check(None, "same_rows_as", value="o"), FRAME, others={"o": FRAME.head(2)}).message
    )


@each("any_frame", FRAMES.values(), ids=[*FRAMES])
def test_every_kind_of_check_survives_every_table(any_frame: pd.DataFrame) -> None:
    for label in any_frame.columns[:3]:
        for kind in ("greater_than", "regex", "isin", "not_null", "unique"):
            evaluate(check(str(label), kind, value=0, pattern="a", values=("a", 1)), any_frame)


def test_a_pattern_that_doubles_its_work_with_each_character_ends_at_once() -> None:
    hostile = pd.DataFrame({"s": ["a" * 60 + "b"] * 1_000})
    assert not evaluate(check("s", "regex", pattern="(a|a)+$"), hostile).passed
    assert not evaluate(check("s", "regex", pattern="(a+)+$"), hostile).passed


@each("pattern", [r"\w+$", "(?i)ä", r"(a)\1", "(?=a)"])
def test_a_pattern_that_may_mean_something_else_here_is_left_to_the_sandbox(pattern: str) -> None:
    with pytest.raises(Undecided):
        evaluate(check("s", "regex", pattern=pattern), pd.DataFrame({"s": ["ä", "a"]}))


def test_a_pattern_of_plain_characters_is_decided_in_every_language() -> None:
    frame = pd.DataFrame({"s": ["Zürich", "Genève"]})
    assert evaluate(check("s", "regex", pattern="[A-Zü].*[hè]"), frame).passed
    assert not evaluate(check("s", "regex", pattern="Z"), frame).passed


@pytest.mark.parametrize("pattern", ["a" * 1_001, "a{99999999999}", "["])
def test_a_pattern_that_cannot_be_compiled_is_no_condition(pattern: str) -> None:
    answer = ParsedConstraints(
        constraints=(ParsedConstraint(number=1, table="t", column="s", kind="regex", pattern=pattern),)
    )
    assert not apply(answer, ("s is fine",), Tables({"t": {"s": "str"}}, ("t",))).checks


def test_a_column_far_to_the_right_is_told_where_a_constraint_names_it() -> None:
    wide = pd.DataFrame([[0] * 300], columns=[f"c{i}" for i in range(300)])
    text = constraint_question_text(["c250 grows by the month"], tables_of({"t": wide}))
    assert "'c250' int64" in text
    assert "and 200 more" in text
