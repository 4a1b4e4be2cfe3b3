"""Whole generations with a model that is right, wrong, stubborn, dishonest or not available."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from autocoder_jupyter.display import card
from autocoder_jupyter.display.live import status_line, strip_of
from autocoder_jupyter.engine.planning import preview
from autocoder_jupyter.errors import AuthenticationFailed, InvalidRequest, SandboxUnavailable
from autocoder_jupyter.request import AgentConfig, Request
from autocoder_jupyter.run.events import (
    ApprovalNeeded,
    Diagnosed,
    EffortPlanned,
    Finished,
    PlanReady,
    Retrying,
    SampleOutputs,
    StageStarted,
    TestReported,
    TokensUsed,
)
from autocoder_jupyter.run.function_run import FunctionRun
from autocoder_jupyter.types import ColumnSpec, InputSpec, OutputSpec, Resources, Secret
from autocoder_jupyter.types.records import Glimpse
from tests.runner import CODE, MARKERS, PLAN, TESTS, Generated, Runner, fenced, sales
from tests.scripted_model import Answer, prompt_of

pytestmark = pytest.mark.local_sandbox

WRONG = CODE.replace('sales["price"] * sales["quantity"]', 'sales["price"]')
RIGHT_EDIT = {"find": '(sales["price"])', "replace": '(sales["price"] * sales["quantity"])'}


def diagnosis(name: str = "test_sum", kind: str = "logic", **more: object) -> str:
    failure = {"test_name": name, "error_message": "?", "error_type": kind, "suggested_fix": "Multiply by quantity."}
    return json.dumps({"failures": [failure], **more})


def fix(*mends: str, **edit: str) -> str:
    return json.dumps({"edits": [{**RIGHT_EDIT, **edit, "mends": list(mends)}]})


def verdict(name: str, kind: str, replacement: str | None = None) -> str:
    told = {"test_name": name, "derivation": "2*1 + 3*2 = 8", "verdict": kind, "replacement": replacement}
    return json.dumps({"verdicts": [told]})


def run_script(
    runner: Runner, code: str = CODE, tests: str = TESTS, *, shared: bool = False, **script: Any
) -> Awaitable[Generated]:
    """With `shared` it is the first run of a test, and tests that begin alike share one; see `Runner.begin`."""
    settings = script.pop("settings", None)
    extra: dict[str, Any] = {
        key: script.pop(key) for key in ("checks", "constraints_", "samples", "outputs", "inputs") if key in script
    }
    if "constraints_" in extra:
        extra["constraints"] = extra.pop("constraints_")
    answers = {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(tests)], **script}
    return (runner.begin if shared else runner.generate)(answers, settings=settings, **extra)


async def test_a_right_answer_succeeds_at_the_first_attempt_with_two_questions(runner: Runner) -> None:
    produced = await run_script(runner, shared=True)
    assert produced.report.success and produced.report.attempts == 1
    assert sorted(produced.asked) == ["code", "tests"]
    assert [outcome.sentence for outcome in produced.report.evidence.tests] == [
        "Total revenue of @sales.",
        "An empty frame has no revenue.",
    ]
    assert {check.name for check in produced.report.evidence.checks} >= {
        "runs on the sample",
        "two runs agree, the last one a plain run()",
        "leaves its inputs untouched",
        "the tests can fail",
    }
    assert produced.report.evidence.vacuous_tests == (), "that no rows give 0 is what test_empty is for"
    assert produced.report.usage.input_tokens > 0 and produced.report.usage.cost is None
    assert produced.of(Finished)[-1].state == "ready"
    assert [report.outcome.id for report in produced.of(TestReported)] == ["test_sum", "test_empty"]
    steps = {(step.kind, step.name) for step in produced.report.timeline}
    assert steps >= {("stage", "plan"), ("model", "code"), ("sandbox", "environment"), ("sandbox", "test_sum")}
    assert produced.of(SampleOutputs) == [
        SampleOutputs((Glimpse("total", "140"),), is_verified=False),
        SampleOutputs((Glimpse("total", "140"),)),
    ]


async def test_a_part_for_scripts_is_taken_out_and_one_that_hides_is_sent_back(runner: Runner) -> None:
    hidden = f'{CODE}\n\nif "__main__" in (__name__,):\n    print("untested")\n'
    plain = f'{CODE}\n\nif __name__ == "__main__":\n    print("untested")\n'
    produced = await runner.generate(
        {"plan": [PLAN], "code": [fenced(hidden), fenced(plain)], "tests": [fenced(TESTS)]}
    )
    assert produced.report.success and produced.asked.count("code") == 2
    assert "untested" not in produced.code


async def test_the_tests_are_written_without_sight_of_the_solution(runner: Runner) -> None:
    produced = await run_script(runner, shared=True)
    asked = next(r for r in produced.model.requests if "You write the tests of one" in prompt_of(r))
    assert CODE.splitlines()[-1].strip() not in prompt_of(asked)


async def test_an_unchanged_request_is_replayed_without_the_model_but_run_for_real(runner: Runner) -> None:
    await run_script(runner, shared=True)
    again = await runner.generate({})
    assert again.report.success and again.asked == []
    assert all(exchange.replayed for exchange in again.report.conversation_history)
    assert len(again.of(TestReported)) == 2
    assert again.report.usage.input_tokens == 0


@pytest.mark.parametrize("policy", ["override", "disable"])
async def test_other_cache_policies_ask_anew(runner: Runner, policy: str) -> None:
    await run_script(runner, shared=True)
    again = await run_script(runner, settings={"cache": policy})
    assert len(again.asked) == 2


@pytest.mark.parametrize(
    "wrap",
    [
        lambda code: f"Here you are:\n```py\n{code}\n```\nDone.",
        lambda code: f"~~~\n{code}\n~~~",
        lambda code: code,
        lambda code: json.dumps({"code": f"```python\n{code}\n```"}),
    ],
    ids=["py fence and prose", "tilde fence", "no fence", "fence in JSON"],
)
async def test_code_is_found_however_it_is_wrapped(runner: Runner, wrap: Callable[..., Any]) -> None:
    produced = await runner.generate({"plan": [PLAN], "code": [wrap(CODE)], "tests": [fenced(TESTS)]})
    assert produced.report.success and produced.report.attempts == 1


async def test_wrong_code_is_diagnosed_and_mended(runner: Runner) -> None:
    produced = await run_script(runner, WRONG, shared=True, diagnose=[diagnosis()], fix_code=[fix("test_sum")])
    assert produced.report.success and produced.report.attempts == 2
    diagnosed = produced.report.history[0].diagnosis
    assert diagnosed is not None and diagnosed.failures[0].error_type == "logic"
    assert "E " in produced.report.history[0].evidence.tests[0].message
    assert not produced.report.evidence.tests_changed


async def test_elements_of_another_type_than_planned_are_a_fault_that_is_mended(runner: Runner) -> None:
    plan = json.dumps({**json.loads(PLAN), "outputs": [{"name": "names", "type": "list[str]"}]})
    code = "import pandas as pd\n\n\ndef run(sales: pd.DataFrame) -> list[str]:\n    return sales['quantity'].tolist()"
    tests = "import pandas as pd\nfrom solution import run\n\n\ndef test_names():\n"
    tests += "    assert len(run(sales=pd.DataFrame({'price': [1.5], 'quantity': [7]}))) == 1"
    edit = {"find": "sales['quantity'].tolist()", "replace": "sales['quantity'].astype('str').tolist()"}
    produced = await runner.generate(
        {
            "plan": [plan],
            "code": [fenced(code)],
            "tests": [fenced(tests)],
            "fix_code": [json.dumps({"edits": [{**edit, "mends": ["runs on the sample"]}]})],
        },
        outputs=(),
    )
    told = " ".join(check.message for check in produced.report.history[0].evidence.checks)
    assert "declared as list[str]: element 1 is of type int, not str" in told
    assert produced.report.success and produced.report.attempts == 2, produced.report.error


async def test_elements_of_another_type_fail_a_test_where_there_is_no_sample(runner: Runner) -> None:
    plan = json.dumps({"description": "d", "approach": "a", "outputs": [{"name": "halves", "type": "list[float]"}]})
    code = "def run(x: int) -> list[float]:\n    return [None, x / 2]"
    produced = await runner.generate(
        {
            "plan": [plan],
            "code": [fenced(code)],
            "tests": [fenced("from solution import run\n\n\ndef test_two():\n    assert run(x=2)[1] == 1.0")],
        },
        prompt="Halves of x.",
        samples={},
        outputs=(),
        inputs=(InputSpec(name="x", type="int"),),
        settings={"max_iterations": 1},
    )
    assert "declared as list[float]: element 1 is of type NoneType" in produced.report.evidence.tests[0].message


async def test_what_a_mending_lacks_may_be_an_import_alone(runner: Runner) -> None:
    code = CODE.replace("import pandas as pd\n", "import pandas as pd\n", 1).replace(
        "return float(", "return math.fsum([0.0]) + float("
    )
    fix_by_import = json.dumps({"edits": [], "imports": ["import math"]})
    produced = await run_script(runner, code, diagnose=[diagnosis()], fix_code=[fix_by_import])
    assert produced.report.success and produced.report.attempts == 2, produced.report.error
    assert produced.code.startswith("import math\nimport pandas as pd\n")


NOISE = """\
import os

