"""`growth.split`: found in the real sandbox, once, and kept on this machine."""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.errors import InvalidRequest
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.scaling import contract
from autocoder_jupyter.types import InputSpec
from autocoder_jupyter.types.interface import DeclaredSplit, FoundSplit, KnownSplits, Split
from tests.engine.splitting_functions import orders
from tests.scaling.conftest import FRAME, ROWS, Build

pytestmark = pytest.mark.local_sandbox

SALES = orders(60)
TWO_TABLES = {"monthly": "DataFrame", "count": "int", "last": "DataFrame"}
BY_CUSTOMER = "return sales.groupby('customer', as_index=False).amount.sum()"
KNOWN = Split(input="sales", kind="groups", keys=("customer",), ordered=False, comparisons=9)
"""What `test_a_split_is_found_in_the_sandbox_and_kept` finds of it."""


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
    with pytest.raises(InvalidRequest, match="tested on its samples, and sales has none") as refused:
        _ = built(BY_CUSTOMER).split
    assert "growth.verify(sales=…)" in refused.value.hint
    number = built("return pd.DataFrame({'a': [n]})", {}, inputs=(InputSpec(name="n", type="int", required=False),))
    with pytest.raises(InvalidRequest, match="No input of growth is a table, so there is nothing to split"):
        _ = number.split


def test_the_table_with_the_most_rows_is_split_and_the_others_go_whole(built: Build) -> None:
    names = InputSpec(name="names", type="DataFrame")
    growth = built(
        "return sales.merge(names, on='region', how='left')",
        {"sales": SALES, "names": SALES[["region"]].drop_duplicates().assign(name="x")},
        inputs=(names, FRAME),
        known=ROWS,  # of `sales`; test_over.py has it found for a table beside another one
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


def found_of(growth: CodeGenEvalResult) -> list[tuple[str, str]]:
    return [(found.output, found.split.kind) for found in growth.known_splits.found]


def watched(growth: CodeGenEvalResult) -> list[KnownSplits]:
    """What is told whoever shows it, in order."""
    told: list[KnownSplits] = []
    growth.on_split(lambda: told.append(growth.known_splits))
    return told


def test_whoever_shows_the_function_is_told_what_is_found(built: Build, tmp_path: Path) -> None:
    growth = built(BY_CUSTOMER, {"sales": SALES})
    told = watched(growth)
    found = growth.split
    assert told[0].doing and not told[0].found
    assert told[-1] == KnownSplits((FoundSplit("answer", found),))
    assert growth.with_options(timeout=30).known_splits == told[-1], "another view of the same function"
    again = built(BY_CUSTOMER, {"sales": SALES})
    told = watched(again)
    SALES.to_parquet(tmp_path / "sales.parquet", index=False)
    again.over.explain(tmp_path / "sales.parquet")
    assert [known.found for known in told] == [(FoundSplit("answer", found),)], "it was known"


def test_each_table_is_checked_when_it_is_asked_for(built: Build) -> None:
    both = built("return sales, len(sales), sales.tail(1)", {"sales": SALES}, TWO_TABLES)
    told, ended = watched(both), threading.Event()
    both.on_split(lambda: None if both.known_splits.doing else ended.set())
    both.check_split()
    assert ended.wait(120)
    assert [known.doing for known in told][-1] == "" and all(known.doing for known in told[:-1])
    assert found_of(both) == [("monthly", "rows"), ("last", "merge")]


def test_what_cannot_be_checked_is_told_in_words(built: Build) -> None:
    growth, ended = built(BY_CUSTOMER), threading.Event()
    growth.on_split(lambda: ended.set() if growth.known_splits.failed else None)
    growth.check_split()
    assert ended.wait(60)
    assert "tested on its samples, and sales has none" in growth.known_splits.failed
    assert "growth.verify(sales=…)" in growth.known_splits.failed


def test_what_an_earlier_process_found_is_recalled_without_a_check(
    built: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counted(monkeypatch)
    built(BY_CUSTOMER, {"sales": SALES}, known=KNOWN)
    monkeypatch.setattr(contract, "_kept", OrderedDict())  # another kernel
    for samples, found in ((SALES, [("answer", "groups")]), (SALES.assign(amount=0.5), []), (None, [])):
        growth = built(BY_CUSTOMER, {} if samples is None else {"sales": samples})
        contract.recall_splits(growth._built(), growth.options)
        assert found_of(growth) == found
    monkeypatch.setattr(contract, "RECALLED", 100)
    large = built(BY_CUSTOMER, {"sales": SALES})
    contract.recall_splits(large._built(), large.options)
    assert found_of(large) == [] and not made


def test_of_another_function_nothing_is_known(built: Build) -> None:
    growth = built(BY_CUSTOMER, {"sales": SALES}, known=KNOWN)
    assert growth.split == KNOWN and found_of(growth)
    code = growth._built().code
    assert pickle.loads(pickle.dumps(growth._built().splits)).known(code) == KnownSplits()
    growth._pending = built("return sales", {"sales": SALES})._pending  # the second opinion changed it
    assert growth.known_splits == KnownSplits()
