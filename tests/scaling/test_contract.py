"""`growth.split`: found in the real sandbox, once, and kept on this machine."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.scaling import contract
from autocoder_jupyter.types import InputSpec
from autocoder_jupyter.types.split import DeclaredSplit
from tests.engine.splitting_functions import orders
from tests.scaling.conftest import FRAME, Build

pytestmark = pytest.mark.local_sandbox

SALES = orders(60)
BY_CUSTOMER = "return sales.groupby('customer', as_index=False).amount.sum()"


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that gets an entry with each check."""
    made: list[Any] = []
    checked = contract._checked

    async def count(*args: Any) -> Any:
        made.append(args)
        return await checked(*args)

    monkeypatch.setattr(contract, "_checked", count)
    return made


def test_a_split_is_found_in_the_sandbox_and_kept(
    built: Build, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = counted(monkeypatch)
    growth = built(BY_CUSTOMER, {"sales": SALES})
    found = growth.split
    assert (found.kind, found.keys, found.ordered) == ("groups", ("customer",), False)
    assert found.comparisons >= 4
    monkeypatch.setattr(contract, "_kept", OrderedDict())  # another kernel
    assert built(BY_CUSTOMER, {"sales": SALES}).split == found
    assert len(made) == 1
    assert built(BY_CUSTOMER, {"sales": SALES.assign(amount=1.5)}).split.keys == ("customer",)
    assert len(made) == 2
    kept = sorted((tmp_path / "splits").iterdir())
    kept[0].write_text("{")
    kept[1].write_text('{"input": "sales", "kind": "anyhow"}')
    monkeypatch.setattr(contract, "_kept", OrderedDict())
    assert built(BY_CUSTOMER, {"sales": SALES}).split == found


def test_a_split_is_that_of_one_table(built: Build) -> None:
    both = built("return sales, len(sales)", {"sales": SALES}, {"monthly": "DataFrame", "count": "int"})
    assert both.split.kind == "whole"
    assert both.split.counterexample.endswith("growth.with_options(output='monthly')")
    assert both.with_options(output="monthly").split.kind == "rows"
    assert "it returns a int" in both.with_options(output="count").split.counterexample
    with pytest.raises(InvalidRequest, match="growth has no output 'montly'") as refused:
        _ = both.with_options(output="montly").split
    assert "monthly" in refused.value.hint


def test_the_output_that_is_named_is_returned_alone(built: Build) -> None:
    both = built("return sales, len(sales)", {"sales": SALES}, {"monthly": "DataFrame", "count": "int"})
    assert both.run(output="count") == 60
    assert both.as_task("rows", output="count")(SALES.head(3)) == 3
    with pytest.raises(InvalidRequest, match="has no output 'other'"):
        both.run(output="other")


def test_without_a_sample_or_a_table_nothing_is_found(built: Build) -> None:
    with pytest.raises(InvalidRequest, match="there is none of sales") as refused:
        _ = built(BY_CUSTOMER).split
    assert "growth.verify(sales=…)" in refused.value.hint
    number = built("return pd.DataFrame({'a': [n]})", {}, inputs=(InputSpec(name="n", type="int", required=False),))
    with pytest.raises(InvalidRequest, match="takes no table that could be split"):
        _ = number.split


def test_the_table_with_the_most_rows_is_split_and_the_others_go_whole(built: Build) -> None:
    names = InputSpec(name="names", type="DataFrame")
    growth = built(
        "return sales.merge(names, on='region', how='left')",
        {"sales": SALES, "names": SALES[["region"]].drop_duplicates().assign(name="x")},
        inputs=(names, FRAME),
    )
    assert (growth.split.input, growth.split.kind) == ("sales", "rows")


def test_a_demanded_split_is_used_in_place_of_the_freest_if_it_holds(built: Build, tmp_path: Path) -> None:
    by_customer = DeclaredSplit(input="sales", kind="groups", keys=("customer",))
    as_it_is = "return sales[['customer', 'amount']]"
    growth = built(as_it_is, {"sales": SALES}, split=by_customer)
    assert (growth.split.kind, growth.split.keys, growth.split.against) == ("groups", ("customer",), {})
    assert built(as_it_is, {"sales": SALES}).split.kind == "rows"
    SALES.to_parquet(tmp_path / "sales.parquet", index=False)
    explained = growth.over.explain(tmp_path / "sales.parquet")
    assert explained.split == growth.split
    answer = growth.over(tmp_path / "sales.parquet")
    assert len(answer) == len(SALES) and answer["amount"].sum() == pytest.approx(SALES["amount"].sum())


def test_a_demand_of_a_record_is_a_claim(built: Build) -> None:
    rows = DeclaredSplit(input="sales", kind="rows")
    growth = built(BY_CUSTOMER, {"sales": SALES}, split=rows)
    assert growth.split.kind == "whole" and growth.split.counterexample.startswith("rows: ")
    nothing = DeclaredSplit(input="sales", kind="groups", keys=("nothing",))
    with pytest.raises(InvalidRequest, match="sales has no column 'nothing'"):
        _ = built(BY_CUSTOMER, {"sales": SALES}, split=nothing).split
    other = DeclaredSplit(input="names", kind="groups", keys=("nothing",))
    assert built(BY_CUSTOMER, {"sales": SALES}, split=other).split.keys == ("customer",)
