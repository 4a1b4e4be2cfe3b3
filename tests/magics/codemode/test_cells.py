"""Cells with `--mode tools`, with the real sandbox and scripted answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autocoder_jupyter import jobs
from autocoder_jupyter.calls.options import CallOptions
from autocoder_jupyter.errors import GenerationFailed, InvalidRequest, UnknownModel
from autocoder_jupyter.jobs.code_job import CodeRequest
from autocoder_jupyter.jobs.registry import submit_code
from autocoder_jupyter.result import CodeGenEvalResult
from autocoder_jupyter.result.pending import Pending, Resolution
from autocoder_jupyter.types import CodePlan, CodeSolution, InputSpec, OutputSpec, Report


def made_function(name: str, expression: str, *, success: bool = True) -> CodeGenEvalResult:
    """A result of `%%autocode` with an input `orders` and one output."""
    inputs = (InputSpec(name="orders", type="DataFrame"),)
    outputs = (OutputSpec(name="total", type="int"),)
    report = Report(
        name=name,
        run_id="run",
        prompt="Add up.",
        success=success,
        solution=CodeSolution(code=f"def run(orders):\n    return {expression}\n"),
        plan=CodePlan(description="Adds up the counts.", approach="Sum.", inputs=inputs, outputs=outputs),
        declared_inputs=inputs,
        declared_outputs=outputs,
        sandbox="local",
    )
    return CodeGenEvalResult(name, Pending.resolved(Resolution("ready" if success else "failed", report)))


PRICES = "```python\nprices = {s: fetch_price(s) for s in ['AAPL', 'MSFT']}\nprint(prices)\nmax(prices.values())\n```"
CELL = "%%autocode dearest --mode tools --tool fetch_price --wait\nThe price of the dearest of @orders."


def test_a_cell_binds_the_answer_with_its_value_and_its_calls(notebook: Any, run_script: Any) -> None:
    model = run_script(PRICES, "MSFT, at 3 dollars.")
    notebook.run(CELL)
    assert notebook.value("dearest.value") == 3.0
    assert notebook.value("dearest.summary") == "MSFT, at 3 dollars."
    assert [(call.tool, call.outcome) for call in notebook.value("dearest.calls")] == [("fetch_price", "ok")] * 2
    assert "max(prices.values())" in notebook.value("dearest.code")
    assert notebook.value("repr(dearest)") == "<autocode dearest ready · 2 calls · MSFT, at 3 dollars.>"
    system, message = (said["content"] for said in model.requests[0]["messages"])
    assert "def fetch_price(symbol: str) -> float:\n    Price of a share in dollars." in system
    assert message.startswith("The price of the dearest of @orders.")


def test_house_rules_are_sent_after_the_user_has_agreed_to_them(
    notebook: Any, run_script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("autocode.md").write_text("# Orders\nA draft is no order.\n")
    model = run_script("Two.", "One.")
    notebook.run("%%autocode counted --mode tools --wait\nHow many orders?")
    assert "draft" not in str(model.requests)
    monkeypatch.setattr("builtins.input", lambda prompt: "yes")
    notebook.run("%autocode trust")
    notebook.run("%%autocode counted --mode tools --wait\nHow many orders?")
    assert "A draft is no order." in model.requests[-1]["messages"][-1]["content"]
    assert "House rule: Orders: A draft is no order." in notebook.card
    before = notebook.shell.shown.count("A draft is no order.")
    notebook.run("%%autocode counted --mode tools --dry-run\nHow many orders?")
    assert notebook.shell.shown.count("A draft is no order.") > before


def test_the_name_is_bound_at_once_and_its_fields_wait(notebook: Any, run_script: Any) -> None:
    run_script(PRICES, "MSFT.")
    notebook.run(CELL.replace(" --wait", ""))
    assert notebook.value("dearest.summary") == "MSFT."
    assert notebook.value("dearest.wait().done")


def test_tools_may_be_renamed_async_and_attributes(notebook: Any, run_script: Any) -> None:
    run_script("```python\nawait rate('EUR') * price('AAPL')\n```", "One.")
    notebook.run("import types; market = types.SimpleNamespace(price=fetch_price)")
    notebook.run("%%autocode one --mode tools --tool rate=latest_fx --tool market.price --wait\nWhat is it?")
    assert notebook.value("one.value") == 1.0


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--tool fetch_prise", "there is no 'fetch_prise' in the notebook.\nDid you mean fetch_price?"),
        ("--tool nope", "there is no 'nope' in the notebook.\nAvailable: "),
        ("--tool orders", "not a function.\nWrite @orders in the request"),
        ("--tool pd.DataFrame", "it is a class, not a function."),
        ("--tool pd.read_csw", "pd has no 'read_csw'.\nDid you mean read_csv?"),
        ("--tool print=fetch_price", "'print' is already a name of Python."),
        ("--tool orders=fetch_price", "orders is both a tool and a frame."),
        ("--continue nobody", "There is no conversation named 'nobody' to continue."),
    ],
)
def test_what_cannot_be_a_tool_is_said_in_the_cell(line: str, said: str, notebook: Any, run_script: Any) -> None:
    model = run_script()
    with pytest.raises(InvalidRequest) as caught:
        notebook.run(f"%%autocode x --mode tools {line}\nAbout @orders.")
    assert said in str(caught.value)
    assert "x" not in notebook.shell.user_ns
    assert model.requests == []


FORGOTTEN = "%%autocode dearest --mode tools --tool fetch_price --wait\nJoin the prices with the orders table."


@pytest.mark.parametrize(("word", "passed"), [("yes", ["orders"]), ("no", []), ("", None)])
def test_a_table_that_is_named_and_not_passed_is_asked_about_before_it_costs(
    word: str, passed: list[str] | None, notebook: Any, run_script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or word)
    model = run_script(PRICES, "MSFT.")
    if passed is None:
        with pytest.raises(InvalidRequest, match="Nothing was sent"):
            notebook.run(FORGOTTEN)
        assert model.requests == []
    else:
        notebook.run(FORGOTTEN)
        job = jobs.current("dearest")
        assert job is not None and isinstance(job.request, CodeRequest)
        assert list(job.request.frames) == passed
    assert asked == ["Use orders (2 rows) too? Type yes, no (run the cell as it is) or nothing (stop): "]


def test_without_a_user_it_is_refused_unless_it_was_answered_before(
    notebook: Any, run_script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = run_script(PRICES, "MSFT.")
    monkeypatch.setattr("builtins.input", lambda question: "no")
    notebook.run(FORGOTTEN)
    notebook.restarted()
    notebook.is_headless()
    notebook.run(FORGOTTEN)
    assert notebook.value("dearest.summary") == "MSFT." and len(model.requests) == 2
    with pytest.raises(InvalidRequest, match="Write it so: Now join the prices with the @orders table"):
        notebook.run(FORGOTTEN.replace("Join", "Now join"))


def test_a_file_cannot_be_handed_over(notebook: Any) -> None:
    notebook.run("from autocoder_jupyter import File; open('a.csv', 'w').write('a\\n1'); log = File('a.csv')")
    with pytest.raises(InvalidRequest, match="log cannot be passed"):
        notebook.run("%%autocode x --mode tools\nRead @log.")


def test_a_failed_run_keeps_what_its_code_did(notebook: Any, run_script: Any) -> None:
    run_script(*["```python\nfetch_price('AAPL')\n1 / 0\n```"] * 3)
    with pytest.raises(GenerationFailed, match="dearest has no answer"):
        notebook.run(CELL)
    assert [call.tool for call in notebook.value("dearest.calls")] == ["fetch_price"] * 3
    assert "ZeroDivisionError" in notebook.value("dearest.error")
    assert "✗ Code 3: ZeroDivisionError: division by zero (line 2)" in notebook.card


def test_max_iterations_and_limits_are_those_of_the_cell(notebook: Any, run_script: Any) -> None:
    model = run_script("```python\n1 / 0\n```")
    with pytest.raises(GenerationFailed):
        notebook.run(CELL.replace("--wait", "--max-iterations 1 --timeout 3 --memory 64Mi --wait"))
    assert len(model.requests) == 1


def test_a_dry_run_shows_what_would_be_sent_and_sends_nothing(
    notebook: Any, run_script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = run_script()
    notebook.run(CELL.replace("--wait", "--dry-run"))
    assert "Nothing was sent." in notebook.shell.shown
    assert "Price of a share in dollars." in notebook.shell.shown
    assert "The price of the dearest of @orders." in notebook.shell.shown
    monkeypatch.delenv("AUTOCODE_API_BASE")
    with pytest.raises(UnknownModel, match="There is no model 'anthropc/claude-sonet-4'"):
        notebook.run(CELL.replace("--wait", "--dry-run -m anthropc/claude-sonet-4"))
    assert model.requests == []


def test_a_newer_cell_takes_over_and_cancel_ends_a_run(notebook: Any, run_script: Any) -> None:
    import threading

    from tests.scripted_model import Answer

    run_script(*[Answer("Late.", hold=threading.Event())] * 2)
    notebook.run(CELL.replace(" --wait", ""))
    first = notebook.value("dearest")
    notebook.run(CELL.replace(" --wait", ""))
    second = notebook.value("dearest")
    assert first is not second
    assert first.result.state == "cancelled"
    notebook.run("%autocode cancel dearest")
    assert second.result.state == "cancelled"


def test_a_terminal_prints_the_calls_and_the_answer(notebook: Any, run_script: Any, capsys: Any) -> None:
    run_script(PRICES, "MSFT, at 3 dollars.")
    notebook.is_terminal()
    notebook.run(CELL)
    printed = capsys.readouterr().out
    assert "✓ ok  fetch_price(symbol='AAPL')  2.0" in printed
    assert "MSFT, at 3 dollars." in printed


def test_a_hidden_column_is_not_there_for_the_code(notebook: Any, run_script: Any) -> None:
    model = run_script("```python\norders.columns\n```", "Symbols.")
    notebook.run("%%autocode x --mode tools --hide count --wait\nWhat is in @orders?")
    assert notebook.value("x.value") == ["symbol"]
    assert "count" not in model.requests[0]["messages"][-1]["content"]


def test_a_limit_on_rows_that_code_cannot_keep_is_said(notebook: Any, run_script: Any) -> None:
    run_script()
    notebook.run("%config Autocode.max_sample_rows = 3")
    with pytest.raises(InvalidRequest, match="max_sample_rows is set"):
        notebook.run("%%autocode x --mode tools\nWhat is in @orders?")


@pytest.mark.local_sandbox
def test_a_function_of_the_notebook_is_reached_by_call(notebook: Any, run_script: Any) -> None:
    notebook.shell.user_ns["total"] = made_function("total", "int(orders['count'].sum())")
    model = run_script('```python\ncall("total", orders)\n```', "Three.")
    notebook.run("%%autocode x --mode tools --tool total --wait\nAdd up @orders.")
    assert notebook.value("x.value") == 3
    assert 'call("total", orders: Frame) -> int' in model.requests[0]["messages"][0]["content"]


def test_a_function_that_failed_cannot_be_a_tool(notebook: Any, run_script: Any) -> None:
    notebook.shell.user_ns["total"] = made_function("total", "0", success=False)
    with pytest.raises(InvalidRequest, match="total cannot be called, because it failed"):
        notebook.run("%%autocode x --mode tools --tool total\nAdd up @orders.")


def test_a_cell_uses_a_function_that_is_verified_while_its_second_opinion_runs(tmp_path: Path) -> None:
    report = Report(
        name="growth",
        run_id="r",
        prompt="…",
        success=True,
        solution=CodeSolution(code="def run(): return 30"),
        declared_outputs=(OutputSpec(name="total", type="int"),),
        sandbox="local",
    )
    pending = Pending[Resolution]()
    growth = CodeGenEvalResult("growth", pending, options=CallOptions(sandbox="local"), root=tmp_path / ".autocode")
    asked: list[Any] = []

    def answer(*question: Any) -> str:
        asked.append(question)
        return "Done."

    request = CodeRequest("total", "How much?", functions={"growth": growth}, settings={"call_llm": answer})
    job = submit_code(request, journal_root=tmp_path / ".autocode")
    assert not asked
    pending.offer(Resolution("ready", report))
    assert job.result.wait(30).error is None and asked and not growth.done
