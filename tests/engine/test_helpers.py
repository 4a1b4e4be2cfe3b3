"""A request's helpers: the function imports them in the sandbox, its record names them, and a change is tested first."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.data.helpers import capture_helpers
from autocoder_jupyter.types import Helpers
from tests.runner import PLAN, TESTS, Runner, fenced
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


def frame() -> pd.DataFrame:
    return pd.DataFrame({"price": [2.0], "quantity": [3]})
