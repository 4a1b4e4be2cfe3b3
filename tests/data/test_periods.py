"""Tables whose columns are periods: a function that finds them itself is not refused next year."""

from __future__ import annotations

import re
import textwrap
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data.columns_read import EVERY_COLUMN, ColumnsRead, columns_read
from autocoder_jupyter.data.drift import (
    check_drift,
    conversions,
    remaining_differences,
    restore_dtypes,
    unread_drift,
)
from autocoder_jupyter.data.periods import period_of
from autocoder_jupyter.data.readers import read_table
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.tasks.command_line import recorded_tables
from autocoder_jupyter.tasks.script_parts import _cli_fitted, _cli_table
from autocoder_jupyter.types import InputSpec
from tests.cases import each

WIDE = InputSpec(name="wide", type="DataFrame")
FINDS = "years = [c for c in wide.columns if str(c).isdigit()]\nreturn wide.melt('region', years)"


def reads_of(body: str, more: str = "") -> ColumnsRead:
    return columns_read(f"{more}\ndef run(wide):\n{textwrap.indent(textwrap.dedent(body), '    ')}", [WIDE])


def wide(*periods: Any, of: Any = 1, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"region": ["north", "south"], **{period: [of, of] for period in periods}, **more})


def refused(body: str, then: pd.DataFrame, now: pd.DataFrame, more: str = "") -> str | None:
    return check_drift("wide", now, shape_of(then), reads_of(body, more))


SERIES: list[list[Any]] = [
    ["2019", "2020", "2021", "2022"],
    [2019, 2020, 2021, 2022],
    [2019.0, 2020.0, 2021.0, 2022.0],
    ["sales_2019", "sales_2020", "sales_2021", "sales_2022"],
    ["2019-11", "2019-12", "2020-01", "2020-02"],
    ["201911", "201912", "202001", "202002"],
    ["20191130", "20191231", "20200131", "20200229"],
    ["Q3 2019", "Q4 2019", "Q1 2020", "Q2 2020"],
    ["2019Q3", "2019Q4", "2020Q1", "2020Q2"],
    ["Nov 2019", "Dec 2019", "Jan 2020", "Feb 2020"],
    ["Nov-19", "Dec-19", "Jan-20", "Feb-20"],
    ["FY18", "FY19", "FY20", "FY21"],
    ["11/2019", "12/2019", "1/2020", "2/2020"],
    ["30.11.2019", "31.12.2019", "31.01.2020", "29.02.2020"],
    ["2019/20", "2020/21", "2021/22", "2022/23"],
    [("sales", 2019), ("sales", 2020), ("sales", 2021), ("sales", 2022)],
    [pd.Timestamp("2019-12-01"), pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01"), pd.Timestamp("2020-03-01")],
    [pd.Period("2019"), pd.Period("2020"), pd.Period("2021"), pd.Period("2022")],
]


@each("names", SERIES)
def test_a_function_that_finds_the_periods_takes_those_of_the_next_year(names: list[Any]) -> None:
    body = "return wide.set_index('region').sum(axis=1)"
    assert refused(body, wide(*names[:3]), wide(*names[1:])) is None
    gap = refused(body, wide(*names[:3]), wide(names[0], names[2]))
    assert gap is not None and "lacks" in gap  # a period between two others is an accident
    assert "lacks" in str(refused(body, wide(*names[:3]), wide()))  # no period at all
    no_region = refused(body, wide(*names[:3]), wide(*names[1:]).drop(columns="region"))
    assert no_region == "wide lacks 'region'; the function was built on a table that differs."


@each(
    "body, lacks",
    [
        ("return wide['2021'] - wide['2020'], wide.sum()", "'2020'"),
        ("return wide[['region', '2020']].merge(wide)", "'2020'"),
        ("return sum(wide[str(year)].sum() for year in range(2020, 2024)), wide.sum()", "'2020'"),
        ("return [wide[str(year)].sum() for year in (2020, 2021)], wide.sum()", "'2020'"),
        ("base = 2020\nreturn wide.sum() / wide[f'{base}'].sum()", "'2020'"),
    ],
)
def test_a_period_that_the_code_names_is_still_asked_for(body: str, lacks: str) -> None:
    sentence = refused(body, wide("2020", "2021", "2022"), wide("2021", "2022", "2023"))
    assert sentence is not None and f"lacks {lacks}" in sentence


@each("names", [["q1", "q2", "q3"], ["store1", "store2", "store3"], ["1", "2", "3"], ["a", "b", "c"]])
def test_other_columns_are_still_asked_for(names: list[str]) -> None:
    later = [*names[1:], {"q3": "q4", "store3": "store4", "3": "4", "c": "d"}[names[-1]]]
    assert f"lacks {names[0]!r}" in str(refused("return wide.sum(axis=1)", wide(*names), wide(*later)))


def test_code_that_cannot_be_read_takes_nothing_by_pattern() -> None:
    then, now = wide("2019", "2020"), wide("2020", "2021")
    assert "lacks '2019'" in str(check_drift("wide", now, shape_of(then), EVERY_COLUMN))


def test_the_values_of_a_new_period_are_those_of_the_others() -> None:
    then, now = wide("2019", "2020", of=1.5), wide("2020", of=1.5, **{"2021": ["1.5", "2"]})
    reads = reads_of(FINDS)
    sentence = check_drift("wide", now, shape_of(then), reads)
    assert sentence is not None and "'2021' is" in sentence and "instead of float64" in sentence
    line = "wide['2021'] = pd.to_numeric(wide['2021'])"
    assert conversions("wide", now, shape_of(then), reads) == [line]
    assert conversions("wide", now, shape_of(then), reads, then) == [line]
    assert not conversions("wide", now.replace("1.5", "1,5"), shape_of(then), reads, then)  # it would lose values
    boxed = wide("2020", of=1.5, **{"2021": pd.Series([1.5, 2.5], dtype=object)})
    assert check_drift("wide", boxed, shape_of(then), reads) is None
    assert restore_dtypes(boxed, shape_of(then), reads)["2021"].dtype == float


GRADES = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)


