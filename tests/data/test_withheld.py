"""Hidden and masked columns: of a hidden one nothing is sent, of a masked one no value, at any level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from autocoder_jupyter.codemode.tables import Visibility, frame_of
from autocoder_jupyter.data.context import build_context
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.data.withheld import MASKED, WithheldColumns, shareable_tables
from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.redaction.masking import Masker
from autocoder_jupyter.settings.config import Share
from autocoder_jupyter.types import File
from tests.cases import each

SALES = pd.DataFrame(
    {
        "price": [10.0, 20.0, 30.0, 20.0],
        "salary band": ["canary-A", "canary-B", "canary-A", "canary-C"],
        "margin": [871.5, 872.5, 873.5, None],
        "code": pd.Categorical(["k1x", "k2x", "k1x", "k1x"]),
    }
)


def told(value: Any = SALES, *, hide: Sequence[str] = (), mask: Sequence[str] = (), share: Share = "rows") -> str:
    return build_context({"sales": value}, share=share, withheld=WithheldColumns.of(hide, mask)).text


@pytest.mark.parametrize("share", ["rows", "stats", "schema"])
def test_of_a_hidden_column_neither_name_nor_value_is_told(share: Share) -> None:
    text = told(hide=["salary band"], share=share)
    assert "salary" not in text and "canary" not in text
    assert "there is 1 more column that is not described: take columns by name" in text
    assert "price" in text and "margin" in text


@each("share", ["rows", "stats", "schema"])
@each(
    ("column", "values"),
    [("salary band", ("canary",)), ("margin", ("871", "872", "873")), ("code", ("k1x", "k2x"))],
)
def test_of_a_masked_column_no_value_is_told(share: Share, column: str, values: tuple[str, ...]) -> None:
    text = told(mask=[column], share=share)
    assert not any(value in text for value in values)
    assert column in text and f"values of {column} are withheld" in text


def test_rows_hold_a_placeholder_for_each_masked_value_and_keep_the_others() -> None:
    lines = told(mask=["margin"]).splitlines()
    assert any(line.startswith("10,canary-A,<masked>,k1x") for line in lines)


def test_what_is_missing_or_different_in_a_masked_column_is_still_counted() -> None:
    (line,) = [line for line in told(mask=["margin"]).splitlines() if line.startswith("'margin'")]
    assert "float64" in line and "1 missing" in line


@each("share", ["rows", "stats"])
@each("as_series", [True, False])
def test_that_a_value_is_in_a_masked_column_is_not_told(share: Share, as_series: bool) -> None:
    people = pd.DataFrame({"code": range(1_000, 1_040), "v": range(40)})
    one = pd.DataFrame({"Code": [1_007], "w": [1]})
    samples = {"people": people["code"] if as_series else people, "one": one["Code"] if as_series else one}
    assert "found there" in build_context(samples, share=share).text
    text = build_context(samples, share=share, withheld=WithheldColumns.of([], ["code"])).text
    assert "1007" in text and "found there" not in text


def test_an_index_can_be_masked() -> None:
    text = told(SALES.set_index("salary band"), mask=["salary band"])
    assert "canary" not in text and "salary band" in text


def test_a_series_can_be_masked() -> None:
    assert "871" not in told(SALES["margin"], mask=["margin"])


def test_the_data_themselves_stay_as_they_are() -> None:
    before = SALES.copy(deep=True)
    told(hide=["salary band"], mask=["margin", "code"])
    pd.testing.assert_frame_equal(SALES, before)


def test_where_nothing_is_withheld_the_text_is_as_ever() -> None:
    assert told() == build_context({"sales": SALES}).text


def test_drift_is_noticed_in_hidden_columns_too() -> None:
    context = build_context({"sales": SALES}, withheld=WithheldColumns.of(["salary band"], []))
    assert len(context.shapes["sales"]["columns"]) == 4


@pytest.mark.parametrize(
    ("hide", "mask", "words", "message"),
    [
        (["salry band"], [], "Total.", r"no column 'salry band'.*\n?Did you mean salary band"),
        ([], ["x"], "Total.", "no column 'x'"),
        (["margin"], [], "Total margin.", "margin is to be hidden, but the request names it"),
    ],
)
def test_what_cannot_be_withheld_is_said(
    hide: list[Any] | list[str], mask: list[Any] | list[str], words: str, message: str
) -> None:
    with pytest.raises(InvalidRequest, match=message):
        WithheldColumns.of(hide, mask).require_possible({"sales": SALES}, [words])


def test_an_index_cannot_be_hidden_and_a_file_is_not_looked_into(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="margin is an index"):
        WithheldColumns.of(["margin"], []).require_possible({"sales": SALES.set_index("margin")}, [])
    with pytest.raises(InvalidRequest, match="because it is a file"):
        WithheldColumns.of(["margin"], []).require_possible({"sales": SALES, "other": File(tmp_path / "a.csv")}, [])
    WithheldColumns.of([], []).require_possible({"other": File(tmp_path / "a.csv")}, [])


def test_an_example_that_would_tell_it_is_refused() -> None:
    withheld = WithheldColumns.of(["salary band"], ["margin"])
    with pytest.raises(InvalidRequest, match=r"The example 'sales -> 5' has the column salary band"):
        withheld.require_absent("sales -> 5", [SALES, 5.0])
    withheld.require_absent("sales -> 5", [SALES[["price"]], 5.0])


def test_a_cut_name_has_its_place_in_the_whole_table() -> None:
    long = "How satisfied are you with the service that you received from our team in the last year? " * 2
    text = build_context({"t": SALES.assign(**{long: 1})}, withheld=WithheldColumns.of(["salary band"], [])).text
    assert f"(cut; say columns[{SALES.shape[1]}])" in text


def test_of_a_masked_column_it_is_told_how_many_values_differ() -> None:
    frame = pd.DataFrame({"code": ["a", "b", "a", "b"]})
    assert "'code' str | 2 distinct" in build_context({"t": frame}, withheld=WithheldColumns.of([], ["code"])).text


def test_a_series_is_masked_or_refused_but_never_told_as_hidden() -> None:
    series = SALES["salary band"]
    with pytest.raises(InvalidRequest, match="salary band is a Series, which cannot be hidden"):
        WithheldColumns.of(["salary band"], []).require_possible({"sales": series}, [])
    WithheldColumns.of([], ["salary band"]).require_possible({"sales": series}, [])
    assert "canary" not in told(series, mask=["salary band"])


@pytest.mark.parametrize(("mask", "share"), [(["price"], "rows"), ([], "schema")])
def test_the_fill_value_of_a_sparse_column_is_a_value(mask: list[str], share: Share) -> None:
    sparse = pd.arrays.SparseArray([871.0, 871.0, 872.0], fill_value=871.0)
    for value in (pd.DataFrame({"price": sparse}), pd.Series(sparse, name="price")):
        assert "871" not in told(value, mask=mask, share=share) and "871" not in str(shape_of(value))
    frame = frame_of(pd.DataFrame({"price": sparse}), "sales", Visibility(share, mask=frozenset(mask)))
    assert frame.dtypes == {"price": "Sparse[float64]"}


def test_categories_are_recorded_as_far_as_they_are_shared() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["x"] * 6), "b": pd.Categorical(["y"] * 5 + ["z"])})

    def recorded(share: Any, hide: Sequence[str] = (), mask: Sequence[str] = ()) -> list[Any]:
        shape = build_context({"t": frame}, share=share, withheld=WithheldColumns.of(hide, mask)).shapes["t"]
        return [record["values"] for record in shape["categories"].values()]

    assert recorded("rows") == [["x"], ["y", "z"]]
    assert recorded("stats") == [["x"], None]
    assert recorded("schema") == [None, None]
    assert recorded("rows", ["a"], ["b"]) == [None, None]


# Tables for expressions of a model


def shared(value: Any, hidden: Sequence[str] = (), masked: Sequence[str] = ()) -> Any:
    return shareable_tables({"t": value}, WithheldColumns.of(hidden, masked), Masker())["t"]


ODD = pd.DataFrame(
    {
        "bool": [True, False, True],
        "maybe": pd.array([True, None, False], dtype="boolean"),
        "int": pd.array([10**9 + 7, None, 3], dtype="Int64"),
        "complex": np.array([1 + 2j, 3, 4]),
        "infinite": [np.inf, -np.inf, np.nan],
        "unsigned": np.array([2**63, 1, 2], dtype="uint64"),
        "long": pd.to_timedelta([1, 2, 3], unit="h"),
        "when": pd.to_datetime(["2024-01-01"] * 3).tz_localize("UTC"),
        "month": pd.period_range("2024-01", periods=3, freq="M"),
        "range": pd.interval_range(0, 3),
        "sparse": pd.arrays.SparseArray([0, 0, 10**10]),
        "kind": pd.Categorical(["a", None, "b"], ordered=True),
        "none": [None] * 3,
        "lists": [["a"], [], None],
    }
)


@pytest.mark.parametrize(
    "table", [ODD, pd.DataFrame(), ODD.set_index(["kind", "when"]), ODD.set_index("month"), ODD["kind"], ODD.iloc[:0]]
)
def test_what_is_not_private_stays_as_it_is(table: Any) -> None:
    found = shared(table)
    (pd.testing.assert_series_equal if isinstance(table, pd.Series) else pd.testing.assert_frame_equal)(found, table)


def test_private_values_are_placeholders_in_every_kind_of_column() -> None:
    mail = "ann@example.com"
    table = pd.DataFrame(
        {
            "texts": [mail, "x", None],
            "kinds": pd.Categorical([mail, "x", "x"]),
            "mixed": [mail, 1, b"bob@example.com"],
            "nested": [{"to": [mail]}, None, []],
            "cards": [4111111111111111.0, None, 4111111111111111.0],
            "band": [1, 2, 3],
            mail: [1, 2, 3],
        },
        index=pd.MultiIndex.from_arrays([[mail, "x", "y"], [1, 2, 3]], names=["who", "secret"]),
    )
    table.attrs["owner"] = mail
    found = shared(table, hidden=["band"], masked=["secret"])
    text = f"{found.to_dict('split')} {found.attrs} {list(found.columns)}"
    assert "example.com" not in text and "4111" not in text and found.attrs == {}
    assert list(found.columns) == ["texts", "kinds", "mixed", "nested", "cards", "<email-1>"]
    assert list(found.index.get_level_values("secret")) == [MASKED] * 3
    assert found["texts"].iloc[0] == found["kinds"].iloc[0] == "<email-1>" and found["mixed"].iloc[1] == 1
    assert table.loc[:, "texts"].iloc[0] == mail
    with pytest.raises(KeyError):
        shared(table["texts"], masked=["texts"])


def test_nothing_withheld_stays_in_the_categories_and_levels_of_a_table() -> None:
    mail = "ann@example.com"
    kinds = pd.DataFrame({"kind": pd.Categorical(["x", "y"], categories=["x", "y", mail])})
    assert list(shared(kinds)["kind"]) == ["x", "y"] and not isinstance(
        shared(kinds)["kind"].dtype, pd.CategoricalDtype
    )
    rows = pd.DataFrame({"n": range(2)}, index=pd.CategoricalIndex(["x", "y"], categories=["x", "y", mail]))
    assert list(shared(rows).index.categories) == ["x", "y"]
    pairs = pd.DataFrame({"n": range(4)}, index=pd.MultiIndex.from_product([[mail, "x"], [1, 2]])).loc[["x"]]
    assert list(shared(pairs).index.levels[0]) == ["x"]
    wide = pd.DataFrame([[1, 2]], columns=pd.CategoricalIndex(["a", "salary"]))
    assert "salary" not in shared(wide, hidden=["salary"]).columns.categories
    deep = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("b", "salary")]))
    assert "salary" not in shared(deep, hidden=["('b', 'salary')"]).columns.levels[1]
    named = pd.CategoricalIndex(["x", "salary"])
    deep.columns = pd.MultiIndex.from_arrays([["a", "b"], named])
    assert "salary" not in shared(deep, hidden=["('b', 'salary')"]).columns.levels[1]


def test_private_values_are_found_in_cells_of_every_dtype() -> None:
    mail = "ann@example.com"
    kinds: dict[str, Any] = {
        "lists": pd.ArrowDtype(pa.list_(pa.string())),
        "dictionary": pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())),
        "struct": pd.ArrowDtype(pa.struct([("to", pa.string())])),
        "bytes": pd.ArrowDtype(pa.binary()),
    }
    cells: dict[str, Any] = {"lists": [mail], "dictionary": mail, "struct": {"to": mail}, "bytes": mail.encode()}
    table = pd.DataFrame({name: pd.array([cells[name]] * 2, dtype=kind) for name, kind in kinds.items()})
    table["sparse"] = pd.arrays.SparseArray([mail] * 2)
    table["array"] = pd.Series([np.array([*"a" * 2_000, mail, *"b" * 2_000], dtype=object)] * 2)
    found = shared(table)
    assert not any(mail in str(list(cell) if isinstance(cell, np.ndarray) else cell) for cell in found.iloc[0])


def test_a_long_column_is_judged_by_a_part_of_it() -> None:
    table = pd.DataFrame({"mail": [f"u{n % 5_000}@example.com" for n in range(10_000)], "n": range(10_000)})
    found = shared(table)
    assert found["mail"].nunique() == 5_000 and not found["mail"].str.contains("@").any()
    assert found["n"].equals(table["n"])
