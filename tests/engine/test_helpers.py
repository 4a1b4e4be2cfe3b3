"""A request's helpers: imported in the sandbox, named in the record, and tested first when they change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter.agent.agent import load
from autocoder_jupyter.agent.helpers import captured_helpers
from autocoder_jupyter.calls.call import program_of
from autocoder_jupyter.calls.function import Function
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.data.helpers import capture_helpers
from autocoder_jupyter.errors import InvalidRequest, SolutionError
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.sandbox.protocol import TestSpec, Worker
from autocoder_jupyter.types import Helpers, Report, Secret
from autocoder_jupyter.versions import Versions
from tests.runner import PLAN, TESTS, Runner, fenced, sales
from tests.scripted_model import prompt_of

NET = '''\
"""Prices of a shop."""
import pandas as pd

RATE = 1.0


def net(sales: pd.DataFrame) -> pd.Series:
    """Revenue of each row, without tax."""
    return sales["price"] * sales["quantity"] / RATE
'''
CODE = """\
import pandas as pd
from helpers import net


def run(sales: pd.DataFrame) -> float:
    return float(net(sales).sum())"""
WITH_HELPER = TESTS.replace("from solution import run", "from helpers import RATE\nfrom solution import run").replace(
    "== 8.0", "== 8.0 / RATE"
)
SCRIPT: dict[str, Any] = {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(TESTS)]}
PROMPT = "Total revenue of @sales, by @net."


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a module of the user from its source, as an import does."""

    def make(source: str, name: str = "shop_of_mine") -> types.ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(source)
        made = types.ModuleType(name)
        made.__file__ = str(path)
        monkeypatch.setitem(sys.modules, name, made)
        exec(compile(source, str(path), "exec", dont_inherit=True), made.__dict__)
        return made

    return make


def net_of(module: Any, source: str = NET) -> Helpers:
    return capture_helpers({"net": module(source).net})


@pytest.mark.local_sandbox
async def test_a_function_calls_a_helper_in_the_sandbox(runner: Runner, module: Any) -> None:
    produced = await runner.generate(SCRIPT | {"tests": [fenced(WITH_HELPER)]}, prompt=PROMPT, helpers=net_of(module))
    report = produced.report
    assert report.success, report.error
    assert report.helpers.digests == net_of(module).digests
    asked = [prompt_of(request) for request in produced.model.requests]
    assert all("from helpers import net" in text and "Revenue of each row, without tax." in text for text in asked)
    assert "RATE = 1.0" in asked[0]
    sent = json.loads((runner.root / "growth" / "versions" / report.run_id / "sent.json").read_text())
    assert "def net(sales: pd.DataFrame) -> pd.Series: ..." in json.dumps(sent)


@pytest.mark.local_sandbox
async def test_a_changed_helper_is_tested_with_the_function_before_a_model_is_asked(
    runner: Runner, module: Any
) -> None:
    first = await runner.generate(SCRIPT, prompt=PROMPT, helpers=net_of(module))
    same = await runner.generate({}, prompt=PROMPT, helpers=net_of(module))
    assert same.asked == [] and same.report.kept and same.report.run_id == first.report.run_id
    other = net_of(module, NET.replace("RATE = 1.0", "RATE = 2.0 / 2"))
    again = await runner.generate({}, prompt=PROMPT, helpers=net_of(module, NET.replace("/ RATE", "* RATE")))
    assert other.digests == net_of(module).digests  # the value of a constant counts, and not how it is written
    assert again.asked == [] and again.report.success
    assert again.report.change == "net has changed; version 1 satisfies it unchanged"
    assert "* RATE" in again.report.helpers.source


@pytest.mark.local_sandbox
async def test_a_pinned_function_keeps_the_helpers_that_it_was_verified_with(runner: Runner, module: Any) -> None:
    first = await runner.generate(SCRIPT, prompt=PROMPT, helpers=net_of(module))
    Versions(runner.root, "growth").pin(first.report.run_id)
    pinned = await runner.generate({}, prompt=PROMPT, helpers=net_of(module, NET.replace("RATE = 1.0", "RATE = 4.0")))
    assert pinned.asked == [] and pinned.report.success, pinned.error
    assert pinned.report.run_id == first.report.run_id and pinned.report.helpers == first.report.helpers


@pytest.mark.local_sandbox
async def test_the_card_says_which_helper_made_the_tests_fail(runner: Runner, module: Any) -> None:
    await runner.generate(SCRIPT, prompt=PROMPT, helpers=net_of(module))
    broken = net_of(module, NET.replace("RATE = 1.0", "RATE = 4.0"))
    failed = await runner.generate(
        {"fix_code": ["no"] * 9, "diagnose": [json.dumps({"failures": []})] * 9},
        prompt=PROMPT,
        helpers=broken,
        settings={"max_iterations": 1},
    )
    assert not failed.report.success
    assert failed.report.change.startswith("net has changed; version 1 does not satisfy it: ")


@pytest.mark.local_sandbox
@pytest.mark.parametrize("share", ["stats", "schema"])
async def test_without_rows_signature_and_docstring_are_sent(runner: Runner, module: Any, share: str) -> None:
    helpers = net_of(module)
    produced = await runner.generate(SCRIPT, prompt=PROMPT, helpers=helpers, settings={"share": share})
    assert produced.report.success, produced.error
    asked = "\n".join(map(prompt_of, produced.model.requests))
    assert "def net(sales: pd.DataFrame) -> pd.Series: ..." in asked and "RATE = 1.0" not in asked


