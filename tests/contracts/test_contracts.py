"""A user's schema: which schemas are accepted, how they are described, and the errors for tables that violate them."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import pandas as pd
import pandera.pandas as pa
import pytest

from autocoder_jupyter.agent.arguments import build_request
from autocoder_jupyter.contracts.applying import apply_contract, checked_outputs
from autocoder_jupyter.contracts.describing import backend_of, contract_of
from autocoder_jupyter.errors import ContractBroken, InvalidRequest
from autocoder_jupyter.request import Contract, Request
from autocoder_jupyter.types import OutputSpec
from autocoder_jupyter.versions.request_fields import RequestKey
from tests.cases import each


class Monthly(pa.DataFrameModel):
    month: str = pa.Field(unique=True)
    revenue: float = pa.Field(ge=0)
    region: str = pa.Field(isin={"north", "south"}, nullable=True)

    @pa.check("revenue")
    def is_small(cls, revenue: Any) -> Any:
        return revenue < 1000

    class Config:
        strict = True


GOOD = pd.DataFrame({"month": ["a", "b"], "revenue": [1.0, 2.0], "region": ["north", None]})
BAD = pd.DataFrame(
    {"month": ["a", "a", None], "revenue": [-1.0, 5000.0, 2.0], "region": ["x@example.org", "y", "y"], "secret": 1}
)
PLAIN = pa.DataFrameSchema(
    {"month": pa.Column(str, pa.Check.str_length(3, 7)), "n": pa.Column(int, pa.Check.isin([1, 2]), coerce=True)},
    index=pa.MultiIndex([pa.Index(int, name="x"), pa.Index(str, name="y")]),
    checks=[],
    unique=["month"],
    ordered=True,
    name="Plain",
)


def contract(value: Any = Monthly, *, is_output: bool = True) -> Contract:
    return contract_of("--contract monthly=@Model", "monthly", value, is_output=is_output)


def words(table: Any, value: Any = Monthly, *, values: bool = True) -> str:
    _, breach = apply_contract("monthly", contract(value), table)
    return breach.words(values=values) if breach else ""


def test_all_rules_that_fail_are_told_at_once_the_worst_first() -> None:
    assert words(BAD).splitlines() == [
        "column_in_schema: secret",
        "region: isin(allowed_values=['north', 'south']): 3 of 3 rows (row 0: x@example.org, row 1: y, row 2: y)",
        "month: field_uniqueness: 2 of 3 rows (row 0: a, row 1: a)",
        "month: not_nullable: 1 of 3 rows (row 2: missing)",
        "revenue: greater_than_or_equal_to(min_value=0): 1 of 3 rows (row 0: -1)",
        "revenue: is_small: 1 of 3 rows (row 1: 5000)",
    ]


def test_without_leave_no_value_of_the_data_is_told() -> None:
    told = words(BAD, values=False)
    assert "month: field_uniqueness: 2 of 3 rows" in told
    assert not any(value in told for value in ("example.org", "5000", "-1", "secret", "row "))


@each(
    ("schema", "values", "shown"),
    [
        (pa.Column(float, pa.Check.ge(0)), [-1.0, 2.0, -9.5, -3.0, -2.0], "row 2: -9.5, row 3: -3, row 4: -2"),
        (pa.Column(int, pa.Check.lt(10)), [10, 99, 5, 11, 40], "row 1: 99, row 4: 40, row 3: 11"),
        (
            pa.Column("datetime64[ns]", pa.Check.le(pd.Timestamp("2026-01-31"))),
            pd.to_datetime(["2026-02-01", "2027-01-01", "2026-01-01"]).astype("datetime64[ns]"),
            "row 1: 2027-01-01",
        ),
        (pa.Column(int, pa.Check.isin([1])), [7, 1, 3], "row 0: 7, row 2: 3"),
    ],
)
def test_rows_farthest_beyond_a_bound_are_shown_first(schema: Any, values: Any, shown: str) -> None:
    told = words(pd.DataFrame({"v": values}), pa.DataFrameSchema({"v": schema}))
    assert f"({shown}" in told


def test_what_a_regular_expression_found_is_not_named_without_leave() -> None:
    schema = pa.DataFrameSchema({"sales_.*": pa.Column(float, pa.Check.ge(0), regex=True)})
    told = words(pd.DataFrame({"sales_ann": [-1.0]}), schema, values=False)
    assert "ann" not in told and "a column that it does not name" in told


def test_another_dtype_is_named_without_leave_too() -> None:
    assert "n: dtype('int64')" in words(
        pd.DataFrame({"n": [1.5]}), pa.DataFrameSchema({"n": pa.Column(int)}), values=False
    )
    missing = words(GOOD.drop(columns="region"), values=False)
    assert missing == "column_in_dataframe: region"  # the contract's own word


def test_a_check_that_raises_is_a_rule_that_fails() -> None:
    schema = pa.DataFrameSchema({"n": pa.Column(int)}, checks=[pa.Check(lambda table: table["gone"] > 0, name="own")])
    assert words(pd.DataFrame({"n": [1]}), schema).startswith("own: KeyError")
    parsed = pa.DataFrameSchema({"n": pa.Column(int)}, parsers=pa.Parser(lambda table: table["gone"]))
    assert "the schema raised an exception: KeyError" in words(pd.DataFrame({"n": [1]}), parsed)


def test_coerce_strict_and_index_count_as_pandera_means_them() -> None:
    levels = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")], names=["x", "y"])
    table = pd.DataFrame({"month": ["2024-01", "2024-02"], "n": ["1", "2"]}, index=levels)
    accepted, breach = apply_contract("monthly", contract(PLAIN), table)
    assert breach is None and accepted["n"].dtype == "int64" and table["n"].dtype != "int64"
    assert words(table.reset_index(drop=True), PLAIN) == "the MultiIndex is another one"
    assert words(table[["n", "month"]], PLAIN) == "column_ordered: n, month"
    filtered, breach = apply_contract(
        "m", contract(pa.DataFrameSchema({"a": pa.Column(int)}, strict="filter")), pd.DataFrame({"a": [1], "b": [2]})
    )
    assert breach is None and list(filtered) == ["a"]


def test_pandera_switched_off_is_switched_on_for_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    from pandera.config import config_context

    with config_context(validation_enabled=False):
        assert words(BAD)


def test_the_error_of_a_call_shows_all_to_the_person() -> None:
    with pytest.raises(ContractBroken) as raised:
        checked_outputs("growth", {"monthly": contract()}, {"monthly": BAD, "n": 1})
    error = raised.value
    assert error.what == "growth ran, and its output monthly does not satisfy Monthly."
    assert (
        "x@example.org" in error.why
        and "example.org" not in error.without_values
        and isinstance(error.failure_cases, pd.DataFrame)
        and len(error.failure_cases) >= 6
    )
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) and copy.name == "monthly" and copy.without_values == error.without_values
    with pytest.warns(DeprecationWarning, match="renamed to without_values"):
        assert error.told == error.without_values


@each(
    ("value", "what"),
    [
        (pa.Column(int), "a Column is not a schema"),
        (int, "the class int is not a schema"),
        ("text", "a str is not a schema"),
        (type("B", (pa.DataFrameModel,), {"__annotations__": {"a": "nothing"}}), "the model B cannot be built"),
        (pa.DataFrameSchema({}, drop_invalid_rows=True), "drop_invalid_rows, which would hide errors"),
    ],
    ids=["column", "class", "text", "broken model", "dropped rows"],
)
def test_what_cannot_be_a_contract_says_why(value: Any, what: str) -> None:
    with pytest.raises(InvalidRequest, match=what):
        contract(value)


def test_a_schema_for_polars_says_that_it_is_not_supported() -> None:
    import pandera.polars as pp

    model = type("M", (pp.DataFrameModel,), {"__annotations__": {"a": int}})
    for schema in (pp.DataFrameSchema({"a": pp.Column(int)}), model):
        with pytest.raises(InvalidRequest, match="a schema for polars is not supported"):
            contract(schema)


def test_a_contract_of_an_input_may_drop_rows() -> None:
    schema = pa.DataFrameSchema({"a": pa.Column(int, pa.Check.gt(0))}, drop_invalid_rows=True)
    accepted, breach = apply_contract("sales", contract(schema, is_output=False), pd.DataFrame({"a": [1, -1]}))
    assert breach is None and len(accepted) == 1


@pytest.mark.parametrize(
    ("version", "told"), [("", "pandera is not installed"), ("0.17.0", "pandera 0.17.0 is too old")]
)
def test_a_pandera_that_is_missing_or_too_old_is_named(
    version: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = type(sys)("pandera")
    if version:
        old.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.delitem(sys.modules, "pandera.pandas")
    monkeypatch.setitem(sys.modules, "pandera", old)
    with pytest.raises(InvalidRequest, match=told):
        contract()


def test_python_takes_schemas_in_the_place_of_types() -> None:
    request = build_request("…", inputs={"sales": PLAIN}, outputs={"monthly": Monthly, "n": int})
    assert [spec.type for spec in request.outputs] == ["DataFrame", "int"]
    assert [spec.type for spec in request.inputs] == ["DataFrame"] and set(request.contracts) == {"sales", "monthly"}
    series = build_request("…", outputs={"prices": pa.SeriesSchema(float)})
    assert series.outputs[0].type == "Series"


def test_a_sample_that_breaks_its_contract_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(ContractBroken, match="The input sales does not satisfy Monthly; nothing was run"):
        build_request("…", samples={"sales": BAD}, inputs={"sales": Monthly})


def test_a_sample_is_as_its_contract_gives_it_back() -> None:
    schema = pa.DataFrameSchema({"n": pa.Column(float, coerce=True)})
    sales = pd.DataFrame({"n": [1, 2]})
    request = build_request("…", samples={"sales": sales}, inputs={"sales": schema})
    assert request.samples["sales"]["n"].dtype == "float64" and sales["n"].dtype == "int64"


def test_a_contract_changes_the_key_and_none_leaves_no_trace() -> None:
    def key(**contracts: Contract) -> str:
        request = Request("growth", "…", outputs=(OutputSpec(name="monthly", type="DataFrame"),), contracts=contracts)
        return RequestKey.of(request, ()).asked

    class Other(Monthly):
        @pa.check("revenue")
        def is_small(cls, revenue: Any) -> Any:
            return revenue < 2000

    keys = {key(), key(monthly=contract()), key(monthly=contract(Other)), key(monthly=contract(PLAIN))}
    assert len(keys) == 4
    assert key(monthly=contract()) == key(monthly=contract())


SHOWN = """
import json, pandera.pandas as pa
from autocoder_jupyter.contracts.describing import contract_of
schema = pa.DataFrameSchema({"a": pa.Column(str, pa.Check.isin({"x", "yy", "zzz", "w"}))})
found = contract_of("", "m", schema, is_output=True)
print(json.dumps([found.record, found.text]))
"""


def test_two_processes_tell_a_contract_in_the_same_words() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", SHOWN],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1 and "isin(allowed_values=['w', 'x', 'yy', 'zzz'])" in told.pop()


def test_the_model_is_told_every_rule() -> None:
    text = contract().text
    assert "exactly these columns" in text
    assert "column 'month': str; never missing; no value twice" in text
    assert "greater_than_or_equal_to(min_value=0)" in text and "return revenue < 1000" in text
    assert "index 'y': str" in contract(PLAIN).text


def test_a_contract_is_plain_json() -> None:
    schema = pa.DataFrameSchema({"t": pa.Column("datetime64[ns]", pa.Check.ge(pd.Timestamp("2024-01-01")))})
    assert "2024-01-01T00:00:00" in json.dumps(contract(schema).record)
    assert contract(schema).source == ""  # as text the time would have another meaning for other checks


def test_a_contract_that_can_be_written_means_the_same() -> None:
    schema = eval(contract(PLAIN).source, {"pa": pa})
    table = pd.DataFrame(
        {"month": ["2024-01"], "n": ["1"]}, index=pd.MultiIndex.from_tuples([(1, "a")], names=["x", "y"])
    )
    assert schema.validate(table, lazy=True)["n"].dtype == "int64"
    assert contract(schema).record == {**contract(PLAIN).record, "name": None}
    assert contract(Monthly).source == ""


def test_a_contract_without_a_place_to_be_found_says_so_when_it_is_pickled() -> None:
    again = pickle.loads(pickle.dumps(contract()))
    assert again.given is Monthly and again == contract()
    local = pa.DataFrameSchema({"n": pa.Column(int, pa.Check(lambda n: n > 0))})
    with pytest.raises(TypeError, match=r"cannot be pickled .* Define it as a DataFrameModel"):
        pickle.dumps(contract(local))


def test_who_has_no_schema_pays_nothing() -> None:
    """Without a schema, neither the request nor a call imports pandera."""
    code = (
        "import sys\nfrom autocoder_jupyter.agent.arguments import build_request\n"
        "from autocoder_jupyter.result import CodeGenEvalResult\nfrom autocoder_jupyter.calls.call import call\n"
        "import pandas as pd\nbuild_request('x', samples={'s': pd.DataFrame({'a': [1]})}, outputs={'m': float})\n"
        "assert not [name for name in sys.modules if name.startswith('pandera')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_frame_or_a_class_of_the_persons_own_is_no_schema() -> None:
    assert [backend_of(value) for value in (GOOD, int, None, Monthly, PLAIN)] == ["", "", "", "pandas", "pandas"]