for descriptor in range(3, 64):
    try:
        os.write(descriptor, b"\\0\\0\\0\\x08not json")
    except OSError:
        pass
"""


@pytest.mark.real_sandbox
async def test_a_test_run_that_is_not_believed_is_a_failed_attempt_that_is_mended(runner: Runner) -> None:
    noisy = TESTS.replace("    assert run(sales=sales) == 0.0", f"{indented(NOISE)}    assert run(sales=sales) == 0.0")
    mended = {"test_name": "test_empty", "derivation": "nothing", "verdict": "wrong", "replacement": EMPTY}
    right = {"test_name": "test_sum", "derivation": "2*1 + 3*2 = 8", "verdict": "stands", "replacement": None}
    blamed = [
        {"test_name": name, "error_message": "?", "error_type": "test_error"} for name in ("test_sum", "test_empty")
    ]
    produced = await run_script(
        runner,
        tests=noisy,
        diagnose=[json.dumps({"failures": blamed})],
        fix_tests=[json.dumps({"verdicts": [right, mended]})],
    )
    first = produced.report.history[0].evidence.tests
    assert [outcome.outcome for outcome in first] == ["missing", "missing"]
    assert produced.report.success and produced.report.attempts == 2, produced.report.error


@pytest.mark.real_sandbox
async def test_test_runs_that_are_never_believed_end_as_a_failure_with_that_reason(runner: Runner) -> None:
    noisy = TESTS.replace("    assert run(sales=sales) == 0.0", f"{indented(NOISE)}    assert run(sales=sales) == 0.0")
    produced = await run_script(runner, tests=noisy, settings={"max_iterations": 1})
    assert not produced.report.success and "it sent invalid data" in produced.error
    assert produced.of(Finished)[-1].state == "failed"


def indented(code: str) -> str:
    return textwrap.indent(code, "    ")


EMPTY = TESTS.split("\n\n\n")[2]


async def test_the_mender_of_code_is_not_shown_the_tests(runner: Runner) -> None:
    produced = await run_script(runner, WRONG, shared=True, diagnose=[diagnosis()], fix_code=[fix("test_sum")])
    asked = next(r for r in produced.model.requests if "You fix one" in prompt_of(r))
    assert "def test_" not in json.dumps(asked)


async def test_a_fix_that_was_not_applied_is_demanded_more_and_more_forcefully(runner: Runner) -> None:
    produced = await run_script(
        runner,
        WRONG,
        diagnose=[diagnosis()],
        fix_code=[fix("test_sum", find="not there"), fix("something else"), fenced(CODE)],
    )
    prompts = [r["messages"][-1]["content"] for r in produced.model.requests if "You fix one" in prompt_of(r)]
    assert produced.report.success
    assert "STILL MISSING" in prompts[1] and "FINAL ATTEMPT" in prompts[2]


async def test_code_without_the_planned_interface_is_refused_before_it_runs(runner: Runner) -> None:
    renamed = CODE.replace("sales: pd.DataFrame", "df: pd.DataFrame").replace("sales[", "df[")
    produced = await runner.generate(
        {"plan": [PLAN], "code": [fenced(renamed), fenced(CODE)], "tests": [fenced(TESTS)]}
    )
    assert produced.report.success and produced.report.attempts == 1
    assert produced.asked.count("code") == 2


@pytest.mark.real_sandbox
async def test_a_missing_import_is_an_environment_failure_that_needs_no_model(runner: Runner) -> None:
    code = CODE.replace("    return", "    sales.to_markdown()\n    return")
    produced = await run_script(runner, code)
    assert produced.report.success and produced.report.attempts == 2
    assert "diagnose" not in produced.asked
    assert any(line.startswith("tabulate==") for line in produced.report.lock)


async def test_an_invented_package_waits_for_consent_and_is_written_out_when_declined(runner: Runner) -> None:
    runner.consent = False
    code = CODE.replace("import pandas as pd", "import pandas as pd\nimport turbo_frames_zz")
    produced = await run_script(
        runner,
        code,
        fix_code=[fix("package turbo-frames-zz", find="import turbo_frames_zz\n", replace="")],
    )
    assert runner.approvals == [("turbo-frames-zz",)]
    assert produced.of(ApprovalNeeded)[0].packages == ("turbo-frames-zz",)
    assert produced.report.success
    assert "turbo" not in " ".join(produced.report.lock)


async def test_a_declined_package_that_the_code_insists_on_is_named_with_the_way_to_allow_it(
    runner: Runner,
) -> None:
    runner.consent = False
    code = CODE.replace("import pandas as pd", "import pandas as pd\nimport turbo_frames_zz")
    produced = await run_script(runner, code, settings={"max_iterations": 1})
    assert not produced.report.success
    assert "-p turbo-frames-zz" in str(produced.report.error)


async def test_a_mistyped_package_is_asked_about_by_nobody_and_the_real_one_is_named(runner: Runner) -> None:
    code = CODE.replace("import pandas as pd", "import pandas as pd\nimport pandsa")
    produced = await run_script(runner, code, settings={"max_iterations": 1})
    assert runner.approvals == []
    assert "Did you mean 'pandas'?" in str(produced.report.error)
    assert "-p pandsa" not in str(produced.report.error)


async def test_a_package_that_does_not_exist_does_not_poison_later_attempts(runner: Runner) -> None:
    code = CODE.replace("import pandas as pd", "import pandas as pd\nimport turbo_frames_zz")
    produced = await run_script(
        runner,
        code,
        fix_code=[fix("package turbo-frames-zz", find="import turbo_frames_zz\n", replace="")],
    )
    assert produced.report.success and produced.report.attempts == 2


async def test_a_system_package_that_cannot_be_had_is_gone_without(runner: Runner) -> None:
    plan = json.dumps({**json.loads(PLAN), "system_packages": ["libgl1"]})
    produced = await run_script(runner, plan=[plan])
    assert produced.report.success and produced.report.attempts == 1
    assert produced.report.detected_system_packages == ()
    failing = await run_script(runner, WRONG, plan=[plan], settings={"max_iterations": 1, "cache": "disable"})
    assert "cannot install system packages (libgl1)" in str(failing.report.error)


@pytest.mark.parametrize("value", ["correct-horse-battery", "-----BEGIN KEY-----\ncorrect-horse-battery\n"])
async def test_a_secret_that_the_function_sees_is_told_to_nobody(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("WAREHOUSE_TOKEN", value)
    telltale = CODE.replace("import pandas", "import os\n\nimport pandas").replace(
        "    return float(", "    raise ValueError(os.environ['WAREHOUSE_TOKEN'])\n    return float("
    )
    mended = fix("runs on the sample", find="    raise ValueError(os.environ['WAREHOUSE_TOKEN'])\n", replace="")
    settings = {"secrets": (Secret(key="WAREHOUSE_TOKEN"),)}
    produced = await run_script(runner, telltale, fix_code=[mended], settings=settings)
    assert produced.report.success and produced.report.attempts == 2
    told = json.dumps([request["messages"] for request in produced.model.requests])
    assert "ValueError: <WAREHOUSE_TOKEN>" in told
    journal = "".join(path.read_text() for path in runner.root.rglob("*") if path.is_file())
    for text in (told, journal, repr(produced.events), produced.report.model_dump_json()):
        assert "correct-horse" not in text


PRIVATE = "alice@example.com"
QUOTING = CODE.replace(
    "    return float(", "    raise ValueError('bad row: ' + str(sales['buyer'].iloc[0]))\n    return float("
)
UNQUOTING = fix("runs on the sample", find=QUOTING.splitlines()[4] + "\n", replace="")


@pytest.mark.parametrize(
    ("share", "told"), [("rows", "bad row: <email-1>"), ("stats", "ValueError in line 5"), ("schema", "ValueError in")]
)
async def test_what_is_raised_on_the_sample_tells_no_more_of_the_data_than_was_allowed(
    runner: Runner, share: str, told: str
) -> None:
    samples = {"sales": sales().assign(buyer=PRIVATE)}
    produced = await run_script(runner, QUOTING, fix_code=[UNQUOTING], samples=samples, settings={"share": share})
    assert produced.report.success and produced.report.attempts == 2
    sent = [json.dumps(request["messages"]) for request in produced.model.requests]
    assert any(told in text for text in sent)
    assert not any(PRIVATE in text for text in sent)
    shown = [(seen.withheld, bool(seen.glimpses), seen.is_verified) for seen in produced.of(SampleOutputs)]
    how = (False, True) if share == "rows" else (True, False)
    assert shown == [(*how, False), (*how, True)]


async def test_a_check_that_does_not_hold_quotes_the_data_only_on_leave(runner: Runner) -> None:
    for share, told in (("rows", "it is False"), ("schema", "it is not true")):
        produced = await run_script(runner, checks=("total < 100",), settings={"max_iterations": 1, "share": share})
        assert told in produced.error


CELL = "zelda-cell-77"
LEAKS = {
    "a message": "raise ValueError('bad row: ' + cell)",
    "a missing key": "raise KeyError(cell)",
    "the name of an exception": "raise type(cell, (ValueError,), {'__module__': 'pandas.errors'})('x')",
    "an exit": "raise SystemExit(cell)",
    "a missing module": "raise ModuleNotFoundError(f'No module named {cell!r}')",
    "a type": "return type(cell, (dict,), {})()",
    "attrs": "return pd.DataFrame({'total': [1.0]}).pipe(lambda f: (f.attrs.update({cell: object()}), f)[1])",
    "a pivot": "return pd.DataFrame({'total': [1.0], cell: [2]})",
    "columns that stand twice": "return pd.DataFrame([[1.0, 2, 3]], columns=['total', cell, cell])",
}
TOTALS = OutputSpec(name="totals", type="DataFrame", columns=(ColumnSpec(name="total", dtype="float64"),))


@pytest.mark.parametrize("share", ["stats", "schema"])
@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
async def test_no_cell_reaches_the_model_or_a_file_by_the_words_of_a_failure(
    runner: Runner, leak: str, share: str
) -> None:
    code = CODE.replace("-> float", "-> pd.DataFrame").replace(
        CODE.splitlines()[-1], f"    cell = str(sales['buyer'].iloc[-1])\n    {leak}"
    )
    samples = {"sales": sales().assign(buyer=CELL)}
    script = {"plan": [PLAN], "code": [fenced(code)], "fix_code": [fix("runs on the sample")] * 9}
    settings = {"share": share, "skip_tests": True, "max_iterations": 2}
    produced = await runner.generate(script, samples=samples, outputs=(TOTALS,), settings=settings)
    assert not produced.report.success
    sent = json.dumps([request["messages"] for request in produced.model.requests])
    kept = "".join(path.read_text() for path in runner.root.rglob("*") if path.is_file())
    for text in (sent, kept, repr(produced.events), produced.report.model_dump_json()):
        assert CELL not in text
    assert not runner.approvals


async def test_what_is_raised_on_the_sample_is_kept_masked(runner: Runner) -> None:
    samples = {"sales": sales().assign(buyer=PRIVATE)}
    produced = await run_script(runner, QUOTING, samples=samples, settings={"max_iterations": 1})
    assert "bad row: <email-1>" in produced.report.model_dump_json()
    kept = "".join(path.read_text() for path in runner.root.rglob("*") if path.is_file())
    assert "bad row: <email-1>" in kept and PRIVATE not in kept


async def test_the_value_of_a_variable_that_the_function_quotes_is_told_to_nobody(runner: Runner) -> None:
    quoting = CODE.replace("import pandas", "import os\n\nimport pandas").replace(
        "    return float(", "    raise ValueError(repr(os.environ['WAREHOUSE']))\n    return float("
    )
    settings = {"env_vars": {"WAREHOUSE": "pg-host-17.internal"}, "max_iterations": 1}
    produced = await run_script(runner, quoting, settings=settings)
    kept = "".join(path.read_text() for path in runner.root.rglob("*") if path.is_file())
    assert "<WAREHOUSE>" in produced.error and "pg-host-17" not in kept + repr(produced.events)


async def test_every_request_is_kept_as_it_went_out_and_a_replay_adds_none(runner: Runner) -> None:
    produced = await run_script(runner, WRONG, diagnose=["not JSON", diagnosis()], fix_code=[fix("test_sum")])
    assert produced.report.success
    (path,) = runner.root.rglob("sent.json")
    requests = json.loads(path.read_text())["requests"]
    in_any_order = [sorted(json.dumps(body, sort_keys=True) for body in bodies) for bodies in
                    ((request["body"] for request in requests), produced.model.requests)]  # fmt: skip
    assert in_any_order[0] == in_any_order[1] and len(requests) == 5
    again = await runner.generate({})
    assert again.report.success and json.loads(path.read_text())["requests"] == requests


async def test_a_request_that_was_never_answered_is_kept_too(runner: Runner) -> None:
    with pytest.raises(AuthenticationFailed):
        await runner.generate({"plan": [Answer(status=401, error="no such key")]})
    (path,) = runner.root.rglob("sent.json")
    assert [request["stage"] for request in json.loads(path.read_text())["requests"]] == ["code"]


async def test_a_preview_is_the_first_request_to_the_letter(runner: Runner) -> None:
    request = Request(name="growth", prompt="Total revenue of @sales.", samples={"sales": sales()},
                      outputs=(OutputSpec(name="total", type="float"),))  # fmt: skip
    shown = preview(request, AgentConfig())
    assert "Effort normal: 3 questions to the model if the first attempt passes, up to 2 more if" in shown
    assert "Effort quick: 2 questions" in preview(request, AgentConfig(effort="quick"))
    produced = await run_script(runner, shared=True)
    first = next(event for event in produced.events if isinstance(event, StageStarted | EffortPlanned | TokensUsed))
    assert isinstance(first, EffortPlanned) and first.words in preview(request, AgentConfig(effort="quick"))
    planned = FunctionRun("growth").apply(first)
    assert first.words in status_line(planned) and first.words in strip_of(planned).now, "before a question is asked"
    assert first.words not in status_line(planned.apply(produced.of(PlanReady)[0]))
    for message in produced.model.requests[0]["messages"]:
        assert message["content"] in shown


async def test_a_secret_that_is_not_set_is_told_before_any_question(runner: Runner) -> None:
    with pytest.raises(InvalidRequest, match="NO_SUCH_TOKEN is not set"):
        await runner.generate({}, settings={"secrets": (Secret(key="NO_SUCH_TOKEN"),)})


async def test_a_diagnosis_that_cannot_be_read_does_not_stall_the_loop(runner: Runner) -> None:
    produced = await run_script(runner, WRONG, diagnose=["no json at all"] * 3, fix_code=[fix("test_sum")])
    assert produced.report.success
    assert produced.of(Diagnosed)[0].diagnosis.failures[0].error_type == "logic"


async def test_a_right_test_is_upheld_however_often_it_is_blamed(runner: Runner) -> None:
    """Wrong code with a diagnosis that blames the test must not become a success."""
    produced = await run_script(
        runner,
        WRONG,
        diagnose=[diagnosis(kind="test_error")] * 4,
        fix_tests=[verdict("test_sum", "stands")],
        fix_code=[json.dumps({"edits": [{"find": "float(", "replace": "0.0 + float(", "mends": ["test_sum"]}]})] * 4,
    )
    assert not produced.report.success
    assert produced.asked.count("fix_tests") == 1
    assert "8.0" in produced.report.tests
    assert produced.report.evidence.tests_changed == ()


async def test_a_wrong_test_is_changed_after_rederivation_and_the_report_says_so(runner: Runner) -> None:
    wrong_test = TESTS.replace("== 8.0", "== 9.0")
    right = TESTS.split("\n\n\n")[1]
    produced = await run_script(
        runner,
        shared=True,
        tests=wrong_test,
        diagnose=[diagnosis(kind="test_error")],
        fix_tests=[verdict("test_sum", "wrong", right)],
    )
    assert produced.report.success
    assert produced.report.evidence.tests_changed == ("test_sum",)


async def test_whoever_rederives_a_test_sees_neither_code_nor_result(runner: Runner) -> None:
    produced = await run_script(
        runner,
        shared=True,
        tests=TESTS.replace("== 8.0", "== 9.0"),
        diagnose=[diagnosis(kind="test_error")],
        fix_tests=[verdict("test_sum", "wrong", TESTS.split("\n\n\n")[1])],
    )
    asked = json.dumps(next(r for r in produced.model.requests if "You check the exp" in prompt_of(r)))
    assert ".sum())" not in asked and "8.0" not in asked.replace("2.0", "")


BROKEN = TESTS.replace("def test_sum():", "def test_sum():\n    pd.to_datetime(['2025-01-25 23:59', '2025-01-26'])")
"""A test that fails before it calls the function."""


async def test_a_test_that_fails_before_it_calls_the_function_is_replaced_without_a_diagnosis(runner: Runner) -> None:
    produced = await run_script(
        runner, shared=True, tests=BROKEN, fix_tests=[verdict("test_sum", "wrong", TESTS.split("\n\n\n")[1])]
    )
    assert produced.report.success and produced.report.evidence.tests_changed == ("test_sum",)
    assert (
        "diagnose" not in produced.asked and produced.of(Diagnosed)[0].diagnosis.failures[0].error_type == "test_error"
    )
    asked = next(prompt_of(request) for request in produced.model.requests if "You check the exp" in prompt_of(request))
    assert "an error in the test itself" in asked and 'test_sum: ValueError: time data "2025-01-26"' in asked


async def test_a_test_that_stays_broken_is_removed(runner: Runner) -> None:
    tests = "\n\n\n".join((BROKEN, TESTS.split("\n\n\n")[1].replace("test_sum", "test_total")))
    produced = await run_script(runner, tests=tests, fix_tests=[verdict("test_sum", "stands")] * 2)
    assert produced.report.success and "test_sum" not in produced.report.tests
    assert produced.report.evidence.tests_changed == ("test_sum",)
    assert produced.asked.count("fix_tests") == 1


@pytest.mark.parametrize(
    "calls",
    [
        "made = run(sales=pd.DataFrame({'price': [1.0], 'quantity': [1]}))\n\n\ndef test_sum():\n    {}[made]",
        "@pytest.fixture\ndef made():\n    return run(sales=pd.DataFrame({'price': [1.0], 'quantity': [1]}))\n\n\n"
        "def test_sum(made):\n    {}[made]",
        "def test_sum():\n    {}[run(sales=pd.DataFrame({'price': [1.0], 'quantity': [1]}))]",
    ],
)
async def test_what_may_be_the_functions_fault_is_diagnosed(runner: Runner, calls: str) -> None:
    tests = f"{TESTS.replace('test_sum', 'test_total')}\n\n\nimport pytest\n\n{calls}\n"
    produced = await run_script(
        runner,
        tests=tests,
        diagnose=[diagnosis(kind="test_error")],
        fix_tests=[verdict("test_sum", "stands")],
        settings={"max_iterations": 2},
    )
    assert "diagnose" in produced.asked


async def test_code_that_passes_its_tests_but_fails_on_the_sample_is_no_success(runner: Runner) -> None:
    code = CODE.replace("    return", "    assert len(sales) < 3, 'too long for me'\n    return")
    edit = json.dumps(
        {
            "edits": [
                {
                    "find": "    assert len(sales) < 3, 'too long for me'\n",
                    "replace": "",
                    "mends": ["runs on the sample"],
                }
            ]
        }
    )
    produced = await run_script(runner, code, fix_code=[edit])
    assert produced.report.attempts == 2 and produced.report.success
    first = produced.report.history[0].evidence
    assert all(outcome.outcome == "passed" for outcome in first.tests)
    assert not next(check for check in first.checks if check.name == "runs on the sample").passed


async def test_a_function_that_changes_its_input_is_no_success(runner: Runner) -> None:
    code = CODE.replace("    return", "    sales['extra'] = 1\n    return")
    produced = await run_script(runner, code, settings={"max_iterations": 1})
    assert not produced.report.success
    assert not next(c for c in produced.report.evidence.checks if c.name == "leaves its inputs untouched").passed


async def test_a_function_that_hangs_on_chance_is_no_success(runner: Runner) -> None:
    code = "import random\n" + CODE.replace("return float(", "return random.random() * (len(sales) == 3) + float(")
    produced = await run_script(runner, code, settings={"max_iterations": 1})
    assert all(outcome.outcome == "passed" for outcome in produced.report.evidence.tests)
    assert not produced.report.success
    assert "two runs" in produced.error


async def test_the_persons_own_checks_must_hold(runner: Runner) -> None:
    produced = await run_script(runner, checks=("total == 140", "total < 100"), settings={"max_iterations": 1})
    outcomes = {check.name: check.passed for check in produced.report.evidence.acceptance}
    assert outcomes["total == 140"] and not outcomes["total < 100"]
    assert not produced.report.success


async def test_a_check_may_speak_of_an_input_that_has_only_a_default(runner: Runner) -> None:
    inputs = (
        InputSpec(name="since", type="date", required=False, default="2024-01-31"),
        InputSpec(name="span", type="timedelta", required=False, default="P1D"),
    )
    code = CODE.replace("import pandas", "import datetime\n\nimport pandas").replace(
        "sales: pd.DataFrame",
        "sales: pd.DataFrame, since: datetime.date = datetime.date.fromisoformat('2024-01-31'), "
        "span: datetime.timedelta = datetime.timedelta(seconds=86400)",
    )
    produced = await run_script(runner, code, inputs=inputs, checks=("since.year == 2024 and span.days == 1",))
    assert produced.report.success, produced.report.error


async def test_a_constraint_on_an_output_column_is_executed(runner: Runner) -> None:
    plan = json.loads(PLAN)
    plan["outputs"] = [{"name": "table", "type": "DataFrame", "columns": [{"name": "revenue", "dtype": "float64"}]}]
    code = (
        "import pandas as pd\n\n\ndef run(sales: pd.DataFrame) -> pd.DataFrame:\n"
        "    return pd.DataFrame({'revenue': -sales['price'] * sales['quantity']})"
    )
    tests = (
        "import pandas as pd\nfrom solution import run\n\n\ndef test_rows():\n    '''One row per sale.'''\n"
        "    sales = pd.DataFrame({'price': [1.0], 'quantity': [1]})\n    assert len(run(sales=sales)) == 1\n"
    )
    produced = await runner.generate(
        {"plan": [json.dumps(plan)], "code": [fenced(code)], "tests": [fenced(tests)]},
        outputs=(OutputSpec(name="table", type="DataFrame"),),
        constraints=("revenue is never negative",),
        settings={"max_iterations": 1},
    )
    assert not produced.report.success
    assert not next(c for c in produced.report.evidence.checks if c.name == "revenue is never negative").passed


@pytest.mark.real_sandbox
async def test_a_pattern_of_a_constraint_is_applied_in_the_sandbox_and_ends_with_its_time(
    runner: Runner,
) -> None:
    plan = json.loads(PLAN)
    plan["outputs"] = [{"name": "table", "type": "DataFrame", "columns": [{"name": "word", "dtype": "str"}]}]
    code = (
        "import pandas as pd\n\n\ndef run(sales: pd.DataFrame) -> pd.DataFrame:\n"
        "    return pd.DataFrame({'word': ['a' * 60 + 'b']})"
    )
    tests = (
        "import pandas as pd\nfrom solution import run\n\n\ndef test_rows():\n    'One row.'\n"
        "    sales = pd.DataFrame({'price': [1.0], 'quantity': [1]})\n    assert len(run(sales=sales)) == 1\n"
    )
    sentence = "word matches /^(a+)+$/"
    produced = await runner.generate(
        {"plan": [json.dumps(plan)], "code": [fenced(code)], "tests": [fenced(tests)]},
        outputs=(OutputSpec(name="table", type="DataFrame"),),
        constraints=(sentence,),
        settings={"max_iterations": 1, "timeout": 4.0},
    )
    told = next(check for check in produced.report.evidence.checks if check.name == sentence)
    assert not told.passed
    assert "could not be applied" in told.message and "longer than 4 s" in told.message


async def test_tests_that_cannot_fail_are_written_again(runner: Runner) -> None:
    vacuous = TESTS.split("\n\n\n")[0] + "\n\n\n" + TESTS.split("\n\n\n")[2]
    produced = await runner.generate(
        {"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(vacuous), fenced(TESTS)]}
    )
    assert produced.report.success and produced.report.attempts == 2
    assert not next(c for c in produced.report.history[0].evidence.checks if c.name == "the tests can fail").passed


async def test_a_test_that_passes_whatever_is_returned_is_named(runner: Runner) -> None:
    typed = """


