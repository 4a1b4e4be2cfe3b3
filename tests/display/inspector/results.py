"""Results for tests of the inspector: one that was repaired, and one in which every text is hostile."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.types import (
    Attempt,
    CheckOutcome,
    CodePlan,
    CodeSolution,
    ColumnSpec,
    ErrorDiagnosis,
    Evidence,
    Exchange,
    InputSpec,
    OutputSpec,
    Report,
    TestFailure,
    TestOutcome,
    ToolUse,
    Trace,
    Usage,
)

HOSTILE = "<script>alert(1)</script>\"'&</pre></details>\x1b[31m\u202e"

WRONG = (
    "import pandas as pd\n\n\ndef run(sales):\n    x = 1\n    y = 2\n    z = 3\n    a = 4\n    return sales.diff()\n"
)
RIGHT = WRONG.replace("diff", "pct_change")

PASSED = TestOutcome(id="test_sum", outcome="passed", seconds=0.012, sentence="adds up")
FAILED = TestOutcome(id="test_sum", outcome="failed", sentence="adds up", message="x = 1\nE   assert 3 == 4")

MENDED = Report(
    name="growth",
    run_id="r1",
    prompt="p",
    success=True,
    solution=CodeSolution(code=RIGHT),
    tests="def test_sum(): ...\n",
    plan=CodePlan(
        description="Growth by month.",
        approach="Add up, then compare.",
        assumptions=("ties keep their order",),
        outputs=(
            OutputSpec(name="monthly", type="DataFrame", columns=(ColumnSpec(name="month", dtype="datetime64[ns]"),)),
        ),
    ),
    attempts=2,
    history=(
        Attempt(
            number=1,
            code=WRONG,
            tests="def test_sum(): ...\n",
            evidence=Evidence(tests=(FAILED,)),
            diagnosis=ErrorDiagnosis(
                failures=(
                    TestFailure(
                        test_name="test_sum",
                        error_message="off",
                        expected_behavior="a share",
                        actual_behavior="a difference",
                        root_cause="diff is not a share",
                        suggested_fix="use pct_change",
                        error_type="logic",
                    ),
                )
            ),
            error="1 of 1 tests fail",
        ),
        Attempt(number=2, code=RIGHT, tests="def test_sum(): ...\n", evidence=Evidence(tests=(PASSED,))),
    ),
    evidence=Evidence(
        tests=(PASSED, TestOutcome(id="test_nothing", outcome="passed", sentence="is a table")),
        checks=(CheckOutcome(name="two runs agree", passed=True),),
        tests_changed=("test_sum",),
        vacuous_tests=("test_nothing",),
    ),
    conversation_history=(
        Exchange(
            stage="plan",
            key="k1",
            model="openai/m",
            messages=({"role": "system", "content": "You plan."}, {"role": "user", "content": [{"text": "Part one"}]}),
            answer="the plan",
            usage=Usage(input_tokens=1200, cached_tokens=800, output_tokens=50, cost=0.004),
            seconds=2.5,
        ),
        Exchange(
            stage="code",
            key="k2",
            model="openai/m",
            messages=({"role": "user", "content": "Write."},),
            answer="the code",
            finish_reason="length",
            usage=Usage(input_tokens=300, output_tokens=20, cost=None),
            seconds=1.0,
            replayed=True,
        ),
    ),
    detected_packages=("scikit-learn",),
    lock=("scikit-learn==1.7",),
    python_version=(3, 11),
    image="autocode:abc",
    sandbox="docker",
    declared_inputs=(
        InputSpec(name="sales", type="DataFrame", meaning="one row an order"),
        InputSpec(name="min_orders", type="int", required=False, default=5),
    ),
    declared_outputs=(OutputSpec(name="monthly", type="DataFrame"), OutputSpec(name="best", type="str")),
    data_context="sales: 3 rows",
    generated_schemas={"sales": "schema = pa.DataFrameSchema({})\n"},
    usage=Usage(input_tokens=1500, cached_tokens=800, output_tokens=70, cost=None),
    seconds=12,
)

TRACED = MENDED.model_copy(
    update={
        "blind_tests": "def test_other(): ...\n",
        "trace": Trace(
            calls=(
                ToolUse(turn=1, tool="Bash", argument="ls", kind="safe", observed="sales.csv", seconds=0.2),
                ToolUse(turn=1, tool="Write", argument="solution.py", kind="safe", replayed=True),
                ToolUse(
                    turn=2,
                    tool="Bash",
                    argument="curl x.example",
                    kind="denied",
                    reason="no network",
                    outcome="denied",
                    observed="Denied: no network.",
                ),
                ToolUse(
                    turn=3,
                    tool="Bash",
                    argument="python - <<EOF\nprint(1)\nEOF",
                    kind="safe",
                    outcome="failed",
                    observed="Traceback",
                ),
            ),
            turns=3,
            max_turns=50,
            session="s",
            suite_changed=("test_sum",),
        ),
    }
)

_BAD_TEST = TestOutcome(id=HOSTILE, outcome="error", sentence=HOSTILE, message=HOSTILE)
_BAD_EVIDENCE = Evidence(
    tests=(_BAD_TEST,),
    checks=(CheckOutcome(name=HOSTILE, passed=False, message=HOSTILE),),
    vacuous_tests=(HOSTILE,),
    tests_changed=(HOSTILE,),
)

NASTY = Report(
    name=HOSTILE,
    run_id=HOSTILE,
    prompt=HOSTILE,
    success=False,
    error=HOSTILE,
    solution=CodeSolution(code=HOSTILE),
    tests=HOSTILE,
    plan=CodePlan(description=HOSTILE, approach=HOSTILE, assumptions=(HOSTILE,), packages=(HOSTILE,)),
    evidence=_BAD_EVIDENCE,
    attempts=2,
    history=(
        Attempt(
            number=1,
            code=HOSTILE,
            tests=HOSTILE,
            evidence=_BAD_EVIDENCE,
            diagnosis=ErrorDiagnosis(
                failures=(
                    TestFailure(
                        test_name=HOSTILE,
                        error_message=HOSTILE,
                        expected_behavior=HOSTILE,
                        actual_behavior=HOSTILE,
                        root_cause=HOSTILE,
                        suggested_fix=HOSTILE,
                        error_type="environment",
                    ),
                ),
                needs_language_packages=(HOSTILE,),
            ),
            error=HOSTILE,
        ),
        Attempt(number=2, code=f"{HOSTILE} more", tests=f"{HOSTILE} more", evidence=Evidence(), error=HOSTILE),
    ),
    conversation_history=(
        Exchange(
            stage=HOSTILE, key="k", model=HOSTILE, messages=({"role": HOSTILE, "content": HOSTILE},), answer=HOSTILE,
            finish_reason=HOSTILE,
        ),
    ),
    declared_inputs=(InputSpec(name=HOSTILE, type="str", required=False, default=HOSTILE, meaning=HOSTILE),),
    declared_outputs=(OutputSpec(name=HOSTILE, type="str", meaning=HOSTILE),),
    data_context=HOSTILE,
    generated_schemas={HOSTILE: HOSTILE},
    detected_packages=(HOSTILE,),
    detected_system_packages=(HOSTILE,),
    lock=(HOSTILE,),
    image=HOSTILE,
    sandbox=HOSTILE,
    trace=Trace(
        calls=(
            ToolUse(turn=1, tool=HOSTILE, argument=f"{HOSTILE}\n2", kind="safe", reason=HOSTILE, observed=HOSTILE),
        ),
        turns=1,
        max_turns=2,
        suite_changed=(HOSTILE,),
    ),
)  # fmt: skip

SENT = {"share": "rows", "text": "sales: 3 rows, price 1 … 9", "masked": {"email": 2}, "left_out": {"sales": ["rows"]}}


def subject(report: Report = MENDED, state: Any = None, **given: Any) -> Subject:
    """The record of a finished result."""
    return Subject(report, state or ("ready" if report.success else "failed"), **{"sent": SENT, **given})
