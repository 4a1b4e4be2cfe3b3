"""A function and the data of another day: renamed columns, other dtypes, values that drift."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.calls import function as value_watch
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.data.drift import check_drift, conversions
from autocoder_jupyter.data.renames import call_with, likely_renames, option_of, renamed, renamed_samples
from autocoder_jupyter.data.shapes import shape_of
from autocoder_jupyter.data.value_drift import value_profile
from autocoder_jupyter.data.withheld import WithheldColumns
from autocoder_jupyter.display.actions import WORDS
from autocoder_jupyter.display.card import card, facts, tone
from autocoder_jupyter.errors import DataDrift, DriftWarning, InvalidRequest
from autocoder_jupyter.result.recorded import result_of
from autocoder_jupyter.run.events import DriftFound, OptionOffered
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.run.of_report import headline, run_of
from autocoder_jupyter.versions import Versions
from autocoder_jupyter.view.as_html import document_html
from autocoder_jupyter.view.as_text import document_text
from tests.cases import each
from tests.runner import CODE, PLAN, TESTS, Generated, Runner, fenced

SCRIPT: dict[str, Any] = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}


def sales(rows: int = 2_000, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame({"price": draw.lognormal(3, 1, rows), "quantity": draw.poisson(2, rows) + 1})


def state_of(produced: Generated) -> FunctionRun:
    state = FunctionRun("growth")
    for event in produced.events:
        state = state.after(event)
    return state


# Renamed columns


@pytest.mark.local_sandbox
async def test_a_likely_new_name_is_offered_and_nothing_is_sent(runner: Runner) -> None:
    await runner.begin(SCRIPT, samples={"sales": sales()})
    seen: list[Any] = []
    other = sales(seed=1).rename(columns={"price": "amount"})
    with pytest.raises(DataDrift) as raised:
        await runner.generate({}, samples={"sales": other}, hear=seen.append)
    assert raised.value.what == "sales lacks 'price', and has the new 'amount'."
    assert "add --rename price=amount to the first line" in raised.value.hint
    assert "growth.run(sales.rename(columns={'amount': 'price'}))" in raised.value.hint
    assert [event.option for event in seen if isinstance(event, OptionOffered)] == ["--rename price=amount"]
    reason = str(raised.value)
    state = FunctionRun("growth", phase="failed", option="--rename price=amount", asks_for="name", reason=reason)
    html = str(document_html(card(state), 20_000))
    assert 'class="autocode-option-cell"' in html and 'data-autocode-option="--rename price=amount"' in html
    assert "--rename price=amount" in document_text(card(state))
    assert (headline(state), tone(state)) == ("Renamed?", "warn"), "the function is there, so it has not failed"
    assert facts(state)[0] == "price → amount"
    spaced = replace(state, option='--rename "unit price=price each" --rename a=b')
    assert facts(spaced)[0] == "unit price → price each, a → b"
    typed = html.partition(f'class="{WORDS}"')
    assert "If they are: add" not in typed[0] and "If they are: add --rename price=amount" in typed[2]


@pytest.mark.local_sandbox
async def test_what_is_renamed_is_kept_with_the_function_and_asks_no_model(runner: Runner) -> None:
    first = await runner.begin(SCRIPT, samples={"sales": sales()})
    renames = {"price": "amount"}
    other = sales(seed=1).rename(columns={"price": "amount"})
    samples = renamed_samples({"sales": other}, renames)
    kept = await runner.generate({}, samples=samples, renames=renames)
    assert kept.asked == [] and kept.report.success and kept.code == first.code
    assert kept.report.change == "price is amount in the data; version 1 satisfies it unchanged"
    again = await runner.generate({}, samples=samples, renames=renames)
    assert again.asked == [] and again.report.run_id == kept.report.run_id and again.report.kept
    version = Versions(runner.root, "growth").last_good()
    assert version is not None and version.report.renames == renames
    growth = result_of(version, runner.root, CallOptions(), trusted=False)
    with pytest.warns(DriftWarning, match=r"sales\['amount'\] is read as 'price' \(--rename\)"):
        assert growth.run(other) == pytest.approx(float((other["amount"] * other["quantity"]).sum()))
    assert growth.run(sales().head(2)) > 0  # a table with the own names stays as it is
    verified = await growth.verify.aio(sales=other)
    assert verified.success and verified.report.renames == renames
    back = await runner.generate({}, samples={"sales": sales()})
    assert back.asked == [] and back.report.run_id == first.report.run_id


def test_a_call_offers_likely_names_and_the_line_that_converts(function: Any) -> None:
    from autocoder_jupyter.calls.binding import bind
    from autocoder_jupyter.types import InputSpec

    frame = sales()
    made = function(
        "def run(sales): return sales['price'].sum() + sales['quantity'].sum()",
        (InputSpec(name="sales", type="DataFrame"),),
        shapes={"sales": shape_of(frame)},
        values={"sales": value_profile(frame, "rows", WithheldColumns()).model_dump(mode="json")},
    )
    with pytest.raises(DataDrift) as raised:
        bind(made, (sales(seed=1).rename(columns={"price": "net amount"}),), {})
    assert "growth.run(sales.rename(columns={'net amount': 'price'}))" in raised.value.hint
    assert '--rename "price=net amount"' in raised.value.hint
    with pytest.raises(DataDrift, match="has other dtypes") as raised:
        bind(made, (sales(seed=1).astype({"price": "str"}),), {})
    assert "sales['price'] = pd.to_numeric(sales['price'])" in raised.value.hint


@pytest.fixture
def function() -> Any:
    from autocoder_jupyter.calls.function import Function
    from autocoder_jupyter.sandbox.protocol import EnvironmentSpec
    from autocoder_jupyter.types import OutputSpec

    def make(code: str, inputs: Any, **fields: Any) -> Function:
        outputs = (OutputSpec(name="x", type="float"),)
        return Function("growth", code, inputs, outputs, EnvironmentSpec((), (3, 11)), **fields)

    return make


@each(
    ("new", "pairs"),
    [
        pytest.param(sales(seed=1).rename(columns={"price": "amount"}), {"price": "amount"}, id="values"),
        pytest.param(sales(seed=1).set_axis(["net", "count"], axis=1), {"price": "net", "quantity": "count"}, id="two"),
        pytest.param(
            sales(seed=1).rename(columns={"price": "a"}).assign(b=lambda f: f["a"] * 40), {"price": "a"},
            id="other values",
        ),
        pytest.param(sales(seed=1).rename(columns={"price": "a"}).assign(a="x"), {}, id="other dtype"),
        pytest.param(sales(seed=1).assign(price_=1.0).drop(columns="price"), {}, id="like the name, other values"),
        pytest.param(sales(seed=1).drop(columns="price"), {}, id="nothing new"),
        pytest.param(sales(seed=1), {}, id="nothing is missing"),
    ],
)  # fmt: skip
def test_pairs_have_the_dtype_and_the_values(new: pd.DataFrame, pairs: dict[str, str]) -> None:
    frame = sales()
    values = value_profile(frame, "rows", WithheldColumns())
    assert likely_renames(new, shape_of(frame), values) == pairs


def test_without_recorded_values_the_names_must_be_alike() -> None:
    frame = sales(3)
    shape = shape_of(frame)
    assert likely_renames(frame.rename(columns={"price": "unit_price"}), shape, None) == {"price": "unit_price"}
    assert likely_renames(frame.rename(columns={"price": "x"}), shape, None) == {}


@pytest.mark.parametrize(("many", "length"), [(100_000, 10), (300, 5_000), (3, 1_000_000)])
def test_a_record_with_many_or_long_names_is_not_compared_name_by_name(
    monkeypatch: pytest.MonkeyPatch, many: int, length: int
) -> None:
    compared: list[object] = []

    def matcher(*names: object) -> SequenceMatcher[str]:
        compared.append(names)
        return SequenceMatcher()

    monkeypatch.setattr("autocoder_jupyter.data.renames.difflib.SequenceMatcher", matcher)
    frame = pd.DataFrame({f"{'ba' * 100}{number}": [1.0] for number in range(50)} | {"a": [1.0]})
    shape = {
        "type": "DataFrame",
        "index": [],
        "columns": [[repr("ab" * length + str(n)), "float64"] for n in range(many)],
    }
    assert likely_renames(frame, shape, None) == {}
    assert compared == []


def test_a_rename_never_takes_a_name_that_is_there() -> None:
    frame = sales(3).assign(amount=1.0)
    assert renamed(frame, {"price": "amount"}) == (frame, {})
    made, used = renamed(frame.drop(columns="price"), {"price": "amount"})
    assert list(made.columns) == ["quantity", "price"] and used == {"price": "amount"}
    assert renamed(3, {"price": "amount"}) == (3, {})
    with pytest.raises(InvalidRequest, match="There is no column 'amout' to be read as 'prise'"):
        renamed_samples({"sales": frame}, {"prise": "amout"})


def test_what_is_offered_can_be_written_in_a_cell() -> None:
    from autocoder_jupyter.magics.command import parse_cell

    for pairs in ({"price": "unit_price"}, {"price": "net amount (€)"}, {"a b": "c", "d": "e"}):
        assert parse_cell(f"growth {option_of(pairs)}", "Do it.").renames == pairs
    assert option_of({"a": 'b"'}) == option_of({"a=b": "c"}) == option_of({"a": "b\n"}) == ""
    assert call_with("growth", "sales", {"a": "b"}) == "growth.run(sales.rename(columns={'b': 'a'}))"
    with pytest.raises(InvalidRequest, match="does not name a column"):
        parse_cell("growth --rename price", "Do it.")


# Dtypes


@each(
    ("then", "now"),
    [
        ([1.5, 2.0], ["1.5", "2"]),
        ([1, 2], ["1", "2"]),
        (pd.date_range("2024", periods=2), ["2024-01-01", "2024-01-02"]),
        (pd.date_range("2024", periods=2), pd.date_range("2024", periods=2, tz="UTC")),
        (pd.date_range("2024", periods=2), ["31.01.2024", "01.02.2024"]),
        (pd.date_range("2024", periods=2, tz="Europe/Berlin"), ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"]),
        (pd.to_timedelta(["1s", "2s"]), ["1s", "2s"]),
        ([True, False], ["True", "False"]),
        ([True, False], [True, False, None]),
        ([True, False], ["true", None]),
        ([True, False], [1, 0]),
        ([True, False], [1.0, 0.0, None]),
        (pd.Categorical(["S", "L"], ["S", "L"], ordered=True), pd.Categorical(["S", "L"], ["L", "S"], ordered=True)),
        ([1.0, 2.0], [True, False]),
    ],
)
def test_the_line_that_converts_a_dtype_does(then: Any, now: Any) -> None:
    shape, sales = shape_of(pd.DataFrame({"x": then})), pd.DataFrame({"x": now})
    assert check_drift("sales", sales, shape) is not None
    (line,) = conversions("sales", sales, shape)
    before = sales["x"].isna().tolist()
    exec(line, {"pd": pd, "sales": sales})
    assert check_drift("sales", sales, shape) is None and sales["x"].isna().tolist() == before


@each(
    ("then", "now"),
    [
        ([1, 2], [1.5, 2.0]),
        ([1, 2], ["01067", "1234"]),
        ([1, 2], ["9007199254740993", None]),
        ([1, 2], ["1", "n/a"]),
        ([True, False], ["yes", "True"]),
        ([True, False], [2, 0]),
        ([True, False], [2.0, None]),
        (["01067", "1234"], [1067, 1234]),
        (["01067", "1234"], [1234.0, None]),
        (["1067", None], pd.date_range("2024", periods=2)),
        (pd.date_range("2024", periods=2), ["01/02/2024", "02/03/2024"]),
        (pd.date_range("2024", periods=2), ["31/01/2024", "02/13/2024"]),
        (pd.date_range("2024", periods=2), [1704067200, 1704153600]),
        (pd.date_range("2024", periods=2, tz="Europe/Berlin"), pd.date_range("2024", periods=2)),
        (pd.date_range("2024", periods=2), pd.date_range("2024", periods=2, tz="Europe/Berlin")),
        (pd.to_timedelta(["1s", "2s"]), ["1", "2"]),
        (pd.Categorical(["S", "L"], ["S", "L"], ordered=True), ["S", "XL"]),
    ],
)
def test_no_line_is_offered_that_could_change_a_value(then: Any, now: Any) -> None:
    recorded = pd.DataFrame({"x": then})
    shape, sales = shape_of(recorded), pd.DataFrame({"x": now})
    assert check_drift("sales", sales, shape) is not None
    assert conversions("sales", sales, shape) == conversions("sales", sales, shape, sample=recorded) == []


def test_texts_of_numbers_are_offered_only_with_a_sample_that_they_give_back() -> None:
    recorded, now = pd.DataFrame({"x": ["1067", "1234"]}), pd.DataFrame({"x": [1067.0, None, 7.0]})
    shape = shape_of(recorded)
    assert conversions("sales", now, shape) == []
    (line,) = conversions("sales", now, shape, sample=recorded)
    exec(line, {"pd": pd, "sales": now})
    assert now["x"].tolist() == ["1067", pd.NA, "7"]


def test_a_dtype_of_a_record_becomes_no_code() -> None:
    shape = shape_of(pd.DataFrame({"x": [1]}))
    shape["columns"] = [["'x'", 'int64"); import os; ("']]
    assert not any("import" in line for line in conversions("sales", pd.DataFrame({"x": ["a"]}), shape))


# Values


@pytest.mark.local_sandbox
async def test_values_that_drift_are_on_the_card_in_the_result_and_a_warning_at_a_call(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(value_watch, "MOST_OF_CALLS", 1_000.0)
    first = await runner.begin(SCRIPT, samples={"sales": sales()})
    assert first.report.sample_values["sales"]["rows"] == 2_000 and first.report.drift == ()
    same = await runner.generate({}, samples={"sales": sales(seed=1)})
    assert same.asked == [] and same.report.drift == () and not same.of(DriftFound)
    assert "Ready, not fully checked ·" in document_text(card(state_of(same)))
    gone = sales(seed=1)
    gone.loc[gone.index % 10 < 6, "price"] = np.nan
    other = await runner.generate({}, samples={"sales": gone})
    assert other.asked == [] and other.report.success
    (sentence,) = other.report.drift
    assert sentence == "sales['price'] is missing in 60 % of the rows; recorded: 0 %."
    shown = document_text(card(state_of(other)))
    assert sentence in shown and "Ready, with a question for you" in shown
    assert run_of(other.report, "ready").drift == (sentence,)
    assert other.report.sample_values == first.report.sample_values  # compared with the first data, not the last
    off = await runner.generate({}, samples={"sales": gone}, settings={"drift": "off"})
    assert off.report.drift == ()

    (version,) = Versions(runner.root, "growth").all()
    growth = result_of(version, runner.root, CallOptions(), trusted=False)
    with pytest.warns(DriftWarning, match="is missing in 60 % of the rows; recorded: 0 %"):
        growth.run(gone)
    assert growth.drift == ("sales['price'] is missing in 60 % of the rows; recorded: 0 %.",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        growth.run(gone.iloc[::-1])  # a kind is told once
        growth.run(sales(seed=3) * -1, drift="off")
    assert len(growth.drift) == 1
    monkeypatch.setattr(value_watch, "MOST_OF_CALLS", 0.0)
    growth.with_options(timeout=60).run(sales(seed=3) * -1)
    (remark,) = list(growth.drift)[1:]
    assert remark == "1 of 3 calls were not compared, because comparing may take at most 0 % of the time of calls."


@pytest.mark.local_sandbox
async def test_the_record_holds_no_value_that_may_not_be_shared(runner: Runner) -> None:
    frame = sales().assign(salary=np.arange(2_000) % 7 + 31_337, name="mallory")
    settings = {"mask": ("salary",), "hide": ("name",)}
    produced = await runner.generate(SCRIPT, samples={"sales": frame}, settings=settings)
    assert produced.report.success
    labels = [column["label"] for column in produced.report.sample_values["sales"]["columns"]]
    assert labels == ["'price'", "'quantity'", "'salary'"]
    written = "".join(path.read_text("utf-8") for path in runner.root.rglob("*") if path.is_file())
    assert "mallory" not in written and "31337" not in written and "31343" not in written
    schema = await runner.generate(
        SCRIPT, prompt="Total of @sales.", samples={"sales": sales()}, settings={"share": "schema"}
    )
    assert schema.report.sample_values == {"sales": {"rows": 2_000}}


@pytest.mark.local_sandbox
async def test_a_record_of_another_person_is_compared_as_text(runner: Runner) -> None:
    await runner.begin(SCRIPT, samples={"sales": sales()})
    (file,) = runner.root.rglob("report.json")
    record = json.loads(file.read_text("utf-8"))
    record["sample_values"]["sales"]["columns"] = [{"label": "'price'", "missing": 7}]
    file.write_text(json.dumps(record), "utf-8")
    again = await runner.generate({}, samples={"sales": sales(seed=1)})
    assert again.report.success and again.report.drift == ()


def test_comparing_takes_a_small_part_of_the_time_of_calls() -> None:
    from autocoder_jupyter.calls.function import ValueWatch

    watch = ValueWatch()
    assert watch.may_compare() and not watch.remarks  # the first call
    watch.comparing = 0.002
    watch.calls = 0.02
    assert not watch.may_compare()
    watch.calls = 0.06
    assert watch.may_compare()
    (remark,) = watch.remarks
    assert remark == "1 of 3 calls were not compared, because comparing may take at most 4 % of the time of calls."


def test_the_form_of_a_call_takes_a_table_with_the_name_of_the_data(function: Any) -> None:
    from autocoder_jupyter.calls.binding import misfit
    from autocoder_jupyter.types import InputSpec

    frame = sales(3)
    inputs = (InputSpec(name="sales", type="DataFrame"),)
    made = function("def run(sales): return sales['price'].sum()", inputs, shapes={"sales": shape_of(frame)})
    other = frame.rename(columns={"price": "amount"})
    assert "lacks 'price'" in misfit(made, "sales", other)
    made = function(made.code, inputs, shapes=made.shapes, renames={"price": "amount"})
    assert misfit(made, "sales", other) == ""


def test_a_card_shows_some_differences_and_where_the_others_are() -> None:
    state = FunctionRun("growth", phase="ready", drift=tuple(f"sales['c{number}'] differs." for number in range(30)))
    shown = document_text(card(state))
    assert shown.count("differs.") == 8 and "and 22 more, in growth.drift" in shown