GROWTH = """\
from helpers import first, net


def run(sales):
    return 2 * first(sales) + 0 * float(net(sales).sum())"""


def result_of(report: Report, root: Path) -> CodeGenEvalResult:
    return CodeGenEvalResult(report.name, Pending.resolved(Resolution("ready", report)), root=root)


def run_script(command: list[str], folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command, "--sales", str(folder / "sales.csv")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
async def second(runner: Runner, module: Any, tmp_path: Path) -> Report:
    """A function with a helper, and with a verified function that uses a helper of the same name."""
    first = await runner.generate(SCRIPT, prompt=PROMPT, helpers=net_of(module))
    given = {"first": result_of(first.report, runner.root), "net": module(NET.replace("RATE = 1.0", "RATE = 9.0")).net}
    above = Runner(tmp_path / "above" / ".autocode", runner.sandbox)
    script = {**SCRIPT, "code": [fenced(GROWTH)], "tests": [fenced(TESTS.replace("== 8.0", "== 16.0"))]}
    produced = await above.generate(script, prompt="Twice @first of @sales, and @net.", helpers=captured_helpers(given))
    assert produced.report.success, produced.error
    asked = prompt_of(produced.model.requests[0])
    assert "def first(sales: pd.DataFrame) -> float: ..." in asked
    assert "Tests can import them too, except first." in asked
    return produced.report


@pytest.mark.local_sandbox
async def test_a_function_stands_on_a_verified_function(second: Report, worker: Worker, tmp_path: Path) -> None:
    assert [one.kind for one in second.helpers.given] == ["result", "function"]
    growth = load("growth", journal_root=tmp_path / "above" / ".autocode")
    assert growth.report.helpers == second.helpers
    program = program_of(Function.of(growth.report, {}, tmp_path), CallOptions())
    assert worker.call(program, {"sales": sales()}).values == {"total": 280.0}
    without = replace(program, helpers=Helpers())
    with pytest.raises(SolutionError, match="No module named 'helpers'"):  # nothing is left of the program before
        worker.call(without, {"sales": sales()})


@pytest.mark.local_sandbox
@pytest.mark.parametrize("kind", ["script", "package"])
async def test_exports_carry_helpers_along(second: Report, tmp_path: Path, kind: Any) -> None:
    growth = result_of(second, tmp_path / ".autocode")
    path = growth.export(tmp_path / ("growth.py" if kind == "script" else "growth"), kind=kind)
    sales().to_csv(tmp_path / "sales.csv", index=False)
    # Without -B, compiled files would be there, and an export refuses what it did not write.
    command = ["-B", str(path)] if kind == "script" else ["-B", "-m", "growth"]
    home = tmp_path if kind == "script" else path / "src"
    ran = run_script(command, tmp_path, home)
    assert ran.stdout.strip() == "total: 280.0", ran.stderr
    growth.export(path, kind=kind)  # over itself
    (tmp_path / "growth_helpers").mkdir(exist_ok=True)
    (tmp_path / "growth_helpers" / "pandas.py").write_text("import os\n")
    if kind == "script":
        with pytest.raises(InvalidRequest, match="no export wrote it"):
            growth.export(path)
        with pytest.raises(InvalidRequest, match="imports its helpers"):
            growth.export(tmp_path / "plain.py", kind="plain")


@pytest.mark.local_sandbox
async def test_tests_import_no_generated_function(second: Report, worker: Worker) -> None:
    program = program_of(Function.of(second, {}, Path()), CallOptions())
    tests = "from helpers import net\n\n\ndef test_it():\n    from helpers import first\n"
    run = worker.test(program, TestSpec(tests, ("test_it",)), callee=None)
    assert "cannot import name 'first' from 'helpers'" in run.outcomes[0].message


@pytest.mark.local_sandbox
async def test_the_value_of_a_secret_is_not_sent_in_a_helper(
    runner: Runner, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORDERS", "tax")
    with pytest.raises(InvalidRequest, match="The value of the secret ORDERS is in the source of a helper"):
        await runner.generate(
            SCRIPT, prompt=PROMPT, helpers=net_of(module), settings={"secrets": [Secret(key="ORDERS")]}
        )


def test_a_function_that_nobody_verified_here_is_no_helper(tmp_path: Path) -> None:
    report = Report(name="growth", run_id="1", prompt="Total.", success=False, error="It fails.")
    unverified = CodeGenEvalResult("growth", Pending.resolved(Resolution("not_verified", report)), root=tmp_path)
    with pytest.raises(InvalidRequest, match="@growth is not verified here"):
        captured_helpers({"growth": unverified})


@pytest.mark.parametrize("name", ["pandas", "os.path", "../x", "run()", ""])
def test_a_record_names_no_other_module(name: str) -> None:
    record = {"given": [{"name": "net", "kind": "function", "digest": "1"}], "results": {name: "x = 1"}}
    with pytest.raises(ValueError, match="results"):
        Helpers.model_validate(record)
