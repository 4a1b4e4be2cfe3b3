"""`--contract monthly=@Model`, `--schema @Model`: schemas of the notebook in a cell."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pandera.pandas as pa
import pytest

from autocoder_jupyter.errors import ContractBroken, InvalidRequest
from autocoder_jupyter.magics.command import parse_cell
from autocoder_jupyter.magics.contracts import with_contracts
from autocoder_jupyter.magics.references import collect_samples, read_schema
from autocoder_jupyter.request import Request
from autocoder_jupyter.types import CodePlan, OutputSpec
from tests.cases import each


class Sales(pa.DataFrameModel):
    price: float = pa.Field(ge=0, coerce=True)


NAMESPACE = {
    "sales": pd.DataFrame({"price": [1, 2]}),
    "orders": pd.DataFrame({"price": [1, 2]}),
    "bad": pd.DataFrame({"price": [-1.0]}),
    "Sales": Sales,
    "schemas": type("Module", (), {"Sales": Sales}),
    "notes": "amounts in EUR",
    "limit": 5,
}


def request(line: str, prose: str = "Total of @sales.") -> Request:
    command = parse_cell(f"growth {line}", prose)
    plain = Request(
        "growth",
        command.prompt,
        samples=collect_samples(command, NAMESPACE),
        inputs=command.inputs,
        outputs=command.outputs,
        schema=read_schema(command.schema, NAMESPACE),
    )
    return with_contracts(plain, command, NAMESPACE)


@each(
    "line",
    ["--schema @Sales", "--schema sales=@Sales", "--contract sales=@Sales", "--contract sales=@schemas.Sales"],
)
def test_a_schema_is_about_an_input(line: str) -> None:
    found = request(line)
    assert found.contracts["sales"].given is Sales and found.schema is None
    assert found.samples["sales"]["price"].dtype == "float64"  # as the schema gives it back


def test_a_contract_is_about_an_output_too() -> None:
    found = request('-o "monthly: DataFrame" --contract monthly=@Sales --schema @notes')
    assert list(found.contracts) == ["monthly"] and found.schema == "amounts in EUR"


def test_text_with_an_at_sign_is_text_as_ever() -> None:
    assert request('--schema "price=@ 5 EUR"').schema == "price=@ 5 EUR"
    assert request("").contracts == {}


@each(
    ("line", "what", "hint"),
    [
        ("--contract sales=@Sale", "there is no 'Sale'", "Did you mean @Sales?"),
        ("--contract sales=@schemas.Gone", "there is no 'schemas.Gone'", ""),
        ("--contract sales=@limit", "a int is not a schema", "Pass a DataFrameSchema"),
        ("--contract sales=@sales", "a DataFrame is not a schema", "Pass a DataFrameSchema"),
        ("--schema @limit", "neither a string nor a pandera schema", ""),
        ("--contract monthly=@Sales", "no input or output 'monthly'", "Tables here: sales."),
        ('-o "n: int" --contract n=@Sales', "n is a int", "Declare it as a DataFrame"),
        ("--contract sales", "does not name a table and its schema", "NAME=@MODEL"),
        ("--contract sales=Sales", "does not name a table and its schema", "NAME=@MODEL"),
        ("--contract sales=@Sales --contract sales=@Sales", "--contract names 'sales' twice", "Keep one"),
        ("--schema @Sales --contract sales=@Sales", "from --schema and from --contract", "Keep one"),
    ],
)
def test_what_cannot_be_a_contract_is_said_in_the_cell(line: str, what: str, hint: str) -> None:
    with pytest.raises(InvalidRequest, match=what) as raised:
        request(line)
    assert hint in raised.value.hint


def test_a_schema_without_a_name_needs_one_input_that_it_can_be_about() -> None:
    with pytest.raises(InvalidRequest, match="does not name its input, and there are 2: sales, orders") as raised:
        request("--schema @Sales", "Join @sales with @orders.")
    assert raised.value.hint == "Write --schema sales=@Sales, and --contract for the others."
    with pytest.raises(InvalidRequest, match="there is no DataFrame"):
        request("--schema @Sales", "Nothing at all.")


def test_data_that_break_it_stop_the_cell_before_anything_is_asked() -> None:
    with pytest.raises(ContractBroken, match="price: greater_than_or_equal_to"):
        request("--contract bad=@Sales", "Total of @bad.")


CELL = '%%autocode growth -o "totals: DataFrame" --contract totals=@Totals\nTotals of @sales.'
MODEL = "import pandera.pandas as pa\nclass Totals(pa.DataFrameModel):\n    price: float"


def test_a_refinement_keeps_the_contracts(shell: Any, jobs: Any) -> None:
    shell.run("import pandas as pd; sales = pd.DataFrame({'price': [1.0]})")
    shell.run(MODEL)
    shell.run(CELL)
    plan = CodePlan(description="T", approach="T", outputs=(OutputSpec(name="totals", type="DataFrame"),))
    jobs.last.end(plan=plan)
    shell.run("%%autocode growth --refine --contract sales=@Totals\nOnly of this year.")
    assert sorted(jobs.last.request.contracts) == ["sales", "totals"] and jobs.last.request.wishes


def test_schemas_are_offered_where_one_can_stand(shell: Any) -> None:
    from tests.magics.test_completion import offered

    shell.run(MODEL)
    shell.run("number = 5")
    assert ("%%autocode g --contract totals=@Totals", "schema") in offered(
        shell, "%%autocode g --contract totals=@To|\n"
    )
    assert ("%%autocode g --schema @Totals", "schema") in offered(shell, "%%autocode g --schema @|\n")
