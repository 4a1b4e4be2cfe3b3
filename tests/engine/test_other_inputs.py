"""What runs of the verified function on other inputs find, without a second solution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from autocoder_jupyter.display.live import card_text
from autocoder_jupyter.engine.evidence.examiner import OtherInputs, _is_constant, is_general, on_other_inputs
from autocoder_jupyter.engine.evidence.solution_worker import SolutionWorker
from autocoder_jupyter.engine.evidence.time_limit import TimeLimit
from autocoder_jupyter.engine.evidence.variations import VariedSample
from autocoder_jupyter.redaction.messages import Redaction
from autocoder_jupyter.run.of_report import run_of, verified
from autocoder_jupyter.sandbox.protocol import Program, Worker
from autocoder_jupyter.settings.choices import EFFORTS
from autocoder_jupyter.types import InputSpec, OutputSpec
from tests.runner import CODE, PLAN, Runner, fenced

pytestmark = [pytest.mark.local_sandbox, pytest.mark.real_sandbox]


@pytest.fixture(autouse=True)
def enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine finds the same."""
    longer = {name: replace(effort, seconds=300.0 * effort.is_examined) for name, effort in EFFORTS.items()}
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.examiner.EFFORTS", longer)
    monkeypatch.setattr("autocoder_jupyter.engine.evidence.invariants.SEARCH_SECONDS", 60.0)


def orders(rows: int = 100) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"o{n:03}" for n in range(rows)], "n": np.tile([1.0, 2.0, 5.0, 9.0], rows // 4)})


def found(
    worker: Worker, body: str, *checks: str, data: pd.DataFrame | None = None, seconds: float = 120.0
) -> OtherInputs:
    code = f"import pandas as pd\n\n\ndef run(x: pd.DataFrame):\n    {body}\n"
    program = Program(code, (InputSpec(name="x", type="DataFrame"),), (OutputSpec(name="out", type="float"),))
    side = SolutionWorker("f", worker, program)
    table = orders() if data is None else data
    return on_other_inputs(side, VariedSample({"x": table}, 30), {}, TimeLimit(seconds), checks, Redaction("rows"))


def test_an_error_on_a_few_rows_is_found_with_a_small_input(worker: Worker) -> None:
    (one,) = found(worker, "return float(x['n'].iloc[30] if len(x) < 60 else x['n'].sum())").failed
    said, name, tables = one
    assert said == "the function raises IndexError" and name == "with two rows"
    assert len(tables["x"]) <= 1


def test_an_error_on_many_rows_is_found(worker: Worker) -> None:
    numbered = orders().assign(id=range(100))
    (one,) = found(worker, "return float(1 / (len(x) <= 450))", data=numbered).failed
    assert one[:2] == ("the function raises ZeroDivisionError", "with many times as many rows")


def test_texts_that_were_made_up_may_be_refused(worker: Worker) -> None:
    assert found(worker, "return float(x['id'].str[1:].astype(int).sum())").failed == ()


def test_an_error_that_the_code_raises_itself_is_meant(worker: Worker) -> None:
    seen = found(worker, "if len(x) < 10: raise ValueError('too few')\n    return float(x['n'].sum())")
    assert seen.failed == () and seen.count > 5


def test_an_answer_that_never_changes_is_told_but_of_a_verdict(worker: Worker) -> None:
    assert found(worker, "return 450.0").is_constant
    assert not found(worker, "return float(x['n'].sum())").is_constant
    verdicts = [{"out": "yes"}] * 40
    outputs = (OutputSpec(name="out", type="str"),)
    assert not _is_constant(Program("", (), outputs), verdicts)


def test_a_check_is_not_said_to_fail_because_the_time_was_up(worker: Worker) -> None:
    """The limit has ended the worker, in which no check can be evaluated any more."""
    seen = found(worker, "while len(x) != 50: pass\n    return 1.0", "out == 1", seconds=1.0)
    assert not worker.alive and seen.count > 0
    assert (seen.failed, seen.held) == ((), ())


def test_a_check_is_tried_on_other_inputs(worker: Worker) -> None:
    share = "return float(x['n'].max() / 9)"
    seen = found(worker, share, "out == 1", "out <= 1", "len(x) == 99", "out == x['n'].max() / 9")
    assert seen.held == ("out <= 1",)
    ((said, name, tables),) = seen.failed
    assert (said, name) == ("your check out == 1 does not hold", "with all values alike") and tables["x"].size


@pytest.mark.parametrize(
    ("check", "may"),
    [
        ("out['share'].sum() == 1", True),
        ("abs(out.share.sum() - 100) < 1e-6", True),
        ("out['total'].notna().all()", False),
        ("len(out) == 12", False),
        ("out.region[0] == 'North'", False),
        ("(", False),
    ],
)
def test_a_check_of_the_sample_alone_is_known(check: str, may: bool) -> None:
    assert is_general(check, {"share"}) is may


def told(produced: Any) -> dict[str, bool]:
    assert produced.report.success, produced.error
    return {one.words: one.holds for one in produced.report.evidence.strength.relations if one.said}


async def test_the_line_and_the_card_name_what_fails_and_success_stays(runner: Runner) -> None:
    code = CODE.replace("    return", "    sales['price'].iloc[2]\n    return")
    tests = (
        "import pandas as pd\nfrom solution import run\n\n\ndef test_sum():\n"
        '    """All count."""\n    assert run(sales=pd.DataFrame({"price": [1.0] * 3, "quantity": [2] * 3})) == 6.0\n'
    )
    script = {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(tests)]}
    settings = {"effort": "normal", "second_opinion": "off"}
    produced = await runner.generate(script, settings=settings, checks=("total >= 0",))
    known = told(produced)
    (failed,) = (words for words, holds in known.items() if not holds)
    assert failed.startswith("the function raises IndexError with ")
    assert any(words.startswith("your check total >= 0 on ") for words in known)
    line = verified(produced.report.evidence, None, 1)
    assert failed in line.weaknesses and "The function raises IndexError" in card_text(run_of(produced.report, "ready"))


