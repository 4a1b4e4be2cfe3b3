"""`call("growth", frame)`: generated functions, which run in their own sandbox, from the code of code mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter import CodeModeAgent
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodePlan, CodeSolution, InputSpec, OutputSpec, Report
from tests.codemode.conftest import block

SALES = pd.DataFrame({"v": [1.0, 2.0], "k": ["a", "b"]})
CODE = """
def run(sales, least=0.0):
    if least < 0:
        raise ValueError("least must not be negative")
    kept = sales[sales["v"] > least]
    return kept, float(kept["v"].sum())
"""


@pytest.fixture
def growth(tmp_path: Path) -> CodeGenEvalResult:
    report = Report(
        name="growth",
        run_id="abc",
        prompt="…",
        success=True,
        solution=CodeSolution(code=CODE),
        plan=CodePlan(description="Rows above a least value, and their sum.", approach=""),
        declared_inputs=(
            InputSpec(name="sales", type="DataFrame"),
            InputSpec(name="least", type="float", required=False, default=0.0),
        ),
        declared_outputs=(OutputSpec(name="kept", type="DataFrame"), OutputSpec(name="total", type="float")),
        sandbox="local",
    )
    resolved = Pending.resolved(Resolution("ready", report))
    return CodeGenEvalResult("growth", resolved, options=CallOptions(sandbox="local"), root=tmp_path / ".autocode")


def test_the_model_knows_what_can_be_called_and_not_what_is_for_notebooks(growth: CodeGenEvalResult) -> None:
    agent = CodeModeAgent([growth.as_task("kept")], functions={"growth": growth})
    line = '- call("growth", sales: Frame, least: float = 0.0) -> tuple[Frame, float]: Rows above a least value'
    assert line in agent.system_prompt
    assert "def kept(sales: Frame, least: float = 0.0) -> tuple[Frame, float]:" in agent.system_prompt
    assert "Options of a call" not in agent.system_prompt
    assert 'call("' not in CodeModeAgent([]).system_prompt


@pytest.mark.local_sandbox
def test_a_function_takes_and_gives_frames_and_is_run_again_on_todays_data(ask: Any, growth: CodeGenEvalResult) -> None:
    code = (
        "kept, total = call('growth', sales, least=1.5)\nagain = by_task(kept)\n"
        "said = []\n"
        "for work in (lambda: call('growth', sales, -1.0), lambda: call('grwth', sales), lambda: call('growth')):\n"
        "    try:\n        work()\n    except Exception as error:\n        said.append(type(error).__name__)\n"
        "        print(error)\n"
        "kept.count(), kept.columns, total, again[1], said"
    )
    answers, functions = [block(code), "Done."], {"growth": growth}
    tools = {"by_task": growth.as_task("by_task")}
    result = ask(answers, tools, functions=functions, frames={"sales": SALES})
    assert result.blocks[0].error is None
    assert result.value == (1, ["v", "k"], 2.0, 2.0, ["ValueError", "LookupError", "TypeError"])
    assert "least must not be negative" in result.output
    assert "Did you mean growth" in result.output
    assert "growth: missing a required argument: 'sales'" in result.output
    more = pd.DataFrame({"v": [1.0, 2.0, 2.0], "k": ["a", "b", "c"]})
    later = ask(["More."], tools, functions=functions, frames={"sales": more})
    assert later.value[:3] == (2, ["v", "k"], 4.0)
    assert not any(call.replayed for call in later.calls if call.outcome == "ok")
