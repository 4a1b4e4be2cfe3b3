from __future__ import annotations

from decimal import Decimal

import pandas as pd

from autocoder_jupyter.data.overview import EXCERPT_COLUMNS, EXCERPT_ROWS, excerpt


def test_the_first_rows_as_short_texts() -> None:
    frame = pd.DataFrame(
        {"day": pd.to_datetime(["2024-01-01"] * 30), "x": [1 / 3] * 30, "n": [7] * 30, "long": ["y" * 500] * 30}
    )
    found = excerpt(frame)
    assert found.headings == ("day", "x", "n", "long") and len(found.rows) == EXCERPT_ROWS and found.cut
    assert found.rows[0][:3] == ("2024-01-01", "0.3333", "7") and len(found.rows[0][3]) < 80
    assert found.numeric == (False, True, True, False) and found.size == "30 rows × 4 columns"


def column(*values: float | None) -> list[str]:
    return [row[0] for row in excerpt(pd.Series(values, dtype="float64")).rows]


def test_numbers_have_as_many_digits_as_a_person_reads() -> None:
    values = [246.05138012618298, 1234567.891234, 1e300 / 3, 0.1 + 0.2, 2.0, -0.000012345678, 12345.678]
    told = [row[0] for row in excerpt(pd.Series(values)).rows]
    assert told == ["246.051", "1234567.89", "3.33333e+299", "0.3", "2", "-1.23457e-05", "12345.68"]
    assert column(18767.21, 20000, None, 3.456) == ["18767.21", "20000.00", "–", "3.46"]
    assert column(0.0782650123, 0.0797, 0) == ["0.07827", "0.07970", "0.00000"]
    assert column(1.0, 200.0) == ["1", "200"] and column(0.5, 1.25) == ["0.50", "1.25"]
    assert column(1234.5, 0.00012) == ["1234.5000", "0.0001"]
    assert column(1000.5, float("inf"), -0.25) == ["1000.50", "inf", "-0.25"]
    assert column(5e-324, 1.5) == ["4.94066e-324", "1.5"] and column(0.0, -0.0) == ["0", "0"]
    assert column(123456789012345.678, 0.1) == ["123456789012345.67", "0.10"]
    assert excerpt(pd.Series(values[4:5], dtype="float32")).rows == (("2",),)
    assert excerpt(pd.Series([0.1], dtype="Float32")).rows == (("0.1",),)
    assert excerpt(pd.DataFrame({"n": [1]}, index=[1 / 3])).rows == (("0.333333", "1"),)
    assert excerpt(pd.Series([1234567890123])).rows == (("1234567890123",),)
    assert excerpt(pd.Series(["1.23456789 is text", "1.5.2024"])).rows == (("1.23456789 is text",), ("1.5.2024",))


def test_a_number_is_masked_before_it_is_rounded() -> None:
    card = 4111111111111111.5
    seen: list[str] = []
    excerpt(pd.Series([card]), mask=lambda texts: seen.extend(texts) or texts)
    assert seen[0] == "4111111111111111.5"
    assert excerpt(pd.Series([1.23456789]), mask=lambda texts: ["1.234567[masked]"]).rows == (("1.234567[masked]",),)


def test_an_index_that_says_something_comes_first() -> None:
    assert excerpt(pd.DataFrame({"n": [1]}, index=["a"])).headings == ("index", "n")
    assert excerpt(pd.DataFrame({"n": [1]}, index=pd.Index(["a"], name="key"))).headings == ("key", "n")
    assert excerpt(pd.Series([1.0, None], name="s")).rows == (("1",), ("–",))


def test_each_level_of_an_index_is_a_column_and_the_levels_of_a_heading_are_one_line() -> None:
    days = pd.to_datetime(["2024-01-01", "2024-02-01", "2024-01-01"])
    sales = pd.DataFrame({"region": ["N", "N", "S"], "day": days, "revenue": [1234.567, 2.0, 3.25], "n": [1, 2, 3]})
    table = excerpt(sales.pivot_table(index=["region", "day"], values=["revenue", "n"], aggfunc=["sum", "mean"]))
    assert table.headings == ("region", "day", "sum / n", "sum / revenue", "mean / n", "mean / revenue")
    assert [row[:4] for row in table.rows] == [
        ("N", "2024-01-01", "1", "1234.57"),
        ("", "2024-02-01", "2", "2.00"),
        ("S", "2024-01-01", "3", "3.25"),
    ]
    assert table.numeric == (False, False, True, True, True, True)
    unnamed = pd.DataFrame([[1, 2]], index=pd.MultiIndex.from_tuples([("a", 1)]), columns=pd.MultiIndex.from_tuples(
        [("region", ""), ("sum", 2024)]))  # fmt: skip
    assert excerpt(unnamed).headings == ("", "", "region", "sum / 2024")
    assert excerpt(unnamed, mask=lambda texts: [f"<{text}>" for text in texts]).rows == (("<a>", "<1>", "<1>", "<2>"),)
    deep = pd.DataFrame({"n": [1]}, index=pd.MultiIndex.from_tuples([tuple(range(30))]))
    assert len(excerpt(deep).headings) == EXCERPT_COLUMNS + 1 and excerpt(deep).cut


def test_decimals_are_numbers() -> None:
    prices = [Decimal("1.123456789"), None, Decimal("1022.50")]
    table = excerpt(pd.DataFrame({"price": prices, "mixed": [Decimal(1), "a", "b"]}))
    assert [row[0] for row in table.rows] == ["1.12", "–", "1022.50"] and table.numeric == (True, False)


def test_small_and_empty_and_wide_tables() -> None:
    assert not excerpt(pd.DataFrame({"n": [1]})).cut
    assert excerpt(pd.DataFrame()).rows == () and excerpt(pd.DataFrame()).size == "0 rows × 0 columns"
    wide = excerpt(pd.DataFrame([[0] * (EXCERPT_COLUMNS + 3)]))
    assert wide.cut and len(wide.headings) == EXCERPT_COLUMNS
    assert excerpt(pd.DataFrame([[1, 2]], columns=["a", "a"])).rows == (("1", "2"),)