def graded(*periods: str, dtype: Any = GRADES) -> pd.DataFrame:
    return wide(**{period: pd.Series(["low", "high"], dtype=dtype) for period in periods})


def test_a_new_period_has_the_recorded_order_of_the_others() -> None:
    shape, reads = shape_of(graded("2019", "2020")), reads_of(FINDS)
    for dtype in ("object", "category"):
        now = graded("2020", "2021", dtype=dtype)
        assert check_drift("wide", now, shape, reads) is None
        made = restore_dtypes(now, shape, reads)
        assert made["2020"].dtype == made["2021"].dtype == GRADES
        assert remaining_differences("wide", made, shape, reads) == ""
    turned = graded("2020", "2021", dtype=pd.CategoricalDtype(["high", "mid", "low"], ordered=True))
    assert "'2021' has the order 'high' < 'mid' < 'low'" in str(check_drift("wide", turned, shape, reads))
    strange = graded("2020", "2021", dtype="object").replace({"2021": {"low": "none"}})
    assert "'2021' has 'none', which is not in the recorded order" in str(check_drift("wide", strange, shape, reads))


def test_a_new_period_has_the_categories_of_all_others() -> None:
    then = wide(**{"2019": pd.Categorical(["a", "c"]), "2020": pd.Categorical(["b", "c"])})
    shape, reads = shape_of(then), reads_of(FINDS)
    made = restore_dtypes(wide("2020", "2021", of="b"), shape, reads)
    assert made["2020"].cat.categories.tolist() == ["b", "c"]
    assert made["2021"].cat.categories.tolist() == ["a", "b", "c"] and not made["2021"].cat.ordered
    both = shape_of(then.assign(**{"2020": pd.Categorical(["b", "c"], ["c", "b"], ordered=True)}))
    sentence = str(check_drift("wide", wide("2020", "2021", of="b"), both, reads))
    assert "'2021' is no ordered category, and the recorded order is not known" in sentence


def test_a_new_period_has_objects_of_the_same_kind_and_a_dtype_that_is_told() -> None:
    shape, reads = shape_of(wide("2019", "2020", of=Decimal("1.5"))), reads_of(FINDS)
    assert check_drift("wide", wide("2020", "2021", of=Decimal(2)), shape, reads) is None
    mixed = wide("2020", of=Decimal(2), **{"2021": pd.Series(["a", "b"], dtype=object)})
    assert "'2021' has texts instead of decimals" in str(check_drift("wide", mixed, shape, reads))
    shape = shape_of(wide("2019", "2020", of=1.5))
    gaps = wide("2020", of=1.5, **{"2021": pd.Series([None, None], dtype=object)})
    made = restore_dtypes(gaps, shape, reads)
    assert made["2021"].dtype == float or "'2021' is object" in remaining_differences("wide", made, shape, reads)


