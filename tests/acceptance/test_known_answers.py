"""Four tasks with results that were calculated by hand, from the prompt to the values, on every sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import autocoder_jupyter
from autocoder_jupyter import AutoCoderAgent
from autocoder_jupyter.result import CodeGenEvalResult
from tests.acceptance import known_tasks as known
from tests.acceptance.known_tasks import Task, file
from tests.scripted_model import ScriptedModel


def generated(
    task: Task, samples: Mapping[str, Any], sandbox: str, root: Path, effort: str = "quick"
) -> CodeGenEvalResult:
    with task.model() as model:
        result = agent_in(sandbox, model, effort).generate(**task.request(samples), journal_root=root)
        assert not model.unforeseen
    return succeeded(result)


def agent_in(sandbox: str, model: ScriptedModel, effort: str = "quick") -> AutoCoderAgent:
    return AutoCoderAgent(**{**model.settings, "sandbox": sandbox, "effort": effort})


def succeeded(result: CodeGenEvalResult) -> CodeGenEvalResult:
    assert (result.success, result.error, result.attempts) == (True, None, 1)
    assert not result.evidence.vacuous_tests or len(result.evidence.vacuous_tests) < len(result.evidence.tests)
    return result


@pytest.mark.local_sandbox
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param(known.VENDOR_A, (609.0, 23, 3), id="A"),
        pytest.param(known.VENDOR_B, (529.5, 22, 3), id="B"),
        pytest.param(known.VENDOR_C, (784.0, 33, 3), id="C"),
        pytest.param(known.DURABLE, (879.0, 38, 5), id="durable"),
    ],
)
def test_each_vendors_file_gives_its_revenue_units_and_count(
    tmp_path: Path, text: str, answer: tuple[float, int, int]
) -> None:
    """In the local sandbox; the next test calls the function for three of them in each."""
    totals = generated(known.VENDORS, {"sales": file(tmp_path, "sales.csv", text)}, "local", tmp_path)
    assert totals.run() == answer
    assert totals.run()._fields == ("total_revenue", "total_units", "transaction_count")


async def test_one_vendors_function_serves_all_of_them(sandbox_name: str, tmp_path: Path) -> None:
    with known.VENDORS.model() as model:
        agent = agent_in(sandbox_name, model)
        samples = {"sales": file(tmp_path, "a.csv", known.VENDOR_A)}
        totals = await agent.generate.aio(**known.VENDORS.request(samples), journal_root=tmp_path)
    task = succeeded(totals).as_task("vendor totals")
    durable, vendor_c = (file(tmp_path, f"{n}.csv", t) for n, t in [("d", known.DURABLE), ("c", known.VENDOR_C)])
    assert await totals.run.aio() == (609.0, 23, 3)
    assert await totals.run.aio(sales=durable) == (879.0, 38, 5)
    assert await task.aio(vendor_c) == (784.0, 33, 3)


def test_orders_of_enough_value_are_totalled_a_product_and_in_all(sandbox_name: str, tmp_path: Path) -> None:
    samples = {
        "orders": file(tmp_path, "orders.csv", known.ORDERS),
        "products": file(tmp_path, "products.csv", known.PRODUCTS),
    }
    totals = generated(known.ORDER_TOTALS, samples, sandbox_name, tmp_path)
    total, summary = totals.run()
    assert total == 315.0
    assert totals.run().product_summary_csv is not None
    table = pd.read_csv(summary)
    assert table[["product_id", "total", "order_count"]].values.tolist() == [["P1", 90.0, 3], ["P2", 225.0, 3]]
    assert totals.run(min_order_value=25.0).grand_total == 295.0
    task = totals.as_task("order totals")
    assert task(min_order_value=25.0, include_out_of_stock=True).grand_total == 320.0


def test_all_anomalies_are_those_of_the_third_sensor(sandbox_name: str, tmp_path: Path) -> None:
    readings = known.sensor_readings()
    # The examination of a finished function is the same for every task and sandbox, so one of them has it here.
    effort = "normal" if sandbox_name == "local" else "quick"
    warnings = generated(known.SENSORS, {"readings": readings}, sandbox_name, tmp_path, effort)
    report, total = warnings.run()
    assert (len(readings), len(report), total) == (50, 5, 10)
    assert report.set_index("sensor")["warnings"].to_dict() == {"S1": 0, "S2": 0, "S3": 10, "S4": 0, "S5": 0}
    # 95.0, 95.5 … 99.5: four of the ten lie above 97.5.
    assert warnings.run(limit=97.5).total_anomalies == 4
    assert warnings.as_task("warnings")(readings[readings["sensor"] != "S3"]).total_anomalies == 0


SCRIPT = """
import json, sys
from autocoder_jupyter import AutoCoderAgent, File

sandbox, model, api_base, log, request = sys.argv[1:]
agent = AutoCoderAgent(model=model, api_base=api_base, sandbox=sandbox, effort="quick")
result = agent.generate(**json.loads(request), samples={"log": File(log)})
count, worst, critical = result.run()
print(json.dumps([result.success, result.plan.assumptions, count, worst, critical]))
"""


@pytest.mark.slow
@pytest.mark.local_sandbox
def test_a_script_counts_the_errors_of_a_log_and_names_the_tie(tmp_path: Path) -> None:
    """In a plain script, without a notebook; the next test makes the same function in each sandbox."""
    request = {**known.LOGS.request({}), "outputs": {n: kind.__name__ for n, kind in known.LOGS.outputs.items()}}
    request.pop("samples")
    log = file(tmp_path, "app.log", known.LOG)
    with known.LOGS.model() as model:
        place = ["local", *(model.settings[name] for name in ("model", "api_base"))]
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, *place, str(log.path), json.dumps(request)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(Path(autocoder_jupyter.__file__).parents[1])},
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    success, assumptions, *answer = json.loads(done.stdout)
    assert success
    assert answer == [5, "api", True]
    assert any("db" in line and "api" in line for line in assumptions)
    assert (tmp_path / ".autocode" / "log_errors").is_dir()


async def test_the_function_of_a_log_runs_on_another_log(sandbox_name: str, tmp_path: Path) -> None:
    with known.LOGS.model() as model:
        agent = agent_in(sandbox_name, model)
        samples = {"log": file(tmp_path, "app.log", known.LOG)}
        errors = await agent.generate.aio(**known.LOGS.request(samples), journal_root=tmp_path)
    assert await succeeded(errors).run.aio() == (5, "api", True)
    other = file(tmp_path, "other.log", "2024-06-01 10:00:00 ERROR [db] x\n2024-06-01 10:00:01 INFO  [api] y\n")
    assert await errors.as_task("errors").aio(log=other) == (1, "db", False)
