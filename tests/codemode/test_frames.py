"""Tables in code mode: handles, their operations, and how much of the data may be shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import CodeModeAgent
from autocoder_jupyter.codemode import Limits, operations
from autocoder_jupyter.codemode.operations import Join
from autocoder_jupyter.codemode.tables import METHODS, Frame, MemoryBudget, NotShared, Visibility, frame_of
from autocoder_jupyter.errors import InvalidRequest, UnsupportedData
from autocoder_jupyter.settings.config import Share
from tests.cases import each
from tests.codemode.conftest import Ask, block

SALES = pd.DataFrame(
    {
        "region": ["north", "south", "north", None, "south"],
        "amount": [10.0, 20.0, 30.0, 40.0, None],
        "day": pd.to_datetime(["2026-01-01", "2026-01-02", "NaT", "2026-01-04", "2026-01-05"]),
        "n": pd.array([1, None, 3, 4, 5], dtype="Int64"),
    }
)
RATES = pd.DataFrame({"region": ["north", "east"], "amount": [1.5, 2.5]})


@pytest.fixture
def sales() -> Frame:
    return frame_of(SALES, "sales", Visibility())


def numbers(frame: Frame) -> list[int]:
    return [int(row) for row in frame.table["n"].fillna(0)]


def test_columns_dtypes_count_and_head(sales: Frame) -> None:
    assert sales.columns == ["region", "amount", "day", "n"]
    assert (sales.dtypes["amount"], sales.dtypes["n"]) == ("float64", "Int64")
    assert sales.count() == 5
    assert [row["amount"] for row in sales.head(10)] == [10.0, 20.0, 30.0, 40.0, None]
    assert sales.head(2)[1]["n"] is None


@pytest.mark.parametrize(
    ("column", "operator", "value", "rows"),
    [
        ("region", "==", "north", [1, 3]),
        ("region", "!=", "north", [0, 5]),
        ("amount", "<", 20, [1]),
        ("amount", "<=", 20, [1, 0]),
        ("amount", ">", 20, [3, 4]),
        ("amount", ">=", 20, [0, 3, 4]),
        ("n", "!=", 3, [1, 4, 5]),
        ("n", ">", 3, [4, 5]),
        ("region", "in", ["south", "west"], [0, 5]),
        ("n", "not in", {1, 3}, [4, 5]),
        ("region", "contains", "o", [1, 0, 3, 5]),
        ("region", "contains", "n.r", []),
        ("region", "starts with", "so", [0, 5]),
        ("region", "ends with", "uth", [0, 5]),
        ("region", "is null", None, [4]),
        ("amount", "not null", None, [1, 0, 3, 4]),
        ("day", ">", "2026-01-02", [4, 5]),
        ("day", ">=", pd.Timestamp("2026-01-02").to_pydatetime(), [0, 4, 5]),
    ],
)
def test_filter(sales: Frame, column: str, operator: str, value: Any, rows: list[int]) -> None:
    assert numbers(sales.filter(column, operator, value)) == rows


def test_select_and_sort(sales: Frame) -> None:
    assert sales.select("n", "region").columns == ["n", "region"]
    assert [row["amount"] for row in sales.sort("amount", descending=True).head()] == [40.0, 30.0, 20.0, 10.0, None]
    assert numbers(sales.sort(["region", "n"])) == [1, 3, 5, 0, 4]


def test_aggregate_over_all_and_over_groups(sales: Frame) -> None:
    one = sales.aggregate({"total": ("amount", "sum"), "days": ("day", "nunique")})
    assert one.head() == [{"total": 100.0, "days": 4}]
    groups = sales.aggregate({"total": ("amount", "sum"), "rows": ["n", "count"]}, by="region")
    assert groups.head() == [
        {"region": "north", "total": 40.0, "rows": 2},
        {"region": "south", "total": 20.0, "rows": 1},
        {"region": None, "total": 40.0, "rows": 1},
    ]
    assert one.scalar("total") == sales.select("amount").aggregate({"x": ("amount", "sum")}).scalar() == 100.0


@pytest.mark.parametrize("how", operations.AGGREGATES)
def test_each_function_is_that_of_pandas(sales: Frame, how: str) -> None:
    expected = getattr(SALES["amount"], how)()
    assert sales.aggregate({"x": ("amount", how)}).scalar() == expected
    groups = sales.aggregate({"x": ("amount", how)}, by=["region"]).table
    assert groups.loc[0, "x"] == getattr(SALES["amount"][SALES["region"] == "north"], how)()


def test_join(sales: Frame) -> None:
    joined = sales.join(frame_of(RATES, "rates", Visibility()), "region")
    assert joined.columns == ["region", "amount", "day", "n", "amount_right"]
    assert [row["amount_right"] for row in joined.head()] == [1.5, 1.5]
    assert sales.join(frame_of(RATES, "rates", Visibility()), ["region"], "outer").count() == 6


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda frame: frame.filter("regoin", "==", 1), "Did you mean region.*Columns: 'region', 'amount'"),
        (lambda frame: frame.filter("region", "~", 1), "filter knows ==, !="),
        (lambda frame: frame.filter("region", "in", "north"), "needs a list of values"),
        (lambda frame: frame.filter("region", "==", ["north"]), "needs one value"),
        (lambda frame: frame.filter("region", "==", frame), "needs one value"),
        (lambda frame: frame.filter("region", "in", [frame]), "needs a list of values"),
        (lambda frame: frame.aggregate({"x": ("region", "sum")}), "'region' has texts, which have no sum"),
        (lambda frame: frame.filter("region", "contains", 3), "needs a text, not int"),
        (lambda frame: frame.head(0), "head gives 1 to 100 rows"),
        (lambda frame: frame.head(101), "head gives 1 to 100 rows"),
        (lambda frame: frame.select(), "name at least one column"),
        (lambda frame: frame.sort([]), "name at least one column"),
        (lambda frame: frame.scalar(), "scalar needs the name of a column"),
        (lambda frame: frame.scalar("n"), "frame of one row, and this one has 5"),
        (lambda frame: frame.aggregate({}), "needs a dict"),
        (lambda frame: frame.aggregate({"x": "amount"}), "takes figures as"),
        (lambda frame: frame.aggregate({"x": ("amount", "to_csv")}), "aggregate knows count, sum"),
        (lambda frame: frame.aggregate({"region": ("amount", "sum")}, by="region"), "another name"),
        (lambda frame: frame.join("rates", "region"), "join needs another Frame"),
        (lambda frame: frame.join(frame, "region", "cross"), "join knows inner, left"),
    ],
)
def test_a_wrong_argument_is_said_with_what_is_right(sales: Frame, work: Callable[[Frame], Any], said: str) -> None:
    with pytest.raises((KeyError, ValueError, TypeError), match=said):
        work(sales)


def test_a_join_that_would_explode_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "JOINED_ROWS", 50)
    twins = frame_of(pd.DataFrame({"key": [1] * 20}), "twins", Visibility())
    with pytest.raises(ValueError, match="would give 400 rows, at most 50"):
        twins.join(twins, "key")


@pytest.mark.parametrize(("how", "rows"), [("inner", 2), ("left", 5), ("right", 3), ("outer", 6)])
def test_the_rows_of_a_join_are_known_before_it_is_made(
    sales: Frame, how: Join, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = frame_of(RATES, "rates", Visibility())
    assert sales.join(rates, "region", how).count() == rows
    many = [
        frame_of(frame.table.loc[lambda table: table.index.repeat(20)], "many", Visibility())
        for frame in (sales, rates)
    ]
    monkeypatch.setattr(operations, "JOINED_ROWS", 50)
    expected = {"inner": 800, "left": 860, "right": 820, "outer": 880}[how]
    with pytest.raises(ValueError, match=f"would give {expected} rows"):
        many[0].join(many[1], "region", how)


def test_the_tables_that_a_run_makes_are_limited_together_and_a_new_sandbox_begins_anew(ask: Ask) -> None:
    loop = "    while True:\n        kept.append(big.filter('a', '>=', 0))"
    code = f"kept = []\ntry:\n{loop}\nexcept MemoryError as error:\n    print(error)"
    big = pd.DataFrame({"a": range(100_000)})
    crash = block("[0] * 10**10")
    limits = Limits(tables="3Mi")
    result = ask([block(code), crash, block("len(kept)"), "Done."], frames={"big": big}, limits=limits)
    assert result.value == 3
    assert "more than 3 MiB together" in result.output


@each("dtype", ["str", "string[pyarrow]"])
@each("share", ["rows", "schema"])
def test_a_join_of_long_texts_is_refused_before_it_is_made(
    dtype: Any, share: Share, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = pd.Series(["x" * 50_000, *[""] * 199], dtype=dtype)
    table = frame_of(pd.DataFrame({"k": [1] * 200, "t": texts}), "t", Visibility(share), MemoryBudget(2**20))
    made, taken = [], operations.taken

    def noted(column: Any, rows: Any) -> Any:
        made.append(len(rows))
        return taken(column, rows)

    monkeypatch.setattr(operations, "taken", noted)
    if share == "rows":
        with pytest.raises(MemoryError, match="more than 1 MiB"):
            table.join(table, "k")
    else:
        assert table.join(table, "k").failure == "join failed with MemoryError"
    assert not any(made)
    assert table.select("k").join(table.select("k"), "k").columns == ["k"] and 40_000 in made


def test_no_operation_changes_the_table(sales: Frame) -> None:
    before = sales.table.copy()
    sales.filter("n", ">", 1)
    sales.sort("amount")
    sales.aggregate({"x": ("amount", "sum")}, by="region")
    pd.testing.assert_frame_equal(sales.table, before)


@pytest.mark.parametrize("share", ["stats", "schema"])
def test_rows_are_not_seen_where_they_are_not_shared(share: Share) -> None:
    frame = frame_of(SALES, "sales", Visibility(share))
    for work in (lambda: frame.head(), lambda: frame.filter("n", "==", 1).scalar("region")):
        with pytest.raises(NotShared):
            work()
    assert frame.columns == list(SALES.columns)


def test_where_only_the_schema_is_shared_not_even_the_count_is_seen() -> None:
    frame = frame_of(pd.concat([SALES] * 3), "sales", Visibility("schema"))
    for work in (frame.count, frame.aggregate({"total": ("amount", "sum")}).scalar):
        with pytest.raises(NotShared):
            work()


def test_frames_have_names_in_the_code_and_columns_in_the_request(ask: Ask) -> None:
    code = (
        "north = sales.filter('region', '==', 'north')\nprint(north.count(), north.head(1))\n"
        "{'summary': 'Done.', 'north': north, 'all': [sales]}"
    )
    result = ask([block(code)], frames={"sales": SALES, "rates": RATES})
    assert (
        "2 [{'region': 'north', 'amount': 10.0, 'day': datetime.datetime(2026, 1, 1, 0, 0), 'n': 1}]" in result.output
    )
    assert isinstance(result.value["north"], pd.DataFrame)
    pd.testing.assert_frame_equal(result.value["all"][0], SALES)
    request = ask.requests[0]["messages"][-1]["content"]
    assert request.startswith("Do it.\n\nFrames that your code has by name:\n- sales: 'region' ")
    assert "- rates: 'region' " in request


def test_new_rows_do_not_change_the_request(ask: Ask) -> None:
    ask([block("sales.columns"), "Done."], frames={"sales": SALES})
    assert ask([], frames={"sales": pd.concat([SALES, SALES])}).summary == "Done."


def test_a_table_of_flyte_is_a_frame(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DO_NOT_TRACK", "1")
    from flyte.io import DataFrame

    table = DataFrame.from_df(SALES)
    assert ask([block("sales.count()"), "Done."], frames={"sales": table}).value == len(SALES)


def test_tools_take_and_give_tables(ask: Ask) -> None:
    def total(prices: pd.DataFrame, weights: pd.Series) -> float:
        assert isinstance(weights, pd.Series)
        return float((prices["amount"] * weights).sum())

    def load(n: int) -> dict[str, object]:
        return {"table": pd.DataFrame({"k": range(n)}), "series": pd.Series([1, 2], name="w")}

    code = (
        "got = load(3)\nprint(got['table'].count(), got['series'].columns)\ntotal(rates, got['series']), got['table']"
    )
    result = ask([block(code), "Done."], [total, load], frames={"rates": RATES})
    assert result.output == "3 ['w']\n"
    assert result.value[0] == 6.5
    assert [call.observed for call in result.calls] == ["{'table': <Frame, 3 × 1>, 'series': <Frame, 2>}", "6.5"]
    assert "def total(prices: Frame, weights: Frame) -> float:" in ask.requests[0]["messages"][0]["content"]
    assert "<Frame, 3 × 1>" in ask.told


def test_the_prompt_says_what_a_frame_can_do_and_what_may_be_seen() -> None:
    prompts = {share: CodeModeAgent(share=share).system_prompt for share in ("rows", "stats", "schema")}
    for method in METHODS:
        assert f"frame.{method}(" in prompts["rows"]
    assert "head and scalar after\nan aggregate without `by`" in prompts["stats"]
    assert "count, head and scalar are refused" in prompts["schema"]
    assert all(repr(operator)[1:-1] in prompts["rows"] for operator in operations.OPERATORS)
    assert all(how in prompts["rows"] for how in operations.AGGREGATES)


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ({"sales": [1]}, "sales is a list, not a DataFrame"),
        ({"two words": SALES}, "two words"),
        ({"print": SALES}, "already a name of Python"),
        ({"plus": SALES}, "the name of a tool"),
        ([SALES], "must be a dict"),
    ],
)
def test_frames_that_cannot_be_are_refused(root: Path, frames: Any, said: str) -> None:
    def plus(a: int) -> int:
        return a

    with pytest.raises(InvalidRequest, match=said):
        CodeModeAgent([plus], call_llm=lambda *_: "No.").run("Do it.", frames=frames, journal_root=root)


def test_columns_of_one_name_are_refused(root: Path) -> None:
    twins = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(UnsupportedData, match="Two columns of a DataFrame have the name 'a'"):
        CodeModeAgent(call_llm=lambda *_: "No.").run("Do it.", frames={"twins": twins}, journal_root=root)


def test_names_of_columns_that_are_no_texts_are_texts_in_the_code_and_themselves_for_the_person(ask: Ask) -> None:
    wide = pd.DataFrame({2025: [1], 2026: [2]})
    result = ask([block("print(wide.columns)\nwide.scalar('2026'), wide"), "Done."], frames={"wide": wide})
    assert result.output == "['2025', '2026']\n"
    assert result.value[0] == 2
    assert list(result.value[1].columns) == [2025, 2026]


def test_cells_that_are_too_much_for_the_sandbox_are_refused(ask: Ask) -> None:
    heavy = pd.DataFrame({"text": ["x" * 20_000_000] * 4})
    code = "try:\n    heavy.head(4)\nexcept ValueError as error:\n    x = str(error)\nx"
    assert "more than the sandbox can take" in ask([block(code), "Done."], frames={"heavy": heavy}).value


def test_where_only_the_schema_is_shared_no_shape_is_told(ask: Ask) -> None:
    ask([block("sales"), "Done."], frames={"sales": SALES}, share="schema")
    assert ask.told.endswith("<Frame>")


def test_errors_of_operations_can_be_caught_by_their_type(ask: Ask) -> None:
    code = (
        "said = []\nfor work in (lambda: sales.select('x'), lambda: sales.head(0), lambda: sales.head(),\n"
        "             lambda: sales.filter('n', 'in', 3), lambda: sales.filter('amount', '<', 'a')):\n"
        "    try:\n        work()\n    except Exception as error:\n        said.append(type(error).__name__)\nsaid"
    )
    result = ask([block(code), "Done."], frames={"sales": SALES}, share="stats")
    assert result.value == ["KeyError", "PermissionError", "PermissionError", "TypeError", "TypeError"]


def test_a_hidden_column_is_in_the_tables_and_unknown_to_the_code(ask: Ask) -> None:
    def total(prices: pd.DataFrame) -> float:
        return float(prices["amount"].sum())

    code = (
        "try:\n    sales.filter('amount', '>', 1)\nexcept KeyError as error:\n    print(error)\n"
        "sales.columns, list(sales.head(1)[0]), total(sales.filter('n', '>', 3)), sales"
    )
    result = ask([block(code), "Done."], [total], frames={"sales": SALES}, hide=["amount"])
    assert result.value[:3] == (["region", "day", "n"], ["region", "day", "n"], 40.0)
    assert "amount" in result.value[3].columns
    assert "there is no column 'amount'" in result.output
    assert "'amount'" not in str(ask.requests[0])


def test_of_a_masked_column_no_value_is_seen() -> None:
    frame = frame_of(SALES, "sales", Visibility(mask=frozenset(["region"])))
    assert [row["region"] for row in frame.head(5)] == ["<masked>"] * 5
    assert frame.select("region", "n").filter("n", "==", 3).head() == [{"region": "<masked>", "n": 3}]
    for made in (
        frame.aggregate({"n": ("region", "nunique")}),
        frame.aggregate({"total": ("amount", "sum")}, by="region"),
        frame.filter("region", "==", "north"),
        frame.sort("region").select("amount"),
        frame.join(frame, "region"),
    ):
        with pytest.raises(NotShared, match="depends on cells of a masked column"):
            made.head()


def test_a_join_shows_no_hidden_or_masked_column_under_another_name() -> None:
    visibility = Visibility(hide=frozenset(["amount"]), mask=frozenset(["day"]))
    frame = frame_of(SALES, "sales", visibility)
    joined = frame.join(frame, "region")
    assert not [name for name in joined.columns if name.startswith("amount")]
    assert {row[name] for row in joined.head(3) for name in row if name.startswith("day")} == {"<masked>"}