def test_a_name_of_text_is_no_period_of_names_that_are_numbers() -> None:
    sentence = refused("return wide.sum(axis=1)", wide(2019, 2020), wide("2020", "2021"))
    assert sentence is not None and "lacks 2019, 2020" in sentence


TEXTS = "region;2020;2021\nnorth;0123;0106\nsouth;0124;1011\n"


@each(
    "text",
    [
        TEXTS,
        TEXTS.replace(";2020", ";code;2020").replace(";012", ";1999;012").replace("north", "1998"),
        f"Report\n\n{TEXTS}",
        re.sub("(?m)^[a-z]+;", "", TEXTS),
        TEXTS.replace(";", ","),
    ],
)
def test_a_file_of_the_next_year_is_read_as_the_recorded_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text(text)
    then = wide("2018", "2019", of="0123")
    shape, reads = {"wide": shape_of(then)}, reads_of(FINDS)
    table = read_table("wide", tmp_path / "wide.csv", shape["wide"], {}, reads)
    assert table["2021"].tolist() == ["0106", "1011"] and table["2020"].tolist() == ["0123", "0124"]
    tables = eval("\n".join(recorded_tables([WIDE], shape, reads, {})).partition("=")[2], {"pandas": pd})
    columns, index, spare, renames, patterns = tables["wide"]
    if "region" not in text:
        columns = {label: dtype for label, dtype in columns.items() if label != "region"}
    read = _cli_table(str(tmp_path / "wide.csv"), columns, index, spare, renames, patterns)
    assert read[["2020", "2021"]].equals(table[["2020", "2021"]])


def test_a_script_gives_a_new_period_the_recorded_order(tmp_path: Path) -> None:
    shape, reads = {"wide": shape_of(graded("2019", "2020"))}, reads_of(FINDS)
    lines = recorded_tables([WIDE], shape, reads, {})
    tables = eval("\n".join(lines).partition("=")[2], {"pandas": pd})
    assert lines[0] == "    import pandas" and list(tables["wide"][4].values()) == [GRADES]
    now = graded("2020", "2021", dtype="object")
    now.to_csv(tmp_path / "wide.csv", index=False)
    now.to_excel(tmp_path / "wide.xlsx", index=False)
    now.to_json(tmp_path / "wide.jsonl", orient="records", lines=True)
    for path in tmp_path.iterdir():
        made = _cli_table(str(path), *tables["wide"])
        assert made["2020"].dtype == made["2021"].dtype == GRADES
        assert read_table("wide", path, shape["wide"], {}, reads)["2021"].dtype == GRADES
    with pytest.raises(ValueError, match="'2021' cannot be converted to category: 'none' is not in the recorded order"):
        _cli_fitted(graded("2021", dtype="object").replace("low", "none"), *tables["wide"])


def test_other_periods_are_told() -> None:
    told = unread_drift("wide", wide("2020", "2021"), shape_of(wide("2019", "2020")), reads_of(FINDS))
    assert told == "wide has the new '2021' and no longer has '2019'; the function takes such columns as they come."
    assert unread_drift("wide", wide("2019", "2020"), shape_of(wide("2019", "2020")), reads_of(FINDS)) is None


@pytest.mark.parametrize("name", ["'price'", "'2000m'", "'123456789'", "'x' * 3", "<a thing>", "'" + "9" * 100_000])
def test_what_is_no_period(name: str) -> None:
    assert period_of(name) is None


def test_a_script_takes_the_periods_of_the_next_year() -> None:
    columns = {"region": "str", 2019: "int64", 2020: "int64"}
    patterns = {r"\d{4}": "int64"}
    text = wide("2020", "2021", of="7")  # as a text file has them
    fitted = _cli_fitted(text, columns, {}, (), {}, patterns)
    assert fitted.columns.tolist() == ["region", 2020, 2021] and fitted[2021].tolist() == [7, 7]
    with pytest.raises(ValueError, match=r"it lacks 2019, 2020 \(it has 'region'\)"):
        _cli_fitted(wide(), columns, {}, (), {}, patterns)
    with pytest.raises(ValueError, match="2021 cannot be converted to int64"):
        _cli_fitted(wide("2021", of="seven"), columns, {}, (), {}, patterns)


def test_a_script_holds_the_patterns() -> None:
    shape = {"wide": shape_of(wide(2019, 2020))}
    made = "\n".join(recorded_tables([WIDE], shape, reads_of(FINDS), {}))
    tables = eval(made.partition("=")[2], {})
    assert tables["wide"][4] == {r"\d{4}": "int64"}
