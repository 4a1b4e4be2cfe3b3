"""A very large result: a sample of twenty columns, ten tests, three attempts."""

from __future__ import annotations

from typing import Any

from autocoder_jupyter.display.inspector.subject import Subject
from autocoder_jupyter.types import (
    Attempt,
    CodeSolution,
    Evidence,
    Exchange,
    TestOutcome,
    ToolUse,
    Trace,
    Usage,
)
from autocoder_jupyter.types.records import Bar, ColumnOverview, Overview
from tests.display.inspector.results import MENDED, SENT

TESTS = "".join(
    f'def test_{n}():\n    """Sentence {n} of the request, as it was written."""\n'
    f'    monthly, best = run(sales=orders(m01=[{n}, 2], m02=[3, 4]), min_orders=2)\n'
    f'    assert monthly["growth"].tolist()[1:] == pytest.approx([{n}.5, 1.0])\n    assert best == "2024-0{n}"\n\n\n'
    for n in range(10)
)  # fmt: skip


def code(attempt: int, times: int) -> str:
    lines = "".join(
        f'    part_{n} = sales["column_{n}"].groupby(sales["region"]).agg("sum", min_count={attempt})  # step {n}\n'
        for n in range(25 * times)
    )
    return f"import pandas as pd\n\n\ndef run(sales, min_orders=5):\n{lines}    return part_0, part_1\n"


def large(times: int = 1) -> Subject:
    """Its report, and the overviews of its samples.

    Args:
        times: factor by which the texts of model and data are longer than usual.
    """
    passed: dict[str, Any] = {
        "outcome": "passed",
        "seconds": 0.01,
        "sentence": "Sentence of the request, as it was written.",
    }
    outcomes = tuple(TestOutcome(id=f"test_{n}", **passed) for n in range(10))
    failed = (
        TestOutcome(id="test_3", outcome="failed", sentence="it adds up", message="x\nE   assert 1 == 2"),
        *outcomes,
    )
    diagnosis = MENDED.history[0].diagnosis
    history = tuple(
        Attempt(
            number=n,
            code=code(n, times),
            tests=TESTS * times,
            evidence=Evidence(tests=failed),
            diagnosis=diagnosis,
            error="1 of 10 tests fail",
        )
        for n in (1, 2)
    )
    last = Attempt(number=3, code=code(3, times), tests=TESTS * times, evidence=Evidence(tests=outcomes))
    sent = "column_1: float64, 3 missing, 812 distinct, 0.5 … 99.5, mean 17.3, quartiles 3 / 9 / 20\n" * 40 * times
    exchanges = tuple(
        Exchange(
            stage=stage,
            key=stage,
            model="openai/m",
            answer=TESTS * times,
            usage=Usage(input_tokens=5_000, output_tokens=900),
            messages=({"role": "system", "content": "You plan. " * 300}, {"role": "user", "content": sent}),
        )
        for stage in ("plan", "code", "tests", "diagnose", "fix_code", "diagnose", "fix_code")
    )  # fmt: skip
    update: dict[str, Any] = {
        "solution": CodeSolution(code=code(3, times)),
        "tests": TESTS * times,
        "history": (*history, last),
        "evidence": MENDED.evidence.model_copy(update={"tests": outcomes}),
        "conversation_history": exchanges,
        "data_context": sent,
        "generated_schemas": {"sales": "column = pa.Column(float, nullable=True)\n" * 20 * times},
        "trace": Trace(
            calls=tuple(
                ToolUse(turn=n, tool="Bash", argument=TESTS, kind="safe", reason="r" * 200, observed=TESTS * times)
                for n in range(40 * times)
            ),
            turns=40 * times,
            max_turns=50 * times,
        ),
        "lock": tuple(f"package-{n}==1.{n}.0 --hash=sha256:{'0' * 64}" for n in range(30 * times)),
    }
    bars = tuple(Bar(f"{n}.25 – {n + 1}.25", n) for n in range(12))
    facts = (("least", "0.25"), ("mean", "17.3"), ("most", "99.5"))
    column = ColumnOverview("'column'", "float64", 3, 812, facts=facts, drawing="histogram", bars=bars)
    overview = Overview("DataFrame", "20,000 rows × 20 columns", (column,) * 20 * times, rows=20_000, looked_at=5_000)
    return Subject(
        MENDED.model_copy(update=update),
        "ready",
        sent={**SENT, "text": sent},
        overviews=lambda share: {"sales": overview},
    )
