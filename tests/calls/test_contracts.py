"""A user's schema in every call: of a result, of a task, of a cached result, of an exported script."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pandera.pandas as pa
import pytest

from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.codemode.calls import _builtin_error
from autocoder_jupyter.contracts.applying import checked_outputs
from autocoder_jupyter.contracts.describing import contract_of
from autocoder_jupyter.errors import ContractBroken, UncheckedContractWarning
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.tasks.export import script
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.calls.conftest import StandInPool, make_report

CODE = 'def run(sales):\n    return sales.groupby("shop", as_index=False, dropna=False)["price"].sum()'
SPECS = (InputSpec(name="sales", type="DataFrame"),), (OutputSpec(name="totals", type="DataFrame"),)
SALES = pd.DataFrame({"shop": ["Ann", "Bob"], "price": [10, 5]})


class Bought(pa.DataFrameModel):
    shop: str
    price: int = pa.Field(ge=0)


class Totals(pa.DataFrameModel):
    shop: str = pa.Field(unique=True)
    price: float = pa.Field(le=100, coerce=True)

    class Config:
        strict = True


def built(code: str = CODE, root: Path = Path(".autocode"), live: bool = True, **given: Any) -> CodeGenEvalResult:
    found = {name: contract_of("", name, value, is_output=name == "totals") for name, value in given.items()}
    report = make_report(code, *SPECS, contracts={name: dict(contract.record) for name, contract in found.items()})
    options = CallOptions(sandbox="local", cache="disable")
    resolved = Pending.resolved(Resolution("ready", report))
    return CodeGenEvalResult(
        "growth", resolved, samples={"sales": SALES}, options=options, root=root, contracts=found if live else {}
    )


def test_new_data_that_break_the_schema_of_the_input_never_reach_the_function(pool: StandInPool) -> None:
    growth = built(sales=Bought)
    day_two = pd.concat([SALES, pd.DataFrame({"shop": [None], "price": [-1]})], ignore_index=True)
    with pytest.raises(ContractBroken) as raised:
        growth.run(day_two)
    assert raised.value.what == "The input sales does not satisfy Bought; nothing was run."
    assert raised.value.why.splitlines() == [
        "shop: not_nullable: 1 of 3 rows (row 2: missing)",
        "price: greater_than_or_equal_to(min_value=0): 1 of 3 rows (row 2: -1)",
    ]
    with pytest.raises(ContractBroken, match="column_in_dataframe: shop"):
        growth.run(SALES.rename(columns={"shop": "store"}))
    assert pool.calls == []
    assert len(growth.run(pd.concat([SALES, SALES], ignore_index=True))) == 2


def test_an_output_that_breaks_its_schema_is_one_error_and_not_a_value(pool: StandInPool) -> None:
    growth = built(totals=Totals)
    with pytest.raises(ContractBroken, match=r"growth ran, and its output totals does not satisfy Totals") as raised:
        growth.run(SALES.assign(price=[1000, 5]))
    assert "price: less_than_or_equal_to(max_value=100): 1 of 2 rows (row 0: 1000)" in raised.value.why
    assert growth.run()["price"].dtype == "float64"  # coerced, as pandera gives it back


async def test_a_task_is_held_to_it_too_and_pickles(pool: StandInPool) -> None:
    task = pickle.loads(pickle.dumps(built(totals=Totals).as_task("monthly_totals")))
    assert len(await task.aio(SALES)) == 2
    with pytest.raises(ContractBroken, match="monthly_totals: growth ran"):
        task(SALES.assign(price=[1000, 5]))


def test_a_result_that_pickles_keeps_its_contracts(pool: StandInPool) -> None:
    growth = pickle.loads(pickle.dumps(built(totals=Totals)))
    assert growth.contracts == {"totals": Totals}
    with pytest.raises(ContractBroken):
        growth.run(SALES.assign(price=[1000, 5]))


def test_an_outcome_from_disk_is_held_to_the_schema_of_today(pool: StandInPool) -> None:
    sales = SALES.assign(price=[50, 5])
    assert len(built(totals=Totals).run(sales, cache="auto")) == 2

    class Stricter(Totals):
        price: float = pa.Field(le=10, coerce=True)

    with pytest.raises(ContractBroken, match="does not satisfy Stricter"):
        built(totals=Stricter).run(sales, cache="auto")
    assert len(pool.calls) == 1


def test_a_file_of_a_call_that_broke_its_contract_stays_nowhere(pool: StandInPool, tmp_path: Path) -> None:
    code = (
        "import pathlib\nfrom autocoder_jupyter.types import File\n\n\ndef run(sales):\n"
        f"    path = pathlib.Path({str(tmp_path / 'made.txt')!r})\n    path.write_text('x')\n"
        "    return sales, File(path)"
    )
    outputs = (*SPECS[1], OutputSpec(name="made", type="File"))
    found = {"totals": contract_of("", "totals", Totals, is_output=True)}
    growth = CodeGenEvalResult(
        "growth",
        Pending.resolved(Resolution("ready", make_report(code, SPECS[0], outputs))),
        options=CallOptions(sandbox="local", cache="disable", output_dir=tmp_path / "kept"),
        root=tmp_path / ".autocode",
        contracts=found,
    )
    with pytest.raises(ContractBroken):
        growth.run(SALES.assign(price=[1000, 5]))
    assert not (tmp_path / "kept").exists()


def test_a_recorded_function_says_that_nobody_checked(pool: StandInPool) -> None:
    growth = built(live=False, totals=Totals)
    with pytest.warns(UncheckedContractWarning, match="has a contract for totals, and this call was not checked"):
        growth.run(SALES.assign(price=[1000, 5]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built(totals=Totals).run()


def test_code_mode_is_told_no_row() -> None:
    with pytest.raises(ContractBroken) as raised:
        contracts = {"totals": contract_of("", "totals", Totals, is_output=True)}
        checked_outputs("growth", contracts, {"totals": SALES.assign(price=[1000, 5])})
    kind, told = _builtin_error(raised.value)
    assert kind == "ValueError" and "less_than_or_equal_to(max_value=100): 1 of 2 rows" in told and "1000" not in told


PLAIN = pa.DataFrameSchema({"shop": pa.Column(str), "price": pa.Column(float, pa.Check.le(100), coerce=True)})


def test_a_script_carries_what_can_be_written_and_names_the_rest(pool: StandInPool, tmp_path: Path) -> None:
    class Own(Bought):
        @pa.check("price")
        def is_even(cls, price: Any) -> Any:
            return price % 2 == 0

    growth = built(totals=PLAIN, sales=Own)
    text = script(growth.report, growth._built())
    assert '#   "pandera>=0.24",' in text
    assert "Not in this script are the contracts of sales: these are code of the notebook." in text
    exported = tmp_path / "growth.py"
    growth.export(exported)
    SALES.to_parquet(tmp_path / "good.parquet")
    SALES.assign(price=[1000, 5]).to_parquet(tmp_path / "bad.parquet")
    assert run_script(exported, "good.parquet").returncode == 0
    failed = run_script(exported, "bad.parquet")
    assert failed.returncode == 1 and "less_than_or_equal_to" in failed.stderr


def run_script(path: Path, sales: str) -> Any:
    command = [sys.executable, path.name, "--sales", sales]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)


def test_a_script_without_contracts_knows_no_pandera(pool: StandInPool) -> None:
    growth = built()
    assert "pandera" not in script(growth.report, growth._built())