def test_type():
    sales = pd.DataFrame({"price": [1.0], "quantity": [2]})
    assert isinstance(run(sales=sales), float)"""
    produced = await run_script(runner, tests=TESTS + typed)
    assert produced.report.success and produced.report.evidence.vacuous_tests == ("test_type",)


async def test_an_invalid_test_module_is_written_again(runner: Runner) -> None:
    broken = TESTS.replace("import pandas as pd\n", "import pandas as pd\nraise RuntimeError('broken module')\n", 1)
    produced = await runner.generate({"plan": [PLAN], "code": [fenced(CODE)], "tests": [fenced(broken), fenced(TESTS)]})
    assert produced.report.success


@pytest.mark.real_sandbox
async def test_a_solution_that_exits_at_import_is_no_success(runner: Runner) -> None:
    code = "import sys\nsys.exit(0)\n" + CODE
    produced = await run_script(runner, code, settings={"max_iterations": 1})
    assert not produced.report.success


async def test_the_failure_of_the_last_attempt_is_told_and_the_best_attempt_kept(runner: Runner) -> None:
    produced = await run_script(runner, WRONG, settings={"max_iterations": 1})
    assert produced.report.attempts == 1 and not produced.report.success
    assert "1 of 2 tests fail" in produced.error and "test_sum" in produced.error
    assert produced.code.strip() == WRONG.strip()
    assert (produced.of(Finished)[-1].state, produced.of(Finished)[-1].limit) == ("failed", "max_iterations")


async def test_a_fix_on_the_last_allowed_attempt_counts(runner: Runner) -> None:
    produced = await run_script(
        runner, WRONG, diagnose=[diagnosis()], fix_code=[fix("test_sum")], settings={"max_iterations": 2}
    )
    assert produced.report.success and produced.report.attempts == 2


async def test_a_model_that_changes_nothing_is_stopped(runner: Runner) -> None:
    same = [fix("test_sum", replace='(sales["price"])')] * 2
    produced = await run_script(runner, WRONG, diagnose=[diagnosis()], fix_code=[*same, fenced(WRONG)])
    assert "No progress" in produced.error
    assert produced.report.attempts == 1


async def test_the_same_failure_again_and_again_is_stopped(runner: Runner) -> None:
    versions = [WRONG.replace("float(", f"{number}.0 * 0 + float(") for number in range(1, 9)]
    produced = await run_script(
        runner,
        WRONG,
        diagnose=[diagnosis()] * 9,
        fix_code=[a for version in versions for a in (fix("x", find="zz"), fix("x", find="zz"), fenced(version))],
        fix_tests=[verdict("test_sum", "stands")],
        settings={"max_iterations": 9},
    )
    assert "No progress" in produced.error
    assert produced.report.attempts == 4


async def test_rate_limits_are_waited_out(runner: Runner) -> None:
    produced = await runner.generate(
        {
            "plan": [Answer(status=429, headers={"retry-after": "0"}), Answer(status=503), PLAN],
            "code": [fenced(CODE)],
            "tests": [fenced(TESTS)],
        }
    )
    assert produced.report.success
    assert len(produced.of(Retrying)) == 2


async def test_a_truncated_answer_is_continued(runner: Runner) -> None:
    text = fenced(CODE)
    produced = await runner.generate(
        {
            "plan": [PLAN],
            "code": [Answer(text[:60], finish_reason="length"), text[60:]],
            "tests": [fenced(TESTS)],
        }
    )
    assert produced.report.success
    assert produced.code.strip() == CODE


async def test_a_refused_key_fails_at_once(runner: Runner) -> None:
    with pytest.raises(AuthenticationFailed):
        await runner.generate({"plan": [Answer(status=401)]})


@pytest.mark.parametrize(
    ("settings", "words", "limit"),
    [({"max_tokens": 10}, "10 tokens", "max_tokens"), ({"max_cost": 0.1}, "unknown", "")],
    ids=["tokens", "unknown cost"],
)
async def test_a_spent_budget_ends_the_loop_with_its_own_state(
    runner: Runner, settings: dict[str, float] | dict[str, int], words: str, limit: str
) -> None:
    produced = await run_script(runner, settings=settings)
    assert not produced.report.success and words in produced.error
    assert (produced.of(Finished)[-1].state, produced.of(Finished)[-1].limit) == ("over_budget", limit)


async def test_a_service_that_counts_more_than_was_reserved_leaves_a_function_that_says_so(
    runner: Runner,
) -> None:
    dear = Answer(fenced(TESTS), usage={"prompt_tokens": 100, "completion_tokens": 60_000, "total_tokens": 60_100})
    produced = await runner.generate(
        {"plan": [PLAN], "tests": [dear], "code": [fenced(CODE)]}, settings={"max_tokens": 50_000}
    )
    assert produced.report.success and "more than the budget of 50,000" in produced.report.overspent
    assert produced.of(Finished)[-1] == Finished("ready", produced.report.overspent, attempts=1)


@pytest.mark.real_sandbox
async def test_memory_that_does_not_start_a_worker_is_not_blamed_on_the_code(runner: Runner) -> None:
    with pytest.raises(SandboxUnavailable, match="32 MiB of memory is too little"):
        await run_script(runner, settings={"resources": Resources(memory="32Mi")})


async def test_the_clock_of_the_budget_is_kept(runner: Runner) -> None:
    produced = await runner.generate({"plan": [Answer(PLAN, delay=30.0)]}, settings={"max_seconds": 0.5})
    assert "0.5 seconds" in produced.error
    assert (produced.of(Finished)[-1].state, produced.of(Finished)[-1].limit) == ("over_budget", "max_seconds")


async def test_skipped_tests_are_not_written_but_the_sample_is_still_run(runner: Runner) -> None:
    produced = await runner.generate({"plan": [PLAN], "code": [fenced(CODE)]}, settings={"skip_tests": True})
    assert produced.report.success and produced.report.evidence.tests == ()
    assert next(c for c in produced.report.evidence.checks if c.name == "runs on the sample").passed


async def test_skipped_tests_do_not_make_a_failing_program_a_success(runner: Runner) -> None:
    code = CODE.replace("    return", "    raise KeyError('x')\n    return")
    produced = await runner.generate({"plan": [PLAN], "code": [fenced(code)]}, settings={"skip_tests": True})
    assert not produced.report.success


async def test_an_own_system_prompt_reaches_only_the_writer_of_code(runner: Runner) -> None:
    produced = await runner.generate(
        {"plan": [PLAN], "tests": [fenced(TESTS)], "code": [fenced(CODE)]},
        settings={"system_prompt": "You write one module, and rhyme."},
    )
    rhymed = [prompt_of(r) for r in produced.model.requests if "and rhyme" in prompt_of(r)]
    assert len(rhymed) == 1
    assert rhymed[0].count("exactly the interface under <interface>") == 1
    assert len({r["messages"][0]["content"] for r in produced.model.requests}) == 1


async def test_all_questions_begin_alike_so_that_a_provider_can_keep_their_beginning(runner: Runner) -> None:
    produced = await run_script(runner, WRONG, shared=True, diagnose=[diagnosis()], fix_code=[fix("test_sum")])
    assert len(produced.asked) == 4
    assert len({r["messages"][0]["content"] for r in produced.model.requests}) == 1
    asked = [r["messages"][1]["content"] for r in produced.model.requests]
    beginnings = {text.partition("</environment>")[0] for text in asked}
    assert len(beginnings) == 1
    begins = beginnings.pop()
    assert begins.startswith("<request>") and "</data>" in begins
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}, pandas " in begins


async def test_a_request_without_samples_is_tested_all_the_same(runner: Runner) -> None:
    plan = json.dumps({"description": "d", "approach": "a", "outputs": [{"name": "total", "type": "int"}]})
    produced = await runner.generate(
        {
            "plan": [plan],
            "code": [fenced("def run(x: int) -> int:\n    return 2 * x")],
            "tests": [fenced("from solution import run\n\n\ndef test_two():\n    assert run(x=2) == 4")],
        },
        prompt="Twice x.",
        samples={},
        inputs=(InputSpec(name="x", type="int"),),
        outputs=(OutputSpec(name="total", type="int"),),
    )
    assert produced.report.success
    assert "runs on the sample" not in {check.name for check in produced.report.evidence.checks}


async def test_a_frame_that_cannot_cross_is_refused_before_any_question(runner: Runner) -> None:
    from autocoder_jupyter.errors import UnsupportedData

    frame = pd.DataFrame({"price": [1.0], "quantity": [object()]})
    with pytest.raises(UnsupportedData, match="quantity"):
        await runner.generate({}, samples={"sales": frame}, prompt="price times quantity of @sales")


async def test_nothing_that_varies_is_in_a_prompt(runner: Runner, tmp_path: Path) -> None:
    """Two machines ask the same questions, so a shipped journal can be replayed."""
    script = {"plan": [PLAN], "code": [fenced(WRONG)], "tests": [fenced(TESTS)], "diagnose": [diagnosis()]}
    settings = {"cache": "disable", "max_iterations": 2}
    first = await runner.generate(
        {**script, "fix_code": [fix("test_sum")]}, settings=settings, samples={"sales": sales()}
    )
    second = await runner.generate(
        {**script, "fix_code": [fix("test_sum")]}, settings=settings, samples={"sales": sales()}
    )

    def asked(produced: Generated) -> list[str]:
        return sorted(json.dumps(request["messages"]) for request in produced.model.requests)

    assert asked(first) == asked(second)


async def test_nothing_of_a_hidden_column_and_no_value_of_a_masked_one_is_ever_sent(runner: Runner) -> None:
    data = sales().assign(ssn=["canary-1", "canary-2", "canary-3"], wage=[871001.5, 871002.5, 871003.5])
    leaky = CODE.replace(
        "    return", "    if len(sales.columns) == 4:\n        raise ValueError(sales.to_json())\n    return"
    )
    settings = {"hide": ("ssn",), "mask": ("wage",), "second_opinion": "on"}
    samples = {"sales": data}
    second: dict[str, Any] = {"second": [fenced(CODE)] * 3} if "second" in MARKERS else {}
    produced = await run_script(
        runner,
        leaky,
        samples=samples,
        settings=settings,
        diagnose=[diagnosis()],
        fix_code=[fix("runs on the sample", find="4", replace="5")],
        **second,
    )
    assert produced.report.success, produced.report.error  # the function got all four columns, and raised first
    assert produced.report.attempts == 2
    sent = json.dumps(produced.model.requests)
    assert "canary" not in sent and "ssn" not in sent and "87100" not in sent
    assert "wage" in sent
    assert {seen.withheld for seen in produced.of(SampleOutputs)} == {True}  # the card, which is saved, holds no output


@pytest.mark.parametrize("at_least", [0, 2], ids=["in a test", "on the sample"])
@pytest.mark.real_sandbox
async def test_a_function_that_ran_out_of_time_says_so_in_its_headline(runner: Runner, at_least: int) -> None:
    code = CODE.replace("    return", f"    while len(sales) > {at_least}: pass\n    return")
    again = json.dumps({"failures": [{"test_name": "test_sum", "error_message": "?", "error_type": "logic"}]})
    produced = await runner.generate(
        {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(TESTS)], "diagnose": [again]},
        settings={"timeout": 2.0, "max_iterations": 1},
    )
    assert "The program ran longer than 2 s and was stopped." in (produced.report.error or "")
    state = FunctionRun("growth")
    for event in (*produced.events, Finished("failed", produced.report.error or "")):
        state = state.apply(event)
    assert card.facts(state)[0] == "timed out after 2 s"