TWICE = CODE.replace("    return", "    if len(sales) > 100:\n        return 0.0\n    return")


FEW = (
    "import pandas as pd\nfrom solution import run\n\n\ndef test_sum():\n"
    '    """All count."""\n    sales = pd.DataFrame({"price": [1.5, 2.0, None], "quantity": [2, 3, 4]})\n'
    "    assert run(sales=sales) == 9.0\n"
)
MANY = (
    '\n\ndef test_many():\n    """None of many counts."""\n'
    '    assert run(sales=pd.DataFrame({"price": [1.0] * 101, "quantity": 1})) == 0.0\n'
)


@pytest.mark.parametrize(
    ("code", "tests", "is_told"), [(TWICE, FEW, True), (TWICE, FEW + MANY, False), (CODE, FEW, False)]
)
async def test_a_branch_that_only_many_rows_take_is_told_unless_a_test_covers_it(
    runner: Runner, code: str, tests: str, is_told: bool
) -> None:
    none = fenced("# None.")
    script = {"plan": [PLAN], "code": [fenced(code)], "tests": [fenced(tests)], "more_tests": [none, none]}
    settings = {"effort": "normal", "second_opinion": "off"}
    sales = pd.DataFrame({"price": np.arange(30.0), "quantity": range(30)})
    produced = await runner.generate(script, settings=settings, samples={"sales": sales})
    branches = [words for words in told(produced) if "takes a branch" in words]
    assert bool(branches) is is_told
    if is_told:
        assert branches[0].startswith("line 5 (len(sales) > 100) takes a branch that no test covers ")
        assert branches[0] in verified(produced.report.evidence, None, 1).weaknesses
